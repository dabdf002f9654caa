//! Workspaces: the scratch memory of a plan.

use std::{
    any::{Any, TypeId},
    sync::{Arc, Mutex, MutexGuard, TryLockError},
};

use compaction::{
    Error,
    cuda::{Arena, Handover},
    cudarc::driver::{CudaContext, CudaStream},
    gather, histogram, partition,
    radix_sort::{self, Key},
    reduce, runs,
    scan::{self, Item},
    segmented_reduce, segmented_sort, select, select_columns, summed_area, top_k,
};

use crate::{
    context::Backend,
    memory::{Address, CUstream_st, borrow, check_pointer, to_len},
    plan::{Extent, Plan},
    status::{Failure, Status, guard, guard_destruction},
};

/// Scratch memory for the calls of plans with the same operation, strategy and types, one call after the other.
pub struct Workspace {
    backend: Backend,
    scratch: Mutex<Box<dyn Scratch>>,
}

/// The scratch memory of one operation.
pub(crate) trait Scratch: Any + Send {
    /// Waits for the stream. Returns an error if a device count was too large since the last check.
    fn check(&mut self, stream: &Arc<CudaStream>) -> compaction::Result<()>;

    /// Uses the memory on another stream from now on.
    fn hand_over(&mut self, handover: &Handover) -> compaction::Result<()>;
}

/// What a workspace of a plan on the CPU is for. It has no memory.
pub(crate) struct HostScratch {
    /// The type of the scratch memory that the plan would have on a GPU.
    kind: TypeId,
    /// The strategy or the parameter of the plan.
    variant: (&'static str, usize),
    /// The number of items.
    capacity: usize,
}

impl HostScratch {
    /// Returns that of a plan whose scratch memory on a GPU has the type `S`. Returns a failure if `extent` is of the wrong
    /// kind.
    pub(crate) fn of<S: PlanScratch>(
        strategy: S::Strategy,
        extent: Extent,
    ) -> Result<Self, Failure> {
        let capacity = S::capacity(extent)?;
        Ok(Self {
            kind: TypeId::of::<S>(),
            variant: strategy.variant(),
            capacity: if S::IS_LIMITED { capacity } else { usize::MAX },
        })
    }
}

impl Scratch for HostScratch {
    fn check(&mut self, _: &Arc<CudaStream>) -> compaction::Result<()> {
        Ok(())
    }

    fn hand_over(&mut self, _: &Handover) -> compaction::Result<()> {
        Ok(())
    }
}

/// Scratch memory that a plan creates: its size depends on the strategy of the plan, if it has one, and on an extent.
pub(crate) trait PlanScratch: Scratch + Sized {
    /// The strategy or the parameter on which the size depends, or `()`.
    type Strategy: Variant;
    /// Whether calls on more items than the memory was made for are errors.
    const IS_LIMITED: bool;

    /// Returns the number of items of `extent`. Returns a failure if it is a table and the operation takes a length, or
    /// the reverse.
    fn capacity(extent: Extent) -> Result<usize, Failure>;

    /// Returns the size in bytes of the memory for calls on up to `extent` items. Returns the failures of
    /// [`capacity`](Self::capacity).
    fn bytes_for(
        context: &Arc<CudaContext>,
        strategy: Self::Strategy,
        extent: Extent,
    ) -> Result<usize, Failure>;

