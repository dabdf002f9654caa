//! Stable partitions by flags and by classes: plans and calls.

use std::sync::Arc;

use compaction::{
    CountWord,
    cuda::Arena,
    cudarc::driver::{CudaContext, CudaStream},
    layout::Shared,
    partition::{self, Classes, Partition},
};

use crate::{
    context::{Context, Gpu},
    memory::{
        Address, CUstream_st, Ranges, borrow, count_of, device, device_count, host, host_count,
        host_mut, to_len, to_word,
    },
    plan::{Extent, Operation, Plan, make_plan},
    status::{Failure, Status, guard},
    types::{ItemSize, Word, with_item, with_word},
    workspace::{Scratch, Workspace},
};

/// The operation of a plan of [`compaction_plan_partition`]: partitions by flags, of indices and of items of one size.
struct PartitionPlan {
    word: Word,
    /// The size of the items. `None` for indices alone.
    item: Option<ItemSize>,
    /// The loaded kernels. `None` on the CPU.
    partition: Option<Partition>,
}

/// The operation of a plan of [`compaction_plan_partition_classes`]: partitions of indices by keys of one byte.
struct ClassesPlan {
    word: Word,
    /// The number of classes, 1 to 256.
    classes: u32,
    /// The loaded kernels. `None` on the CPU.
    partition: Option<Classes>,
}

/// Implements [`Operation`] with the workspace of partitions.
macro_rules! operation {
    ($plan:ty, $name:literal) => {
        impl Operation for $plan {
            fn name(&self) -> &'static str {
                $name
            }

            fn scratch_bytes(
                &self,
                context: &Arc<CudaContext>,
                extent: Extent,
            ) -> Result<usize, Failure> {
                Ok(partition::Workspace::bytes_for(context, extent.items()?)?)
            }

            fn scratch(
                &self,
                arena: &mut Arena,
                extent: Extent,
            ) -> Result<Box<dyn Scratch>, Failure> {
                Ok(Box::new(partition::Workspace::in_arena(
                    arena,
                    extent.items()?,
                )?))
            }
        }
    };
}
operation!(PartitionPlan, "partition");
operation!(ClassesPlan, "partition_classes");

/// Plans partitions by flags: compaction_partition_indices and compaction_partition_items.
///
/// `item_bytes` is 1, 2 or a multiple of 4 up to 64, or 0 for indices alone. Indices and counts are unsigned words of
/// `word_bits` bits: 32, for fewer than 2^32 items, or 64.
///
/// The library contains the kernels for items of 4, 8 and 16 bytes. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_partition(
    context: *const Context,
    item_bytes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        let word = Word::of_bits(word_bits)?;
        let item = match item_bytes {
            0 => None,
            bytes => Some(ItemSize::of_bytes(bytes)?),
        };
        let load = |gpu: &Gpu| {
            let partition = Partition::new(&gpu.compiler, &gpu.context)?;
            if let Some(item) = item {
                with_item!(item, T => partition.prepare::<T>())?;
            }
            Ok::<_, Failure>(partition)
        };
        Ok(PartitionPlan {
            word,
            item,
            partition: gpu.map(load).transpose()?,
        })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Plans partitions into classes by keys of one byte: compaction_partition_classes.
///
/// There are `classes` classes, 1 to 256. Indices and counts are unsigned words of `word_bits` bits: 32, for fewer than
/// 2^32 items, or 64.
///
/// The library contains the kernels for 2, 4, 8, 16, 32, 64, 128 and 256 classes. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `plan` must point to memory for a pointer; null is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_partition_classes(
    context: *const Context,
    classes: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        // Checks the number on the CPU too.
        Classes::sources(classes)?;
        let load = |gpu: &Gpu| Classes::new(&gpu.compiler, &gpu.context, classes);
        Ok(ClassesPlan {
            word: Word::of_bits(word_bits)?,
            classes,
            partition: gpu.map(load).transpose()?,
        })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// The arguments that all partitions have. `flags` is the address of the flags, or of the keys of a partition into
/// classes. `count` is the address of a word with the number of items, or 0 for all `items`.
#[derive(Clone, Copy)]
struct Call {
    flags: Address,
    items: usize,
    count: Address,
    out: Address,
    /// The address of the number of selected items, or of the starts of the classes.
    selected: Address,
}

