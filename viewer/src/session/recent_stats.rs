//! Recent performance figures: medians over a few seconds, so that displayed numbers do not flicker.
//!
//! Statistics of waves are summed over intervals. An interval lasts at least a tenth of a second of rendering. It
//! covers at least one sample per pixel on average, so that intervals are comparable.

use std::collections::VecDeque;

use serde::{Serialize, Serializer};

use super::{
    noise_history::NoisePoint,
    strategy_comparison::{StrategyComparison, StrategySpeeds},
};
use raysieve::{
    render::stats::{BounceStats, Stats},
    stages::Stage,
};

/// Recent performance figures of a render.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Recent {
    /// Camera paths traced per second.
    pub(crate) paths_per_second: f64,
    /// Rays traced per second, including shadow rays.
    pub(crate) rays_per_second: f64,
    /// Number of frames published in the last second; 0 in [`Recent::of`].
    pub(crate) frames_per_second: u32,
    /// Rays per second of rendering, the newest last: at most 100 values, each an average over at least a tenth of a
    /// second. Empty in [`Recent::of`].
    pub(crate) rate_history: Vec<f32>,
    /// Noise of the film at each doubling of its samples, and of its newest picture, in increasing order of the samples.
    /// Empty in [`Recent::of`].
    pub(crate) noise_history: Vec<NoisePoint>,
    /// Fraction of launched lanes that had a ray, over all bounces; 0 if lanes were not counted. See
    /// [`BounceStats::lanes`].
    pub(crate) lane_use: f64,
    /// Figures of each bounce; entry 0 is for camera rays.
    pub(crate) bounces: Vec<RecentBounce>,
    /// Number of bounces to display, up to the last one that has had a ray since the scene was loaded or edited. So the
    /// number does not fall while the camera moves. All bounces before the first wave.
    pub(crate) rows: usize,
    /// The compaction strategy in use, followed by up to three others that rendered the same scene with the same camera
    /// and size, the one used last first. Empty in [`Recent::of`].
    pub(crate) strategies: Vec<StrategyComparison>,
}

/// Recent performance figures of one bounce: fractions of rays and lanes, and times of the stages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RecentBounce {
    /// Fraction of the bounce's rays that do not continue to the next bounce; 0 without rays. Unlike the other figures,
    /// which are recent, it is over all samples since the start of the film.
    pub(crate) removed: f64,
    /// Fraction of launched lanes that had a ray; 0 if lanes were not counted.
    pub(crate) lane_use: f64,
    /// Times of the stages for one sample of every pixel.
    #[serde(flatten)]
    pub(crate) times: StageTimes,
}

/// Times of a bounce's stages in microseconds, in the order of [`Stage::OF_BOUNCE`].
///
/// In JSON, each stage has a key of its own, which is the stage's label followed by `_us`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StageTimes(pub(crate) [f64; Stage::OF_BOUNCE.len()]);

impl StageTimes {
    /// Returns the time of a stage in microseconds; 0 for stages that are not in [`Stage::OF_BOUNCE`].
    pub(crate) fn of(&self, stage: Stage) -> f64 {
        let place = Stage::OF_BOUNCE.iter().position(|&known| known == stage);
        place.map_or(0.0, |place| self.0[place])
    }
}

impl Serialize for StageTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Stage::OF_BOUNCE.map(|stage| format!("{}_us", stage.label()));
        serializer.collect_map(names.into_iter().zip(self.0))
    }
}

impl Recent {
    /// Returns averages since the start of the film instead of recent medians, without rate history and strategies.
    /// Stage times are for one sample of each of `pixels` pixels.
    pub(crate) fn of(stats: &Stats, pixels: f64) -> Self {
        Self::of_intervals(&[&Interval::of(stats, 1.0)], stats, pixels)
    }

    /// Returns the medians over the intervals, without rate history and strategies. Stage times are for one sample of
    /// each of `pixels` pixels. `removed` is since the start of the film of `stats`.
    fn of_intervals(intervals: &[&Interval], stats: &Stats, pixels: f64) -> Self {
        let of = |figure: &dyn Fn(&Interval) -> f64| {
            median(intervals.iter().map(|interval| figure(interval)))
        };
        let bounce = |(place, row): (usize, &BounceStats)| {
            let time = |stage: usize| {
                of(&|interval| interval.bounces[place].milliseconds[stage] / interval.paths)
                    * pixels
                    * 1e3
            };
            RecentBounce {
                removed: row.removed(),
                lane_use: of(&|interval| {
                    part(interval.bounces[place].rays, interval.bounces[place].lanes)
                }),
                times: StageTimes(std::array::from_fn(time)),
            }
        };
        let all = |interval: &Interval, count: fn(&IntervalBounce) -> f64| {
            interval.bounces.iter().map(count).sum()
        };
        Self {
            paths_per_second: of(&|interval| part(interval.paths, interval.seconds)),
            rays_per_second: of(&|interval| part(interval.rays, interval.seconds)),
            frames_per_second: 0,
            rate_history: Vec::new(),
            noise_history: Vec::new(),
            lane_use: of(&|interval| {
                part(
                    all(interval, |row| row.rays),
                    all(interval, |row| row.lanes),
                )
            }),
            bounces: stats.bounces.iter().enumerate().map(bounce).collect(),
            rows: match reached(stats) {
                0 => stats.bounces.len(),
                rows => rows,
            },
            strategies: Vec::new(),
        }
    }
}

