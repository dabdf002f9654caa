//! Allocation and copies of device buffers.

use std::{
    alloc::Layout,
    any::type_name,
    mem::{ManuallyDrop, transmute},
    sync::Arc,
};

use bytemuck::{CheckedBitPattern, NoUninit, Pod, Zeroable};
use cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice,
    DriverError, result, sys::CUresult,
};

use super::{
    recording::{self, Place},
    stream_order::{Uses, address, is_captured},
};
use crate::{
    error::{Error, Result},
    layout::Shared,
};

/// Allocates a device buffer of `len` items with undefined contents.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// // For memory that a kernel writes before anything reads it.
/// let mut scratch = cuda::uninitialised::<f32>(&stream, 1 << 20)?;
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfMemory`] with the requested, free and total bytes, or [`Error::Driver`] if the allocation
/// fails for another reason.
pub fn uninitialised<T: Pod>(stream: &Arc<CudaStream>, len: usize) -> Result<CudaSlice<T>> {
    // SAFETY: any bits are a valid `T`, which is plain data.
    unsafe { allocate(stream, len) }
}

/// Allocates a device buffer of `len` items with undefined contents.
///
/// # Safety
///
/// Valid items must be written before anything reads them, unless any bits are one.
unsafe fn allocate<T>(stream: &Arc<CudaStream>, len: usize) -> Result<CudaSlice<T>> {
    if len == 0 && size_of::<T>() > 0 {
        // The driver does not allocate zero bytes, so an empty buffer owns one item that it does not expose.
        // SAFETY: the buffer below does not expose the item.
        let address = unsafe { allocate::<T>(stream, 1) }?.leak();
        // SAFETY: the allocation is live, nobody else frees it, and it has room for no items.
        return Ok(unsafe { stream.upgrade_device_ptr(address, 0) });
    }
    let asked = len.saturating_mul(size_of::<T>());
    if asked > isize::MAX as usize {
        return Err(allocation_error(
            stream,
            asked,
            DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY),
        ));
    }
    // cudarc allocates only types that it knows, so the buffer is allocated as bytes.
    // SAFETY: any bits are valid bytes.
    let bytes = unsafe { stream.alloc::<u8>(asked) };
    let bytes = bytes.map_err(|error| allocation_error(stream, asked, error))?;
    // SAFETY: the allocation is live and has room for `len` items, and nobody else frees it. Device memory is aligned to
    // any item. That the items are valid is the caller's duty.
    let mut buffer = unsafe { stream.upgrade_device_ptr(bytes.leak(), len) };
    // If cudarc tracks the buffer, its first use on another stream waits for the allocation.
    Uses::new(stream).write::<T, _>(&mut buffer);
    Ok(buffer)
}

/// Allocates a device buffer of `len` items and sets all bytes to zero.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let counter = cuda::zeroed::<u32>(&stream, 1)?;
/// assert_eq!(cuda::download(&stream, &counter)?, [0]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`uninitialised`], and [`Error::Driver`] if the bytes cannot be cleared.
pub fn zeroed<T: NoUninit + Zeroable>(
    stream: &Arc<CudaStream>,
    len: usize,
) -> Result<CudaSlice<T>> {
    // SAFETY: the next line writes zeros, which are a valid `T`.
    let mut buffer = unsafe { allocate(stream, len) }?;
    clear(stream, &mut buffer)?;
    Ok(buffer)
}

/// Sets all bytes of a device buffer to zero, in stream order.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let mut primes = cuda::upload(&stream, &[2_u32, 3, 5, 7])?;
/// cuda::clear(&stream, &mut primes.slice_mut(1..))?;
/// assert_eq!(cuda::download(&stream, &primes)?, [2, 0, 0, 0]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Driver`] if the driver reports an error, and the errors of
/// [`Kernel::launch`](super::Kernel::launch) for a buffer of another stream or context.
pub fn clear<T: NoUninit + Zeroable, B: DevicePtr<T> + DevicePtrMut<T>>(
    stream: &Arc<CudaStream>,
    buffer: &mut B,
) -> Result<()> {
    let bytes = DeviceSlice::<T>::num_bytes(buffer);
    if bytes == 0 {
        return Ok(());
    }
    let zeroing = || format!("zero {bytes} bytes");
    let mut uses = Uses::new(stream);
    let address = uses.write::<T, _>(buffer);
    let name = |_: Place| "the buffer to clear".to_owned();
    uses.check(name, zeroing)?;
    stream
        .context()
        .bind_to_thread()
        .map_err(Error::driver(zeroing()))?;
    // SAFETY: the buffer has this many bytes, and the stream is of its context. Zeros are a valid `T`.
    unsafe { result::memset_d8_async(address, 0, bytes, stream.cu_stream()) }
        .map_err(Error::driver(zeroing()))?;
    if let Some(ranges) = uses.take_ranges() {
        recording::record_memory(ranges, name);
    }
    Ok(())
}

