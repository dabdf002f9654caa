//! The image does not depend on the scale of the scene.

use glam::{DVec3, Vec3};

use crate::{
    common::{on_cpu, render, scene},
    mean,
};

/// Checks that a lone surface under a white sky has the radiance of its albedo. No ray that leaves it may hit it again.
#[test]
fn a_ground_of_any_size_does_not_shade_itself() {
    let grounds = [40, 500, 20_000].map(|half| {
        let edge = 2 * half;
        format!(
            "Quad(corner: (-{half}, 0, {half}), edge_u: ({edge}, 0, 0), edge_v: (0, 0, -{edge}), material: \"clay\")"
        )
    });
    let planets = [100, 1000, 10_000].map(|radius| {
        format!("Sphere(center: (0, -{radius}, 0), radius: {radius}, material: \"clay\")")
    });
    for ground in grounds.iter().chain(&planets) {
        let scene = scene(&format!(
            r#"(
                size: (32, 32), spp: 16, max_bounces: 8,
                camera: (origin: (0, 0.5, 0), target: (0, 0, -0.5), fov: 40),
                sky: (1, 1, 1),
                materials: {{ "clay": Diffuse(albedo: (0.5, 0.5, 0.5)) }},
                objects: [{ground}],
            )"#
        ));
        let (picture, _) = render(&scene, &on_cpu());
        for pixel in &picture.pixels {
            let off = (*pixel - Vec3::splat(0.5)).abs().max_element();
            assert!(off < 1e-5, "{ground}: {pixel}");
        }
    }
}

/// Checks radiances of many, one and a seventh of the units in which the film stores light.
#[test]
fn dim_light_has_the_right_mean() {
    for radiance in [1e-8, 2.3e-10, 3.2e-11] {
        let scene = scene(&format!(
            r#"(
                size: (32, 32), spp: 256, max_bounces: 1,
                camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 1),
                lights: [Point(position: (0, 0, 1e5), intensity: ({0}, {0}, {0}))],
                materials: {{ "white": Diffuse(albedo: (1, 1, 1)) }},
                objects: [Quad(corner: (-50, -50, 0), edge_u: (100, 0, 0), edge_v: (0, 100, 0), material: "white")],
            )"#,
            radiance * std::f64::consts::PI * 1e10,
        ));
        let (picture, _) = render(&scene, &on_cpu());
        let mean = mean(&picture).x;
        assert!((mean / radiance - 1.0).abs() < 0.003, "{radiance}: {mean}");
    }
}

/// Checks rooms with a mirror ball, whose walls emit 1 and reflect half, so that the radiance is 2.
#[test]
fn a_closed_furnace_has_the_same_radiance_at_every_scale() {
    for size in [1e-6_f64, 1e-3, 1.0, 1e4] {
        let (half, ball, eye) = (0.5 * size, 0.2 * size, 0.4 * size);
        let edge = 2.0 * half;
        let wall = |corner: &str, u: &str, v: &str| {
            let place = |text: &str| {
                text.replace('h', &half.to_string())
                    .replace('e', &edge.to_string())
            };
            let (corner, u, v) = (place(corner), place(u), place(v));
            format!("Quad(corner: {corner}, edge_u: {u}, edge_v: {v}, material: \"wall\"),")
        };
        let walls = [
            wall("(-h, -h, h)", "(e, 0, 0)", "(0, 0, -e)"),
            wall("(-h, h, -h)", "(e, 0, 0)", "(0, 0, e)"),
            wall("(-h, -h, -h)", "(e, 0, 0)", "(0, e, 0)"),
            wall("(h, -h, h)", "(-e, 0, 0)", "(0, e, 0)"),
            wall("(h, -h, -h)", "(0, 0, e)", "(0, e, 0)"),
            wall("(-h, -h, h)", "(0, 0, -e)", "(0, e, 0)"),
        ]
        .concat();
        let scene = scene(&format!(
            r#"(
                size: (16, 16), spp: 256, max_bounces: 64,
                camera: (origin: (0, 0, {eye}), target: (0, 0, 0), fov: 60),
                materials: {{
                    "wall": Emissive(radiance: (1, 1, 1), albedo: (0.5, 0.5, 0.5)),
                    "mirror": Mirror(reflectance: (1, 1, 1)),
                }},
                objects: [
                    {walls}
                    Sphere(center: (0, -{ball}, 0), radius: {ball}, material: "mirror"),
                ],
            )"#
        ));
        let mean = mean(&render(&scene, &on_cpu()).0);
        let off = (mean - DVec3::splat(2.0)).abs().max_element();
        assert!(off < 0.01, "size {size}: {mean}");
    }
}

/// Checks that radiance grows by the squared index of refraction when light enters a medium.
#[test]
fn the_sky_seen_from_within_glass_is_brighter() {
    let scene = scene(
        r#"(
            size: (8, 8), spp: 16, max_bounces: 8,
            camera: (origin: (0, 0, 0), target: (0, 0, -1), fov: 60),
            sky: (1, 1, 1),
            materials: { "glass": Dielectric(ior: 1.5) },
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "glass")],
        )"#,
    );
    let mean = mean(&render(&scene, &on_cpu()).0);
    assert!(
        (mean - DVec3::splat(2.25)).abs().max_element() < 0.02,
        "{mean}"
    );
}
