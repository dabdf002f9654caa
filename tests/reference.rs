//! Compares renders with those of another renderer: the means of pixel blocks must agree within the noise of both.
//!
//! The references are in `tests/reference/`; `make.py` there creates and describes them.

mod common;

use std::path::Path;

use common::{
    blocks::{BATCHES, Blocks, compare, estimate},
    file, load, sized,
};
use raysieve::scene::{Focus, Projection, Scene, Surface};

/// Width and height of the renders in pixels.
const SIZE: u32 = 256;
#[test]
fn cornell_agrees_with_the_reference() {
    agrees("a_cornell_d8", &cornell(7), 6);
}

#[test]
fn direct_light_in_cornell_agrees_with_the_reference() {
    agrees("a_cornell_d2", &cornell(1), 6);
}

#[test]
fn a_thin_lens_agrees_with_the_reference() {
    agrees("g_dof", &load("tests/scenes/g_dof.ron"), 4);
}

#[test]
fn gold_glass_and_mirror_agree_with_the_reference() {
    // Caustics are too rare for this sample count to estimate its own spread, so the reference's spread is used.
    const SAMPLES: u32 = 16_384;
    let (spp, reference) = (3, read("b_cornell_spheres"));
    let mut ours = estimate(&square(&scene_of("cornell_spheres")), spp);
    let sample_ratio = f64::from(SAMPLES) / f64::from(BATCHES * spp);
    ours.variance = reference
        .variance
        .iter()
        .map(|v| v * sample_ratio)
        .collect();
    let comparison = compare(&ours, &reference);
    println!("b_cornell_spheres: {comparison:.4?}");
    assert_eq!(comparison.check(), Ok(()), "{comparison:?}");
}

#[test]
fn rough_metal_agrees_with_the_reference() {
    agrees(
        "d_furnace_roughconductor",
        &scene_of("furnace_roughconductor"),
        3,
    );
}

#[test]
fn rough_glass_agrees_with_the_reference() {
    agrees(
        "d_furnace_roughdielectric",
        &scene_of("furnace_roughdielectric"),
        3,
    );
}

#[test]
fn spheres_under_an_even_sky_agree_with_the_reference() {
    // With fewer samples, the caustic below the glass does not estimate its own spread.
    agrees("e_env_const", &scene_of("env_const"), 6);
}

#[test]
fn spheres_under_a_sky_from_white_to_blue_agree_with_the_reference() {
    agrees("e_env_gradient", &scene_of("env_gradient"), 3);
}

/// Shows that the comparison detects energy compensation, because the references compute single scattering only.
#[test]
fn rough_metal_with_energy_compensation_does_not_agree() {
    let mut scene = scene_of("furnace_roughconductor");
    for material in &mut scene.materials {
        if let Surface::RoughConductor { roughness, .. } = material {
            roughness.energy_compensation = true;
        }
    }
    disagrees("d_furnace_roughconductor", &scene);
}

/// Loads the scene that corresponds to a reference, at the reference's size.
fn scene_of(name: &str) -> Scene {
    load(format!("tests/scenes/{name}.ron"))
}

/// Shows that the comparison is sensitive: an image that is only slightly wrong does not agree.
#[test]
fn a_missing_bounce_does_not_agree() {
    disagrees("a_cornell_d8", &cornell(6));
}

#[test]
fn a_lamp_brighter_by_two_percent_does_not_agree() {
    let mut scene = cornell(7);
    for material in &mut scene.materials {
        if let Surface::Emissive { radiance, .. } = material {
            *radiance *= 1.02;
        }
    }
    disagrees("a_cornell_d8", &scene);
}

#[test]
fn a_lens_wider_by_half_a_degree_does_not_agree() {
    let mut scene = cornell(7);
    let Projection::Perspective { fov_degrees } = &mut scene.camera.projection else {
        panic!("no perspective");
    };
    *fov_degrees += 0.5;
    disagrees("a_cornell_d8", &scene);
}

#[test]
fn a_lens_focused_elsewhere_does_not_agree() {
    let mut scene = load("tests/scenes/g_dof.ron");
    let lens = scene.camera.lens.as_mut().expect("a lens");
    lens.focus = Focus::Distance(4.8);
    disagrees("g_dof", &scene);
}

fn cornell(max_bounces: u32) -> Scene {
    Scene {
        max_bounces,
        ..load("scenes/cornell.ron")
    }
}

/// Returns the scene at the size of the references.
fn square(scene: &Scene) -> Scene {
    sized(scene.clone(), SIZE, SIZE, 1)
}

/// Asserts that a scene's image agrees with a reference.
fn agrees(reference: &str, scene: &Scene, spp: u32) {
    let comparison = compare(&estimate(&square(scene), spp), &read(reference));
    println!("{reference}: {comparison:.4?}");
    assert_eq!(comparison.check(), Ok(()), "{reference}: {comparison:?}");
}

/// Asserts that a scene's image does not agree with a reference.
fn disagrees(reference: &str, scene: &Scene) {
    let comparison = compare(&estimate(&square(scene), 3), &read(reference));
    println!("{reference}: {comparison:.4?}");
    comparison.check().unwrap_err();
}

/// Reads the block means and their variances from the files of a reference.
fn read(name: &str) -> Blocks {
    let values = |path: &Path| -> Vec<f64> {
        let colors = common::colors(path).into_iter();
        colors.flatten().map(f64::from).collect()
    };
    let mean = values(&file(&format!("tests/reference/{name}.exr")));
    let error = values(&file(&format!("tests/reference/{name}_se.exr")));
    assert_eq!((mean.len(), error.len()), (3 * 32 * 32, 3 * 32 * 32));
    Blocks {
        mean,
        variance: error.iter().map(|error| error * error).collect(),
    }
}
