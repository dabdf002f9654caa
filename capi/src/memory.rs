//! Addresses and pointers of the caller, checked and turned into buffers and slices.

use std::{
    ffi::{CStr, c_char},
    ops::Range,
    slice,
    sync::Arc,
};

use bytemuck::Pod;
use compaction::{Count, CountWord, cuda::Buffer, cudarc::driver::CudaStream, layout::Shared};

use crate::status::{Failure, Status};

/// An address of device memory (`CUdeviceptr`), or of host memory for a plan on the CPU.
pub type Address = u64;

/// A stream of the CUDA driver: `CUstream` and `cudaStream_t` are pointers to it. Null is the default stream.
#[derive(Debug)]
#[allow(non_camel_case_types, reason = "the name in cuda.h")]
pub struct CUstream_st(());

/// Returns a failure if a pointer is null or not aligned for a `T`. `what` names the parameter.
pub(crate) fn check_pointer<T>(what: &str, pointer: *const T) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(null(what));
    }
    if !pointer.is_aligned() {
        let address = pointer.addr() as u64;
        return Err(misaligned(what, address, align_of::<T>()));
    }
    Ok(())
}

fn null(what: &str) -> Failure {
    Failure::new(Status::CompactionNullPointer, format!("{what} is null"))
}

fn misaligned(what: &str, address: Address, align: usize) -> Failure {
    let message = format!("{what}: address {address:#x} is not a multiple of {align} bytes");
    Failure::new(Status::CompactionMisaligned, message)
}

/// Borrows what a pointer points to. Returns a failure if it is null or not aligned. `what` names the parameter.
///
/// # Safety
///
/// `pointer` must be null or point to a valid `T` that is not written during `'a`.
pub(crate) unsafe fn borrow<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    check_pointer(what, pointer)?;
    // SAFETY: not null and aligned; the rest is the caller's duty.
    Ok(unsafe { &*pointer })
}

/// Borrows a text. Returns a failure if the pointer is null, or if the text is not UTF-8. `what` names the parameter.
///
/// # Safety
///
/// `text` must be null or point to a text that ends with a zero byte and is not written during `'a`.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Failure> {
    check_pointer(what, text)?;
    // SAFETY: not null; the rest is the caller's duty.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| {
        Failure::new(
            Status::CompactionUnknownName,
            format!("{what} is not UTF-8"),
        )
    })
}

/// Parses a name, or returns the default if the pointer is null. Returns a failure for an unknown name. `what` names
/// the parameter.
///
/// # Safety
///
/// `name` must be null or point to a text that ends with a zero byte.
pub(crate) unsafe fn name_or_default<T>(what: &str, name: *const c_char) -> Result<T, Failure>
where
    T: Default + std::str::FromStr,
    Failure: From<T::Err>,
{
    if name.is_null() {
        return Ok(T::default());
    }
    // SAFETY: the caller's duty.
    Ok(unsafe { text(what, name) }?.parse()?)
}

/// Checks an address of items of type `T`: it is a multiple of their alignment, and not 0 unless there are no items.
pub(crate) fn check_address<T>(what: &str, address: Address, len: usize) -> Result<(), Failure> {
    if address == 0 && len > 0 {
        return Err(null(what));
    }
    if !address.is_multiple_of(align_of::<T>() as u64) {
        return Err(misaligned(what, address, align_of::<T>()));
    }
    bytes::<T>(what, address, len).map(drop)
}

/// Returns the range of addresses of `len` items. Returns a failure if it exceeds the address space.
fn bytes<T>(what: &str, address: Address, len: usize) -> Result<Range<Address>, Failure> {
    let size = len.checked_mul(size_of::<T>());
    let size = size.filter(|&size| size <= isize::MAX as usize);
    let end = size.and_then(|size| address.checked_add(size as u64));
    let end = end.ok_or_else(|| {
        let each = size_of::<T>();
        Failure::invalid(format!(
            "{what}: {len} items of {each} bytes exceed the address space"
        ))
    })?;
    Ok(address..end)
}

/// Converts a number of items or bytes of the caller to a length. Returns a failure if it does not fit in a `usize`.
pub(crate) fn to_len(items: u64) -> Result<usize, Failure> {
    usize::try_from(items).map_err(|_| Failure::invalid(format!("{items} items are too many")))
}

/// Borrows `len` items of device memory, for reading or writing on a stream. Returns a failure if the address is
/// misaligned, or 0 although `len` is not, or if the items exceed the address space. `what` names the parameter.
///
/// # Safety
///
/// As for [`Buffer::borrow`].
pub(crate) unsafe fn device<T: Shared>(
    stream: &Arc<CudaStream>,
    what: &str,
    address: Address,
    len: usize,
) -> Result<Buffer<T>, Failure> {
    check_address::<T>(what, address, len)?;
    // SAFETY: the caller's duty.
    Ok(unsafe { Buffer::borrow(stream, address, len) }?)
}

