//! Exactness on the CPU: threads, strategies, wave sizes, interruptions and restarts do not change the film.

use compaction::select::Strategy;
use raysieve::{
    path::{Span, pixel_and_sample, scheduled_pair},
    render::renderer::{Renderer, Settings, SortHits},
    scene::{DirectLight, Scene},
    stages::Stage,
};

use crate::{
    assert_equal,
    common::{alpha_tested_garden, garden, load, on_cpu, render, sized, start},
};

fn small_scenes() -> Vec<Scene> {
    [
        load("scenes/cornell.ron"),
        load("scenes/spheres.ron"),
        garden(),
    ]
    .into_iter()
    .map(|scene| sized(scene, 24, 16, 5))
    .collect()
}

pub(crate) fn the_film_is_identical_for_any_threads_strategy_and_wave_size() {
    for scene in small_scenes() {
        let (_, expected) = render(&scene, &on_cpu());
        assert!(
            expected
                .bounces
                .iter()
                .skip(1)
                .any(|row| row.shadow_rays > 0 && row.survivors > 0)
        );
        for threads in [Some(1), Some(3), None] {
            for &strategy in Strategy::ALL {
                // A single path, a prime number, about half of all paths, a power of two, and more than there are.
                for wave_size in [1, 7, 1000, 8192, 100_000] {
                    let settings = Settings {
                        strategy,
                        wave_size: Some(wave_size),
                        threads,
                        ..on_cpu()
                    };
                    let (_, stats) = render(&scene, &settings);
                    assert_equal(&stats, &expected, &format!("{settings:?}"));
                }
            }
        }
    }
}

pub(crate) fn the_megakernel_gives_the_film_of_the_stages() {
    let more = [
        "instances",
        "lights",
        "many_lights",
        "g_dof",
        "orthographic",
    ];
    let more = more.map(|name| sized(load(format!("tests/scenes/{name}.ron")), 24, 16, 5));
    let alpha_tested = sized(alpha_tested_garden(), 24, 16, 5);
    // Shaded in blocks by the stages, and path by path by the megakernel.
    let textured =
        [DirectLight::Both, DirectLight::Lights, DirectLight::Bsdf].map(|direct_light| {
            let scene = sized(load("tests/scenes/textured_materials.ron"), 24, 16, 8);
            Scene {
                direct_light,
                ..scene
            }
        });
    let all = small_scenes().into_iter().chain(more);
    for scene in all.chain([alpha_tested]).chain(textured) {
        let (_, expected) = render(&scene, &on_cpu());
        for wave_size in [1, 7, 1000, 100_000] {
            let settings = Settings {
                wave_size: Some(wave_size),
                ..on_cpu()
            };
            let mut renderer = start(&scene, &settings);
            renderer.set_megakernel().unwrap();
            while renderer.advance().unwrap() {}
            let case = format!("megakernel, waves of {wave_size}");
            assert_equal(&renderer.finish().unwrap(), &expected, &case);
            // Switches back from the megakernel to the stages.
            renderer.restart().unwrap();
            renderer.set_strategy(Strategy::default()).unwrap();
            while renderer.advance().unwrap() {}
            let stats = renderer.finish().unwrap();
            assert_equal(&stats, &expected, &case);
            assert!(stats.bounces[0].time(Stage::Intersect) > 0.0);
        }
    }
}

/// An action that interrupts a render before it is finished.
type Interruption<'a> = &'a dyn Fn(&mut Renderer);

/// Starts a single-threaded render that takes several steps.
fn long_render(scene: &Scene) -> Renderer {
    let settings = Settings {
        threads: Some(1),
        wave_size: Some(64),
        ..on_cpu()
    };
    start(scene, &settings)
}

pub(crate) fn the_film_is_identical_for_any_steps() {
    let scene = sized(load("scenes/cornell.ron"), 128, 128, 64);
    let (picture, expected) = render(&scene, &on_cpu());
    let mut renderer = long_render(&scene);
    let (mut steps, mut strategies) = (1, Strategy::ALL.iter().cycle());
    while renderer.advance().unwrap() {
        steps += 1;
        // Reading the image or changing the strategy must not affect the film.
        let _ = renderer.picture().unwrap();
        renderer.set_strategy(*strategies.next().unwrap()).unwrap();
    }
    assert!(steps > 1, "the render is too short to be interrupted");
    assert_equal(
        &renderer.finish().unwrap(),
        &expected,
        &format!("{steps} steps"),
    );
    assert_eq!(renderer.picture().unwrap(), picture);
    assert_eq!(renderer.progress(), 1.0);
}

pub(crate) fn a_restart_leaves_nothing_of_the_previous_render() {
    for path in ["scenes/cornell.ron", "tests/scenes/house.ron"] {
        expect_fresh_restarts(&sized(load(path), 128, 128, 8));
    }
}

