//! Tests of `raysieve bench`: measurement, files and comparison.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use ::raysieve::stages::Stage;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{
    add_tests, assert_done, assert_refused, files::statistics, folder, names, raysieve, run, scene,
    signal, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        bench_measures_all_strategies_with_one_film,
        bench_prints_saved_results_identically,
        bench_against_itself_is_not_slower,
        bench_names_slower_strategies,
        bench_ignores_differences_within_the_noise,
        bench_refuses_to_compare_different_measurements,
        bench_refuses_files_without_results,
        bench_without_scenes_is_a_usage_error,
        bench_refuses_conflicting_options,
        bench_into_a_closed_pipe_is_not_an_error,
        interrupted_bench_writes_complete_rounds,
        failed_bench_writes_measured_scenes,
        bench_reports_errors_before_measuring,
        bench_refuses_a_pipe_as_results,
    );
}

/// Measures two small scenes in about a second and writes `a.json` and `a.svg`.
fn measured(folder: &Path, more: &[&str]) -> Output {
    let mut command = raysieve(folder);
    command
        .arg("bench")
        .args([scene("cornell.ron"), scene("spheres.ron")])
        .args([
            "--backend",
            "cpu",
            "--threads",
            "2",
            "--size",
            "24x16",
            "--spp",
            "2",
        ])
        .args(["--rounds", "3", "--warm-up", "0"])
        .args(more);
    command.output().expect("the program starts")
}

/// Returns plausible results, for tests to modify.
fn results() -> Value {
    let row = |bounce: u64, rays: u64| {
        let mut row = json!({ "bounce": bounce, "rays": rays, "hits": rays / 2, "misses": rays / 2, "ended": 0,
            "survivors": rays / 2, "shadow_rays": rays / 2 });
        for stage in Stage::OF_BOUNCE {
            row[format!("{}_ms", stage.label())] = json!(1.0);
        }
        row
    };
    let timing = |strategy: &str, seconds: [f64; 3]| json!({ "strategy": strategy, "seconds": seconds, "bounces": [row(0, 100), row(1, 50)] });
    json!({ "software": "raysieve 0.1.0", "scenes": [{
        "scene": "a.ron", "scene_hash": "00", "backend": "cpu", "device": "some", "size": [10, 10], "spp": 1, "seed": 0,
        "max_bounces": 1, "film_hash": "ff", "paths": 100, "rays": 225,
        "strategies": [timing("look-back", [1.0, 1.0, 1.0]), timing("off", [2.0, 2.0, 2.0])],
    }] })
}

fn write(folder: &Path, name: &str, results: &Value) {
    fs::write(folder.join(name), results.to_string()).expect("a file");
}

/// Compares two result files by `raysieve bench --from new.json --compare old.json`.
fn compared(folder: &Path, new: &Value, old: &Value) -> Output {
    write(folder, "new.json", new);
    write(folder, "old.json", old);
    run(
        folder,
        ["bench", "--from", "new.json", "--compare", "old.json"],
    )
}

