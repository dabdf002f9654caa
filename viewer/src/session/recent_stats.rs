//! Recent performance figures: medians over a few seconds, so that displayed numbers do not flicker.
//!
//! Statistics of waves are summed over intervals. An interval lasts at least a tenth of a second of rendering. It
//! covers at least one sample per pixel on average, so that intervals are comparable. A render that is too short for
//! several intervals has groups of waves instead, see [`WaveTimes`](raysieve::render::stats::WaveTimes).

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::Serialize;

use super::{
    noise_history::NoisePoint,
    quantile::weighted_median,
    stage_times::{MeasuredTimes, RecentBounce, StageTimes, part},
    strategy_comparison::{ComparisonProgress, StrategyComparison},
};
use raysieve::{
    render::stats::{BounceStats, GroupBounce, Stats, WaveGroup},
    stages::Stage,
};

/// Recent performance figures of a render.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Recent {
    pub(crate) paths_per_second: f64,
    /// Rays traced per second, including shadow rays.
    pub(crate) rays_per_second: f64,
    /// Number of frames published in the last second; 0 in [`Recent::of`].
    pub(crate) frames_per_second: u32,
    /// Rays per second of rendering, the newest last: at most 100 values, each an average over at least a tenth of a
    /// second. Empty in [`Recent::of`].
    pub(crate) rate_history: Vec<f32>,
    /// Times of the stages in microseconds at the points of `rate_history`, in the order of [`Stage::OF_BOUNCE`]: for one
    /// sample of every pixel, summed over the bounces.
    pub(crate) stage_history: Vec<[f32; Stage::OF_BOUNCE.len()]>,
    /// Noise of the film at each doubling of its samples, and of its newest picture, in increasing order of the samples.
    /// Empty in [`Recent::of`].
    pub(crate) noise_history: Vec<NoisePoint>,
    /// Whether times and lanes were measured with the strategy in use. If not, those of all bounces are 0, because the
    /// film was rendered by another strategy.
    pub(crate) is_measured: bool,
    /// Whether some of the film's samples were rendered by another strategy than the one in use.
    pub(crate) is_mixed: bool,
    /// Figures of all bounces together.
    pub(crate) total: RecentBounce,
    /// Figures of each bounce; entry 0 is for camera rays.
    pub(crate) bounces: Vec<RecentBounce>,
    /// Number of bounces to display, up to the last one that has had a ray since the scene was loaded or edited. So the
    /// number does not fall while the camera moves. All bounces before the first wave.
    pub(crate) rows: usize,
    /// Results of the last comparison of all strategies on this view, in a fixed order; empty before the first, and in
    /// [`Recent::of`].
    pub(crate) strategies: Vec<StrategyComparison>,
    /// Progress of a comparison of strategies; `None` if none is in progress.
    pub(crate) comparing: Option<ComparisonProgress>,
}

/// Minimum number of intervals, or groups of waves, for medians.
const MIN_FOR_MEDIAN: usize = 3;

impl Recent {
    /// Returns figures since the start of the film: medians over groups of waves, or averages if there are fewer than
    /// three groups. Rates are averages. Stage times are for one sample of each of `pixels` pixels. There are no
    /// histories and no strategies.
    pub(crate) fn of(stats: &Stats, pixels: f64) -> Self {
        let times = &stats.wave_times;
        let groups: Vec<Interval> = times.groups().iter().map(Interval::of_group).collect();
        let recent = if groups.len() >= MIN_FOR_MEDIAN {
            Self::of_intervals(&groups.iter().collect::<Vec<_>>(), stats, pixels)
        } else if times.is_partial() {
            Self {
                is_measured: false,
                ..Self::of_intervals(&[], stats, pixels)
            }
        } else {
            Self::of_intervals(&[&Interval::of(stats)], stats, pixels)
        };
        Self {
            paths_per_second: stats.paths_per_second,
            rays_per_second: stats.rays_per_second,
            is_mixed: times.is_partial(),
            ..recent
        }
    }

