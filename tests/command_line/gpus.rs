//! Several GPUs, where there are several: real ones or, by `emulator/run`, emulated ones.

use std::process::{Command, Output, Stdio};

use compaction::cuda::devices;
use libtest_mimic::Trial;

use crate::{
    add_if, assert_done, assert_refused, files::statistics, folder, program, raysieve, scene,
    stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let found = devices().map_err(|error| error.to_string());
    let several = found.and_then(|found| match &found[..] {
        [_] => Err("there is one GPU alone".to_owned()),
        [first, ..] => Ok(first.name.starts_with("Emulated")),
        [] => Err("there is no GPU".to_owned()),
    });
    let emulated = several.clone().and_then(|emulated| match emulated {
        true => Ok(()),
        false => Err("no real GPU fails when it is asked to".to_owned()),
    });
    add_if(
        trials,
        several.map(drop),
        "all_gpus_render_one_picture",
        all_gpus_render_one_picture,
    );
    for (name, test) in [
        (
            "a_gpu_that_fails_is_told_in_a_line",
            a_gpu_that_fails_is_told_in_a_line as fn(),
        ),
        (
            "when_all_gpus_fail_the_checkpoint_has_what_was_safe",
            when_all_gpus_fail_the_checkpoint_has_what_was_safe,
        ),
    ] {
        add_if(trials, emulated.clone(), name, test);
    }
}

const SMALL: [&str; 10] = [
    "--size",
    "48x32",
    "--wave-size",
    "256",
    "-o",
    "a.exr",
    "--stats",
    "a.json",
    "--spp",
    "8",
];

/// The Cornell box, with all GPUs in sight.
fn render(
    folder: &std::path::Path,
    backend: &str,
    environment: &[(&str, &str)],
    more: &[&str],
) -> Output {
    Command::new(program())
        .current_dir(folder)
        .stdin(Stdio::null())
        .arg(scene("cornell.ron"))
        .args(["--backend", backend])
        .args(SMALL)
        .args(more)
        .envs(environment.iter().copied())
        .output()
        .expect("the program starts")
}

fn film_hash(folder: &std::path::Path) -> String {
    statistics(&folder.join("a.json"))["film_hash"].to_string()
}

fn all_gpus_render_one_picture() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let output = render(folder.path(), "cuda:all", &[], &[]);
    assert_done(&output);
    assert_eq!(film_hash(folder.path()), expected);
    let stats = statistics(&folder.path().join("a.json"));
    let devices = stats["devices"].as_array().expect("a list of GPUs");
    assert!(devices.len() > 1);
    let paths = |device: &serde_json::Value| device["paths"].as_u64().expect("a count");
    assert_eq!(devices.iter().map(paths).sum::<u64>(), 48 * 32 * 8);
    for device in devices {
        let name = device["device"].as_str().expect("a name");
        assert!(stdout(&output).contains(name), "{}", stdout(&output));
        assert!(device["failed"].is_null());
    }
    let verified = Command::new(program())
        .current_dir(folder.path())
        .args([
            "verify",
            "a.exr",
            "--backend",
            "cuda:1,0",
            "--pixels",
            "30%",
        ])
        .output()
        .expect("the program starts");
    assert_done(&verified);
    let refused = render(folder.path(), "cuda:0,77", &[], &[]);
    assert_refused(
        &refused,
        2,
        &["cuda:0,77", "no device 77, only devices 0 to"],
    );
}

fn a_gpu_that_fails_is_told_in_a_line() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let failing = [("EMULATED_FAILURES", "0:400")];
    let output = render(folder.path(), "cuda:0,1", &failing, &[]);
    assert_done(&output);
    assert_eq!(film_hash(folder.path()), expected);
    let said = stderr(&output);
    let told = said.lines().filter(|line| line.contains("has failed"));
    let told: Vec<&str> = told.collect();
    assert!(
        matches!(told[..], [line] if line.starts_with("raysieve: Emulated GPU (cuda:0) has failed")),
        "{said}"
    );
    assert!(
        stdout(&output).contains("has failed"),
        "{}",
        stdout(&output)
    );
    let stats = statistics(&folder.path().join("a.json"));
    assert_eq!(stats["devices"][0]["failed"], true);
    assert_eq!(stats["paths"], 48 * 32 * 8);

    // A bench does not go on with what is left.
    let bench = Command::new(program())
        .arg("bench")
        .arg(scene("cornell.ron"))
        .args([
            "--size",
            "48x32",
            "--spp",
            "8",
            "--wave-size",
            "256",
            "--rounds",
            "1",
        ])
        .args(["--strategies", "look-back", "--backend", "cuda:all"])
        .envs(failing)
        .output()
        .expect("the program starts");
    assert_refused(&bench, 1, &["Emulated GPU (cuda:0) has failed"]);
}

fn when_all_gpus_fail_the_checkpoint_has_what_was_safe() {
    let folder = folder();
    let long = ["--spp", "4000", "--checkpoint", "c.exr", "--every", "1h"];
    let long = [&SMALL[..8], &long].concat();
    let render = |backend: &str, environment: &[(&str, &str)]| {
        let mut command = raysieve(folder.path());
        command
            .arg(scene("cornell.ron"))
            .args(["--backend", backend])
            .args(&long)
            .envs(environment.iter().copied());
        command.output().expect("the program starts")
    };
    // Some seconds, in which something is brought to safety.
    let failing = [
        ("EMULATED_DELAYS", "0:5000,1:5000"),
        ("EMULATED_FAILURES", "0:1200,1:1500"),
    ];
    let output = render("cuda:0,1", &failing);
    assert_refused(&output, 1, &["CUDA_ERROR_LAUNCH_FAILED"]);
    let said = stderr(&output);
    assert!(
        said.contains("checkpoint: c.exr has what was brought to safety"),
        "{said}"
    );
    let kept = raysieve::part::Part::read(&folder.path().join("c.exr")).expect("a part");
    let samples = kept.claim.samples;
    assert!(
        !samples.is_empty() && kept.claim.stats.paths == samples.len(),
        "{samples}"
    );

    let verified = raysieve(folder.path())
        .args(["verify", "c.exr", "--backend", "cpu"])
        .output()
        .expect("the program starts");
    assert_done(&verified);
}
