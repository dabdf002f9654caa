//! Merge sort: sorts items of up to 128 bytes by any comparison.
//!
//! ```text
//! items                     (3, a)  (1, b)  (3, c)  (2, d)
//! by the number, falling →  (3, a)  (3, c)  (2, d)  (1, b)     stable: a came before c
//! ```
//!
//! On the CPU, [`cpu`] takes a closure; on a GPU, a [`MergeSort`] takes a [`Comparison`] in CUDA C++ and enqueues the
//! operation on a stream. CUB: `DeviceMergeSort::StableSortKeysCopy`. Both backends give the same bits in every run, if
//! the comparison is the same.
//!
//! Use [`radix_sort`](crate::radix_sort) for numbers, which is several times faster.
//!
//! One launch sorts tiles in shared memory. Each further launch merges pairs of runs, which doubles their length. A
//! merge is divided among blocks and threads by merge paths (O. Green, R. McColl and D. A. Bader, "GPU Merge Path", ICS
//! 2012). Each launch moves 2sn bytes for n items of s bytes. A tile has 3840 items of 4 bytes, and so 2²⁰ items take
//! 10 launches.

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;

use crate::arguments::{ArgumentNames, argument_names};

#[cfg(feature = "cuda")]
pub use gpu::{Comparison, MergeSort};

/// Scratch device memory for merge sorts of items of type `T`: a copy of the items. The capacity is their number.
///
/// ```no_run
/// use compaction::{cuda, merge_sort::Workspace};
///
/// let workspace = Workspace::<[f32; 4]>::with_capacity(&cuda::open(0)?.default_stream(), 1 << 20)?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[cfg(feature = "cuda")]
pub type Workspace<T> = crate::scratch::Workspace<gpu::Merging<T>>;

const NAMES: ArgumentNames = argument_names!("merge_sort", "items");
