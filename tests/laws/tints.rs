//! Tints: colors by which materials multiply the light that they reflect or transmit; thin panes; and lamps that the
//! camera does not see.

use glam::{DVec3, Vec3};
use raysieve::scene::Scene;

use crate::{
    common::{on_cpu, render, scene},
    expect, measure,
};

/// Returns a sphere or a square of this material under a white sky. Paths scatter once.
fn lit(object: &str, material: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (16, 16), spp: 16, max_bounces: 1,
            camera: (origin: (0, 0, 4), target: (0, 0, 0), width: 2),
            sky: (1, 1, 1),
            materials: {{ "m": {material} }},
            objects: [{object}],
        )"#
    ))
}

const BALL: &str = "Sphere(center: (0, 0, 0), radius: 1.5, material: \"m\")";
const SQUARE: &str =
    "Quad(corner: (-2, -2, 0), edge_u: (4, 0, 0), edge_v: (0, 4, 0), material: \"m\")";

/// Returns the pixels of an object of this material.
fn pixels(object: &str, material: &str) -> Vec<Vec3> {
    render(&lit(object, material), &on_cpu()).0.pixels
}

#[test]
fn a_tint_multiplies_the_reflection_of_metals_and_coats() {
    let tint = Vec3::new(0.75, 0.5, 0.125);
    for [before, after] in [
        ["Conductor(preset: \"gold\", tint: ", ")"],
        [
            "RoughConductor(preset: \"chromium\", alpha: 0.4, energy_compensation: false, tint: ",
            ")",
        ],
        [
            "CoatedDiffuse(albedo: (0, 0, 0), alpha: 0.3, reflection_tint: ",
            ")",
        ],
    ] {
        let plain = pixels(BALL, &format!("{before}(1, 1, 1){after}"));
        let tinted = pixels(BALL, &format!("{before}(0.75, 0.5, 0.125){after}"));
        assert!(plain.iter().any(|pixel| pixel.x > 0.01));
        for (plain, tinted) in plain.iter().zip(&tinted) {
            let difference = (plain * tint - tinted).abs().max_element();
            assert!(difference < 1e-6, "{before}: {plain} {tinted}");
        }
    }
}

#[test]
fn tints_of_glass_multiply_what_it_reflects_and_what_it_transmits() {
    for glass in [
        "Dielectric(ior: 1.5",
        "Dielectric(ior: 1.5, thin: true",
        "RoughDielectric(ior: 1.5, alpha: 0.3, energy_compensation: false",
        "RoughDielectric(ior: 1.5, alpha: 0.3, energy_compensation: true",
    ] {
        let white = pixels(SQUARE, &format!("{glass})"));
        let tint = "reflection_tint: (1, 0, 0.5), transmission_tint: (0, 1, 0.5)";
        let tinted = pixels(SQUARE, &format!("{glass}, {tint})"));
        assert!(tinted.iter().all(|pixel| pixel.min_element() >= 0.0));
        assert!(
            tinted.iter().any(|pixel| pixel.x > 0.0) && tinted.iter().any(|pixel| pixel.y > 0.0)
        );
        for (white, tinted) in white.iter().zip(&tinted) {
            assert!((tinted.x + tinted.y - white.x).abs() < 1e-5, "{glass}");
            assert!((tinted.z - 0.5 * white.z).abs() < 1e-5, "{glass}");
        }
    }
}

/// Each side of the pane reflects 4 %, and the light between them leaves on both sides.
#[test]
fn a_thin_pane_reflects_what_both_sides_reflect() {
    for [tints, scale] in [
        ["", "1"],
        [", reflection_tint: (0.25, 0.5, 0.75)", "tinted"],
    ] {
        let pane = format!("Dielectric(ior: 1.5, thin: true, transmission_tint: (0, 0, 0){tints})");
        let seen = measure(&Scene {
            spp: 1024,
            ..lit(SQUARE, &pane)
        });
        let tint = match scale {
            "1" => DVec3::ONE,
            _ => DVec3::new(0.25, 0.5, 0.75),
        };
        expect(&seen, tint * (0.08 / 1.04), tints);
    }
}

/// Light of a lamp between the camera and the floor, which the camera sees only in the floor.
#[test]
fn a_hidden_lamp_shines_unseen() {
    let floor = |camera: f64, hidden: bool| {
        scene(&format!(
            r#"(
                size: (4, 4), spp: 256, max_bounces: 1,
                camera: (origin: (0.01, {camera}, 0), target: (0.01, 0, 0), up: (0, 0, -1), fov: 0.01),
                materials: {{
                    "floor": Diffuse(albedo: (0.2, 0.5, 0.8)),
                    "lamp": Emissive(radiance: (1, 2, 3), both_sides: true, hidden_from_camera: {hidden}),
                }},
                objects: [
                    Quad(corner: (-9, 0, 9), edge_u: (18, 0, 0), edge_v: (0, 0, -18), material: "floor"),
                    Sphere(center: (0, 2, 0), radius: 0.5, material: "lamp"),
                ],
            )"#
        ))
    };
    let below = measure(&floor(1.2, false)).mean;
    assert!(below.min_element() > 0.01, "{below}");
    expect(&measure(&floor(4.0, true)), below, "hidden");
    let visible = measure(&floor(4.0, false)).mean;
    assert!(
        (visible - DVec3::new(1.0, 2.0, 3.0)).length() < 1e-3,
        "{visible}"
    );
}
