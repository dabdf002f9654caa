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
    /// There are too few intervals of either strategy for a comparison.
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

/// Minimum number of intervals of each strategy for a comparison.
const MIN_INTERVALS: usize = 8;
/// Maximum number of intervals kept per strategy; older ones are dropped.
const MAX_INTERVALS: usize = 100;

/// Rays per second in recent intervals of rendering, for each strategy used on the current view. The most recently used
/// strategy is first.
#[derive(Default)]
pub(super) struct StrategySpeeds(Vec<(String, VecDeque<f64>)>);

impl StrategySpeeds {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the rays per second that `strategy` reached in one interval of rendering.
    pub(super) fn add(&mut self, strategy: &str, rays_per_second: f64) {
        let place = self.0.iter().position(|(name, _)| name == strategy);
        let (name, mut intervals) = match place {
            Some(place) => self.0.remove(place),
            None => (strategy.to_owned(), VecDeque::new()),
        };
        if intervals.len() == MAX_INTERVALS {
            intervals.pop_front();
        }
        intervals.push_back(rays_per_second);
        self.0.insert(0, (name, intervals));
    }

    /// Returns an entry for the current strategy `now`, followed by comparisons of the most recent others with it.
    pub(super) fn comparisons(&self, now: &str) -> Vec<StrategyComparison> {
        let intervals = |name: &str| self.0.iter().find(|(known, _)| known == name);
        let own = intervals(now).map(|(_, intervals)| Spread::of(intervals));
        let first = StrategyComparison {
            strategy: now.to_owned(),
            rays_per_second: own.as_ref().map_or(0.0, |own| own.median),
            comparison: Comparison::Current,
        };
        let others = self
            .0
            .iter()
            .filter(|(name, _)| name != now)
            .map(|(name, intervals)| {
                let other = Spread::of(intervals);
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

/// The distribution of a strategy's rays per second over its intervals.
struct Spread {
    intervals: usize,
    median: f64,
    /// Half-width of the notch around the median: 1.57 interquartile ranges over the square root of the interval count.
    /// Medians whose notches do not overlap differ at about 95 % confidence (McGill, Tukey & Larsen 1978).
    notch: f64,
}

impl Spread {
    fn of(intervals: &VecDeque<f64>) -> Self {
        let mut sorted: Vec<f64> = intervals.iter().copied().collect();
        let mut at = |part| quantile(&mut sorted, part);
        let (low, median, high) = (at(0.25), at(0.5), at(0.75));
        Self {
            intervals: intervals.len(),
            median,
            notch: 1.57 * (high - low) / (intervals.len() as f64).sqrt(),
        }
    }

    /// Compares this distribution with that of the current strategy.
    fn against(&self, other: &Self) -> Comparison {
        if self.intervals.min(other.intervals) < MIN_INTERVALS {
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
