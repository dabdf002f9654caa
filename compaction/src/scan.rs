//! Scan (prefix sum): combines every prefix of a sequence.
//!
//! ```text
//! items        3  1  4  1  5  9      combined by sum
//!
//! exclusive →  0  3  4  8  9 14      the sum of the items before each item
//! inclusive →  3  4  8  9 14 23      the sum including the item itself
//! ```
//!
//! An [`Operator`] combines two items, and a [`Strategy`] selects the parallel algorithm. On the CPU,
//! [`cpu::exclusive`] and [`cpu::inclusive`] write into slices. On a GPU, a [`Scan`] enqueues the operation on a
//! stream; the number of items comes from the host or from device memory.
//!
//! Sums of integers, minima and maxima are equal to the bit on all backends. Floating-point sums depend on the order of
//! additions. The CPU, [`Strategy::BlockSums`] and [`Strategy::Raking`] use the same fixed order and give the same
//! bits, except for NaN payloads. Each other strategy has its own order, which gives the same bits in every run.
//!
//! The default, [`Strategy::LookBack`], is a single pass in one launch and reads and writes each item once, like a
//! copy. [`Strategy::Raking`] moves three times the input's bytes and is the choice for floating-point sums equal to
//! the CPU's. The other strategies are earlier methods, kept for comparison.
//!
//! A scan can also run in place: [`Scan::exclusive_in_place`], [`cpu::exclusive_in_place`].
//!
//! Example: [`02_scan`].
//!
//! [`02_scan`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/02_scan.rs

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod item_passes;
#[cfg(feature = "cuda")]
mod kernel_source;
#[cfg(feature = "cuda")]
mod level_passes;
#[cfg(feature = "cuda")]
mod look_ahead;
#[cfg(feature = "cuda")]
mod call;
#[cfg(feature = "cuda")]
mod passes;
mod strategy;
mod tree;
#[cfg(feature = "cuda")]
mod workspace;

use crate::arguments::{ArgumentNames, argument_names};

pub use crate::monoid::{Item, Operator};
use crate::policies::scan::{
    BLOCK_THREADS, LANE_BYTES, LEVEL_ROWS, LOOK_AHEAD_MIN_TILES, LOOK_AHEAD_THREADS,
    LOOK_BACK_ROWS, RING_TILES,
};
#[cfg(feature = "cuda")]
pub use gpu::Scan;
pub use strategy::Strategy;
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Returns the number of `look-back` blocks per multiprocessor to compile for. Several blocks hide the time in which
/// tiles wait.
///
/// Items of 8 bytes need more registers, so fewer blocks fit.
const fn look_back_blocks<T>() -> u32 {
    if size_of::<T>() == 8 { 3 } else { 4 }
}

/// Dynamic shared memory per block of `scan_look_ahead` in bytes: its tiles, and 256 bytes of state per tile.
const RING_BYTES: u32 = RING_TILES * (BLOCK_THREADS * LOOK_BACK_ROWS * LANE_BYTES + 256);

/// Returns the items per tile of `block-sums` and `raking`, on each level.
const fn level_tile_items<T>() -> u32 {
    BLOCK_THREADS * LEVEL_ROWS * LANE_BYTES / size_of::<T>() as u32
}

/// Returns the items per tile of `look-back`.
const fn look_back_tile_items<T>() -> u32 {
    BLOCK_THREADS * LOOK_BACK_ROWS * LANE_BYTES / size_of::<T>() as u32
}

/// The largest number of items of a GPU scan. With more, a grid with one thread per item, or per leaf of Blelloch's
/// tree, would have too many blocks.
const MAX_ITEMS: usize = 1 << 38;

const NAMES: ArgumentNames = argument_names!("scan", "items");
