//! Exactness on one GPU: every scene, strategy and wave size gives the CPU's film. Ignored without a GPU.

use std::{env, process::Command, sync::Arc, time::Duration};

use compaction::{
    cuda::{Compiler, Graph, Origin},
    select::Strategy,
};
use raysieve::{
    camera::Camera,
    device::{kernels::SHIPPED, render_scene::RenderScene},
    film::Film,
    path::Span,
    render::{
        renderer::{BackendChoice, Renderer, Settings, SortHits},
        stats::BounceStats,
    },
    scene::Scene,
    stages::sources,
    stages::{
        Stage,
        wave::{CpuWave, CudaWave, Report, Wave},
    },
    wavefront::trace,
};

use crate::{
    assert_equal,
    common::{load, on_cpu, render, scenes, sized, start},
    cpu,
    harness::Gpu,
};

/// Name of the test that runs itself again in a process without NVRTC and cached kernels.
pub(crate) const WITHOUT_NVRTC: &str = "shipped_kernels_render_without_nvrtc";

/// Returns settings for the first GPU.
fn on_cuda(wave_size: Option<u32>) -> Settings {
    Settings {
        backend: BackendChoice::Cuda(0),
        wave_size,
        ..Settings::default()
    }
}

/// Asserts that every strategy gives the CPU's film, with each of the wave sizes.
fn agrees(scene: &Scene, wave_sizes: &[Option<u32>]) {
    agrees_by(Strategy::ALL, scene, wave_sizes);
}

/// Asserts that the given strategies and the megakernel give the CPU's film. The scene is uploaded once per wave size.
fn agrees_by(strategies: &[Strategy], scene: &Scene, wave_sizes: &[Option<u32>]) {
    let (picture, expected) = render(scene, &on_cpu());
    for &wave_size in wave_sizes {
        let mut renderer = start(scene, &on_cuda(wave_size));
        for &strategy in strategies {
            renderer.restart().unwrap();
            renderer.set_strategy(strategy).unwrap();
            while renderer.advance().unwrap() {}
            let case = format!("{strategy}, waves of {wave_size:?}");
            assert_equal(&renderer.finish().unwrap(), &expected, &case);
            assert!(
                renderer.picture().unwrap() == picture,
                "{}, {case}: different image",
                expected.scene
            );
        }
        renderer.restart().unwrap();
        renderer.set_megakernel().unwrap();
        while renderer.advance().unwrap() {}
        let case = format!("megakernel, waves of {wave_size:?}");
        assert_equal(&renderer.finish().unwrap(), &expected, &case);
    }
}

/// Checks the probabilities of lights, which depend on the camera, and CUDA graphs that were captured before.
pub(crate) fn another_camera_has_the_cpus_film_on_cuda(_: &Gpu) {
    let inside = sized(load("tests/scenes/house.ron"), 80, 60, 4);
    let mut outside = inside.clone();
    outside.camera.origin = glam::Vec3::new(8.0, 3.0, 7.0);
    let hashes = [&inside, &outside].map(|scene| render(scene, &on_cpu()).1.film_hash);
    let mut renderer = start(&inside, &on_cuda(Some(1000)));
    for (scene, hash) in [
        (&inside, &hashes[0]),
        (&outside, &hashes[1]),
        (&inside, &hashes[0]),
    ] {
        renderer.set_camera(scene.camera).unwrap();
        while renderer.advance().unwrap() {}
        assert_eq!(&renderer.finish().unwrap().film_hash, hash);
    }
}

pub(crate) fn every_scene_has_the_cpus_film_on_cuda(_: &Gpu) {
    for scene in scenes() {
        agrees(&sized(scene, 160, 90, 4), &[Some(1000), Some(8192), None]);
    }
}

pub(crate) fn every_wave_size_has_the_cpus_film_on_cuda(_: &Gpu) {
    for name in ["scenes/cornell.ron", "scenes/spheres.ron"] {
        let scene = sized(load(name), 20, 12, 3);
        // Sizes around those of a warp, a block and a compaction tile, and around the number of paths.
        let sizes = [
            1,
            7,
            31,
            32,
            33,
            127,
            128,
            129,
            511,
            719,
            720,
            721,
            4096,
            1 << 20,
        ];
        agrees(&scene, &sizes.map(Some));
        // Warps then hold 32, 4, 2 and 1 samples of a pixel.
        agrees(
            &sized(load(name), 20, 12, 39),
            &[None, Some(39 * 20 * 12 - 1)],
        );
    }
}

