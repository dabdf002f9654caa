//! Stable partition: puts the selected items first and the rejected behind them, or groups items by class.
//!
//! ```text
//! flags      0  1  1  0  0  1       one byte per item; nonzero means selected
//! items      a  b  c  d  e  f
//!
//! items   →  b  c  f  a  d  e       all items, both parts in their order
//! count   →  3                      number of selected items, where the rejected begin
//!
//! keys       2  0  1  0  2  0       one byte per item: its class
//! indices →  1  3  5  2  0  4       ordered by class, each class in input order
//! starts  →  0  3  4  6             start of each class, and end of the last
//! ```
//!
//! On the CPU, [`cpu`] writes into slices. On a GPU, [`Partition`] partitions by flags and [`Classes`] by keys; the
//! counts stay in device memory, where a later call can read them. Both backends give the same bits in every run.
//!
//! The start of the rejected part, or of a class, is known only after all items are counted. A single launch counts and
//! then moves: it reads flags and keys twice, and items once. For n items of s bytes it moves 2n + 4n bytes for indices
//! and 2n + 2sn bytes for items. Grouping by keys is a multisplit (S. Ashkiani, A. Davidson, U. Meyer and J. D. Owens,
//! "GPU Multisplit", PPoPP 2016).
//!
//! ```text
//! block 0   count its chunk ─┐                ┌─ wait for all counts ─ move a chunk
//! block 1   count its chunk ─┤ device memory ─┤
//! block 2   count its chunk ─┘                └─ ...
//! ```
//!
//! A block publishes its count before it waits for others, so the counts appear whatever the scheduling order.
//! Look-back as in [`select`](crate::select) would not help, because it does not know the start of the rejected part
//! before the end of the input. With 64-bit counts or indices, which 2³² or more items need, one launch counts and a
//! second one moves.
//!
//! Use [`Partition`] if both parts are needed, and [`select`](crate::select) if one is, because it reads the flags only
//! once. Use [`Classes`] for groups such as materials, and [`radix_sort`](crate::radix_sort) for keys of more than one
//! byte.
//!
//! Examples: [`Partition`] and [`Classes`].

#[cfg(feature = "cuda")]
mod call;
#[cfg(feature = "cuda")]
mod classes;
pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod workspace;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_len, check_range},
};

use crate::policies::partition::BLOCK_THREADS;
#[cfg(feature = "cuda")]
pub use classes::Classes;
#[cfg(feature = "cuda")]
pub use gpu::Partition;
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Items per tile of [`Partition`] on a GPU. A block moves one tile at a time.
///
/// ```
/// assert_eq!(compaction::partition::TILE_ITEMS, 4096);
/// ```
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;

/// Items per tile of [`Classes`] on a GPU. A block processes one tile at a time.
///
/// ```
/// assert_eq!(compaction::partition::CLASS_TILE_ITEMS, 8192);
/// ```
pub const CLASS_TILE_ITEMS: u32 = 8192;

const NAMES: ArgumentNames = argument_names!("partition", "flags");
const STARTS: &str = "the starts of partition";

/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as flags.
fn check_items(flags: usize, items: usize) -> Result<()> {
    check_len("the items of partition", items, flags)
}

/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to 256 classes.
fn check_classes(classes: u32) -> Result<()> {
    check_range("the classes of partition", classes as usize, 1, 256)
}
