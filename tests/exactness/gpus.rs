//! On several GPUs at once, of which some may fail. Where there is one alone these tests are skipped.

use std::{env, fs, path::Path, process::Command, sync::Arc, time::Duration};

use compaction::{
    cuda::{Compiler, Kernel, Launch, Source, devices, open},
    cudarc::driver::CudaStream,
    select::Strategy,
};
use raysieve::{
    part::{Packing, Part},
    renderer::{BackendChoice, Gpu, Renderer, Settings},
    scene::Scene,
    stats::Stats,
};

use crate::{
    assert_equal,
    common::{garden, load, on_cpu, render, sized, start},
};

/// The names of the tests that begin themselves again, since a GPU that has failed does nothing more for its process.
pub(crate) const FAILING: &str = "gpus_that_fail_are_left_out";
pub(crate) const FALLING: &str = "gpus_that_fall_together_are_outlived";
pub(crate) const UNEVEN: &str = "faster_gpus_do_more";

/// What such a copy is to do: which GPUs fail, such as `1@3,0@9`: GPU 1 after the third step of the render, GPU 0 after the
/// ninth.
pub(crate) const CASE: &str = "RAYSIEVE_TEST_GPUS";

/// How many GPUs there are, if there are several.
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
        // A render of a test is over before two seconds are.
        keep_every: Some(Duration::from_millis(2)),
        ..Settings::default()
    }
}

/// The part holds what the CPU renders of these samples.
fn assert_holds(scene: &Scene, part: &Part, case: &str) {
    let paths: u64 = part.claim.stats.devices.iter().map(|gpu| gpu.paths).sum();
    assert_eq!(
        paths, part.claim.stats.paths,
        "{case}: {:?}",
        part.claim.stats.devices
    );
    if part.claim.samples.is_empty() {
        assert_eq!(part.claim.stats.paths, 0, "{case}");
        return;
    }
    let mut cpu = start(scene, &on_cpu());
    cpu.set_samples(&part.claim.samples).unwrap();
    while cpu.advance().unwrap() {}
    assert_equal(&part.claim.stats, &cpu.finish().unwrap(), case);
}

