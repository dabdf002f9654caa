//! Tests that each stage alone gives the same bits on the CPU, on CUDA and by kernels compiled for the host, from the
//! same buffers. The first difference is reported: `shade, path 4711, throughput.rgb.y: cpu 0.25 cuda 0.2500001`.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../compaction/tests/common/mod.rs"]
mod harness;
#[path = "../common/host.rs"]
mod host;

mod buffers;
mod machines;
mod packed;
mod previews;
mod rounds;

use std::sync::{Arc, OnceLock};

use buffers::{Buffers, first_difference, stage_name};
use common::{
    Random, alpha_tested_garden, emissive_garden, extended_garden, garden, instanced_garden, load,
    on_cpu, render, sized,
};
use compaction::select::Strategy;
use glam::Vec3;
use harness::{Tests, is_short};
use host::HostCompiler;
use machines::{Cpu, Cuda, Host, Machine, Setting};
use raysieve::{
    device::{camera_bodies::camera_in, render_scene::RenderScene},
    film::{FilmSums, film_hash},
    light_shares::for_camera,
    path::Span,
    scene::{Background, Focus, Lens, PixelFilter, Scene},
    stages::wave::counts,
    wavefront::{Step, steps},
};

/// Returns the names of the stages that are compared step by step: those of the loop, and those that run on its film.
fn stages() -> Vec<&'static str> {
    let mut stages = Vec::new();
    for step in steps(0) {
        // `SortHits` and `Scatter` are left out, because these waves do not sort their hits and have no media.
        let is_new = !stages.contains(&stage_name(step));
        if is_new && !matches!(step, Step::SortHits(_) | Step::Scatter(_)) {
            stages.push(stage_name(step));
        }
    }
    stages.extend(["gather", "resolve"]);
    stages
}

/// The reason given for tests that are skipped because there is no C++ compiler.
const NO_COMPILER: &str = "no C++ compiler";

fn main() {
    let compiler = HostCompiler::find();
    let host = |stage: &str| format!("{stage}_agrees_when_compiled_for_the_host");
    let cuda = |stage: &str| format!("{stage}_agrees_on_cuda");
    let mut tests = Tests::new().test(
        "differences_are_reported_with_both_values",
        differences_are_reported_with_both_values,
    );
    for stage in stages() {
        tests = tests
            .needs(
                NO_COMPILER,
                compiler.clone(),
                &host(stage),
                move |compiler| agrees_on_host(compiler, stage),
            )
            .gpu(&cuda(stage), move |_| agrees_on_cuda(stage));
    }
    tests
        .needs(
            NO_COMPILER,
            compiler.clone(),
            &host("denoise"),
            |compiler| {
                previews::agree(|setting| Box::new(Host::new(compiler, setting)));
                rounds::previews_agree(|setting| Box::new(Host::new(compiler, setting)));
            },
        )
        .gpu(&cuda("denoise"), |_| {
            previews::agree(|setting| Box::new(Cuda::new(setting, 1)));
            rounds::previews_agree(|setting| Box::new(Cuda::new(setting, 1)));
        })
        .needs(
            NO_COMPILER,
            compiler.clone(),
            &host("test_convergence"),
            |compiler| rounds::agree(|setting| Box::new(Host::new(compiler, setting))),
        )
        .gpu(&cuda("test_convergence"), |_| {
            rounds::agree(|setting| Box::new(Cuda::new(setting, 1)));
        })
        .needs(
            NO_COMPILER,
            compiler.clone(),
            "host_compiled_megakernel_gives_the_cpus_film",
            megakernel_agrees,
        )
        .needs(
            NO_COMPILER,
            compiler,
            "host_compiled_stages_give_the_cpus_film",
            loop_agrees,
        )
        .run()
}

/// Returns the garden with a thin lens of five blades, a pixel filter wider than a pixel, and clamped indirect light.
fn garden_by_lens() -> Scene {
    let mut scene = garden();
    scene.path.set_file_name("garden by lens");
    scene.camera.lens = Some(Lens {
        radius: 0.1,
        focus: Focus::Point(scene.camera.target),
        blades: 5,
        rotation_degrees: 8.0,
    });
    scene.clamp_indirect = Some(0.7);
    scene.camera.filter = PixelFilter::BlackmanHarris { radius: 1.5 };
    scene
}

