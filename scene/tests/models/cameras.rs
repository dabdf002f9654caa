//! Tests of model cameras and of automatic framing.

use glam::Vec3;
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use raysieve::scene::{CameraFrom, LoadOptions, Projection, Scene, UpAxis};
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

/// Returns the largest distances of the model's vertices from the center of the image, to the right and left, and up
/// and down. 1 is the edge. Panics if a vertex is behind the camera.
fn reach(scene: &Scene) -> [[f32; 2]; 2] {
    let camera = &scene.camera;
    let forward = (camera.target - camera.origin).normalize();
    let right = forward.cross(camera.up).normalize();
    let up = right.cross(forward);
    let mut reach = [[0.0_f32; 2]; 2];
    for point in triangles(scene).concat() {
        let from = point - camera.origin;
        let depth = from.dot(forward);
        assert!(depth > 0.0, "{point} is behind the camera");
        let half_width = match camera.projection {
            Projection::Perspective { .. } => tan_half_width(scene) * depth,
            Projection::Orthographic { width } => width / 2.0,
        };
        let half_height = half_width * scene.size.1 as f32 / scene.size.0 as f32;
        let x = from.dot(right) / half_width;
        let y = from.dot(up) / half_height;
        for (reach, value) in reach.as_flattened_mut().iter_mut().zip([x, -x, y, -y]) {
            *reach = reach.max(value);
        }
    }
    reach
}

/// Checks that the model is in the middle of the image, and touches two opposite edges of the margin of 6 %.
fn assert_fills(scene: &Scene, what: &str) {
    let reach = reach(scene);
    let edge = 1.0 / 1.06;
    let touches = |[one, other]: [f32; 2]| (one - edge).abs() < 1e-3 && (other - edge).abs() < 1e-3;
    let within = reach
        .iter()
        .all(|[one, other]| *one < edge + 1e-3 && (one - other).abs() < 2e-3);
    let found = format!("{what}, {:?}: {reach:?}", scene.size);
    assert!(within && reach.into_iter().any(touches), "{found}");
}

/// Returns an L of two long bars, whose bounding box is much larger in most views, with an unused vertex far away.
fn corner() -> Gltf {
    let mut model = Gltf::triangle();
    let points = [
        [300.0, -20.0, 4.0],
        [309.0, -20.0, 4.0],
        [300.0, -20.0, 4.5],
        [300.0, -17.0, 4.0],
        [300.5, -20.0, 4.0],
        [0.0, 0.0, 0.0],
    ];
    let positions = model.floats("VEC3", &points);
    let indices = model.accessor(5121, "SCALAR", 6, &[0, 1, 2, 0, 3, 4]);
    *model.primitive() = json!({ "attributes": { "POSITION": positions }, "indices": indices });
    model
}

#[test]
fn a_model_fills_the_image_at_any_size_and_from_any_direction() {
    let path = corner().write("framed");
    let directions = [
        None,
        Some((0.0, 0.0)),
        Some((-120.0, 65.0)),
        Some((10.0, 90.0)),
        Some((200.0, -90.0)),
    ];
    for direction in directions {
        for (orthographic, fov_degrees) in [(false, None), (false, Some(75.0)), (true, None)] {
            let options = LoadOptions {
                camera_from: direction.map(|(azimuth, elevation)| from(azimuth, elevation, None)),
                fov_degrees,
                orthographic,
                ..LoadOptions::default()
            };
            let mut scene = load_with(&path, &options);
            for size in [(960, 540), (300, 900), (512, 512)] {
                scene.set_size(size);
                assert_fills(&scene, &format!("{options:?}"));
                if let Some(fov) = fov_degrees {
                    let projection = Projection::Perspective { fov_degrees: fov };
                    assert_eq!(scene.camera.projection, projection);
                }
            }
        }
    }
}

/// Returns triangles with 210,000 random vertices in a tilted, flat ellipsoid, which several threads share. The last one
/// has a corner outside.
fn many_points() -> Gltf {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut random = || random.random_range(-1.0..1.0_f32);
    let mut points: Vec<[f32; 3]> = Vec::new();
    while points.len() < 210_000 {
        let [x, y, z] = [random(), random(), random()];
        if x * x + y * y + z * z < 1.0 {
            points.push([3.0 * x + y, y - x, 0.2 * z]);
        }
    }
    points[209_999] = [-2.0, 3.0, 1.0];
    let mut model = Gltf::triangle();
    let positions = model.floats("VEC3", &points);
    *model.primitive() = json!({ "attributes": { "POSITION": positions } });
    model
}

#[test]
fn a_model_with_many_points_fills_the_image() {
    let path = many_points().write("many_points");
    for (azimuth, elevation) in [(35.0, 20.0), (0.0, 0.0), (80.0, -40.0)] {
        for turntable in [false, true] {
            let options = LoadOptions {
                camera_from: Some(from(azimuth, elevation, None)),
                turntable,
                ..LoadOptions::default()
            };
            let scene = load_with(&path, &options);
            if turntable {
                let widest = reach(&scene).into_iter().flatten().fold(0.0, f32::max);
                assert!(widest < 1.0 / 1.06 + 1e-3, "{options:?}: {widest}");
            } else {
                assert_fills(&scene, &format!("{options:?}"));
            }
        }
    }
}

