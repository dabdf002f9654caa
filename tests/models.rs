//! Models as people have them: what a glTF, OBJ or PLY file shows, alone and in a scene, and what a wrong one is told.

use std::{
    fs,
    path::{Path, PathBuf},
};

#[path = "common/gltf.rs"]
mod gltf;

use glam::Vec3;
use gltf::{Gltf, SQUARE};
use raysieve::scene::{Framing, Scene, Surface};
use serde_json::json;

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("models")
        .join(test);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn load(path: &Path) -> Scene {
    Scene::load(path).unwrap_or_else(|error| panic!("{error}"))
}

fn message(path: &Path) -> String {
    let error = Scene::load(path).expect_err(&path.display().to_string());
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "not one line: {text:?}");
    let file = path.display().to_string();
    text.strip_prefix(&format!("{file}: "))
        .unwrap_or_else(|| panic!("{text} does not begin with {file}"))
        .to_owned()
}

/// What a model shows in the world, without the floor and the lamp that frame it.
fn triangles(scene: &Scene) -> Vec<[Vec3; 3]> {
    let own = scene.triangles.len() - framing_triangles(scene);
    scene.triangles[..own]
        .iter()
        .map(|triangle| triangle.vertices)
        .collect()
}

fn framing_triangles(scene: &Scene) -> usize {
    match scene.framing {
        Some(Framing::Around { .. }) => 4,
        _ => 0,
    }
}

fn assert_triangles(scene: &Scene, expected: &[[[f32; 3]; 3]]) {
    let found = triangles(scene);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        for (found, expected) in found.iter().zip(expected) {
            let apart = found.distance(Vec3::from_array(*expected));
            assert!(apart < 1e-5, "{found} is not {expected:?}");
        }
    }
}

impl Gltf {
    fn write(&self, test: &str) -> PathBuf {
        let path = folder(test).join("model.glb");
        fs::write(&path, self.glb()).unwrap();
        path
    }

    fn load(&self, test: &str) -> Scene {
        load(&self.write(test))
    }
}

const TRIANGLE: [[[f32; 3]; 3]; 1] = [[SQUARE[0], SQUARE[1], SQUARE[2]]];

#[test]
fn a_buffer_may_be_in_the_file_in_a_uri_or_beside_it() {
    let folder = folder("containers");
    let model = Gltf::triangle();
    assert_triangles(&model.load("containers"), &TRIANGLE);
    let with_uri = |uri: &str| {
        let mut json = model.json.clone();
        json["buffers"] = json!([{ "byteLength": model.binary.len(), "uri": uri }]);
        let path = folder.join("model.gltf");
        fs::write(&path, json.to_string()).unwrap();
        path
    };
    fs::write(folder.join("the data.bin"), &model.binary).unwrap();
    assert_triangles(&load(&with_uri("the%20data.bin")), &TRIANGLE);
    // The triangle's 36 bytes: 3f80 0000 is 1.0.
    let base64 = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA";
    let uri = format!("data:application/octet-stream;base64,{base64}");
    assert_triangles(&load(&with_uri(&uri)), &TRIANGLE);
    // What a stranger's model names outside of its folder is not opened.
    for (uri, problem) in [
        ("../data.bin", "without `..`"),
        ("sub/..%2f../data.bin", "without `..`"),
        ("..\\data.bin", "without `..`"),
        ("/etc/passwd", "without `..`"),
        ("file:///etc/passwd", "download it"),
        ("https://example.org/data.bin", "download it"),
        ("c:/data.bin", "download it"),
        ("nowhere.bin", "does not exist"),
        ("model.gltf", "is of no known type; expected a .bin"),
        ("", "which is no name"),
        ("%", "without its digits"),
        ("data:;base64,AAAA*AAA", "is no base64"),
        ("data:;base64", "no comma"),
        ("data:;base64,AAAA", "declares 36 bytes, and has 3"),
    ] {
        let found = message(&with_uri(uri));
        assert!(
            found.starts_with("buffer 0: ") && found.contains(problem),
            "{uri}: {found}"
        );
    }
}

