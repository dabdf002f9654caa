//! Tests of `--checkpoint`: renders that are killed and continued, and damaged, foreign or unwritable checkpoints.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use libtest_mimic::Trial;
use raysieve::render::part::Part;

use crate::{
    add_tests, assert_done, assert_refused,
    files::statistics,
    folder,
    interrupt::{interrupt, is_writing, small_disk, start, temporary_file},
    mounting, names, program, raysieve, scene, small_render, stderr, stdout,
    without_gpu_and_display,
};

/// Arguments of a render that writes its checkpoint only at the end.
const RARELY_KEPT: [&str; 8] = [
    "--size",
    "32x24",
    "-o",
    "a.png",
    "--checkpoint",
    "c.exr",
    "--every",
    "1h",
];

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        film_is_identical_after_repeated_kills,
        temporary_files_of_killed_processes_are_removed,
        temporary_files_of_running_processes_are_kept,
        interrupted_render_continues_from_its_checkpoint,
        checkpoint_continues_with_more_samples,
        damaged_checkpoint_is_set_aside,
        foreign_checkpoint_is_refused_and_kept,
        checkpoint_of_another_program_is_not_overwritten,
        unwritable_checkpoint_is_reported_before_the_render,
        file_size_limit_is_reported_on_one_line,
    );
    add_tests!(trials, if mounting() => full_disk_loses_the_checkpoint_but_not_the_render);
}

/// Arguments of a render of about a second that writes checkpoints as often as possible.
const LONG: [&str; 10] = [
    "--backend",
    "cpu",
    "--size",
    "128x96",
    "--spp",
    "192",
    "--every",
    "1ms",
    "--checkpoint",
    "so-far.exr",
];

fn long_render(folder: &Path) -> Command {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(LONG)
        .args(["-o", "a.exr", "--stats", "a.json"]);
    command
}

/// Returns the film hash of an uninterrupted small render with further arguments.
fn hash_of(arguments: &[&str]) -> String {
    let folder = folder();
    assert_done(&small_render(
        folder.path(),
        &[arguments, &["-o", "a.exr"]].concat(),
    ));
    hash(folder.path(), "a.exr")
}

/// Returns the film hash of an EXR.
fn hash(folder: &Path, file: &str) -> String {
    let part = Part::read(&folder.join(file)).unwrap_or_else(|error| panic!("{error}"));
    part.header.stats.film_hash
}

fn film_is_identical_after_repeated_kills() {
    let plain = folder();
    let one_go = raysieve(plain.path())
        .arg(scene("spheres.ron"))
        .args(&LONG[..6])
        .args(["--threads", "1", "-o", "a.exr", "--stats", "a.json"])
        .output();
    assert_done(&one_go.expect("the program starts"));
    let expected = statistics(&plain.path().join("a.json"));

    // On a busy machine the first render can end before it is killed. Then it starts again in an empty folder.
    let mut attempts = (0..5).map(|_| {
        let folder = folder();
        let (kills, resumed) = render_with_kills(folder.path());
        (folder, kills, resumed)
    });
    let (folder, kills, _) = attempts
        .find(|(_, _, resumed)| *resumed > 0)
        .expect("no render continued after a kill");
    let folder = folder.path();
    let statistics = statistics(&folder.join("a.json"));
    for key in [
        "film_hash",
        "paths",
        "rays",
        "spp",
        "sample_range",
        "rejected_samples",
    ] {
        assert_eq!(statistics[key], expected[key], "{key} after {kills} kills");
    }
    assert_eq!(hash(folder, "so-far.exr"), hash(folder, "a.exr"));
    assert_eq!(
        names(folder),
        ["a.exr", "a.json", "so-far.exr"],
        "temporary files of killed processes must be removed"
    );
}

