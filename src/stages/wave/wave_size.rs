//! The number of paths per wave: as many as take a certain time, within the buffers that there are.

use std::time::Duration;

/// What waves are optimised for: throughput or latency. The film does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Throughput: two waves are in flight, so that a GPU never idles, and waves are large, because the few rays of late
    /// bounces leave most of it idle.
    #[default]
    Steady,
    /// Latency: one wave of about this duration is in flight, so that a command waits for one wave at most. After a change
    /// of the view, the first wave has one sample per pixel.
    Watched(Duration),
}

/// Duration of a wave at [`Pace::Steady`].
const STEADY_WAVE: Duration = Duration::from_millis(32);

/// Maximum number of waves in flight on a GPU.
pub(super) const MAX_IN_FLIGHT: usize = 2;

impl Pace {
    /// Returns the intended duration of a wave.
    fn wave(self) -> Duration {
        match self {
            Pace::Steady => STEADY_WAVE,
            Pace::Watched(wave) => wave,
        }
    }

    /// Returns the number of waves that may be in flight on a GPU at a time.
    pub(super) fn in_flight(self) -> usize {
        match self {
            Pace::Steady => MAX_IN_FLIGHT,
            Pace::Watched(_) => 1,
        }
    }
}

/// The size of waves whose size adapts to their duration, in paths.
pub(super) struct WaveSize {
    /// Maximum size of the first wave of a film.
    pub(super) first: u32,
    /// Minimum size.
    pub(super) min: u32,
    /// Maximum size.
    pub(super) max: u32,
    /// Size of the next wave.
    pub(super) next: u32,
}

impl WaveSize {
    /// Returns to the size of a first wave, for a new film with this number of pixels.
    pub(super) fn begin_film(&mut self, pixel_count: u32, pace: Pace) {
        self.next = self.next.min(self.first);
        if pace != Pace::Steady {
            self.next = self.next.min(pixel_count.max(self.min));
        }
    }

    /// Adapts the size to the duration of a wave: doubles or halves it until the duration fits the pace.
    pub(super) fn learn(&mut self, paths: u32, milliseconds: f64, pace: Pace) {
        // The last wave of a sample is smaller than intended. Waves of less than half the size tell nothing.
        if paths > self.next || paths <= self.next / 2 {
            return;
        }
        let fitting = f64::from(paths) * pace.wave().as_secs_f64() * 1e3 / milliseconds.max(1e-3);
        while self.next < self.max && 2.0 * f64::from(self.next) <= fitting {
            self.next = self.next.saturating_mul(2).min(self.max);
        }
        while self.next > self.min && f64::from(self.next) > 2.0 * fitting {
            self.next = (self.next / 2).max(self.min);
        }
    }
}
