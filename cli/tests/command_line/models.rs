//! Tests of the options for models: variants, cameras, animations, frames and lines.

use std::{fs, path::Path, process::Output};

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{
    add_tests, assert_done, assert_refused,
    files::{linear, statistics},
    folder,
    gltf::Gltf,
    names, run, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        a_variant_changes_the_color_of_the_rendered_pixels,
        a_camera_is_chosen_by_name_and_number,
        a_cube_animated_by_half_a_turn_renders_like_one_turned_in_the_file,
        frames_are_numbered_images_that_equal_renders_at_their_times,
        a_failed_frame_is_named_and_earlier_ones_remain,
        frames_of_a_still_model_are_refused,
        wider_lines_cover_more_of_the_image,
        an_image_is_verified_with_the_options_of_its_render,
        wrong_options_of_models_are_reported_on_one_line,
    );
}

/// Renders `model.glb` of the folder at 32 × 24 pixels with 4 samples on the CPU, with further arguments.
pub(crate) fn render(folder: &Path, more: &[&str]) -> Output {
    let arguments = [
        "model.glb",
        "--backend",
        "cpu",
        "--headless",
        "--size",
        "32x24",
        "--spp",
        "4",
    ];
    run(folder, [&arguments[..], more].concat())
}

/// Writes the model as `model.glb` into a new folder.
pub(crate) fn write(model: &Gltf) -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("model.glb"), model.glb()).expect("the model is written");
    folder
}

/// Returns the film hash of a render with these arguments.
pub(crate) fn film_hash(folder: &Path, more: &[&str]) -> Value {
    assert_done(&render(
        folder,
        &[more, &["-o", "hash.png", "--stats", "hash.json"]].concat(),
    ));
    statistics(&folder.join("hash.json"))["film_hash"].clone()
}

/// Returns a closed cube with edges of 1 m, whose corner is at the origin.
pub(crate) fn cube() -> Gltf {
    let mut model = Gltf::new();
    let corners: Vec<[f32; 3]> = (0..8)
        .map(|corner| [0, 1, 2].map(|axis| (corner >> axis & 1) as f32))
        .collect();
    let positions = model.floats("VEC3", &corners);
    let faces = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let indices: Vec<u8> = faces
        .iter()
        .flat_map(|&[a, b, c, d]| [a, b, c, a, c, d])
        .collect();
    let indices = model.accessor(5121, "SCALAR", indices.len(), &indices);
    model.json["meshes"] = json!([{ "primitives": [
        { "attributes": { "POSITION": positions }, "indices": indices }
    ] }]);
    model
}

/// Half a turn about y.
pub(crate) const HALF_TURN: [f32; 4] = [0.0, 1.0, 0.0, 0.0];

/// Returns a cube that turns about y by half a turn within two seconds.
pub(crate) fn turning_cube() -> Gltf {
    let mut model = cube();
    let turns = [[0.0, 0.0, 0.0, 1.0], HALF_TURN];
    model.animate(0, "rotation", "LINEAR", &[0.0, 2.0], "VEC4", &turns);
    model
}

fn a_variant_changes_the_color_of_the_rendered_pixels() {
    let mut model = cube();
    let unlit = |color: [f32; 4]| {
        json!({ "pbrMetallicRoughness": { "baseColorFactor": color },
            "extensions": { "KHR_materials_unlit": {} } })
    };
    model.json["materials"] = json!([unlit([0.0, 1.0, 0.0, 1.0]), unlit([1.0, 0.0, 0.0, 1.0])]);
    model.json["extensions"] =
        json!({ "KHR_materials_variants": { "variants": [{ "name": "beach red" }] } });
    model.primitive()["material"] = json!(0);
    model.primitive()["extensions"] = json!({ "KHR_materials_variants": {
        "mappings": [{ "material": 1, "variants": [0] }]
    } });
    let folder = write(&model);
    let center = |more: &[&str]| {
        let output = render(folder.path(), &[more, &["-o", "a.exr"]].concat());
        assert_done(&output);
        let picture = linear(&folder.path().join("a.exr"));
        let color = picture.pixels[12 * 32 + 16].to_array();
        (color, stderr(&output))
    };
    let (color, notes) = center(&[]);
    assert_eq!(color, [0.0, 1.0, 0.0]);
    assert!(
        notes.contains("without its variants \"beach red\""),
        "{notes}"
    );
    let (color, notes) = center(&["--variant", "beach red"]);
    assert_eq!(color, [1.0, 0.0, 0.0]);
    assert!(!notes.contains("variants"), "{notes}");
    let refused = render(folder.path(), &["--variant", "street"]);
    let parts = [
        "model.glb: ",
        "\"street\"",
        "expected one of 1 \"beach red\"",
    ];
    assert_refused(&refused, 2, &parts);
}