fn bench_measures_all_strategies_with_one_film() {
    let folder = folder();
    let output = measured(folder.path(), &["--json", "a.json", "--plot", "a.svg"]);
    assert_done(&output);
    assert_eq!(names(folder.path()), ["a.json", "a.svg"]);
    let results = statistics(&folder.path().join("a.json"));
    let scenes = results["scenes"].as_array().unwrap();
    assert_eq!(scenes.len(), 2);
    let text = stdout(&output);
    let strategies = compaction::select::Strategy::ALL.iter();
    for name in strategies
        .map(|s| s.name())
        .chain(["sort-hits", "megakernel"])
    {
        let rows = text.matches(&format!("| {name} ")).count();
        assert!(rows >= 2, "{name} is missing in\n{text}");
    }
    for scene in scenes {
        let strategies = scene["strategies"].as_array().unwrap();
        // Sorted hits are measured too, and the megakernel, which has no stages.
        assert_eq!(
            strategies.len(),
            compaction::select::Strategy::ALL.len() + 2
        );
        assert_eq!(strategies.last().unwrap()["strategy"], "megakernel");
        assert_eq!(scene["paths"], 24 * 16 * 2);
        for timing in strategies {
            assert_eq!(timing["seconds"].as_array().unwrap().len(), 3);
            let rows = timing["bounces"].as_array().unwrap();
            assert_eq!(rows[0]["rays"], scene["paths"]);
            let of = |row: &Value, name: &str| row[name].as_u64().unwrap();
            let rays: u64 = rows
                .iter()
                .map(|row| of(row, "rays") + of(row, "shadow_rays"))
                .sum();
            assert_eq!(scene["rays"], rays);
            let has_stages = timing["strategy"] != "megakernel";
            assert_eq!(rows[0]["intersect_ms"].as_f64().unwrap() > 0.0, has_stages);
        }
    }
    // A render gives the same film.
    let rendered = raysieve(folder.path())
        .arg(scene("spheres.ron"))
        .args([
            "--backend",
            "cpu",
            "--size",
            "24x16",
            "--spp",
            "2",
            "-o",
            "b.png",
            "--stats",
            "b.json",
        ])
        .output()
        .expect("the program starts");
    assert_done(&rendered);
    let stats = statistics(&folder.path().join("b.json"));
    assert_eq!(stats["film_hash"], scenes[1]["film_hash"]);
    let chart = fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(chart.starts_with("<svg ") && chart.ends_with("</svg>\n"));
    assert!(chart.contains("hole-filling"));
}

fn bench_prints_saved_results_identically() {
    let folder = folder();
    let measured = measured(
        folder.path(),
        &["--json", "a.json", "--strategies", "off,look-back"],
    );
    assert_done(&measured);
    let shown = run(
        folder.path(),
        ["bench", "--from", "a.json", "--json", "b.json"],
    );
    assert_done(&shown);
    assert_eq!(stdout(&shown), stdout(&measured));
    let [a, b] = ["a.json", "b.json"].map(|name| fs::read(folder.path().join(name)).unwrap());
    assert!(a == b, "another file");
}

fn bench_against_itself_is_not_slower() {
    let folder = folder();
    let output = compared(folder.path(), &results(), &results());
    assert_done(&output);
    let text = stdout(&output);
    assert_eq!(text.matches(" 1.000 |").count(), 2, "{text}");
    assert!(!text.contains("slower"), "{text}");
}

fn bench_names_slower_strategies() {
    let folder = folder();
    let mut old = results();
    old["scenes"][0]["strategies"][1]["seconds"] = json!([1.0, 1.0, 1.0]);
    let output = compared(folder.path(), &results(), &old);
    assert_refused(
        &output,
        1,
        &["old.json", "a.ron with off takes 2.00 times as long"],
    );
    assert!(!stderr(&output).contains("look-back"));
    let text = stdout(&output);
    assert_eq!(text.matches("| slower").count(), 1, "{text}");
    // In the other direction it is faster, which is not an error.
    let output = compared(folder.path(), &old, &results());
    assert_done(&output);
    assert_eq!(stdout(&output).matches("| faster |").count(), 1);
}

/// Checks that 7 % more time counts as slower only if the spread of the rounds is small.
fn bench_ignores_differences_within_the_noise() {
    let folder = folder();
    let [quiet, noisy] = [[1.06, 1.07, 1.08], [0.9, 1.07, 1.3]].map(|seconds| {
        let mut results = results();
        results["scenes"][0]["strategies"][0]["seconds"] = json!(seconds);
        results
    });
    // The limit is 5 % and a noise of three times 0.01 / 1.07.
    assert_done(&compared(folder.path(), &quiet, &results()));
    let mut steady = quiet.clone();
    steady["scenes"][0]["strategies"][0]["seconds"] = json!([1.07, 1.07, 1.069]);
    assert_refused(
        &compared(folder.path(), &steady, &results()),
        1,
        &["look-back takes 1.07"],
    );
    assert_done(&compared(folder.path(), &noisy, &results()));
}

