//! Reductions, and searches for the smallest or the largest item: plans and calls.

use std::ffi::c_char;

use compaction::{
    CountWord,
    reduce::{self, ArgReduce, Extreme, Item, Operator, Reduce},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, name_or_default, text},
    operation::{Site, TypedOperation, TypedPlan, call_with, operation},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{Word, with_number, with_word},
    workspace::Workspace,
};

/// A reduction of items of type `T`, with counts of type `W`.
struct Reduction<T: Item, W: CountWord> {
    operator: Operator,
    /// The loaded kernels. `None` on the CPU.
    reduce: Option<Reduce<T, W>>,
}

operation! {
    /// The arguments of [`compaction_reduce`].
    struct ReduceCall {}
    impl [T: Item, W: CountWord] Reduction<T, W>, scratch reduce::Workspace;
    |this, call| kernels reduce;
    count count: W;
    reads values: T;
    writes out: T [1];
    gpu |reduce, stream, scratch| reduce.items(stream, values, count, out, scratch);
    cpu |items| {
        out[0] = reduce::cpu::items(this.operator, values);
        Ok(())
    }
}

/// A search for an extreme of items of type `T`, with the index and counts of type `W`.
struct Search<T: Item, W: CountWord> {
    extreme: Extreme,
    /// The loaded kernels. `None` on the CPU.
    reduce: Option<ArgReduce<T, W>>,
}

operation! {
    /// The arguments of [`compaction_arg_reduce`].
    struct ArgCall {}
    impl [T: Item, W: CountWord] Search<T, W>, scratch reduce::Workspace;
    |this, call| kernels reduce;
    count count: W;
    reads values: T;
    writes index: W [1], value: T [1];
    gpu |reduce, stream, scratch| reduce.items(stream, values, count, index, value, scratch);
    cpu |items| {
        let found = reduce::cpu::arg(this.extreme, values);
        // Without a result, the index is the word of all ones.
        let none = || (usize::MAX, reduce::cpu::items(this.extreme.operator(), &[]));
        let (at, found) = found.unwrap_or_else(none);
        (index[0], value[0]) = (W::of_len(at), found);
        Ok(())
    }
}

/// Plans reductions: compaction_reduce.
///
/// `op` is sum, min or max; null stands for sum. `type` is u32, i32, u64, i64, f32 or f64. Counts are unsigned words of
/// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// Sums of integers wrap around on overflow. Sums of floats have the same bits on every GPU and on the CPU. Minimum and
/// maximum ignore NaNs, and -0 is less than +0.
///
/// The library contains the kernels of all operators and types with counts of 32 bits. Others need NVRTC on the first
/// use.
///
/// # Safety
///
/// `context` must be a context of this library. The names must be texts that end with a zero byte; `op` may be null.
/// `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_reduce(
    context: *const Context,
    op: *const c_char,
    r#type: *const c_char,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (operator, name) = unsafe { (name_or_default("op", op)?, text("type", r#type)?) };
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_number!(name, T => {
            let load = |gpu: &Gpu| Reduce::<T, W>::new(&gpu.compiler, &gpu.context, operator);
            let reduce = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("reduce", Reduction { operator, reduce }))
        }))
    })
}

/// Writes the combination of all items to the item at `out`: their sum, minimum or maximum.
///
/// Reads `items` items from `values`, or as many as the word at the address `count` says, if that is not 0. A word
/// larger than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Without
/// items, the result is the identity of the operator: 0 for sum, the largest value for min, the smallest for max.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_reduce(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "reduce" ReduceCall { values, items, count, out })
}

/// Plans searches for the smallest or the largest item and its index: compaction_arg_reduce.
///
/// `extreme` is min or max. `type` is u32, i32, u64, i64, f32 or f64. The index and the counts are unsigned words of
/// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// The library contains the kernels of both extremes and all types with words of 32 bits. Others need NVRTC on the
/// first use.
///
/// # Safety
///
/// `context` must be a context of this library. The names must be texts that end with a zero byte. `plan` must point to
/// memory for a pointer. Null is an error for all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_arg_reduce(
    context: *const Context,
    extreme: *const c_char,
    r#type: *const c_char,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (extreme, name) = unsafe { (text("extreme", extreme)?, text("type", r#type)?) };
        let extreme: Extreme = extreme.parse()?;
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_number!(name, T => {
            let load = |gpu: &Gpu| ArgReduce::<T, W>::new(&gpu.compiler, &gpu.context, extreme);
            let reduce = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("arg_reduce", Search { extreme, reduce }))
        }))
    })
}

/// Writes the index of the smallest or the largest item to the word at `index`, and the item to that at `value`. Of
/// equal items, the first one counts. -0 is less than +0. Otherwise like compaction_reduce.
///
/// NaNs are ignored. Without other items, the index is a word of all ones, and the value is the largest one for min and
/// the smallest one for max.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_arg_reduce(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    count: Address,
    index: Address,
    value: Address,
) -> Status {
    call_with!(plan, workspace, stream; "arg_reduce" ArgCall { values, items, count, index, value })
}
