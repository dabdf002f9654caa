//! C interface of the crate [`compaction`].
//!
//! `include/compaction.h` is written from this crate by cbindgen, and contains the documentation of each function.
//!
//! ```text
//! context   a GPU or the CPU          compaction_open_current, compaction_open_device, compaction_open_cpu
//! plan      operation with kernels    compaction_plan_select, compaction_plan_scan, …
//! workspace scratch memory            compaction_workspace_create
//! call      work on a stream          compaction_select_indices, compaction_scan_exclusive, …
//! ```
//!
//! A program holds a [`Context`], [`Plan`]s and [`Workspace`]s by pointers. There is one module per operation, with its
//! plans and its calls. The module `operation` finds the operation of a plan and runs its call on the GPU or on the CPU,
//! `buffers` checks the buffers of a call, `memory` turns addresses into buffers and slices, and `status` turns results
//! and panics into a [`Status`].

#[doc(hidden)]
pub mod status;
mod memory;
mod types;
mod context;
mod scratch;
mod plan;
mod workspace;
mod buffers;
mod operation;
mod select;
mod columns;
mod partition;
mod scan;
mod reduce;
mod runs;
mod by_key;
mod histogram;
mod segments;
mod segmented_reduce;
mod segmented_sort;
mod gather;
mod radix_sort;
mod top_k;
mod summed_area;
pub use by_key::{
    compaction_plan_reduce_by_key, compaction_plan_scan_by_key, compaction_reduce_by_key,
    compaction_scan_by_key_exclusive, compaction_scan_by_key_inclusive,
};
pub use columns::{Column, compaction_plan_select_columns, compaction_select_columns};
pub use context::{
    Context, compaction_close, compaction_open_cpu, compaction_open_current, compaction_open_device,
};
pub use gather::{
    compaction_gather, compaction_plan_gather, compaction_plan_scatter, compaction_scatter,
};
pub use histogram::{
    compaction_histogram_bounds, compaction_histogram_even, compaction_histogram_keys,
    compaction_plan_histogram,
};
pub use memory::{Address, CUstream_st};
pub use partition::{
    compaction_partition_classes, compaction_partition_indices, compaction_partition_items,
    compaction_plan_partition, compaction_plan_partition_classes,
};
pub use plan::{Plan, compaction_plan_destroy};
pub use radix_sort::{
    compaction_argsort, compaction_plan_argsort, compaction_plan_radix_sort,
    compaction_radix_sort_keys, compaction_radix_sort_pairs,
};
pub use reduce::{
    compaction_arg_reduce, compaction_plan_arg_reduce, compaction_plan_reduce, compaction_reduce,
};
pub use runs::{
    compaction_plan_run_lengths, compaction_plan_unique, compaction_plan_unique_by_key,
    compaction_run_lengths, compaction_unique, compaction_unique_by_key,
};
pub use scan::{compaction_plan_scan, compaction_scan_exclusive, compaction_scan_inclusive};
pub use segmented_reduce::{
    compaction_plan_segmented_reduce, compaction_segmented_reduce_by_offsets,
    compaction_segmented_reduce_of_length,
};
pub use segmented_sort::{
    compaction_plan_segmented_sort, compaction_segmented_sort_keys_by_offsets,
    compaction_segmented_sort_keys_of_length, compaction_segmented_sort_pairs_by_offsets,
    compaction_segmented_sort_pairs_of_length,
};
pub use select::{
    compaction_plan_select, compaction_plan_select_in_place, compaction_select_in_place,
    compaction_select_indices, compaction_select_items,
};
pub use status::{Status, compaction_last_error};
pub use summed_area::{compaction_plan_summed_area, compaction_summed_area};
pub use top_k::{compaction_plan_top_k, compaction_top_k};
pub use workspace::{
    Workspace, compaction_table_workspace_bytes, compaction_table_workspace_create,
    compaction_workspace_bytes, compaction_workspace_check, compaction_workspace_create,
    compaction_workspace_destroy,
};

/// The version of this header: 10,000 × major + 100 × minor + patch. Until version 1.0.0, a program needs a library
/// of the same major and minor version; from then on one of the same major version, and not an older one.
pub const COMPACTION_VERSION: u32 = 100;

const _: () = assert!(
    COMPACTION_VERSION
        == 10_000 * number(env!("CARGO_PKG_VERSION_MAJOR"))
            + 100 * number(env!("CARGO_PKG_VERSION_MINOR"))
            + number(env!("CARGO_PKG_VERSION_PATCH")),
    "COMPACTION_VERSION is not the version of the package"
);

/// Returns the number that a text of digits stands for.
const fn number(digits: &str) -> u32 {
    let (digits, mut value, mut at) = (digits.as_bytes(), 0, 0);
    while at < digits.len() {
        value = 10 * value + (digits[at] - b'0') as u32;
        at += 1;
    }
    value
}

/// Returns the version of the library, in the form of `COMPACTION_VERSION`, to compare with that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn compaction_version() -> u32 {
    COMPACTION_VERSION
}