fn a_camera_is_chosen_by_name_and_number() {
    let mut model = cube();
    let camera = |name: &str| json!({ "type": "perspective", "perspective": { "yfov": 0.6, "znear": 0.1 }, "name": name });
    model.json["cameras"] = json!([camera("Front"), camera("Away")]);
    model.json["scenes"] = json!([{ "nodes": [0, 1, 2] }]);
    model.json["nodes"] = json!([
        { "mesh": 0 },
        { "camera": 0, "translation": [0.5, 0.5, 5] },
        { "camera": 1, "translation": [0.5, 0.5, 5], "rotation": HALF_TURN },
    ]);
    let folder = write(&model);
    let hash = |camera: &str| film_hash(folder.path(), &["--camera", camera]);
    assert_eq!(hash("Front"), hash("1"));
    assert_eq!(hash("Away"), hash("2"));
    assert_ne!(hash("1"), hash("2"));
    let refused = render(folder.path(), &["--camera", "Top"]);
    assert_refused(&refused, 2, &["\"Top\"", "1 \"Front\", 2 \"Away\""]);
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().expect("a path of text");
    let refused = run(folder.path(), [spheres, "--camera", "1", "--headless"]);
    assert_refused(&refused, 2, &["spheres.ron: ", "a single camera"]);
}

fn a_cube_animated_by_half_a_turn_renders_like_one_turned_in_the_file() {
    let animated = write(&turning_cube());
    let mut turned = cube();
    turned.json["nodes"][0]["rotation"] = json!(HALF_TURN);
    let turned = write(&turned);
    let expected = film_hash(turned.path(), &[]);
    for time in ["2", "2.0s", "99"] {
        assert_eq!(film_hash(animated.path(), &["--time", time]), expected);
    }
    let still = film_hash(animated.path(), &[]);
    assert_eq!(film_hash(animated.path(), &["--time", "0"]), still);
    assert_ne!(still, expected);
}

fn frames_are_numbered_images_that_equal_renders_at_their_times() {
    let mut model = turning_cube();
    // With a camera of its own, frames and single renders have the same view.
    model.json["cameras"] =
        json!([{ "type": "perspective", "perspective": { "yfov": 0.9, "znear": 0.1 } }]);
    model.json["scenes"] = json!([{ "nodes": [0, 1] }]);
    model.json["nodes"] = json!([{ "mesh": 0 }, { "camera": 0, "translation": [0, 0.5, 4] }]);
    let folder = write(&model);
    let arguments = [
        "--frames",
        "1..4",
        "--fps",
        "2",
        "-o",
        "turn.png",
        "--stats",
        "turn.json",
    ];
    let output = render(folder.path(), &arguments);
    assert_done(&output);
    let messages = stderr(&output);
    for (frame, line) in [
        "1 of 3, at 0.500 s",
        "2 of 3, at 1.000 s",
        "3 of 3, at 1.500 s",
    ]
    .iter()
    .enumerate()
    {
        let line = format!("raysieve: frame {line}: turn.000{}.png", frame + 1);
        assert!(messages.contains(&line), "{line} in {messages}");
    }
    assert_eq!(messages.matches("backend: ").count(), 1, "{messages}");
    let images: Vec<String> = (1..4)
        .map(|frame| format!("image        turn.000{frame}.png"))
        .collect();
    assert_eq!(stdout(&output).lines().collect::<Vec<_>>(), images);
    let mut expected = vec!["model.glb".to_owned()];
    for frame in 1..4 {
        expected.push(format!("turn.000{frame}.json"));
        expected.push(format!("turn.000{frame}.png"));
    }
    assert_eq!(names(folder.path()), expected);
    for (frame, time) in [(1, "0.5"), (2, "1"), (3, "1.5")] {
        let own = folder.path().join(format!("turn.000{frame}.json"));
        let alone = film_hash(folder.path(), &["--time", time]);
        assert_eq!(statistics(&own)["film_hash"], alone, "{frame}");
    }
}