/// Prepares a scene at an image size.
fn setting(scene: &Scene, width: u32, height: u32) -> Setting {
    let render_scene = Arc::new(RenderScene::new(scene).unwrap());
    let camera = camera_in(&render_scene, &scene.camera, width, height);
    Setting {
        name: scene.path.file_stem().unwrap().display().to_string(),
        scene: for_camera(&render_scene, &camera, scene.max_bounces),
        camera,
        max_bounces: scene.max_bounces,
        strategy: Strategy::default(),
    }
}

/// Returns waves that begin and end within a row and a sample: all pixels in order, tile by tile, a tenth of them, and
/// many samples of few pixels.
fn spans(setting: &Setting, path_count: u32) -> [Span; 4] {
    let pixel_count = setting.camera.pixel_count();
    let whole = Span {
        width: setting.camera.width as u32,
        pixel_count,
        first_pixel: 5,
        first_sample: 3,
        path_count,
        seed: 9,
        ..Span::default()
    };
    let tenth = Span {
        pixel_count: pixel_count / 10,
        skipped_pixels: pixel_count - pixel_count / 10,
        pick_seed: 11,
        ..whole
    };
    let tiled = Span {
        tiled: 1,
        log2_samples_together: (path_count / pixel_count).checked_ilog2().unwrap_or(0),
        ..whole
    };
    // Groups of 32 samples, then of 16, 8, 4, 2 and 1, and an incomplete sample. The last warp has lanes without a path.
    let few_pixels = (path_count / 64).min(pixel_count);
    let grouped = Span {
        pixel_count: few_pixels,
        skipped_pixels: pixel_count - few_pixels,
        pick_seed: 13,
        path_count: 63 * few_pixels + few_pixels / 2,
        log2_samples_together: 5,
        ..tiled
    };
    [whole, tiled, tenth, grouped]
}

/// Compares a host-compiled stage with the CPU, in all scenes.
fn agrees_on_host(compiler: &HostCompiler, stage: &str) {
    static SETTINGS: OnceLock<Vec<Setting>> = OnceLock::new();
    let settings = SETTINGS.get_or_init(|| {
        [
            load("scenes/cornell.ron"),
            load("tests/scenes/lights.ron"),
            load("tests/scenes/many_lights.ron"),
            garden(),
            garden_by_lens(),
            instanced_garden(),
            alpha_tested_garden(),
            emissive_garden(),
            extended_garden(),
        ]
        .map(|scene| setting(&scene, 48, 32))
        .into()
    });
    for setting in settings {
        agree(setting, stage, 3001, &mut Host::new(compiler, setting));
    }
}

/// Compares a stage on CUDA with the CPU, in all scenes.
fn agrees_on_cuda(stage: &str) {
    static SETTINGS: OnceLock<Vec<Setting>> = OnceLock::new();
    let settings = SETTINGS.get_or_init(|| {
        // The emulator is slow in larger scenes.
        let files: &[&str] = match is_short() {
            true => &["cornell"],
            false => &["cornell", "spheres", "mesh"],
        };
        let scenes = files.iter().map(|name| load(format!("scenes/{name}.ron")));
        let scenes = scenes.chain([
            garden(),
            garden_by_lens(),
            instanced_garden(),
            alpha_tested_garden(),
            emissive_garden(),
            extended_garden(),
        ]);
        let (width, height) = if is_short() { (48, 32) } else { (96, 64) };
        scenes.map(|scene| setting(&scene, width, height)).collect()
    });
    let strategies = if stage == "compact" {
        Strategy::ALL
    } else {
        &[Strategy::LookBack]
    };
    let paths = if is_short() { 3001 } else { 20_000 };
    for setting in settings {
        for &strategy in strategies {
            let setting = Setting {
                strategy,
                ..setting.clone()
            };
            agree(&setting, stage, paths, &mut Cuda::new(&setting, paths));
        }
    }
}

