//! Tests of the animations of glTF files at given times: nodes, morph targets and skins.

use std::fs;

use glam::{Mat4, Quat, Vec3};
use raysieve::scene::{LoadOptions, Scene, SceneLoader};
use serde_json::{Value, json};

use crate::{
    TRIANGLE, assert_triangles, at, folder, gltf::Gltf, load, load_with, refusal, scene_of,
    triangles,
};

/// Values of a cubic spline with three keyframes: incoming tangent, value and outgoing tangent of each.
const SPLINE: [[f32; 3]; 9] = [
    [9.0, 9.0, 9.0],
    [0.0, 0.0, 0.0],
    [4.0, 0.0, 0.0],
    [0.0, 2.0, 0.0],
    [1.0, 1.0, 0.0],
    [0.0, -2.0, 3.0],
    [0.0, 0.0, 0.0],
    [2.0, 0.0, 4.0],
    [9.0, 9.0, 9.0],
];

/// Returns a triangle whose node moves: its translation is animated with this interpolation.
fn moving(interpolation: &str, times: &[f32], values: &[[f32; 3]]) -> Gltf {
    let mut model = Gltf::triangle();
    model.animate(0, "translation", interpolation, times, "VEC3", values);
    model
}

/// Returns the first vertex of a scene, which is the translation of the node of [`Gltf::triangle`].
fn first(scene: &Scene) -> Vec3 {
    triangles(scene)[0][0]
}

#[track_caller]
fn assert_near(found: Vec3, expected: Vec3) {
    assert!(found.distance(expected) < 1e-5, "{found} is not {expected}");
}

#[test]
fn without_a_time_the_rest_pose_is_shown() {
    let model = moving("LINEAR", &[0.0, 1.0], &[[5.0; 3], [6.0; 3]]);
    let scene = model.load("rest");
    assert_triangles(&scene, &TRIANGLE);
    let note = ": shown in its rest pose, without a time of its animation 1 (`--time`)";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
    let playing = load_with(&model.write("rest"), &at(0.0));
    assert_near(first(&playing), Vec3::splat(5.0));
    assert!(playing.notes.is_empty(), "{:?}", playing.notes);
}

#[test]
fn linear_and_step_interpolate_between_keyframes_and_are_constant_outside() {
    let times = [1.0, 2.0, 4.0];
    let values = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 8.0, 0.0]];
    let at_times = [0.0, 0.999, 1.0, 1.25, 1.999, 2.0, 2.5, 4.0, 1e6];
    let linear = [
        [0.0, 0.0],
        [0.0, 0.0],
        [0.0, 0.0],
        [0.5, 0.0],
        [1.998, 0.0],
        [2.0, 0.0],
        [2.0, 2.0],
        [2.0, 8.0],
        [2.0, 8.0],
    ];
    let step = [
        [0.0, 0.0],
        [0.0, 0.0],
        [0.0, 0.0],
        [0.0, 0.0],
        [0.0, 0.0],
        [2.0, 0.0],
        [2.0, 0.0],
        [2.0, 8.0],
        [2.0, 8.0],
    ];
    for (interpolation, expected) in [("LINEAR", linear), ("STEP", step)] {
        let path = moving(interpolation, &times, &values).write("interpolation");
        for (time, [x, y]) in at_times.into_iter().zip(expected) {
            assert_near(first(&load_with(&path, &at(time))), Vec3::new(x, y, 0.0));
        }
    }
}

