//! C interface of the crate [`compaction`].
//!
//! `include/compaction.h` is written from this crate by cbindgen, and contains the documentation of each function.
//!
//! ```text
//! context   a GPU or the CPU          compaction_open_current, compaction_open_device, compaction_open_cpu
//! plan      operation with kernels    compaction_plan_select, compaction_plan_scan, …
//! workspace scratch memory            compaction_workspace_create
//! call      work on a stream          compaction_select_indices, compaction_scan, …
//! ```
//!
//! A program holds a [`Context`], [`Plan`]s and [`Workspace`]s by pointers. There is one module per operation, with its
//! plans and its calls. The module `memory` turns addresses into buffers and slices, and `status` turns results and
//! panics into a [`Status`].

mod status;
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
#[doc(hidden)]
pub mod shipped;

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
