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

/// Name of a test that runs itself in child processes, because a process cannot use a GPU after it has failed.
pub(crate) const FAILING: &str = "gpus_that_fail_are_left_out";
pub(crate) const ALL_FAIL: &str = "gpus_that_all_fail_leave_a_part";
pub(crate) const UNEVEN: &str = "faster_gpus_get_more_work";

/// Environment variable that tells a child process which GPUs fail.
///
/// `1@3,0@9` means GPU 1 after the third step of the render and GPU 0 after the ninth.
pub(crate) const CASE: &str = "RAYSIEVE_TEST_GPUS";

/// Returns the number of GPUs, or an error if there are fewer than two.
pub(crate) fn several() -> Result<usize, String> {
    match devices().map(|found| found.len()) {
        Ok(1) => Err("there is one GPU alone".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn is_emulated() -> bool {
    devices().unwrap()[0].name.starts_with("Emulated")
}

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
fn assert_holds(scene: &Scene, part: &Part, case: &str) {
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
            assert_holds(&scene, &part, &format!("step {steps}"));
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
    assert_holds(&scene, &renderer.part().unwrap(), "all");
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
    assert_holds(&scene, &part, "resumed");
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
        let said = error.to_string();
        assert!(said.contains(words) && !said.contains('\n'), "{said}");
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
        // The delay is long enough to be visible on a busy machine.
        return again(UNEVEN, "", &[("EMULATED_DELAYS", "1:100000")]);
    }
    let scene = sized(load("scenes/cornell.ron"), 32, 32, 8);
    let (_, expected) = render(&scene, &on_cpu());
    let mut renderer = start(&scene, &on(&[0, 1], Some(256)));
    assert_renders(&mut renderer, &expected, "one is slow");
    let devices = renderer.stats().devices;
    assert!(devices[0].paths > devices[1].paths, "{devices:?}");
}

/// Runs each case in its own process: GPUs that fail are left out and the film stays exact.
pub(crate) fn gpus_that_fail_are_left_out(&count: &usize) {
    if let Ok(case) = env::var(CASE) {
        return fails(&case, count);
    }
    // The GPU that holds the sum (0), another one, and both in turn: at once, soon and late.
    let mut cases = ["0@1", "1@4", "0@9"].map(str::to_owned).to_vec();
    if count > 2 {
        cases.push("2@3,0@6".to_owned());
    }
    let all = (0..count).map(|gpu| format!("{gpu}@{}", 5 + gpu));
    cases.push(all.collect::<Vec<_>>().join(","));
    for case in &cases {
        again(FAILING, case, &[]);
    }
    if is_emulated() {
        // Failures in the middle of a wave, and while films are transferred.
        for failures in ["1:3", "0:57", "1:333", "0:701,1:600"] {
            let is_last = failures.contains(',') && count == 2;
            again(
                FAILING,
                if is_last { "all" } else { "any" },
                &[("EMULATED_FAILURES", failures)],
            );
        }
    }
}

/// When a kernel crashes on one GPU and the driver disables all, the safe part continues to the same film.
pub(crate) fn gpus_that_all_fail_leave_a_part(&count: &usize) {
    if env::var_os(CASE).is_none() {
        return again(ALL_FAIL, "", &[("EMULATED_ALL_FALL", "1")]);
    }
    let scene = long_scene();
    let all: Vec<usize> = (0..count).collect();
    let mut renderer = start(&scene, &on(&all, Some(small_waves())));
    let mut trap = Some(Trap::set(1));
    let error = loop {
        match renderer.advance_for(Duration::from_millis(3)) {
            Ok(more) => assert!(more, "the render is over"),
            Err(error) => break error,
        }
        if renderer.stats().paths > scene_pairs(&scene) / 2
            && let Some(trap) = trap.take()
        {
            trap.spring();
        }
    };
    assert!(renderer.all_gpus_failed(), "{error}");
    let part = renderer.part().unwrap();
    assert!(!part.header.samples.is_empty(), "nothing was safe");
    assert_holds(&scene, &part, "safe");
    let mut cpu = start(&scene, &on_cpu());
    cpu.resume(&part).unwrap();
    while cpu.advance().unwrap() {}
    assert_holds(&scene, &cpu.part().unwrap(), "resumed");
}

/// Returns a scene whose render is long enough for failures to happen before its end.
fn long_scene() -> Scene {
    match is_emulated() {
        true => sized(load("scenes/cornell.ron"), 32, 24, 12),
        false => sized(load("scenes/cornell.ron"), 96, 64, 4096),
    }
}

fn small_waves() -> u32 {
    if is_emulated() { 150 } else { 4000 }
}

fn scene_pairs(scene: &Scene) -> u64 {
    u64::from(scene.size.0 * scene.size.1) * u64::from(scene.spp)
}

/// Runs one test in another process, with [`CASE`] and more environment variables set.
pub(crate) fn again(test: &str, case: &str, more: &[(&str, &str)]) {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", test])
        .env(CASE, case)
        .envs(more.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned()
        + &String::from_utf8_lossy(&child.stderr);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{case} {more:?}: {said}"
    );
}

/// Renders while the GPUs of a case fail, and checks what remains.
fn fails(case: &str, count: usize) {
    let by_step: Vec<(usize, usize)> = case
        .split(',')
        .filter_map(|failure| failure.split_once('@'))
        .map(|(gpu, step)| (gpu.parse().unwrap(), step.parse().unwrap()))
        .collect();
    let scene = long_scene();
    let all: Vec<usize> = (0..count).collect();
    let mut renderer = start(&scene, &on(&all, Some(small_waves())));
    let trap = |&(gpu, step)| (step, Trap::set(gpu));
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
            trap.spring();
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
        "the render is over after {step} steps"
    );
    let part = renderer.part().unwrap();
    notes.extend(renderer.take_notes());
    println!(
        "{case}: {step} steps, samples {}, {notes:?}",
        part.header.samples
    );
    assert_holds(&scene, &part, case);
    assert!(renderer.picture().is_ok() || ended.is_err());
    let failed = part
        .header
        .stats
        .devices
        .iter()
        .filter(|gpu| gpu.failed)
        .count();
    // The failure of the last one is the error of the render.
    assert_eq!(notes.len(), failed, "{notes:?}");
    if !is_emulated() {
        // A kernel that crashes takes all GPUs of its process with it: what was safe is left.
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
    assert_holds(&small, &renderer.part().unwrap(), case);
}

/// A kernel that crashes its GPU, which is unusable for this process afterwards.
struct Trap {
    stream: Arc<CudaStream>,
    kernel: Kernel<(u32,)>,
}

impl Trap {
    /// Compiles the kernel in advance, so that it can be launched while waves are in flight.
    fn set(gpu: usize) -> Trap {
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
    fn spring(self) {
        let threads = Launch::blocks(1, 32);
        self.kernel.launch(&self.stream, threads, (3,)).unwrap();
    }
}
