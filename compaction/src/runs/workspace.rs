//! The scratch memory of operations on runs.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::ANY;
use crate::{
    CountWord, Result,
    arguments::read_count,
    cuda::{Arena, Buffer, GraphBuffers, Handover, IntoView, Uses},
    look_back::States,
    tiles::{rows, tile_items},
};

/// Scratch device memory for runs of keys of type `K`, with values of type `V` if there are any.
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It serves all
/// operations and never needs clearing. For keys and values of 4 bytes, it takes 32 bytes for each tile of 4,096 items.
///
/// ```no_run
/// use compaction::{cuda, runs::Workspace};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let for_keys = Workspace::<u32>::with_capacity(&stream, 1 << 20)?;
/// let for_pairs = Workspace::<u32, f32>::with_capacity(&stream, 1 << 20)?;
/// assert_eq!(for_keys.capacity(), for_pairs.capacity());
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace<K, V = ()> {
    pub(super) states: States,
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    pub(super) dummy_count: Buffer<u64>,
    pub(super) capacity: usize,
    types: PhantomData<fn(K, V)>,
}

impl<K, V> GraphBuffers for Workspace<K, V> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.dummy_count.visit(uses);
    }
}

impl<K, V> Workspace<K, V> {
    /// Creates a workspace for up to `items` items.
    ///
    /// ```no_run
    /// # use compaction::{cuda, runs::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u64>::with_capacity(&stream, 1000)?;
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
    /// # use compaction::{cuda::{self, Arena}, runs::Workspace};
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
        // The operation with the shortest tiles and the longest states decides: the number of heads of a tile, and a
        // value or the index of a head.
        let value_bytes = size_of::<V>();
        let tile = tile_items(rows(size_of::<K>() + value_bytes.max(2)).min(4));
        let words = 2 + value_bytes.div_ceil(size_of::<u32>()).max(2);
        Ok(Self {
            states: States::new(arena, items.div_ceil(tile).max(1).saturating_mul(words))?,
            dummy_count: arena.zeroed(1)?,
            capacity: items,
            types: PhantomData,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, runs::Workspace};
    /// let bytes = Workspace::<u32, f64>::bytes_for(&cuda::open(0)?, 1 << 20)?;
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
    /// # use compaction::{cuda::{self, Handover}, runs::Workspace};
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
        self.dummy_count.hand_over(handover)
    }

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// Waits for the stream and reports a device count that was too large in the calls since the last check.
    ///
    /// ```no_run
    /// # use compaction::{cuda, runs::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// # let mut workspace = Workspace::<u32>::with_capacity(&stream, 8)?;
    /// workspace.check(&stream)?; // after some calls whose number of runs nobody has to know
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the number of items;
    /// the call then processed all items of the buffer. Otherwise returns the errors of
    /// [`cuda::download`](crate::cuda::download).
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.states.check_overrun(stream, ANY.operation)
    }

    /// Runs [`check`](Self::check), which waits for the stream and reports a device count that was too large. Returns
    /// the number of runs in `runs[0]`.
    ///
    /// ```no_run
    /// # use compaction::{cuda, runs::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let mut workspace = Workspace::<u32>::with_capacity(&stream, 8)?;
    /// let runs = cuda::upload(&stream, &[5_u32])?; // where a call writes it
    /// assert_eq!(workspace.read(&stream, &runs)?, 5);
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
        runs: impl IntoView<'a, W>,
    ) -> Result<usize> {
        let runs = &runs.into_view();
        self.check(stream)?;
        read_count(&ANY, stream, runs)
    }

    /// Returns the number of items that was passed at creation: the longest possible input.
    ///
    /// ```no_run
    /// # use compaction::{cuda, runs::Workspace};
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
    /// # use compaction::{cuda, runs::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert!(Workspace::<u32>::with_capacity(&stream, 1 << 20)?.bytes() < 1 << 14);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.dummy_count.num_bytes()
    }
}
