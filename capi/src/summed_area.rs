//! Summed-area tables: plans and calls.

use std::{ffi::c_char, sync::Arc};

use compaction::{
    cuda::Arena,
    cudarc::driver::{CudaContext, CudaStream},
    scan::Item,
    summed_area::{self, Strategy, SummedArea},
};

use crate::{
    context::{Context, Gpu},
    memory::{Address, CUstream_st, Ranges, borrow, device, host, host_mut, name_or_default, text},
    plan::{Extent, Operation, Plan, make_plan},
    status::{Failure, Status, guard},
    types::with_number,
    workspace::{Scratch, Workspace},
};

/// The operation of a plan of [`compaction_plan_summed_area`]: tables of items of one type.
struct TablePlan {
    strategy: Strategy,
    table: Box<dyn TypedTable>,
}

/// Summed-area tables whose item type is known.
trait TypedTable: Send + Sync {
    fn scratch_bytes(
        &self,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        size: (u32, u32),
    ) -> compaction::Result<usize>;

    fn scratch(
        &self,
        arena: &mut Arena,
        strategy: Strategy,
        size: (u32, u32),
    ) -> compaction::Result<Box<dyn Scratch>>;

    /// Returns a failure if the input and the output of a call overlap.
    fn check(&self, call: &Call) -> Result<(), Failure>;

    /// Enqueues the computation of a table on a GPU. Returns a failure if the workspace is null, in use or too small.
    ///
    /// # Safety
    ///
    /// As for [`compaction_summed_area`].
    unsafe fn on_gpu(
        &self,
        workspace: *mut Workspace,
        stream: &Arc<CudaStream>,
        call: &Call,
    ) -> Result<(), Failure>;

    /// Computes a table on the CPU.
    ///
    /// # Safety
    ///
    /// As for [`compaction_summed_area`].
    unsafe fn on_cpu(&self, call: &Call) -> Result<(), Failure>;
}

/// The arguments of [`compaction_summed_area`].
struct Call {
    values: Address,
    /// The (width, height) of the table.
    size: (u32, u32),
    /// The number of items, which is width times height.
    items: usize,
    out: Address,
}

/// An operation with its loaded kernels; `table` is `None` on the CPU.
struct Typed<T: Item> {
    table: Option<SummedArea<T>>,
}

impl<T: Item> TypedTable for Typed<T> {
    fn scratch_bytes(
        &self,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        size: (u32, u32),
    ) -> compaction::Result<usize> {
        summed_area::Workspace::<T>::bytes_for(context, strategy, size)
    }

    fn scratch(
        &self,
        arena: &mut Arena,
        strategy: Strategy,
        size: (u32, u32),
    ) -> compaction::Result<Box<dyn Scratch>> {
        Ok(Box::new(summed_area::Workspace::<T>::in_arena(
            arena, strategy, size,
        )?))
    }

    fn check(&self, call: &Call) -> Result<(), Failure> {
        Ranges::default()
            .reads::<T>("values", call.values, call.items)?
            .writes::<T>("out", call.out, call.items)?
            .check_apart()
    }

    unsafe fn on_gpu(
        &self,
        workspace: *mut Workspace,
        stream: &Arc<CudaStream>,
        call: &Call,
    ) -> Result<(), Failure> {
        let Some(table) = &self.table else {
            return Err(Failure::invalid("plan: it has no kernels"));
        };
        // SAFETY: the caller's duty, for all buffers of the call.
        unsafe {
            let workspace = borrow("workspace", workspace)?;
            let values = device::<T>(stream, "values", call.values, call.items)?;
            let mut out = device::<T>(stream, "out", call.out, call.items)?;
            workspace.with(stream, |scratch| {
                table.table(stream, &values, call.size, &mut out, scratch)
            })
        }
    }

    unsafe fn on_cpu(&self, call: &Call) -> Result<(), Failure> {
        let (width, height) = call.size;
        // SAFETY: the caller's duty. The output does not overlap the input.
        unsafe {
            let values = host::<T>("values", call.values, call.items)?;
            let out = host_mut::<T>("out", call.out, call.items)?;
            let size = (width as usize, height as usize);
            Ok(summed_area::cpu::table(values, size, out)?)
        }
    }
}

impl Operation for TablePlan {
    fn name(&self) -> &'static str {
        "summed_area"
    }

    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure> {
        Ok(self
            .table
            .scratch_bytes(context, self.strategy, extent.table()?)?)
    }

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure> {
        Ok(self.table.scratch(arena, self.strategy, extent.table()?)?)
    }
}

/// Plans summed-area tables: compaction_summed_area. Workspaces come from compaction_table_workspace_create.
///
/// `strategy` is single-pass or scan-transpose; null stands for single-pass, the faster one. `type` is u32, i32, u64,
/// f32 or f64. Sums of integers wrap around on overflow. Sums of floats have an order of additions that the strategy
/// determines, and the same bits in every run.
///
/// The library contains the kernels of all types.
///
/// # Safety
///
/// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `type` such a
/// text. `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_summed_area(
    context: *const Context,
    strategy: *const c_char,
    r#type: *const c_char,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        // SAFETY: the caller's duty.
        let (strategy, name) = unsafe {
            (
                name_or_default("strategy", strategy)?,
                text("type", r#type)?,
            )
        };
        let table: Result<Box<dyn TypedTable>, Failure> = with_number!(name, T => {
            let load = |gpu: &Gpu| SummedArea::<T>::new(&gpu.compiler, &gpu.context, strategy);
            let table = gpu.map(load).transpose()?;
            Ok(Box::new(Typed { table }))
        });
        Ok(TablePlan {
            strategy,
            table: table?,
        })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes to `out`, for each item, the sum of the rectangle of items from the first item to it, inclusive.
///
/// The table has `width` by `height` items, stored row by row without gaps. `out` must have room for as many and must
/// not overlap `values`.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_summed_area(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    width: u32,
    height: u32,
    out: Address,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        let table = &plan.operation::<TablePlan>("summed_area")?.table;
        let call = Call {
            values,
            size: (width, height),
            // The product of two 32-bit numbers fits in 64 bits.
            items: width as usize * height as usize,
            out,
        };
        table.check(&call)?;
        // SAFETY: the caller's duty.
        unsafe {
            match plan.stream(stream) {
                Some((_keep, stream)) => table.on_gpu(workspace, &stream, &call),
                None => table.on_cpu(&call),
            }
        }
    })
}