    /// Creates the memory for calls on up to `extent` items. Returns the failures of [`bytes_for`](Self::bytes_for), or
    /// one if there is too little memory.
    fn in_arena(
        arena: &mut Arena,
        strategy: Self::Strategy,
        extent: Extent,
    ) -> Result<Self, Failure>;
}

/// What distinguishes scratch memory of one type: a strategy, a parameter, or nothing.
pub(crate) trait Variant {
    /// Returns the name of the strategy and the parameter, or an empty text and 0.
    fn variant(self) -> (&'static str, usize);
}

impl Variant for () {
    fn variant(self) -> (&'static str, usize) {
        ("", 0)
    }
}

/// Implements [`Scratch`] by the methods of a workspace.
macro_rules! scratch {
    ([$($generics:tt)*] $workspace:ty) => {
        impl<$($generics)*> Scratch for $workspace {
            fn check(&mut self, stream: &Arc<CudaStream>) -> compaction::Result<()> {
                Self::check(self, stream)
            }

            fn hand_over(&mut self, handover: &Handover) -> compaction::Result<()> {
                Self::hand_over(self, handover)
            }
        }
    };
}

/// Implements [`Scratch`] and [`PlanScratch`] by the methods of workspaces for a number of items.
macro_rules! item_scratch {
    ($($is_limited:literal [$($generics:tt)*] $workspace:ty),+ $(,)?) => {$(
        scratch!([$($generics)*] $workspace);

        impl<$($generics)*> PlanScratch for $workspace {
            type Strategy = ();
            const IS_LIMITED: bool = $is_limited;

            fn capacity(extent: Extent) -> Result<usize, Failure> {
                extent.items()
            }

            fn bytes_for(context: &Arc<CudaContext>, (): (), extent: Extent) -> Result<usize, Failure> {
                Ok(Self::bytes_for(context, extent.items()?)?)
            }

            fn in_arena(arena: &mut Arena, (): (), extent: Extent) -> Result<Self, Failure> {
                Ok(Self::in_arena(arena, extent.items()?)?)
            }
        }
    )+};
}

/// Implements [`PlanScratch`] by the methods of workspaces whose size depends on a strategy.
macro_rules! strategy_scratch {
    ($([$($generics:tt)*] $workspace:ty, $strategy:ty, $extent:ident);+ $(;)?) => {$(
        impl<$($generics)*> PlanScratch for $workspace {
            type Strategy = $strategy;
            const IS_LIMITED: bool = true;

            fn capacity(extent: Extent) -> Result<usize, Failure> {
                extent.$extent()?;
                Ok(extent.area())
            }

            fn bytes_for(
                context: &Arc<CudaContext>,
                strategy: $strategy,
                extent: Extent,
            ) -> Result<usize, Failure> {
                Ok(Self::bytes_for(context, strategy, extent.$extent()?)?)
            }

            fn in_arena(
                arena: &mut Arena,
                strategy: $strategy,
                extent: Extent,
            ) -> Result<Self, Failure> {
                Ok(Self::in_arena(arena, strategy, extent.$extent()?)?)
            }
        }

        impl Variant for $strategy {
            fn variant(self) -> (&'static str, usize) {
                (self.name(), 0)
            }
        }
    )+};
}

item_scratch!(
    true [] select_columns::Workspace,
    true [] partition::Workspace,
    true [K: Key, V: 'static] radix_sort::Workspace<K, V>,
    true [] reduce::Workspace,
    true [K: 'static, V: 'static] runs::Workspace<K, V>,
    false [] histogram::Workspace,
    true [T: 'static] segmented_reduce::Workspace<T>,
    true [K: Key, V: 'static] segmented_sort::Workspace<K, V>,
    false [] gather::Workspace,
);
scratch!([] select::Workspace);
scratch!([K: Key] top_k::Workspace<K>);
scratch!([T: Item + Send] scan::Workspace<T>);
strategy_scratch!(
    [] select::Workspace, select::Strategy, items;
    [T: Item + Send] scan::Workspace<T>, scan::Strategy, items;
    [T: Item] summed_area::Workspace<T>, summed_area::Strategy, table;
);

/// The largest k of the calls of a plan of top_k.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxK(pub(crate) usize);

impl Variant for MaxK {
    fn variant(self) -> (&'static str, usize) {
        ("", self.0)
    }
}

impl<K: Key> PlanScratch for top_k::Workspace<K> {
    type Strategy = MaxK;
    const IS_LIMITED: bool = true;

    fn capacity(extent: Extent) -> Result<usize, Failure> {
        extent.items()
    }

    fn bytes_for(
        context: &Arc<CudaContext>,
        MaxK(max_k): MaxK,
        extent: Extent,
    ) -> Result<usize, Failure> {
        Ok(Self::bytes_for(context, extent.items()?, max_k)?)
    }

    fn in_arena(arena: &mut Arena, MaxK(max_k): MaxK, extent: Extent) -> Result<Self, Failure> {
        Ok(Self::in_arena(arena, extent.items()?, max_k)?)
    }
}

impl<T: Item> Scratch for summed_area::Workspace<T> {
    fn check(&mut self, stream: &Arc<CudaStream>) -> compaction::Result<()> {
        // A table has no count.
        stream
            .synchronize()
            .map_err(Error::driver("wait for a stream"))
    }

    fn hand_over(&mut self, handover: &Handover) -> compaction::Result<()> {
        Self::hand_over(self, handover)
    }
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
