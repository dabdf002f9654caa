//! The top k on the CPU.

use super::{Key, NAMES, Order};
use crate::{
    CountWord, Result,
    arguments::{check_room, check_words},
    parallel,
};

/// Number of keys from which an input is searched in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;
/// The largest number of parts of an input, each of which gives its own first k keys.
const MAX_PARTS: usize = 16;

/// Writes the first `k` keys in sort order to `keys_out`, and their indices to `indices_out`, or all keys if there are
/// fewer. Of equal keys, those with the smallest indices come first. Returns the number of keys written.
///
/// ```
/// use compaction::top_k::{Order, cpu};
///
/// let (mut best, mut places) = ([0.0; 2], [0_u32; 2]);
/// let found = cpu::keys_and_indices(Order::Descending, &[0.25_f32, 3.0, -1.0, 3.0], 2, &mut best, &mut places)?;
/// assert_eq!((found, best, places), (2, [3.0, 3.0], [1, 3]));
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if an output is shorter than the result, and
/// [`Error::Uncountable`](crate::Error::Uncountable) for 2³² or more keys with indices of `u32`.
pub fn keys_and_indices<K: Key, I: CountWord>(
    order: Order,
    keys: &[K],
    k: usize,
    keys_out: &mut [K],
    indices_out: &mut [I],
) -> Result<usize> {
    let found = k.min(keys.len());
    check_words::<I>(NAMES.input, keys.len())?;
    check_room(NAMES.output, keys_out.len().min(indices_out.len()), found)?;
    if found == 0 {
        return Ok(0);
    }
    let number = |index: usize| match order {
        Order::Ascending => keys[index].ordered(),
        Order::Descending => !keys[index].ordered(),
    };
    // All pairs of number and index differ, so that an unstable selection gives one result.
    let first = |mut indices: Vec<(u64, usize)>| {
        if indices.len() > k {
            indices.select_nth_unstable(k - 1);
            indices.truncate(k);
        }
        indices
    };
    let part = keys.len().div_ceil(MAX_PARTS).max(PARALLEL_FROM);
    let begins: Vec<usize> = (0..keys.len()).step_by(part).collect();
    let parts = parallel::map(begins, |_, begin| {
        let end = keys.len().min(begin + part);
        first((begin..end).map(|index| (number(index), index)).collect())
    });
    let mut best = first(parts.concat());
    best.sort_unstable();
    for (place, (_, index)) in best.into_iter().enumerate() {
        keys_out[place] = keys[index];
        indices_out[place] = I::of_len(index);
    }
    Ok(found)
}