/// Statistics of a short interval of rendering, over which rates are computed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Interval {
    /// Duration in seconds of rendering.
    seconds: f64,
    /// Samples per pixel added in the interval, on average over the picture.
    samples: f64,
    paths: f64,
    /// Number of rays traced in the interval, including shadow rays.
    rays: f64,
    bounces: Vec<IntervalBounce>,
}

/// Statistics of one bounce during an [`Interval`].
#[derive(Clone, Debug, Default, PartialEq)]
struct IntervalBounce {
    rays: f64,
    lanes: f64,
    /// Times of the stages in the order of [`Stage::OF_BOUNCE`].
    milliseconds: [f64; Stage::OF_BOUNCE.len()],
}

impl Interval {
    /// Returns the statistics as an interval, multiplied by `sign` (1 or -1).
    fn of(stats: &Stats, sign: f64) -> Self {
        let mut interval = Self::default();
        interval.add(stats, sign);
        interval
    }

    /// Adds the statistics, multiplied by `sign` (1 or -1), to the interval.
    fn add(&mut self, stats: &Stats, sign: f64) {
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
}

/// Minimum duration of an interval, and of a point of the rate history, in seconds of rendering.
const INTERVAL_SECONDS: f64 = 0.1;

/// Maximum duration in seconds of rendering over which medians are taken, unless it has fewer than `MIN_INTERVALS`
/// intervals.
const WINDOW_SECONDS: f64 = 3.0;
/// Number of intervals over which medians are taken even if they last longer than `WINDOW_SECONDS`. At first there are
/// fewer.
const MIN_INTERVALS: usize = 5;

/// Maximum number of points of the rate history.
const MAX_RATES: usize = 100;

/// Seconds of rendering after a change of the film or strategy that strategy comparisons ignore, because wave sizes
/// have not settled yet.
const SETTLING_SECONDS: f64 = 0.3;

/// A recorder of a render's statistics, which computes recent performance figures.
#[derive(Default)]
pub(super) struct Recorder {
    /// Statistics of the film that `add` has counted or `skip` has excluded; `None` if the film is new.
    before: Option<Stats>,
    /// Statistics collected for the interval in progress.
    filling: Interval,
    /// Recent complete intervals, the newest last.
    intervals: VecDeque<Interval>,
    /// Seconds of rendering and number of rays collected for the next point of the rate history.
    point: (f64, f64),
    /// Rays per second, the newest last. Each value is the average over at least a tenth of a second of rendering.
    rate_history: VecDeque<f32>,
    /// Speeds of the compaction strategies since the last change of scene, camera or size.
    strategies: StrategySpeeds,
    /// Seconds of rendering since the film was restarted, the strategy changed or the rendering became comparable (see
    /// `add`). 0 while the rendering is not comparable.
    settled: f64,
    /// Number of bounces up to the last one that has had rays since the scene was loaded or edited; 0 before the first
    /// wave.
    rows: usize,
}

impl Recorder {
    /// Prepares for a new film. If scene, camera or size have changed (`view_changed`), also discards the strategy
    /// comparison and all but the newest two intervals, because they are not comparable with the new film.
    pub(super) fn begin_film(&mut self, view_changed: bool) {
        self.before = None;
        self.settled = 0.0;
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
        self.settled = 0.0;
    }

    /// Prepares for a film that begins again with the same scene, camera and size, so that the measurement of the
    /// strategy continues.
    pub(super) fn continue_film(&mut self) {
        self.before = None;
    }

    /// Excludes the samples of a restored film from the figures. `stats` are the statistics of that film.
    pub(super) fn skip(&mut self, stats: &Stats) {
        self.before = Some(stats.clone());
    }

    /// Returns the strategy that was used last before `now` on this view; `None` if no other has an interval.
    pub(super) fn strategy_before(&self, now: &str) -> Option<&str> {
        self.strategies.before(now)
    }

