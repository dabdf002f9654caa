//! The GPUs of this machine and their contexts.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, DriverError, result,
    sys::{self, CUdevice_attribute},
};

use super::driver_library::driver_library;
use crate::error::{Error, Result, in_words};

/// The oldest supported CUDA version of a driver, (major, minor). Driver 535 has it.
const OLDEST_DRIVER: (i32, i32) = (12, 2);

/// Properties of a GPU.
///
/// ```
/// use compaction::cuda;
///
/// for device in cuda::devices().unwrap_or_default() {
///     let (major, minor) = device.compute_capability;
///     println!("{}: {}, compute capability {major}.{minor}", device.ordinal, device.name);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The device number that [`open`] takes.
    pub ordinal: usize,
    /// The product name: "NVIDIA H200".
    pub name: String,
    /// The unique identifier: `GPU-` and 32 hexadecimal digits in groups, as `CUDA_VISIBLE_DEVICES` accepts it.
    pub uuid: String,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Compute capability as (major, minor): (9, 0).
    pub compute_capability: (u32, u32),
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
}

/// Returns the properties of all GPUs of this machine, in the order of their numbers. The list is never empty.
///
/// ```
/// match compaction::cuda::devices() {
///     Ok(devices) => println!("{} GPUs, the first an {}", devices.len(), devices[0].name),
///     Err(none) => println!("{none}"), // no CUDA device: no NVIDIA driver (libcuda) was found
/// }
/// ```
///
/// # Errors
///
/// Returns [`Error::NoDevice`] with the reason if there is no usable GPU: no driver, a driver that is too old, or no
/// GPU. Returns [`Error::Driver`] if a device cannot be queried.
pub fn devices() -> Result<Vec<DeviceInfo>> {
    let count = init_driver()?;
    (0..count)
        .map(|ordinal| describe(ordinal).map_err(Error::driver(format!("ask device {ordinal}"))))
        .collect()
}

/// Opens the primary CUDA context of the GPU with the number `ordinal`, counted from 0.
///
/// Calls of this crate and of cudarc may use a buffer on any stream of the GPU: each waits for earlier uses of the
/// buffer on other streams, and later uses wait for it. As soon as the context has a stream besides the default stream,
/// cudarc does this by two events per buffer, which cost several calls of the driver per buffer and launch.
/// [`open_untracked`] avoids them.
///
/// ```no_run
/// use compaction::cuda;
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let buffer = cuda::upload(&stream, &[1_u32, 2, 3])?;
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::NoDevice`] if there is no such GPU or no usable driver, and [`Error::Driver`] if the context cannot
/// be created.
pub fn open(ordinal: usize) -> Result<Arc<CudaContext>> {
    let count = init_driver()?;
    if ordinal >= count {
        let reason = match count {
            1 => format!("there is no device {ordinal}, only device 0"),
            _ => format!(
                "there is no device {ordinal}, only devices 0 to {}",
                count - 1
            ),
        };
        return Err(Error::NoDevice { reason });
    }
    CudaContext::new(ordinal).map_err(Error::driver(format!("open device {ordinal}")))
}

/// Opens a context like [`open`], whose buffers cudarc does not track by events.
///
/// A call of this crate on the stream that its buffers were allocated on then needs no call of the driver besides the
/// launch. For a buffer of another stream, it still waits for that stream, which then waits for the call.
///
/// ```no_run
/// use compaction::cuda;
///
/// // SAFETY: this program copies and clears by `cuda::upload`, `overwrite`, `copy`, `clear` and `download` alone.
/// let context = unsafe { cuda::open_untracked(0) }?;
/// assert!(!context.is_event_tracking());
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`open`].
///
/// # Safety
///
/// A function of cudarc that enqueues a use of a buffer, such as
/// [`CudaStream::memcpy_dtod`](cudarc::driver::CudaStream::memcpy_dtod), orders nothing in this context. Call such
/// functions only on the stream that the buffer was allocated on, or after that stream and before it by
/// [`join`](cudarc::driver::CudaStream::join). Functions of this crate may be called on any stream.
pub unsafe fn open_untracked(ordinal: usize) -> Result<Arc<CudaContext>> {
    let context = open(ordinal)?;
    // SAFETY: cudarc then leaves the order of streams to its user. `Uses` orders each call of this crate through the
    // stream of its buffers, where cudarc also frees them, and the caller orders those of cudarc.
    unsafe { context.disable_event_tracking() };
    Ok(context)
}

