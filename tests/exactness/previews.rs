//! Exactness of previews: like the film, they depend only on the scene, the size, the seed and the samples.

use compaction::select::Strategy;
use raysieve::{
    film::picture::Picture,
    render::{
        part::Samples,
        renderer::{BackendChoice, Renderer, Settings},
    },
    scene::Scene,
    stages::Preview,
};

use crate::{
    common::{garden, load, on_cpu, sized, start},
    harness::Gpu,
};

/// Number of pixels of the images that are rendered to a noise target.
const PIXELS: u32 = 20 * 13;

fn scenes() -> [Scene; 3] {
    let scenes = [
        load("scenes/cornell.ron"),
        load("scenes/spheres.ron"),
        garden(),
    ];
    scenes.map(|scene| sized(scene, 40, 27, 5))
}

/// Renders all samples and returns the preview.
fn preview(renderer: &mut Renderer) -> Picture {
    renderer.restart().unwrap();
    renderer.keep_for_previews();
    while renderer.advance().unwrap() {}
    renderer.preview().unwrap().expect("a preview").picture
}

pub(crate) fn previews_match_the_cpus_on_cuda(_: &Gpu) {
    assert_previews_match_the_cpus(&BackendChoice::Cuda(0), Strategy::ALL);
}

pub(crate) fn previews_of_several_gpus_match_the_cpus(&count: &usize) {
    assert_previews_match_the_cpus(
        &BackendChoice::SomeCuda((0..count).collect()),
        &[Strategy::default()],
    );
}

/// Returns the previews of a render to a noise target, in the middle of a round and at the end.
fn adaptive_previews(renderer: &mut Renderer) -> [Picture; 2] {
    let mut shown = |samples: u32| {
        renderer
            .set_samples(&Samples::first(samples, PIXELS))
            .unwrap();
        while renderer.advance().unwrap() {}
        renderer.preview().unwrap().expect("a preview").picture
    };
    [shown(41), shown(100)]
}

pub(crate) fn adaptive_previews_match_the_cpus_on_cuda(_: &Gpu) {
    assert_adaptive_previews_match(&Settings {
        backend: BackendChoice::Cuda(0),
        ..Settings::default()
    });
}

pub(crate) fn adaptive_previews_are_identical_every_time() {
    for threads in [1, 3] {
        assert_adaptive_previews_match(&Settings {
            threads: Some(threads),
            ..on_cpu()
        });
    }
}

fn assert_adaptive_previews_match(settings: &Settings) {
    for scene in scenes() {
        let scene = sized(scene, 20, 13, 100);
        let renderer = |settings: &Settings| {
            let mut renderer = start(&scene, settings);
            renderer.set_noise(Some(0.3)).unwrap();
            renderer
        };
        let expected = adaptive_previews(&mut renderer(&on_cpu()));
        for wave_size in [Some(700), None] {
            let settings = Settings {
                wave_size,
                ..settings.clone()
            };
            let mut renderer = renderer(&settings);
            let case = format!("{}, {settings:?}", scene.path.display());
            assert!(
                adaptive_previews(&mut renderer) == expected,
                "{case}: the preview differs"
            );
            // After resuming a part, the noise is known at once.
            let shown = renderer.preview().unwrap();
            let part = renderer.part().unwrap();
            renderer.restart().unwrap();
            assert_eq!(renderer.preview().unwrap(), None, "{case}");
            renderer.resume(&part).unwrap();
            let again = renderer.preview().unwrap();
            let picture = |preview: Option<Preview>| preview.expect("a preview").picture;
            assert!(
                picture(again) == picture(shown),
                "{case}: the preview of a resumed part differs"
            );
        }
    }
}

fn assert_previews_match_the_cpus(backend: &BackendChoice, strategies: &[Strategy]) {
    for scene in scenes() {
        let expected = preview(&mut start(&scene, &on_cpu()));
        for wave_size in [Some(700), None] {
            let settings = Settings {
                backend: backend.clone(),
                wave_size,
                ..Settings::default()
            };
            let mut renderer = start(&scene, &settings);
            for &strategy in strategies {
                renderer.set_strategy(strategy).unwrap();
                assert!(
                    preview(&mut renderer) == expected,
                    "{}, {backend}, {strategy}, waves of {wave_size:?}: the preview differs",
                    scene.path.display()
                );
            }
        }
    }
}
