//! The definitions that the kernel files of a scan share.

use super::{BLOCK_THREADS, Item, LANE_BYTES, LOOK_BACK_ROWS, Operator};
use crate::{CountWord, cuda::Source, look_back};

/// Adds to a kernel source the definitions that `scan_tile.cuh` needs: item type, operator, tile shape and word type of
/// counts.
pub(super) fn of_items<T: Item, W: CountWord>(source: Source, operator: Operator) -> Source {
    let source = source
        .define("ITEM", T::NAME)
        .define("Word", W::NAME)
        .define("OPERATOR", operator.cuda_name())
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("LANE_BYTES", LANE_BYTES)
        .constant("LOOK_BACK_ROWS", LOOK_BACK_ROWS);
    look_back::declare(source)
}
