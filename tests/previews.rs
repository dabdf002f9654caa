//! Tests of denoised previews: smaller error than the noisy image, convergence, conservation of light, and no change of
//! images without noise.

mod common;

use std::time::Duration;

use common::{load, on_cpu, scene, sized, start};
use glam::DVec3;
use raysieve::{
    adaptive::noise_estimate::mean_difference,
    film::picture::Picture,
    render::renderer::{Renderer, Settings},
    scene::Scene,
};

/// Width and height of the test images in pixels: a few of the denoiser's widest windows.
const SIDE: u32 = 48;

/// Loads a scene at [`SIDE`] × [`SIDE`] pixels.
fn small(path: &str, spp: u32, seed: u32) -> Scene {
    square(path, SIDE, spp, seed)
}

/// Loads a scene at `side` × `side` pixels.
fn square(path: &str, side: u32, spp: u32, seed: u32) -> Scene {
    let mut scene = sized(load(path), side, side, spp);
    scene.seed = seed;
    scene
}

/// Renders a scene and returns the noisy image and its preview.
fn render(scene: &Scene, settings: &Settings) -> (Picture, Picture) {
    let mut renderer = start(scene, settings);
    renderer.keep_for_previews();
    while renderer.advance().unwrap() {}
    both(&mut renderer)
}

/// Returns the noisy image and its preview.
fn both(renderer: &mut Renderer) -> (Picture, Picture) {
    let picture = renderer.picture().unwrap();
    let preview = renderer.preview().unwrap().expect("the noise is known");
    assert!(preview.milliseconds > 0.0);
    (picture, preview.picture)
}

/// Returns the mean over all pixels, per channel.
fn mean(picture: &Picture) -> DVec3 {
    let pixels = picture.pixels.iter().map(|pixel| pixel.as_dvec3());
    pixels.sum::<DVec3>() / picture.pixels.len() as f64
}

#[test]
fn a_preview_reduces_the_error_and_converges() {
    // `spheres.ron` is rendered larger, because at this size it is all edges, where denoising gains little.
    for (path, side, at_most) in [
        ("scenes/cornell.ron", SIDE, [0.7, 0.8, 0.9]),
        ("scenes/spheres.ron", 2 * SIDE, [0.85, 0.95, 1.0]),
    ] {
        let truth = start_and_finish(&square(path, side, 2048, 1));
        for (spp, at_most) in [4, 16, 64].into_iter().zip(at_most) {
            let (picture, preview) = render(&square(path, side, spp, 2), &on_cpu());
            let error = |picture: &Picture| mean_difference(picture, &truth);
            let ratio = error(&preview) / error(&picture);
            println!("{path}, {spp} samples: {ratio:.3} of the picture's error");
            assert!(ratio < at_most, "{path}, {spp} samples: {ratio}");
        }
        // With many samples the preview approaches the image itself.
        let (picture, preview) = render(&square(path, side, 512, 2), &on_cpu());
        let noise = mean_difference(&picture, &truth);
        let distance = mean_difference(&preview, &picture);
        println!("{path}, 512 samples: noise {noise:.4}, distance {distance:.4}");
        assert!(
            distance < noise,
            "{path}: {distance} from an image with noise {noise}"
        );
    }
}

/// Renders a scene and returns its image.
fn start_and_finish(scene: &Scene) -> Picture {
    let mut renderer = start(scene, &on_cpu());
    while renderer.advance().unwrap() {}
    renderer.picture().unwrap()
}

#[test]
fn a_preview_conserves_light() {
    for path in [
        "scenes/cornell.ron",
        "scenes/spheres.ron",
        "scenes/caustics.ron",
    ] {
        for spp in [2, 16] {
            let (picture, preview) = render(&small(path, spp, 3), &on_cpu());
            let (light, shown) = (mean(&picture), mean(&preview));
            println!("{path}, {spp} samples: {light} shows as {shown}");
            assert!(
                shown.cmple(light * 1.01).all(),
                "{path}: {shown} of {light}"
            );
            assert!(shown.cmpge(light * 0.8).all(), "{path}: {shown} of {light}");
            // A window computes a mean, so it cannot exceed the brightest pixel.
            let brightest = |picture: &Picture| {
                let pixels = picture.pixels.iter().map(|pixel| pixel.max_element());
                pixels.fold(0.0, f32::max)
            };
            assert!(brightest(&preview) <= brightest(&picture) * 1.000_01);
        }
    }
}

#[test]
fn an_image_without_noise_stays_unchanged() {
    let sky = scene(
        r#"(size: (40, 30), spp: 5, sky: (0.1, 0.7, 0.3), materials: { "clay": Diffuse(albedo: (0.5, 0.5, 0.5)) },
            objects: [Sphere(center: (0, 0, 9), radius: 0.1, material: "clay")],
            camera: (origin: (0, 0, 1), target: (0, 0, 0), fov: 40))"#,
    );
    let (picture, preview) = render(&sky, &on_cpu());
    assert_eq!(picture, preview);
    // This also holds beside a noisy floor.
    let mut floor = small("scenes/spheres.ron", 16, 0);
    floor.set_size((SIDE, SIDE));
    let (picture, preview) = render(&floor, &on_cpu());
    let same = picture.pixels.iter().zip(&preview.pixels);
    let same = same.filter(|(pixel, shown)| pixel == shown).count();
    println!("{same} of {} pixels", picture.pixels.len());
    assert!(same > 100 && same < picture.pixels.len());
}

