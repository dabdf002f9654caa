//! Tests on several GPUs, real ones or emulated ones (`emulator/run`); ignored on machines without.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use compaction::cuda::devices;
use libtest_mimic::Trial;
use raysieve::render::part::Part;

use crate::{
    add_tests, assert_done, assert_refused, files::statistics, folder, names, opening, program,
    raysieve, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let emulated = only_emulated();
    add_tests!(trials, if found().map(drop) => film_is_identical_on_all_gpus);
    opening::add(trials, &emulated);
    add_tests!(trials, if emulated.clone() =>
        film_is_identical_when_one_gpu_of_several_fails,
        printed_command_continues_after_all_gpus_failed,
        checkpoint_continues_after_all_gpus_failed,
        printed_command_continues_after_the_only_gpu_failed,
        printed_command_continues_after_a_gpu_hung,
        hang_of_a_single_gpu_is_an_error,
        the_cpu_continues_after_an_automatically_chosen_gpu_failed,
        verification_continues_on_remaining_gpus,
    );
}

/// Returns whether the machine's GPUs are emulated; `Err` unless there are at least two.
pub(crate) fn found() -> Result<bool, String> {
    let found = devices().map_err(|error| error.to_string());
    found.and_then(|found| match &found[..] {
        [_] => Err("there is one GPU alone".to_owned()),
        [first, ..] => Ok(first.name.starts_with("Emulated")),
        [] => Err("there is no GPU".to_owned()),
    })
}

/// Returns `Err` unless there are several emulated GPUs, which fail on request.
pub(crate) fn only_emulated() -> Result<(), String> {
    found().and_then(|emulated| match emulated {
        true => Ok(()),
        false => Err("only emulated GPUs fail on request".to_owned()),
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

/// Renders a small Cornell box with all GPUs visible to the program.
pub(crate) fn render(
    folder: &Path,
    backend: &str,
    environment: &[(&str, &str)],
    more: &[&str],
) -> Output {
    render_with(folder, backend, environment, &[&SMALL[..], more].concat())
}

/// Renders the Cornell box with exactly these arguments, and with all GPUs visible to the program.
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

fn film_is_identical_on_all_gpus() {
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

fn film_is_identical_when_one_gpu_of_several_fails() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let failing = [("EMULATED_FAILURES", "0:400")];
    let output = render(folder.path(), "cuda:all", &failing, &[]);
    assert_done(&output);
    assert_eq!(film_hash(folder.path()), expected);
    let messages = stderr(&output);
    let reports = messages.lines().filter(|line| line.contains("has failed"));
    let reports: Vec<&str> = reports.collect();
    assert!(
        matches!(reports[..], [line] if line.starts_with("raysieve: Emulated GPU (cuda:0) has failed")),
        "{messages}"
    );
    assert!(stdout(&output).contains("; failed"), "{}", stdout(&output));
    let stats = statistics(&folder.path().join("a.json"));
    assert_eq!(stats["devices"][0]["failed"], true);
    assert_eq!(stats["paths"], 48 * 32 * 8);

    // A benchmark does not continue on the remaining GPUs.
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
            "measure without it, with --backend cuda:1",
        ],
    );
}

fn verification_continues_on_remaining_gpus() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let verify = |environment: &[(&str, &str)]| {
        let mut command = Command::new(program());
        command
            .current_dir(folder.path())
            .args(["verify", "a.exr", "--backend", "cuda:all"])
            .args(["--wave-size", "256"])
            .envs(environment.iter().copied());
        command.output().expect("the program starts")
    };
    let output = verify(&[("EMULATED_FAILURES", "1:200")]);
    assert_done(&output);
    let reports = left_out(&output);
    assert!(
        matches!(&reports[..], [line] if line.contains("(cuda:1)")),
        "{reports:?}"
    );
    assert!(stdout(&output).starts_with("a.exr verified: 1536 pixels"));

    let output = verify(&[ALL_GPUS_FAIL, ("EMULATED_FAILURES", "1:200")]);
    assert_failed(&output, &["Emulated GPU (cuda:", "LAUNCH_FAILED"]);
    assert_eq!(names(folder.path()), ["a.exr", "a.json"]);
}

/// Makes the emulator behave like driver 580: one failing GPU disables all GPUs of the process.
const ALL_GPUS_FAIL: (&str, &str) = ("EMULATED_ALL_FALL", "1");

/// Returns the lines that report GPUs that are left out.
pub(crate) fn left_out(output: &Output) -> Vec<String> {
    let messages = stderr(output);
    let reports = messages.lines().filter(|line| line.contains("is left out"));
    reports.map(str::to_owned).collect()
}

