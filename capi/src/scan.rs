//! Scans: plans and calls.

use std::{ffi::c_char, sync::Arc};

use compaction::{
    CountWord,
    cuda::Arena,
    cudarc::driver::{CudaContext, CudaStream},
    scan::{self, Item, Operator, Scan, Strategy},
};

use crate::{
    context::{Context, Gpu},
    memory::{
        Address, CUstream_st, Ranges, borrow, count_of, device, device_count, host, host_count,
        host_mut, name_or_default, text, to_len, to_word,
    },
    plan::{Extent, Operation, Plan, make_plan},
    status::{Failure, Status, guard},
    types::{Word, with_number, with_word},
    workspace::{Scratch, Workspace},
};

/// The operation of a plan of [`compaction_plan_scan`]: scans of items of one type.
struct ScanPlan {
    strategy: Strategy,
    scan: Box<dyn TypedScan>,
}

/// A scan whose item and count types are known.
trait TypedScan: Send + Sync {
    fn scratch_bytes(
        &self,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        items: usize,
    ) -> compaction::Result<usize>;

    fn scratch(
        &self,
        arena: &mut Arena,
        strategy: Strategy,
        items: usize,
    ) -> compaction::Result<Box<dyn Scratch>>;

    /// Returns a failure if the output of a call overlaps another buffer. The output may be the input itself.
    fn check(&self, call: &Call) -> Result<(), Failure>;

    /// Enqueues an inclusive or exclusive scan on a GPU. Returns a failure if the workspace is null, in use or too
    /// small.
    ///
    /// # Safety
    ///
    /// As for [`compaction_scan_exclusive`].
    unsafe fn on_gpu(
        &self,
        workspace: *mut Workspace,
        stream: &Arc<CudaStream>,
        call: &Call,
    ) -> Result<(), Failure>;

    /// Runs an inclusive or exclusive scan on the CPU. Returns a failure if the word at `count` is larger than `items`.
    ///
    /// # Safety
    ///
    /// As for [`compaction_scan_exclusive`].
    unsafe fn on_cpu(&self, call: &Call) -> Result<(), Failure>;
}

/// The arguments of [`compaction_scan_inclusive`] if `inclusive`, and of [`compaction_scan_exclusive`] otherwise.
/// `count` is the address of a word with the number of items, or 0 for all `items`.
struct Call {
    values: Address,
    items: usize,
    count: Address,
    out: Address,
    inclusive: bool,
}

/// A scan with its loaded kernels; `scan` is `None` on the CPU.
struct Typed<T: Item, W: CountWord> {
    operator: Operator,
    scan: Option<Scan<T, W>>,
}

impl<T: Item, W: CountWord> TypedScan for Typed<T, W> {
    fn scratch_bytes(
        &self,
        context: &Arc<CudaContext>,
        strategy: Strategy,
        items: usize,
    ) -> compaction::Result<usize> {
        scan::Workspace::<T>::bytes_for(context, strategy, items)
    }

    fn scratch(
        &self,
        arena: &mut Arena,
        strategy: Strategy,
        items: usize,
    ) -> compaction::Result<Box<dyn Scratch>> {
        Ok(Box::new(scan::Workspace::<T>::in_arena(
            arena, strategy, items,
        )?))
    }

    fn check(&self, call: &Call) -> Result<(), Failure> {
        let ranges = Ranges::default()
            .reads::<W>("count", call.count, usize::from(call.count != 0))?
            .writes::<T>("out", call.out, call.items)?;
        if call.values == call.out {
            return ranges.check_apart();
        }
        ranges
            .reads::<T>("values", call.values, call.items)?
            .check_apart()
    }

    unsafe fn on_gpu(
        &self,
        workspace: *mut Workspace,
        stream: &Arc<CudaStream>,
        call: &Call,
    ) -> Result<(), Failure> {
        let Some(scan) = &self.scan else {
            return Err(Failure::invalid("plan: it has no kernels"));
        };
        // SAFETY: the caller's duty, for all buffers of the call. In place, only the output borrows the memory.
        unsafe {
            let workspace = borrow("workspace", workspace)?;
            let count = device_count::<W>(stream, call.count)?;
            let mut out = device::<T>(stream, "out", call.out, call.items)?;
            let mut out = out.as_view_mut();
            if call.values == call.out {
                return workspace.with(stream, |scratch| match call.inclusive {
                    true => scan.inclusive_in_place(stream, &mut out, count_of(&count), scratch),
                    false => scan.exclusive_in_place(stream, &mut out, count_of(&count), scratch),
                });
            }
            let values = device::<T>(stream, "values", call.values, call.items)?;
            let values = values.as_view();
            workspace.with(stream, |scratch| match call.inclusive {
                true => scan.inclusive(stream, &values, count_of(&count), &mut out, scratch),
                false => scan.exclusive(stream, &values, count_of(&count), &mut out, scratch),
            })
        }
    }

