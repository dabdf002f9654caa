//! Radix sort: sorts keys, or key-value pairs by their keys.
//!
//! ```text
//! keys        31  41  59  26  53  31
//! values       a   b   c   d   e   f
//!
//! keys    →   26  31  31  41  53  59     ascending
//! values  →    d   a   f   b   e   c     stable: a came before f
//! ```
//!
//! On the CPU, [`cpu`] writes into slices; on a GPU, a [`RadixSort`] enqueues the operation on a stream. Both give the
//! same bits in every run. Keys are numbers of 1 to 8 bytes, see [`Key`]. Values are any type of 4 or 8 bytes, such as
//! the indices of larger records. Floats are sorted in the order of [`f32::total_cmp`]: -NaN, -∞, …, -0.0, 0.0, …, ∞,
//! NaN, and keep their bits. The sort is stable in both directions and can be limited to a range of the keys' bits.
//!
//! An argsort gives the order of the keys as indices, here 3, 0, 5, 1, 4, 2. CUB: `DeviceRadixSort`.
//!
//! A radix sort (least significant digit first) sorts by one digit of the keys after the other. Each pass keeps the
//! order of the pass before among equal digits, so in the end the highest digit decides, then the next one, and so on:
//!
//! ```text
//! keys                   31  41  59  26  53  31
//! by the last digit  →   31  41  31  53  26  59
//! by the first       →   26  31  31  41  53  59
//! ```
//!
//! * [`Strategy::Split`] sorts by one bit per pass: a stable partition into keys with a zero and keys with a one, 32
//!   times for keys of 4 bytes (M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU
//!   Gems 3, 2007, chapter 39).
//! * [`Strategy::Onesweep`], the default, sorts by 8 bits per pass. All digits are counted in advance, so that a pass
//!   reads and writes each key once, with decoupled look-back over the counts of 256 bins (A. Adinets and D. Merrill,
//!   "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", arXiv 2206.01784, 2022). Unlike the paper, it
//!   reads several look-back states at once and clears nothing between passes. Alternate items of a warp find lanes
//!   with an equal digit by votes and by a mask in shared memory.
//!
//! For n keys of 4 bytes, `onesweep` moves 36n bytes, and 32n more with values of 4 bytes. `split` reads keys twice per
//! pass and moves 384n bytes, and 256n more with values. Fewer bits take fewer passes: [`bits(0..16)`](RadixSort::bits)
//! sorts keys below 2¹⁶ in half the time.
//!
//! Examples: [`09_argsort`] and [`12_sort_pairs`].
//!
//! [`09_argsort`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/09_argsort.rs
//! [`12_sort_pairs`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/12_sort_pairs.rs

#[cfg(feature = "cuda")]
mod argsort;
pub mod cpu;
#[cfg(feature = "cuda")]
mod call;
#[cfg(feature = "cuda")]
mod kernel_source;
mod key;
#[cfg(feature = "cuda")]
mod onesweep;
#[cfg(feature = "cuda")]
mod sort;
#[cfg(feature = "cuda")]
mod split;
#[cfg(feature = "cuda")]
mod workspace;

use std::ops::Range;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_len, check_range},
    names::known_by_name,
};

#[cfg(feature = "cuda")]
pub(crate) use kernel_source::SortTypes;
pub use key::Key;
#[cfg(feature = "cuda")]
pub use sort::RadixSort;
#[cfg(feature = "cuda")]
pub(crate) use sort::{check_aligned, check_value};
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Items per tile of [`Strategy::Onesweep`] on a GPU, for keys of 4 bytes, alone or with values of 4 bytes. A block
/// sorts one tile at a time.
///
/// ```
/// assert!(compaction::radix_sort::TILE_ITEMS.is_multiple_of(32));
/// ```
#[cfg(feature = "cuda")]
pub const TILE_ITEMS: u32 = onesweep::tile_items(4, 4);

const NAMES: ArgumentNames = argument_names!("radix_sort", "keys");

/// The radix sort algorithm on a GPU: by 8 bits per pass, or by one.
///
/// ```
/// use compaction::radix_sort::Strategy;
///
/// assert_eq!("split".parse(), Ok(Strategy::Split));
/// assert_eq!(Strategy::default().to_string(), "onesweep");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Sorts by 8 bits per pass. One launch counts all digits, and each pass is one launch for every 2²⁸ keys or so
    /// (Adinets & Merrill 2022).
    #[default]
    Onesweep,
    /// Sorts by one bit per pass. Each pass is a stable partition in one launch for every 2³¹ keys (GPU Gems 3, 2007).
    Split,
}

impl Strategy {
    /// All strategies, the default first.
    pub const ALL: &[Self] = &[Self::Onesweep, Self::Split];

    /// Returns the strategy's name as parsed and displayed: `onesweep` or `split`.
    ///
    /// ```
    /// assert_eq!(compaction::radix_sort::Strategy::Onesweep.name(), "onesweep");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Onesweep => "onesweep",
            Self::Split => "split",
        }
    }
}

known_by_name!(Strategy, "way to sort");

/// The sort order. Equal keys keep their input order in both directions.
///
/// ```
/// use compaction::radix_sort::{Order, cpu};
///
/// let mut out = [0_u32; 3];
/// cpu::keys(Order::Descending, 0..32, &[2, 3, 1], &mut out)?;
/// assert_eq!(out, [3, 2, 1]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The smallest key comes first.
    #[default]
    Ascending,
    /// The largest key comes first.
    Descending,
}

/// Returns the number of bits of a key of type `K`.
const fn key_bits<K: Key>() -> u32 {
    8 * size_of::<K>() as u32
}

/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) if the range of bits exceeds those of a key, or ends before
/// it begins.
fn check_bits<K: Key>(bits: &Range<u32>) -> Result<()> {
    let (begin, end, all) = (
        bits.start as usize,
        bits.end as usize,
        key_bits::<K>() as usize,
    );
    check_range("the first of the bits of radix_sort", begin, 0, all)?;
    check_range("the end of the bits of radix_sort", end, begin, all)
}

/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many values as keys.
fn check_values(keys: usize, values: usize) -> Result<()> {
    check_len("the values of radix_sort", values, keys)
}
