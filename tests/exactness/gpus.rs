//! Exactness on several GPUs, some of which may fail. Skipped if there is only one GPU.

use std::{env, process::Command, sync::Arc, time::Duration};

use compaction::{
    cuda::{Compiler, Kernel, Launch, Source, devices, open},
    cudarc::driver::CudaStream,
    select::Strategy,
};
use raysieve::{
    render::{
        part::Part,
        renderer::{BackendChoice, Renderer, Settings},
        stats::Stats,
    },
    scene::Scene,
};

use crate::{
    assert_equal,
    common::{garden, load, on_cpu, render, sized, start},
};

/// Name of a test that runs its cases in child processes, because a process cannot use a GPU that has failed.
pub(crate) const FAILING: &str = "gpus_that_fail_are_left_out";
/// Name of a test that runs its cases in child processes, because a process cannot use GPUs that have failed.
pub(crate) const ALL_FAIL: &str = "parts_remain_when_all_gpus_fail";
/// Name of a test that runs itself in a child process, because a process cannot use a GPU that has failed.
pub(crate) const ONLY_FAILS: &str = "a_part_remains_when_the_only_gpu_fails";
/// Name of a test that runs itself in a child process whose second GPU is slower.
pub(crate) const UNEVEN: &str = "faster_gpus_get_more_work";

/// Environment variable that tells a child process which GPUs fail.
///
/// `1@3,0@9` means GPU 1 after the third step of the render and GPU 0 after the ninth.
pub(crate) const CASE: &str = "RAYSIEVE_TEST_GPUS";

