//! Workspaces: the scratch memory of a plan.

use std::{
    any::{Any, TypeId},
    sync::{Arc, Mutex, MutexGuard, TryLockError},
};

use compaction::{
    Error,
    cuda::{Arena, Handover},
    cudarc::driver::CudaStream,
};

use crate::{
    context::Backend,
    memory::{Address, CUstream_st, borrow, check_pointer, to_len},
    plan::Plan,
    scratch::{Extent, HostScratch, Scratch},
    status::{Failure, Status, guard, guard_destruction},
};

/// Scratch memory for the calls of plans with the same operation, strategy and types, one call after the other.
pub struct Workspace {
    backend: Backend,
    scratch: Mutex<Box<dyn Scratch>>,
}

impl Workspace {
    /// Locks the scratch memory for a call. Returns a failure if another call is using it.
    fn lock(&self) -> Result<MutexGuard<'_, Box<dyn Scratch>>, Failure> {
        match self.scratch.try_lock() {
            Ok(guard) => Ok(guard),
            // The next call overwrites what a panic left.
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let message = "workspace: another thread is using it";
                Err(Failure::new(Status::CompactionBusy, message))
            }
        }
    }

    /// Runs `call` with the scratch memory as the type `S`, on a stream. Returns a failure if another call is using it,
    /// or if it was made for another operation or other types.
    ///
    /// # Safety
    ///
    /// The stream's work must be ordered after earlier calls with this workspace.
    pub(crate) unsafe fn with<S: Scratch>(
        &self,
        stream: &Arc<CudaStream>,
        call: impl FnOnce(&mut S) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut scratch = self.lock()?;
        // SAFETY: the caller's duty.
        scratch.hand_over(&unsafe { Handover::to(stream) })?;
        let scratch: &mut dyn Any = scratch.as_mut();
        call(scratch.downcast_mut().ok_or_else(foreign)?)
    }

    /// Runs `call` on the CPU, with the workspace locked. Returns a failure if another call is using it, if it was made
    /// for fewer than `items` items, or if it was made for another operation, strategy or other types. `S` is the type of
    /// the scratch memory on a GPU.
    pub(crate) fn on_host<S: Scratch>(
        &self,
        variant: (&'static str, usize),
        items: usize,
        call: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let scratch = self.lock()?;
        let scratch: &dyn Any = scratch.as_ref();
        let scratch: &HostScratch = scratch.downcast_ref().ok_or_else(foreign)?;
        if scratch.kind != TypeId::of::<S>() || scratch.variant != variant {
            return Err(foreign());
        }
        if scratch.capacity < items {
            return Err(Failure::from(Error::WorkspaceTooSmall {
                what: "items".to_owned(),
                needed: items,
                got: scratch.capacity,
            }));
        }
        call()
    }
}

/// Returns the failure for a workspace that does not fit the plan of a call.
fn foreign() -> Failure {
    Failure::invalid(
        "workspace: it was made for a plan of another operation, strategy or other types",
    )
}

/// Writes the size of a workspace to `*bytes`.
///
/// # Safety
///
/// `plan` must be null or a plan of this library, and `bytes` null or point to a word.
unsafe fn write_bytes(
    plan: *const Plan,
    extent: impl FnOnce() -> Result<Extent, Failure>,
    bytes: *mut u64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        check_pointer("bytes", bytes)?;
        let _keep = plan.backend.enter();
        let needed = match &plan.backend {
            Backend::Cpu => {
                plan.operation.host_scratch(extent()?)?;
                0
            }
            Backend::Cuda(gpu) => plan.operation.scratch_bytes(&gpu.context, extent()?)?,
        };
        // SAFETY: not null, so it points to a word.
        unsafe { bytes.write(needed as u64) };
        Ok(())
    })
}

/// Writes a new workspace to `*workspace`.
///
/// `memory` is device memory of `bytes` bytes for it; 0 allocates. Both are ignored on the CPU. After a failure,
/// `*workspace` is unchanged.
///
/// # Safety
///
/// As for [`compaction_workspace_create`].
unsafe fn create(
    plan: *const Plan,
    stream: *mut CUstream_st,
    extent: impl FnOnce() -> Result<Extent, Failure>,
    (memory, bytes): (Address, u64),
    workspace: *mut *mut Workspace,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        check_pointer("workspace", workspace)?;
        // SAFETY: the caller's duty.
        let scratch: Box<dyn Scratch> = match unsafe { plan.stream(stream) } {
            None => Box::new(plan.operation.host_scratch(extent()?)?),
            Some((_keep, stream)) => {
                let mut arena = if memory == 0 {
                    Arena::allocating(&stream)
                } else {
                    // SAFETY: the caller's duty.
                    unsafe { Arena::borrowing(&stream, memory, to_len(bytes)?) }?
                };
                plan.operation.scratch(&mut arena, extent()?)?
            }
        };
        let created = Box::new(Workspace {
            backend: plan.backend.clone(),
            scratch: Mutex::new(scratch),
        });
        // SAFETY: not null, so it points to memory for a pointer.
        unsafe { workspace.write(Box::into_raw(created)) };
        Ok(())
    })
}

