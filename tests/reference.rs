//! Compares renders with those of another renderer: the means of pixel blocks must agree within the noise of both.
//!
//! The references are in `tests/reference/`; `make.py` there creates and describes them.

mod common;

use std::path::Path;

use common::{file, load, on_cpu, render, sized};
use raysieve::scene::{Focus, Projection, Scene, Surface};

/// Side of a block in pixels. The references have 32 × 32 blocks.
const BLOCK: usize = 8;
/// Width and height of the renders in pixels.
const SIZE: u32 = 256;
/// Number of renders of a scene, each with its own seed. Their spread gives the standard error of their mean.
const BATCHES: u32 = 16;

/// Mean radiance of each block and channel, and the variance of that mean.
struct Blocks {
    mean: Vec<f64>,
    variance: Vec<f64>,
}

/// The difference of two images.
#[derive(Debug)]
struct Comparison {
    /// Fraction of the blocks that differ by less than four standard errors.
    within_four: f64,
    /// Root mean square of the blocks' differences in standard errors; about 1 if both renderers agree.
    rms: f64,
    /// Difference of the images' means per channel, in standard errors.
    mean_z: [f64; 3],
    /// Difference of the images' means per channel, relative to the reference's mean.
    mean_ratio: [f64; 3],
    /// Largest relative difference of a block in which neither image has noise.
    noiseless: f64,
}

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
    let mut ours = estimate(&scene_of("cornell_spheres"), spp);
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
    agrees("e_env_const", &scene_of("env_const"), 3);
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

/// Asserts that a scene's image agrees with a reference.
fn agrees(reference: &str, scene: &Scene, spp: u32) {
    let comparison = compare(&estimate(scene, spp), &read(reference));
    println!("{reference}: {comparison:.4?}");
    assert_eq!(comparison.check(), Ok(()), "{reference}: {comparison:?}");
}

/// Asserts that a scene's image does not agree with a reference.
fn disagrees(reference: &str, scene: &Scene) {
    let comparison = compare(&estimate(scene, 3), &read(reference));
    println!("{reference}: {comparison:.4?}");
    comparison.check().unwrap_err();
}

impl Comparison {
    /// Returns `Err` with the reason if the images cannot be of the same scene.
    fn check(&self) -> Result<(), String> {
        let mut problems = Vec::new();
        let mut expect = |holds: bool, problem: &str| {
            if !holds {
                problems.push(problem.to_owned());
            }
        };
        expect(
            self.within_four >= 0.99,
            "more than 1 % of the blocks are 4 standard errors off",
        );
        // Estimating the spread from 16 batches makes it sqrt(15 / 13) = 1.07 if all noise is ours.
        expect(self.rms < 1.15, "the blocks differ by more than noise");
        expect(
            self.mean_z.iter().all(|z| z.abs() < 4.0),
            "the means differ by more than noise",
        );
        expect(
            self.mean_ratio.iter().all(|ratio| ratio.abs() < 0.01),
            "the means differ by more than 1 %",
        );
        expect(self.noiseless < 1e-4, "blocks without noise differ");
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.join("; "))
        }
    }
}

/// Compares the means of blocks with those of a reference.
fn compare(ours: &Blocks, reference: &Blocks) -> Comparison {
    let (mut noisy, mut within, mut squares, mut noiseless) = (0, 0, 0.0, 0.0_f64);
    let (mut difference, mut variance, mut light) = ([0.0; 3], [0.0; 3], [0.0; 3]);
    for block in 0..reference.mean.len() {
        let offset = ours.mean[block] - reference.mean[block];
        let spread = ours.variance[block] + reference.variance[block];
        difference[block % 3] += offset;
        variance[block % 3] += spread;
        light[block % 3] += reference.mean[block];
        if spread > 0.0 {
            let z = offset / spread.sqrt();
            noisy += 1;
            within += u32::from(z.abs() < 4.0);
            squares += z * z;
        } else {
            noiseless = noiseless.max(offset.abs() / reference.mean[block].max(1e-3));
        }
    }
    let total = f64::from(noisy).max(1.0);
    let channels = [0, 1, 2];
    Comparison {
        within_four: if noisy == 0 {
            1.0
        } else {
            f64::from(within) / total
        },
        rms: (squares / total).sqrt(),
        mean_z: channels.map(|c: usize| difference[c] / variance[c].sqrt().max(f64::MIN_POSITIVE)),
        mean_ratio: channels.map(|c: usize| difference[c] / light[c]),
        noiseless,
    }
}

/// Renders a scene with [`BATCHES`] seeds and returns the mean and the variance of the mean.
fn estimate(scene: &Scene, spp: u32) -> Blocks {
    let scene = sized(scene.clone(), SIZE, SIZE, spp);
    let batches: Vec<Vec<f64>> = (0..BATCHES)
        .map(|seed| {
            let (picture, _) = render(
                &Scene {
                    seed,
                    ..scene.clone()
                },
                &on_cpu(),
            );
            block_means(picture.pixels.iter().map(|pixel| pixel.to_array()))
        })
        .collect();
    let count = f64::from(BATCHES);
    let of_block = |statistic: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        let batch =
            |block: usize| -> Vec<f64> { batches.iter().map(|batch| batch[block]).collect() };
        (0..batches[0].len())
            .map(|block| statistic(&batch(block)))
            .collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let variance = |values: &[f64]| {
        let mean = mean(values);
        values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / (count - 1.0)
            / count
    };
    Blocks {
        mean: of_block(&mean),
        variance: of_block(&variance),
    }
}

/// Returns the mean of each block and channel of an image.
fn block_means(pixels: impl Iterator<Item = [f32; 3]>) -> Vec<f64> {
    let blocks = SIZE as usize / BLOCK;
    let mut means = vec![0.0; 3 * blocks * blocks];
    for (index, pixel) in pixels.enumerate() {
        let (x, y) = (index % SIZE as usize, index / SIZE as usize);
        for (channel, value) in pixel.into_iter().enumerate() {
            means[3 * (y / BLOCK * blocks + x / BLOCK) + channel] +=
                f64::from(value) / (BLOCK * BLOCK) as f64;
        }
    }
    means
}

/// Reads the block means and their variances from the files of a reference.
fn read(name: &str) -> Blocks {
    let values = |path: &Path| -> Vec<f64> {
        let picture =
            image::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        picture
            .into_rgb32f()
            .iter()
            .map(|&value| f64::from(value))
            .collect()
    };
    let mean = values(&file(&format!("tests/reference/{name}.exr")));
    let error = values(&file(&format!("tests/reference/{name}_se.exr")));
    assert_eq!((mean.len(), error.len()), (3 * 32 * 32, 3 * 32 * 32));
    Blocks {
        mean,
        variance: error.iter().map(|error| error * error).collect(),
    }
}
