//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView};

use super::{BLOCK_THREADS, IN_PLACE_LEAST_ITEMS, MOST_SEQUENCES, SECTION_ITEMS, TILE_ITEMS};
use crate::{Result, Strategy, counted::read_count, counting::CountWord, cuda, look_back::States};

/// Items of a launch where there are too many for 32 bits.
const PORTION_ITEMS: u32 = 1 << 31;

/// What an operation needs of device memory besides its arguments: 8 bytes for 8,192 items by the default.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
///
/// ```no_run
/// use compaction::{Strategy, cuda, select::Workspace};
///
/// let stream = cuda::open(0)?.default_stream();
/// let any = Workspace::with_capacity(&stream, 1 << 20)?;
/// let small = Workspace::for_strategy(&stream, Strategy::LookBack, 1 << 20)?;
/// assert_eq!(any.capacity(), small.capacity());
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
    /// A workspace for operations on up to `items` items, by any strategy, also in place: some 4 bytes an item.
    ///
    /// ```no_run
    /// # use compaction::{Strategy, cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::with_capacity(&stream, 1 << 20)?;
    /// assert_eq!(workspace.capacity(), 1 << 20);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        let scratch = Strategy::ALL.iter().map(|&each| scratch_words(each, items));
        Self::sized(
            stream,
            items,
            IN_PLACE_LEAST_ITEMS,
            scratch.max().unwrap_or(0),
        )
    }

    /// A workspace for operations on up to `items` items that are not in place, by this strategy, and by those that need
    /// no more: the default, `atomic` and `off` need the least.
    ///
    /// ```no_run
    /// # use compaction::{Strategy, cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::for_strategy(&stream, Strategy::LookBack, 1 << 33)?; // 2 MiB
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
        Self::sized(stream, items, TILE_ITEMS, scratch_words(strategy, items))
    }

    fn sized(
        stream: &Arc<CudaStream>,
        items: usize,
        tile_items: u32,
        scratch: usize,
    ) -> Result<Self> {
        // The smallest call still has a tile, to say that there is nothing.
        let states = of_a_launch(items).div_ceil(tile_items as usize).max(1);
        Ok(Self {
            states: States::new(stream, states)?,
            scratch: cuda::uninitialised(stream, scratch)?,
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

    /// The count that an operation left in `selected[0]`, after all that its stream has to do before: this waits.
    ///
    /// ```no_run
    /// # use compaction::{Strategy, cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let mut workspace = Workspace::with_capacity(&stream, 8)?;
    /// let selected = cuda::upload(&stream, &[5_u32])?; // where a call writes it
    /// assert_eq!(workspace.read(&stream, &selected.as_view())?, 5);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::CountTooLarge`](crate::Error::CountTooLarge) if an operation since the last read was told by the device
    /// of more items than there were: it took as many as there were, and the next read gives what it selected of these.
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) for an empty view, and those of [`cuda::download`].
    pub fn read<W: CountWord>(
        &mut self,
        stream: &Arc<CudaStream>,
        selected: &CudaView<'_, W>,
    ) -> Result<usize> {
        self.states.check_overrun(stream, "select")?;
        read_count("the count that select writes", stream, selected)
    }

    /// The most items that it can be used for.
    ///
    /// ```no_run
    /// # use compaction::{Strategy, cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 7)?.capacity(), 7);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
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