/// Repeats a render that is killed up to 8 times, until it is complete. Returns the number of kills, and how many
/// renders continued from a checkpoint.
fn render_with_kills(folder: &Path) -> (u32, u32) {
    let checkpoint = folder.join("so-far.exr");
    let written = || {
        fs::metadata(&checkpoint)
            .and_then(|file| file.modified())
            .ok()
    };
    let (mut kills, mut resumed) = (0, 0);
    // Pseudo-random times that are independent of the program's own.
    let mut wait = 37;
    loop {
        let before = written();
        let child = long_render(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("the program starts");
        if kills < 8 {
            // Every second time it has written a checkpoint, however slow the machine is.
            while kills % 2 == 1
                && written() == before
                && child.try_wait().expect("a child").is_none()
            {
                thread::sleep(Duration::from_millis(1));
            }
            wait = wait * 7919 % 461;
            thread::sleep(Duration::from_millis(60 + wait));
            child.kill().expect("it can be killed");
        }
        let output = child.wait_with_output().expect("a child");
        resumed += u32::from(stderr(&output).contains("continuing after samples 0.."));
        if output.status.success() {
            return (kills, resumed);
        }
        assert!(kills < 8, "not killed: {}", stderr(&output));
        kills += 1;
        if checkpoint.exists() {
            Part::read(&checkpoint).expect("a checkpoint must be complete at any time");
        }
        assert!(!folder.join("a.exr").exists() || Part::read(&folder.join("a.exr")).is_ok());
    }
}

/// Arguments of a render whose image of 75 MB takes a while to write.
const LARGE: [&str; 6] = [
    "--backend",
    "cpu",
    "--size",
    "2048x1024",
    "--max-bounces",
    "0",
];

fn temporary_files_of_killed_processes_are_removed() {
    left_half_written(
        &[
            "--spp",
            "1000",
            "--every",
            "1ms",
            "--checkpoint",
            "c.exr",
            "-o",
            "a.png",
        ],
        &["a.png", "c.exr"],
    );
    left_half_written(&["--spp", "1", "-o", "a.exr"], &["a.exr"]);
}

/// Kills a large render during a write, and checks that the next render leaves only the files in `written`.
fn left_half_written(arguments: &[&str], written: &[&str]) {
    let folder = folder();
    let folder = folder.path();
    let unfinished = || {
        names(folder)
            .into_iter()
            .filter(|name| name.ends_with(".tmp"))
            .count()
    };
    // On a busy machine a render can write its whole file between two looks at the folder. Then another one is started.
    for _ in 0..20 {
        let mut child = start_large(folder, arguments);
        let mut has_ended = false;
        while !has_ended && !is_writing(folder) {
            has_ended = child.try_wait().expect("a child").is_some();
        }
        if !has_ended {
            child.kill().expect("it can be killed");
        }
        child.wait().expect("a child");
        if unfinished() > 0 {
            for name in written {
                let _ = fs::remove_file(folder.join(name));
            }
            let again = [&["--spp", "1"], &arguments[2..]].concat();
            let mut child = start_large(folder, &again);
            assert!(child.wait().expect("a child").success());
            assert_eq!(names(folder), written);
            return;
        }
    }
    panic!("no kill came during a write: {arguments:?}");
}

/// Starts a render with the arguments [`LARGE`] and further ones.
fn start_large(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(LARGE)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

fn temporary_files_of_running_processes_are_kept() {
    let folder = folder();
    let folder = folder.path();
    // On a busy machine a render can write its whole file between two looks at the folder. Then another one is started.
    let (mut first, unfinished) = loop {
        let mut render = start_large(folder, &["--spp", "1", "-o", "a.exr"]);
        let mut unfinished = None;
        while unfinished.is_none() && render.try_wait().expect("a child").is_none() {
            unfinished = temporary_file(folder);
        }
        if let Some(name) = unfinished {
            break (render, name);
        }
        render.wait().expect("a child");
        fs::remove_file(folder.join("a.exr")).expect("the picture of the render that has ended");
    };
    let mut second = start_large(folder, &["--spp", "1", "-o", "a.exr"]);
    assert!(first.wait().expect("a child").success());
    assert!(second.wait().expect("a child").success());
    assert_eq!(names(folder), ["a.exr"]);
    // A pipe with the name of a temporary file must not block the program.
    let piped = Command::new("mkfifo")
        .arg(folder.join(&unfinished))
        .status();
    assert!(piped.expect("mkfifo").success());
    let mut third = start_large(folder, &["--spp", "1", "-o", "a.exr"]);
    assert!(third.wait().expect("a child").success());
    assert_eq!(names(folder), [&unfinished, "a.exr"]);
}

fn interrupted_render_continues_from_its_checkpoint() {
    let folder = folder();
    let child = start(folder.path(), &RARELY_KEPT);
    let messages = interrupt(child, "INT");
    assert!(
        messages.contains("the same command continues from c.exr"),
        "{messages}"
    );
    let first = Part::read(&folder.path().join("c.exr"))
        .expect("the checkpoint")
        .header
        .samples;

    let child = start(folder.path(), &RARELY_KEPT);
    let messages = interrupt(child, "TERM");
    assert!(
        messages.contains(&format!(
            "checkpoint: c.exr, continuing after samples {first}\n"
        )),
        "{messages}"
    );
    let second = Part::read(&folder.path().join("c.exr"))
        .expect("the checkpoint")
        .header
        .samples;
    assert!(second.len() > first.len());
    let verified = crate::run(
        folder.path(),
        ["verify", "c.exr", "--pixels", "5%", "--backend", "cpu"],
    );
    assert_done(&verified);
}

/// Runs the small render with a checkpoint and the given number of samples per pixel.
fn checkpointed(folder: &Path, spp: &str) -> Output {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--size", "48x32", "--spp", spp]);
    command.args(["-o", "a.exr", "--checkpoint", "c.exr"]);
    command.output().expect("the program starts")
}

fn checkpoint_continues_with_more_samples() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&checkpointed(folder, "2"));
    let more = checkpointed(folder, "3");
    assert_done(&more);
    assert!(stderr(&more).contains("continuing after samples 0..2\n"));
    let expected = hash_of(&[]);
    assert_eq!(hash(folder, "a.exr"), expected);
    assert_eq!(hash(folder, "c.exr"), expected);
    // All samples exist, so that only the image is written again.
    fs::remove_file(folder.join("a.exr")).expect("it can be removed");
    assert_done(&checkpointed(folder, "3"));
    assert_eq!(hash(folder, "a.exr"), expected);
    // With fewer samples it is another render, and the existing samples are not discarded.
    assert_refused(
        &checkpointed(folder, "1"),
        2,
        &["c.exr", "samples 0..3, not the first of 0..1"],
    );
    assert_eq!(hash(folder, "c.exr"), expected);
}