fn bench_refuses_to_compare_different_measurements() {
    let folder = folder();
    let cases: [(&str, Value, &[&str]); 7] = [
        (
            "device",
            json!("another"),
            &["cpu, another", "the same machine"],
        ),
        (
            "backend",
            json!("cuda"),
            &["cuda, some", "the same machine"],
        ),
        ("size", json!([20, 10]), &["--size 20x10 --spp 1"]),
        ("spp", json!(4), &["--size 10x10 --spp 4"]),
        ("scene_hash", json!("01"), &["has changed"]),
        ("seed", json!(3), &["has changed"]),
        (
            "scene",
            json!("b.ron"),
            &["contains none of the measured scenes"],
        ),
    ];
    for (field, value, expected) in cases {
        let mut old = results();
        old["scenes"][0][field] = value;
        let output = compared(folder.path(), &results(), &old);
        assert_refused(&output, 2, expected);
        assert!(stderr(&output).contains("old.json"));
    }
    // Strategies that the baseline lacks are reported, and the others compared.
    let mut old = results();
    old["scenes"][0]["strategies"].as_array_mut().unwrap().pop();
    let output = compared(folder.path(), &results(), &old);
    assert_done(&output);
    assert!(stdout(&output).contains("old.json does not contain a.ron with off: not compared"));
    // A scene that cannot be compared is reported before the measurement.
    let mut old = results();
    old["scenes"][0]["scene"] = json!(scene("cornell.ron"));
    write(folder.path(), "old.json", &old);
    let output = raysieve(folder.path())
        .arg("bench")
        .arg(scene("cornell.ron"))
        .args([
            "--backend",
            "cpu",
            "--rounds",
            "1000",
            "--compare",
            "old.json",
        ])
        .output()
        .expect("the program starts");
    assert_refused(&output, 2, &["cannot be compared", "the same machine"]);
}

fn bench_refuses_files_without_results() {
    let folder = folder();
    let with = |pointer: &str, value: Value| {
        let mut results = results();
        *results.pointer_mut(pointer).expect(pointer) = value;
        results.to_string()
    };
    let whole = results().to_string();
    let first = "/scenes/0/strategies/0";
    let cases = [
        (String::new(), "EOF"),
        (whole[..whole.len() / 2].to_owned(), "EOF"),
        (whole.replace("[1.0,1.0,1.0]", "[1.0,NaN,1.0]"), "expected"),
        (
            whole.replace("[1.0,1.0,1.0]", "[1.0,1e999,1.0]"),
            "number out of range",
        ),
        (
            json!({ "scene": "a.ron", "paths": 3 }).to_string(),
            "missing field",
        ),
        ("[1, 2, 3]".to_owned(), "invalid"),
        ("[".repeat(100_000), "line 1"),
        (with("/scenes", json!([])), "no scene"),
        (
            with("/scenes/0/strategies", json!([])),
            "scene 1: no strategy",
        ),
        (
            with("/scenes/0/device", json!("a\nb")),
            "control characters",
        ),
        (
            with(&format!("{first}/seconds"), json!([])),
            "look-back: no frame",
        ),
        (
            with(&format!("{first}/seconds/0"), json!(0.0)),
            "a frame time is out of range",
        ),
        (
            with(&format!("{first}/seconds/0"), json!(-1.0)),
            "a frame time is out of range",
        ),
        (
            with(&format!("{first}/bounces/0/shade_ms"), json!(-1.0)),
            "the time of a stage is out of range",
        ),
        (
            with(&format!("{first}/bounces/0/rays"), json!(-1)),
            "invalid value",
        ),
    ];
    for (text, expected) in cases {
        fs::write(folder.path().join("a.json"), &text).expect("a file");
        for arguments in [
            ["bench", "--from", "a.json"],
            ["bench", "--compare", "a.json"],
        ] {
            let output = run(folder.path(), arguments);
            assert_refused(
                &output,
                2,
                &["a.json: does not contain benchmark results: ", expected],
            );
            assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
            assert!(output.stdout.is_empty());
        }
    }
    let output = run(folder.path(), ["bench", "--from", "missing.json"]);
    assert_refused(&output, 2, &["missing.json: cannot be read"]);
    // Counts that are too large for any scene, but valid in a file, must not overflow.
    let mut huge = results();
    for row in 0..2 {
        for count in ["rays", "shadow_rays"] {
            huge["scenes"][0]["strategies"][0]["bounces"][row][count] = json!(u64::MAX);
        }
    }
    huge["scenes"][0]["paths"] = json!(0);
    huge["scenes"][0]["strategies"][1]["bounces"] = json!([]);
    write(folder.path(), "huge.json", &huge);
    assert_done(&run(
        folder.path(),
        ["bench", "--from", "huge.json", "--plot", "a.svg"],
    ));
}

