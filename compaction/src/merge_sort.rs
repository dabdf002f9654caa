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
//! The GPU divides the items into buckets and sorts each bucket in shared memory by merges (O. Green, R. McColl and
//! D. A. Bader, "GPU Merge Path", ICS 2012). The splitters between buckets are items of a sample (N. Leischner, V.
//! Osipov and P. Sanders, "GPU sample sort", IPDPS 2010). Two things differ from that method: the division keeps the
//! order of items, and equal splitters are told apart by their positions. So inputs with few different items have
//! buckets of similar sizes too.
//!
//! A level divides each bucket into up to 512, and moves (3s + 4)n bytes for n items of s bytes. A bucket has about
//! 2000 items of 4 bytes, so 2²⁰ of them take one level and 2²⁸ take two. If an unlucky sample leaves a large bucket,
//! one block sorts it by merges in global memory.
//!
//! Example: [`MergeSort`].

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod kernel_source;

use crate::arguments::{ArgumentNames, argument_names};

#[cfg(feature = "cuda")]
pub use gpu::{Comparison, MergeSort};

/// Scratch device memory for merge sorts of items of type `T`. The capacity is the number of items.
///
/// It holds a copy of the items, 2 bytes for each item, and tables of at most 9 % of the items' size and 17 MB.
///
/// ```no_run
/// use compaction::{cuda, merge_sort::Workspace};
///
/// let workspace = Workspace::<[f32; 4]>::with_capacity(&cuda::open(0)?.default_stream(), 1 << 20)?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[cfg(feature = "cuda")]
pub type Workspace<T> = crate::scratch::Workspace<kernel_source::Merging<T>>;

const NAMES: ArgumentNames = argument_names!("merge_sort", "items");