#[test]
fn a_cubic_spline_passes_its_keyframes_with_its_tangents() {
    let times = [0.0f32, 2.0, 3.0];
    let path = moving("CUBICSPLINE", &times, &SPLINE).write("spline");
    let place = |time: f64| first(&load_with(&path, &at(time)));
    for (key, &time) in times.iter().enumerate() {
        let value = Vec3::from_array(SPLINE[3 * key + 1]);
        assert_near(place(time.into()), value);
    }
    // The derivative on either side of a keyframe is its tangent.
    let step = 1e-3;
    for (time, side, tangent) in [(0.0, 1.0, 2), (2.0, -1.0, 3), (2.0, 1.0, 5), (3.0, -1.0, 6)] {
        let slope = (place(time + side * step) - place(time)) / (side * step) as f32;
        let tangent = Vec3::from_array(SPLINE[tangent]);
        assert!(slope.distance(tangent) < 0.05, "{time}: {slope} {tangent}");
    }
    // In the middle: (p0 + p1) / 2 + duration / 8 × (out − in).
    let middle = (Vec3::from_array(SPLINE[1]) + Vec3::from_array(SPLINE[4])) / 2.0
        + (Vec3::from_array(SPLINE[2]) - Vec3::from_array(SPLINE[3])) * 2.0 / 8.0;
    assert_near(place(1.0), middle);
}

#[test]
fn rotations_take_the_shorter_arc_at_constant_speed() {
    let quarter = Quat::from_rotation_z(1.2);
    // The negated quaternion is the same rotation.
    for end in [quarter, -quarter] {
        let mut model = Gltf::triangle();
        let values = [Quat::IDENTITY.to_array(), end.to_array()];
        model.animate(0, "rotation", "LINEAR", &[0.0, 3.0], "VEC4", &values);
        let path = model.write("slerp");
        for time in [0.0, 0.5, 1.0, 2.0, 3.0] {
            let turn = Quat::from_rotation_z(1.2 * time as f32 / 3.0);
            let expected = TRIANGLE[0].map(|vertex| (turn * Vec3::from_array(vertex)).to_array());
            assert_triangles(&load_with(&path, &at(time)), &[expected]);
        }
    }
}

#[test]
fn normalized_integers_and_sparse_values_are_keyframes() {
    let mut model = Gltf::triangle();
    let input = model.floats("SCALAR", &[[0.0], [1.0]]);
    // (0, 0, 1, 0) is half a turn about z.
    let bytes: Vec<u8> = [0i16, 0, 0, 32767, 0, 0, 32767, 0]
        .into_iter()
        .flat_map(i16::to_le_bytes)
        .collect();
    let rotations = model.accessor(5122, "VEC4", 2, &bytes);
    model.json["accessors"][rotations]["normalized"] = json!(true);
    let moves = model.floats("VEC3", &[[0.0; 3], [1.0; 3]]);
    let (place, value) = (model.view(&[1]), model.view(&7f32.to_le_bytes().repeat(3)));
    model.json["accessors"][moves]["sparse"] = json!({ "count": 1, "values": { "bufferView": value },
        "indices": { "bufferView": place, "componentType": 5121 } });
    model.json["animations"] = json!([{
        "samplers": [{ "input": input, "output": rotations }, { "input": input, "output": moves }],
        "channels": [
            { "sampler": 0, "target": { "node": 0, "path": "rotation" } },
            { "sampler": 1, "target": { "node": 0, "path": "translation" } },
        ]
    }]);
    let scene = load_with(&model.write("stored"), &at(1.0));
    let expected = [[7.0, 7.0, 7.0], [6.0, 7.0, 7.0], [7.0, 6.0, 7.0]];
    assert_triangles(&scene, &[expected]);
}

#[test]
fn animated_parents_move_their_children_and_replace_only_what_is_animated() {
    let mut model = Gltf::triangle();
    model.json["nodes"] = json!([
        { "children": [1], "scale": [2, 2, 2] },
        { "mesh": 0, "translation": [1, 0, 0] },
    ]);
    model.animate(0, "translation", "STEP", &[0.0], "VEC3", &[[0.0, 5.0, 0.0]]);
    let expected = [[2.0, 5.0, 0.0], [4.0, 5.0, 0.0], [2.0, 7.0, 0.0]];
    assert_triangles(&load_with(&model.write("parent"), &at(0.0)), &[expected]);
    model.animate(1, "scale", "STEP", &[0.0], "VEC3", &[[3.0, 1.0, 1.0]]);
    let expected = [[2.0, 5.0, 0.0], [8.0, 5.0, 0.0], [2.0, 7.0, 0.0]];
    assert_triangles(&load_with(&model.write("parent"), &at(0.0)), &[expected]);
}

