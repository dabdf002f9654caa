//! Compares the speed of the compaction strategies with a test of statistical significance. All were measured with the
//! same scene, camera and picture size.

use std::collections::VecDeque;

use serde::Serialize;

/// The speed of one compaction strategy with the current scene, camera and picture size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StrategyComparison {
    /// Name of the strategy.
    pub(crate) strategy: String,
    /// Median of the rays per second, including shadow rays, over the recorded intervals; 0 if there are none.
    pub(crate) rays_per_second: f64,
    /// Ends of the confidence interval of that median (about 95 %); both are 0 if there are no intervals.
    pub(crate) interval: [f64; 2],
    /// Comparison with the strategy in use.
    pub(crate) comparison: Comparison,
}

/// The result of comparing a strategy's speed with that of the strategy in use.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Comparison {
    /// The strategy is the one in use, with which others are compared.
    Current,
    /// The strategy, or the one in use, has fewer than 8 intervals.
    NotEnoughData,
    /// The difference in speed from the strategy in use.
    Difference(Difference),
}

/// A difference in speed, as fractions of the rays per second of the strategy in use; positive is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    /// Difference of the medians.
    pub(crate) by: f64,
    /// Lower end of the confidence interval (about 95 %).
    pub(crate) low: f64,
    /// Upper end of the confidence interval (about 95 %).
    pub(crate) high: f64,
}

impl Difference {
    /// Returns whether the interval leaves open which strategy is faster.
    pub(crate) fn is_unclear(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// Maximum number of strategies listed, including the one in use.
const MAX_LISTED: usize = 4;

/// Minimum number of intervals that each of two strategies needs for a comparison.
const MIN_INTERVALS: usize = 8;
/// Maximum number of intervals kept per strategy; the oldest is dropped.
const MAX_INTERVALS: usize = 100;

/// Rays per second in recent intervals of rendering, by strategy. The strategy used last is first.
#[derive(Default)]
pub(super) struct StrategySpeeds(Vec<(String, VecDeque<f64>)>);

impl StrategySpeeds {
    /// Discards all intervals of all strategies.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the strategy that was used last before `now`; `None` if no other has an interval.
    pub(super) fn before(&self, now: &str) -> Option<&str> {
        let mut names = self.0.iter().map(|(name, _)| name.as_str());
        names.find(|&name| name != now)
    }

    /// Adds the rays per second that `strategy` reached in one interval of rendering, and makes it the strategy used
    /// last.
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

    /// Returns whether `strategy` has enough intervals for a comparison.
    pub(super) fn is_measured(&self, strategy: &str) -> bool {
        let known = self.0.iter().find(|(name, _)| name == strategy);
        known.is_some_and(|(_, intervals)| intervals.len() >= MIN_INTERVALS)
    }

    /// Returns an entry for `now`, the strategy in use, followed by comparisons of others with it, the one used last
    /// first. Returns at most four entries.
    pub(super) fn comparisons(&self, now: &str) -> Vec<StrategyComparison> {
        let intervals = |name: &str| self.0.iter().find(|(known, _)| known == name);
        let own = intervals(now).map(|(_, intervals)| SpeedDistribution::of(intervals));
        let first = StrategyComparison {
            strategy: now.to_owned(),
            rays_per_second: own.as_ref().map_or(0.0, |own| own.median),
            interval: own.as_ref().map_or([0.0; 2], SpeedDistribution::interval),
            comparison: Comparison::Current,
        };
        let others = self
            .0
            .iter()
            .filter(|(name, _)| name != now)
            .map(|(name, intervals)| {
                let other = SpeedDistribution::of(intervals);
                StrategyComparison {
                    strategy: name.clone(),
                    rays_per_second: other.median,
                    interval: other.interval(),
                    comparison: own
                        .as_ref()
                        .map_or(Comparison::NotEnoughData, |own| other.compare_with(own)),
                }
            });
        [first].into_iter().chain(others).take(MAX_LISTED).collect()
    }
}

/// The distribution of a strategy's rays per second over its intervals.
struct SpeedDistribution {
    /// Number of intervals.
    intervals: usize,
    /// Median of the rays per second.
    median: f64,
    /// Half-width of the notch around the median, in rays per second: 1.57 interquartile ranges over the square root of
    /// the interval count. Medians whose notches do not overlap differ at about 95 % confidence (McGill, Tukey & Larsen
    /// 1978).
    notch: f64,
}

impl SpeedDistribution {
    /// Returns the distribution of the rays per second in these intervals.
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

    /// Returns the ends of the notch around the median, at least 0.
    fn interval(&self) -> [f64; 2] {
        [
            (self.median - self.notch).max(0.0),
            self.median + self.notch,
        ]
    }

    /// Compares the speeds of this strategy with those of `current`, the strategy in use.
    fn compare_with(&self, current: &Self) -> Comparison {
        if self.intervals.min(current.intervals) < MIN_INTERVALS {
            return Comparison::NotEnoughData;
        }
        let by = self.median / current.median - 1.0;
        let margin = (self.notch + current.notch) / current.median;
        if !(by.is_finite() && margin.is_finite()) {
            return Comparison::NotEnoughData;
        }
        Comparison::Difference(Difference {
            by,
            low: by - margin,
            high: by + margin,
        })
    }
}

/// Sorts the values and returns their quantile, interpolated linearly. `part` is in 0..=1, and 0.5 is the median.
/// Returns 0 if there are no values.
pub(super) fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = part * values.len().saturating_sub(1) as f64;
    let at = |place: f64| values.get(place as usize).copied().unwrap_or(0.0);
    let (below, above) = (at(place.floor()), at(place.ceil()));
    below + (above - below) * place.fract()
}
