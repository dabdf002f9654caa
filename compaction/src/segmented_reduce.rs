//! Segmented reduction: the sum, minimum or maximum of each segment of a buffer, or its combination by any operator.
//!
//! ```text
//! items     3  1  4  1  5  9
//! offsets   0  2  2  6          where each segment begins, and where the last one ends
//!
//! sums   →  4  0  19            an empty segment has the operator's identity
//! ```
//!
//! On the CPU, [`cpu`] writes into a slice; on a GPU, a [`SegmentedReduce`] enqueues the operation on a stream.
//! Segments lie between consecutive offsets, or have equal lengths. CUB: `DeviceSegmentedReduce`.
//!
//! Results are the same bits on both backends and in every run, except for NaN payloads. The order of additions depends
//! on the length of the segment alone:
//!
//! * A segment of up to 1024 items has 32 partial sums, of every 32nd item each, from the first item on. Neighboring
//!   partial sums are then added in pairs, five times.
//! * A longer segment consists of chunks of 1024 items, counted from its beginning. Their sums form a sequence that is
//!   added likewise.
//!
//! [`SegmentedReduce::with_operator`] takes an operator of your own in CUDA C++, over items of any type. On the CPU,
//! [`cpu::by_offsets_with`] and [`cpu::of_length_with`] take closures. The operator must be associative, and need not be
//! commutative. Neighboring values of a segment are combined in pairs, then neighboring results in pairs, until one is
//! left. An odd one at the end waits for the next round. The bits are the same on both backends if both definitions of
//! the operator give the same bits.
//!
//! A call is one launch, which reads each item once. Work is distributed by chunks, so one long segment among a million
//! empty ones occupies the whole GPU.
//!
//! Example: [`10_segmented_sum`].
//!
//! [`10_segmented_sum`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/10_segmented_sum.rs

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_range},
};

pub use crate::monoid::{Item, Operator};
#[cfg(feature = "cuda")]
pub use gpu::SegmentedReduce;

/// Items of a chunk, the unit of the order of additions.
///
/// ```
/// assert_eq!(compaction::segmented_reduce::CHUNK_ITEMS, 1024);
/// ```
pub const CHUNK_ITEMS: usize = 1024;

/// Scratch device memory for segmented reductions whose results have type `V`. The capacity is the number of items,
/// however many segments there are. For results of up to 8 bytes, a workspace takes 24 bytes for each 1024 items.
///
/// ```no_run
/// use compaction::{cuda, segmented_reduce::Workspace};
///
/// let workspace = Workspace::<f32>::with_capacity(&cuda::open(0)?.default_stream(), 1 << 20)?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[cfg(feature = "cuda")]
pub type Workspace<V> = crate::scratch::Workspace<gpu::Reduction<V>>;

const NAMES: ArgumentNames = argument_names!("segmented_reduce", "segments");
const ITEMS: &str = "the items of segmented_reduce";

/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for segments of no items.
fn check_length(length: usize) -> Result<()> {
    check_range(
        "the segment length of segmented_reduce",
        length,
        1,
        usize::MAX,
    )
}
