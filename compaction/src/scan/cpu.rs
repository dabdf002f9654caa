//! The operations of [`scan`](crate::scan) on the CPU.

use rayon::prelude::*;

use super::{check_lengths, tree};
use crate::{
    Result,
    monoid::{Item, Monoid, Operator, with_monoid},
};

/// Fewer items than this are not worth the threads.
const PARALLEL_FROM: usize = 1 << 16;

/// Items that all threads take together before they go on: read twice, the second time from the cache.
const SEGMENT_ITEMS: usize = 1 << 20;

/// The definition: all items before each item, combined one by one.
///
/// ```
/// use compaction::scan::{Operator, cpu::exclusive_specification};
///
/// assert!(exclusive_specification(Operator::Sum, &[3, 1, 4, 1_u32]).eq([0, 3, 4, 8]));
/// assert!(exclusive_specification(Operator::Max, &[3, 1, 4, 1]).eq([i32::MIN, 3, 3, 4]));
/// ```
pub fn exclusive_specification<T: Item>(
    operator: Operator,
    items: &[T],
) -> impl Iterator<Item = T> {
    specification(operator, items).map(|(exclusive, _)| exclusive)
}

/// The definition: each item with all before it, combined one by one.
///
/// ```
/// use compaction::scan::{Operator, cpu::inclusive_specification};
///
/// assert!(inclusive_specification(Operator::Sum, &[3, 1, 4, 1_u32]).eq([3, 4, 8, 9]));
/// assert!(inclusive_specification(Operator::Min, &[3.0, f32::NAN, -0.0]).eq([3.0, 3.0, -0.0]));
/// ```
pub fn inclusive_specification<T: Item>(
    operator: Operator,
    items: &[T],
) -> impl Iterator<Item = T> {
    specification(operator, items).map(|(_, inclusive)| inclusive)
}

/// The exclusive and the inclusive prefix at each item.
fn specification<T: Item>(operator: Operator, items: &[T]) -> impl Iterator<Item = (T, T)> {
    let combine: fn(T, T) -> T = with_monoid!(operator, T, M => combine::<T, M<T>>);
    let mut before = with_monoid!(operator, T, M => M::<T>::lower(M::<T>::IDENTITY));
    items.iter().map(move |&item| {
        let exclusive = before;
        before = combine(before, item);
        (exclusive, before)
    })
}

fn combine<T, M: Monoid<T>>(left: T, right: T) -> T {
    M::lower(M::combine(M::lift(left), M::lift(right)))
}

/// Writes to `out`, for each item, all items before it combined; the operator's identity for the first.
///
/// `out` has room for as many items; what lies behind the result is left as it was. Short inputs stay on the
/// calling thread. Floating-point sums are combined by a fixed tree, on one thread or many: the bits are those of
/// [`Strategy::Raking`](super::Strategy::Raking) and [`Strategy::BlockSums`](super::Strategy::BlockSums), the payload
/// of what is no number aside.
///
/// ```
/// use compaction::scan::{Operator, cpu};
///
/// let mut out = [0; 5];
/// cpu::exclusive(Operator::Sum, &[3, 1, 4, 1, 5], &mut out)?;
/// assert_eq!(out, [0, 3, 4, 8, 9]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort).
pub fn exclusive<T: Item>(operator: Operator, items: &[T], out: &mut [T]) -> Result<()> {
    scan(operator, items, out, false)
}

/// Writes to `out`, for each item, all items before it and itself combined. As [`exclusive`].
///
/// ```
/// use compaction::scan::{Operator, cpu};
///
/// let mut out = [0.0; 3];
/// cpu::inclusive(Operator::Sum, &[0.5, 0.25, 4.0], &mut out)?;
/// assert_eq!(out, [0.5, 0.75, 4.75]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort).
pub fn inclusive<T: Item>(operator: Operator, items: &[T], out: &mut [T]) -> Result<()> {
    scan(operator, items, out, true)
}

fn scan<T: Item>(operator: Operator, items: &[T], out: &mut [T], inclusive: bool) -> Result<()> {
    check_lengths(items.len(), out.len())?;
    let out = &mut out[..items.len()];
    with_monoid!(operator, T, M => if !M::<T>::EXACT {
        tree::scan::<T, M<T>>(items, out, inclusive);
    } else if items.len() < PARALLEL_FROM {
        scan_run::<T, M<T>>(items, M::<T>::IDENTITY, out, inclusive);
    } else {
        scan_segments::<T, M<T>>(items, out, inclusive);
    });
    Ok(())
}

/// The prefixes of one run of items, behind what comes before it.
fn scan_run<T: Item, M: Monoid<T>>(
    items: &[T],
    mut before: M::Value,
    out: &mut [T],
    inclusive: bool,
) {
    for (out, &item) in out.iter_mut().zip(items) {
        let with_item = M::combine(before, M::lift(item));
        *out = M::lower(if inclusive { with_item } else { before });
        before = with_item;
    }
}

fn fold<T: Item, M: Monoid<T>>(items: &[T]) -> M::Value {
    let values = items.iter().map(|&item| M::lift(item));
    values.fold(M::IDENTITY, M::combine)
}

/// Segment by segment, two passes over the chunks of each: their totals say what is before each, and then each is
/// scanned.
fn scan_segments<T: Item, M: Monoid<T>>(items: &[T], out: &mut [T], inclusive: bool) {
    let threads = rayon::current_num_threads();
    let mut before = M::IDENTITY;
    let segments = items.chunks(SEGMENT_ITEMS);
    for (items, out) in segments.zip(out.chunks_mut(SEGMENT_ITEMS)) {
        let chunk_items = items.len().div_ceil(threads);
        let chunks = items.par_chunks(chunk_items);
        let totals: Vec<M::Value> = chunks.clone().map(fold::<T, M>).collect();
        let befores = totals.iter().map(|&total| {
            let exclusive = before;
            before = M::combine(before, total);
            exclusive
        });
        let parts = out.par_chunks_mut(chunk_items);
        let work = chunks.zip(parts).zip(befores.collect::<Vec<_>>());
        work.for_each(|((items, out), before)| scan_run::<T, M>(items, before, out, inclusive));
    }
}
