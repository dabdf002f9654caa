//! The scratch memory of a top k.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{Key, gpu::Selecting};
use crate::{
    Result,
    cuda::{Arena, Buffer, GraphBuffers, Handover, Uses},
    radix_sort, scratch,
};

/// Scratch device memory for the top k of keys of type `K`.
///
/// It holds 2 bytes for every 1000 keys, 8 KiB, and what a radix sort of k keys with their indices needs. Create one
/// workspace and reuse it for any number of calls on one stream, one after the other. It never needs clearing.
///
/// ```no_run
/// use compaction::{cuda, top_k::Workspace};
///
/// let workspace = Workspace::<f32>::with_capacity(&cuda::open(0)?.default_stream(), 1 << 20, 100)?;
/// assert_eq!((workspace.capacity(), workspace.max_k()), (1 << 20, 100));
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace<K> {
    pub(super) select: scratch::Workspace<Selecting>,
    pub(super) sort: radix_sort::Workspace<K, u32>,
    /// The keys of the result before they are sorted, as bytes.
    pub(super) keys: Buffer<u8>,
    /// The indices of the result before they are sorted.
    pub(super) indices: Buffer<u32>,
    /// The number of keys of the result.
    pub(super) kept: Buffer<u32>,
    pub(super) max_k: usize,
}

impl<K> GraphBuffers for Workspace<K> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.select.visit(uses);
        self.sort.visit(uses);
        self.keys.visit(uses);
        self.indices.visit(uses);
        self.kept.visit(uses);
    }
}

impl<K: Key> Workspace<K> {
    /// Creates a workspace for inputs of up to `items` keys and results of up to `max_k` keys.
    ///
    /// ```no_run
    /// use compaction::{cuda, top_k::Workspace};
    ///
    /// let workspace = Workspace::<u32>::with_capacity(&cuda::open(0)?.default_stream(), 1000, 10)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize, max_k: usize) -> Result<Self> {
        Self::in_arena(&mut Arena::allocating(stream), items, max_k)
    }

    /// Creates a workspace like [`with_capacity`](Self::with_capacity), with its memory from an [`Arena`].
    ///
    /// ```no_run
    /// use compaction::{cuda::{self, Arena}, top_k::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u32>::in_arena(&mut Arena::allocating(&stream), 1000, 10)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(arena: &mut Arena, items: usize, max_k: usize) -> Result<Self> {
        Ok(Self {
            select: scratch::Workspace::in_arena(arena, items)?,
            sort: radix_sort::Workspace::in_arena(arena, max_k)?,
            keys: arena.uninitialised(max_k.saturating_mul(size_of::<K>()))?,
            indices: arena.uninitialised(max_k)?,
            kept: arena.zeroed(1)?,
            max_k,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// use compaction::{cuda, top_k::Workspace};
    ///
    /// let bytes = Workspace::<f32>::bytes_for(&cuda::open(0)?, 1 << 20, 100)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the bytes exceed the address space, and
    /// [`Error::Driver`](crate::Error::Driver) if the GPU cannot be queried.
    pub fn bytes_for(context: &Arc<CudaContext>, items: usize, max_k: usize) -> Result<usize> {
        Arena::measure(context, |arena| Self::in_arena(arena, items, max_k))
    }

    /// Waits for the stream and reports a device count that was too large in the calls since the last check.
    ///
    /// ```no_run
    /// use compaction::{cuda, top_k::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// let mut workspace = Workspace::<u32>::with_capacity(&stream, 1000, 10)?;
    /// workspace.check(&stream)?; // no call was made
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the number of keys; the
    /// call then processed all of them. Otherwise returns the errors of [`cuda::download`](crate::cuda::download).
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.select.check(stream)
    }

    /// Returns the largest number of keys of an input.
    ///
    /// ```no_run
    /// use compaction::{cuda, top_k::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::<u32>::with_capacity(&stream, 1000, 10)?.capacity(), 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.select.capacity()
    }

    /// Returns the largest number of keys of a result.
    ///
    /// ```no_run
    /// use compaction::{cuda, top_k::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::<u32>::with_capacity(&stream, 1000, 10)?.max_k(), 10);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn max_k(&self) -> usize {
        self.max_k
    }

    /// Returns the size of the workspace in bytes of device memory.
    ///
    /// ```no_run
    /// use compaction::{cuda, top_k::Workspace};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// assert!(Workspace::<u32>::with_capacity(&stream, 1 << 20, 10)?.bytes() < 1 << 20);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        let buffers = self.keys.num_bytes() + self.indices.num_bytes() + self.kept.num_bytes();
        self.select.bytes() + self.sort.bytes() + buffers
    }

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// use compaction::{cuda::{self, Handover}, top_k::Workspace};
    ///
    /// let context = cuda::open(0)?;
    /// let mut workspace = Workspace::<u32>::with_capacity(&context.default_stream(), 1000, 10)?;
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
        self.select.hand_over(handover)?;
        self.sort.hand_over(handover)?;
        self.keys.hand_over(handover)?;
        self.indices.hand_over(handover)?;
        self.kept.hand_over(handover)
    }

    /// Sets the launch counters (epochs) so that they wrap around after `epochs_left` more launches. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.select.age(stream, epochs_left)?;
        self.sort.age(stream, epochs_left)
    }
}
