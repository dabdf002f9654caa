//! What the overlay costs and hides.

use std::time::{Duration, Instant};

use super::{Detail, Overlay};
use crate::{
    live::{Against, Recent, RecentBounce, Rival, State},
    stats::{BounceStats, Stats},
};

/// All that there can be to show, of nine bounces.
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
        intersect_us: 1e3 / f64::from(bounce + 1),
        sieve_us: 123.0,
        shade_us: 456.0,
        shadow_us: 789.0,
        ..RecentBounce::default()
    };
    let rival = |strategy: &str| Rival {
        strategy: strategy.to_owned(),
        rays_per_second: 1e9,
        against: Against::Slower(0.123),
    };
    let stats = Stats {
        scene: "scene.ron".to_owned(),
        backend: "cuda".to_owned(),
        device: "A graphics card".to_owned(),
        size: [1920, 1080],
        bounces: (0..9).map(stats).collect(),
        ..Stats::default()
    };
    let recent = Recent {
        bounces: (0..9).map(recent).collect(),
        course: (0..100).map(|point| 1e9 + 1e7 * point as f32).collect(),
        rivals: ["look-back", "off", "atomic", "hole-filling"]
            .map(rival)
            .to_vec(),
        ..Recent::of(&stats, 1.0)
    };
    (stats, recent)
}

/// The least time of drawing, and the part of the picture that is drawn on.
fn draw(size: (u32, u32), scale: f32, detail: Detail) -> (Duration, f64) {
    let (stats, recent) = full();
    let pixels = (size.0 * size.1) as usize;
    let mut overlay = Overlay::new(scale);
    let state = State::Rendering {
        samples: 4096,
        progress: 0.5,
    };
    let (mut least, mut part) = (Duration::MAX, 0.0);
    for _ in 0..100 {
        let mut rgba = [120, 120, 120, 255].repeat(pixels);
        let begun = Instant::now();
        overlay.draw_stats(&mut rgba, size, &stats, &recent, state, detail);
        least = least.min(begun.elapsed());
        let (pixels, _) = rgba.as_chunks::<4>();
        let drawn = pixels
            .iter()
            .filter(|pixel| **pixel != [120, 120, 120, 255]);
        part = drawn.count() as f64 / pixels.len() as f64;
    }
    (least, part)
}

#[test]
fn a_frame_costs_little_and_hides_no_more_than_it_must() {
    let size = (1920, 1080);
    let (time, full) = draw(size, 1.0, Detail::Full);
    let (_, short) = draw(size, 1.0, Detail::Short);
    let (_, none) = draw(size, 1.0, Detail::None);
    println!("{time:?}; {full:.3} and {short:.3} of 1920 × 1080 are covered");
    // The target is one; this is for machines that do much else, which take their time over memory.
    assert!(time < Duration::from_millis(10), "{time:?}");
    assert!(full < 0.12 && short < 0.04, "{full} and {short}");
    assert_eq!(none, 0.0);
}

#[test]
fn what_grows_with_the_screen_keeps_its_part_of_it() {
    let (_, once) = draw((960, 540), 1.0, Detail::Full);
    let (_, twice) = draw((1920, 1080), 2.0, Detail::Full);
    assert!((once / twice - 1.0).abs() < 0.02, "{once} and {twice}");
}