/// Returns the number of GPUs, or an error if there are fewer than two.
pub(crate) fn several() -> Result<usize, String> {
    match devices().map(|found| found.len()) {
        Ok(1) => Err("there is only one GPU".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the number of GPUs, or an error if there is none.
pub(crate) fn gpu_count() -> Result<usize, String> {
    let found = devices().map_err(|error| error.to_string())?;
    Ok(found.len())
}

/// Returns whether the GPUs are emulated (`emulator/run`).
pub(crate) fn is_emulated() -> bool {
    devices().unwrap()[0].name.starts_with("Emulated")
}

/// Returns settings for these GPUs that copy the film to the host often.
pub(crate) fn on(gpus: &[usize], wave_size: Option<u32>) -> Settings {
    Settings {
        backend: BackendChoice::SomeCuda(gpus.to_vec()),
        wave_size,
        // The default interval is longer than the renders of these tests.
        keep_every: Some(Duration::from_millis(2)),
        ..Settings::default()
    }
}

/// Asserts that a part equals the CPU's render of the same samples.
fn assert_equals_cpu(scene: &Scene, part: &Part, case: &str) {
    let paths: u64 = part.header.stats.devices.iter().map(|gpu| gpu.paths).sum();
    assert_eq!(
        paths, part.header.stats.paths,
        "{case}: {:?}",
        part.header.stats.devices
    );
    if part.header.samples.is_empty() {
        assert_eq!(part.header.stats.paths, 0, "{case}");
        return;
    }
    let mut cpu = start(scene, &on_cpu());
    cpu.set_samples(&part.header.samples).unwrap();
    while cpu.advance().unwrap() {}
    assert_equal(&part.header.stats, &cpu.finish().unwrap(), case);
}

pub(crate) fn several_gpus_have_the_cpus_film(&count: &usize) {
    let scenes = [
        load("scenes/cornell.ron"),
        load("scenes/spheres.ron"),
        garden(),
    ];
    let mut sets = vec![vec![0, 1], vec![1, 0], (0..count).collect()];
    if count > 2 {
        sets.push(vec![2, 0]);
    }
    for scene in scenes.map(|scene| sized(scene, 24, 16, 5)) {
        let (picture, expected) = render(&scene, &on_cpu());
        for gpus in &sets {
            for wave_size in [Some(150), None] {
                let mut renderer = start(&scene, &on(gpus, wave_size));
                // Other tests cover all strategies on one GPU.
                let is_one_for_all = gpus.len() == count && scene.max_bounces == 12;
                let strategies = match is_one_for_all {
                    true => Strategy::ALL,
                    false => &[Strategy::default()][..],
                };
                for &strategy in strategies {
                    let case = format!("{strategy} on {gpus:?}, waves of {wave_size:?}");
                    renderer.restart().unwrap();
                    renderer.set_strategy(strategy).unwrap();
                    assert_renders(&mut renderer, &expected, &case);
                    assert!(
                        renderer.picture().unwrap() == picture,
                        "{case}: different image"
                    );
                }
                if is_one_for_all {
                    let case = format!("megakernel on {gpus:?}, waves of {wave_size:?}");
                    renderer.restart().unwrap();
                    renderer.set_megakernel().unwrap();
                    assert_renders(&mut renderer, &expected, &case);
                }
            }
        }
    }
}

/// Finishes a render and compares its statistics.
fn assert_renders(renderer: &mut Renderer, expected: &Stats, case: &str) {
    while renderer.advance().unwrap() {}
    let stats = renderer.finish().unwrap();
    assert_equal(&stats, expected, case);
    let paths: u64 = stats.devices.iter().map(|gpu| gpu.paths).sum();
    assert_eq!(paths, stats.paths, "{case}: {:?}", stats.devices);
    assert_eq!(renderer.take_notes(), Vec::<String>::new(), "{case}");
}

/// Images and parts taken during a render match the samples so far, and a render resumed from one is exact.
pub(crate) fn parts_of_several_gpus_are_exact_at_any_time(&count: &usize) {
    let scene = sized(
        load("scenes/cornell.ron"),
        48,
        32,
        if is_emulated() { 8 } else { 64 },
    );
    let all: Vec<usize> = (0..count).collect();
    let mut renderer = start(&scene, &on(&all, Some(200)));
    let mut other = start(&scene, &on(&[1, 0], Some(300)));
    let mut steps = 0;
    while renderer.advance_for(Duration::from_millis(3)).unwrap() {
        steps += 1;
        if steps % 3 == 1 {
            let part = renderer.part().unwrap();
            assert_equals_cpu(&scene, &part, &format!("step {steps}"));
            assert!(
                renderer.picture().unwrap() == part.picture(),
                "step {steps}"
            );
        }
        if steps == 4 {
            other.resume(&renderer.part().unwrap()).unwrap();
        }
        if steps == 6 {
            renderer.set_size(31, 33).unwrap();
            renderer.advance_for(Duration::from_millis(3)).unwrap();
            renderer.set_size(48, 32).unwrap();
        }
    }
    assert!(steps > 6, "too short a render: {steps} steps");
    assert_equals_cpu(&scene, &renderer.part().unwrap(), "all");
    while other.advance().unwrap() {}
    let part = other.part().unwrap();
    let names: Vec<&str> = part
        .header
        .stats
        .devices
        .iter()
        .map(|gpu| &*gpu.device)
        .collect();
    assert_eq!(names.len(), count, "{names:?}");
    assert_equals_cpu(&scene, &part, "resumed");
}

pub(crate) fn several_gpus_are_named_in_messages(&count: &usize) {
    let scene = sized(load("scenes/cornell.ron"), 8, 8, 1);
    for (gpus, words) in [
        (vec![0, 1, 0], "backend cuda:0,1,0: GPU 0 is named twice"),
        (vec![], "no GPU is named"),
        (
            vec![0, count],
            &*format!(
                "there is no device {count}, only devices 0 to {}",
                count - 1
            ),
        ),
    ] {
        let Err(error) = Renderer::new(&scene, &on(&gpus, None)) else {
            panic!("{gpus:?} are no GPUs")
        };
        let message = error.to_string();
        assert!(
            message.contains(words) && !message.contains('\n'),
            "{message}"
        );
    }
    let settings = Settings {
        backend: BackendChoice::AllCuda,
        ..Settings::default()
    };
    let line = start(&scene, &settings).backend_line();
    assert!(
        line.contains(&format!("{count} × ")) || line.contains("; "),
        "{line}"
    );
    for number in 0..count {
        assert!(line.contains(&format!("cuda:{number}")), "{line}");
    }
}

/// A slower GPU is assigned less work.
pub(crate) fn faster_gpus_get_more_work(_: &usize) {
    if !is_emulated() {
        return println!("skipped: no GPU here is slower than another");
    }
    if env::var_os(CASE).is_none() {
        return run_case_in_child(UNEVEN, "", &[("EMULATED_SLOWDOWNS", "1:8")]);
    }
    let scene = sized(load("scenes/cornell.ron"), 32, 32, 8);
    let (_, expected) = render(&scene, &on_cpu());
    let mut renderer = start(&scene, &on(&[0, 1], Some(256)));
    // In one step: each GPU gets at least one wave per step, and on a busy machine a wave takes longer than a step.
    assert!(!renderer.advance_until(&|_| false).unwrap());
    assert_renders(&mut renderer, &expected, "one is slow");
    let devices = renderer.stats().devices;
    assert!(devices[0].paths > devices[1].paths, "{devices:?}");
}

/// Runs each case in its own process: GPUs that fail are left out and the film stays exact.
pub(crate) fn gpus_that_fail_are_left_out(&count: &usize) {
    if let Ok(case) = env::var(CASE) {
        return render_with_failures(&case, count);
    }
    // The GPU that sums the films (0), another one, or both fail, at once, soon or late.
    let mut cases = ["0@1", "1@4", "0@9"].map(str::to_owned).to_vec();
    if count > 2 {
        cases.push("2@3,0@6".to_owned());
    }
    let all = (0..count).map(|gpu| format!("{gpu}@{}", 5 + gpu));
    cases.push(all.collect::<Vec<_>>().join(","));
    for case in &cases {
        run_case_in_child(FAILING, case, &[]);
    }
    if is_emulated() {
        // Failures in the middle of a wave, and while films are transferred.
        for failures in ["1:3", "0:57", "1:333", "0:701,1:600"] {
            let is_last = failures.contains(',') && count == 2;
            run_case_in_child(
                FAILING,
                if is_last { "all" } else { "any" },
                &[("EMULATED_FAILURES", failures)],
            );
        }
    }
}

/// When a kernel crashes on one GPU and the driver disables all, the safe part continues to the same film.
pub(crate) fn parts_remain_when_all_gpus_fail(&count: &usize) {
    if env::var_os(CASE).is_none() {
        return run_case_in_child(ALL_FAIL, "", &[("EMULATED_ALL_FALL", "1")]);
    }
    let all: Vec<usize> = (0..count).collect();
    assert_part_remains(&on(&all, Some(small_waves())), 1);
}

/// When a kernel crashes on the only GPU of a render, the safe part continues to the same film.
pub(crate) fn a_part_remains_when_the_only_gpu_fails(_: &usize) {
    if env::var_os(CASE).is_none() {
        return run_case_in_child(ONLY_FAILS, "", &[]);
    }
    assert_part_remains(&on(&[0], Some(small_waves())), 0);
}

/// Asserts that a render whose GPUs are disabled by a crash on the GPU `crashing` leaves an exact part.
fn assert_part_remains(settings: &Settings, crashing: usize) {
    let scene = long_scene();
    let mut renderer = start(&scene, settings);
    let mut trap = Some(Trap::compile(crashing));
    let error = loop {
        match renderer.advance_for(Duration::from_millis(3)) {
            Ok(more) => assert!(more, "the render ended before the failure"),
            Err(error) => break error,
        }
        if renderer.stats().paths > scene_pairs(&scene) / 2
            && let Some(trap) = trap.take()
        {
            trap.launch();
        }
    };
    assert!(renderer.all_gpus_failed(), "{error}");
    let part = renderer.part().unwrap();
    assert!(
        !part.header.samples.is_empty(),
        "no samples were copied to the host"
    );
    assert_equals_cpu(&scene, &part, "safe");
    let mut cpu = start(&scene, &on_cpu());
    cpu.resume(&part).unwrap();
    while cpu.advance().unwrap() {}
    assert_equals_cpu(&scene, &cpu.part().unwrap(), "resumed");
    // No call succeeds on a GPU that has failed, and none changes the samples of the safe film.
    let assert_unchanged = |renderer: &mut Renderer, what: &str| {
        let again = renderer.part().unwrap();
        assert_eq!(again.header.samples, part.header.samples, "{what}");
        assert_equals_cpu(&scene, &again, what);
    };
    assert!(renderer.advance().is_err());
    assert_unchanged(&mut renderer, "advanced in vain");
    assert!(renderer.restart().is_err());
    let restarted = renderer.part().unwrap();
    assert!(restarted.header.samples.is_empty());
    assert!(restarted.film.sums.iter().all(|&sum| sum == 0));
    assert!(renderer.resume(&part).is_err());
    assert_unchanged(&mut renderer, "resumed in vain");
}

/// Returns a scene whose render is long enough for failures to happen before its end.
fn long_scene() -> Scene {
    match is_emulated() {
        true => sized(load("scenes/cornell.ron"), 32, 24, 12),
        false => sized(load("scenes/cornell.ron"), 96, 64, 4096),
    }
}

/// Returns a wave size in paths, small enough that a render takes many waves.
fn small_waves() -> u32 {
    if is_emulated() { 150 } else { 4000 }
}

/// Returns the number of (pixel, sample) pairs of a scene.
fn scene_pairs(scene: &Scene) -> u64 {
    u64::from(scene.size.0 * scene.size.1) * u64::from(scene.spp)
}

/// Runs one test in another process, with [`CASE`] and more environment variables set.
pub(crate) fn run_case_in_child(test: &str, case: &str, more: &[(&str, &str)]) {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test])
        .env(CASE, case)
        .envs(more.iter().copied())
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&child.stdout).into_owned()
        + &String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.success() && output_text.contains("1 passed"),
        "{case} {more:?}: {output_text}"
    );
}

