//! Gather and scatter: plans and calls.

use bytemuck::Pod;
use compaction::{
    CountWord,
    gather::{self, Gather, Scatter, cpu},
    layout::Shared,
};

use crate::{
    buffers::Buffers,
    context::{Context, loaded},
    memory::{Address, CUstream_st},
    operation::{Site, TypedOperation, TypedPlan, call_with, operation},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{ItemSize, Word, with_item, with_word},
    workspace::Workspace,
};

/// Gathers of items of type `T`, with indices and counts of type `W`. `None` on the CPU.
struct Gathers<T: Pod, W: CountWord>(Option<Gather<T, W>>);

operation! {
    /// The arguments of [`compaction_gather`].
    struct GatherCall { value_items: u64 }
    impl [T: Shared + Send + Sync, W: CountWord] Gathers<T, W>, scratch gather::Workspace;
    |this, call| kernels 0;
    count count: W;
    reads indices: W;
    whole values: T [call.value_items];
    writes out: T;
    gpu |gather, stream, scratch| gather.items(stream, values, indices, count, out, scratch);
    cpu |items| Ok(cpu::gather(values, indices, out)?)
}

/// Scatters of items of type `T`, with indices and counts of type `W`. `None` on the CPU.
struct Scatters<T: Pod, W: CountWord>(Option<Scatter<T, W>>);

operation! {
    /// The arguments of [`compaction_scatter`].
    struct ScatterCall { out_items: u64 }
    impl [T: Shared + Send + Sync, W: CountWord] Scatters<T, W>, scratch gather::Workspace;
    |this, call| kernels 0;
    count count: W;
    reads values: T, indices: W;
    writes out: T [call.out_items];
    gpu |scatter, stream, scratch| scatter.items(stream, values, indices, count, out, scratch);
    cpu |items| Ok(cpu::scatter(values, indices, out)?)
}

/// Plans gathers of items by indices: compaction_gather.
///
/// `item_bytes` is 1, 2 or a multiple of 4 up to 64. Indices and counts are unsigned words of `word_bits` bits: 32, for
/// fewer than 2^32 indices, or 64.
///
/// A workspace serves any number of items, and all plans of compaction_plan_gather and compaction_plan_scatter.
///
/// The library contains the kernels for items of 4, 8 and 16 bytes with indices of 32 bits. Others need NVRTC on the first
/// use.
///
/// # Safety
///
/// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_gather(
    context: *const Context,
    item_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            Ok(TypedPlan::new("gather", Gathers(loaded(gpu, Gather::<T, W>::new)?)))
        }))
    })
}

/// Writes `values[indices[i]]` to `out[i]`, for each index i below `items`.
///
/// There are `value_items` items at `values`. There are `items` indices, or as many as the word at the address `count`
/// says, if that is not 0. A word larger than `items` counts as `items`, and compaction_workspace_check reports it; on the
/// CPU it is an error. `out` must have room for `items` items. An index of `value_items` or more leaves its entry of `out`
/// as it is.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_gather(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    value_items: u64,
    indices: Address,
    items: u64,
    count: Address,
    out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "gather" GatherCall { values, value_items, indices, items, count, out })
}

/// Plans scatters of items by indices: compaction_scatter.
///
/// The parameters are those of compaction_plan_gather, and so are the kernels that the library contains.
///
/// # Safety
///
/// As for compaction_plan_gather.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_scatter(
    context: *const Context,
    item_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            Ok(TypedPlan::new("scatter", Scatters(loaded(gpu, Scatter::<T, W>::new)?)))
        }))
    })
}

/// Writes `values[i]` to `out[indices[i]]`, for each index i below `items`.
///
/// There are `items` items and indices, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` has
/// `out_items` items; an item whose index is not below that is skipped. The indices should differ: an entry
/// that several name receives the last of their items on the CPU, and on a GPU unspecified bytes of these items.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_scatter(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    indices: Address,
    items: u64,
    count: Address,
    out: Address,
    out_items: u64,
) -> Status {
    call_with!(plan, workspace, stream; "scatter" ScatterCall { values, indices, items, count, out, out_items })
}
