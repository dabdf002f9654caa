//! The histogram on the CPU.

use std::ops::Range;

use super::{BOUNDS, BinKey, Sample, check_bins};
use crate::{CountWord, Result, arguments::check_range, parallel};

/// Number of items from which an input is counted in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 16;
/// The largest number of parts of an input, each of which has counts of its own.
const MAX_PARTS: usize = 16;

/// Writes to `out` how many items lie in each of `out.len()` bins of equal width in `range`.
///
/// Bin b of integers begins at `start + b * (end - start) / bins`, rounded up. The bin of a float x is
/// `(x - start) * scale`, rounded down, where `scale` is `bins / (end - start)`; the last bin has all the rest.
///
/// ```
/// use compaction::histogram::cpu;
///
/// let mut counts = [0_u32; 4];
/// cpu::even(&[2.5, 0.1, 3.9, 1.0, 1.7, 9.0, f64::NAN], 0.0..4.0, &mut counts)?;
/// assert_eq!(counts, [1, 2, 1, 1]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to 2²⁴ bins, and
/// [`Error::InvalidRange`](crate::Error::InvalidRange) for an empty or infinite range, or one of integers that is wider
/// than 2³².
pub fn even<T: Sample, W: CountWord>(
    items: &[T],
    range: Range<T::Level>,
    out: &mut [W],
) -> Result<()> {
    check_bins(out.len())?;
    let even = T::even_bins(range.start, range.end, out.len())?;
    count(items, out, |item| item.even_bin(&even));
    Ok(())
}

/// Writes to `out` how many items lie in each bin. Bin b has the items from `bounds[b]` to below `bounds[b + 1]`, and
/// `out` has one entry less than there are bounds. No bound is less than the one before it, and a bin between equal
/// bounds is empty.
///
/// ```
/// use compaction::histogram::cpu;
///
/// let mut counts = [0_u32; 2];
/// cpu::bounds(&[1_u8, 10, 50, 99, 100], &[0, 10, 100], &mut counts)?;
/// assert_eq!(counts, [1, 3]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to 2²⁴ bins and one bound more.
pub fn bounds<T: Sample, W: CountWord>(
    items: &[T],
    bounds: &[T::Level],
    out: &mut [W],
) -> Result<()> {
    check_bins(out.len())?;
    check_range(BOUNDS, bounds.len(), out.len() + 1, out.len() + 1)?;
    count(items, out, |item| {
        let level = item.level();
        bounds
            .partition_point(|&bound| bound <= level)
            .checked_sub(1)
    });
    Ok(())
}

/// Writes to `out` how many keys are equal to the index of each entry. Keys of `out.len()` or more are not counted.
///
/// ```
/// use compaction::histogram::cpu;
///
/// let mut counts = [0_u32; 4];
/// cpu::keys(&[3_u8, 0, 3, 9], &mut counts)?;
/// assert_eq!(counts, [1, 0, 0, 2]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutOfRange`](crate::Error::OutOfRange) unless there are 1 to 2²⁴ bins.
pub fn keys<K: BinKey, W: CountWord>(keys: &[K], out: &mut [W]) -> Result<()> {
    check_bins(out.len())?;
    count(keys, out, |key| Some(key.bin()));
    Ok(())
}

/// Writes to `out` how many items have each bin, without those of no bin.
fn count<T: Sample, W: CountWord>(
    items: &[T],
    out: &mut [W],
    bin: impl Fn(T) -> Option<usize> + Sync,
) {
    let bins = out.len();
    let of_part = |items: &[T]| {
        let mut counts = vec![0_usize; bins];
        for bin in items.iter().filter_map(|&item| bin(item)) {
            if let Some(count) = counts.get_mut(bin) {
                *count += 1;
            }
        }
        counts
    };
    let part_items = items.len().div_ceil(MAX_PARTS).max(PARALLEL_FROM.max(bins));
    let counts = parallel::map(items.chunks(part_items), |_, items| of_part(items));
    for (bin, out) in out.iter_mut().enumerate() {
        *out = W::of_len(counts.iter().map(|counts| counts[bin]).sum());
    }
}