    /// Returns the medians over the intervals, without histories and strategies. Stage times are for one sample of each
    /// of `pixels` pixels. `removed` is since the start of the film of `stats`.
    fn of_intervals(intervals: &[&Interval], stats: &Stats, pixels: f64) -> Self {
        let median = |figure: &dyn Fn(&Interval) -> f64| {
            let weighted = intervals.iter();
            weighted_median(weighted.map(|interval| (figure(interval), interval.paths)))
        };
        let removed = |counts: &BounceStats| match stats.compaction.as_str() {
            "off" => 0.0,
            _ => counts.removed(),
        };
        let bounce = |(place, counts): (usize, &BounceStats)| {
            let times = |interval: &&Interval| {
                let milliseconds = interval.bounce(place).milliseconds;
                let times = milliseconds.map(|time| part(time, interval.paths) * pixels * 1e3);
                (StageTimes(times), interval.paths)
            };
            RecentBounce {
                removed: removed(counts),
                lane_use: median(&|interval| {
                    let bounce = interval.bounce(place);
                    part(bounce.rays, bounce.lanes)
                }),
                times: MeasuredTimes::of(&intervals.iter().map(times).collect::<Vec<_>>()),
                saved_us: None,
            }
        };
        let bounces: Vec<RecentBounce> = stats.bounces.iter().enumerate().map(bounce).collect();
        Self {
            paths_per_second: median(&|interval| part(interval.paths, interval.seconds)),
            rays_per_second: median(&|interval| part(interval.rays, interval.seconds)),
            is_measured: true,
            total: RecentBounce {
                removed: removed(&stats.total()),
                lane_use: median(&Interval::lane_use),
                times: bounces.iter().map(|bounce| bounce.times).sum(),
                saved_us: None,
            },
            bounces,
            rows: match reached(stats) {
                0 => stats.bounces.len(),
                rows => rows,
            },
            ..Self::default()
        }
    }

    /// Adds the savings that were measured during a comparison of strategies. Also takes times and lanes from it if there
    /// are none.
    fn add_measured(&mut self, measured: &StrategyComparison) {
        let rows = self.bounces.iter_mut().zip(&measured.bounces);
        for (row, measured) in rows.chain([(&mut self.total, &measured.total)]) {
            row.saved_us = measured.saved_us;
            if !self.is_measured {
                row.times = measured.times;
                row.lane_use = measured.lane_use;
            }
        }
        self.is_measured = true;
    }
}

/// Minimum duration of an interval, and of a point of the histories, in seconds of rendering.
const INTERVAL_SECONDS: f64 = 0.1;

/// Maximum duration in seconds of rendering over which medians are taken, unless it has fewer than `MIN_INTERVALS`
/// intervals.
const WINDOW_SECONDS: f64 = 3.0;
/// Number of intervals over which medians are taken even if they last longer than `WINDOW_SECONDS`. At first there are
/// fewer.
const MIN_INTERVALS: usize = 5;

/// Maximum number of points of a history.
const MAX_POINTS: usize = 100;

/// A recorder of a render's statistics, which computes recent performance figures.
#[derive(Default)]
pub(super) struct Recorder {
    /// Statistics of the film that `add` has counted or `skip` has excluded; `None` if the film is new.
    before: Option<Stats>,
    /// Statistics collected for the interval in progress.
    filling: Interval,
    /// Recent complete intervals, the newest last.
    intervals: VecDeque<Interval>,
    /// Statistics collected for the next point of the histories.
    point: Interval,
    /// Rays per second, the newest last. Each value is the average over at least a tenth of a second of rendering.
    rate_history: VecDeque<f32>,
    /// Times of the stages at the points of `rate_history`, in milliseconds per path.
    stage_history: VecDeque<[f64; Stage::OF_BOUNCE.len()]>,
    /// Results of the last comparison of strategies on this view; empty before the first.
    pub(super) strategies: Vec<StrategyComparison>,
    /// Number of bounces up to the last one that has had rays since the scene was loaded or edited; 0 before the first
    /// wave.
    rows: usize,
}

impl Recorder {
    /// Prepares for a new film. If scene, camera or size have changed (`view_changed`), also discards the strategy
    /// comparison and all but the newest two intervals, because they are not comparable with the new film.
    pub(super) fn begin_film(&mut self, view_changed: bool) {
        self.before = None;
        if view_changed {
            self.strategies.clear();
            self.filling = Interval::default();
            // The remaining intervals keep figures from jumping until the new view has enough of its own.
            let old = self.intervals.len().saturating_sub(MIN_INTERVALS / 2);
            self.intervals.drain(..old);
        }
    }

