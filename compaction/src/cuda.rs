//! Compiling CUDA kernels from source and launching them, with argument types checked against Rust.
//!
//! ```text
//! Source ──Compiler──▶ Module ──kernel::<P>──▶ Kernel<P> ──launch──▶ the stream
//! ```
//!
//! A [`Source`] is a kernel file with its headers and constants, and with assertions that its structs and kernel
//! arguments match the Rust types. A [`Compiler`] turns it into machine code, or finds code compiled earlier. A
//! [`Kernel`] knows its argument types, so a launch is an ordinary typed call.
//!
//! [`open`] creates a context; [`upload`], [`overwrite`] and [`download`] copy data between host and device, and
//! [`copy`] within a device. A [`Readback`] copies
//! small results to the host asynchronously, and a [`PeerCopy`] copies items to another GPU. A [`Timeline`] measures
//! GPU times, and a [`Graph`] launches many kernels at once. An [`Archive`] ships compiled kernels with a program, for
//! machines with a driver but no compiler.
//!
//! Memory, streams and contexts of other libraries can be used too: a [`Buffer`] borrows device memory, an [`Arena`]
//! places workspaces in it, a [`Handover`] moves them to another stream, [`current_context`] opens the context of the
//! calling thread, and [`CudaContext::wrap_borrowed_stream`](cudarc::driver::CudaContext::wrap_borrowed_stream), which
//! cudarc has since 0.19.10, wraps a stream.
//!
//! ```no_run
//! use compaction::cuda::{self, Compiler, InOut, Launch, Source};
//!
//! let source = Source::new("count.cu", r#"
//!     extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, STEP); }
//! "#)
//! .constant("STEP", 2)
//! .kernel::<(InOut<u32>,)>("count_up");
//!
//! let context = cuda::open(0)?;
//! let stream = context.default_stream();
//! let count_up = Compiler::new().load(&context, &source)?.kernel::<(InOut<u32>,)>("count_up")?;
//!
//! let mut counter = cuda::zeroed::<u32>(&stream, 1)?;
//! count_up.launch(&stream, Launch::blocks(10, 32), (counter.as_view_mut(),))?;
//! assert_eq!(cuda::download(&stream, &counter)?, [640]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! This module contains all `unsafe` code of the crate. Buffers, streams and contexts are types of [`cudarc`].
//!
//! # Environment
//!
//! * `COMPACTION_CACHE`: the folder for compiled kernels, or `off`. The default is `compaction/kernels` in the
//!   platform's cache folder.
//! * `COMPACTION_NVRTC`: the NVRTC library file to use, or `off`. By default it is [searched for](Nvrtc::find).
//!
//! Example: [`05_graph`].
//!
//! [`05_graph`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/05_graph.rs

// All unsafe code of the crate is in this module: calls of the driver and of NVRTC.
#![allow(
    unsafe_code,
    reason = "foreign functions of the CUDA driver and of NVRTC"
)]

mod archive;
mod arena;
mod buffer;
mod cache;
mod compiler;
mod current;
mod peer_copy;
mod device;
mod driver_library;
mod graph;
mod graph_buffers;
mod headers;
mod image;
mod kernel;
mod readback;
mod recording;
mod memory;
mod nvrtc;
mod params;
mod pinned;
mod timeout;
mod search;
mod source;
mod stream_order;
mod timeline;
mod call_register;
mod views;

pub use archive::Archive;
#[cfg(feature = "shipped")]
pub(crate) use archive::SHIPPED;
pub use arena::Arena;
pub use buffer::{Buffer, Handover};
pub use cache::Cache;
pub use call_register::{CallRegister, HangDetector};
pub use compiler::Compiler;
pub use current::current_context;
pub(crate) use device::multiprocessors;
pub use device::{
    DeviceInfo, devices, driver_version, open, open_for_calls_of_this_crate, open_untracked,
};
pub use graph::Graph;
pub use graph_buffers::GraphBuffers;
pub use image::{Image, Origin, Target};
pub use kernel::{Kernel, Launch, Module};
pub use memory::{
    clear, copy, download, overwrite, reinterpret, reinterpret_mut, uninitialised, upload, zeroed,
};
pub(crate) use memory::{is_aligned, item_bytes, read_and_write, reinterpret_into, single_items};
pub use nvrtc::{Compiled, Nvrtc, Usage};
#[doc(hidden)]
pub use params::sealed::Sealed;
pub(crate) use params::{Flat, kernel_params};
pub use params::{In, InOut, Param, ParamField, Params};
pub use peer_copy::PeerCopy;
pub use readback::Readback;
pub(crate) use recording::{NamedCall, name_recorded};
pub use source::Source;
pub(crate) use source::in_quotes;
pub use stream_order::Uses;
pub(crate) use stream_order::{check_context, check_usable};
pub use timeline::Timeline;
pub use timeout::{is_alive, rest};
pub(crate) use views::Operand;
pub use views::{IntoView, IntoViewMut};
