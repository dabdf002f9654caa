//! Tests of model cameras and of automatic framing.

use glam::Vec3;
use raysieve::scene::{LoadOptions, Projection, Scene};
use serde_json::json;

use crate::{at, gltf::Gltf, load_with, refusal, triangles};

#[test]
fn a_perspective_camera_keeps_its_vertical_angle_at_any_size() {
    let mut model = Gltf::triangle();
    model.json["cameras"] = json!([
        { "type": "perspective", "perspective": { "yfov": 1.0, "aspectRatio": 2.0, "znear": 0.1 } }
    ]);
    model.json["nodes"] =
        json!([{ "mesh": 0, "children": [1] }, { "camera": 0, "translation": [0, 0, 5] }]);
    let mut scene = model.load("camera");
    assert_eq!(scene.size, (1080, 540));
    assert_eq!(scene.camera.origin, Vec3::new(0.0, 0.0, 5.0));
    let view = (scene.camera.target - scene.camera.origin).normalize();
    assert!(view.distance(Vec3::NEG_Z) < 1e-6, "{view}");
    // The vertical angle of view does not depend on the image size.
    for size in [(1080, 540), (300, 600)] {
        scene.set_size(size);
        let width = tan_half_width(&scene);
        let height = width * size.1 as f32 / size.0 as f32;
        assert!((height - 0.5f32.tan()).abs() < 1e-5, "{size:?}: {height}");
    }
}

/// Returns the tangent of half the horizontal angle of view of a scene's camera. Panics if it is orthographic.
fn tan_half_width(scene: &Scene) -> f32 {
    let Projection::Perspective { fov_degrees } = scene.camera.projection else {
        panic!("{:?}", scene.camera);
    };
    (fov_degrees.to_radians() / 2.0).tan()
}

#[test]
fn an_orthographic_camera_keeps_its_height_at_any_size() {
    let mut model = Gltf::triangle();
    model.json["cameras"] = json!([{ "type": "orthographic",
        "orthographic": { "xmag": 3.0, "ymag": 2.0, "znear": 0.1, "zfar": 100.0 } }]);
    model.json["nodes"] =
        json!([{ "mesh": 0, "children": [1] }, { "camera": 0, "translation": [0, 0, 5] }]);
    let mut scene = model.load("orthographic");
    assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    assert_eq!(scene.size, (810, 540));
    for (size, expected) in [((810, 540), 6.0), ((540, 540), 4.0), ((100, 200), 2.0)] {
        scene.set_size(size);
        let Projection::Orthographic { width } = scene.camera.projection else {
            panic!("{:?}", scene.camera);
        };
        assert!((width - expected).abs() < 1e-5, "{size:?}: {width}");
    }
}

/// Every vertex lies in the image, and the model reaches at least 60 % of the way from the centre to an edge.
#[test]
fn automatic_framing_shows_the_whole_model_at_any_size() {
    let mut model = Gltf::triangle();
    model.json["nodes"][0]["translation"] = json!([300, -20, 4]);
    model.json["nodes"][0]["scale"] = json!([0.01, 0.03, 0.02]);
    let mut scene = model.load("framed");
    for size in [(960, 540), (300, 900), (512, 512)] {
        scene.set_size(size);
        let camera = &scene.camera;
        let forward = (camera.target - camera.origin).normalize();
        let right = forward.cross(camera.up).normalize();
        let up = right.cross(forward);
        let half_width = tan_half_width(&scene);
        let half_height = half_width * size.1 as f32 / size.0 as f32;
        let mut reach: f32 = 0.0;
        for point in triangles(&scene).concat() {
            let from = point - camera.origin;
            let depth = from.dot(forward);
            let x = from.dot(right) / depth / half_width;
            let y = from.dot(up) / depth / half_height;
            assert!(
                depth > 0.0 && x.abs() < 1.0 && y.abs() < 1.0,
                "{size:?}: {x}, {y}"
            );
            reach = reach.max(x.abs()).max(y.abs());
        }
        assert!(reach > 0.6, "{size:?}: {reach}");
    }
}

