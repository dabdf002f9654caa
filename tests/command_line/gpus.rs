//! Several GPUs, where there are several: real ones or, by `emulator/run`, emulated ones.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
};

use compaction::cuda::devices;
use libtest_mimic::Trial;

use crate::{
    add_if, assert_done, assert_refused,
    files::statistics,
    folder,
    interrupt::{end, signal},
    names, opening, program, raysieve, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let emulated = only_emulated();
    add_if(
        trials,
        found().map(drop),
        "all_gpus_render_one_picture",
        all_gpus_render_one_picture,
    );
    opening::add(trials, &emulated);
    for (name, test) in [
        (
            "a_gpu_that_fails_is_told_in_a_line",
            a_gpu_that_fails_is_told_in_a_line as fn(),
        ),
        (
            "when_all_gpus_fail_the_checkpoint_has_what_was_safe",
            when_all_gpus_fail_the_checkpoint_has_what_was_safe,
        ),
        (
            "gpus_that_fall_together_are_outlived",
            gpus_that_fall_together_are_outlived,
        ),
        (
            "gpus_that_fall_one_after_the_other_come_to_an_end",
            gpus_that_fall_one_after_the_other_come_to_an_end,
        ),
        (
            "gpus_that_are_wrongly_suspected_are_taken_back",
            gpus_that_are_wrongly_suspected_are_taken_back,
        ),
        (
            "a_signal_ends_gpus_that_began_again",
            a_signal_ends_gpus_that_began_again,
        ),
        ("a_gpu_that_hangs_is_left_out", a_gpu_that_hangs_is_left_out),
        (
            "a_picture_is_verified_by_the_gpus_that_are_left",
            a_picture_is_verified_by_the_gpus_that_are_left,
        ),
        (
            "what_gpus_were_left_is_as_it_was_written",
            what_gpus_were_left_is_as_it_was_written,
        ),
    ] {
        add_if(trials, emulated.clone(), name, test);
    }
}

/// Whether there are several, and whether those are emulated.
pub(crate) fn found() -> Result<bool, String> {
    let found = devices().map_err(|error| error.to_string());
    found.and_then(|found| match &found[..] {
        [_] => Err("there is one GPU alone".to_owned()),
        [first, ..] => Ok(first.name.starts_with("Emulated")),
        [] => Err("there is no GPU".to_owned()),
    })
}

/// Whether there are several that fail when they are asked to.
pub(crate) fn only_emulated() -> Result<(), String> {
    found().and_then(|emulated| match emulated {
        true => Ok(()),
        false => Err("no real GPU fails when it is asked to".to_owned()),
    })
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
pub(crate) fn render(
    folder: &Path,
    backend: &str,
    environment: &[(&str, &str)],
    more: &[&str],
) -> Output {
    render_with(folder, backend, environment, &[&SMALL[..], more].concat())
}

/// The same with none but these arguments.
pub(crate) fn render_with(
    folder: &Path,
    backend: &str,
    environment: &[(&str, &str)],
    arguments: &[&str],
) -> Output {
    Command::new(program())
        .current_dir(folder)
        .stdin(Stdio::null())
        .arg(scene("cornell.ron"))
        .args(["--backend", backend])
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("the program starts")
}

pub(crate) fn film_hash(folder: &Path) -> String {
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
    assert_refused(
        &bench,
        1,
        &[
            "Emulated GPU (cuda:0): has failed",
            "measure without it, by --backend cuda:1",
        ],
    );
}

fn a_picture_is_verified_by_the_gpus_that_are_left() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let verify = |picture: &str, environment: &[(&str, &str)]| {
        let mut command = Command::new(program());
        command
            .current_dir(folder.path())
            .args(["verify", picture, "--backend", "cuda:all"])
            .args(["--wave-size", "256", "--patience", "3s"])
            .envs(environment.iter().copied());
        command.output().expect("the program starts")
    };
    let fallen = [ALL_FALL, ("EMULATED_FAILURES", "2:200,0:300")];
    let output = verify("a.exr", &fallen);
    assert_done(&output);
    let told = left_out(&output);
    assert!(
        matches!(&told[..], [one, two] if one.contains("(cuda:2)") && two.contains("(cuda:0)")),
        "{told:?}"
    );
    // It begins anew, whatever was done.
    assert!(!told[0].contains("after samples"), "{told:?}");
    assert!(stdout(&output).starts_with("a.exr holds: 1536 pixels"));

    let output = verify("a.exr", &[("EMULATED_HANGS", "1:200")]);
    assert_done(&output);
    let told = left_out(&output);
    assert!(
        matches!(&told[..], [line] if line.contains("(cuda:1)") && line.contains("hangs")),
        "{told:?}"
    );
    assert_eq!(names(folder.path()), ["a.exr", "a.json"]);
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
            .env_remove("CUDA_VISIBLE_DEVICES")
            .envs(environment.iter().copied());
        command.output().expect("the program starts")
    };
    // Some seconds, in which something is brought to safety.
    let failing = [
        ("EMULATED_DELAYS", "0:5000,1:5000"),
        ("EMULATED_FAILURES", "0:1200,1:1500"),
    ];
    let output = render("cuda:0,1", &failing);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("raysieve: Emulated GPU (cuda:") && last.contains("LAUNCH_FAILED"),
        "{said}"
    );
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

    assert_verified(folder.path(), "c.exr");
}

