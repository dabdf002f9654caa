//! Stream compaction: keeps the flagged items of a buffer, or their indices.
//!
//! ```text
//! flags      0  1  1  0  0  1       one byte per item; nonzero means selected
//! items      a  b  c  d  e  f
//!
//! indices →  1  2  5                indices of the nonzero flags
//! items   →  b  c  f                the items at these indices
//! count   →  3
//! ```
//!
//! On the CPU, [`cpu::indices`] and [`cpu::items`] write into slices. On a GPU, a [`Select`] enqueues the operation on
//! a stream and leaves the count in device memory, where a later call can read it:
//! [`Count::Device`](crate::Count::Device). Both give the same bits for every [`Strategy`] that keeps the order.
//!
//! The default, [`Strategy::LookBack`], is a single pass over the flags in one launch (D. Merrill and M. Garland,
//! "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA technical report NVR-2016-002, 2016). For n
//! items of s bytes of which k are selected, it moves n + 4k bytes for indices and n + 2sk bytes for items. A rejected
//! item is not read if its whole sector of 32 bytes is rejected.
//!
//! Earlier methods are included for comparison. Each takes three launches, of which the second scans the counts:
//!
//! ```text
//! count-scan-scatter   count per block     │ scan the counts     │ per item: block's offset + rank by ballots
//! sequences            count per warp      │ scan the counts     │ each warp compacts its run of items
//! scan-scatter         scan flags by block │ scan the block sums │ per item: both sums added
//! ```
//!
//! * D. Spataro, cuStreamComp, 2014.
//! * M. Billeter, O. Olsson and U. Assarsson, "Efficient Stream Compaction on Wide SIMD Many-Core Architectures", High
//!   Performance Graphics 2009.
//! * M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, chapter 39, 2007.
//!
//! [`Strategy::HoleFilling`] does not keep the order and moves few items:
//!
//! ```text
//! flags      1  0  1  1  0  1  1    five survivors: two holes among the first five places, two survivors behind them
//! items      a  b  c  d  e  f  g
//! items   →  a  g  c  d  f          the last survivor fills the first hole
//! ```
//!
//! The word type of counts and indices limits the number of items: `u32` allows fewer than 2³², in one launch; `u64`
//! allows any number, in portions of 2³¹ items with one launch each. Each portion leaves the number selected so far in
//! the [`Workspace`] for the next one, without involving the host:
//!
//! ```text
//! items      |     portion 0     |     portion 1     | 2  |
//! selected   0 ────────────────→ a ────────────────→ b ─→ c
//! ```
//!
//! Instead of flags, a [`Predicate`] written in CUDA C++ can decide which items are selected. [`Select::in_place`]
//! moves the survivors to the front of their own buffer.
//!
//! Examples: [`01_select`], [`03_predicate`] and [`11_threshold`].
//!
//! [`01_select`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/01_select.rs
//! [`03_predicate`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/03_predicate.rs
//! [`11_threshold`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/11_threshold.rs

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod in_place;
#[cfg(feature = "cuda")]
mod method;
#[cfg(feature = "cuda")]
mod params;
#[cfg(feature = "cuda")]
mod predicate;
mod strategy;
#[cfg(feature = "cuda")]
pub(crate) mod workspace;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_len},
};

use crate::policies::select::{BLOCK_THREADS, MAX_SEQUENCES};
#[cfg(feature = "cuda")]
pub use gpu::Select;
#[cfg(feature = "cuda")]
pub(crate) use gpu::{KernelsByLayout, item_layout};
#[cfg(feature = "cuda")]
pub(crate) use method::item_constants;
#[cfg(feature = "cuda")]
pub use predicate::{Flag, Parameters, Predicate, SelectIf};
pub use strategy::Strategy;
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Items per tile on a GPU. A block processes one tile at a time.
///
/// Every strategy but [`Strategy::HoleFilling`] keeps the order within a tile. The chunks of the CPU implementation are
/// whole tiles.
///
/// ```
/// assert_eq!(compaction::select::TILE_ITEMS, 8192);
/// ```
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;
/// Items per section, the part of the input whose flags one block of `scan-scatter` scans. The block scans them on a
/// balanced tree in shared memory, whose lowest level has one pair of items per thread.
const SECTION_ITEMS: u32 = 2 * BLOCK_THREADS;
/// The smallest number of items per tile of the in-place kernel, which it has for the widest items.
const IN_PLACE_MIN_TILE_ITEMS: u32 = BLOCK_THREADS;

/// Fails to compile unless `T` has 1 to 64 bytes, the sizes that the kernels support.
pub(crate) const fn check_item<T>() {
    let size = size_of::<T>();
    assert!(size >= 1 && size <= 64, "an item has 1 to 64 bytes");
}

const NAMES: ArgumentNames = argument_names!("select", "flags");

/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as flags.
fn check_items(flags: usize, items: usize) -> Result<()> {
    check_len("the items of select", items, flags)
}
