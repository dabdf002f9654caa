//! Tests of renders that are ended early: by a signal, a kill or a full disk. Also helpers for signals.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use libtest_mimic::Trial;
use raysieve::render::part::PartHeader;

use crate::{
    add_tests, assert_done, assert_refused, disk, folder, mounting, names, processor_time, program,
    raysieve, run, scene, signal, stderr, stdout, without_gpu_and_display,
};

/// Options of a render that takes a moment.
const SMALL_RENDER: [&str; 6] = ["--backend", "cpu", "--size", "128x128", "--spp", "2"];

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        interrupted_render_writes_the_image_and_reports_its_samples,
        second_signal_exits_at_once,
        signals_in_quick_succession_count_as_one,
        kill_during_a_write_keeps_the_old_file,
        file_size_limit_keeps_the_old_file,
        removed_folder_is_reported_on_one_line,
    );
    add_tests!(trials, if mounting() => full_disk_keeps_the_old_file_and_the_render,
        render_waits_in_memory_for_space);
}

/// Arguments for more samples than any test waits for.
const ENDLESS: [&str; 4] = ["--spp", "1000000", "--backend", "cpu"];
/// Time and processor time after which a render has samples.
const BEGUN: Duration = Duration::from_millis(500);
/// Time after which a test fails.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a render that does not end by itself, and returns when it has begun to render.
pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut child = raysieve(folder)
        .arg(scene("spheres.ron"))
        .args(ENDLESS)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The backend's line is printed right before the render begins.
    let mut first = String::new();
    let read =
        BufReader::with_capacity(1, child.stderr.as_mut().expect("a pipe")).read_line(&mut first);
    assert!(read.is_ok() && first.starts_with("backend: "), "{first}");
    // The time alone could pass while the program is stopped or waits for a core.
    let used_before = processor_time(&child);
    let start = Instant::now();
    while start.elapsed() < BEGUN || processor_time(&child) < used_before + BEGUN {
        assert!(
            child.try_wait().expect("a child").is_none(),
            "the program has ended"
        );
        assert!(start.elapsed() < TIMEOUT, "the program does not render");
        thread::sleep(Duration::from_millis(5));
    }
    child
}

/// Sends a signal to the program, and waits until it ends as interrupted. Returns its standard error without the first
/// line.
#[track_caller]
pub(crate) fn interrupt(child: Child, name: &str) -> String {
    signal(&child, name);
    let (code, messages) = end(child);
    assert_eq!(code, Some(130), "{messages}");
    messages
}

