//! Device buffers with guard items around them.

use std::sync::Arc;

use compaction::{
    cuda,
    cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut},
    layout::Shared,
};

/// Number of guard items behind a buffer.
const GUARDS_BEHIND: usize = 64;

/// A range of a device allocation, between guard items that must not change.
pub(crate) struct Guarded<T> {
    start: usize,
    len: usize,
    before: Vec<T>,
    buffer: CudaSlice<T>,
}

#[allow(dead_code, reason = "not every test program reads and writes")]
impl<T: Shared> Guarded<T> {
    /// Uploads the items, `start` guard items into the allocation.
    pub(crate) fn new(stream: &Arc<CudaStream>, start: usize, items: &[T]) -> Self {
        let guard = bytemuck::pod_read_unaligned::<T>(&vec![0x77; size_of::<T>()]);
        let mut before = vec![guard; start];
        before.extend_from_slice(items);
        before.extend(vec![guard; GUARDS_BEHIND]);
        Self {
            start,
            len: items.len(),
            buffer: cuda::upload(stream, &before).unwrap(),
            before,
        }
    }

    /// Allocates room for `len` items, filled with a guard value.
    pub(crate) fn room(stream: &Arc<CudaStream>, start: usize, len: usize) -> Self {
        let guard = bytemuck::pod_read_unaligned::<T>(&vec![0x5a; size_of::<T>()]);
        Self::new(stream, start, &vec![guard; len])
    }

    pub(crate) fn view(&self) -> CudaView<'_, T> {
        self.buffer.slice(self.start..self.start + self.len)
    }

    pub(crate) fn view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.buffer.slice_mut(self.start..self.start + self.len)
    }

    /// Asserts that the guard items are unchanged, and returns the items.
    pub(crate) fn read(&self, stream: &Arc<CudaStream>) -> Vec<T> {
        let bytes = |items: &[T]| bytemuck::cast_slice::<T, u8>(items).to_vec();
        let mut after = cuda::download(stream, &self.buffer).unwrap();
        let end = self.start + self.len;
        assert!(
            bytes(&after[..self.start]) == bytes(&self.before[..self.start]),
            "items before the output are overwritten"
        );
        assert!(
            bytes(&after[end..]) == bytes(&self.before[end..]),
            "items behind the output are overwritten"
        );
        after.truncate(end);
        after.split_off(self.start)
    }
}
