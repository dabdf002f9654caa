//! Groups of (pixel, sample) pairs that the threads of a CPU trace together.
//!
//! A wave on the CPU has few paths, so that their state stays in a cache. By itself it would hold one sample of some
//! thousand pixels. The waves of all threads therefore divide a larger group of pairs, in the order of
//! [`scheduled_pair`](crate::path::scheduled_pair): several samples of a pixel have adjacent paths, and more of their
//! rays are coherent.

use std::{
    ops::Range,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use super::spans::Spans;
use crate::{
    path::Span,
    stages::wave::{Pace, WaveSize},
};

/// Desired duration of a group at [`Pace::Steady`]. A render can only stop between two groups.
const STEADY_GROUP: Duration = Duration::from_millis(256);
/// Minimum number of pairs of a group.
const MIN_PAIRS: u32 = 1 << 13;
/// Maximum number of pairs of a group.
const MAX_PAIRS: u32 = 1 << 26;
/// Number of pairs of the first group of a film.
const FIRST_PAIRS: u32 = 1 << 16;
/// The number of paths of a wave is a multiple of this, so that samples of a pixel are in one wave.
const GRANULE: u64 = 64;

/// Assigns paths of the current group to waves, and begins the next group.
pub(super) struct Groups {
    /// The adaptive number of pairs of a group.
    size: WaveSize,
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

impl Groups {
    /// Creates the state before the first group.
    pub(super) fn new() -> Groups {
        Groups {
            size: WaveSize::new(FIRST_PAIRS, MIN_PAIRS..=MAX_PAIRS, STEADY_GROUP),
            pace: Pace::default(),
            current: None,
        }
    }

    /// Prepares for the first group of a film with this number of pixels.
    pub(super) fn begin_film(&mut self, pixel_count: u32) {
        self.size.begin_film(pixel_count, self.pace);
    }

    /// Assigns paths to a wave that holds up to `max_paths`, one of `wave_count` waves. Returns their span, and their
    /// numbers in it.
    ///
    /// Returns `None` if no pairs are left, or if a group would begin and `enough` returns `true` for the number of
    /// the first pair after the last group.
    pub(super) fn assign(
        &mut self,
        spans: &Spans,
        (max_paths, wave_count): (u32, u64),
        enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Option<(Span, Range<u32>)> {
        if self.current.is_none() {
            self.begin(spans, enough)?;
        }
        let group = self.current.as_mut()?;
        let left = group.span.path_count - group.next;
        // Waves get smaller towards the end, so that all threads finish at the same time.
        let unassigned = u64::from(left) + spans.end - spans.next.load(Relaxed).min(spans.end);
        let share = (unassigned / (2 * wave_count)).max(1 << 10) / GRANULE * GRANULE;
        let count = u64::from(max_paths.min(left)).min(share) as u32;
        let paths = group.next..group.next + count;
        let span = group.span;
        group.next += count;
        if count == left {
            let milliseconds = group.begun.elapsed().as_secs_f64() * 1e3;
            self.size.learn(span.path_count, milliseconds, self.pace);
            self.current = None;
        }
        Some((span, paths))
    }

    /// Begins a group; see [`Groups::assign`] for when it returns `None`.
    fn begin(&mut self, spans: &Spans, enough: &(dyn Fn(u64) -> bool + Sync)) -> Option<()> {
        if enough(spans.next.load(Relaxed)) {
            return None;
        }
        let pairs = spans.assign(|_| self.size.next.into())?;
        self.current = Some(Group {
            span: spans.plan.span(pairs),
            next: 0,
            begun: Instant::now(),
        });
        Some(())
    }
}
