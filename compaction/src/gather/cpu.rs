//! Gather and scatter on the CPU.

use super::{NAMES, SCATTERED};
use crate::{
    CountWord, Result,
    arguments::{check_len, check_room},
    parallel,
};

/// Number of indices from which a gather runs in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;
/// The largest number of parts of the indices.
const MAX_PARTS: usize = 64;

/// Writes `items[indices[i]]` to `out[i]`. An index beyond the items leaves its entry as it is.
///
/// ```
/// use compaction::gather::cpu;
///
/// let mut out = ['-'; 4];
/// cpu::gather(&['a', 'b', 'c'], &[2_u32, 0, 3, 2], &mut out)?;
/// assert_eq!(out, ['c', 'a', '-', 'c']);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `indices`.
pub fn gather<T: Copy + Send + Sync, I: CountWord>(
    items: &[T],
    indices: &[I],
    out: &mut [T],
) -> Result<()> {
    check_room(NAMES.output, out.len(), indices.len())?;
    let part = indices.len().div_ceil(MAX_PARTS).max(PARALLEL_FROM);
    let parts = indices.chunks(part).zip(out.chunks_mut(part));
    parallel::for_each(parts, |_, (indices, out)| {
        for (index, out) in indices.iter().zip(out) {
            if let Some(item) = items.get(index.to_len()) {
                *out = *item;
            }
        }
    });
    Ok(())
}

/// Writes `items[i]` to `out[indices[i]]`. An item whose index is beyond `out` is skipped. Of items with
/// [equal indices](crate::gather), the last one is kept.
///
/// ```
/// use compaction::gather::cpu;
///
/// let mut out = ['-'; 4];
/// cpu::scatter(&['a', 'b', 'c'], &[2_u32, 0, 9], &mut out)?;
/// assert_eq!(out, ['b', '-', 'a', '-']);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many items as indices.
pub fn scatter<T: Copy, I: CountWord>(items: &[T], indices: &[I], out: &mut [T]) -> Result<()> {
    check_len(SCATTERED, items.len(), indices.len())?;
    for (item, index) in items.iter().zip(indices) {
        if let Some(out) = out.get_mut(index.to_len()) {
            *out = *item;
        }
    }
    Ok(())
}
