//! Batches of (pixel, sample) pairs that the threads of a CPU divide into waves.
//!
//! A wave on the CPU has few paths, so that their state stays in a cache. By itself it would hold one sample of some
//! thousand pixels. The waves of all threads therefore divide a larger batch of pairs among them, in the order of
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

/// Maximum number of pairs of a batch.
const MAX_PAIRS: u32 = 1 << 26;
/// Maximum factor by which a batch is larger than the one before.
const MAX_GROWTH: u32 = 8;
/// The number of paths of a wave is a multiple of this where possible, so that the samples of a pixel are in one wave.
const WAVE_ALIGNMENT: u64 = 64;
// A wave never gets 0 paths.
const _: () = assert!(CpuWave::MIN_PATHS as u64 >= WAVE_ALIGNMENT);

/// Assigns paths of the current batch to waves, and begins the next batch.
pub(super) struct Batches {
    /// Number of waves that share each batch.
    wave_count: u32,
    /// Maximum number of pairs of a film's first batch.
    first: u32,
    /// Maximum number of pairs of the next batch.
    max: u32,
    /// Whether the next batch is the first one of a film.
    begins_film: bool,
    /// Number of pairs that the last batch traced per second; `None` before the first one has ended.
    speed: Option<f64>,
    /// The pace of the batches that begin after this.
    pub(super) pace: Pace,
    /// The batch that has paths left to assign.
    current: Option<Batch>,
    /// The number of pairs of the last batch, and the time at which it began; `None` before the first batch of a call
    /// of [`Backend::advance`](super::Backend::advance).
    last: Option<(u32, Instant)>,
}

/// A batch of pairs, some of which are assigned.
struct Batch {
    /// The pairs.
    span: Span,
    /// The first path of `span` that is not assigned.
    next: u32,
}

/// When a call of [`Backend::advance`](super::Backend::advance) stops.
pub(crate) struct Stop<'a> {
    /// Returns whether to stop, for the number of the first pair that is not assigned.
    pub(crate) enough: &'a (dyn Fn(u64) -> bool + Sync),
    /// Desired time for a batch on a CPU at [`Pace::Steady`]. At [`Pace::Watched`] it is that of a wave.
    pub(crate) batch_time: Duration,
}

impl Batches {
    /// Creates the state before the first batch, which has at most `first` pairs. `wave_count` waves share each batch.
    pub(super) fn new(wave_count: u32, first: u32) -> Batches {
        let first = first.min(MAX_PAIRS);
        Batches {
            wave_count,
            first,
            max: first,
            begins_film: true,
            speed: None,
            pace: Pace::default(),
            current: None,
            last: None,
        }
    }

    /// Prepares for the first batch of a film.
    pub(super) fn begin_film(&mut self) {
        self.max = self.first;
        self.begins_film = true;
    }

    /// Prepares for a call of [`Backend::advance`](super::Backend::advance). Drops what a panic in a thread has left.
    pub(super) fn begin_advance(&mut self) {
        self.current = None;
        self.last = None;
    }

    /// Assigns paths to a wave that holds up to `max_paths`. Returns their span, and their numbers in it.
    ///
    /// Returns `None` if no pairs are left, or if it is time to stop after the last batch.
    pub(super) fn assign(
        &mut self,
        spans: &Spans,
        max_paths: u32,
        stop: &Stop,
    ) -> Option<(Span, Range<u32>)> {
        let mut batch = match self.current.take() {
            Some(batch) => batch,
            None => self.begin(spans, stop)?,
        };
        let left = batch.span.path_count - batch.next;
        // Waves get smaller towards the end, so that all threads finish at the same time.
        let unassigned = u64::from(left) + spans.end.saturating_sub(spans.next.load(Relaxed));
        let share = unassigned / (2 * u64::from(self.wave_count));
        let share = share.max(CpuWave::MIN_PATHS.into()) / WAVE_ALIGNMENT * WAVE_ALIGNMENT;
        let count = u64::from(max_paths.min(left)).min(share) as u32;
        let (span, paths) = (batch.span, batch.next..batch.next + count);
        batch.next += count;
        if count < left {
            self.current = Some(batch);
        }
        Some((span, paths))
    }

    /// Begins a batch; see [`Batches::assign`] for when it returns `None`.
    fn begin(&mut self, spans: &Spans, stop: &Stop) -> Option<Batch> {
        if let Some((pairs, begun)) = self.last.take() {
            self.speed = Some(f64::from(pairs) / begun.elapsed().as_secs_f64());
        }
        if (stop.enough)(spans.next.load(Relaxed)) {
            return None;
        }
        let min = self
            .wave_count
            .saturating_mul(CpuWave::MIN_PATHS)
            .min(self.first);
        let (batch_time, max) = match self.pace {
            Pace::Steady => (stop.batch_time, self.max),
            // The first batch after a change of the view has at most one sample per pixel.
            Pace::Watched(wave) if self.begins_film => {
                (wave, self.max.min(spans.plan.pixels.count.max(min)))
            }
            Pace::Watched(wave) => (wave, self.max),
        };
        // The conversion saturates.
        let fitting = |speed: f64| (speed * batch_time.as_secs_f64()) as u32;
        let pairs = self.speed.map_or(max, fitting).clamp(min, max);
        let span = spans.plan.span(spans.assign(|_| pairs.into())?);
        let max = span.path_count.saturating_mul(MAX_GROWTH);
        self.max = max.clamp(self.first, MAX_PAIRS);
        self.begins_film = false;
        self.last = Some((span.path_count, Instant::now()));
        Some(Batch { span, next: 0 })
    }
}
