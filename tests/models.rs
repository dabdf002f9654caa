//! Models as people have them: what a glTF, OBJ or PLY file shows, alone and in a scene, and what a wrong one is told.

use std::{
    fs,
    path::{Path, PathBuf},
};

#[path = "common/gltf.rs"]
mod gltf;

use glam::Vec3;
use gltf::{Gltf, SQUARE};
use raysieve::{
    instance::placed_surface,
    path::{Hit, Ray},
    primitive,
    scene::{Channel, Image, Light, Parameter, Projection, Scene, Surface, Texels},
    texture::{sample_texture, srgb_value},
    world::World,
};
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

/// What a model shows in the world.
fn triangles(scene: &Scene) -> Vec<[Vec3; 3]> {
    let flat = scene.triangles.iter().map(|triangle| triangle.vertices);
    let placed = scene.instances.iter().flat_map(|instance| {
        let [x, y, z] = instance.axes;
        let mesh = &scene.meshes[instance.mesh as usize];
        let mirrors = x.cross(y).dot(z) < 0.0;
        mesh.triangles.iter().map(move |triangle| {
            let [a, b, c] = triangle.map(|vertex| {
                let p = mesh.positions[vertex as usize];
                x * p.x + y * p.y + z * p.z + instance.position
            });
            if mirrors { [a, c, b] } else { [a, b, c] }
        })
    });
    flat.chain(placed).collect()
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
    let marked = format!(
        "\u{feff}{}",
        fs::read_to_string(folder.join("model.gltf")).unwrap()
    );
    fs::write(folder.join("model.gltf"), marked).unwrap();
    assert_triangles(&load(&folder.join("model.gltf")), &TRIANGLE);
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
fn anything_may_stand_in_extras() {
    for extras in [
        json!({ "a": [1] }),
        json!([1, 2]),
        json!(3),
        json!("x"),
        json!(null),
    ] {
        let mut model = Gltf::triangle();
        for place in [
            "",
            "/asset",
            "/nodes/0",
            "/meshes/0",
            "/meshes/0/primitives/0",
        ] {
            model.json.pointer_mut(place).unwrap()["extras"] = extras.clone();
        }
        assert_eq!(triangles(&model.load("extras")).len(), 1, "{extras}");
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

/// As shadows and labels are: scaled to nothing along one axis. What is scaled to a line or a point is hidden.
#[test]
fn what_is_scaled_to_a_plane_is_shown_as_one() {
    let mut model = Gltf::triangle();
    model.json["scenes"] = json!([{ "nodes": [0, 1, 2, 3] }]);
    model.json["nodes"] = json!([
        { "mesh": 0, "scale": [2, 3, 0], "translation": [0, 0, 5] },
        { "mesh": 0, "scale": [1, 0, 0] },
        { "mesh": 0, "scale": [0, 0, 0] },
        { "children": [4], "scale": [1, 0, 1] },
        { "mesh": 0, "rotation": [0.5, 0, 0, 0.75f64.sqrt()] },
    ]);
    // Turned by 60° about x, and what is left of that on the ground.
    let half = 0.75f32.sqrt();
    let found = model.load("planes");
    assert_triangles(
        &found,
        &[
            [[0.0, 0.0, 5.0], [2.0, 0.0, 5.0], [0.0, 3.0, 5.0]],
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, half]],
        ],
    );
    // With a texture too, which needs its coordinates.
    textured(&mut model, json!({ "index": 0 }));
    let uvs = model.floats("VEC2", &[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    model.primitive()["attributes"]["TEXCOORD_0"] = json!(uvs);
    let scene = model.load("planes");
    assert_eq!(triangles(&scene), triangles(&found));
    assert!(
        scene.meshes.iter().all(|mesh| mesh.uvs.len() == 3),
        "{:?}",
        scene.meshes
    );
}

#[test]
fn a_matrix_that_is_no_transform_is_told_once() {
    let mut model = Gltf::triangle();
    let with_row = |row: [f32; 4]| {
        let mut matrix = [0.0; 16];
        for axis in 0..4 {
            matrix[5 * axis] = 1.0;
            matrix[4 * axis + 3] = row[axis];
        }
        json!({ "mesh": 0, "matrix": matrix })
    };
    model.json["scenes"] = json!([{ "nodes": [0, 1] }]);
    for (row, note) in [
        ([0.0, 0.0, 0.0, 1.0], None),
        ([1e-6, 0.0, 0.0, 0.999_999], None),
        (
            [0.0, 0.0, 0.5, 1.0],
            Some(
                "not used: the last row of a matrix, [0.0, 0.0, 0.5, 1.0] of node 0, expected [0, 0, 0, 1]",
            ),
        ),
    ] {
        model.json["nodes"] = json!([with_row(row), with_row(row)]);
        let scene = model.load("rows");
        assert_triangles(&scene, &[TRIANGLE[0]; 2]);
        let notes: Vec<&String> = scene.notes.iter().collect();
        assert_eq!(notes.len(), usize::from(note.is_some()), "{notes:?}");
        assert!(
            notes.iter().all(|found| found.ends_with(note.unwrap())),
            "{notes:?}"
        );
    }
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
        let width = tan_half_width(&scene);
        let height = width * size.1 as f32 / size.0 as f32;
        assert!((height - 0.5f32.tan()).abs() < 1e-5, "{size:?}: {height}");
    }
}

/// Of half the angle of view.
fn tan_half_width(scene: &Scene) -> f32 {
    let Projection::Perspective { fov_degrees } = scene.camera.projection else {
        panic!("{:?}", scene.camera);
    };
    (fov_degrees.to_radians() / 2.0).tan()
}

#[test]
fn the_files_own_camera_may_be_orthographic() {
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
    let cases: [(&str, Change, &str); 48] = [
        (
            "a flat camera",
            |m| {
                m.json["cameras"] = json!([{ "type": "orthographic",
                    "orthographic": { "xmag": 1.0, "ymag": 0.0, "znear": 0.1, "zfar": 100.0 } }]);
                m.json["nodes"][0]["camera"] = json!(0);
            },
            "node 0: camera 0 has a ymag of 0, expected metres above 0 and up to 1e8",
        ),
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
            "no texture",
            |m| textured(m, json!({ "index": 5 })),
            "material 0: baseColorTexture: there is no texture 5",
        ),
        (
            "no image",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["textures"] = json!([{ "source": 3 }]);
            },
            "material 0: baseColorTexture: texture 0: there is no image 3",
        ),
        (
            "no sampler",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["textures"] = json!([{ "source": 0, "sampler": 2 }]);
            },
            "material 0: baseColorTexture: there is no sampler 2",
        ),
        (
            "no file",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["images"] = json!([{ "uri": "nowhere.png" }]);
            },
            "image 0: ",
        ),
        (
            "a file elsewhere",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["images"] = json!([{ "uri": "../secret.png" }]);
            },
            "image 0: names the file `../secret.png`, expected one in the model's folder",
        ),
        (
            "an image of nothing",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["images"] = json!([{}]);
            },
            "image 0: has neither a bufferView nor a uri",
        ),
        (
            "no image at all",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["images"] = json!([{ "bufferView": 0 }]);
            },
            "image 0: is no image of a known kind; expected PNG, JPEG, WebP, BMP, TGA, HDR, EXR or KTX2",
        ),
        (
            "transform",
            |m| {
                let transform = json!({ "KHR_texture_transform": { "scale": [1e9, 1] } });
                textured(m, json!({ "index": 0, "extensions": transform }));
            },
            "material 0: baseColorTexture: its KHR_texture_transform is not within 1e8 of 0",
        ),
        (
            "index of refraction",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["materials"][0]["extensions"] =
                    json!({ "KHR_materials_ior": { "ior": 0.5 } });
            },
            "material 0: ior is 0.5, expected a number from 1 to 10",
        ),
        (
            "coat",
            |m| {
                textured(m, json!({ "index": 0 }));
                m.json["materials"][0]["extensions"] =
                    json!({ "KHR_materials_clearcoat": { "clearcoatTexture": 1 } });
            },
            "material 0: clearcoatTexture: ",
        ),
        (
            "no light",
            |m| m.json["nodes"][0]["extensions"] = json!({ "KHR_lights_punctual": { "light": 0 } }),
            "node 0: there is no light 0",
        ),
        (
            "cone",
            |m| {
                m.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
                    { "type": "spot", "spot": { "innerConeAngle": 0.5, "outerConeAngle": 0.25 } }
                ] } });
                m.json["nodes"][0]["extensions"] = json!({ "KHR_lights_punctual": { "light": 0 } });
            },
            "node 0: light 0: its cone is from 0.5 to 0.25",
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
    model.json["animations"] = json!([{ "channels": [], "samplers": [] }]);
    model.json["scenes"] = json!([{ "nodes": [0] }, { "nodes": [] }]);
    model.json["cameras"] =
        json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }]);
    model.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
        { "type": "point", "range": 3 }
    ] } });
    let light = json!({ "KHR_lights_punctual": { "light": 0 } });
    model.json["nodes"] = json!([
        { "mesh": 0, "children": [1, 2] },
        { "camera": 0, "extensions": light },
        { "camera": 0, "extensions": light },
    ]);
    textured(&mut model, json!({ "index": 0 }));
    let colors = model.floats("VEC3", &[[0.5; 3], [0.5; 3], [1.0; 3]]);
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
            ": shown at rest: its animation does not play",
            ": shown is scene 0 of 2, counted from 0",
            ": not shown: the colors of vertices that have textures too",
            ": not shown: points and lines",
            ": not used: the range of lights; they reach as far as light does",
            ": seen by the first of its cameras",
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
    assert_eq!(
        of(3),
        Surface::Dielectric {
            ior: 1.4,
            absorption: Vec3::ZERO
        }
    );
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

