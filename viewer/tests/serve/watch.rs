//! Tests that changes of the scene's files are displayed.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use image::RgbImage;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{
    program::{add_tests, folder, run, stdout},
    server::{Program, SCENE},
    viewer::{Viewer, difference},
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        changed_files_are_reloaded_and_the_view_stays,
        scene_errors_are_shown_until_they_are_fixed,
        a_scene_whose_folder_is_gone_is_not_saved_until_it_is_back,
        meshes_and_images_are_watched_too,
        a_saved_camera_does_not_restart_the_render,
        changed_materials_reuse_the_acceleration_structures,
    );
}

fn other_scene() -> String {
    SCENE.replace("(0.7, 0.2, 0.1)", "(0.1, 0.2, 0.7)")
}

fn changed_files_are_reloaded_and_the_view_stays() {
    let program = Program::start(&["--spp", "4", "--seed", "3"]);
    let scene = program.folder.path().join("scene.ron");
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    viewer.send(r#"{"turn":[0.25,-0.05]}"#);
    let turned = viewer.wait_for_still(|picture| *picture != home);
    viewer.send(r#"{"act":"brighter"}"#);
    let bright = viewer.wait_for_still(|picture| *picture != turned);

    fs::write(&scene, other_scene()).unwrap();
    let blue = viewer.wait_for_still(|picture| *picture != bright);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(
        status["stats"]["seed"], 3,
        "the command-line option overrides the file"
    );
    assert_eq!(
        status["exposure_stops"], 0.5,
        "the exposure set on the page must stay"
    );
    // Some editors write another file and rename it.
    fs::write(scene.with_extension("new"), SCENE).unwrap();
    fs::rename(scene.with_extension("new"), &scene).unwrap();
    // The same view, bit for bit.
    viewer.wait_for_still(|picture| *picture == bright);
    assert_ne!(blue, bright);
    viewer.send(r#"{"act":"darker"}"#);
    viewer.send(r#"{"act":"home"}"#);
    viewer.wait_for_still(|picture| *picture == home);

    // Settings of the file are applied: a new camera unless it was moved, another size and exposure.
    let other = SCENE
        .replace("(160, 120)", "(120, 160), exposure: 1")
        .replace("(0, 1, 5)", "(1, 1, 5)");
    fs::write(&scene, other).unwrap();
    viewer.wait_for_still(|picture| picture.dimensions() == (120, 160));
    let status = viewer.wait_for_status(|status| status["size"] == serde_json::json!([120, 160]));
    assert_eq!(status["exposure_stops"], 1.0);
}

fn scene_errors_are_shown_until_they_are_fixed() {
    let mut program = Program::start(&[]);
    let scene = program.folder.path().join("scene.ron");
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    let wait_for_error = |viewer: &mut Viewer, words: &str| {
        let contains = |status: &Value| {
            let error = status["scene_error"].as_str().unwrap_or_default();
            error.contains(words)
        };
        let status = viewer.wait_for_status(contains);
        let error = status["scene_error"].as_str().unwrap();
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    // Half of the file, as a slow editor may leave it for a while.
    fs::write(&scene, &SCENE[..SCENE.len() / 2]).unwrap();
    wait_for_error(&mut viewer, "scene.ron:");
    viewer.send(r#"{"turn":[0.25,0]}"#);
    let turned = viewer.wait_for_still(|picture| *picture != home);
    fs::write(&scene, SCENE.replace("albedo", "albeda")).unwrap();
    wait_for_error(&mut viewer, "did you mean");
    fs::write(&scene, [0xff; 100]).unwrap();
    wait_for_error(&mut viewer, "not UTF-8");
    fs::remove_file(&scene).unwrap();
    wait_for_error(&mut viewer, "does not exist");
    fs::write(&scene, SCENE.replace("spp: 4", "spp: 4, max_bounces: 9999")).unwrap();
    wait_for_error(&mut viewer, "max_bounces");
    fs::remove_file(&scene).unwrap();
    fs::write(&scene, SCENE).unwrap();
    viewer.wait_for_status(|status| status["scene_error"].is_null());
    viewer.send(r#"{"act":"home"}"#);
    viewer.wait_for_still(|picture| *picture == home);
    assert_ne!(turned, home);
    let (code, messages, _) = program.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    let reports = |words: &str| {
        let lines = messages.lines().filter(|line| line.contains(words));
        lines.count()
    };
    for words in ["did you mean", "not UTF-8"] {
        assert_eq!(reports(words), 1, "{words} is reported once: {messages}");
    }
    // The file was removed twice. The second time it was replaced at once, which the program may or
    // may not have noticed.
    assert!(
        (1..=2).contains(&reports("does not exist")),
        "a missing file is reported once per removal: {messages}"
    );
}

fn a_scene_whose_folder_is_gone_is_not_saved_until_it_is_back() {
    let parent = folder();
    let (folder, away) = (parent.path().join("win"), parent.path().join("away"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("scene.ron"), SCENE).unwrap();
    let machine = ["--backend", "cpu", "--threads", "1"];
    let scene = "win/scene.ron";
    let program = Program::start_in(parent, scene, &machine, "127.0.0.1:0", &[], &[]);
    let mut viewer = Viewer::join(&program);
    viewer.still();
    viewer.send(r#"{"turn":[0.25,0]}"#);
    fs::rename(&folder, &away).unwrap();
    viewer.wait_for_status(|status| {
        let error = status["scene_error"].as_str().unwrap_or_default();
        error.contains("does not exist; check the path")
    });
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_problem("camera not saved: the file does not exist any more; put it back");
    // The folder comes back before its file.
    fs::create_dir(&folder).unwrap();
    thread::sleep(Duration::from_millis(500));
    fs::copy(away.join("scene.ron"), folder.join("scene.ron")).unwrap();
    viewer.wait_for_status(|status| status["scene_error"].is_null());
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("camera saved to");
}

fn meshes_and_images_are_watched_too() {
    let program = Program::start(&[]);
    let folder = program.folder.path();
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    fs::create_dir(folder.join("parts")).unwrap();
    let triangle = |height: u32| {
        format!("v -2 0 1\nv 2 0 1\nv 0 {height} 1\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n")
    };
    fs::write(folder.join("parts/a.obj"), triangle(2)).unwrap();
    paint(&folder.join("parts/a.png"), [255, 0, 0]);
    let scene = SCENE
        .replace(
            "objects: [",
            "objects: [Mesh(file: \"parts/a.obj\", material: \"painted\"),",
        )
        .replace(
            "materials: {",
            "materials: { \"painted\": Diffuse(albedo: Texture(file: \"parts/a.png\")),",
        );
    fs::write(folder.join("scene.ron"), scene).unwrap();
    let small = viewer.wait_for_still(|picture| *picture != home);
    fs::write(folder.join("parts/a.obj"), triangle(3)).unwrap();
    let large = viewer.wait_for_still(|picture| *picture != small);
    paint(&folder.join("parts/a.png"), [0, 255, 0]);
    let green = viewer.wait_for_still(|picture| *picture != large);
    let sum = |picture: &RgbImage, channel: usize| -> u64 {
        picture
            .pixels()
            .map(|pixel| u64::from(pixel[channel]))
            .sum()
    };
    assert!(sum(&green, 1) > sum(&large, 1) && sum(&green, 0) < sum(&large, 0));
    fs::remove_file(folder.join("parts/a.obj")).unwrap();
    viewer.wait_for_status(|status| status["scene_error"].to_string().contains("a.obj"));
    fs::write(folder.join("parts/a.obj"), triangle(3)).unwrap();
    viewer.wait_for_status(|status| status["scene_error"].is_null());
}

/// Writes an image of one color.
fn paint(path: &Path, color: [u8; 3]) {
    RgbImage::from_pixel(4, 4, image::Rgb(color))
        .save(path)
        .unwrap();
}

fn a_saved_camera_does_not_restart_the_render() {
    let program = Program::start(&["--spp", "100000"]);
    let mut viewer = Viewer::join(&program);
    let spp = |status: &Value| status["stats"]["spp"].as_u64().unwrap_or(0);
    viewer.wait_for_status(|status| spp(status) > 4);
    // While paused, one sample of a new view shows that the render of the view before has ended.
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| !status["state"]["paused"].is_null());
    viewer.send(r#"{"turn":[0.25,-0.05]}"#);
    viewer.wait_for_status(|status| spp(status) == 1);
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| spp(status) > 1);
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("camera saved to");
    let before = spp(&viewer.wait_for_status(|status| status["stats"]["size"][0] == 160));
    let mut max_spp = before;
    // Longer than it takes to detect the change of the file.
    let until = Instant::now() + Duration::from_millis(800);
    while Instant::now() < until {
        viewer.receive();
        let now = spp(&viewer.status);
        assert!(
            now >= max_spp,
            "the render restarted: {max_spp} samples, then {now}"
        );
        max_spp = now;
    }
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| !status["state"]["paused"].is_null());
    let paused = viewer.still();
    viewer.send(r#"{"act":"home"}"#);
    // A paused render has one sample of a new view.
    viewer.wait_for_status(|status| spp(status) == 1);
    // The home camera is the saved one, so the pictures differ only in their samples.
    let home = viewer.still();
    assert!(difference(&paused, &home) < 12.0);
}

/// A scene with instances, one of them a light source, and a sphere.
const MESHES: &str = r#"(
    size: (160, 120), spp: 4, max_bounces: 3,
    camera: (origin: (0, 1, 5), target: (0, 0.5, 0), fov: 40),
    sky: (0.1, 0.1, 0.1),
    materials: {
        "clay": Diffuse(albedo: (0.7, 0.5, 0.3)),
        "gold": RoughConductor(preset: "gold", alpha: 0.3),
        "lamp": Emissive(radiance: (5, 4, 3)),
    },
    objects: [
        Instances(
            of: DisplacedSphere(rings: 12, segments: 24, radius: 0.5, material: "clay"),
            at: [(translate: (-1, 0.5, 0)), (translate: (0, 1.8, 0), scale: 0.4, material: "lamp")],
        ),
        Sphere(center: (1, 0.5, 0), radius: 0.5, material: "gold"),
        Quad(corner: (-3, 0, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "clay"),
    ],
)"#;

/// Material edits reuse the acceleration structures, and give the same film as loading the edited scene.
fn changed_materials_reuse_the_acceleration_structures() {
    let mut program = Program::start(&["--spp", "4"]);
    let scene = program.folder.path().join("scene.ron");
    let mut viewer = Viewer::join(&program);
    let other = viewer.still();
    fs::write(&scene, MESHES).unwrap();
    let first = viewer.wait_for_still(|picture| *picture != other);

    // The user edits two materials, one of them a light source; the file changes a third one and gains a comment.
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0.1,0.5,0.9],false]}"#);
    let blue = viewer.wait_for_still(|picture| *picture != first);
    viewer.send(r#"{"edit":[{"material":2},"strength",9,false]}"#);
    let bright = viewer.wait_for_still(|picture| *picture != blue);
    let saved = MESHES.replace("alpha: 0.3", "alpha: 0.05");
    fs::write(&scene, format!("// Meshes.\n{saved}")).unwrap();
    viewer.wait_for_still(|picture| *picture != bright);
    viewer.wait_for_message("with your edits kept");
    for (material, id, value) in [
        (0, "albedo", json!([0.1, 0.5, 0.9])),
        (1, "alpha", json!(0.05)),
        (2, "strength", json!(9.0)),
    ] {
        viewer.select(&json!({ "material": material }));
        viewer.wait_for_property(id, &value);
    }

    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("materials saved to");
    assert!(fs::read_to_string(&scene).unwrap().contains("9"));
    drop(viewer);
    let (code, messages, printed) = program.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    let headless = [
        "scene.ron",
        "--backend",
        "cpu",
        "--spp",
        "4",
        "-o",
        "fresh.exr",
    ];
    let fresh = run(program.folder.path(), headless);
    assert_eq!(hash(&printed), hash(&stdout(&fresh)));
}

/// Returns the line of the film hash in the printed table.
fn hash(printed: &str) -> &str {
    let line = printed.lines().find(|line| line.starts_with("film_hash"));
    line.unwrap_or_else(|| panic!("no film_hash: {printed}"))
}
