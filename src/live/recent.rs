//! What a render did of late: medians over some seconds, so that figures stand still while they are read.
//!
//! What waves counted adds up to laps: each one sample of the whole picture at least, so that laps compare however
//! little of the picture a wave sees, and a tenth of a second at least.

use std::collections::VecDeque;

use serde::Serialize;

use super::rivals::{Rival, Rivals};
use crate::stats::{BounceStats, Stats};

/// What a render did of late.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Recent {
    /// Camera paths traced a second.
    pub(crate) paths_per_second: f64,
    /// Rays traced a second, shadow rays among them.
    pub(crate) rays_per_second: f64,
    /// The same over the last ten seconds of rendering, a tenth of a second each, the newest last.
    pub(crate) course: Vec<f32>,
    /// Part of the lanes launched for rays that had one, of all bounces.
    pub(crate) lane_use: f64,
    /// One row per bounce, the camera's rays first.
    pub(crate) bounces: Vec<RecentBounce>,
    /// The strategy of the sieve, and those before it, which rendered the same view.
    pub(crate) rivals: Vec<Rival>,
}

/// One bounce.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RecentBounce {
    /// Part of the rays that went into it that does not go on, of all so far.
    pub(crate) removed: f64,
    /// Part of the lanes launched for its rays that had one.
    pub(crate) lane_use: f64,
    /// Time of the stages for one sample of every pixel, microseconds.
    pub(crate) intersect_us: f64,
    /// See `intersect_us`; both sieves.
    pub(crate) sieve_us: f64,
    /// See `intersect_us`.
    pub(crate) shade_us: f64,
    /// See `intersect_us`.
    pub(crate) shadow_us: f64,
}

impl RecentBounce {
    /// The stages' times, in the order of the loop, microseconds.
    pub(crate) fn times(&self) -> [f64; 4] {
        [
            self.intersect_us,
            self.sieve_us,
            self.shade_us,
            self.shadow_us,
        ]
    }
}

impl Recent {
    /// Of all that was rendered, where nothing is known of late; for a picture of so many pixels.
    pub(crate) fn of(stats: &Stats, pixels: f64) -> Self {
        Self::of_laps(&[&Lap::of(stats, 1.0)], stats, pixels)
    }

    /// The medians of the laps, for a picture of so many pixels.
    fn of_laps(laps: &[&Lap], stats: &Stats, pixels: f64) -> Self {
        let of = |figure: &dyn Fn(&Lap) -> f64| median(laps.iter().map(|lap| figure(lap)));
        let bounce = |(place, row): (usize, &BounceStats)| {
            let time = |stage: usize| {
                of(&|lap| lap.bounces[place].milliseconds[stage] / lap.paths) * pixels * 1e3
            };
            RecentBounce {
                removed: row.removed(),
                lane_use: of(&|lap| part(lap.bounces[place].rays, lap.bounces[place].lanes)),
                intersect_us: time(0),
                sieve_us: time(1),
                shade_us: time(2),
                shadow_us: time(3),
            }
        };
        let all = |lap: &Lap, count: fn(&LapBounce) -> f64| lap.bounces.iter().map(count).sum();
        Self {
            paths_per_second: of(&|lap| part(lap.paths, lap.seconds)),
            rays_per_second: of(&|lap| part(lap.rays, lap.seconds)),
            course: Vec::new(),
            lane_use: of(&|lap| part(all(lap, |row| row.rays), all(lap, |row| row.lanes))),
            bounces: stats.bounces.iter().enumerate().map(bounce).collect(),
            rivals: Vec::new(),
        }
    }
}

/// What was rendered between two looks at the statistics, or in several such times.
#[derive(Clone, Debug, Default, PartialEq)]
struct Lap {
    seconds: f64,
    /// Samples of the whole picture.
    samples: f64,
    paths: f64,
    /// Shadow rays among them.
    rays: f64,
    bounces: Vec<LapBounce>,
}

/// See [`Lap`].
#[derive(Clone, Debug, Default, PartialEq)]
struct LapBounce {
    rays: f64,
    lanes: f64,
    /// Of intersect, sieve, shade, shadow.
    milliseconds: [f64; 4],
}

impl Lap {
    /// All that the statistics hold, with this sign.
    fn of(stats: &Stats, sign: f64) -> Self {
        let mut lap = Self::default();
        lap.add(stats, sign);
        lap
    }

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
            let times = [
                row.intersect_ms,
                row.compact_ms,
                row.shade_ms,
                row.shadow_ms,
            ];
            for (sum, time) in sum.milliseconds.iter_mut().zip(times) {
                *sum += sign * time;
            }
        }
    }
}

/// A lap at least, and a point of the course.
const LAP_SECONDS: f64 = 0.1;

/// That figures are medians of, and laps that there are at least for that.
const WINDOW_SECONDS: f64 = 3.0;
const FEWEST_LAPS: usize = 5;

