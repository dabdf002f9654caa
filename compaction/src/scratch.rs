//! The scratch memory of operations that share one kind of workspace: gather, histogram, merge sort, segments and top
//! k.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use crate::{
    Result,
    arguments::check_workspace,
    cuda::{Arena, Buffer, GraphBuffers, Handover, Uses},
    look_back::States,
};

/// An operation whose workspace is a [`Workspace`].
#[doc(hidden)]
pub trait Operation: 'static {
    /// Name of the operation in errors: `segmented_reduce`.
    const NAME: &'static str;
    /// Description of the units of the capacity in errors: `the items of segmented_reduce`.
    const UNITS: &'static str;

    /// Returns the sizes of the buffers for calls with up to `capacity` units.
    fn sizes(capacity: usize) -> Sizes;
}

/// The sizes of the buffers of a [`Workspace`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Number of 8-byte words that are zero between calls.
    pub zeroed_words: usize,
    /// Number of bytes that need no initialisation.
    pub bytes: usize,
}

/// Scratch device memory for calls of one operation.
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It never needs
/// clearing. A larger capacity never takes fewer bytes.
///
/// ```no_run
/// use compaction::{cuda, segmented_reduce::Workspace};
///
/// let stream = cuda::open(0)?.default_stream();
/// let workspace = Workspace::<f32>::with_capacity(&stream, 1 << 20)?;
/// assert_eq!(workspace.capacity(), 1 << 20);
/// # Ok::<(), compaction::Error>(())
/// ```
#[doc(alias("temp_storage", "d_temp_storage"))]
#[derive(Debug)]
pub struct Workspace<O> {
    pub(crate) states: States,
    /// Scratch memory that no call leaves in a defined state.
    pub(crate) scratch: Buffer<u8>,
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    pub(crate) dummy_count: Buffer<u64>,
    /// The largest number of items of a call.
    pub(crate) capacity: usize,
    operation: PhantomData<fn(O)>,
}

impl<O> GraphBuffers for Workspace<O> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.scratch.visit(uses);
        self.dummy_count.visit(uses);
    }
}

impl<O: Operation> Workspace<O> {
    /// Creates a workspace for inputs of up to `capacity` items.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_reduce::Workspace};
    ///
    /// let workspace = Workspace::<u32>::with_capacity(&cuda::open(0)?.default_stream(), 1000)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, capacity: usize) -> Result<Self> {
        Self::in_arena(&mut Arena::allocating(stream), capacity)
    }

    /// Creates a workspace like [`with_capacity`](Self::with_capacity), with its memory from an [`Arena`].
    ///
    /// ```no_run
    /// use compaction::{cuda::{self, Arena}, segmented_reduce::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u32>::in_arena(&mut Arena::allocating(&stream), 1000)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(arena: &mut Arena, capacity: usize) -> Result<Self> {
        let sizes = O::sizes(capacity);
        Ok(Self {
            states: States::new(arena, sizes.zeroed_words)?,
            scratch: arena.uninitialised(sizes.bytes)?,
            dummy_count: arena.zeroed(1)?,
            capacity,
            operation: PhantomData,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_reduce::Workspace};
    ///
    /// let bytes = Workspace::<f32>::bytes_for(&cuda::open(0)?, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the bytes exceed the address space, and
    /// [`Error::Driver`](crate::Error::Driver) if the GPU cannot be queried.
    pub fn bytes_for(context: &Arc<CudaContext>, capacity: usize) -> Result<usize> {
        Arena::measure(context, |arena| Self::in_arena(arena, capacity))
    }

    /// Waits for the stream and reports a device count that was too large in the calls since the last check.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_reduce::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// let mut workspace = Workspace::<f32>::with_capacity(&stream, 1000)?;
    /// workspace.check(&stream)?; // no call was made
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the input; the call
    /// then processed the whole input. Otherwise returns the errors of
    /// [`cuda::download`](crate::cuda::download).
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.states.check_overrun(stream, O::NAME)
    }

    /// Returns the capacity that was passed at creation.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_reduce::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::<u32>::with_capacity(&stream, 1000)?.capacity(), 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the size of the workspace in bytes of device memory.
    ///
    /// ```no_run
    /// use compaction::{cuda, segmented_reduce::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// assert!(Workspace::<u32>::with_capacity(&stream, 1 << 20)?.bytes() < 1 << 16);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.scratch.num_bytes() + self.dummy_count.num_bytes()
    }

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// use compaction::{cuda::{self, Handover}, segmented_reduce::Workspace};
    ///
    /// let context = cuda::open(0)?;
    /// let mut workspace = Workspace::<u32>::with_capacity(&context.default_stream(), 1000)?;
    /// let stream = context.new_stream().map_err(compaction::Error::driver("make a stream"))?;
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

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// Returns [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall) unless a call with `needed` units fits.
    pub(crate) fn check_capacity(&self, needed: usize) -> Result<()> {
        check_workspace(|| O::UNITS.to_owned(), self.capacity, needed)
    }
}