/// An image of 8 × 8 texels, no two alike.
fn pixels(folder: &Path, name: &str, seed: u32) -> Vec<u8> {
    let image = image::RgbaImage::from_fn(8, 8, |x, y| {
        let [r, g, b, _] = (x * 0x01f3_5a11 + y * 0x2b10_3717 + seed).to_le_bytes();
        image::Rgba([r, g, b, 255])
    });
    let path = folder.join(name);
    image.save(&path).unwrap();
    fs::read(path).unwrap()
}

/// Gives the triangle a material with this base colour texture, of an image that is there.
fn textured(model: &mut Gltf, info: serde_json::Value) {
    let view = model.view(&pixels(&folder("textured"), "texels.png", 7));
    model.json["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    model.json["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorTexture": info } }]);
    model.primitive()["material"] = json!(0);
}

/// A square as a `Quad` makes it, with texture coordinates.
fn square() -> Gltf {
    let mut model = Gltf::new();
    let [a, b, d, c] = SQUARE;
    let positions = model.floats("VEC3", &[a, b, c, d]);
    let uvs = model.floats("VEC2", &[[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]);
    let indices = model.accessor(5121, "SCALAR", 6, &[0, 1, 2, 0, 2, 3]);
    model.json["meshes"] = json!([{ "primitives": [{
        "attributes": { "POSITION": positions, "TEXCOORD_0": uvs }, "indices": indices, "material": 0
    }] }]);
    model
}

/// A scene of these fields besides a camera and a sky.
fn scene_of(folder: &Path, fields: &str) -> Scene {
    let path = folder.join("scene.ron");
    let text = format!(
        "(camera: (origin: (0, 0, 9), target: (0, 0, 0), fov: 40), sky: (1, 1, 1), {fields})"
    );
    fs::write(&path, text).unwrap();
    load(&path)
}

/// Every texture of every extension, as a scene would write it.
#[test]
fn a_gltf_material_is_the_principled_one_that_it_says() {
    let folder = folder("materials");
    let names = ["a.png", "b.png", "c.png", "d.png"];
    let images = [1, 2, 3, 4].map(|seed| pixels(&folder, names[seed as usize - 1], seed));
    let mut model = square();
    // In the file, beside it, in its JSON, and again beside it.
    let view = model.view(&images[0]);
    use base64::Engine;
    let base64 = base64::engine::general_purpose::STANDARD.encode(&images[2]);
    model.json["images"] = json!([
        { "bufferView": view, "mimeType": "image/png" },
        { "uri": "b.png" },
        { "uri": format!("data:image/png;base64,{base64}") },
        { "uri": "d.png" },
    ]);
    model.json["samplers"] = json!([
        { "wrapS": 33071, "wrapT": 33648, "magFilter": 9728 },
        { "minFilter": 9728 },
    ]);
    model.json["textures"] = json!([
        { "source": 0, "sampler": 0 }, { "source": 1 }, { "source": 2, "sampler": 1 },
        { "extensions": { "EXT_texture_webp": { "source": 3 } } },
    ]);
    let transform = json!({ "KHR_texture_transform": { "offset": [0.25, 0.5], "scale": [2, 3], "rotation": 0 } });
    model.json["materials"] = json!([{
        "pbrMetallicRoughness": {
            "baseColorFactor": [0.5, 0.25, 1, 1], "metallicFactor": 0.75, "roughnessFactor": 0.5,
            "baseColorTexture": { "index": 0, "extensions": transform },
            "metallicRoughnessTexture": { "index": 1 },
        },
        "normalTexture": { "index": 2, "scale": 0.5, "extensions": transform },
        "occlusionTexture": { "index": 1 },
        "emissiveTexture": { "index": 3 }, "emissiveFactor": [1, 0.5, 0.25],
        "extensions": {
            "KHR_materials_emissive_strength": { "emissiveStrength": 4 },
            "KHR_materials_ior": { "ior": 1.25 },
            "KHR_materials_transmission": { "transmissionFactor": 0.5, "transmissionTexture": { "index": 2 } },
            "KHR_materials_volume": { "thicknessFactor": 1 },
            "KHR_materials_clearcoat": {
                "clearcoatFactor": 0.5, "clearcoatTexture": { "index": 1 },
                "clearcoatRoughnessFactor": 0.25, "clearcoatRoughnessTexture": { "index": 2 },
                "clearcoatNormalTexture": { "index": 1, "scale": 0.25 }
            },
            "KHR_materials_specular": {
                "specularFactor": 0.75, "specularTexture": { "index": 3 },
                "specularColorFactor": [2, 1, 0.5], "specularColorTexture": { "index": 1 }
            },
        },
    }]);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    assert_eq!(found.notes, [""; 0]);
    let lie = "scale: (2, 3), offset: (0.25, 0.5)";
    let expected = scene_of(
        &folder,
        &format!(
            r#"materials: {{ "all": Principled(
                base_color: Texture(file: "a.png", factor: (0.5, 0.25, 1), {lie}, wrap: (Clamp, Mirror), filter: Nearest),
                metallic: Texture(file: "b.png", factor: 0.75, channel: Blue),
                roughness: Texture(file: "b.png", factor: 0.5, channel: Green),
                normal: Texture(file: "c.png", factor: 0.5, {lie}),
                emission: Texture(file: "d.png", factor: (4, 2, 1)),
                ior: 1.25,
                transmission: Texture(file: "c.png", factor: 0.5, channel: Red),
                clearcoat: Texture(file: "b.png", factor: 0.5, channel: Red),
                clearcoat_roughness: Texture(file: "c.png", factor: 0.25, channel: Green),
                clearcoat_normal: Texture(file: "b.png", factor: 0.25),
                specular: Texture(file: "d.png", factor: 0.75, channel: Alpha),
                specular_color: Texture(file: "b.png", factor: (2, 1, 0.5)),
            ) }},
            objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "all")]"#
        ),
    );
    assert_eq!(found.images.len(), expected.images.len());
    assert_eq!(found.hash(), expected.hash());
    // Where a coat has no normals of its own, those of the surface do not bend it.
    let coat = &mut model.json["materials"][0]["extensions"]["KHR_materials_clearcoat"];
    coat.as_object_mut()
        .unwrap()
        .remove("clearcoatNormalTexture");
    model.json["materials"][0]["doubleSided"] = json!(true);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    let textures = &found.maps[&0].textures;
    assert_eq!(
        textures[&Parameter::ClearcoatNormal].texture,
        textures[&Parameter::Normal].texture
    );
    assert_eq!((found.maps[&0].bend, found.maps[&0].coat_bend), (0.5, 0.0));
    // A surface with two sides shines on both.
    let shines = |scene: &Scene| match scene.materials[0] {
        Surface::Principled(all) => all.both_sides,
        _ => false,
    };
    assert!(shines(&found) && !shines(&expected));
    // Of an unlit surface nothing counts but its base colour.
    model.json["materials"][0]["extensions"]["KHR_materials_unlit"] = json!({});
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    let expected = scene_of(
        &folder,
        &format!(
            r#"materials: {{ "all": Emissive(
                radiance: Texture(file: "a.png", factor: (0.5, 0.25, 1), {lie}, wrap: (Clamp, Mirror), filter: Nearest),
                both_sides: true,
            ) }},
            objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "all")]"#
        ),
    );
    // A map that is not there does not bend.
    assert!(found.images.len() == 1 && found.maps[&0] == expected.maps[&0]);
    assert_eq!(found.hash(), expected.hash());
}

