//! Exactness of renders to a noise target: the samples of each pixel depend only on the scene, size, seed and target.

use std::time::Duration;

use compaction::select::Strategy;
use raysieve::{
    render::{
        part::{Packing, Part},
        renderer::{BackendChoice, Renderer, Settings},
        stats::Stats,
    },
    scene::Scene,
};

use crate::{
    assert_equal,
    common::{alpha_tested_garden, garden, load, on_cpu, sized, start},
    harness::Gpu,
};

/// Noise target at which some pixels stop early, some later, and some never.
const NOISE: f32 = 0.12;

pub(crate) fn scenes() -> [Scene; 2] {
    [
        sized(load("scenes/cornell.ron"), 16, 12, 144),
        sized(garden(), 12, 10, 100),
    ]
}

fn alpha_tested() -> Scene {
    sized(alpha_tested_garden(), 24, 18, 144)
}

/// Prepares a render to the noise target [`NOISE`].
pub(crate) fn to_noise(scene: &Scene, settings: &Settings) -> Renderer {
    let mut renderer = start(scene, settings);
    renderer.set_noise(Some(NOISE)).unwrap();
    renderer
}

/// Finishes a render and returns its statistics.
pub(crate) fn finished(renderer: &mut Renderer) -> Stats {
    while renderer.advance().unwrap() {}
    renderer.finish().unwrap()
}

/// Asserts equal films, sample counts and noise statistics.
pub(crate) fn assert_same(got: &Stats, expected: &Stats, case: &str) {
    assert_equal(got, expected, case);
    assert_eq!(got.noise, expected.noise, "{}, {case}", expected.scene);
}

/// Renders a scene on the CPU, and checks that some pixels stop early and some never converge.
pub(crate) fn expected_of(scene: &Scene) -> Stats {
    let expected = finished(&mut to_noise(scene, &on_cpu()));
    let noise = expected.noise.as_ref().unwrap();
    let pixels = scene.size.0 * scene.size.1;
    assert!(expected.spp < noise.max_samples, "{noise:?}");
    assert!((1..pixels).contains(&noise.unconverged_pixels), "{noise:?}");
    expected
}

/// Asserts that each strategy, with the wave sizes in turn, and the megakernel give the CPU's film.
pub(crate) fn agrees(
    scene: &Scene,
    settings: &Settings,
    strategies: &[Strategy],
    wave_sizes: &[Option<u32>],
) {
    let expected = expected_of(scene);
    for (&wave_size, &strategy) in wave_sizes.iter().cycle().zip(strategies) {
        let settings = Settings {
            strategy,
            wave_size,
            ..settings.clone()
        };
        let case = format!("{settings:?}");
        let mut renderer = to_noise(scene, &settings);
        assert_same(&finished(&mut renderer), &expected, &case);
    }
    let mut renderer = to_noise(scene, settings);
    renderer.set_megakernel().unwrap();
    assert_same(&finished(&mut renderer), &expected, "megakernel");
    // Switches to all samples, and back to the noise target.
    renderer.set_noise(None).unwrap();
    let all = finished(&mut renderer);
    assert_eq!((all.spp, &all.noise), (scene.spp, &None));
    renderer.set_noise(Some(NOISE)).unwrap();
    renderer.set_size(scene.size.0 + 3, 5).unwrap();
    renderer.advance().unwrap();
    renderer.set_size(scene.size.0, scene.size.1).unwrap();
    assert_same(&finished(&mut renderer), &expected, "after other settings");
}

pub(crate) fn adaptive_films_are_identical_for_any_threads_strategy_and_wave_size() {
    for scene in scenes() {
        for threads in [1, 3] {
            let settings = Settings {
                threads: Some(threads),
                ..on_cpu()
            };
            agrees(
                &scene,
                &settings,
                Strategy::ALL,
                &[Some(7), Some(1000), None],
            );
        }
    }
    // Compared on GPUs.
    expected_of(&alpha_tested());
}

