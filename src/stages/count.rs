//! The stage `count`: computes the number of samples of each pixel while several GPUs share an adaptive render.
//!
//! Reads: the pixels that the round samples, and how many of the round's samples are rendered. Writes: the sample
//! counts of those pixels. Counts of other pixels stay.
//! Method: no GPU knows all counts, but a round renders one sample of each listed pixel in list order, then the next
//! sample of each. The counts follow from the number of samples rendered.

use std::sync::Arc;

use compaction::{
    cuda::{In, InOut, Kernel, Launch, Source},
    cudarc::driver::{CudaStream, CudaView, CudaViewMut},
};

use crate::{
    Error,
    device::kernels::{BLOCK_THREADS, stage},
};

/// The progress of a round of adaptive sampling.
#[derive(Clone, Copy)]
pub(crate) struct RoundProgress {
    /// Number of samples that every listed pixel has, including those of earlier rounds.
    samples: u32,
    /// Number of pixels, from the start of the list, that have one sample more.
    pixels_ahead: u32,
}

impl RoundProgress {
    /// Computes the progress after `done` samples of a round that lists `listed` pixels. Each of them had
    /// `first_sample` samples before the round.
    pub(crate) fn new(first_sample: u32, listed: u32, done: u64) -> RoundProgress {
        let listed = u64::from(listed.max(1));
        RoundProgress {
            samples: first_sample + (done / listed) as u32,
            pixels_ahead: (done % listed) as u32,
        }
    }
}

/// Runs the stage on the CPU: writes into `sample_counts` the count of each pixel in `list`.
///
/// `list` holds row-major pixel indices, and `sample_counts` has an entry for each pixel of the image.
pub(crate) fn count(list: &[u32], reached: RoundProgress, sample_counts: &mut [u32]) {
    for (place, &pixel) in (0..).zip(list) {
        sample_counts[pixel as usize] = reached.samples + u32::from(place < reached.pixels_ahead);
    }
}

/// Parameters of the kernel: the length of the list, the list, the number of samples that every listed pixel has, the
/// sample counts to write, and the number of pixels at the start of the list that have one sample more.
pub(crate) type Arguments = (u32, In<u32>, u32, InOut<u32>, u32);

/// Returns the source of the kernel `count`.
pub(crate) fn source() -> Source {
    stage::<Arguments>(
        "kernels/count.cu",
        include_str!("../../kernels/count.cu"),
        "count",
    )
}

/// Enqueues the stage on a GPU, for all pixels in `list`. The buffers have the contents described at [`count()`]. Does
/// not wait.
pub(crate) fn count_on_cuda(
    kernel: &Kernel<Arguments>,
    stream: &Arc<CudaStream>,
    list: CudaView<'_, u32>,
    reached: RoundProgress,
    sample_counts: CudaViewMut<'_, u32>,
) -> Result<(), Error> {
    let listed = list.len() as u32;
    if listed > 0 {
        let RoundProgress {
            samples,
            pixels_ahead,
        } = reached;
        let launch = Launch::covering(listed, BLOCK_THREADS);
        let arguments = (listed, list, samples, sample_counts, pixels_ahead);
        kernel.launch(stream, launch, arguments)?;
    }
    Ok(())
}
