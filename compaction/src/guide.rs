//! The guide: from a loop on one thread to what a GPU does instead, for one who knows Rust and no GPU.
//!
//! 1. [`machine`]: what a GPU is, and what costs time on it.
//! 2. [`scan`]: every prefix at once, by six methods, each with the reason why it came after the one before.
//! 3. [`select`]: compaction, from the scan of all flags to a single pass; in place; out of order.
//! 4. [`order`]: partitions and sorting, which are compactions of everything.
//! 5. [`table`]: sums over rectangles.
//! 6. [`call`]: streams, workspaces, counts that stay on the device, graphs, kernels of your own.
//!
//! The snippets are plain Rust and run as tests. The programs `examples/01_select.rs` to `examples/05_graph.rs` run the
//! real operations, on a GPU where there is one. Times are of an NVIDIA H200 in November 2026; `BENCHMARKS.md` has the
//! newest and says how they are measured.

pub mod machine;
pub mod scan;
pub mod select;
pub mod order;
pub mod table;
pub mod call;
