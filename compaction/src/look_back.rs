//! Scans, ranks and prefixes for kernels of your own: the functions of `<compaction/block.cuh>`, and the device memory
//! by which blocks pass on prefixes.
//!
//! A kernel that computes something and keeps a part of the results needs no flags and no second pass. Each block ranks
//! its own results, and learns from earlier blocks where to write them:
//!
//! ```no_run
//! use compaction::{cuda::{self, Compiler, In, InOut, Launch, Source}, look_back::TileStates};
//!
//! // Keeps the squares of odd numbers, in order.
//! type Odd = (In<u32>, u32, InOut<u32>, u32, InOut<u32>, InOut<u64>);
//! let source = Source::new("odd.cu", r#"
//!     #include <compaction/block.cuh>
//!     extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) odd_squares(
//!         const u32 *numbers, u32 count, u32 *out, u32 room, u32 *kept, u64 *states)
//!     {
//!         const TileChain chain(states);
//!         const u32 index = chain.tile() * BLOCK_THREADS + threadIdx.x;
//!         const u32 number = index < count ? numbers[index] : 0;
//!         const bool keep = number % 2 == 1;
//!         const auto ranks = block_scan<Sum<u32>>(keep);
//!         const u32 before = chain.prefix<Sum<u32>>(ranks.total);
//!         ranked_scatter(ranks, keep, number * number, out + before, room - min(room, before));
//!         if (chain.is_last() && threadIdx.x == 0) *kept = before + ranks.total;
//!         chain.finish();
//!     }"#).constant("BLOCK_THREADS", 256).kernel::<Odd>("odd_squares");
//! let context = cuda::open(0)?;
//! let stream = context.default_stream();
//! let kernel = Compiler::new().load(&context, &TileStates::declare(source))?.kernel::<Odd>("odd_squares")?;
//!
//! let numbers = cuda::upload(&stream, &[3_u32, 4, 5])?;
//! let mut out = cuda::zeroed::<u32>(&stream, 3)?;
//! let mut kept = cuda::zeroed::<u32>(&stream, 1)?;
//! let launch = Launch::covering(3, 256);
//! let mut states = TileStates::with_capacity::<u32>(&stream, 1)?; // one tile of 256 numbers
//! let args = (numbers.as_view(), 3, out.as_view_mut(), 3, kept.as_view_mut(), states.as_view_mut());
//! kernel.launch(&stream, launch, args)?;
//! assert_eq!(cuda::download(&stream, &out)?, [9, 25, 0]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! | in CUDA C++ | what it does | in CUB |
//! |---|---|---|
//! | `block_scan<Monoid>(value)` | combines the values of earlier threads (`before`) and of all (`total`) | `BlockScan` |
//! | `block_fold<Monoid>(value)` | combines the values of all threads | `BlockReduce` |
//! | `ranked_scatter(ranks, keep, item, out)` | writes the kept items of a block in order | `BlockExchange` |
//! | `ranked_scatter(ranks, keep, item, out, room)` | the same, but at most `room` items | |
//! | `warp_inclusive<Monoid>(value)` | combines the values of the lanes up to and including this one | `WarpScan` |
//! | `warp_fold<Monoid>(value)` | combines the values of all lanes | `WarpReduce` |
//! | `warp_last(value)` | returns the value of the last lane | `ShuffleIndex` |
//! | `lane_index()`, `warp_index()` | number of the lane in its warp, and of the warp in its block | |
//! | `TileChain` | the prefix of a block over all blocks, in one launch | `TilePrefixCallbackOp` |
//!
//! A *monoid* is an associative operation with an identity. `Sum<T>`, `Min<T>` and `Max<T>` are those of number types
//! (`u32`, `i32`, `u64`, `i64`, `f32`, `f64`), with the meaning that [`Operator`](crate::scan::Operator) documents.
//! Others are structs of yours, over a number type or a struct of 4-byte words. They need not be commutative:
//!
//! ```c++
//! struct Affine { f32 a, b; };  // x → a x + b
//! struct Compose {
//!     using Value = Affine;
//!     static __device__ Affine identity() { return {1, 0}; }
//!     static __device__ Affine combine(Affine left, Affine right)
//!     {
//!         return {left.a * right.a, right.a * left.b + right.b};
//!     }
//! };
//! ```
//!
//! All functions take and return values of the type `Monoid::Value`, which is `T` for `Sum<T>`. Also outside of them,
//! `Monoid::identity()` and `Monoid::combine(left, right)` are what stands for missing items, and what adds prefixes.
//!
//! The constant `BLOCK_THREADS` is the number of threads of a block, a multiple of 32; a launch with other blocks is an
//! [error](Error::BlockSize). [`TileStates::declare`] adds what the header needs, also to kernels without a `TileChain`.
//! All threads of a block call each function together. Each block calls `prefix` once, and then `finish`.
//! `__launch_bounds__(BLOCK_THREADS)` tells the compiler how many registers a thread may have. Without it, the compiler
//! prepares for blocks of 1024 threads.
//!
//! [`Launch::covering(0, …)`](crate::cuda::Launch::covering) launches nothing, so that a count such as `kept` keeps its
//! old value. Write 0 there first if there may be no items.
//!
//! The header is part of the interface of this crate, like the number types of the prelude, such as `u32`, which every
//! kernel file has. Other headers are internal: they change without notice.
//!
//! The method of `TileChain` is decoupled look-back, as in [`select`](crate::select).
//!
//! Example: [`13_own_kernel`].
//!
//! [`13_own_kernel`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/13_own_kernel.rs

