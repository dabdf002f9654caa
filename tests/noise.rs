//! Tests of noise estimates and of adaptive sampling to a noise target, against the true error.

use std::{path::Path, time::Duration};

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use raysieve::{
    adaptive::noise_estimate::{NoiseEstimator, mean_difference},
    film::picture::Picture,
    render::{
        part::{SamplePosition, Samples},
        renderer::{BackendChoice, Renderer, Settings},
        stats::{NoiseStats, Stats},
    },
    scene::Scene,
};

/// Renders `spp` samples per pixel and returns the noise estimate and the image; the estimate is updated at each
/// doubling.
fn render(path: &str, spp: u32, seed: u32) -> (NoiseEstimator, Picture) {
    let mut scene = Scene::load(Path::new(path)).unwrap();
    scene.set_size((SIDE, SIDE));
    (scene.spp, scene.seed) = (spp, seed);
    scene.check_settings().unwrap();
    let settings = Settings {
        backend: BackendChoice::Cpu,
        threads: Some(1),
        // One sample per wave.
        wave_size: Some(SIDE * SIDE),
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &settings).unwrap();
    let mut noise = NoiseEstimator::new();
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

/// Width and height of the test images in pixels.
const SIDE: u32 = 40;

/// Time limit of one step; shorter than a wave, so that every step is one wave.
const STEP: Duration = Duration::from_micros(50);

#[test]
fn estimates_are_close_to_the_true_error() {
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
fn estimates_of_independent_samples_are_accurate_to_one_percent() {
    // Each pixel is a mean of n uniform numbers, whose variance is 1/(12 n).
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut random = || random.random::<f32>();
    let pixels = 40_000;
    let mut sums = vec![glam::Vec3::ZERO; pixels];
    let mut noise = NoiseEstimator::new();
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
    let estimate = noise.at(64).unwrap();
    assert!(
        (estimate / error - 1.0).abs() < 0.01,
        "{estimate} for {error}"
    );
    // A quarter of the error needs sixteen times the samples.
    assert!((noise.at(1024).unwrap() / estimate - 0.25).abs() < 1e-9);
}

/// Renders a scene to a noise target and returns the finished renderer with its statistics.
fn to_noise(mut scene: Scene, side: u32, spp: u32, noise: f32) -> (Renderer, Stats) {
    scene.set_size((side, side));
    scene.spp = spp;
    let settings = Settings {
        backend: BackendChoice::Cpu,
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &settings).unwrap();
    renderer.set_noise(Some(noise)).unwrap();
    while renderer.advance().unwrap() {}
    let stats = renderer.finish().unwrap();
    (renderer, stats)
}

/// Returns the noise statistics. Panics if the render had no noise target.
fn noise_stats(stats: &Stats) -> &NoiseStats {
    stats.noise.as_ref().unwrap()
}

/// Returns the mean error relative to the brightness plus `dark`, the measure that the noise target uses.
fn error(shown: &Picture, truth: &Picture, dark: f32) -> f64 {
    let sum = |pixel: glam::Vec3| f64::from(pixel.x + pixel.y + pixel.z);
    let pixels = shown.pixels.iter().zip(&truth.pixels);
    let errors =
        pixels.map(|(&shown, &truth)| sum((shown - truth).abs()) / (sum(truth) + f64::from(dark)));
    errors.sum::<f64>() / truth.pixels.len() as f64
}

#[test]
fn pixels_stop_at_the_requested_error() {
    for path in ["scenes/cornell.ron", "scenes/spheres.ron"] {
        let (_, truth) = render(path, 2048, 1);
        let scene = Scene {
            seed: 5,
            ..Scene::load(Path::new(path)).unwrap()
        };
        let wanted = 0.06;
        let (mut renderer, stats) = to_noise(scene, SIDE, 4096, wanted);
        let noise = noise_stats(&stats);
        assert_eq!(noise.unconverged_pixels, 0, "{path}: {noise:?}");
        let estimated = noise.estimated.unwrap();
        let error = error(&renderer.picture().unwrap(), &truth, noise.dark);
        println!("{path}: {error}, {noise:?}");
        assert!(error < f64::from(wanted), "{path}: {error}, {noise:?}");
        assert!(estimated < f64::from(wanted), "{path}: {noise:?}");
        assert!(
            (0.8..3.0).contains(&(estimated / error)),
            "{path}: {error}, {noise:?}"
        );
        // Some pixels need more samples than others.
        assert!(
            f64::from(noise.max_samples) > 2.0 * noise.mean_samples,
            "{noise:?}"
        );
        let counts = renderer.sample_counts().unwrap();
        let taken: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        assert_eq!(taken, stats.paths);
    }
}

/// Loads a scene from its RON text.
fn scene_of_text(text: &str) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.ron");
    std::fs::write(&path, text).unwrap();
    Scene::load(&path).unwrap()
}

#[test]
fn a_scene_without_noise_finishes_at_once() {
    let black = r#"(
        camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40),
        materials: { "clay": Diffuse(albedo: (0.7, 0.5, 0.3)) },
        objects: [Sphere(center: (0, 0, 0), radius: 1, material: "clay")],
    )"#;
    for scene in [
        scene_of_text(black),
        Scene::load(Path::new("tests/scenes/furnace_diffuse.ron")).unwrap(),
    ] {
        let name = scene.path.display().to_string();
        let (_, stats) = to_noise(scene, 16, 1 << 20, 0.02);
        let noise = noise_stats(&stats);
        assert_eq!(noise.unconverged_pixels, 0, "{name}: {noise:?}");
        assert!(noise.max_samples <= 192, "{name}: {noise:?}");
        assert!(noise.estimated.unwrap() < 0.02, "{name}: {noise:?}");
    }
}

