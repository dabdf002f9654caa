//! The time that a wave may take before its GPU counts as hung.

use std::time::Duration;

/// Minimum timeout of a wave of any size, unless [`WaveTimeout::set_min`] changes it.
pub(crate) const MIN: Duration = Duration::from_secs(30);
/// Ratio of a wave's timeout to its expected duration, which follows from the speed of the previous wave.
const FACTOR: f64 = 100.0;
/// Lower bound of the rays per second that any GPU traces in any scene. It bounds timeouts from above, unless the
/// minimum timeout is longer.
const MIN_RAYS_PER_SECOND: f64 = 1e6;

/// The timeouts of waves on one GPU, computed from the speed of the last completed wave.
pub(super) struct WaveTimeout {
    /// Minimum timeout of a wave of any size.
    min: Duration,
    /// Maximum number of rays that a path traces, including shadow rays.
    max_rays_per_path: f64,
    /// Duration of the last completed wave divided by its number of paths, in seconds; `None` before the first wave has
    /// ended.
    seconds_per_path: Option<f64>,
}

impl WaveTimeout {
    /// Creates the timeouts of waves whose paths scatter up to `max_bounces` times.
    pub(super) fn new(max_bounces: u32) -> WaveTimeout {
        WaveTimeout {
            min: MIN,
            // Each bounce traces one ray and at most one shadow ray.
            max_rays_per_path: 2.0 * (f64::from(max_bounces) + 1.0),
            seconds_per_path: None,
        }
    }

    /// Sets the minimum timeout of a wave of any size.
    pub(super) fn set_min(&mut self, min: Duration) {
        self.min = min;
    }

    /// Updates the speed from a completed wave of `paths` paths that took `milliseconds`.
    pub(super) fn learn(&mut self, paths: u32, milliseconds: f64) {
        self.seconds_per_path = Some(milliseconds / 1e3 / f64::from(paths.max(1)));
    }

    /// Returns the timeout of a wave of `paths` paths, or of several waves with that many paths together.
    pub(super) fn for_paths(&self, paths: f64) -> Duration {
        let max = paths * self.max_rays_per_path / MIN_RAYS_PER_SECOND;
        let seconds = self
            .seconds_per_path
            .map_or(max, |each| max.min(FACTOR * each * paths));
        Duration::try_from_secs_f64(seconds).map_or(Duration::MAX, |timeout| timeout.max(self.min))
    }
}
