//! The stage `gather`: adds a film that another GPU or another render produced to the film of the whole render.
//!
//! Reads: the fixed-point sums of the added film, and its number of rejected samples. Writes: those of the total.
//! Method: integer addition, whose result does not depend on the order in which films are added.

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

/// Runs the stage on the CPU: adds `added` to `total`, a film of the same size.
pub fn gather(total: &mut FilmSums, added: &FilmSums) {
    total
        .sums
        .par_iter_mut()
        .zip(&added.sums)
        .for_each(|(sum, &added)| *sum = sum.wrapping_add(added));
    total.rejected = total.rejected.wrapping_add(added.rejected);
}

/// Parameters of the kernel: the length of a film, the film to add, and the total.
pub(super) type Arguments = (u32, In<u64>, InOut<u64>);

/// Returns the source of the kernel `gather`.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/gather.cu",
        include_str!("../../kernels/gather.cu"),
        "gather",
    )
}

/// Enqueues the stage on a GPU: adds `added` to `total`. Does not wait.
///
/// Each film is a buffer of its sums, three channels per pixel, followed by its number of rejected samples. If the
/// lengths differ, only as many entries are added as the shorter film has.
pub fn gather_on_cuda(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    total: CudaViewMut<'_, u64>,
    added: CudaView<'_, u64>,
) -> Result<(), Error> {
    let count = total.len().min(added.len()) as u32;
    let launch = Launch::covering(count, BLOCK_THREADS);
    kernels
        .gather
        .launch(stream, launch, (count, added, total))?;
    Ok(())
}
