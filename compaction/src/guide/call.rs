//! Chapter 6: how operations are called, and what they guarantee.
//!
//! # Set up once, call often
//!
//! ```text
//! Compiler ──▶ Select, Scan, …     kernels for your GPU, compiled or loaded from a cache; once
//!   stream ──▶ Workspace           scratch memory, for the longest input; once
//!
//! per call:  views of your buffers, a Count, the Workspace  ──▶  launches on your stream
//! ```
//!
//! A call checks its arguments, enqueues its launches on the stream, and returns. It allocates nothing, does not wait,
//! and reads nothing back. A workspace serves one stream at a time, call after call, and never needs clearing.
//! `with_capacity` creates one for the default strategy, `for_strategy` for another strategy. Two streams need two
//! workspaces.
//!
//! # Buffers
//!
//! Buffers are [`cudarc`] buffers, passed as `&buffer` and `&mut buffer`, or views such as `buffer.slice(3..)`. So
//! Rust's rule of one writer or many readers applies to device memory as well. Views may start anywhere; those aligned
//! to 16 bytes are read faster. Entries of an output behind the result keep their values.
//!
//! Items that a call only moves may be of any plain-data type ([`bytemuck::Pod`]): numbers, arrays, and `#[repr(C)]`
//! structs that derive it. A tuple has no fixed layout in Rust, so use such a struct instead.
//!
//! A buffer belongs to the stream that it was allocated on. A call on another stream first waits for that stream, which
//! then waits for the call, so there is no race. Calls on one stream are faster. During a graph capture, buffers of
//! other streams are an [error](crate::Error::ForeignStream).
//!
//! # Counts that stay on the device
//!
//! The number of items of a call is a [`Count`](crate::Count): all items, a number from the host, or a number in device
//! memory that is read when the GPU executes the call. Operations write their result counts to such words, so calls can
//! be chained without the host ever knowing how many items there are:
//!
//! ```no_run
//! use compaction::{Count, cuda, select::{Select, Strategy, Workspace}};
//!
//! # let context = cuda::open(0)?;
//! # let stream = context.default_stream();
//! # let select = Select::new(&cuda::Compiler::new(), &context, Strategy::LookBack)?;
//! # let mut workspace = Workspace::with_capacity(&stream, 8)?;
//! let first = cuda::upload(&stream, &[0_u8, 1, 1, 0, 0, 1, 0, 1])?;
//! let second = cuda::upload(&stream, &[1_u8, 0, 1, 0, 0, 0, 0, 0])?;
//! let (mut some, mut fewer) = (cuda::zeroed::<u32>(&stream, 8)?, cuda::zeroed::<u32>(&stream, 8)?);
//! let (mut count, mut last) = (cuda::zeroed::<u32>(&stream, 1)?, cuda::zeroed::<u32>(&stream, 1)?);
//!
//! // Selects some of eight items, and then some of those.
//! select.indices(&stream, &first, Count::All,
//!     &mut some, &mut count, &mut workspace)?;
//! select.items(&stream, &some, &second, Count::on_device(&count),
//!     &mut fewer, &mut last, &mut workspace)?;
//!
//! // The only wait.
//! assert_eq!(workspace.read(&stream, &last)?, 2);
//! assert_eq!(cuda::download(&stream, &fewer.slice(..2))?, [1, 5]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! Counts and indices are `u32` or `u64`, as [chosen](crate::CountWord) by the types of the buffers or of the
//! operation; `u32` halves the memory traffic and is enough for fewer than 2³² items. A device count larger than the
//! input buffer is clamped, and the workspace's `check` or `read` reports it. Launches cover the largest possible
//! number of items; blocks beyond the count return at once.
//!
//! # Graphs
//!
//! Because a call only enqueues launches, it can be captured into a CUDA graph. A whole loop, with counts that shrink
//! from round to round, then costs the host one launch. [`Graph::record`](crate::cuda::Graph::record) records calls on
//! a stream of your own (`context.new_stream().map_err(Error::driver("create a stream"))?`), after all kernels are
//! compiled (see `prepare` and its variants) and all memory is allocated. `examples/05_graph.rs` records a loop of six
//! rounds.
//!
//! A graph stores addresses and borrows nothing, so each launch is given all buffers and workspaces of the recorded
//! calls, and checks them. With cudarc's own capture, your program must keep the operations, workspaces and buffers
//! until the last launch has finished.
//!
//! # Kernels of your own
//!
//! A kernel between two operations can read the count in the same way. [`Source`](crate::cuda::Source) and
//! [`Compiler`](crate::cuda::Compiler) compile it from text and check its arguments and structs against the Rust types:
//!
//! ```no_run
//! use compaction::cuda::{self, Compiler, In, InOut, Launch, Source};
//!
//! type Halve = (In<u32>, InOut<u32>);
//! let source = Source::new("halve.cu", r#"
//!     extern "C" __global__ void halve(const u32 *count, u32 *items)
//!     {
//!         u32 item = blockIdx.x * blockDim.x + threadIdx.x;
//!         if (item >= *count) return;
//!         items[item] /= 2;
//!     }"#).kernel::<Halve>("halve");
//!
//! let context = cuda::open(0)?;
//! let stream = context.default_stream();
//! let halve = Compiler::new().load(&context, &source)?.kernel::<Halve>("halve")?;
//!
//! let mut items = cuda::upload(&stream, &[10_u32, 20, 30])?;
//! let count = cuda::upload(&stream, &[2_u32])?; // as an operation leaves it
//! halve.launch(&stream, Launch::covering(3, 256), (count.as_view(), items.as_view_mut()))?;
//! assert_eq!(cuda::download(&stream, &items)?, [5, 10, 30]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! Declare structs that both sides read with [`shared!`](crate::shared). The CUDA source defines them as well, and a
//! kernel whose definition differs from Rust's [does not compile](crate::layout).
//!
//! Your kernels may use the functions of this crate's: [`look_back`](crate::look_back) scans and ranks the values of a
//! block, and finds the prefix over all blocks in one launch. `examples/13_own_kernel.rs` computes square roots and
//! keeps the small ones in one kernel.
//!
//! # The CPU
//!
//! Each module has a submodule `cpu` with the same operations on slices. Its `specification` functions define the
//! operation in a few lines; the other functions use all cores for long inputs. Results are equal to the GPU's, bit for
//! bit, if the strategy fixes the order; for sums of floats, see the [strategies](crate::scan::Strategy).
//!
//! # Errors
//!
//! Every error is one line that names the object, the cause and, unless it is obvious, the remedy: `the output of
//! select: room for 3 items where up to 6 may be written; make it longer`. If CUDA C++ text does not compile, the
//! compiler's log follows that line. A call that returns an error has written nothing.
