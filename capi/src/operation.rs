//! Operations whose types are known, behind plans that do not show them.
//!
//! An operation is a [`TypedOperation`]. A [`TypedPlan`] contains one for the types that the program named,
//! and [`call`] runs it: [`Buffers`](crate::buffers::Buffers) checks the arguments, and [`Site::run`] runs the call on
//! the GPU or on the CPU.

use std::sync::Arc;

use compaction::{
    cuda::Arena,
    cudarc::driver::{CudaContext, CudaStream},
};

use crate::{
    memory::{CUstream_st, borrow},
    plan::{Operation, Plan},
    scratch::{Extent, HostScratch, PlanScratch, Scratch, Variant},
    status::{Failure, Status, guard},
    workspace::Workspace,
};

/// An operation with known types. On a GPU, all its kernels are loaded; the CPU needs none.
pub(crate) trait TypedOperation: Send + Sync + 'static {
    /// The scratch memory of its calls.
    type Scratch: PlanScratch;
    /// The arguments of its calls. Each operation has a type of its own, by which [`call`] finds it.
    type Call: 'static;

    /// Returns the strategy or the parameter on which the size of the scratch memory depends; `()` if there is none.
    fn scratch_variant(&self) -> <Self::Scratch as PlanScratch>::Strategy;

    /// Runs a call. Returns a failure for invalid arguments, before anything is written.
    ///
    /// # Safety
    ///
    /// As for [`compaction_select_indices`](crate::compaction_select_indices).
    unsafe fn run(&self, site: Site, call: &Self::Call) -> Result<(), Failure>;
}

/// A [`TypedOperation`] with arguments of type `C` whose other types are erased.
trait ErasedOperation<C>: Send + Sync {
    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure>;

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure>;

    fn host_scratch(&self, extent: Extent) -> Result<HostScratch, Failure>;

    /// Runs [`TypedOperation::run`].
    ///
    /// # Safety
    ///
    /// As for [`TypedOperation::run`].
    unsafe fn run_erased(
        &self,
        workspace: *mut Workspace,
        stream: Option<Arc<CudaStream>>,
        call: &C,
    ) -> Result<(), Failure>;
}

impl<C, T: TypedOperation<Call = C>> ErasedOperation<C> for T {
    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure> {
        T::Scratch::bytes_for(context, self.scratch_variant(), extent)
    }

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure> {
        let scratch = T::Scratch::in_arena(arena, self.scratch_variant(), extent)?;
        Ok(Box::new(scratch))
    }

    fn host_scratch(&self, extent: Extent) -> Result<HostScratch, Failure> {
        HostScratch::of::<T::Scratch>(self.scratch_variant(), extent)
    }

    unsafe fn run_erased(
        &self,
        workspace: *mut Workspace,
        stream: Option<Arc<CudaStream>>,
        call: &C,
    ) -> Result<(), Failure> {
        let site = Site {
            workspace,
            stream,
            variant: self.scratch_variant().variant(),
        };
        // SAFETY: the caller's duty.
        unsafe { self.run(site, call) }
    }
}

/// The operation of a plan whose calls have arguments of type `C`.
pub(crate) struct TypedPlan<C> {
    name: &'static str,
    operation: Box<dyn ErasedOperation<C>>,
}

impl<C: 'static> TypedPlan<C> {
    /// Creates the operation of a plan. `name` is its name in messages, such as `reduce`.
    pub(crate) fn new(name: &'static str, operation: impl TypedOperation<Call = C>) -> Self {
        let operation = Box::new(operation);
        Self { name, operation }
    }
}

impl<C: 'static> Operation for TypedPlan<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure> {
        self.operation.scratch_bytes(context, extent)
    }

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure> {
        self.operation.scratch(arena, extent)
    }

    fn host_scratch(&self, extent: Extent) -> Result<HostScratch, Failure> {
        self.operation.host_scratch(extent)
    }
}

