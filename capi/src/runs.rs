//! Unique items and run lengths: plans and calls.

use bytemuck::Pod;
use compaction::{
    CountWord,
    layout::Shared,
    runs::{self, RunLengths, Unique, UniqueByKey},
};

use crate::{
    buffers::Buffers,
    context::{Context, loaded},
    memory::{Address, CUstream_st, write_count},
    operation::{Site, TypedOperation, TypedPlan, call_with, operation},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{ItemSize, Word, with_bytes, with_item, with_word},
    workspace::Workspace,
};

/// The first items of the runs of items of type `T`, with counts of type `W`. `None` on the CPU.
struct Uniques<T: Pod, W: CountWord>(Option<Unique<T, W>>);

operation! {
    /// The arguments of [`compaction_unique`].
    struct UniqueCall {}
    impl [T: Shared + Send + Sync, W: CountWord] Uniques<T, W>, scratch runs::Workspace<T>;
    |this, call| kernels 0;
    count count: W;
    reads values: T;
    writes out: T, runs: W [1];
    gpu |unique, stream, scratch| unique.items(stream, values, count, out, runs, scratch);
    cpu |items| write_count(runs, runs::cpu::unique(values, out)?)
}

/// The first pairs of the runs of keys of type `K`, with counts of type `W`. `None` on the CPU.
struct UniquePairs<K: Pod, V: Pod, W: CountWord>(Option<UniqueByKey<K, V, W>>);

operation! {
    /// The arguments of [`compaction_unique_by_key`].
    struct UniqueByKeyCall {}
    impl [K: Shared + Send + Sync, V: Shared + Send + Sync, W: CountWord] UniquePairs<K, V, W>,
        scratch runs::Workspace<K, V>;
    |this, call| kernels 0;
    count count: W;
    reads keys: K, values: V;
    writes keys_out: K, values_out: V, runs: W [1];
    gpu |unique, stream, scratch| {
        unique.pairs(stream, keys, values, count, keys_out, values_out, runs, scratch)
    };
    cpu |items| write_count(runs, runs::cpu::unique_by_key(keys, values, keys_out, values_out)?)
}

/// The lengths of the runs of items of type `T`, with lengths and counts of type `W`. `None` on the CPU.
struct Lengths<T: Pod, W: CountWord>(Option<RunLengths<T, W>>);

operation! {
    /// The arguments of [`compaction_run_lengths`].
    struct LengthsCall {}
    impl [T: Shared + Send + Sync, W: CountWord] Lengths<T, W>, scratch runs::Workspace<T>;
    |this, call| kernels 0;
    count count: W;
    reads values: T;
    writes out: T, lengths: W, runs: W [1];
    gpu |run_lengths, stream, scratch| {
        run_lengths.items(stream, values, count, out, lengths, runs, scratch)
    };
    cpu |items| write_count(runs, runs::cpu::run_lengths(values, out, lengths)?)
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
    make_plan!(context, plan, |gpu| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            Ok(TypedPlan::new("unique", Uniques(loaded(gpu, Unique::<T, W>::new)?)))
        }))
    })
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
    call_with!(plan, workspace, stream; "unique" UniqueCall { values, items, count, out, runs })
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
    make_plan!(context, plan, |gpu| {
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_bytes!("key_bytes", key_bytes, K => {
            with_bytes!("value_bytes", value_bytes, V => {
                let unique = UniquePairs(loaded(gpu, UniqueByKey::<K, V, W>::new)?);
                Ok(TypedPlan::new("unique_by_key", unique))
            })
        }))
    })
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
    call_with!(plan, workspace, stream; "unique_by_key" UniqueByKeyCall {
        keys, values, items, count, keys_out, values_out, runs
    })
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
    make_plan!(context, plan, |gpu| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            Ok(TypedPlan::new("run_lengths", Lengths(loaded(gpu, RunLengths::<T, W>::new)?)))
        }))
    })
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
    call_with!(plan, workspace, stream; "run_lengths" LengthsCall { values, items, count, out, lengths, runs })
}
