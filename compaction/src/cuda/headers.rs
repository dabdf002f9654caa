//! The CUDA headers of this crate, which any kernel file can include as `"compaction/….cuh"`.

macro_rules! headers {
    ($($file:literal),+) => {
        /// The headers of this crate as (path shown in compiler messages, text).
        pub(super) const HEADERS: &[(&str, &str)] = &[$((
            concat!("compaction/kernels/", $file),
            include_str!(concat!("../../kernels/", $file)),
        ),)+ (PUBLIC, include_str!("../../include/block.cuh"))];
    };
}

/// Path of the header for kernels of other crates, which they include as `"compaction/block.cuh"`.
const PUBLIC: &str = "compaction/include/block.cuh";

headers!(
    "prelude.cuh",
    "monoid.cuh",
    "warp.cuh",
    "block.cuh",
    "look_back.cuh",
    "item_count.cuh",
    "order.cuh",
    "extent.cuh",
    "tile.cuh",
    "selected_tile.cuh",
    "striped_tile.cuh",
    "scan_counts.cuh",
    "vector.cuh",
    "value.cuh",
    "portions.cuh",
    "count_then_move.cuh",
    "two_way_partition.cuh",
    "digit.cuh",
    "radix_sort.cuh",
    "async_copy.cuh",
    "bulk_copy.cuh",
    "scan_tile.cuh",
    "in_order.cuh",
    "reduce.cuh",
    "ordered_look_back.cuh",
    "quad_tile.cuh",
    "runs.cuh",
    "by_key.cuh",
    "segments.cuh",
    "merge.cuh",
    "count_items.cuh"
);

/// Path of the header that is prepended to every source: type names such as `u32`, and the macros of layout checks.
pub(super) const PRELUDE: &str = "compaction/kernels/prelude.cuh";
