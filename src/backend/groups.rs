//! Groups of (pixel, sample) pairs that the threads of a CPU trace together.
//!
//! A wave on the CPU has few paths, so that their state stays in a cache. By itself it would hold one sample of some
//! thousand pixels. The waves of all threads therefore divide a larger group of pairs among them, in the order of
//! [`scheduled_pair`](crate::path::scheduled_pair). Several samples of a pixel then have adjacent paths, whose rays are
//! coherent.

use std::{
    ops::Range,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use super::spans::Spans;
use crate::{
    path::Span,
    stages::wave::{CpuWave, Pace},
};

/// Maximum number of pairs of a group.
const MAX_PAIRS: u32 = 1 << 26;
/// Maximum factor by which a group is larger than the one before.
const MAX_GROWTH: u32 = 8;
/// The number of paths of a wave is a multiple of this, so that the samples of a pixel are in one wave.
const GRANULE: u64 = 64;

/// Assigns paths of the current group to waves, and begins the next group.
pub(super) struct Groups {
    /// Number of pairs of a film's first group, and the least of any other.
    first: u32,
    /// Maximum number of pairs of the next group.
    max: u32,
    /// Number of pairs that the last group traced per second.
    speed: f64,
    /// The pace of the groups that begin after this.
    pub(super) pace: Pace,
    /// The group that has paths left to assign.
    current: Option<Group>,
}

/// A group of pairs, some of which are assigned.
struct Group {
    /// The pairs.
    span: Span,
    /// The first path of `span` that is not assigned.
    next: u32,
    /// The time at which the first wave was assigned.
    begun: Instant,
}

/// When a call of [`Backend::advance`](super::Backend::advance) stops.
pub(crate) struct Stop<'a> {
    /// Returns whether to stop, for the number of the first pair that is not assigned.
    pub(crate) enough: &'a (dyn Fn(u64) -> bool + Sync),
    /// On a CPU, the desired time between two calls of `enough` at [`Pace::Steady`].
    pub(crate) interval: Duration,
}

impl Groups {
    /// Creates the state before the first group, which has `first` pairs or fewer.
    pub(super) fn new(first: u32) -> Groups {
        let first = first.min(MAX_PAIRS);
        Groups {
            first,
            max: first,
            speed: 0.0,
            pace: Pace::default(),
            current: None,
        }
    }

    /// Prepares for the first group of a film.
    pub(super) fn begin_film(&mut self) {
        self.max = self.first;
    }

    /// Assigns paths to a wave that holds up to `max_paths`, one of `wave_count` waves. Returns their span, and their
    /// numbers in it.
    ///
    /// Returns `None` if no pairs are left, or if it is time to stop after the last group.
    pub(super) fn assign(
        &mut self,
        spans: &Spans,
        (max_paths, wave_count): (u32, u64),
        stop: &Stop,
    ) -> Option<(Span, Range<u32>)> {
        let mut group = match self.current.take() {
            Some(group) => group,
            None => self.begin(spans, stop)?,
        };
        let left = group.span.path_count - group.next;
        // Waves get smaller towards the end, so that all threads finish at the same time.
        let unassigned = u64::from(left) + spans.end.saturating_sub(spans.next.load(Relaxed));
        let share = (unassigned / (2 * wave_count)).max(CpuWave::MIN_PATHS.into());
        let count = u64::from(max_paths.min(left)).min(share / GRANULE * GRANULE) as u32;
        let (span, paths) = (group.span, group.next..group.next + count);
        if count < left {
            group.next += count;
            self.current = Some(group);
        } else {
            self.speed = f64::from(span.path_count) / group.begun.elapsed().as_secs_f64();
        }
        Some((span, paths))
    }

    /// Begins a group; see [`Groups::assign`] for when it returns `None`.
    fn begin(&mut self, spans: &Spans, stop: &Stop) -> Option<Group> {
        if (stop.enough)(spans.next.load(Relaxed)) {
            return None;
        }
        let interval = match self.pace {
            Pace::Steady => stop.interval,
            Pace::Watched(wave) => wave,
        };
        // Rounds, and saturates if the speed is infinite.
        let fitting = (self.speed * interval.as_secs_f64()) as u32;
        let pairs = spans.assign(|_| fitting.clamp(self.first, self.max).into())?;
        let span = spans.plan.span(pairs);
        let max = span.path_count.saturating_mul(MAX_GROWTH);
        self.max = max.clamp(self.first, MAX_PAIRS);
        Some(Group {
            span,
            next: 0,
            begun: Instant::now(),
        })
    }
}
