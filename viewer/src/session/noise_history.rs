//! The noise of the picture over the samples: at each doubling of their number, and of the newest picture.

use serde::Serialize;

use raysieve::{
    adaptive::noise_estimate::NoiseEstimator, film::picture::Picture, render::stats::Stats,
};

/// The noise of a film at some number of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct NoisePoint {
    /// Number of samples per pixel, on average with adaptive sampling.
    pub(crate) samples: f64,
    pub(crate) seconds: f64,
    /// Estimated relative error, averaged over the pixels.
    pub(crate) error: f64,
}

/// A recorder of the noise of one film.
#[derive(Default)]
pub(super) struct NoiseHistory {
    estimator: NoiseEstimator,
    points: Vec<NoisePoint>,
    /// Noise of the newest picture; `None` while it is unknown.
    newest: Option<NoisePoint>,
}

/// Minimum ratio of the samples of a complete film to those at the last estimate, for an estimate from its own picture.
/// Otherwise, the last estimate is extrapolated, because few added samples tell little about the noise.
const MIN_GROWTH: f64 = 1.5;

impl NoiseHistory {
    /// Adds a picture of the film with these statistics. Later pictures must contain the samples of earlier ones.
    /// `is_complete` tells that no samples follow.
    pub(super) fn add(&mut self, stats: &Stats, picture: &Picture, is_complete: bool) {
        let (samples, error) = match &stats.noise {
            Some(noise) => (noise.mean_samples, noise.estimated),
            None => {
                let is_wanted = self.estimator.wants(stats.spp)
                    || is_complete && self.estimator.growth(stats.spp) >= MIN_GROWTH;
                if is_wanted {
                    self.estimator.look(stats.spp, picture);
                }
                (f64::from(stats.spp), self.estimator.at(stats.spp))
            }
        };
        let known = error.filter(|error| *error > 0.0 && samples > 0.0);
        self.newest = known.map(|error| NoisePoint {
            samples,
            seconds: stats.seconds,
            error,
        });
        let has_doubled = |point: &&NoisePoint| {
            !self
                .points
                .last()
                .is_some_and(|last| point.samples < 2.0 * last.samples)
        };
        self.points
            .extend(self.newest.as_ref().filter(has_doubled).copied());
    }

    /// Returns the noise at each doubling of the samples and that of the newest picture, in increasing order of the
    /// samples.
    pub(super) fn points(&self) -> Vec<NoisePoint> {
        let last = self.points.last().map_or(0.0, |last| last.samples);
        let newest = self.newest.filter(|newest| newest.samples > last);
        self.points.iter().copied().chain(newest).collect()
    }
}