impl Call {
    /// Returns the ranges of all buffers except the input items: `counts` words of type `W` at `selected`, items of
    /// type `T` at `out`, and one word at `count` unless that is 0. Returns a failure if one exceeds the address space.
    fn ranges<T, W>(&self, counts: usize) -> Result<Ranges, Failure> {
        Ranges::default()
            .reads::<u8>("flags", self.flags, self.items)?
            .reads::<W>("count", self.count, usize::from(self.count != 0))?
            .writes::<W>("selected", self.selected, counts)?
            .writes::<T>("out", self.out, self.items)
    }
}

/// Partitions indices: writes those of the nonzero flags to `out`, and those of the zero flags behind them.
///
/// Reads `items` flags of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
/// room for `items` words. Writes the number of nonzero flags to the word at `selected`. Both parts keep their order.
/// The plan determines the size of all words. Memory behind the results keeps its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_partition_indices(
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
        let plan = unsafe { borrow("plan", plan) }?;
        let operation = plan.operation::<PartitionPlan>("partition_indices")?;
        let items = to_len(items)?;
        let call = Call {
            flags,
            items,
            count,
            out,
            selected,
        };
        // SAFETY: the caller's duty.
        with_word!(operation.word, W => unsafe {
            call.ranges::<W, W>(1)?.check_apart()?;
            match plan.stream(stream) {
                Some((_keep, stream)) => indices_on_gpu::<W>(operation, workspace, &stream, call),
                None => indices_on_cpu::<W>(call),
            }
        })
    })
}

