//! accumulate: the wave's samples onto the film.
//!
//! Reads: span, list, radiances. Writes: the film's sums, and the number of samples that it rejects; where pixels are listed,
//! how many each has.
//! A path's light is summed along the path, in order; only whole samples reach the film.

use compaction::cuda::{In, InOut, Launch, Source};

use crate::{
    Error,
    kernels::{BLOCK_THREADS, stage},
    path::{Rgb, Span},
    wave::{CpuWave, CudaWave, Stage, Wave, clock},
};

/// Runs the stage.
pub fn accumulate(wave: &mut Wave) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu),
        Wave::Cuda(cuda) => on_cuda(cuda)?,
    }
    wave.mark(Stage::Accumulate);
    Ok(())
}

fn on_cpu(wave: &CpuWave) {
    let paths = wave.pairs.iter().zip(&wave.radiances);
    for (&(pixel, _), radiance) in paths.take(wave.span.path_count as usize) {
        wave.film.expose(pixel, radiance.rgb);
    }
}

/// What the kernel takes.
pub(super) type Arguments = (
    In<Span>,
    In<u32>,
    In<Rgb>,
    InOut<u64>,
    InOut<u64>,
    InOut<u32>,
    InOut<u64>,
);

/// The kernel's file.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/accumulate.cu",
        include_str!("../../kernels/accumulate.cu"),
        "accumulate",
    )
}

fn on_cuda(wave: &mut CudaWave) -> Result<(), Error> {
    wave.kernels.accumulate.launch(
        &wave.stream,
        Launch::covering(wave.span.path_count, BLOCK_THREADS),
        (
            wave.device_span.as_view(),
            wave.list.as_view(),
            wave.radiances.as_view(),
            wave.sums.as_view_mut(),
            wave.rejected.as_view_mut(),
            wave.taken.as_view_mut(),
            wave.stamps.slice_mut(clock::accumulate(wave.max_bounces)),
        ),
    )?;
    clock::stamp(wave, clock::end(wave.max_bounces))
}
