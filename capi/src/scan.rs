//! Scans: plans and calls.

use std::ffi::c_char;

use compaction::{
    CountWord,
    scan::{self, Item, Operator, Scan, Strategy},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, name_or_default, text},
    operation::{Site, TypedOperation, TypedPlan, call_with, run},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{Word, with_number, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_scan_inclusive`] if `inclusive`, and of [`compaction_scan_exclusive`] otherwise.
struct ScanCall {
    values: Address,
    items: u64,
    count: Address,
    out: Address,
    inclusive: bool,
}

/// A scan of items of type `T`, with counts of type `W`.
struct Scans<T: Item, W: CountWord> {
    operator: Operator,
    strategy: Strategy,
    /// The loaded kernels. `None` on the CPU.
    scan: Option<Scan<T, W>>,
}

impl<T: Item, W: CountWord> TypedOperation for Scans<T, W> {
    type Scratch = scan::Workspace<T>;
    type Call = ScanCall;

    fn scratch_variant(&self) -> Strategy {
        self.strategy
    }

    unsafe fn run(&self, site: Site, call: &ScanCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let out = buffers.writes::<T>("out", call.out, call.items)?;
        // In place, only the output borrows the memory.
        let values = match call.values == call.out {
            true => None,
            false => Some(buffers.reads::<T>("values", call.values, call.items)?),
        };
        buffers.check_apart()?;
        let (scan, needed) = (&self.scan, count.max());
        let Some(values) = &values else {
            return run! {
                site, scan, needed, count;
                reads; writes out;
                gpu |scan, stream, scratch: scan::Workspace<T>| match call.inclusive {
                    true => scan.inclusive_in_place(stream, out, count, scratch),
                    false => scan.exclusive_in_place(stream, out, count, scratch),
                };
                cpu |items| {
                    match call.inclusive {
                        true => scan::cpu::inclusive_in_place(self.operator, &mut out[..items]),
                        false => scan::cpu::exclusive_in_place(self.operator, &mut out[..items]),
                    }
                    Ok(())
                }
            };
        };
        run! {
            site, scan, needed, count;
            reads values; writes out;
            gpu |scan, stream, scratch: scan::Workspace<T>| match call.inclusive {
                true => scan.inclusive(stream, values, count, out, scratch),
                false => scan.exclusive(stream, values, count, out, scratch),
            };
            cpu |items| Ok(match call.inclusive {
                true => scan::cpu::inclusive(self.operator, values, out),
                false => scan::cpu::exclusive(self.operator, values, out),
            }?)
        }
    }
}

/// Plans scans: compaction_scan_exclusive and compaction_scan_inclusive.
///
/// `strategy` is look-back, raking, block-sums, blelloch-compact, blelloch or hillis-steele. Null stands for look-back,
/// the fastest. `op` is sum, min or max; null stands for sum. `type` is u32, i32, u64, i64, f32 or f64. Counts are
/// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64.
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
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (strategy, operator, name) = unsafe {
            (
                name_or_default("strategy", strategy)?,
                name_or_default("op", op)?,
                text("type", r#type)?,
            )
        };
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_number!(name, T => {
            let load = |gpu: &Gpu| Scan::<T, W>::new(&gpu.compiler, &gpu.context, operator, strategy);
            let scan = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("scan", Scans { operator, strategy, scan }))
        }))
    })
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
    call_with!(plan, workspace, stream; "scan_exclusive" ScanCall { values, items, count, out, inclusive: false })
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
    call_with!(plan, workspace, stream; "scan_inclusive" ScanCall { values, items, count, out, inclusive: true })
}
