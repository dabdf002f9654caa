//! Device buffers that own their memory or borrow it from another library.

use std::{
    any::type_name,
    mem::{ManuallyDrop, replace},
    sync::Arc,
};

use bytemuck::Pod;
use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};

use super::stream_order::{Uses, address};
use crate::error::{Error, Result};

/// A device buffer of `T` that owns its memory, or borrows memory of another library such as PyTorch.
///
/// Dropping a buffer frees only memory that it owns. Views of a buffer work like views of a [`CudaSlice`].
///
/// ```no_run
/// use compaction::{cuda::{self, Buffer}, cudarc::driver::DevicePtr};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let theirs = cuda::upload(&stream, &[2_u32, 3, 5])?; // stands for memory of another library
/// let (address, _in_use) = theirs.device_ptr(&stream);
/// // SAFETY: `theirs` outlives the buffer, and only this stream uses it.
/// let buffer = unsafe { Buffer::<u32>::borrow(&stream, address, 3) }?;
/// assert_eq!(cuda::download(&stream, &buffer.as_view())?, [2, 3, 5]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Buffer<T> {
    slice: ManuallyDrop<CudaSlice<T>>,
    is_owned: bool,
}

impl<T> From<CudaSlice<T>> for Buffer<T> {
    fn from(slice: CudaSlice<T>) -> Self {
        Self {
            slice: ManuallyDrop::new(slice),
            is_owned: true,
        }
    }
}

impl<T: Pod> Buffer<T> {
    /// Borrows `len` items at a device address, for use on `stream`. Makes no call of the driver, so nothing checks
    /// that the memory exists. Any bits are valid items. An empty buffer may have any aligned address, including 0.
    ///
    /// ```no_run
    /// use compaction::cuda::{self, Buffer};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// // SAFETY: an empty buffer borrows no memory.
    /// let empty = unsafe { Buffer::<f32>::borrow(&stream, 0, 0) }?;
    /// assert!(empty.is_empty());
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Misaligned`] if the address is not a multiple of the alignment of `T`, and
    /// [`Error::OutOfRange`] if the items take more than `isize::MAX` bytes.
    ///
    /// # Safety
    ///
    /// Until the buffer is dropped and all work enqueued with it has finished, the `len` items must be memory that the
    /// stream's GPU can access. Nothing else may write it, or access what the buffer's users write, unless it is
    /// ordered with the stream.
    pub unsafe fn borrow(stream: &Arc<CudaStream>, address: u64, len: usize) -> Result<Self> {
        check_aligned(type_name::<T>(), address, align_of::<T>())?;
        let max = isize::MAX as usize / size_of::<T>().max(1);
        if len > max {
            return Err(Error::OutOfRange {
                what: "the items of a borrowed buffer",
                got: len,
                min: 0,
                max,
            });
        }
        // SAFETY: the caller vouches for the memory, any bits are a valid `T`, and `drop` does not free it.
        let mut slice = unsafe { stream.upgrade_device_ptr(address, len) };
        // Calls on other streams wait for the work that the stream has now.
        Uses::new(stream).write::<T, _>(&mut slice);
        Ok(Self {
            slice: ManuallyDrop::new(slice),
            is_owned: false,
        })
    }
}

impl<T> Buffer<T> {
    /// Returns a view of all items, for reading.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Buffer};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let buffer = Buffer::from(cuda::upload(&stream, &[2_u32, 3, 5])?);
    /// assert_eq!(cuda::download(&stream, &buffer.as_view())?, [2, 3, 5]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn as_view(&self) -> CudaView<'_, T> {
        self.slice.as_view()
    }

    /// Returns a view of all items, for writing.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Buffer};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let mut buffer = Buffer::from(cuda::zeroed::<u32>(&stream, 2)?);
    /// cuda::overwrite(&stream, &[2, 3], &mut buffer.as_view_mut())?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.slice.as_view_mut()
    }

    /// Returns the number of items.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Buffer};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Buffer::from(cuda::zeroed::<u32>(&stream, 2)?).len(), 2);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Returns whether there are no items.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Buffer};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert!(Buffer::from(cuda::zeroed::<u32>(&stream, 0)?).is_empty());
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.slice.is_empty()
    }

    /// Returns the size of all items in bytes.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Buffer};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Buffer::from(cuda::zeroed::<u32>(&stream, 2)?).num_bytes(), 8);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn num_bytes(&self) -> usize {
        self.slice.num_bytes()
    }
}

impl<T> Buffer<T> {
    /// Returns the stream that the buffer is used on.
    pub(crate) fn home(&self) -> &Arc<CudaStream> {
        self.slice.stream()
    }

    pub(super) fn as_slice(&self) -> &CudaSlice<T> {
        &self.slice
    }

    pub(super) fn as_slice_mut(&mut self) -> &mut CudaSlice<T> {
        &mut self.slice
    }

    /// Uses the buffer on another stream from now on, where memory that it owns is also freed. Makes no call of the
    /// driver.
    ///
    /// Returns [`Error::ForeignContext`] if the stream belongs to another context.
    pub(crate) fn hand_over(&mut self, handover: &Handover) -> Result<()> {
        let (now, next) = (self.slice.stream(), &handover.stream);
        if now == next {
            return Ok(());
        }
        if now.context() != next.context() {
            return Err(Error::ForeignContext {
                what: "the workspace to hand over".to_owned(),
            });
        }
        let (address, len) = (address(&self.slice.as_view()), self.slice.len());
        // SAFETY: the memory and its owner stay the same, and the slice of the former stream is leaked.
        let mut slice = unsafe { next.upgrade_device_ptr(address, len) };
        // Calls on third streams wait for the handover.
        Uses::new(next).write::<T, _>(&mut slice);
        let former = replace(&mut self.slice, ManuallyDrop::new(slice));
        let _ = ManuallyDrop::into_inner(former).leak();
        Ok(())
    }
}

/// A promise that work on one stream is ordered after earlier work on another one, which allows a workspace to move to
/// that stream.
///
/// ```no_run
/// use compaction::{cuda::{self, Handover}, cudarc::driver::DriverError, select::Workspace};
///
/// let context = cuda::open(0)?;
/// let mut workspace = Workspace::with_capacity(&context.default_stream(), 1000)?;
/// context.synchronize()?;
/// let other = context.new_stream()?;
/// // SAFETY: all earlier work has finished.
/// workspace.hand_over(&unsafe { Handover::to(&other) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Handover {
    stream: Arc<CudaStream>,
}

impl Handover {
    /// Creates a promise for work on `stream`.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Handover};
    /// let stream = cuda::open(0)?.default_stream();
    /// // SAFETY: there is no earlier work.
    /// let handover = unsafe { Handover::to(&stream) };
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// When a workspace is handed over, all work that was enqueued with it must be ordered before later work on
    /// `stream`, for example by an event or because it has finished.
    pub unsafe fn to(stream: &Arc<CudaStream>) -> Self {
        Self {
            stream: stream.clone(),
        }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: the slice is taken once, here, and not used afterwards.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        if !self.is_owned {
            // The memory is not freed, because it belongs to somebody else.
            let _ = slice.leak();
        }
    }
}

/// Returns [`Error::Misaligned`] unless a device address is a multiple of `align` bytes. `what` names what is there.
pub(super) fn check_aligned(what: &'static str, address: u64, align: usize) -> Result<()> {
    if address.is_multiple_of(align as u64) {
        return Ok(());
    }
    Err(Error::Misaligned {
        what,
        address,
        align,
    })
}
