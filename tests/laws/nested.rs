//! Bodies with priorities, which may overlap, compared with closed forms and with scenes without the overlaps.

use glam::DVec3;

use crate::{
    common::{on_cpu, render, scene},
    expect, measure,
};

/// Glasses of different kinds, without the closing parenthesis and the index of refraction.
const GLASSES: [&str; 4] = [
    "Dielectric(",
    "RoughDielectric(alpha: 0.4, ",
    "RoughDielectric(alpha: 0.4, masking: Separable, ",
    "Principled(transmission: 1, roughness: 0.6, ",
];

/// Returns the hash of the film of a scene with a lamp, a sky and a plane, and these materials and objects, with a
/// strategy of direct light. The camera looks at the origin.
fn film(strategy: &str, materials: &str, objects: &str) -> String {
    let scene = scene(&format!(
        r#"(
            size: (24, 24), spp: 16, max_bounces: 24, sky: (0.4, 0.5, 0.6), direct_light: {strategy},
            camera: (origin: (0.3, 1, 4), target: (0, 0, 0), fov: 40),
            lights: [Point(position: (0, 3, 1), intensity: (2, 2, 2))],
            materials: {{
                "plane": Diffuse(albedo: (0.5, 0.5, 0.5)),
                "lamp": Emissive(radiance: (8, 8, 8)),
                {materials}
            }},
            objects: [
                Quad(corner: (-9, -1.1, 9), edge_u: (18, 0, 0), edge_v: (0, 0, -18), material: "plane"),
                Sphere(center: (1, 2, 0.5), radius: 0.3, material: "lamp"),
                {objects}
            ],
        )"#
    ));
    render(&scene, &on_cpu()).1.film_hash
}

/// Checks that surfaces that are not there do not change the film: bodies in one of higher priority, one of the same
/// refractive index, and one of the index of air in air. An opaque surface is always there.
#[test]
fn surfaces_inside_bodies_of_higher_priority_are_not_there() {
    for glass in GLASSES {
        let ball = format!(r#""ball": {glass}ior: 1.5, priority: 5),"#);
        let alone = r#"Sphere(center: (0, 0, 0), radius: 1, material: "ball"),"#;
        let expected = film("Both", &ball, alone);
        let inner = r#"Sphere(center: (0.2, 0.1, 0), radius: 0.5, material: "inner"),"#;
        let both = format!("{alone} {inner}");
        for (material, is_visible) in [
            (
                "Dielectric(ior: 1.8, absorption: ((0.1, 0.2, 0.3), 0.1))",
                false,
            ),
            ("RoughDielectric(ior: 1.3, alpha: 0.3, priority: 4)", false),
            (
                "Principled(transmission: 1, roughness: 0.2, dispersion: 3, priority: 4)",
                false,
            ),
            (
                "Boundary(medium: (scattering: (3, 3, 3)), priority: 4)",
                false,
            ),
            ("Dielectric(ior: 1.5, priority: 6)", false),
            ("RoughDielectric(ior: 1.5, alpha: 0.3, priority: 5)", false),
            ("Dielectric(ior: 1.3, priority: 6)", true),
            ("Dielectric(ior: 1.3, priority: 5)", true),
            (
                "Boundary(medium: (scattering: (3, 3, 3)), priority: 6)",
                true,
            ),
            ("Diffuse(albedo: (0.5, 0.5, 0.5))", true),
        ] {
            let materials = format!(r#"{ball} "inner": {material},"#);
            let is_same = film("Both", &materials, &both) == expected;
            assert_eq!(is_same, !is_visible, "{glass} with {material}");
        }
    }
    let inner = r#"Sphere(center: (0.2, 0.1, 0), radius: 0.5, material: "inner"),"#;
    let air = r#""inner": Dielectric(ior: 1, priority: 1),"#;
    assert_eq!(film("Both", air, inner), film("Both", "", ""));
}

/// Checks a ball inside a ball against the same with a relative index of refraction, for all strategies of direct light.
/// The indices have exact quotients.
#[test]
fn a_priority_replaces_a_relative_index_of_refraction() {
    let balls = r#"
        Sphere(center: (0, 0, 0), radius: 1, material: "outer"),
        Sphere(center: (0.2, 0.1, 0), radius: 0.5, material: "inner"),
        Sphere(center: (0.2, 0.1, 0), radius: 0.1, material: "lamp"),
    "#;
    let absorbing = "absorption: ((0.9, 0.5, 0.4), 0.5)";
    for glass in GLASSES {
        for strategy in ["Both", "Lights", "Bsdf"] {
            let materials = |inner: &str, priority: u32| {
                format!(
                    r#"
                        "outer": {glass}ior: 1.5, {absorbing}),
                        "inner": {glass}ior: {inner}, priority: {priority}),
                    "#
                )
            };
            let relative = film(strategy, &materials("0.5", 0), balls);
            let nested = film(strategy, &materials("0.75", 1), balls);
            assert_eq!(relative, nested, "{glass}, {strategy}");
            assert_ne!(relative, film(strategy, &materials("0.75", 0), balls));
        }
    }
}

