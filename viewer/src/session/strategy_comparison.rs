//! Compares the speed of the compaction strategies on one view, with a test of statistical significance.

use std::collections::VecDeque;

use serde::Serialize;

/// The speed of one compaction strategy on the current view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StrategyComparison {
    pub(crate) strategy: String,
    /// Median rays per second; 0 if unknown.
    pub(crate) rays_per_second: f64,
    /// Comparison with the current strategy, which is the first in the list.
    pub(crate) comparison: Comparison,
}

/// Comparison of a strategy's speed with that of the current one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Comparison {
    /// The strategy is the one in use, with which others are compared.
    Current,
    /// There are too few laps of either strategy for a comparison.
    NotEnoughData,
    /// The difference is within the measurement noise.
    NoClearDifference,
    /// The strategy is faster by this fraction of the current strategy's rays per second.
    Faster(f64),
    /// The strategy is slower by this fraction of the current strategy's rays per second.
    Slower(f64),
}

/// Maximum number of strategies listed, including the current one.
const MAX_LISTED: usize = 4;

/// Minimum number of laps of both strategies for a comparison.
const MIN_LAPS: usize = 8;
/// Maximum number of laps kept per strategy; older ones are dropped.
const MAX_LAPS: usize = 100;

/// Measured laps per strategy on the current view, the most recently used strategy first.
#[derive(Default)]
pub(super) struct StrategySpeeds(Vec<(String, VecDeque<f64>)>);

impl StrategySpeeds {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the speed that `strategy` reached during one lap, an interval of rendering.
    pub(super) fn add(&mut self, strategy: &str, rays_per_second: f64) {
        let place = self.0.iter().position(|(name, _)| name == strategy);
        let (name, mut laps) = match place {
            Some(place) => self.0.remove(place),
            None => (strategy.to_owned(), VecDeque::new()),
        };
        if laps.len() == MAX_LAPS {
            laps.pop_front();
        }
        laps.push_back(rays_per_second);
        self.0.insert(0, (name, laps));
    }

    /// Returns the comparison of the current strategy `now` with the most recent others.
    pub(super) fn comparisons(&self, now: &str) -> Vec<StrategyComparison> {
        let laps = |name: &str| self.0.iter().find(|(known, _)| known == name);
        let own = laps(now).map(|(_, laps)| Spread::of(laps));
        let first = StrategyComparison {
            strategy: now.to_owned(),
            rays_per_second: own.as_ref().map_or(0.0, |own| own.median),
            comparison: Comparison::Current,
        };
        let others = self
            .0
            .iter()
            .filter(|(name, _)| name != now)
            .map(|(name, laps)| {
                let other = Spread::of(laps);
                StrategyComparison {
                    strategy: name.clone(),
                    rays_per_second: other.median,
                    comparison: own
                        .as_ref()
                        .map_or(Comparison::NotEnoughData, |own| other.against(own)),
                }
            });
        [first].into_iter().chain(others).take(MAX_LISTED).collect()
    }
}

/// The distribution of a strategy's rays per second over its laps.
struct Spread {
    laps: usize,
    median: f64,
    /// Half-width of the notch around the median: 1.57 interquartile ranges over the square root of the lap count.
    /// Medians whose notches do not overlap differ at about 95 % confidence (McGill, Tukey & Larsen 1978).
    notch: f64,
}

impl Spread {
    fn of(laps: &VecDeque<f64>) -> Self {
        let mut sorted: Vec<f64> = laps.iter().copied().collect();
        let mut at = |part| quantile(&mut sorted, part);
        let (low, median, high) = (at(0.25), at(0.5), at(0.75));
        Self {
            laps: laps.len(),
            median,
            notch: 1.57 * (high - low) / (laps.len() as f64).sqrt(),
        }
    }

    fn against(&self, other: &Self) -> Comparison {
        if self.laps.min(other.laps) < MIN_LAPS {
            return Comparison::NotEnoughData;
        }
        let by = self.median / other.median - 1.0;
        if (self.median - other.median).abs() <= self.notch + other.notch || !by.is_finite() {
            Comparison::NoClearDifference
        } else if by > 0.0 {
            Comparison::Faster(by)
        } else {
            Comparison::Slower(-by)
        }
    }
}

/// Sorts the values and returns their quantile, interpolated linearly; `part` 0.5 is the median. Returns 0 if empty.
pub(super) fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = part * values.len().saturating_sub(1) as f64;
    let at = |place: f64| values.get(place as usize).copied().unwrap_or(0.0);
    let (below, above) = (at(place.floor()), at(place.ceil()));
    below + (above - below) * place.fract()
}