/// Renders while the GPUs of a case fail, and checks what remains.
fn render_with_failures(case: &str, count: usize) {
    let by_step: Vec<(usize, usize)> = case
        .split(',')
        .filter_map(|failure| failure.split_once('@'))
        .map(|(gpu, step)| (gpu.parse().unwrap(), step.parse().unwrap()))
        .collect();
    let scene = long_scene();
    let all: Vec<usize> = (0..count).collect();
    let mut renderer = start(&scene, &on(&all, Some(small_waves())));
    let trap = |&(gpu, step)| (step, Trap::compile(gpu));
    let mut traps: Vec<(usize, Trap)> = by_step.iter().map(trap).collect();
    let mut notes = Vec::new();
    let mut step = 0;
    let ended = loop {
        match renderer.advance_for(Duration::from_millis(3)) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        notes.extend(renderer.take_notes());
        step += 1;
        for (_, trap) in traps.extract_if(.., |&mut (at, _)| at == step) {
            trap.launch();
        }
        if step % 4 == 0
            && let Err(error) = renderer.picture()
        {
            break Err(error);
        }
    };
    let latest = by_step.iter().map(|&(_, at)| at).max().unwrap_or(0);
    assert!(
        ended.is_err() || step >= latest,
        "the render ended before the failure, after {step} steps"
    );
    let part = renderer.part().unwrap();
    notes.extend(renderer.take_notes());
    println!(
        "{case}: {step} steps, samples {}, {notes:?}",
        part.header.samples
    );
    assert_equals_cpu(&scene, &part, case);
    assert!(renderer.picture().is_ok() || ended.is_err());
    let failed = part
        .header
        .stats
        .devices
        .iter()
        .filter(|gpu| gpu.failed)
        .count();
    // If all GPUs fail, the failure of the last one is reported as the error of the render instead of a note.
    assert_eq!(notes.len(), failed, "{notes:?}");
    if !is_emulated() {
        // On real GPUs a crash disables all GPUs of the process. Only samples that were copied to the host remain.
        assert!(ended.is_err() && renderer.all_gpus_failed(), "{case}");
        return;
    }
    for note in &notes {
        assert!(note.contains("(cuda:") && !note.contains('\n'), "{note}");
    }
    if case == "all" || by_step.len() == count {
        assert!(ended.is_err() && renderer.all_gpus_failed());
        assert_eq!(notes.len() + 1, count);
        assert!(renderer.advance().is_err() && renderer.restart().is_err());
        // The failed restart leaves no samples.
        assert!(
            renderer
                .part()
                .unwrap()
                .film
                .sums
                .iter()
                .all(|&sum| sum == 0)
        );
        return;
    }
    ended.unwrap();
    assert!(!renderer.all_gpus_failed());
    assert_eq!(part.header.samples, renderer.samples());
    if case != "any" {
        assert_eq!(failed, by_step.len());
    }
    // The remaining GPUs can start another render.
    renderer.set_size(20, 12).unwrap();
    while renderer.advance().unwrap() {}
    let small = sized(scene, 20, 12, 12);
    assert_equals_cpu(&small, &renderer.part().unwrap(), case);
}

/// A kernel that crashes and thereby makes its GPU unusable for this process.
struct Trap {
    stream: Arc<CudaStream>,
    kernel: Kernel<(u32,)>,
}

impl Trap {
    /// Compiles the kernel in advance, so that [`Trap::launch`] can run while waves are in flight.
    fn compile(gpu: usize) -> Trap {
        let context = open(gpu).unwrap();
        let text =
            "extern \"C\" __global__ void fail(u32 when) { if (when == threadIdx.x) __trap(); }";
        let source = Source::new("fail.cu", text).kernel::<(u32,)>("fail");
        let module = Compiler::new().load(&context, &source).unwrap();
        Trap {
            stream: context.new_stream().unwrap(),
            kernel: module.kernel("fail").unwrap(),
        }
    }

    /// Launches the kernel without waiting for it.
    fn launch(self) {
        let threads = Launch::blocks(1, 32);
        self.kernel.launch(&self.stream, threads, (3,)).unwrap();
    }
}
