//! The order in which reductions combine items. Twin: `kernels/reduce.cuh`.
//!
//! ```text
//! item ─ vector (one by one) ─ lane (one by one) ─ warp (32 lanes, pairwise)
//!                            └ segment (pairwise) ─ warp (one by one)
//!      ─ block (8 warps, one by one) ─ all blocks
//! ```
//!
//! A warp combines its vectors lane by lane if the operation is commutative, and otherwise in segments.

use super::{BLOCK_THREADS, BLOCK_WARPS, MAX_BLOCKS, lane_items, segment_items};
use crate::{
    fold::{Fold, fold_pairwise},
    parallel,
};

/// Number of items from which an exact reduction is processed in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;

/// The shape of the tree over a number of items.
pub(super) struct Plan {
    /// Segments of each warp, except the last ones.
    warp_segments: usize,
    /// Blocks: at least one.
    pub(super) blocks: usize,
}

impl Plan {
    pub(super) const fn new(items: usize, item_bytes: usize) -> Self {
        let segments = items.div_ceil(segment_items(item_bytes));
        let warp_segments = segments.div_ceil((MAX_BLOCKS * BLOCK_WARPS) as usize);
        let warp_segments = if warp_segments == 0 { 1 } else { warp_segments };
        let blocks = segments.div_ceil(warp_segments * BLOCK_WARPS as usize);
        Self {
            warp_segments,
            blocks: if blocks == 0 { 1 } else { blocks },
        }
    }
}

/// Returns the combination of all items, computed in parallel.
pub(crate) fn reduce<T: Copy + Send + Sync, F: Fold<T>>(fold: &F, items: &[T]) -> F::Value {
    if F::EXACT && items.len() < PARALLEL_FROM {
        return fold_one_by_one(fold, items, 0);
    }
    let plan = Plan::new(items.len(), size_of::<T>());
    let warp_items = plan.warp_segments * segment_items(size_of::<T>());
    let block_items = warp_items * BLOCK_WARPS as usize;
    let blocks = parallel::map(items.chunks(block_items), |number, block| {
        if F::EXACT {
            return fold_one_by_one(fold, block, number * block_items);
        }
        let warps = block.chunks(warp_items).enumerate().map(|(warp, items)| {
            let first = number * block_items + warp * warp_items;
            fold_warp(fold, items, first)
        });
        combine_all(fold, warps)
    });
    if blocks.len() <= 1 {
        return blocks.first().copied().unwrap_or_else(|| fold.identity());
    }
    fold_blocks(fold, &blocks)
}

fn combine_all<T, F: Fold<T>>(fold: &F, values: impl Iterator<Item = F::Value>) -> F::Value {
    values.fold(fold.identity(), |left, right| fold.combine(left, right))
}

/// Combines consecutive items, of which the first has the index `first`.
fn fold_one_by_one<T: Copy, F: Fold<T>>(fold: &F, items: &[T], first: usize) -> F::Value {
    let values = items.iter().zip(first..);
    combine_all(fold, values.map(|(&item, index)| fold.lift(item, index)))
}

/// Combines the items of a warp, of which the first has the index `first`.
fn fold_warp<T: Copy, F: Fold<T>>(fold: &F, items: &[T], first: usize) -> F::Value {
    let lane = lane_items(size_of::<T>());
    if !F::COMMUTATIVE {
        return fold_segments(fold, items, first);
    }
    let mut lanes = [fold.identity(); 32];
    for (row, first) in items.chunks(32 * lane).zip((first..).step_by(32 * lane)) {
        let vectors = row.chunks(lane).zip((first..).step_by(lane));
        for (value, (vector, first)) in lanes.iter_mut().zip(vectors) {
            *value = fold.combine(*value, fold_vector(fold, vector, first));
        }
    }
    fold_pairwise(fold, &mut lanes.to_vec(), 32)
}

/// Combines the items of a vector one by one.
#[inline]
fn fold_vector<T: Copy, F: Fold<T>>(fold: &F, vector: &[T], first: usize) -> F::Value {
    let mut value = fold.lift(vector[0], first);
    for (&item, index) in vector[1..].iter().zip(first + 1..) {
        value = fold.combine(value, fold.lift(item, index));
    }
    value
}

/// Combines the segments of a warp one by one.
fn fold_segments<T: Copy, F: Fold<T>>(fold: &F, items: &[T], first: usize) -> F::Value {
    let segment_items = segment_items(size_of::<T>());
    let mut vectors = Vec::with_capacity(segment_items / lane_items(size_of::<T>()));
    let segments = items
        .chunks(segment_items)
        .zip((first..).step_by(segment_items));
    let values = segments.map(|(segment, first)| {
        vectors.clear();
        let lane = lane_items(size_of::<T>());
        for (vector, first) in segment.chunks(lane).zip((first..).step_by(lane)) {
            vectors.push(fold_vector(fold, vector, first));
        }
        fold_pairwise(fold, &mut vectors, segment_items / lane)
    });
    combine_all(fold, values)
}

/// Combines the results of all blocks: adjacent ones in a thread, pairwise in a warp, and one by one over the warps.
fn fold_blocks<T, F: Fold<T>>(fold: &F, blocks: &[F::Value]) -> F::Value {
    let share = blocks.len().div_ceil(BLOCK_THREADS as usize);
    let threads = blocks.chunks(share);
    let threads: Vec<_> = threads
        .map(|blocks| combine_all(fold, blocks.iter().copied()))
        .collect();
    let warps = threads
        .chunks(32)
        .map(|lanes| fold_pairwise(fold, &mut lanes.to_vec(), 32));
    combine_all(fold, warps)
}