/// Adds a morph target to the model's primitive that moves its vertices up by `lift` each.
fn add_target(model: &mut Gltf, lift: [f32; 3]) -> usize {
    model.floats("VEC3", &lift.map(|z| [0.0, 0.0, z]))
}

#[test]
fn animated_weights_replace_those_of_node_and_mesh() {
    let mut model = Gltf::triangle();
    let targets = [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]].map(|lift| add_target(&mut model, lift));
    model.primitive()["targets"] = targets
        .iter()
        .map(|&target| json!({ "POSITION": target }))
        .collect();
    let heights = |scene: &Scene| triangles(scene)[0].map(|vertex| vertex.z);
    model.json["meshes"][0]["weights"] = json!([0.5, 0]);
    assert_eq!(heights(&model.load("weights")), [0.5, 0.0, 0.0]);
    model.json["nodes"][0]["weights"] = json!([0, 2]);
    assert_eq!(heights(&model.load("weights")), [0.0, 2.0, 2.0]);
    let values = [[0.0], [4.0], [8.0], [0.0]];
    model.animate(0, "weights", "LINEAR", &[0.0, 2.0], "SCALAR", &values);
    let path = model.write("weights");
    assert_eq!(heights(&load(&path)), [0.0, 2.0, 2.0]);
    for (time, expected) in [
        (0.0, [0.0, 4.0, 4.0]),
        (0.5, [2.0, 3.0, 3.0]),
        (9.0, [8.0, 0.0, 0.0]),
    ] {
        assert_eq!(heights(&load_with(&path, &at(time))), expected);
    }
}

#[test]
fn a_skinned_square_has_its_vertices_where_the_matrices_say() {
    let mut model = crate::square();
    model.json["materials"] = json!([{}]);
    let joints = model.accessor(5121, "VEC4", 4, &[0, 1, 0, 0].repeat(4));
    let weights = [
        [1.0, 0.0, 0.0, 0.0],
        [0.75, 0.25, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.5, 0.5, 0.0, 0.0],
    ];
    let joint_weights = model.floats("VEC4", &weights);
    let normals = model.floats("VEC3", &[[0.0, 0.0, 1.0]; 4]);
    let inverse_bind = [
        Mat4::IDENTITY,
        Mat4::from_translation(Vec3::new(0.0, -1.0, 0.0)),
    ];
    let matrices = model.floats("MAT4", &inverse_bind.map(|matrix| matrix.to_cols_array()));
    let attributes = &mut model.primitive()["attributes"];
    attributes["JOINTS_0"] = json!(joints);
    attributes["WEIGHTS_0"] = json!(joint_weights);
    attributes["NORMAL"] = json!(normals);
    model.json["skins"] = json!([{ "joints": [1, 2], "inverseBindMatrices": matrices }]);
    // The transform of the node with the mesh has no effect.
    model.json["nodes"] = json!([
        { "mesh": 0, "skin": 0, "children": [1], "translation": [100, 0, 0] },
        { "children": [2], "translation": [-100, 0, 0] },
        { "translation": [0, 1, 0] },
    ]);
    let turns = [Quat::IDENTITY, Quat::from_rotation_x(1.0)].map(|turn| turn.to_array());
    model.animate(2, "rotation", "LINEAR", &[0.0, 1.0], "VEC4", &turns);
    let scales = [[1.0; 3], [1.0, 1.0, 3.0]];
    model.animate(1, "scale", "LINEAR", &[0.0, 1.0], "VEC3", &scales);
    let path = model.write("skinned");
    for time in [0.0f32, 0.4, 1.0] {
        let root = Mat4::from_scale(Vec3::new(1.0, 1.0, 1.0 + 2.0 * time));
        let tip =
            root * Mat4::from_translation(Vec3::Y) * Mat4::from_quat(Quat::from_rotation_x(time));
        let matrices = [root * inverse_bind[0], tip * inverse_bind[1]];
        let square = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let expected: Vec<(Vec3, Vec3)> = square
            .iter()
            .zip(weights)
            .map(|(&[x, y], [a, b, ..])| {
                let matrix = matrices[0] * a + matrices[1] * b;
                let normal = matrix.inverse().transpose().transform_vector3(Vec3::Z);
                let point = matrix.transform_point3(Vec3::new(x, y, 0.0));
                (point, normal.normalize())
            })
            .collect();
        let scene = load_with(&path, &at(time.into()));
        let found = triangles(&scene);
        for (triangle, corners) in found.iter().zip([[0, 1, 2], [0, 2, 3]]) {
            for (&vertex, corner) in triangle.iter().zip(corners) {
                assert_near(vertex, expected[corner].0);
            }
        }
        let normals = &scene.meshes[0].normals;
        assert_eq!(normals.len(), 4);
        for (&normal, (_, expected)) in normals.iter().zip(expected) {
            assert_near(normal, expected);
        }
    }
}

