//! The merge sort on the CPU.

use std::cmp::Ordering;

use rayon::slice::ParallelSliceMut;

use super::NAMES;
use crate::{Result, arguments::check_room};

/// Number of items from which an input is sorted in parallel instead of on the calling thread.
const PARALLEL_FROM: usize = 1 << 14;

/// Writes the items to `out`, sorted so that no item belongs before the one that precedes it. `before(a, b)` says
/// whether `a` belongs before `b`. Items of which neither belongs before the other keep their order.
///
/// `before` is a strict weak order: no item belongs before itself, and items between which there is no order are
/// equivalent. Otherwise the order is unspecified, or the call panics.
///
/// ```
/// use compaction::merge_sort::cpu;
///
/// let mut out = [(0, ' '); 4];
/// cpu::items(|left, right| left.0 > right.0, &[(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd')], &mut out)?;
/// assert_eq!(out, [(3, 'a'), (3, 'c'), (2, 'd'), (1, 'b')]);
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::OutputTooShort`](crate::Error::OutputTooShort) if `out` is shorter than `items`.
pub fn items<T: Copy + Send>(
    before: impl Fn(&T, &T) -> bool + Sync,
    items: &[T],
    out: &mut [T],
) -> Result<()> {
    check_room(NAMES.output, out.len(), items.len())?;
    let out = &mut out[..items.len()];
    out.copy_from_slice(items);
    let compare = |left: &T, right: &T| match (before(left, right), before(right, left)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    };
    if out.len() < PARALLEL_FROM {
        out.sort_by(compare);
    } else {
        out.par_sort_by(compare);
    }
    Ok(())
}
