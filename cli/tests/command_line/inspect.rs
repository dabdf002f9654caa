//! Tests of `raysieve inspect`.

use std::fs;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::{add_tests, assert_done, assert_refused, folder, names, run, scene, stdout};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        inspect_prints_every_bounce,
        inspect_reports_a_pixel_outside_the_image,
    );
}

fn inspect_prints_every_bounce() {
    let folder = folder();
    let scene = scene("cornell.ron");
    let scene = scene.to_str().expect("a path in UTF-8");
    let output = run(
        folder.path(),
        [
            "inspect",
            scene,
            "256,300",
            "--sample",
            "3",
            "--json",
            "path.json",
        ],
    );
    assert_done(&output);
    let text = stdout(&output);
    for part in [
        "pixel 256,300 of 512x512, sample 3, seed 0",
        "front of \"white\"",
        "ended      after bounce ",
        "radiance   (",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let file = fs::read(folder.path().join("path.json")).expect("the path was written");
    let record: Value = serde_json::from_slice(&file).expect("it is JSON");
    let vertices = record["vertices"].as_array().expect("it has vertices");
    assert_eq!(record["pixel"], serde_json::json!([256, 300]));
    assert_eq!(vertices[0]["hit"]["material"], "white");
    // The table has a row per bounce, below its headings.
    let lines = text.lines().skip_while(|line| !line.starts_with("bounce"));
    assert_eq!(
        lines.skip(1).take_while(|line| !line.is_empty()).count(),
        vertices.len()
    );
    assert_eq!(
        names(folder.path()),
        ["path.json"],
        "no other file is written"
    );
}

fn inspect_reports_a_pixel_outside_the_image() {
    let folder = folder();
    let scene = scene("cornell.ron");
    let scene = scene.to_str().expect("a path in UTF-8");
    let output = run(folder.path(), ["inspect", scene, "512,0"]);
    assert_refused(&output, 2, &["pixel 512,0", "columns 0 to 511"]);
    for wrong in ["7", "7,", "1.5,3", "a,b", "1,2,3"] {
        let output = run(folder.path(), ["inspect", scene, wrong]);
        assert_refused(&output, 2, &["'<X,Y>'"]);
    }
    assert!(names(folder.path()).is_empty());
}