#[test]
fn pixels_that_never_converge_get_all_samples() {
    let scene = Scene::load(Path::new("scenes/cornell.ron")).unwrap();
    let (mut renderer, stats) = to_noise(scene, 24, 100, 1e-4);
    let noise = noise_stats(&stats);
    assert_eq!(
        (noise.unconverged_pixels, noise.max_samples),
        (24 * 24, 100)
    );
    assert_eq!((stats.spp, stats.paths), (100, 100 * 24 * 24));
    assert!(noise.estimated.unwrap() > 1e-4);
    // The film equals that of a render without a noise target.
    renderer.set_noise(None).unwrap();
    while renderer.advance().unwrap() {}
    assert_eq!(renderer.finish().unwrap().film_hash, stats.film_hash);
}

#[test]
fn invalid_noise_targets_are_refused() {
    let scene = Scene::load(Path::new("scenes/cornell.ron")).unwrap();
    let (mut renderer, before) = to_noise(scene, 8, 16, 0.5);
    for wrong in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-9, 1.5] {
        let refused = renderer.set_noise(Some(wrong)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("noise {wrong}: a relative error from 0.0001 to 1 can be asked for")
        );
    }
    // The refusal does not disturb the render.
    assert_eq!(renderer.finish().unwrap(), before);
    let place = |sample| SamplePosition { sample, pixel: 0 };
    let later = Samples::new(place(2)..place(4), 64).unwrap();
    let refused = renderer.set_samples(&later).unwrap_err().to_string();
    assert!(
        refused.starts_with("samples 2..4: to a noise "),
        "{refused}"
    );
}

/// Width and height in pixels of the images whose bias is measured against a long render.
const BIAS_SIDE: usize = 16;
/// Width and height in pixels of the tiles over which the bias is measured.
const BIAS_TILE: usize = 4;