fn from(azimuth_degrees: f64, elevation_degrees: f64, distance: Option<f64>) -> CameraFrom {
    CameraFrom {
        azimuth_degrees,
        elevation_degrees,
        distance,
    }
}

#[test]
fn azimuth_and_elevation_place_the_camera() {
    let path = Gltf::triangle().write("directions");
    for (azimuth, elevation, expected) in [
        (0.0, 0.0, Vec3::Z),
        (90.0, 0.0, Vec3::X),
        (-90.0, 0.0, Vec3::NEG_X),
        (180.0, 45.0, Vec3::new(0.0, 1.0, -1.0).normalize()),
        (0.0, 90.0, Vec3::Y),
    ] {
        let options = LoadOptions {
            camera_from: Some(from(azimuth, elevation, Some(3.0))),
            ..LoadOptions::default()
        };
        let camera = load_with(&path, &options).camera;
        let offset = camera.origin - camera.target;
        assert!(
            offset.distance(expected * 3.0) < 1e-5,
            "{azimuth}, {elevation}: {offset}"
        );
    }
}

/// A file with z up looks like one with y up.
#[test]
fn another_axis_can_point_up() {
    let points = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 1.0]];
    let load = |up: UpAxis, turn: fn([f32; 3]) -> [f32; 3]| {
        let mut model = Gltf::triangle();
        let positions = model.floats("VEC3", &points.map(turn));
        *model.primitive() = json!({ "attributes": { "POSITION": positions } });
        model.json["cameras"] =
            json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }]);
        model.json["nodes"] =
            json!([{ "mesh": 0 }, { "camera": 0, "translation": turn([0.0, 0.0, 5.0]) }]);
        model.json["scenes"] = json!([{ "nodes": [0, 1] }]);
        let options = LoadOptions {
            up: Some(up),
            ..LoadOptions::default()
        };
        load_with(&model.write("up"), &options)
    };
    let expected = load(UpAxis::Y, |point| point);
    let z_up = load(UpAxis::Z, |[x, y, z]| [x, -z, y]);
    let x_up = load(UpAxis::X, |[x, y, z]| [y, -x, z]);
    for scene in [z_up, x_up] {
        assert_eq!(triangles(&scene), triangles(&expected));
        assert_eq!(scene.camera.origin, expected.camera.origin);
    }
}

#[test]
fn the_camera_of_a_file_takes_another_projection() {
    let mut model = Gltf::triangle();
    model.json["cameras"] =
        json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }]);
    model.json["nodes"] = json!([{ "mesh": 0 }, { "camera": 0, "translation": [0.5, 0.5, 50] }]);
    model.json["scenes"] = json!([{ "nodes": [0, 1] }]);
    let path = model.write("projection");
    let load = |fov_degrees, orthographic, camera_from| {
        let options = LoadOptions {
            fov_degrees,
            orthographic,
            camera_from,
            ..LoadOptions::default()
        };
        load_with(&path, &options)
    };
    let mut wide = load(Some(50.0), false, None);
    for size in [(64, 64), (200, 100)] {
        wide.set_size(size);
        assert_eq!(wide.camera.origin, Vec3::new(0.5, 0.5, 50.0));
        let projection = Projection::Perspective { fov_degrees: 50.0 };
        assert_eq!(wide.camera.projection, projection);
    }
    // The width is that of the perspective view at the model.
    let mut parallel = load(None, true, None);
    parallel.set_size((64, 64));
    let Projection::Orthographic { width } = parallel.camera.projection else {
        panic!("{:?}", parallel.camera);
    };
    assert!((width - 100.0 * 0.5_f32.tan()).abs() < 0.1, "{width}");
    let around = load(None, false, Some(from(35.0, 20.0, None)));
    assert_eq!(around.size, (960, 540));
    assert_fills(&around, "a direction replaces the camera");
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
    let note = "shown from camera 1 of its cameras 1, 2 \"Side\", 3 \"2\" (`--camera`)";
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

#[test]
fn clipping_planes_are_noted_where_they_hide_something() {
    let notes = |kind: &str, planes: [f64; 2], at: f64| {
        let mut model = Gltf::triangle();
        let extent = match kind {
            "perspective" => json!({ "yfov": 1.0 }),
            _ => json!({ "xmag": 2.0, "ymag": 2.0 }),
        };
        let mut camera = json!({ "type": kind, kind: extent });
        camera[kind]["znear"] = json!(planes[0]);
        camera[kind]["zfar"] = json!(planes[1]);
        model.json["cameras"] = json!([camera]);
        model.json["nodes"] =
            json!([{ "mesh": 0, "children": [1] }, { "camera": 0, "translation": [at, 0, 5] }]);
        model.load(&format!("clip_{kind}")).notes
    };
    for kind in ["perspective", "orthographic"] {
        assert_eq!(notes(kind, [0.1, 100.0], 0.0), [""; 0]);
        let near = notes(kind, [5.5, 100.0], 0.0);
        assert!(
            near.len() == 1 && near[0].contains("znear of the camera"),
            "{near:?}"
        );
        let far = notes(kind, [0.1, 4.5], 0.0);
        assert!(
            far.len() == 1 && far[0].contains("zfar of the camera"),
            "{far:?}"
        );
        // What is not in view is not hidden.
        assert_eq!(notes(kind, [5.5, 100.0], 20.0), [""; 0]);
    }
}
