//! Long renders: killed, resumed, and what becomes of a checkpoint that is not as it should be.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use libtest_mimic::Trial;
use raysieve::part::Part;

use crate::{
    add_if, add_tests, assert_done, assert_refused,
    files::statistics,
    folder,
    interrupt::{end, is_writing, signal, small_disk, start},
    mounting, names, program, raysieve, scene, small_render, stderr, stdout,
    without_gpu_and_display,
};

/// A render whose checkpoint is written at its end alone.
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
        a_render_that_is_killed_again_and_again_ends_with_the_bits_of_one_go,
        what_a_kill_left_half_written_is_cleared_away,
        what_another_still_writes_is_not_cleared_away,
        ctrl_c_leaves_a_checkpoint_to_go_on_from,
        a_render_can_go_on_with_more_samples,
        a_damaged_checkpoint_is_kept_aside,
        a_foreign_checkpoint_is_refused_and_stays,
        a_checkpoint_that_another_wrote_is_not_overwritten,
        a_checkpoint_that_cannot_be_made_is_found_before_the_render,
        a_limit_on_the_size_of_files_is_told_in_a_line,
    );
    add_if(
        trials,
        mounting(),
        "a_full_disk_costs_the_checkpoint_and_not_the_render",
        a_full_disk_costs_the_checkpoint_and_not_the_render,
    );
}

