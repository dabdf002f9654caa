//! The headers of this crate: every kernel file can include them as `"compaction/….cuh"`.

macro_rules! headers {
    ($($file:literal),+) => {
        /// Path in errors, and text.
        pub(super) const HEADERS: &[(&str, &str)] = &[$((
            concat!("compaction/kernels/", $file),
            include_str!(concat!("../../kernels/", $file)),
        )),+];
    };
}
headers!(
    "prelude.cuh",
    "monoid.cuh",
    "warp.cuh",
    "block.cuh",
    "look_back.cuh",
    "order.cuh",
    "extent.cuh",
    "tile.cuh",
    "kept.cuh",
    "stripes.cuh",
    "scan_counts.cuh",
    "vector.cuh",
    "value.cuh",
    "portions.cuh",
    "chunks.cuh",
    "two_way.cuh",
    "digit.cuh",
    "radix_sort.cuh",
    "stage.cuh",
    "bulk.cuh",
    "scan_tile.cuh"
);

/// What every expanded source begins with.
pub(super) const PRELUDE: &str = "compaction/kernels/prelude.cuh";