/// Waits for the program. Returns its exit code, and its standard error without the first line.
pub(crate) fn end(mut child: Child) -> (Option<i32>, String) {
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > TIMEOUT {
            child.kill().expect("it can be killed");
            panic!("the program did not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
    let mut messages = String::new();
    child
        .stderr
        .take()
        .expect("a pipe")
        .read_to_string(&mut messages)
        .expect("the program prints UTF-8");
    (child.wait().expect("a child").code(), messages)
}

fn interrupted_render_writes_the_image_and_reports_its_samples() {
    for name in ["INT", "TERM"] {
        let folder = folder();
        let child = start(
            folder.path(),
            &["--size", "32x24", "-o", "a.exr", "--stats", "a.json"],
        );
        let messages = interrupt(child, name);
        let picture = image::open(folder.path().join("a.exr"))
            .expect("the picture opens")
            .into_rgb32f();
        assert_eq!(picture.dimensions(), (32, 24));
        assert!(
            picture
                .pixels()
                .all(|pixel| pixel.0.iter().all(|channel| channel.is_finite()))
        );
        assert!(
            picture.pixels().any(|pixel| pixel.0 != [0.0; 3]),
            "the picture is black"
        );
        let statistics = fs::read(folder.path().join("a.json")).expect("the statistics are there");
        let statistics: serde_json::Value =
            serde_json::from_slice(&statistics).expect("the statistics are JSON");
        let samples = statistics["spp"].as_u64().expect("a count");
        assert!((1..1_000_000).contains(&samples), "{samples} samples");
        let expected =
            format!("raysieve: interrupted; a.exr has {samples} of 1000000 samples per pixel");
        assert!(messages.starts_with(&expected), "{messages}");
        assert_eq!(messages.lines().count(), 1, "{messages}");
        assert_eq!(names(folder.path()), ["a.exr", "a.json"]);
    }
}

fn second_signal_exits_at_once() {
    // If the test is stopped while the program runs, the wave can end before the second signal. Then another render is
    // started.
    for _ in 0..3 {
        let folder = folder();
        let messages = interrupt_twice(folder.path());
        if messages.contains("exited at once") {
            let files = names(folder.path());
            assert!(files.is_empty(), "a file is written: {files:?}");
            return;
        }
    }
    panic!("the second signal has no effect");
}

/// Sends signals to a render until it ends, with more than a second between them. Returns its standard error without
/// the first line.
fn interrupt_twice(folder: &Path) -> String {
    // One wave of this size takes seconds, and the first signal alone would wait for it and write the image.
    let wave = [
        "--threads",
        "1",
        "--wave-size",
        "8000000",
        "--size",
        "4096x2048",
        "-o",
        "a.png",
    ];
    let mut child = start(folder, &wave);
    // Signals count as one within a second after the program has handled the first. During that second the program is
    // stopped, so that the wave cannot end in the meantime.
    let begun = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        assert!(begun.elapsed() < TIMEOUT, "the program did not end");
        signal(&child, "INT");
        thread::sleep(Duration::from_millis(200));
        signal(&child, "STOP");
        thread::sleep(Duration::from_millis(1100));
        signal(&child, "CONT");
    }
    let (code, messages) = end(child);
    assert_eq!(code, Some(130), "{messages}");
    messages
}

/// Sends two signals at once, like `timeout`, which signals the process and its group.
///
/// The signals differ, because the system can deliver two pending signals of the same number as one.
fn signals_in_quick_succession_count_as_one() {
    for _ in 0..3 {
        let folder = folder();
        let child = start(folder.path(), &["--size", "512x512", "-o", "a.exr"]);
        // A single shell sends both, so that nothing else has to start between them.
        let kill = format!("kill -INT {0}; kill -TERM {0}", child.id());
        let status = Command::new("sh").args(["-c", &kill]).status();
        assert!(status.expect("a shell").success(), "{kill}");
        let (code, messages) = end(child);
        assert_eq!(code, Some(130), "{messages}");
        assert!(messages.contains("interrupted; a.exr"), "{messages}");
        assert_eq!(names(folder.path()), ["a.exr"]);
    }
}

fn kill_during_a_write_keeps_the_old_file() {
    let folder = folder();
    let picture = folder.path().join("a.exr");
    // Noise does not compress, so that the file of about 50 MB takes a while to write.
    let large = [
        "--size",
        "2048x2048",
        "--spp",
        "1",
        "--max-bounces",
        "0",
        "--backend",
        "cpu",
        "-o",
        "a.exr",
    ];
    // On a busy machine a render can write its whole file between two looks at the folder. Then another one is started.
    for _ in 0..20 {
        fs::write(&picture, "old").expect("a file");
        let mut child = raysieve(folder.path())
            .arg(scene("spheres.ron"))
            .args(large)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        while child.try_wait().expect("a child").is_none() {
            if is_writing(folder.path()) {
                child.kill().expect("it can be killed");
                break;
            }
        }
        let finished = child.wait().expect("a child").success();
        if fs::read(&picture).expect("the picture is there") == b"old" {
            assert!(
                !finished,
                "the program reports a file that it has not written"
            );
            return;
        }
        image::open(&picture).expect("the file must be the old one or the new one");
        for left in names(folder.path())
            .iter()
            .filter(|name| name.ends_with(".tmp"))
        {
            fs::remove_file(folder.path().join(left)).expect("it can be removed");
        }
    }
    panic!("no kill came during the write");
}

/// Returns whether a temporary file in the folder is not empty.
pub(crate) fn is_writing(folder: &Path) -> bool {
    temporary_file(folder).is_some()
}

/// Returns the name of a temporary file in the folder that is not empty.
pub(crate) fn temporary_file(folder: &Path) -> Option<String> {
    let mut unfinished = names(folder)
        .into_iter()
        .filter(|name| name.ends_with(".tmp"));
    unfinished.find(|name| fs::metadata(folder.join(name)).is_ok_and(|found| found.len() > 0))
}

fn file_size_limit_keeps_the_old_file() {
    let folder = folder();
    fs::write(folder.path().join("a.exr"), "old").expect("a file");
    let line = format!(
        "trap '' XFSZ; ulimit -f 8; exec '{}' '{}' --backend cpu --size 128x128 --spp 2 -o a.exr",
        program().display(),
        scene("spheres.ron").display()
    );
    let mut shell = Command::new("sh");
    without_gpu_and_display(&mut shell).current_dir(folder.path());
    let output = shell.args(["-c", &line]).output().expect("a shell");
    assert_refused(&output, 1, &["a.exr", "not written", "ulimit -f"]);
    assert_eq!(
        fs::read(folder.path().join("a.exr")).expect("the old file"),
        b"old"
    );
    assert_eq!(names(folder.path()), ["a.exr"]);
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("film_hash"),
        "the table must be printed nevertheless"
    );
}