/// What the renderer sees of every triangle of a scene's instances before z = 50, at a point of it: where it is, its normals,
/// the directions of its texture coordinates and these.
fn surfaces(scene: &Scene) -> Vec<(u32, [Vec3; 5], [f32; 2])> {
    let world = World::new(scene).unwrap();
    let mut surfaces = Vec::new();
    for (placed, instance) in world.instances.iter().zip(&scene.instances) {
        let mesh = &scene.meshes[instance.mesh as usize];
        let first = world.nodes[placed.root as usize].primitive_base;
        for position in first..first + mesh.triangles.len() as u32 {
            let triangle = &world.primitives[position as usize];
            let (distance, primitive) = (1.0, position);
            let hit = Hit {
                distance,
                primitive,
                u: 0.25,
                v: 0.25,
            };
            let ray = Ray {
                direction: Vec3::new(0.3, 0.2, -0.9),
                ..Ray::default()
            };
            let at = placed_surface(
                placed,
                &world.corners,
                &world.vertices,
                triangle,
                &ray,
                &hit,
            );
            let up = at.shading.cross(at.tangent) * at.handedness;
            let vectors = [at.point, at.normal, at.shading, at.tangent, up];
            surfaces.push((at.material, vectors, [at.u, at.v]));
        }
    }
    surfaces.retain(|(_, vectors, _)| vectors[0].z < 50.0);
    surfaces.sort_by(|a, b| {
        let [a, b] = [a, b].map(|(_, vectors, _)| vectors[0].to_array());
        a.partial_cmp(&b).unwrap()
    });
    surfaces
}

/// Of some with tangents, some without; turned, stretched, mirrored.
#[test]
fn many_meshes_with_a_place_each_are_one() {
    let mut model = square();
    let normals: [Vec3; 4] = std::array::from_fn(|corner| {
        let [x, y] = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]][corner];
        Vec3::new(0.3 * x, 0.3 * y, 1.0).normalize()
    });
    let normals = model.floats("VEC3", &normals.map(|normal| normal.to_array()));
    model.primitive()["attributes"]["NORMAL"] = json!(normals);
    let view = model.view(&pixels(&folder("gathered"), "texels.png", 7));
    model.json["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    let texture = json!({ "index": 0 });
    let plain = json!({ "pbrMetallicRoughness": { "baseColorTexture": texture } });
    let bent = json!({ "pbrMetallicRoughness": { "baseColorTexture": texture }, "normalTexture": texture });
    let shining = json!({ "emissiveFactor": [1, 1, 1], "emissiveTexture": texture });
    let count = 11;
    let mut materials: Vec<_> = (0..count - 1)
        .map(|number| if number % 2 == 0 { &plain } else { &bent }.clone())
        .collect();
    materials.push(shining);
    model.json["materials"] = json!(materials);
    let mesh = model.json["meshes"][0].clone();
    let (mut meshes, mut nodes) = (Vec::new(), Vec::new());
    for number in 0..count {
        let mut mesh = mesh.clone();
        // Else they were one mesh in many places.
        let [a, b, d, c] = SQUARE;
        let positions = model.floats("VEC3", &[a, b, c, d]);
        mesh["primitives"][0]["attributes"]["POSITION"] = json!(positions);
        mesh["primitives"][0]["material"] = json!(number);
        meshes.push(mesh);
        let side = if number % 3 == 0 { -1.0 } else { 1.0 };
        nodes.push(
            json!({ "mesh": number, "translation": [number, 0.5, -1], "scale": [0.5 * side, 1, 2],
            "rotation": [0.1 * f64::from(number), 0.3, 0.2, 0.9] }),
        );
    }
    model.json["meshes"] = json!(meshes);
    model.json["scenes"] = json!([{ "nodes": (0..count).collect::<Vec<_>>() }]);
    model.json["nodes"] = json!(nodes);
    let gathered = model.load("gathered");
    // Those with tangents, those without, and the lamp.
    assert_eq!((gathered.meshes.len(), gathered.instances.len()), (3, 3));
    // In two places each they stay apart.
    for number in 0..count {
        nodes.push(json!({ "mesh": number, "translation": [0, 0, 100] }));
    }
    model.json["scenes"] = json!([{ "nodes": (0..2 * count).collect::<Vec<_>>() }]);
    model.json["nodes"] = json!(nodes);
    let apart = model.load("apart");
    assert_eq!(apart.meshes.len(), 11);
    let (found, expected) = (surfaces(&gathered), surfaces(&apart));
    assert_eq!((found.len(), expected.len()), (22, 22));
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.0, expected.0);
        for (found, expected) in found.1.iter().zip(expected.1) {
            assert!(
                found.distance(expected) < 2e-5,
                "{found}, expected {expected}"
            );
        }
        assert_eq!(found.2, expected.2);
    }
}

