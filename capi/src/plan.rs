//! Plans: one operation with its strategy, its types and its loaded kernels.

use std::{any::Any, sync::Arc};

use compaction::{
    cuda::Arena,
    cudarc::driver::{CudaContext, CudaStream},
};

use crate::{
    context::{Backend, Context, Gpu, KeepCurrent},
    memory::{borrow, check_pointer},
    scratch::{Extent, HostScratch, Scratch},
    status::{Failure, Status, guard, guard_destruction},
};

/// An operation with its strategy and types. On a GPU, all its kernels are loaded; the CPU needs none.
pub struct Plan {
    pub(crate) backend: Backend,
    pub(crate) operation: Box<dyn Operation>,
}

/// The operation of a plan. Each call downcasts to the type of its own operation.
pub(crate) trait Operation: Any + Send + Sync {
    /// Returns the name of the operation in messages, such as `select`.
    fn name(&self) -> &'static str;

    /// Returns the size in bytes of the scratch memory on the GPU of `context`, for calls on up to `extent` items.
    /// Returns a failure if `extent` is a table and the operation takes a length, or the reverse.
    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure>;

    /// Creates the scratch memory in `arena`, for calls on up to `extent` items. Returns a failure if `extent` is of
    /// the wrong kind, as for [`scratch_bytes`](Self::scratch_bytes), or if there is too little memory.
    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure>;

    /// Returns what a workspace on the CPU is for, by which its calls are checked as on a GPU. Returns a failure if
    /// `extent` is of the wrong kind.
    fn host_scratch(&self, extent: Extent) -> Result<HostScratch, Failure>;
}

impl Plan {
    /// Returns the operation of a plan as the type `T` that the call `called` needs. Returns a failure if the plan is
    /// for another operation.
    pub(crate) fn operation<T: Operation>(&self, called: &str) -> Result<&T, Failure> {
        let operation: &dyn Any = self.operation.as_ref();
        operation.downcast_ref().ok_or_else(|| {
            let name = self.operation.name();
            Failure::invalid(format!("plan: one of {name} cannot run {called}"))
        })
    }

    /// Returns the stream of a plan on a GPU, or `None` for a plan on the CPU, with a guard that restores the
    /// current CUDA context.
    ///
    /// # Safety
    ///
    /// As for [`Gpu::stream`].
    pub(crate) unsafe fn stream(
        &self,
        stream: *mut crate::CUstream_st,
    ) -> Option<(KeepCurrent, Arc<CudaStream>)> {
        let Backend::Cuda(gpu) = &self.backend else {
            return None;
        };
        // SAFETY: the caller's duty.
        let stream = unsafe { gpu.stream(stream) };
        Some((self.backend.enter()?, stream))
    }
}

/// Writes a new plan to `*plan`. If `make` fails, `*plan` is unchanged. `make` gets the GPU, or `None` for the CPU.
///
/// # Safety
///
/// `context` must be null or a context of this library, and `plan` null or point to memory for a pointer.
pub(crate) unsafe fn make<T: Operation>(
    context: *const Context,
    plan: *mut *mut Plan,
    make: impl FnOnce(Option<&Gpu>) -> Result<T, Failure>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let context = unsafe { borrow("context", context) }?;
        check_pointer("plan", plan)?;
        let backend = context.backend.clone();
        let _keep = backend.enter();
        let operation = match &backend {
            Backend::Cpu => make(None),
            Backend::Cuda(gpu) => make(Some(gpu)),
        }?;
        let made = Box::new(Plan {
            backend,
            operation: Box::new(operation),
        });
        // SAFETY: not null, so it points to memory for a pointer.
        unsafe { plan.write(Box::into_raw(made)) };
        Ok(())
    })
}

/// Writes a new plan, as [`make`] does, for a C function whose callers vouch for the pointers.
macro_rules! make_plan {
    ($context:ident, $plan:ident, |$gpu:ident| $make:expr) => {{
        let make = |$gpu: Option<&$crate::context::Gpu>| $make;
        // SAFETY: the caller's duty.
        unsafe { $crate::plan::make($context, $plan, make) }
    }};
}
pub(crate) use make_plan;

/// Destroys a plan and unloads its kernels. Work that it enqueued must have finished, and graphs that captured it must
/// not be launched again. Null is ignored.
///
/// # Safety
///
/// `plan` must come from one of the functions that make one, must not have been destroyed, and must not be in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_destroy(plan: *mut Plan) {
    if plan.is_null() {
        return;
    }
    guard_destruction(|| {
        // SAFETY: it comes from `Box::into_raw`, and the caller gives it up.
        let plan = unsafe { Box::from_raw(plan) };
        let _keep = plan.backend.enter();
        drop(plan);
    });
}