/// Enqueues [`compaction_partition_indices`] on a GPU. Returns a failure if the workspace is null, in use or too small.
///
/// # Safety
///
/// As for [`compaction_partition_indices`].
unsafe fn indices_on_gpu<W: CountWord>(
    plan: &PartitionPlan,
    workspace: *mut Workspace,
    stream: &Arc<CudaStream>,
    call: Call,
) -> Result<(), Failure> {
    let Some(partition) = &plan.partition else {
        return Err(Failure::invalid("plan: it has no kernels"));
    };
    // SAFETY: the caller's duty, for all buffers of the call.
    unsafe {
        let workspace = borrow("workspace", workspace)?;
        let flags = device::<u8>(stream, "flags", call.flags, call.items)?;
        let count = device_count::<W>(stream, call.count)?;
        let mut out = device::<W>(stream, "out", call.out, call.items)?;
        let mut selected = device::<W>(stream, "selected", call.selected, 1)?;
        workspace.with(stream, |scratch| {
            partition.indices(
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

/// Runs [`compaction_partition_indices`] on the CPU. Returns a failure if the word at `count` is larger than `items`.
///
/// # Safety
///
/// As for [`compaction_partition_indices`].
unsafe fn indices_on_cpu<W: CountWord>(call: Call) -> Result<(), Failure> {
    // SAFETY: the caller's duty. No written buffer overlaps another.
    unsafe {
        let items = host_count::<W>(call.count, call.items)?;
        let flags = host::<u8>("flags", call.flags, items)?;
        let out = host_mut::<W>("out", call.out, items)?;
        let selected = host_mut::<W>("selected", call.selected, 1)?;
        let kept = partition::cpu::indices(flags, out)?;
        selected[0] = to_word("items", kept)?;
    }
    Ok(())
}

/// Partitions the items at `values`: writes those whose flag is nonzero to `out`, and the others behind them. Otherwise
/// like compaction_partition_indices.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_partition_items(
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
        let plan = unsafe { borrow("plan", plan) }?;
        let operation = plan.operation::<PartitionPlan>("partition_items")?;
        let item = operation
            .item
            .ok_or_else(|| Failure::invalid("plan: it was made for indices, with item_bytes 0"))?;
        let items = to_len(items)?;
        let call = Call {
            flags,
            items,
            count,
            out,
            selected,
        };
        // SAFETY: the caller's duty.
        with_word!(operation.word, W => with_item!(item, T => unsafe {
            call.ranges::<T, W>(1)?.reads::<T>("values", values, items)?.check_apart()?;
            match plan.stream(stream) {
                Some((_keep, stream)) => {
                    items_on_gpu::<T, W>(operation, workspace, &stream, call, values)
                }
                None => items_on_cpu::<T, W>(call, values),
            }
        }))
    })
}

/// Enqueues [`compaction_partition_items`] on a GPU. Returns a failure if the workspace is null, in use or too small.
///
/// # Safety
///
/// As for [`compaction_partition_items`].
unsafe fn items_on_gpu<T: Shared, W: CountWord>(
    plan: &PartitionPlan,
    workspace: *mut Workspace,
    stream: &Arc<CudaStream>,
    call: Call,
    values: Address,
) -> Result<(), Failure> {
    let Some(partition) = &plan.partition else {
        return Err(Failure::invalid("plan: it has no kernels"));
    };
    // SAFETY: the caller's duty, for all buffers of the call.
    unsafe {
        let workspace = borrow("workspace", workspace)?;
        let values = device::<T>(stream, "values", values, call.items)?;
        let flags = device::<u8>(stream, "flags", call.flags, call.items)?;
        let count = device_count::<W>(stream, call.count)?;
        let mut out = device::<T>(stream, "out", call.out, call.items)?;
        let mut selected = device::<W>(stream, "selected", call.selected, 1)?;
        workspace.with(stream, |scratch| {
            partition.items(
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

/// Runs [`compaction_partition_items`] on the CPU. Returns a failure if the word at `count` is larger than `items`.
///
/// # Safety
///
/// As for [`compaction_partition_items`].
unsafe fn items_on_cpu<T: Shared + Send + Sync, W: CountWord>(
    call: Call,
    values: Address,
) -> Result<(), Failure> {
    // SAFETY: the caller's duty. No written buffer overlaps another.
    unsafe {
        let items = host_count::<W>(call.count, call.items)?;
        to_word::<W>("items", items)?;
        let values = host::<T>("values", values, items)?;
        let flags = host::<u8>("flags", call.flags, items)?;
        let out = host_mut::<T>("out", call.out, items)?;
        let selected = host_mut::<W>("selected", call.selected, 1)?;
        let kept = partition::cpu::items(values, flags, out)?;
        selected[0] = to_word("items", kept)?;
    }
    Ok(())
}

/// Groups indices by class: writes the indices of all keys to `out`, ordered by key. Equal keys keep their order.
///
/// Reads `items` keys of one byte, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `items` counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `out` must have
/// room for `items` words. `starts` must have room for one more word than there are classes: the start of each class in
/// `out`, and the end of the last. Indices of keys that are no class follow, in their order. The plan determines the
/// size of all words. Memory behind the results keeps its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_partition_classes(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    items: u64,
    count: Address,
    out: Address,
    starts: Address,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        let operation = plan.operation::<ClassesPlan>("partition_classes")?;
        let call = Call {
            flags: keys,
            items: to_len(items)?,
            count,
            out,
            selected: starts,
        };
        // SAFETY: the caller's duty.
        with_word!(operation.word, W => unsafe {
            call.ranges::<W, W>(operation.classes as usize + 1)?.check_apart()?;
            match plan.stream(stream) {
                Some((_keep, stream)) => classes_on_gpu::<W>(operation, workspace, &stream, call),
                None => classes_on_cpu::<W>(operation, call),
            }
        })
    })
}

/// Enqueues [`compaction_partition_classes`] on a GPU. Returns a failure if the workspace is null, in use or too small.
///
/// # Safety
///
/// As for [`compaction_partition_classes`].
unsafe fn classes_on_gpu<W: CountWord>(
    plan: &ClassesPlan,
    workspace: *mut Workspace,
    stream: &Arc<CudaStream>,
    call: Call,
) -> Result<(), Failure> {
    let Some(partition) = &plan.partition else {
        return Err(Failure::invalid("plan: it has no kernels"));
    };
    // SAFETY: the caller's duty, for all buffers of the call.
    unsafe {
        let workspace = borrow("workspace", workspace)?;
        let keys = device::<u8>(stream, "keys", call.flags, call.items)?;
        let count = device_count::<W>(stream, call.count)?;
        let mut out = device::<W>(stream, "out", call.out, call.items)?;
        let starts = plan.classes as usize + 1;
        let mut starts = device::<W>(stream, "starts", call.selected, starts)?;
        workspace.with(stream, |scratch| {
            partition.indices(
                stream,
                &keys,
                count_of(&count),
                &mut out,
                &mut starts,
                scratch,
            )
        })
    }
}

/// Runs [`compaction_partition_classes`] on the CPU. Returns a failure if the word at `count` is larger than `items`.
///
/// # Safety
///
/// As for [`compaction_partition_classes`].
unsafe fn classes_on_cpu<W: CountWord>(plan: &ClassesPlan, call: Call) -> Result<(), Failure> {
    // SAFETY: the caller's duty. No written buffer overlaps another.
    unsafe {
        let items = host_count::<W>(call.count, call.items)?;
        let keys = host::<u8>("keys", call.flags, items)?;
        let out = host_mut::<W>("out", call.out, items)?;
        let starts = host_mut::<W>("starts", call.selected, plan.classes as usize + 1)?;
        Ok(partition::cpu::classes(plan.classes, keys, out, starts)?)
    }
}
