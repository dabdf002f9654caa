//! Stable partitions by flags and by classes: plans and calls.

use std::marker::PhantomData;

use compaction::{
    CountWord,
    layout::Shared,
    partition::{self, Classes, Partition},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, write_count},
    operation::{Site, TypedOperation, TypedPlan, call_with, operation, run},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{ItemSize, Word, with_item, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_partition_indices`] or [`compaction_partition_items`].
struct PartitionCall {
    /// The address of the items. `None` for indices.
    values: Option<Address>,
    flags: Address,
    items: u64,
    count: Address,
    out: Address,
    selected: Address,
}

/// Partitions by flags of items of type `T`, or of indices, with counts and indices of type `W`.
struct Partitions<T, W> {
    /// Whether items can be partitioned.
    has_items: bool,
    /// The loaded kernels. `None` on the CPU.
    partition: Option<Partition>,
    types: PhantomData<fn(T, W)>,
}

impl<T: Shared + Send + Sync, W: CountWord> TypedOperation for Partitions<T, W> {
    type Scratch = partition::Workspace;
    type Call = PartitionCall;

    fn scratch_variant(&self) {}

    unsafe fn run(&self, site: Site, call: &PartitionCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let flags = buffers.reads::<u8>("flags", call.flags, call.items)?;
        let count = buffers.count::<W>(call.count, call.items)?;
        let selected = buffers.writes::<W>("selected", call.selected, 1)?;
        let Some(values) = call.values else {
            let out = buffers.writes::<W>("out", call.out, call.items)?;
            buffers.check_apart()?;
            return run! {
                site, &self.partition, count.max(), count;
                reads flags; writes out, selected;
                gpu |partition, stream, scratch| partition.indices(stream, flags, count, out, selected, scratch);
                cpu |items| write_count(selected, partition::cpu::indices(flags, out)?)
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
            site, &self.partition, count.max(), count;
            reads values, flags; writes out, selected;
            gpu |partition, stream, scratch| partition.items(stream, values, flags, count, out, selected, scratch);
            cpu |items| write_count(selected, partition::cpu::items(values, flags, out)?)
        }
    }
}

/// Partitions of indices by keys of one byte, with counts and indices of type `W`.
struct ByClass<W> {
    /// The number of classes, 1 to 256.
    classes: u32,
    /// The loaded kernels. `None` on the CPU.
    partition: Option<Classes>,
    word: PhantomData<fn(W)>,
}

operation! {
    /// The arguments of [`compaction_partition_classes`].
    struct ClassesCall {}
    impl [W: CountWord] ByClass<W>, scratch partition::Workspace;
    |this, call| kernels partition;
    count count: W;
    reads keys: u8;
    writes starts: W [u64::from(this.classes) + 1], out: W;
    gpu |partition, stream, scratch| partition.indices(stream, keys, count, out, starts, scratch);
    cpu |items| Ok(partition::cpu::classes(this.classes, keys, out, starts)?)
}

/// Creates the operation of a plan of [`compaction_plan_partition`], with all its kernels loaded if there is a GPU.
fn partitions<T: Shared + Send + Sync, W: CountWord>(
    gpu: Option<&Gpu>,
    has_items: bool,
) -> Result<TypedPlan<PartitionCall>, Failure> {
    let load = |gpu: &Gpu| {
        let partition = Partition::new(&gpu.compiler, &gpu.context)?;
        if has_items {
            partition.prepare::<T>()?;
        }
        Ok::<_, Failure>(partition)
    };
    let operation = Partitions::<T, W> {
        has_items,
        partition: gpu.map(load).transpose()?,
        types: PhantomData,
    };
    Ok(TypedPlan::new("partition", operation))
}

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
    make_plan!(context, plan, |gpu| {
        let word = Word::of_bits(word_bits)?;
        if item_bytes == 0 {
            return with_word!(word, W => partitions::<u32, W>(gpu, false));
        }
        let item = ItemSize::of_bytes(item_bytes)?;
        with_word!(word, W => with_item!(item, T => partitions::<T, W>(gpu, true)))
    })
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
    make_plan!(context, plan, |gpu| {
        // Checks the number on the CPU too.
        Classes::sources(classes)?;
        let load = |gpu: &Gpu| Classes::new(&gpu.compiler, &gpu.context, classes);
        let partition = gpu.map(load).transpose()?;
        with_word!(Word::of_bits(word_bits)?, W => {
            let word = PhantomData::<fn(W)>;
            Ok(TypedPlan::new("partition_classes", ByClass { classes, partition, word }))
        })
    })
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
    call_with!(plan, workspace, stream; "partition_indices" PartitionCall {
        values: None, flags, items, count, out, selected
    })
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
    call_with!(plan, workspace, stream; "partition_items" PartitionCall {
        values: Some(values), flags, items, count, out, selected
    })
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
    call_with!(plan, workspace, stream; "partition_classes" ClassesCall { keys, items, count, out, starts })
}
