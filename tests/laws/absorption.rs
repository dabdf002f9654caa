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