#[test]
fn images_of_any_size_have_previews() {
    for size in [(1, 1), (3, 5), (1, 100), (64, 1)] {
        let scene = sized(load("scenes/cornell.ron"), size.0, size.1, 3);
        let (_, preview) = render(&scene, &on_cpu());
        assert_eq!((preview.width, preview.height), size);
        assert_eq!(preview.pixels.len(), (size.0 * size.1) as usize);
        assert!(preview.pixels.iter().all(|pixel| pixel.is_finite()));
    }
}

/// Checks that pixels with rejected samples, which are not finite, still get a preview.
#[test]
fn rejected_samples_leave_no_hole() {
    let scene = small("scenes/cornell.ron", 4, 7);
    let mut renderer = start(&scene, &on_cpu());
    while renderer.advance().unwrap() {}
    let mut part = renderer.part().unwrap();
    for pixel in (0..part.film.sums.len() / 3).step_by(7) {
        part.film.sums[3 * pixel..3 * pixel + 3].fill(0);
        part.film.rejected += 4;
    }
    let longer = small("scenes/cornell.ron", 8, 7);
    let mut renderer = start(&longer, &on_cpu());
    renderer.resume(&part).unwrap();
    renderer.keep_for_previews();
    while renderer.advance().unwrap() {}
    let (picture, preview) = both(&mut renderer);
    assert!(
        preview
            .pixels
            .iter()
            .all(|pixel| pixel.is_finite() && pixel.min_element() >= 0.0)
    );
    assert!(mean(&preview).cmple(mean(&picture) * 1.02).all());
}

#[test]
fn a_preview_waits_until_its_noise_is_known() {
    let mut renderer = start(&small("scenes/cornell.ron", 1, 0), &on_cpu());
    renderer.keep_for_previews();
    assert_eq!(renderer.preview().unwrap(), None, "a black film");
    while renderer.advance().unwrap() {}
    assert_eq!(renderer.preview().unwrap(), None, "one sample");

    let mut renderer = start(&small("scenes/cornell.ron", 4, 0), &on_cpu());
    while renderer.advance().unwrap() {}
    assert_eq!(
        renderer.preview().unwrap(),
        None,
        "no noise estimate is known yet"
    );
    renderer.keep_for_previews();
    assert_eq!(renderer.preview().unwrap(), None, "and now it is too late");
    renderer.restart().unwrap();
    while renderer.advance().unwrap() {}
    let again = both(&mut renderer);
    assert_eq!(again, render(&small("scenes/cornell.ron", 4, 0), &on_cpu()));
    // A new image size discards the noise estimate.
    renderer.set_size(10, 10).unwrap();
    assert_eq!(renderer.preview().unwrap(), None);
}

/// Varies the number of threads, the wave size and the number of steps.
#[test]
fn a_preview_has_the_same_bits_every_time() {
    let scene = small("scenes/spheres.ron", 7, 4);
    let expected = render(&scene, &on_cpu());
    for threads in [1, 3] {
        for wave_size in [1000, 4000, 1 << 16] {
            let settings = Settings {
                threads: Some(threads),
                wave_size: Some(wave_size),
                ..on_cpu()
            };
            assert!(
                render(&scene, &settings) == expected,
                "{threads}, {wave_size}"
            );
            let mut renderer = start(&scene, &settings);
            renderer.keep_for_previews();
            while renderer.advance_for(Duration::ZERO).unwrap() {}
            assert!(
                both(&mut renderer) == expected,
                "{threads}, {wave_size}, in steps"
            );
        }
    }
}

#[test]
fn previews_do_not_change_the_film() {
    let scene = small("scenes/cornell.ron", 6, 5);
    let mut plain = start(&scene, &on_cpu());
    while plain.advance().unwrap() {}
    let mut renderer = start(&scene, &on_cpu());
    renderer.keep_for_previews();
    while renderer.advance().unwrap() {
        let _ = renderer.preview().unwrap();
    }
    let hash = renderer.finish().unwrap().film_hash;
    assert_eq!(hash, plain.finish().unwrap().film_hash);
}

/// Checks renders to a noise target, whose preview uses the noise estimates of adaptive sampling.
#[test]
fn a_preview_at_a_noise_target_reduces_the_error() {
    let truth = start_and_finish(&small("scenes/cornell.ron", 2048, 1));
    let mut renderer = start(&small("scenes/cornell.ron", 1 << 16, 2), &on_cpu());
    for (noise, at_most) in [(0.3, 0.85), (0.15, 0.9)] {
        renderer.set_noise(Some(noise)).unwrap();
        assert_eq!(
            renderer.preview().unwrap(),
            None,
            "no convergence test has run yet"
        );
        while renderer.advance().unwrap() {}
        let (picture, preview) = both(&mut renderer);
        let error = |picture: &Picture| mean_difference(picture, &truth);
        let ratio = error(&preview) / error(&picture);
        println!("to {noise}: {ratio:.3} of the picture's error");
        assert!(ratio < at_most, "to {noise}: {ratio}");
        assert!(mean(&preview).cmple(mean(&picture) * 1.01).all());
    }
}

/// Checks that a render resumed from a part estimates the noise from the samples that follow.
#[test]
fn a_resumed_render_has_a_preview() {
    let scene = small("scenes/cornell.ron", 3, 6);
    let mut first = start(&scene, &on_cpu());
    while first.advance().unwrap() {}
    let part = first.part().unwrap();
    let longer = small("scenes/cornell.ron", 5, 6);
    let mut renderer = start(&longer, &on_cpu());
    renderer.resume(&part).unwrap();
    renderer.keep_for_previews();
    assert_eq!(renderer.preview().unwrap(), None);
    while renderer.advance().unwrap() {}
    let (picture, preview) = both(&mut renderer);
    assert!(mean(&preview).cmple(mean(&picture) * 1.02).all());
}
