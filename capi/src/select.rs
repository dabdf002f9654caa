//! Stream compaction by flags: plans and calls.

use std::{ffi::c_char, sync::Arc};

use compaction::{
    CountWord,
    cuda::Arena,
    cudarc::driver::{CudaContext, CudaStream},
    layout::Shared,
    select::{self, Select, Strategy},
};

use crate::{
    context::{Context, Gpu},
    memory::{
        Address, CUstream_st, Ranges, borrow, count_of, device, device_count, host, host_count,
        host_mut, name_or_default, to_len, to_word,
    },
    plan::{Extent, Operation, Plan, make_plan},
    status::{Failure, Status, guard},
    types::{ItemSize, Word, with_item, with_word},
    workspace::{Scratch, Workspace},
};

/// The operation of a plan of [`compaction_plan_select`] or, if `is_in_place`, of [`compaction_plan_select_in_place`].
struct SelectPlan {
    strategy: Strategy,
    word: Word,
    /// The size of the items. `None` for indices alone.
    item: Option<ItemSize>,
    is_in_place: bool,
    /// The loaded kernels. `None` on the CPU.
    select: Option<Select>,
}

impl SelectPlan {
    /// Returns the size of the items, or a failure if the plan is for indices alone.
    fn item(&self) -> Result<ItemSize, Failure> {
        self.item
            .ok_or_else(|| Failure::invalid("plan: it was made for indices, with item_bytes 0"))
    }

    /// Returns a failure unless the plan was made for calls in place if `is_in_place`, or to another buffer otherwise.
    fn check_in_place(&self, is_in_place: bool) -> Result<(), Failure> {
        if self.is_in_place != is_in_place {
            let (made, called) = match is_in_place {
                true => ("to another buffer", "in place"),
                false => ("in place", "to another buffer"),
            };
            return Err(Failure::invalid(format!(
                "plan: it was made to select {made}, not {called}"
            )));
        }
        Ok(())
    }
}

impl Operation for SelectPlan {
    fn name(&self) -> &'static str {
        "select"
    }

    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure> {
        Ok(select::Workspace::bytes_for(
            context,
            self.strategy,
            extent.items()?,
        )?)
    }

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure> {
        let workspace = select::Workspace::in_arena(arena, self.strategy, extent.items()?)?;
        Ok(Box::new(workspace))
    }
}