/// Returns two animations of the same node, named `up` and `side`.
fn two_animations() -> Gltf {
    let mut model = moving("STEP", &[0.0], &[[0.0, 1.0, 0.0]]);
    let up = model.json["animations"][0].take();
    model.json["animations"] = Value::Null;
    model.animate(0, "translation", "STEP", &[0.0], "VEC3", &[[1.0, 0.0, 0.0]]);
    let side = model.json["animations"][0].take();
    model.json["animations"] = json!([up, side]);
    model.json["animations"][0]["name"] = json!("up");
    model.json["animations"][1]["name"] = json!("side");
    model
}

fn animation(wanted: &str) -> LoadOptions {
    LoadOptions {
        animation: Some(wanted.to_owned()),
        ..LoadOptions::default()
    }
}

#[test]
fn an_animation_is_chosen_by_name_or_number_and_the_last_wins_otherwise() {
    let path = two_animations().write("animations");
    for (wanted, expected) in [("up", Vec3::Y), ("1", Vec3::Y), ("side", Vec3::X)] {
        let scene = load_with(&path, &animation(wanted));
        assert_near(first(&scene), expected);
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    }
    let note =
        "shown with the last of several animations of 1 property; choose one of the animations";
    for options in [at(0.0), animation("all")] {
        let all = load_with(&path, &options);
        assert_near(first(&all), Vec3::X);
        assert!(all.notes[0].ends_with(note), "{:?}", all.notes);
    }
    let mut named = two_animations();
    named.json["animations"][0]["name"] = json!("all");
    let scene = load_with(&named.write("named_all"), &animation("all"));
    assert_near(first(&scene), Vec3::Y);
    let problem = refusal(&path, &animation("down"));
    let expected = "has no animation \"down\"; expected one of 1 \"up\", 2 \"side\"";
    assert_eq!(problem, expected);
}

#[test]
fn a_time_without_animations_or_that_is_not_finite_is_refused() {
    let path = Gltf::triangle().write("still");
    let problem = refusal(&path, &at(1.0));
    assert!(problem.contains("has no animations"), "{problem}");
    let path = two_animations().write("never");
    for time in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let problem = refusal(&path, &at(time));
        assert!(problem.contains("expected a finite number"), "{problem}");
    }
    let path = folder("no_gltf").join("model.obj");
    fs::write(&path, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let problem = refusal(&path, &at(1.0));
    assert!(problem.contains("has no time to choose"), "{problem}");
}

