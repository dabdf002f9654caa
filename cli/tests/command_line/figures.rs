//! Tests of `--figures`: the figures of the overlay as CSV and JSON.

use std::fs;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::{add_tests, assert_done, folder, raysieve, scene, stderr};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        figures_of_a_render_are_written_as_csv_and_json,
        figures_of_another_format_are_refused,
    );
}

fn figures_of_a_render_are_written_as_csv_and_json() {
    let folder = folder();
    let render = |file: &str| {
        let rendered = raysieve(folder.path())
            .arg(scene("cornell.ron"))
            .args(["--backend", "cpu", "--headless", "--size", "64x48"])
            .args(["--spp", "8", "--stats", "stats.json", "--figures", file])
            .output()
            .expect("the program starts");
        assert_done(&rendered);
        fs::read_to_string(folder.path().join(file)).expect("the figures are there")
    };
    let json: Value = serde_json::from_str(&render("figures.json")).expect("valid JSON");
    let stats = fs::read_to_string(folder.path().join("stats.json")).expect("the statistics");
    let stats: Value = serde_json::from_str(&stats).expect("valid JSON");
    let first = &json["bounces"][0];
    assert_eq!(first["rays"], 64 * 48, "rays of one sample per pixel");
    for stage in ["intersect", "compact", "shade", "shadow"] {
        let time = first[format!("{stage}_us")].as_f64().expect("a time");
        let low = first[format!("{stage}_us_low")].as_f64().expect("a time");
        let high = first[format!("{stage}_us_high")].as_f64().expect("a time");
        assert!(low <= time && time <= high, "{stage}: {first}");
    }
    assert!(first["ns_per_ray"].as_f64().expect("a number") > 0.0);
    for kind in ["film", "paths", "scene", "trees"] {
        let bytes = &json["render"][format!("{kind}_bytes")];
        assert_eq!(bytes, &stats["memory"][kind]);
        assert!(bytes.as_u64().expect("a number") > 0, "{kind}");
    }
    assert_eq!(json["render"]["film_bytes"], 64 * 48 * 24);

    let csv = render("figures.csv");
    let tables: Vec<Vec<&str>> = csv
        .split("\n\n")
        .map(|table| table.lines().collect())
        .collect();
    assert_eq!(tables[0][0], "figure,value");
    assert!(tables[0].contains(&"compaction,look-back"), "{csv}");
    let bounces = json["bounces"].as_array().expect("rows").len();
    assert_eq!(tables[1].len(), 1 + bounces + 1, "headings, bounces, total");
    let columns = |line: &str| line.split(',').count();
    assert!(
        tables[1]
            .iter()
            .all(|line| columns(line) == columns(tables[1][0]))
    );
    assert!(tables[1][1].starts_with("0,3072,"), "{csv}");
}

fn figures_of_another_format_are_refused() {
    let folder = folder();
    let output = raysieve(folder.path())
        .arg(scene("cornell.ron"))
        .args(["--headless", "--figures", "figures.txt"])
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let problem = stderr(&output);
    assert!(problem.contains(".csv or .json"), "{problem}");
}
