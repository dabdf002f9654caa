//! The definitions that the kernel files of reductions share.

use super::{
    BLOCK_THREADS, LANE_BYTES, MAX_BLOCKS, MAX_VALUE_BYTES, RESIDENT_BLOCKS, lane_items, lane_rows,
};
use crate::{CountWord, cuda::Source, layout::Shared, look_back};

/// Adds to a kernel source the definitions that `reduce.cuh` needs: item type, tile shape and word type of counts.
pub(crate) fn of_items<T: Shared, W: CountWord>(source: Source) -> Source {
    let bytes = size_of::<T>();
    let vector_bytes = bytes * lane_items(bytes);
    // The largest power of two that divides the size of a vector.
    let align = (1 << vector_bytes.trailing_zeros()).min(LANE_BYTES);
    let source = source
        .define("ITEM", T::NAME)
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("REDUCE_BLOCKS", RESIDENT_BLOCKS)
        .constant("MAX_BLOCKS", MAX_BLOCKS)
        .constant("MAX_VALUE_BYTES", MAX_VALUE_BYTES as u32)
        .constant("LANE_ITEMS", lane_items(bytes) as u32)
        .constant("LANE_ALIGN", align.max(align_of::<T>()) as u32)
        .constant("LANE_ROWS", lane_rows(bytes) as u32);
    look_back::declare(source)
}