/// Returns the devices in the statistics `a.json`, each with whether it has failed.
pub(crate) fn devices_of(folder: &Path) -> Vec<(String, bool)> {
    let stats = statistics(&folder.join("a.json"));
    let devices = stats["devices"].as_array().expect("a list of GPUs");
    let device = |device: &serde_json::Value| {
        let name = device["device"].as_str().expect("a name").to_owned();
        (name, device["failed"] == true)
    };
    devices.iter().map(device).collect()
}

/// Environment in which all GPUs fail, late enough that, with [`SAFE_SOON`], a copy of the film exists.
const FAILURE: [(&str, &str); 3] = [
    ALL_GPUS_FAIL,
    ("EMULATED_FAILURES", "1:600"),
    ("EMULATED_DELAYS", "0:2000,1:2000,2:2000"),
];
/// Environment in which a launch on GPU 0 fails late enough that, with [`SAFE_SOON`], a copy of the film exists.
pub(crate) const FAILURE_OF_GPU_0: [(&str, &str); 3] = [
    ALL_GPUS_FAIL,
    ("EMULATED_FAILURES", "0:600"),
    ("EMULATED_DELAYS", "0:2000"),
];
/// Arguments that copy the film to host memory often.
pub(crate) const SAFE_SOON: [&str; 2] = ["--keep-every", "20ms"];

/// Asserts that the program exited with code 1, and that its last line contains these words.
fn assert_failed(output: &Output, words: &[&str]) {
    let messages = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    let last = messages.lines().last().unwrap_or_default();
    for word in words {
        assert!(last.contains(word), "{last:?} should contain {word:?}");
    }
}

/// Runs the command that the last line of a failed render prints, on GPUs that work.
fn continued(folder: &Path, output: &Output) -> Output {
    let messages = stderr(output);
    let last = messages.lines().last().unwrap_or_default();
    let (_, command) = last.split_once(" with: ").expect("a command");
    let mut shell = Command::new("sh");
    shell.current_dir(folder).args(["-c", command]);
    shell.output().expect("a shell")
}

fn printed_command_continues_after_all_gpus_failed() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let output = render(folder.path(), "cuda:all", &FAILURE, &SAFE_SOON);
    let words = [
        "Emulated GPU (cuda:",
        "LAUNCH_FAILED",
        "are saved in a.unfinished.exr; continue with: ",
        " --checkpoint a.unfinished.exr",
    ];
    assert_failed(&output, &words);
    let saved = Part::read(&folder.path().join("a.unfinished.exr")).expect("a part");
    assert_eq!(saved.header.stats.paths, saved.header.samples.len());
    let output = continued(folder.path(), &output);
    assert_done(&output);
    assert!(stderr(&output).contains("continuing after samples 0.."));
    assert_eq!(film_hash(folder.path()), expected);
    assert_verified(folder.path(), "a.exr");

    // The GPUs fail before the film is copied for the first time.
    let at_once = [ALL_GPUS_FAIL, ("EMULATED_FAILURES", "0:2")];
    let output = render(folder.path(), "cuda:all", &at_once, &[]);
    assert_failed(&output, &["LAUNCH_FAILED"]);
}

fn checkpoint_continues_after_all_gpus_failed() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    for (backend, failure, every) in [
        ("cuda:all", FAILURE, "1h"),
        ("cuda:0", FAILURE_OF_GPU_0, "1h"),
        // The same command continues on a GPU, and a farm repeats it.
        ("auto", FAILURE_OF_GPU_0, "1h"),
        // A checkpoint notices the failure, unless the next wave does.
        ("cuda:0", FAILURE_OF_GPU_0, "1s"),
    ] {
        let checkpoint = ["--checkpoint", "c.exr", "--every", every];
        let arguments = [&checkpoint[..], &SAFE_SOON].concat();
        let output = render(folder.path(), backend, &failure, &arguments);
        assert_failed(&output, &["LAUNCH_FAILED", "are saved in c.exr; "]);
        assert_eq!(names(folder.path()), ["a.exr", "a.json", "c.exr"]);
        assert_verified(folder.path(), "c.exr");
        assert_done(&continued(folder.path(), &output));
        assert_eq!(film_hash(folder.path()), expected);
        fs::remove_file(folder.path().join("c.exr")).expect("the checkpoint");
    }
}

fn printed_command_continues_after_the_only_gpu_failed() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let output = render(folder.path(), "cuda:0", &FAILURE_OF_GPU_0, &SAFE_SOON);
    assert_part_continues(folder.path(), &output);
    assert_eq!(film_hash(folder.path()), expected);

    // The GPU fails before the film is copied for the first time.
    for more in [&[][..], &["--checkpoint", "c.exr"]] {
        let at_once = [("EMULATED_FAILURES", "0:2")];
        let output = render(folder.path(), "cuda:0", &at_once, more);
        assert_failed(&output, &["LAUNCH_FAILED", "start again with: "]);
        assert!(!folder.path().join("c.exr").exists());
    }
}

