//! gather: the film of another GPU, or of another render, onto one that has the sum.
//!
//! Reads: a film's sums, and behind them how many samples it rejected. Writes: the same of the other film.
//! Integers add up to the same in any order, so it does not matter who rendered what.

use std::sync::Arc;

use compaction::{
    cuda::{In, InOut, Launch, Source},
    cudarc::driver::{CudaStream, CudaView, CudaViewMut},
};
use rayon::prelude::*;

use super::Kernels;
use crate::{
    Error,
    device::kernels::{BLOCK_THREADS, stage},
    film::FilmSums,
};

/// Runs the stage on the CPU, on films of one size.
pub fn gather(film: &mut FilmSums, more: &FilmSums) {
    film.sums
        .par_iter_mut()
        .zip(&more.sums)
        .for_each(|(sum, &more)| *sum = sum.wrapping_add(more));
    film.rejected = film.rejected.wrapping_add(more.rejected);
}

/// What the kernel takes.
pub(super) type Arguments = (u32, In<u64>, InOut<u64>);

/// Returns the source of the kernel.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/gather.cu",
        include_str!("../../kernels/gather.cu"),
        "gather",
    )
}

/// Runs the stage on a GPU. Each film is a list of its sums, with the rejected samples' number behind them.
pub fn gather_on_cuda(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    film: CudaViewMut<'_, u64>,
    more: CudaView<'_, u64>,
) -> Result<(), Error> {
    let count = film.len().min(more.len()) as u32;
    let launch = Launch::covering(count, BLOCK_THREADS);
    kernels.gather.launch(stream, launch, (count, more, film))?;
    Ok(())
}
