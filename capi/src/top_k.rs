//! Selections of the first keys in sort order: plans and calls.

use std::ffi::c_char;

use compaction::top_k::{self, Key, Order, TopK};

use crate::{
    buffers::Buffers,
    context::{Context, Gpu},
    memory::{Address, CUstream_st, text, to_len},
    operation::{Site, TypedOperation, TypedPlan, call_with, run},
    plan::{Plan, make_plan},
    scratch::MaxK,
    status::{Failure, Status},
    types::{order, with_key},
    workspace::Workspace,
};

/// The arguments of [`compaction_top_k`].
struct TopKCall {
    keys: Address,
    items: u64,
    count: Address,
    k: u64,
    keys_out: Address,
    indices_out: Address,
}

/// Selections of the first keys of type `K`.
struct TopKeys<K> {
    order: Order,
    max_k: usize,
    /// The loaded kernels. `None` on the CPU.
    select: Option<TopK<K>>,
}

impl<K: Key> TypedOperation for TopKeys<K> {
    type Scratch = top_k::Workspace<K>;
    type Call = TopKCall;

    fn scratch_variant(&self) -> MaxK {
        MaxK(self.max_k)
    }

    unsafe fn run(&self, site: Site, call: &TopKCall) -> Result<(), Failure> {
        let k = to_len(call.k)?;
        if k > self.max_k {
            let max_k = self.max_k;
            return Err(Failure::invalid(format!(
                "k: {k}, where the plan allows up to {max_k}"
            )));
        }
        let found = call.k.min(call.items);
        let mut buffers = Buffers::default();
        let count = buffers.count::<u32>(call.count, call.items)?;
        let keys = buffers.reads::<K>("keys", call.keys, call.items)?;
        let keys_out = buffers.writes::<K>("keys_out", call.keys_out, found)?;
        let indices_out = buffers.writes::<u32>("indices_out", call.indices_out, found)?;
        buffers.check_apart()?;
        run! {
            site, &self.select, count.max(), count;
            reads keys; writes keys_out, indices_out;
            gpu |select, stream, scratch| {
                select.keys_and_indices(stream, keys, count, k, keys_out, indices_out, scratch)
            };
            cpu |items| {
                top_k::cpu::keys_and_indices(self.order, keys, k, keys_out, indices_out)?;
                Ok(())
            }
        }
    }
}

/// Plans selections of the first keys in sort order: compaction_top_k.
///
/// `type` is u8, u16, u32, u64, i8, i16, i32, i64, f32 or f64. The calls select the smallest keys if `descending` is 0, and
/// the largest ones otherwise: up to `max_k`. Floats are in the order of IEEE 754 totalOrder. Indices and counts are words of
/// 32 bits, for fewer than 2^32 keys. A workspace is for a number of keys, and for plans of the same `max_k`.
///
/// The kernels need NVRTC on the first use.
///
/// # Safety
///
/// `context` must be a context of this library, and `type` a text that ends with a zero byte. `plan` must point to memory
/// for a pointer. Null is an error for all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_plan_top_k(
    context: *const Context,
    r#type: *const c_char,
    descending: i32,
    max_k: u64,
    plan: *mut *mut Plan,
) -> Status {
    make_plan!(context, plan, |gpu| {
        // SAFETY: the caller's duty.
        let name = unsafe { text("type", r#type) }?;
        let (order, max_k) = (order(descending), to_len(max_k)?);
        with_key!(name, K => {
            let load = |gpu: &Gpu| TopK::<K>::new(&gpu.compiler, &gpu.context, order);
            let select = gpu.map(load).transpose()?;
            Ok(TypedPlan::new("top_k", TopKeys { order, max_k, select }))
        })
    })
}

/// Writes the first `k` keys in sort order to `keys_out`, sorted, and the index that each of them had to `indices_out`. Of
/// equal keys, those with the smallest indices come first.
///
/// Reads `items` keys, or as many as the word at the address `count` says, if that is not 0. A word larger than `items`
/// counts as `items`, and compaction_workspace_check reports it; on the CPU it is an error. Fewer than `k` keys are all
/// selected. Both outputs must have room for `k` entries, or for `items` if those are fewer. Memory behind the results keeps
/// its values.
///
/// # Safety
///
/// As for compaction_select_indices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compaction_top_k(
    plan: *const Plan,
    workspace: *mut Workspace,
    stream: *mut CUstream_st,
    keys: Address,
    items: u64,
    count: Address,
    k: u64,
    keys_out: Address,
    indices_out: Address,
) -> Status {
    call_with!(plan, workspace, stream; "top_k" TopKCall { keys, items, count, k, keys_out, indices_out })
}
