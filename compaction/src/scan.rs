//! `scan`: every prefix of a sequence, combined.
//!
//! ```text
//! items        3  1  4  1  5  9      combined by sum
//!
//! exclusive →  0  3  4  8  9 14      what comes before each item
//! inclusive →  3  4  8  9 14 23      with the item itself
//! ```
//!
//! An [`Operator`] says how two items are combined, a [`Strategy`] how a GPU comes to all prefixes at once, though each
//! seems to need the one before it. On the CPU, [`cpu::exclusive`] and [`cpu::inclusive`] write into slices. On a GPU, a
//! [`Scan`] does it on a stream, for as many items as the host says or a word of device memory.
//!
//! Integers, minima and maxima are the same everywhere, bit for bit. Floating-point sums depend on the order in which
//! they are added: the CPU, [`Strategy::BlockSums`] and [`Strategy::Raking`] give the same bits, by a fixed tree, the
//! payload of what is no number aside; each other strategy gives its own, the same in every run.
//!
//! The default, [`Strategy::LookBack`], is a single pass in one launch without any set-up, and the one to use. It moves each
//! item twice, once in and once out, as a copy does; [`Strategy::Raking`] three times, and is the one where floating-point
//! sums are to be the CPU's. The others are what led there: each says what it takes.
//!
//! A scan can also overwrite its items: [`Scan::exclusive_in_place`], [`cpu::exclusive_in_place`].

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
    counted::{Counted, Names, check_range, check_room, check_workspace, names},
    cuda::{self, Compiler, Source},
    look_back,
};

pub use crate::monoid::{Item, Operator};
use passes::{Call, Method, Passes};
pub use strategy::Strategy;
pub use workspace::Workspace;

/// Threads of a block.
const BLOCK_THREADS: u32 = 256;
/// Bytes of a thread's items in a row: one vector.
const LANE_BYTES: u32 = 16;
/// Rows of a warp in the tiles of `block-sums` and `raking`.
const LEVEL_ROWS: u32 = 4;
/// Rows of a warp in the tiles of `look-back`.
const LOOK_BACK_ROWS: u32 = 8;

/// Blocks of `look-back` that a multiprocessor should hold at once: what is under way hides how long tiles wait. Items
/// of 8 bytes take more registers each.
const fn look_back_blocks<T>() -> u32 {
    if size_of::<T>() == 8 { 3 } else { 4 }
}

/// Tiles of `look-back` that a block of the kernel for long inputs holds at once: as many as fit.
const RING_PLACES: u32 = 6;
/// Their shared memory, with what belongs to each.
const RING_BYTES: u32 = RING_PLACES * (BLOCK_THREADS * LOOK_BACK_ROWS * LANE_BYTES + 256);
/// Threads of that block: scanners and reducers, a loader and a seeker.
const AHEAD_THREADS: u32 = 2 * BLOCK_THREADS + 2 * 32;
/// From so many tiles on that kernel is the faster one.
const AHEAD_FROM_TILES: usize = 1024;

/// Items of a tile of `block-sums` and `raking`, on each level.
const fn level_tile_items<T>() -> u32 {
    BLOCK_THREADS * LEVEL_ROWS * LANE_BYTES / size_of::<T>() as u32
}

/// Items of a tile of `look-back`.
const fn look_back_tile_items<T>() -> u32 {
    BLOCK_THREADS * LOOK_BACK_ROWS * LANE_BYTES / size_of::<T>() as u32
}

/// A grid has a thread for each of so many items, and for as many leaves.
const MOST_ITEMS: usize = 1 << 38;

const NAMES: Names = names!("scan", "items");

/// The kernel file of all strategies, for items of type `T` combined by `operator` and counted by `W`.
fn source<T: Item, W: CountWord>(operator: Operator) -> Source {
    let text = include_str!("../kernels/scan.cu");
    let source = of_items::<T, W>(Source::new("compaction/kernels/scan.cu", text), operator)
        .constant("LEVEL_ROWS", LEVEL_ROWS)
        .constant("LOOK_BACK_BLOCKS", look_back_blocks::<T>());
    passes::declare::<T>(source)
}

/// The kernel file by which [`Strategy::LookBack`] scans long inputs, on a GPU of compute capability 9.0 or later; it
/// does not compile for others.
fn look_ahead_source<T: Item, W: CountWord>(operator: Operator) -> Source {
    let path = "compaction/kernels/scan_look_ahead.cu";
    let text = include_str!("../kernels/scan_look_ahead.cu");
    let source = of_items::<T, W>(Source::new(path, text), operator)
        .constant("RING_PLACES", RING_PLACES)
        .constant("RING_BYTES", RING_BYTES);
    look_ahead::declare::<T>(source)
}

