//! From a kernel's source to its launch.
//!
//! ```text
//! Source ──Compiler──▶ Module ──kernel::<P>──▶ Kernel<P> ──launch──▶ the stream
//! ```
//!
//! A [`Source`] is a kernel file with its headers, its constants, and checks that tie it to Rust: the layout of each
//! struct and the argument types of each kernel. A [`Compiler`] makes machine code of it, or finds it made before.
//! A [`Kernel`] knows its argument types, so that a launch is an ordinary call.
//!
//! [`open`] gives a context, [`upload`] and [`download`] move data, a [`Mailbox`] brings small results back without
//! stopping anybody, a [`Crossing`] moves them to another GPU, a [`Timeline`] measures, a [`Graph`] launches many kernels at once. An [`Archive`] ships compiled kernels with a program, for machines that have
//! a driver and nothing else.
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
//! The module holds all `unsafe` code of the crate. Buffers, streams and contexts are [`cudarc`]'s own.
//!
//! # Environment
//!
//! * `COMPACTION_CACHE`: the folder of compiled kernels, or `off`. Else it is `compaction/kernels` where the platform
//!   keeps caches.
//! * `COMPACTION_NVRTC`: the file of the NVRTC to use, or `off`. Else it is [searched for](Nvrtc::find).

// The one place of unsafe code: calls of the driver and of NVRTC.
#![allow(
    unsafe_code,
    reason = "foreign functions of the CUDA driver and of NVRTC"
)]

mod archive;
mod cache;
mod compiler;
mod crossing;
mod device;
mod graph;
mod headers;
mod image;
mod kernel;
mod mailbox;
mod memory;
mod nvrtc;
mod params;
mod patience;
mod search;
mod source;
mod timeline;
mod watch;

pub use archive::Archive;
pub use cache::Cache;
pub use compiler::Compiler;
pub use crossing::Crossing;
pub(crate) use device::multiprocessors;
pub use device::{DeviceInfo, devices, driver_version, open};
pub use graph::Graph;
pub use image::{Image, Origin, Target};
pub use kernel::{Kernel, Launch, Module};
pub use mailbox::Mailbox;
pub use memory::{
    download, overwrite, reinterpret, reinterpret_mut, uninitialised, upload, zeroed,
};
pub(crate) use memory::{is_on, read_and_write};
pub use nvrtc::{Compiled, Nvrtc, Usage};
pub use params::{In, InOut, Param, Params};
pub use patience::{is_alive, rest};
pub use source::Source;
pub(crate) use source::in_quotes;
pub use timeline::Timeline;
pub use watch::{Watch, Watcher};