/// Of two textures each lies by its own coordinates, and normal maps by those of the tangents.
#[test]
fn textures_of_a_material_lie_by_two_sets_of_coordinates() {
    let folder = folder("sets");
    fs::write(folder.join("a.png"), pixels(&folder, "a.png", 1)).unwrap();
    let mut model = square();
    let other = [[0.5, 0.25], [0.0, 0.25], [0.0, 0.75], [0.5, 0.75]];
    let second = model.floats("VEC2", &other);
    model.primitive()["attributes"]["TEXCOORD_1"] = json!(second);
    model.json["images"] = json!([{ "uri": "a.png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    let by_second = json!({ "index": 0, "texCoord": 1 });
    model.json["materials"] = json!([{
        "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 }, "metallicRoughnessTexture": by_second },
        "alphaMode": "MASK",
    }]);
    let load = |model: &Gltf| {
        fs::write(folder.join("model.gltf"), model.text()).unwrap();
        load(&folder.join("model.gltf"))
    };
    let lies_by_second = |scene: &Scene, parameter| {
        let map = scene.maps[&0].textures[&parameter];
        scene.textures[map.texture as usize].second
    };
    let scene = load(&model);
    assert_eq!(scene.notes, [""; 0]);
    assert_eq!(scene.meshes[0].second_uvs, other);
    let expected = [(Parameter::Color, false), (Parameter::Roughness, true)];
    for (parameter, second) in expected {
        assert_eq!(lies_by_second(&scene, parameter), second, "{parameter:?}");
    }
    // The renderer looks each up where it lies.
    let world = World::new(&scene).unwrap();
    let placed = &world.instances[0];
    for (u, v) in [(0.2, 0.1), (0.5, 0.4), (0.0, 1.0)] {
        let position = (0..)
            .find(|&at: &u32| world.primitives[at as usize].kind == primitive::TRIANGLE)
            .unwrap();
        let hit = Hit {
            distance: 1.0,
            primitive: position,
            u,
            v,
        };
        let ray = Ray {
            direction: Vec3::NEG_Z,
            ..Ray::default()
        };
        let triangle = &world.primitives[position as usize];
        let surface = placed_surface(
            placed,
            &world.corners,
            &world.vertices,
            triangle,
            &ray,
            &hit,
        );
        let corners = scene.meshes[0].triangles[triangle.number as usize];
        let at = |uvs: &[[f32; 2]], axis: usize| {
            let [a, b, c] = corners.map(|corner| uvs[corner as usize][axis]);
            a * (1.0 - u - v) + b * u + c * v
        };
        let mesh = &scene.meshes[0];
        let found = [surface.u, surface.v, surface.second_u, surface.second_v];
        let expected = [
            at(&mesh.uvs, 0),
            at(&mesh.uvs, 1),
            at(&other, 0),
            at(&other, 1),
        ];
        let apart = found
            .iter()
            .zip(expected)
            .map(|(found, expected)| (found - expected).abs());
        assert!(
            apart.fold(0.0, f32::max) < 1e-6,
            "{found:?}, expected {expected:?}"
        );
    }
    model.json["materials"][0]["normalTexture"] = by_second;
    let scene = load(&model);
    assert_eq!(scene.notes, [""; 0]);
    assert_eq!(scene.meshes[0].uvs, other);
    assert!(lies_by_second(&scene, Parameter::Color) && !lies_by_second(&scene, Parameter::Normal));
    model.json["materials"][0]["emissiveFactor"] = json!([1, 1, 1]);
    model.json["materials"][0]["emissiveTexture"] = json!({ "index": 0, "texCoord": 2 });
    let notes = load(&model).notes.join("\n");
    let expected = "not shown: textures by a third set of texture coordinates (emissiveTexture)";
    assert!(notes.contains(expected), "{notes}");
}

/// Of the model before metallic-roughness: what is smooth there is not rough here.
#[test]
fn specular_and_glossiness_are_those_of_a_principled_material() {
    let folder = folder("glossiness");
    let image = image::RgbaImage::from_fn(4, 4, |x, y| {
        image::Rgba([200, (60 * y) as u8, 50, (60 * x + y) as u8])
    });
    image.save(folder.join("shine.png")).unwrap();
    let rough = image::RgbaImage::from_fn(4, 4, |x, y| {
        let smooth = image.get_pixel(x, y).0[3];
        image::Rgba([255 - smooth; 4])
    });
    rough.save(folder.join("rough.png")).unwrap();
    let mut model = square();
    model.json["images"] = json!([{ "uri": "shine.png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    model.json["materials"] = json!([{ "extensions": { "KHR_materials_pbrSpecularGlossiness": {
        "diffuseFactor": [0.5, 0.25, 1, 1], "specularFactor": [0.5, 0.5, 1],
        "specularGlossinessTexture": { "index": 0 }
    } } }]);
    let seen = |material: &str, model: &Gltf| {
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
        let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
        let fields = format!(
            "materials: {{ \"it\": Principled(base_color: (0.5, 0.25, 1), {material}) }},
             objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: \"it\")]"
        );
        (found, scene_of(&folder, &fields))
    };
    let textures = "specular_color: Texture(file: \"shine.png\", factor: (12.5, 12.5, 25)),
                    roughness: Texture(file: \"rough.png\")";
    let (found, expected) = seen(textures, &model);
    assert_eq!(found.notes, [""; 0]);
    assert_eq!(found.hash(), expected.hash());
    let extension =
        &mut model.json["materials"][0]["extensions"]["KHR_materials_pbrSpecularGlossiness"];
    extension["glossinessFactor"] = json!(0.75);
    extension
        .as_object_mut()
        .unwrap()
        .remove("specularGlossinessTexture");
    let (found, expected) = seen("specular_color: (12.5, 12.5, 25), roughness: 0.25", &model);
    assert_eq!(
        found.materials[found.triangles[0].material as usize],
        expected.materials[0]
    );
}

#[test]
fn alpha_is_opacity_where_the_material_says_so() {
    let folder = folder("alpha");
    let image =
        image::RgbaImage::from_fn(4, 4, |x, y| image::Rgba([200, 100, 50, (60 * x + y) as u8]));
    image.save(folder.join("leaf.png")).unwrap();
    pixels(&folder, "wall.png", 3);
    let mut model = square();
    model.json["images"] = json!([{ "uri": "leaf.png" }, { "uri": "wall.png" }]);
    model.json["textures"] = json!([{ "source": 0 }, { "source": 1 }]);
    for (mode, alpha, texture, expected) in [
        ("OPAQUE", 0.5, 0, ""),
        (
            "BLEND",
            0.5,
            0,
            "opacity: Texture(file: \"leaf.png\", encoding: Srgb, factor: 0.5)",
        ),
        (
            "MASK",
            1.0,
            0,
            "opacity: Texture(file: \"leaf.png\", encoding: Srgb), cutoff: 0.25",
        ),
        // An image without an alpha veils nothing.
        ("BLEND", 1.0, 1, ""),
        ("BLEND", 0.25, 1, "opacity: 0.25"),
    ] {
        model.json["materials"] = json!([{
            "alphaMode": mode, "alphaCutoff": 0.25, "pbrMetallicRoughness": {
                "baseColorFactor": [1, 1, 1, alpha], "baseColorTexture": { "index": texture }, "metallicFactor": 0
            }
        }]);
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
        let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
        let file = ["leaf.png", "wall.png"][texture];
        let expected = scene_of(
            &folder,
            &format!(
                "materials: {{ \"it\": Principled(base_color: Texture(file: \"{file}\"), roughness: 1, {expected}) }},
                 objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: \"it\")]"
            ),
        );
        assert_eq!(found.maps, expected.maps, "{mode} {alpha} {texture}");
        assert_eq!(found.hash(), expected.hash(), "{mode} {alpha} {texture}");
    }
}

/// What absorbs, as a scene would write it.
#[test]
fn the_volume_of_a_gltf_material_absorbs_as_it_says() {
    let folder = folder("volume");
    let mut model = square();
    let mut of = |volume: serde_json::Value| {
        model.json["materials"] = json!([{ "extensions": {
            "KHR_materials_transmission": { "transmissionFactor": 1 }, "KHR_materials_volume": volume
        } }]);
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
    };
    let model = "objects: [Model(file: \"model.glb\")]";
    for (volume, expected) in [
        (
            json!({ "thicknessFactor": 1, "attenuationColor": [1, 0.5, 0], "attenuationDistance": 0.25 }),
            ", absorption: ((1, 0.5, 0), 0.25)",
        ),
        (
            json!({ "thicknessFactor": 1, "attenuationColor": [0.5, 0.5, 0.5] }),
            "",
        ),
    ] {
        of(volume);
        let found = scene_of(&folder, model);
        assert_eq!(found.notes, [""; 0]);
        let expected = scene_of(
            &folder,
            &format!(
                "materials: {{ \"it\": Principled(metallic: 1, roughness: 1, transmission: 1{expected}) }},
                 objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: \"it\")]"
            ),
        );
        assert_eq!(found.materials, expected.materials);
        assert_eq!(found.hash(), expected.hash());
    }
    for distance in [0, -1] {
        of(json!({ "thicknessFactor": 1, "attenuationDistance": distance }));
        let error = Scene::load(&folder.join("model.glb"))
            .unwrap_err()
            .to_string();
        let problem = format!("attenuationDistance is {distance}, expected a number above 0");
        assert!(error.contains(&problem), "{error}");
    }
}

#[test]
fn tangents_are_made_where_a_normal_map_needs_them() {
    let folder = folder("tangents");
    pixels(&folder, "a.png", 1);
    let with = |mirrored: bool, tangents: bool| {
        let mut model = square();
        let normals = model.floats("VEC3", &[[0.0, 0.0, 1.0]; 4]);
        model.primitive()["attributes"]["NORMAL"] = json!(normals);
        if mirrored {
            let uvs = [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]];
            let uvs = model.floats("VEC2", &uvs);
            model.primitive()["attributes"]["TEXCOORD_0"] = json!(uvs);
        }
        if tangents {
            let side = if mirrored { -1.0 } else { 1.0 };
            let tangents = model.floats("VEC4", &[[side, 0.0, 0.0, side]; 4]);
            model.primitive()["attributes"]["TANGENT"] = json!(tangents);
        }
        model.json["images"] = json!([{ "uri": "a.png" }]);
        model.json["textures"] = json!([{ "source": 0 }]);
        model.json["materials"] = json!([{ "normalTexture": { "index": 0 } }]);
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
        let scene = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
        scene.meshes[0].tangents.clone()
    };
    for mirrored in [false, true] {
        assert_eq!(with(mirrored, false), with(mirrored, true));
    }
}

#[test]
fn lights_of_a_file_are_those_of_a_scene() {
    let folder = folder("lights");
    let mut model = Gltf::triangle();
    model.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
        { "type": "point", "intensity": 10, "color": [1, 0.5, 0.25] },
        { "type": "directional", "intensity": 2 },
        { "type": "spot", "intensity": 4, "spot": { "innerConeAngle": 0, "outerConeAngle": std::f64::consts::FRAC_PI_4 } },
    ] } });
    let light = |light: u32| json!({ "KHR_lights_punctual": { "light": light } });
    model.json["scenes"][0]["nodes"] = json!([0, 1, 2, 3]);
    model.json["nodes"] = json!([
        { "mesh": 0 },
        { "translation": [1, 2, 3], "extensions": light(0) },
        // Half a turn about y: it shines along +z.
        { "rotation": [0, 1, 0, 0], "extensions": light(1) },
        { "translation": [0, 0, 5], "scale": [2, 2, 2], "extensions": light(2) },
    ]);
    let write = |model: &Gltf| fs::write(folder.join("model.glb"), model.glb()).unwrap();
    write(&model);
    let placed = "objects: [Model(file: \"model.glb\", translate: (0, 1, 0))]";
    let found = scene_of(&folder, placed);
    let expected = scene_of(
        &folder,
        "lights: [
            Point(position: (1, 3, 3), intensity: (10, 5, 2.5)),
            Directional(direction: (0, 0, 1), irradiance: (2, 2, 2)),
            Spot(position: (0, 1, 5), direction: (0, 0, -1), intensity: (4, 4, 4), outer: 45),
        ], objects: [Model(file: \"model.glb\", lights: false)]",
    );
    assert_eq!(found.lights.len(), 3);
    for (found, expected) in found.lights.iter().zip(&expected.lights) {
        assert!(alike(found, expected), "{found:?} is not {expected:?}");
    }
    // Lights of so many candela are those of so many watts.
    for light in model.json["extensions"]["KHR_lights_punctual"]["lights"]
        .as_array_mut()
        .unwrap()
    {
        light["intensity"] = json!(light["intensity"].as_f64().unwrap() * 683.0);
    }
    write(&model);
    let found = scene_of(&folder, placed);
    for (found, expected) in found.lights.iter().zip(&expected.lights) {
        assert!(alike(found, expected), "{found:?} is not {expected:?}");
    }
    assert!(
        found.notes[0]
            .ends_with("its lights are of 683 candela or lux for 1 here, as they are that bright")
    );
}

