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
//! plans and its calls. The module `memory` turns addresses into buffers and slices, and `status` turns results and
//! panics into a [`Status`].

#[doc(hidden)]
pub mod status;
mod memory;
mod types;
mod context;
mod plan;
mod workspace;
mod select;
mod columns;
mod partition;
mod scan;
mod radix_sort;
mod summed_area;
pub use columns::{Column, compaction_plan_select_columns, compaction_select_columns};
pub use context::{
    Context, compaction_close, compaction_open_cpu, compaction_open_current, compaction_open_device,
};
pub use memory::{Address, CUstream_st};
pub use partition::{
    compaction_partition_classes, compaction_partition_indices, compaction_partition_items,
    compaction_plan_partition, compaction_plan_partition_classes,
};
pub use plan::{Plan, compaction_plan_destroy};
pub use radix_sort::{
    compaction_plan_radix_sort, compaction_radix_sort_keys, compaction_radix_sort_pairs,
};
pub use scan::{compaction_plan_scan, compaction_scan_exclusive, compaction_scan_inclusive};
pub use select::{
    compaction_plan_select, compaction_plan_select_in_place, compaction_select_in_place,
    compaction_select_indices, compaction_select_items,
};
pub use status::{Status, compaction_last_error};
pub use summed_area::{compaction_plan_summed_area, compaction_summed_area};
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
