//! The scratch memory of selections from columns.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{MAX_COLUMNS, NAMES, PORTION_ITEMS, TILE_ITEMS};
use crate::{
    CountWord, Result,
    arguments::read_count,
    cuda::{Arena, Buffer, GraphBuffers, Handover, IntoView, Uses},
    look_back::States,
};

/// Scratch device memory for [`SelectColumns`](super::SelectColumns): 8 bytes for every 4,096 items, but no more than
/// about 8 MB.
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It never needs
/// clearing. A larger capacity never takes fewer bytes.
///
/// ```no_run
/// use compaction::{cuda, select_columns::Workspace};
///
/// let context = cuda::open(0)?;
/// let workspace = Workspace::with_capacity(&context.default_stream(), 5_000_000_000)?;
/// assert_eq!(workspace.capacity(), 5_000_000_000);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    pub(super) states: States,
    /// The number of items selected by each launch of a call that counts by `u64`.
    pub(super) kept: Buffer<u32>,
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    pub(super) dummy_count: Buffer<u64>,
    /// Dummies for the inputs and the outputs of absent columns. No kernel accesses them.
    pub(super) absent: [Buffer<u8>; 2],
    pub(super) capacity: usize,
}

impl GraphBuffers for Workspace {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.kept.visit(uses);
        self.dummy_count.visit(uses);
        self.absent.visit(uses);
    }
}

impl Workspace {
    /// Creates a workspace for calls on up to `items` items.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
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
    /// # use compaction::{cuda::{self, Arena}, select_columns::Workspace};
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
        let tiles = items.min(u32::MAX as usize).div_ceil(TILE_ITEMS as usize);
        Ok(Self {
            states: States::new(arena, tiles.max(1))?,
            kept: arena.uninitialised(items.div_ceil(PORTION_ITEMS).max(1))?,
            dummy_count: arena.zeroed(1)?,
            absent: [arena.zeroed(1)?, arena.zeroed(MAX_COLUMNS)?],
            capacity: items,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, select_columns::Workspace};
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
    /// # use compaction::{cuda, select_columns::Workspace};
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
        self.states.check_overrun(stream, "select_columns")
    }

    /// Runs [`check`](Self::check), which waits for the stream and reports a device count that was too large. Returns
    /// the number of selected items in `selected[0]`. If the output was too short for all of them, the number is larger
    /// than the output.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let select = SelectColumns::new(&Compiler::new(), &context, &[4, 8])?;
    /// # let mut workspace = Workspace::with_capacity(&stream, 3)?;
    /// # let flags = cuda::upload(&stream, &[1_u8, 0, 1])?;
    /// # let (pixels, seeds) = (cuda::upload(&stream, &[7_u32, 8, 9])?, cuda::upload(&stream, &[70_u64, 80, 90])?);
    /// # let (mut pixels_out, mut seeds_out) = (cuda::zeroed::<u32>(&stream, 3)?, cuda::zeroed::<u64>(&stream, 3)?);
    /// # let mut selected = cuda::zeroed::<u32>(&stream, 1)?;
    /// select.columns(
    ///     &stream,
    ///     &flags,
    ///     Count::All,
    ///     &mut [
    ///         Column::new(&pixels, &mut pixels_out)?,
    ///         Column::new(&seeds, &mut seeds_out)?,
    ///     ],
    ///     &mut selected,
    ///     &mut workspace,
    /// )?;
    /// assert_eq!(workspace.read(&stream, &selected)?, 2);
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

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Handover}, select_columns::Workspace};
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
        let [input, output] = &mut self.absent;
        input.hand_over(handover)?;
        output.hand_over(handover)?;
        self.states.hand_over(handover)?;
        self.kept.hand_over(handover)?;
        self.dummy_count.hand_over(handover)
    }

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// Returns the number of items that was passed at creation: the longest possible input.
    ///
    /// ```no_run
    /// # use compaction::{Count, cuda::{self, Compiler}, select_columns::{Column, SelectColumns, Workspace}};
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
    /// # use compaction::{cuda, select_columns::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert!(Workspace::with_capacity(&stream, 1 << 20)?.bytes() < 1 << 12);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        let absent: usize = self.absent.iter().map(Buffer::num_bytes).sum();
        let states = self.states.words.num_bytes() + self.kept.num_bytes();
        states + self.dummy_count.num_bytes() + absent
    }
}
