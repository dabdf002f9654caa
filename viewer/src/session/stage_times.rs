//! Measured figures of a bounce, with the times of its stages: medians and quartiles of repeated measurements.

use std::{iter::Sum, ops::Add};

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::quantile::weighted_quantiles;
use raysieve::stages::Stage;

/// Times of a bounce's stages in microseconds, in the order of [`Stage::OF_BOUNCE`].
///
/// In JSON, each stage has a key of its own, which is the stage's label followed by `_us`. Their sum has the key
/// `total_us`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StageTimes(pub(crate) [f64; Stage::OF_BOUNCE.len()]);

/// Lower and upper quartiles of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) low: StageTimes,
    pub(crate) high: StageTimes,
}

/// Medians of repeated measurements of the stages' times, and quartiles of the same measurements.
///
/// The time of several stages or bounces together is the sum of their medians, so that tables add up, and its quartiles are
/// the sums of their quartiles. These are exact if the parts are slow at the same time, as on a machine with other work,
/// and otherwise too far apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct MeasuredTimes {
    #[serde(flatten)]
    pub(crate) median: StageTimes,
    /// `None` if there are fewer than four measurements.
    pub(crate) spread: Option<Spread>,
}

/// Recent performance figures of one bounce, or of all together: fractions of rays and lanes, and times of the stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RecentBounce {
    /// Fraction of the bounce's rays that compaction removes from the queue; 0 without rays, and with the strategy `off`,
    /// which removes none. Unlike the other figures, it is over all samples since the start of the film.
    pub(crate) removed: f64,
    /// Fraction of launched lanes that had a ray; 0 if lanes were not counted. See
    /// [`BounceStats::lanes`](raysieve::render::stats::BounceStats::lanes).
    pub(crate) lane_use: f64,
    /// Times of the stages for one sample of every pixel.
    #[serde(flatten)]
    pub(crate) times: MeasuredTimes,
    /// Time in microseconds that the other stages take less than with the strategy `off`, for one sample of every pixel.
    /// `None` unless strategies were compared on this view.
    pub(crate) saved_us: Option<f64>,
}

/// Minimum number of measurements for quartiles.
const MIN_FOR_QUARTILES: usize = 4;

impl StageTimes {
    /// Returns the time of a stage in microseconds; 0 for stages that are not in [`Stage::OF_BOUNCE`].
    pub(crate) fn of(&self, stage: Stage) -> f64 {
        let place = Stage::OF_BOUNCE.iter().position(|&known| known == stage);
        place.map_or(0.0, |place| self.0[place])
    }

    /// Returns the sum of all times in microseconds.
    pub(crate) fn total(&self) -> f64 {
        self.0.iter().sum()
    }
}

impl Add for StageTimes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|place| self.0[place] + other.0[place]))
    }
}

impl MeasuredTimes {
    /// Returns the upper quartile of all stages together in microseconds, or their time if no quartiles are known.
    pub(crate) fn upper(&self) -> f64 {
        (self.spread).map_or(self.median.total(), |spread| spread.high.total())
    }

    /// Returns medians and quartiles of measurements, each given with its weight.
    pub(super) fn of(measurements: &[(StageTimes, f64)]) -> Self {
        let quantiles: [[f64; 3]; Stage::OF_BOUNCE.len()] = std::array::from_fn(|stage| {
            let weighted = measurements.iter();
            let weighted = weighted.map(|(times, weight)| (times.0[stage], *weight));
            weighted_quantiles(weighted, [0.25, 0.5, 0.75])
        });
        let [low, median, high] =
            std::array::from_fn(|place| StageTimes(quantiles.map(|quantiles| quantiles[place])));
        Self {
            median,
            spread: (measurements.len() >= MIN_FOR_QUARTILES).then_some(Spread { low, high }),
        }
    }
}

impl Sum for MeasuredTimes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let added = all.reduce(|sum, next| Self {
            median: sum.median + next.median,
            spread: (sum.spread.zip(next.spread)).map(|(sum, next)| Spread {
                low: sum.low + next.low,
                high: sum.high + next.high,
            }),
        });
        added.unwrap_or_default()
    }
}

impl Serialize for StageTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len() + 1))?;
        for (stage, time) in Stage::OF_BOUNCE.iter().zip(self.0) {
            map.serialize_entry(&format!("{}_us", stage.label()), &time)?;
        }
        map.serialize_entry("total_us", &self.total())?;
        map.end()
    }
}

/// Returns `some / whole`, or 0 if `whole` is 0.
pub(super) fn part(some: f64, whole: f64) -> f64 {
    if whole > 0.0 { some / whole } else { 0.0 }
}
