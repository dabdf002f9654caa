//! Reductions of segments: plans and calls.

use std::ffi::c_char;

use compaction::{
    CountWord,
    segmented_reduce::{self, Item, Operator, SegmentedReduce, cpu},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, name_or_default, text},
    operation::{Site, TypedOperation, TypedPlan, call_with, run},
    plan::{Plan, make_plan},
    segments::{Segments, first},
    status::{Failure, Status},
    types::{Word, with_number, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_segmented_reduce_by_offsets`] or [`compaction_segmented_reduce_of_length`].
struct SegmentedReduceCall {
    values: Address,
    items: u64,
    segments: Segments,
    count: Address,
    out: Address,
}

/// Reductions of segments of items of type `T`, with offsets and counts of type `W`.
struct Reductions<T: Item, W: CountWord> {
    operator: Operator,
    /// The loaded kernels. `None` on the CPU.
    reduce: Option<SegmentedReduce<T, W>>,
}

impl<T: Item, W: CountWord> TypedOperation for Reductions<T, W> {
    type Scratch = segmented_reduce::Workspace<T>;
    type Call = SegmentedReduceCall;

    fn scratch_variant(&self) {}

    unsafe fn run(&self, site: Site, call: &SegmentedReduceCall) -> Result<(), Failure> {
        let segments = call.segments.number(call.items);
        let length = call.segments.length();
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, segments)?;
        let values = buffers.reads::<T>("values", call.values, call.items)?;
        let offsets = call.segments.offsets::<W>(&mut buffers)?;
        let out = buffers.writes::<T>("out", call.out, segments)?;
        buffers.check_apart()?;
        run! {
            site, &self.reduce, values.len(), count;
            reads; whole values; writes out;
            gpu |reduce, stream, scratch: segmented_reduce::Workspace<T>| match &offsets {
                Some(offsets) => {
                    let offsets = &offsets.on(stream)?;
                    reduce.by_offsets(stream, values, offsets, count, out, scratch)
                }
                None => reduce.of_length(stream, values, count, length, out, scratch),
            };
            cpu |segments| Ok(match &offsets {
                Some(offsets) => cpu::by_offsets(self.operator, values, offsets.host(segments + 1)?, out),
                None => cpu::of_length(self.operator, first(values, segments, length), length, out),
            }?)
        }
    }
}

/// Plans reductions of segments: compaction_segmented_reduce_by_offsets and compaction_segmented_reduce_of_length.
///
/// `op` is sum, min or max; null stands for sum. `type` is u32, i32, u64, i64, f32 or f64. Offsets and counts are
/// unsigned words of `word_bits` bits: 32, for fewer than 2^32 items, or 64. A workspace is for a number of items,
/// however many segments there are.
///
/// Sums of integers wrap around on overflow. Sums of floats have the same bits on every GPU and on the CPU.
///
/// The library contains the kernels of sums with words of 32 bits. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library. The names must be texts that end with a zero byte; `op` may be null.
/// `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_segmented_reduce(
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
            let load = |gpu: &Gpu| {
                SegmentedReduce::<T, W>::new(&gpu.compiler, &gpu.context, operator)
            };
            let reduce = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("segmented_reduce", Reductions { operator, reduce }))
        }))
    })
}

/// Writes the combination of the items of each segment to `out`: segment s has the items from `offsets[s]` to before
/// `offsets[s + 1]` of the `items` items at `values`.
///
/// There are `segments` segments, or as many as the word at the address `count` says, if that is not 0. A word larger
/// than `segments` counts as `segments`, and compaction_workspace_check reports it; on the CPU it is an error.
/// `offsets` has `segments` + 1 words, and `out` must have room for `segments` items. The result of an empty segment is
/// the identity of the operator. Memory behind the results keeps its values.
///
/// An offset larger than `items` counts as `items`. No offset may be less than the one before it: on the CPU that is an
/// error, and on a GPU the results of this and later calls with the workspace are unspecified. No other memory is
/// accessed.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_segmented_reduce_by_offsets(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    offsets: Address,
    segments: u64,
    count: Address,
    out: Address,
) -> Status {
    let segments = Segments::Between { offsets, segments };
    call_with!(plan, workspace, stream; "segmented_reduce_by_offsets" SegmentedReduceCall {
        values, items, segments, count, out
    })
}

/// Writes the combination of the items of each segment to `out`, where each segment has `length` items. Otherwise like
/// compaction_segmented_reduce_by_offsets.
///
/// There are as many segments as `items` has whole ones, or as many as the word at `count` says. Items behind them are
/// ignored. A `length` of 0 is an error.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_segmented_reduce_of_length(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    values: Address,
    items: u64,
    length: u64,
    count: Address,
    out: Address,
) -> Status {
    let segments = Segments::OfLength(length);
    call_with!(plan, workspace, stream; "segmented_reduce_of_length" SegmentedReduceCall {
        values, items, segments, count, out
    })
}
