//! count: how many samples each pixel has, where several GPUs give them to pixels until they are good: none of them counts all.
//!
//! Reads: the list of the pixels that have a round, and how far that is. Writes: how many samples each of those has.
//! A round's pairs are dealt in their order, all pixels of the list for one sample after the other, so that this follows.

use std::sync::Arc;

use compaction::{
    cuda::{In, InOut, Kernel, Launch, Source},
    cudarc::driver::{CudaStream, CudaView, CudaViewMut},
};

use crate::{
    Error,
    device::kernels::{BLOCK_THREADS, stage},
};

/// How far a round is: each of its pixels has so many samples, and the first ones on the list have one more.
#[derive(Clone, Copy)]
pub(crate) struct Reached {
    samples: u32,
    more: u32,
}

impl Reached {
    /// The first `done` pairs of a round are, of `listed` pixels that had `first_sample` samples each.
    pub(crate) fn new(first_sample: u32, listed: u32, done: u64) -> Reached {
        let listed = u64::from(listed.max(1));
        Reached {
            samples: first_sample + (done / listed) as u32,
            more: (done % listed) as u32,
        }
    }
}

/// Runs the stage on the CPU.
pub(crate) fn count(list: &[u32], reached: Reached, taken: &mut [u32]) {
    for (place, &pixel) in (0..).zip(list) {
        taken[pixel as usize] = reached.samples + u32::from(place < reached.more);
    }
}

/// Parameters of the kernel: the length of the list, the list, the samples of every pixel, the counts to write, and how
/// many pixels at the start of the list have one more.
pub(crate) type Arguments = (u32, In<u32>, u32, InOut<u32>, u32);

/// Returns the source of the kernel.
pub(crate) fn source() -> Source {
    stage::<Arguments>(
        "kernels/count.cu",
        include_str!("../../kernels/count.cu"),
        "count",
    )
}

/// Runs the stage on a GPU.
pub(crate) fn count_on_cuda(
    kernel: &Kernel<Arguments>,
    stream: &Arc<CudaStream>,
    list: CudaView<'_, u32>,
    reached: Reached,
    taken: CudaViewMut<'_, u32>,
) -> Result<(), Error> {
    let listed = list.len() as u32;
    if listed > 0 {
        let Reached { samples, more } = reached;
        let launch = Launch::covering(listed, BLOCK_THREADS);
        kernel.launch(stream, launch, (listed, list, samples, taken, more))?;
    }
    Ok(())
}
