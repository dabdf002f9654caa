//! Sorts of segments: plans and calls.

use std::{ffi::c_char, marker::PhantomData};

use compaction::{
    CountWord,
    segmented_sort::{self, Key, Order, SegmentedSort, cpu},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, text},
    operation::{Site, TypedOperation, TypedPlan, call_with, run},
    plan::{Plan, make_plan},
    segments::{Segments, first},
    status::{Failure, Status},
    types::{Value, Word, order, with_key, with_value, with_word},
    workspace::Workspace,
};

/// The arguments of the calls of a plan of [`compaction_plan_segmented_sort`].
struct SegmentedSortCall {
    keys: Address,
    items: u64,
    segments: Segments,
    count: Address,
    keys_out: Address,
    /// The addresses of the values and of their output. `None` for keys alone.
    values: Option<(Address, Address)>,
}

/// A sort of segments of keys alone, or of keys with values of type `V`, with offsets and counts of type `W`.
struct Sort<K, V, W: CountWord> {
    order: Order,
    /// The loaded kernels. `None` on the CPU.
    sort: Option<SegmentedSort<K, W>>,
    values: PhantomData<fn(V)>,
}

impl<K: Key, V: Value, W: CountWord> TypedOperation for Sort<K, V, W> {
    type Scratch = segmented_sort::Workspace<K, V::InWorkspace>;
    type Call = SegmentedSortCall;

    fn scratch_variant(&self) {}

    unsafe fn run(&self, site: Site, call: &SegmentedSortCall) -> Result<(), Failure> {
        let order = self.order;
        let (segments, length) = (call.segments.number(call.items), call.segments.length());
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, segments)?;
        let keys = buffers.reads::<K>("keys", call.keys, call.items)?;
        let offsets = call.segments.offsets::<W>(&mut buffers)?;
        let keys_out = buffers.writes::<K>("keys_out", call.keys_out, call.items)?;
        let Some((values, values_out)) = call.values else {
            buffers.check_apart()?;
            return run! {
                site, &self.sort, keys.len(), count;
                reads; whole keys; writes keys_out;
                gpu |sort, stream, scratch: segmented_sort::Workspace<K, V::InWorkspace>| match &offsets {
                    Some(offsets) => {
                        let offsets = &offsets.on(stream)?;
                        sort.keys_by_offsets(stream, keys, offsets, count, keys_out, scratch)
                    }
                    None => sort.keys_of_length(stream, keys, count, length, keys_out, scratch),
                };
                cpu |segments| Ok(match &offsets {
                    Some(offsets) => cpu::keys_by_offsets(order, keys, offsets.host(segments + 1)?, keys_out),
                    None => cpu::keys_of_length(order, first(keys, segments, length), length, keys_out),
                }?)
            };
        };
        V::check_exist()?;
        let values = buffers.reads::<V::InBuffers>("values", values, call.items)?;
        let values_out = buffers.writes::<V::InBuffers>("values_out", values_out, call.items)?;
        buffers.check_apart()?;
        run! {
            site, &self.sort, keys.len(), count;
            reads; whole keys, values; writes keys_out, values_out;
            gpu |sort, stream, scratch: segmented_sort::Workspace<K, V::InBuffers>| match &offsets {
                Some(offsets) => {
                    let offsets = &offsets.on(stream)?;
                    sort.pairs_by_offsets(stream, keys, values, offsets, count, keys_out, values_out, scratch)
                }
                None => sort.pairs_of_length(stream, keys, values, count, length, keys_out, values_out, scratch),
            };
            cpu |segments| Ok(match &offsets {
                Some(offsets) => {
                    let offsets = offsets.host(segments + 1)?;
                    cpu::pairs_by_offsets(order, keys, values, offsets, keys_out, values_out)
                }
                None => {
                    let (keys, values) = (first(keys, segments, length), first(values, segments, length));
                    cpu::pairs_of_length(order, keys, values, length, keys_out, values_out)
                }
            }?)
        }
    }
}