/// Loads the kernels of a plan of [`compaction_plan_select`], so that its calls load none. `item` is `None` for indices
/// alone.
fn load(
    gpu: &Gpu,
    strategy: Strategy,
    word: Word,
    item: Option<ItemSize>,
) -> Result<Select, Failure> {
    let select = Select::new(&gpu.compiler, &gpu.context, strategy)?;
    with_word!(word, W => match item {
        None => select.prepare::<u32, W>(),
        Some(item) => with_item!(item, T => select.prepare::<T, W>()),
    })?;
    Ok(select)
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
    let make = |gpu: Option<&Gpu>| {
        // SAFETY: the caller's duty.
        let strategy = unsafe { name_or_default("strategy", strategy) }?;
        let word = Word::of_bits(word_bits)?;
        let item = match item_bytes {
            0 => None,
            bytes => Some(ItemSize::of_bytes(bytes)?),
        };
        let select = gpu.map(|gpu| load(gpu, strategy, word, item)).transpose()?;
        Ok(SelectPlan {
            strategy,
            word,
            item,
            is_in_place: false,
            select,
        })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
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
    let make = |gpu: Option<&Gpu>| {
        // SAFETY: the caller's duty.
        let strategy = unsafe { name_or_default("strategy", strategy) }?;
        let (word, item) = (Word::of_bits(word_bits)?, ItemSize::of_bytes(item_bytes)?);
        let load = |gpu: &Gpu| {
            let select = Select::new(&gpu.compiler, &gpu.context, strategy)?;
            with_word!(word, W => with_item!(item, T => select.prepare_in_place::<T, W>()))?;
            Ok::<_, Failure>(select)
        };
        Ok(SelectPlan {
            strategy,
            word,
            item: Some(item),
            is_in_place: true,
            select: gpu.map(load).transpose()?,
        })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// The arguments that all selections have. `count` is the address of a word with the number of items, or 0 for all
/// `items`.
#[derive(Clone, Copy)]
struct Flags {
    flags: Address,
    items: usize,
    count: Address,
    selected: Address,
}

/// Returns the plan of the call `called`, and its operation. Returns a failure if the plan is for another call.
///
/// # Safety
///
/// `plan` must be null or a plan of this library.
unsafe fn plan_of<'a>(
    plan: *const Plan,
    called: &str,
    is_in_place: bool,
) -> Result<(&'a Plan, &'a SelectPlan), Failure> {
    // SAFETY: the caller's duty.
    let plan = unsafe { borrow("plan", plan) }?;
    let operation = plan.operation::<SelectPlan>(called)?;
    operation.check_in_place(is_in_place)?;
    Ok((plan, operation))
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
/// `plan` and `workspace` must be objects of this library; null is an error, but a plan on the CPU needs no workspace.
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
    guard(|| {
        // SAFETY: the caller's duty.
        let (plan, select) = unsafe { plan_of(plan, "select_indices", false) }?;
        let items = to_len(items)?;
        let flags = Flags {
            flags,
            items,
            count,
            selected,
        };
        // SAFETY: the caller's duty.
        with_word!(select.word, W => unsafe {
            flags.ranges::<W>()?.writes::<W>("out", out, flags.items)?.check_apart()?;
            match plan.stream(stream) {
                Some((_keep, stream)) => indices_on_gpu::<W>(select, workspace, &stream, flags, out),
                None => indices_on_cpu::<W>(select, flags, out),
            }
        })
    })
}

/// Enqueues [`compaction_select_indices`] on a GPU. Returns a failure if the workspace is null, in use or too small.
///
/// # Safety
///
/// As for [`compaction_select_indices`].
unsafe fn indices_on_gpu<W: CountWord>(
    plan: &SelectPlan,
    workspace: *mut Workspace,
    stream: &Arc<CudaStream>,
    given: Flags,
    out: Address,
) -> Result<(), Failure> {
    let Some(select) = &plan.select else {
        return Err(Failure::invalid("plan: it has no kernels"));
    };
    // SAFETY: the caller's duty, for all buffers of the call.
    let (workspace, flags, count, mut out, mut selected) = unsafe {
        (
            borrow("workspace", workspace)?,
            device::<u8>(stream, "flags", given.flags, given.items)?,
            device_count::<W>(stream, given.count)?,
            device::<W>(stream, "out", out, given.items)?,
            device::<W>(stream, "selected", given.selected, 1)?,
        )
    };
    // SAFETY: the caller's duty.
    unsafe {
        workspace.with(stream, |scratch| {
            select.indices(
                stream,
                &flags,
                count_of(&count),
                &mut out,
                &mut selected,
                scratch,
            )
        })
    }
}

/// Runs [`compaction_select_indices`] on the CPU. Returns a failure if the word at `count` is larger than `items`. The
/// strategy of the plan determines the order.
///
/// # Safety
///
/// As for [`compaction_select_indices`].
unsafe fn indices_on_cpu<W: CountWord>(
    plan: &SelectPlan,
    given: Flags,
    out: Address,
) -> Result<(), Failure> {
    // SAFETY: the caller's duty. No written buffer overlaps another.
    unsafe {
        let items = host_count::<W>(given.count, given.items)?;
        let flags = host::<u8>("flags", given.flags, items)?;
        let out = host_mut::<W>("out", out, items)?;
        let selected = host_mut::<W>("selected", given.selected, 1)?;
        let kept = select::cpu::indices(plan.strategy, flags, out)?;
        selected[0] = to_word("items", kept)?;
    }
    Ok(())
}

impl Flags {
    /// Returns the ranges of the flags, of the word at `selected`, and of the word at `count` unless that is 0. Returns
    /// a failure if one exceeds the address space.
    fn ranges<W>(&self) -> Result<Ranges, Failure> {
        Ranges::default()
            .reads::<u8>("flags", self.flags, self.items)?
            .reads::<W>("count", self.count, usize::from(self.count != 0))?
            .writes::<W>("selected", self.selected, 1)
    }
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
    guard(|| {
        // SAFETY: the caller's duty.
        let (plan, select) = unsafe { plan_of(plan, "select_items", false) }?;
        let item = select.item()?;
        let flags = Flags {
            flags,
            items: to_len(items)?,
            count,
            selected,
        };
        let both = (values, out);
        // SAFETY: the caller's duty.
        with_word!(select.word, W => with_item!(item, T => unsafe {
            flags
                .ranges::<W>()?
                .reads::<T>("values", values, flags.items)?
                .writes::<T>("out", out, flags.items)?
                .check_apart()?;
            match plan.stream(stream) {
                Some((_keep, stream)) => items_on_gpu::<T, W>(select, workspace, &stream, flags, both),
                None => items_on_cpu::<T, W>(select, flags, both),
            }
        }))
    })
}

/// Enqueues [`compaction_select_items`] on a GPU. Returns a failure if the workspace is null, in use or too small.
///
/// # Safety
///
/// As for [`compaction_select_items`].
unsafe fn items_on_gpu<T: Shared, W: CountWord>(
    plan: &SelectPlan,
    workspace: *mut Workspace,
    stream: &Arc<CudaStream>,
    given: Flags,
    (values, out): (Address, Address),
) -> Result<(), Failure> {
    let Some(select) = &plan.select else {
        return Err(Failure::invalid("plan: it has no kernels"));
    };
    // SAFETY: the caller's duty, for all buffers of the call.
    let (workspace, values, flags, count, mut out, mut selected) = unsafe {
        (
            borrow("workspace", workspace)?,
            device::<T>(stream, "values", values, given.items)?,
            device::<u8>(stream, "flags", given.flags, given.items)?,
            device_count::<W>(stream, given.count)?,
            device::<T>(stream, "out", out, given.items)?,
            device::<W>(stream, "selected", given.selected, 1)?,
        )
    };
    // SAFETY: the caller's duty.
    unsafe {
        workspace.with(stream, |scratch| {
            select.items(
                stream,
                &values,
                &flags,
                count_of(&count),
                &mut out,
                &mut selected,
                scratch,
            )
        })
    }
}

/// Runs [`compaction_select_items`] on the CPU. Returns a failure if the word at `count` is larger than `items`. The
/// strategy of the plan determines the order.
///
/// # Safety
///
/// As for [`compaction_select_items`].
unsafe fn items_on_cpu<T: Shared + Send + Sync, W: CountWord>(
    plan: &SelectPlan,
    given: Flags,
    (values, out): (Address, Address),
) -> Result<(), Failure> {
    // SAFETY: the caller's duty. No written buffer overlaps another.
    unsafe {
        let items = host_count::<W>(given.count, given.items)?;
        to_word::<W>("items", items)?;
        let values = host::<T>("values", values, items)?;
        let flags = host::<u8>("flags", given.flags, items)?;
        let out = host_mut::<T>("out", out, items)?;
        let selected = host_mut::<W>("selected", given.selected, 1)?;
        let kept = select::cpu::items(plan.strategy, values, flags, out)?;
        selected[0] = to_word("items", kept)?;
    }
    Ok(())
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
    guard(|| {
        // SAFETY: the caller's duty.
        let (plan, select) = unsafe { plan_of(plan, "select_in_place", true) }?;
        let item = select.item()?;
        let flags = Flags {
            flags,
            items: to_len(items)?,
            count,
            selected,
        };
        // SAFETY: the caller's duty.
        with_word!(select.word, W => with_item!(item, T => unsafe {
            flags.ranges::<W>()?.writes::<T>("values", values, flags.items)?.check_apart()?;
            match plan.stream(stream) {
                Some((_keep, stream)) => in_place_on_gpu::<T, W>(select, workspace, &stream, flags, values),
                None => in_place_on_cpu::<T, W>(select, flags, values),
            }
        }))
    })
}

/// Enqueues [`compaction_select_in_place`] on a GPU. Returns a failure if the workspace is null, in use or too small.
///
/// # Safety
///
/// As for [`compaction_select_in_place`].
unsafe fn in_place_on_gpu<T: Shared, W: CountWord>(
    plan: &SelectPlan,
    workspace: *mut Workspace,
    stream: &Arc<CudaStream>,
    given: Flags,
    values: Address,
) -> Result<(), Failure> {
    let Some(select) = &plan.select else {
        return Err(Failure::invalid("plan: it has no kernels"));
    };
    // SAFETY: the caller's duty, for all buffers of the call.
    let (workspace, mut values, flags, count, mut selected) = unsafe {
        (
            borrow("workspace", workspace)?,
            device::<T>(stream, "values", values, given.items)?,
            device::<u8>(stream, "flags", given.flags, given.items)?,
            device_count::<W>(stream, given.count)?,
            device::<W>(stream, "selected", given.selected, 1)?,
        )
    };
    // SAFETY: the caller's duty.
    unsafe {
        workspace.with(stream, |scratch| {
            select.in_place(
                stream,
                &mut values,
                &flags,
                count_of(&count),
                &mut selected,
                scratch,
            )
        })
    }
}

/// Runs [`compaction_select_in_place`] on the CPU. Returns a failure if the word at `count` is larger than `items`. The
/// strategy of the plan determines the order.
///
/// # Safety
///
/// As for [`compaction_select_in_place`].
unsafe fn in_place_on_cpu<T: Shared + Send + Sync, W: CountWord>(
    plan: &SelectPlan,
    given: Flags,
    values: Address,
) -> Result<(), Failure> {
    // SAFETY: the caller's duty. No written buffer overlaps another.
    unsafe {
        let items = host_count::<W>(given.count, given.items)?;
        to_word::<W>("items", items)?;
        let values = host_mut::<T>("values", values, items)?;
        let flags = host::<u8>("flags", given.flags, items)?;
        let selected = host_mut::<W>("selected", given.selected, 1)?;
        let kept = select::cpu::in_place(plan.strategy, values, flags)?;
        selected[0] = to_word("items", kept)?;
    }
    Ok(())
}
