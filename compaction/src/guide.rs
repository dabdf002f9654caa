//! A tutorial: from a loop on one thread to the methods of a GPU, for readers who know Rust but no GPU programming.
//!
//! 1. [`machine`]: what a GPU is, and what costs time on it.
//! 2. [`scan`]: six ways to compute all prefix sums in parallel, and why each was invented.
//! 3. [`select`]: stream compaction, from a scan of all flags to a single pass; in place; out of order.
//! 4. [`order`]: partitions and sorting.
//! 5. [`table`]: sums over rectangles.
//! 6. [`call`]: streams, workspaces, counts in device memory, graphs, and kernels of your own.
//!
//! The snippets are plain Rust and run as tests. The numbered programs in `examples` run the
//! real operations, on a GPU if there is one. Times are for an NVIDIA H200 in November 2026.
//! `docs/benchmarks/compaction.md` has the current figures and the commands that measure them.

pub mod machine;
pub mod scan;
pub mod select;
pub mod order;
pub mod table;
#[cfg(feature = "cuda")]
pub mod call;
