//! Scan (prefix sum): combines every prefix of a sequence.
//!
//! ```text
//! items        3  1  4  1  5  9      combined by sum
//!
//! exclusive →  0  3  4  8  9 14      the sum of the items before each item
//! inclusive →  3  4  8  9 14 23      the sum including the item itself
//! ```
//!
//! An [`Operator`] combines two items, and a [`Strategy`] selects the parallel algorithm. On the CPU,
//! [`cpu::exclusive`] and [`cpu::inclusive`] write into slices. On a GPU, a [`Scan`] enqueues the operation on a
//! stream; the number of items comes from the host or from device memory.
//!
//! Sums of integers, minima and maxima are equal to the bit on all backends. Floating-point sums depend on the order of
//! additions. The CPU, [`Strategy::BlockSums`] and [`Strategy::Raking`] use the same fixed order and give the same
//! bits, except for NaN payloads. Each other strategy has its own order, which gives the same bits in every run.
//!
//! The default, [`Strategy::LookBack`], is a single pass in one launch and reads and writes each item once, like a
//! copy. [`Strategy::Raking`] moves three times the input's bytes and is the choice for floating-point sums equal to
//! the CPU's. The other strategies are earlier methods, kept for comparison.
//!
//! A scan can also run in place: [`Scan::exclusive_in_place`], [`cpu::exclusive_in_place`].

pub mod cpu;
mod item_passes;
mod level_passes;
mod look_ahead;
mod passes;
mod strategy;
mod tree;
mod workspace;

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};

use crate::{
    Count, CountWord, Result,
    arguments::{
        ArgumentNames, ItemCount, argument_names, check_range, check_room, check_workspace,
    },
    cuda::{self, Compiler, Source},
    look_back,
};

pub use crate::monoid::{Item, Operator};
use passes::{Passes, ScanCall, ScanMethod};
pub use strategy::Strategy;
pub use workspace::Workspace;

/// Threads per block of all kernels but `scan_look_ahead`, the kernel for long inputs.
const BLOCK_THREADS: u32 = 256;
/// Bytes of consecutive items that a thread loads at once: one 16-byte vector. The vectors of a warp's 32 threads are a
/// row of a tile.
const LANE_BYTES: u32 = 16;
/// Rows of a tile, of 32 vectors each, that each warp processes in `block-sums` and `raking`.
const LEVEL_ROWS: u32 = 4;
/// Rows of a tile, of 32 vectors each, that each warp processes in `look-back`.
const LOOK_BACK_ROWS: u32 = 8;

/// Returns the number of `look-back` blocks per multiprocessor to compile for. Several blocks hide the time in which
/// tiles wait.
///
/// Items of 8 bytes need more registers, so fewer blocks fit.
const fn look_back_blocks<T>() -> u32 {
    if size_of::<T>() == 8 { 3 } else { 4 }
}

/// Number of tiles that a block of `scan_look_ahead` holds in its ring buffer in shared memory.
const RING_TILES: u32 = 6;
/// Dynamic shared memory per block of `scan_look_ahead` in bytes: its tiles, and 256 bytes of state per tile.
const RING_BYTES: u32 = RING_TILES * (BLOCK_THREADS * LOOK_BACK_ROWS * LANE_BYTES + 256);
/// Threads per block of `scan_look_ahead`: 256 that sum tiles, 256 that write prefixes, one warp that loads tiles, and
/// one that looks back.
const LOOK_AHEAD_THREADS: u32 = 2 * BLOCK_THREADS + 2 * 32;
/// Number of tiles of an input from which `scan_look_ahead` is faster than `scan_look_back`.
const LOOK_AHEAD_MIN_TILES: usize = 1024;

/// Returns the items per tile of `block-sums` and `raking`, on each level.
const fn level_tile_items<T>() -> u32 {
    BLOCK_THREADS * LEVEL_ROWS * LANE_BYTES / size_of::<T>() as u32
}

/// Returns the items per tile of `look-back`.
const fn look_back_tile_items<T>() -> u32 {
    BLOCK_THREADS * LOOK_BACK_ROWS * LANE_BYTES / size_of::<T>() as u32
}

/// The largest number of items of a GPU scan. With more, a grid with one thread per item, or per leaf of Blelloch's
/// tree, would have too many blocks.
const MAX_ITEMS: usize = 1 << 38;

const NAMES: ArgumentNames = argument_names!("scan", "items");

