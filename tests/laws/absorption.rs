//! Light transmitted by an absorbing body, compared with closed-form solutions.

use glam::DVec3;

use crate::{
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

/// Transmittance per channel over [`DISTANCE`].
const TRANSMITTANCE: DVec3 = DVec3::new(0.9, 0.5, 0.1);
/// Distance in metres over which [`TRANSMITTANCE`] remains.
const DISTANCE: f64 = 0.5;
/// Thickness of the slab in metres.
const THICKNESS: f64 = 0.8;

/// Returns a scene that views a slab of `material` perpendicularly, with a sky of radiance 1 on both sides.
fn slab(material: &str) -> raysieve::scene::Scene {
    scene(&format!(
        r#"(
            size: (8, 8), spp: 256, max_bounces: 64, sky: (1, 1, 1),
            camera: (origin: (0, 0, 20), target: (0, 0, 0), fov: 0.01),
            materials: {{ "slab": {material} }},
            objects: [Box(center: (0, 0, 0), half_size: (2, 2, {}), material: "slab")],
        )"#,
        THICKNESS / 2.0
    ))
}

/// Returns the slab's transmittance by the Beer-Lambert law, per channel.
fn slab_transmittance() -> DVec3 {
    TRANSMITTANCE.powf(THICKNESS / DISTANCE)
}

#[test]
fn an_index_matched_slab_transmits_by_the_beer_lambert_law() {
    for material in ["Dielectric(ior: 1", "RoughDielectric(ior: 1, alpha: 0.3"] {
        let slab = slab(&format!(
            "{material}, absorption: ((0.9, 0.5, 0.1), {DISTANCE}))"
        ));
        let seen = mean(&render(&slab, &on_cpu()).0);
        let difference = (seen / slab_transmittance() - 1.0).abs().max_element();
        assert!(
            difference < 3e-5,
            "{material}: {seen}, expected {}",
            slab_transmittance()
        );
    }
}

/// Checks a slab that reflects light back and forth between its sides.
///
/// With transmittance τ per crossing and reflectance R per side, the radiance is R + (1 − R)² τ (1 + R τ + R² τ² + …).
#[test]
fn a_glass_slab_absorbs_on_every_crossing() {
    let reflected = 0.04;
    let through = slab_transmittance();
    let expected = reflected + 0.96 * 0.96 * through / (1.0 - reflected * through);
    for material in [
        "Dielectric(ior: 1.5",
        "RoughDielectric(ior: 1.5, alpha: 0.001",
        "Principled(transmission: 1, roughness: 0.03",
    ] {
        let slab = slab(&format!(
            "{material}, absorption: ((0.9, 0.5, 0.1), {DISTANCE}))"
        ));
        expect(&measure(&slab), expected, material);
    }
}

/// Checks that absorption has no effect on thin walls, which have no volume, and on opaque materials.
#[test]
fn thin_walls_and_opaque_materials_ignore_absorption() {
    for material in [
        "Principled(transmission: 1, thin: true, specular: 0",
        "Principled(transmission: 0, roughness: 1",
    ] {
        let with = slab(&format!(
            "{material}, absorption: ((0.9, 0.5, 0.1), {DISTANCE}))"
        ));
        let without = slab(&format!("{material})"));
        let [with, without] = [with, without].map(|slab| render(&slab, &on_cpu()).1.film_hash);
        assert_eq!(with, without, "{material}");
    }
}

/// Returns the inside of a box of index 1 from z = -1 to 1, with an absorbing or a clear interior, seen from above.
fn box_with(sky: f64, materials: &str, objects: &str, lights: &str) -> raysieve::scene::Scene {
    scene(&format!(
        r#"(
            size: (8, 8), spp: 256, max_bounces: 64, roulette: 0, sky: ({sky}, {sky}, {sky}),
            camera: (origin: (0, 0, 20), target: (0, 0, 0), fov: 0.01),
            materials: {{
                "juice": Dielectric(ior: 1, absorption: ((0.9, 0.5, 0.1), {DISTANCE})),
                {materials}
            }},
            objects: [
                Box(center: (0, 0, 0), half_size: (2, 2, 1), material: "juice"),
                {objects}
            ],
            lights: [{lights}],
        )"#
    ))
}