/// Renders waves so large that all multiprocessors work on many tiles at once.
pub(crate) fn a_large_image_has_the_cpus_film_on_cuda(_: &Gpu) {
    agrees(
        &sized(load("scenes/cornell.ron"), 1024, 512, 3),
        &[None, Some(1 << 20), Some(77_777)],
    );
    agrees(&sized(load("scenes/spheres.ron"), 1024, 576, 3), &[None]);
}

/// An action that interrupts a render before it is finished.
type Interruption = fn(&mut Renderer);

pub(crate) fn the_film_is_identical_for_any_steps_on_cuda(_: &Gpu) {
    let scene = sized(load("scenes/cornell.ron"), 200, 200, 8);
    let (_, expected) = render(&scene, &on_cpu());
    // The waves are so small that the render takes several steps.
    let mut renderer = start(&scene, &on_cuda(Some(64)));
    let interruptions: [(&str, Interruption); 4] = [
        ("nothing", |_| ()),
        ("restart", |renderer| renderer.restart().unwrap()),
        ("another size and back", |renderer| {
            renderer.set_size(300, 100).unwrap();
            renderer.advance().unwrap();
            renderer.set_size(200, 200).unwrap();
        }),
        ("pictures and other strategies", |renderer| {
            for &strategy in Strategy::ALL {
                renderer.set_strategy(strategy).unwrap();
                renderer.advance().unwrap();
                let _ = renderer.picture().unwrap();
            }
        }),
    ];
    for (name, interrupt) in interruptions {
        renderer.restart().unwrap();
        assert!(
            renderer.advance().unwrap(),
            "the render is too short to be interrupted"
        );
        interrupt(&mut renderer);
        while renderer.advance().unwrap() {}
        assert_equal(&renderer.finish().unwrap(), &expected, name);
    }
}

/// Renders in a process that finds neither NVRTC nor cached kernels.
pub(crate) fn shipped_kernels_render_without_nvrtc(gpu: &Gpu) {
    let without = [("COMPACTION_NVRTC", "off"), ("COMPACTION_CACHE", "off")];
    let has = |&(name, choice): &(&str, &str)| env::var_os(name).is_some_and(|set| set == choice);
    if !without.iter().all(has) {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", WITHOUT_NVRTC])
            .envs(without)
            .output()
            .unwrap();
        let output_text = String::from_utf8_lossy(&child.stdout).into_owned()
            + &String::from_utf8_lossy(&child.stderr);
        assert!(
            child.status.success() && output_text.contains("1 passed"),
            "{output_text}"
        );
        return;
    }
    let compiler = Compiler::new().shipped(SHIPPED);
    for source in sources() {
        let module = compiler
            .load(&gpu.context, &source)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(module.origin(), Origin::Shipped, "{}", source.path());
    }
    // Only the strategies whose kernels are shipped; the others need NVRTC.
    let shipped = [Strategy::LookBack, Strategy::Atomic, Strategy::Off];
    agrees_by(
        &shipped,
        &sized(load("scenes/cornell.ron"), 160, 90, 4),
        &[None],
    );
    let metals = sized(load("scenes/metals.ron"), 160, 90, 4);
    let (_, expected) = render(&metals, &on_cpu());
    let mut renderer = start(&metals, &on_cuda(None));
    renderer.set_sort_hits(SortHits::On).unwrap();
    while renderer.advance().unwrap() {}
    assert_equal(&renderer.finish().unwrap(), &expected, "sorted hits");
}

/// A wave on the GPU and an equal one on the CPU, with the paths to trace.
struct WavePair {
    cuda: Wave,
    cpu: Wave,
    span: Span,
}

/// Creates both waves for the Cornell box; `capacity` is the maximum number of paths of the one on the GPU.
fn wave_pair(strategy: Strategy, capacity: u32) -> WavePair {
    let scene = load("scenes/cornell.ron");
    let (width, height) = (96, 64);
    let camera = Camera::new(&scene.camera, width, height);
    let render_scene = RenderScene::new(&scene).unwrap();
    let span = Span {
        width,
        pixel_count: width * height,
        first_pixel: 5,
        first_sample: 3,
        path_count: 20_000,
        seed: 9,
        ..Span::default()
    };
    let (paths, bounces) = (span.path_count, scene.max_bounces);
    let cuda = CudaWave::new(0, &render_scene, camera, bounces, capacity, strategy).unwrap();
    let film = Arc::new(Film::new(span.pixel_count).unwrap());
    WavePair {
        cuda: Wave::Cuda(Box::new(cuda)),
        cpu: Wave::Cpu(Box::new(CpuWave::new(
            Arc::new(render_scene),
            camera,
            film,
            bounces,
            paths,
            strategy,
        ))),
        span,
    }
}