/// Asserts that a render whose only GPU failed has saved a part, and runs the command that continues from it.
pub(crate) fn assert_part_continues(folder: &Path, output: &Output) {
    let words = [
        "Emulated GPU (cuda:0): ",
        "LAUNCH_FAILED",
        "are saved in a.unfinished.exr; continue with: ",
    ];
    assert_failed(output, &words);
    assert_verified(folder, "a.unfinished.exr");
    let output = continued(folder, output);
    assert_done(&output);
    let messages = stderr(&output);
    assert!(messages.contains("continuing after "), "{messages}");
}

fn the_cpu_continues_after_an_automatically_chosen_gpu_failed() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let at_once = [("EMULATED_FAILURES", "0:2")];
    let hangs = [("EMULATED_HANGS", "0:600"), ("EMULATED_DELAYS", "0:2000")];
    let kept = [&SAFE_SOON[..], &["--timeout", "5s"]].concat();
    for (environment, more, then) in [
        (&FAILURE_OF_GPU_0[..], &kept, "; the CPU continues "),
        (&hangs[..], &kept, "; the CPU continues "),
        (&at_once[..], &kept, "; the CPU renders from the beginning"),
    ] {
        let output = render(folder.path(), "auto", environment, more);
        assert_done(&output);
        let messages = stderr(&output);
        let lines = messages.lines().filter(|line| line.contains("; the CPU "));
        let lines: Vec<&str> = lines.collect();
        assert!(
            matches!(lines[..], [line] if line.starts_with("raysieve: Emulated GPU") && line.contains(then)),
            "{messages}"
        );
        assert_eq!(film_hash(folder.path()), expected, "{then}");
        let devices = devices_of(folder.path());
        let failed: Vec<bool> = devices.iter().map(|(_, failed)| *failed).collect();
        assert!(
            failed.contains(&true) && failed.contains(&false),
            "{devices:?}"
        );
        assert_eq!(statistics(&folder.path().join("a.json"))["backend"], "cpu");
        assert_verified(folder.path(), "a.exr");
    }

    // The same holds for adaptive sampling, and for a region, which begins again.
    for more in [["--noise", "0.05"], ["--crop", "8,4,20x20"]] {
        let size = ["--size", "48x32", "--spp", "64", "--wave-size", "256"];
        let files = ["-o", "a.exr", "--stats", "a.json"];
        let arguments = [&size[..], &files, &more, &SAFE_SOON].concat();
        assert_done(&render_with(folder.path(), "cpu", &[], &arguments));
        let expected = film_hash(folder.path());
        let output = render_with(folder.path(), "auto", &FAILURE_OF_GPU_0, &arguments);
        assert_done(&output);
        assert!(
            stderr(&output).contains("; the CPU "),
            "{more:?}: {}",
            stderr(&output)
        );
        assert_eq!(film_hash(folder.path()), expected, "{more:?}");
    }
}

fn printed_command_continues_after_a_gpu_hung() {
    let folder = folder();
    assert_done(&render(folder.path(), "cpu", &[], &[]));
    let expected = film_hash(folder.path());
    let hangs = [("EMULATED_HANGS", "1:600")];
    let arguments = [&SAFE_SOON[..], &["--timeout", "5s"]].concat();
    let output = render(folder.path(), "cuda:all", &hangs, &arguments);
    assert_failed(&output, &["Emulated GPU (cuda:1): ", "the GPU hangs"]);
    assert_done(&continued(folder.path(), &output));
    assert_eq!(film_hash(folder.path()), expected);
}

/// Asserts that `raysieve verify` accepts an image on the CPU.
pub(crate) fn assert_verified(folder: &Path, picture: &str) {
    let verified = raysieve(folder)
        .args(["verify", picture, "--backend", "cpu"])
        .output()
        .expect("the program starts");
    assert_done(&verified);
}

fn hang_of_a_single_gpu_is_an_error() {
    let folder = folder();
    let hangs = [("EMULATED_HANGS", "0:300")];
    let more = ["--timeout", "500ms"];
    let output = render(folder.path(), "cuda:0", &hangs, &more);
    assert_refused(&output, 1, &["the GPU hangs"]);
    // The same holds for adaptive sampling, where each round is one wave and the convergence test waits for it.
    let rounds = [
        "--size",
        "24x16",
        "--wave-size",
        "65536",
        "--noise",
        "0.001",
    ];
    let end = ["--spp", "8000", "-o", "b.exr", "--timeout", "500ms"];
    let output = render_with(
        folder.path(),
        "cuda:0",
        &hangs,
        &[&rounds[..], &end].concat(),
    );
    assert_refused(&output, 1, &["the GPU hangs"]);
}