/// Returns the sum of all channels over each tile of an image, followed by that of the whole image.
fn tiles(picture: &Picture) -> Vec<f64> {
    let across = BIAS_SIDE / BIAS_TILE;
    let mut tiles = vec![0.0; across * across + 1];
    for (place, pixel) in picture.pixels.iter().enumerate() {
        let (x, y) = (place % BIAS_SIDE, place / BIAS_SIDE);
        let light = f64::from(pixel.x + pixel.y + pixel.z);
        tiles[y / BIAS_TILE * across + x / BIAS_TILE] += light;
        tiles[across * across] += light;
    }
    tiles
}

/// Returns the mean over independent seeds and its squared standard error, for each tile.
fn mean_of(pictures: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let count = pictures.len() as f64;
    let of_tile = |tile: usize| {
        let mean = pictures.iter().map(|tiles| tiles[tile]).sum::<f64>() / count;
        let squares = pictures.iter().map(|tiles| (tiles[tile] - mean).powi(2));
        (mean, squares.sum::<f64>() / (count - 1.0) / count)
    };
    (0..pictures[0].len()).map(of_tile).collect()
}

/// Bounds the bias of adaptive sampling: a pixel that has missed its bright paths stops early and loses their light.
///
/// The loss must be less than a tenth of the requested noise, for the image and, within statistical error, for each
/// tile. A film with equal samples per pixel passes the same test without any loss.
#[test]
fn bias_of_stopping_early_is_below_a_tenth_of_the_noise() {
    let wanted = 0.1;
    let scene = |seed| Scene {
        seed,
        ..Scene::load(Path::new("scenes/cornell.ron")).unwrap()
    };
    let even = |seed, spp| {
        let mut scene = scene(seed);
        scene.set_size((BIAS_SIDE as u32, BIAS_SIDE as u32));
        scene.spp = spp;
        let settings = Settings {
            backend: BackendChoice::Cpu,
            ..Settings::default()
        };
        let mut renderer = Renderer::new(&scene, &settings).unwrap();
        while renderer.advance().unwrap() {}
        tiles(&renderer.picture().unwrap())
    };
    let truth = mean_of(
        &(0..4)
            .map(|seed| even(1000 + seed, 2048))
            .collect::<Vec<_>>(),
    );
    let mut taken = 0.0;
    let stopped = (0..SEEDS).map(|seed| {
        let (mut renderer, stats) = to_noise(scene(seed), BIAS_SIDE as u32, 1 << 16, wanted);
        assert_eq!(noise_stats(&stats).unconverged_pixels, 0);
        taken += noise_stats(&stats).mean_samples / f64::from(SEEDS);
        tiles(&renderer.picture().unwrap())
    });
    let stopped = mean_of(&stopped.collect::<Vec<_>>());
    let even = mean_of(
        &(0..SEEDS)
            .map(|seed| even(seed, taken as u32))
            .collect::<Vec<_>>(),
    );
    // Relative excess of a tile's brightness, and its standard error.
    let against_truth = |shown: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let tiles = shown.iter().zip(&truth);
        tiles
            .map(|(shown, truth)| {
                (
                    (shown.0 - truth.0) / truth.0,
                    (shown.1 + truth.1).sqrt() / truth.0,
                )
            })
            .collect()
    };
    let z_of = |&(bias, error): &(f64, f64)| bias / error;
    for (name, shown) in [("even", &even), ("stopped", &stopped)] {
        let found = against_truth(shown);
        let (whole, tiles) = found.split_last().unwrap();
        let squares: f64 = tiles.iter().map(|tile| z_of(tile).powi(2)).sum();
        println!(
            "{name}: {:.3} % too bright, z {:.1}; tiles {:.2} root mean square of z, from {:.2} % to {:.2} %",
            100.0 * whole.0,
            z_of(whole),
            (squares / tiles.len() as f64).sqrt(),
            100.0 * tiles.iter().map(|tile| tile.0).fold(1.0, f64::min),
            100.0 * tiles.iter().map(|tile| tile.0).fold(-1.0, f64::max),
        );
        let min_bias = if name == "even" {
            0.0
        } else {
            -0.1 * f64::from(wanted)
        };
        // With a larger standard error the test would accept any bias.
        assert!(whole.1 < 0.02 * f64::from(wanted), "{name}: {whole:?}");
        for tile in &found {
            let tolerance = 4.0 * tile.1;
            assert!(
                (min_bias - tolerance..tolerance).contains(&tile.0),
                "{name}: {tile:?} of {found:?}"
            );
        }
    }
}