pub(crate) fn have_the_cpus_film(&count: &usize) {
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
                // That a strategy does not matter on one GPU is for other tests.
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
                        "{case}: another picture"
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

/// What is looked at, written down and taken up again in the middle of a render is what the samples so far are.
pub(crate) fn hold_at_any_time(&count: &usize) {
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
        .claim
        .stats
        .devices
        .iter()
        .map(|gpu| &*gpu.device)
        .collect();
    assert_eq!(names.len(), count, "{names:?}");
    assert_holds(&scene, &part, "resumed");
}

pub(crate) fn are_named_as_they_are(&count: &usize) {
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

/// A GPU that takes longer for everything gets less of it.
pub(crate) fn faster_ones_do_more(_: &usize) {
    if !is_emulated() {
        return println!("skipped: no GPU here is slower than another");
    }
    if env::var_os(CASE).is_none() {
        // So slow that it shows on a busy machine too.
        return again(UNEVEN, "", &[("EMULATED_DELAYS", "1:100000")]);
    }
    let scene = sized(load("scenes/cornell.ron"), 32, 32, 8);
    let (_, expected) = render(&scene, &on_cpu());
    let mut renderer = start(&scene, &on(&[0, 1], Some(256)));
    assert_renders(&mut renderer, &expected, "one is slow");
    let devices = renderer.stats().devices;
    assert!(devices[0].paths > devices[1].paths, "{devices:?}");
}

/// Each case in a process of its own.
pub(crate) fn that_fail_are_left_out(&count: &usize) {
    if let Ok(case) = env::var(CASE) {
        return fails(&case, count);
    }
    // The one that has the sum, another one, one after the other; at once, soon, and late.
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
        // In the middle of a wave, and when films move.
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

/// In one process they fall, and in another one those that are left go on: the others of the one that fails or, where
/// another one was the first to say so, that one among them; then they fall again.
pub(crate) fn that_fall_together_are_outlived(&count: &usize) {
    if let Ok(folder) = env::var(CASE) {
        return outlives(Path::new(&folder), count);
    }
    let folder = tempfile::tempdir().unwrap();
    let case = folder.path().to_str().unwrap();
    let at_once = [("EMULATED_ALL_FALL", "1")];
    let late = [at_once[0], ("EMULATED_LATE", &*format!("{FAILS}:500"))];
    let ways: &[&[_]] = match is_emulated() {
        // Who has failed is the first to say so; and the last.
        true => &[&at_once, &late],
        // As it comes.
        false => &[&[]],
    };
    for way in ways {
        let mut starts = 0;
        while !folder.path().join(WHOLE).exists() {
            again(FALLING, case, way);
            starts += 1;
            assert!(starts <= count + 1, "no end to it: {way:?}");
        }
        assert!(starts > 1, "nothing fell: {way:?}");
        for left in [GPUS, PART, WHOLE] {
            fs::remove_file(folder.path().join(left)).unwrap();
        }
    }
}

/// What a process leaves to the next.
const GPUS: &str = "gpus.json";
const PART: &str = "part.exr";
const WHOLE: &str = "whole.exr";
/// The one that falls and takes the others along: one that has something safe, and is not the first to be asked.
const FAILS: usize = 1;

fn outlives(folder: &Path, count: usize) {
    let scene = long_scene();
    let all: Vec<usize> = (0..count).collect();
    let mut settings = on(&all, Some(small_waves()));
    let (gpus, part) = (folder.join(GPUS), folder.join(PART));
    let mut safe = None;
    if let Ok(left) = fs::read(&gpus) {
        settings.gpus = serde_json::from_slice(&left).unwrap();
        safe = Some(Part::read(&part).unwrap());
    }
    let mut renderer = start(&scene, &settings);
    if let Some(safe) = &safe {
        renderer.resume(safe).unwrap();
    }
    let is_in_use = renderer.gpus()[FAILS].failure.is_none();
    let mut trap = is_in_use.then(|| Trap::set(FAILS));
    let is_to_fall = trap.is_some();
    let ended = loop {
        match renderer.advance_for(Duration::from_millis(3)) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        if renderer.stats().paths > scene_pairs(&scene) / 2
            && let Some(trap) = trap.take()
        {
            trap.spring();
        }
    };
    assert_eq!(ended.is_err(), is_to_fall, "{ended:?}");
    let now = renderer.part().unwrap();
    assert_holds(&scene, &now, "safe, or whole");
    if let Err(error) = ended {
        assert!(renderer.has_fallen(), "{error}");
        println!("{error}; {:?}", renderer.gpus());
        let to_blame = renderer.to_blame().unwrap();
        assert!(to_blame.failure.is_some());
        assert!(error.to_string().starts_with(&to_blame.name), "{error}");
        let left_out = |gpus: &[Gpu]| gpus.iter().filter(|gpu| gpu.failure.is_some()).count();
        let before = if to_blame.is_suspect {
            left_out(&settings.gpus)
        } else {
            0
        };
        assert_eq!(left_out(renderer.gpus()), before + 1);
        assert!(!now.claim.samples.is_empty(), "nothing was safe");
        now.write(&part, Packing::Fast).unwrap();
        fs::write(&gpus, serde_json::to_vec(renderer.gpus()).unwrap()).unwrap();
        return;
    }
    assert_eq!(now.claim.samples, renderer.samples());
    let before = &safe.expect("a part").claim.stats.devices;
    for (number, device) in now.claim.stats.devices.iter().enumerate() {
        let name = format!("(cuda:{number})");
        assert!(device.device.ends_with(&name), "{device:?}");
        // Others may still be suspected.
        let is_left_out = renderer.gpus()[number].failure.is_some();
        assert!(is_left_out || number != FAILS, "{device:?}");
        assert_eq!(device.failed, is_left_out, "{device:?}");
        let has_rendered = device.paths > before[number].paths;
        assert_eq!(has_rendered, !is_left_out, "{device:?}");
    }
    now.write(&folder.join(WHOLE), Packing::Fast).unwrap();
}

/// So long that much can happen before the end.
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

/// Runs this test alone in another process.
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

/// Renders while GPUs fail.
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
        part.claim.samples
    );
    assert_holds(&scene, &part, case);
    assert!(renderer.picture().is_ok() || ended.is_err());
    let failed = part
        .claim
        .stats
        .devices
        .iter()
        .filter(|gpu| gpu.failed)
        .count();
    if renderer.has_fallen() {
        // The last one's failure is the render's. Of those that failed at about the same time one alone is to blame.
        assert!((1..=notes.len() + 1).contains(&failed), "{notes:?}");
    } else {
        assert_eq!(notes.len(), failed, "{notes:?}");
    }
    if !is_emulated() {
        // A kernel that crashes takes all GPUs of its process with it: what was safe is left.
        assert!(ended.is_err() && renderer.has_fallen(), "{case}");
        return;
    }
    for note in &notes {
        assert!(note.contains("(cuda:") && !note.contains('\n'), "{note}");
    }
    if case == "all" || by_step.len() == count {
        assert!(ended.is_err() && renderer.has_fallen());
        assert_eq!(notes.len() + 1, count);
        assert!(renderer.advance().is_err() && renderer.restart().is_err());
        // And what is left is as it was.
        assert!(
            renderer
                .part()
                .unwrap()
                .exposed
                .sums
                .iter()
                .all(|&sum| sum == 0)
        );
        return;
    }
    ended.unwrap();
    assert!(!renderer.has_fallen());
    assert_eq!(part.claim.samples, renderer.samples());
    if case != "any" {
        assert_eq!(failed, by_step.len());
    }
    // The rest goes on with other renders.
    renderer.set_size(20, 12).unwrap();
    while renderer.advance().unwrap() {}
    let small = sized(scene, 20, 12, 12);
    assert_holds(&small, &renderer.part().unwrap(), case);
}

/// A kernel on a GPU that crashes, and after which nothing is done there any more.
struct Trap {
    stream: Arc<CudaStream>,
    kernel: Kernel<(u32,)>,
}

impl Trap {
    /// Compiled now, so that it goes off while waves are under way.
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

    /// Waits for nothing: who waits is told when all GPUs have fallen already, and then any may be the first to say so.
    fn spring(self) {
        let threads = Launch::blocks(1, 32);
        self.kernel.launch(&self.stream, threads, (3,)).unwrap();
    }
}
