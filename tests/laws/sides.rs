//! The appearance of surfaces from the front and from the back.

use glam::Vec3;

use crate::{
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

#[test]
fn directly_visible_emission_is_exact() {
    let seen = |objects: &str| {
        let scene = scene(&format!(
            r#"(
                size: (9, 7), spp: 5, max_bounces: 0, sky: (0.1, 0.2, 0.3),
                camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 30),
                materials: {{
                    "lamp": Emissive(radiance: (0.7, 1.3, 1000.1), albedo: (1, 1, 1)),
                    "white": Diffuse(albedo: (1, 1, 1)),
                }},
                objects: [{objects}],
            )"#
        ));
        render(&scene, &on_cpu()).0.pixels
    };
    let all = |radiance: Vec3| vec![radiance; 63];
    let quad = |material: &str, corner: &str, u: &str| {
        format!(
            r#"Quad(corner: ({corner}), edge_u: ({u}), edge_v: (0, 20, 0), material: "{material}"),"#
        )
    };
    let (front, back) = (("-10, -10, 0", "20, 0, 0"), ("10, -10, 0", "-20, 0, 0"));
    assert_eq!(
        seen(&quad("lamp", front.0, front.1)),
        all(Vec3::new(0.7, 1.3, 1000.1))
    );
    assert_eq!(
        seen(&quad("lamp", back.0, back.1)),
        all(Vec3::ZERO),
        "the back of a one-sided lamp must be black"
    );
    assert_eq!(
        seen(&quad("white", front.0, front.1)),
        all(Vec3::ZERO),
        "without bounces, no light is scattered"
    );
    let beside = quad("lamp", "100, -10, 0", "20, 0, 0");
    assert_eq!(
        seen(&beside),
        all(Vec3::new(0.1, 0.2, 0.3)),
        "only the sky is visible"
    );
}

#[test]
fn one_sided_surfaces_are_black_from_behind() {
    let seen = |material: &str, from: f32| {
        let scene = scene(&format!(
            r#"(
                size: (8, 8), spp: 4, max_bounces: 4, sky: (1, 1, 1),
                camera: (origin: (0, 0, {from}), target: (0, 0, 0), fov: 30),
                materials: {{ "m": {material} }},
                objects: [Quad(corner: (-10, -10, 0), edge_u: (20, 0, 0), edge_v: (0, 20, 0), material: "m")],
            )"#
        ));
        mean(&render(&scene, &on_cpu()).0).x
    };
    let materials = [
        ("Diffuse(albedo: (0.5, 0.5, 0.5)", 0.5, 0.5),
        ("Mirror(reflectance: (0.5, 0.5, 0.5)", 0.5, 0.5),
        // The surface emits only from its front, and reflects on both sides.
        (
            "Emissive(radiance: (2, 2, 2), albedo: (0.5, 0.5, 0.5)",
            2.5,
            0.5,
        ),
    ];
    for (material, front, back) in materials {
        for (end, behind) in [(")", back), (", one_sided: true)", 0.0)] {
            let material = format!("{material}{end}");
            let (got_front, got_back) = (seen(&material, 3.0), seen(&material, -3.0));
            assert!(
                (got_front - front).abs() < 1e-5,
                "{material}: {got_front} from the front"
            );
            assert!(
                (got_back - behind).abs() < 1e-5,
                "{material}: {got_back} from behind"
            );
        }
    }
}

/// Compares rooms lit by the back and by the front of a two-sided lamp. Only BSDF sampling finds the light of the back.
#[test]
fn the_back_of_a_two_sided_lamp_emits_like_its_front() {
    let seen = |turned: bool, direct_light: &str| {
        let edges = if turned {
            "edge_u: (0, 0, 2), edge_v: (2, 0, 0)"
        } else {
            "edge_u: (2, 0, 0), edge_v: (0, 0, 2)"
        };
        measure(&scene(&format!(
            r#"(
                size: (8, 8), spp: 256, max_bounces: 3, direct_light: {direct_light},
                camera: (origin: (0, 0.4, 3), target: (0, 0, 0), fov: 20),
                materials: {{
                    "lamp": Emissive(radiance: (1, 2, 3), both_sides: true),
                    "floor": Diffuse(albedo: (0.5, 0.5, 0.5)),
                }},
                objects: [
                    Quad(corner: (-1, 1, -1), {edges}, material: "lamp"),
                    Quad(corner: (-3, 0, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "floor"),
                ],
            )"#
        )))
    };
    let front = seen(false, "Both");
    for (turned, direct_light) in [(true, "Both"), (true, "Lights"), (true, "Bsdf")] {
        expect(&seen(turned, direct_light), front.mean, direct_light);
    }
}

/// A convex lamp cannot light itself, so that it appears with its own radiance however much its surface reflects.
#[test]
fn a_convex_lamp_does_not_light_itself() {
    let lamps = [
        r#"Sphere(center: (0, 0, 0), radius: 1, material: "lamp")"#,
        r#"Box(center: (0, 0, 0), half_size: (1, 1, 1), material: "lamp")"#,
    ];
    for lamp in lamps {
        for direct_light in ["Both", "Lights", "Bsdf"] {
            let scene = scene(&format!(
                r#"(
                    size: (16, 16), spp: 64, max_bounces: 4, direct_light: {direct_light},
                    camera: (origin: (3, 2, 5), target: (0, 0, 0), fov: 8),
                    materials: {{ "lamp": Emissive(radiance: (1, 2, 3), albedo: (1, 1, 1)) }},
                    objects: [{lamp}],
                )"#
            ));
            for pixel in render(&scene, &on_cpu()).0.pixels {
                assert!(
                    (pixel - Vec3::new(1.0, 2.0, 3.0)).abs().max_element() < 1e-5,
                    "{lamp} with {direct_light}: {pixel}"
                );
            }
        }
    }
}