/// Allocates a device buffer and copies the items into it.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let primes = cuda::upload(&stream, &[2_u32, 3, 5, 7])?;
/// assert_eq!(primes.len(), 4);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`uninitialised`] and of [`overwrite`].
pub fn upload<T: NoUninit>(stream: &Arc<CudaStream>, items: &[T]) -> Result<CudaSlice<T>> {
    // SAFETY: the next line writes the items.
    let mut buffer = unsafe { allocate(stream, items.len()) }?;
    overwrite(stream, items, &mut buffer)?;
    Ok(buffer)
}

/// Replaces the contents of a device buffer by `items`, of which there must be as many, in stream order.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let mut primes = cuda::upload(&stream, &[2_u32, 3, 5, 7])?;
/// cuda::overwrite(&stream, &[11, 13, 17, 19], &mut primes)?;
/// assert_eq!(cuda::download(&stream, &primes)?, [11, 13, 17, 19]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::LengthMismatch`] if the lengths differ; [`Error::Driver`] if the copy fails; and the errors of
/// [`Kernel::launch`](super::Kernel::launch) for a buffer of another stream or context.
pub fn overwrite<T: NoUninit, B: DevicePtr<T> + DevicePtrMut<T>>(
    stream: &Arc<CudaStream>,
    items: &[T],
    buffer: &mut B,
) -> Result<()> {
    let len = DeviceSlice::<T>::len(buffer);
    if items.len() != len {
        return Err(Error::LengthMismatch {
            what: "the items to overwrite a buffer with",
            expected: len,
            got: items.len(),
        });
    }
    let uploading = || format!("upload {} bytes", size_of_val(items));
    let mut uses = Uses::new(stream);
    let address = uses.write::<T, _>(buffer);
    uses.check(|_| "the buffer to overwrite".to_owned(), uploading)?;
    if items.is_empty() {
        return Ok(());
    }
    check_not_captured(stream, "an upload")?;
    stream
        .context()
        .bind_to_thread()
        .map_err(Error::driver(uploading()))?;
    // SAFETY: the buffer has as many items, and the stream is of its context. The call returns when the items were read.
    unsafe { result::memcpy_htod_async(address, items, stream.cu_stream()) }
        .map_err(Error::driver(uploading()))
}

/// Copies the items of a device buffer to another one of the same length on the same GPU, in stream order.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let primes = cuda::upload(&stream, &[2_u32, 3, 5, 7])?;
/// let mut first = cuda::zeroed::<u32>(&stream, 2)?;
/// cuda::copy(&stream, &primes.slice(..2), &mut first)?;
/// assert_eq!(cuda::download(&stream, &first)?, [2, 3]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::LengthMismatch`] if the lengths differ; [`Error::Driver`] if the copy fails; and the errors of
/// [`Kernel::launch`](super::Kernel::launch) for a buffer of another stream or context.
pub fn copy<T: NoUninit, B: DevicePtr<T> + DevicePtrMut<T>>(
    stream: &Arc<CudaStream>,
    from: &impl DevicePtr<T>,
    to: &mut B,
) -> Result<()> {
    let (bytes, len) = (from.num_bytes(), DeviceSlice::<T>::len(to));
    if from.len() != len {
        return Err(Error::LengthMismatch {
            what: "the items to copy to a buffer",
            expected: len,
            got: from.len(),
        });
    }
    if bytes == 0 {
        return Ok(());
    }
    let copying = || format!("copy {bytes} bytes");
    let mut uses = Uses::new(stream);
    uses.begin_argument(1);
    let source = uses.read::<T>(from);
    uses.begin_argument(2);
    let target = uses.write::<T, _>(to);
    let name = |place: Place| match place.argument {
        1 => "the buffer to copy from".to_owned(),
        _ => "the buffer to copy to".to_owned(),
    };
    uses.check(name, copying)?;
    stream
        .context()
        .bind_to_thread()
        .map_err(Error::driver(copying()))?;
    // SAFETY: both buffers have this many bytes, and the stream is of their context. Any bits are a valid `T`.
    unsafe { result::memcpy_dtod_async(target, source, bytes, stream.cu_stream()) }
        .map_err(Error::driver(copying()))?;
    if let Some(ranges) = uses.take_ranges() {
        recording::record_memory(ranges, name);
    }
    Ok(())
}

/// Returns [`Error::NotRecordable`] if work on the stream becomes part of a graph, which must not refer to memory of
/// the host that may be gone when the graph is launched. `what` names the work.
pub(super) fn check_not_captured(stream: &CudaStream, what: &str) -> Result<()> {
    if is_captured(stream) {
        return Err(Error::NotRecordable {
            what: what.to_owned(),
            remedy: "do it before or after the recording",
        });
    }
    Ok(())
}

