//! The scheduler: assigns (pixel, sample) pairs to the GPUs in proportion to their measured speeds.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError, atomic::Ordering::Relaxed},
};

use super::super::spans::Spans;

/// Minimum number of paths in a wave near the end of a render: some milliseconds of work for a slow GPU.
const MIN_PATHS: u64 = 1 << 20;

/// The pairs that are still to be assigned, shared by all workers.
pub(super) struct Scheduler<'a> {
    pub(super) spans: &'a Spans,
    /// Pairs that were assigned before, and lost with a GPU.
    pub(super) lost: &'a Mutex<Vec<Range<u64>>>,
    /// Fraction of the total speed of each worker, 0 to 1; 0 for one that has failed.
    pub(super) shares: Vec<f64>,
    /// Factor from a worker's stage times to wall-clock time: 1 / number of working GPUs.
    pub(super) time_share: f64,
    /// Returns whether to stop, given the number of pairs that are assigned.
    pub(super) enough: &'a (dyn Fn(u64) -> bool + Sync),
}

impl Scheduler<'_> {
    /// Assigns up to `max` pairs to a worker; `None` if none are left or enough are assigned.
    ///
    /// Lost pairs come first and are always assigned, because the film would have holes without them.
    pub(super) fn assign(&self, worker: usize, max: u32) -> Option<Range<u64>> {
        let (plan, max) = (&self.spans.plan, u64::from(max));
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pairs) = lost.pop() {
            let assigned = plan.cut(pairs.clone(), max);
            if assigned.end < pairs.end {
                lost.push(assigned.end..pairs.end);
            }
            return Some(assigned);
        }
        drop(lost);
        if (self.enough)(self.spans.next.load(Relaxed)) {
            return None;
        }
        let (share, count) = (self.shares[worker], u64::from(plan.pixels.count));
        let part = |pairs: u64| (pairs as f64 * share).ceil() as u64;
        self.spans.assign(|left| {
            if plan.first_sample == 0 && left.start < count {
                // All GPUs share the first sample of a view, so that it is shown early.
                max.min(part(count))
            } else {
                // Waves get smaller towards the end, so that all GPUs finish at the same time.
                max.min(MIN_PATHS.max(part(left.end - left.start) / 2))
            }
        })
    }
}
