//! How many paths a wave takes on: as many as keep it busy for a certain time, as far as there is room.

use std::time::Duration;

/// What waves keep to. None of it changes the film.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Nobody looks: a GPU never idles, and late bounces, whose few rays leave most of it idle, are few.
    #[default]
    Steady,
    /// Somebody looks: waves of about this time, one under way at a time, and after a change of the view a first one of a
    /// single sample of the picture. Whatever is asked for waits for one wave at most.
    Watched(Duration),
}

/// Of a wave that nobody looks at: what it shows is no older, nobody waits longer for it to land.
const STEADY_WAVE: Duration = Duration::from_millis(32);

/// Waves that are enqueued on a GPU, at most, before the host waits for the oldest.
pub(super) const MOST_IN_FLIGHT: usize = 2;

impl Pace {
    /// How long a wave takes about, that is free to grow.
    fn wave(self) -> Duration {
        match self {
            Pace::Steady => STEADY_WAVE,
            Pace::Watched(wave) => wave,
        }
    }

    /// Waves that are enqueued on a GPU before the host waits for the oldest.
    pub(super) fn in_flight(self) -> usize {
        match self {
            Pace::Steady => MOST_IN_FLIGHT,
            Pace::Watched(_) => 1,
        }
    }
}

/// The size of waves that are free to grow.
pub(super) struct Growth {
    /// Paths of the first wave of a film, at most.
    pub(super) first: u32,
    /// Paths that it shrinks to at the least.
    pub(super) least: u32,
    /// Paths at most.
    pub(super) most: u32,
    /// Paths of the next wave.
    pub(super) next: u32,
}

impl Growth {
    /// Back to the first size, for a film of so many pixels.
    pub(super) fn begin_film(&mut self, pixel_count: u32, pace: Pace) {
        self.next = self.next.min(self.first);
        if pace != Pace::Steady {
            self.next = self.next.min(pixel_count.max(self.least));
        }
    }

    /// Sets the size of the next waves by the time that one took.
    pub(super) fn settle(&mut self, paths: u32, milliseconds: f64, pace: Pace) {
        // Spans end with a sample of all pixels: a wave is smaller than it may be, but for the last by less than half.
        if paths > self.next || paths <= self.next / 2 {
            return;
        }
        let fitting = f64::from(paths) * pace.wave().as_secs_f64() * 1e3 / milliseconds.max(1e-3);
        while self.next < self.most && 2.0 * f64::from(self.next) <= fitting {
            self.next = self.next.saturating_mul(2).min(self.most);
        }
        while self.next > self.least && f64::from(self.next) > 2.0 * fitting {
            self.next = (self.next / 2).max(self.least);
        }
    }
}