    /// Returns whether this strategy has enough intervals for a comparison.
    pub(super) fn is_measured(&self, strategy: &str) -> bool {
        self.strategies.is_measured(strategy)
    }

    /// Adds what `stats`, the statistics of the film so far, contains beyond those of the last call. The strategy
    /// comparison ignores it unless `comparable`, which is false while waves are shortened or a preview is rendered.
    pub(super) fn add(&mut self, stats: &Stats, comparable: bool) {
        let mut since = Interval::of(stats, 1.0);
        self.filling.add(stats, 1.0);
        if let Some(before) = &self.before {
            since.add(before, -1.0);
            self.filling.add(before, -1.0);
        }
        self.before = Some(stats.clone());
        self.rows = self.rows.max(reached(stats));
        self.settled = if comparable {
            self.settled + since.seconds
        } else {
            0.0
        };
        self.point.0 += since.seconds;
        self.point.1 += since.rays;
        if self.point.0 >= INTERVAL_SECONDS {
            let (seconds, rays) = std::mem::take(&mut self.point);
            push(&mut self.rate_history, (rays / seconds) as f32, MAX_RATES);
        }
        if self.filling.seconds >= INTERVAL_SECONDS && self.filling.samples >= 1.0 {
            let interval = std::mem::take(&mut self.filling);
            if self.settled - interval.seconds >= SETTLING_SECONDS {
                self.strategies
                    .add(&stats.compaction, part(interval.rays, interval.seconds));
            }
            // No interval is shorter than `INTERVAL_SECONDS`, so the window contains at most this many.
            push(
                &mut self.intervals,
                interval,
                (WINDOW_SECONDS / INTERVAL_SECONDS) as usize,
            );
        }
    }

    /// Returns the medians over the recent intervals, or averages since the start of the film if there is no interval
    /// yet. Stage times are for one sample of every pixel of a picture of this width and height.
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
        let recent = if intervals.is_empty() {
            Recent::of(stats, pixels)
        } else {
            Recent::of_intervals(&intervals, stats, pixels)
        };
        Recent {
            rows: match self.rows {
                0 => recent.rows,
                rows => rows,
            },
            rate_history: self.rate_history.iter().copied().collect(),
            strategies: self.strategies.comparisons(&stats.compaction),
            ..recent
        }
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

/// Returns the number of pixels of the film.
fn pixels(stats: &Stats) -> f64 {
    stats.size.map(f64::from).iter().product()
}

/// Returns `some / whole`, or 0 if `whole` is 0.
fn part(some: f64, whole: f64) -> f64 {
    if whole > 0.0 { some / whole } else { 0.0 }
}

/// Returns the median of the finite values, the mean of the middle two for an even count; 0 if there are none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    super::strategy_comparison::quantile(
        &mut values.filter(|value| value.is_finite()).collect::<Vec<_>>(),
        0.5,
    )
}

#[cfg(test)]
mod tests {
    use super::{Recent, Recorder};
    use crate::session::strategy_comparison::Comparison;
    use raysieve::{
        render::stats::{BounceStats, StageTimes, Stats},
        stages::Stage,
    };

    const SIZE: (u32, u32) = (100, 10);

    /// Returns the statistics of a film that has `samples` per pixel after `seconds` of rendering with this compaction
    /// strategy. Compaction took `compact_us` µs for one sample of every pixel.
    fn stats(strategy: &str, seconds: f64, samples: f64, compact_us: f64) -> Stats {
        let rays = (1000.0 * samples) as u64;
        let mut stats = Stats {
            size: [SIZE.0, SIZE.1],
            compaction: strategy.to_owned(),
            bounces: vec![BounceStats {
                rays,
                hits: rays,
                survivors: rays / 4,
                lanes: 2 * rays,
                times: StageTimes::from_fn(|stage| match stage {
                    Stage::Compact => compact_us * samples / 1e3,
                    _ => 0.0,
                }),
                ..BounceStats::default()
            }],
            ..Stats::default()
        };
        stats.settle(seconds);
        stats
    }

