//! Statistics of a short interval of rendering.

use raysieve::{
    render::stats::{GroupBounce, Stats, WaveGroup},
    stages::Stage,
};

/// Statistics of a short interval of rendering, over which rates are computed.
#[derive(Clone, Debug, Default)]
pub(super) struct Interval {
    /// Duration in seconds of rendering; 0 for a group of waves.
    pub(super) seconds: f64,
    /// Samples per pixel added in the interval, on average over the picture.
    pub(super) samples: f64,
    pub(super) paths: f64,
    /// Number of rays traced in the interval, including shadow rays; 0 for a group of waves.
    pub(super) rays: f64,
    bounces: Vec<GroupBounce>,
}

impl Interval {
    pub(super) fn of(stats: &Stats) -> Self {
        let mut interval = Self::default();
        interval.add(stats, 1.0);
        interval
    }

    /// Returns a group of waves as an interval whose duration is unknown.
    pub(super) fn of_group(group: &WaveGroup) -> Self {
        Self {
            paths: group.paths,
            bounces: group.bounces.clone(),
            ..Self::default()
        }
    }

    /// Adds the statistics, multiplied by `sign` (1 or -1), to the interval.
    pub(super) fn add(&mut self, stats: &Stats, sign: f64) {
        self.bounces
            .resize_with(stats.bounces.len(), Default::default);
        self.seconds += sign * stats.seconds;
        self.samples += sign * part(stats.paths as f64, pixels(stats));
        self.paths += sign * stats.paths as f64;
        self.rays += sign * stats.rays as f64;
        for (sum, row) in self.bounces.iter_mut().zip(&stats.bounces) {
            sum.rays += sign * row.rays as f64;
            sum.lanes += sign * row.lanes as f64;
            for (sum, stage) in sum.milliseconds.iter_mut().zip(Stage::OF_BOUNCE) {
                *sum += sign * row.time(stage);
            }
        }
    }

    /// Returns the statistics of a bounce; all are 0 after the last one.
    pub(super) fn bounce(&self, place: usize) -> GroupBounce {
        self.bounces.get(place).copied().unwrap_or_default()
    }

    /// Returns the fraction of launched lanes that had a ray, over all bounces; 0 if lanes were not counted.
    pub(super) fn lane_use(&self) -> f64 {
        let all = |count: fn(&GroupBounce) -> f64| self.bounces.iter().map(count).sum();
        part(all(|row| row.rays), all(|row| row.lanes))
    }

    /// Returns the time of each stage over all bounces in milliseconds.
    pub(super) fn stage_milliseconds(&self) -> [f64; Stage::OF_BOUNCE.len()] {
        std::array::from_fn(|stage| {
            let times = self.bounces.iter().map(|bounce| bounce.milliseconds[stage]);
            times.sum()
        })
    }
}

/// Returns the number of pixels of the film.
fn pixels(stats: &Stats) -> f64 {
    stats.size.map(f64::from).iter().product()
}

/// Returns `some / whole`, or 0 if `whole` is 0.
pub(super) fn part(some: f64, whole: f64) -> f64 {
    if whole > 0.0 { some / whole } else { 0.0 }
}