/// A render of about a second, with a checkpoint as often as can be.
const LONG: [&str; 10] = [
    "--backend",
    "cpu",
    "--size",
    "128x96",
    "--spp",
    "192",
    "--every",
    "0s",
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

/// Of a render in one go, with these arguments besides the small render's.
fn hash_of(arguments: &[&str]) -> String {
    let folder = folder();
    assert_done(&small_render(
        folder.path(),
        &[arguments, &["-o", "a.exr"]].concat(),
    ));
    hash(folder.path(), "a.exr")
}

fn hash(folder: &Path, file: &str) -> String {
    let part = Part::read(&folder.join(file)).unwrap_or_else(|error| panic!("{error}"));
    part.claim.stats.film_hash
}

fn a_render_that_is_killed_again_and_again_ends_with_the_bits_of_one_go() {
    let plain = folder();
    let one_go = raysieve(plain.path())
        .arg(scene("spheres.ron"))
        .args(&LONG[..6])
        .args(["--threads", "1", "-o", "a.exr", "--stats", "a.json"])
        .output();
    assert_done(&one_go.expect("the program starts"));
    let expected = statistics(&plain.path().join("a.json"));

    let folder = folder();
    let folder = folder.path();
    let (mut kills, mut resumed) = (0, 0);
    // Instants that have nothing to do with those of the program.
    let mut wait = 37;
    let output = loop {
        let child = long_render(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("the program starts");
        if kills < 8 {
            wait = wait * 7919 % 461;
            thread::sleep(Duration::from_millis(60 + wait));
            child.kill().expect("it can be killed");
        }
        let output = child.wait_with_output().expect("a child");
        resumed += usize::from(stderr(&output).contains("going on after samples 0.."));
        if output.status.success() {
            break output;
        }
        kills += 1;
        if folder.join("so-far.exr").exists() {
            Part::read(&folder.join("so-far.exr")).expect("a checkpoint is whole at any instant");
        }
        assert!(!folder.join("a.exr").exists() || Part::read(&folder.join("a.exr")).is_ok());
    };
    assert!(
        kills > 0 && resumed > 0,
        "{kills} kills, resumed {resumed} times: {}",
        stderr(&output)
    );
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
        "what a kill leaves is cleared away"
    );
}

/// 75 MB, which take a while to reach the disk.
const LARGE: [&str; 6] = [
    "--backend",
    "cpu",
    "--size",
    "2048x1024",
    "--max-bounces",
    "0",
];

fn what_a_kill_left_half_written_is_cleared_away() {
    left_half_written(
        &[
            "--spp",
            "1000",
            "--every",
            "0s",
            "--checkpoint",
            "c.exr",
            "-o",
            "a.png",
        ],
        &["a.png", "c.exr"],
    );
    left_half_written(&["--spp", "1", "-o", "a.exr"], &["a.exr"]);
}

fn left_half_written(arguments: &[&str], written: &[&str]) {
    let folder = folder();
    let folder = folder.path();
    let unfinished = || {
        names(folder)
            .into_iter()
            .filter(|name| name.ends_with(".tmp"))
            .count()
    };
    for _ in 0..5 {
        let mut child = start_large(folder, arguments);
        while !is_writing(folder) {
            assert!(
                child.try_wait().expect("a child").is_none(),
                "it ended without a file"
            );
        }
        child.kill().expect("it can be killed");
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
    panic!("no kill came while a file was being written: {arguments:?}");
}

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

fn what_another_still_writes_is_not_cleared_away() {
    let folder = folder();
    let folder = folder.path();
    let mut first = start_large(folder, &["--spp", "1", "-o", "a.exr"]);
    while !is_writing(folder) {
        assert!(first.try_wait().expect("a child").is_none(), "it ended");
    }
    let unfinished = names(folder).remove(0);
    let mut second = start_large(folder, &["--spp", "1", "-o", "a.exr"]);
    assert!(first.wait().expect("a child").success());
    assert!(second.wait().expect("a child").success());
    assert_eq!(names(folder), ["a.exr"]);
    // And what is no file keeps nobody waiting.
    let piped = Command::new("mkfifo")
        .arg(folder.join(&unfinished))
        .status();
    assert!(piped.expect("mkfifo").success());
    let mut third = start_large(folder, &["--spp", "1", "-o", "a.exr"]);
    assert!(third.wait().expect("a child").success());
    assert_eq!(names(folder), [&unfinished, "a.exr"]);
}

fn ctrl_c_leaves_a_checkpoint_to_go_on_from() {
    let folder = folder();
    let child = start(folder.path(), &RARELY_KEPT);
    signal(&child, "INT");
    let (code, said) = end(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("the same command goes on from c.exr"),
        "{said}"
    );
    let first = Part::read(&folder.path().join("c.exr"))
        .expect("the checkpoint")
        .claim
        .samples;

    let child = start(folder.path(), &RARELY_KEPT);
    signal(&child, "TERM");
    let (code, said) = end(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains(&format!(
            "checkpoint: c.exr, going on after samples {first}\n"
        )),
        "{said}"
    );
    let second = Part::read(&folder.path().join("c.exr"))
        .expect("the checkpoint")
        .claim
        .samples;
    assert!(second.len() > first.len());
    let verified = crate::run(
        folder.path(),
        ["verify", "c.exr", "--pixels", "5%", "--backend", "cpu"],
    );
    assert_done(&verified);
}

/// The small render with a checkpoint and so many samples.
fn checkpointed(folder: &Path, spp: &str) -> Output {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--size", "48x32", "--spp", spp]);
    command.args(["-o", "a.exr", "--checkpoint", "c.exr"]);
    command.output().expect("the program starts")
}

fn a_render_can_go_on_with_more_samples() {
    let folder = folder();
    let folder = folder.path();
    assert_done(&checkpointed(folder, "2"));
    let more = checkpointed(folder, "3");
    assert_done(&more);
    assert!(stderr(&more).contains("going on after samples 0..2\n"));
    let expected = hash_of(&[]);
    assert_eq!(hash(folder, "a.exr"), expected);
    assert_eq!(hash(folder, "c.exr"), expected);
    // Nothing is left to do but to write the picture again.
    fs::remove_file(folder.join("a.exr")).expect("it can be removed");
    assert_done(&checkpointed(folder, "3"));
    assert_eq!(hash(folder, "a.exr"), expected);
    // Fewer are another picture, and what was rendered is not thrown away for it.
    assert_refused(
        &checkpointed(folder, "1"),
        2,
        &["c.exr", "samples 0..3, not the first of 0..1"],
    );
    assert_eq!(hash(folder, "c.exr"), expected);
}

fn a_damaged_checkpoint_is_kept_aside() {
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
        // In the film's lowest bits, and in what the picture shows.
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
        let said = stderr(&output);
        assert_eq!(said.lines().count(), 2, "{said}");
        let told = said
            .lines()
            .find(|line| line.starts_with("checkpoint: c.exr is damaged: "))
            .expect("a line");
        assert!(
            told.contains(&name) && told.ends_with("the render begins anew"),
            "{told}"
        );
        assert_eq!(fs::read(folder.join(&name)).expect(&name), *damage);
        assert_eq!(hash(folder, "a.exr"), expected);
        assert_eq!(hash(folder, "c.exr"), expected);
    }
}

fn a_foreign_checkpoint_is_refused_and_stays() {
    let folder = folder();
    let folder = folder.path();
    let checkpoint = folder.join("c.exr");
    let refused = |settings: &[&str], told: &[&str]| {
        let before = fs::read(&checkpoint).expect("the checkpoint");
        let output = small_render(
            folder,
            &[settings, &["-o", "b.exr", "--checkpoint", "c.exr"]].concat(),
        );
        assert_refused(
            &output,
            2,
            &[&["c.exr", "name another checkpoint"], told].concat(),
        );
        assert!(
            fs::read(&checkpoint).expect("the checkpoint") == before,
            "it is not as it was"
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
    // A picture of another program.
    exr::prelude::write_rgb_file(&checkpoint, 4, 4, |_, _| (0.0_f32, 0.0_f32, 0.0_f32))
        .expect("a picture");
    let before = fs::read(&checkpoint).expect("the picture");
    assert_refused(&checkpointed(folder, "3"), 2, &["c.exr", "no film"]);
    assert!(fs::read(&checkpoint).expect("the picture") == before);
}

fn a_checkpoint_that_another_wrote_is_not_overwritten() {
    let folder = folder();
    let child = start(folder.path(), &RARELY_KEPT);
    fs::write(folder.path().join("c.exr"), "mine").expect("a file");
    signal(&child, "INT");
    let (code, said) = end(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.starts_with("checkpoint: c.exr: not written: another program"),
        "{said}"
    );
    assert_eq!(
        fs::read(folder.path().join("c.exr")).expect("the file"),
        b"mine"
    );
    assert_eq!(names(folder.path()), ["a.png", "c.exr"]);
}

fn a_checkpoint_that_cannot_be_made_is_found_before_the_render() {
    let folder = folder();
    fs::create_dir(folder.path().join("folder.exr")).expect("a folder");
    let mut wrong = vec![("missing/c.exr", "missing"), ("folder.exr", "folder")];
    // No one may make a file there, not even root.
    if cfg!(target_os = "linux") {
        wrong.push(("/sys/c.exr", "/sys"));
    }
    for (place, told) in wrong {
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
        assert_refused(&output, 2, &[place, told]);
    }
    assert_eq!(names(folder.path()), ["folder.exr"]);
}

fn a_full_disk_costs_the_checkpoint_and_not_the_render() {
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
        "0s",
    ]);
    let output = command
        .args(["-o", "../a.exr", "--checkpoint", "c.exr"])
        .output()
        .expect("unshare");
    assert_done(&output);
    let said = stderr(&output);
    let told: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("checkpoint: "))
        .collect();
    assert!(!told.is_empty() && told.len() <= 2, "{said}");
    assert!(
        told[0].starts_with("checkpoint: c.exr: not written: No space left"),
        "{said}"
    );
    // Neither a checkpoint nor what was to become one.
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

/// Where there is one, the system would end the process that comes to it.
fn a_limit_on_the_size_of_files_is_told_in_a_line() {
    let folder = folder();
    let output = without_gpu_and_display(&mut Command::new("sh"))
        .current_dir(folder.path())
        .args(["-c", "ulimit -f 16; exec \"$@\"", "sh"])
        .arg(program())
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--size", "64x48", "--spp", "3"])
        .args(["-o", "a.exr", "--checkpoint", "c.exr", "--every", "0s"])
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("raysieve: a.exr: not written: ") && last.contains("ulimit -f"),
        "{said}"
    );
    assert!(said.contains("checkpoint: c.exr: not written: "), "{said}");
    assert!(stdout(&output).contains("film_hash"), "{}", stdout(&output));
    assert_eq!(names(folder.path()), [""; 0]);
}
