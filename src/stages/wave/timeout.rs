//! How long a wave may take before its GPU counts as hung.

use std::time::Duration;

/// Minimum time that any wave gets, unless [`WaveTimeout::set_min`] changes it.
pub(crate) const MIN: Duration = Duration::from_secs(30);
/// Factor between the expected time of a wave, by the wave before it, and its timeout.
const FACTOR: f64 = 100.0;
/// Rays per second that the slowest GPU traces in the most expensive scene, and less. It limits all timeouts.
const SLOWEST: f64 = 1e6;

/// The timeout of waves on one GPU, by the speed of the last wave.
pub(super) struct WaveTimeout {
    min: Duration,
    max_rays_per_path: f64,
    /// Time that a path of the last wave took in seconds; `None` before the first wave has ended.
    seconds_per_path: Option<f64>,
}

impl WaveTimeout {
    /// Creates the timeout for paths that scatter up to `max_bounces` times.
    pub(super) fn new(max_bounces: u32) -> WaveTimeout {
        WaveTimeout {
            min: MIN,
            // Each bounce may have a shadow ray too.
            max_rays_per_path: 2.0 * (f64::from(max_bounces) + 1.0),
            seconds_per_path: None,
        }
    }

    /// Sets the minimum time that any wave gets.
    pub(super) fn set_min(&mut self, min: Duration) {
        self.min = min;
    }

    /// Learns the speed from a wave that has ended.
    pub(super) fn learn(&mut self, paths: u32, milliseconds: f64) {
        self.seconds_per_path = Some(milliseconds / 1e3 / f64::from(paths.max(1)));
    }

    /// Returns the timeout of a wave with this number of paths, or of several waves with that many in all.
    pub(super) fn of(&self, paths: f64) -> Duration {
        let max = paths * self.max_rays_per_path / SLOWEST;
        let seconds = self
            .seconds_per_path
            .map_or(max, |each| max.min(FACTOR * each * paths));
        Duration::try_from_secs_f64(seconds).map_or(Duration::MAX, |known| known.max(self.min))
    }
}
