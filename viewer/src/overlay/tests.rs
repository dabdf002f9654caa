//! Tests of the overlay's drawing time and of the area that it covers.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::{Detail, Figures, Overlay, Units, canvas::Area};
use crate::session::{
    Comparison, Difference, NoisePoint, Pays, Recent, RecentBounce, StageTimes, State,
    StrategyComparison,
};
use raysieve::render::stats::{BounceStats, Stats};

/// Statistics of one device that fill graph, table and comparison of strategies, with nine bounces.
fn full() -> (Stats, Recent) {
    let stats = |bounce: u32| BounceStats {
        bounce,
        rays: 1 << (40 - 2 * bounce),
        hits: 1 << (40 - 2 * bounce),
        survivors: 1 << (38 - 2 * bounce),
        ..BounceStats::default()
    };
    let recent = |bounce: u32| RecentBounce {
        removed: 0.75,
        times: StageTimes(std::array::from_fn(|stage| {
            1e3 / f64::from(bounce + 1) + 100.0 * stage as f64
        })),
        ..RecentBounce::default()
    };
    let strategy_row = |strategy: &str| StrategyComparison {
        strategy: strategy.to_owned(),
        pays: Pays::Before(4),
        lane_use: 0.9,
        compact_us: 120.0,
        rays_per_second: 1e9,
        interval: [0.9e9, 1.1e9],
        comparison: Comparison::Difference(Difference {
            by: -0.123,
            low: -0.15,
            high: -0.1,
        }),
        ..StrategyComparison::default()
    };
    let stats = Stats {
        scene: "scene.ron".to_owned(),
        backend: "cuda".to_owned(),
        device: "A graphics card".to_owned(),
        size: [1920, 1080],
        paths: 1920 * 1080,
        bounces: (0..9).map(stats).collect(),
        ..Stats::default()
    };
    let recent = Recent {
        bounces: (0..9).map(recent).collect(),
        stage_history: vec![[100.0, 20.0, 80.0, 30.0]; 100],
        rate_history: (0..100).map(|point| 1e9 + 1e7 * point as f32).collect(),
        noise_history: (0..12)
            .map(|doubling| NoisePoint {
                samples: f64::from(1 << doubling),
                seconds: f64::from(doubling),
                error: 0.5 / f64::from(1 << doubling),
            })
            .collect(),
        strategies: ["look-back", "off", "atomic", "hole-filling"]
            .map(strategy_row)
            .to_vec(),
        ..Recent::of(&stats, 1.0)
    };
    (stats, recent)
}

/// Returns the processor time of this thread so far. Unlike the time of a clock, it does not grow while other programs
/// use the processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Draws the overlay 20 times. Returns the shortest processor time, and the fraction of pixels that the overlay covers.
fn draw(size: (u32, u32), scale: f32, detail: Detail) -> (Duration, f64) {
    let (stats, recent) = full();
    let pixels = (size.0 * size.1) as usize;
    let mut overlay = Overlay::new(scale);
    let state = State::Rendering {
        samples: 4096,
        progress: 0.5,
    };
    let (mut shortest, mut part) = (Duration::MAX, 0.0);
    for _ in 0..20 {
        let mut rgba = [120, 120, 120, 255].repeat(pixels);
        let begun = processor_time();
        let figures = Figures {
            stats: &stats,
            recent: &recent,
            size,
            state,
            detail,
            units: Units::PerSample,
            denoises: false,
        };
        overlay.draw_stats(&mut rgba, size, Area::of(size), &figures);
        shortest = shortest.min(processor_time() - begun);
        let (pixels, _) = rgba.as_chunks::<4>();
        let drawn = pixels
            .iter()
            .filter(|pixel| **pixel != [120, 120, 120, 255]);
        part = drawn.count() as f64 / pixels.len() as f64;
    }
    (shortest, part)
}

#[test]
fn the_overlay_is_fast_and_covers_little() {
    let size = (1920, 1080);
    let (time, full) = draw(size, 1.0, Detail::Full);
    let (_, short) = draw(size, 1.0, Detail::Short);
    println!("{time:?}; {full:.3} and {short:.3} of 1920 × 1080 are covered");
    // The goal is 1 ms in a release. Tests are compiled with fewer optimisations, and processors differ.
    assert!(time < Duration::from_millis(20), "{time:?}");
    assert!(full < 0.12 && short < 0.04, "{full} and {short}");
}

#[test]
fn a_scaled_overlay_covers_the_same_fraction() {
    let (_, once) = draw((960, 540), 1.0, Detail::Full);
    let (_, twice) = draw((1920, 1080), 2.0, Detail::Full);
    assert!((once / twice - 1.0).abs() < 0.02, "{once} and {twice}");
}
