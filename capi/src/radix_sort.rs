//! Radix sorts of keys, of key-value pairs and of indices (argsort): plans and calls.

use std::{ffi::c_char, marker::PhantomData, ops::Range};

use compaction::{
    CountWord,
    radix_sort::{self, Key, Order, RadixSort, Strategy},
};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, name_or_default, text},
    operation::{Site, TypedOperation, TypedPlan, call_with, operation, run},
    plan::{Plan, make_plan},
    status::{Failure, Status},
    types::{Value, Word, order, with_key, with_value, with_word},
    workspace::Workspace,
};

/// The arguments of [`compaction_radix_sort_keys`] or [`compaction_radix_sort_pairs`].
struct SortCall {
    keys: Address,
    items: u64,
    count: Address,
    keys_out: Address,
    /// The addresses of the values and of their output. `None` for keys alone.
    values: Option<(Address, Address)>,
}

/// A sort of keys alone, or of keys with values of type `V`.
struct Sort<K, V, W> {
    parameters: Parameters,
    /// The loaded kernels. `None` on the CPU.
    sort: Option<RadixSort<K, W>>,
    values: PhantomData<fn(V)>,
}

impl<K: Key, V: Value, W: CountWord> TypedOperation for Sort<K, V, W> {
    type Scratch = radix_sort::Workspace<K, V::InWorkspace>;
    type Call = SortCall;

    fn scratch_variant(&self) {}

    unsafe fn run(&self, site: Site, call: &SortCall) -> Result<(), Failure> {
        let mut buffers = Buffers::default();
        let count = buffers.count::<W>(call.count, call.items)?;
        let keys = buffers.reads::<K>("keys", call.keys, call.items)?;
        let keys_out = buffers.writes::<K>("keys_out", call.keys_out, call.items)?;
        let (order, bits) = (self.parameters.order, self.parameters.bits.clone());
        let Some((values, values_out)) = call.values else {
            buffers.check_apart()?;
            return run! {
                site, &self.sort, count.max(), count;
                reads keys; writes keys_out;
                gpu |sort, stream, scratch: radix_sort::Workspace<K, V::InWorkspace>| {
                    sort.keys(stream, keys, count, keys_out, scratch)
                };
                cpu |items| Ok(radix_sort::cpu::keys(order, bits, keys, keys_out)?)
            };
        };
        V::check_exist()?;
        let values = buffers.reads::<V::InBuffers>("values", values, call.items)?;
        let values_out = buffers.writes::<V::InBuffers>("values_out", values_out, call.items)?;
        buffers.check_apart()?;
        run! {
            site, &self.sort, count.max(), count;
            reads keys, values; writes keys_out, values_out;
            gpu |sort, stream, scratch: radix_sort::Workspace<K, V::InBuffers>| {
                sort.pairs(stream, keys, values, count, keys_out, values_out, scratch)
            };
            cpu |items| Ok(radix_sort::cpu::pairs(order, bits, keys, values, keys_out, values_out)?)
        }
    }
}

/// An argsort, with indices and counts of type `W`.
struct Argsort<K, W> {
    parameters: Parameters,
    /// The loaded kernels. `None` on the CPU.
    sort: Option<RadixSort<K, W>>,
}

operation! {
    /// The arguments of [`compaction_argsort`].
    struct ArgsortCall {}
    impl [K: Key, W: CountWord] Argsort<K, W>, scratch radix_sort::Workspace<K, W>;
    |this, call| kernels sort;
    count count: W;
    reads keys: K;
    writes keys_out: K, indices_out: W;
    gpu |sort, stream, scratch| sort.argsort(stream, keys, count, keys_out, indices_out, scratch);
    cpu |items| {
        let (order, bits) = (this.parameters.order, this.parameters.bits.clone());
        Ok(radix_sort::cpu::argsort(order, bits, keys, keys_out, indices_out)?)
    }
}

