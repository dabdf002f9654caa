//! The source of the scratch memory of workspaces: the driver's allocator, or memory of another library.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    buffer::{Buffer, check_aligned},
    memory::{self, clear},
};
use crate::{
    error::{Error, Result},
    layout::Shared,
};

/// The alignment in bytes of each buffer in an arena, which is that of the driver's allocations.
const ALIGN: usize = 256;

/// A source of scratch device memory for workspaces: the driver's allocator, or a range that another library owns.
///
/// ```no_run
/// use compaction::{cuda::{self, Arena}, cudarc::driver::DevicePtr, select::{Strategy, Workspace}};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let bytes = Workspace::bytes_for(&context, Strategy::LookBack, 1 << 20)?;
/// let theirs = cuda::zeroed::<u8>(&stream, bytes)?; // stands for memory of another library
/// let (address, _in_use) = theirs.device_ptr(&stream);
/// // SAFETY: `theirs` outlives the workspace, and only this stream uses it.
/// let mut arena = unsafe { Arena::borrowing(&stream, address, bytes) }?;
/// let workspace = Workspace::in_arena(&mut arena, Strategy::LookBack, 1 << 20)?;
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Arena {
    stream: Arc<CudaStream>,
    source: MemorySource,
    /// Bytes of the buffers taken so far, each rounded up to [`ALIGN`].
    used: usize,
}

/// The memory from which an [`Arena`] takes buffers.
#[derive(Debug)]
enum MemorySource {
    /// The driver's allocator.
    Driver,
    /// A range of device memory that belongs to another library.
    Borrowed { address: u64, bytes: usize },
    /// No memory: the buffers are only counted, and must not be accessed.
    None,
}

impl Arena {
    /// Creates an arena that allocates each buffer by the driver, on a stream.
    ///
    /// ```no_run
    /// use compaction::{cuda::{self, Arena}, partition::Workspace};
    ///
    /// let context = cuda::open(0)?;
    /// let workspace = Workspace::in_arena(&mut Arena::allocating(&context.default_stream()), 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn allocating(stream: &Arc<CudaStream>) -> Self {
        Self {
            stream: stream.clone(),
            source: MemorySource::Driver,
            used: 0,
        }
    }

    /// Creates an arena that takes buffers from `bytes` bytes at a device address, one behind the other. The arena does
    /// not free them.
    ///
    /// ```no_run
    /// use compaction::cuda::{self, Arena};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// // SAFETY: an empty arena has no memory.
    /// let error = unsafe { Arena::borrowing(&stream, 12, 0) }.unwrap_err();
    /// assert!(error.to_string().ends_with("not a multiple of 256 bytes"));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Misaligned`] if the address is not a multiple of 256 bytes.
    ///
    /// # Safety
    ///
    /// The memory must be accessible by the stream's GPU, and nothing else may access it, until all that was made in
    /// the arena is dropped and the work enqueued with it has finished.
    pub unsafe fn borrowing(stream: &Arc<CudaStream>, address: u64, bytes: usize) -> Result<Self> {
        check_aligned("the memory for a workspace", address, ALIGN)?;
        Ok(Self {
            stream: stream.clone(),
            source: MemorySource::Borrowed { address, bytes },
            used: 0,
        })
    }

    /// Returns the number of bytes that a borrowed arena needs for what `make` creates. The buffers that `make`
    /// receives have no memory; it must drop or return them.
    pub(crate) fn measure<W>(
        context: &Arc<CudaContext>,
        make: impl FnOnce(&mut Self) -> Result<W>,
    ) -> Result<usize> {
        let mut arena = Self {
            stream: context.default_stream(),
            source: MemorySource::None,
            used: 0,
        };
        make(&mut arena)?;
        Ok(arena.used)
    }

    /// Returns whether buffers have memory. It is false only while sizes are [measured](Self::measure).
    pub(crate) fn has_memory(&self) -> bool {
        !matches!(self.source, MemorySource::None)
    }

    /// Returns the stream on which the buffers are used.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Takes a buffer of `len` items with undefined contents. Returns an error if too little memory is left.
    pub(crate) fn uninitialised<T: Shared>(&mut self, len: usize) -> Result<Buffer<T>> {
        let first = self.used;
        // An empty buffer has an address of its own, so it takes memory too.
        let bytes = len.max(1).saturating_mul(size_of::<T>());
        let end = bytes
            .checked_next_multiple_of(ALIGN)
            .and_then(|bytes| first.checked_add(bytes));
        let end = end.filter(|&end| end <= isize::MAX as usize);
        let (address, needed) = match self.source {
            MemorySource::Driver => {
                let buffer = memory::uninitialised(&self.stream, len)?;
                return Ok(buffer.into());
            }
            MemorySource::Borrowed { address, bytes } => {
                let needed = end.unwrap_or(usize::MAX);
                if needed > bytes {
                    return Err(Error::MemoryTooSmall { needed, got: bytes });
                }
                (address + first as u64, needed)
            }
            MemorySource::None => {
                let needed = end.ok_or(Error::MemoryTooSmall {
                    needed: usize::MAX,
                    got: isize::MAX as usize,
                })?;
                (ALIGN as u64, needed)
            }
        };
        self.used = needed;
        // SAFETY: the caller of `borrowing` vouches for the range, of which each part is taken once. Without memory,
        // nobody accesses the buffer.
        unsafe { Buffer::borrow(&self.stream, address, len) }
    }

    /// Takes a buffer of `len` items and enqueues the clearing of its bytes. The errors are those of
    /// [`uninitialised`](Self::uninitialised) and of the driver.
    pub(crate) fn zeroed<T: Shared>(&mut self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.uninitialised(len)?;
        if len > 0 && self.has_memory() {
            clear(&self.stream, buffer.as_slice_mut())?;
        }
        Ok(buffer)
    }
}