/// Writes to `*bytes` the size in bytes of the device memory of a workspace for calls on up to `items` items. It is 0
/// for a plan on the CPU.
///
/// # Safety
///
/// `plan` must be a plan of this library, and `bytes` must point to a word; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_workspace_bytes(
    plan: *const Plan,
    items: u64,
    bytes: *mut u64,
) -> Status {
    // SAFETY: the caller's duty.
    unsafe { write_bytes(plan, || Ok(Extent::Items(to_len(items)?)), bytes) }
}

/// Creates a workspace for calls on up to `items` items, and prepares it on `stream`.
///
/// `memory` is the device address of `bytes` bytes that the workspace uses until it is destroyed, a multiple of 256.
/// With the address 0, the workspace allocates its memory on the stream and frees it when destroyed.
///
/// The workspace serves all plans with the same operation, strategy and types, one call after the other. Calls on
/// different streams must be ordered by the caller. It never needs clearing. On the CPU, it has no memory and `memory` is
/// ignored, but calls check it as on a GPU.
///
/// # Safety
///
/// `plan` must be a plan of this library, `stream` a stream of its context, and `workspace` must point to memory for a
/// pointer. Null is an error for `plan` and `workspace`. Nothing else may access the memory while the workspace exists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_workspace_create(
    plan: *const Plan,
    stream: *mut CUstream_st,
    items: u64,
    memory: Address,
    bytes: u64,
    workspace: *mut *mut Workspace,
) -> Status {
    let extent = || Ok(Extent::Items(to_len(items)?));
    // SAFETY: the caller's duty.
    unsafe { create(plan, stream, extent, (memory, bytes), workspace) }
}

/// Writes to `*bytes` the size in bytes of the device memory of a workspace for tables of `width` by `height` items, for
/// a plan of compaction_plan_summed_area. It is 0 for a plan on the CPU.
///
/// # Safety
///
/// `plan` must be a plan of this library, and `bytes` must point to a word; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_table_workspace_bytes(
    plan: *const Plan,
    width: u32,
    height: u32,
    bytes: *mut u64,
) -> Status {
    // SAFETY: the caller's duty.
    unsafe { write_bytes(plan, || Ok(Extent::Table(width, height)), bytes) }
}

/// Creates a workspace for tables of `width` by `height` items, or of another shape that needs no more memory, for a
/// plan of compaction_plan_summed_area. Otherwise like compaction_workspace_create.
///
/// # Safety
///
/// As for compaction_workspace_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_table_workspace_create(
    plan: *const Plan,
    stream: *mut CUstream_st,
    width: u32,
    height: u32,
    memory: Address,
    bytes: u64,
    workspace: *mut *mut Workspace,
) -> Status {
    let extent = || Ok(Extent::Table(width, height));
    // SAFETY: the caller's duty.
    unsafe { create(plan, stream, extent, (memory, bytes), workspace) }
}

/// Waits for the stream. Fails with COMPACTION_COUNT_TOO_LARGE if a call since the last check read a count from device
/// memory that was larger than its `items`; the call then processed `items` items.
///
/// # Safety
///
/// `workspace` must be a workspace of this library or null, which is an error, and `stream` a stream of its context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_workspace_check(
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let workspace = unsafe { borrow("workspace", workspace) }?;
        let Backend::Cuda(gpu) = &workspace.backend else {
            return Ok(());
        };
        let _keep = workspace.backend.enter();
        // SAFETY: the caller's duty.
        let (stream, mut scratch) = (unsafe { gpu.stream(stream) }, workspace.lock()?);
        // SAFETY: the caller's duty.
        scratch.hand_over(&unsafe { Handover::to(&stream) })?;
        Ok(scratch.check(&stream)?)
    })
}

/// Destroys a workspace. Memory that it allocated is freed in the order of the stream of its last call, which must
/// still exist. Null is ignored.
///
/// # Safety
///
/// `workspace` must come from a function that creates one, must not have been destroyed, and must not be in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_workspace_destroy(workspace: *mut Workspace) {
    if workspace.is_null() {
        return;
    }
    guard_destruction(|| {
        // SAFETY: it comes from `Box::into_raw`, and the caller gives it up.
        let workspace = unsafe { Box::from_raw(workspace) };
        let _keep = workspace.backend.enter();
        drop(workspace);
    });
}
