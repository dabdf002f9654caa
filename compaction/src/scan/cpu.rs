//! The scan on the CPU.

use super::{NAMES, tree};
use crate::{
    Result,
    arguments::check_room,
    chained_scan::chained_scan,
    monoid::{Item, Monoid, Operator, with_monoid},
};

/// Number of items from which an input is processed in parallel instead of on the calling thread. Sums of floats do not
/// depend on it: [`tree::scan`] processes their tiles in parallel for any number of items.
const PARALLEL_FROM: usize = 1 << 16;

/// Bytes of items per chunk of a parallel scan. A thread reads a chunk twice, the second time from its cache.
const CHUNK_BYTES: usize = 128 << 10;

/// Defines the exclusive scan: yields, for each item, the combination of all items before it, computed one by one.
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

/// Defines the inclusive scan: yields, for each item, the combination of all items up to and including it, computed one
/// by one.
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

/// Yields (exclusive prefix, inclusive prefix) for each item, computed one by one.
fn specification<T: Item>(operator: Operator, items: &[T]) -> impl Iterator<Item = (T, T)> {
    let combine: fn(T, T) -> T = with_monoid!(operator, T, M => combine::<T, M<T>>);
    let mut before = with_monoid!(operator, T, M => M::<T>::lower(M::<T>::IDENTITY));
    items.iter().map(move |&item| {
        let exclusive = before;
        before = combine(before, item);
        (exclusive, before)
    })
}

/// Combines two items; `left` comes first in the sequence.
fn combine<T, M: Monoid<T>>(left: T, right: T) -> T {
    M::lower(M::combine(M::lift(left), M::lift(right)))
}

/// Writes to `out`, for each item, the combination of all items before it. The first result is the operator's identity.
///
/// Entries of `out` behind the result keep their values. Inputs of 65,536 items or more are processed in parallel.
/// Floating-point sums are added in a fixed order for any number of threads: their bits are those of
/// [`Strategy::Raking`](super::Strategy::Raking) and [`Strategy::BlockSums`](super::Strategy::BlockSums), except for
/// NaN payloads.
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
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `items`.
pub fn exclusive<T: Item>(operator: Operator, items: &[T], out: &mut [T]) -> Result<()> {
    scan(operator, items, out, false)
}

/// Writes to `out`, for each item, the combination of all items up to and including it. Otherwise like [`exclusive`].
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
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `items`.
pub fn inclusive<T: Item>(operator: Operator, items: &[T], out: &mut [T]) -> Result<()> {
    scan(operator, items, out, true)
}

/// Replaces each item by the combination of all items before it. The first result is the operator's identity. Otherwise
/// like [`exclusive`].
///
/// ```
/// use compaction::scan::{Operator, cpu};
///
/// let mut items = [3, 1, 4, 1, 5];
/// cpu::exclusive_in_place(Operator::Sum, &mut items);
/// assert_eq!(items, [0, 3, 4, 8, 9]);
/// ```
pub fn exclusive_in_place<T: Item>(operator: Operator, items: &mut [T]) {
    scan_in_place(operator, items, false);
}

/// Replaces each item by the combination of all items up to and including it. Otherwise like [`exclusive`].
///
/// ```
/// use compaction::scan::{Operator, cpu};
///
/// let mut items = [3, 1, 4, 1, 5];
/// cpu::inclusive_in_place(Operator::Max, &mut items);
/// assert_eq!(items, [3, 3, 4, 4, 5]);
/// ```
pub fn inclusive_in_place<T: Item>(operator: Operator, items: &mut [T]) {
    scan_in_place(operator, items, true);
}

fn scan<T: Item>(operator: Operator, items: &[T], out: &mut [T], inclusive: bool) -> Result<()> {
    check_room(NAMES.output, out.len(), items.len())?;
    let out = &mut out[..items.len()];
    with_monoid!(operator, T, M => if !M::<T>::EXACT {
        tree::scan::<T, M<T>>(Some(items), out, inclusive);
    } else if items.len() < PARALLEL_FROM {
        scan_run::<T, M<T>>(items.iter().copied().zip(out), M::<T>::IDENTITY, inclusive);
    } else {
        let chunk_items = CHUNK_BYTES / size_of::<T>();
        chained_scan(
            items.chunks(chunk_items).zip(out.chunks_mut(chunk_items)),
            &mut { M::<T>::IDENTITY },
            |(items, _)| fold::<T, M<T>>(items),
            advance::<T, M<T>>,
            |(items, out), before| scan_run::<T, M<T>>(items.iter().copied().zip(out), before, inclusive),
        );
    });
    Ok(())
}

fn scan_in_place<T: Item>(operator: Operator, items: &mut [T], inclusive: bool) {
    with_monoid!(operator, T, M => if !M::<T>::EXACT {
        tree::scan::<T, M<T>>(None, items, inclusive);
    } else if items.len() < PARALLEL_FROM {
        scan_run::<T, M<T>>(with_places(items), M::<T>::IDENTITY, inclusive);
    } else {
        chained_scan(
            items.chunks_mut(CHUNK_BYTES / size_of::<T>()),
            &mut { M::<T>::IDENTITY },
            |items| fold::<T, M<T>>(items),
            advance::<T, M<T>>,
            |items, before| scan_run::<T, M<T>>(with_places(items), before, inclusive),
        );
    });
}

/// Yields a copy of each item with a reference to the item's place, so that a scan can work in place.
fn with_places<T: Copy>(items: &mut [T]) -> impl Iterator<Item = (T, &mut T)> {
    items.iter_mut().map(|item| (*item, item))
}

/// Combines the current prefix `before` with `next`, the total of a chunk. Returns the prefix from before this update.
fn advance<T: Item, M: Monoid<T>>(before: &mut M::Value, next: M::Value) -> M::Value {
    let behind = M::combine(*before, next);
    std::mem::replace(before, behind)
}

/// Scans consecutive items, starting from the prefix `before`. Each item comes with the place where its result is
/// written.
fn scan_run<'a, T: Item, M: Monoid<T>>(
    items: impl Iterator<Item = (T, &'a mut T)>,
    mut before: M::Value,
    inclusive: bool,
) {
    for (item, out) in items {
        let with_item = M::combine(before, M::lift(item));
        *out = M::lower(if inclusive { with_item } else { before });
        before = with_item;
    }
}

/// Returns the combination of all items.
fn fold<T: Item, M: Monoid<T>>(items: &[T]) -> M::Value {
    let values = items.iter().map(|&item| M::lift(item));
    values.fold(M::IDENTITY, M::combine)
}