#[test]
fn nodes_stand_where_their_parents_and_transforms_put_them() {
    let mut model = Gltf::triangle();
    let half = 0.5f32.sqrt();
    model.json["nodes"] = json!([
        { "translation": [10, 0, 0], "children": [1, 2] },
        // A quarter turn about z, then twice as large: (x, y) goes to (-2y, 2x).
        { "rotation": [0, 0, half, half], "scale": [2, 2, 2], "mesh": 0 },
        // Mirrored: the front stays in front.
        { "matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 5, 0, 1], "mesh": 0 },
    ]);
    assert_triangles(
        &model.load("nodes"),
        &[
            [[10.0, 0.0, 0.0], [10.0, 2.0, 0.0], [8.0, 0.0, 0.0]],
            [[10.0, 5.0, 0.0], [10.0, 6.0, 0.0], [9.0, 5.0, 0.0]],
        ],
    );
}

#[test]
fn strips_and_fans_turn_the_same_way() {
    let z = |[x, y, _]: [f32; 3]| -> [f32; 3] { [x, y, 0.0] };
    let [a, b, c, d] = SQUARE.map(z);
    for (mode, order, expected) in [
        (4, [0u8, 1, 2, 3], vec![[a, b, c]]),
        (5, [0, 1, 2, 3], vec![[a, b, c], [b, d, c]]),
        (6, [0, 1, 3, 2], vec![[a, b, d], [a, d, c]]),
    ] {
        let mut model = Gltf::new();
        let positions = model.floats("VEC3", &SQUARE);
        let indices = model.accessor(5121, "SCALAR", 4, &order);
        model.json["meshes"] = json!([{ "primitives": [
            { "attributes": { "POSITION": positions }, "indices": indices, "mode": mode }
        ] }]);
        let scene = model.load("strips");
        let mut found = triangles(&scene);
        // A triangle may begin with any of its corners.
        for triangle in &mut found {
            let first = (0..3).min_by_key(|&corner| {
                SQUARE
                    .iter()
                    .position(|&vertex| Vec3::from_array(vertex) == triangle[corner])
            });
            triangle.rotate_left(first.unwrap());
        }
        let expected: Vec<[Vec3; 3]> = expected
            .iter()
            .map(|triangle| triangle.map(Vec3::from_array))
            .collect();
        assert_eq!(found, expected, "mode {mode}");
    }
}

#[test]
fn numbers_may_be_normalised_strided_and_sparse() {
    let mut model = Gltf::new();
    // Signed 16-bit, normalised, with a gap after each vertex.
    let shorts = [[0, 0, 0, 9], [32767, 0, 0, 9], [0, -32768, 0, 9]];
    let bytes: Vec<u8> = shorts
        .iter()
        .flatten()
        .flat_map(|&number: &i16| number.to_le_bytes())
        .collect();
    let positions = model.accessor(5122, "VEC3", 3, &bytes);
    model.json["accessors"][positions]["normalized"] = json!(true);
    model.json["bufferViews"][0]["byteStride"] = json!(8);
    // Its last vertex is replaced.
    let place = model.view(&[2, 0]);
    let value: Vec<u8> = [0i16, 16384, 0]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let value = model.view(&value);
    model.json["accessors"][positions]["sparse"] = json!({
        "count": 1, "indices": { "bufferView": place, "componentType": 5123 }, "values": { "bufferView": value }
    });
    model.json["meshes"] = json!([{ "primitives": [{ "attributes": { "POSITION": positions } }] }]);
    let half = 16384.0 / 32767.0;
    assert_triangles(
        &model.load("numbers"),
        &[[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, half, 0.0]]],
    );
}