pub(crate) fn adaptive_films_match_the_cpus_on_cuda(_: &Gpu) {
    let on_cuda = Settings {
        backend: BackendChoice::Cuda(0),
        ..Settings::default()
    };
    let [cornell, garden] = scenes();
    agrees(&cornell, &on_cuda, Strategy::ALL, &[Some(333), None]);
    let some = [Strategy::LookBack, Strategy::Off];
    agrees(&garden, &on_cuda, &some, &[Some(1000), None]);
    agrees(&alpha_tested(), &on_cuda, &[Strategy::Atomic], &[Some(500)]);
    resumes_on(&[on_cuda, on_cpu()]);
}

/// Renders at least one wave and returns whether more work remains.
pub(crate) fn step(renderer: &mut Renderer) -> bool {
    let done = renderer.progress();
    loop {
        let goes_on = renderer.advance_for(Duration::from_micros(100)).unwrap();
        if !goes_on || renderer.progress() != done {
            return goes_on;
        }
    }
}

/// Interrupts a render many times, also within rounds, and resumes it from a file.
pub(crate) fn adaptive_renders_resume_within_a_round() {
    resumes_on(&[on_cpu()]);
}

/// Asserts that renders which alternate between these settings give the CPU's film.
pub(crate) fn resumes_on(machines: &[Settings]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.exr");
    let scene = &scenes()[0];
    let expected = expected_of(scene);
    let mut left: Option<Part> = None;
    let (mut cuts, mut within) = (0, 0);
    for settings in machines.iter().cycle() {
        let settings = Settings {
            // A wave is shorter than a round and contains no whole number of samples.
            wave_size: Some(2999 + cuts),
            threads: Some(1),
            ..settings.clone()
        };
        let mut renderer = to_noise(scene, &settings);
        if let Some(part) = &left {
            renderer.resume(part).unwrap();
        }
        let goes_on = step(&mut renderer);
        let counts = renderer.sample_counts().unwrap();
        let part = renderer.part().unwrap();
        let stats = &part.header.stats;
        let noise = stats.noise.as_ref().unwrap();
        let taken: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        assert_eq!(taken, stats.paths);
        assert_eq!(counts.iter().max(), Some(&noise.max_samples));
        assert_eq!(counts.iter().min(), Some(&stats.spp));
        within += u32::from(!noise.max_samples.is_multiple_of(16));
        if !goes_on {
            assert_same(stats, &expected, &format!("{cuts} cuts"));
            assert_eq!(renderer.progress(), 1.0);
            break;
        }
        assert!(renderer.progress() < 1.0);
        cuts += 1;
        part.write(&path, Packing::Fast).unwrap();
        let read = Part::read(&path).unwrap();
        assert_eq!(read.film, part.film);
        assert_eq!(read.pixel_stats, part.pixel_stats);
        assert_eq!(read.picture(), renderer.picture().unwrap());
        left = Some(read);
    }
    assert!(cuts > 2 && within > 0, "{cuts} cuts, {within} in a round");
}

/// Checks that raising the sample limit gives the film that the higher limit gives from the start.
pub(crate) fn adaptive_renders_continue_with_a_higher_sample_limit() {
    let few = &scenes()[0];
    let more = Scene {
        spp: 300,
        ..few.clone()
    };
    let expected = expected_of(&more);
    for spp in [128, few.spp, 15] {
        let few = Scene { spp, ..few.clone() };
        let mut renderer = to_noise(&few, &on_cpu());
        finished(&mut renderer);
        let part = renderer.part().unwrap();
        let mut renderer = to_noise(&more, &on_cpu());
        renderer.resume(&part).unwrap();
        assert_same(&finished(&mut renderer), &expected, &format!("from {spp}"));
    }
    // Lowering the limit is refused.
    let mut renderer = to_noise(&more, &on_cpu());
    finished(&mut renderer);
    let part = renderer.part().unwrap();
    let refused = to_noise(few, &on_cpu()).resume(&part).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("has pixels with 300 samples, more than 144"),
        "{refused}"
    );
}
