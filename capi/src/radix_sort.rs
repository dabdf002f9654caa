//! Radix sorts of keys and of key-value pairs: plans and calls.

use std::{ffi::c_char, ops::Range, sync::Arc};

use compaction::{
    CountWord,
    cuda::Arena,
    cudarc::driver::{CudaContext, CudaStream},
    layout::Shared,
    radix_sort::{self, Key, Order, RadixSort, Strategy},
};

use crate::{
    context::{Context, Gpu},
    memory::{
        Address, CUstream_st, Ranges, borrow, count_of, device, device_count, host, host_count,
        host_mut, name_or_default, text, to_len, to_word,
    },
    plan::{Extent, Operation, Plan, make_plan},
    status::{Failure, Status, guard},
    types::{Word, with_key, with_word},
    workspace::{Scratch, Workspace},
};

/// The operation of a plan of [`compaction_plan_radix_sort`]: sorts of keys of one type. A plan for values of 4 or 8
/// bytes also sorts keys alone.
struct SortPlan {
    sort: Box<dyn TypedSort>,
}

/// A sort whose types are known.
trait TypedSort: Send + Sync {
    fn scratch_bytes(&self, context: &Arc<CudaContext>, items: usize) -> compaction::Result<usize>;

    fn scratch(&self, arena: &mut Arena, items: usize) -> compaction::Result<Box<dyn Scratch>>;

    /// Returns a failure if an output of a call overlaps another buffer, or if the call has values and the plan is for
    /// keys alone.
    fn check(&self, call: &Call) -> Result<(), Failure>;

    /// Enqueues a sort of keys, or of keys with values, on a GPU. Returns a failure if the workspace is null, in use or
    /// too small.
    ///
    /// # Safety
    ///
    /// As for [`compaction_radix_sort_pairs`].
    unsafe fn on_gpu(
        &self,
        workspace: *mut Workspace,
        stream: &Arc<CudaStream>,
        call: &Call,
    ) -> Result<(), Failure>;

    /// Sorts keys, or keys with values, on the CPU. Returns a failure if the word at `count` is larger than `items`.
    ///
    /// # Safety
    ///
    /// As for [`compaction_radix_sort_pairs`].
    unsafe fn on_cpu(&self, call: &Call) -> Result<(), Failure>;
}

/// The arguments of [`compaction_radix_sort_keys`] or [`compaction_radix_sort_pairs`]. `count` is the address of a word
/// with the number of items, or 0 for all `items`.
struct Call {
    keys: Address,
    items: usize,
    count: Address,
    keys_out: Address,
    /// The addresses of the values and of their output. `None` for keys alone.
    values: Option<(Address, Address)>,
}

/// The values of a sort: none, or items of 4 or 8 bytes.
trait Value: 'static {
    /// The type of the values in workspaces.
    type Stored: 'static;
    /// The type of the values in memory.
    type Item: Shared + Send + Sync;
    /// Whether there are values.
    const EXIST: bool;
}

impl Value for () {
    type Stored = ();
    type Item = u32;
    const EXIST: bool = false;
}

impl Value for u32 {
    type Stored = Self;
    type Item = Self;
    const EXIST: bool = true;
}

impl Value for u64 {
    type Stored = Self;
    type Item = Self;
    const EXIST: bool = true;
}

/// A sort with its loaded kernels; `sort` is `None` on the CPU.
struct Typed<K, V, W> {
    order: Order,
    bits: Range<u32>,
    sort: Option<RadixSort<K, W>>,
    values: std::marker::PhantomData<fn(V)>,
}

impl<K: Key, V: Value, W: CountWord> TypedSort for Typed<K, V, W> {
    fn scratch_bytes(&self, context: &Arc<CudaContext>, items: usize) -> compaction::Result<usize> {
        radix_sort::Workspace::<K, V::Stored>::bytes_for(context, items)
    }

    fn scratch(&self, arena: &mut Arena, items: usize) -> compaction::Result<Box<dyn Scratch>> {
        let workspace = radix_sort::Workspace::<K, V::Stored>::in_arena(arena, items)?;
        Ok(Box::new(workspace))
    }

