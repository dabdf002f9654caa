//! What a denoised preview obeys: it is nearer to the truth than the noisy picture, nears it as samples are added, makes no
//! light, and leaves alone what has no noise.

mod common;

use std::time::Duration;

use common::{load, on_cpu, scene, sized, start};
use glam::DVec3;
use raysieve::{
    noise::mean_difference,
    picture::Picture,
    renderer::{Renderer, Settings},
    scene::Scene,
};

/// Of the pictures: some of the widest windows.
const SIDE: u32 = 48;

fn small(path: &str, spp: u32, seed: u32) -> Scene {
    square(path, SIDE, spp, seed)
}

fn square(path: &str, side: u32, spp: u32, seed: u32) -> Scene {
    let mut scene = sized(load(path), side, side, spp);
    scene.seed = seed;
    scene
}

/// The picture, and the preview of it.
fn render(scene: &Scene, settings: &Settings) -> (Picture, Picture) {
    let mut renderer = start(scene, settings);
    renderer.keep_for_previews();
    while renderer.advance().unwrap() {}
    both(&mut renderer)
}

fn both(renderer: &mut Renderer) -> (Picture, Picture) {
    let picture = renderer.picture().unwrap();
    let preview = renderer.preview().unwrap().expect("the noise is known");
    assert!(preview.milliseconds > 0.0);
    (picture, preview.picture)
}

fn mean(picture: &Picture) -> DVec3 {
    let pixels = picture.pixels.iter().map(|pixel| pixel.as_dvec3());
    pixels.sum::<DVec3>() / picture.pixels.len() as f64
}

#[test]
fn a_preview_is_nearer_to_the_truth_and_nears_it() {
    // A small picture of many spheres is all edges, where there is nothing to gain.
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
        // Of many samples it is the picture, but for what the noise left hides.
        let (picture, preview) = render(&square(path, side, 512, 2), &on_cpu());
        let noise = mean_difference(&picture, &truth);
        let apart = mean_difference(&preview, &picture);
        println!("{path}, 512 samples: noise {noise:.4}, apart {apart:.4}");
        assert!(apart < noise, "{path}: {apart} from a picture with {noise}");
    }
}

fn start_and_finish(scene: &Scene) -> Picture {
    let mut renderer = start(scene, &on_cpu());
    while renderer.advance().unwrap() {}
    renderer.picture().unwrap()
}

#[test]
fn a_preview_makes_no_light() {
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
            // Windows are means.
            let brightest = |picture: &Picture| {
                let pixels = picture.pixels.iter().map(|pixel| pixel.max_element());
                pixels.fold(0.0, f32::max)
            };
            assert!(brightest(&preview) <= brightest(&picture) * 1.000_01);
        }
    }
}

#[test]
fn what_has_no_noise_stays_as_it_is() {
    let sky = scene(
        r#"(size: (40, 30), spp: 5, sky: (0.1, 0.7, 0.3), materials: { "clay": Diffuse(albedo: (0.5, 0.5, 0.5)) },
            objects: [Sphere(center: (0, 0, 9), radius: 0.1, material: "clay")],
            camera: (origin: (0, 0, 1), target: (0, 0, 0), fov: 40))"#,
    );
    let (picture, preview) = render(&sky, &on_cpu());
    assert_eq!(picture, preview);
    // Beside a noisy floor too.
    let mut floor = small("scenes/spheres.ron", 16, 0);
    floor.set_size((SIDE, SIDE));
    let (picture, preview) = render(&floor, &on_cpu());
    let same = picture.pixels.iter().zip(&preview.pixels);
    let same = same.filter(|(pixel, shown)| pixel == shown).count();
    println!("{same} of {} pixels", picture.pixels.len());
    assert!(same > 100 && same < picture.pixels.len());
}

#[test]
fn pictures_of_any_size_have_previews() {
    for size in [(1, 1), (3, 5), (1, 100), (64, 1)] {
        let scene = sized(load("scenes/cornell.ron"), size.0, size.1, 3);
        let (_, preview) = render(&scene, &on_cpu());
        assert_eq!((preview.width, preview.height), size);
        assert_eq!(preview.pixels.len(), (size.0 * size.1) as usize);
        assert!(preview.pixels.iter().all(|pixel| pixel.is_finite()));
    }
}

/// Some pixels have samples that were not added.
#[test]
fn rejected_samples_leave_no_hole() {
    let scene = small("scenes/cornell.ron", 4, 7);
    let mut renderer = start(&scene, &on_cpu());
    while renderer.advance().unwrap() {}
    let mut part = renderer.part().unwrap();
    for pixel in (0..part.exposed.sums.len() / 3).step_by(7) {
        part.exposed.sums[3 * pixel..3 * pixel + 3].fill(0);
        part.exposed.rejected += 4;
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
    assert_eq!(renderer.preview().unwrap(), None, "nobody asked in time");
    renderer.keep_for_previews();
    assert_eq!(renderer.preview().unwrap(), None, "and now it is too late");
    renderer.restart().unwrap();
    while renderer.advance().unwrap() {}
    let again = both(&mut renderer);
    assert_eq!(again, render(&small("scenes/cornell.ron", 4, 0), &on_cpu()));
    // Of another size, or from elsewhere, nothing is known.
    renderer.set_size(10, 10).unwrap();
    assert_eq!(renderer.preview().unwrap(), None);
}

/// Whoever renders it, in however many steps.
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
            while renderer.advance_for(Duration::from_micros(1)).unwrap() {}
            assert!(
                both(&mut renderer) == expected,
                "{threads}, {wave_size}, in steps"
            );
        }
    }
}

/// The film is not touched.
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

/// Where pixels get samples until they are good, what they are judged by tells their noise.
#[test]
fn a_preview_to_a_noise_is_nearer_to_the_truth() {
    let truth = start_and_finish(&small("scenes/cornell.ron", 2048, 1));
    let mut renderer = start(&small("scenes/cornell.ron", 1 << 16, 2), &on_cpu());
    for (noise, at_most) in [(0.3, 0.85), (0.15, 0.9)] {
        renderer.set_noise(Some(noise)).unwrap();
        assert_eq!(renderer.preview().unwrap(), None, "nothing was judged");
        while renderer.advance().unwrap() {}
        let (picture, preview) = both(&mut renderer);
        let error = |picture: &Picture| mean_difference(picture, &truth);
        let ratio = error(&preview) / error(&picture);
        println!("to {noise}: {ratio:.3} of the picture's error");
        assert!(ratio < at_most, "to {noise}: {ratio}");
        assert!(mean(&preview).cmple(mean(&picture) * 1.01).all());
    }
}

/// A render that goes on from a part knows the noise of what comes after it.
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
