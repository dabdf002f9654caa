//! The per-bounce ray counts of the statistics.

use raysieve::{render::stats::Stats, scene::Scene, stages::Stage};

use crate::common::{on_cpu, render, scenes, sized};

#[test]
fn ray_counts_of_every_scene_add_up() {
    for scene in scenes() {
        let scene = sized(scene, 40, 24, 3);
        let (_, stats) = render(&scene, &on_cpu());
        assert_counts_add_up(&scene, &stats);
    }
}

/// Asserts that every ray of a render is a hit or a miss, and that survivors become the rays of the next bounce.
fn assert_counts_add_up(scene: &Scene, stats: &Stats) {
    let name = &stats.scene;
    assert_eq!(stats.rejected_samples, 0, "{name}");
    assert_eq!((stats.size, stats.spp), ([40, 24], 3), "{name}");
    assert_eq!(stats.paths, 40 * 24 * 3, "{name}");
    assert_eq!(
        stats.bounces.len(),
        scene.max_bounces as usize + 1,
        "{name}"
    );
    assert_eq!(stats.bounces[0].rays, stats.paths, "{name}");
    for (number, row) in stats.bounces.iter().enumerate() {
        assert_eq!(row.bounce as usize, number, "{name}");
        assert_eq!(
            row.rays,
            row.hits + row.scattered + row.misses,
            "{name}: {row:?}"
        );
        for stage in [Stage::Intersect, Stage::Compact, Stage::Shade] {
            let is_timed = row.rays == 0 || row.time(stage) > 0.0;
            assert!(is_timed, "{name}: no time of {}: {row:?}", stage.label());
        }
        let events = row.hits + row.scattered;
        assert_eq!(events, row.ended + row.survivors, "{name}: {row:?}");
        assert!(row.shadow_rays <= events, "{name}: {row:?}");
        if let Some(next) = stats.bounces.get(number + 1) {
            assert_eq!(next.rays, row.survivors, "{name}: {next:?} after {row:?}");
        } else {
            assert_eq!(
                (row.survivors, row.shadow_rays),
                (0, 0),
                "{name}: the last bounce must not scatter or sample lights"
            );
        }
    }
    let rays: u64 = stats
        .bounces
        .iter()
        .map(|row| row.rays + row.shadow_rays)
        .sum();
    assert_eq!(stats.rays, rays, "{name}");
    assert!(stats.bounces[0].hits > 0, "{name}: the camera sees nothing");
}