fn alike(found: &Light, expected: &Light) -> bool {
    let near = |a: Vec3, b: Vec3| a.distance(b) < 1e-5 * b.length();
    match (found, expected) {
        (
            &Light::Point {
                position,
                intensity,
            },
            &Light::Point {
                position: there,
                intensity: strength,
            },
        ) => position == there && near(intensity, strength),
        (
            &Light::Directional {
                direction,
                irradiance,
                angle_degrees,
            },
            &Light::Directional {
                direction: towards,
                irradiance: strength,
                angle_degrees: 0.0,
            },
        ) => near(direction, towards) && near(irradiance, strength) && angle_degrees == 0.0,
        (
            &Light::Spot {
                position,
                direction,
                intensity,
                inner_degrees,
                outer_degrees,
            },
            &Light::Spot {
                position: there,
                direction: towards,
                intensity: strength,
                inner_degrees: inner,
                outer_degrees: outer,
            },
        ) => {
            position == there
                && near(direction, towards)
                && near(intensity, strength)
                && inner_degrees == inner
                && (outer_degrees - outer).abs() < 1e-4
        }
        _ => false,
    }
}

#[test]
fn nodes_that_share_a_mesh_are_instances_of_it() {
    let folder = folder("shared");
    let mut model = Gltf::new();
    let corners: Vec<[f32; 3]> = (0..16)
        .map(|at| [(at % 4) as f32, (at / 4) as f32, 0.0])
        .collect();
    let squares = (0..12u8).filter(|at| at % 4 != 3);
    let indices: Vec<u8> = squares
        .flat_map(|a| [a, a + 1, a + 5, a, a + 5, a + 4])
        .collect();
    let positions = model.floats("VEC3", &corners);
    let indices = model.accessor(5121, "SCALAR", indices.len(), &indices);
    model.json["meshes"] = json!([{ "primitives": [
        { "attributes": { "POSITION": positions }, "indices": indices }
    ] }]);
    let nodes =
        (0..1000).map(|x| json!({ "mesh": 0, "translation": [x, 0, 0], "scale": [2, 1, 1] }));
    model.json["nodes"] = nodes.collect();
    model.json["scenes"][0]["nodes"] = (0..1000).collect();
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(
        &folder,
        "materials: { \"clay\": Diffuse(albedo: (0.5, 0.5, 0.5)) },
         objects: [Model(file: \"model.glb\", material: \"clay\")]",
    );
    assert_eq!((found.meshes.len(), found.instances.len()), (1, 1000));
    assert_eq!(triangles(&found).len(), 18_000);
    assert_eq!(found.instances[999].position, Vec3::new(999.0, 0.0, 0.0));
    assert_eq!(found.instances[999].axes, [Vec3::X * 2.0, Vec3::Y, Vec3::Z]);
    // A file that stands in a scene twice has its meshes and images there once.
    let twice =
        "objects: [Model(file: \"model.glb\"), Model(file: \"model.glb\", translate: (0, 9, 0))]";
    let twice = scene_of(&folder, twice);
    assert_eq!((twice.meshes.len(), twice.instances.len()), (1, 2000));
    assert_eq!(twice.materials.len(), 1);
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

/// Two walls at a right angle: with a smoothing group their common edge is seen from between them, without it they are
/// flat; an image's first row is its top.
#[test]
fn an_obj_file_is_smooth_where_it_says_so() {
    let path = folder("smooth").join("model.obj");
    let walls = "v 0 0 0\nv 0 1 0\nv 1 0 0\nv 0 0 1\nvt 0.25 1\nvt 0 0\n\
                 s SMOOTH\nf 1/1 3/2 2/2\nf 1/1 2/2 4/2\n";
    fs::write(&path, walls.replace("SMOOTH", "1")).unwrap();
    let scene = load(&path);
    let [mesh] = &scene.meshes[..] else {
        panic!("{} meshes", scene.meshes.len())
    };
    assert_eq!(mesh.positions.len(), 4);
    let between = Vec3::new(1.0, 0.0, 1.0).normalize();
    let expected = [between, Vec3::Z, between, Vec3::X];
    for (found, expected) in mesh.normals.iter().zip(expected) {
        assert!(found.distance(expected) < 1e-6, "{found} is not {expected}");
    }
    assert_eq!(mesh.uvs, [[0.25, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]);
    fs::write(&path, walls.replace("SMOOTH", "off")).unwrap();
    assert!(load(&path).meshes.is_empty());
}

/// What lies on a triangle of a mesh by its textures, as the kernels look it up.
fn looked_up(scene: &Scene, triangle: usize, [b, c]: [f32; 2]) -> Vec3 {
    let mesh = &scene.meshes[0];
    let corners = mesh.triangles[triangle].map(|vertex| mesh.uvs[vertex as usize]);
    let at = |axis: usize| {
        corners[0][axis] * (1.0 - b - c) + corners[1][axis] * b + corners[2][axis] * c
    };
    let world = World::new(scene).unwrap();
    let map = scene.maps[&mesh.materials[0]].textures[&Parameter::Color];
    let texture = &world.textures[map.texture as usize];
    sample_texture(&world.texels, texture, at(0), at(1)).rgb
}

#[test]
fn colors_of_vertices_multiply_those_of_the_material() {
    let colors = [
        [1.0, 0.25, 0.0],
        [0.5, 0.75, 1.0],
        [0.0, 0.5, 0.25],
        [1.0, 1.0, 1.0],
    ];
    let mut model = square();
    let all = model.floats("VEC3", &colors);
    model.primitive()["attributes"]["COLOR_0"] = json!(all);
    model.json["materials"] =
        json!([{ "pbrMetallicRoughness": { "baseColorFactor": [0.5, 1, 1, 1] } }]);
    let scene = model.load("colors");
    assert_eq!(scene.notes, [""; 0]);
    let expected = |of: [usize; 3], [b, c]: [f32; 2]| {
        let [first, second, third] = of.map(|corner| Vec3::from_array(colors[corner]));
        first * (1.0 - b - c) + second * b + third * c
    };
    for (triangle, corners) in [[0, 1, 2], [0, 2, 3]].into_iter().enumerate() {
        for at in [
            [0.0, 0.0],
            [1.0, 0.0],
            [0.0, 1.0],
            [0.25, 0.5],
            [0.3, 0.3],
            [0.5, 0.5],
        ] {
            let (found, expected) = (looked_up(&scene, triangle, at), expected(corners, at));
            assert!(
                found.distance(expected) < 1e-5,
                "{at:?}: {found} is not {expected}"
            );
        }
    }
    // One colour all over is one of the material.
    let even = model.floats("VEC4", &[[0.5, 0.25, 1.0, 1.0]; 4]);
    model.primitive()["attributes"]["COLOR_0"] = json!(even);
    let scene = model.load("colors");
    assert!(scene.maps.is_empty());
    let seen = scene.materials[scene.triangles[0].material as usize];
    let tint = Vec3::new(0.25, 0.25, 1.0);
    assert!(
        matches!(seen, Surface::Principled(all) if all.base_color == tint),
        "{seen:?}"
    );
    // Their alpha counts where the material's does.
    let hiding = model.floats("VEC4", &[[0.5, 0.25, 1.0, 0.5]; 4]);
    model.primitive()["attributes"]["COLOR_0"] = json!(hiding);
    assert!(model.load("colors").maps.is_empty());
    model.json["materials"][0]["alphaMode"] = json!("BLEND");
    let scene = model.load("colors");
    let material = scene.triangles[0].material;
    assert_eq!(scene.maps[&material].opacity, 0.5);
    let hiding = model.floats(
        "VEC4",
        &[
            [1.0; 4],
            [1.0, 1.0, 1.0, 0.5],
            [1.0; 4],
            [1.0, 1.0, 1.0, 0.0],
        ],
    );
    model.primitive()["attributes"]["COLOR_0"] = json!(hiding);
    let scene = model.load("colors");
    let maps = scene.maps.values().find(|maps| !maps.textures.is_empty());
    let opacity = maps.unwrap().textures[&Parameter::Opacity];
    assert_eq!(opacity.channel, Channel::Alpha);
    let world = World::new(&scene).unwrap();
    let texture = world.textures[opacity.texture as usize];
    let [a, b, c] = scene.meshes[0].triangles[0]
        .map(|corner| scene.meshes[0].uvs[corner as usize])
        .map(|[u, v]| sample_texture(&world.texels, &texture, u, v).alpha);
    assert_eq!([a, b, c], [1.0, 0.5, 1.0]);
    // Bytes of a PLY file are sRGB.
    let path = folder("colors").join("model.ply");
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
               property uchar red\nproperty uchar green\nproperty uchar blue\nproperty uchar alpha\nelement face 1\n\
               property list uchar int vertex_indices\nend_header\n\
               0 0 0 255 0 128 9\n1 0 0 0 255 0 9\n0 1 0 255 255 255 9\n3 0 1 2\n";
    fs::write(&path, ply).unwrap();
    let corner = looked_up(&load(&path), 0, [0.0, 0.0]);
    let expected = Vec3::new(1.0, 0.0, srgb_value(128.0 / 255.0));
    assert!(corner.distance(expected) < 1e-5, "{corner}");
}

/// Encoded by the reference encoder: `tests/models/make_basis.mjs`.
#[test]
fn basis_textures_are_what_was_encoded() {
    // ETC1S has one colour and its shades for a block: of it the mean is compared. UASTC is near at each texel.
    for (name, block, most) in [("basis_etc1s", 4, 32.0), ("basis_uastc", 1, 3.0)] {
        let path = PathBuf::from(format!("tests/models/{name}.ktx2"));
        let image = Image::open(&path).unwrap();
        assert_eq!((image.width, image.height), (20, 12));
        let Texels::Bytes(texels) = &image.texels else {
            panic!("{name}: {image:?}")
        };
        let expected = |x: usize, y: usize| {
            let part = |at: usize, size: usize| 255.0 * at as f32 / (size - 1) as f32;
            [part(x, 20), part(y, 12), 64.0, 255.0]
        };
        for (row, column) in
            (0..12 / block).flat_map(|row| (0..20 / block).map(move |at| (row, at)))
        {
            for channel in [0, 1, 2, 3] {
                let apart: f32 = (0..block * block)
                    .map(|at| (column * block + at % block, row * block + at / block))
                    .map(|(x, y)| f32::from(texels[20 * y + x][channel]) - expected(x, y)[channel])
                    .sum();
                let apart = apart / (block * block) as f32;
                assert!(
                    apart.abs() <= most,
                    "{name}, block {column}, {row}: {apart}"
                );
            }
        }
        let bytes = fs::read(&path).unwrap();
        let mut model = Gltf::triangle();
        textured(&mut model, json!({ "index": 0 }));
        let view = model.view(&bytes);
        model.json["extensionsRequired"] = json!(["KHR_texture_basisu"]);
        model.json["images"] = json!([{ "bufferView": view, "mimeType": "image/ktx2" }]);
        model.json["textures"] =
            json!([{ "extensions": { "KHR_texture_basisu": { "source": 0 } } }]);
        assert_eq!(*model.load("basis").images[0], image, "{name}");
        // Cut off or changed anywhere it is an image still, or is refused.
        for end in 0..bytes.len() {
            assert!(Image::decode(&bytes[..end]).is_err(), "{name}: {end}");
        }
        for at in 0..bytes.len() {
            for bits in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= bits;
                let _ = Image::decode(&changed);
            }
        }
    }
}

#[test]
fn a_mesh_has_the_texture_coordinates_and_normals_of_its_file() {
    let folder = folder("coordinates");
    pixels(&folder, "a.png", 1);
    let wood = "materials: { \"wood\": Diffuse(albedo: Texture(file: \"a.png\")) }";
    let quad = "Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: \"wood\")";
    let expected = scene_of(&folder, &format!("{wood}, objects: [{quad}]"));
    let obj = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
               vn 1 0 1\nf 1/1/1 2/2/1 3/3/1 4/4/1\n";
    let ply = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
               property float s\nproperty float t\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n\
               0 0 0 0 0\n1 0 0 1 0\n1 1 0 1 1\n0 1 0 0 1\n4 0 1 2 3\n";
    for (name, text) in [("square.obj", obj), ("square.ply", ply)] {
        fs::write(folder.join(name), text).unwrap();
        let fields = format!("{wood}, objects: [Mesh(file: \"{name}\", material: \"wood\")]");
        assert_eq!(scene_of(&folder, &fields).hash(), expected.hash(), "{name}");
    }
    // Normals go as planes do: at half the width they lean twice as far.
    let fields = format!(
        "{wood}, objects: [Mesh(file: \"square.obj\", material: \"wood\", smooth: true, scale: (0.5, 1, 1))]"
    );
    let leaning = Vec3::new(2.0, 0.0, 1.0).normalize();
    for normal in &scene_of(&folder, &fields).meshes[0].normals {
        assert!(normal.distance(leaning) < 1e-6, "{normal}");
    }
    // Without normals of its own it has the mean of its faces'.
    let fields =
        format!("{wood}, objects: [Mesh(file: \"square.ply\", material: \"wood\", smooth: true)]");
    assert_eq!(scene_of(&folder, &fields).meshes[0].normals, [Vec3::Z; 4]);
    fs::write(folder.join("square.obj"), obj.replace("4/4/1", "4/5/1")).unwrap();
    let fields = format!(
        "({}, {wood}, objects: [Mesh(file: \"square.obj\", material: \"wood\")])",
        "camera: (origin: (0, 0, 9), target: (0, 0, 0), fov: 40)"
    );
    fs::write(folder.join("scene.ron"), fields).unwrap();
    let problem = Scene::load(&folder.join("scene.ron"))
        .unwrap_err()
        .to_string();
    assert!(
        problem.contains("line 10: a face names texture coordinate 5, but there are 4 texture coordinates before it"),
        "{problem}"
    );
}

#[test]
fn a_material_library_maps_to_what_it_means() {
    let folder = folder("mtl");
    pixels(&folder, "wood.png", 5);
    image::RgbImage::from_pixel(2, 2, image::Rgb([128, 128, 255]))
        .save(folder.join("bumps.png"))
        .unwrap();
    let cube = "mtllib model.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl it\nf 1/1 2/2 3/3\n";
    fs::write(folder.join("model.obj"), cube).unwrap();
    for (written, expected) in [
        (
            "Kd 0.5 0.25 1\nillum 1\nKs 1 1 1",
            "Diffuse(albedo: (0.5, 0.25, 1))",
        ),
        ("illum 7\nNi 1.25", "Dielectric(ior: 1.25)"),
        (
            "Kd 0 0 0\nKs 1 0.5 0.25\nNs 6",
            "Principled(metallic: 1, base_color: (1, 0.5, 0.25), roughness: 0.70710678)",
        ),
        (
            "Kd 1 1 1\nKs 0.25 0.25 0.25\nNs 0",
            "Principled(specular: 0.5, roughness: 1)",
        ),
        (
            "Kd 1 1 1\nPr 0.25\nPm 1\nPc 0.5\nPcr 0.125",
            "Principled(metallic: 1, roughness: 0.25, clearcoat: 0.5, clearcoat_roughness: 0.125)",
        ),
        (
            "Kd 1 0.5 1\nKe 2 2 2",
            "Emissive(radiance: (2, 2, 2), albedo: (1, 0.5, 1))",
        ),
        (
            "map_Kd wood.png",
            "Diffuse(albedo: Texture(file: \"wood.png\"))",
        ),
        (
            "Kd 0 0 0\nmap_Kd -clamp on wood.png",
            "Diffuse(albedo: Texture(file: \"wood.png\", wrap: Clamp))",
        ),
        (
            "Kd 0.5 0.5 0.5\nmap_Kd -s 2 3 1 -o 0.25 0.5 wood.png",
            "Diffuse(albedo: Texture(file: \"wood.png\", factor: 0.5, scale: (2, 3), offset: (0.25, -2.5)))",
        ),
        (
            "Kd 1 1 1\nmap_Ke wood.png\nmap_Bump -bm 0.5 bumps.png",
            "Emissive(radiance: Texture(file: \"wood.png\"), albedo: (1, 1, 1), normal: Texture(file: \"bumps.png\", factor: 0.5))",
        ),
        (
            "Kd 1 1 1\nmap_Pr wood.png\nPm 0.5\nmap_Pm wood.png",
            "Principled(roughness: Texture(file: \"wood.png\"), metallic: Texture(file: \"wood.png\", factor: 0.5))",
        ),
    ] {
        fs::write(folder.join("model.mtl"), format!("newmtl it\n{written}\n")).unwrap();
        let found = scene_of(&folder, "objects: [Model(file: \"model.obj\")]");
        assert_eq!(found.notes, [""; 0], "{written}");
        // The first one is that of faces without.
        let fields = format!(
            "materials: {{ \"none\": Diffuse(albedo: (0.8, 0.8, 0.8)), \"it\": {expected} }},
             objects: [Model(file: \"model.obj\", material: \"it\")]"
        );
        let expected = scene_of(&folder, &fields);
        assert_eq!(found.materials, expected.materials, "{written}");
        assert_eq!(found.hash(), expected.hash(), "{written}");
    }
    for (written, note) in [
        ("map_Kd gone.png", "gone.png: does not exist"),
        (
            "map_Kd C:\\gone.png",
            "shown without map_Kd: names the file",
        ),
    ] {
        fs::write(folder.join("model.mtl"), format!("newmtl it\n{written}\n")).unwrap();
        let notes = load(&folder.join("model.obj")).notes.join("\n");
        assert!(notes.contains(note), "{written}: {notes}");
    }
}

/// A ramp over three of four columns is a slope, up and down; by hand.
#[test]
fn bumps_by_their_heights_become_normals() {
    let folder = folder("bumps");
    image::GrayImage::from_fn(4, 2, |x, _| image::Luma([[0, 51, 102, 51][x as usize]]))
        .save(folder.join("ramp.png"))
        .unwrap();
    let triangle = "mtllib model.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl it\nf 1/1 2/2 3/3\n";
    fs::write(folder.join("model.obj"), triangle).unwrap();
    // A fifth of a hundredth of the width a texel, which is a quarter of it: times 100, 0.8.
    for (options, slopes) in [
        ("-bm 100", [0.0, 0.8, 0.0, -0.8]),
        ("-bm -50", [0.0, -0.4, 0.0, 0.4]),
        ("-bm 100 -clamp on", [0.8, 0.8, 0.0, -0.8]),
    ] {
        let library = format!("newmtl it\nmap_Bump {options} ramp.png\n");
        fs::write(folder.join("model.mtl"), library).unwrap();
        let scene = load(&folder.join("model.obj"));
        assert_eq!(scene.notes, [""; 0]);
        let maps = scene.maps.values().next().unwrap();
        assert_eq!(maps.bend, 1.0);
        let texture = maps.textures[&Parameter::Normal].texture;
        let image = &scene.images[scene.textures[texture as usize].image as usize];
        let Texels::Words(texels) = &image.texels else {
            panic!("{image:?}");
        };
        for (texel, slope) in texels.iter().zip(slopes.iter().chain(&slopes)) {
            let [x, y, z, _] = texel.map(|word| f64::from(word) / 65535.0 * 2.0 - 1.0);
            let apart = [x / z + slope, y / z].map(f64::abs);
            assert!(
                apart.iter().all(|&apart| apart < 2e-4),
                "{options}: {texels:?}"
            );
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
