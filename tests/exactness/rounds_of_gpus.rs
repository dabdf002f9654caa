//! Pixels that several GPUs give samples to until they are good. GPUs that fail in the middle of it are emulated ones: real
//! ones do not when they are asked to.

use std::{env, time::Duration};

use compaction::select::Strategy;
use raysieve::{
    part::{Packing, Part},
    renderer::{Renderer, Settings},
    stats::Stats,
};

use crate::{
    adaptive::{agrees, assert_same, expected_of, finished, resumes_on, scenes, step, to_noise},
    common::on_cpu,
    gpus::{CASE, again, is_emulated, on},
};

/// The names of the tests that begin themselves again: a GPU that has failed does nothing more for its process.
pub(crate) const FAILING: &str = "rounds_go_on_without_gpus_that_fail";
pub(crate) const FALLING: &str = "rounds_are_safe_when_all_gpus_fall";

/// A round is some of these, and its last one is smaller.
const WAVE: u32 = 700;

pub(crate) fn are_the_cpus(&count: &usize) {
    let all: Vec<usize> = (0..count).collect();
    let [cornell, garden] = scenes();
    let strategies = [Strategy::LookBack, Strategy::Off, Strategy::Atomic];
    agrees(&cornell, &on(&all, None), &strategies, &[Some(WAVE), None]);
    agrees(&garden, &on(&[1, 0], None), &strategies[..1], &[Some(WAVE)]);
    resumes_on(&[on(&all, None), on_cpu(), on(&[1, 0], None)]);
    // What is looked at in the middle of a round is the same as on one alone.
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
        assert!(preview.is_some(), "two rounds are over");
        assert_eq!(preview, expected, "{settings:?}");
        assert_eq!(
            renderer.sample_counts().unwrap(),
            part.ledger.unwrap().taken
        );
    };
    picture(&on(&all, Some(WAVE)));
    picture(&on(&[1, 0], Some(WAVE)));
}

/// Which launch fails, of which GPU: of the one that has the sum and of another, in the middle of a wave, while films cross,
/// while pixels are judged, early and late, one after the other.
pub(crate) fn go_on_without_those_that_fail(&count: &usize) {
    if let Ok(case) = env::var(CASE) {
        return fails(&case);
    }
    if !is_emulated() {
        return println!("skipped: no real GPU fails when it is asked to");
    }
    let mut cases: Vec<String> = ["1:5", "1:80", "0:700"].map(str::to_owned).into();
    // Each launch about the end of a round, and so the judge's own.
    cases.extend((0..8).map(|more| format!("0:{}", 150 + 7 * more)));
    if count > 2 {
        cases.push("0:200,2:300".to_owned());
    }
    for case in cases {
        again(FAILING, &case, &[("EMULATED_FAILURES", &case)]);
    }
}

fn fails(case: &str) {
    let scene = &scenes()[0];
    let expected = expected_of(scene);
    let all: Vec<usize> = (0..compaction::cuda::devices().unwrap().len()).collect();
    let mut renderer = to_noise(scene, &on(&all, Some(WAVE)));
    let mut steps = 0;
    while step(&mut renderer) {
        steps += 1;
        if steps % 5 == 0 {
            let part = renderer.part().unwrap();
            assert_counts(&part.claim.stats, &part);
            assert_eq!(renderer.picture().unwrap(), part.picture());
        }
    }
    let stats = renderer.finish().unwrap();
    assert_same(&stats, &expected, case);
    let failed = stats.devices.iter().filter(|gpu| gpu.failed).count();
    assert_eq!(failed, case.split(',').count(), "{case}: {steps} steps");
    let notes = renderer.take_notes();
    println!("{notes:?}");
    assert_eq!(notes.len(), failed);
    let paths: u64 = stats.devices.iter().map(|gpu| gpu.paths).sum();
    assert_eq!(paths, stats.paths, "{case}: {:?}", stats.devices);
    // And once more with those that are left.
    renderer.restart().unwrap();
    assert_same(&finished(&mut renderer), &expected, case);
}

/// The samples that are told are those that each pixel has.
fn assert_counts(stats: &Stats, part: &Part) {
    let taken = &part.ledger.as_ref().unwrap().taken;
    let all: u64 = taken.iter().map(|&taken| u64::from(taken)).sum();
    assert_eq!(all, stats.paths);
    let noise = stats.noise.as_ref().unwrap();
    assert_eq!(taken.iter().max(), Some(&noise.most_samples));
    assert_eq!(taken.iter().min(), Some(&stats.spp));
}

/// With one that fails all fall, and what was safe is a part that goes on to the same bits.
pub(crate) fn are_safe_when_all_fall(_: &usize) {
    if env::var_os(CASE).is_some() {
        return falls();
    }
    if !is_emulated() {
        return println!("skipped: no real GPU fails when it is asked to");
    }
    for failures in ["1:250", "0:270", "0:330", "1:410", "0:450", "1:430"] {
        let environment = [
            ("EMULATED_FAILURES", failures),
            ("EMULATED_ALL_FALL", "1"),
            // So that something is brought to safety within a round.
            ("EMULATED_DELAYS", "0:300,1:300"),
        ];
        again(FALLING, failures, &environment);
    }
}

fn falls() {
    let scene = &scenes()[0];
    let expected = expected_of(scene);
    let mut renderer = to_noise(scene, &on(&[0, 1], Some(WAVE)));
    let error = loop {
        match renderer.advance_for(Duration::from_micros(100)) {
            Ok(more) => assert!(more, "the render is over"),
            Err(error) => break error,
        }
    };
    assert!(renderer.has_fallen(), "{error}");
    let part = renderer.part().unwrap();
    let stats = &part.claim.stats;
    println!("{error}: {} paths, {:?}", stats.paths, stats.noise);
    assert_counts(stats, &part);
    assert_eq!(
        renderer.sample_counts().unwrap(),
        part.ledger.as_ref().unwrap().taken
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("safe.exr");
    part.write(&path, Packing::Fast).unwrap();
    let mut cpu = to_noise(scene, &on_cpu());
    cpu.resume(&Part::read(&path).unwrap()).unwrap();
    assert_same(&finished(&mut cpu), &expected, "resumed");
}
