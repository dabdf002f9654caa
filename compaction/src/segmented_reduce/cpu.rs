//! The segmented reduction on the CPU.

use std::ops::Range;

use super::{CHUNK_ITEMS, Item, NAMES, Operator, check_length};
use crate::{
    CountWord, Result,
    arguments::{check_room, segments_between},
    monoid::{Monoid, with_monoid},
    parallel,
};

/// Number of items from which an input is reduced in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;
/// The largest number of parts into which the segments are divided.
const MAX_PARTS: usize = 64;
/// Number of partial results of a chunk.
const LANES: usize = 32;

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
    let segments = segments_between("an offset of segmented_reduce", offsets, items.len())?;
    check_room(NAMES.output, out.len(), segments.len())?;
    let out = &mut out[..segments.len()];
    reduce(operator, items, out, |segment| segments[segment].clone());
    Ok(())
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
    check_length(length)?;
    let segments = items.len() / length;
    check_room(NAMES.output, out.len(), segments)?;
    reduce(operator, items, &mut out[..segments], |segment| {
        segment * length..(segment + 1) * length
    });
    Ok(())
}

/// Reduces the segments, of which `range` returns the items.
fn reduce<T: Item>(
    operator: Operator,
    items: &[T],
    out: &mut [T],
    range: impl Fn(usize) -> Range<usize> + Sync,
) {
    with_monoid!(operator, T, M => {
        let write = |first: usize, out: &mut [T]| {
            for (segment, out) in (first..).zip(out) {
                *out = M::<T>::lower(reduce_segment::<T, M<T>>(&items[range(segment)]));
            }
        };
        if items.len().max(out.len()) < PARALLEL_FROM {
            write(0, out);
        } else {
            let part = out.len().div_ceil(MAX_PARTS).max(1);
            parallel::for_each(out.chunks_mut(part), |number, out| write(number * part, out));
        }
    });
}

/// Returns the combination of the items of a segment, in the documented order.
fn reduce_segment<T: Item, M: Monoid<T>>(items: &[T]) -> M::Value {
    let chunk = |items: &[T]| fold::<T, M>(items.iter().map(|&item| M::lift(item)));
    if items.len() <= CHUNK_ITEMS {
        return chunk(items);
    }
    let mut values: Vec<M::Value> = if items.len() < PARALLEL_FROM {
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
            .map(|values| fold::<T, M>(values.iter().copied()))
            .collect();
    }
    values[0]
}

/// Returns the combination of at most [`CHUNK_ITEMS`] values: of every 32nd value, and then in pairs.
fn fold<T, M: Monoid<T>>(values: impl Iterator<Item = M::Value>) -> M::Value {
    let mut lanes = [M::IDENTITY; LANES];
    for (index, value) in values.enumerate() {
        lanes[index % LANES] = M::combine(lanes[index % LANES], value);
    }
    let mut distance = 1;
    while distance < LANES {
        for lane in (0..LANES).step_by(2 * distance) {
            lanes[lane] = M::combine(lanes[lane], lanes[lane + distance]);
        }
        distance *= 2;
    }
    lanes[0]
}