/// Returns the transmittance of this many metres of the juice.
fn through(metres: f64) -> DVec3 {
    TRANSMITTANCE.powf(metres / DISTANCE)
}

#[test]
fn what_is_inside_a_body_is_seen_through_it() {
    let lamp = r#""lamp": Emissive(radiance: (2, 2, 2)),"#;
    let plate =
        r#"Quad(corner: (-1, -1, 0.25), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "lamp")"#;
    let seen = mean(&render(&box_with(0.0, lamp, plate, ""), &on_cpu()).0);
    let ratio = seen / (2.0 * through(0.75));
    assert!((ratio - 1.0).abs().max_element() < 3e-5, "{ratio}");
}

/// Checks a diffuse plate under a lamp, both in the juice: its light passes the lamp's distance and the depth.
#[test]
fn light_inside_a_body_is_absorbed_on_its_way() {
    let plate =
        r#"Quad(corner: (-1, -1, -0.5), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "plate")"#;
    let lamp = "Point(position: (0, 0, 0.75), intensity: (3, 3, 3))";
    let (albedo, distance, depth) = (0.5, 1.25, 1.5);
    for material in [
        "Diffuse(albedo: (0.5, 0.5, 0.5))",
        "Principled(base_color: (0.5, 0.5, 0.5), specular: 0)",
    ] {
        let materials = format!(r#""plate": {material},"#);
        let seen = mean(&render(&box_with(0.0, &materials, plate, lamp), &on_cpu()).0);
        let unabsorbed = albedo * std::f64::consts::FRAC_1_PI * 3.0 / (distance * distance);
        let ratio = seen / (unabsorbed * through(distance + depth));
        assert!(
            (ratio - 1.0).abs().max_element() < 3e-4,
            "{material}: {ratio}"
        );
    }
}

#[test]
fn an_inner_body_displaces_the_outer_one() {
    let ball = r#"Sphere(center: (0, 0, 0), radius: 0.3, material: "ball")"#;
    for (absorption, expected) in [
        ("", through(1.4)),
        (
            ", absorption: ((0.5, 0.5, 0.5), 0.3)",
            through(1.4) * DVec3::splat(0.25),
        ),
        // Of the material of the box.
        (
            &format!(", absorption: ((0.9, 0.5, 0.1), {DISTANCE})"),
            through(2.0),
        ),
    ] {
        let materials = format!(r#""ball": Dielectric(ior: 1{absorption}),"#);
        let seen = mean(&render(&box_with(1.0, &materials, ball, ""), &on_cpu()).0);
        let ratio = seen / expected;
        assert!(
            (ratio - 1.0).abs().max_element() < 3e-4,
            "{absorption}: {ratio}"
        );
    }
}

/// Checks four bodies in one another, one more than a path remembers: on the way out, the outermost absorbs again,
/// because its back is hit from inside.
#[test]
fn bodies_in_bodies_in_bodies_absorb_one_after_the_other() {
    let balls: String = [0.8, 0.6, 0.4]
        .iter()
        .map(|radius| {
            format!(r#"Sphere(center: (0, 0, 0), radius: {radius}, material: "{radius}"),"#)
        })
        .collect();
    let materials = r#"
        "0.8": Dielectric(ior: 1),
        "0.6": Dielectric(ior: 1, absorption: ((0.9, 0.5, 0.1), 0.5)),
        "0.4": RoughDielectric(ior: 1, alpha: 0.3),"#;
    let seen = mean(&render(&box_with(1.0, materials, &balls, ""), &on_cpu()).0);
    let ratio = seen / through(0.4 + 0.4);
    assert!((ratio - 1.0).abs().max_element() < 3e-4, "{ratio}");
}