    #[test]
    fn figures_are_medians_of_recent_intervals() {
        let mut recorder = Recorder::default();
        // Ten seconds at 100 samples per second, then ten at 300 with one outlier.
        let (mut samples, mut milliseconds) = (0.0, 0.0);
        for interval in 1..=200 {
            let rate = if interval <= 100 { 100.0 } else { 300.0 };
            let compact_us = if interval == 190 { 9000.0 } else { 5.0 };
            samples += rate * 0.1;
            milliseconds += rate * 0.1 * compact_us;
            let seconds = 0.1001 * f64::from(interval);
            recorder.add(
                &stats("off", seconds, samples, milliseconds / samples),
                true,
            );
        }
        let last = stats("off", 20.02, samples, milliseconds / samples);
        let recent = recorder.recent(&last, SIZE);
        assert!((recent.paths_per_second - 300e3).abs() < 3e3, "{recent:?}");
        assert!(
            (recent.bounces[0].times.of(Stage::Compact) - 5.0).abs() < 0.1,
            "{recent:?}"
        );
        assert!((recent.bounces[0].removed - 0.75).abs() < 1e-6);
        assert!((recent.lane_use - 0.5).abs() < 1e-6);
        assert_eq!(recent.rate_history.len(), 100);
        assert!(
            recent
                .rate_history
                .iter()
                .all(|rate| (rate / 300e3 - 1.0).abs() < 0.02)
        );
        // Twice the pixels take twice as long.
        let larger = recorder.recent(&last, (SIZE.0, 2 * SIZE.1));
        assert!((larger.bounces[0].times.of(Stage::Compact) - 10.0).abs() < 0.2);
        // The outlier counts in the average over the whole render.
        assert!(
            Recent::of(&last, 1000.0).bounces[0]
                .times
                .of(Stage::Compact)
                > 20.0
        );
    }

    #[test]
    fn a_restarted_film_keeps_the_figures() {
        let mut recorder = Recorder::default();
        for film in 0..20 {
            recorder.begin_film(film % 3 == 0);
            for interval in 1..=3 {
                let seconds = 0.11 * f64::from(interval);
                recorder.add(&stats("off", seconds, 100.0 * seconds, 1.0), true);
                let recent = recorder.recent(&stats("off", seconds, 100.0 * seconds, 1.0), SIZE);
                assert!((recent.paths_per_second / 100e3 - 1.0).abs() < 0.01);
            }
        }
        recorder.begin_film(true);
        let empty = recorder.recent(&stats("off", 0.0, 0.0, 0.0), SIZE);
        assert!(
            empty.paths_per_second > 0.0,
            "the old figures stay until there are new ones"
        );
    }

    #[test]
    fn strategies_are_compared_once_there_is_enough_data() {
        let mut recorder = Recorder::default();
        let mut render = |strategy: &str, intervals: u32, rate: f64| {
            recorder.set_strategy();
            recorder.begin_film(false);
            let mut now = Stats::default();
            for interval in 1..=intervals {
                // A spread of 2 %.
                let seconds = 0.101
                    * f64::from(interval)
                    * (1.0 + 0.02 * f64::from(interval % 3) / f64::from(interval));
                now = stats(strategy, seconds, rate * 0.101 * f64::from(interval), 1.0);
                recorder.add(&now, true);
            }
            recorder.recent(&now, SIZE).strategies
        };
        let alone = render("off", 40, 100.0);
        assert_eq!(alone.len(), 1);
        let early = render("atomic", 5, 150.0);
        let comparison = |strategies: &[super::StrategyComparison], name: &str| {
            let found = strategies.iter().find(|entry| entry.strategy == name);
            found.map(|entry| entry.comparison.clone())
        };
        assert_eq!(early[0].strategy, "atomic");
        assert_eq!(comparison(&early, "off"), Some(Comparison::NotEnoughData));
        let late = render("atomic", 40, 150.0);
        let difference = |strategies: &[super::StrategyComparison], name: &str| match comparison(
            strategies, name,
        ) {
            Some(Comparison::Difference(difference)) => difference,
            other => panic!("{other:?}"),
        };
        let slower = difference(&late, "off");
        assert!((slower.by + 1.0 / 3.0).abs() < 0.03, "{slower:?}");
        assert!(
            slower.low < slower.by && slower.by < slower.high && slower.high < 0.0,
            "{slower:?}"
        );
        let same = render("look-back", 40, 150.2);
        assert!(difference(&same, "atomic").is_unclear(), "{same:?}");
        let back = render("off", 40, 100.0);
        assert!(difference(&back, "atomic").low > 0.0, "{back:?}");
        render("sequences", 40, 1.0);
        let four = render("scan-scatter", 40, 1.0);
        let names: Vec<_> = four.iter().map(|entry| entry.strategy.as_str()).collect();
        assert_eq!(names, ["scan-scatter", "sequences", "off", "look-back"]);
        recorder.begin_film(true);
        let gone = recorder
            .recent(&stats("off", 0.0, 0.0, 0.0), SIZE)
            .strategies;
        assert_eq!(
            gone.len(),
            1,
            "a new view discards the comparison: {gone:?}"
        );
    }
}
