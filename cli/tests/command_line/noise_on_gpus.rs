//! Tests of adaptive sampling on several GPUs, real or emulated ones.

use std::{
    path::Path,
    process::{Command, Output},
};

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done,
    files::statistics,
    folder,
    gpus::{
        FAILURE_OF_GPU_0, SAFE_SOON, assert_part_continues, assert_verified, found, left_out,
        only_emulated, render_with,
    },
    names, program, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(trials, if found().map(drop) => adaptive_film_is_identical_on_all_gpus);
    add_tests!(trials, if only_emulated() =>
        adaptive_render_survives_failing_gpus,
        adaptive_render_continues_after_the_only_gpu_failed,
    );
}

/// Arguments with which some pixels converge early, some late and some never.
fn to_noise(folder: &Path, backend: &str, environment: &[(&str, &str)], more: &[&str]) -> Output {
    let arguments = [
        "--size",
        "24x16",
        "--wave-size",
        "1500",
        "--noise",
        "0.12",
        "--spp",
        "144",
        "-o",
        "a.exr",
        "--stats",
        "a.json",
    ];
    render_with(
        folder,
        backend,
        environment,
        &[&arguments[..], more].concat(),
    )
}

/// Returns the statistics that do not depend on the devices.
fn outcome(folder: &Path) -> [serde_json::Value; 3] {
    let stats = statistics(&folder.join("a.json"));
    ["film_hash", "noise", "paths"].map(|key| stats[key].clone())
}

fn adaptive_film_is_identical_on_all_gpus() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&to_noise(folder, "cpu", &[], &[]));
    let expected = outcome(folder);
    let output = to_noise(folder, "cuda:all", &[], &[]);
    assert_done(&output);
    assert_eq!(outcome(folder), expected);
    let stats = statistics(&folder.join("a.json"));
    let devices = stats["devices"].as_array().expect("a list of GPUs");
    assert!(devices.len() > 1);
    let paths = |device: &serde_json::Value| device["paths"].as_u64().expect("a count");
    assert!(
        devices.iter().all(|device| paths(device) > 0),
        "{devices:?}"
    );
    let all: u64 = devices.iter().map(paths).sum();
    assert_eq!(Some(all), stats["paths"].as_u64());
    let printed = stdout(&output);
    assert!(printed.contains("12.00 % target; "), "{printed}");
    for more in [&[][..], &["--pixels", "30%"]] {
        let verified = Command::new(program())
            .current_dir(folder)
            .args(["verify", "a.exr", "--backend", "cuda:1,0"])
            .args(more)
            .output()
            .expect("the program starts");
        assert_done(&verified);
    }
}

fn adaptive_render_survives_failing_gpus() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&to_noise(folder, "cpu", &[], &[]));
    let expected = outcome(folder);
    // One GPU fails, and the others continue.
    let failure = [
        ("EMULATED_FAILURES", "0:200"),
        ("EMULATED_DELAYS", "0:200,1:200,2:200"),
    ];
    let output = to_noise(folder, "cuda:all", &failure, &["--keep-every", "20ms"]);
    assert_done(&output);
    assert_eq!(outcome(folder), expected);
    let reports = left_out(&output);
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(names(folder), ["a.exr", "a.json"]);
    assert_verified(folder, "a.exr");
}

fn adaptive_render_continues_after_the_only_gpu_failed() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&to_noise(folder, "cpu", &[], &[]));
    let expected = outcome(folder);
    let output = to_noise(folder, "cuda:0", &FAILURE_OF_GPU_0, &SAFE_SOON);
    assert_part_continues(folder, &output);
    assert_eq!(outcome(folder), expected);
}