/// Shell code that runs `$@` on a disk of 64 KiB that contains an old image.
pub(crate) fn small_disk(folder: &Path) -> Command {
    let script = "echo old >a.exr && \"$@\"; code=$?; cat a.exr; ls -A; exit $code";
    disk(folder, "64k", script)
}

fn full_disk_keeps_the_old_file_and_the_render() {
    let folder = folder();
    let mut command = small_disk(folder.path());
    command.arg(program()).arg(scene("spheres.ron"));
    command.env("TMPDIR", folder.path());
    let output = command
        .args(SMALL_RENDER)
        .args(["-o", "a.exr"])
        .output()
        .expect("unshare");
    assert_refused(
        &output,
        1,
        &["a.exr", "not written", "No space left", "free some space"],
    );
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.ends_with("\nold\na.exr\n"),
        "expected the old file and no other: {shown}"
    );
    // The render is in another folder, and the printed command writes the image.
    let messages = stderr(&output);
    let (_, command) = messages
        .split_once("and raysieve ")
        .expect("the message names a command");
    let words = command.split(' ').take(4);
    assert_done(&run(folder.path(), words));
    let hash = |name: &str| {
        let header = PartHeader::read(&folder.path().join(name)).expect("an image");
        header.stats.film_hash
    };
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().expect("a path");
    let expected = [&[spheres, "-o", "b.exr"][..], &SMALL_RENDER].concat();
    assert_done(&run(folder.path(), &expected));
    assert_eq!(hash("a.exr"), hash("b.exr"));
}

/// Checks a render for whose image there is no space, also not in the folder for temporary files.
fn render_waits_in_memory_for_space() {
    let folder = folder();
    // Waits for the line of the program, which runs in the background, then runs `then`. The log is emptied first, as
    // the background process may open it after the first `grep`, which would find the line of an earlier run.
    let script = |then: &str| {
        format!(
            "cat /dev/zero >filler 2>/dev/null; export TMPDIR=.; : >../log; \"$@\" 2>../log & \
             until grep -q 'kept in memory' ../log || ! kill -0 $!; do sleep 0.05; done; {then}; \
             wait $!; code=$?; cat ../log >&2; ls; exit $code"
        )
    };
    let render = |then: &str, outputs: &[&str]| {
        let mut command = disk(folder.path(), "512k", &script(then));
        command.arg(program()).arg(scene("spheres.ron"));
        command.args(SMALL_RENDER).args(outputs);
        let output = command.output().expect("unshare");
        fs::remove_dir(folder.path().join("disk")).expect("it is empty");
        output
    };
    for (file, more) in [
        ("a.exr", &[][..]),
        ("a.exr", &["--crop", "8,8,64x64"]),
        ("a.png", &[]),
        ("a.png", &["--overlay"]),
        ("a.png", &["--crop", "8,8,64x64"]),
        ("a.png", &["--view", "normal"]),
    ] {
        let output = render("rm filler", &[&["-o", file], more].concat());
        assert_done(&output);
        let shown = stdout(&output);
        let end = format!("image        {file}\n{file}\n");
        assert!(shown.ends_with(&end), "{file} {more:?}: {shown}");
        let messages = stderr(&output);
        let line = format!(
            "{file}: not written: No space left on device (os error 28); free some space or name another place; the render is kept in memory"
        );
        assert!(messages.contains(&line), "{file} {more:?}: {messages}");
    }
    // The statistics wait, too.
    let output = render("rm filler", &["-o", "../a.png", "--stats", "a.json"]);
    assert_done(&output);
    assert!(
        stdout(&output).ends_with("\na.json\n"),
        "{}",
        stdout(&output)
    );
    let output = render("kill -TERM $!", &["-o", "a.png"]);
    assert_refused(&output, 1, &["a.png: not written: No space left"]);
    assert!(stdout(&output).ends_with("\nfiller\n"));
}

fn removed_folder_is_reported_on_one_line() {
    let folder = folder();
    fs::create_dir(folder.path().join("out")).expect("a folder");
    let child = start(folder.path(), &["--size", "32x24", "-o", "out/a.png"]);
    fs::remove_dir(folder.path().join("out")).expect("it is empty");
    signal(&child, "INT");
    let (code, messages) = end(child);
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.starts_with("raysieve: out/a.png: not written: "),
        "{messages}"
    );
    assert_eq!(messages.lines().count(), 1, "{messages}");
    assert!(!messages.contains(".tmp"), "{messages}");
}
