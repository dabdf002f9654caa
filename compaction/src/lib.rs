//! GPU primitives for [`cudarc`] users: scan, stream compaction, partition, sorts, reductions, operations on runs and
//! segments, histograms and summed-area tables on NVIDIA GPUs.
//!
//! This crate is to Rust what CUB is to C++. Each primitive also has a CPU implementation that gives the same results.
//!
//! Stream compaction keeps the flagged items of a buffer and closes the gaps between them:
//!
//! ```text
//! flags      0  1  1  0  0  1
//! items      a  b  c  d  e  f
//! items   →  b  c  f              count → 3
//! ```
//!
//! On a GPU, the calls are put on a CUDA stream:
//!
//! ```no_run
//! # #[cfg(feature = "cuda")] fn example() -> compaction::Result<()> {
//! use compaction::{Count, cuda, select::{Select, Strategy, Workspace}};
//!
//! let context = cuda::open(0)?;
//! let stream = context.default_stream();
//! let select = Select::new(&cuda::Compiler::new(), &context, Strategy::LookBack)?;
//! let mut workspace = Workspace::with_capacity(&stream, 6)?;
//!
//! let flags = cuda::upload(&stream, &[0_u8, 1, 1, 0, 0, 1])?;
//! let items = cuda::upload(&stream, &[10_u32, 11, 12, 13, 14, 15])?;
//! let mut out = cuda::zeroed::<u32>(&stream, 6)?;
//! let mut count = cuda::zeroed::<u32>(&stream, 1)?;
//! select.items(&stream, &items, &flags, Count::All, &mut out, &mut count, &mut workspace)?;
//! // Reading the count waits for the stream; no earlier call waited.
//! let kept = workspace.read(&stream, &count)?;
//! assert_eq!(cuda::download(&stream, &out.slice(..kept))?, [11, 12, 15]);
//! # Ok(()) }
//! ```
//!
//! On the CPU, the operation takes slices:
//!
//! ```
//! use compaction::select::{Strategy, cpu};
//!
//! let mut out = [0; 6];
//! let kept = cpu::items(Strategy::LookBack, &[10, 11, 12, 13, 14, 15], &[0, 1, 1, 0, 0, 1], &mut out)?;
//! assert_eq!(out[..kept as usize], [11, 12, 15]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! **Speed.** Plain `cargo run` of your program does not optimize its dependencies. The CPU implementations are then many
//! times slower, unless its `Cargo.toml` has these lines:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```
//!
//! # Operations
//!
//! | goal | type | launches by the default strategy |
//! |---|---|---|
//! | keep the flagged items, or their indices | [`Select`](select::Select) | 1 |
//! | move the flagged items to the front of their own buffer | [`Select::in_place`](select::Select::in_place) | 1 |
//! | keep the items that satisfy a predicate written in CUDA C++ | [`SelectIf`](select::SelectIf) | 1 |
//! | keep the flagged items of several columns (a struct of arrays) | [`SelectColumns`](select_columns::SelectColumns) | 1 |
//! | put the flagged items first and the others behind them | [`Partition`](partition::Partition) | 1 |
//! | group items by a key of one byte | [`Classes`](partition::Classes) | 1 |
//! | sort keys, or key-value pairs | [`RadixSort`](radix_sort::RadixSort) | 1, and one for each digit of 8 bits |
//! | find the order of keys as indices (argsort) | [`RadixSort::argsort`](radix_sort::RadixSort::argsort) | 1, and one for each digit of 8 bits |
//! | find the k largest or smallest keys and their indices | [`TopK`](top_k::TopK) | 5 for keys of 4 bytes, and a radix sort of k keys |
//! | sort items of up to 128 bytes by any comparison | [`MergeSort`](merge_sort::MergeSort) | 1 for a few thousand items; otherwise 6 or more |
//! | sort each of many segments | [`SegmentedSort`](segmented_sort::SegmentedSort) | 1 if no segment can be longer than 256 items; otherwise 2 |
//! | combine the items of each of many segments | [`SegmentedReduce`](segmented_reduce::SegmentedReduce) | 1 |
//! | count the items in each of many bins | [`Histogram`](histogram::Histogram) | 1 for up to 1024 bins |
//! | copy items from or to places given by indices | [`Gather`](gather::Gather), [`Scatter`](gather::Scatter) | 1 |
//! | find each item's output offset; running sums, minima, maxima | [`Scan`](scan::Scan) | 1 |
//! | combine all items by sum, minimum or maximum | [`Reduce`](reduce::Reduce) | 1 |
//! | find the smallest or the largest item and its index | [`ArgReduce`](reduce::ArgReduce) | 1 |
//! | combine or scan items by an operator written in CUDA C++ | [`CustomReduce`](custom::CustomReduce), [`CustomScan`](custom::CustomScan) | 1 |
//! | remove items that equal the item before them | [`Unique`](runs::Unique), [`UniqueByKey`](runs::UniqueByKey) | 1 |
//! | find the item and the length of each run of equal items | [`RunLengths`](runs::RunLengths) | 1 |
//! | combine the values of each run of equal keys | [`ReduceByKey`](runs::ReduceByKey) | 1 |
//! | scan the values of each run of equal keys | [`ScanByKey`](runs::ScanByKey) | 1 |
//! | sum over any rectangle of a table | [`SummedArea`](summed_area::SummedArea) | 1 |
//!
//! Device memory is the only limit on the input length, except for [`TopK`](top_k::TopK), which takes fewer than 2³²
//! keys. Inputs of 2³² items or more need [counts](CountWord) of 64 bits, and some operations then take more launches.
//!
//! Items are plain data ([`bytemuck::Pod`]) of 1 to 64 bytes: numbers up to `u128`, arrays `[T; N]`, and `half::f16`
//! and `half::bf16` with the feature `bytemuck` of that crate. Operations that only copy items also take `bool` and
//! other [`Movable`] types. Rust does not fix the layout of tuples, so a struct takes their place:
//!
//! ```
//! # use bytemuck::{Pod, Zeroable};
//! use compaction::select::{Strategy, cpu};
//!
//! /// Instead of `(f32, u32)`: the fields are in this order, without gaps.
//! #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
//! #[repr(C)]
//! struct Hit {
//!     distance: f32,
//!     triangle: u32,
//! }
//!
//! let [near, far] = [Hit { distance: 0.5, triangle: 7 }, Hit { distance: 2.5, triangle: 9 }];
//! let mut out = [Hit::zeroed(); 2];
//! cpu::items(Strategy::LookBack, &[near, far], &[0, 1], &mut out)?;
//! assert_eq!(out[0], far);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! Flags are `u8`, where any byte but 0 selects, or `bool`. A `bool` that is read back from the device is checked,
//! because not every byte is one: see [`cuda::download`].
//!
//! # For users of CUB and Thrust
//!
//! | there | here |
//! |---|---|
//! | `d_temp_storage`, and a first call that asks for its size | a `Workspace`, created once for the largest input |
//! | `num_items` | [`Count::All`], a number, or a number in device memory |
//! | fancy iterators, functors | predicates and operators as CUDA C++ text: [`SelectIf`](select::SelectIf), [`custom`] |
//! | a kernel for each template instance | a kernel compiled by `new`, or at the first call, and kept in a cache |
//! | `DeviceSelect::Flagged`, `If`, `copy_if` | [`Select`](select::Select), [`SelectIf`](select::SelectIf) |
//! | `DevicePartition` | [`Partition`](partition::Partition) |
//! | `DeviceScan` | [`Scan`](scan::Scan), [`CustomScan`](custom::CustomScan) |
//! | `DeviceRadixSort`, `sort_by_key` | [`RadixSort`](radix_sort::RadixSort) |
//! | `DeviceMergeSort`, `sort` by a comparison | [`MergeSort`](merge_sort::MergeSort) |
//! | `DeviceSegmentedRadixSort`, `DeviceSegmentedSort` | [`SegmentedSort`](segmented_sort::SegmentedSort) |
//! | `DeviceTopK` | [`TopK`](top_k::TopK); for pairs, [`Gather`](gather::Gather) the values by its indices |
//! | `DeviceReduce` | [`Reduce`](reduce::Reduce), [`ArgReduce`](reduce::ArgReduce), [`CustomReduce`](custom::CustomReduce) |
//! | `DeviceSegmentedReduce::Sum`, `Min`, `Max` | [`SegmentedReduce::new`](segmented_reduce::SegmentedReduce::new) |
//! | `DeviceSegmentedReduce::Reduce` | [`SegmentedReduce::with_operator`](segmented_reduce::SegmentedReduce::with_operator) |
//! | `DeviceRunLengthEncode::Encode`, `unique`, `reduce_by_key`, `DeviceScan::…ByKey` | [`runs`] |
//! | `DeviceHistogram` | [`Histogram`](histogram::Histogram), of one channel |
//! | `gather`, `scatter` | [`Gather`](gather::Gather), [`Scatter`](gather::Scatter) |
//! | `BlockScan`, `BlockReduce`, `WarpScan`, `WarpReduce`, look-back | `<compaction/block.cuh>`: see [`look_back`] |
//! | CUDA graphs by stream capture | [`Graph::record`](cuda::Graph::record), which also takes care of the buffers |
//! | not here: transform, merge, adjacent difference, binary search, set operations, batched copies, `BlockRadixSort`, `BlockLoad` and other primitives of a block | a [kernel](cuda::Kernel) of your own |
//!
//! # Strategies
//!
//! Most operations offer several published methods as strategies, which have names and can be switched at run time. The
//! default is the fastest strategy that keeps the order of the items. The [`guide`] explains how the methods developed.
//!
//! | module | strategies, oldest first |
//! |---|---|
//! | [`scan`](scan::Strategy) | `hillis-steele` 1986 · `blelloch` 1990 · `blelloch-compact` · `block-sums` 2007 · `raking` 2009 · **`look-back`** 2016 |
//! | [`select`](select::Strategy) | `scan-scatter` 2007 · `sequences` 2009 · `count-scan-scatter` 2014 · **`look-back`** 2016; out of order `atomic`, `hole-filling`; the baseline `off` |
//! | [`radix_sort`](radix_sort::Strategy) | `split` 2007 · **`onesweep`** 2022 |
//! | [`summed_area`](summed_area::Strategy) | `scan-transpose` · **`single-pass`** 2018 |
//!
//! # Conventions shared by all modules
//!
//! All modules follow the same conventions:
//!
//! * `new(compiler, context, …)` creates an operation and compiles its kernels. If there are several strategies, the
//!   last parameter chooses one. [`Scan::new`](scan::Scan::new) also takes an operator, and
//!   [`RadixSort::new`](radix_sort::RadixSort::new) a sort order. Kernels for other item types are compiled at the
//!   first call that needs them, or in advance by `prepare`, `prepare_in_place`, `prepare_pairs` and `prepare_argsort`.
//!   Those of [`Select`](select::Select) take two type parameters, for items and counts: `prepare::<f64, u32>()`.
//! * `sources` returns the kernel files that `new` compiles, so that an [`Archive`](cuda::Archive) can ship them.
//!   `sources_in_place`, `sources_pairs` and `sources_argsort` return those of the methods of that name.
//! * `Workspace::with_capacity(stream, capacity)` creates the scratch memory for the default strategy, and
//!   `Workspace::for_strategy(stream, strategy, capacity)` for another one. `capacity()` and `bytes()` return its size.
//!   `check(stream)` reports errors of earlier calls, and `read(stream, count)` returns a count after such a check;
//!   both wait for the stream. With a count in device memory, the length of the input decides which capacity is needed. The workspaces of `histogram` and `gather` are for any length: `Workspace::new(stream)`.
//!   `in_arena(arena, …)` takes its memory from an [`Arena`](cuda::Arena), of which `bytes_for(context, …)` bytes are
//!   needed, and `hand_over` moves it to another stream.
//! * A GPU method takes the stream, its inputs, a [`Count`], the parameters of the call, its outputs, and the
//!   workspace. A function of a module's `cpu` submodule takes the parameters that `new` takes on a GPU, its inputs,
//!   the parameters of the call, and its outputs. Parameters of a call are, for example, the range of a histogram and
//!   the k of a top k.
//! * An output has room for as many items as a call may write: the count that the host gives, or all items of the
//!   input. [`Select`](select::Select), [`SelectIf`](select::SelectIf) and
//!   [`SelectColumns`](select_columns::SelectColumns) accept a shorter one: they fill it, never write beyond it, and
//!   report the full count, so the result is `out.slice(..kept.min(out.len()))`. All other operations, also those that write one item for each run, return
//!   [`Error::OutputTooShort`] for a shorter one.
//! * A [`Count`] is `u32`, for fewer than 2³² items, or `u64`. If a selection or partition writes a count, the type of
//!   that buffer selects the word. Otherwise the operation's type does, as in [`Scan<f32, u64>`](scan::Scan) and
//!   [`RadixSort<u32, u64>`](radix_sort::RadixSort); the default is `u32`.
//! * Segments lie between consecutive offsets, of which there is one more than segments. An offset beyond the items
//!   counts as their end. An offset that is less than the one before it is an error on the CPU; on a GPU the results are
//!   then unspecified.
//! * All modules report invalid arguments in the same form: `the items of select: 5 instead of 6`, `the columns of
//!   select_columns: 9, where 1 to 8 are possible`.
//!
//! # Guarantees of every GPU call
//!
//! * **It returns at once**: once its kernels are loaded, a call allocates nothing, waits for nothing and reads no
//!   count back, so it can be captured into a CUDA graph.
//! * **Counts stay in device memory**: a call can read its item count there and writes its result count there. See
//!   [`Count::Device`].
//! * **Results are the same bits** on the GPU, on the CPU and in every run, for every strategy that keeps an order.
//!   Sums of floats depend on the order of additions; each [strategy](scan::Strategy) documents what it guarantees.
//! * **Only the result is written**, and a call that returns an error writes nothing. An [`Error`] is one line that
//!   names the object, the cause and the remedy. If CUDA C++ text does not compile, the compiler's log follows it.
//! * **No block scheduling order is assumed**, because CUDA guarantees none.
//!
//! # Cargo features
//!
//! * `cuda`, on by default: the implementations for GPUs. Without it, the crate contains the CPU implementations alone,
//!   and depends on no CUDA crate.
//! * `shipped`: compiled kernels of the default strategies for common types, so that these need no run-time compiler.
//!
//! # Where to read on
//!
//! [`guide`] is a tutorial, from what a GPU is to a loop in a CUDA graph. The modules [`scan`], [`select`],
//! [`partition`], [`select_columns`], [`radix_sort`] and [`summed_area`] describe each operation, its memory traffic
//! and the source of its method. [`layout`] declares structs that Rust and CUDA share and checks that both definitions
//! agree. [`cuda`] compiles and launches kernels, including your own, for which [`look_back`] has scans and prefixes.

