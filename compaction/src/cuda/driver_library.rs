//! The driver's library, loaded for functions that the CUDA version of cudarc's bindings may hide.

use std::sync::OnceLock;

use cudarc::driver::{
    DriverError,
    sys::{CUevent, CUresult},
};
use libloading::Library;

/// File names of the driver's library, in the order in which cudarc tries them.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so", "libcuda.so.1"]
};

/// Returns the driver's library, or `None` on a machine without an NVIDIA driver.
///
/// cudarc panics if it calls a function of a library that is missing, and has no test for that in programs that link
/// the library.
pub(super) fn driver_library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let load = || {
        // SAFETY: the driver's initializers only set up its own state.
        NAMES
            .iter()
            .find_map(|name| unsafe { Library::new(*name) }.ok())
    };
    LIBRARY.get_or_init(load).as_ref()
}

/// Returns the time in milliseconds between two events that have completed.
///
/// With bindings of CUDA 13, cudarc calls `cuEventElapsedTime_v2` instead, which drivers before 570 do not have. All
/// drivers have this function.
///
/// # Safety
///
/// Both events exist and belong to one context.
pub(super) unsafe fn elapsed_ms(from: CUevent, to: CUevent) -> Result<f32, DriverError> {
    type ElapsedTime = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> CUresult;
    static FUNCTION: OnceLock<Option<ElapsedTime>> = OnceLock::new();
    let find = || {
        let library = driver_library()?;
        // SAFETY: the name and the type are those of `cuda.h`, unchanged since CUDA 4.
        unsafe { library.get::<ElapsedTime>("cuEventElapsedTime\0") }
            .ok()
            .map(|symbol| *symbol)
    };
    let function = FUNCTION
        .get_or_init(find)
        .ok_or(DriverError(CUresult::CUDA_ERROR_NOT_FOUND))?;
    let mut milliseconds = 0.0;
    // SAFETY: the pointer is to a live number; the caller answers for the events.
    unsafe { function(&mut milliseconds, from, to) }.result()?;
    Ok(milliseconds)
}