/// Waits for the stream and returns a copy of the buffer's items on the host. Items of a type that is not plain data,
/// such as `bool`, are checked.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let primes = cuda::upload(&stream, &[2_u32, 3, 5, 7])?;
/// assert_eq!(cuda::download(&stream, &primes)?, [2, 3, 5, 7]);
/// assert_eq!(cuda::download(&stream, &primes.slice(1..3))?, [3, 5]);
///
/// let are_odd = cuda::upload(&stream, &[false, true, true, true])?;
/// assert_eq!(cuda::download(&stream, &are_odd)?, [false, true, true, true]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::InvalidItem`] for bits that are not a valid item, which only a kernel of another library or an
/// earlier failure can have written; [`Error::Driver`], also for earlier failures on the stream; and the errors of
/// [`Kernel::launch`](super::Kernel::launch) for a buffer of another stream or context.
pub fn download<T: CheckedBitPattern>(
    stream: &Arc<CudaStream>,
    buffer: &impl DevicePtr<T>,
) -> Result<Vec<T>> {
    let mut items = vec![T::Bits::zeroed(); buffer.len()];
    let downloading = || format!("download {} bytes", buffer.num_bytes());
    let mut uses = Uses::new(stream);
    let address = uses.read::<T>(buffer);
    uses.check(|_| "the buffer to download".to_owned(), downloading)?;
    check_not_captured(stream, "a download")?;
    if !items.is_empty() {
        stream
            .context()
            .bind_to_thread()
            .map_err(Error::driver(downloading()))?;
        // SAFETY: the buffer has as many items, whose size is that of their bits, which may be any. The stream is of the
        // buffer's context. The items live until the stream is synchronized, or the process ends.
        unsafe { result::memcpy_dtoh_async(&mut items, address, stream.cu_stream()) }
            .map_err(Error::driver(downloading()))?;
    }
    stream.synchronize().map_err(Error::driver(downloading()))?;
    let is_invalid = |bits| !T::is_valid_bit_pattern(bits);
    if let Some(number) = items.iter().position(is_invalid) {
        return Err(Error::InvalidItem {
            what: format!("item {number} of the buffer to download"),
            item: type_name::<T>(),
            instead: "plain data, such as u8",
        });
    }
    let mut items = ManuallyDrop::new(items);
    // SAFETY: the parts of a vector that is not used any more. `T` and its bits have the same layout, and the bits of all
    // items are valid.
    Ok(unsafe { Vec::from_raw_parts(items.as_mut_ptr().cast(), items.len(), items.capacity()) })
}

/// Views the bytes of a device buffer as items of another type, for reading. Copies nothing.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let words = cuda::upload(&stream, &[1_u32, 0, 2, 0])?;
/// let longs = cuda::reinterpret::<u32, u64>(words.as_view())?;
/// assert_eq!(cuda::download(&stream, &longs)?, [1, 2]);
/// // Three 4-byte words are no whole number of 8-byte words.
/// assert!(cuda::reinterpret::<u32, u64>(words.slice(..3)).is_err());
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Reinterpret`] unless the bytes are a whole number of aligned items.
pub fn reinterpret<'a, T: NoUninit, U: Shared>(view: CudaView<'a, T>) -> Result<CudaView<'a, U>> {
    let (bytes, address) = (view.num_bytes(), address(&view));
    let len = whole_items(bytes, address, Layout::new::<U>(), U::NAME)?;
    // SAFETY: the bytes are whole and aligned `U`s, which as plain data may have any bits.
    let reinterpreted = unsafe { view.transmute(len) };
    reinterpreted.ok_or(Error::Reinterpret {
        bytes,
        address,
        item: U::NAME,
    })
}

/// Views the bytes of a device buffer as items of another type, for writing. Copies nothing.
///
/// ```no_run
/// # use compaction::cuda;
/// # let stream = cuda::open(0)?.default_stream();
/// let mut words = cuda::zeroed::<u32>(&stream, 4)?;
/// let mut view = words.as_view_mut();
/// let longs = cuda::reinterpret_mut::<u32, u64>(&mut view)?;
/// assert_eq!(longs.len(), 2);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Reinterpret`] unless the bytes are a whole number of aligned items.
pub fn reinterpret_mut<'a, T: Pod, U: Shared>(
    view: &'a mut CudaViewMut<'_, T>,
) -> Result<CudaViewMut<'a, U>> {
    let (bytes, address) = (view.num_bytes(), address(view));
    let len = whole_items(bytes, address, Layout::new::<U>(), U::NAME)?;
    // SAFETY: as in `reinterpret`; what is written as `U` is a valid `T`.
    let reinterpreted = unsafe { view.transmute_mut(len) };
    reinterpreted.ok_or(Error::Reinterpret {
        bytes,
        address,
        item: U::NAME,
    })
}

