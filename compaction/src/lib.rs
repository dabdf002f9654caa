//! What CUB is to C++, for Rust with [`cudarc`]: scan, stream compaction, partition, radix sort and summed-area tables on
//! NVIDIA GPUs, each with an implementation on the CPU that gives the same results.
//!
//! Stream compaction keeps the items of a buffer that are flagged, and closes the gaps:
//!
//! ```text
//! flags      0  1  1  0  0  1
//! items      a  b  c  d  e  f
//! items   →  b  c  f              count → 3
//! ```
//!
//! On a GPU, on a stream of yours:
//!
//! ```no_run
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
//! select.items(
//!     &stream,
//!     &items.as_view(),
//!     &flags.as_view(),
//!     Count::All,
//!     &mut out.as_view_mut(),
//!     &mut count.as_view_mut(),
//!     &mut workspace,
//! )?;
//! // Reading waits for the stream; nothing before did.
//! let kept = workspace.read(&stream, &count.as_view())?;
//! assert_eq!(cuda::download(&stream, &out.slice(..kept))?, [11, 12, 15]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! The same on the CPU:
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
//! # Which operation
//!
//! | you want | use | launches by the default |
//! |---|---|---|
//! | the flagged items, or their indices | [`Select`](select::Select) | 1 |
//! | the same, moved to the front of their own buffer | [`Select::in_place`](select::Select::in_place) | 1 |
//! | the items for which a function in CUDA C++ says so | [`SelectIf`](select::SelectIf) | 1 |
//! | the flagged items of several columns, a struct of arrays | [`SelectColumns`](select_columns::SelectColumns) | 1 |
//! | the flagged first, the others behind them | [`Partition`](partition::Partition) | 1 |
//! | items grouped by a key of one byte | [`Classes`](partition::Classes) | 1 |
//! | keys in order, and values by their keys | [`RadixSort`](radix_sort::RadixSort) | 1, and one for each 8 bits |
//! | where each item's output begins; running sums, minima, maxima | [`Scan`](scan::Scan) | 1 |
//! | sums over any rectangles of a table | [`SummedArea`](summed_area::SummedArea) | 1 |
//!
//! Inputs have any length that a GPU's memory takes; those that are longer than 32 bits count take some more launches, and
//! [counts](CountWord) of 64 bits. Items are plain data of 1 to 64 bytes.
//!
//! # Which strategy
//!
//! Most operations are there by several methods of the literature, as values that can be named and switched at run time;
//! the default is the fastest that keeps the order. Why each came after the one before is told in the [`guide`].
//!
//! | room | strategies, oldest first |
//! |---|---|
//! | [`scan`](scan::Strategy) | `hillis-steele` 1986 · `blelloch` 1990 · `blelloch-compact` · `block-sums` 2007 · `raking` 2009 · **`look-back`** 2016 |
//! | [`select`](select::Strategy) | `scan-scatter` 2007 · `sequences` 2009 · `count-scan-scatter` 2014 · **`look-back`** 2016; out of order `atomic`, `hole-filling`; the baseline `off` |
//! | [`radix_sort`](radix_sort::Strategy) | `split` 2007 · **`onesweep`** 2022 |
//! | [`summed_area`](summed_area::Strategy) | `scan-transpose` · **`single-pass`** 2018 |
//!
//! # How the rooms are alike
//!
//! Who knows one knows the others:
//!
//! * An operation is made by `new(compiler, context, what it computes, strategy)`: [`Scan::new`](scan::Scan::new) takes an
//!   operator there, [`RadixSort::new`](radix_sort::RadixSort::new) an order. What a method needs beyond that is compiled
//!   when it is first called, or ahead by `prepare`, `prepare_in_place`, `prepare_pairs`.
//! * `sources`, with the arguments of `new` but for the compiler and the context, gives the kernel files, for an
//!   [`Archive`](cuda::Archive) to ship; `sources_in_place` and `sources_pairs` those of these methods.
//! * `Workspace::with_capacity(stream, capacity)` serves the default strategy, and all where they need the same;
//!   `Workspace::for_strategy(stream, strategy, capacity)` another one. `capacity()` and `bytes()` say how much it is.
//!   `check(stream)` reports what went wrong in the calls since the last report, and `read(stream, count)` gives a count
//!   after such a check; both wait.
//! * A method takes the stream, what it reads, a [`Count`], what it writes, and the workspace. A function of a room's
//!   `cpu` takes how, what it reads, and what it writes.
//! * A [`Count`] is `u32` or `u64`. `u32` stands for fewer than 2³² items. Where a call writes a count, the buffer says
//!   which it is; where it writes none, the operation's type does: [`Scan<f32, u64>`](scan::Scan),
//!   [`RadixSort<u32, u64>`](radix_sort::RadixSort), and `u32` if nothing is said.
//! * What is wrong with a call is said in the same words everywhere: `the items of select: 5 instead of 6`, `the columns of
//!   select_columns: 9, where 1 to 8 are possible`.
//!
//! # What every call promises
//!
//! * **It returns at once**: no allocation, no wait, no count read back. So it can be captured into a CUDA graph.
//! * **Counts stay on the device**, going in and coming out: [`Count::Device`].
//! * **The same bits** on the GPU and on the CPU and in every run, wherever the strategy keeps an order. Sums of floats
//!   depend on the order of additions; each [strategy](scan::Strategy) says what it promises.
//! * **Nothing but the result is written**, and a call that is refused writes nothing: an [`Error`] is one line that names
//!   the object, the cause and the remedy.
//! * **No order of blocks is assumed**, which CUDA does not promise.
//!
//! # The pages
//!
//! [`guide`] teaches, from what a GPU is to a loop in a graph. Each room, [`scan`], [`select`], [`partition`],
//! [`select_columns`], [`radix_sort`], [`summed_area`], says what it does, what moves and whose method it is. [`layout`]
//! is the border between Rust and CUDA: structs that both sides read, and the checks that keep them alike. [`cuda`] is the
//! way from a kernel's source to its launch, for kernels of yours as well.

mod counted;
mod counting;
pub mod cuda;
mod error;
pub mod guide;
mod in_turn;
pub mod layout;
pub mod partition;
pub mod radix_sort;
mod look_back;
mod monoid;
mod names;
pub mod scan;
pub mod select;
pub mod select_columns;
pub mod summed_area;

pub use counting::{Count, CountWord};
pub use cudarc;
pub use error::{Error, Result};
pub use names::UnknownName;

/// Its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[doc(hidden)]
pub mod __private {
    //! What [`shared!`](crate::shared) names in the crate that uses it.
    pub use bytemuck::{Pod, Zeroable};
    pub use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
}
