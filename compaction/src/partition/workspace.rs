//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView};

use super::{CLASS_TILE_ITEMS, NAMES, TILE_ITEMS};
use crate::{
    CountWord, Result,
    counted::read_count,
    cuda::{self, multiprocessors},
    look_back::States,
};

/// Bits of a count in the table of [`Classes`](super::Classes).
pub(super) const CHUNK_BITS: u32 = 20;
/// Epochs of [`Classes`](super::Classes) go from 1 to this: they have the other bits of the table's words.
pub(super) const LAST_CLASS_EPOCH: u32 = (1 << (32 - CHUNK_BITS)) - 1;
/// Words of a row of that table, at most.
const MOST_BINS: usize = 256;

/// Enough blocks to keep a multiprocessor busy, and few enough that each can read all the counts.
pub(super) const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;

/// The chunks, hence blocks, of a partition in two.
pub(super) fn two_way_chunks(items: u32, multiprocessors: u32) -> u32 {
    let tiles = items.div_ceil(TILE_ITEMS);
    tiles.clamp(1, BLOCKS_PER_MULTIPROCESSOR * multiprocessors)
}

/// The chunks, hence blocks, of a partition into classes: one for every multiprocessor, and more where the counts would
/// not fit into their bits.
pub(super) fn class_chunks(items: u32, multiprocessors: u32) -> u32 {
    const MOST_TILES: u32 = ((1 << CHUNK_BITS) - 1) / CLASS_TILE_ITEMS;
    let tiles = items.div_ceil(CLASS_TILE_ITEMS);
    tiles
        .clamp(1, multiprocessors)
        .max(tiles.div_ceil(MOST_TILES))
}

/// The blocks of a pass over an input of any length, of which each takes fewer than 2³² items: `most`, if there are tiles
/// for them.
pub(super) fn portions(items: usize, tile_items: u32, most: u32) -> usize {
    let tiles = items.div_ceil(tile_items as usize);
    tiles.clamp(1, most as usize).max(items.div_ceil(1 << 31))
}

/// What a partition needs of device memory besides its arguments: on an H200 about 300 KB, and more from 2²⁷ items on.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
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
    /// A state for each chunk of a partition in two.
    pub(super) flags: States,
    /// A count for each block, where one launch counts and the next moves.
    pub(super) flag_counts: CudaSlice<u32>,
    /// The table of a partition into classes, two words in a state.
    pub(super) classes: States,
    /// As `flag_counts`, a row for each block.
    pub(super) class_counts: CudaSlice<u32>,
    /// Stands for a count that no kernel reads, because it is given.
    pub(super) unread: CudaSlice<u64>,
    capacity: usize,
}

impl Workspace {
    /// A workspace for calls on up to `items` items.
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
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        let multiprocessors = multiprocessors(stream.context())?;
        let short = u32::try_from(items).unwrap_or(u32::MAX);
        let chunks = two_way_chunks(short, multiprocessors) as usize;
        let rows = class_chunks(short, multiprocessors) as usize;
        let most = BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
        let counts = portions(items, TILE_ITEMS, most);
        let count_rows = portions(items, CLASS_TILE_ITEMS, multiprocessors);
        Ok(Self {
            flags: States::new(stream, chunks)?,
            classes: States::with_epochs(stream, rows * MOST_BINS / 2, LAST_CLASS_EPOCH)?,
            flag_counts: cuda::uninitialised(stream, counts)?,
            class_counts: cuda::uninitialised(stream, count_rows.saturating_mul(MOST_BINS))?,
            unread: cuda::zeroed(stream, 1)?,
            capacity: items,
        })
    }

    /// Reports what went wrong in partitions since the last report, after all that the stream has to do before: this
    /// waits.
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
    /// [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a count on the device said more items than there were: as
    /// many as there were have been taken. Else those of [`cuda::download`].
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.flags.check_overrun(stream, "partition")?;
        self.classes.check_overrun(stream, "partition")
    }

    /// The count that a partition in two left in `selected[0]`, after a [`check`](Self::check): this waits.
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
    /// # partition.indices(&stream, &flags.as_view(), Count::All, &mut out.as_view_mut(), &mut selected.as_view_mut(), &mut workspace)?;
    /// // After `partition.indices(…)` of the flags 0, 1, 1, 0, 0, 1.
    /// assert_eq!(workspace.read(&stream, &selected.as_view())?, 3);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check), and the next read gives what was selected of as many as there were.
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view.
    pub fn read<W: CountWord>(
        &mut self,
        stream: &Arc<CudaStream>,
        selected: &CudaView<'_, W>,
    ) -> Result<usize> {
        self.check(stream)?;
        read_count(&NAMES, stream, selected)
    }

    /// Where the classes begin, as a partition into classes left it in `starts`: as [`read`](Self::read), of these.
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
    /// # classes.indices(&stream, &keys.as_view(), Count::All, &mut out.as_view_mut(), &mut starts.as_view_mut(), &mut workspace)?;
    /// // After `classes.indices(…)` of the keys 2, 0, 1, 0, 2, 0.
    /// assert_eq!(workspace.read_starts(&stream, &starts.as_view())?, [0, 3, 4, 6]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_starts<W: CountWord>(
        &mut self,
        stream: &Arc<CudaStream>,
        starts: &CudaView<'_, W>,
    ) -> Result<Vec<W>> {
        self.check(stream)?;
        cuda::download(stream, starts)
    }

    /// Makes it as old as if all but this many of its epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.flags.age(stream, epochs_left)?;
        self.classes.age(stream, epochs_left)
    }

    /// The most items that it can be used for.
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

    /// The bytes of device memory that it takes.
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
        states + counts + self.unread.num_bytes()
    }
}
