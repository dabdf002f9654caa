//! Tests of recent performance figures.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use super::{MeasuredTimes, Recent, Recorder};
use raysieve::{
    render::stats::{BounceStats, StageTimes, Stats},
    stages::{Stage, wave::Report},
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
        recorder.add(&stats("atomic", seconds, samples, milliseconds / samples));
    }
    let last = stats("atomic", 20.02, samples, milliseconds / samples);
    let recent = recorder.recent(&last, SIZE);
    assert!((recent.paths_per_second - 300e3).abs() < 3e3, "{recent:?}");
    assert!(
        (recent.bounces[0].times.median.of(Stage::Compact) - 5.0).abs() < 0.1,
        "{recent:?}"
    );
    assert!((recent.bounces[0].removed - 0.75).abs() < 1e-6);
    assert!((recent.total.lane_use - 0.5).abs() < 1e-6);
    assert_eq!(recent.rate_history.len(), 100);
    assert!(
        recent
            .rate_history
            .iter()
            .all(|rate| (rate / 300e3 - 1.0).abs() < 0.02)
    );
    // Twice the pixels take twice as long.
    let larger = recorder.recent(&last, (SIZE.0, 2 * SIZE.1));
    assert!((larger.bounces[0].times.median.of(Stage::Compact) - 10.0).abs() < 0.2);
    // The outlier counts in the average over the whole render.
    assert!(
        Recent::of(&last, 1000.0).bounces[0]
            .times
            .median
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
            recorder.add(&stats("off", seconds, 100.0 * seconds, 1.0));
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

/// Returns times of the stages that are outside their quartiles, or a total that is; `None` if all are inside.
fn contradiction(times: &MeasuredTimes) -> Option<String> {
    let spread = times.spread?;
    let [low, median, high] = [spread.low, times.median, spread.high].map(|times| {
        let stages = times.0.into_iter();
        stages.chain([times.total()]).collect::<Vec<_>>()
    });
    let mut figures = median.iter().zip(low.iter().zip(&high));
    let is_inside = figures.all(|(median, (low, high))| low <= median && median <= high);
    (!is_inside).then(|| format!("{low:?} {median:?} {high:?}"))
}

#[test]
fn times_lie_within_their_quartiles_for_any_history() {
    let mut has_intervals = 0;
    let mut has_groups = 0;
    for seed in 0..200 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut recorder = Recorder::default();
        let empty = Stats {
            size: [SIZE.0, SIZE.1],
            bounces: Stats::rows(1),
            ..Stats::default()
        };
        let mut stats = empty.clone();
        let mut seconds = 0.0;
        for wave in 0..random.random_range(1..80) {
            match random.random_range(0..40) {
                0 => recorder.set_strategy(),
                1 => {
                    recorder.begin_film(random.random());
                    (stats, seconds) = (empty.clone(), 0.0);
                }
                _ => {}
            }
            let paths: u32 = random.random_range(1..4000);
            let scattered = random.random_range(0..=paths);
            // Each stage of each wave may be slow by itself.
            let mut time = |stage| {
                let ease: f64 = random.random_range(0.001..1.0);
                (stage, f64::from(paths) * 1e-3 / ease)
            };
            let times = Stage::OF_BOUNCE.into_iter().cycle();
            let times = times.take(2 * Stage::OF_BOUNCE.len()).map(&mut time);
            let times = times.collect();
            stats.add(
                "cpu",
                &Report {
                    counts: vec![paths, scattered, 0, 0, scattered, 0, 0, 0, 0],
                    lanes: vec![u64::from(paths); 2],
                    times,
                },
                1.0,
            );
            seconds += random.random_range(0.0..0.3);
            stats.settle(seconds);
            recorder.add(&stats);
            let displayed = [recorder.recent(&stats, SIZE), Recent::of(&stats, 1000.0)];
            for (recent, known) in displayed.iter().zip([&mut has_intervals, &mut has_groups]) {
                *known += usize::from(recent.total.times.spread.is_some());
                let rows = recent.bounces.iter().map(|row| row.times.median.total());
                let difference = rows.sum::<f64>() - recent.total.times.median.total();
                assert!(
                    difference.abs() < 1e-6,
                    "the rows do not add up: {difference}"
                );
                for row in recent.bounces.iter().chain([&recent.total]) {
                    let found = contradiction(&row.times);
                    assert_eq!(found, None, "seed {seed}, wave {wave}");
                }
            }
        }
    }
    assert!(
        has_intervals > 1000 && has_groups > 1000,
        "{has_intervals}, {has_groups}"
    );
}
