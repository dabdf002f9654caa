//! Exactness of renders to a noise target on several GPUs. Failures are tested on emulated GPUs, which fail on request.

use std::{env, time::Duration};

use compaction::select::Strategy;
use raysieve::render::{
    part::{Packing, Part},
    renderer::{Renderer, Settings},
    stats::Stats,
};

use crate::{
    adaptive::{agrees, assert_same, expected_of, finished, resumes_on, scenes, step, to_noise},
    common::on_cpu,
    gpus::{CASE, is_emulated, on, run_case_in_child},
};

/// Name of a test that runs its cases in child processes, because a process cannot use a GPU that has failed.
pub(crate) const FAILING: &str = "adaptive_renders_leave_out_gpus_that_fail";
/// Name of a test that runs its cases in child processes, for the same reason as [`FAILING`].
pub(crate) const ALL_FAIL: &str = "adaptive_renders_can_continue_when_all_gpus_fail";

/// Wave size in paths; a round consists of several waves, the last of which is smaller.
const WAVE: u32 = 700;

pub(crate) fn several_gpus_give_the_cpus_adaptive_film(&count: &usize) {
    let all: Vec<usize> = (0..count).collect();
    let [cornell, garden] = scenes();
    let strategies = [Strategy::LookBack, Strategy::Off, Strategy::Atomic];
    agrees(&cornell, &on(&all, None), &strategies, &[Some(WAVE), None]);
    agrees(&garden, &on(&[1, 0], None), &strategies[..1], &[Some(WAVE)]);
    resumes_on(&[on(&all, None), on_cpu(), on(&[1, 0], None)]);
    // Images and previews in the middle of a round equal those of the CPU.
    let picture = |settings: &Settings| {
        let mut renderer = to_noise(&cornell, settings);
        let enough = |renderer: &Renderer| renderer.stats().paths > 9000;
        while !enough(&renderer) && step(&mut renderer) {}
        let part = renderer.part().unwrap();
        assert_eq!(renderer.picture().unwrap(), part.picture(), "{settings:?}");
        let preview = renderer.preview().unwrap().map(|preview| preview.picture);
        let mut cpu = to_noise(&cornell, &on_cpu());
        cpu.resume(&part).unwrap();
        let expected = cpu.preview().unwrap().map(|preview| preview.picture);
        assert!(
            preview.is_some(),
            "two rounds have ended, so the noise is known"
        );
        assert_eq!(preview, expected, "{settings:?}");
        assert_eq!(
            renderer.sample_counts().unwrap(),
            part.pixel_stats.unwrap().sample_counts
        );
    };
    picture(&on(&all, Some(WAVE)));
    picture(&on(&[1, 0], Some(WAVE)));
}

/// Checks that failing GPUs are left out and the film stays exact.
///
/// The cases choose the GPU, which sums the films or not, and the launch: within a wave, during a transfer of films or
/// during the convergence test, early or late. In some cases two GPUs fail in turn.
pub(crate) fn adaptive_renders_leave_out_gpus_that_fail(&count: &usize) {
    if let Ok(case) = env::var(CASE) {
        return render_with_failures(&case);
    }
    if !is_emulated() {
        return println!("skipped: only emulated GPUs fail on request");
    }
    let mut cases: Vec<String> = ["1:5", "1:80", "0:700"].map(str::to_owned).into();
    // Launches around the end of a round include those of the convergence test.
    cases.extend((0..8).map(|more| format!("0:{}", 150 + 7 * more)));
    if count > 2 {
        cases.push("0:200,2:300".to_owned());
    }
    for case in cases {
        run_case_in_child(FAILING, &case, &[("EMULATED_FAILURES", &case)]);
    }
}

/// Maximum number of renders until a GPU reaches the launch that fails.
const MAX_RENDERS: u32 = 20;