/// Asserts that renders of the scene after an interruption have the film of a new renderer.
fn expect_fresh_restarts(scene: &Scene) {
    let (_, expected) = render(scene, &on_cpu());
    let mut renderer = long_render(scene);
    let elsewhere = raysieve::scene::Camera {
        origin: scene.camera.origin + glam::Vec3::new(4.0, 2.0, -1.0),
        ..scene.camera
    };
    let interruptions: [(&str, Interruption); 3] = [
        ("restart", &|renderer| renderer.restart().unwrap()),
        ("another camera and back", &|renderer| {
            renderer.set_camera(elsewhere).unwrap();
            renderer.advance().unwrap();
            renderer.set_camera(scene.camera).unwrap();
        }),
        ("another size and back", &|renderer| {
            renderer.set_size(31, 200).unwrap();
            renderer.advance().unwrap();
            renderer.set_size(128, 128).unwrap();
        }),
    ];
    for (name, interrupt) in interruptions {
        renderer.advance().unwrap();
        interrupt(&mut renderer);
        assert_eq!(renderer.progress(), 0.0, "{name}");
        while renderer.advance().unwrap() {}
        assert_equal(&renderer.finish().unwrap(), &expected, name);
    }
}

/// Checks that different images have different hashes, because a constant hash would pass all other tests.
pub(crate) fn different_images_have_different_hashes() {
    let scene = sized(garden(), 24, 16, 5);
    let moved = raysieve::scene::Camera {
        origin: scene.camera.origin + glam::Vec3::X * 1e-3,
        ..scene.camera
    };
    let others = [
        scene.clone(),
        Scene {
            seed: 1,
            ..scene.clone()
        },
        Scene {
            spp: 6,
            ..scene.clone()
        },
        Scene {
            size: (16, 24),
            ..scene.clone()
        },
        Scene {
            max_bounces: 3,
            ..scene.clone()
        },
        Scene {
            camera: moved,
            ..scene.clone()
        },
    ];
    let mut hashes: Vec<String> = others
        .iter()
        .map(|other| render(other, &on_cpu()).1.film_hash)
        .collect();
    assert!(hashes.iter().all(|hash| hash.len() == 32), "{hashes:?}");
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), others.len(), "{hashes:?}");
}

pub(crate) fn sorting_hits_does_not_change_the_film() {
    assert_sorting_keeps_the_film(&on_cpu());
}

/// Asserts that the film is the same with and without sorting of hits, for all strategies.
pub(crate) fn assert_sorting_keeps_the_film(settings: &Settings) {
    let mut scenes = small_scenes();
    scenes.push(sized(alpha_tested_garden(), 24, 16, 5));
    for scene in scenes {
        let (_, expected) = render(&scene, &on_cpu());
        let mut renderer = start(&scene, settings);
        for &strategy in Strategy::ALL {
            renderer.set_strategy(strategy).unwrap();
            for sort_hits in [SortHits::On, SortHits::Off] {
                renderer.set_sort_hits(sort_hits).unwrap();
                renderer.restart().unwrap();
                while renderer.advance().unwrap() {}
                let case = format!("{strategy}, {}", sort_hits.name());
                assert_equal(&renderer.finish().unwrap(), &expected, &case);
            }
        }
    }
}

/// Checks that a wave contains each of its (pixel, sample) pairs once, and that adjacent paths see adjacent pixels.
pub(crate) fn every_pixel_sample_is_assigned_once() {
    for width in [1_u32, 7, 8, 40] {
        for height in [1, 8, 19] {
            let pixel_count = width * height;
            for path_count in [
                1,
                pixel_count - pixel_count / 3,
                pixel_count,
                7 * pixel_count - 1,
                63 * pixel_count - 1,
            ] {
                let max_log2 = (path_count / pixel_count).checked_ilog2().unwrap_or(0);
                for log2_samples_together in 0..=max_log2 {
                    let span = Span {
                        width,
                        pixel_count,
                        path_count,
                        tiled: 1,
                        log2_samples_together,
                        ..Span::default()
                    };
                    let mut pairs: Vec<u32> = (0..path_count)
                        .map(|path| scheduled_pair(&span, path))
                        .collect();
                    pairs.sort_unstable();
                    assert!(pairs.into_iter().eq(0..path_count), "{span:?}");
                }
            }
        }
    }
    let span = Span {
        width: 40,
        pixel_count: 40 * 19,
        path_count: 6 * 40 * 19,
        tiled: 1,
        log2_samples_together: 2,
        ..Span::default()
    };
    // Tiles of 8 × 8 pixels follow one another, with four samples per pixel.
    for path in 0..40 * 8 * 4 {
        let (pixel, sample) = pixel_and_sample(&span, &[], path);
        let tile = (pixel % 40 / 8, pixel / 40 / 8);
        assert_eq!((tile, sample), ((path / 256, 0), path % 4), "path {path}");
        // The two samples that are left form groups of two.
        let (pixel, sample) = pixel_and_sample(&span, &[], 4 * span.pixel_count + path / 2);
        let tile = (pixel % 40 / 8, pixel / 40 / 8);
        assert_eq!(
            (tile, sample),
            ((path / 256, 0), 4 + path / 2 % 2),
            "path {path}"
        );
    }
}

/// Checks that a wave size of 0, which would never finish, and one that does not fit into memory are refused.
pub(crate) fn empty_and_oversized_waves_are_refused() {
    for wave_size in [0, u32::MAX] {
        let settings = Settings {
            wave_size: Some(wave_size),
            ..on_cpu()
        };
        let refused = Renderer::new(&garden(), &settings)
            .err()
            .map(|error| error.to_string());
        let refused = refused.unwrap_or_else(|| panic!("waves of {wave_size} paths were accepted"));
        assert!(
            refused.starts_with(&format!("wave size {wave_size}: ")),
            "{refused}"
        );
    }
}
