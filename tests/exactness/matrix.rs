//! All ways to a film, crossed: scenes, backends, strategies, sizes of a wave, and in one go, resumed or merged.

use compaction::{cuda::devices, select::Strategy};
use raysieve::{
    part::{Packing, Part, Place, Samples},
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

use crate::{
    assert_equal,
    common::{garden, load, on_cpu, render, sized, start},
    harness::Gpu,
};

/// Cut where a sample has begun, too.
const CUTS: [Place; 4] = [
    Place {
        sample: 0,
        pixel: 0,
    },
    Place {
        sample: 1,
        pixel: 0,
    },
    Place {
        sample: 3,
        pixel: 101,
    },
    Place {
        sample: 5,
        pixel: 0,
    },
];

pub(crate) fn holds_on_cpus() {
    let wave_sizes = [Some(1), Some(1000), None];
    holds(&backends_of_cpu(), &small_scenes(), &wave_sizes);
}

/// On the CPU and all GPUs, each of which takes over from another.
pub(crate) fn holds_on_gpus(_: &Gpu) {
    let gpus = devices().unwrap();
    let gpus = gpus.iter().map(|device| Settings {
        backend: BackendChoice::Cuda(device.ordinal),
        ..Settings::default()
    });
    let backends: Vec<Settings> = gpus.chain(backends_of_cpu()).collect();
    println!("{} backends", backends.len());
    holds(&backends, &small_scenes(), &[Some(33), Some(1000), None]);
    let mesh = sized(load("scenes/mesh.ron"), 64, 48, 5);
    holds(&backends, &[mesh], &[None]);
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
        garden(),
    ];
    scenes.map(|scene| sized(scene, 24, 16, 5)).into()
}

fn holds(backends: &[Settings], scenes: &[Scene], wave_sizes: &[Option<u32>]) {
    let folder = tempfile::tempdir().unwrap();
    // Through a file, but not every time: a disk takes longer to sync it than these renders take.
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
                    let case = |way: &str| {
                        format!(
                            "{way} from {:?}, {strategy}, waves of {wave_size:?}",
                            backends[first]
                        )
                    };

                    let one_go = rendered(&mut renderers[first], CUTS[0], CUTS[3]);
                    assert_equal(&one_go.claim.stats, &expected, &case("one go"));

                    let begun = rendered(&mut renderers[first], CUTS[0], CUTS[2]);
                    let resumed = &mut renderers[second];
                    resumed
                        .set_samples(&samples(scene, CUTS[0], CUTS[3]))
                        .unwrap();
                    resumed.resume(&kept(begun, strategy)).unwrap();
                    while resumed.advance().unwrap() {}
                    let resumed = resumed.part().unwrap();
                    assert_equal(&resumed.claim.stats, &expected, &case("resumed"));
                    assert!(resumed.exposed == one_go.exposed, "{}", case("resumed"));

                    let mut merged =
                        kept(rendered(&mut renderers[third], CUTS[2], CUTS[3]), strategy);
                    for (by, cut) in [(first, 0), (second, 1)] {
                        let part = rendered(&mut renderers[by], CUTS[cut], CUTS[cut + 1]);
                        merged.add(&kept(part, strategy)).unwrap();
                    }
                    assert_equal(&merged.claim.stats, &expected, &case("merged"));
                    assert!(merged.exposed == one_go.exposed, "{}", case("merged"));
                    assert!(merged.picture() == one_go.picture(), "{}", case("merged"));
                }
            }
        }
    }
}

fn samples(scene: &Scene, from: Place, to: Place) -> Samples {
    Samples::new(from..to, scene.size.0 * scene.size.1).unwrap()
}

fn rendered(renderer: &mut Renderer, from: Place, to: Place) -> Part {
    let (width, height) = renderer.identity().size;
    let samples = Samples::new(from..to, width * height).unwrap();
    renderer.set_samples(&samples).unwrap();
    while renderer.advance().unwrap() {}
    let part = renderer.part().unwrap();
    assert!(renderer.picture().unwrap() == part.picture());
    part
}
