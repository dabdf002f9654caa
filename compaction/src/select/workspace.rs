//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView};

use super::{
    BLOCK_THREADS, IN_PLACE_LEAST_ITEMS, MOST_SEQUENCES, NAMES, SECTION_ITEMS, Strategy, TILE_ITEMS,
};
use crate::{CountWord, Result, counted::read_count, cuda, look_back::States};

/// Items of a launch where there are too many for 32 bits.
const PORTION_ITEMS: u32 = 1 << 31;

/// What a selection needs of device memory besides its arguments.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows: for n items,
///
/// | strategy | bytes |
/// |---|---|
/// | `look-back`, `atomic`, `off`, a predicate | 8 for each 512 items |
/// | `count-scan-scatter` | 4 more for each 512 items |
/// | `sequences` | 32 KiB more |
/// | `scan-scatter`, `hole-filling` | some 4n more |
///
/// ```no_run
/// use compaction::{cuda, select::{Strategy, Workspace}};
///
/// let stream = cuda::open(0)?.default_stream();
/// let workspace = Workspace::with_capacity(&stream, 1 << 20)?;
/// let other = Workspace::for_strategy(&stream, Strategy::HoleFilling, 1 << 20)?;
/// assert_eq!(workspace.capacity(), other.capacity());
/// assert!(workspace.bytes() < 1 << 15 && other.bytes() > 1 << 22);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    pub(super) states: States,
    /// What the strategies of several launches hand from one to the next.
    pub(super) scratch: CudaSlice<u64>,
    /// Stands for a count that no kernel reads, because it is given.
    pub(super) unread: CudaSlice<u64>,
    capacity: usize,
    portion: u32,
}

impl Workspace {
    /// A workspace for calls on up to `items` items by the default strategy, also in place, and by those that need no
    /// more.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::with_capacity(&stream, 1 << 33)?; // 32 MiB
    /// assert_eq!(workspace.capacity(), 1 << 33);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        Self::for_strategy(stream, Strategy::default(), items)
    }

    /// A workspace for calls on up to `items` items by this strategy, also in place, and by those that need no more.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::{Strategy, Workspace}};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::for_strategy(&stream, Strategy::Sequences, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn for_strategy(
        stream: &Arc<CudaStream>,
        strategy: Strategy,
        items: usize,
    ) -> Result<Self> {
        // The smallest call still has a tile, to say that there is nothing.
        let states = of_a_launch(items).div_ceil(IN_PLACE_LEAST_ITEMS as usize);
        Ok(Self {
            states: States::new(stream, states.max(1))?,
            scratch: cuda::uninitialised(stream, scratch_words(strategy, items))?,
            unread: cuda::zeroed(stream, 1)?,
            capacity: items,
            portion: PORTION_ITEMS,
        })
    }

    /// Makes it as old as if all but this many of its 2³⁰ - 1 epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// Has calls that count by `u64` take a launch for so many tiles. For tests of what comes after the first.
    #[doc(hidden)]
    pub fn portion_tiles(mut self, tiles: u32) -> Self {
        self.portion = tiles
            .saturating_mul(TILE_ITEMS)
            .clamp(TILE_ITEMS, PORTION_ITEMS);
        self
    }

    /// The most items of a launch. 32 bits count those of one.
    pub(super) fn portion<W: CountWord>(&self) -> u32 {
        match W::from_len(PORTION_ITEMS as usize * 2) {
            None => u32::MAX,
            Some(_) => self.portion,
        }
    }

    /// Reports what went wrong in selections since the last report, after all that the stream has to do before: this waits.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::Workspace};
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
        self.states.check_overrun(stream, "select")
    }

    /// The count that a call left in `selected[0]`, after a [`check`](Self::check): this waits.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let mut workspace = Workspace::with_capacity(&stream, 8)?;
    /// let selected = cuda::upload(&stream, &[5_u32])?; // where a call writes it
    /// assert_eq!(workspace.read(&stream, &selected.as_view())?, 5);
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

    /// The most items that it can be used for.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::{Strategy, Workspace}};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 7)?.capacity(), 7);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes of device memory that it takes.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 1 << 20)?.bytes(), 128 + 8 * (1 << 11) + 8);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.scratch.num_bytes() + self.unread.num_bytes()
    }

    /// The most items that it can be used for by a strategy, about.
    pub(super) fn capacity_for(&self, strategy: Strategy) -> usize {
        let whole = scratch_words(strategy, self.capacity);
        if self.scratch.len() >= whole {
            return self.capacity;
        }
        (self.scratch.len() as u128 * self.capacity as u128 / whole as u128) as usize
    }
}

/// Of so many items, those of the longest launch.
fn of_a_launch(items: usize) -> usize {
    if items > u32::MAX as usize {
        PORTION_ITEMS as usize
    } else {
        items
    }
}

/// Words of 8 bytes that the launches of a strategy hand on, for as many items.
fn scratch_words(strategy: Strategy, items: usize) -> usize {
    let of_a_launch = of_a_launch(items);
    let words = match strategy {
        Strategy::LookBack | Strategy::Atomic | Strategy::Off => 0,
        // The blocks' counts.
        Strategy::CountScanScatter => of_a_launch.div_ceil(BLOCK_THREADS as usize),
        Strategy::Sequences => MOST_SEQUENCES as usize,
        // Every item's rank, and the sections' sums.
        Strategy::ScanScatter => of_a_launch + of_a_launch.div_ceil(SECTION_ITEMS as usize),
        // The holes, and the survivors before each tile, in the words of the caller's counts.
        Strategy::HoleFilling => {
            let tiles = items.div_ceil(TILE_ITEMS as usize).max(1);
            (items / 2).saturating_add(tiles).saturating_mul(2)
        }
    };
    words.div_ceil(2)
}
