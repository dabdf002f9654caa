//! The scratch memory of reductions and scans by user-defined operators.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use crate::{
    Result,
    arguments::check_workspace,
    cuda::{Arena, Buffer, GraphBuffers, Handover, Uses},
    look_back::States,
    reduce::workspace_words,
    tiles::tile_items,
};

/// Scratch device memory for reductions and scans of items of type `T` by operators over values of type `V`.
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It never needs
/// clearing. For values of 4 bytes, it takes 8 bytes for each tile of 8,192 items, and at least 257 KiB for long
/// inputs.
///
/// ```no_run
/// use compaction::{cuda, custom::Workspace};
///
/// let context = cuda::open(0)?;
/// let workspace = Workspace::<u32, u8>::with_capacity(&context.default_stream(), 1 << 20)?;
/// assert_eq!(workspace.capacity(), 1 << 20);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace<V, T = V> {
    /// A header, followed by the states of the tiles of a scan, or by the result of each block of a reduction.
    pub(super) states: States,
    /// A dummy for the device count if the host gives the count, and for a total that is not wanted. No kernel accesses
    /// it.
    pub(super) dummy: Buffer<u64>,
    pub(super) dummy_total: Buffer<u64>,
    capacity: usize,
    types: PhantomData<fn(V, T)>,
}

impl<V, T> GraphBuffers for Workspace<V, T> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.dummy.visit(uses);
        self.dummy_total.visit(uses);
    }
}

impl<V, T> Workspace<V, T> {
    /// Creates a workspace for up to `items` items.
    ///
    /// ```no_run
    /// # use compaction::{cuda, custom::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<f32>::with_capacity(&stream, 1000)?;
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
    /// # use compaction::{cuda::{self, Arena}, custom::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u32>::in_arena(&mut Arena::allocating(&stream), 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(arena: &mut Arena, items: usize) -> Result<Self> {
        let tiles = items.div_ceil(tile_items(super::rows(size_of::<T>(), size_of::<V>())));
        let scan = tiles.saturating_mul(size_of::<V>().div_ceil(size_of::<u32>()));
        Ok(Self {
            states: States::new(arena, scan.max(workspace_words(items)))?,
            dummy: arena.zeroed(1)?,
            dummy_total: arena.zeroed(1)?,
            capacity: items,
            types: PhantomData,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, custom::Workspace};
    /// let bytes = Workspace::<u32>::bytes_for(&cuda::open(0)?, 1 << 20)?;
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

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Handover}, custom::Workspace};
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
        self.dummy.hand_over(handover)?;
        self.dummy_total.hand_over(handover)
    }

    /// Waits for the stream and reports a device count that was too large in the calls since the last check.
    ///
    /// ```no_run
    /// # use compaction::{cuda, custom::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 8)?;
    /// workspace.check(&stream)?; // after some calls with counts from device memory
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the number of items;
    /// the call then processed all items of the buffer. Otherwise returns the errors of
    /// [`cuda::download`](crate::cuda::download).
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.states
            .check_overrun(stream, "custom_reduce or custom_scan")
    }

    /// Returns the number of items that was passed at creation: the longest possible input.
    ///
    /// ```no_run
    /// # use compaction::{cuda, custom::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::<u32>::with_capacity(&stream, 7)?.capacity(), 7);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the size of the workspace in bytes of device memory.
    ///
    /// ```no_run
    /// # use compaction::{cuda, custom::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert!(Workspace::<u32>::with_capacity(&stream, 5)?.bytes() < 256);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.dummy.num_bytes() + self.dummy_total.num_bytes()
    }

    /// Returns [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall) for more items than the capacity.
    pub(super) fn check_capacity(&self, what: &'static str, items: usize) -> Result<()> {
        check_workspace(|| what.to_owned(), self.capacity, items)
    }
}