// Definitions that both backends share are for the GPU in part.
#![cfg_attr(
    not(feature = "cuda"),
    allow(
        dead_code,
        unused_macros,
        unused_imports,
        reason = "a build without CUDA uses a part of the shared definitions"
    )
)]

mod arguments;
mod count;
#[cfg(feature = "cuda")]
pub mod cuda;
mod error;
pub mod gather;
pub mod guide;
pub mod histogram;
mod chained_scan;
pub mod layout;
pub mod merge_sort;
pub mod partition;
pub mod radix_sort;
#[cfg(feature = "cuda")]
pub mod look_back;
mod monoid;
mod movable;
mod names;
mod parallel;
mod policies;
mod fold;
mod tiles;
pub mod reduce;
pub mod scan;
#[cfg(feature = "cuda")]
pub mod scratch;
pub mod segmented_reduce;
pub mod segmented_sort;
pub mod select;
pub mod select_columns;
pub mod custom;
pub mod runs;
#[cfg(feature = "shipped")]
pub mod shipped;
pub mod summed_area;
#[cfg(feature = "cuda")]
mod totals;
pub mod top_k;

#[cfg(feature = "cuda")]
pub use count::Count;
pub use count::CountWord;
#[cfg(feature = "cuda")]
pub use cudarc;
pub use error::{Error, Result};
pub use movable::Movable;
pub use names::UnknownName;

/// Compiles and runs the example of the README as a documentation test.
#[cfg(all(doctest, feature = "cuda"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[doc(hidden)]
pub mod __private {
    //! Items that the macro [`shared!`](crate::shared) refers to from other crates.
    pub use bytemuck::{Pod, Zeroable};
    #[cfg(feature = "cuda")]
    pub use cudarc::driver::{DeviceRepr, LaunchArgs, PushKernelArg, ValidAsZeroBits};

    #[cfg(feature = "cuda")]
    pub use crate::cuda::{GraphBuffers, Param, ParamField, Sealed, Uses};
}
