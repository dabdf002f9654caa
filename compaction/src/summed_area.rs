//! Summed-area tables: for each entry, the sum of the rectangle from the first entry to it.
//!
//! ```text
//! items   1  2  3        table →  1  3  6       the sum of any rectangle takes four look-ups:
//!         4  5  6                 5 12 21       5 + 6 + 8 + 9 = 45 - 6 - 12 + 1 = 28
//!         7  8  9                12 27 45
//! ```
//!
//! (F. C. Crow, "Summed-area tables for texture mapping", SIGGRAPH 1984.) On the CPU, [`cpu::table`] writes into a
//! slice. On a GPU, a [`SummedArea`] enqueues the operation on a stream. Tables are stored row by row without gaps.
//!
//! Integer sums are equal to the bit on all backends. They wrap around on overflow, and differences of table entries
//! are still correct. Floating-point sums depend on the order of additions. The CPU gives the bits of the
//! specification; each [`Strategy`] has its own order, gives the same bits in every run, and differs from the CPU by
//! rounding.
//!
//! Example: [`SummedArea`].

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
mod strategy;
#[cfg(feature = "cuda")]
mod workspace;

use crate::{
    Result,
    arguments::{check_len, check_range, check_room},
};

use crate::policies::summed_area::{BLOCK_THREADS, LANE_BYTES, SINGLE_PASS_BLOCKS, WARP_ROWS};
#[cfg(feature = "cuda")]
pub use gpu::SummedArea;
pub use strategy::Strategy;
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Threads per warp. Also the side length in items of the squares that `scan-transpose` transposes, so that a warp
/// reads or writes one line of a square at once.
const WARP_THREADS: u32 = 32;
/// Rows per tile of `single-pass`.
const TILE_ROWS: u32 = BLOCK_THREADS / WARP_THREADS * WARP_ROWS;

/// Returns the columns per tile of `single-pass`, for items of type `T`.
const fn tile_columns<T>() -> u32 {
    WARP_THREADS * LANE_BYTES / size_of::<T>() as u32
}

/// Returns the number of `single-pass` tiles that cover a table of `width` by `height` items. A tile has [`TILE_ROWS`]
/// rows and [`tile_columns`] columns.
fn tiles<T>(width: u32, height: u32) -> u64 {
    u64::from(width.div_ceil(tile_columns::<T>())) * u64::from(height.div_ceil(TILE_ROWS))
}

/// Returns the number of squares of 32 by 32 items that `scan-transpose` transposes in a table of `width` by `height`
/// items.
fn squares(width: u32, height: u32) -> u64 {
    u64::from(width.div_ceil(WARP_THREADS)) * u64::from(height.div_ceil(WARP_THREADS))
}

/// Checks the lengths of a table's input and output, in items. Returns
/// [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless `items` is width times height, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is less.
fn check_lengths(items: usize, (width, height): (usize, usize), out: usize) -> Result<()> {
    check_len(
        "the items of summed_area",
        items,
        width.saturating_mul(height),
    )?;
    check_room("the output of summed_area", out, items)
}

/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a table with more rows, columns or tiles than a grid can
/// have blocks: 2³¹ - 1.
fn check_size<T>(width: u32, height: u32) -> Result<()> {
    const MAX: usize = i32::MAX as usize;
    check_range("the width of summed_area", width as usize, 0, MAX)?;
    check_range("the height of summed_area", height as usize, 0, MAX)?;
    let tiles = tiles::<T>(width, height).max(squares(width, height));
    check_range("the tiles of summed_area", tiles as usize, 0, MAX)
}
