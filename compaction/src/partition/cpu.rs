//! The stable partition on the CPU.

use super::{NAMES, STARTS, check_classes, check_items};
use crate::{
    CountWord, Movable, Result,
    arguments::{check_room, check_words},
    parallel,
    select::{
        check_item,
        cpu::{count, take},
    },
};

/// Number of items from which a partition by flags or classes runs in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;

/// Number of items per chunk that a thread partitions at a time.
const CHUNK_ITEMS: usize = 1 << 14;

/// The largest number of chunks of a partition into classes. It is limited because each chunk has a count for every
/// class.
const MAX_CLASS_CHUNKS: usize = 64;

/// Defines the operation: yields the items of class 0 in input order, then those of class 1, and so on.
///
/// For a partition by flags, class 0 stands for the selected items and class 1 for the rejected.
///
/// ```
/// use compaction::partition::cpu::specification;
///
/// let parts = specification("partition".chars(), |letter| u8::from(!"aio".contains(*letter)));
/// assert!(parts.eq("aiioprttn".chars()));
/// ```
pub fn specification<T>(
    items: impl IntoIterator<Item = T>,
    class: impl Fn(&T) -> u8,
) -> impl Iterator<Item = T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_by_key(class);
    items.into_iter()
}

/// Writes the indices of the nonzero flags to `out`, followed by the indices of the zero flags, and returns the number
/// of nonzero flags. Both parts keep their order.
///
/// ```
/// let mut out = [0_u32; 4];
/// assert_eq!(compaction::partition::cpu::indices(&[0, 1, 0, 9], &mut out)?, 2);
/// assert_eq!(out, [1, 3, 0, 2]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more flags with indices of `u32`, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `flags`.
pub fn indices<I: CountWord>(flags: &[u8], out: &mut [I]) -> Result<usize> {
    check_words::<I>(NAMES.output, flags.len())?;
    check_room(NAMES.output, out.len(), flags.len())?;
    Ok(two_way(flags, index_word, out))
}

/// Writes the items whose flag is nonzero to `out`, followed by the other items, and returns the number of nonzero
/// flags. Both parts keep their order.
///
/// `T` has 1 to 64 bytes; another size does not compile.
///
/// ```
/// let mut out = [0.0; 3];
/// assert_eq!(compaction::partition::cpu::items(&[0.5, 1.5, 2.5_f32], &[0, 0, 1], &mut out)?, 1);
/// assert_eq!(out, [2.5, 0.5, 1.5]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as flags, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `items`.
pub fn items<T: Movable + Send + Sync>(items: &[T], flags: &[u8], out: &mut [T]) -> Result<usize> {
    const { check_item::<T>() };
    check_items(flags.len(), items.len())?;
    check_room(NAMES.output, out.len(), flags.len())?;
    Ok(two_way(flags, |index| items[index], out))
}

/// Writes the indices of all keys to `out`, ordered by key, and the start of class c in `out` to `starts[c]`.
///
/// Equal keys keep their order, and keys of `classes` or more come last. `starts[classes]` is the end of the last
/// class, so `starts` has one more entry than there are classes. This is the CPU version of
/// [`Classes::indices`](super::Classes::indices).
///
/// ```
/// let (mut out, mut starts) = ([0_u32; 6], [0_u32; 4]);
/// compaction::partition::cpu::classes(3, &[2, 0, 1, 0, 2, 0], &mut out, &mut starts)?;
/// assert_eq!(out, [1, 3, 5, 2, 0, 4]);
/// assert_eq!(starts, [0, 3, 4, 6]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to 256 classes,
/// [`Error::Uncountable`](crate::Error::Uncountable) for more keys than an `I` or a `W` can represent, and
/// [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` or `starts` is short.
pub fn classes<I: CountWord, W: CountWord>(
    classes: u32,
    keys: &[u8],
    out: &mut [I],
    starts: &mut [W],
) -> Result<()> {
    check_classes(classes)?;
    check_words::<I>(NAMES.output, keys.len())?;
    check_words::<W>(STARTS, keys.len())?;
    check_room(NAMES.output, out.len(), keys.len())?;
    check_room(STARTS, starts.len(), classes as usize + 1)?;
    // Keys that name no class share one additional bin.
    let bins = classes as usize + 1;
    let bin_of = |key: u8| usize::from(key).min(bins - 1);

    let chunk_items = match keys.len() {
        0..PARALLEL_FROM => PARALLEL_FROM,
        len => len.div_ceil(MAX_CLASS_CHUNKS).max(CHUNK_ITEMS),
    };
    let chunks = keys.chunks(chunk_items);
    let counts = parallel::map(chunks.clone(), |_, keys| {
        let mut counts = vec![0; bins];
        keys.iter().for_each(|&key| counts[bin_of(key)] += 1);
        counts
    });
    let parts = split_by_bin(&counts, bins, out, |bin, start| {
        starts[bin] = index_word(start);
    });
    parallel::for_each(chunks.zip(parts), |chunk, (keys, mut parts)| {
        let mut written = vec![0; bins];
        for (index, &key) in (chunk * chunk_items..).zip(keys) {
            let bin = bin_of(key);
            parts[bin][written[bin]] = index_word(index);
            written[bin] += 1;
        }
    });
    Ok(())
}

