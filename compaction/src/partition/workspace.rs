//! The scratch memory of partitions.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{CLASS_TILE_ITEMS, NAMES, TILE_ITEMS};
pub(super) use crate::policies::partition::BLOCKS_PER_MULTIPROCESSOR;
use crate::{
    CountWord, Result,
    arguments::read_count,
    cuda::{self, Arena, Buffer, GraphBuffers, Handover, IntoView, Uses, multiprocessors},
    look_back::States,
};

/// Bits of a count in the table of [`Classes`](super::Classes). They suffice because a chunk, the items of one block,
/// has fewer than 2²⁰ items.
pub(super) const CHUNK_BITS: u32 = 20;
/// The last epoch of [`Classes`](super::Classes) before the epochs start again at 1. An epoch occupies the bits of a
/// table word that the count leaves free.
pub(super) const LAST_CLASS_EPOCH: u32 = (1 << (32 - CHUNK_BITS)) - 1;
/// The largest number of 4-byte words in a row of the table of [`Classes`](super::Classes), which has one word per
/// class.
const MAX_BINS: usize = 256;

/// Returns the number of chunks of a partition by flags in one launch. One block processes each chunk.
pub(super) fn two_way_chunks(items: u32, multiprocessors: u32) -> u32 {
    let tiles = items.div_ceil(TILE_ITEMS);
    tiles.clamp(1, BLOCKS_PER_MULTIPROCESSOR * multiprocessors)
}

/// Returns the number of chunks of a partition into classes in one launch. One block processes each chunk.
///
/// There is one chunk per multiprocessor, or more if a count might not fit in [`CHUNK_BITS`] bits.
pub(super) fn class_chunks(items: u32, multiprocessors: u32) -> u32 {
    const MAX_TILES: u32 = ((1 << CHUNK_BITS) - 1) / CLASS_TILE_ITEMS;
    let tiles = items.div_ceil(CLASS_TILE_ITEMS);
    tiles
        .clamp(1, multiprocessors)
        .max(tiles.div_ceil(MAX_TILES))
}

/// Returns the number of blocks of a partition in two launches, which has the same number in both and takes an input of
/// any length.
///
/// It is 1 to `max_blocks`, and there are no more blocks than tiles. An input longer than `max_blocks` · 2³¹ items gets
/// more blocks, so that each block takes fewer than 2³² items.
pub(super) fn two_launch_blocks(items: usize, tile_items: u32, max_blocks: u32) -> usize {
    let tiles = items.div_ceil(tile_items as usize);
    tiles
        .clamp(1, max_blocks as usize)
        .max(items.div_ceil(1 << 31))
}

/// Scratch device memory for [`Partition`](super::Partition) and [`Classes`](super::Classes): about 300 KB on an H200,
/// and more from 2²⁷ items on.
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It never needs
/// clearing. A larger capacity never takes fewer bytes.
///
/// ```no_run
/// use compaction::{cuda, partition::Workspace};
///
/// let context = cuda::open(0)?;
/// let workspace = Workspace::with_capacity(&context.default_stream(), 5_000_000_000)?;
/// assert_eq!(workspace.capacity(), 5_000_000_000);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    /// The look-back state of each chunk, for partitions by flags in one launch.
    pub(super) flags: States,
    /// The number of selected items that each block counted, for partitions by flags in two launches.
    pub(super) flag_counts: Buffer<u32>,
    /// The table of counts, two 4-byte words per state word, for partitions into classes in one launch.
    pub(super) classes: States,
    /// The number of keys of each class that each block counted, for partitions into classes in two launches.
    pub(super) class_counts: Buffer<u32>,
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    pub(super) dummy_count: Buffer<u64>,
    capacity: usize,
}

impl GraphBuffers for Workspace {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.flags.visit(uses);
        self.flag_counts.visit(uses);
        self.classes.visit(uses);
        self.class_counts.visit(uses);
        self.dummy_count.visit(uses);
    }
}

