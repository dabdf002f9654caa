//! Compares the speed of all compaction strategies with that of `off`.
//!
//! The strategies take turns, and each renders the same samples once per round. Changes of the machine's speed cancel,
//! because a turn is compared with the turns of `off` before and after it. The differences are medians over the rounds.
//! Their confidence intervals assume no distribution, so that a few slow turns do not matter.

#[cfg(test)]
mod tests;

use compaction::select::Strategy;
use serde::Serialize;

use super::{
    quantile::{median, median_interval},
    stage_times::{MeasuredTimes, RecentBounce, StageTimes, part},
};
use raysieve::{
    Error,
    render::{
        renderer::{MEGAKERNEL, Renderer, SortHits},
        stats::{BounceStats, Stats, break_even},
    },
    stages::Stage,
};

/// Something that is compared: a way to remove ended paths from the queue, or to do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// A strategy, without sorting of hits.
    Compact(Strategy),
    SortHits,
    /// One kernel that traces whole paths.
    Megakernel,
}

/// Name of [`Method::SortHits`], as in `raysieve bench`.
const SORT_HITS: &str = "sort-hits";

impl Method {
    /// Returns all methods in the order in which they are listed.
    pub(super) fn all() -> Vec<Self> {
        let strategies = Strategy::ALL.iter().copied().map(Self::Compact);
        strategies
            .chain([Self::SortHits, Self::Megakernel])
            .collect()
    }

    /// Returns the name of the method in tables and files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Compact(strategy) => strategy.name(),
            Self::SortHits => SORT_HITS,
            Self::Megakernel => MEGAKERNEL,
        }
    }

    /// Selects the method. The film stays.
    pub(super) fn select(self, renderer: &mut Renderer) -> Result<(), Error> {
        renderer.set_sort_hits(match self {
            Self::SortHits => SortHits::On,
            Self::Compact(_) | Self::Megakernel => SortHits::Off,
        })?;
        match self {
            Self::Compact(strategy) => renderer.set_strategy(strategy),
            Self::SortHits => renderer.set_strategy(Strategy::default()),
            Self::Megakernel => renderer.set_megakernel(),
        }
    }
}

/// The speed of one strategy with the current scene, camera and picture size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct StrategyComparison {
    /// Name of the strategy; `sort-hits` is the default strategy with sorted hits.
    pub(crate) strategy: String,
    pub(crate) is_current: bool,
    /// Whether the strategy is the fastest, or not clearly slower than the fastest.
    pub(crate) is_fastest: bool,
    /// Median of the rays per second over the rounds, including shadow rays; 0 if there are none.
    pub(crate) rays_per_second: f64,
    /// Ends of the confidence interval of that median (95 %); equal to the median if there are too few rounds.
    pub(crate) interval: [f64; 2],
    /// Comparison with `off`.
    pub(crate) comparison: Comparison,
    /// Times, use of lanes and savings of all bounces together, as medians over the rounds. The other figures are 0.
    pub(crate) total: RecentBounce,
    /// Bounces in which compaction saves more time than it costs.
    pub(crate) pays: Pays,
    /// Times, use of lanes and savings of each bounce, as medians over the rounds. Their other figures are 0.
    #[serde(skip)]
    pub(crate) bounces: Vec<RecentBounce>,
}

/// The result of comparing a strategy's speed with that of `off`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Comparison {
    /// The strategy is `off`, with which others are compared.
    Baseline,
    /// There were too few rounds.
    #[default]
    NotEnoughData,
    /// The difference in speed from `off`.
    Difference(Difference),
}

/// A difference in speed, as fractions of the rays per second of the strategy `off`; positive is faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    /// Median of the differences of the rounds.
    pub(crate) by: f64,
    /// Lower end of the confidence interval. With 95 % probability, the intervals of all strategies are right.
    pub(crate) low: f64,
    /// Upper end of the confidence interval.
    pub(crate) high: f64,
}

