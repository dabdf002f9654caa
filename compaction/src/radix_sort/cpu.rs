//! The radix sort on the CPU.

use std::ops::Range;

use super::{Key, NAMES, Order, check_bits, check_values};
use crate::{
    CountWord, Result,
    arguments::{check_room, check_words},
    parallel,
    partition::cpu::split_by_bin,
};

/// Number of keys from which an input is sorted in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 14;
/// The largest number of chunks of a pass. It is limited because each chunk has a count for every bin.
const MAX_CHUNKS: usize = 64;
/// Number of values of a digit of 8 bits, each of which has a bin.
const BINS: usize = 256;

/// Defines the operation: returns the (key, value) pairs, sorted by the bits of their keys in the range `bits`, counted
/// from the lowest. Pairs with equal bits keep their order.
///
/// ```
/// use compaction::radix_sort::{Order, cpu::specification};
///
/// let pairs = [(3_u32, 'a'), (1, 'b'), (3, 'c'), (2, 'd')];
/// let sorted = specification(Order::Descending, 0..32, &pairs);
/// assert_eq!(sorted, [(3, 'a'), (3, 'c'), (2, 'd'), (1, 'b')]);
/// ```
pub fn specification<K: Key, V: Copy>(
    order: Order,
    bits: Range<u32>,
    pairs: &[(K, V)],
) -> Vec<(K, V)> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by_key(|(key, _)| window(*key, &bits, order));
    sorted
}

/// Returns the bits `bits` of a key, inverted for a descending order, as a number to be sorted in ascending order.
fn window<K: Key>(key: K, bits: &Range<u32>, order: Order) -> u64 {
    let ordered = match order {
        Order::Ascending => key.ordered(),
        Order::Descending => !key.ordered(),
    };
    let width = bits.end - bits.start;
    let mask = 1_u64.checked_shl(width).map_or(u64::MAX, |high| high - 1);
    ordered.checked_shr(bits.start).unwrap_or(0) & mask
}

/// Writes the keys to `out`, sorted by their bits in the range `bits`, counted from the lowest. Keys with equal bits
/// keep their order. This is the CPU version of [`RadixSort::keys`](super::RadixSort::keys).
///
/// ```
/// use compaction::radix_sort::{Order, cpu};
///
/// let mut out = [0.0_f32; 4];
/// cpu::keys(Order::Ascending, 0..32, &[1.5, f32::NAN, -0.0, 0.0], &mut out)?;
/// assert_eq!(out.map(f32::to_bits), [-0.0, 0.0, 1.5, f32::NAN].map(f32::to_bits));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`OutOfRange`](crate::Error::OutOfRange) for bits that the key does not have, or a range that ends before it
/// begins, and [`OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `keys`.
pub fn keys<K: Key>(order: Order, bits: Range<u32>, keys: &[K], out: &mut [K]) -> Result<()> {
    check::<K>(keys.len(), &bits, out.len())?;
    let sorted = sort(keys.to_vec(), &bits, |&key| window(key, &bits, order));
    out[..keys.len()].copy_from_slice(&sorted);
    Ok(())
}

/// Writes the keys to `keys_out`, sorted by their bits in the range `bits`, counted from the lowest, and each key's
/// value to the same index of `values_out`.
///
/// ```
/// use compaction::radix_sort::{Order, cpu};
///
/// let (mut keys, mut values) = ([0_i32; 3], [0; 3]);
/// cpu::pairs(Order::Ascending, 0..32, &[7, -7, 0], &[0, 1, 2], &mut keys, &mut values)?;
/// assert_eq!((keys, values), ([-7, 0, 7], [1, 2, 0]));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`keys`], and [`LengthMismatch`](crate::Error::LengthMismatch) unless there are as many values
/// as keys.
pub fn pairs<K: Key, V: Copy + Send + Sync>(
    order: Order,
    bits: Range<u32>,
    keys: &[K],
    values: &[V],
    keys_out: &mut [K],
    values_out: &mut [V],
) -> Result<()> {
    check_values(keys.len(), values.len())?;
    check::<K>(keys.len(), &bits, keys_out.len().min(values_out.len()))?;
    let pairs = keys.iter().copied().zip(values.iter().copied()).collect();
    let sorted: Vec<(K, V)> = sort(pairs, &bits, |(key, _)| window(*key, &bits, order));
    let outputs = keys_out.iter_mut().zip(values_out);
    for ((key_out, value_out), (key, value)) in outputs.zip(sorted) {
        (*key_out, *value_out) = (key, value);
    }
    Ok(())
}

/// Writes the keys to `keys_out`, sorted by their bits in the range `bits`, counted from the lowest, and the input
/// index of each of them to `indices_out`. Keys with equal bits are in the order of their indices.
///
/// ```
/// use compaction::radix_sort::{Order, cpu};
///
/// let (mut sorted, mut order) = ([0.0_f32; 4], [0_u32; 4]);
/// cpu::argsort(Order::Descending, 0..32, &[0.25, 3.0, -1.0, 3.0], &mut sorted, &mut order)?;
/// assert_eq!(order, [1, 3, 0, 2]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`keys`], and [`Uncountable`](crate::Error::Uncountable) for 2³² or more keys with indices of
/// `u32`.
pub fn argsort<K: Key, I: CountWord>(
    order: Order,
    bits: Range<u32>,
    keys: &[K],
    keys_out: &mut [K],
    indices_out: &mut [I],
) -> Result<()> {
    check_words::<I>(NAMES.input, keys.len())?;
    let indices: Vec<I> = (0..keys.len()).map(I::of_len).collect();
    pairs(order, bits, keys, &indices, keys_out, indices_out)
}

fn check<K: Key>(len: usize, bits: &Range<u32>, out: usize) -> Result<()> {
    check_bits::<K>(bits)?;
    check_room(NAMES.output, out, len)
}

/// Sorts items stably by the numbers that `number` returns, which have as many bits as the range `bits`.
fn sort<T: Copy + Send + Sync>(
    mut items: Vec<T>,
    bits: &Range<u32>,
    number: impl Fn(&T) -> u64 + Sync,
) -> Vec<T> {
    if items.len() < PARALLEL_FROM {
        items.sort_by_key(number);
        return items;
    }
    let mut other = items.clone();
    for shift in (0..bits.end - bits.start).step_by(BINS.ilog2() as usize) {
        pass(&items, &mut other, |item| {
            (number(item) >> shift) as usize % BINS
        });
        std::mem::swap(&mut items, &mut other);
    }
    items
}

/// Writes the items to `out`, sorted stably by one digit from 0 to 255. First all chunks are counted, and then each
/// chunk moves its items.
fn pass<T: Copy + Send + Sync>(items: &[T], out: &mut [T], digit: impl Fn(&T) -> usize + Sync) {
    let chunk_items = items.len().div_ceil(MAX_CHUNKS).max(PARALLEL_FROM);
    let chunks = items.chunks(chunk_items);
    let counts = parallel::map(chunks.clone(), |_, items| {
        let mut counts = vec![0; BINS];
        items.iter().for_each(|item| counts[digit(item)] += 1);
        counts
    });
    let parts = split_by_bin(&counts, BINS, out, |_, _| {});
    parallel::for_each(chunks.zip(parts), |_, (items, mut parts)| {
        let mut written = [0; BINS];
        for item in items {
            let bin = digit(item);
            parts[bin][written[bin]] = *item;
            written[bin] += 1;
        }
    });
}
