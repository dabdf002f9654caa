//! What comes through a body that absorbs, in closed form.

use glam::DVec3;

use crate::{
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

const LEFT: DVec3 = DVec3::new(0.9, 0.5, 0.1);
/// After so many metres.
const DISTANCE: f64 = 0.5;
const THICK: f64 = 0.8;

/// What a slab of `material` shows of a sky of radiance 1 behind and before it, head on.
fn slab(material: &str) -> raysieve::scene::Scene {
    scene(&format!(
        r#"(
            size: (8, 8), spp: 256, max_bounces: 64, sky: (1, 1, 1),
            camera: (origin: (0, 0, 20), target: (0, 0, 0), fov: 0.01),
            materials: {{ "slab": {material} }},
            objects: [Box(center: (0, 0, 0), half_size: (2, 2, {}), material: "slab")],
        )"#,
        THICK / 2.0
    ))
}

/// By Beer and Lambert: what is left after a distance, to the power of how often it fits.
fn left_of_slab() -> DVec3 {
    LEFT.powf(THICK / DISTANCE)
}

#[test]
fn a_slab_that_bends_nothing_lets_through_by_beer_and_lambert() {
    for material in ["Dielectric(ior: 1", "RoughDielectric(ior: 1, alpha: 0.3"] {
        let slab = slab(&format!(
            "{material}, absorption: ((0.9, 0.5, 0.1), {DISTANCE}))"
        ));
        let seen = mean(&render(&slab, &on_cpu()).0);
        let apart = (seen / left_of_slab() - 1.0).abs().max_element();
        assert!(
            apart < 3e-5,
            "{material}: {seen}, expected {}",
            left_of_slab()
        );
    }
}

/// Light is reflected to and fro between the sides of glass: of one crossing τ and a side's reflectance R all that is seen
/// is R + (1 − R)² τ (1 + R τ + R² τ² + …).
#[test]
fn a_slab_of_glass_absorbs_on_every_way_across() {
    let reflected = 0.04;
    let through = left_of_slab();
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

/// A wall without a volume, and what lets nothing through, absorb nothing.
#[test]
fn what_has_no_inside_absorbs_nothing() {
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