    fn check(&self, call: &Call) -> Result<(), Failure> {
        if call.values.is_some() && !V::EXIST {
            return Err(Failure::invalid(
                "plan: it was made for keys alone, with value_bytes 0",
            ));
        }
        let mut ranges = Ranges::default()
            .reads::<W>("count", call.count, usize::from(call.count != 0))?
            .reads::<K>("keys", call.keys, call.items)?
            .writes::<K>("keys_out", call.keys_out, call.items)?;
        if let Some((values, out)) = call.values {
            ranges = ranges
                .reads::<V::Item>("values", values, call.items)?
                .writes::<V::Item>("values_out", out, call.items)?;
        }
        ranges.check_apart()
    }

    unsafe fn on_gpu(
        &self,
        workspace: *mut Workspace,
        stream: &Arc<CudaStream>,
        call: &Call,
    ) -> Result<(), Failure> {
        let Some(sort) = &self.sort else {
            return Err(Failure::invalid("plan: it has no kernels"));
        };
        // SAFETY: the caller's duty, for all buffers of the call.
        unsafe {
            let workspace = borrow("workspace", workspace)?;
            let count = device_count::<W>(stream, call.count)?;
            let keys = device::<K>(stream, "keys", call.keys, call.items)?;
            let mut keys_out = device::<K>(stream, "keys_out", call.keys_out, call.items)?;
            let (keys, mut keys_out) = (keys.as_view(), keys_out.as_view_mut());
            let Some((values, values_out)) = call.values else {
                return workspace.with::<radix_sort::Workspace<K, V::Stored>>(stream, |scratch| {
                    sort.keys(stream, &keys, count_of(&count), &mut keys_out, scratch)
                });
            };
            let values = device::<V::Item>(stream, "values", values, call.items)?;
            let mut values_out = device::<V::Item>(stream, "values_out", values_out, call.items)?;
            workspace.with::<radix_sort::Workspace<K, V::Item>>(stream, |scratch| {
                sort.pairs(
                    stream,
                    &keys,
                    &values,
                    count_of(&count),
                    &mut keys_out,
                    &mut values_out,
                    scratch,
                )
            })
        }
    }

    unsafe fn on_cpu(&self, call: &Call) -> Result<(), Failure> {
        let (order, bits) = (self.order, self.bits.clone());
        // SAFETY: the caller's duty. No written buffer overlaps another.
        unsafe {
            let items = host_count::<W>(call.count, call.items)?;
            to_word::<W>("items", items)?;
            let keys = host::<K>("keys", call.keys, items)?;
            let keys_out = host_mut::<K>("keys_out", call.keys_out, items)?;
            let Some((values, values_out)) = call.values else {
                return Ok(radix_sort::cpu::keys(order, bits, keys, keys_out)?);
            };
            let values = host::<V::Item>("values", values, items)?;
            let values_out = host_mut::<V::Item>("values_out", values_out, items)?;
            Ok(radix_sort::cpu::pairs(
                order, bits, keys, values, keys_out, values_out,
            )?)
        }
    }
}

impl Operation for SortPlan {
    fn name(&self) -> &'static str {
        "radix_sort"
    }

    fn scratch_bytes(&self, context: &Arc<CudaContext>, extent: Extent) -> Result<usize, Failure> {
        Ok(self.sort.scratch_bytes(context, extent.items()?)?)
    }

    fn scratch(&self, arena: &mut Arena, extent: Extent) -> Result<Box<dyn Scratch>, Failure> {
        Ok(self.sort.scratch(arena, extent.items()?)?)
    }
}

/// The strategy, the order and the bits of a plan of [`compaction_plan_radix_sort`].
struct Parameters {
    strategy: Strategy,
    order: Order,
    /// The bits to sort by, counted from the lowest. The range `0..0` stands for all.
    bits: Range<u32>,
}

/// Creates the sort of a plan, with its kernels loaded if there is a GPU.
fn typed<K: Key, V: Value, W: CountWord>(
    gpu: Option<&Gpu>,
    parameters: Parameters,
) -> Result<Box<dyn TypedSort>, Failure> {
    let Parameters {
        strategy,
        order,
        mut bits,
    } = parameters;
    if bits == (0..0) {
        bits = 0..8 * size_of::<K>() as u32;
    }
    // Checks the bits on the CPU too.
    radix_sort::cpu::keys::<K>(order, bits.clone(), &[], &mut [])?;
    let load = |gpu: &Gpu| {
        let sort = RadixSort::<K, W>::new(&gpu.compiler, &gpu.context, order, strategy)?;
        if V::EXIST {
            sort.prepare_pairs::<V::Item>()?;
        }
        sort.bits(bits.clone())
    };
    Ok(Box::new(Typed::<K, V, W> {
        order,
        sort: gpu.map(load).transpose()?,
        bits,
        values: std::marker::PhantomData,
    }))
}

