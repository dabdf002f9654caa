//! The buffers of a call. All are checked before anything runs, and are then borrowed on the GPU or on the CPU.

use std::{marker::PhantomData, sync::Arc};

use bytemuck::Pod;
use compaction::{Count, CountWord, cuda::Buffer, cudarc::driver::CudaStream, layout::Shared};

use crate::{
    memory::{
        Address, Ranges, check_address, count_of, device, device_count, host, host_count, host_mut,
        to_len, to_word,
    },
    status::Failure,
};

/// The buffers of a call, which collect the ranges of memory that it reads and writes.
#[derive(Default)]
pub(crate) struct Buffers(Ranges);

/// A buffer of `len` items that a call reads.
pub(crate) struct Input<T> {
    what: &'static str,
    at: Address,
    len: usize,
    item: PhantomData<fn() -> T>,
}

/// A buffer of `len` items that a call writes.
pub(crate) struct Output<T> {
    what: &'static str,
    at: Address,
    len: usize,
    item: PhantomData<fn() -> T>,
}

/// The number of items of a call: the word at the address `at`, or all `items` if the address is 0.
pub(crate) struct ItemCount<W> {
    at: Address,
    items: usize,
    word: PhantomData<fn() -> W>,
}

/// A borrowed count in device memory, if the call has one.
pub(crate) struct DeviceCount<W>(Option<Buffer<W>>);

impl Buffers {
    /// Adds a buffer of `items` items that is read. Returns a failure if the address is misaligned, or 0 although there
    /// are items, or if the items exceed the address space. `what` names the parameter.
    pub(crate) fn reads<T>(
        &mut self,
        what: &'static str,
        at: Address,
        items: u64,
    ) -> Result<Input<T>, Failure> {
        let len = self.add::<T>(what, at, items, false)?;
        let item = PhantomData;
        Ok(Input {
            what,
            at,
            len,
            item,
        })
    }

    /// Adds a buffer of `items` items that is written. Returns the failures of [`reads`](Self::reads).
    pub(crate) fn writes<T>(
        &mut self,
        what: &'static str,
        at: Address,
        items: u64,
    ) -> Result<Output<T>, Failure> {
        let len = self.add::<T>(what, at, items, true)?;
        let item = PhantomData;
        Ok(Output {
            what,
            at,
            len,
            item,
        })
    }

    /// Adds the count of a call on up to `items` items, whose address may be 0. Returns the failures of
    /// [`reads`](Self::reads).
    pub(crate) fn count<W: CountWord>(
        &mut self,
        at: Address,
        items: u64,
    ) -> Result<ItemCount<W>, Failure> {
        self.add::<W>("count", at, u64::from(at != 0), false)?;
        let (items, word) = (to_len(items)?, PhantomData);
        Ok(ItemCount { at, items, word })
    }

    /// Returns a failure if a buffer that is written overlaps another one.
    pub(crate) fn check_apart(&self) -> Result<(), Failure> {
        self.0.check_apart()
    }

    /// Checks a buffer and adds its range. Returns its length.
    fn add<T>(
        &mut self,
        what: &'static str,
        at: Address,
        items: u64,
        is_written: bool,
    ) -> Result<usize, Failure> {
        let len = to_len(items)?;
        check_address::<T>(what, at, len)?;
        self.0.add::<T>(what, at, len, is_written)?;
        Ok(len)
    }
}

impl<T> Input<T> {
    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Borrows the items in device memory.
    ///
    /// # Safety
    ///
    /// As for [`Buffer::borrow`].
    pub(crate) unsafe fn on(&self, stream: &Arc<CudaStream>) -> Result<Buffer<T>, Failure>
    where
        T: Shared,
    {
        // SAFETY: the caller's duty.
        unsafe { device(stream, self.what, self.at, self.len) }
    }

    /// Borrows the first `len` items in host memory. A `len` that exceeds the buffer is clamped.
    ///
    /// # Safety
    ///
    /// There must be as many initialised items as the buffer has, which nobody writes during `'a`.
    pub(crate) unsafe fn host<'a>(&self, len: usize) -> Result<&'a [T], Failure>
    where
        T: Pod,
    {
        // SAFETY: the caller's duty.
        unsafe { host(self.what, self.at, len.min(self.len)) }
    }
}

impl<T> Output<T> {
    /// Borrows the items in device memory.
    ///
    /// # Safety
    ///
    /// As for [`Buffer::borrow`].
    pub(crate) unsafe fn on(&self, stream: &Arc<CudaStream>) -> Result<Buffer<T>, Failure>
    where
        T: Shared,
    {
        // SAFETY: the caller's duty.
        unsafe { device(stream, self.what, self.at, self.len) }
    }

    /// Borrows all items in host memory.
    ///
    /// # Safety
    ///
    /// There must be as many items as the buffer has, which nobody else accesses during `'a`.
    pub(crate) unsafe fn host<'a>(&self) -> Result<&'a mut [T], Failure>
    where
        T: Pod,
    {
        // SAFETY: the caller's duty.
        unsafe { host_mut(self.what, self.at, self.len) }
    }
}

impl<W: CountWord> ItemCount<W> {
    /// Returns the largest number of items that the call allows.
    pub(crate) fn max(&self) -> usize {
        self.items
    }

    /// Borrows the count in device memory, if there is one.
    ///
    /// # Safety
    ///
    /// As for [`Buffer::borrow`].
    pub(crate) unsafe fn on(&self, stream: &Arc<CudaStream>) -> Result<DeviceCount<W>, Failure> {
        // SAFETY: the caller's duty.
        Ok(DeviceCount(unsafe { device_count(stream, self.at) }?))
    }

    /// Reads the count from host memory. Returns a failure if it is larger than the call allows, or if a word of this
    /// type cannot hold the number of items.
    ///
    /// # Safety
    ///
    /// The address must be 0 or that of an initialised word.
    pub(crate) unsafe fn host(&self) -> Result<usize, Failure> {
        to_word::<W>("items", self.items)?;
        // SAFETY: the caller's duty.
        unsafe { host_count::<W>(self.at, self.items) }
    }
}

impl<W: CountWord> DeviceCount<W> {
    /// Returns the count of a call: a word in device memory, or else all items of the input.
    pub(crate) fn get(&self) -> Count<'_, W> {
        count_of(&self.0)
    }
}
