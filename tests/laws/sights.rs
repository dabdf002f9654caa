//! False colours tell of the very paths that the film is made of.

use std::sync::Arc;

use raysieve::{
    noise::mean_difference,
    scene::Scene,
    sight::{Gauge, Sight, Sighting},
    world::World,
};

use crate::common::{garden, load, on_cpu, render, scene, sized};

/// What a sight shows of each pixel, measured by so many samples.
fn values(scene: &Scene, sight: Sight, samples: u32, film_samples: u32) -> Vec<[f32; 3]> {
    let world = Arc::new(World::new(scene).unwrap());
    let mut gauge = Gauge::new(world, scene, &scene.camera, scene.size, sight);
    while gauge.samples() < samples {
        assert!(gauge.advance(&|| false).unwrap());
    }
    gauge.values(film_samples)
}

#[test]
fn bounces_and_cost_add_up_to_the_rays_of_the_render() {
    // All materials; models, and what hides only a part of what is behind it.
    for scene in [garden(), load("scenes/gltf_model.ron")] {
        let scene = sized(scene, 37, 23, 3);
        let (_, stats) = render(&scene, &on_cpu());
        let all = |sight| -> f64 {
            let values = values(&scene, sight, 3, 3);
            values.iter().map(|value| f64::from(value[0]) * 3.0).sum()
        };
        let name = &stats.scene;
        assert_eq!(all(Sight::Cost).round(), stats.rays as f64, "{name}");
        let path_rays: u64 = stats.bounces.iter().map(|row| row.rays).sum();
        let scattered = (path_rays - stats.paths) as f64;
        assert_eq!(all(Sight::Bounces).round(), scattered, "{name}");
    }
}

#[test]
fn noise_is_about_the_error_that_a_pixel_has() {
    for path in ["scenes/cornell.ron", "scenes/spheres.ron"] {
        let scene = |spp, seed| Scene {
            seed,
            ..sized(load(path), 20, 20, spp)
        };
        let (truth, _) = render(&scene(512, 1), &on_cpu());
        let told = values(&scene(1, 2), Sight::Noise, 32, 1);
        // Not known where no light was found yet.
        let known = told.iter().filter(|value| !value[0].is_nan());
        let mean = known.map(|value| f64::from(value[0])).sum::<f64>() / told.len() as f64;
        let errors: Vec<f64> = (3..6)
            .map(|seed| mean_difference(&render(&scene(1, seed), &on_cpu()).0, &truth))
            .collect();
        let error = errors.iter().sum::<f64>() / errors.len() as f64;
        // A mean deviation is less than a standard deviation, and light is found by few.
        let ratio = mean / error;
        assert!(
            (0.9..2.5).contains(&ratio),
            "{path}: {mean} told of {error}"
        );
        // By the root of the samples less.
        let later = values(&scene(1, 2), Sight::Noise, 32, 16);
        for (now, then) in told.iter().zip(&later) {
            let is_less = (now[0] - 4.0 * then[0]).abs() <= 1e-5 * now[0];
            assert!(is_less || now[0].is_nan(), "{path}: {now:?}, {then:?}");
        }
    }
}

#[test]
fn what_is_seen_first_is_told_as_it_is() {
    // The left half of the picture is a wall three metres away; the right half is nothing.
    let scene = scene(
        r#"(
            size: (8, 8), sky: (1, 1, 1), camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40),
            materials: { "wall": Diffuse(albedo: (0.2, 0.5, 0.8)) },
            objects: [Quad(corner: (-9, -9, 0), edge_u: (9, 0, 0), edge_v: (0, 18, 0), material: "wall")],
        )"#,
    );
    let seen = |sight| values(&scene, sight, 4, 1).into_iter();
    let seen = seen(Sight::Albedo)
        .zip(seen(Sight::Normal))
        .zip(seen(Sight::Depth));
    for (pixel, ((albedo, normal), depth)) in seen.enumerate() {
        if pixel % 8 < 4 {
            assert_eq!(albedo, [0.2, 0.5, 0.8]);
            assert_eq!(normal, [0.0, 0.0, 1.0]);
            assert!((depth[0] - 3.0).abs() < 1e-5, "{depth:?}");
        } else {
            assert_eq!((albedo, normal), ([0.0; 3], [0.0; 3]));
            assert!(depth[0].is_nan(), "nothing is no distance");
        }
    }
}

#[test]
fn a_coarse_picture_comes_first_and_each_pixel_once() {
    let scene = sized(load("scenes/cornell.ron"), 10, 7, 1);
    let world = Arc::new(World::new(&scene).unwrap());
    let mut gauge = Gauge::new(world, &scene, &scene.camera, scene.size, Sight::Cost);
    // Not asked for the first.
    assert!(gauge.advance(&|| true).unwrap());
    assert_eq!(gauge.samples(), 0);
    let coarse = gauge.values(1);
    assert_eq!(
        coarse[3 * 10 + 3],
        coarse[0],
        "a block has the colour of its corner"
    );
    assert!(!gauge.advance(&|| true).unwrap());
    assert_eq!(gauge.values(1), coarse, "what was interrupted has not been");
    assert!(gauge.advance(&|| false).unwrap());
    assert_eq!(gauge.samples(), 1);
    let fine = gauge.values(1);
    assert_eq!(fine[0], coarse[0], "what was there is not added twice");
    assert_eq!(fine, values(&scene, Sight::Cost, 1, 1));
}

#[test]
fn samples_are_counted_pixel_by_pixel() {
    let sighting = Sighting::of_samples((3, 2), &[3; 6]);
    assert_eq!(sighting.rgba.len(), 24);
    assert!(
        sighting
            .legend
            .note
            .contains("3 at the least, 3 at the most"),
        "{:?}",
        sighting.legend
    );
    let (first, _) = sighting.rgba.split_at(4);
    assert!(sighting.rgba.chunks(4).all(|pixel| pixel == first));
}
