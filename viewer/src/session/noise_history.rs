//! The noise of the picture over the samples, estimated at each doubling of their number.

use serde::Serialize;

use raysieve::{
    adaptive::noise_estimate::NoiseEstimator, film::picture::Picture, render::stats::Stats,
};

/// The noise of a film at some number of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct NoisePoint {
    /// Number of samples per pixel, on average with adaptive sampling.
    pub(crate) samples: f64,
    /// Seconds of rendering.
    pub(crate) seconds: f64,
    /// Estimated relative error, averaged over the pixels.
    pub(crate) error: f64,
}

/// A recorder of the noise of one film.
#[derive(Default)]
pub(super) struct NoiseHistory {
    estimator: NoiseEstimator,
    points: Vec<NoisePoint>,
}

impl NoiseHistory {
    /// Adds a picture of the film with these statistics, if its samples have doubled since the last point. Later
    /// pictures must contain the samples of earlier ones.
    pub(super) fn add(&mut self, stats: &Stats, picture: &Picture) {
        let (samples, error) = match &stats.noise {
            Some(noise) => (noise.mean_samples, noise.estimated),
            None if self.estimator.wants(stats.spp) => {
                self.estimator.look(stats.spp, picture);
                (f64::from(stats.spp), self.estimator.at(stats.spp))
            }
            None => return,
        };
        let has_doubled = |last: &NoisePoint| samples >= 2.0 * last.samples;
        if let Some(error) = error.filter(|error| *error > 0.0)
            && samples > 0.0
            && self.points.last().is_none_or(has_doubled)
        {
            self.points.push(NoisePoint {
                samples,
                seconds: stats.seconds,
                error,
            });
        }
    }

    /// Returns the noise at each recorded number of samples, in increasing order.
    pub(super) fn points(&self) -> &[NoisePoint] {
        &self.points
    }
}
