//! The number of paths per wave, which adapts so that a wave takes a desired time and fits into memory.

use std::{ops::RangeInclusive, time::Duration};

/// The pace of waves: optimised for throughput or for latency. The film does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Throughput: two waves are in flight, so that a GPU never idles, and waves are large, because the few rays of
    /// late bounces leave most of it idle. A command waits for both waves: on a GPU for up to half a second.
    #[default]
    Steady,
    /// Latency: one wave of about this duration is in flight, so that a command waits for one wave at most. After a
    /// change of the view, the first wave has one sample per pixel.
    Watched(Duration),
}

/// Desired duration of a wave of a CPU thread at [`Pace::Steady`].
pub(super) const STEADY_CPU_WAVE: Duration = Duration::from_millis(32);

/// Desired duration of a wave on a GPU at [`Pace::Steady`]. At the end of each stage, a few rays with a long traversal
/// leave most of the GPU idle. The longer waves are, the fewer such ends there are.
pub(super) const STEADY_CUDA_WAVE: Duration = Duration::from_millis(256);

/// Maximum factor by which [`WaveSize::learn`] enlarges waves at a time.
const MAX_GROWTH: u32 = 8;

/// Maximum size to which [`WaveSize::learn`] enlarges waves, in paths per millisecond that the last wave took. On a GPU,
/// the host allocates larger buffers while a wave of the old size is in flight. If they were too large, that wave would
/// end first, and the GPU would wait.
const MAX_PATHS_PER_MILLISECOND: f64 = 9e6;

/// Maximum number of waves in flight on a GPU.
pub(super) const MAX_IN_FLIGHT: usize = 2;

impl Pace {
    /// Returns the number of waves that may be in flight on a GPU at a time.
    pub(super) fn in_flight(self) -> usize {
        match self {
            Pace::Steady => MAX_IN_FLIGHT,
            Pace::Watched(_) => 1,
        }
    }
}

/// The adaptive size of waves, in paths.
pub(super) struct WaveSize {
    /// Maximum size of a film's first wave.
    pub(super) first: u32,
    /// Minimum size that adaptation sets.
    pub(super) min: u32,
    /// Maximum size that adaptation sets.
    pub(super) max: u32,
    /// Size of the next wave.
    pub(super) next: u32,
    /// Desired duration of a wave at [`Pace::Steady`].
    pub(super) steady: Duration,
}

impl WaveSize {
    /// Creates an adaptive size whose first value is `first`, and which adaptation keeps within `sizes`. `steady` is
    /// the desired duration of a wave at [`Pace::Steady`].
    pub(super) fn new(first: u32, sizes: RangeInclusive<u32>, steady: Duration) -> WaveSize {
        WaveSize {
            first,
            min: *sizes.start(),
            max: *sizes.end(),
            next: first,
            steady,
        }
    }

    /// Limits the size of the next wave, which is the first one of a film with this number of pixels. At
    /// [`Pace::Watched`], that wave has at most one sample per pixel, or the minimum size if that is larger.
    pub(super) fn begin_film(&mut self, pixel_count: u32, pace: Pace) {
        self.next = self.next.min(self.first);
        if pace != Pace::Steady {
            self.next = self.next.min(pixel_count.max(self.min));
        }
    }

    /// Adapts the size to a completed wave of `paths` paths that took `milliseconds`: doubles or halves it until the
    /// expected duration fits the pace. One call enlarges it only within the limits of [`MAX_GROWTH`] and
    /// [`MAX_PATHS_PER_MILLISECOND`].
    pub(super) fn learn(&mut self, paths: u32, milliseconds: f64, pace: Pace) {
        // Only waves of about the current size are representative; some are much smaller, such as a render's last one.
        if paths > self.next || paths <= self.next / 2 {
            return;
        }
        let desired = match pace {
            Pace::Steady => self.steady,
            Pace::Watched(wave) => wave,
        };
        let milliseconds = milliseconds.max(1e-3);
        let fitting_size = f64::from(paths) * desired.as_secs_f64() * 1e3 / milliseconds;
        let affordable_size = fitting_size.min(MAX_PATHS_PER_MILLISECOND * milliseconds);
        let max = self.next.saturating_mul(MAX_GROWTH).min(self.max);
        while self.next < max && 2.0 * f64::from(self.next) <= affordable_size {
            self.next = self.next.saturating_mul(2).min(max);
        }
        while self.next > self.min && f64::from(self.next) > 2.0 * fitting_size {
            self.next = (self.next / 2).max(self.min);
        }
    }
}