use std::sync::Arc;

use bytemuck::Pod;
use cudarc::driver::{CudaStream, CudaViewMut};

use crate::{
    CountWord, Error, Result,
    cuda::{self, Arena, Buffer, GraphBuffers, Handover, Source, Uses},
};

/// Device memory by which the blocks of one of your kernels pass on prefixes: the argument of `TileChain` in CUDA C++.
///
/// One launch after the other uses it on its stream, and it never needs clearing.
///
/// ```no_run
/// use compaction::{cuda, look_back::TileStates};
///
/// let stream = cuda::open(0)?.default_stream();
/// let states = TileStates::with_capacity::<u32>(&stream, 1000)?;
/// assert_eq!(states.capacity(), 1000);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias(
    "BlockScan",
    "BlockReduce",
    "BlockExchange",
    "WarpScan",
    "WarpReduce",
    "TilePrefixCallbackOp"
))]
#[derive(Debug)]
pub struct TileStates {
    states: States,
    capacity: usize,
}

impl TileStates {
    /// Allocates memory for launches of up to `tiles` blocks with prefixes of type `T`, the `Value` of the monoid: a
    /// number, or a struct of 4-byte words.
    ///
    /// A launch with more blocks fails with `CUDA_ERROR_LAUNCH_FAILED`, after which the context cannot be used.
    ///
    /// ```no_run
    /// # use compaction::{cuda, look_back::TileStates};
    /// let states = TileStates::with_capacity::<f64>(&cuda::open(0)?.default_stream(), 1 << 16)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`].
    pub fn with_capacity<T: Pod>(stream: &Arc<CudaStream>, tiles: usize) -> Result<Self> {
        const {
            assert!(
                size_of::<T>() > 0 && size_of::<T>().is_multiple_of(4),
                "a prefix has whole words of 4 bytes"
            )
        };
        let words = tiles.saturating_mul(size_of::<T>() / size_of::<u32>());
        Ok(Self {
            states: States::new(&mut Arena::allocating(stream), words)?,
            capacity: tiles,
        })
    }

    /// Adds to a kernel source what `<compaction/block.cuh>` needs.
    ///
    /// ```
    /// use compaction::{cuda::Source, look_back::TileStates};
    ///
    /// let source = Source::new("odd.cu", "#include <compaction/block.cuh>").constant("BLOCK_THREADS", 256);
    /// assert!(TileStates::declare(source).text()?.contains("class TileChain"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn declare(source: Source) -> Source {
        declare(source).fixed_blocks()
    }

    /// Returns the largest number of blocks of a launch.
    ///
    /// ```no_run
    /// # use compaction::{cuda, look_back::TileStates};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(TileStates::with_capacity::<u64>(&stream, 10)?.capacity(), 10);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the memory as the kernel's argument of type `InOut<u64>`.
    ///
    /// ```no_run
    /// # use compaction::{cuda, look_back::TileStates};
    /// # let mut states = TileStates::with_capacity::<u64>(&cuda::open(0)?.default_stream(), 10)?;
    /// let argument = states.as_view_mut();
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, u64> {
        self.states.words.as_view_mut()
    }
}

impl GraphBuffers for TileStates {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
    }
}

/// The number of the last epoch. Each launch has an epoch, counted from 1, which a tile state stores in 30 bits, so
/// that states of earlier launches need no clearing.
///
/// A launch in the last epoch clears the states, and the epochs start again at 1.
pub(crate) const LAST_EPOCH: u32 = (1 << 30) - 1;