impl Difference {
    /// Returns whether the interval leaves open which strategy is faster.
    pub(crate) fn is_unclear(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// The bounces in which compaction saves more time than it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pays {
    /// The times of stages are not known, or nothing is compacted.
    #[default]
    Unknown,
    Everywhere,
    /// The bounces before this one. From it on, compaction costs more than it saves in every bounce.
    Before(u32),
    Nowhere,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ComparisonProgress {
    pub(crate) rounds: u32,
    /// Number of rounds of the whole comparison.
    pub(crate) of_rounds: u32,
    /// Fraction of the comparison that is done, 0 to 1.
    pub(crate) progress: f64,
    pub(crate) paused: bool,
}

impl StrategyComparison {
    /// Returns the name under which the comparison lists what these statistics were rendered with.
    pub(super) fn name_of(stats: &Stats) -> &str {
        let sorts = stats.sort_hits == "on" && stats.compaction == Strategy::default().name();
        if sorts { SORT_HITS } else { &stats.compaction }
    }
}

/// The measurement of one turn of a method.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    /// Number of the turn in the order of all turns.
    pub(super) number: usize,
    /// Time of rendering in seconds.
    pub(super) seconds: f64,
    /// Number of rays, including shadow rays.
    pub(super) rays: f64,
    /// Fraction of launched lanes that had a ray, over all bounces; 0 if lanes were not counted.
    pub(super) lane_use: f64,
    pub(super) bounces: Vec<TurnBounce>,
}

/// The measurement of one bounce in a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnBounce {
    /// Times of the stages for one sample of every pixel.
    pub(super) times: StageTimes,
    /// Fraction of launched lanes that had a ray; 0 if lanes were not counted.
    pub(super) lane_use: f64,
}

impl Turn {
    /// Returns the measurement of a film that contains nothing but this turn. Stage times are for one sample of each of
    /// `pixels` pixels.
    pub(super) fn of(number: usize, stats: &Stats, pixels: f64) -> Self {
        let scale = 1e3 * pixels / (stats.paths as f64).max(1.0);
        let share = |bounce: &BounceStats| part(bounce.rays as f64, bounce.lanes as f64);
        let row = |bounce: &BounceStats| TurnBounce {
            times: StageTimes(Stage::OF_BOUNCE.map(|stage| scale * bounce.time(stage))),
            lane_use: share(bounce),
        };
        Self {
            number,
            seconds: stats.seconds,
            rays: stats.rays as f64,
            lane_use: share(&stats.total()),
            bounces: stats.bounces.iter().map(row).collect(),
        }
    }
}

/// Probability that a confidence interval of any of the differences is wrong.
const ERROR: f64 = 0.05;

/// Returns the comparison of the methods, given the turns of each, in the order of time. Without turns of `off`, there
/// is nothing to compare with.
pub(super) fn compare(measured: &[(Method, Vec<Turn>)]) -> Vec<StrategyComparison> {
    let off = Method::Compact(Strategy::Off);
    let base = measured.iter().find(|(method, _)| *method == off);
    let base = base.map_or(&[][..], |(_, turns)| turns);
    let compared = measured.len().saturating_sub(1).max(1) as f64;
    let error = ERROR / compared;
    let base_bounces = bounces_of(base);
    let mut rows: Vec<StrategyComparison> = measured
        .iter()
        .map(|(method, turns)| {
            let rates: Vec<f64> = turns.iter().map(|turn| turn.rays / turn.seconds).collect();
            let rate = median(rates.iter().copied());
            let comparison = match *method == off {
                true => Comparison::Baseline,
                false => {
                    let found = difference(turns, base, error);
                    found.map_or(Comparison::NotEnoughData, Comparison::Difference)
                }
            };
            let mut bounces = bounces_of(turns);
            let pays = match *method == off {
                true => Pays::Unknown,
                false => set_savings(&mut bounces, &base_bounces),
            };
            let total = RecentBounce {
                lane_use: median(turns.iter().map(|turn| turn.lane_use)),
                times: bounces.iter().map(|bounce| bounce.times).sum(),
                saved_us: bounces.iter().map(|bounce| bounce.saved_us).sum(),
                ..RecentBounce::default()
            };
            StrategyComparison {
                strategy: method.name().to_owned(),
                is_current: false,
                is_fastest: false,
                rays_per_second: rate,
                interval: median_interval(&rates, ERROR).unwrap_or([rate; 2]),
                comparison,
                total,
                pays,
                bounces,
            }
        })
        .collect();
    mark_fastest(&mut rows, measured, error);
    rows
}

