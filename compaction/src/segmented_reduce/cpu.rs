//! The segmented reduction on the CPU.

use std::{marker::PhantomData, ops::Range};

use super::{CHUNK_ITEMS, Item, NAMES, Operator, check_length};
use crate::{
    CountWord, Result,
    arguments::{check_room, segments_between},
    fold::{Fold, Known, With},
    monoid::{Monoid, with_monoid},
    parallel,
};

/// Number of items from which an input is reduced in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;
/// The largest number of parts into which the segments are divided.
const MAX_PARTS: usize = 64;
/// Number of partial results of a chunk, if the operator is commutative.
const LANES: usize = 32;
/// Number of levels of a perfect binary tree over a chunk.
const LEVELS: usize = CHUNK_ITEMS.ilog2() as usize + 1;

/// Writes the combination of the items of each segment to `out`. Segment s has the items from `offsets[s]` to before
/// `offsets[s + 1]`.
///
/// ```
/// use compaction::segmented_reduce::{Operator, cpu};
///
/// let mut sums = [0; 3];
/// cpu::by_offsets(Operator::Sum, &[3, 1, 4, 1, 5, 9], &[0_u32, 2, 2, 6], &mut sums)?;
/// assert_eq!(sums, [4, 0, 19]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for an offset that is less than the one before it, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`.
pub fn by_offsets<T: Item, W: CountWord>(
    operator: Operator,
    items: &[T],
    offsets: &[W],
    out: &mut [T],
) -> Result<()> {
    with_monoid!(operator, T, M => {
        by_offsets_of(&Known::<M<T>>(PhantomData), M::<T>::lower, items, offsets, out)
    })
}

/// Combines the items of each segment by an operator of your own. Otherwise like [`by_offsets`].
///
/// `identity`, `lift` and `combine` are those of [`custom::cpu::reduce`](crate::custom::cpu::reduce). The bits are
/// those of [`SegmentedReduce::with_operator`](super::SegmentedReduce::with_operator) on any GPU.
///
/// ```
/// use compaction::segmented_reduce::cpu;
///
/// let mut products = [0; 3];
/// let product = |left: u64, right| left * right;
/// cpu::by_offsets_with(1, u64::from, product, &[3_u8, 1, 4, 1, 5, 9], &[0_u32, 2, 2, 6], &mut products)?;
/// assert_eq!(products, [3, 1, 180]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`by_offsets`].
pub fn by_offsets_with<T, V, W>(
    identity: V,
    lift: impl Fn(T) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    items: &[T],
    offsets: &[W],
    out: &mut [V],
) -> Result<()>
where
    T: Copy + Send + Sync,
    V: Copy + Send + Sync,
    W: CountWord,
{
    let with = With::new(identity, lift, combine);
    by_offsets_of(&with, |value| value, items, offsets, out)
}

/// Writes the combination of the items of each segment to `out`. Each segment has `length` items. Items behind the last
/// whole segment are ignored.
///
/// ```
/// use compaction::segmented_reduce::{Operator, cpu};
///
/// let mut maxima = [0; 2];
/// cpu::of_length(Operator::Max, &[3, 1, 4, 1, 5, 9], 3, &mut maxima)?;
/// assert_eq!(maxima, [4, 9]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a length of 0, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) for a short `out`.
pub fn of_length<T: Item>(
    operator: Operator,
    items: &[T],
    length: usize,
    out: &mut [T],
) -> Result<()> {
    with_monoid!(operator, T, M => {
        of_length_of(&Known::<M<T>>(PhantomData), M::<T>::lower, items, length, out)
    })
}

/// Combines the items of each segment by an operator of your own. Otherwise like [`of_length`].
///
/// `identity`, `lift` and `combine` are those of [`custom::cpu::reduce`](crate::custom::cpu::reduce). The bits are
/// those of [`SegmentedReduce::with_operator`](super::SegmentedReduce::with_operator) on any GPU.
///
/// ```
/// use compaction::segmented_reduce::cpu;
///
/// let mut products = [0; 2];
/// cpu::of_length_with(1, |item| item, |left: u32, right| left * right, &[3, 1, 4, 1, 5, 9], 3, &mut products)?;
/// assert_eq!(products, [12, 45]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`of_length`].
pub fn of_length_with<T, V>(
    identity: V,
    lift: impl Fn(T) -> V + Sync,
    combine: impl Fn(V, V) -> V + Sync,
    items: &[T],
    length: usize,
    out: &mut [V],
) -> Result<()>
where
    T: Copy + Send + Sync,
    V: Copy + Send + Sync,
{
    let with = With::new(identity, lift, combine);
    of_length_of(&with, |value| value, items, length, out)
}

