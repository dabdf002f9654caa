//! The scratch memory of summed-area tables.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{Strategy, TILE_ROWS, tile_columns, tiles};
use crate::{
    Result,
    cuda::{Arena, Buffer, GraphBuffers, Handover, Uses},
    look_back::States,
    monoid::Item,
};

/// Scratch device memory for summed-area tables of items of type `T`.
///
/// Create one workspace for a strategy and reuse it for any number of calls on one stream, one after the other. It
/// never needs clearing. `single-pass` needs about a twentieth of the table's bytes, and `scan-transpose` as many bytes
/// as the table.
///
/// ```no_run
/// use compaction::{cuda, summed_area::{Strategy, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let workspace = Workspace::<f32>::with_capacity(&stream, (4096, 4096))?;
/// assert_eq!(workspace.capacity(), (4096, 4096));
/// assert!(workspace.bytes() < 4 * 4096 * 4096 / 20);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace<T> {
    pub(super) states: States,
    /// The intermediate table between the launches of `scan-transpose`.
    pub(super) scratch: Buffer<T>,
    capacity: (u32, u32),
}

impl<T> GraphBuffers for Workspace<T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.scratch.visit(uses);
    }
}

impl<T: Item> Workspace<T> {
    /// Creates a workspace with the default strategy for tables of (width, height) items. It also serves any other
    /// table with at most as many tiles.
    ///
    /// ```no_run
    /// # use compaction::{cuda, summed_area::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<f32>::with_capacity(&stream, (1920, 1080))?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, size: (u32, u32)) -> Result<Self> {
        Self::for_strategy(stream, Strategy::default(), size)
    }

    /// Creates a workspace with this strategy for tables of (width, height) items. It also serves any other table that
    /// needs no more memory.
    ///
    /// ```no_run
    /// # use compaction::{cuda, summed_area::{Strategy, Workspace}};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<f32>::for_strategy(&stream, Strategy::ScanTranspose, (1920, 1080))?;
    /// assert!(workspace.bytes() > 4 * 1920 * 1080);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn for_strategy(
        stream: &Arc<CudaStream>,
        strategy: Strategy,
        size: (u32, u32),
    ) -> Result<Self> {
        Self::in_arena(&mut Arena::allocating(stream), strategy, size)
    }

    /// Creates a workspace like [`for_strategy`](Self::for_strategy), with its memory from an [`Arena`].
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Arena}, summed_area::{Strategy, Workspace}};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u32>::in_arena(&mut Arena::allocating(&stream), Strategy::SinglePass, (640, 480))?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(
        arena: &mut Arena,
        strategy: Strategy,
        (width, height): (u32, u32),
    ) -> Result<Self> {
        let (states, scratch) = needs::<T>(strategy, width, height);
        Ok(Self {
            states: States::new(arena, states)?,
            scratch: arena.uninitialised(scratch)?,
            capacity: (width, height),
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, summed_area::{Strategy, Workspace}};
    /// let bytes = Workspace::<u32>::bytes_for(&cuda::open(0)?, Strategy::SinglePass, (640, 480))?;
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
        size: (u32, u32),
    ) -> Result<usize> {
        Arena::measure(context, |arena| Self::in_arena(arena, strategy, size))
    }

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Handover}, summed_area::Workspace};
    /// # let context = cuda::open(0)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&context.default_stream(), (64, 64))?;
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
        self.scratch.hand_over(handover)
    }

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// Returns the (width, height) in items that was passed at creation. The memory is the limit, not each dimension:
    /// tables of another shape fit if they need no more of it.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Compiler}, summed_area::{Strategy, SummedArea, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let workspace = Workspace::<f32>::with_capacity(&stream, (1920, 1080))?;
    /// assert_eq!(workspace.capacity(), (1920, 1080));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> (u32, u32) {
        self.capacity
    }

    /// Returns the size of the workspace in bytes of device memory. It depends on the strategy for which the workspace
    /// was created.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Compiler}, summed_area::{Strategy, SummedArea, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let workspace = Workspace::<f32>::with_capacity(&stream, (1024, 1024))?;
    /// assert!(workspace.bytes() < (4 << 20) / 8); // for a table of 4 MiB
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.scratch.num_bytes()
    }

    /// Returns (room in the workspace, room that a table needs), in tiles for `single-pass` and in items for
    /// `scan-transpose`. The size is (width, height) in items.
    pub(super) fn room_and_need(
        &self,
        strategy: Strategy,
        (width, height): (u32, u32),
    ) -> (usize, usize) {
        let (states, scratch) = needs::<T>(strategy, width, height);
        let of_a_tile = tile_words::<T>();
        match strategy {
            Strategy::SinglePass => (self.states.len() / of_a_tile, states / of_a_tile),
            Strategy::ScanTranspose => (self.scratch.len(), scratch),
        }
    }
}

/// Returns the number of 8-byte words of the state of a `single-pass` tile.
fn tile_words<T>() -> usize {
    let lines = (TILE_ROWS + tile_columns::<T>()) as usize;
    lines * size_of::<T>() / size_of::<u32>()
}

/// Returns (8-byte words of tile states, scratch items) that a table of `width` by `height` items needs.
fn needs<T: Item>(strategy: Strategy, width: u32, height: u32) -> (usize, usize) {
    match strategy {
        Strategy::ScanTranspose => (0, width as usize * height as usize),
        Strategy::SinglePass => (tiles::<T>(width, height) as usize * tile_words::<T>(), 0),
    }
}
