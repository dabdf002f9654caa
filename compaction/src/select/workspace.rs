//! The scratch memory of stream compaction.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    BLOCK_THREADS, IN_PLACE_MIN_TILE_ITEMS, NAMES, SECTION_ITEMS, Strategy, TILE_ITEMS,
    method::sequence_count,
};
use crate::{
    CountWord, Result,
    arguments::{largest_that_fits, read_count},
    cuda::{Arena, Buffer, GraphBuffers, Handover, IntoView, Uses},
    look_back::States,
};

/// The largest number of items per launch of a call that counts by `u64`. The items of one such launch are a portion.
const PORTION_ITEMS: u32 = 1 << 31;

/// Scratch device memory for [`Select`](super::Select) and [`SelectIf`](super::SelectIf).
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It never needs
/// clearing. For n items:
///
/// | strategy | bytes |
/// |---|---|
/// | `look-back`, `atomic`, `off`, a predicate | 8 for every 512 items |
/// | `count-scan-scatter` | additionally 4 for every 512 items |
/// | `sequences` | additionally 4 for every 512 items, at least 64 and at most 32 KiB |
/// | `scan-scatter`, `hole-filling` | additionally about 4n |
///
/// From 2³² items on, a call processes 2³¹ items at a time in the same memory. Then n counts as 2³¹ in this table,
/// except in the 4n of `hole-filling`. So a workspace for 2³² items takes fewer bytes than one for 2³² - 1.
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
#[doc(alias("temp_storage", "d_temp_storage"))]
#[derive(Debug)]
pub struct Workspace {
    pub(super) states: States,
    /// Data that strategies of several launches pass from one launch to the next.
    pub(super) scratch: Buffer<u64>,
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    pub(super) dummy_count: Buffer<u64>,
    capacity: usize,
    portion: u32,
}

impl GraphBuffers for Workspace {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.scratch.visit(uses);
        self.dummy_count.visit(uses);
    }
}

