//! Tests of faults on many machines: each is reported, nothing is merged wrongly, and no sample is lost.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
};

use libtest_mimic::Trial;
use raysieve::render::part::{Part, PartHeader};

use crate::{
    add_tests, assert_done, assert_refused, disk, folder, mounting, names, program, raysieve, run,
    scene,
    scripts::{SCENE, assert_bits, scene_folder},
    signal, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        merge_refuses_missing_and_unexpected_samples,
        merge_waits_for_missing_parts,
        changed_scene_is_reported_before_the_render,
        different_clocks_do_not_matter,
        two_jobs_of_one_part_never_lose_samples,
        node_without_a_gpu_reports_it,
    );
    add_tests!(trials, if mounting() => full_disk_loses_no_part);
    add_tests!(trials, if mounting() => farm_starts_again_after_a_full_disk);
}

/// Renders a range of samples into a file that is its own checkpoint.
fn part(folder: &Path, samples: &str, file: &str) {
    let part = [
        "box.ron",
        "--backend",
        "cpu",
        "--samples",
        samples,
        "--checkpoint",
        file,
        "-o",
        file,
    ];
    assert_done(&run(folder, part));
}

fn merge(folder: &Path, arguments: &[&str]) -> std::process::Output {
    run(folder, [&["merge"], arguments, &["-o", "out.exr"]].concat())
}

fn merge_refuses_missing_and_unexpected_samples() {
    let folder = scene_folder();
    let folder = folder.path();
    part(folder, "0..5", "a.exr");
    part(folder, "5..10", "b.exr");
    part(folder, "10..14", "c.exr");
    let all =
        |parts: &[&str], samples: &str| merge(folder, &[parts, &["--samples", samples]].concat());
    let missing = "are missing in the parts";
    assert_refused(
        &all(&["a.exr", "b.exr"], "0..14"),
        2,
        &["--samples 0..14", "10..14", missing],
    );
    assert_refused(&all(&["b.exr", "c.exr"], "0..14"), 2, &["0..5", missing]);
    assert_refused(&all(&["a.exr", "c.exr"], "0..14"), 2, &["5..10", missing]);
    assert_refused(
        &all(&["a.exr", "b.exr", "c.exr"], "0..13+100"),
        2,
        &["c.exr", "also contains samples 13+100..14"],
    );
    assert_refused(
        &all(&["a.exr", "b.exr", "a.exr"], "0..14"),
        2,
        &["a.exr", "0..5"],
    );
    assert_refused(&all(&["a.exr"], "5.."), 2, &["both ends"]);
    assert_refused(
        &all(&["a.exr", "--allow-gaps"], "0..5"),
        2,
        &["--allow-gaps"],
    );
    let other = "0123456789abcdef0123456789ABCDEF";
    assert_refused(
        &merge(folder, &["a.exr", "--scene-hash", other]),
        2,
        &["a.exr", "another scene"],
    );
    assert_refused(
        &merge(folder, &["a.exr", "--scene-hash", "box"]),
        2,
        &["--scene-hash", "32 hexadecimal"],
    );
    assert!(!folder.join("out.exr").exists());
    let hash = PartHeader::read(&folder.join("a.exr"))
        .unwrap()
        .identity
        .scene_hash;
    let parts = [
        "c.exr",
        "a.exr",
        "b.exr",
        "--samples",
        "0..14",
        "--scene-hash",
        &hash,
    ];
    assert_done(&merge(folder, &parts));
    assert_bits(folder, &[]);
}

