//! White materials of extreme parameters in white furnaces: a body that absorbs nothing is invisible there.

use glam::{DVec3, Vec3};
use raysieve::film::picture::Picture;

use crate::{
    common::{on_cpu, render, scene},
    mean,
};

/// Roughnesses of all tests: smooth, nearly smooth, medium and as rough as possible.
const ROUGHNESSES: [f64; 4] = [0.0, 0.05, 0.3, 1.0];

/// Renders a sphere of a material that covers most of the picture, under a sky of radiance 1.
fn furnace(materials: &str, spp: u32) -> Picture {
    let scene = scene(&format!(
        r#"(
            size: (16, 16), spp: {spp}, max_bounces: 4096, sky: (1, 1, 1),
            camera: (origin: (0, 0, 5), target: (0, 0, 0), width: 1.9),
            materials: {{ {materials} }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
        )"#
    ));
    render(&scene, &on_cpu()).0
}

/// Returns a description of the mean of a picture if it is not white within the tolerance.
fn not_white(name: &str, picture: &Picture, tolerance: f64) -> Option<String> {
    let mean = mean(picture);
    println!("{name}: {mean}");
    let off = (mean - DVec3::ONE).abs().max_element() > tolerance;
    off.then(|| format!("{name}: the mean is {mean}"))
}

/// Light in glass of a high index meets the surface some hundred times before it leaves. Each sample has the weight 1,
/// so that each pixel is white.
#[test]
fn rough_glass_of_any_index_is_invisible() {
    let mut wrong = Vec::new();
    for ior in [0.1, 0.6, 1.5, 2.4, 4.0, 10.0] {
        for roughness in [0.05_f64, 0.3, 0.5, 1.0] {
            for material in [
                format!("Principled(transmission: 1, ior: {ior}, roughness: {roughness})"),
                format!(
                    "RoughDielectric(ior: {ior}, alpha: {})",
                    roughness * roughness
                ),
            ] {
                let picture = furnace(&format!(r#""m": {material}"#), 8);
                if roughness < 0.1 {
                    // Total reflection keeps a few paths in nearly smooth spheres for more than all bounces.
                    wrong.extend(not_white(&material, &picture, 0.006));
                    continue;
                }
                for (index, pixel) in picture.pixels.iter().enumerate() {
                    if (*pixel - Vec3::ONE).abs().max_element() > 1e-3 {
                        wrong.push(format!("{material}: pixel {index} is {pixel}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn white_materials_of_any_roughness_are_invisible() {
    let mut wrong = Vec::new();
    for roughness in ROUGHNESSES {
        let alpha = (roughness * roughness).max(1e-3);
        let principled = |fields: &str| format!("Principled(roughness: {roughness}, {fields})");
        for (material, tolerance) in [
            (principled(""), 0.005),
            (principled("metallic: 1"), 0.005),
            (principled("metallic: 0.5, transmission: 0.5"), 0.01),
            (principled("transmission: 1, thin: true"), 0.005),
            (principled("diffuse_transmission: 0.5"), 0.005),
            (principled("metallic: 1, anisotropy: 0.7"), 0.01),
            (principled("transmission: 1, dispersion: 5"), 0.01),
            (principled("metallic: 1, iridescence: 1"), 0.01),
            (principled("transmission: 1, iridescence: 1"), 0.015),
            (
                principled("transmission: 1, thin: true, iridescence: 1"),
                0.01,
            ),
            (principled("clearcoat: 1, clearcoat_roughness: 0.3"), 0.005),
            (principled("metallic: 1, clearcoat: 1"), 0.01),
            (principled("transmission: 1, clearcoat: 1"), 0.015),
            (
                format!("CoatedDiffuse(albedo: (1, 1, 1), alpha: {alpha})"),
                0.005,
            ),
            (
                format!("RoughConductor(color: (1, 1, 1), alpha: {alpha})"),
                0.005,
            ),
        ] {
            // Each path chooses one channel.
            let spp = if material.contains("dispersion") {
                1024
            } else {
                64
            };
            let picture = furnace(&format!(r#""m": {material}"#), spp);
            wrong.extend(not_white(&material, &picture, tolerance));
        }
    }
    let blend = r#""a": Principled(roughness: 1, transmission: 1), "b": Diffuse(albedo: (1, 1, 1)),
        "m": Blend(first: "a", second: "b", weight: 0.5)"#;
    wrong.extend(not_white("a blend", &furnace(blend, 64), 0.005));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sheen takes from the layers below what it reflects, on average over the directions.
#[test]
fn white_sheen_over_white_materials_is_invisible() {
    let mut wrong = Vec::new();
    for roughness in ROUGHNESSES {
        for (sheen, strength) in [(0.3, 1.0), (0.6, 0.5), (1.0, 1.0), (1.0, 0.5)] {
            for base in [
                "",
                "metallic: 1,",
                "metallic: 1, anisotropy: 0.7,",
                "diffuse_transmission: 0.5, thin: true,",
                "transmission: 1, thin: true,",
            ] {
                let material = format!(
                    "Principled({base} roughness: {roughness}, sheen_roughness: {sheen}, \
                     sheen_color: ({strength}, {strength}, {strength}))"
                );
                let picture = furnace(&format!(r#""m": {material}"#), 64);
                wrong.extend(not_white(&material, &picture, 0.01));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The diffuse base below a film keeps its hue, as `KHR_materials_iridescence` demands. It receives what the strongest
/// channel of the film lets pass, so that the other channels lose light. `docs/experiments/083-light-that-materials-lose.md` has them.
#[test]
fn films_on_white_plastic_lose_the_light_of_the_weaker_channels() {
    for (film, least) in [("", 0.96), ("iridescence_ior: 1.8,", 0.91)] {
        for roughness in ROUGHNESSES {
            let material = format!("Principled(roughness: {roughness}, {film} iridescence: 1)");
            let mean = mean(&furnace(&format!(r#""m": {material}"#), 64));
            println!("{material}: {mean}");
            assert!(
                mean.min_element() > least && mean.max_element() < 1.005,
                "{material}: the mean is {mean}"
            );
        }
    }
}
