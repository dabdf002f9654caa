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
    memory::{Address, CUstream_st, name_or_default, text, to_word},
    operation::{Site, TypedOperation, TypedPlan, call},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{Word, with_bytes, with_number, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_reduce_by_key`].
struct ReduceByKeyCall {
    keys: Address,
    values: Address,
    items: u64,
    count: Address,
    keys_out: Address,
    values_out: Address,
    runs: Address,
}

/// Reductions of values of type `V` by keys of type `K`, with counts of type `W`.
struct Reductions<K: Pod, V: Item, W: CountWord> {
    operator: Operator,
    /// The loaded kernels. `None` on the CPU.
    reduce: Option<ReduceByKey<K, V, W>>,
}

impl<K, V: Item, W: CountWord> TypedOperation for Reductions<K, V, W>
where
    K: Shared + Send + Sync,
{
    type Scratch = runs::Workspace<K, V>;
    type Call = ReduceByKeyCall;

    fn strategy(&self) {}

    unsafe fn run(&self, site: Site, call: &ReduceByKeyCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let keys = buffers.reads::<K>("keys", call.keys, call.items)?;
        let values = buffers.reads::<V>("values", call.values, call.items)?;
        let keys_out = buffers.writes::<K>("keys_out", call.keys_out, call.items)?;
        let values_out = buffers.writes::<V>("values_out", call.values_out, call.items)?;
        let runs = buffers.writes::<W>("runs", call.runs, 1)?;
        buffers.check_apart()?;
        // SAFETY: the caller's duty. No output overlaps another buffer.
        unsafe {
            site.run(
                &self.reduce,
                count.max(),
                |reduce, stream, scratch| {
                    Ok(reduce.pairs(
                        stream,
                        &keys.on(stream)?,
                        &values.on(stream)?,
                        count.on(stream)?.get(),
                        &mut keys_out.on(stream)?,
                        &mut values_out.on(stream)?,
                        &mut runs.on(stream)?,
                        scratch,
                    )?)
                },
                || {
                    let (items, operator) = (count.host()?, self.operator);
                    let (keys, values) = (keys.host(items)?, values.host(items)?);
                    let (keys_out, values_out) = (keys_out.host()?, values_out.host()?);
                    let kept =
                        runs::cpu::reduce_by_key(operator, keys, values, keys_out, values_out)?;
                    runs.host()?[0] = to_word("items", kept)?;
                    Ok(())
                },
            )
        }
    }
}

/// The arguments of [`compaction_scan_by_key_inclusive`] if `inclusive`, and of [`compaction_scan_by_key_exclusive`]
/// otherwise.
struct ScanByKeyCall {
    keys: Address,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
    inclusive: bool,
}

/// Scans of values of type `V` by keys of type `K`, with counts of type `W`.
struct Scans<K: Pod, V: Item, W: CountWord> {
    operator: Operator,
    /// The loaded kernels. `None` on the CPU.
    scan: Option<ScanByKey<K, V, W>>,
}

impl<K, V: Item, W: CountWord> TypedOperation for Scans<K, V, W>
where
    K: Shared + Send + Sync,
{
    type Scratch = runs::Workspace<K, V>;
    type Call = ScanByKeyCall;

    fn strategy(&self) {}

    unsafe fn run(&self, site: Site, call: &ScanByKeyCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let keys = buffers.reads::<K>("keys", call.keys, call.items)?;
        let values = buffers.reads::<V>("values", call.values, call.items)?;
        let out = buffers.writes::<V>("out", call.out, call.items)?;
        buffers.check_apart()?;
        // SAFETY: the caller's duty. The output overlaps no other buffer.
        unsafe {
            site.run(
                &self.scan,
                count.max(),
                |scan, stream, scratch: &mut runs::Workspace<K, V>| {
                    let (keys, values) = (keys.on(stream)?, values.on(stream)?);
                    let count = count.on(stream)?;
                    let (count, mut out) = (count.get(), out.on(stream)?);
                    Ok(match call.inclusive {
                        true => scan.inclusive(stream, &keys, &values, count, &mut out, scratch),
                        false => scan.exclusive(stream, &keys, &values, count, &mut out, scratch),
                    }?)
                },
                || {
                    let (items, operator) = (count.host()?, self.operator);
                    let (keys, values) = (keys.host(items)?, values.host(items)?);
                    let (initial, out) = (reduce::cpu::items(operator, &[]), out.host()?);
                    let scan = match call.inclusive {
                        true => runs::cpu::inclusive_scan_by_key,
                        false => runs::cpu::exclusive_scan_by_key,
                    };
                    Ok(scan(operator, initial, keys, values, out)?)
                },
            )
        }
    }
}

/// Plans reductions of the values of each run of equal keys: compaction_reduce_by_key.
///
/// `op` is sum, min or max; null stands for sum. `key_bytes` is 4 or 8. Keys are equal if their bytes are equal. `type` is
/// the type of the values: u32, i32, u64, f32 or f64. Counts are unsigned words of `word_bits` bits: 32, for fewer than
/// 2^32 keys, or 64.
///
/// Sums of integers wrap around on overflow. Sums of floats have the same bits on every GPU and on the CPU.
///
/// The library contains the kernels of sums by keys of 4 bytes with counts of 32 bits. Others need NVRTC on the first use.
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
    let make = |gpu: Option<&Gpu>| {
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
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes the key of each run of equal keys to `keys_out`, the combination of its values to `values_out`, and the number of
/// runs to the word at `runs`.
///
/// Reads `items` keys and values, or as many as the word at the address `count` says, if that is not 0. A word larger than
/// `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `keys_out` and
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
    let arguments = ReduceByKeyCall {
        keys,
        values,
        items,
        count,
        keys_out,
        values_out,
        runs,
    };
    // SAFETY: the caller's duty.
    unsafe { call("reduce_by_key", plan, workspace, stream, arguments) }
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
    let make = |gpu: Option<&Gpu>| {
        // SAFETY: the caller's duty.
        let (operator, name) = unsafe { (name_or_default("op", op)?, text("type", r#type)?) };
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_bytes!("key_bytes", key_bytes, K => with_number!(name, V => {
            let load = |gpu: &Gpu| ScanByKey::<K, V, W>::new(&gpu.compiler, &gpu.context, operator);
            let scan = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("scan_by_key", Scans { operator, scan }))
        })))
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes to `out`, for each item, the combination of all values before it in its run of equal keys. The first result of a
/// run is the identity of the operator: 0 for sum, the largest value for min, the smallest for max.
///
/// Reads `items` keys and values, or as many as the word at the address `count` says, if that is not 0. A word larger than
/// `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have room
/// for `items` values. Memory behind the results keeps its values.
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
    let arguments = ScanByKeyCall {
        keys,
        values,
        items,
        count,
        out,
        inclusive: false,
    };
    // SAFETY: the caller's duty.
    unsafe { call("scan_by_key_exclusive", plan, workspace, stream, arguments) }
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
    let arguments = ScanByKeyCall {
        keys,
        values,
        items,
        count,
        out,
        inclusive: true,
    };
    // SAFETY: the caller's duty.
    unsafe { call("scan_by_key_inclusive", plan, workspace, stream, arguments) }
}