/// Runs the loop on the CPU, and the stage in question on the other machine from the same buffers each time.
fn agree(setting: &Setting, stage: &str, paths: u32, other: &mut dyn Machine) {
    for span in spans(setting, paths) {
        agree_in(setting, stage, span, other);
    }
}

/// Compares a stage in one wave, with the buffers of a render and with special values in them.
fn agree_in(setting: &Setting, stage: &str, span: Span, other: &mut dyn Machine) {
    let mut cpu = Cpu::new(setting, span.path_count);
    let mut random = Random::new(1);
    let mut buffers = Buffers::new(span, setting.max_bounces, !setting.scene.is_plain());
    let mut turns = 0;
    for step in steps(setting.max_bounces) {
        if stage_name(step) == stage {
            let with_special_values = buffers.with_special_values(step, &mut random);
            for before in [&buffers, &with_special_values] {
                turns += 1;
                compare(setting, step, &mut cpu, other, before);
            }
        }
        buffers = after(setting, step, &mut cpu, &buffers);
    }
    assert!(buffers.sums.iter().any(|&sum| sum > 0), "a black film");
    if stage == "gather" {
        turns += 1;
        let film = FilmSums {
            sums: buffers.sums.clone(),
            rejected: 11,
        };
        // Adds the films of the render, and films of arbitrary sums.
        let mut word = || random.word();
        let odd = FilmSums {
            sums: film.sums.iter().map(|_| word()).collect(),
            rejected: u64::MAX,
        };
        for more in [&film, &odd] {
            let (ours, theirs) = (cpu.gather(&film, more), other.gather(&film, more));
            assert!(ours == theirs, "gather, {}: another sum", setting.name);
            assert!(ours != film);
        }
    }
    if stage == "resolve" {
        for done in [0, 7, u64::from(span.path_count), 1 << 40] {
            turns += 1;
            let (ours, theirs) = (cpu.resolve(&buffers, done), other.resolve(&buffers, done));
            let found = first_difference("channel", "picture", &ours, &theirs);
            assert!(found.is_none(), "resolve, {found:?}, {}", setting.name);
        }
    }
    assert!(turns > 0, "no stage is called {stage}");
}

/// Returns the buffers after a stage, without the undefined end of the queue.
fn after(setting: &Setting, step: Step, machine: &mut dyn Machine, before: &Buffers) -> Buffers {
    let mut after = machine.run(step, before);
    if setting.strategy != Strategy::Off {
        after.cut_queue(step, setting.strategy.keeps_order());
    }
    after
}

/// Asserts that a stage gives the same buffers on both machines.
fn compare(
    setting: &Setting,
    step: Step,
    cpu: &mut Cpu,
    other: &mut dyn Machine,
    before: &Buffers,
) {
    let expected = after(setting, step, cpu, before);
    let got = after(setting, step, other, before);
    if let Some(difference) = expected.difference(&got, other.name()) {
        panic!(
            "{}, {difference} ({}, {}, {step:?})",
            stage_name(step),
            setting.name,
            setting.strategy
        );
    }
}

/// Prepares a scene at 40×30 pixels with 5 samples per pixel, and the paths of its whole render.
fn small_render(scene: Scene) -> (Scene, Setting, Span) {
    let scene = sized(scene, 40, 30, 5);
    let (width, height) = scene.size;
    let setting = setting(&scene, width, height);
    let span = Span {
        width,
        pixel_count: width * height,
        path_count: width * height * scene.spp,
        seed: scene.seed,
        ..Span::default()
    };
    (scene, setting, span)
}

/// Returns scenes with a constant sky and with an environment, whose camera rays see another background.
fn backgrounds() -> [Scene; 2] {
    [
        Scene {
            background: Background::Color(Vec3::new(0.25, 3.0, 0.5)),
            ..load("scenes/spheres.ron")
        },
        Scene {
            background: Background::Transparent,
            ..load("tests/scenes/lights.ron")
        },
    ]
}