/// Returns a triangle with three cameras on nodes at z = 1, 2 and 3, of which the second is named `Side` and the third
/// is on a node named `2`. The first is invalid.
fn three_cameras() -> Gltf {
    let mut model = Gltf::triangle();
    model.json["cameras"] = json!([
        { "type": "perspective", "perspective": { "yfov": -1.0, "znear": 0.1 } },
        { "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 }, "name": "Side" },
        { "type": "perspective", "perspective": { "yfov": 0.5, "znear": 0.1 } },
    ]);
    model.json["scenes"] = json!([{ "nodes": [0, 1, 2, 3] }]);
    model.json["nodes"] = json!([
        { "mesh": 0 },
        { "camera": 0, "translation": [0, 0, 1] },
        { "camera": 1, "translation": [0, 0, 2] },
        { "camera": 2, "translation": [0, 0, 3], "name": "2" },
    ]);
    model
}

fn camera(wanted: &str) -> LoadOptions {
    LoadOptions {
        camera: Some(wanted.to_owned()),
        ..LoadOptions::default()
    }
}

#[test]
fn a_camera_is_chosen_by_name_or_else_by_number() {
    let path = three_cameras().write("chosen_camera");
    // A name takes precedence over a number.
    for (wanted, z) in [("Side", 2.0), ("2", 3.0), ("3", 3.0)] {
        let scene = load_with(&path, &camera(wanted));
        assert_eq!(scene.camera.origin, Vec3::new(0.0, 0.0, z), "{wanted}");
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
        let names: Vec<&str> = scene.cameras.iter().map(|camera| &*camera.name).collect();
        assert_eq!(names, ["Side", "2"]);
    }
    let origin = |index: usize| {
        let cameras = load_with(&path, &camera("Side")).cameras;
        cameras[index].framing.camera((64, 64)).origin.z
    };
    assert_eq!([origin(0), origin(1)], [2.0, 3.0]);
}

#[test]
fn a_camera_that_is_missing_or_invalid_is_refused() {
    let path = three_cameras().write("wrong_camera");
    for wanted in ["side", "0", "4", "-1", ""] {
        let expected = "expected one of 1, 2 \"Side\", 3 \"2\"";
        let problem = refusal(&path, &camera(wanted));
        assert!(problem.ends_with(expected), "{wanted}: {problem}");
    }
    let problem = refusal(&path, &camera("1"));
    assert!(
        problem.contains("node 1: camera 0 has a yfov of -1"),
        "{problem}"
    );
    assert_eq!(problem, refusal(&path, &LoadOptions::default()));
    let plain = Gltf::triangle().write("no_camera");
    let problem = refusal(&plain, &camera("1"));
    assert!(problem.contains("because it has no cameras"), "{problem}");
}

#[test]
fn the_default_camera_is_the_first_and_a_note_lists_the_others() {
    let mut model = three_cameras();
    model.json["cameras"][0]["perspective"]["yfov"] = json!(1.0);
    let scene = model.load("first_camera");
    assert_eq!(scene.camera.origin.z, 1.0);
    let note = "shown from camera 1 of its cameras 1, 2 \"Side\", 3 \"2\"";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
}

#[test]
fn a_camera_follows_the_animation_of_its_node() {
    let mut model = three_cameras();
    model.animate(
        2,
        "translation",
        "LINEAR",
        &[0.0, 2.0],
        "VEC3",
        &[[0.0, 0.0, 2.0], [4.0, 0.0, 2.0]],
    );
    let path = model.write("moving_camera");
    let options = LoadOptions {
        camera: Some("Side".to_owned()),
        ..at(0.5)
    };
    let scene = load_with(&path, &options);
    assert_eq!(scene.camera.origin, Vec3::new(1.0, 0.0, 2.0));
}