impl Workspace {
    /// Creates a workspace for calls on up to `items` items.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let workspace = Workspace::with_capacity(&stream, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        Self::in_arena(&mut Arena::allocating(stream), items)
    }

    /// Creates a workspace like [`with_capacity`](Self::with_capacity), with its memory from an [`Arena`].
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Arena}, partition::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::in_arena(&mut Arena::allocating(&stream), 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(arena: &mut Arena, items: usize) -> Result<Self> {
        let multiprocessors = multiprocessors(arena.stream().context())?;
        let short = u32::try_from(items).unwrap_or(u32::MAX);
        let chunks = two_way_chunks(short, multiprocessors) as usize;
        let rows = class_chunks(short, multiprocessors) as usize;
        let max_blocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
        let counts = two_launch_blocks(items, TILE_ITEMS, max_blocks);
        let count_rows = two_launch_blocks(items, CLASS_TILE_ITEMS, multiprocessors);
        Ok(Self {
            flags: States::new(arena, chunks)?,
            classes: States::with_epochs(arena, rows * MAX_BINS / 2, LAST_CLASS_EPOCH)?,
            flag_counts: arena.uninitialised(counts)?,
            class_counts: arena.uninitialised(count_rows.saturating_mul(MAX_BINS))?,
            dummy_count: arena.zeroed(1)?,
            capacity: items,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, partition::Workspace};
    /// let bytes = Workspace::bytes_for(&cuda::open(0)?, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the bytes exceed the address space, and
    /// [`Error::Driver`](crate::Error::Driver) if the GPU cannot be queried.
    pub fn bytes_for(context: &Arc<CudaContext>, items: usize) -> Result<usize> {
        Arena::measure(context, |arena| Self::in_arena(arena, items))
    }

    /// Waits for the stream and reports a device count that was too large in the calls since the last check.
    ///
    /// ```no_run
    /// # use compaction::{cuda, partition::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 8)?;
    /// workspace.check(&stream)?; // after some calls whose count nobody has to know
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the number of items;
    /// the call then processed all items of the buffer. Otherwise returns the errors of [`cuda::download`].
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.flags.check_overrun(stream, "partition")?;
        self.classes.check_overrun(stream, "partition")
    }

    /// Runs [`check`](Self::check), which waits for the stream and reports a device count that was too large. Returns
    /// the number of selected items in `selected[0]`.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let partition = Partition::new(&Compiler::new(), &context)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 6)?;
    /// # let flags = cuda::upload(&stream, &[0_u8, 1, 1, 0, 0, 1])?;
    /// # let mut out = cuda::zeroed::<u32>(&stream, 6)?;
    /// # let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// # partition.indices(&stream, &flags, Count::All, &mut out, &mut selected, &mut workspace)?;
    /// // After `partition.indices(…)` of the flags 0, 1, 1, 0, 0, 1.
    /// assert_eq!(workspace.read(&stream, &selected)?, 3);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`check`](Self::check), after which the next `read` returns the count for the clamped
    /// input; and [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view.
    pub fn read<'a, W: CountWord>(
        &mut self,
        stream: &Arc<CudaStream>,
        selected: impl IntoView<'a, W>,
    ) -> Result<usize> {
        let selected = &selected.into_view();
        self.check(stream)?;
        read_count(&NAMES, stream, selected)
    }

    /// Runs [`check`](Self::check), which waits for the stream and reports a device count that was too large. Returns a
    /// copy of `starts`: the start of each class in the output, and the end of the last class.
    ///
    /// Behind that end, the output contains the indices of keys that name no class.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let classes = Classes::new(&Compiler::new(), &context, 3)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 6)?;
    /// # let keys = cuda::upload(&stream, &[2_u8, 0, 1, 0, 2, 0])?;
    /// # let mut out = cuda::zeroed::<u32>(&stream, 6)?;
    /// # let mut starts = cuda::zeroed::<u32>(&stream, 4)?;
    /// # classes.indices(&stream, &keys, Count::All, &mut out, &mut starts, &mut workspace)?;
    /// // After `classes.indices(…)` of the keys 2, 0, 1, 0, 2, 0.
    /// assert_eq!(workspace.read_starts(&stream, &starts)?, [0, 3, 4, 6]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`check`](Self::check) and of [`cuda::download`].
    pub fn read_starts<'a, W: CountWord>(
        &mut self,
        stream: &Arc<CudaStream>,
        starts: impl IntoView<'a, W>,
    ) -> Result<Vec<W>> {
        let starts = &starts.into_view();
        self.check(stream)?;
        cuda::download(stream, starts)
    }

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Handover}, partition::Workspace};
    /// # let context = cuda::open(0)?;
    /// # let mut workspace = Workspace::with_capacity(&context.default_stream(), 1000)?;
    /// # let stream = context.new_stream().map_err(compaction::Error::driver("make a stream"))?;
    /// // SAFETY: no work was enqueued yet.
    /// workspace.hand_over(&unsafe { Handover::to(&stream) })?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::ForeignContext`](crate::Error::ForeignContext) if the stream belongs to another context.
    pub fn hand_over(&mut self, handover: &Handover) -> Result<()> {
        self.flags.hand_over(handover)?;
        self.flag_counts.hand_over(handover)?;
        self.classes.hand_over(handover)?;
        self.class_counts.hand_over(handover)?;
        self.dummy_count.hand_over(handover)
    }

    /// Sets the launch counters (epochs) so that they wrap around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.flags.age(stream, epochs_left)?;
        self.classes.age(stream, epochs_left)
    }

    /// Returns the number of items that was passed at creation: the longest possible input of any call, with any number
    /// of classes and any word types.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, partition::{Classes, Partition, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 1000)?.capacity(), 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the size of the workspace in bytes of device memory.
    ///
    /// ```no_run
    /// # use compaction::{cuda, partition::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert!(Workspace::with_capacity(&stream, 1 << 20)?.bytes() < 1 << 20);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        let states = self.flags.words.num_bytes() + self.classes.words.num_bytes();
        let counts = self.flag_counts.num_bytes() + self.class_counts.num_bytes();
        states + counts + self.dummy_count.num_bytes()
    }
}