#[test]
fn morph_targets_and_skins_are_as_they_are_at_rest() {
    let mut model = Gltf::triangle();
    let moves = model.floats("VEC3", &[[0.0, 0.0, 2.0], [0.0; 3], [0.0; 3]]);
    model.primitive()["targets"] = json!([{ "POSITION": moves }]);
    model.json["meshes"][0]["weights"] = json!([0.5]);
    let lifted = [[[0.0, 0.0, 1.0], SQUARE[1], SQUARE[2]]];
    assert_triangles(&model.load("morph"), &lifted);

    let mut model = Gltf::triangle();
    let joints = model.accessor(5121, "VEC4", 3, &[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let halves = [0.5, 0.5, 0.0, 0.0];
    let whole = [1.0, 0.0, 0.0, 0.0];
    let weights = model.floats("VEC4", &[halves, whole, whole]);
    let bound = |x: f32| {
        let mut matrix = [0.0; 16];
        for place in [0, 5, 10, 15] {
            matrix[place] = 1.0;
        }
        matrix[12] = x;
        matrix
    };
    let matrices = model.floats("MAT4", &[bound(0.0), bound(-1.0)]);
    model.primitive()["attributes"]["JOINTS_0"] = json!(joints);
    model.primitive()["attributes"]["WEIGHTS_0"] = json!(weights);
    model.json["skins"] = json!([{ "joints": [1, 2], "inverseBindMatrices": matrices }]);
    // Where the skinned node itself stands does not matter.
    model.json["nodes"] = json!([
        { "mesh": 0, "skin": 0, "translation": [7, 7, 7] },
        { "translation": [0, 0, 4] },
        { "translation": [1, 2, 0] },
    ]);
    model.json["scenes"][0]["nodes"] = json!([0, 1, 2]);
    assert_triangles(
        &model.load("skin"),
        &[[[0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [0.0, 1.0, 4.0]]],
    );
}

#[test]
fn a_node_may_stand_in_many_places() {
    let mut model = Gltf::triangle();
    let places = model.floats("VEC3", &[[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]);
    let scales = model.floats("VEC3", &[[1.0; 3], [2.0; 3]]);
    model.json["extensionsRequired"] = json!(["EXT_mesh_gpu_instancing"]);
    model.json["nodes"][0]["extensions"] = json!({ "EXT_mesh_gpu_instancing": {
        "attributes": { "TRANSLATION": places, "SCALE": scales }
    } });
    assert_triangles(
        &model.load("instancing"),
        &[
            [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]],
            [[0.0, 0.0, 2.0], [2.0, 0.0, 2.0], [0.0, 2.0, 2.0]],
        ],
    );
}

#[test]
fn the_files_own_camera_is_taken() {
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
    // Whatever its width, its height shows the camera's angle.
    for size in [(1080, 540), (300, 600)] {
        scene.set_size(size);
        let width = (scene.camera.fov_degrees.to_radians() / 2.0).tan();
        let height = width * size.1 as f32 / size.0 as f32;
        assert!((height - 0.5f32.tan()).abs() < 1e-5, "{size:?}: {height}");
    }
}

/// Every vertex lies in the picture, and the model fills a good part of it.
#[test]
fn a_model_is_framed_in_a_picture_of_any_size() {
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
        let half_width = (camera.fov_degrees.to_radians() / 2.0).tan();
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
        assert!(reach > 0.3, "{size:?}: {reach}");
    }
}

#[test]
fn a_model_is_an_object_of_a_scene() {
    let folder = folder("object");
    let mut model = Gltf::triangle();
    model.json["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorFactor": [0.25, 0.5, 1, 1], "metallicFactor": 0 } }]);
    model.primitive()["material"] = json!(0);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let scene = |fields: &str| {
        let path = folder.join("scene.ron");
        let text = format!(
            "(camera: (origin: (0, 0, 9), target: (0, 0, 0), fov: 40), sky: (1, 1, 1),
             materials: {{ \"clay\": Diffuse(albedo: (0.5, 0.5, 0.5)) }},
             objects: [Model(file: \"model.glb\", {fields})])"
        );
        fs::write(&path, text).unwrap();
        Scene::load(&path)
    };
    let plain = scene("scale: 2, rotate: (0, 0, 90), translate: (0, 0, 1)").unwrap();
    assert_triangles(
        &plain,
        &[[[0.0, 0.0, 1.0], [0.0, 2.0, 1.0], [-2.0, 0.0, 1.0]]],
    );
    assert_eq!(plain.materials.len(), 2);
    let overridden = scene("material: \"clay\"").unwrap();
    assert_eq!(overridden.materials.len(), 1);
    let problem = scene("material: \"clai\"").unwrap_err().to_string();
    assert!(problem.contains("did you mean `clay`?"), "{problem}");
    fs::write(folder.join("model.glb"), b"glTF").unwrap();
    let problem = scene("").unwrap_err().to_string();
    assert!(
        problem.contains("object 1 (Model): ") && problem.contains("model.glb: is no GLB file"),
        "{problem}"
    );
}

#[test]
fn wrong_models_are_told_what_is_wrong_and_where() {
    type Change = fn(&mut Gltf);
    let cases: [(&str, Change, &str); 35] = [
        (
            "no accessor",
            |m| m.primitive()["attributes"]["POSITION"] = json!(7),
            "node 0: mesh 0, primitive 0: there is no accessor 7",
        ),
        (
            "no view",
            |m| m.json["accessors"][0]["bufferView"] = json!(3),
            "accessor 0: there is no bufferView 3",
        ),
        (
            "no buffer",
            |m| m.json["bufferViews"][0]["buffer"] = json!(1),
            "bufferView 0: there is no buffer 1",
        ),
        (
            "no mesh",
            |m| m.json["nodes"][0]["mesh"] = json!(1),
            "node 0: there is no mesh 1",
        ),
        (
            "no node",
            |m| m.json["scenes"][0]["nodes"] = json!([4]),
            "there is no node 4",
        ),
        (
            "no scene",
            |m| m.json["scene"] = json!(1),
            "there is no scene 1",
        ),
        (
            "no material",
            |m| m.primitive()["material"] = json!(0),
            "node 0: there is no material 0",
        ),
        (
            "no camera",
            |m| m.json["nodes"][0]["camera"] = json!(0),
            "node 0: there is no camera 0",
        ),
        (
            "no skin",
            |m| m.json["nodes"][0]["skin"] = json!(0),
            "node 0: there is no skin 0",
        ),
        (
            "view too long",
            |m| m.json["bufferViews"][0]["byteLength"] = json!(37),
            "bufferView 0: shows 37 bytes from byte 0 on, but buffer 0 has 36",
        ),
        (
            "view beyond",
            |m| m.json["bufferViews"][0]["byteOffset"] = json!(u64::MAX),
            "bufferView 0: shows 36 bytes from byte 18446744073709551615 on",
        ),
        (
            "too many vertices",
            |m| m.json["accessors"][0]["count"] = json!(1_000_000_000),
            "accessor 0: declares 1000000000 elements of 12 bytes from byte 0 on, but its bufferView has 36 bytes",
        ),
        (
            "far too many",
            |m| m.json["accessors"][0]["count"] = json!(u64::MAX),
            "accessor 0: declares 18446744073709551615 elements",
        ),
        (
            "vertices without bytes",
            |m| {
                m.json["accessors"][0]
                    .as_object_mut()
                    .unwrap()
                    .remove("bufferView");
                m.json["accessors"][0]["count"] = json!(1_000_000_000);
            },
            "accessor 0: declares 1000000000 elements that are not stored",
        ),
        (
            "offset",
            |m| m.json["accessors"][0]["byteOffset"] = json!(4),
            "accessor 0: declares 3 elements of 12 bytes from byte 4 on",
        ),
        (
            "stride",
            |m| m.json["bufferViews"][0]["byteStride"] = json!(4),
            "accessor 0: has elements of 12 bytes in a bufferView of stride 4",
        ),
        (
            "kind",
            |m| m.json["accessors"][0]["type"] = json!("VEC2"),
            "accessor 0: has 2 numbers an element, expected 3",
        ),
        (
            "unknown kind",
            |m| m.json["accessors"][0]["type"] = json!("VEC5"),
            "accessor 0: has no known type",
        ),
        (
            "unknown component",
            |m| m.json["accessors"][0]["componentType"] = json!(1),
            "node 0: mesh 0, primitive 0: accessor 0: has no known componentType",
        ),
        (
            "unknown mode",
            |m| m.primitive()["mode"] = json!(9),
            "has no known mode",
        ),
        (
            "index",
            |m| {
                let indices = m.accessor(5121, "SCALAR", 3, &[0, 1, 3]);
                m.primitive()["indices"] = json!(indices);
            },
            "its indices name vertex 3, but there are 3 vertices",
        ),
        (
            "float indices",
            |m| m.primitive()["indices"] = json!(0),
            "accessor 0: has a componentType that is no unsigned integer",
        ),
        (
            "count of normals",
            |m| {
                let normals = m.floats("VEC3", &[[0.0, 0.0, 1.0]; 2]);
                m.primitive()["attributes"]["NORMAL"] = json!(normals);
            },
            "accessor 1 has 2 elements for NORMAL, but there are 3 vertices",
        ),
        (
            "NaN",
            |m| m.binary[16..20].copy_from_slice(&f32::NAN.to_le_bytes()),
            "node 0: mesh 0, primitive 0: vertex 1 is [1, NaN, 0], expected finite numbers",
        ),
        (
            "infinity in a node",
            |m| m.json["nodes"][0]["translation"] = json!([0, 1e300, 0]),
            "node 0: its transform is not finite",
        ),
        (
            "rotation",
            |m| m.json["nodes"][0]["rotation"] = json!([0, 0, 0, 0]),
            "node 0: its rotation is no quaternion",
        ),
        (
            "far away",
            |m| m.json["nodes"][0]["translation"] = json!([0, 1e9, 0]),
            "a vertex comes to lie at [0, 1000000000, 0], expected metres within 1e8 of 0",
        ),
        (
            "its own child",
            |m| m.json["nodes"] = json!([{ "children": [1] }, { "children": [0] }]),
            "node 0 is reached twice: each node has one parent, and none is below itself",
        ),
        (
            "two parents",
            |m| m.json["nodes"] = json!([{ "children": [1, 2] }, { "children": [2] }, {}]),
            "node 2 is reached twice",
        ),
        (
            "sparse",
            |m| {
                let place = m.view(&[3]);
                let value = m.view(&[0; 12]);
                m.json["accessors"][0]["sparse"] = json!({ "count": 1, "values": { "bufferView": value },
                "indices": { "bufferView": place, "componentType": 5121 } });
            },
            "accessor 0: has a sparse value for element 3 of 3",
        ),
        (
            "joint",
            |m| {
                let joints = m.accessor(5121, "VEC4", 3, &[5; 12]);
                let weights = m.floats("VEC4", &[[1.0; 4]; 3]);
                m.primitive()["attributes"]["JOINTS_0"] = json!(joints);
                m.primitive()["attributes"]["WEIGHTS_0"] = json!(weights);
                m.json["skins"] = json!([{ "joints": [0] }]);
                m.json["nodes"][0]["skin"] = json!(0);
            },
            "vertex 0 names joint 5, but there are 1",
        ),
        (
            "required",
            |m| m.json["extensionsRequired"] = json!(["KHR_materials_unlit", "XX_teapots"]),
            "cannot be shown without XX_teapots, which raysieve does not know",
        ),
        (
            "version",
            |m| m.json["asset"]["version"] = json!("1.0"),
            "is glTF 1.0, expected 2.0",
        ),
        (
            "nothing",
            |m| m.json["nodes"] = json!([{}]),
            "has no triangles that can be shown",
        ),
        (
            "meshopt",
            |m| {
                m.json["bufferViews"][0]["extensions"] = json!({ "EXT_meshopt_compression": {
            "buffer": 0, "byteLength": 36, "byteStride": 16, "count": 1_000_000_000, "mode": "ATTRIBUTES" } })
            },
            "bufferView 0: its EXT_meshopt_compression declares 16000000000 bytes, which 36 compressed ones cannot hold",
        ),
    ];
    for (name, change, problem) in cases {
        let mut model = Gltf::triangle();
        change(&mut model);
        let found = message(&model.write("wrong"));
        assert!(found.contains(problem), "{name}: {found}");
    }
}

#[test]
fn a_cut_off_file_is_refused_wherever_it_ends() {
    let folder = folder("cut");
    let whole = Gltf::triangle().glb();
    let path = folder.join("model.glb");
    for end in 0..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        message(&path);
    }
    let text = Gltf::triangle().json.to_string();
    let path = folder.join("model.gltf");
    for end in 0..text.len() {
        fs::write(&path, &text[..end]).unwrap();
        message(&path);
    }
}

#[test]
fn what_is_not_shown_is_told_once() {
    let mut model = Gltf::triangle();
    model.json["extensionsUsed"] = json!(["KHR_materials_unlit", "XX_teapots"]);
    let colors = model.floats("VEC3", &[[0.5; 3]; 3]);
    model.primitive()["attributes"]["COLOR_0"] = json!(colors);
    let lines = model.json["meshes"][0]["primitives"][0].clone();
    for mode in [1, 1] {
        let mut lines = lines.clone();
        lines["mode"] = json!(mode);
        let primitives = model.json["meshes"][0]["primitives"]
            .as_array_mut()
            .unwrap();
        primitives.push(lines);
    }
    let path = model.write("notes");
    let scene = load(&path);
    let file = path.display().to_string();
    let notes: Vec<&str> = scene
        .notes
        .iter()
        .map(|note| note.strip_prefix(&file).unwrap())
        .collect();
    assert_eq!(
        notes,
        [
            ": not shown: XX_teapots",
            ": not shown: the colors of vertices",
            ": not shown: points and lines"
        ]
    );
}

#[test]
fn an_obj_file_brings_its_materials() {
    let folder = folder("obj");
    fs::write(
        folder.join("paint.mtl"),
        "newmtl red\nKd 0.5 0.1 0.1\nillum 2\nnewmtl lamp\nKe 3 2 1\nnewmtl glass\nNi 1.4\nillum 7\n",
    )
    .unwrap();
    let text = "mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nusemtl red\nf 1 2 3 4\n\
                usemtl lamp\nf -4 -3 -2\nusemtl glass\nf 1 2 3\nusemtl nothing\nf 1 2 3\n";
    let path = folder.join("model.obj");
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    assert_eq!(triangles(&scene).len(), 5);
    let of = |place: usize| scene.materials[scene.triangles[place].material as usize];
    let albedo = Vec3::new(0.5, 0.1, 0.1);
    assert!(matches!(of(0), Surface::Diffuse { albedo: found, .. } if found == albedo));
    assert_eq!(of(2).radiance(), Vec3::new(3.0, 2.0, 1.0));
    assert_eq!(of(3), Surface::Dielectric { ior: 1.4 });
    assert!(
        scene.notes[0]
            .ends_with("shown grey: faces of the materials nothing, which no library has")
    );
    for (line, problem) in [
        (
            "mtllib ../paint.mtl",
            "line 1: names the file `../paint.mtl`, expected one in the model's folder",
        ),
        (
            "mtllib /etc/passwd.mtl",
            "expected one in the model's folder",
        ),
        (
            "mtllib model.obj",
            "is of no known type; expected a .mtl file",
        ),
        (
            "f 1 2 3",
            "line 1: a face names vertex 1, but there are 0 vertices before it",
        ),
        (
            "v 0 0 nan",
            "line 1: vertex 1 is [0, 0, NaN], expected finite numbers",
        ),
        (
            "v 0 0 0\nf 1/2 1 1",
            "line 2: a face names texture coordinate 2, but there are 0 texture coordinates before it",
        ),
        (
            "v 0 0 0\nf 1//x 1 1",
            "line 2: found `x`, expected the number of a normal",
        ),
        (
            "v 0 0 0\nf 1 1",
            "line 2: face 1 has 2 corners, expected 3 or more",
        ),
        ("v 0 0 0", "has no faces"),
        ("v 0 0 0\nf 1 1 1", "has no triangle with an area"),
    ] {
        fs::write(&path, line).unwrap();
        let found = message(&path);
        assert!(found.contains(problem), "{line}: {found}");
    }
    fs::write(folder.join("paint.mtl"), "newmtl a\nKd red").unwrap();
    fs::write(&path, "mtllib paint.mtl").unwrap();
    assert!(
        message(&path).ends_with("paint.mtl: line 2: found `Kd red`, expected a color `r g b`")
    );
}

/// Encoded by the reference encoders of Draco and meshopt: `tests/models/make.mjs`.
#[test]
fn compressed_meshes_are_those_that_were_compressed() {
    let plain = triangles(&load(Path::new("tests/models/strip.glb")));
    assert_eq!(plain.len(), 288);
    for name in ["draco", "draco_sequential", "meshopt"] {
        let mut found = triangles(&load(Path::new(&format!("tests/models/strip_{name}.glb"))));
        assert_eq!(found.len(), plain.len(), "{name}");
        for triangle in &plain {
            // Quantised to 14 bits, and begun with any corner.
            let near = |other: &[Vec3; 3]| {
                (0..3).any(|first| {
                    (0..3)
                        .all(|corner| other[(first + corner) % 3].distance(triangle[corner]) < 2e-4)
                })
            };
            let place = found.iter().position(near);
            found.swap_remove(place.unwrap_or_else(|| panic!("{name}: {triangle:?} is missing")));
        }
    }
}

#[test]
fn a_ply_file_is_a_model_in_each_of_its_encodings() {
    let expected = {
        let scene = load(Path::new("tests/meshes/pyramid.obj"));
        triangles(&scene)
    };
    for encoding in ["ascii", "little", "big"] {
        let scene = load(Path::new(&format!("tests/meshes/pyramid_{encoding}.ply")));
        assert_eq!(triangles(&scene).len(), expected.len(), "{encoding}");
    }
}