/// Borrows a count in device memory. Returns `None` if its address is 0, and a failure if it is misaligned.
///
/// # Safety
///
/// `address` must be 0 or as for [`Buffer::borrow`] with one word.
pub(crate) unsafe fn device_count<W: CountWord>(
    stream: &Arc<CudaStream>,
    address: Address,
) -> Result<Option<Buffer<W>>, Failure> {
    if address == 0 {
        return Ok(None);
    }
    // SAFETY: the caller's duty.
    unsafe { device(stream, "count", address, 1) }.map(Some)
}

/// Returns the count of a call: a word in device memory, or else all items of the input.
pub(crate) fn count_of<W: CountWord>(count: &Option<Buffer<W>>) -> Count<'_, W> {
    match count {
        Some(count) => Count::Device(count.as_view()),
        None => Count::All,
    }
}

/// Borrows `len` items of host memory for reading. Returns a failure if the address is misaligned, or 0 although `len`
/// is not, or if the items exceed the address space. `what` names the parameter.
///
/// # Safety
///
/// If `address` is not 0 and `len` not 0, there must be `len` initialised items that nobody writes during `'a`.
pub(crate) unsafe fn host<'a, T: Pod>(
    what: &str,
    address: Address,
    len: usize,
) -> Result<&'a [T], Failure> {
    check_address::<T>(what, address, len)?;
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: aligned, not null, and within the address space; any bits are a valid `T`. The rest is the caller's duty.
    Ok(unsafe { slice::from_raw_parts(address as *const T, len) })
}

/// Borrows `len` items of host memory for writing. Returns a failure if the address is misaligned, or 0 although `len`
/// is not, or if the items exceed the address space. `what` names the parameter.
///
/// # Safety
///
/// If `address` is not 0 and `len` not 0, there must be `len` items that nobody else accesses during `'a`.
pub(crate) unsafe fn host_mut<'a, T: Pod>(
    what: &str,
    address: Address,
    len: usize,
) -> Result<&'a mut [T], Failure> {
    check_address::<T>(what, address, len)?;
    if len == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `host`, for writing.
    Ok(unsafe { slice::from_raw_parts_mut(address as *mut T, len) })
}

/// Returns the number of items of a call on the CPU: the word at the address `count`, or `items` if the address is 0.
/// Returns a failure if the word is larger than `items`.
///
/// # Safety
///
/// `count` must be 0 or the address of an initialised word.
pub(crate) unsafe fn host_count<W: CountWord>(
    count: Address,
    items: usize,
) -> Result<usize, Failure> {
    if count == 0 {
        return Ok(items);
    }
    // SAFETY: the caller's duty.
    let word = unsafe { host::<W>("count", count, 1) }?[0].to_len();
    if word > items {
        let message = format!("count: {word} items, where at most {items} are possible");
        return Err(Failure::new(Status::CompactionCountTooLarge, message));
    }
    Ok(word)
}

/// Converts a number of items to the word of a count. Returns a failure if it does not fit.
pub(crate) fn to_word<W: CountWord>(what: &str, items: usize) -> Result<W, Failure> {
    W::from_len(items)
        .ok_or_else(|| Failure::invalid(format!("{what}: {items} items need counts of 64 bits")))
}

/// Writes a number of items to the word of a count. Returns a failure if it does not fit.
pub(crate) fn write_count<W: CountWord>(words: &mut [W], items: usize) -> Result<(), Failure> {
    words[0] = to_word("items", items)?;
    Ok(())
}

/// The ranges of memory that a call reads and writes: each with the name of its parameter, its addresses, and whether
/// it is written.
#[derive(Debug, Default)]
pub(crate) struct Ranges(Vec<(&'static str, Range<Address>, bool)>);

impl Ranges {
    /// Adds a range of `len` items. Returns a failure if it exceeds the address space.
    pub(crate) fn add<T>(
        &mut self,
        what: &'static str,
        at: Address,
        len: usize,
        is_written: bool,
    ) -> Result<(), Failure> {
        self.0.push((what, bytes::<T>(what, at, len)?, is_written));
        Ok(())
    }

    /// Returns a failure if a range that is written overlaps another one.
    pub(crate) fn check_apart(&self) -> Result<(), Failure> {
        for (number, (what, range, is_written)) in self.0.iter().enumerate() {
            for (other, other_range, is_other_written) in &self.0[..number] {
                let overlap = range.start.max(other_range.start) < range.end.min(other_range.end);
                if overlap && (*is_written || *is_other_written) {
                    return Err(Failure::invalid(format!("{other} and {what} overlap")));
                }
            }
        }
        Ok(())
    }
}