/// Checks invalid animations. A case changes the JSON of a file with one animation, and contains a part of the expected
/// error.
#[test]
fn invalid_animations_are_refused_on_one_line() {
    let cases: &[(&str, Value, &str)] = &[
        (
            "/animations/0/channels/0/target/node",
            json!(7),
            "channel 0: there is no node 7",
        ),
        (
            "/animations/0/channels/0/sampler",
            json!(3),
            "channel 0: there is no sampler 3",
        ),
        (
            "/animations/0/samplers/0/input",
            json!(99),
            "sampler 0: there is no accessor 99",
        ),
        (
            "/animations/0/samplers/0/output",
            json!(99),
            "sampler 0: there is no accessor 99",
        ),
        (
            "/animations/0/samplers/0/interpolation",
            json!("ROUND"),
            "has no known interpolation",
        ),
        (
            "/animations/0/samplers/0/interpolation",
            json!("CUBICSPLINE"),
            "expected 3 values for each",
        ),
        (
            "/animations/0/channels/0/target/path",
            json!("rotation"),
            "has 3 components per element, expected 4",
        ),
        (
            "/animations/0/channels/0/target/path",
            json!("weights"),
            "has 3 components per element, expected 1",
        ),
        (
            "/accessors/1/count",
            json!(1),
            "has 1 keyframes and 6 numbers, expected 1 values",
        ),
        (
            "/accessors/1/count",
            json!(0),
            "has no keyframes, expected one or more",
        ),
        (
            "/accessors/1/count",
            json!(4_000_000_000u64),
            "declares 4000000000 elements",
        ),
        (
            "/accessors/1/bufferView",
            Value::Null,
            "elements that are not stored",
        ),
        (
            "/accessors/1/type",
            json!("VEC2"),
            "has 2 components per element, expected 1",
        ),
    ];
    let plain = moving("LINEAR", &[0.0, 1.0], &[[0.0; 3], [1.0; 3]]);
    for (pointer, value, expected) in cases {
        let mut model = moving("LINEAR", &[0.0, 1.0], &[[0.0; 3], [1.0; 3]]);
        model.json = plain.json.clone();
        *model.json.pointer_mut(pointer).expect(pointer) = value.clone();
        if *pointer == "/accessors/1/bufferView" {
            model.json["accessors"][1]["count"] = json!(1_000_000_000);
        }
        let problem = refusal(&model.write("invalid"), &at(0.5));
        assert!(problem.starts_with("animation 0: channel 0: "), "{problem}");
        assert!(problem.contains(expected), "{pointer}: {problem}");
    }
    /// Times and values of two keyframes, and a part of the error.
    type Keyframes = ([f32; 2], [[f32; 3]; 2], &'static str);
    let numbers: &[Keyframes] = &[
        ([0.0, f32::NAN], [[0.0; 3]; 2], "keyframe 1 is at NaN s"),
        (
            [f32::INFINITY, 1.0],
            [[0.0; 3]; 2],
            "keyframe 0 is at inf s",
        ),
        (
            [2.0, 1.0],
            [[0.0; 3]; 2],
            "keyframe 1 is at 1 s, expected finite times that increase",
        ),
        (
            [0.0, 1.0],
            [[0.0; 3], [0.0, f32::NAN, 0.0]],
            "number 4 is NaN, expected finite",
        ),
    ];
    for (times, values, expected) in numbers {
        let path = moving("LINEAR", times, values).write("invalid");
        let problem = refusal(&path, &at(0.5));
        assert!(problem.contains(expected), "{problem}");
        // The rest pose needs no keyframes.
        load(&path);
    }
    let mut model = Gltf::triangle();
    model.animate(0, "rotation", "LINEAR", &[0.0, 1.0], "VEC4", &[[0.0; 4]; 2]);
    let problem = refusal(&model.write("invalid"), &at(0.5));
    assert!(problem.contains("is not a valid quaternion"), "{problem}");
    let mut model = Gltf::triangle();
    model.animate(
        0,
        "translation",
        "STEP",
        &[0.0],
        "VEC3",
        &[[1e30, 1.0, 1.0]],
    );
    let problem = refusal(&model.write("invalid"), &at(0.0));
    assert!(problem.contains("a vertex is at"), "{problem}");
}

#[test]
fn channels_that_do_not_animate_nodes_are_noted() {
    let mut model = moving("STEP", &[0.0], &[[1.0; 3]]);
    model.json["animations"][0]["channels"][0]["target"]["path"] = json!("pointer");
    let scene = load_with(&model.write("pointer"), &at(0.0));
    assert_triangles(&scene, &TRIANGLE);
    let note =
        "not shown: 1 animation channel of other things than transforms and weights of nodes";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
    // With `KHR_animation_pointer` a channel has no node.
    let target = &mut model.json["animations"][0]["channels"][0]["target"];
    target.as_object_mut().unwrap().remove("node");
    let path = model.write("pointer");
    for scene in [load(&path), load_with(&path, &at(0.0))] {
        assert_triangles(&scene, &TRIANGLE);
    }
    let scene = load_with(&path, &at(0.0));
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
    // A channel of a node property without a node is ignored too.
    model.json["animations"][0]["channels"][0]["target"]["path"] = json!("translation");
    assert_triangles(&load_with(&model.write("pointer"), &at(0.0)), &TRIANGLE);
}

#[test]
fn objects_of_a_scene_have_times_of_their_own() {
    let folder = folder("timed_objects");
    let model = moving("LINEAR", &[0.0, 1.0], &[[0.0; 3], [0.0, 0.0, 1.0]]);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let objects = "objects: [Model(file: \"model.glb\"), Model(file: \"model.glb\", time: 0.25)]";
    let heights = |scene: &Scene| {
        let heights = triangles(scene).into_iter().map(|triangle| triangle[0].z);
        heights.collect::<Vec<f32>>()
    };
    assert_eq!(heights(&scene_of(&folder, objects)), [0.0, 0.25]);
    // The time of the whole scene applies to objects without one.
    let path = folder.join("scene.ron");
    assert_eq!(heights(&load_with(&path, &at(0.5))), [0.5, 0.25]);
    scene_of(&folder, "objects: [Model(file: \"model.glb\", time: 0.25)]");
    let problem = refusal(&path, &at(0.5));
    assert!(problem.contains("cannot be shown at a time"), "{problem}");
}

/// Checks the camera of an animation in a file without a camera: one place for all frames, with everything in view.
#[test]
fn a_staged_loader_keeps_the_camera_for_all_frames() {
    let path = moving("LINEAR", &[0.0, 1.0], &[[0.0; 3], [9.0, 0.0, 0.0]]).write("staged");
    let mut loader = SceneLoader::new(&path);
    let times = [0.0, 0.25, 0.5, 0.75, 1.0];
    loader.stage(&LoadOptions::default(), &times).unwrap();
    let scenes: Vec<Scene> = times
        .iter()
        .map(|&time| loader.load(&at(time)).unwrap())
        .collect();
    for (scene, time) in scenes.iter().zip(times) {
        assert_near(first(scene), Vec3::new(9.0 * time as f32, 0.0, 0.0));
        assert_eq!(scene.camera, scenes[0].camera);
        assert_eq!(scene.lights, scenes[0].lights);
        assert_eq!(scene.files, scenes[0].files);
        assert_eq!(scene.files.len(), 1);
    }
    // Alone, each time has a camera of its own, which shows the same triangles.
    let alone = load_with(&path, &at(1.0));
    assert_ne!(alone.camera, scenes[0].camera);
    assert_eq!(triangles(&alone), triangles(&scenes[4]));
}

#[test]
fn frames_share_the_decoded_images() {
    let mut model = moving("LINEAR", &[0.0, 1.0], &[[0.0; 3], [9.0, 0.0, 0.0]]);
    crate::textured(&mut model, json!({ "index": 0 }));
    let path = model.write("shared_images");
    let mut loader = SceneLoader::new(&path);
    let scenes = [0.0, 1.0].map(|time| loader.load(&at(time)).unwrap());
    let [first, second] = scenes.each_ref().map(|scene| scene.images[0].clone());
    assert!(std::sync::Arc::ptr_eq(&first, &second));
}

#[test]
fn a_timeline_tells_the_length_of_the_animations_that_play_and_the_time() {
    let still = Gltf::triangle().load("still");
    assert_eq!(still.timeline, None);
    let mut model = moving("LINEAR", &[0.5, 2.5], &[[0.0; 3], [1.0; 3]]);
    let mut second =
        moving("LINEAR", &[0.0, 4.0], &[[0.0; 3], [1.0; 3]]).json["animations"][0].clone();
    let times = model.floats("SCALAR", &[[0.0], [4.0]]);
    second["samplers"][0] = json!({ "input": times, "output": 2 });
    second["name"] = json!("long");
    let first = model.json["animations"][0].take();
    model.json["animations"] = json!([first, second]);
    let path = model.write("timeline");
    let shown = |options: &LoadOptions| load_with(&path, options).timeline.unwrap();
    let rest = shown(&LoadOptions::default());
    assert_eq!((rest.seconds, rest.time), (4.0, None));
    let short = shown(&LoadOptions {
        time: Some(9.0),
        ..animation("1")
    });
    assert_eq!((short.seconds, short.time), (2.5, Some(9.0)));
    let long = shown(&animation("long"));
    assert_eq!(
        (long.seconds, long.time, long.chosen),
        (4.0, Some(0.0), Some(1))
    );
    // A single keyframe at 0 s, or keyframes before 0 s, leave nothing to play.
    for times in [&[0.0][..], &[-2.0, -1.0]] {
        let values = vec![[0.0; 3]; times.len()];
        assert_eq!(moving("STEP", times, &values).load("pose").timeline, None);
    }
    let endless = moving("LINEAR", &[0.0, 1e30], &[[0.0; 3]; 2]).load("endless");
    assert_eq!(endless.timeline.unwrap().seconds, 1e6);
}

#[test]
fn a_timeline_lists_the_animations_that_can_be_chosen_and_play() {
    let mut model = moving("LINEAR", &[0.0, 2.0], &[[0.0; 3], [1.0; 3]]);
    let walk = model.json["animations"][0].take();
    model.json["animations"] = json!(vec![walk; 5]);
    for (index, name) in ["walk", "walk", "still", "", "1"].into_iter().enumerate() {
        model.json["animations"][index]["name"] = json!(name);
    }
    model.json["animations"][2]["channels"] = json!([]);
    let path = model.write("choices");
    for (option, chosen) in [("walk", 0), ("2", 1), ("4", 2), ("1", 3)] {
        let shown = load_with(&path, &animation(option)).timeline.unwrap();
        assert_eq!(shown.animations, ["walk", "2", "4", "1"]);
        assert_eq!(shown.chosen, Some(chosen));
    }
}

#[test]
fn poses_that_are_staged_like_the_first_have_its_camera_and_light() {
    let path = moving("LINEAR", &[0.0, 2.0], &[[0.0; 3], [9.0, 0.0, 0.0]]).write("staged");
    let first = load_with(&path, &LoadOptions::default());
    let mut loader = SceneLoader::new(&path);
    loader.stage_like(&LoadOptions::default()).unwrap();
    let posed = loader.load(&at(2.0)).unwrap();
    assert_near(self::first(&posed), Vec3::new(9.0, 0.0, 0.0));
    assert_eq!(posed.camera, first.camera);
    assert_eq!(posed.lights, first.lights);
    assert_ne!(load_with(&path, &at(2.0)).camera, first.camera);
}
