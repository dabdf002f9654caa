//! What a render says of its own noise, against the error that it has.

use std::{path::Path, time::Duration};

use raysieve::{
    noise::{Noise, mean_difference},
    picture::Picture,
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

/// A picture of so many samples a pixel, and the pictures of each doubling on the way.
fn render(path: &str, spp: u32, seed: u32) -> (Noise, Picture) {
    let mut scene = Scene::load(Path::new(path)).unwrap();
    scene.set_size((SIDE, SIDE));
    (scene.spp, scene.seed) = (spp, seed);
    scene.check_settings().unwrap();
    let settings = Settings {
        backend: BackendChoice::Cpu,
        threads: Some(1),
        // One sample a wave.
        wave_size: Some(SIDE * SIDE),
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &settings).unwrap();
    let mut noise = Noise::new();
    loop {
        let goes_on = renderer.advance_for(STEP).unwrap();
        let samples = renderer.stats().spp;
        if noise.wants(samples) {
            noise.look(samples, &renderer.picture().unwrap());
        }
        if !goes_on {
            return (noise, renderer.picture().unwrap());
        }
    }
}

/// Of the pictures.
const SIDE: u32 = 40;

/// Shorter than a wave.
const STEP: Duration = Duration::from_micros(50);

#[test]
fn estimates_are_about_the_true_error() {
    for path in ["scenes/cornell.ron", "scenes/spheres.ron"] {
        let (_, truth) = render(path, 2048, 1);
        for spp in [16, 64] {
            let ratios: Vec<f64> = (2..5)
                .map(|seed| {
                    let (noise, picture) = render(path, spp, seed);
                    noise.at(spp).unwrap() / mean_difference(&picture, &truth)
                })
                .collect();
            let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
            assert!(
                (0.8..2.0).contains(&mean),
                "{path}, {spp} samples: {ratios:?}"
            );
        }
    }
}

#[test]
fn independent_samples_are_told_to_a_hundredth() {
    // Uniform numbers: the mean of n has the variance 1/(12 n).
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let pixels = 40_000;
    let mut sums = vec![glam::Vec3::ZERO; pixels];
    let mut noise = Noise::new();
    assert_eq!(noise.at(1), None);
    let mut last = None;
    for samples in 1..=64 {
        for sum in &mut sums {
            *sum += glam::Vec3::new(random(), random(), random());
        }
        if noise.wants(samples) {
            let picture = Picture {
                width: 200,
                height: 200,
                pixels: sums.iter().map(|&sum| sum / samples as f32).collect(),
            };
            noise.look(samples, &picture);
            last = Some(picture);
        }
    }
    let grey = Picture {
        width: 200,
        height: 200,
        pixels: vec![glam::Vec3::splat(0.5); pixels],
    };
    let error = mean_difference(&last.unwrap(), &grey);
    let told = noise.at(64).unwrap();
    assert!((told / error - 1.0).abs() < 0.01, "{told} for {error}");
    // A quarter of the error takes sixteen times the samples.
    assert!((noise.at(1024).unwrap() / told - 0.25).abs() < 1e-9);
}