/// A driver as 580, which takes all GPUs of a process with one that fails.
pub(crate) const ALL_FALL: (&str, &str) = ("EMULATED_ALL_FALL", "1");

/// What is told of GPUs that are left out, a line each.
pub(crate) fn left_out(output: &Output) -> Vec<String> {
    let said = stderr(output);
    let told = said.lines().filter(|line| line.contains("is left out"));
    told.map(str::to_owned).collect()
}

/// Which devices the statistics know, and whether they have failed.
pub(crate) fn devices_of(folder: &Path) -> Vec<(String, bool)> {
    let stats = statistics(&folder.join("a.json"));
    let devices = stats["devices"].as_array().expect("a list of GPUs");
    let device = |device: &serde_json::Value| {
        let name = device["device"].as_str().expect("a name").to_owned();
        (name, device["failed"] == true)
    };
    devices.iter().map(device).collect()
}

fn gpus_that_fall_together_are_outlived() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let all = |failed: usize| -> Vec<(String, bool)> {
        let device = |gpu| (format!("Emulated GPU (cuda:{gpu})"), gpu == failed);
        (0..3).map(device).collect()
    };
    // In the middle, from what is safe; and before anything is.
    for (failures, slow, failed) in [("1:400", "0:1000,1:1000,2:1000", 1), ("0:2", "", 0)] {
        let environment = [
            ALL_FALL,
            ("EMULATED_FAILURES", failures),
            ("EMULATED_DELAYS", slow),
        ];
        let more = ["--samples", "0..8", "--keep-every", "20ms"];
        let output = render(folder.path(), "cuda:all", &environment, &more);
        assert_done(&output);
        assert_eq!(film_hash(folder.path()), expected, "{failures}");
        let told = left_out(&output);
        let begin = format!(
            "raysieve: GPUs have fallen together, and which it was is not known; Emulated GPU (cuda:{failed}) is suspected"
        );
        assert!(
            matches!(&told[..], [line] if line.starts_with(&begin) && line.contains("LAUNCH_FAILED")),
            "{failures}: {told:?}"
        );
        assert_eq!(
            told[0].contains("after samples 0.."),
            failed == 1,
            "{told:?}"
        );
        assert_eq!(devices_of(folder.path()), all(failed), "{failures}");
        let stats = statistics(&folder.path().join("a.json"));
        assert_eq!(stats["paths"], 48 * 32 * 8);
        let said = stderr(&output);
        assert!(
            said.contains("backend: cuda, 2 × Emulated GPU"),
            "{failures}: {said}"
        );
        // Nothing stays that a start left to the next.
        assert_eq!(names(folder.path()), ["a.exr", "a.json"]);
    }
    assert_verified(folder.path(), "a.exr");
}

