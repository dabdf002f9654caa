//! The scratch memory of scans.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{Strategy, level_tile_items, look_back_tile_items};
use crate::{
    Result,
    arguments::largest_that_fits,
    cuda::{Arena, Buffer, GraphBuffers, Handover, Uses},
    look_back::States,
    monoid::Item,
};

/// Scratch device memory for scans of items of type `T`.
///
/// Create one workspace for a strategy and reuse it for any number of calls on one stream, one after the other. It
/// never needs clearing. A larger capacity never takes fewer bytes. For n items of s bytes:
///
/// | strategy | bytes |
/// |---|---|
/// | `look-back` | 8 for each tile of 32 KiB, 16 if s = 8 |
/// | `block-sums`, `raking` | 2s for each tile of 16 KiB, and a little more for the levels above |
/// | `hillis-steele` | 2sn |
/// | `blelloch`, `blelloch-compact` | sn, with n rounded up to a power of two |
///
/// ```no_run
/// use compaction::{cuda, scan::{Strategy, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let workspace = Workspace::<f32>::with_capacity(&stream, 1 << 28)?;
/// let other = Workspace::<f32>::for_strategy(&stream, Strategy::Raking, 1 << 28)?;
/// assert_eq!(workspace.capacity(), other.capacity());
/// assert_eq!(workspace.bytes(), 128 + 8 * (1 << 15) + 8);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace<T> {
    pub(super) states: States,
    /// Intermediate items that strategies of several launches pass from one launch to the next.
    pub(super) scratch: Buffer<T>,
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    pub(super) dummy_count: Buffer<u64>,
    capacity: usize,
}

impl<T> GraphBuffers for Workspace<T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.scratch.visit(uses);
        self.dummy_count.visit(uses);
    }
}

impl<T: Item> Workspace<T> {
    /// Creates a workspace for scans of up to `items` items with the default strategy.
    ///
    /// ```no_run
    /// # use compaction::{cuda, scan::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u32>::with_capacity(&stream, 1000)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        Self::for_strategy(stream, Strategy::default(), items)
    }

    /// Creates a workspace for scans of up to `items` items with this strategy. It also serves strategies that need no
    /// more memory.
    ///
    /// ```no_run
    /// # use compaction::{Error, cuda, scan::{Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// let too_much = Workspace::<u32>::for_strategy(&context.default_stream(), Strategy::Blelloch, 1 << 50);
    /// assert!(matches!(too_much, Err(Error::OutOfMemory { .. })));
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
    /// # use compaction::{cuda::{self, Arena}, scan::{Strategy, Workspace}};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u32>::in_arena(&mut Arena::allocating(&stream), Strategy::LookBack, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(arena: &mut Arena, strategy: Strategy, items: usize) -> Result<Self> {
        let (states, scratch) = needs::<T>(strategy, items);
        Ok(Self {
            states: States::new(arena, states)?,
            scratch: arena.uninitialised(scratch)?,
            dummy_count: arena.zeroed(1)?,
            capacity: items,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, scan::{Strategy, Workspace}};
    /// let bytes = Workspace::<u32>::bytes_for(&cuda::open(0)?, Strategy::LookBack, 1 << 20)?;
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
    /// # use compaction::{cuda::{self, Handover}, scan::Workspace};
    /// # let context = cuda::open(0)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&context.default_stream(), 1000)?;
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

    /// Waits for the stream and reports a device count that was too large in the scans since the last check.
    ///
    /// ```no_run
    /// # use compaction::{Count, Error, cuda, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, Strategy::LookBack)?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 5)?;
    /// let mut items = cuda::upload(&stream, &[3, 1, 4, 1, 5])?;
    /// let count = cuda::upload(&stream, &[6])?;
    /// scan.inclusive_in_place(&stream, &mut items, Count::on_device(&count), &mut workspace)?;
    /// let report = workspace.check(&stream);
    /// assert!(matches!(report, Err(Error::CountTooLarge { count: 6, capacity: 5, .. })));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the number of items;
    /// the scan then processed all items of the buffer. Otherwise returns the errors of
    /// [`cuda::download`](crate::cuda::download).
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.states.check_overrun(stream, "scan")
    }

    /// Returns the number of items that was passed at creation: the longest input for the strategy of the workspace.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let workspace = Workspace::<u32>::with_capacity(&stream, 1000)?;
    /// assert_eq!(workspace.capacity(), 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the size of the workspace in bytes of device memory. It depends on the strategy for which the workspace
    /// was created.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, scan::{Operator, Scan, Strategy, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let workspace = Workspace::<u32>::with_capacity(&stream, 1 << 20)?;
    /// assert!(workspace.bytes() < 1 << 12); // for 4 MiB of items
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.scratch.num_bytes() + self.dummy_count.num_bytes()
    }

    /// Returns the largest number of items, up to [`capacity`](Self::capacity), that a scan by `strategy` can process
    /// with this workspace.
    pub(super) fn capacity_for(&self, strategy: Strategy) -> usize {
        let has = (self.states.len(), self.scratch.len());
        let fits = |items| {
            let needs = needs::<T>(strategy, items);
            needs.0 <= has.0 && needs.1 <= has.1
        };
        if fits(self.capacity) {
            return self.capacity;
        }
        largest_that_fits(self.capacity, fits)
    }
}

/// Returns (8-byte words of tile states, scratch items) that a scan of `items` items needs.
fn needs<T: Item>(strategy: Strategy, items: usize) -> (usize, usize) {
    match strategy {
        Strategy::LookBack => {
            let tiles = items.div_ceil(look_back_tile_items::<T>() as usize);
            (tiles * size_of::<T>() / size_of::<u32>(), 0)
        }
        Strategy::HillisSteele => (0, items.saturating_mul(2)),
        Strategy::Blelloch | Strategy::BlellochCompact => (0, leaves(items)),
        Strategy::BlockSums | Strategy::Raking => {
            (0, 2 * levels::<T>(items).into_iter().skip(1).sum::<usize>())
        }
    }
}

/// Returns the number of leaves of Blelloch's tree for `items` items: the next power of two, at least 2. Returns
/// [`usize::MAX`] if that power does not fit.
pub(super) fn leaves(items: usize) -> usize {
    items
        .max(2)
        .checked_next_power_of_two()
        .unwrap_or(usize::MAX)
}

/// Returns the number of items of each level: `items`, but at least 1, on level 0, and on each further level the number
/// of tiles of the level before. There are at least two levels, and the last number is 1.
pub(super) fn levels<T: Item>(items: usize) -> Vec<usize> {
    let mut levels = vec![items.max(1)];
    loop {
        let tiles = levels[levels.len() - 1].div_ceil(level_tile_items::<T>() as usize);
        levels.push(tiles);
        if tiles == 1 {
            return levels;
        }
    }
}