/// Plans sorts of the keys of each segment, alone or with values: compaction_segmented_sort_keys_by_offsets,
/// compaction_segmented_sort_keys_of_length, and the same for pairs.
///
/// `type` is the type of the keys: u8, u16, u32, u64, i8, i16, i32, i64, f32 or f64. `value_bytes` is the size of a value, 4
/// or 8, or 0 for keys alone. The order is ascending if `descending` is 0. Offsets and counts are unsigned words of
/// `word_bits` bits: 32, for fewer than 2^32 keys, or 64. A workspace is for a number of keys, however many segments there
/// are.
///
/// The sort is stable. Floats are in the order of IEEE 754 totalOrder.
///
/// The library contains the kernels for keys of u32 and f32 in ascending order, alone and with values of 4 bytes, with words
/// of 32 bits. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `type` a text that ends with a zero byte. `plan` must point to memory
/// for a pointer. Null is an error for all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_segmented_sort(
    context: *const Context,
    r#type: *const c_char,
    value_bytes: u32,
    descending: i32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let name = unsafe { text("type", r#type) }?;
        let (word, order) = (Word::of_bits(word_bits)?, order(descending));
        with_word!(word, W => with_key!(name, K => with_value!(value_bytes, V => {
            let load = |gpu: &Gpu| {
                let sort = SegmentedSort::<K, W>::new(&gpu.compiler, &gpu.context, order)?;
                if V::EXIST {
                    sort.prepare_pairs::<<V as Value>::InBuffers>()?;
                }
                Ok::<_, Failure>(sort)
            };
            let (sort, values) = (gpu.map(load).transpose()?, PhantomData::<fn(V)>);
            Ok(TypedPlan::new("segmented_sort", Sort { order, sort, values }))
        })))
    })
}

/// Writes the keys of each segment to `keys_out`, sorted: segment s has the keys from `offsets[s]` to before
/// `offsets[s + 1]` of the `items` keys at `keys`.
///
/// There are `segments` segments, or as many as the word at the address `count` says, if that is not 0. A word larger than
/// `segments` counts as `segments`, and compaction_workspace_check reports it; on the CPU it is an error. `offsets` has
/// `segments` + 1 words, and `keys_out` must have room for `items` keys. Entries outside all segments keep their values.
///
/// An offset larger than `items` counts as `items`. No offset may be less than the one before it: on the CPU that is an
/// error, and on a GPU the results of this and later calls with the workspace are unspecified. No other memory is accessed.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_segmented_sort_keys_by_offsets(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    items: u64,
    offsets: Address,
    segments: u64,
    count: Address,
    keys_out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "segmented_sort" SegmentedSortCall {
        keys, items, segments: Segments::Between { offsets, segments }, count, keys_out, values: None
    })
}

/// Writes the keys of each segment to `keys_out`, sorted, where each segment has `length` keys. Otherwise like
/// compaction_segmented_sort_keys_by_offsets.
///
/// There are as many segments as `items` has whole ones, or as many as the word at `count` says. Keys behind them are
/// ignored. A `length` of 0 is an error.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_segmented_sort_keys_of_length(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    items: u64,
    length: u64,
    count: Address,
    keys_out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "segmented_sort" SegmentedSortCall {
        keys, items, segments: Segments::OfLength(length), count, keys_out, values: None
    })
}

/// Sorts the keys of each segment, and writes the value of each key to the same index of `values_out`. Otherwise like
/// compaction_segmented_sort_keys_by_offsets.
///
/// `values_out` must have room for `items` values. Values must be aligned to their size.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_segmented_sort_pairs_by_offsets(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    values: Address,
    items: u64,
    offsets: Address,
    segments: u64,
    count: Address,
    keys_out: Address,
    values_out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "segmented_sort" SegmentedSortCall {
        keys, items, segments: Segments::Between { offsets, segments }, count, keys_out, values: Some((values, values_out))
    })
}

/// Sorts the keys of each segment of `length` keys, and writes the value of each key to the same index of `values_out`.
/// Otherwise like compaction_segmented_sort_keys_of_length.
///
/// `values_out` must have room for `items` values. Values must be aligned to their size.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_segmented_sort_pairs_of_length(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    values: Address,
    items: u64,
    length: u64,
    count: Address,
    keys_out: Address,
    values_out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "segmented_sort" SegmentedSortCall {
        keys, items, segments: Segments::OfLength(length), count, keys_out, values: Some((values, values_out))
    })
}