/// Points of the course.
const COURSE: usize = 100;

/// Laps that are of use no more, seconds of rendering: since a change, until waves and clocks are what they will be.
const SETTLING_SECONDS: f64 = 0.3;

/// Keeps what a render did of late.
#[derive(Default)]
pub(super) struct Recorder {
    /// At the last look; empty where the film is new.
    before: Option<Stats>,
    /// Not yet a lap.
    filling: Lap,
    laps: VecDeque<Lap>,
    /// Not yet a point of the course: seconds and rays.
    point: (f64, f64),
    course: VecDeque<f32>,
    rivals: Rivals,
    /// Of rendering, since there was a change.
    settled: f64,
}

impl Recorder {
    /// The film begins anew, of the same view or another.
    pub(super) fn begin_film(&mut self, view_changed: bool) {
        self.before = None;
        self.settled = 0.0;
        if view_changed {
            self.rivals.clear();
            self.filling = Lap::default();
            // They are soon outnumbered by the new view's; until then figures do not jump.
            let old = self.laps.len().saturating_sub(FEWEST_LAPS / 2);
            self.laps.drain(..old);
        }
    }

    /// Another strategy sieves from now on.
    pub(super) fn set_strategy(&mut self) {
        self.filling = Lap::default();
        self.laps.clear();
        self.settled = 0.0;
    }

    /// Looks at the statistics again. `fair` is whether waves are as large as they will be.
    pub(super) fn add(&mut self, stats: &Stats, fair: bool) {
        let mut since = Lap::of(stats, 1.0);
        self.filling.add(stats, 1.0);
        if let Some(before) = &self.before {
            since.add(before, -1.0);
            self.filling.add(before, -1.0);
        }
        self.before = Some(stats.clone());
        self.settled = if fair {
            self.settled + since.seconds
        } else {
            0.0
        };
        self.point.0 += since.seconds;
        self.point.1 += since.rays;
        if self.point.0 >= LAP_SECONDS {
            let (seconds, rays) = std::mem::take(&mut self.point);
            push(&mut self.course, (rays / seconds) as f32, COURSE);
        }
        if self.filling.seconds >= LAP_SECONDS && self.filling.samples >= 1.0 {
            let lap = std::mem::take(&mut self.filling);
            if self.settled - lap.seconds >= SETTLING_SECONDS {
                self.rivals
                    .add(&stats.compaction, part(lap.rays, lap.seconds));
            }
            // No lap is shorter: the window holds no more.
            push(&mut self.laps, lap, (WINDOW_SECONDS / LAP_SECONDS) as usize);
        }
    }

    /// For a picture of so many pixels.
    pub(super) fn recent(&self, stats: &Stats, (width, height): (u32, u32)) -> Recent {
        let mut seconds = 0.0;
        let laps: Vec<&Lap> = self
            .laps
            .iter()
            .rev()
            .enumerate()
            .take_while(|(place, lap)| {
                seconds += lap.seconds;
                *place < FEWEST_LAPS || seconds <= WINDOW_SECONDS
            })
            .map(|(_, lap)| lap)
            .collect();
        let pixels = f64::from(width) * f64::from(height);
        let recent = if laps.is_empty() {
            Recent::of(stats, pixels)
        } else {
            Recent::of_laps(&laps, stats, pixels)
        };
        Recent {
            course: self.course.iter().copied().collect(),
            rivals: self.rivals.standing(&stats.compaction),
            ..recent
        }
    }
}

fn push<T>(ring: &mut VecDeque<T>, item: T, most: usize) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(item);
}

fn pixels(stats: &Stats) -> f64 {
    stats.size.map(f64::from).iter().product()
}

/// Of the whole; 0 of nothing.
fn part(some: f64, whole: f64) -> f64 {
    if whole > 0.0 { some / whole } else { 0.0 }
}

/// Of numbers that are finite; 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    super::rivals::quantile(
        &mut values.filter(|value| value.is_finite()).collect::<Vec<_>>(),
        0.5,
    )
}

#[cfg(test)]
mod tests {
    use super::{Recent, Recorder};
    use crate::{
        live::rivals::Against,
        stats::{BounceStats, Stats},
    };

    const SIZE: (u32, u32) = (100, 10);

    /// After so many seconds at so many samples a second, the first bounce's stages taking so many µs a sample.
    fn stats(strategy: &str, seconds: f64, samples: f64, sieve_us: f64) -> Stats {
        let rays = (1000.0 * samples) as u64;
        let mut stats = Stats {
            size: [SIZE.0, SIZE.1],
            compaction: strategy.to_owned(),
            bounces: vec![BounceStats {
                rays,
                hits: rays,
                survivors: rays / 4,
                lanes: 2 * rays,
                compact_ms: sieve_us * samples / 1e3,
                ..BounceStats::default()
            }],
            ..Stats::default()
        };
        stats.settle(seconds);
        stats
    }