/// Returns the kernel file with all strategies, for items of type `T` combined by `operator` and counted by `W`.
fn source<T: Item, W: CountWord>(operator: Operator) -> Source {
    let text = include_str!("../kernels/scan.cu");
    let source = of_items::<T, W>(Source::new("compaction/kernels/scan.cu", text), operator)
        .constant("LEVEL_ROWS", LEVEL_ROWS)
        .constant("LOOK_BACK_BLOCKS", look_back_blocks::<T>());
    passes::declare::<T>(source)
}

/// Returns the kernel file of `scan_look_ahead`, with which [`Strategy::LookBack`] scans long inputs. The file compiles
/// only for compute capability 9.0 or later.
fn look_ahead_source<T: Item, W: CountWord>(operator: Operator) -> Source {
    let path = "compaction/kernels/scan_look_ahead.cu";
    let text = include_str!("../kernels/scan_look_ahead.cu");
    let source = of_items::<T, W>(Source::new(path, text), operator)
        .constant("RING_TILES", RING_TILES)
        .constant("RING_BYTES", RING_BYTES);
    look_ahead::declare::<T>(source)
}

/// Adds to a kernel source the definitions that `scan_tile.cuh` needs: item type, operator, tile shape and word type of
/// counts.
fn of_items<T: Item, W: CountWord>(source: Source, operator: Operator) -> Source {
    let source = source
        .define("ITEM", T::NAME)
        .define("Word", W::NAME)
        .define("OPERATOR", operator.cuda_name())
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("LANE_BYTES", LANE_BYTES)
        .constant("LOOK_BACK_ROWS", LOOK_BACK_ROWS);
    look_back::declare(source)
}

/// A scan on a GPU with one operator and one strategy.
///
/// Items have type `T`. Counts have type `W`: `u32`, or `u64` for 2³² or more items.
///
/// Each method enqueues its kernels on the caller's stream and returns: one launch by [`Strategy::LookBack`], several
/// by the other strategies. A call allocates nothing and does not wait, so it can be captured into a CUDA graph.
/// Buffers are views that may start at any item of a larger buffer; views aligned to 16 bytes are processed faster.
///
/// ```no_run
/// use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
/// let mut workspace = Workspace::with_capacity(&stream, 5)?;
///
/// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
/// let mut out = cuda::zeroed(&stream, 5)?;
/// scan.exclusive(&stream, &items.as_view(), Count::All, &mut out.as_view_mut(), &mut workspace)?;
/// assert_eq!(cuda::download(&stream, &out)?, [0, 3, 4, 8, 9]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Scan<T: Item, W: CountWord = u32> {
    operator: Operator,
    strategy: Strategy,
    passes: Passes<T>,
    word: PhantomData<fn(W)>,
}

