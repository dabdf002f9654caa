//! A preview depends on the scene, the size, the seed and the samples alone, as the film does.

use compaction::select::Strategy;
use raysieve::{
    picture::Picture,
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

use crate::{
    common::{garden, load, on_cpu, sized, start},
    harness::Gpu,
};

fn scenes() -> [Scene; 3] {
    let scenes = [
        load("scenes/cornell.ron"),
        load("scenes/spheres.ron"),
        garden(),
    ];
    scenes.map(|scene| sized(scene, 40, 27, 5))
}

fn preview(renderer: &mut Renderer) -> Picture {
    renderer.restart().unwrap();
    renderer.keep_for_previews();
    while renderer.advance().unwrap() {}
    renderer.preview().unwrap().expect("a preview").picture
}

pub(crate) fn are_the_cpus_on_cuda(_: &Gpu) {
    are_the_cpus(&BackendChoice::Cuda(0), Strategy::ALL);
}

pub(crate) fn are_the_cpus_on_several(&count: &usize) {
    are_the_cpus(
        &BackendChoice::SomeCuda((0..count).collect()),
        &[Strategy::default()],
    );
}

fn are_the_cpus(backend: &BackendChoice, strategies: &[Strategy]) {
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
                    "{}, {backend}, {strategy}, waves of {wave_size:?}: another preview",
                    scene.path.display()
                );
            }
        }
    }
}
