//! Tests of recent performance figures.

use super::{Recent, Recorder};
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
        recorder.add(&stats("atomic", seconds, samples, milliseconds / samples));
    }
    let last = stats("atomic", 20.02, samples, milliseconds / samples);
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
