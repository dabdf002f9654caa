//! Histograms: the number of items in each of many bins.
//!
//! ```text
//! items     2.5  0.1  3.9  1.0  1.7  9.0        9.0 is in no bin
//! bins      0..1   1..2   2..3   3..4
//!
//! counts →   1      2      1      1
//! ```
//!
//! On the CPU, [`cpu`] writes into a slice; on a GPU, a [`Histogram`] enqueues the operation on a stream. There are
//! three ways to find the bin of an item:
//!
//! * `even`: bins of equal width in a range (CUB: `DeviceHistogram::HistogramEven`).
//! * `bounds`: bins between consecutive bounds (CUB: `DeviceHistogram::HistogramRange`).
//! * `keys`: the item itself is the number of its bin, as for the values of a `u8` image.
//!
//! Items outside all bins, and NaNs, are not counted. Counts are exact, so both backends give the same bits in every
//! run.
//!
//! Each block of the GPU counts in shared memory, unless there are too many bins or too few items per bin, which are
//! counted in the output itself. Few bins have up to 32 counters each, so that the threads of a warp do not collide
//! even if all items fall into one bin. On an H200, up to about 100,000 bins have 16 bits each, and counters that
//! overflow are carried over. A call is one launch for up to 1024 bins, and two for more. It reads each item once.
//!
//! Many bounds are found by a table: their range is divided into cells of equal width, and only the bounds of an item's
//! own cell are compared with it. For floats, the width is measured in values or in bits, whichever divides the bounds
//! more evenly.
//!
//! Example: [`08_histogram`].
//!
//! [`08_histogram`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/08_histogram.rs

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod kernel_source;
mod sample;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_range},
};

#[cfg(feature = "cuda")]
pub use gpu::Histogram;
pub use sample::{BinKey, Sample};

/// Scratch device memory for histograms of any type, with any number of bins and items. Its capacity is not limited.
///
/// ```no_run
/// use compaction::{cuda, histogram::Workspace};
///
/// let workspace = Workspace::new(&cuda::open(0)?.default_stream())?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[cfg(feature = "cuda")]
pub type Workspace = crate::scratch::Workspace<gpu::Counting>;

/// The largest number of bins of a histogram.
///
/// ```
/// assert_eq!(compaction::histogram::MAX_BINS, 16_777_216);
/// ```
pub const MAX_BINS: usize = 1 << 24;

const NAMES: ArgumentNames = argument_names!("histogram", "items");
const BOUNDS: &str = "the bounds of histogram";

/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to [`MAX_BINS`] bins.
fn check_bins(bins: usize) -> Result<()> {
    check_range("the bins of histogram", bins, 1, MAX_BINS)
}
