//! Tiles of items in quads: four consecutive items of each lane. Twin: `kernels/quad_tile.cuh`.

pub(crate) mod tree;

pub(crate) use crate::policies::tiles::{BLOCK_THREADS, MAX_ROWS, THREAD_BYTES};
#[cfg(feature = "cuda")]
use crate::{CountWord, cuda::Source, look_back};

/// Items of a row of a tile: four of each of the 32 lanes of a warp.
pub(crate) const ROW_ITEMS: usize = 4 * 32;

/// Returns the number of rows of each warp in a tile, of which a thread loads `bytes` bytes per item.
pub(crate) const fn rows(bytes: usize) -> usize {
    let rows = THREAD_BYTES / (4 * bytes);
    if rows == 0 {
        1
    } else if rows < MAX_ROWS {
        1 << rows.ilog2()
    } else {
        MAX_ROWS
    }
}

/// Returns the number of items of a tile in which each warp has `rows` rows.
pub(crate) const fn tile_items(rows: usize) -> usize {
    BLOCK_THREADS / 32 * ROW_ITEMS * rows
}

/// Adds to a kernel source the definitions that `quad_tile.cuh` needs: the word type of counts, the rows of each warp
/// in a tile, and the number of resident blocks per multiprocessor to compile for.
#[cfg(feature = "cuda")]
pub(crate) fn declare<W: CountWord>(source: Source, rows: usize, resident: u32) -> Source {
    let source = source
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", BLOCK_THREADS as u32)
        .constant("RESIDENT_BLOCKS", resident)
        .constant("ROWS", rows as u32);
    look_back::declare(source)
}
