//! Russian roulette: whichever scattering event it begins at, the expected image stays the same, and its noise is that
//! of paths that end where light is absorbed.

use glam::DVec3;
use raysieve::scene::Scene;

use crate::{
    BATCHES,
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

/// Returns the inside of a sphere of radiance 1 and this albedo.
fn integrating_sphere(albedo: DVec3, spp: u32, max_bounces: u32, roulette: u32) -> Scene {
    let DVec3 { x, y, z } = albedo;
    scene(&format!(
        r#"(
            size: (8, 8), spp: {spp}, max_bounces: {max_bounces}, roulette: {roulette},
            camera: (origin: (0, 0, 0), target: (0, 0, 1), fov: 60),
            materials: {{ "wall": Emissive(radiance: (1, 1, 1), albedo: ({x}, {y}, {z}), both_sides: true) }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "wall")],
        )"#
    ))
}

/// Returns the radiance inside, the sum of 1, the albedo, its square and so on.
fn series(albedo: DVec3, max_bounces: u32) -> DVec3 {
    (DVec3::ONE - albedo.map(|albedo| albedo.powi(max_bounces as i32 + 1))) / (DVec3::ONE - albedo)
}

/// Checks that the standard error is also right: a path that ends where its light is absorbed gathers a number of
/// terms with a geometric distribution, whose deviation is at most 1 / (1 - albedo).
#[test]
fn an_integrating_sphere_has_the_radiance_of_its_series() {
    for (albedo, spp) in [(0.5, 16), (0.9, 16), (0.975, 16), (0.99, 16), (0.999, 8)] {
        let room = integrating_sphere(DVec3::splat(albedo), spp, 4096, 5);
        let measured = measure(&room);
        let what = format!("albedo {albedo}");
        expect(&measured, series(DVec3::splat(albedo), 4096), &what);
        let paths = f64::from(8 * 8 * spp * BATCHES);
        let deviation = 1.0 / (1.0 - albedo) / paths.sqrt();
        assert!(
            measured.error.max_element() < 2.0 * deviation,
            "{what}: {measured:?}, expected an error of {deviation}"
        );
    }
}

#[test]
fn roulette_keeps_the_expected_image_wherever_it_begins() {
    let albedo = DVec3::new(0.3, 0.95, 0.8);
    for start in [1, 2, 5, 20] {
        let room = integrating_sphere(albedo, 64, 64, start);
        expect(
            &measure(&room),
            series(albedo, 64),
            &format!("roulette {start}"),
        );
    }
}

#[test]
fn paths_go_on_to_the_last_bounce_without_roulette() {
    let albedo = DVec3::new(0.3, 0.95, 0.8);
    for roulette in [0, 65, 4096] {
        let room = integrating_sphere(albedo, 4, 64, roulette);
        let (picture, stats) = render(&room, &on_cpu());
        let ratio = mean(&picture) / series(albedo, 64);
        assert!((ratio - 1.0).abs().max_element() < 1e-5, "{ratio}");
        assert!(stats.bounces.iter().all(|row| row.rays == 8 * 8 * 4));
    }
}