fn a_failed_frame_is_named_and_earlier_ones_remain() {
    let mut model = cube();
    // In the middle, the rotation has no length.
    let turns = [[0.0, 0.0, 0.0, 1.0], [0.0; 4], [0.0, 0.0, 0.0, 1.0]];
    model.animate(0, "rotation", "STEP", &[0.0, 1.0, 2.0], "VEC4", &turns);
    let folder = write(&model);
    fs::create_dir(folder.path().join("a.0001.png")).expect("a folder");
    let arguments = ["--frames", "0..2", "--fps", "4", "-o", "a.png"];
    let output = render(folder.path(), &arguments);
    let error = stderr(&output);
    let error = error.lines().last().expect("an error");
    assert_ne!(output.status.code(), Some(0));
    assert!(
        error.starts_with("raysieve: frame 2 of 2: a.0001.png: "),
        "{error}"
    );
    assert!(folder.path().join("a.0000.png").is_file());
    let output = render(
        folder.path(),
        &["--frames", "0..3", "--fps", "1", "-o", "b.png"],
    );
    let error = stderr(&output);
    let error = error.lines().last().expect("an error");
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("not a valid quaternion"), "{error}");
}

fn frames_of_a_still_model_are_refused() {
    let folder = write(&cube());
    let refused = render(folder.path(), &["--frames", "0..2", "-o", "a.png"]);
    assert_refused(&refused, 2, &["model.glb: has no animations", "omit"]);
    assert_eq!(names(folder.path()), ["model.glb"]);
}

fn wider_lines_cover_more_of_the_image() {
    let mut model = Gltf::new();
    let positions = model.floats("VEC3", &[[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]);
    model.json["materials"] = json!([{ "extensions": { "KHR_materials_unlit": {} },
        "pbrMetallicRoughness": { "baseColorFactor": [1, 0, 0, 1] } }]);
    model.json["meshes"] = json!([{ "primitives": [
        { "attributes": { "POSITION": positions }, "mode": 1, "material": 0 }
    ] }]);
    let folder = write(&model);
    let covered = |width: &str| {
        let arguments = ["--line-width", width, "-o", "a.exr"];
        assert_done(&render(folder.path(), &arguments));
        let picture = linear(&folder.path().join("a.exr"));
        let red = picture
            .pixels
            .iter()
            .filter(|pixel| pixel.x > 0.5 && pixel.y < 0.5);
        red.count()
    };
    let counts = ["0.02", "0.1", "0.4"].map(covered);
    assert!(
        counts[0] > 0 && counts[0] < counts[1] && counts[1] < counts[2],
        "{counts:?}"
    );
}

fn an_image_is_verified_with_the_options_of_its_render() {
    let folder = write(&turning_cube());
    assert_done(&render(folder.path(), &["--time", "0.7", "-o", "a.exr"]));
    let verify = |more: &[&str]| {
        let arguments = ["verify", "a.exr", "--backend", "cpu"];
        run(folder.path(), [&arguments[..], more].concat())
    };
    assert_done(&verify(&["--time", "0.7"]));
    assert_refused(
        &verify(&["--time", "0.6"]),
        2,
        &["is not the scene of a.exr", "--time"],
    );
    let inspected = run(
        folder.path(),
        ["inspect", "model.glb", "3,4", "--time", "0.7"],
    );
    assert_done(&inspected);
}

fn wrong_options_of_models_are_reported_on_one_line() {
    let wrong: &[(&[&str], &[&str])] = &[
        (&["--time", "soon"], &["--time", "'soon'", "such as 1.5"]),
        (&["--time", "-1"], &["'-1'", "from 0"]),
        (&["--time", "NaN"], &["'NaN'", "from 0"]),
        (&["--line-width", "0"], &["'0'", "above 0"]),
        (&["--line-width", "inf"], &["'inf'", "up to 1e8"]),
        (&["--define", "spp"], &["'spp'", "such as spp=64"]),
        (&["--frames", "4"], &["'4'", "such as 0..48"]),
        (
            &["--frames", "4..4"],
            &["'4..4'", "the first below the second"],
        ),
        (&["--frames", "0..4294967295"], &["up to 1000000"]),
        (&["--frames", "0..4", "--fps", "0"], &["'0'", "from 0.001"]),
        (&["--fps", "30"], &["--frames"]),
        (
            &["--frames", "0..4", "--time", "1"],
            &["--frames", "--time"],
        ),
        (
            &["--frames", "0..4", "--samples", "0..4", "-o", "a.exr"],
            &["--frames", "--samples"],
        ),
    ];
    let folder = folder();
    for (arguments, expected) in wrong {
        let output = run(folder.path(), [&["a.glb"][..], arguments].concat());
        assert_refused(&output, 2, expected);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
    assert!(names(folder.path()).is_empty());
}