impl Workspace {
    /// Creates a workspace for calls on up to `items` items with the default strategy, also in place. It also serves
    /// strategies that need no more memory, see the table of [`Workspace`]. Calls on more items, and calls that need
    /// more memory, return [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall).
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
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        Self::for_strategy(stream, Strategy::default(), items)
    }

    /// Creates a workspace for calls on up to `items` items with this strategy, also in place. It also serves
    /// strategies that need no more memory, see the table of [`Workspace`]. Calls on more items, and calls that need
    /// more memory, return [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall).
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
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn for_strategy(
        stream: &Arc<CudaStream>,
        strategy: Strategy,
        items: usize,
    ) -> Result<Self> {
        Self::in_arena(&mut Arena::allocating(stream), strategy, items)
    }

    /// Creates a workspace like [`for_strategy`](Self::for_strategy), with its memory from an [`Arena`].
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Arena}, select::{Strategy, Workspace}};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::in_arena(&mut Arena::allocating(&stream), Strategy::LookBack, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(arena: &mut Arena, strategy: Strategy, items: usize) -> Result<Self> {
        // A call without items still has one tile, which writes the count 0.
        let states = launch_items(items).div_ceil(IN_PLACE_MIN_TILE_ITEMS as usize);
        Ok(Self {
            states: States::new(arena, states.max(1))?,
            scratch: arena.uninitialised(scratch_words(strategy, items))?,
            dummy_count: arena.zeroed(1)?,
            capacity: items,
            portion: PORTION_ITEMS,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::{Strategy, Workspace}};
    /// let bytes = Workspace::bytes_for(&cuda::open(0)?, Strategy::LookBack, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the bytes exceed the address space, and
    /// [`Error::Driver`](crate::Error::Driver) if the GPU cannot be queried.
    pub fn bytes_for(
        context: &Arc<CudaContext>,
        strategy: Strategy,
        items: usize,
    ) -> Result<usize> {
        Arena::measure(context, |arena| Self::in_arena(arena, strategy, items))
    }

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Handover}, select::Workspace};
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
        self.states.hand_over(handover)?;
        self.scratch.hand_over(handover)?;
        self.dummy_count.hand_over(handover)
    }

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// Limits each launch of a call that counts by `u64` to `tiles` tiles of [`TILE_ITEMS`] items; 0 counts as 1. For
    /// tests of several launches.
    #[doc(hidden)]
    pub fn portion_tiles(mut self, tiles: u32) -> Self {
        self.portion = tiles
            .saturating_mul(TILE_ITEMS)
            .clamp(TILE_ITEMS, PORTION_ITEMS);
        self
    }

    /// Returns the largest number of items per launch for counts of type `W`, because kernels use 32-bit positions
    /// within a launch.
    pub(super) fn portion<W: CountWord>(&self) -> u32 {
        match W::from_len(PORTION_ITEMS as usize * 2) {
            None => u32::MAX,
            Some(_) => self.portion,
        }
    }

    /// Waits for the stream and reports a device count that was too large in the calls since the last check.
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
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the number of items;
    /// the call then processed all items of the buffer. Otherwise returns the errors of
    /// [`cuda::download`](crate::cuda::download).
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.states.check_overrun(stream, "select")
    }

    /// Runs [`check`](Self::check), which waits for the stream and reports a device count that was too large. Returns
    /// the number of selected items in `selected[0]`. If the output was too short for all of them, the number is larger
    /// than the output.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let mut workspace = Workspace::with_capacity(&stream, 8)?;
    /// let selected = cuda::upload(&stream, &[5_u32])?; // where a call writes it
    /// assert_eq!(workspace.read(&stream, &selected)?, 5);
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

    /// Returns the number of items that was passed at creation: the longest possible input for the strategy of the
    /// workspace.
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

    /// Returns the size of the workspace in bytes of device memory. It depends on the strategy for which the workspace
    /// was created.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 1 << 20)?.bytes(), 128 + 8 * (1 << 11) + 8);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.scratch.num_bytes() + self.dummy_count.num_bytes()
    }

    /// Returns the largest number of items, up to [`capacity`](Self::capacity), that a call of `strategy` with counts
    /// of type `W` may process with this workspace. `None` means that not even a call without items may use it.
    pub(super) fn capacity_for<W: CountWord>(&self, strategy: Strategy) -> Option<usize> {
        // An empty buffer owns one item that it does not expose.
        let fits = |items| scratch_words(strategy, items) <= self.scratch.len().max(1);
        // A workspace for more items than fit in 32 bits has memory for launches of a portion each, and a call that
        // counts by `u32` has one launch.
        let most = if self.capacity > u32::MAX as usize && self.portion::<W>() == u32::MAX {
            PORTION_ITEMS as usize
        } else {
            self.capacity
        };
        if fits(most) {
            return Some(most);
        }
        fits(0).then(|| largest_that_fits(most.min(u32::MAX as usize), fits))
    }
}

/// Returns the number of items of the longest launch of a call on `items` items, whichever type it counts by: all items
/// if their number fits in 32 bits, otherwise [`PORTION_ITEMS`].
fn launch_items(items: usize) -> usize {
    if items > u32::MAX as usize {
        PORTION_ITEMS as usize
    } else {
        items
    }
}

/// Returns the number of 8-byte words of scratch memory that a call on `items` items by a strategy needs, besides the
/// tile states. It suffices for counts of both word types.
fn scratch_words(strategy: Strategy, items: usize) -> usize {
    let launch_items = launch_items(items);
    let words = match strategy {
        Strategy::LookBack | Strategy::Atomic | Strategy::Off => 0,
        // The counts of the blocks.
        Strategy::CountScanScatter => launch_items.div_ceil(BLOCK_THREADS as usize),
        // The counts of the sequences.
        Strategy::Sequences => sequence_count(launch_items as u32) as usize,
        // The rank of every item, and the sums of the sections.
        Strategy::ScanScatter => launch_items + launch_items.div_ceil(SECTION_ITEMS as usize),
        // The holes, and the survivors before each tile, as 8-byte words in case the caller counts by `u64`.
        Strategy::HoleFilling => {
            let tiles = items.div_ceil(TILE_ITEMS as usize).max(1);
            (items / 2).saturating_add(tiles).saturating_mul(2)
        }
    };
    words.div_ceil(2)
}
