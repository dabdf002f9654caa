//! Gather and scatter: plans and calls.

use bytemuck::Pod;
use compaction::{
    CountWord,
    gather::{self, Gather, Scatter, cpu},
    layout::Shared,
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st},
    operation::{Site, TypedOperation, TypedPlan, call},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{ItemSize, Word, with_item, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_gather`].
struct GatherCall {
    values: Address,
    value_items: u64,
    indices: Address,
    items: u64,
    count: Address,
    out: Address,
}

/// Gathers of items of type `T`, with indices and counts of type `W`. `None` on the CPU.
struct Gathers<T: Pod, W: CountWord>(Option<Gather<T, W>>);

impl<T: Shared + Send + Sync, W: CountWord> TypedOperation for Gathers<T, W> {
    type Scratch = gather::Workspace;
    type Call = GatherCall;

    fn strategy(&self) {}

    unsafe fn run(&self, site: Site, call: &GatherCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let values = buffers.reads::<T>("values", call.values, call.value_items)?;
        let indices = buffers.reads::<W>("indices", call.indices, call.items)?;
        let out = buffers.writes::<T>("out", call.out, call.items)?;
        buffers.check_apart()?;
        // SAFETY: the caller's duty. The output overlaps no other buffer.
        unsafe {
            site.run(
                &self.0,
                count.max(),
                |gather, stream, scratch| {
                    Ok(gather.items(
                        stream,
                        &values.on(stream)?,
                        &indices.on(stream)?,
                        count.on(stream)?.get(),
                        &mut out.on(stream)?,
                        scratch,
                    )?)
                },
                || {
                    let (values, items) = (values.host(values.len())?, count.host()?);
                    Ok(cpu::gather(values, indices.host(items)?, out.host()?)?)
                },
            )
        }
    }
}

/// The arguments of [`compaction_scatter`].
struct ScatterCall {
    values: Address,
    indices: Address,
    items: u64,
    count: Address,
    out: Address,
    out_items: u64,
}

/// Scatters of items of type `T`, with indices and counts of type `W`. `None` on the CPU.
struct Scatters<T: Pod, W: CountWord>(Option<Scatter<T, W>>);

impl<T: Shared + Send + Sync, W: CountWord> TypedOperation for Scatters<T, W> {
    type Scratch = gather::Workspace;
    type Call = ScatterCall;

    fn strategy(&self) {}

    unsafe fn run(&self, site: Site, call: &ScatterCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let values = buffers.reads::<T>("values", call.values, call.items)?;
        let indices = buffers.reads::<W>("indices", call.indices, call.items)?;
        let out = buffers.writes::<T>("out", call.out, call.out_items)?;
        buffers.check_apart()?;
        // SAFETY: the caller's duty. The output overlaps no other buffer.
        unsafe {
            site.run(
                &self.0,
                count.max(),
                |scatter, stream, scratch| {
                    Ok(scatter.items(
                        stream,
                        &values.on(stream)?,
                        &indices.on(stream)?,
                        count.on(stream)?.get(),
                        &mut out.on(stream)?,
                        scratch,
                    )?)
                },
                || {
                    let items = count.host()?;
                    let (values, indices) = (values.host(items)?, indices.host(items)?);
                    Ok(cpu::scatter(values, indices, out.host()?)?)
                },
            )
        }
    }
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
    let make = |gpu: Option<&Gpu>| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            let load = |gpu: &Gpu| Gather::<T, W>::new(&gpu.compiler, &gpu.context);
            Ok(TypedPlan::new("gather", Gathers(gpu.map(load).transpose()?)))
        }))
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
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
    let arguments = GatherCall {
        values,
        value_items,
        indices,
        items,
        count,
        out,
    };
    // SAFETY: the caller's duty.
    unsafe { call("gather", plan, workspace, stream, arguments) }
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
    let make = |gpu: Option<&Gpu>| {
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            let load = |gpu: &Gpu| Scatter::<T, W>::new(&gpu.compiler, &gpu.context);
            Ok(TypedPlan::new("scatter", Scatters(gpu.map(load).transpose()?)))
        }))
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
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
    let arguments = ScatterCall {
        values,
        indices,
        items,
        count,
        out,
        out_items,
    };
    // SAFETY: the caller's duty.
    unsafe { call("scatter", plan, workspace, stream, arguments) }
}
