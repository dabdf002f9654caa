//! Tests of a viewer's tools: debug views, editing of the scene, flying and focusing, and inspection of paths.

use std::fs;

use image::{Rgb, Rgb32FImage, RgbImage};
use libtest_mimic::Trial;
use raysieve::inspect::path_record::Inspector;
use serde_json::{Value, json};
use tungstenite::protocol::frame::coding::CloseCode;

use crate::{
    program::{add_tests, assert_done, run, stdout},
    server::{Program, SCENE},
    viewer::{ALIKE, Viewer, difference},
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        debug_views_have_a_legend_and_can_be_left,
        parts_can_be_edited_undone_redone_and_saved,
        lights_can_be_edited_and_selected_by_a_click,
        many_lights_are_listed_as_one_part_with_a_number,
        a_transparent_background_is_shown_over_a_checkerboard,
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

fn parts_can_be_edited_undone_redone_and_saved() {
    let mut program = Program::start(&["--spp", "4"]);
    let scene = program.folder.path().join("scene.ron");
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    let names = |viewer: &Viewer| -> Vec<_> {
        let parts = viewer.editor["parts"].as_array().unwrap().iter();
        parts.map(|part| part["name"].to_string()).collect()
    };
    assert_eq!(
        names(&viewer),
        [
            r#""red""#,
            r#""white""#,
            r#""sky""#,
            r#""background""#,
            r#""camera""#
        ]
    );
    assert!(viewer.editor["selected"].is_null());
    viewer.select(&json!({ "material": 0 }));
    viewer.wait_for_property("albedo", &json!([0.7, 0.2, 0.1]));
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0,0.2,0.75],false]}"#);
    let blue = viewer.wait_for_still(|picture| *picture != home);
    viewer.wait_for_property("albedo", &json!([0.0, 0.2, 0.75]));
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);
    assert_eq!(viewer.editor["can_redo"], true, "{}", viewer.editor);
    viewer.send(r#"{"act":"redo"}"#);
    viewer.wait_for_still(|picture| *picture == blue);
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);

    // The keyboard starts with the first component, red. An edit ends what can be redone.
    viewer.send(r#"{"act":"increase"}"#);
    viewer.wait_for_message("material \"red\": color red 0.75");
    viewer.wait_for_property("albedo", &json!([0.75, 0.2, 0.1]));
    assert_eq!(viewer.editor["can_redo"], false, "{}", viewer.editor);
    viewer.send(r#"{"act":"next-part"}"#);
    viewer.send(r#"{"act":"next-part"}"#);
    viewer.wait_for_message("sky: strength 0.6");
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);

    // A light that was off has its color again. Values outside the range are refused, with a message.
    viewer.send(r#"{"edit":["sky","strength",-3,false]}"#);
    viewer.wait_for_message("strength -3 not set; must be 0 to 16777215 W/(sr·m²)");
    viewer.wait_for_property("strength", &json!(0.6));
    viewer.send(r#"{"edit":["sky","strength",0,false]}"#);
    viewer.wait_for_property("strength", &json!(0.0));
    viewer.send(r#"{"edit":["sky","strength",1.2,true]}"#);
    let bright = viewer.wait_for_still(|picture| brightness(picture) > 1.1 * brightness(&home));
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);
    viewer.send(r#"{"act":"redo"}"#);
    viewer.wait_for_still(|picture| *picture == bright);
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);
    viewer.send(r#"{"edit":["sky","strength",1.2,false]}"#);
    let bright = viewer.wait_for_still(|picture| *picture != home);
    viewer.select(&json!("camera"));
    viewer.send(r#"{"edit":["camera","radius",0.2,false]}"#);
    let blurred = viewer.wait_for_still(|picture| *picture != bright);
    viewer.wait_for_property("radius", &json!(0.2));
    viewer.send(r#"{"edit":["camera","fov",60,false]}"#);
    let wide = viewer.wait_for_still(|picture| *picture != blurred);
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0,0.2,0.75],false]}"#);
    viewer.wait_for_still(|picture| *picture != wide);
    viewer.send(r#"{"act":"print-camera"}"#);
    let message = viewer.wait_for_message("camera: (");
    for text in [
        "fov: 60, lens: (radius: 0.2, ",
        "\"red\": Diffuse(albedo: (0, 0.2, 0.75)),",
        "sky: (0.8, 1, 1.2),",
    ] {
        assert!(message.contains(text), "{message}");
    }
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("camera, materials and sky saved to");
    let kept = fs::read_to_string(&scene).unwrap();
    let expected = SCENE
        .replace("fov: 40", "fov: 60, lens: (radius: 0.2)")
        .replace("(0.7, 0.2, 0.1)", "(0, 0.2, 0.75)")
        .replace("(0.4, 0.5, 0.6)", "(0.8, 1, 1.2)");
    assert_eq!(kept, expected);
    viewer.send(r#"{"edit":[{"material":9},"albedo",[0,0,0],false]}"#);
    assert!(matches!(
        viewer.wait_for_close(),
        Some((CloseCode::Policy, _))
    ));
    // The film is that of the saved scene.
    let mut viewer = Viewer::join(&program);
    viewer.still();
    drop(viewer);
    let (code, messages, printed) = program.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    let headless = ["scene.ron", "--backend", "cpu", "--spp", "4", "-o", "a.exr"];
    let fresh = run(program.folder.path(), headless);
    assert_eq!(film_hash(&printed), film_hash(&stdout(&fresh)));
}

fn a_transparent_background_is_shown_over_a_checkerboard() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    let count = |picture: &RgbImage, gray: u8| {
        let pixels = picture.pixels();
        pixels.filter(|pixel| pixel.0 == [gray; 3]).count()
    };
    viewer.select(&json!("background"));
    viewer.wait_for_property("background_kind", &json!(0.0));
    viewer.send(r#"{"edit":["background","background_kind",2,false]}"#);
    let shown =
        viewer.wait_for_still(|picture| [102, 153].iter().all(|&gray| count(picture, gray) > 500));
    // Only the display has a checkerboard: the file is that of a headless render.
    let saved = program.get("/picture.png", &[]);
    let saved = image::load_from_memory(&saved.body).unwrap();
    assert!(saved.as_rgba8().is_some_and(|saved| {
        let clear = saved.pixels().filter(|pixel| pixel.0 == [0; 4]);
        clear.count() > 1000
    }));
    let scene = program.get("/scene.ron", &[]);
    fs::write(program.folder.path().join("edited.ron"), scene.text()).unwrap();
    let headless = ["edited.ron", "--backend", "cpu", "-o", "edited.png"];
    assert_done(&run(program.folder.path(), headless));
    let rendered = image::open(program.folder.path().join("edited.png")).unwrap();
    assert!(saved == rendered);
    viewer.send(r#"{"edit":["background","background_kind",1,false]}"#);
    // A file that is saved before the edit is displayed shows the scene as it was rendered.
    let film = program.get("/film.exr", &[]);
    assert_eq!(film.status, 200, "{}", film.text());
    loop {
        let saved = program.get("/picture.png", &[]);
        let saved = image::load_from_memory(&saved.body).unwrap();
        if let Some(opaque) = saved.as_rgb8() {
            // The picture may still be a smaller preview.
            let pixels = opaque.pixels().len();
            assert!(20 * count(opaque, 188) > pixels, "a mixture of both scenes");
            break;
        }
    }
    viewer.wait_for_property("strength", &json!(0.5));
    viewer.wait_for_still(|picture| *picture != shown && count(picture, 188) > 1000);
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("camera and background saved to");
    let kept = fs::read_to_string(program.folder.path().join("scene.ron")).unwrap();
    assert!(kept.contains("background: (0.5, 0.5, 0.5),"), "{kept}");
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == shown);
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);
}

fn lights_can_be_edited_and_selected_by_a_click() {
    let program = Program::start(&["--spp", "4"]);
    let scene = program.folder.path().join("scene.ron");
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    let lights = "lights: [\n        // Low.\n        SunSky(elevation: 20, azimuth: 120), Point(position: (0, 2, 2), intensity: (1, 2, 4)),\n    ],\n    objects";
    let text = SCENE.replacen("objects", lights, 1);
    fs::write(&scene, &text).unwrap();
    let lit = viewer.wait_for_still(|picture| *picture != home);
    // The sun belongs to the sky.
    viewer.select(&json!({ "light": 0 }));
    let names = viewer.editor["parts"].to_string();
    assert!(
        names.contains("sun and sky") && !names.contains("directional"),
        "{names}"
    );
    viewer.send(r#"{"inspect":[50,75]}"#);
    viewer.wait_for_path(|path| !path.is_null());
    viewer.wait_for_property("albedo", &json!([0.7, 0.2, 0.1]));
    viewer.wait_for_message("material \"red\" selected: see Edit (l)");
    viewer.send(r#"{"inspect":[80,2]}"#);
    viewer.wait_for_property("azimuth", &json!(120.0));
    viewer.wait_for_message("sun and sky selected: see Edit (l)");

    viewer.send(r#"{"edit":[{"light":0},"azimuth",240,false]}"#);
    let turned = viewer.wait_for_still(|picture| *picture != lit);
    viewer.send(r#"{"edit":[{"light":2},"strength",8,false]}"#);
    viewer.wait_for_still(|picture| brightness(picture) > brightness(&turned));
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == turned);
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == lit);
    viewer.send(r#"{"act":"redo"}"#);
    viewer.wait_for_still(|picture| *picture == turned);
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("camera and lights saved to");
    let kept = fs::read_to_string(&scene).unwrap();
    assert_eq!(kept, text.replace("azimuth: 120", "azimuth: 240"));

    // An environment map can be turned.
    let map = Rgb32FImage::from_fn(8, 4, |x, _| Rgb([0.2 * x as f32, 0.5, 0.3]));
    map.save(program.folder.path().join("map.exr")).unwrap();
    let map = "lights: [Environment(file: \"map.exr\")],\n    objects";
    let text = SCENE.replacen("objects", map, 1);
    fs::write(&scene, &text).unwrap();
    let lit = viewer.wait_for_still(|picture| *picture != turned);
    viewer.send(r#"{"inspect":[80,2]}"#);
    viewer.wait_for_message("environment selected");
    viewer.wait_for_property("rotate_y", &json!(0.0));
    viewer.send(r#"{"edit":[{"light":0},"rotate_y",90,false]}"#);
    viewer.wait_for_still(|picture| *picture != lit);
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("camera and lights saved to");
    let kept = fs::read_to_string(&scene).unwrap();
    assert_eq!(kept, text.replace("(file", "(rotate_y: 90, file"));
}

fn many_lights_are_listed_as_one_part_with_a_number() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    let point = "Point(position: (0, 2, 2), intensity: (0.01, 0.01, 0.01)), ";
    let spot = "Spot(position: (0, 3, 0), direction: (0, -1, 0), intensity: (1, 1, 1), inner: 10, outer: 20), ";
    let lights = format!(
        "lights: [{}{}],\n    objects",
        point.repeat(200),
        spot.repeat(3)
    );
    let text = SCENE.replacen("objects", &lights, 1);
    fs::write(program.folder.path().join("scene.ron"), &text).unwrap();
    let lit = viewer.wait_for_still(|picture| *picture != home);
    viewer.select(&json!({ "light": 0 }));
    let names: Vec<_> = viewer.editor["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "red",
            "white",
            "point lights (200)",
            "spot light 1",
            "spot light 2",
            "spot light 3",
            "sky",
            "background",
            "camera"
        ]
    );
    viewer.wait_for_property("light_number", &json!(1.0));
    viewer.send(r#"{"edit":[{"light":0},"light_number",200,false]}"#);
    viewer.wait_for_property("light_number", &json!(200.0));
    assert_eq!(viewer.editor["selected"], json!({ "light": 199 }));
    assert_eq!(viewer.editor["listed"], json!({ "light": 0 }));
    viewer.send(r#"{"edit":[{"light":199},"strength",2000,false]}"#);
    viewer.wait_for_still(|picture| brightness(picture) > 1.1 * brightness(&lit));
    viewer.send(r#"{"act":"print-camera"}"#);
    viewer.wait_for_message("intensity: (2000, 2000, 2000)");
    // Keys go from the group to the next part, and from there to the first light of the group.
    viewer.send(r#"{"act":"next-part"}"#);
    viewer.wait_for_message("spot light 1: strength");
    viewer.send(r#"{"act":"previous-part"}"#);
    viewer.wait_for_message("point light 1: strength");
    viewer.send(r#"{"edit":[{"light":0},"light_number",500,false]}"#);
    viewer.wait_for_message("number (1 to 200) 500 not set; must be a whole number, 1 to 200");
    viewer.send(r#"{"edit":[{"light":201},"light_number",1,false]}"#);
    assert!(matches!(
        viewer.wait_for_close(),
        Some((CloseCode::Policy, _))
    ));
}

/// Returns the mean of all channels.
fn brightness(picture: &RgbImage) -> f64 {
    picture.iter().map(|&byte| f64::from(byte)).sum::<f64>() / picture.len() as f64
}

/// Returns the line of the film hash in the printed table.
fn film_hash(printed: &str) -> &str {
    let line = printed.lines().find(|line| line.starts_with("film_hash"));
    line.unwrap_or_else(|| panic!("no film_hash: {printed}"))
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
    other.wait_for_problem("pixel 160,0");
    // The path disappears when its material or the view changes.
    let paths = |view: &str, viewer: &mut Viewer, other: &mut Viewer| {
        other.send(view);
        viewer.wait_for_path(Value::is_null);
        other.wait_for_path(Value::is_null);
    };
    paths(
        r#"{"edit":[{"material":0},"albedo",[0.1,0.2,0.1],false]}"#,
        &mut viewer,
        &mut other,
    );
    other.send(r#"{"inspect":[60,70]}"#);
    let shows_another = |path: &Value| !path.is_null() && path["path_record"] != record;
    other.wait_for_path(shows_another);
    viewer.wait_for_path(shows_another);
    paths(r#"{"turn":[0.2,0]}"#, &mut viewer, &mut other);
}

fn a_click_shows_the_last_path_of_its_pixel_with_adaptive_sampling() {
    let to_noise = ["--noise", "0.1", "--spp", "400", "--size", "40x30"];
    let program = Program::start(&to_noise);
    // This comes first, because a viewer that displays no picture for 20 seconds is disconnected.
    let (scene, mut renderer) = program.render_to_noise((40, 30), 400);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["state"] == "done");
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
