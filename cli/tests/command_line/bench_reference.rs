//! Tests of `raysieve bench --reference`: the error of the image against a reference, and references that do not fit.

use std::{path::Path, process::Output};

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, files::statistics, folder, raysieve, run, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        bench_reports_the_error_against_a_reference,
        bench_refuses_unfit_references,
    );
}

/// Renders the Cornell box at 32x32 to `reference.exr`.
fn render_reference(folder: &Path) {
    let rendered = raysieve(folder)
        .arg(scene("cornell.ron"))
        .args(["--backend", "cpu", "--size", "32x32", "--spp", "256"])
        .args(["--seed", "9", "-o", "reference.exr"])
        .output()
        .expect("the program starts");
    assert_done(&rendered);
}

/// Measures the Cornell box at 32x32 with this number of samples against `reference.exr`.
fn measured_against_reference(folder: &Path, spp: &str, more: &[&str]) -> Output {
    raysieve(folder)
        .arg("bench")
        .arg(scene("cornell.ron"))
        .args(["--backend", "cpu", "--size", "32x32", "--spp", spp])
        .args([
            "--rounds",
            "1",
            "--warm-up",
            "0",
            "--strategies",
            "look-back",
        ])
        .args(["--reference", "reference.exr"])
        .args(more)
        .output()
        .expect("the program starts")
}

fn bench_reports_the_error_against_a_reference() {
    let folder = folder();
    render_reference(folder.path());
    let errors = ["2", "8"].map(|spp| {
        let output = measured_against_reference(folder.path(), spp, &["--json", "a.json"]);
        assert_done(&output);
        let text = stdout(&output);
        assert!(
            text.contains("relative squared error against reference.exr: "),
            "{text}"
        );
        let scene = &statistics(&folder.path().join("a.json"))["scenes"][0];
        let error = scene["reference"]["squared_error"].as_f64().unwrap();
        let product = error * scene["strategies"][0]["seconds"][0].as_f64().unwrap();
        let row = text
            .lines()
            .find(|line| line.starts_with("| look-back "))
            .unwrap();
        let shown: f64 = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        assert!((shown / product - 1.0).abs() < 0.01, "{row}: {product}");
        // The tables of the file are the same.
        let again = run(folder.path(), ["bench", "--from", "a.json"]);
        assert!(stdout(&again).contains(row), "{}", stdout(&again));
        error
    });
    // The variance is inversely proportional to the number of samples.
    let ratio = errors[0] / errors[1];
    assert!((2.5..6.0).contains(&ratio), "{errors:?}");
}

fn bench_refuses_unfit_references() {
    let folder = folder();
    let refused = |more: &[&str], problem: &str| {
        let output = measured_against_reference(folder.path(), "1", more);
        assert!(stderr(&output).contains(problem), "{}", stderr(&output));
        assert!(!output.status.success());
    };
    refused(&[], "reference.exr: does not exist");
    render_reference(folder.path());
    refused(&["--size", "16x32"], "cannot be used multiple times");
    refused(
        &[&scene("spheres.ron").display().to_string()],
        "--reference needs exactly one scene",
    );
    let output = raysieve(folder.path())
        .arg("bench")
        .arg(scene("cornell.ron"))
        .args([
            "--backend",
            "cpu",
            "--size",
            "16x32",
            "--reference",
            "reference.exr",
        ])
        .output()
        .expect("the program starts");
    let line = stderr(&output);
    let expected = "reference.exr: is 32x32, but the scene is rendered at 16x32; give --size 32x32";
    assert!(line.contains(expected), "{line}");
}