/// The strategy, the order and the bits of a sort.
struct Parameters {
    strategy: Strategy,
    order: Order,
    /// The bits to sort by, counted from the lowest. The range `0..0` stands for all.
    bits: Range<u32>,
}

/// Checks the parameters of a plan and loads the kernels for keys alone if there is a GPU. `prepare` loads the others.
fn load<K: Key, W: CountWord>(
    gpu: Option<&Gpu>,
    mut parameters: Parameters,
    prepare: impl FnOnce(&RadixSort<K, W>) -> compaction::Result<()>,
) -> Result<(Parameters, Option<RadixSort<K, W>>), Failure> {
    if parameters.bits == (0..0) {
        parameters.bits = 0..8 * size_of::<K>() as u32;
    }
    let (order, bits) = (parameters.order, parameters.bits.clone());
    // Checks the bits on the CPU too.
    radix_sort::cpu::keys::<K>(order, bits.clone(), &[], &mut [])?;
    let load = |gpu: &Gpu| {
        let (compiler, context) = (&gpu.compiler, &gpu.context);
        let sort = RadixSort::<K, W>::new(compiler, context, order, parameters.strategy)?;
        prepare(&sort)?;
        sort.bits(bits)
    };
    let sort = gpu.map(load).transpose()?;
    Ok((parameters, sort))
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
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (strategy, name) = unsafe {
            (
                name_or_default("strategy", strategy)?,
                text("type", r#type)?,
            )
        };
        let parameters = Parameters {
            strategy,
            order: order(descending),
            bits: first_bit..end_bit,
        };
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_key!(name, K => with_value!(value_bytes, V => {
            let (parameters, sort) = load::<K, W>(gpu, parameters, |sort| match V::EXIST {
                true => sort.prepare_pairs::<<V as Value>::InBuffers>(),
                false => Ok(()),
            })?;
            let values = PhantomData::<fn(V)>;
            Ok(TypedPlan::new("radix_sort", Sort { parameters, sort, values }))
        })))
    })
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
    call_with!(plan, workspace, stream; "radix_sort_keys" SortCall { keys, items, count, keys_out, values: None })
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
    call_with!(plan, workspace, stream; "radix_sort_pairs" SortCall {
        keys, items, count, keys_out, values: Some((values, values_out))
    })
}

/// Plans argsorts, which sort keys and return their order as indices: compaction_argsort.
///
/// The indices and the counts are unsigned words of `word_bits` bits: 32, for fewer than 2^32 keys, or 64. The other
/// parameters are those of compaction_plan_radix_sort.
///
/// The library contains the kernels of onesweep for keys of u32 and f32 in both orders, with words of 32 bits. Others need
/// NVRTC on the first use.
///
/// # Safety
///
/// As for compaction_plan_radix_sort.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_argsort(
    context: *const Context,
    strategy: *const c_char,
    r#type: *const c_char,
    descending: i32,
    first_bit: u32,
    end_bit: u32,
    word_bits: u32,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let (strategy, name) = unsafe {
            (
                name_or_default("strategy", strategy)?,
                text("type", r#type)?,
            )
        };
        let parameters = Parameters {
            strategy,
            order: order(descending),
            bits: first_bit..end_bit,
        };
        let word = Word::of_bits(word_bits)?;
        with_word!(word, W => with_key!(name, K => {
            let (parameters, sort) = load::<K, W>(gpu, parameters, RadixSort::prepare_argsort::<W>)?;
            Ok(TypedPlan::new("argsort", Argsort { parameters, sort }))
        }))
    })
}

/// Writes the sorted keys to `keys_out`, and the index that each of them had among `keys` to `indices_out`. Equal keys
/// keep their order.
///
/// Both outputs must have room for `items` entries. Otherwise like compaction_radix_sort_keys.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_argsort(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    items: u64,
    count: Address,
    keys_out: Address,
    indices_out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "argsort" ArgsortCall { keys, items, count, keys_out, indices_out })
}
