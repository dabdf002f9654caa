//! `--noise` on several GPUs, real or emulated ones.

use std::{
    path::Path,
    process::{Command, Output},
};

use libtest_mimic::Trial;

use crate::{
    add_if, assert_done,
    files::statistics,
    folder,
    gpus::{ALL_FALL, assert_verified, found, left_out, only_emulated, render_with},
    names, program, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_if(
        trials,
        found().map(drop),
        "all_gpus_render_to_a_noise",
        all_gpus_render_to_a_noise,
    );
    add_if(
        trials,
        only_emulated(),
        "gpus_that_fail_in_a_round_are_outlived",
        gpus_that_fail_in_a_round_are_outlived,
    );
}

/// Some pixels are good early, some after a while, some never.
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

/// What does not depend on who rendered.
fn outcome(folder: &Path) -> [serde_json::Value; 3] {
    let stats = statistics(&folder.join("a.json"));
    ["film_hash", "noise", "paths"].map(|key| stats[key].clone())
}

fn all_gpus_render_to_a_noise() {
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
    let told = stdout(&output);
    assert!(told.contains("12.00 % wanted; "), "{told}");
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

fn gpus_that_fail_in_a_round_are_outlived() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&to_noise(folder, "cpu", &[], &[]));
    let expected = outcome(folder);
    let checkpoint = ["--checkpoint", "c.exr", "--every", "1h"];
    // One that others outlive; and such as take all others along, so that the program starts again.
    for (failures, fall, more, starts) in [
        ("0:200", false, &[][..], 0),
        ("1:300", true, &[], 1),
        ("2:300,0:450", true, &checkpoint, 2),
    ] {
        let mut environment = vec![
            ("EMULATED_FAILURES", failures),
            ("EMULATED_DELAYS", "0:200,1:200,2:200"),
        ];
        environment.extend(fall.then_some(ALL_FALL));
        let more = [&["--keep-every", "20ms"], more].concat();
        let output = to_noise(folder, "cuda:all", &environment, &more);
        assert_done(&output);
        assert_eq!(outcome(folder), expected, "{failures}");
        let told = left_out(&output);
        let again = told.iter().filter(|line| line.contains("starts again"));
        assert_eq!(again.count(), starts, "{told:?}");
        assert_eq!(told.len(), failures.split(',').count(), "{told:?}");
        let after = told
            .iter()
            .filter(|line| line.contains("after samples 0.."));
        assert!(starts == 0 || after.count() > 0, "{told:?}");
    }
    // One that hangs, maybe while it judges, is left to the driver.
    let hangs = [("EMULATED_HANGS", "0:300")];
    let more = ["--patience", "500ms", "--keep-every", "20ms"];
    let output = to_noise(folder, "cuda:all", &hangs, &more);
    assert_done(&output);
    assert_eq!(outcome(folder), expected);
    let told = left_out(&output);
    assert!(
        matches!(&told[..], [line] if line.contains("the GPU hangs")),
        "{told:?}"
    );
    assert_eq!(names(folder), ["a.exr", "a.json", "c.exr"]);
    assert_verified(folder, "a.exr");
}
