//! Reduction: combines all items of a sequence into one, by sum, minimum or maximum. Also finds the index of the
//! smallest or the largest item.
//!
//! ```text
//! items     3  1  4  1  5
//!
//! sum    →  14
//! min    →  1        the smallest item
//! argmin →  1, 1     its smallest index, and the item
//! ```
//!
//! In CUB, these are `DeviceReduce::Sum`, `Min`, `Max`, `ArgMin` and `ArgMax`. On the CPU, [`cpu::items`] and
//! [`cpu::arg`] return the result. On a GPU, [`Reduce`] and [`ArgReduce`] enqueue one launch that writes it to device
//! memory; the number of items comes from the host or from device memory.
//!
//! All backends return the same bits, except for NaN payloads. For floating-point sums, the order of additions depends
//! on the number and size of the items only, and not on the GPU. Each item takes part in at most 54 additions up to 2²⁷
//! bytes of items, and in 8 more for each further 2²⁷ bytes.
//!
//! Each item is read once. Blocks publish their results like the tiles of decoupled look-back (Merrill and Garland
//! 2016), and the block that starts last combines them.
//!
//! Example: [`07_sum`].
//!
//! [`07_sum`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/07_sum.rs

#[cfg(feature = "cuda")]
mod arg;
pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod kernel_source;
pub(crate) mod tree;
#[cfg(feature = "cuda")]
mod workspace;

#[cfg(feature = "cuda")]
use crate::arguments::{ArgumentNames, argument_names};
use crate::names::known_by_name;

pub use crate::monoid::{Item, Operator};
use crate::policies::reduce::{BLOCK_THREADS, LANE_BYTES, LANE_ROWS, MAX_BLOCKS, RESIDENT_BLOCKS};
#[cfg(feature = "cuda")]
pub use arg::ArgReduce;
#[cfg(feature = "cuda")]
pub use gpu::Reduce;
#[cfg(feature = "cuda")]
pub(crate) use gpu::{kernel_file, launch};
#[cfg(feature = "cuda")]
pub(crate) use kernel_source::of_items;
#[cfg(feature = "cuda")]
pub use workspace::Workspace;
#[cfg(feature = "cuda")]
pub(crate) use workspace::workspace_words;

/// Warps per block of all kernels.
const BLOCK_WARPS: u32 = BLOCK_THREADS / 32;
/// The largest size of the values that kernels combine, in bytes.
#[cfg(feature = "cuda")]
const MAX_VALUE_BYTES: usize = 64;

#[cfg(feature = "cuda")]
const NAMES: ArgumentNames = argument_names!("reduce", "items");

/// Returns the number of items of a vector, for items of `bytes` bytes.
const fn lane_items(bytes: usize) -> usize {
    if bytes.is_power_of_two() && bytes < LANE_BYTES {
        LANE_BYTES / bytes
    } else {
        1
    }
}

/// Returns the number of vectors of a lane in a segment, for items of `bytes` bytes: a power of two.
const fn lane_rows(bytes: usize) -> usize {
    let rows = LANE_ROWS * LANE_BYTES / (lane_items(bytes) * bytes);
    if rows == 0 {
        1
    } else if rows < LANE_ROWS {
        1 << rows.ilog2()
    } else {
        LANE_ROWS
    }
}

/// Returns the number of items of a segment, which a warp combines at once, for items of `bytes` bytes.
const fn segment_items(bytes: usize) -> usize {
    lane_rows(bytes) * 32 * lane_items(bytes)
}

/// Whether an [`ArgReduce`] or [`cpu::arg`] searches for the smallest or the largest item.
///
/// ```
/// use compaction::reduce::Extreme;
///
/// assert_eq!("max".parse(), Ok(Extreme::Max));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The smallest item. -0 is less than +0.
    Min,
    /// The largest item. +0 is greater than -0.
    Max,
}

impl Extreme {
    /// The minimum and the maximum.
    pub const ALL: &[Self] = &[Self::Min, Self::Max];

    /// Returns the name as parsed and displayed: `min` or `max`.
    ///
    /// ```
    /// assert_eq!(compaction::reduce::Extreme::Min.name(), "min");
    /// ```
    pub fn name(self) -> &'static str {
        self.operator().name()
    }

    /// Returns the operator that yields this extreme of two items.
    ///
    /// ```
    /// use compaction::reduce::{Extreme, Operator};
    ///
    /// assert_eq!(Extreme::Max.operator(), Operator::Max);
    /// ```
    pub fn operator(self) -> Operator {
        match self {
            Self::Min => Operator::Min,
            Self::Max => Operator::Max,
        }
    }
}

known_by_name!(Extreme, "extreme");
