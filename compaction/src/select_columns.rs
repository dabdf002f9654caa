//! Stream compaction of several columns (a struct of arrays) by one array of flags.
//!
//! ```text
//! flags        0  1  1  0  0  1       one byte per item; nonzero means selected
//! origins      a  b  c  d  e  f       for example 16 bytes per item
//! pixels       0  1  2  3  4  5       4 bytes per item
//!
//! origins   →  b  c  f
//! pixels    →  1  2  5
//! count     →  3
//! ```
//!
//! The fields of many objects are often stored as a struct of arrays: one column for each field. [`cpu::columns`]
//! compacts up to eight columns on the CPU, and [`SelectColumns`] on a GPU, in one pass over one array of flags. Output
//! positions are computed once for all columns, and only selected items are read. Both backends give the same bits, in
//! the order of the items.
//!
//! On a GPU this is one launch, with the single pass of [`select`](crate::select). For n items with s bytes in all
//! columns together, of which k are kept, it moves n + 2sk bytes if the kept items are adjacent. A GPU reads memory in
//! sectors of 32 bytes. If the kept items are scattered, one column of 16-byte items costs less than four of 4 bytes,
//! so fields that move together should share a column.
//!
//! The L2 cache may fetch more than it is asked for: an H200 fetches two sectors at once. A program whose reads are
//! mostly scattered can limit that to one sector for its whole context; sequential reads stay as fast
//! (`docs/benchmarks/compaction.md`):
//!
//! ```no_run
//! # #[cfg(feature = "cuda")] fn example() -> compaction::Result<()> {
//! use compaction::cudarc::driver::sys::CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
//!
//! let context = compaction::cuda::open(0)?;
//! let _ = context.set_limit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 32); // A hint, which the GPU may not support.
//! # Ok(()) }
//! ```
//!
//! Example: [`04_columns`].
//!
//! [`04_columns`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/04_columns.rs

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod workspace;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_range},
};

use crate::policies::select_columns::{BATCH_BYTES, BLOCK_THREADS};
#[cfg(feature = "cuda")]
pub use gpu::{Column, SelectColumns};
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Items per tile on a GPU. A block processes one tile, and each thread loads the flags of 16 items.
///
/// ```
/// assert_eq!(compaction::select_columns::TILE_ITEMS, 4096);
/// ```
pub const TILE_ITEMS: u32 = 16 * BLOCK_THREADS;
/// The largest number of items per launch of a call that counts by `u64`: a multiple of the tile size. The items of one
/// such launch are a portion.
const PORTION_ITEMS: usize = 1 << 31;

/// The largest number of columns of one call.
///
/// ```
/// # #[cfg(feature = "cuda")] fn example() -> compaction::Result<()> {
/// use compaction::select_columns::{MAX_COLUMNS, SelectColumns};
///
/// assert!(SelectColumns::sources(&[4; MAX_COLUMNS]).is_ok());
/// assert!(SelectColumns::sources(&[4; MAX_COLUMNS + 1]).is_err());
/// # Ok(()) }
/// ```
pub const MAX_COLUMNS: usize = 8;
/// The largest item size in bytes.
const MAX_BYTES: usize = 64;

const NAMES: ArgumentNames = argument_names!("select_columns", "flags");

/// Returns [`Error::OutOfRange`] unless there are 1 to 8 columns.
fn check_columns(columns: usize) -> Result<()> {
    check_range("the columns of select_columns", columns, 1, MAX_COLUMNS)
}
