//! Conservation of energy in closed rooms.

use glam::DVec3;

use crate::{
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

/// Checks surfaces that emit L and reflect the fraction a, whose radiance is L (1 + a + a² + …).
#[test]
fn an_emissive_room_has_the_radiance_of_its_geometric_series() {
    let albedo = 0.6_f64;
    for bounces in [0, 1, 2, 8] {
        let walls =
            format!("Emissive(radiance: (0.5, 1, 2), albedo: ({albedo}, {albedo}, {albedo}))");
        let room = scene(&format!(
            r#"(
                size: (16, 16), spp: 16, max_bounces: {bounces},
                camera: (origin: (0.3, 0.2, 0.4), target: (-1, -0.5, -1), fov: 90),
                materials: {{ "wall": {walls} }},
                objects: [{}],
            )"#,
            inside_of_a_cube("wall")
        ));
        let series: f64 = (0..=bounces).map(|bounce| albedo.powi(bounce)).sum();
        expect(
            &measure(&room),
            DVec3::new(0.5, 1.0, 2.0) * series,
            &format!("{bounces} bounces"),
        );
    }
}

/// Checks that light of later bounces is clamped, and emission seen directly or after one scattering is not.
#[test]
fn clamping_affects_only_indirect_light() {
    let walls = "Emissive(radiance: (0.5, 1, 2), albedo: (0.6, 0.6, 0.6))";
    let room = |bounces: u32, clamp: &str| {
        scene(&format!(
            r#"(
                size: (16, 16), spp: 16, max_bounces: {bounces}, {clamp}
                camera: (origin: (0.3, 0.2, 0.4), target: (-1, -0.5, -1), fov: 90),
                materials: {{ "wall": {walls} }},
                objects: [{}],
            )"#,
            inside_of_a_cube("wall")
        ))
    };
    let film = |room| render(&room, &on_cpu()).1.film_hash;
    assert_eq!(film(room(1, "clamp_indirect: 1e-6,")), film(room(1, "")));
    assert_eq!(film(room(8, "clamp_indirect: 1e6,")), film(room(8, "")));
    assert_ne!(film(room(8, "clamp_indirect: 0.1,")), film(room(8, "")));
    // With a clamp near 0, the first two terms of the series remain.
    expect(
        &measure(&room(8, "clamp_indirect: 1e-6,")),
        DVec3::new(0.5, 1.0, 2.0) * 1.6,
        "clamped",
    );
}

/// Checks that the radiance in a closed room does not exceed the lamp's radiance divided by one minus the albedo.
#[test]
fn a_closed_room_does_not_exceed_the_bound_by_its_lamp() {
    let room = scene(&format!(
        r#"(
            size: (32, 32), spp: 64, max_bounces: 200,
            camera: (origin: (0, 0, 0.9), target: (0, 0, 0), fov: 90),
            materials: {{
                "wall": Diffuse(albedo: (0.9, 0.9, 0.9)),
                "lamp": Emissive(radiance: (4, 4, 4)),
            }},
            objects: [
                {}
                Quad(corner: (-0.5, 0.99, -0.5), edge_u: (1, 0, 0), edge_v: (0, 0, 1), material: "lamp"),
            ],
        )"#,
        inside_of_a_cube("wall")
    ));
    let (picture, stats) = render(&room, &on_cpu());
    assert_eq!(stats.rejected_samples, 0);
    assert!(picture.pixels.iter().all(|pixel| pixel.is_finite()));
    let mean = mean(&picture);
    assert!(
        mean.min_element() > 0.0 && mean.max_element() < 4.0 / (1.0 - 0.9),
        "{mean}"
    );
}

/// Compares a hole in the ceiling, under a sky that only BSDF sampling finds, with a lamp that light sampling finds.
#[test]
fn light_sampling_and_bsdf_sampling_give_the_same_brightness() {
    for (half, spp) in [(0.1, 64), (0.5, 16), (0.95, 16)] {
        for bounces in [1, 3] {
            let room = |sky: f32, lamp: &str| {
                let walls = inside_of_a_cube_with_a_hole("wall", half);
                scene(&format!(
                    r#"(
                        size: (24, 24), spp: {spp}, max_bounces: {bounces}, sky: ({sky}, {sky}, {sky}),
                        camera: (origin: (0, 0.5, 0.9), target: (0, -1, -0.5), fov: 70),
                        materials: {{
                            "wall": Diffuse(albedo: (0.3, 0.6, 0.9)),
                            "lamp": Emissive(radiance: (3, 3, 3)),
                        }},
                        objects: [{walls} {lamp}],
                    )"#
                ))
            };
            let full = 2.0 * half;
            let quad = format!(
                r#"Quad(corner: (-{half}, 1, -{half}), edge_u: ({full}, 0, 0), edge_v: (0, 0, {full}), material: "lamp")"#
            );
            let (by_bsdf, by_light) = (measure(&room(3.0, "")), measure(&room(0.0, &quad)));
            let error =
                (by_bsdf.error * by_bsdf.error + by_light.error * by_light.error).map(f64::sqrt);
            let z = (by_bsdf.mean - by_light.mean) / error;
            assert!(
                z.abs().max_element() < 4.0,
                "{half}, {bounces} bounces: BSDF sampling {by_bsdf:?}, light sampling {by_light:?}"
            );
            // Light sampling must reduce the noise where the lamp is small.
            assert!(
                half > 0.2 || by_light.error.max_element() < 0.5 * by_bsdf.error.max_element(),
                "{by_bsdf:?} {by_light:?}"
            );
        }
    }
}

/// Returns scene text of the six walls of the cube from -1 to 1, facing inwards.
fn inside_of_a_cube(material: &str) -> String {
    let ceiling = format!(
        r#"Quad(corner: (-1, 1, -1), edge_u: (2, 0, 0), edge_v: (0, 0, 2), material: "{material}"),"#
    );
    walls(material) + &ceiling
}

/// Returns scene text of the cube from -1 to 1 with a square hole in its ceiling, from -`half` to `half`.
fn inside_of_a_cube_with_a_hole(material: &str, half: f64) -> String {
    let (full, rest) = (2.0 * half, 1.0 - half);
    let ceiling = [
        (-1.0, -1.0, 2.0, rest),
        (-1.0, half, 2.0, rest),
        (-1.0, -half, rest, full),
        (half, -half, rest, full),
    ];
    let quad = |(x, z, width, depth): (f64, f64, f64, f64)| {
        format!(
            r#"Quad(corner: ({x}, 1, {z}), edge_u: ({width}, 0, 0), edge_v: (0, 0, {depth}), material: "{material}"),"#
        )
    };
    walls(material) + &ceiling.map(quad).concat()
}

/// Returns scene text of the cube's floor and its back, front, left and right walls.
fn walls(material: &str) -> String {
    let walls = [
        ("(-1, -1, 1)", "(2, 0, 0)", "(0, 0, -2)"),
        ("(-1, -1, -1)", "(2, 0, 0)", "(0, 2, 0)"),
        ("(1, -1, 1)", "(-2, 0, 0)", "(0, 2, 0)"),
        ("(-1, -1, 1)", "(0, 0, -2)", "(0, 2, 0)"),
        ("(1, -1, -1)", "(0, 0, 2)", "(0, 2, 0)"),
    ];
    let quad = |(corner, u, v)| {
        format!(r#"Quad(corner: {corner}, edge_u: {u}, edge_v: {v}, material: "{material}"),"#)
    };
    walls.map(quad).concat()
}
