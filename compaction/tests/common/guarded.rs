//! Device buffers with guards around them.

use std::sync::Arc;

use compaction::{
    cuda,
    cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut},
    layout::Shared,
};

/// Items around a guarded buffer.
const ROOM: usize = 64;

/// A buffer on the device whose neighbours must stay as they are.
pub(crate) struct Guarded<T> {
    start: usize,
    len: usize,
    before: Vec<T>,
    buffer: CudaSlice<T>,
}

#[allow(dead_code, reason = "not every test program reads and writes")]
impl<T: Shared> Guarded<T> {
    /// These items, `start` of others into the allocation.
    pub(crate) fn new(stream: &Arc<CudaStream>, start: usize, items: &[T]) -> Self {
        let guard = bytemuck::pod_read_unaligned::<T>(&vec![0x77; size_of::<T>()]);
        let mut before = vec![guard; start];
        before.extend_from_slice(items);
        before.extend(vec![guard; ROOM]);
        Self {
            start,
            len: items.len(),
            buffer: cuda::upload(stream, &before).unwrap(),
            before,
        }
    }

    /// Room for as many items, full of guards.
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

    /// The items, after a look at the guards.
    pub(crate) fn read(&self, stream: &Arc<CudaStream>) -> Vec<T> {
        let bytes = |items: &[T]| bytemuck::cast_slice::<T, u8>(items).to_vec();
        let mut after = cuda::download(stream, &self.buffer).unwrap();
        let end = self.start + self.len;
        assert!(
            bytes(&after[..self.start]) == bytes(&self.before[..self.start]),
            "written before the output"
        );
        assert!(
            bytes(&after[end..]) == bytes(&self.before[end..]),
            "written behind the output"
        );
        after.truncate(end);
        after.split_off(self.start)
    }
}