/// Splits `out` into one part per chunk and bin, returned as `parts[chunk][bin]`. All parts of a bin are adjacent, in
/// chunk order. `counts[chunk][bin]` are the lengths, and `tell(bin, start)` receives the start of each bin.
pub(crate) fn split_by_bin<'a, T>(
    counts: &[Vec<usize>],
    bins: usize,
    mut out: &'a mut [T],
    mut tell: impl FnMut(usize, usize),
) -> Vec<Vec<&'a mut [T]>> {
    let mut parts: Vec<Vec<&mut [T]>> = counts.iter().map(|_| Vec::with_capacity(bins)).collect();
    let mut start = 0;
    for bin in 0..bins {
        tell(bin, start);
        for (counts, parts) in counts.iter().zip(&mut parts) {
            let (part, rest) = std::mem::take(&mut out).split_at_mut(counts[bin]);
            parts.push(part);
            out = rest;
            start += counts[bin];
        }
    }
    parts
}

/// Converts an index to a word. The caller has checked that it fits.
fn index_word<I: CountWord>(index: usize) -> I {
    I::from_len(index).unwrap_or_else(I::zeroed)
}

/// Writes the values of the nonzero flags to `out`, followed by the values of the zero flags, and returns the number of
/// nonzero flags. `value` returns the value of an index.
fn two_way<T: Copy + Send>(
    flags: &[u8],
    value: impl Fn(usize) -> T + Sync,
    out: &mut [T],
) -> usize {
    let out = &mut out[..flags.len()];
    if flags.len() < PARALLEL_FROM {
        let selected = count(flags);
        let (first, second) = out.split_at_mut(selected);
        two_way_run(flags, 0, &value, first, second);
        return selected;
    }
    let chunks = flags.chunks(CHUNK_ITEMS);
    let counts = parallel::map(chunks.clone(), |_, flags| count(flags));
    let selected = counts.iter().sum();
    let (mut first, mut second) = out.split_at_mut(selected);
    let parts = chunks.zip(counts).map(|(flags, count)| {
        let first = take(&mut first, count);
        (flags, first, take(&mut second, flags.len() - count))
    });
    parallel::for_each(parts, |chunk, (flags, first, second)| {
        two_way_run(flags, chunk * CHUNK_ITEMS, &value, first, second);
    });
    selected
}

/// Partitions consecutive flags, the first of which has the index `start`: the values of nonzero flags go to `first`,
/// the others to `second`.
fn two_way_run<T: Copy>(
    flags: &[u8],
    start: usize,
    value: &impl Fn(usize) -> T,
    first: &mut [T],
    second: &mut [T],
) {
    let (mut first, mut second) = (first.iter_mut(), second.iter_mut());
    for (index, &flag) in (start..).zip(flags) {
        let next = if flag != 0 {
            first.next()
        } else {
            second.next()
        };
        if let Some(out) = next {
            *out = value(index);
        }
    }
}
