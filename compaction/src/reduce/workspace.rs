//! The scratch memory of reductions.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{MAX_BLOCKS, MAX_VALUE_BYTES, NAMES, tree::Plan};
use crate::{
    Result,
    arguments::check_workspace,
    cuda::{Arena, Buffer, GraphBuffers, Handover, Uses},
    look_back::States,
};

/// Scratch device memory for reductions of items of any type.
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It never needs
/// clearing, and takes at most 513 KiB.
///
/// ```no_run
/// use compaction::{cuda, reduce::Workspace};
///
/// let context = cuda::open(0)?;
/// let workspace = Workspace::with_capacity(&context.default_stream(), 1 << 28)?;
/// assert!(workspace.bytes() < 513 << 10);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    /// A header, and the result of each block.
    pub(super) states: States,
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    pub(super) dummy_count: Buffer<u64>,
    capacity: usize,
}

impl GraphBuffers for Workspace {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.states.visit(uses);
        self.dummy_count.visit(uses);
    }
}

impl Workspace {
    /// Creates a workspace for reductions of up to `items` items.
    ///
    /// ```no_run
    /// # use compaction::{cuda, reduce::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::with_capacity(&stream, 1000)?;
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
    /// # use compaction::{cuda::{self, Arena}, reduce::Workspace};
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
        Ok(Self {
            states: States::new(arena, workspace_words(items))?,
            dummy_count: arena.zeroed(1)?,
            capacity: items,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, reduce::Workspace};
    /// let bytes = Workspace::bytes_for(&cuda::open(0)?, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`](crate::Error::Driver) if the GPU cannot be queried.
    pub fn bytes_for(context: &Arc<CudaContext>, items: usize) -> Result<usize> {
        Arena::measure(context, |arena| Self::in_arena(arena, items))
    }

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Handover}, reduce::Workspace};
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
        self.dummy_count.hand_over(handover)
    }

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// Waits for the stream and reports a device count that was too large in the calls since the last check.
    ///
    /// ```no_run
    /// # use compaction::{cuda, reduce::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// # let mut workspace = Workspace::with_capacity(&stream, 8)?;
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
        self.states.check_overrun(stream, "reduce")
    }

    /// Returns the number of items that was passed at creation: the longest possible input.
    ///
    /// ```no_run
    /// # use compaction::{cuda, reduce::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 7)?.capacity(), 7);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the size of the workspace in bytes of device memory.
    ///
    /// ```no_run
    /// # use compaction::{cuda, reduce::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::with_capacity(&stream, 5)?.bytes(), 128 + 128 + 8);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.states.words.num_bytes() + self.dummy_count.num_bytes()
    }

    /// Returns [`Error::WorkspaceTooSmall`](crate::Error::WorkspaceTooSmall) for more items than the capacity.
    pub(super) fn check_capacity(&self, items: usize) -> Result<()> {
        check_workspace(|| NAMES.input.to_owned(), self.capacity, items)
    }
}

/// Returns the 8-byte words that the results of all blocks take, for values of any size.
pub(crate) fn workspace_words(items: usize) -> usize {
    // The largest items have the most blocks. More items may have fewer blocks, but never more than MAX_BLOCKS.
    let blocks = match Plan::new(items, MAX_VALUE_BYTES) {
        Plan { blocks, .. } if blocks < MAX_BLOCKS as usize / 2 => blocks,
        _ => MAX_BLOCKS as usize,
    };
    // Each word of a result has 4 bytes of the value.
    blocks * MAX_VALUE_BYTES / size_of::<u32>()
}