/// The workspace of a call, and the stream on which it runs. Without a stream it runs on the CPU.
pub(crate) struct Site {
    workspace: *mut Workspace,
    stream: Option<Arc<CudaStream>>,
    variant: (&'static str, usize),
}

impl Site {
    /// Runs `on_gpu` with the kernels, the stream and the scratch memory of type `S`, or `on_cpu` if there is no stream.
    /// `items` is the number of items that the workspace must be for; on a GPU, `on_gpu` checks it.
    ///
    /// Returns a failure if the workspace is null, in use, too small, or for another operation or other types.
    ///
    /// # Safety
    ///
    /// The workspace must be null or one of this library. On a GPU, the stream's work must be ordered after earlier calls
    /// with the workspace.
    pub(crate) unsafe fn run<K, S: Scratch>(
        &self,
        kernels: &Option<K>,
        items: usize,
        on_gpu: impl FnOnce(&K, &Arc<CudaStream>, &mut S) -> Result<(), Failure>,
        on_cpu: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // SAFETY: the caller's duty.
        let workspace = unsafe { borrow("workspace", self.workspace) }?;
        let Some(stream) = &self.stream else {
            return workspace.on_host::<S>(self.variant, items, on_cpu);
        };
        let Some(kernels) = kernels else {
            return Err(Failure::invalid("plan: it has no kernels"));
        };
        // SAFETY: the caller's duty.
        unsafe { workspace.with(stream, |scratch| on_gpu(kernels, stream, scratch)) }
    }
}

/// Runs a call at a [`Site`], with its buffers borrowed: on a GPU by `gpu`, or on the CPU by `cpu`, whose parameter is the
/// number of items. The names of `reads`, `whole`, `writes` and of the count then stand for the borrowed buffers and the
/// count. On the CPU, those of `reads` are cut to the number of items.
macro_rules! run {
    (
        $site:ident, $kernels:expr, $needed:expr, $count:ident;
        reads $($read:ident),*; $(whole $($whole:ident),+;)? writes $($write:ident),+;
        gpu |$operation:ident, $stream:ident, $scratch:ident $(: $scratch_type:ty)?| $gpu:expr;
        cpu |$items:ident| $cpu:expr
    ) => {
        // SAFETY: the caller's duty. No buffer that is written overlaps another one.
        unsafe {
            $site.run(
                $kernels,
                $needed,
                |$operation, $stream, $scratch $(: &mut $scratch_type)?| {
                    let device_count = $count.on($stream)?;
                    let $count = device_count.get();
                    $(let $read = &$read.on($stream)?;)*
                    $($(let $whole = &$whole.on($stream)?;)+)?
                    $(let $write = &mut $write.on($stream)?;)+
                    Ok($gpu?)
                },
                || {
                    let $items = $count.host()?;
                    $(let $read = $read.host($items)?;)*
                    $($(let $whole = $whole.host(usize::MAX)?;)+)?
                    $(let $write = $write.host()?;)+
                    $cpu
                },
            )
        }
    };
}
pub(crate) use run;

/// Declares the arguments of a call, and implements [`TypedOperation`] for its operation.
///
/// The arguments are the address of each buffer, the number of `items` and the address of their `count`, and `more`. Each
/// buffer has a type and, unless there are `items` items, a length. `this` and `call` name the operation and the
/// arguments in lengths and in the code of [`run!`].
macro_rules! operation {
    (
        $(#[$meta:meta])*
        struct $call_type:ident { $($more:ident: $more_type:ty),* }
        impl [$($generics:tt)*] $operation:ty, scratch $scratch_type:ty $(, strategy $strategy:ty)?;
        |$this:ident, $call:ident| kernels $kernels:tt;
        count $count:ident: $word:ty;
        reads $($read:ident: $read_type:ty),*;
        $(whole $($whole:ident: $whole_type:ty [$whole_len:expr]),+;)?
        writes $($write:ident: $write_type:ty $([$write_len:expr])?),+;
        gpu |$loaded:ident, $stream:ident, $scratch:ident| $gpu:expr;
        cpu |$items:ident| $cpu:expr
    ) => {
        $(#[$meta])*
        struct $call_type {
            items: u64,
            count: Address,
            $($read: Address,)*
            $($($whole: Address,)+)?
            $($write: Address,)+
            $($more: $more_type,)*
        }

        impl<$($generics)*> TypedOperation for $operation {
            type Scratch = $scratch_type;
            type Call = $call_type;

            $crate::operation::scratch_variant!($($strategy)?);

            unsafe fn run(&self, site: Site, $call: &$call_type) -> Result<(), Failure> {
                let $this = self;
                let mut buffers = Buffers::default();
                let $count = buffers.count::<$word>($call.count, $call.items)?;
                $(let $read = buffers.reads::<$read_type>(stringify!($read), $call.$read, $call.items)?;)*
                $($(let $whole =
                    buffers.reads::<$whole_type>(stringify!($whole), $call.$whole, $whole_len)?;)+)?
                $(let $write = $crate::operation::written!(
                    buffers, $call, $write, $write_type $(, $write_len)?
                );)+
                buffers.check_apart()?;
                $crate::operation::run! {
                    site, &$this.$kernels, $count.max(), $count;
                    reads $($read),*; $(whole $($whole),+;)? writes $($write),+;
                    gpu |$loaded, $stream, $scratch: $scratch_type| $gpu;
                    cpu |$items| $cpu
                }
            }
        }
    };
}
pub(crate) use operation;

/// Implements [`TypedOperation::scratch_variant`] by the field `strategy`, or for an operation without strategies.
macro_rules! scratch_variant {
    () => {
        fn scratch_variant(&self) {}
    };
    ($strategy:ty) => {
        fn scratch_variant(&self) -> $strategy {
            self.strategy
        }
    };
}
pub(crate) use scratch_variant;

/// Adds a buffer that a call writes, of `items` items or of a length.
macro_rules! written {
    ($buffers:ident, $call:ident, $write:ident, $type:ty) => {
        $crate::operation::written!($buffers, $call, $write, $type, $call.items)
    };
    ($buffers:ident, $call:ident, $write:ident, $type:ty, $len:expr) => {
        $buffers.writes::<$type>(stringify!($write), $call.$write, $len)?
    };
}
pub(crate) use written;

/// Runs a call of a C function, whose name stands without `compaction_`, with arguments that are fields of a struct.
macro_rules! call_with {
    ($plan:ident, $workspace:ident, $stream:ident; $name:literal $call:ident { $($argument:tt)* }) => {{
        let arguments = $call { $($argument)* };
        // SAFETY: the caller's duty.
        unsafe { $crate::operation::call($name, $plan, $workspace, $stream, arguments) }
    }};
}
pub(crate) use call_with;

/// Runs a call with arguments of type `C` on the GPU or the CPU of the plan. `called` is the name of the function without
/// `compaction_`, with which messages begin.
///
/// # Safety
///
/// As for [`compaction_select_indices`](crate::compaction_select_indices).
pub(crate) unsafe fn call<C: 'static>(
    called: &str,
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    call: C,
) -> Status {
    let run = || {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        let operation = &plan.operation::<TypedPlan<C>>(called)?.operation;
        // SAFETY: the caller's duty.
        let (_keep, stream) = unsafe { plan.stream(stream) }.unzip();
        // SAFETY: the caller's duty.
        unsafe { operation.run_erased(workspace, stream, &call) }
    };
    guard(|| run().map_err(|failure: Failure| failure.of_call(called)))
}
