//! Every light sampling strategy converges to the same image.

use std::sync::Arc;

use glam::DVec3;
use raysieve::scene::{DirectLight, Scene};

use crate::{
    BATCHES,
    common::{on_cpu, render, scene},
};

/// Width and height of the images in pixels.
const SIZE: u32 = 24;
/// Side of a block of pixels that is compared.
const BLOCK: u32 = 8;
/// Number of blocks in an image.
const BLOCKS: usize = (SIZE / BLOCK * SIZE / BLOCK) as usize;

/// Compares light sampling, BSDF sampling and both. Both together must have the least noise.
#[test]
fn all_sampling_strategies_converge_to_one_image() {
    let room = scene(
        r#"(
            size: (24, 24), spp: 24, max_bounces: 3, sky: (0.1, 0.1, 0.1),
            camera: (origin: (0, 1, 4.5), target: (0, 0.3, 0), fov: 40),
            materials: {
                "floor": CoatedDiffuse(albedo: (0.6, 0.5, 0.4), alpha: 0.4),
                "wall": Diffuse(albedo: (0.3, 0.5, 0.7)),
                "gold": RoughConductor(preset: "gold", alpha: 0.4),
                "frost": RoughDielectric(ior: 1.5, alpha: 0.5),
                "paint": Principled(base_color: (0.7, 0.2, 0.3), roughness: 0.7, metallic: 0.5, transmission: 0.3, clearcoat: 1, clearcoat_roughness: 0.5),
                "film": Principled(base_color: (0.9, 0.9, 0.7), roughness: 0.7, transmission: 1, thin: true),
                "lamp": Emissive(radiance: (3, 4, 5)),
            },
            objects: [
                Quad(corner: (-3, -0.6, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "floor"),
                Quad(corner: (-3, -0.6, -1.5), edge_u: (6, 0, 0), edge_v: (0, 4, 0), material: "wall"),
                Sphere(center: (-1, 0, 0), radius: 0.6, material: "gold"),
                Sphere(center: (0.3, 0, 0), radius: 0.6, material: "frost"),
                Sphere(center: (1.5, 0, 0), radius: 0.5, material: "paint"),
                Quad(corner: (-0.8, -0.6, 1.2), edge_u: (0.8, 0, 0.2), edge_v: (0, 0.7, 0), material: "film"),
                Quad(corner: (-2, 2.4, -1), edge_u: (4, 0, 0), edge_v: (0, 0, 2.5), material: "lamp"),
                Sphere(center: (-1.6, 0.9, 0.8), radius: 0.3, material: "lamp"),
            ],
        )"#,
    );
    let [both, lights, bsdf] =
        [DirectLight::Both, DirectLight::Lights, DirectLight::Bsdf].map(|direct_light| {
            blocks(&Scene {
                direct_light,
                ..room.clone()
            })
        });
    for (name, other) in [("lights", &lights), ("bsdf", &bsdf)] {
        expect_alike(name, &both, other);
    }
    let noise = |blocks: &[(DVec3, DVec3)]| -> f64 {
        blocks.iter().map(|block| block.1.element_sum()).sum()
    };
    let [of_both, of_lights, of_bsdf] = [&both, &lights, &bsdf].map(|blocks| noise(blocks));
    println!("variance: both {of_both}, lights {of_lights}, bsdf {of_bsdf}");
    assert!(of_both < of_lights && of_both < of_bsdf);
}