/// Bounds the light that is lost where few paths find it: behind glass, whose caustics most pixels meet rarely.
#[test]
fn rare_light_is_hardly_lost() {
    let size = (32, 24);
    let light_of = |spp, noise, seed| {
        let mut scene = Scene::load(Path::new("scenes/caustics.ron")).unwrap();
        scene.set_size(size);
        (scene.spp, scene.seed) = (spp, seed);
        let settings = Settings {
            backend: BackendChoice::Cpu,
            ..Settings::default()
        };
        let mut renderer = Renderer::new(&scene, &settings).unwrap();
        renderer.set_noise(noise).unwrap();
        while renderer.advance().unwrap() {}
        let samples = renderer.stats().paths as f64 / f64::from(size.0 * size.1);
        let pixels = renderer.picture().unwrap().pixels;
        (
            pixels
                .iter()
                .map(|pixel| f64::from(pixel.x + pixel.y + pixel.z))
                .sum::<f64>(),
            samples,
        )
    };
    let (truth, _) = light_of(8192, None, 99);
    let shown: Vec<(f64, f64)> = (1..=4)
        .map(|seed| light_of(4096, Some(0.1), seed))
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| shown.iter().map(of).sum::<f64>() / shown.len() as f64;
    let lost = 1.0 - mean(|of| of.0) / truth;
    let samples = mean(|of| of.1);
    println!(
        "{:.2} % of the light is lost with {samples:.0} samples per pixel",
        100.0 * lost
    );
    // Without a look at the neighboring pixels, 2.5 % were lost.
    assert!((-0.005..0.0125).contains(&lost), "{lost}");
    assert!(samples < 2048.0, "{samples}");
}

/// Number of renders of each kind, each with its own seed.
const SEEDS: u32 = 32;

/// Checks that progress neither jumps nor decreases, because it follows from the samples that pixels still lack.
#[test]
fn progress_to_a_noise_target_is_steady_and_realistic() {
    let mut scene = Scene::load(Path::new("scenes/cornell.ron")).unwrap();
    scene.set_size((SIDE, SIDE));
    scene.spp = 1 << 16;
    let settings = Settings {
        backend: BackendChoice::Cpu,
        wave_size: Some(SIDE * SIDE),
        threads: Some(1),
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &settings).unwrap();
    assert!(renderer.knows_progress(), "all samples for all pixels");
    renderer.set_noise(Some(0.12)).unwrap();
    assert!(!renderer.knows_progress());
    let mut history = Vec::new();
    while renderer.advance_for(STEP).unwrap() {
        let paths = renderer.stats().paths as f64;
        if renderer.knows_progress() {
            history.push((renderer.progress(), paths));
        } else {
            assert!(paths <= f64::from(33 * SIDE * SIDE), "{paths}");
        }
    }
    assert_eq!(renderer.progress(), 1.0);
    let all = renderer.finish().unwrap().paths as f64;
    assert!(history.len() > 20, "{history:?}");
    for pair in history.windows(2) {
        assert!(pair[1].0 > pair[0].0 - 0.07, "{history:?}");
    }
    for (progress, paths) in &history {
        let ratio = progress / (paths / all);
        assert!((0.6..1.5).contains(&ratio), "{progress}, {paths} of {all}");
    }
    // A render with too few samples for a noise estimate reports the fraction of its samples.
    renderer.set_noise(None).unwrap();
    renderer
        .set_samples(&Samples::first(31, SIDE * SIDE))
        .unwrap();
    renderer.set_noise(Some(0.12)).unwrap();
    assert!(renderer.knows_progress());
}
