//! Exactness of all combinations of scenes, backends, strategies and wave sizes, rendered at once, resumed or merged.

use compaction::{cuda::devices, select::Strategy};
use raysieve::{
    render::{
        part::{Packing, Part, SamplePosition, Samples},
        renderer::{BackendChoice, Renderer, Settings},
    },
    scene::Scene,
};

use crate::{
    assert_equal,
    common::{garden, load, on_cpu, render, sized, start},
    harness::Gpu,
};

/// Positions at which the render is split into parts, some of them in the middle of a sample.
const CUTS: [SamplePosition; 4] = [
    SamplePosition {
        sample: 0,
        pixel: 0,
    },
    SamplePosition {
        sample: 1,
        pixel: 0,
    },
    SamplePosition {
        sample: 3,
        pixel: 101,
    },
    SamplePosition {
        sample: 5,
        pixel: 0,
    },
];

pub(crate) fn all_combinations_of_settings_give_one_film() {
    let wave_sizes = [Some(1), Some(1000), None];
    assert_one_film(&backends_of_cpu(), &small_scenes(), &wave_sizes);
}

/// Tests the CPU and all GPUs. Each resumes the parts of another one.
pub(crate) fn all_combinations_of_settings_give_one_film_on_cuda(_: &Gpu) {
    let gpus = devices().unwrap();
    let gpus = gpus.iter().map(|device| Settings {
        backend: BackendChoice::Cuda(device.ordinal),
        ..Settings::default()
    });
    let backends: Vec<Settings> = gpus.chain(backends_of_cpu()).collect();
    println!("{} backends", backends.len());
    assert_one_film(&backends, &small_scenes(), &[Some(33), Some(1000), None]);
    let mesh = sized(load("scenes/mesh.ron"), 64, 48, 5);
    assert_one_film(&backends, &[mesh], &[None]);
}

fn backends_of_cpu() -> Vec<Settings> {
    let threads = |threads| Settings {
        threads,
        ..on_cpu()
    };
    vec![threads(Some(1)), threads(None)]
}

fn small_scenes() -> Vec<Scene> {
    let scenes = [
        load("scenes/cornell.ron"),
        load("scenes/spheres.ron"),
        load("tests/scenes/bodies.ron"),
        load("tests/scenes/fog.ron"),
        load("tests/scenes/milk.ron"),
        load("tests/scenes/smoke.ron"),
        load("tests/scenes/nested.ron"),
        garden(),
    ];
    scenes.map(|scene| sized(scene, 24, 16, 5)).into()
}

/// Asserts that renders at once, resumed and merged give one film, for all strategies and wave sizes.
fn assert_one_film(backends: &[Settings], scenes: &[Scene], wave_sizes: &[Option<u32>]) {
    let folder = tempfile::tempdir().unwrap();
    // Only some parts go through a file, because writing to disk takes longer than these renders.
    let kept = |part: Part, strategy: Strategy| {
        if strategy != Strategy::default() {
            return part;
        }
        let path = folder.path().join("part.exr");
        part.write(&path, Packing::Fast).unwrap();
        Part::read(&path).unwrap()
    };
    for scene in scenes {
        let (_, expected) = render(scene, &on_cpu());
        for &wave_size in wave_sizes {
            let renderer = |settings: &Settings| {
                let settings = Settings {
                    wave_size,
                    ..settings.clone()
                };
                start(scene, &settings)
            };
            let mut renderers: Vec<Renderer> = backends.iter().map(renderer).collect();
            for &strategy in Strategy::ALL {
                for renderer in &mut renderers {
                    renderer.set_strategy(strategy).unwrap();
                }
                for first in 0..renderers.len() {
                    let second = (first + 1) % renderers.len();
                    let third = (first + 2) % renderers.len();
                    let case = |method: &str| {
                        format!(
                            "{method} from {:?}, {strategy}, waves of {wave_size:?}",
                            backends[first]
                        )
                    };

                    let uninterrupted = rendered(&mut renderers[first], CUTS[0], CUTS[3]);
                    assert_equal(
                        &uninterrupted.header.stats,
                        &expected,
                        &case("uninterrupted"),
                    );

                    let first_part = rendered(&mut renderers[first], CUTS[0], CUTS[2]);
                    let resumed = &mut renderers[second];
                    resumed
                        .set_samples(&samples(scene, CUTS[0], CUTS[3]))
                        .unwrap();
                    resumed.resume(&kept(first_part, strategy)).unwrap();
                    while resumed.advance().unwrap() {}
                    let resumed = resumed.part().unwrap();
                    assert_equal(&resumed.header.stats, &expected, &case("resumed"));
                    assert!(resumed.film == uninterrupted.film, "{}", case("resumed"));

                    let mut merged =
                        kept(rendered(&mut renderers[third], CUTS[2], CUTS[3]), strategy);
                    for (by, cut) in [(first, 0), (second, 1)] {
                        let part = rendered(&mut renderers[by], CUTS[cut], CUTS[cut + 1]);
                        merged.add(&kept(part, strategy)).unwrap();
                    }
                    assert_equal(&merged.header.stats, &expected, &case("merged"));
                    assert!(merged.film == uninterrupted.film, "{}", case("merged"));
                    assert!(
                        merged.picture() == uninterrupted.picture(),
                        "{}",
                        case("merged")
                    );
                }
            }
        }
    }
}

fn samples(scene: &Scene, from: SamplePosition, to: SamplePosition) -> Samples {
    Samples::new(from..to, scene.size.0 * scene.size.1).unwrap()
}

fn rendered(renderer: &mut Renderer, from: SamplePosition, to: SamplePosition) -> Part {
    let (width, height) = renderer.identity().size;
    let samples = Samples::new(from..to, width * height).unwrap();
    renderer.set_samples(&samples).unwrap();
    while renderer.advance().unwrap() {}
    let part = renderer.part().unwrap();
    assert!(renderer.picture().unwrap() == part.picture());
    part
}