    /// Prepares for another compaction strategy: discards the intervals, but keeps the strategy comparison.
    pub(super) fn set_strategy(&mut self) {
        self.filling = Interval::default();
        self.intervals.clear();
    }

    /// Excludes the samples of a restored film from the figures. `stats` are the statistics of that film.
    pub(super) fn skip(&mut self, stats: &Stats) {
        self.before = Some(stats.clone());
    }

    /// Adds what `stats`, the statistics of the film so far, contains beyond those of the last call.
    pub(super) fn add(&mut self, stats: &Stats) {
        for sum in [&mut self.point, &mut self.filling] {
            sum.add(stats, 1.0);
            if let Some(before) = &self.before {
                sum.add(before, -1.0);
            }
        }
        self.before = Some(stats.clone());
        self.rows = self.rows.max(reached(stats));
        if self.point.seconds >= INTERVAL_SECONDS {
            let point = std::mem::take(&mut self.point);
            let rate = part(point.rays, point.seconds) as f32;
            push(&mut self.rate_history, rate, MAX_POINTS);
            let times = point.stage_milliseconds();
            let times = times.map(|time| part(time.max(0.0), point.paths));
            push(&mut self.stage_history, times, MAX_POINTS);
        }
        if self.filling.seconds >= INTERVAL_SECONDS && self.filling.samples >= 1.0 {
            let interval = std::mem::take(&mut self.filling);
            // No interval is shorter than `INTERVAL_SECONDS`, so the window contains at most this many.
            push(
                &mut self.intervals,
                interval,
                (WINDOW_SECONDS / INTERVAL_SECONDS) as usize,
            );
        }
    }

    /// Returns the medians over the recent intervals. If there are few, returns figures since the start of the film:
    /// see [`Recent::of`]. If the strategy in use has not rendered anything, times and lanes are those of the last
    /// comparison. Stage times are for one sample of every pixel of a picture of this width and height.
    pub(super) fn recent(&self, stats: &Stats, (width, height): (u32, u32)) -> Recent {
        let mut seconds = 0.0;
        let intervals: Vec<&Interval> = self
            .intervals
            .iter()
            .rev()
            .enumerate()
            .take_while(|(place, interval)| {
                seconds += interval.seconds;
                *place < MIN_INTERVALS || seconds <= WINDOW_SECONDS
            })
            .map(|(_, interval)| interval)
            .collect();
        let pixels = f64::from(width) * f64::from(height);
        let has_groups = stats.wave_times.groups().len() >= MIN_FOR_MEDIAN;
        let recent = if intervals.is_empty() || intervals.len() < MIN_INTERVALS && has_groups {
            let rates = Recent::of_intervals(&intervals, stats, pixels);
            let whole = Recent::of(stats, pixels);
            match intervals.is_empty() {
                true => whole,
                false => Recent {
                    paths_per_second: rates.paths_per_second,
                    rays_per_second: rates.rays_per_second,
                    ..whole
                },
            }
        } else {
            Recent::of_intervals(&intervals, stats, pixels)
        };
        let mut recent = Recent {
            rows: match self.rows {
                0 => recent.rows,
                rows => rows,
            },
            rate_history: self.rate_history.iter().copied().collect(),
            stage_history: self
                .stage_history
                .iter()
                .map(|times| times.map(|time| (time * pixels * 1e3) as f32))
                .collect(),
            is_mixed: stats.wave_times.is_partial(),
            strategies: self.strategies.clone(),
            ..recent
        };
        let used = StrategyComparison::name_of(stats);
        for entry in &mut recent.strategies {
            entry.is_current = entry.strategy == used;
        }
        if let Some(used) = self.strategies.iter().find(|entry| entry.strategy == used) {
            recent.add_measured(used);
        }
        recent
    }
}

/// Appends an item, after removing the first one if there are `max_len` already.
fn push<T>(ring: &mut VecDeque<T>, item: T, max_len: usize) {
    if ring.len() == max_len {
        ring.pop_front();
    }
    ring.push_back(item);
}

/// Returns the number of bounces up to the last one that has rays.
fn reached(stats: &Stats) -> usize {
    let last = stats.bounces.iter().rposition(|bounce| bounce.rays > 0);
    last.map_or(0, |last| last + 1)
}

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