/// Renders while GPUs fail, and checks that the film, the statistics and the notes are right.
fn render_with_failures(case: &str) {
    let scene = &scenes()[0];
    let expected = expected_of(scene);
    let all: Vec<usize> = (0..compaction::cuda::devices().unwrap().len()).collect();
    let mut renderer = to_noise(scene, &on(&all, Some(WAVE)));
    let mut renders = 0;
    let (stats, failed) = loop {
        let mut steps = 0;
        while step(&mut renderer) {
            steps += 1;
            if steps % 5 == 0 {
                let part = renderer.part().unwrap();
                assert_counts(&part.header.stats, &part);
                assert_eq!(renderer.picture().unwrap(), part.picture());
            }
        }
        let stats = renderer.finish().unwrap();
        assert_same(&stats, &expected, case);
        let failed = stats.devices.iter().filter(|gpu| gpu.failed).count();
        renders += 1;
        // The GPUs share the work as they find time for it, so that one may reach its last launch only in a later
        // render.
        if failed > 0 || renders == MAX_RENDERS {
            break (stats, failed);
        }
        renderer.restart().unwrap();
    };
    assert_eq!(failed, case.split(',').count(), "{case}: {renders} renders");
    let notes = renderer.take_notes();
    println!("{notes:?}");
    assert_eq!(notes.len(), failed);
    let paths: u64 = stats.devices.iter().map(|gpu| gpu.paths).sum();
    assert_eq!(paths, stats.paths, "{case}: {:?}", stats.devices);
    // The remaining GPUs render it once more.
    renderer.restart().unwrap();
    assert_same(&finished(&mut renderer), &expected, case);
}

/// Asserts that the statistics agree with the sample counts of the pixels.
fn assert_counts(stats: &Stats, part: &Part) {
    let taken = &part.pixel_stats.as_ref().unwrap().sample_counts;
    let all: u64 = taken.iter().map(|&taken| u64::from(taken)).sum();
    assert_eq!(all, stats.paths);
    let noise = stats.noise.as_ref().unwrap();
    assert_eq!(taken.iter().max(), Some(&noise.max_samples));
    assert_eq!(taken.iter().min(), Some(&stats.spp));
}

/// Checks that the saved part can be continued to the same film when one failure disables all GPUs.
pub(crate) fn adaptive_renders_can_continue_when_all_gpus_fail(_: &usize) {
    if env::var_os(CASE).is_some() {
        return render_until_all_gpus_fail();
    }
    if !is_emulated() {
        return println!("skipped: only emulated GPUs fail on request");
    }
    for failures in ["1:250", "0:270", "0:330", "1:410", "0:450", "1:430"] {
        let environment = [
            ("EMULATED_FAILURES", failures),
            ("EMULATED_ALL_FALL", "1"),
            // The delays ensure that something is saved within a round.
            ("EMULATED_DELAYS", "0:300,1:300"),
        ];
        run_case_in_child(ALL_FAIL, failures, &environment);
    }
}

/// Renders until all GPUs have failed, and continues from the saved part on the CPU.
fn render_until_all_gpus_fail() {
    let scene = &scenes()[0];
    let expected = expected_of(scene);
    let mut renderer = to_noise(scene, &on(&[0, 1], Some(WAVE)));
    let error = loop {
        match renderer.advance_for(Duration::from_micros(100)) {
            Ok(more) => assert!(more, "the render ended before the failure"),
            Err(error) => break error,
        }
    };
    assert!(renderer.all_gpus_failed(), "{error}");
    let part = renderer.part().unwrap();
    let stats = &part.header.stats;
    println!("{error}: {} paths, {:?}", stats.paths, stats.noise);
    assert_counts(stats, &part);
    assert_eq!(
        renderer.sample_counts().unwrap(),
        part.pixel_stats.as_ref().unwrap().sample_counts
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("safe.exr");
    part.write(&path, Packing::Fast).unwrap();
    let mut cpu = to_noise(scene, &on_cpu());
    cpu.resume(&Part::read(&path).unwrap()).unwrap();
    assert_same(&finished(&mut cpu), &expected, "resumed");
}
