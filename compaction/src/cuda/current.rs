//! The CUDA context that another library made current.

use std::{mem::forget, sync::Arc};

use cudarc::driver::{
    CudaContext, DriverError, result,
    sys::{self, CUcontext, CUdevice},
};

use super::device::init_driver;
use crate::error::{Error, Result};

/// Returns the CUDA context that is current on this thread, whoever created it.
///
/// A primary context, such as that of the CUDA runtime and of PyTorch, is retained until the result is dropped.
/// Another context stays its owner's: it is not destroyed when the result is dropped, and each call keeps a few bytes
/// of host memory.
///
/// Like that of [`open_untracked`](super::open_untracked), the buffers of this context are not tracked by events.
///
/// ```no_run
/// use compaction::cuda;
///
/// let theirs = cuda::open(0)?; // stands for another library, which makes its context current
/// // SAFETY: this is a primary context, and no function of cudarc uses its buffers.
/// let context = unsafe { cuda::current_context() }?;
/// assert_eq!(context, theirs);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::NoDevice`] if there is no usable driver or no current context, and [`Error::Driver`] if the context
/// cannot be queried.
///
/// # Safety
///
/// A context that is not primary must stay alive until the result, and all that was made with it, is dropped. Functions
/// of cudarc must be called as after [`open_untracked`](super::open_untracked).
pub unsafe fn current_context() -> Result<Arc<CudaContext>> {
    let count = init_driver()?;
    let asking = || Error::driver("ask for the current context");
    let context = result::ctx::get_current().map_err(asking())?;
    let context = context.ok_or_else(|| Error::NoDevice {
        reason: "no CUDA context is current on this thread".to_owned(),
    })?;
    let mut device = 0;
    // SAFETY: the pointer is to a live integer, and a context is current.
    unsafe { sys::cuCtxGetDevice(&mut device) }
        .result()
        .map_err(asking())?;
    let ordinal = (0..count)
        .find(|&ordinal| result::device::get(ordinal as i32) == Ok(device))
        .ok_or_else(|| Error::NoDevice {
            reason: "the current context belongs to no visible device".to_owned(),
        })?;
    let opened = if is_primary(context, device).map_err(asking())? {
        CudaContext::new(ordinal).map_err(asking())?
    } else {
        // SAFETY: the context is current and hence valid, and the driver named its device. cudarc would destroy it with
        // the last reference, so one reference is never dropped.
        let opened = unsafe { CudaContext::from_raw_context(ordinal, device, context) };
        let opened = opened.map_err(asking())?;
        forget(opened.clone());
        opened
    };
    // SAFETY: as in `open_untracked`.
    unsafe { opened.disable_event_tracking() };
    Ok(opened)
}

/// Returns whether a context is the primary context of its device. Creates no context.
fn is_primary(context: CUcontext, device: CUdevice) -> std::result::Result<bool, DriverError> {
    let (mut flags, mut is_active) = (0, 0);
    // SAFETY: the pointers are to live integers, and the driver named the device.
    unsafe { sys::cuDevicePrimaryCtxGetState(device, &mut flags, &mut is_active) }.result()?;
    if is_active == 0 {
        return Ok(false);
    }
    // SAFETY: the driver named the device, and each retained reference is released.
    unsafe {
        let primary = result::primary_ctx::retain(device)?;
        result::primary_ctx::release(device)?;
        Ok(primary == context)
    }
}
