//! Stream compaction by flags: plans and calls.

use std::{ffi::c_char, marker::PhantomData};

use compaction::{
    CountWord,
    layout::Shared,
    select::{self, Select, Strategy},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, name_or_default, write_count},
    operation::{Site, TypedOperation, TypedPlan, call_with, operation, run},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{ItemSize, Word, with_item, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_select_indices`] or [`compaction_select_items`].
struct SelectCall {
    /// The address of the items. `None` for indices.
    values: Option<Address>,
    flags: Address,
    items: u64,
    count: Address,
    out: Address,
    selected: Address,
}

/// Selections of items of type `T`, or of indices, with counts and indices of type `W`.
struct Selects<T, W> {
    strategy: Strategy,
    /// Whether items can be selected.
    has_items: bool,
    /// The loaded kernels. `None` on the CPU.
    select: Option<Select>,
    types: PhantomData<fn(T, W)>,
}

impl<T: Shared + Send + Sync, W: CountWord> TypedOperation for Selects<T, W> {
    type Scratch = select::Workspace;
    type Call = SelectCall;

    fn scratch_variant(&self) -> Strategy {
        self.strategy
    }

    unsafe fn run(&self, site: Site, call: &SelectCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let flags = buffers.reads::<u8>("flags", call.flags, call.items)?;
        let count = buffers.count::<W>(call.count, call.items)?;
        let selected = buffers.writes::<W>("selected", call.selected, 1)?;
        let Some(values) = call.values else {
            let out = buffers.writes::<W>("out", call.out, call.items)?;
            buffers.check_apart()?;
            return run! {
                site, &self.select, count.max(), count;
                reads flags; writes out, selected;
                gpu |select, stream, scratch| select.indices(stream, flags, count, out, selected, scratch);
                cpu |items| write_count(selected, select::cpu::indices(self.strategy, flags, out)?)
            };
        };
        if !self.has_items {
            let message = "plan: it was made for indices, with item_bytes 0";
            return Err(Failure::invalid(message));
        }
        let values = buffers.reads::<T>("values", values, call.items)?;
        let out = buffers.writes::<T>("out", call.out, call.items)?;
        buffers.check_apart()?;
        run! {
            site, &self.select, count.max(), count;
            reads values, flags; writes out, selected;
            gpu |select, stream, scratch| select.items(stream, values, flags, count, out, selected, scratch);
            cpu |items| write_count(selected, select::cpu::items(self.strategy, values, flags, out)?)
        }
    }
}

/// Selections of items of type `T` that move to the front of their buffer, with counts of type `W`.
struct InPlace<T, W> {
    strategy: Strategy,
    /// The loaded kernels. `None` on the CPU.
    select: Option<Select>,
    types: PhantomData<fn(T, W)>,
}

operation! {
    /// The arguments of [`compaction_select_in_place`].
    struct InPlaceCall {}
    impl [T: Shared + Send + Sync, W: CountWord] InPlace<T, W>, scratch select::Workspace, strategy Strategy;
    |this, call| kernels select;
    count count: W;
    reads flags: u8;
    writes selected: W [1], values: T;
    gpu |select, stream, scratch| select.in_place(stream, values, flags, count, selected, scratch);
    cpu |items| write_count(selected, select::cpu::in_place(this.strategy, &mut values[..items], flags)?)
}

/// Creates the operation of a plan of [`compaction_plan_select`], with all its kernels loaded if there is a GPU.
fn selects<T: Shared + Send + Sync, W: CountWord>(
    gpu: Option<&Gpu>,
    strategy: Strategy,
    has_items: bool,
) -> Result<TypedPlan<SelectCall>, Failure> {
    let load = |gpu: &Gpu| {
        let select = Select::new(&gpu.compiler, &gpu.context, strategy)?;
        select.prepare::<T, W>()?;
        Ok::<_, Failure>(select)
    };
    let operation = Selects::<T, W> {
        strategy,
        has_items,
        select: gpu.map(load).transpose()?,
        types: PhantomData,
    };
    Ok(TypedPlan::new("select", operation))
}

/// Plans selections of flagged items, or of their indices: compaction_select_indices and compaction_select_items.
///
/// `strategy` is look-back, count-scan-scatter, sequences, scan-scatter, hole-filling, atomic or off. Null stands for
/// look-back, the fastest that keeps the order. The strategies hole-filling and atomic do not keep it. The strategy off
/// removes nothing: it writes all-one bits instead of each item that is not selected.
///
/// `item_bytes` is 1, 2 or a multiple of 4 up to 64, or 0 for indices alone. Indices and counts are unsigned words of
/// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// The library contains the kernels of look-back for items of 4, 8 and 16 bytes. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `plan` must
/// point to memory for a pointer. Null is an error for `context` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_select(
    context: *const Context,
    strategy: *const c_char,
    item_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let strategy = unsafe { name_or_default("strategy", strategy) }?;
        let word = Word::of_bits(word_bits)?;
        if item_bytes == 0 {
            return with_word!(word, W => selects::<u32, W>(gpu, strategy, false));
        }
        let item = ItemSize::of_bytes(item_bytes)?;
        with_word!(word, W => with_item!(item, T => selects::<T, W>(gpu, strategy, true)))
    })
}

/// Plans selections of flagged items that move to the front of their own buffer: compaction_select_in_place.
///
/// On a GPU, `strategy` is look-back, hole-filling or off; null stands for look-back. `item_bytes` is 1, 2 or a
/// multiple of 4 up to 64. Counts are unsigned words of `word_bits` bits: 32 or 64.
///
/// The library contains the kernels of look-back for items of 4, 8 and 16 bytes. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `plan` must
/// point to memory for a pointer. Null is an error for `context` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_select_in_place(
    context: *const Context,
    strategy: *const c_char,
    item_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let strategy = unsafe { name_or_default("strategy", strategy) }?;
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        with_word!(word, W => with_item!(item, T => {
            let load = |gpu: &Gpu| {
                let select = Select::new(&gpu.compiler, &gpu.context, strategy)?;
                select.prepare_in_place::<T, W>()?;
                Ok::<_, Failure>(select)
            };
            let (select, types) = (gpu.map(load).transpose()?, PhantomData::<fn(T, W)>);
            Ok(TypedPlan::new("select_in_place", InPlace { strategy, select, types }))
        }))
    })
}

/// Selects the indices of the nonzero flags.
///
/// Reads `items` flags of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Writes the
/// indices to `out`, which must have room for `items` words, and their number to the word at `selected`. The plan
/// determines the size of all words. Memory behind the results keeps its values.
///
/// # Safety
///
/// `plan` and `workspace` must be objects of this library; null is an error.
/// `stream` must be a stream of the plan's context. The buffers must have the lengths above. Nothing else may access
/// them until the work has finished, unless it is ordered with the stream. A buffer that is written must not overlap
/// another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_select_indices(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    flags: Address,
    items: u64,
    count: Address,
    out: Address,
    selected: Address,
) -> Status {
    call_with!(plan, workspace, stream; "select_indices" SelectCall {
        values: None, flags, items, count, out, selected
    })
}

/// Selects the items whose flag is nonzero. Otherwise like compaction_select_indices.
///
/// Reads `items` items of the plan's size from `values`. Writes the selected ones to `out`, which must have room for
/// `items` items.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_select_items(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    flags: Address,
    items: u64,
    count: Address,
    out: Address,
    selected: Address,
) -> Status {
    call_with!(plan, workspace, stream; "select_items" SelectCall {
        values: Some(values), flags, items, count, out, selected
    })
}

/// Moves the items whose flag is nonzero to the front of `values`. Otherwise like compaction_select_indices.
///
/// The items behind them are unspecified items of the input. The strategy off overwrites rejected items with ones.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_select_in_place(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    flags: Address,
    items: u64,
    count: Address,
    selected: Address,
) -> Status {
    call_with!(plan, workspace, stream; "select_in_place" InPlaceCall { values, flags, items, count, selected })
}