fn damaged_checkpoint_is_set_aside() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&checkpointed(folder, "2"));
    let whole = fs::read(folder.join("c.exr")).expect("the checkpoint");
    let expected = hash_of(&[]);
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        bytes
    };
    let damages = [
        Vec::new(),
        whole[..100].to_vec(),
        whole[..whole.len() - 1].to_vec(),
        flipped(0),
        // The damage is in the lowest bits of the film, and in the displayed channels.
        flipped(whole.len() - 3),
        flipped(whole.len() - 48 * 36),
    ];
    for (number, damage) in (1..).zip(&damages) {
        fs::write(folder.join("c.exr"), damage).expect("a file");
        let output = checkpointed(folder, "3");
        assert_done(&output);
        let name = if number == 1 {
            "c.exr.damaged".to_owned()
        } else {
            format!("c.exr.damaged-{number}")
        };
        let messages = stderr(&output);
        assert_eq!(messages.lines().count(), 2, "{messages}");
        let report = messages
            .lines()
            .find(|line| line.starts_with("checkpoint: c.exr is damaged: "))
            .expect("a line");
        assert!(
            report.contains(&name) && report.ends_with("the render starts from the beginning"),
            "{report}"
        );
        assert_eq!(
            report.contains("only the last three"),
            number > 3,
            "{report}"
        );
        assert_eq!(fs::read(folder.join(&name)).expect(&name), *damage);
        let kept = names(folder);
        let kept = kept.iter().filter(|name| name.contains("damaged"));
        assert_eq!(kept.count(), number.min(3));
        assert_eq!(hash(folder, "a.exr"), expected);
        assert_eq!(hash(folder, "c.exr"), expected);
    }
}

fn foreign_checkpoint_is_refused_and_kept() {
    let folder = folder();
    let folder = folder.path();
    let checkpoint = folder.join("c.exr");
    let refused = |settings: &[&str], words: &[&str]| {
        let before = fs::read(&checkpoint).expect("the checkpoint");
        let output = small_render(
            folder,
            &[settings, &["-o", "b.exr", "--checkpoint", "c.exr"]].concat(),
        );
        assert_refused(
            &output,
            2,
            &[&["c.exr", "name another checkpoint"], words].concat(),
        );
        assert!(
            fs::read(&checkpoint).expect("the checkpoint") == before,
            "the checkpoint has changed"
        );
        assert_eq!(names(folder), ["a.exr", "c.exr"]);
    };
    assert_done(&checkpointed(folder, "2"));
    refused(&["--seed", "1"], &["seed 0, not 1"]);
    refused(&["--max-bounces", "1"], &["not 1"]);
    refused(
        &["--samples", "1..3"],
        &["samples 0..2, not the first of 1..3"],
    );
    // An EXR of another program.
    exr::prelude::write_rgb_file(&checkpoint, 4, 4, |_, _| (0.0_f32, 0.0_f32, 0.0_f32))
        .expect("a picture");
    let before = fs::read(&checkpoint).expect("the picture");
    assert_refused(&checkpointed(folder, "3"), 2, &["c.exr", "no film"]);
    assert!(fs::read(&checkpoint).expect("the picture") == before);
}