pub(crate) fn assert_verified(folder: &Path, picture: &str) {
    let verified = raysieve(folder)
        .args(["verify", picture, "--backend", "cpu"])
        .output()
        .expect("the program starts");
    assert_done(&verified);
}

fn gpus_that_fall_one_after_the_other_come_to_an_end() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let checkpoint = [
        "--checkpoint",
        "c.exr",
        "--every",
        "1h",
        "--keep-every",
        "20ms",
    ];
    let two = [ALL_FALL, ("EMULATED_FAILURES", "2:200,0:400")];
    let output = render(folder.path(), "cuda:all", &two, &checkpoint);
    assert_done(&output);
    assert_eq!(film_hash(folder.path()), expected);
    let told = left_out(&output);
    assert!(
        told.len() == 2 && told[0].contains("(cuda:2)") && told[1].contains("(cuda:0)"),
        "{told:?}"
    );
    let failed: Vec<bool> = devices_of(folder.path()).iter().map(|gpu| gpu.1).collect();
    assert_eq!(failed, [true, false, true]);

    // And with the last one what is safe is left.
    let three = [
        ALL_FALL,
        ("EMULATED_FAILURES", "0:900,1:500,2:300"),
        ("EMULATED_DELAYS", "0:500,1:500,2:500"),
    ];
    std::fs::remove_file(folder.path().join("c.exr")).expect("a checkpoint");
    std::fs::remove_file(folder.path().join("a.exr")).expect("a picture");
    let long = [&checkpoint[..], &["--samples", "0..1000"]].concat();
    let output = render(folder.path(), "cuda:all", &three, &long);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = left_out(&output);
    // Who was only suspected is tried again, each until it has failed alone.
    let named = |line: &String| {
        let (before, _) = line.split_once(" left out")?;
        (0..3).find(|gpu| before.contains(&format!("GPU (cuda:{gpu}) ")))
    };
    let order: Vec<_> = told.iter().filter_map(named).collect();
    assert_eq!(order, [2, 1, 0, 2, 1], "{told:#?}");
    let said = stderr(&output);
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("raysieve: Emulated GPU (cuda:2): "),
        "{said}"
    );
    assert!(
        said.contains("checkpoint: c.exr has what was brought to safety"),
        "{said}"
    );
    assert_eq!(names(folder.path()), ["a.json", "c.exr"]);
    assert_verified(folder.path(), "c.exr");
}

/// The one that takes the others along is the last to say so.
fn gpus_that_are_wrongly_suspected_are_taken_back() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    for (backend, count) in [("cuda:0,1", 2), ("cuda:all", 3)] {
        let environment = [
            ALL_FALL,
            ("EMULATED_FAILURES", "1:40"),
            ("EMULATED_LATE", "1:1500"),
            ("EMULATED_DELAYS", "0:500,1:500,2:500"),
        ];
        let more = ["--keep-every", "20ms"];
        let output = render(folder.path(), backend, &environment, &more);
        assert_done(&output);
        assert_eq!(film_hash(folder.path()), expected, "{backend}");
        let told = left_out(&output);
        let told: Vec<_> = told
            .iter()
            .filter(|line| line.contains("starts again"))
            .collect();
        let (last, falls) = told.split_last().expect("a line");
        assert_eq!(falls.len(), count - 1, "{told:#?}");
        for line in falls {
            assert!(
                line.contains("which it was is not known; Emulated GPU (cuda:")
                    && line.contains("is suspected and is left out")
                    && line.contains("starts again with the others")
                    && !line.contains("among them again")
                    && !line.contains("(cuda:1)"),
                "{told:#?}"
            );
        }
        assert!(
            last.starts_with("raysieve: Emulated GPU (cuda:1) has failed and is left out"),
            "{told:#?}"
        );
        for gpu in (0..count).filter(|&gpu| gpu != 1) {
            let back = last.split_once("with the others, ").expect("who is back").1;
            let back = back.split_once(" among them again").expect("who is back").0;
            assert!(
                back.contains(&format!("Emulated GPU (cuda:{gpu})")),
                "{told:#?}"
            );
        }
        let device = |gpu| (format!("Emulated GPU (cuda:{gpu})"), gpu == 1);
        let devices: Vec<(String, bool)> = (0..count).map(device).collect();
        assert_eq!(devices_of(folder.path()), devices, "{backend}");
        let stats = statistics(&folder.path().join("a.json"));
        assert_eq!(stats["paths"], 48 * 32 * 8);
        assert_eq!(names(folder.path()), ["a.exr", "a.json"]);
    }
    assert_verified(folder.path(), "a.exr");
}

