//! Summed-area tables: plans and calls.

use std::ffi::c_char;

use compaction::{
    scan::Item,
    summed_area::{self, Strategy, SummedArea},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, name_or_default, text},
    operation::{Site, TypedOperation, TypedPlan, call_with},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::with_number,
    workspace::Workspace,
};

/// The arguments of [`compaction_summed_area`].
struct TableCall {
    values: Address,
    /// The (width, height) of the table.
    size: (u32, u32),
    out: Address,
}

/// Summed-area tables of items of type `T`.
struct Tables<T: Item> {
    strategy: Strategy,
    /// The loaded kernels. `None` on the CPU.
    table: Option<SummedArea<T>>,
}

impl<T: Item> TypedOperation for Tables<T> {
    type Scratch = summed_area::Workspace<T>;
    type Call = TableCall;

    fn scratch_variant(&self) -> Strategy {
        self.strategy
    }

    unsafe fn run(&self, site: Site, call: &TableCall) -> Result<(), Failure> {
        let (width, height) = call.size;
        let items = u64::from(width) * u64::from(height);
        let mut buffers = Buffers::default();
        let values = buffers.reads::<T>("values", call.values, items)?;
        let out = buffers.writes::<T>("out", call.out, items)?;
        buffers.check_apart()?;
        // SAFETY: the caller's duty. The output does not overlap the input.
        unsafe {
            site.run(
                &self.table,
                values.len(),
                |table, stream, scratch: &mut summed_area::Workspace<T>| {
                    let (values, mut out) = (values.on(stream)?, out.on(stream)?);
                    Ok(table.table(stream, &values, call.size, &mut out, scratch)?)
                },
                || {
                    let size = (width as usize, height as usize);
                    let values = values.host(values.len())?;
                    Ok(summed_area::cpu::table(values, size, out.host()?)?)
                },
            )
        }
    }
}

/// Plans summed-area tables: compaction_summed_area. Workspaces come from compaction_table_workspace_create.
///
/// `strategy` is single-pass or scan-transpose; null stands for single-pass, the faster one. `type` is u32, i32, u64,
/// i64, f32 or f64. Sums of integers wrap around on overflow. Sums of floats have an order of additions that the
/// strategy determines, and the same bits in every run.
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
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (strategy, name) = unsafe {
            (
                name_or_default("strategy", strategy)?,
                text("type", r#type)?,
            )
        };
        with_number!(name, T => {
            let load = |gpu: &Gpu| SummedArea::<T>::new(&gpu.compiler, &gpu.context, strategy);
            let table = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("summed_area", Tables { strategy, table }))
        })
    })
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
    let size = (width, height);
    call_with!(plan, workspace, stream; "summed_area" TableCall { values, size, out })
}
