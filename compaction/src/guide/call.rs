//! Chapter 6: how operations are called, and what they promise.
//!
//! # Set up once, call often
//!
//! ```text
//! Compiler ──▶ Select, Scan, …     kernels for your GPU, found compiled or compiled on the spot; a moment, once
//!   stream ──▶ Workspace           device memory that calls need besides their arguments; once, for the longest input
//!
//! per call:  views of your buffers, a Count, the Workspace  ──▶  launches on your stream
//! ```
//!
//! A call checks its arguments, puts its launches onto the stream, and returns. It allocates nothing, waits for nothing,
//! reads nothing back. A workspace serves one stream at a time, call after call, and never has to be cleared; its bytes
//! grow with its capacity and never shrink as that grows. `with_capacity` makes one for the default strategy, `for_strategy` for another. Two streams take two workspaces.
//!
//! # Buffers
//!
//! Buffers are [`cudarc`]'s own, lent as views: `buffer.as_view()`, `buffer.slice(3..)`, `buffer.as_view_mut()`. Rust's
//! rule, one writer or many readers, so holds for device memory as well. Views may start anywhere; those that start at
//! 16 bytes are read faster. What lies behind the result in an output stays as it was.
//!
//! [`cuda::open`](crate::cuda::open) gives a context whose buffers belong to the stream that they were allocated on; a
//! call on another stream is an [error](crate::Error::ForeignStream), and no race. (With a context of your own, cudarc
//! orders the streams by events. That works too, but not within a graph capture.)
//!
//! # Counts that stay on the device
//!
//! How many items a call is to take is a [`Count`](crate::Count): all, as many as the host says, or as many as a
//! word of device memory says when the GPU gets there. An operation that leaves a count leaves it in such a word. So calls
//! chain without the host ever knowing how many items there are:
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
//! // Which of the eight, and which of those.
//! select.indices(&stream, &first.as_view(), Count::All,
//!     &mut some.as_view_mut(), &mut count.as_view_mut(), &mut workspace)?;
//! select.items(&stream, &some.as_view(), &second.as_view(), Count::Device(count.as_view()),
//!     &mut fewer.as_view_mut(), &mut last.as_view_mut(), &mut workspace)?;
//!
//! // The only wait.
//! assert_eq!(workspace.read(&stream, &last.as_view())?, 2);
//! assert_eq!(cuda::download(&stream, &fewer.slice(..2))?, [1, 5]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! Counts and indices are `u32` or `u64`, as the buffers or the operation's type [say](crate::CountWord); `u32` moves half the bytes, and is enough
//! below 2³² items. A count that says more than there is room for is cut to it, never followed, and the workspace's
//! `check`, or `read`, reports it. Launches cover what there may be; blocks beyond the count end at once.
//!
//! # Graphs
//!
//! Since a call only launches, it can be captured into a CUDA graph, and the graph be launched as one: a whole loop, with
//! counts that shrink from round to round, for the host's price of one launch. Capture on a stream of your own,
//! `context.new_stream()`, after everything is compiled (`prepare` and its like do it ahead) and allocated.
//! `examples/05_graph.rs` is a loop of six rounds.
//!
//! A graph remembers kernels and addresses, and borrows nothing: keep the operations, workspaces and buffers until its last
//! launch is done. Nor may any of them be dropped during the capture, which refuses to free.
//!
//! # Kernels of your own
//!
//! A kernel between two operations reads the count in the same way. [`Source`](crate::cuda::Source) and
//! [`Compiler`](crate::cuda::Compiler) make one from text, and check its arguments and structs against Rust's:
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
//! A struct that both sides read is declared by [`shared!`](crate::shared). Its fields are written out in CUDA as well, in
//! plain sight, and a kernel whose fields differ from Rust's [does not compile](crate::layout).
//!
//! # The CPU
//!
//! Each room has a module `cpu` with the same operations on slices. Its `specification` is the definition in a few lines;
//! the operations beside it use all cores on long inputs. Results are those of the GPU, bit for bit, wherever the strategy
//! fixes the order; sums of floats are where each [strategy](crate::scan::Strategy) says so.
//!
//! # Errors
//!
//! Every error is one line that names the object, the cause, and the remedy where that is not plain:
//! `the output of select: room for 3 items where up to 6 may be written`. A call that is refused has written nothing.