crate::shared! {
    /// The header of a workspace: ticket counter, error report, and sums that one launch leaves for the next. `Control`
    /// in `kernels/look_back.cuh` documents the fields.
    pub(crate) struct Control {
        pub(crate) ticket: u64,
        pub(crate) finished: u64,
        pub(crate) state_count: u64,
        pub(crate) appended: u64,
        pub(crate) overrun: u64,
        pub(crate) overrun_capacity: u64,
        pub(crate) selected: [u64; 2],
        pub(crate) unused: [u64; 8],
    }
}

/// Size of the header of a workspace in 8-byte words. The tile states follow the header.
pub(crate) const CONTROL_WORDS: usize = size_of::<Control>() / size_of::<u64>();

/// Adds to a kernel source the definitions that `look_back.cuh` needs: the constant [`LAST_EPOCH`], and the layout
/// check of [`Control`]. The kernel file itself includes the header.
pub(crate) fn declare(source: Source) -> Source {
    source
        .constant("LAST_EPOCH", LAST_EPOCH)
        .shared::<Control>()
}

/// The header ([`Control`]) and the tile states of a workspace, in one device buffer of 8-byte words.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) words: Buffer<u64>,
    last_epoch: u32,
}

impl GraphBuffers for States {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.words.visit(uses);
    }
}

impl States {
    /// Allocates a header and `words` 8-byte words of tile states, with epochs up to [`LAST_EPOCH`].
    pub(crate) fn new(arena: &mut Arena, words: usize) -> Result<Self> {
        Self::with_epochs(arena, words, LAST_EPOCH)
    }

    /// Allocates a header and `words` 8-byte words of tile states, with epochs from 1 to `last_epoch`.
    pub(crate) fn with_epochs(arena: &mut Arena, words: usize, last_epoch: u32) -> Result<Self> {
        let mut states = Self {
            words: arena.zeroed(CONTROL_WORDS.saturating_add(words))?,
            last_epoch,
        };
        if arena.has_memory() {
            states.set_epoch(arena.stream(), 1)?;
        }
        Ok(states)
    }

    /// Returns the stream that the buffer is used on.
    pub(crate) fn home(&self) -> &Arc<CudaStream> {
        self.words.home()
    }

    /// Uses the buffer on another stream from now on.
    pub(crate) fn hand_over(&mut self, handover: &Handover) -> Result<()> {
        self.words.hand_over(handover)
    }

    /// Returns the number of 8-byte words that are allocated for tile states, without the header. The state of a tile
    /// takes one word or more.
    pub(crate) fn len(&self) -> usize {
        self.words.len() - CONTROL_WORDS
    }

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. Also clears the rest of the header, such as the error
    /// report. For tests.
    pub(crate) fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        let left = epochs_left.clamp(1, self.last_epoch);
        self.set_epoch(stream, self.last_epoch + 1 - left)
    }

    /// Waits for the stream and returns [`Error::CountTooLarge`] if a call since the last check read a device count
    /// larger than its buffer.
    ///
    /// The report is then cleared. `what` names the operation in the error.
    pub(crate) fn check_overrun(
        &mut self,
        stream: &Arc<CudaStream>,
        what: &'static str,
    ) -> Result<()> {
        cuda::check_usable(stream, self.words.home(), || {
            format!("the workspace of {what}")
        })?;
        let words = cuda::download(stream, &self.words.as_view().slice(..CONTROL_WORDS))?;
        let control: Control = bytemuck::pod_read_unaligned(bytemuck::cast_slice(&words));
        if control.overrun == 0 {
            return Ok(());
        }
        let reported = Control {
            overrun: 0,
            ..control
        };
        self.set_control(stream, reported)?;
        Err(Error::CountTooLarge {
            what,
            count: control.overrun.to_len(),
            capacity: control.overrun_capacity.to_len(),
        })
    }

    /// Enqueues the reset of the header, with the next launch in epoch `epoch`.
    fn set_epoch(&mut self, stream: &Arc<CudaStream>, epoch: u32) -> Result<()> {
        let control = Control {
            ticket: u64::from(epoch) << 32,
            state_count: self.len() as u64,
            ..Control::default()
        };
        self.set_control(stream, control)
    }

    fn set_control(&mut self, stream: &Arc<CudaStream>, control: Control) -> Result<()> {
        let control: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&control));
        cuda::overwrite(
            stream,
            control,
            &mut self.words.as_view_mut().slice_mut(..control.len()),
        )
    }
}