/// Views the bytes of a device buffer as items of another type, for writing, like [`reinterpret_mut`] but for as long
/// as the buffer is borrowed.
pub(crate) fn reinterpret_into<T: Pod, U: Shared>(
    mut view: CudaViewMut<'_, T>,
) -> Result<CudaViewMut<'_, U>> {
    let reinterpreted = reinterpret_mut(&mut view)?;
    // SAFETY: only the lifetime changes, to that of the view, which is not used any more.
    Ok(unsafe { transmute::<CudaViewMut<'_, U>, CudaViewMut<'_, U>>(reinterpreted) })
}

/// Views items as bytes, for kernels that write whole copies of other items of the same type.
pub(crate) fn item_bytes<T: NoUninit>(view: CudaViewMut<'_, T>) -> CudaViewMut<'_, u8> {
    let mut view = view;
    let bytes = view.num_bytes();
    // SAFETY: the items are whole bytes. Only kernels write them, whose author copies whole items.
    let items = unsafe { view.transmute_mut(bytes) };
    let items = items.unwrap_or_else(|| unreachable!("there are as many bytes"));
    // SAFETY: only the lifetime changes, to that of the view, which is not used any more.
    unsafe { transmute::<CudaViewMut<'_, u8>, CudaViewMut<'_, u8>>(items) }
}

/// Returns whether the device address at which a buffer begins is a multiple of `bytes`.
pub(crate) fn is_aligned<T>(buffer: &impl DevicePtr<T>, bytes: u32) -> bool {
    address(buffer).is_multiple_of(u64::from(bytes))
}

/// Returns two views of the same memory, one for reading and one for writing, for kernels that work in place.
///
/// A kernel that receives both views must read each item before any thread overwrites it.
pub(crate) fn read_and_write<'a, T>(
    view: &'a mut CudaViewMut<'_, T>,
) -> (CudaView<'a, T>, CudaViewMut<'a, T>) {
    // SAFETY: only the lifetime changes, to one during which the buffer stays borrowed. Neither view gives the host
    // access to the memory, and kernels and copies run in stream order.
    let items = unsafe { transmute::<CudaView<'_, T>, CudaView<'a, T>>(view.as_view()) };
    (items, view.slice_mut(..))
}

/// Returns a view of each item of a buffer, for writing.
pub(crate) fn single_items<'a, T>(
    mut items: CudaViewMut<'a, T>,
) -> impl Iterator<Item = CudaViewMut<'a, T>> {
    (0..items.len()).map(move |item| {
        let item = items.slice_mut(item..item + 1);
        // SAFETY: only the lifetime changes, to one during which the buffer stays borrowed. No two views overlap.
        unsafe { transmute::<CudaViewMut<'_, T>, CudaViewMut<'a, T>>(item) }
    })
}

/// Returns the number of items of this layout in a buffer of `bytes` bytes at a device address. Returns
/// [`Error::Reinterpret`], which names the type `item`, unless they are whole and aligned.
fn whole_items(bytes: usize, address: u64, layout: Layout, item: &'static str) -> Result<usize> {
    let aligned = address.is_multiple_of(layout.align() as u64);
    let whole = layout.size() != 0 && bytes.is_multiple_of(layout.size());
    if aligned && whole {
        Ok(bytes / layout.size())
    } else {
        Err(Error::Reinterpret {
            bytes,
            address,
            item,
        })
    }
}

/// Builds the error for a failed allocation of `asked` bytes: [`Error::OutOfMemory`] if memory was the cause, and
/// otherwise the driver's error.
pub(super) fn allocation_error(stream: &CudaStream, asked: usize, error: DriverError) -> Error {
    match stream.context().mem_get_info() {
        Ok((free, total)) if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY || asked > total => {
            Error::OutOfMemory { asked, free, total }
        }
        _ => Error::driver(format!("allocate {asked} bytes"))(error),
    }
}

/// Implements cudarc's marker traits for a `Pod` struct of [`shared!`](crate::shared), so that it can be passed to
/// kernels.
#[doc(hidden)]
#[macro_export]
macro_rules! __impl_device_traits {
    ($name:ident) => {
        // SAFETY: a `Pod` struct has no pointers, no padding and no invalid bits.
        #[allow(unsafe_code, reason = "any `Pod` type may cross to the device")]
        unsafe impl $crate::__private::DeviceRepr for $name where $name: $crate::__private::Pod {}
        // SAFETY: as above; zeros are bits like others.
        #[allow(unsafe_code, reason = "any `Pod` type may be zero")]
        unsafe impl $crate::__private::ValidAsZeroBits for $name where
            $name: $crate::__private::Pod
        {
        }
    };
}
