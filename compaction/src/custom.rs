//! Reductions and scans by any associative operator, over any item type.
//!
//! ```text
//! items        (1, 2)  (3, 0)  (1, 1)        affine functions x → a x + b as pairs (a, b)
//!
//! reduced   →  (3, 1)                        all of them, one after the other
//! inclusive →  (1, 2)  (3, 6)  (3, 7)        those up to each item
//! ```
//!
//! In CUB, these are `DeviceReduce::Reduce`, `DeviceReduce::TransformReduce`, `DeviceScan::ExclusiveScan` and their
//! relatives. On a GPU, a [`CustomOperator`] in CUDA C++ combines the items; on the CPU, functions of [`cpu`] take
//! closures. Items of type `T` are converted to values of type `V` first, so that, for example, flags of one byte can
//! be added as `u32`. The values are plain data of 1 to 64 bytes.
//!
//! The operator must be associative and have an identity. It need not be commutative. Values are always combined in the
//! same order, which depends on the number of items only: all backends give the same bits if both definitions of the
//! operator do.
//!
//! The values of runs of equal keys are combined by
//! [`ReduceByKey::with_operator`](crate::runs::ReduceByKey::with_operator) and
//! [`ScanByKey::with_operator`](crate::runs::ScanByKey::with_operator), and those of segments by
//! [`SegmentedReduce::with_operator`](crate::segmented_reduce::SegmentedReduce::with_operator).
//!
//! [`reduce`](crate::reduce) and [`scan`](crate::scan) are faster for sums, minima and maxima of numbers.
//!
//! Examples: [`CustomReduce`] and [`CustomScan`].

pub mod cpu;
#[cfg(feature = "cuda")]
mod operator;
#[cfg(feature = "cuda")]
mod reduce;
#[cfg(feature = "cuda")]
mod scan;
#[cfg(feature = "cuda")]
mod workspace;

use crate::tiles;

#[cfg(feature = "cuda")]
pub use operator::CustomOperator;
#[cfg(feature = "cuda")]
pub use reduce::CustomReduce;
#[cfg(feature = "cuda")]
pub use scan::CustomScan;
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Returns the rows of each warp in a tile of a scan, for items and values of these sizes.
const fn rows(item_bytes: usize, value_bytes: usize) -> usize {
    tiles::rows(if item_bytes > value_bytes {
        item_bytes
    } else {
        value_bytes
    })
}