/// Checks a clear coat with its own normal map, which must not reflect more light than arrives.
#[test]
fn coats_with_their_own_normals_agree_in_all_strategies() {
    let folder = tempfile::tempdir().unwrap();
    let image = |name: &str, colors: [[u8; 3]; 2]| {
        let file = folder.path().join(name);
        image::RgbImage::from_fn(2, 1, |x, _| image::Rgb(colors[x as usize]))
            .save(&file)
            .unwrap();
        format!("Texture(file: {file:?})")
    };
    let below = image("below.png", [[90, 150, 240], [170, 100, 240]]);
    let coat = image("coat.png", [[150, 180, 230], [128, 128, 255]]);
    let balls = |fields: &str, base_color: &str| {
        scene(&format!(
            r#"(
                size: (24, 24), spp: 24, max_bounces: 2, {fields},
                camera: (origin: (0, 1, 4.5), target: (0, 0.1, 0), fov: 30),
                materials: {{
                    "paint": Principled(base_color: {base_color}, roughness: 0.6, clearcoat: 1, clearcoat_roughness: 0.4, normal: {below}, clearcoat_normal: {coat}),
                    "film": Principled(base_color: {base_color}, roughness: 0.6, transmission: 0.7, thin: true, clearcoat: 0.7, clearcoat_roughness: 0.5, clearcoat_normal: {coat}),
                    "lamp": Emissive(radiance: (3, 4, 5)),
                }},
                objects: [
                    Sphere(center: (-0.6, 0, 0), radius: 0.6, material: "paint"),
                    Quad(corner: (0.1, -0.6, 0), edge_u: (1, 0, 0.3), edge_v: (0, 1.2, 0), material: "film"),
                    Quad(corner: (-2, 2.4, -1), edge_u: (4, 0, 0), edge_v: (0, 0, 2.5), material: "lamp"),
                ],
            )"#
        ))
    };
    let room = balls("sky: (0.1, 0.1, 0.1)", "(0.7, 0.3, 0.2)");
    let [both, lights, bsdf] =
        [DirectLight::Both, DirectLight::Lights, DirectLight::Bsdf].map(|direct_light| {
            blocks(&Scene {
                direct_light,
                ..room.clone()
            })
        });
    expect_alike("lights", &both, &lights);
    expect_alike("bsdf", &both, &bsdf);
    // Nothing is brighter than its surroundings, in which lamp and sky have the radiance 1.
    let mut furnace = balls("sky: (1, 1, 1)", "(1, 1, 1)");
    Arc::make_mut(&mut furnace.triangles).retain(|triangle| triangle.material != 2);
    for (mean, variance) in blocks(&furnace) {
        let lower_bound = (mean - 5.0 * variance.map(f64::sqrt)).max_element();
        assert!(lower_bound <= 1.0, "{mean}");
    }
}