fn a_signal_ends_gpus_that_began_again() {
    let folder = folder();
    let mut child = Command::new(program())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .arg(scene("cornell.ron"))
        .args(["--backend", "cuda:all", "--keep-every", "20ms"])
        .args(&SMALL[..8])
        .args(["--spp", "1000000"])
        .envs([ALL_FALL, ("EMULATED_FAILURES", "1:400")])
        .spawn()
        .expect("the program starts");
    let mut said = BufReader::with_capacity(1, child.stderr.as_mut().expect("a pipe"));
    let mut heard = String::new();
    // As soon as it has begun again.
    while !heard.contains("is left out") {
        assert_ne!(said.read_line(&mut heard).expect("UTF-8"), 0, "{heard}");
    }
    while heard.matches("backend: ").count() < 2 {
        assert_ne!(said.read_line(&mut heard).expect("UTF-8"), 0, "{heard}");
    }
    signal(&child, "INT");
    let (code, last) = end(child);
    assert_eq!(code, Some(130), "{heard}{last}");
    assert!(last.contains("interrupted; a.exr has"), "{last}");
    assert_eq!(names(folder.path()), ["a.exr", "a.json"]);
    let part = raysieve::part::Part::read(&folder.path().join("a.exr")).expect("a part");
    assert_eq!(part.claim.stats.paths, part.claim.samples.len());
}

fn a_gpu_that_hangs_is_left_out() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let hangs = [("EMULATED_HANGS", "0:300")];
    let more = ["--patience", "500ms", "--keep-every", "20ms"];
    let output = render(folder.path(), "cuda:all", &hangs, &more);
    assert_done(&output);
    assert_eq!(film_hash(folder.path()), expected);
    let told = left_out(&output);
    assert!(
        matches!(&told[..], [line] if line.contains("(cuda:0)") && line.contains("the GPU hangs")),
        "{told:?}"
    );
    // Alone it ends the render, and the program.
    let output = render(folder.path(), "cuda:0", &hangs, &more[..2]);
    assert_refused(&output, 1, &["the GPU hangs"]);
    // So it does where rounds are judged: each is one wave here, and what waits for it is the judge.
    let rounds = [
        "--size",
        "24x16",
        "--wave-size",
        "65536",
        "--noise",
        "0.001",
    ];
    let end = ["--spp", "8000", "-o", "b.exr", "--patience", "500ms"];
    let output = render_with(
        folder.path(),
        "cuda:0",
        &hangs,
        &[&rounds[..], &end].concat(),
    );
    assert_refused(&output, 1, &["the GPU hangs"]);
}

fn what_gpus_were_left_is_as_it_was_written() {
    let folder = folder();
    let again = |content: &str| {
        let file = folder.path().join("left.json");
        std::fs::write(&file, content).expect("a file");
        let environment = [("RAYSIEVE_AGAIN", file.to_str().expect("UTF-8"))];
        render(folder.path(), "cuda:0,1", &environment, &[])
    };
    assert_refused(
        &again("no state"),
        2,
        &[
            "left.json",
            "is not as it was written",
            "without the variable RAYSIEVE_AGAIN",
        ],
    );
    // What was left to another process.
    let other = r#"{"process": 1, "gpus": [], "film": null, "standing": null, "seat": null}"#;
    assert_done(&again(other));
}
