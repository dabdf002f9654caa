//! Page-locked host memory.

use std::{ptr::NonNull, slice, sync::Arc};

use cudarc::driver::{CudaContext, DriverError, result};

use crate::layout::Shared;

/// Page-locked memory of the host, into which the GPU copies without a host thread. The CPU caches it, for fast reads.
#[derive(Debug)]
pub(super) struct Pinned<T> {
    context: Arc<CudaContext>,
    items: NonNull<T>,
    len: usize,
}

// SAFETY: the memory belongs to this value alone, and any thread may free it.
unsafe impl<T: Send> Send for Pinned<T> {}
// SAFETY: a shared reference only reads.
unsafe impl<T: Sync> Sync for Pinned<T> {}

impl<T: Shared> Pinned<T> {
    /// Locks memory for `len` items, which must be less than `isize::MAX` bytes, and sets all bits to zero.
    pub(super) fn zeroed(context: &Arc<CudaContext>, len: usize) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        // The driver does not lock zero bytes.
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: a context is current. The flags ask for ordinary memory.
        let address = unsafe { result::malloc_host(bytes, 0) }?;
        // SAFETY: the driver returned this many bytes.
        unsafe { address.cast::<u8>().write_bytes(0, bytes) };
        Ok(Self {
            context: context.clone(),
            // Pages are aligned to any item.
            items: NonNull::new(address.cast()).unwrap_or(NonNull::dangling()),
            len,
        })
    }
}

impl<T> Pinned<T> {
    /// Returns the items.
    pub(super) fn as_slice(&self) -> &[T] {
        // SAFETY: the memory is initialized, lives as long as `self`, and is plain data.
        unsafe { slice::from_raw_parts(self.items.as_ptr(), self.len) }
    }

    /// Returns the items, for writing.
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.items.as_ptr(), self.len) }
    }

    /// Returns the number of items.
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the driver allocated the memory, and nothing uses it any more.
            let _ = unsafe { result::free_host(self.items.as_ptr().cast()) };
        }
    }
}
