//! How long a wave may take before its GPU counts as hung.

use std::time::Duration;

/// What any wave gets.
pub(crate) const LEAST: Duration = Duration::from_secs(30);
/// A wave gets so many times what the last one took, by their paths.
const MANY: f64 = 100.0;
/// Rays a second, of the slowest GPU in the costliest scene and less than that: before anything is known, and at the most.
const SLOWEST: f64 = 1e6;

/// What is known of a GPU's waves.
pub(super) struct Patience {
    least: Duration,
    /// Rays of each path, at the most.
    rays: f64,
    /// Seconds that a path of the last wave took.
    each: Option<f64>,
}

impl Patience {
    pub(super) fn new(max_bounces: u32) -> Patience {
        Patience {
            least: LEAST,
            // Each bounce may look for a light, too.
            rays: 2.0 * (f64::from(max_bounces) + 1.0),
            each: None,
        }
    }

    /// Gives any wave so much at the least.
    pub(super) fn set_least(&mut self, least: Duration) {
        self.least = least;
    }

    /// A wave has come.
    pub(super) fn learn(&mut self, paths: u32, milliseconds: f64) {
        self.each = Some(milliseconds / 1e3 / f64::from(paths.max(1)));
    }

    /// For so many paths.
    pub(super) fn of(&self, paths: f64) -> Duration {
        let at_most = paths * self.rays / SLOWEST;
        let seconds = self
            .each
            .map_or(at_most, |each| at_most.min(MANY * each * paths));
        Duration::try_from_secs_f64(seconds).map_or(Duration::MAX, |known| known.max(self.least))
    }
}