/// Returns the radiance of layers under a sky of radiance 1 on both sides, seen perpendicularly. Each layer has an index
/// of refraction, an absorption coefficient per metre, and a thickness. The first one is nearest to the eye.
fn layered_sky(layers: &[(f64, DVec3, f64)]) -> DVec3 {
    let reflectance = |one: f64, other: f64| ((one - other) / (one + other)).powi(2);
    // Adding from behind: what the layers so far reflect, and what they send from the sky behind them.
    let (mut reflected, mut sent) = (DVec3::ZERO, DVec3::ONE);
    let mut behind = 1.0;
    let outside = [(1.0, DVec3::ZERO, 0.0)];
    for &(ior, absorption, thickness) in outside.iter().chain(layers).rev().chain(&outside) {
        let surface = DVec3::splat(reflectance(ior, behind));
        let through = DVec3::ONE - surface;
        let between = DVec3::ONE / (DVec3::ONE - surface * reflected);
        sent = sent * through * between;
        reflected = surface + through * through * reflected * between;
        let passed = (-absorption * thickness).exp();
        sent *= passed;
        reflected *= passed * passed;
        behind = ior;
    }
    sent + reflected
}

/// Checks a slab of glass and a slab of juice that overlap: the one of higher priority fills the overlap, whichever it
/// is, and each absorbs along its own part of the way.
#[test]
fn slabs_that_overlap_transmit_like_layers_in_contact() {
    let (green, orange) = (DVec3::new(1.2, 0.3, 0.6), DVec3::new(0.2, 0.8, 1.6));
    let medium = |absorption: DVec3| {
        let color = (-absorption * 0.5).exp();
        format!("absorption: (({}, {}, {}), 0.5)", color.x, color.y, color.z)
    };
    for kind in [
        "Dielectric(",
        "RoughDielectric(alpha: 0.001, ",
        "Principled(transmission: 1, roughness: 0.03, ",
    ] {
        for (glass, juice) in [(1, 2), (2, 1)] {
            for eye in [20, -20] {
                let scene = scene(&format!(
                    r#"(
                            size: (8, 8), spp: 256, max_bounces: 64, sky: (1, 1, 1),
                            camera: (origin: (0, 0, {eye}), target: (0, 0, 0), fov: 0.01),
                            materials: {{
                                "glass": {kind}ior: 1.6, {}, priority: {glass}),
                                "juice": {kind}ior: 1.3, {}, priority: {juice}),
                            }},
                            objects: [
                                Box(center: (0, 0, 0.5), half_size: (9, 9, 0.5), material: "glass"),
                                Box(center: (0, 0, -0.3), half_size: (9, 9, 0.5), material: "juice"),
                            ],
                        )"#,
                    medium(green),
                    medium(orange)
                ));
                // The juice is between −0.8 and 0.2, and the glass between 0 and 1.
                let contact = if glass > juice { 0.0 } else { 0.2 };
                let mut layers = [(1.6, green, 1.0 - contact), (1.3, orange, 0.8 + contact)];
                if eye < 0 {
                    layers.reverse();
                }
                let case = format!("{kind} {glass} {juice} from {eye}");
                expect(&measure(&scene), layered_sky(&layers), &case);
            }
        }
    }
}

