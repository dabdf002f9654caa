//! Tests of a viewer's tools: debug views, editing of materials, flying and focusing, and inspection of paths.

use std::fs;

use libtest_mimic::Trial;
use raysieve::inspect::path_record::Inspector;
use serde_json::Value;
use tungstenite::protocol::frame::coding::CloseCode;

use crate::{
    program::{add_tests, assert_done, run},
    server::{Program, SCENE},
    viewer::{ALIKE, Viewer, difference},
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        debug_views_have_a_legend_and_can_be_left,
        materials_can_be_edited_undone_and_saved,
        a_camera_flies_and_focuses,
        a_click_shows_the_path_of_a_sample_until_the_view_changes,
        a_click_shows_the_last_path_of_its_pixel_with_adaptive_sampling,
    );
}

fn debug_views_have_a_legend_and_can_be_left() {
    let program = Program::start(&["--spp", "4", "--view", "noise"]);
    let mut viewer = Viewer::join(&program);
    let noise = viewer.wait_for_status(|status| !status["legend"].is_null());
    assert_eq!(noise["debug_view"], "noise");
    assert_eq!(noise["legend"]["ticks"][0][1], "0.1 %");
    viewer.send(r#"{"debug-view":"light"}"#);
    viewer.wait_for_status(|status| status["legend"].is_null());
    let light = viewer.still();
    let hash = |viewer: &mut Viewer| {
        let status = viewer.wait_for_status(|status| status["state"] == "done");
        status["stats"]["rays"].clone()
    };
    let rays = hash(&mut viewer);
    let views = viewer.list("debug_views");
    assert_eq!(views.len(), 8);
    let mut seen = vec![light.clone()];
    for view in &views[1..] {
        viewer.send(&format!(r#"{{"debug-view":"{view}"}}"#));
        viewer.wait_for_status(|status| {
            status["debug_view"] == **view && !status["legend"].is_null()
        });
        let picture = viewer.wait_for_still(|picture| !seen.contains(picture));
        assert_eq!(picture.dimensions(), (160, 120), "{view}");
        seen.push(picture);
    }
    // Paths and camera motion also work in a debug view.
    viewer.send(r#"{"inspect":[60,70]}"#);
    viewer.wait_for_path(|path| !path.is_null());
    let depth = seen.pop().unwrap();
    viewer.send(r#"{"turn":[0.3,0]}"#);
    viewer.wait_for_still(|picture| difference(picture, &depth) > ALIKE);
    viewer.send(r#"{"act":"home"}"#);
    viewer.send(r#"{"act":"picture"}"#);
    viewer.wait_for_still(|picture| *picture == light);
    assert_eq!(
        hash(&mut viewer),
        rays,
        "the render must continue unchanged"
    );
}

fn materials_can_be_edited_undone_and_saved() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    let listed = viewer.materials.clone();
    assert_eq!(listed[0]["name"], "red");
    assert_eq!(listed[0]["index"], 0);
    assert!(listed[0]["roughness"].is_null(), "{listed}");
    viewer.send(r#"{"material":[0,[["red",0.0],["blue",0.75]]]}"#);
    let blue = viewer.wait_for_still(|picture| *picture != home);
    viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(
        viewer.materials[0]["color"],
        serde_json::json!([0.0, 0.2, 0.75])
    );
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);
    // The keyboard starts with the first parameter, red.
    assert!(viewer.chosen_material.is_null());
    viewer.send(r#"{"act":"next-material"}"#);
    viewer.send(r#"{"act":"increase"}"#);
    viewer.wait_for_message("material \"red\": red 0.75");
    while viewer.chosen_material != 0 {
        viewer.receive();
    }
    viewer.send(r#"{"act":"next-material"}"#);
    while viewer.chosen_material != 1 {
        viewer.receive();
    }
    assert_eq!(viewer.materials[1]["name"], "white");
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);

    viewer.send(r#"{"material":[0,[["red",0.0],["blue",0.75]]]}"#);
    viewer.wait_for_still(|picture| *picture == blue);
    viewer.send(r#"{"act":"print-camera"}"#);
    let message = viewer.wait_for_message("camera: (");
    assert!(
        message.contains("\"red\": Diffuse(albedo: (0, 0.2, 0.75)),"),
        "{message}"
    );
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("materials saved to");
    let scene = program.folder.path().join("scene.ron");
    let kept = fs::read_to_string(&scene).unwrap();
    assert_eq!(kept, SCENE.replace("(0.7, 0.2, 0.1)", "(0, 0.2, 0.75)"));
    fs::write(&scene, SCENE).unwrap();
    viewer.wait_for_still(|picture| *picture == home);
    viewer.send(r#"{"material":[9,[["red",0.0]]]}"#);
    assert!(matches!(
        viewer.wait_for_close(),
        Some((CloseCode::Policy, _))
    ));
}

/// Returns the three numbers that follow `label` in `text`, separated by commas and closed by a parenthesis.
fn vector_after(text: &str, label: &str) -> [f64; 3] {
    let (_, rest) = text.split_once(label).expect("the label");
    let (numbers, _) = rest.split_once(')').expect("a closing parenthesis");
    let numbers: Vec<f64> = numbers
        .split(", ")
        .map(|number| number.parse().expect("a number"))
        .collect();
    numbers.try_into().expect("three numbers")
}

fn a_camera_flies_and_focuses() {
    let program = Program::start(&["--spp", "16"]);
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    viewer.send(r#"{"act":"fly"}"#);
    viewer.wait_for_status(|status| status["flying"] == true);
    for fly in ["[0.2,0,0]", "[0,0.2,0]", "[0,0,0.5]"] {
        viewer.send(&format!(r#"{{"fly":{fly}}}"#));
        viewer.wait_for_still(|picture| difference(picture, &home) > ALIKE);
        viewer.send(r#"{"act":"home"}"#);
        viewer.wait_for_still(|picture| *picture == home);
    }
    // In fly mode, dragging looks around. The picture's height corresponds to its vertical angle of view.
    viewer.send(r#"{"turn":[0.25,-0.5]}"#);
    viewer.wait_for_still(|picture| difference(picture, &home) > ALIKE);
    viewer.send(r#"{"act":"print-camera"}"#);
    let printed = viewer.wait_for_message("camera:");
    let [right, up, back] = vector_after(&printed, "target: (");
    assert_eq!(vector_after(&printed, "origin: ("), [0.0, 1.0, 5.0]);
    let vertical_angle = 2.0 * (20_f64.to_radians().tan() * 120.0 / 160.0).atan();
    let (forward, rise) = (5.0 - back, up - 1.0);
    let yaw = right.atan2(forward).abs();
    let pitch = (-0.5_f64 / 5.0).atan() - rise.atan2(right.hypot(forward));
    assert!((yaw - 0.25 * vertical_angle).abs() < 1e-3, "{printed}");
    assert!((pitch - 0.5 * vertical_angle).abs() < 1e-3, "{printed}");
    viewer.send(r#"{"act":"home"}"#);
    viewer.send(r#"{"act":"fly"}"#);
    viewer.wait_for_status(|status| status["flying"] == false);
    viewer.send(r#"{"focus":[60,60]}"#);
    viewer.wait_for_message("no lens");

    // The sphere is about four metres away, and the focus distance is nine.
    let scene = SCENE.replace("fov: 40", "fov: 40, lens: (radius: 0.3, focus_distance: 9)");
    fs::write(program.folder.path().join("scene.ron"), scene).unwrap();
    let blurred = viewer.wait_for_still(|picture| *picture != home);
    viewer.send(r#"{"focus":[56,52]}"#);
    viewer.wait_for_status(|status| {
        let message = status["message"][1].as_str().unwrap_or_default();
        message.starts_with("focus at 4.2") || message.starts_with("focus at 4.3")
    });
    viewer.wait_for_still(|picture| difference(picture, &blurred) > 1.0);
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == blurred);
    viewer.send(r#"{"focus":[1,1]}"#);
    viewer.wait_for_message("nothing to focus on");
}

fn a_click_shows_the_path_of_a_sample_until_the_view_changes() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["state"] == "done");
    viewer.send(r#"{"inspect":[60,70]}"#);
    let path = viewer.wait_for_path(|path| !path.is_null());
    let inspect = [
        "inspect",
        "scene.ron",
        "60,70",
        "--sample",
        "3",
        "--json",
        "a.json",
    ];
    assert_done(&run(program.folder.path(), inspect));
    let file = fs::read_to_string(program.folder.path().join("a.json")).unwrap();
    let record: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(path["path_record"], record, "the last sample of the pixel");
    assert_eq!(path["size"], serde_json::json!([160, 120]));
    assert!(!path["segments"].as_array().unwrap().is_empty());

    // A viewer that joins later sees the path too.
    let mut other = Viewer::join(&program);
    assert_eq!(other.wait_for_path(|path| !path.is_null()), path);
    other.send(r#"{"inspect":[160,0]}"#);
    other.wait_for_message("pixel 160,0");
    // The path disappears when its material or the view changes.
    let paths = |view: &str, viewer: &mut Viewer, other: &mut Viewer| {
        other.send(view);
        viewer.wait_for_path(Value::is_null);
        other.wait_for_path(Value::is_null);
    };
    paths(r#"{"material":[0,[["red",0.1]]]}"#, &mut viewer, &mut other);
    other.send(r#"{"inspect":[60,70]}"#);
    let shows_another = |path: &Value| !path.is_null() && path["path_record"] != record;
    other.wait_for_path(shows_another);
    viewer.wait_for_path(shows_another);
    paths(r#"{"turn":[0.2,0]}"#, &mut viewer, &mut other);
}

fn a_click_shows_the_last_path_of_its_pixel_with_adaptive_sampling() {
    let to_noise = ["--noise", "0.1", "--spp", "400", "--size", "40x30"];
    let program = Program::start(&to_noise);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["state"] == "done");
    let (scene, mut renderer) = program.render_to_noise((40, 30), 400);
    let counts = renderer.sample_counts().unwrap();
    let inspector = Inspector::new(&scene).unwrap();
    let mut numbers: Vec<u32> = counts.clone();
    numbers.sort_unstable();
    numbers.dedup();
    assert!(numbers.len() > 2, "{numbers:?}");
    for number in numbers {
        let pixel = counts.iter().position(|&count| count == number).unwrap() as u32;
        let (column, row) = (pixel % 40, pixel / 40);
        viewer.send(&format!(r#"{{"inspect":[{column},{row}]}}"#));
        let asked = serde_json::json!([column, row]);
        let path = viewer.wait_for_path(|path| path["path_record"]["pixel"] == asked);
        let record = inspector.trace((column, row), number - 1).unwrap();
        let record: Value = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(
            path["path_record"]["sample"],
            number - 1,
            "pixel {column},{row}"
        );
        assert_eq!(path["path_record"], record, "pixel {column},{row}");
    }
}