/// Compares emissive instances that are rotated, mirrored, or stretched, and uniform or textured.
///
/// They must also agree with the same triangles placed directly in the scene.
#[test]
fn emissive_instances_agree_in_all_strategies() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("halves.png");
    image::RgbImage::from_fn(2, 1, |x, _| {
        image::Rgb(if x == 0 {
            [255, 40, 90]
        } else {
            [10, 200, 255]
        })
    })
    .save(&file)
    .unwrap();
    let room = |lamp: &str, objects: &str| {
        scene(&format!(
            r#"(
                size: (24, 24), spp: 12, max_bounces: 3, sky: (0.1, 0.1, 0.1),
                camera: (origin: (0, 1, 4.5), target: (0, 0.3, 0), fov: 40),
                materials: {{
                    "floor": CoatedDiffuse(albedo: (0.6, 0.5, 0.4), alpha: 0.4),
                    "wall": Diffuse(albedo: (0.3, 0.5, 0.7)),
                    "gold": RoughConductor(preset: "gold", alpha: 0.4),
                    "lamp": {lamp},
                }},
                objects: [
                    Quad(corner: (-3, -0.6, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "floor"),
                    Quad(corner: (-3, -0.6, -1.5), edge_u: (6, 0, 0), edge_v: (0, 4, 0), material: "wall"),
                    Sphere(center: (-1, 0, 0), radius: 0.6, material: "gold"),
                    {objects}
                ],
            )"#
        ))
    };
    let ball = r#"DisplacedSphere(rings: 6, segments: 9, amplitudes: (0, 0), material: "lamp""#;
    let instanced = format!(
        r#"Instances(of: {ball}), at: [
            (scale: 0.4, translate: (1, 1.5, 0)),
            (scale: (0.2, 0.2, -0.2), rotate: (0, 40, 0), translate: (-1.6, 0.9, 0.8)),
        ])"#
    );
    // A ball that is mirrored, or rotated by one of its segments, coincides with itself.
    let flat = format!(
        r#"{ball}, center: (1, 1.5, 0), radius: 0.4), {ball}, center: (-1.6, 0.9, 0.8), radius: 0.2)"#
    );
    let even = "Emissive(radiance: (6, 8, 10))";
    let uneven =
        format!("Emissive(radiance: Texture(file: {file:?}, factor: 10, filter: Nearest))");
    let pane =
        r#"Quad(corner: (-2, 2.4, -1), edge_u: (4, 0, 0), edge_v: (0, 0, 2.5), material: "lamp")"#;
    let direct = room(even, &flat);
    assert!(direct.instances.is_empty());
    let direct = blocks(&direct);
    for (case, room) in [
        ("even", room(even, &instanced)),
        ("a pane of two colors", room(&uneven, pane)),
    ] {
        assert!(!room.instances.is_empty());
        let [both, lights, bsdf] =
            [DirectLight::Both, DirectLight::Lights, DirectLight::Bsdf].map(|direct_light| {
                blocks(&Scene {
                    direct_light,
                    ..room.clone()
                })
            });
        expect_alike(&format!("{case}, lights"), &both, &lights);
        expect_alike(&format!("{case}, bsdf"), &both, &bsdf);
        if case == "even" {
            expect_alike("triangles in the scene", &both, &direct);
        }
        let noise = |blocks: &[(DVec3, DVec3)]| -> f64 {
            blocks.iter().map(|block| block.1.element_sum()).sum()
        };
        let [of_both, of_bsdf] = [&both, &bsdf].map(|blocks| noise(blocks));
        println!("{case}: variance: both {of_both}, bsdf {of_bsdf}");
        assert!(of_both < 0.5 * of_bsdf, "{case}: {of_both}, {of_bsdf}");
    }
}

/// Asserts by a z-test of every block that two images have the same mean.
fn expect_alike(name: &str, one: &[(DVec3, DVec3)], other: &[(DVec3, DVec3)]) {
    let (mut squares, mut worst) = (0.0, 0.0_f64);
    for (one, other) in one.iter().zip(other) {
        let z = (one.0 - other.0) / (one.1 + other.1).map(f64::sqrt);
        squares += z.length_squared() / 3.0;
        worst = worst.max(z.abs().max_element());
    }
    let rms = (squares / BLOCKS as f64).sqrt();
    println!("{name}: rms {rms}, worst {worst}");
    assert!(worst < 5.0 && rms < 1.6, "{name}: rms {rms}, worst {worst}");
}

/// Returns the mean radiance of each block of pixels, and its variance.
fn blocks(scene: &Scene) -> Vec<(DVec3, DVec3)> {
    let batches: Vec<Vec<DVec3>> = (0..BATCHES)
        .map(|seed| {
            let scene = Scene {
                seed,
                ..scene.clone()
            };
            let (picture, stats) = render(&scene, &on_cpu());
            assert_eq!(stats.rejected_samples, 0);
            let mut means = vec![DVec3::ZERO; BLOCKS];
            for (index, pixel) in (0..).zip(&picture.pixels) {
                let (x, y) = (index % SIZE, index / SIZE);
                let block = y / BLOCK * (SIZE / BLOCK) + x / BLOCK;
                means[block as usize] += pixel.as_dvec3() / f64::from(BLOCK * BLOCK);
            }
            means
        })
        .collect();
    let count = f64::from(BATCHES);
    (0..BLOCKS)
        .map(|block| {
            let mean = batches.iter().map(|batch| batch[block]).sum::<DVec3>() / count;
            let squares: DVec3 = batches
                .iter()
                .map(|batch| (batch[block] - mean) * (batch[block] - mean))
                .sum();
            (mean, squares / (count - 1.0) / count)
        })
        .collect()
}