/// Marks the fastest method, and those that are not clearly slower. Marks none if there are too few rounds.
fn mark_fastest(rows: &mut [StrategyComparison], measured: &[(Method, Vec<Turn>)], error: f64) {
    let gain = |row: &StrategyComparison| match row.comparison {
        Comparison::Baseline => Some(0.0),
        Comparison::NotEnoughData => None,
        Comparison::Difference(difference) => Some(difference.by),
    };
    let gains: Option<Vec<f64>> = rows.iter().map(gain).collect();
    let Some(gains) = gains.filter(|gains| gains.len() > 1) else {
        return;
    };
    let places = 0..gains.len();
    let Some(best) = places.max_by(|&one, &other| gains[one].total_cmp(&gains[other])) else {
        return;
    };
    for (place, (row, (_, turns))) in rows.iter_mut().zip(measured).enumerate() {
        let against_best = difference(turns, &measured[best].1, error);
        row.is_fastest =
            place == best || against_best.is_some_and(|difference| difference.high >= 0.0);
    }
}

/// Returns the difference in speed of two methods from their turns; `None` if there are too few. `error` is the
/// probability that the confidence interval is wrong.
fn difference(turns: &[Turn], base: &[Turn], error: f64) -> Option<Difference> {
    let gains: Vec<f64> = turns
        .iter()
        .filter_map(|turn| Some((log_seconds_at(base, turn.number)? - log_seconds(turn)).exp()))
        .filter(|gain| gain.is_finite())
        .collect();
    let [low, high] = median_interval(&gains, error)?;
    Some(Difference {
        by: median(gains.into_iter()) - 1.0,
        low: low - 1.0,
        high: high - 1.0,
    })
}

/// Returns the logarithm of a turn's time per ray. All turns render the same samples.
fn log_seconds(turn: &Turn) -> f64 {
    (turn.seconds / turn.rays).ln()
}

/// Returns the logarithm of the time that a turn of a method would have taken as turn `number`: interpolated linearly
/// between its turns before and after, or that of the nearest turn at both ends. `None` without turns.
fn log_seconds_at(turns: &[Turn], number: usize) -> Option<f64> {
    let after = turns.partition_point(|turn| turn.number < number);
    let before = after.checked_sub(1).and_then(|place| turns.get(place));
    match (before, turns.get(after)) {
        (Some(before), Some(after)) => {
            let part =
                (number - before.number) as f64 / (after.number - before.number).max(1) as f64;
            Some(log_seconds(before) * (1.0 - part) + log_seconds(after) * part)
        }
        (one, other) => one.or(other).map(log_seconds),
    }
}

/// Returns the figures of each bounce over the turns. Savings are not known.
fn bounces_of(turns: &[Turn]) -> Vec<RecentBounce> {
    let bounces = turns.iter().map(|turn| turn.bounces.len()).min();
    let bounce = |place: usize| {
        let measured = turns.iter().map(|turn| turn.bounces[place]);
        let times = measured.clone().map(|bounce| (bounce.times, 1.0));
        RecentBounce {
            times: MeasuredTimes::of(&times.collect::<Vec<_>>()),
            lane_use: median(measured.map(|bounce| bounce.lane_use)),
            ..RecentBounce::default()
        }
    };
    (0..bounces.unwrap_or(0)).map(bounce).collect()
}

/// Sets the savings of a method's bounces from the times of the same bounces with `off`. Returns the bounces in which
/// compaction pays.
fn set_savings(bounces: &mut [RecentBounce], off: &[RecentBounce]) -> Pays {
    let all = |bounce: &RecentBounce| bounce.times.median.total();
    let others = |bounce: &RecentBounce| all(bounce) - bounce.times.median.of(Stage::Compact);
    let has_times = |bounces: &[RecentBounce]| bounces.iter().any(|bounce| all(bounce) > 0.0);
    if !has_times(bounces) || !has_times(off) {
        return Pays::Unknown;
    }
    for (bounce, off) in bounces.iter_mut().zip(off) {
        bounce.saved_us = Some(others(off) - others(bounce));
    }
    // Without rays, a bounce takes no time with a strategy that compacts.
    let reached = bounces.iter().take_while(|bounce| all(bounce) > 0.0);
    let gains: Vec<f64> = reached
        .zip(off)
        .map(|(bounce, off)| all(off) - all(bounce))
        .collect();
    match break_even(&gains) {
        None => Pays::Everywhere,
        Some(0) => Pays::Nowhere,
        Some(bounce) => Pays::Before(bounce as u32),
    }
}