    #[test]
    fn figures_are_medians_of_late_and_not_means_of_all() {
        let mut recorder = Recorder::default();
        // Ten seconds at 100 samples a second, with a hiccup; then at 300.
        let (mut samples, mut milliseconds) = (0.0, 0.0);
        for lap in 1..=200 {
            let rate = if lap <= 100 { 100.0 } else { 300.0 };
            let sieve = if lap == 190 { 9000.0 } else { 5.0 };
            samples += rate * 0.1;
            milliseconds += rate * 0.1 * sieve;
            let seconds = 0.1001 * f64::from(lap);
            recorder.add(
                &stats("off", seconds, samples, milliseconds / samples),
                true,
            );
        }
        let last = stats("off", 20.02, samples, milliseconds / samples);
        let recent = recorder.recent(&last, SIZE);
        assert!((recent.paths_per_second - 300e3).abs() < 3e3, "{recent:?}");
        assert!((recent.bounces[0].sieve_us - 5.0).abs() < 0.1, "{recent:?}");
        assert!((recent.bounces[0].removed - 0.75).abs() < 1e-6);
        assert!((recent.lane_use - 0.5).abs() < 1e-6);
        assert_eq!(recent.course.len(), 100);
        assert!(
            recent
                .course
                .iter()
                .all(|rate| (rate / 300e3 - 1.0).abs() < 0.02)
        );
        // Twice the picture takes twice as long.
        let larger = recorder.recent(&last, (SIZE.0, 2 * SIZE.1));
        assert!((larger.bounces[0].sieve_us - 10.0).abs() < 0.2);
        // Of the whole, the hiccup counts.
        assert!(Recent::of(&last, 1000.0).bounces[0].sieve_us > 20.0);
    }

    #[test]
    fn a_film_that_begins_anew_is_no_step_back() {
        let mut recorder = Recorder::default();
        for film in 0..20 {
            recorder.begin_film(film % 3 == 0);
            for lap in 1..=3 {
                let seconds = 0.11 * f64::from(lap);
                recorder.add(&stats("off", seconds, 100.0 * seconds, 1.0), true);
                let recent = recorder.recent(&stats("off", seconds, 100.0 * seconds, 1.0), SIZE);
                assert!((recent.paths_per_second / 100e3 - 1.0).abs() < 0.01);
            }
        }
        recorder.begin_film(true);
        let empty = recorder.recent(&stats("off", 0.0, 0.0, 0.0), SIZE);
        assert!(
            empty.paths_per_second > 0.0,
            "what was is shown until there is more"
        );
    }

    #[test]
    fn strategies_are_told_apart_once_there_is_enough() {
        let mut recorder = Recorder::default();
        let mut render = |strategy: &str, laps: u32, rate: f64| {
            recorder.set_strategy();
            recorder.begin_film(false);
            let mut now = Stats::default();
            for lap in 1..=laps {
                // A spread of 2 %.
                let seconds =
                    0.101 * f64::from(lap) * (1.0 + 0.02 * f64::from(lap % 3) / f64::from(lap));
                now = stats(strategy, seconds, rate * 0.101 * f64::from(lap), 1.0);
                recorder.add(&now, true);
            }
            recorder.recent(&now, SIZE).rivals
        };
        let alone = render("off", 40, 100.0);
        assert_eq!(alone.len(), 1);
        let early = render("atomic", 5, 150.0);
        let verdict = |rivals: &[super::Rival], name: &str| {
            let found = rivals.iter().find(|rival| rival.strategy == name);
            found.map(|rival| rival.against.clone())
        };
        assert_eq!(early[0].strategy, "atomic");
        assert_eq!(verdict(&early, "off"), Some(Against::NotEnough));
        let late = render("atomic", 40, 150.0);
        let Some(Against::Slower(by)) = verdict(&late, "off") else {
            panic!("{late:?}");
        };
        assert!((by - 1.0 / 3.0).abs() < 0.03, "{by}");
        let same = render("look-back", 40, 150.2);
        assert_eq!(verdict(&same, "atomic"), Some(Against::Alike), "{same:?}");
        let back = render("off", 40, 100.0);
        assert!(
            matches!(verdict(&back, "atomic"), Some(Against::Faster(_))),
            "{back:?}"
        );
        render("sequences", 40, 1.0);
        let four = render("scan-scatter", 40, 1.0);
        let names: Vec<_> = four.iter().map(|rival| rival.strategy.as_str()).collect();
        assert_eq!(names, ["scan-scatter", "sequences", "off", "look-back"]);
        recorder.begin_film(true);
        let gone = recorder.recent(&stats("off", 0.0, 0.0, 0.0), SIZE).rivals;
        assert_eq!(gone.len(), 1, "another view is another race: {gone:?}");
    }
}
