//! Who deals: spans for all GPUs, by what each of them does in a time.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError, atomic::Ordering::Relaxed},
};

use super::{
    super::spans::Spans,
    Gpus,
    worker::{lock, of},
};

/// Paths that a wave has at the least when the last ones are dealt: some milliseconds of a slow GPU.
const LEAST_PATHS: u64 = 1 << 20;

/// What workers are dealt from, side by side.
pub(super) struct Dealer<'a> {
    pub(super) spans: &'a Spans,
    lost: &'a Mutex<Vec<Range<u64>>>,
    /// What part of all work each worker does in a time.
    shares: Vec<f64>,
    /// The part of the wall clock that a worker's time stands for.
    pub(super) time_share: f64,
    /// Whether no more is to be dealt, by what is.
    enough: &'a (dyn Fn(u64) -> bool + Sync),
}

impl Dealer<'_> {
    /// What was lost comes first, and is never enough: without it the film would have holes.
    pub(super) fn deal(&self, worker: usize, most: u32) -> Option<Range<u64>> {
        let (plan, most) = (&self.spans.plan, u64::from(most));
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pairs) = lost.pop() {
            let dealt = plan.cut(pairs.clone(), most);
            if dealt.end < pairs.end {
                lost.push(dealt.end..pairs.end);
            }
            return Some(dealt);
        }
        drop(lost);
        if (self.enough)(self.spans.next.load(Relaxed)) {
            return None;
        }
        let (share, count) = (self.shares[worker], u64::from(plan.pixels.count));
        let part = |pairs: u64| (pairs as f64 * share).ceil() as u64;
        self.spans.deal(|left| {
            if plan.first_sample == 0 && left.start < count {
                // The first sample of a view is soon there if all are at it.
                most.min(part(count))
            } else {
                // The last waves are small ones, so that all GPUs end at once.
                most.min(LEAST_PATHS.max(part(left.end - left.start) / 2))
            }
        })
    }
}

impl Gpus {
    /// Lets all GPUs that work trace what they are dealt.
    pub(super) fn render(&mut self, spans: &Spans, enough: &(dyn Fn(u64) -> bool + Sync)) {
        let speeds = self.workers.iter_mut().map(|worker| {
            let worker = of(worker);
            worker.is_working().then_some(worker.speed)
        });
        let speeds: Vec<Option<f64>> = speeds.collect();
        let working = speeds.iter().flatten().count() as f64;
        let all: f64 = speeds.iter().flatten().sum();
        // Alike, until all of them are known.
        let known = speeds.iter().flatten().all(|&speed| speed > 0.0);
        let share = |speed: &Option<f64>| match speed {
            Some(speed) if known => speed / all,
            Some(_) => 1.0 / working,
            None => 0.0,
        };
        let dealer = Dealer {
            spans,
            lost: &self.lost,
            shares: speeds.iter().map(share).collect(),
            time_share: 1.0 / working,
            enough,
        };
        self.pool.broadcast(|thread| {
            lock(&self.workers[thread.index()]).attempt(|worker| worker.render(&dealer));
        });
    }
}