/// Compares the film of a render by host-compiled stages with that of the CPU backend.
fn loop_agrees(compiler: &HostCompiler) {
    for scene in [
        load("scenes/cornell.ron"),
        load("scenes/spheres.ron"),
        load("tests/scenes/lights.ron"),
        load("tests/scenes/many_lights.ron"),
        load("tests/scenes/house.ron"),
        load("tests/scenes/bodies.ron"),
        load("tests/scenes/orthographic.ron"),
        garden(),
        garden_by_lens(),
        alpha_tested_garden(),
        emissive_garden(),
    ]
    .into_iter()
    .chain(backgrounds())
    {
        let (scene, setting, span) = small_render(scene);
        let (width, height) = scene.size;
        let mut host = Host::new(compiler, &setting);
        let black = Buffers::new(span, setting.max_bounces, !setting.scene.is_plain());
        let film = steps(setting.max_bounces).fold(black, |before, step| host.run(step, &before));
        let (picture, stats) = render(&scene, &on_cpu());
        assert_eq!(
            film_hash(width, height, &film.sums),
            stats.film_hash,
            "{}",
            setting.name
        );
        let channels = host.resolve(&film, u64::from(span.path_count));
        let expected: Vec<f32> = picture
            .pixels
            .iter()
            .flat_map(|pixel| pixel.to_array())
            .collect();
        assert_eq!(
            first_difference("channel", "picture", &expected, &channels),
            None
        );
    }
}

/// Compares film and counts of a render by the host-compiled megakernel with the CPU backend's, in every variant.
fn megakernel_agrees(compiler: &HostCompiler) {
    for scene in [
        load("scenes/cornell.ron"),
        load("scenes/spheres.ron"),
        load("tests/scenes/lights.ron"),
        load("tests/scenes/many_lights.ron"),
        load("tests/scenes/instances.ron"),
        load("tests/scenes/bodies.ron"),
        load("tests/scenes/fog.ron"),
        load("tests/scenes/milk.ron"),
        load("tests/scenes/smoke.ron"),
        load("tests/scenes/nested.ron"),
        garden_by_lens(),
        instanced_garden(),
        alpha_tested_garden(),
        emissive_garden(),
    ]
    .into_iter()
    .chain(backgrounds())
    {
        let (scene, setting, span) = small_render(scene);
        let (width, height) = scene.size;
        let mut film = Buffers::new(span, setting.max_bounces, !setting.scene.is_plain());
        Host::new(compiler, &setting).megakernel(&mut film);
        let (_, stats) = render(&scene, &on_cpu());
        let hash = film_hash(width, height, &film.sums);
        assert_eq!(hash, stats.film_hash, "{}", setting.name);
        for row in &stats.bounces {
            let counted = [
                counts::rays,
                counts::hits,
                counts::scattered,
                counts::shadow_rays,
                counts::survivors,
            ]
            .map(|place| u64::from(film.counts[place(row.bounce)]));
            let expected = [
                row.rays,
                row.hits,
                row.scattered,
                row.shadow_rays,
                row.survivors,
            ];
            assert_eq!(counted, expected, "{}, bounce {}", setting.name, row.bounce);
        }
    }
}

/// Checks that a difference is reported with its place and both values, and that NaNs of different bits are equal.
fn differences_are_reported_with_both_values() {
    let span = Span {
        path_count: 5000,
        pixel_count: 1,
        ..Span::default()
    };
    let mut ours = Buffers::new(span, 0, false);
    let mut theirs = ours.clone();
    ours.radiances[17].rgb.x = f32::NAN;
    theirs.radiances[17].rgb.x = -f32::NAN;
    assert_eq!(ours.difference(&theirs, "cuda"), None);
    ours.throughputs[4711].rgb.y = 0.25;
    theirs.throughputs[4711].rgb.y = 0.250_000_1;
    assert_eq!(
        ours.difference(&theirs, "cuda").unwrap(),
        "path 4711, throughput.rgb.y: cpu 0.25 cuda 0.2500001"
    );
    theirs.throughputs[4711].rgb.y = 0.25;
    theirs.queue[8] = 1;
    assert_eq!(
        ours.difference(&theirs, "cuda").unwrap(),
        "lane 8, queue: cpu 0 cuda 1"
    );
}
