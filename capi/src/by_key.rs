//! Reductions and scans of the values of each run of equal keys: plans and calls.

use std::ffi::c_char;

use bytemuck::Pod;
use compaction::{
    CountWord,
    layout::Shared,
    reduce,
    runs::{self, Item, Operator, ReduceByKey, ScanByKey},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, name_or_default, text, write_count},
    operation::{Site, TypedOperation, TypedPlan, call_with, operation},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{Word, with_bytes, with_number, with_word},
    workspace::Workspace,
};

/// Reductions of values of type `V` by keys of type `K`, with counts of type `W`.
struct Reductions<K: Pod, V: Item, W: CountWord> {
    operator: Operator,
    /// The loaded kernels. `None` on the CPU.
    reduce: Option<ReduceByKey<K, V, W>>,
}

operation! {
    /// The arguments of [`compaction_reduce_by_key`].
    struct ReduceByKeyCall {}
    impl [K: Shared + Send + Sync, V: Item, W: CountWord] Reductions<K, V, W>, scratch runs::Workspace<K, V>;
    |this, call| kernels reduce;
    count count: W;
    reads keys: K, values: V;
    writes keys_out: K, values_out: V, runs: W [1];
    gpu |reduce, stream, scratch| {
        reduce.pairs(stream, keys, values, count, keys_out, values_out, runs, scratch)
    };
    cpu |items| {
        let kept = runs::cpu::reduce_by_key(this.operator, keys, values, keys_out, values_out)?;
        write_count(runs, kept)
    }
}

/// Scans of values of type `V` by keys of type `K`, with counts of type `W`.
struct Scans<K: Pod, V: Item, W: CountWord> {
    operator: Operator,
    /// The loaded kernels. `None` on the CPU.
    scan: Option<ScanByKey<K, V, W>>,
}

operation! {
    /// The arguments of [`compaction_scan_by_key_inclusive`] if `inclusive`, and of
    /// [`compaction_scan_by_key_exclusive`] otherwise.
    struct ScanByKeyCall { inclusive: bool }
    impl [K: Shared + Send + Sync, V: Item, W: CountWord] Scans<K, V, W>, scratch runs::Workspace<K, V>;
    |this, call| kernels scan;
    count count: W;
    reads keys: K, values: V;
    writes out: V;
    gpu |scan, stream, scratch| match call.inclusive {
        true => scan.inclusive(stream, keys, values, count, out, scratch),
        false => scan.exclusive(stream, keys, values, count, out, scratch),
    };
    cpu |items| {
        let initial = reduce::cpu::items(this.operator, &[]);
        let scan = match call.inclusive {
            true => runs::cpu::inclusive_scan_by_key,
            false => runs::cpu::exclusive_scan_by_key,
        };
        Ok(scan(this.operator, initial, keys, values, out)?)
    }
}

/// Plans reductions of the values of each run of equal keys: compaction_reduce_by_key.
///
/// `op` is sum, min or max; null stands for sum. `key_bytes` is 4 or 8. Keys are equal if their bytes are equal. `type`
/// is the type of the values: u32, i32, u64, i64, f32 or f64. Counts are unsigned words of `word_bits` bits: 32, for
/// fewer than 2^32 keys, or 64.
///
/// Sums of integers wrap around on overflow. Sums of floats have the same bits on every GPU and on the CPU.
///
/// The library contains the kernels of sums by keys of 4 bytes with counts of 32 bits. Others need NVRTC on the first
/// use.
///
/// # Safety
///
/// `context` must be a context of this library. The names must be texts that end with a zero byte; `op` may be null.
/// `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_reduce_by_key(
    context: *const Context,
    op: *const c_char,
    key_bytes: u32,
    r#type: *const c_char,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (operator, name) = unsafe { (name_or_default("op", op)?, text("type", r#type)?) };
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_bytes!("key_bytes", key_bytes, K => with_number!(name, V => {
            let load = |gpu: &Gpu| {
                ReduceByKey::<K, V, W>::new(&gpu.compiler, &gpu.context, operator)
            };
            let reduce = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("reduce_by_key", Reductions { operator, reduce }))
        })))
    })
}

/// Writes the key of each run of equal keys to `keys_out`, the combination of its values to `values_out`, and the
/// number of runs to the word at `runs`.
///
/// Reads `items` keys and values, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `keys_out` and
/// `values_out` must have room for `items` entries. Memory behind the results keeps its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_reduce_by_key(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    values: Address,
    items: u64,
    count: Address,
    keys_out: Address,
    values_out: Address,
    runs: Address,
) -> Status {
    call_with!(plan, workspace, stream; "reduce_by_key" ReduceByKeyCall {
        keys, values, items, count, keys_out, values_out, runs
    })
}

/// Plans scans of the values of each run of equal keys: compaction_scan_by_key_exclusive and
/// compaction_scan_by_key_inclusive.
///
/// The parameters are those of compaction_plan_reduce_by_key, and so are the kernels that the library contains.
///
/// # Safety
///
/// As for compaction_plan_reduce_by_key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_scan_by_key(
    context: *const Context,
    op: *const c_char,
    key_bytes: u32,
    r#type: *const c_char,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (operator, name) = unsafe { (name_or_default("op", op)?, text("type", r#type)?) };
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_bytes!("key_bytes", key_bytes, K => with_number!(name, V => {
            let load = |gpu: &Gpu| ScanByKey::<K, V, W>::new(&gpu.compiler, &gpu.context, operator);
            let scan = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("scan_by_key", Scans { operator, scan }))
        })))
    })
}

/// Writes to `out`, for each item, the combination of all values before it in its run of equal keys. The first result
/// of a run is the identity of the operator: 0 for sum, the largest value for min, the smallest for max.
///
/// Reads `items` keys and values, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must
/// have room for `items` values. Memory behind the results keeps its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_scan_by_key_exclusive(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "scan_by_key_exclusive" ScanByKeyCall {
        keys, values, items, count, out, inclusive: false
    })
}

/// Writes to `out`, for each item, the combination of all values in its run of equal keys up to and including its own.
/// Otherwise like compaction_scan_by_key_exclusive.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_scan_by_key_inclusive(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "scan_by_key_inclusive" ScanByKeyCall {
        keys, values, items, count, out, inclusive: true
    })
}