fn bench_without_scenes_is_a_usage_error() {
    let folder = folder();
    assert_refused(
        &run(folder.path(), ["bench"]),
        2,
        &["no scene", "scenes/cornell.ron", "name scenes"],
    );
    assert_refused(
        &run(folder.path(), ["bench", "missing.ron"]),
        2,
        &["missing.ron"],
    );
    assert_refused(
        &run(folder.path(), ["bench", "--json", "missing/a.json"]),
        2,
        &["missing/a.json", "does not exist"],
    );
    assert!(names(folder.path()).is_empty());
}

fn bench_refuses_conflicting_options() {
    let folder = folder();
    for (arguments, expected) in [
        (vec!["bench", "a.ron", "--from", "a.json"], "--from"),
        (vec!["bench", "--spp", "3", "--from", "a.json"], "--from"),
        (
            vec!["bench", "--backend", "cpu", "--from", "a.json"],
            "--from",
        ),
        (vec!["bench", "a.ron", "--strategies", "zip"], "look-back"),
        (vec!["bench", "a.ron", "--rounds", "0"], "--rounds"),
        (vec!["bench", "a.ron", "--json", "a.txt"], ".json"),
        (vec!["bench", "a.ron", "--plot", "a.png"], ".svg"),
        (vec!["bench", "a.txt"], ".ron"),
    ] {
        assert_refused(&run(folder.path(), arguments), 2, &[expected]);
    }
    let help = run(folder.path(), ["bench", "--help"]);
    assert_done(&help);
    let text = stdout(&help);
    for part in [
        "Examples:",
        "When a strategy counts as slower:",
        "--compare",
        "median absolute deviation",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

fn bench_into_a_closed_pipe_is_not_an_error() {
    let folder = folder();
    write(folder.path(), "a.json", &results());
    let mut child = raysieve(folder.path())
        .args(["bench", "--from", "a.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    assert_done(&child.wait_with_output().expect("the program ends"));
}

/// Runs a benchmark and interrupts it after it has printed its backend and used this processor time.
fn interrupted(folder: &Path, spp: &str, processor_time: Duration) -> Output {
    let mut child = raysieve(folder)
        .arg("bench")
        .args([scene("cornell.ron"), scene("spheres.ron")])
        .args(["--backend", "cpu", "--size", "64x48", "--spp", spp])
        .args(["--strategies", "look-back,off", "--rounds", "1000"])
        .args(["--json", "a.json", "--plot", "a.svg"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut first = String::new();
    BufReader::with_capacity(1, child.stderr.as_mut().expect("a pipe"))
        .read_line(&mut first)
        .expect("a line");
    assert!(first.contains("cornell.ron: backend: cpu"), "{first}");
    while crate::processor_time(&child) < processor_time {
        thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "INT");
    child.wait_with_output().expect("the program ends")
}

fn interrupted_bench_writes_complete_rounds() {
    let folder = folder();
    // A slow machine needs more time for the first round. Then the next attempt has twice as much.
    let mut time = Duration::from_millis(500);
    let mut output = interrupted(folder.path(), "32", time);
    while stderr(&output).contains("before the first round") && time < Duration::from_secs(100) {
        time *= 2;
        output = interrupted(folder.path(), "32", time);
    }
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let written = fs::read(folder.path().join("a.json")).expect("the results are there");
    let written: Value = serde_json::from_slice(&written).expect("the results are JSON");
    let [cornell] = &written["scenes"].as_array().expect("scenes")[..] else {
        panic!("{written}");
    };
    let rounds: Vec<usize> = cornell["strategies"]
        .as_array()
        .expect("strategies")
        .iter()
        .map(|timing| timing["seconds"].as_array().expect("times").len())
        .collect();
    assert!((1..1000).contains(&rounds[0]), "{rounds:?}");
    assert_eq!(rounds, [rounds[0]; 2]);
    let rounds = format!("{} round", rounds[0]);
    let expected = format!(
        "raysieve: interrupted; measured {}: {rounds}",
        scene("cornell.ron").display()
    );
    assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    assert!(stdout(&output).contains(&rounds), "{}", stdout(&output));
    assert_eq!(names(folder.path()), ["a.json", "a.svg"]);
    // The written results are complete.
    let again = raysieve(folder.path())
        .args(["bench", "--from", "a.json"])
        .output()
        .expect("the program starts");
    assert_done(&again);

    fs::remove_file(folder.path().join("a.json")).expect("a file");
    fs::remove_file(folder.path().join("a.svg")).expect("a file");
    let output = interrupted(folder.path(), "1000000", Duration::from_millis(500));
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let expected =
        "raysieve: interrupted; before the first round was measured, so nothing is written\n";
    assert_eq!(stderr(&output), expected);
    assert_eq!(stdout(&output), "");
    assert!(names(folder.path()).is_empty());
}

fn failed_bench_writes_measured_scenes() {
    let folder = folder();
    // The baseline of the second scene has another size.
    let mut old = results();
    old["scenes"][0]["scene"] = json!(scene("spheres.ron"));
    write(folder.path(), "old.json", &old);
    let output = measured(
        folder.path(),
        &["--json", "a.json", "--compare", "old.json"],
    );
    assert_refused(&output, 2, &["old.json", "cannot be compared"]);
    let results = statistics(&folder.path().join("a.json"));
    let scenes = results["scenes"].as_array().expect("scenes");
    assert_eq!(scenes.len(), 1);
}

fn bench_reports_errors_before_measuring() {
    let folder = folder();
    fs::write(folder.path().join("wrong.ron"), "(camera:").expect("a scene");
    for (wrong, expected) in [
        ("missing.ron", "does not exist"),
        ("wrong.ron", "wrong.ron"),
    ] {
        let output = measured(folder.path(), &[wrong, "--json", "a.json"]);
        assert_refused(&output, 2, &[wrong, expected]);
    }
    write(folder.path(), "old.json", &results());
    let others = ["--strategies", "hole-filling", "--compare", "old.json"];
    let output = measured(
        folder.path(),
        &[&others[..], &["--json", "a.json"]].concat(),
    );
    assert_refused(
        &output,
        2,
        &[
            "old.json",
            "contains none of the measured scenes and strategies",
        ],
    );
    assert!(!folder.path().join("a.json").exists());
}

#[cfg(unix)]
fn bench_refuses_a_pipe_as_results() {
    let folder = folder();
    let made = Command::new("mkfifo")
        .arg(folder.path().join("pipe.json"))
        .status();
    assert!(made.is_ok_and(|made| made.success()));
    for option in ["--from", "--compare"] {
        let output = raysieve(folder.path())
            .args(["bench", option, "pipe.json"])
            .output()
            .expect("the program starts");
        assert_refused(&output, 2, &["pipe.json", "is not a regular file"]);
    }
}

#[cfg(not(unix))]
fn bench_refuses_a_pipe_as_results() {}
