//! What the program says of itself, and to those who use it wrongly.

use std::fs;

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused, folder, names, raysieve, run, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        help_teaches_every_option,
        version_is_that_of_the_package,
        wrong_usage_is_told_in_a_line,
        a_scene_that_cannot_be_read_is_told_in_a_line,
        cuda_without_a_gpu_says_what_to_do,
        auto_without_a_gpu_renders_on_the_cpu_and_says_why,
        devices_are_listed_or_missed_with_a_reason,
        a_closed_pipe_is_no_error,
        a_name_of_several_lines_is_told_in_one,
    );
}

fn help_teaches_every_option() {
    let folder = folder();
    let help = run(folder.path(), ["--help"]);
    assert_done(&help);
    assert!(help.stderr.is_empty());
    let text = stdout(&help);
    let options = [
        "--backend",
        "--size",
        "--spp",
        "--max-bounces",
        "--seed",
        "--samples",
        "--compaction",
        "--order-hits",
        "--wave-size",
        "--threads",
        "--headless",
        "--serve",
        "-o, --output",
        "--stats",
        "--overlay",
        "--view",
        "--exposure",
        "--checkpoint",
        "--every",
        "--list-devices",
        "merge",
        "verify",
        "inspect",
        "bench",
        "farm",
        "--scene-hash",
    ];
    for option in options {
        assert!(text.contains(option), "{option} is missing in\n{text}");
    }
    for part in [
        "Examples:",
        "In the window, and on the page of --serve:",
        "Exit codes:",
        "[default: auto]",
        "look-back, ",
        "[default: the scene's]",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let short = run(folder.path(), ["-h"]);
    assert_done(&short);
    assert!(short.stdout.len() < help.stdout.len());
}

fn version_is_that_of_the_package() {
    let version = run(folder().path(), ["--version"]);
    assert_done(&version);
    assert_eq!(
        stdout(&version).trim(),
        concat!("raysieve ", env!("CARGO_PKG_VERSION"))
    );
}

fn wrong_usage_is_told_in_a_line() {
    let wrong: &[(&[&str], &[&str])] = &[
        (&[], &["SCENE", "--help"]),
        (&["a.ron", "b.ron"], &["'b.ron'", "one scene"]),
        (&["merg", "a.exr"], &["'a.exr'", "come first of all"]),
        (&["a.ron", "merge", "a.exr"], &["'merge'", "first of all"]),
        (&["merge", "a.exr", "--spp", "3"], &["--spp"]),
        (&["verify"], &["PICTURE"]),
        (&["a.ron", "--fast"], &["--fast"]),
        (&["a.ron", "--headles"], &["--headles", "'--headless'"]),
        (&["a.txt"], &["a.txt", ".ron"]),
        (
            &["a.ron", "--size", "0x480"],
            &["0x480", "at least one pixel"],
        ),
        (
            &["a.ron", "--size", "640x0"],
            &["640x0", "at least one pixel"],
        ),
        (&["a.ron", "--size", "640"], &["640", "1920x1080"]),
        (&["a.ron", "--size", "640x-480"], &["640x-480", "1920x1080"]),
        (
            &["a.ron", "--size", "99999999999x1"],
            &["99999999999x1", "1920x1080"],
        ),
        (&["a.ron", "--spp", "0"], &["--spp", "'0'"]),
        (&["a.ron", "--spp", "many"], &["--spp", "'many'"]),
        (&["a.ron", "--spp", "4", "--spp", "5"], &["--spp"]),
        (&["a.ron", "--spp"], &["--spp"]),
        (&["a.ron", "--seed", "-1"], &["-1"]),
        (
            &["a.ron", "--patience", "0s"],
            &["--patience", "from 100ms"],
        ),
        (
            &["a.ron", "--max-bounces", "4294967296"],
            &["--max-bounces", "4294967296"],
        ),
        (&["a.ron", "--wave-size", "0"], &["--wave-size", "'0'"]),
        (&["a.ron", "--threads", "0"], &["--threads", "1..=1024"]),
        (
            &["a.ron", "--exposure", "NaN"],
            &["--exposure", "-32 to 32"],
        ),
        (&["a.ron", "--view", "heat"], &["--view", "'heat'", "cost"]),
        (&["a.ron", "--exposure", "33"], &["--exposure", "-32 to 32"]),
        (
            &["a.ron", "--backend", "metal"],
            &["metal", "auto, cpu, cuda, cuda:N, cuda:N,N and cuda:all"],
        ),
        (
            &["a.ron", "--backend", "cuda:0,2,0"],
            &["cuda:0,2,0", "GPU 0 is named twice"],
        ),
        (&["a.ron", "--backend", "cuda:0,"], &["cuda:0,", "cuda:all"]),
        (&["a.ron", "--backend", "cuda:"], &["cuda:all"]),
        (
            &["a.ron", "--backend", "cuda:first"],
            &["cuda:first", "cuda:0"],
        ),
        (
            &["a.ron", "--compaction", "zip"],
            &["zip", "look-back", "atomic", "off"],
        ),
        (
            &["a.ron", "--order-hits", "never"],
            &["never", "auto", "on", "off"],
        ),
        (&["a.ron", "-o", "a.jpg"], &["a.jpg", ".png", ".exr"]),
        (&["a.ron", "-o", "a"], &["'a'", ".png", ".exr"]),
        (&["a.ron", "--stats", "a.txt"], &["a.txt", ".json"]),
        (&["a.ron", "--stats", "a.ron"], &["a.ron", ".json"]),
    ];
    let folder = folder();
    for (arguments, told) in wrong {
        let output = run(folder.path(), *arguments);
        assert_refused(&output, 2, told);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(names(folder.path()).is_empty());
}

fn a_scene_that_cannot_be_read_is_told_in_a_line() {
    let folder = folder();
    fs::create_dir(folder.path().join("folder.ron")).expect("a folder");
    fs::write(folder.path().join("empty.ron"), "").expect("a file");
    fs::write(folder.path().join("noise.ron"), [0xFF, 0xFE, 0x00, 0x01]).expect("a file");
    for name in [
        "missing.ron",
        "folder.ron",
        "empty.ron",
        "noise.ron",
        "missing/scene.ron",
    ] {
        let output = run(folder.path(), [name, "--headless"]);
        assert_refused(&output, 2, &[name]);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
    assert_eq!(
        names(folder.path()),
        ["empty.ron", "folder.ron", "noise.ron"]
    );
}

fn cuda_without_a_gpu_says_what_to_do() {
    let folder = folder();
    for backend in ["cuda", "cuda:0", "cuda:7", "cuda:0,1", "cuda:all"] {
        let output = raysieve(folder.path())
            .arg(scene("spheres.ron"))
            .args([
                "--headless",
                "--size",
                "8x8",
                "--spp",
                "1",
                "--backend",
                backend,
            ])
            .output()
            .expect("the program starts");
        let code = output.status.code().unwrap_or_default();
        assert!([1, 2].contains(&code), "exit code {code}");
        assert_refused(&output, code, &["--backend cpu"]);
    }
    assert!(names(folder.path()).is_empty());
}

fn auto_without_a_gpu_renders_on_the_cpu_and_says_why() {
    let folder = folder();
    let output = raysieve(folder.path())
        .arg(scene("spheres.ron"))
        .args(["--headless", "--size", "8x8", "--spp", "1"])
        .output()
        .expect("the program starts");
    assert_done(&output);
    let said = stderr(&output);
    let backend = said
        .lines()
        .find_map(|line| line.strip_prefix("backend: cpu, "))
        .expect("the backend is told");
    let (_, reason) = backend.split_once(": ").expect("and why it is that one");
    assert!(!reason.is_empty());
}

fn devices_are_listed_or_missed_with_a_reason() {
    let output = run(folder().path(), ["--list-devices"]);
    assert_done(&output);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let [cpu, cuda] = lines[..] else {
        panic!("a line for the CPU and one for the missing GPU: {text}")
    };
    assert!(
        cpu.starts_with("cpu     ") && cpu.ends_with(" threads"),
        "{cpu}"
    );
    let reason = cuda
        .strip_prefix("cuda    no CUDA device: ")
        .expect("no GPU is shown to the program");
    assert!(!reason.is_empty());
}

fn a_closed_pipe_is_no_error() {
    let folder = folder();
    let mut child = raysieve(folder.path())
        .arg(scene("spheres.ron"))
        .args(["--headless", "--size", "16x16", "--spp", "1"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_done(&output);
    assert_eq!(names(folder.path()), ["spheres.png"]);
}

fn a_name_of_several_lines_is_told_in_one() {
    let folder = folder();
    let name = "a\nb\u{1b}[31m.exr";
    let place = format!("{name}/c.exr");
    let box_scene = scene("cornell.ron");
    let box_scene = box_scene.to_str().expect("a path of text");
    let refused: [&[&str]; 4] = [
        &["verify", name],
        &["merge", name, "-o", "c.exr"],
        &[box_scene, "-o", &place],
        &["farm", box_scene, "-o", name],
    ];
    for arguments in refused {
        let output = run(folder.path(), arguments);
        assert_refused(&output, 2, &["a\\nb\\u{1b}[31m."]);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
}
