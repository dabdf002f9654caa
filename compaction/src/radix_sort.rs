//! `radix_sort`: orders keys, and values by their keys.
//!
//! ```text
//! keys        31  41  59  26  53  31
//! values       a   b   c   d   e   f
//!
//! keys    →   26  31  31  41  53  59     ascending
//! values  →    d   a   f   b   e   c     stable: a came before f
//! ```
//!
//! On the CPU, [`cpu`] writes into slices; on a GPU, a [`RadixSort`] does it on a stream. Both give the same, bit for
//! bit, and the same in every run. Keys are numbers of 1 to 8 bytes, see [`Key`]; values are anything of 4 or 8 bytes,
//! such as the indices of something larger. Floats are in the order of [`f32::total_cmp`]: -NaN, -∞, …, -0.0, 0.0, …, ∞,
//! NaN, and their bits come out as they went in. Both directions are stable, and a window of the bits can be sorted by
//! alone.
//!
//! A radix sort orders by one digit of the keys after the other, the lowest first; each of these passes keeps the order
//! of the one before, so that in the end the highest digit decides, then the one below it, and so on:
//!
//! ```text
//! keys                   31  41  59  26  53  31
//! by the last digit  →   31  41  31  53  26  59
//! by the first       →   26  31  31  41  53  59
//! ```
//!
//! * [`Strategy::Split`] takes a bit at a time: a stable partition of what has a zero there from what has a one, 32 times
//!   (M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, 2007, chapter 39).
//! * [`Strategy::Onesweep`], the default, takes 8 bits at a time and counts all digits ahead, so that a pass reads and
//!   writes each key once, by decoupled look-back over the counts of 256 bins (A. Adinets and D. Merrill, "Onesweep: A
//!   Faster Least Significant Digit Radix Sort for GPUs", arXiv 2206.01784, 2022). It differs from the paper in that
//!   several states are looked at together, that nothing is cleared between passes, and that of the keys of a warp every
//!   other finds its equals by votes, every other by a mask in shared memory.
//!
//! Bytes that move for n keys of 4 bytes: 36n, and 32n more with values; a bit at a time, where keys are read twice a
//! pass, 384n, and 256n more. Fewer bits take fewer passes: keys below 2¹⁶ are sorted in half the time by
//! [`bits(0..16)`](RadixSort::bits).

pub mod cpu;
mod key;
mod onesweep;
mod sort;
mod split;
mod workspace;

use std::ops::Range;

use crate::{
    CountWord, Result,
    counted::{Names, check_len, check_range, names},
    cuda::Source,
    names::known_by_name,
};

pub use key::Key;
pub use sort::RadixSort;
pub use workspace::Workspace;

/// Keys of 4 bytes, alone or with values of 4 bytes, that a block of [`Strategy::Onesweep`] orders at a time on CUDA.
///
/// ```
/// assert!(compaction::radix_sort::TILE_ITEMS.is_multiple_of(32));
/// ```
pub const TILE_ITEMS: u32 = onesweep::tile_items(4, 4);

const NAMES: Names = names!("radix_sort", "keys");

/// How keys are ordered.
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
    /// 8 bits a pass; one launch to count, and one for each pass (Adinets & Merrill 2022).
    #[default]
    Onesweep,
    /// One bit a pass, each a stable partition in one launch (GPU Gems 3).
    Split,
}

impl Strategy {
    /// All strategies, the default first.
    pub const ALL: &[Self] = &[Self::Onesweep, Self::Split];

    /// Its name, as it is written and read.
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

/// The direction of the order. Equal keys keep their order in both.
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
    /// The smallest key first.
    #[default]
    Ascending,
    /// The largest key first.
    Descending,
}

/// The kernel file of a strategy, for values of so many bytes or none.
fn source<K: Key, W: CountWord>(order: Order, strategy: Strategy, value_bytes: u32) -> Source {
    match strategy {
        Strategy::Onesweep => onesweep::source::<K, W>(order, value_bytes),
        Strategy::Split => split::source::<K, W>(order, value_bytes),
    }
}

/// Bits of a key.
const fn key_bits<K: Key>() -> u32 {
    8 * size_of::<K>() as u32
}

/// Refuses bits that the key does not have, and those that end before they begin.
fn check_bits<K: Key>(bits: &Range<u32>) -> Result<()> {
    let (begin, end, all) = (
        bits.start as usize,
        bits.end as usize,
        key_bits::<K>() as usize,
    );
    check_range("the first of the bits of radix_sort", begin, 0, all)?;
    check_range("the end of the bits of radix_sort", end, begin, all)
}

/// Refuses values that are not as many as their keys.
fn check_values(keys: usize, values: usize) -> Result<()> {
    check_len("the values of radix_sort", values, keys)
}
