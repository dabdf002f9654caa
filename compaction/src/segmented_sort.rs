//! Segmented sort: sorts the keys, or key-value pairs, of each segment of a buffer.
//!
//! ```text
//! keys       3  1  4  1  5  9  2
//! offsets    0  2  2  7             where each segment begins, and where the last one ends
//!
//! keys    →  1  3  1  2  4  5  9
//! ```
//!
//! On the CPU, [`cpu`] writes into slices; on a GPU, a [`SegmentedSort`] enqueues the operation on a stream. Segments
//! lie between consecutive offsets, or have equal lengths. CUB: `DeviceSegmentedSort::StableSortKeys` and
//! `StableSortPairs`.
//!
//! The order is that of [`radix_sort`](crate::radix_sort): stable in both directions, floats as by [`f32::total_cmp`].
//! Keys are numbers of 1 to 8 bytes, and values any type of 4 or 8 bytes. Both backends give the same bits in every
//! run.
//!
//! Segments of up to 256 items are sorted in registers: a warp sorts 4 of up to 64, 2 of up to 128 or 1 of up to 256 at
//! a time, by bitonic networks (K. E. Batcher, "Sorting Networks and Their Applications", AFIPS 1968). They are read
//! and written once. Longer ones are cut into tiles, which are sorted in shared memory and then merged in rounds. A
//! call takes one launch if the given length, or with offsets the whole buffer, has at most 256 items. Otherwise it
//! takes another one, for long segments. It ends at once if there are none.
//!
//! Example: [`SegmentedSort`].

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod kernel_source;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_len, check_range},
};

pub use crate::radix_sort::{Key, Order};
#[cfg(feature = "cuda")]
pub use gpu::SegmentedSort;

/// Scratch device memory for segmented sorts of keys of type `K`, alone or with values of type `V`. The capacity is the
/// number of items, however many segments there are.
///
/// It holds a copy of the keys, a copy of the values if there are any, and lists of the tiles of long segments, of at
/// most 0.16 bytes per item.
///
/// ```no_run
/// use compaction::{cuda, segmented_sort::Workspace};
///
/// let stream = cuda::open(0)?.default_stream();
/// let of_keys = Workspace::<u32>::with_capacity(&stream, 1 << 20)?;
/// let of_pairs = Workspace::<u32, f32>::with_capacity(&stream, 1 << 20)?; // serves keys alone as well
/// # Ok::<(), compaction::Error>(())
/// ```
#[cfg(feature = "cuda")]
pub type Workspace<K, V = ()> = crate::scratch::Workspace<kernel_source::Sorting<K, V>>;

const NAMES: ArgumentNames = argument_names!("segmented_sort", "segments");
const KEYS: &str = "the keys of segmented_sort";

/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for segments of no items.
fn check_length(length: usize) -> Result<()> {
    let what = "the segment length of segmented_sort";
    check_range(what, length, 1, usize::MAX)
}

/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many values as keys.
fn check_values(keys: usize, values: usize) -> Result<()> {
    check_len("the values of segmented_sort", values, keys)
}