/// Plans sorts of keys, or of keys with values: compaction_radix_sort_keys and compaction_radix_sort_pairs.
///
/// `strategy` is onesweep or split; null stands for onesweep, the faster one. `type` is the type of the keys: u8, u16,
/// u32, u64, i8, i16, i32, i64, f32 or f64. `value_bytes` is the size of a value, 4 or 8, or 0 for keys alone. The order
/// is ascending if `descending` is 0. Counts are unsigned words of `word_bits` bits: 32, for fewer than 2^32 keys, or
/// 64.
///
/// The sort is stable, and compares the bits from `first_bit` up to but not including `end_bit`, counted from the
/// lowest. If both are 0, it compares all. Floats are in the order of IEEE 754 totalOrder.
///
/// The library contains the kernels of onesweep for keys of u32, u64, i32 and f32 in both orders, alone and with values
/// of 4 bytes, with counts of 32 bits. Others need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, `strategy` null or a text that ends with a zero byte, and `type` such a
/// text. `plan` must point to memory for a pointer. Null is an error for `context`, `type` and `plan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_radix_sort(
    context: *const Context,
    strategy: *const c_char,
    r#type: *const c_char,
    value_bytes: u32,
    descending: i32,
    first_bit: u32,
    end_bit: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    let make = |gpu: Option<&Gpu>| {
        // SAFETY: the caller's duty.
        let (strategy, name) = unsafe {
            (
                name_or_default("strategy", strategy)?,
                text("type", r#type)?,
            )
        };
        let parameters = Parameters {
            strategy,
            order: match descending {
                0 => Order::Ascending,
                _ => Order::Descending,
            },
            bits: first_bit..end_bit,
        };
        let word = Word::of_bits(word_bits)?;
        let sort = with_word!(word, W => with_key!(name, K => match value_bytes {
            0 => typed::<K, (), W>(gpu, parameters),
            4 => typed::<K, u32, W>(gpu, parameters),
            8 => typed::<K, u64, W>(gpu, parameters),
            _ => Err(Failure::invalid(format!(
                "value_bytes: {value_bytes}, where 0, 4 and 8 are possible"
            ))),
        }))?;
        Ok(SortPlan { sort })
    };
    // SAFETY: the caller's duty.
    unsafe { make_plan(context, plan, make) }
}

/// Writes the sorted keys to `keys_out`.
///
/// Reads `items` keys, or as many as the word at the address `count` says, if that is not 0. A word larger than `items`
/// counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. `keys_out` must have room for
/// `items` keys. Memory behind the results keeps its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_radix_sort_keys(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    items: u64,
    count: Address,
    keys_out: Address,
) -> Status {
    // SAFETY: the caller's duty.
    unsafe {
        sort_call(
            plan,
            workspace,
            stream,
            (keys, items, count, keys_out),
            None,
        )
    }
}

/// Writes the sorted keys to `keys_out`, and the value of each key to the same index of `values_out`. Otherwise like
/// compaction_radix_sort_keys.
///
/// `values_out` must have room for `items` values. Values must be aligned to their size.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_radix_sort_pairs(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    values: Address,
    items: u64,
    count: Address,
    keys_out: Address,
    values_out: Address,
) -> Status {
    let both = Some((values, values_out));
    // SAFETY: the caller's duty.
    unsafe {
        sort_call(
            plan,
            workspace,
            stream,
            (keys, items, count, keys_out),
            both,
        )
    }
}

/// Sorts keys, or keys with values, on the GPU or the CPU of the plan.
///
/// # Safety
///
/// As for [`compaction_radix_sort_pairs`].
unsafe fn sort_call(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    (keys, items, count, keys_out): (Address, u64, Address, Address),
    values: Option<(Address, Address)>,
) -> Status {
    guard(|| {
        // SAFETY: the caller's duty.
        let plan = unsafe { borrow("plan", plan) }?;
        let sort = &plan.operation::<SortPlan>("radix_sort")?.sort;
        let call = Call {
            keys,
            items: to_len(items)?,
            count,
            keys_out,
            values,
        };
        sort.check(&call)?;
        // SAFETY: the caller's duty.
        unsafe {
            match plan.stream(stream) {
                Some((_keep, stream)) => sort.on_gpu(workspace, &stream, &call),
                None => sort.on_cpu(&call),
            }
        }
    })
}