fn checkpoint_of_another_program_is_not_overwritten() {
    let folder = folder();
    let child = start(folder.path(), &RARELY_KEPT);
    fs::write(folder.path().join("c.exr"), "mine").expect("a file");
    let messages = interrupt(child, "INT");
    assert!(
        messages.starts_with("checkpoint: c.exr: not written: another program"),
        "{messages}"
    );
    assert_eq!(
        fs::read(folder.path().join("c.exr")).expect("the file"),
        b"mine"
    );
    assert_eq!(names(folder.path()), ["a.png", "c.exr"]);
}

fn unwritable_checkpoint_is_reported_before_the_render() {
    let folder = folder();
    fs::create_dir(folder.path().join("folder.exr")).expect("a folder");
    let mut wrong = vec![("missing/c.exr", "missing"), ("folder.exr", "folder")];
    // Nobody can create a file there, not even root.
    if cfg!(target_os = "linux") {
        wrong.push(("/sys/c.exr", "/sys"));
    }
    for (place, expected) in wrong {
        let output = raysieve(folder.path())
            .arg(scene("spheres.ron"))
            .args([
                "--spp",
                "1000000",
                "--backend",
                "cpu",
                "--checkpoint",
                place,
            ])
            .output()
            .expect("the program starts");
        assert_refused(&output, 2, &[place, expected]);
    }
    assert_eq!(names(folder.path()), ["folder.exr"]);
}

fn full_disk_loses_the_checkpoint_but_not_the_render() {
    let folder = folder();
    let mut command = small_disk(folder.path());
    command.arg(program()).arg(scene("spheres.ron"));
    command.args([
        "--backend",
        "cpu",
        "--size",
        "64x48",
        "--spp",
        "64",
        "--every",
        "1ms",
    ]);
    let output = command
        .args(["-o", "../a.exr", "--checkpoint", "c.exr"])
        .output()
        .expect("unshare");
    assert_done(&output);
    let messages = stderr(&output);
    let reports: Vec<&str> = messages
        .lines()
        .filter(|line| line.starts_with("checkpoint: "))
        .collect();
    assert!(!reports.is_empty() && reports.len() <= 2, "{messages}");
    assert!(
        reports[0].starts_with("checkpoint: c.exr: not written: No space left"),
        "{messages}"
    );
    // There is neither a checkpoint nor a temporary file.
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("\nold\na.exr\n"));
    let expected = hash_of_size();
    assert_eq!(hash(folder.path(), "a.exr"), expected);
}

fn hash_of_size() -> String {
    let folder = folder();
    let output = raysieve(folder.path())
        .arg(scene("spheres.ron"))
        .args([
            "--backend",
            "cpu",
            "--size",
            "64x48",
            "--spp",
            "64",
            "-o",
            "a.exr",
        ])
        .output();
    assert_done(&output.expect("the program starts"));
    hash(folder.path(), "a.exr")
}

/// Checks that the program survives the file size limit, at which the system kills a process by default.
fn file_size_limit_is_reported_on_one_line() {
    let folder = folder();
    let output = without_gpu_and_display(&mut Command::new("sh"))
        .current_dir(folder.path())
        .args(["-c", "ulimit -f 16; exec \"$@\"", "sh"])
        .arg(program())
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--size", "64x48", "--spp", "3"])
        .args(["-o", "a.exr", "--checkpoint", "c.exr", "--every", "1ms"])
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let messages = stderr(&output);
    let last = messages.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("raysieve: a.exr: not written: ") && last.contains("ulimit -f"),
        "{messages}"
    );
    assert!(
        messages.contains("checkpoint: c.exr: not written: "),
        "{messages}"
    );
    assert!(stdout(&output).contains("film_hash"), "{}", stdout(&output));
    assert_eq!(names(folder.path()), [""; 0]);
}