/// Opens a context like [`open_untracked`], for a program that calls no function of cudarc that uses a buffer.
///
/// It is not part of the public interface, because nothing stops a caller from breaking this rule. The renderer of this
/// workspace may use it: its test `module_order` finds such calls.
#[doc(hidden)]
pub fn open_for_calls_of_this_crate(ordinal: usize) -> Result<Arc<CudaContext>> {
    // SAFETY: the callers are programs of this workspace, and use buffers by functions of this crate alone.
    unsafe { open_untracked(ordinal) }
}

/// Returns the newest CUDA version that the driver supports as (major, minor), or `None` without a driver.
///
/// ```
/// if let Some((major, minor)) = compaction::cuda::driver_version() {
///     println!("the driver knows CUDA {major}.{minor}");
/// }
/// ```
pub fn driver_version() -> Option<(i32, i32)> {
    driver_library()?;
    let mut version = 0;
    // SAFETY: the pointer is to a live integer; the call needs no initialised driver.
    let answer = unsafe { sys::cuDriverGetVersion(&mut version) };
    answer
        .result()
        .ok()
        .map(|()| (version / 1000, version % 1000 / 10))
}

/// Initialises the driver and returns the number of GPUs, at least one. Returns [`Error::NoDevice`] if the library is
/// missing, where cudarc would panic.
pub(super) fn init_driver() -> Result<usize> {
    let no_device = |reason: String| Error::NoDevice { reason };
    let version = driver_version()
        .ok_or_else(|| no_device("no NVIDIA driver (libcuda) was found".to_owned()))?;
    if version < OLDEST_DRIVER {
        let (major, minor) = version;
        return Err(no_device(format!(
            "the driver knows CUDA {major}.{minor}; CUDA 12.2, driver 535, is needed"
        )));
    }
    let count = CudaContext::device_count()
        .map_err(|error| no_device(format!("the driver says {}", in_words(&error))))?;
    match usize::try_from(count) {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(no_device("the driver knows no GPU".to_owned())),
    }
}

/// Queries the properties of the GPU with the number `ordinal`.
fn describe(ordinal: usize) -> std::result::Result<DeviceInfo, DriverError> {
    let device = result::device::get(ordinal as i32)?;
    let attribute = |which| {
        // SAFETY: `device` was given by the driver just now.
        let value = unsafe { result::device::get_attribute(device, which) }?;
        Ok::<_, DriverError>(value.max(0) as u32)
    };
    Ok(DeviceInfo {
        ordinal,
        name: result::device::get_name(device)?,
        uuid: uuid_text(
            result::device::get_uuid(device)?
                .bytes
                .map(|byte| byte as u8),
        ),
        // SAFETY: as above.
        memory_bytes: unsafe { result::device::total_mem(device) }? as u64,
        compute_capability: (
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
    })
}

/// Formats a UUID as `nvidia-smi` does: `GPU-` and 32 hexadecimal digits in five groups.
fn uuid_text(bytes: [u8; 16]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
    format!("GPU-{}", groups.join("-"))
}

/// Returns the number of streaming multiprocessors of a context's GPU.
pub(crate) fn multiprocessors(context: &Arc<CudaContext>) -> Result<u32> {
    let count = context
        .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        .map_err(Error::driver("ask the device for its multiprocessors"))?;
    Ok(count.max(1) as u32)
}
