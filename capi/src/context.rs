//! Contexts: the CPU, or a CUDA context with the compiler of its kernels.

use std::sync::Arc;

use compaction::{
    cuda::{self, Compiler},
    cudarc::driver::{CudaContext, CudaStream, result, sys::CUcontext},
};

use crate::{
    memory::{CUstream_st, check_pointer},
    status::{Failure, Status, guard, guard_destruction},
};

/// A GPU with its CUDA context, or the CPU. Plans are made on a context.
#[derive(Debug)]
pub struct Context {
    pub(crate) backend: Backend,
}

/// The processor that runs the calls of a plan.
#[derive(Clone, Debug)]
pub(crate) enum Backend {
    Cpu,
    Cuda(Gpu),
}

/// A CUDA context, and the compiler of its kernels.
#[derive(Clone, Debug)]
pub(crate) struct Gpu {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) compiler: Compiler,
}

impl Gpu {
    fn new(context: Arc<CudaContext>) -> Self {
        Self {
            context,
            compiler: Compiler::new(),
        }
    }

    /// Wraps a stream of the caller without owning it: dropping the result does not destroy the stream.
    ///
    /// # Safety
    ///
    /// `stream` must be a stream of this context, or null for its default stream. It must stay alive as long as what
    /// is made from the result.
    pub(crate) unsafe fn stream(&self, stream: *mut CUstream_st) -> Arc<CudaStream> {
        // SAFETY: the caller's duty. The caller of the C function orders the work on its stream.
        unsafe { self.context.wrap_borrowed_stream(stream.cast()) }
    }
}

/// Keeps the CUDA context that is current on this thread, and makes it current again when dropped.
#[derive(Debug)]
pub(crate) struct KeepCurrent(Option<CUcontext>);

impl KeepCurrent {
    /// Reads the current context. The driver must have been initialised.
    pub(crate) fn new() -> Self {
        Self(result::ctx::get_current().ok().flatten())
    }
}

impl Drop for KeepCurrent {
    fn drop(&mut self) {
        let now = result::ctx::get_current().ok().flatten();
        if now == self.0 {
            return;
        }
        let before = self.0.unwrap_or(std::ptr::null_mut());
        // SAFETY: the context was current when the call began, and the caller does not destroy it during the call. Null
        // makes no context current.
        let _ = unsafe { result::ctx::set_current(before) };
    }
}

/// Writes a new context to `*context`. If `open` fails, `*context` is unchanged.
///
/// # Safety
///
/// `context` must be null or point to memory for a pointer.
unsafe fn open_with(
    context: *mut *mut Context,
    open: impl FnOnce() -> Result<Backend, Failure>,
) -> Status {
    guard(|| {
        check_pointer("context", context)?;
        let opened = Box::new(Context { backend: open()? });
        // SAFETY: not null, so it points to memory for a pointer.
        unsafe { context.write(Box::into_raw(opened)) };
        Ok(())
    })
}

/// Opens the CUDA context that is current on the calling thread. A primary context is retained. Another context must
/// stay alive until everything made from this one is destroyed.
///
/// Fails with COMPACTION_NO_DEVICE if no context is current.
///
/// # Safety
///
/// `context` must point to memory for a pointer, or be null, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_open_current(context: *mut *mut Context) -> Status {
    let open = || {
        // SAFETY: the documentation makes the life of the context the caller's duty.
        let opened = unsafe { cuda::current_context() }?;
        Ok(Backend::Cuda(Gpu::new(opened)))
    };
    // SAFETY: the caller's duty.
    unsafe { open_with(context, open) }
}

/// Opens the primary context of the GPU with this number, counted from 0, as the CUDA runtime does.
///
/// Fails with COMPACTION_NO_DEVICE if there is no such GPU, or no NVIDIA driver of version 535 or later.
///
/// # Safety
///
/// `context` must point to memory for a pointer, or be null, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_open_device(
    ordinal: i32,
    context: *mut *mut Context,
) -> Status {
    let open = || {
        let ordinal = usize::try_from(ordinal)
            .map_err(|_| Failure::invalid(format!("ordinal: {ordinal} is negative")))?;
        // Without a driver there is no current context to keep.
        let _keep = cuda::driver_version().map(|_| KeepCurrent::new());
        // SAFETY: this library uses buffers by functions of `compaction` alone.
        Ok(Backend::Cuda(Gpu::new(unsafe {
            cuda::open_untracked(ordinal)
        }?)))
    };
    // SAFETY: the caller's duty.
    unsafe { open_with(context, open) }
}

/// Opens the CPU. Its plans take addresses of host memory, ignore the stream, and have finished when a call returns.
/// The results are equal to those of a GPU.
///
/// # Safety
///
/// `context` must point to memory for a pointer, or be null, which is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_open_cpu(context: *mut *mut Context) -> Status {
    // SAFETY: the caller's duty.
    unsafe { open_with(context, || Ok(Backend::Cpu)) }
}

/// Closes a context. Plans that were made on it stay valid. Null is ignored.
///
/// # Safety
///
/// `context` must come from one of the functions that open one, must not have been closed, and must not be in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_close(context: *mut Context) {
    if context.is_null() {
        return;
    }
    guard_destruction(|| {
        // SAFETY: it comes from `Box::into_raw`, and the caller gives it up.
        let context = unsafe { Box::from_raw(context) };
        let _keep = context.backend.enter();
        drop(context);
    });
}

/// Loads the kernels of an operation if there is a GPU.
pub(crate) fn loaded<K>(
    gpu: Option<&Gpu>,
    load: impl FnOnce(&Compiler, &Arc<CudaContext>) -> compaction::Result<K>,
) -> Result<Option<K>, Failure> {
    let load = |gpu: &Gpu| load(&gpu.compiler, &gpu.context);
    Ok(gpu.map(load).transpose()?)
}

impl Backend {
    /// Makes the CUDA context current, for a scope that uses or drops parts of this backend. Returns a guard that makes
    /// the context before it current again, or `None` on the CPU.
    pub(crate) fn enter(&self) -> Option<KeepCurrent> {
        let Self::Cuda(gpu) = self else {
            return None;
        };
        let keep = KeepCurrent::new();
        // If this fails, what follows fails too and reports it.
        let _ = gpu.context.bind_to_thread();
        Some(keep)
    }
}