    unsafe fn on_cpu(&self, call: &Call) -> Result<(), Failure> {
        // SAFETY: the caller's duty. The output does not overlap the input, unless only the output is borrowed.
        unsafe {
            let items = host_count::<W>(call.count, call.items)?;
            to_word::<W>("items", items)?;
            let out = host_mut::<T>("out", call.out, items)?;
            if call.values == call.out {
                match call.inclusive {
                    true => scan::cpu::inclusive_in_place(self.operator, out),
                    false => scan::cpu::exclusive_in_place(self.operator, out),
                }
                return Ok(());
            }
            let values = host::<T>("values", call.values, items)?;
            match call.inclusive {
                true => scan::cpu::inclusive(self.operator, values, out)?,
                false => scan::cpu::exclusive(self.operator, values, out)?,
            }
            Ok(())
        }
    }
}

impl Operation for ScanPlan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure> {
        Ok(self
            .scan
            .scratch_bytes(context, self.strategy, extent.items()?)?)
    }

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure> {
        Ok(self.scan.scratch(arena, self.strategy, extent.items()?)?)
    }
}

/// Plans scans: compaction_scan_exclusive and compaction_scan_inclusive.
///
/// `strategy` is look-back, raking, block-sums, blelloch-compact, blelloch or hillis-steele. Null stands for look-back,
/// the fastest. `op` is sum, min or max; null stands for sum. `type` is u32, i32, u64, f32 or f64. Counts are unsigned
/// words of `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// Sums of floats by raking and block-sums have the bits of the CPU. Other strategies add in an order of their own, and
/// give the same bits in every run.
///
/// The library contains the kernels of sums with counts of 32 bits. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library. The names must be texts that end with a zero byte, or null except for
/// `type`. `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_scan(
    context: *const Context,
    strategy: *const c_char,
    op: *const c_char,
    r#type: *const c_char,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        // SAFETY: the caller's duty.
        let (strategy, operator, name) = unsafe {
            (
                name_or_default("strategy", strategy)?,
                name_or_default("op", op)?,
                text("type", r#type)?,
            )
        };
        let word = Word::of_bits(word_bits)?;
        let scan: Result<Box<dyn TypedScan>, Failure> = with_word!(word, W => with_number!(name, T => {
            let load = |gpu: &Gpu| Scan::<T, W>::new(&gpu.compiler, &gpu.context, operator, strategy);
            let scan = gpu.map(load).transpose()?;
            Ok(Box::new(Typed { operator, scan }))
        }));
        Ok(ScanPlan {
            strategy,
            scan: scan?,
        })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes to `out`, for each item, the combination of all items before it. The first result is the identity of the
/// operator: 0 for sum, the largest value for min, the smallest for max.
///
/// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word
/// larger than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out`
/// must have room for `items` items. It may be `values`, and must not overlap it otherwise. Memory behind the results
/// keeps its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_scan_exclusive(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
) -> Status {
    // SAFETY: the caller's duty.
    unsafe { scan_call(plan, workspace, stream, (values, items, count, out), false) }
}

/// Writes to `out`, for each item, the combination of all items up to and including it. Otherwise like
/// compaction_scan_exclusive.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_scan_inclusive(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
) -> Status {
    // SAFETY: the caller's duty.
    unsafe { scan_call(plan, workspace, stream, (values, items, count, out), true) }
}

/// Runs an inclusive or exclusive scan on the GPU or the CPU of the plan.
///
/// # Safety
///
/// As for [`compaction_scan_exclusive`].
unsafe fn scan_call(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    (values, items, count, out): (Address, u64, Address, Address),
    inclusive: bool,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        let scan = &plan.operation::<ScanPlan>("scan")?.scan;
        let items = to_len(items)?;
        let call = Call {
            values,
            items,
            count,
            out,
            inclusive,
        };
        scan.check(&call)?;
        // SAFETY: the caller's duty.
        unsafe {
            match plan.stream(stream) {
                Some((_keep, stream)) => scan.on_gpu(workspace, &stream, &call),
                None => scan.on_cpu(&call),
            }
        }
    })
}
