//! Unique items and run lengths: plans and calls.

use bytemuck::Pod;
use compaction::{
    CountWord,
    layout::Shared,
    runs::{self, RunLengths, Unique, UniqueByKey},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, to_word},
    operation::{Site, TypedOperation, TypedPlan, call},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{ItemSize, Word, with_bytes, with_item, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_unique`].
struct UniqueCall {
    values: Address,
    items: u64,
    count: Address,
    out: Address,
    runs: Address,
}

/// The first items of the runs of items of type `T`, with counts of type `W`. `None` on the CPU.
struct Uniques<T: Pod, W: CountWord>(Option<Unique<T, W>>);

impl<T: Shared + Send + Sync, W: CountWord> TypedOperation for Uniques<T, W> {
    type Scratch = runs::Workspace<T>;
    type Call = UniqueCall;

    fn strategy(&self) {}

    unsafe fn run(&self, site: Site, call: &UniqueCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let values = buffers.reads::<T>("values", call.values, call.items)?;
        let out = buffers.writes::<T>("out", call.out, call.items)?;
        let runs = buffers.writes::<W>("runs", call.runs, 1)?;
        buffers.check_apart()?;
        // SAFETY: the caller's duty. No output overlaps another buffer.
        unsafe {
            site.run(
                &self.0,
                count.max(),
                |unique, stream, scratch| {
                    Ok(unique.items(
                        stream,
                        &values.on(stream)?,
                        count.on(stream)?.get(),
                        &mut out.on(stream)?,
                        &mut runs.on(stream)?,
                        scratch,
                    )?)
                },
                || {
                    let kept = runs::cpu::unique(values.host(count.host()?)?, out.host()?)?;
                    runs.host()?[0] = to_word("items", kept)?;
                    Ok(())
                },
            )
        }
    }
}

/// The arguments of [`compaction_unique_by_key`].
struct UniqueByKeyCall {
    keys: Address,
    values: Address,
    items: u64,
    count: Address,
    keys_out: Address,
    values_out: Address,
    runs: Address,
}

/// The first pairs of the runs of keys of type `K`, with counts of type `W`. `None` on the CPU.
struct UniquePairs<K: Pod, V: Pod, W: CountWord>(Option<UniqueByKey<K, V, W>>);

impl<K, V, W> TypedOperation for UniquePairs<K, V, W>
where
    K: Shared + Send + Sync,
    V: Shared + Send + Sync,
    W: CountWord,
{
    type Scratch = runs::Workspace<K, V>;
    type Call = UniqueByKeyCall;

    fn strategy(&self) {}

    unsafe fn run(&self, site: Site, call: &UniqueByKeyCall) -> Result<(), Failure> {
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
                &self.0,
                count.max(),
                |unique, stream, scratch| {
                    Ok(unique.pairs(
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
                    let items = count.host()?;
                    let (keys, values) = (keys.host(items)?, values.host(items)?);
                    let (keys_out, values_out) = (keys_out.host()?, values_out.host()?);
                    let kept = runs::cpu::unique_by_key(keys, values, keys_out, values_out)?;
                    runs.host()?[0] = to_word("items", kept)?;
                    Ok(())
                },
            )
        }
    }
}

/// The arguments of [`compaction_run_lengths`].
struct LengthsCall {
    values: Address,
    items: u64,
    count: Address,
    out: Address,
    lengths: Address,
    runs: Address,
}

/// The lengths of the runs of items of type `T`, with lengths and counts of type `W`. `None` on the CPU.
struct Lengths<T: Pod, W: CountWord>(Option<RunLengths<T, W>>);

impl<T: Shared + Send + Sync, W: CountWord> TypedOperation for Lengths<T, W> {
    type Scratch = runs::Workspace<T>;
    type Call = LengthsCall;

    fn strategy(&self) {}

    unsafe fn run(&self, site: Site, call: &LengthsCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let values = buffers.reads::<T>("values", call.values, call.items)?;
        let out = buffers.writes::<T>("out", call.out, call.items)?;
        let lengths = buffers.writes::<W>("lengths", call.lengths, call.items)?;
        let runs = buffers.writes::<W>("runs", call.runs, 1)?;
        buffers.check_apart()?;
        // SAFETY: the caller's duty. No output overlaps another buffer.
        unsafe {
            site.run(
                &self.0,
                count.max(),
                |run_lengths, stream, scratch| {
                    Ok(run_lengths.items(
                        stream,
                        &values.on(stream)?,
                        count.on(stream)?.get(),
                        &mut out.on(stream)?,
                        &mut lengths.on(stream)?,
                        &mut runs.on(stream)?,
                        scratch,
                    )?)
                },
                || {
                    let values = values.host(count.host()?)?;
                    let kept = runs::cpu::run_lengths(values, out.host()?, lengths.host()?)?;
                    runs.host()?[0] = to_word("items", kept)?;
                    Ok(())
                },
            )
        }
    }
}

/// Plans calls that keep the first item of each run of equal items: compaction_unique.
///
/// `item_bytes` is 1, 2 or a multiple of 4 up to 64. Items are equal if their bytes are equal. Counts are unsigned words of
/// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// The library contains the kernels for items of 4 and 8 bytes with counts of 32 bits. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_unique(
    context: *const Context,
    item_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            let load = |gpu: &Gpu| Unique::<T, W>::new(&gpu.compiler, &gpu.context);
            Ok(TypedPlan::new("unique", Uniques(gpu.map(load).transpose()?)))
        }))
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes the first item of each run of equal items to `out`, and the number of runs to the word at `runs`.
///
/// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
/// room for `items` items. Memory behind the results keeps its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_unique(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
    runs: Address,
) -> Status {
    let arguments = UniqueCall {
        values,
        items,
        count,
        out,
        runs,
    };
    // SAFETY: the caller's duty.
    unsafe { call("unique", plan, workspace, stream, arguments) }
}

/// Plans calls that keep the first key of each run of equal keys, with its value: compaction_unique_by_key.
///
/// `key_bytes` and `value_bytes` are 4 or 8. Keys are equal if their bytes are equal. Counts are unsigned words of
/// `word_bits` bits: 32, for fewer than 2^32 keys, or 64.
///
/// The library contains the kernels for counts of 32 bits. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_unique_by_key(
    context: *const Context,
    key_bytes: u32,
    value_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_bytes!("key_bytes", key_bytes, K => {
            with_bytes!("value_bytes", value_bytes, V => {
                let load = |gpu: &Gpu| UniqueByKey::<K, V, W>::new(&gpu.compiler, &gpu.context);
                Ok(TypedPlan::new("unique_by_key", UniquePairs(gpu.map(load).transpose()?)))
            })
        }))
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes the first key of each run of equal keys to `keys_out`, its value to `values_out`, and the number of runs to the
/// word at `runs`.
///
/// Reads `items` keys and values. `keys_out` and `values_out` must have room for as many. Otherwise like
/// compaction_unique.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_unique_by_key(
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
    let arguments = UniqueByKeyCall {
        keys,
        values,
        items,
        count,
        keys_out,
        values_out,
        runs,
    };
    // SAFETY: the caller's duty.
    unsafe { call("unique_by_key", plan, workspace, stream, arguments) }
}

/// Plans calls that count the items of each run of equal items: compaction_run_lengths.
///
/// `item_bytes` is 1, 2 or a multiple of 4 up to 64. Items are equal if their bytes are equal. Lengths and counts are
/// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// The library contains the kernels for items of 4 and 8 bytes with words of 32 bits. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_run_lengths(
    context: *const Context,
    item_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            let load = |gpu: &Gpu| RunLengths::<T, W>::new(&gpu.compiler, &gpu.context);
            Ok(TypedPlan::new("run_lengths", Lengths(gpu.map(load).transpose()?)))
        }))
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes the first item of each run of equal items to `out`, the number of its items to `lengths`, and the number of runs
/// to the word at `runs`.
///
/// `lengths` must have room for `items` words. Otherwise like compaction_unique.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_run_lengths(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
    lengths: Address,
    runs: Address,
) -> Status {
    let arguments = LengthsCall {
        values,
        items,
        count,
        out,
        lengths,
        runs,
    };
    // SAFETY: the caller's duty.
    unsafe { call("run_lengths", plan, workspace, stream, arguments) }
}