fn merge_waits_for_missing_parts() {
    let folder = scene_folder();
    let folder = folder.path();
    part(folder, "0..5", "a.exr");
    fs::write(folder.join("b.exr"), "half of it").unwrap();
    let mut waiting = raysieve(folder)
        .args([
            "merge",
            "a.exr",
            "b.exr",
            "c.exr",
            "--samples",
            "0..14",
            "--wait",
            "-o",
            "out.exr",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The damaged file is replaced once it is reported.
    let mut messages = String::new();
    let mut lines = BufReader::new(waiting.stderr.take().expect("a pipe"));
    while !messages.contains("b.exr: is damaged") {
        let read = lines.read_line(&mut messages).unwrap();
        assert!(read > 0, "the program has ended: {messages}");
    }
    part(folder, "5..10", "b.exr");
    part(folder, "10..12", "c.exr");
    thread::sleep(Duration::from_millis(2500));
    assert!(!folder.join("out.exr").exists());
    part(folder, "10..14", "c.exr");
    lines.read_to_string(&mut messages).unwrap();
    assert!(waiting.wait().unwrap().success(), "{messages}");
    assert_eq!(
        messages
            .matches("waiting for a new file: b.exr: is damaged")
            .count(),
        1,
        "{messages}"
    );
    assert_bits(folder, &[]);
    // `--wait` does not wait if a part is wrong.
    fs::write(
        folder.join("box.ron"),
        SCENE.replace("radius: 1", "radius: 2"),
    )
    .unwrap();
    fs::remove_file(folder.join("c.exr")).unwrap();
    part(folder, "10..12", "c.exr");
    let output = merge(folder, &["a.exr", "c.exr", "--samples", "0..14", "--wait"]);
    assert_refused(&output, 2, &["c.exr", "another scene"]);
    assert_refused(&merge(folder, &["a.exr", "--wait"]), 2, &["--samples"]);
}

fn changed_scene_is_reported_before_the_render() {
    let folder = scene_folder();
    let folder = folder.path();
    part(folder, "0..5", "a.exr");
    let hash = PartHeader::read(&folder.join("a.exr"))
        .unwrap()
        .identity
        .scene_hash;
    let render = |hash: &str| {
        run(
            folder,
            [
                "box.ron",
                "--backend",
                "cpu",
                "--scene-hash",
                hash,
                "-o",
                "b.exr",
            ],
        )
    };
    assert_done(&render(&hash));
    assert_done(&render(&hash.to_uppercase()));
    fs::remove_file(folder.join("b.exr")).unwrap();
    fs::write(
        folder.join("box.ron"),
        SCENE.replace("radius: 1", "radius: 1.0001"),
    )
    .unwrap();
    let output = render(&hash);
    assert_refused(
        &output,
        2,
        &["box.ron", "scene_hash", &hash, "have changed"],
    );
    assert!(
        !stderr(&output).contains("backend: "),
        "before anything is rendered: {}",
        stderr(&output)
    );
    assert_eq!(names(folder), ["a.exr", "box.ron"]);
    assert_refused(&render("12"), 2, &["--scene-hash", "32 hexadecimal"]);
}

/// Gives files modification times that are years off, as from machines with wrong clocks.
fn different_clocks_do_not_matter() {
    let folder = scene_folder();
    let folder = folder.path();
    let years = |years: u64| Duration::from_secs(years * 365 * 24 * 3600);
    let (future, past) = (
        SystemTime::now() + years(20),
        SystemTime::UNIX_EPOCH + years(10),
    );
    let set = |file: &str, time| {
        let file = fs::File::options()
            .write(true)
            .open(folder.join(file))
            .unwrap();
        file.set_modified(time).unwrap();
    };
    for (samples, more, file, time) in [
        ("0..2", "0..5", "a.exr", future),
        ("5..6", "5..10", "b.exr", past),
        ("10..14", "10..14", "c.exr", future),
    ] {
        part(folder, samples, file);
        set(file, time);
        let output = run(
            folder,
            [
                "box.ron",
                "--backend",
                "cpu",
                "--samples",
                more,
                "--checkpoint",
                file,
                "--every",
                "1ms",
                "-o",
                file,
            ],
        );
        assert_done(&output);
        let expected = format!("continuing after samples {samples}");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    }
    set("a.exr", past);
    set("b.exr", future);
    assert_done(&merge(
        folder,
        &["a.exr", "b.exr", "c.exr", "--samples", "0..14"],
    ));
    assert_bits(folder, &[]);
}

/// Starts a render of one part that takes some seconds.
fn long_part(folder: &Path) -> Child {
    let part = [
        "--size",
        "96x64",
        "--samples",
        "0..2500",
        "--backend",
        "cpu",
        "--threads",
        "1",
        "--every",
        "100ms",
        "--checkpoint",
        "a.exr",
        "-o",
        "a.exr",
    ];
    raysieve(folder)
        .arg(scene("spheres.ron"))
        .args(part)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Simulates a node that Slurm has lost, and that still renders after its part was given to another node.
fn two_jobs_of_one_part_never_lose_samples() {
    let folder = folder();
    let file = folder.path().join("a.exr");
    let silent = long_part(folder.path());
    let start = Instant::now();
    while PartHeader::read(&file).is_err() {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint");
        thread::sleep(Duration::from_millis(20));
    }
    signal(&silent, "STOP");
    let other = long_part(folder.path()).wait_with_output().unwrap();
    assert!(other.status.success(), "{}", stderr(&other));
    assert!(
        stderr(&other).contains("continuing after samples 0.."),
        "{}",
        stderr(&other)
    );
    let whole = Part::read(&file).unwrap();
    assert_eq!(whole.header.samples.to_string(), "0..2500");
    // The signal is pending while the program is stopped, so that the render cannot reach its end.
    signal(&silent, "TERM");
    signal(&silent, "CONT");
    let silent = silent.wait_with_output().unwrap();
    assert_eq!(silent.status.code(), Some(130), "{}", stderr(&silent));
    assert!(Part::read(&file).unwrap() == whole, "{}", stderr(&silent));
    assert_eq!(names(folder.path()), ["a.exr"]);
}

fn node_without_a_gpu_reports_it() {
    let folder = scene_folder();
    let folder = folder.path();
    let output = run(folder, ["box.ron", "--backend", "auto", "-o", "out.exr"]);
    assert_done(&output);
    let messages = stderr(&output);
    let line = messages
        .lines()
        .find(|line| line.starts_with("backend: cpu, "))
        .unwrap_or_else(|| panic!("{messages}"));
    let reason = line.rsplit(": ").next().unwrap();
    assert!(
        !reason.is_empty() && line.matches(": ").count() > 1,
        "the reason is missing: {line}"
    );
    assert_bits(folder, &[]);
}

/// Renders on a disk with room for one part but not for two, and then with room for all.
fn full_disk_loses_no_part() {
    let folder = scene_folder();
    let here = folder.path().display();
    let render = |samples: &str, file: &str| {
        format!(
            "'{}' {here}/box.ron --backend cpu --size 40x40 --samples {samples} --checkpoint {file} -o {file} 2>{file}.log >{file}.table",
            program().display()
        )
    };
    let script = format!(
        "{}; echo first $?; {}; echo second $?; cat b.exr.log; rm full; {}; echo third $?; tail -n 1 b.exr.log; \
         '{}' merge a.exr b.exr --samples 0..14 -o {here}/out.exr >table; echo merge $?",
        render("0..7", "a.exr"),
        format_args!(
            "dd if=/dev/zero of=full bs=1k 2>/dev/null; {}",
            render("7..14", "b.exr")
        ),
        render("7..14", "b.exr"),
        program().display()
    );
    let output = disk(folder.path(), "512k", &script).output().unwrap();
    let printed = stdout(&output);
    assert!(
        printed.contains("first 0\n") && printed.contains("second 1\n"),
        "{printed}{}",
        stderr(&output)
    );
    assert!(
        printed.contains("third 0\n") && printed.contains("merge 0\n"),
        "{printed}{}",
        stderr(&output)
    );
    assert_bits(folder.path(), &["--size", "40x40"]);
}

/// Checks that a submission that failed for lack of space can be repeated.
fn farm_starts_again_after_a_full_disk() {
    let folder = scene_folder();
    let farm = format!(
        "'{}' farm box.ron --parts 7 -o out.exr --engine kubernetes --image image --claim claim >manifest",
        program().display()
    );
    // First there is room for nothing, then for the plan but not for all scripts.
    let script = format!(
        "cp ../box.ron .; dd if=/dev/zero of=full bs=1k 2>/dev/null; {farm}; echo none $?; \
         ls -A out.farm; rm full; dd if=/dev/zero of=full bs=1k count=44 2>/dev/null; {farm}; echo some $?; \
         rm full; {farm}; echo all $?; ls -A out.farm"
    );
    let output = disk(folder.path(), "64k", &script).output().unwrap();
    let outputs = (stdout(&output), stderr(&output));
    assert!(outputs.0.starts_with("none 1\nsome "), "{outputs:?}");
    assert!(
        outputs
            .0
            .ends_with("all 0\nfarm.json\nlogs\nmanifest.yaml\nmerged\nparts\n"),
        "{outputs:?}"
    );
    assert!(
        outputs
            .1
            .contains("out.farm/farm.json: not written: No space"),
        "{outputs:?}"
    );
}
