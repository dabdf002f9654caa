//! Tests of model cameras and of automatic framing.

use glam::Vec3;
use raysieve::scene::{Projection, Scene};
use serde_json::json;

use crate::{gltf::Gltf, triangles};

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