/// Checks that bodies that overlap lose and add no light under a uniform sky, whether the camera is outside or inside
/// one. Inside, radiance is larger by the squared index of refraction.
#[test]
fn bodies_that_overlap_are_invisible_under_a_uniform_sky() {
    for (glass, squared) in [
        ("Dielectric(ior: 1.5, ", DVec3::splat(2.25)),
        ("RoughDielectric(ior: 1.5, alpha: 0.1, ", DVec3::splat(2.25)),
        (
            "Principled(transmission: 1, roughness: 0.3, ior: 1.5, dispersion: 2, ",
            DVec3::new(1.475, 1.5, 1.525).powf(2.0),
        ),
    ] {
        for (origin, expected) in [
            ("(0.3, 2, 3)", DVec3::ONE),
            ("(-0.8, 0, 0)", squared),
            ("(0.05, 0.02, 0.01)", DVec3::splat(1.44)),
        ] {
            let scene = scene(&format!(
                r#"(
                    size: (8, 8), spp: 64, max_bounces: 1024, roulette: 0, sky: (1, 1, 1),
                    camera: (origin: {origin}, target: (0.01, 0.1, 0), fov: 40),
                    materials: {{
                        "glass": {glass}priority: 1),
                        "juice": Dielectric(ior: 1.2, priority: 3),
                        "stone": Dielectric(ior: 1.9, priority: 2),
                    }},
                    objects: [
                        Sphere(center: (-0.4, 0, 0), radius: 0.7, material: "glass"),
                        Sphere(center: (0.3, 0.1, 0), radius: 0.6, material: "juice"),
                        Sphere(center: (0, 0.5, 0.1), radius: 0.4, material: "stone"),
                    ],
                )"#
            ));
            let measured = measure(&scene);
            let case = format!("{glass} from {origin}");
            println!("{case}: {measured:?}");
            let error = (measured.mean / expected - 1.0).abs().max_element();
            assert!(error < 0.01, "{case}: {measured:?}, expected {expected}");
        }
    }
}

/// Checks that shadow rays and paths are dimmed by the body of the highest priority along the whole segment: the light
/// of a lamp in a ball that absorbs, with a ball of lower priority between them.
#[test]
fn the_body_of_the_highest_priority_absorbs_along_the_whole_segment() {
    let absorption = DVec3::new(0.2, 0.5, 1.0);
    for strategy in ["Both", "Lights", "Bsdf"] {
        let scene = scene(
            &format!(
                r#"(
                    size: (8, 8), spp: 512, max_bounces: 1, direct_light: {strategy},
                    camera: (origin: (0, 0.5, 0.1), target: (0, 0, 0), up: (0, 1, 0), fov: 0.01),
                    materials: {{
                        "ball": Boundary(medium: (scattering: (0, 0, 0), absorption: {absorption:?}), priority: 2),
                        "glass": Dielectric(ior: 1.5, absorption: ((0.1, 0.1, 0.1), 0.1), priority: 1),
                        "lamp": Emissive(radiance: (16, 16, 16)),
                        "white": Diffuse(albedo: (1, 1, 1)),
                    }},
                    objects: [
                        Sphere(center: (0, 2, 0), radius: 1.1, material: "ball"),
                        Sphere(center: (0, 2, 0), radius: 0.9, material: "glass"),
                        Sphere(center: (0, 2, 0), radius: 0.5, material: "lamp"),
                        Quad(corner: (-9, 0, 9), edge_u: (18, 0, 0), edge_v: (0, 0, -18), material: "white"),
                    ],
                )"#
            )
            .replace("DVec3", ""),
        );
        // As in `a_lamp_inside_a_body_lights_the_outside`.
        let steps = 10_000;
        let mut expected = DVec3::ZERO;
        for step in 0..steps {
            let square = (f64::from(step) + 0.5) / f64::from(steps) * 0.0625;
            let inside = (1.21 - 4.0 * square).sqrt() - (0.25 - 4.0 * square).sqrt();
            expected += (-absorption * inside).exp() * (16.0 * 0.0625 / f64::from(steps));
        }
        expect(&measure(&scene), expected, strategy);
    }
}