/// Checks that repeated waves of one size are recorded as a CUDA graph and replayed, and that others are not.
///
/// A wave that synchronised with the host could not be recorded.
pub(crate) fn waves_of_one_size_replay_a_graph(_: &Gpu) {
    for &strategy in Strategy::ALL {
        let WavePair {
            mut cuda,
            mut cpu,
            span,
        } = wave_pair(strategy, 20_000);
        let half = Span {
            path_count: span.path_count / 2,
            ..span
        };
        let mut graphs = Vec::new();
        for span in [span, span, span, span, half, span, span, span, span, span] {
            for wave in [&mut cuda, &mut cpu] {
                trace(wave, span).unwrap();
                wave.post_report().unwrap();
            }
            graphs.push(on_gpu(&cuda).is_graph());
            let (got, expected) = (cuda.finish_oldest().unwrap(), cpu.finish_oldest().unwrap());
            let (got, expected) = (got.unwrap(), expected.unwrap());
            assert_eq!(got.counts, expected.counts, "{strategy}");
            let stages = |report: &Report| -> Vec<Stage> {
                report.times.iter().map(|&(stage, _)| stage).collect()
            };
            assert_eq!(stages(&got), stages(&expected), "{strategy}");
            assert!(got.times.iter().all(|&(_, time)| time >= 0.0));
        }
        assert_eq!(
            graphs,
            [
                false, true, true, true, false, false, true, true, true, true
            ],
            "{strategy}"
        );
        let (got, expected) = (cuda.film_sums().unwrap(), cpu.film_sums().unwrap());
        assert!(expected.sums.iter().any(|&sum| sum > 0));
        assert!(got.sums == expected.sums, "{strategy}: the film differs");
        assert_eq!((got.rejected, expected.rejected), (0, 0));
    }
}

pub(crate) fn sorting_hits_does_not_change_the_film_on_cuda(_: &Gpu) {
    cpu::assert_sorting_keeps_the_film(&on_cuda(None));
}

/// Renders waves of growing size, whose buffers are reallocated in between.
pub(crate) fn growing_waves_give_the_cpus_film(_: &Gpu) {
    let WavePair {
        mut cpu, mut span, ..
    } = wave_pair(Strategy::default(), 20_000);
    let WavePair { cuda, .. } = wave_pair(Strategy::default(), 500);
    let Wave::Cuda(cuda) = cuda else {
        panic!("a wave on a GPU")
    };
    let mut cuda = Wave::Cuda(Box::new(cuda.with_adaptive_size(8_000)));
    trace(&mut cpu, span).unwrap();
    let mut left = span.path_count;
    let mut sizes = Vec::new();
    while left > 0 {
        span.path_count = cuda.next_paths().min(left);
        sizes.push(span.path_count);
        trace(&mut cuda, span).unwrap();
        cuda.post_report().unwrap();
        if cuda.is_full() {
            cuda.finish_oldest().unwrap();
        }
        span.first_pixel += span.path_count;
        left -= span.path_count;
    }
    let (got, expected) = (cuda.film_sums().unwrap(), cpu.film_sums().unwrap());
    assert!(got.sums == expected.sums, "waves of {sizes:?} paths");
    assert!(sizes.iter().all(|&size| size <= 8_000));
}

/// Checks that the stage times sum to at most the render time, also if the image is read during the render.
pub(crate) fn stage_times_are_within_the_render_time(_: &Gpu) {
    let scene = sized(load("scenes/cornell.ron"), 1024, 1024, 256);
    let mut renderer = start(&scene, &on_cuda(None));
    while renderer.advance_for(Duration::from_millis(5)).unwrap() {
        renderer.picture().unwrap();
    }
    let stats = renderer.finish().unwrap();
    let stages: f64 = stats.bounces.iter().map(BounceStats::total_ms).sum();
    let whole = 1000.0 * stats.seconds;
    assert!(stages <= whole, "stages of {stages} ms in {whole} ms");
}

/// Checks that reading the film, which synchronises, cannot be recorded, and that the wave still works afterwards.
pub(crate) fn recording_a_synchronisation_into_a_graph_fails(_: &Gpu) {
    let WavePair { cuda, span, .. } = wave_pair(Strategy::default(), 20_000);
    let mut cuda = cuda;
    let stream = on_gpu(&cuda).stream.clone();
    let graph = Graph::record(&stream, || cuda.film_sums().map(drop));
    assert!(graph.is_err());
    trace(&mut cuda, span).unwrap();
    assert!(cuda.film_sums().unwrap().sums.iter().any(|&sum| sum > 0));
}

fn on_gpu(wave: &Wave) -> &CudaWave {
    match wave {
        Wave::Cuda(cuda) => cuda,
        Wave::Cpu(_) => panic!("a wave on a GPU"),
    }
}