/// What `scan_tile.cuh` has to know.
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

/// The scan on a GPU, by one operator and one strategy, of items that are counted by `W`: `u32`, or `u64` for 2³² items and
/// more.
///
/// Its methods put their launches onto the caller's stream and return: one launch by [`Strategy::LookBack`], as many as
/// the capacity asks for by the others. They allocate nothing and wait for nothing, so that they can be captured into a
/// graph, and the graph be replayed. Buffers are borrowed views, which may start at any item of a larger buffer; those
/// that start at 16 bytes are read and written faster.
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
    /// Compiles, or finds compiled, the kernels for `T` and `operator`, and counts of `W`.
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
    /// What [`Compiler::load`] says.
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

    /// The kernel files of all strategies: what an [`Archive`](crate::cuda::Archive) ships.
    ///
    /// ```
    /// use compaction::scan::{Operator, Scan};
    ///
    /// assert_eq!(Scan::<f32>::sources(Operator::Max)[0].path(), "compaction/kernels/scan.cu");
    /// ```
    pub fn sources(operator: Operator) -> Vec<Source> {
        vec![source::<T, W>(operator)]
    }

    /// The kernel files by which [`Strategy::LookBack`] scans long inputs, on a GPU of compute capability 9.0 or later;
    /// they do not compile for others. [`new`](Self::new) compiles them as well, and does without where it cannot.
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

    /// Lets [`Strategy::LookBack`] use its kernel for long inputs from so many tiles on, where it has that. For tests.
    #[doc(hidden)]
    pub fn look_ahead_from(&mut self, tiles: usize) {
        if let Method::LookBack(_, Some(look_ahead)) = &mut self.passes.method {
            look_ahead.from_tiles = tiles;
        }
    }

    /// How it combines.
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

    /// How it scans.
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

    /// Writes to `out`, for each item, all items before it combined; the operator's identity for the first.
    ///
    /// `out` has room for as many items as there may be, and is left as it was behind the result. A count on the device
    /// that says more than there are items counts as that many, and [`Workspace::check`] reports it.
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
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) for a given count of more items than there are, and for more than
    /// 2³⁸ items; [`Error::Uncountable`](crate::Error::Uncountable) for 2³² items or more and counts of `u32`;
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for a count on the device without a word;
    /// [`Error::OutputTooShort`](crate::Error::OutputTooShort);
    /// [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall); and those of
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

    /// Writes to `out`, for each item, all items before it and itself combined. As [`exclusive`](Self::exclusive).
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// let mut out = cuda::zeroed(&stream, 5)?;
    /// // As many as a word on the device says: the rest of `out` stays as it is.
    /// let count = cuda::upload(&stream, &[3])?;
    /// let counted = Count::Device(count.as_view());
    /// scan.inclusive(&stream, &items.as_view(), counted, &mut out.as_view_mut(), &mut workspace)?;
    /// assert_eq!(cuda::download(&stream, &out)?, [3, 4, 8, 0, 0]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`exclusive`](Self::exclusive).
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

    /// Overwrites each item by all items before it combined; the operator's identity the first. As
    /// [`exclusive`](Self::exclusive) otherwise.
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
    /// Those of [`exclusive`](Self::exclusive).
    pub fn exclusive_in_place(
        &self,
        stream: &Arc<CudaStream>,
        items: &mut CudaViewMut<'_, T>,
        count: Count<'_, W>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        // Every kernel reads an item before anyone overwrites it.
        let (items, mut out) = cuda::read_and_write(items);
        self.scan(stream, &items, count, &mut out, false, workspace)
    }

    /// Overwrites each item by all items before it and itself combined. As [`exclusive`](Self::exclusive) otherwise.
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
    /// Those of [`exclusive`](Self::exclusive).
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
        let counted = Counted::new(&NAMES, items.len(), count, &workspace.unread)?;
        let capacity = counted.capacity;
        check_room(NAMES.output, out.len(), capacity)?;
        check_range(NAMES.input, capacity, 0, MOST_ITEMS)?;
        let what = || format!("the items of scan by {}", self.strategy);
        check_workspace(what, room, capacity)?;
        let call = Call {
            stream,
            items: items.slice(..),
            counted,
            inclusive,
        };
        let (scratch, states) = (&mut workspace.scratch, &mut workspace.states.words);
        self.passes.launch(&call, out, scratch, states)
    }
}
