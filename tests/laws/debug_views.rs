//! The false-color debug views show the paths that the film was made of.

use std::sync::Arc;

use raysieve::{
    adaptive::noise_estimate::mean_difference,
    device::render_scene::RenderScene,
    inspect::debug_view::{Accumulator, DebugImage, DebugView},
    scene::Scene,
};

use crate::common::{garden, load, on_cpu, render, scene, sized};

/// Returns the values of a debug view for each pixel, measured over `samples` samples.
fn values(scene: &Scene, debug_view: DebugView, samples: u32, film_samples: u32) -> Vec<[f32; 3]> {
    let render_scene = Arc::new(RenderScene::new(scene).unwrap());
    let mut accumulator =
        Accumulator::new(render_scene, scene, &scene.camera, scene.size, debug_view);
    while accumulator.samples() < samples {
        assert!(accumulator.advance(&|| false).unwrap());
    }
    accumulator.values(film_samples)
}

#[test]
fn the_bounce_and_cost_views_add_up_to_the_rays_of_the_render() {
    // The scenes cover all materials, models, and partially opaque surfaces.
    for scene in [garden(), load("scenes/gltf_model.ron")] {
        let scene = sized(scene, 37, 23, 3);
        let (_, stats) = render(&scene, &on_cpu());
        let all = |debug_view| -> f64 {
            let values = values(&scene, debug_view, 3, 3);
            values.iter().map(|value| f64::from(value[0]) * 3.0).sum()
        };
        let name = &stats.scene;
        assert_eq!(all(DebugView::Cost).round(), stats.rays as f64, "{name}");
        let path_rays: u64 = stats.bounces.iter().map(|row| row.rays).sum();
        let scattered = (path_rays - stats.paths) as f64;
        assert_eq!(all(DebugView::Bounces).round(), scattered, "{name}");
    }
}

#[test]
fn the_noise_view_is_close_to_each_pixels_error() {
    for path in ["scenes/cornell.ron", "scenes/spheres.ron"] {
        let scene = |spp, seed| Scene {
            seed,
            ..sized(load(path), 20, 20, spp)
        };
        let (truth, _) = render(&scene(512, 1), &on_cpu());
        let estimates = values(&scene(1, 2), DebugView::Noise, 32, 1);
        // Noise is unknown in pixels that have found no light yet.
        let known = estimates.iter().filter(|value| !value[0].is_nan());
        let mean = known.map(|value| f64::from(value[0])).sum::<f64>() / estimates.len() as f64;
        let errors: Vec<f64> = (3..6)
            .map(|seed| mean_difference(&render(&scene(1, seed), &on_cpu()).0, &truth))
            .collect();
        let error = errors.iter().sum::<f64>() / errors.len() as f64;
        // A mean deviation is smaller than a standard deviation, and few samples find light.
        let ratio = mean / error;
        assert!(
            (0.9..2.5).contains(&ratio),
            "{path}: estimated {mean}, actual error {error}"
        );
        // The noise falls with the square root of the number of samples.
        let later = values(&scene(1, 2), DebugView::Noise, 32, 16);
        for (first, later_value) in estimates.iter().zip(&later) {
            let is_quarter = (first[0] - 4.0 * later_value[0]).abs() <= 1e-5 * first[0];
            assert!(
                is_quarter || first[0].is_nan(),
                "{path}: {first:?}, {later_value:?}"
            );
        }
    }
}

#[test]
fn views_of_the_first_hit_show_the_geometry() {
    // The left half of the image is a wall three metres away; the right half is empty.
    let scene = scene(
        r#"(
            size: (8, 8), sky: (1, 1, 1), camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40),
            materials: { "wall": Diffuse(albedo: (0.2, 0.5, 0.8)) },
            objects: [Quad(corner: (-9, -9, 0), edge_u: (9, 0, 0), edge_v: (0, 18, 0), material: "wall")],
        )"#,
    );
    let seen = |debug_view| values(&scene, debug_view, 4, 1).into_iter();
    let seen = seen(DebugView::Albedo)
        .zip(seen(DebugView::Normal))
        .zip(seen(DebugView::Depth));
    for (pixel, ((albedo, normal), depth)) in seen.enumerate() {
        if pixel % 8 < 4 {
            assert_eq!(albedo, [0.2, 0.5, 0.8]);
            assert_eq!(normal, [0.0, 0.0, 1.0]);
            assert!((depth[0] - 3.0).abs() < 1e-5, "{depth:?}");
        } else {
            assert_eq!((albedo, normal), ([0.0; 3], [0.0; 3]));
            assert!(depth[0].is_nan(), "a miss has no distance");
        }
    }
}

#[test]
fn the_albedo_view_shows_the_side_of_a_blend_that_is_seen() {
    let albedo = |edge: &str| {
        let scene = scene(&format!(
            r#"(
                size: (2, 2), sky: (1, 1, 1), camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 20),
                materials: {{
                    "red": Diffuse(albedo: (0.75, 0, 0)),
                    "blue": Diffuse(albedo: (0, 0, 0.5)),
                    "pair": Blend(first: "red", second: "blue", weight: 0.25),
                    "wall": Blend(first: "pair", second: "sides", by_side: true),
                    "sides": Blend(first: "red", second: "blue", by_side: true),
                }},
                objects: [Quad({edge}, edge_v: (0, 18, 0), material: "wall")],
            )"#
        ));
        values(&scene, DebugView::Albedo, 1, 1)[0]
    };
    let front = albedo("corner: (-9, -9, 0), edge_u: (18, 0, 0)");
    assert_eq!(front, [0.75 * 0.75, 0.0, 0.25 * 0.5]);
    let back = albedo("corner: (9, -9, 0), edge_u: (-18, 0, 0)");
    assert_eq!(back, [0.0, 0.0, 0.5]);
}

#[test]
fn debug_views_refine_from_coarse_and_render_each_pixel_once() {
    let scene = sized(load("scenes/cornell.ron"), 10, 7, 1);
    let render_scene = Arc::new(RenderScene::new(&scene).unwrap());
    let mut accumulator = Accumulator::new(
        render_scene,
        &scene,
        &scene.camera,
        scene.size,
        DebugView::Cost,
    );
    // The coarse first pass is completed even if a stop is requested.
    assert!(accumulator.advance(&|| true).unwrap());
    assert_eq!(accumulator.samples(), 0);
    let coarse = accumulator.values(1);
    assert_eq!(
        coarse[3 * 10 + 3],
        coarse[0],
        "a block has the color of its corner"
    );
    assert!(!accumulator.advance(&|| true).unwrap());
    assert_eq!(
        accumulator.values(1),
        coarse,
        "an interrupted pass must not change the values"
    );
    assert!(accumulator.advance(&|| false).unwrap());
    assert_eq!(accumulator.samples(), 1);
    let fine = accumulator.values(1);
    assert_eq!(
        fine[0], coarse[0],
        "the coarse pass must not be added twice"
    );
    assert_eq!(fine, values(&scene, DebugView::Cost, 1, 1));
}

#[test]
fn the_sample_view_counts_the_samples_of_each_pixel() {
    let debug_image = DebugImage::of_samples((3, 2), &[3; 6]);
    assert_eq!(debug_image.rgba.len(), 24);
    assert!(
        debug_image.legend.note.contains("min 3, max 3"),
        "{:?}",
        debug_image.legend
    );
    let (first, _) = debug_image.rgba.split_at(4);
    assert!(debug_image.rgba.chunks(4).all(|pixel| pixel == first));
}
