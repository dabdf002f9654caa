//! The stage `accumulate`: adds the samples of a wave to the film.
//!
//! Reads: the span, the list of rendered pixels, and the radiances of the paths. Writes: the film's sums, its number of
//! rejected samples, and, in adaptive renders, the sample counts of the pixels.
//! Method: each sample is rounded to fixed point as a whole and added. On CUDA, the samples of a pixel have adjacent
//! lanes of a warp if they form a whole group, see [`scheduled_pair`](crate::path::scheduled_pair). Their sum is then
//! added to the film with one atomic operation per channel. Integer addition is associative, so that the order of the
//! samples has no effect.

use compaction::cuda::{InOut, Launch, Source};

use super::{
    Stage,
    wave::{CpuWave, CudaWave, Wave, clock},
};
use crate::{
    Error,
    device::{
        device_film::DeviceFilm,
        kernels::{BLOCK_THREADS, stage},
        path_buffers::PathBuffers,
    },
};

/// Adds the samples of a wave, whose paths have all ended, to the film. On CUDA it only enqueues the work.
pub fn accumulate(wave: &mut Wave) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => add_to_film(cpu),
        Wave::Cuda(cuda) => on_cuda(cuda)?,
    }
    wave.mark(Stage::Accumulate);
    Ok(())
}

/// Adds the radiances of a wave's paths to the film.
pub(super) fn add_to_film(wave: &CpuWave) {
    let paths = wave.pairs.iter().zip(&wave.radiances);
    let samples = paths.map(|(&(pixel, number), radiance)| (pixel, number, radiance.rgb));
    let path_count = wave.span.path_count as usize;
    wave.film.add_samples(samples.take(path_count));
}

/// Parameters of the kernel: the paths, the film, and the start time to store, in nanoseconds.
pub(super) type Arguments = (PathBuffers<'static>, DeviceFilm<'static>, InOut<u64>);

/// Returns the source of the CUDA kernel `accumulate`, which adds the samples of a wave to the film.
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
            wave.paths.argument(),
            wave.film.argument(),
            wave.stamps.slice_mut(clock::accumulate(wave.max_bounces)),
        ),
    )?;
    clock::stamp(wave, clock::end(wave.max_bounces))
}