fn by_offsets_of<T, F, W, V>(
    operation: &F,
    lower: impl Fn(F::Value) -> V + Sync,
    items: &[T],
    offsets: &[W],
    out: &mut [V],
) -> Result<()>
where
    T: Copy + Send + Sync,
    F: Fold<T>,
    W: CountWord,
    V: Send,
{
    let segments = segments_between("an offset of segmented_reduce", offsets, items.len())?;
    check_room(NAMES.output, out.len(), segments.len())?;
    let out = &mut out[..segments.len()];
    reduce(operation, lower, items, out, |segment| {
        segments[segment].clone()
    });
    Ok(())
}

fn of_length_of<T, F, V>(
    operation: &F,
    lower: impl Fn(F::Value) -> V + Sync,
    items: &[T],
    length: usize,
    out: &mut [V],
) -> Result<()>
where
    T: Copy + Send + Sync,
    F: Fold<T>,
    V: Send,
{
    check_length(length)?;
    let segments = items.len() / length;
    check_room(NAMES.output, out.len(), segments)?;
    reduce(operation, lower, items, &mut out[..segments], |segment| {
        segment * length..(segment + 1) * length
    });
    Ok(())
}

/// Reduces the segments, of which `range` returns the items.
fn reduce<T, F, V>(
    operation: &F,
    lower: impl Fn(F::Value) -> V + Sync,
    items: &[T],
    out: &mut [V],
    range: impl Fn(usize) -> Range<usize> + Sync,
) where
    T: Copy + Send + Sync,
    F: Fold<T>,
    V: Send,
{
    let write = |first: usize, out: &mut [V]| {
        for (segment, out) in (first..).zip(out) {
            *out = lower(reduce_segment(operation, &items[range(segment)]));
        }
    };
    if items.len().max(out.len()) < PARALLEL_FROM {
        write(0, out);
    } else {
        let part = out.len().div_ceil(MAX_PARTS).max(1);
        parallel::for_each(out.chunks_mut(part), |number, out| {
            write(number * part, out);
        });
    }
}

/// Returns the combination of the items of a segment, in the documented order.
fn reduce_segment<T: Copy + Send + Sync, F: Fold<T>>(operation: &F, items: &[T]) -> F::Value {
    let chunk = |items: &[T]| {
        let values = items.iter().map(|&item| operation.lift(item, 0));
        fold::<T, F>(operation, values)
    };
    if items.len() <= CHUNK_ITEMS {
        return chunk(items);
    }
    let mut values: Vec<F::Value> = if items.len() < PARALLEL_FROM {
        items.chunks(CHUNK_ITEMS).map(chunk).collect()
    } else {
        let whole_chunks = items
            .len()
            .div_ceil(MAX_PARTS)
            .next_multiple_of(CHUNK_ITEMS);
        let parts = parallel::map(items.chunks(whole_chunks), |_, items| {
            items.chunks(CHUNK_ITEMS).map(chunk).collect::<Vec<_>>()
        });
        parts.concat()
    };
    while values.len() > 1 {
        let chunks = values.chunks(CHUNK_ITEMS);
        values = chunks
            .map(|values| fold::<T, F>(operation, values.iter().copied()))
            .collect();
    }
    values[0]
}

/// Returns the combination of at most [`CHUNK_ITEMS`] values.
///
/// There are two orders, because that of sums exchanges operands, and that of other operators takes a GPU more shuffles.
fn fold<T, F: Fold<T>>(operation: &F, values: impl Iterator<Item = F::Value>) -> F::Value {
    if F::COMMUTATIVE {
        fold_lanes(operation, values)
    } else {
        fold_in_pairs(operation, values)
    }
}

/// Combines every 32nd value, and then the results in pairs.
fn fold_lanes<T, F: Fold<T>>(operation: &F, values: impl Iterator<Item = F::Value>) -> F::Value {
    let mut lanes = [operation.identity(); LANES];
    for (index, value) in values.enumerate() {
        lanes[index % LANES] = operation.combine(lanes[index % LANES], value);
    }
    let mut distance = 1;
    while distance < LANES {
        for lane in (0..LANES).step_by(2 * distance) {
            lanes[lane] = operation.combine(lanes[lane], lanes[lane + distance]);
        }
        distance *= 2;
    }
    lanes[0]
}

/// Combines neighboring values in pairs, then neighboring results.
fn fold_in_pairs<T, F: Fold<T>>(operation: &F, values: impl Iterator<Item = F::Value>) -> F::Value {
    // The binary digits of the count show which levels of the tree hold a value.
    let mut levels = [operation.identity(); LEVELS];
    let mut count = 0_usize;
    for mut value in values {
        let complete = count.trailing_ones() as usize;
        for &left in &levels[..complete] {
            value = operation.combine(left, value);
        }
        levels[complete] = value;
        count += 1;
    }
    let mut all = operation.identity();
    for (level, &left) in levels.iter().enumerate() {
        if count >> level & 1 == 1 {
            all = operation.combine(left, all);
        }
    }
    all
}