impl<T: Item, W: CountWord> Scan<T, W> {
    /// Compiles the kernels for `T`, `operator` and counts of type `W`, or loads them if compiled earlier.
    ///
    /// ```no_run
    /// use compaction::{cuda, scan::{Operator, Scan, Strategy}};
    ///
    /// let scan = Scan::<f32>::new(&cuda::Compiler::new(), &cuda::open(0)?, Operator::Max, Strategy::Raking)?;
    /// assert_eq!((scan.operator(), scan.strategy()), (Operator::Max, Strategy::Raking));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Compiler::load`].
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        operator: Operator,
        strategy: Strategy,
    ) -> Result<Self> {
        Ok(Self {
            operator,
            strategy,
            passes: Passes::new::<W>(compiler, context, operator, strategy)?,
            word: PhantomData,
        })
    }

    /// Returns the kernel files that [`new`](Self::new) needs with any strategy, for an
    /// [`Archive`](crate::cuda::Archive).
    ///
    /// ```
    /// use compaction::scan::{Operator, Scan};
    ///
    /// assert_eq!(Scan::<f32>::sources(Operator::Max)[0].path(), "compaction/kernels/scan.cu");
    /// ```
    pub fn sources(operator: Operator) -> Vec<Source> {
        vec![source::<T, W>(operator)]
    }

    /// Returns the kernel files by which [`Strategy::LookBack`] scans long inputs on GPUs of compute capability 9.0 or
    /// later.
    ///
    /// They do not compile for older GPUs. [`new`](Self::new) uses them where they are available and works without them
    /// elsewhere.
    ///
    /// ```
    /// use compaction::scan::{Operator, Scan};
    ///
    /// let sources = Scan::<u32>::sources_look_ahead(Operator::Sum);
    /// assert!(sources[0].text()?.contains("scan_look_ahead"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn sources_look_ahead(operator: Operator) -> Vec<Source> {
        vec![look_ahead_source::<T, W>(operator)]
    }

    /// Sets the number of tiles from which [`Strategy::LookBack`] uses `scan_look_ahead`, the kernel for long inputs
    /// aligned to 16 bytes. Does nothing for other strategies, or if that kernel is not available. For tests.
    #[doc(hidden)]
    pub fn look_ahead_from(&mut self, tiles: usize) {
        if let ScanMethod::LookBack(_, Some(look_ahead)) = &mut self.passes.method {
            look_ahead.from_tiles = tiles;
        }
    }

    /// Returns the operator that combines the items.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
    /// assert_eq!(scan.operator(), Operator::Sum);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the strategy that was passed to [`new`](Self::new).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
    /// assert_eq!(scan.strategy(), Strategy::LookBack);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of all items before it. The first result is
    /// the operator's identity.
    ///
    /// `out` must have room for `count` items, or for as many as `items` if the count is in device memory. Entries
    /// behind the result keep their values. A device count larger than `items` is clamped, and [`Workspace::check`]
    /// reports it.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 5)?;
    /// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// let mut out = cuda::zeroed(&stream, 5)?;
    /// scan.exclusive(&stream, &items.as_view(), Count::All, &mut out.as_view_mut(), &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [0, 3, 4, 8, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a host count larger than `items`, or for more than
    /// 2³⁸ items; [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more items with counts of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view of a device count;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`;
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and the errors of
    /// [`Kernel::launch`](crate::cuda::Kernel::launch).
    pub fn exclusive(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, T>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        self.scan(stream, items, count, out, false, workspace)
    }

    /// Enqueues a scan that writes to `out`, for each item, the combination of all items up to and including it.
    /// Otherwise like [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// let mut out = cuda::zeroed(&stream, 5)?;
    /// // The count is read from device memory; the rest of `out` keeps its values.
    /// let count = cuda::upload(&stream, &[3])?;
    /// let counted = Count::Device(count.as_view());
    /// scan.inclusive(&stream, &items.as_view(), counted, &mut out.as_view_mut(), &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [3, 4, 8, 0, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`exclusive`](Self::exclusive).
    pub fn inclusive(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, T>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        self.scan(stream, items, count, out, true, workspace)
    }

    /// Enqueues a scan that replaces each item by the combination of all items before it. The first result is the
    /// operator's identity. Otherwise like [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let mut items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// scan.exclusive_in_place(&stream, &mut items.as_view_mut(), Count::All, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &items)?, [0, 3, 4, 8, 9]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`exclusive`](Self::exclusive).
    pub fn exclusive_in_place(
        &self,
        stream: &Arc<CudaStream>,
        items: &mut CudaViewMut<'_, T>,
        count: Count<'_, W>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        // Every kernel reads an item before any thread overwrites it.
        let (items, mut out) = cuda::read_and_write(items);
        self.scan(stream, &items, count, &mut out, false, workspace)
    }

    /// Enqueues a scan that replaces each item by the combination of all items up to and including it. Otherwise like
    /// [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Max, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let mut items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// scan.inclusive_in_place(&stream, &mut items.as_view_mut(), Count::All, &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &items)?, [3, 3, 4, 4, 5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`exclusive`](Self::exclusive).
    pub fn inclusive_in_place(
        &self,
        stream: &Arc<CudaStream>,
        items: &mut CudaViewMut<'_, T>,
        count: Count<'_, W>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let (items, mut out) = cuda::read_and_write(items);
        self.scan(stream, &items, count, &mut out, true, workspace)
    }

    /// Checks the arguments of a call and enqueues its launches.
    fn scan(
        &self,
        stream: &Arc<CudaStream>,
        items: &CudaView<'_, T>,
        count: Count<'_, W>,
        out: &mut CudaViewMut<'_, T>,
        inclusive: bool,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let room = workspace.capacity_for(self.strategy);
        let item_count = ItemCount::new(&NAMES, items.len(), count, &workspace.dummy_count)?;
        let capacity = item_count.capacity;
        check_room(NAMES.output, out.len(), capacity)?;
        check_range(NAMES.input, capacity, 0, MAX_ITEMS)?;
        let what = || format!("the items of scan by {}", self.strategy);
        check_workspace(what, room, capacity)?;
        let call = ScanCall {
            stream,
            items: items.slice(..),
            item_count,
            inclusive,
        };
        let (scratch, states) = (&mut workspace.scratch, &mut workspace.states.words);
        self.passes.launch(&call, out, scratch, states)
    }
}
