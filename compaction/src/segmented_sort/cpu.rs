//! The segmented sort on the CPU.

use std::ops::Range;

use super::{Key, NAMES, Order, check_length, check_values};
use crate::{
    CountWord, Result,
    arguments::{check_room, segments_between},
    parallel,
};

/// The largest number of parts into which the segments are divided.
const MAX_PARTS: usize = 64;

/// Writes the keys to `out`, with the keys of each segment sorted. Segment s has the keys from `offsets[s]` to before
/// `offsets[s + 1]`. Entries of `out` outside all segments keep their values.
///
/// ```
/// use compaction::segmented_sort::{Order, cpu};
///
/// let mut out = [0; 7];
/// cpu::keys_by_offsets(Order::Ascending, &[3, 1, 4, 1, 5, 9, 2], &[0_u32, 2, 2, 7], &mut out)?;
/// assert_eq!(out, [1, 3, 1, 2, 4, 5, 9]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for an offset that is less than the one before it, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `keys`.
pub fn keys_by_offsets<K: Key, W: CountWord>(
    order: Order,
    keys: &[K],
    offsets: &[W],
    out: &mut [K],
) -> Result<()> {
    let segments = segments_of(offsets, keys.len())?;
    check_room(NAMES.output, out.len(), keys.len())?;
    sort_keys(order, keys, segments, out);
    Ok(())
}

/// Writes the keys to `out`, with the keys of each segment sorted. Each segment has `length` keys. Keys behind the last
/// whole segment are ignored.
///
/// ```
/// use compaction::segmented_sort::{Order, cpu};
///
/// let mut out = [0; 6];
/// cpu::keys_of_length(Order::Descending, &[3, 1, 4, 1, 5, 9], 3, &mut out)?;
/// assert_eq!(out, [4, 3, 1, 9, 5, 1]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) for a length of 0, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `keys`.
pub fn keys_of_length<K: Key>(
    order: Order,
    keys: &[K],
    length: usize,
    out: &mut [K],
) -> Result<()> {
    check_length(length)?;
    check_room(NAMES.output, out.len(), keys.len())?;
    sort_keys(order, keys, segments_of_length(keys.len(), length), out);
    Ok(())
}

/// Writes the keys to `keys_out`, with those of each segment sorted, and each key's value to the same index of
/// `values_out`. Otherwise like [`keys_by_offsets`].
///
/// ```
/// use compaction::segmented_sort::{Order, cpu};
///
/// let (mut keys, mut values) = ([0; 4], [' '; 4]);
/// let offsets = [0_u32, 2, 4];
/// cpu::pairs_by_offsets(Order::Ascending, &[2, 1, 7, 7], &['a', 'b', 'c', 'd'], &offsets, &mut keys, &mut values)?;
/// assert_eq!((keys, values), ([1, 2, 7, 7], ['b', 'a', 'c', 'd']));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`keys_by_offsets`], and [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there
/// are as many values as keys.
pub fn pairs_by_offsets<K: Key, V: Copy + Send + Sync, W: CountWord>(
    order: Order,
    keys: &[K],
    values: &[V],
    offsets: &[W],
    keys_out: &mut [K],
    values_out: &mut [V],
) -> Result<()> {
    check_values(keys.len(), values.len())?;
    let segments = segments_of(offsets, keys.len())?;
    check_room(
        NAMES.output,
        keys_out.len().min(values_out.len()),
        keys.len(),
    )?;
    sort_pairs(order, (keys, values), segments, keys_out, values_out);
    Ok(())
}

/// Writes the keys to `keys_out`, with those of each segment of `length` keys sorted, and each key's value to the same
/// index of `values_out`. Otherwise like [`keys_of_length`].
///
/// ```
/// use compaction::segmented_sort::{Order, cpu};
///
/// let (mut keys, mut values) = ([0; 4], [' '; 4]);
/// cpu::pairs_of_length(Order::Ascending, &[2, 1, 7, 6], &['a', 'b', 'c', 'd'], 2, &mut keys, &mut values)?;
/// assert_eq!((keys, values), ([1, 2, 6, 7], ['b', 'a', 'd', 'c']));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`keys_of_length`], and [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there
/// are as many values as keys.
pub fn pairs_of_length<K: Key, V: Copy + Send + Sync>(
    order: Order,
    keys: &[K],
    values: &[V],
    length: usize,
    keys_out: &mut [K],
    values_out: &mut [V],
) -> Result<()> {
    check_values(keys.len(), values.len())?;
    check_length(length)?;
    check_room(
        NAMES.output,
        keys_out.len().min(values_out.len()),
        keys.len(),
    )?;
    let segments = segments_of_length(keys.len(), length);
    sort_pairs(order, (keys, values), segments, keys_out, values_out);
    Ok(())
}

/// Returns the ranges between consecutive offsets.
fn segments_of<W: CountWord>(offsets: &[W], keys: usize) -> Result<Vec<Range<usize>>> {
    segments_between("an offset of segmented_sort", offsets, keys)
}

/// Returns the ranges of the whole segments of `length` keys.
fn segments_of_length(keys: usize, length: usize) -> Vec<Range<usize>> {
    let first = (0..keys / length).map(|segment| segment * length);
    first.map(|first| first..first + length).collect()
}

/// Returns a number by which keys sort in ascending order.
fn number<K: Key>(order: Order, key: K) -> u64 {
    match order {
        Order::Ascending => key.ordered(),
        Order::Descending => !key.ordered(),
    }
}

fn sort_keys<K: Key>(order: Order, keys: &[K], segments: Vec<Range<usize>>, out: &mut [K]) {
    let sort = |keys: &mut [K]| keys.sort_by_key(|&key| number(order, key));
    sort_segments(&segments, out, |segment, out| {
        out.copy_from_slice(&keys[segment]);
        sort(out);
    });
}

fn sort_pairs<K: Key, V: Copy + Send + Sync>(
    order: Order,
    (keys, values): (&[K], &[V]),
    segments: Vec<Range<usize>>,
    keys_out: &mut [K],
    values_out: &mut [V],
) {
    let mut pairs: Vec<(K, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
    sort_segments(&segments, &mut pairs, |_, pairs| {
        pairs.sort_by_key(|&(key, _)| number(order, key));
    });
    for segment in segments {
        for place in segment {
            (keys_out[place], values_out[place]) = pairs[place];
        }
    }
}

/// Calls `sort` with each segment and its part of `out`, in parallel.
fn sort_segments<T: Send>(
    segments: &[Range<usize>],
    mut out: &mut [T],
    sort: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let part_segments = segments.len().div_ceil(MAX_PARTS).max(1);
    let mut parts = Vec::new();
    let mut end = 0;
    for segments in segments.chunks(part_segments) {
        let begin = end;
        end = segments.last().map_or(begin, |last| last.end);
        let (part, rest) = out.split_at_mut(end - begin);
        out = rest;
        parts.push((segments, begin, part));
    }
    parallel::for_each(parts, |_, (segments, begin, part)| {
        for segment in segments {
            let place = segment.start - begin..segment.end - begin;
            sort(segment.clone(), &mut part[place]);
        }
    });
}
