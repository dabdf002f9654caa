//! Errors for invalid glTF files, and notes about the parts of a file that are not shown.

use std::fs;

use serde_json::{Value, json};

use crate::{folder, gltf::Gltf, load, message, textured};

/// Changes to the model of [`fixture`] that make it invalid, each followed by a part of the expected error.
///
/// A line `POINTER = VALUE` sets the JSON value at a JSON pointer. The indented line after it ends the case.
const WRONG: &str = r#"
/nodes = { "node": { "meshes": ["mesh"] } }
    is glTF version 1, expected 2; convert it
/nodes/0/mesh = 1
    node 0: there is no mesh 1
/scenes/0/nodes = [4]
    there is no node 4
/scene = 1
    there is no scene 1
/meshes/0/primitives/0/material = 9
    node 0: mesh 0, primitive 0: there is no material 9
/nodes/0/camera = 0
    node 0: there is no camera 0
/nodes/0/skin = 0
    node 0: there is no skin 0
/nodes/0/extensions = { "KHR_lights_punctual": { "light": 0 } }
    node 0: there is no light 0
/meshes/0/primitives/0/attributes/POSITION = 7
    node 0: mesh 0, primitive 0: there is no accessor 7
/accessors/0/bufferView = 99
    accessor 0: there is no bufferView 99
/bufferViews/0/buffer = 1
    bufferView 0: there is no buffer 1

/bufferViews/0/byteLength = 100000
    bufferView 0: needs 100000 bytes from byte 0 on, but buffer 0 has
/bufferViews/0/byteOffset = 18446744073709551615
    bufferView 0: needs 36 bytes from byte 18446744073709551615 on
/bufferViews/0/byteStride = 4
    accessor 0: has elements of 12 bytes in a bufferView of stride 4
/bufferViews/0/extensions = { "EXT_meshopt_compression": { "buffer": 0, "byteLength": 36, "byteStride": 16, "count": 1000000000, "mode": "ATTRIBUTES" } }
    bufferView 0: its EXT_meshopt_compression declares 16000000000 bytes, which 36 compressed ones cannot hold
/accessors/0/count = 1000000000
    accessor 0: declares 1000000000 elements of 12 bytes from byte 0 on, but its bufferView has 36 bytes
/accessors/0/count = 18446744073709551615
    accessor 0: declares 18446744073709551615 elements
/accessors/0/bufferView = null
/accessors/0/count = 1000000000
    accessor 0: declares 1000000000 elements that are not stored
/accessors/0/byteOffset = 4
    accessor 0: declares 3 elements of 12 bytes from byte 4 on
/accessors/0/type = "VEC2"
    accessor 0: has 2 components per element, expected 3
/accessors/0/type = "VEC5"
    accessor 0: has no known type
/accessors/0/componentType = 1
    node 0: mesh 0, primitive 0: accessor 0: has no known componentType
/accessors/0/sparse = { "count": 1, "values": { "bufferView": 0 }, "indices": { "bufferView": 2, "byteOffset": 2, "componentType": 5121 } }
    accessor 0: has a sparse value for element 3 of 3

/meshes/0/primitives/0/mode = 9
    has no known mode
/meshes/0/primitives/0/indices = 1
    its indices name vertex 3, but there are 3 vertices
/meshes/0/primitives/0/indices = 0
    accessor 0: has a componentType that is not an unsigned integer
/meshes/0/primitives/0/attributes/NORMAL = 2
    accessor 2 has 2 elements for NORMAL, but there are 3 vertices
/meshes/0/primitives/0/attributes/POSITION = 5
    node 0: mesh 0, primitive 0: vertex 1 is [1, NaN, 0], expected finite numbers
/meshes/0/primitives/0/attributes/JOINTS_0 = 3
/meshes/0/primitives/0/attributes/WEIGHTS_0 = 4
/skins = [{ "joints": [0] }]
/nodes/0/skin = 0
    vertex 0 names joint 5, but there are 1

/nodes = [{}]
    has a mesh that no node uses, so that nothing is shown; add a node to its scene
/nodes = []
/scenes = []
/scene = null
    has a mesh that no node uses, so that nothing is shown; add a node to its scene
/nodes = [{}]
/scenes = [{}]
/meshes = [{ "primitives": [] }, { "primitives": [] }]
    has 2 meshes that no node uses, so that nothing is shown; add nodes to its scene
/meshes/0/primitives = []
    has only meshes without primitives; export it with meshes
/nodes/0/scale = [0, 0, 0]
    has no triangles, lines or points that can be shown; export it with visible meshes
/nodes = [{ "camera": 0 }]
/meshes = []
/cameras = [{ "type": "perspective", "perspective": { "yfov": 1, "znear": 1 } }]
    has cameras or lights and no meshes; export it with meshes
/nodes = [{}]
/meshes = []
/scenes = [{}]
    has no meshes; export it with meshes
/meshes/0/primitives/0/mode = 0
/extensionsUsed = ["KHR_gaussian_splatting"]
    is a Gaussian splat, which has no surfaces
/meshes/0/primitives/0/mode = 1
/meshes/0/primitives/0/indices = 1
    its indices name vertex 3, but there are 3 vertices
/meshes/0/primitives/0/mode = 3
/nodes/0/translation = [0, 1e9, 0]
    a vertex is at
/nodes/0/translation = [0, 1e300, 0]
    node 0: its transform is not finite
/nodes/0/translation = [0, 1e9, 0]
    a vertex is at [0, 1e9, 0] after the transform, expected coordinates within 1e8 m of 0
/nodes/0/rotation = [0, 0, 0, 0]
    node 0: its rotation is not a valid quaternion
/cameras = [{ "type": "orthographic", "orthographic": { "xmag": 1.0, "ymag": 0.0, "znear": 0.1, "zfar": 100.0 } }]
/nodes/0/camera = 0
    node 0: camera 0 has a ymag of 0, expected metres above 0 and up to 1e8
/extensions = { "KHR_lights_punctual": { "lights": [{ "type": "spot", "spot": { "innerConeAngle": 0.5, "outerConeAngle": 0.25 } }] } }
/nodes/0/extensions = { "KHR_lights_punctual": { "light": 0 } }
    node 0: light 0: its cone is from 0.5 to 0.25

/extensionsRequired = ["KHR_materials_unlit", "XX_teapots"]
    requires XX_teapots, which is not supported
/asset/version = "1.0"
    is glTF 1.0, expected 2.0
/asset/version = ""
    has no glTF version, expected 2.0

/materials/0/pbrMetallicRoughness/baseColorTexture/index = 5
    material 0: baseColorTexture: there is no texture 5
/textures = [{ "source": 3 }]
    material 0: baseColorTexture: texture 0: there is no image 3
/textures = [{ "source": 0, "sampler": 2 }]
    material 0: baseColorTexture: there is no sampler 2
/materials/0/pbrMetallicRoughness/baseColorTexture/extensions = { "KHR_texture_transform": { "scale": [1e9, 1] } }
    material 0: baseColorTexture: its KHR_texture_transform is not within 1e8 of 0
/materials/0/extensions = { "KHR_materials_ior": { "ior": 0.5 } }
    material 0: ior is 0.5, expected a number from 1 to 10
/materials/0/extensions = { "KHR_materials_clearcoat": { "clearcoatTexture": 1 } }
    material 0: clearcoatTexture:
"#;

/// A valid model with a texture, and with accessors that it does not use but that the cases refer to.
fn fixture() -> Gltf {
    let mut model = Gltf::triangle();
    textured(&mut model, json!({ "index": 0 }));
    // Accessor 1, in bufferView 2: indices, of which the last is too large.
    model.accessor(5121, "SCALAR", 3, &[0, 1, 3]);
    // Accessor 2: fewer normals than vertices.
    model.floats("VEC3", &[[0.0, 0.0, 1.0]; 2]);
    // Accessors 3 and 4: joints and weights of a skin.
    model.accessor(5121, "VEC4", 3, &[5; 12]);
    model.floats("VEC4", &[[1.0; 4]; 3]);
    // Accessor 5: positions that are not finite.
    model.floats("VEC3", &[[0.0; 3], [1.0, f32::NAN, 0.0], [0.0, 1.0, 0.0]]);
    model
}

/// Sets the JSON value at a JSON pointer. Panics unless the object or array that contains it exists.
fn set(json: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = json.pointer_mut(parent);
    parent.unwrap_or_else(|| panic!("nothing at {pointer}"))[key] = value;
}

#[test]
fn errors_name_the_faulty_object_and_the_cause() {
    let mut model = fixture();
    load(&model.write("wrong"));
    let valid = model.json.clone();
    let mut cases = 0;
    for line in WRONG.lines().filter(|line| !line.is_empty()) {
        if let Some(expected) = line.strip_prefix("    ") {
            let found = message(&model.write("wrong"));
            assert!(found.contains(expected), "{found}\nexpected: {expected}");
            model.json = valid.clone();
            cases += 1;
        } else {
            let (pointer, value) = line.split_once(" = ").unwrap();
            set(
                &mut model.json,
                pointer,
                serde_json::from_str(value).unwrap(),
            );
        }
    }
    assert_eq!(cases, 53);
}

/// Loads a model with two materials whose image cannot be read. It is shown without the image.
#[test]
fn an_image_that_cannot_be_read_is_named_with_its_materials() {
    let folder = folder("images");
    fs::write(folder.join("damaged.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    fs::write(folder.join("pointer.png"), lfs).unwrap();
    for (image, expected) in [
        (
            json!({ "uri": "nowhere.png" }),
            "nowhere.png: does not exist; check the path",
        ),
        (
            json!({ "uri": "damaged.png" }),
            "damaged.png: cannot be decoded: ",
        ),
        (
            json!({ "uri": "pointer.png" }),
            "pointer.png: is a Git LFS pointer instead of the file itself; run",
        ),
        (
            json!({ "uri": "../secret.png" }),
            "../secret.png: does not exist; check the path",
        ),
        (
            json!({ "name": "bark" }),
            "bark: has neither a bufferView nor a uri",
        ),
        (
            json!({ "bufferView": 0 }),
            "is not an image in a supported format; expected PNG, JPEG, WebP, BMP, TGA, HDR, EXR",
        ),
    ] {
        let mut model = Gltf::triangle();
        textured(&mut model, json!({ "index": 0 }));
        model.json["images"] = json!([image]);
        let mut second = model.json["materials"][0].clone();
        second["name"] = json!("wood");
        second["emissiveTexture"] = json!({ "index": 0 });
        model.json["materials"].as_array_mut().unwrap().push(second);
        let mut primitive = model.primitive().clone();
        primitive["material"] = json!(1);
        let primitives = &mut model.json["meshes"][0]["primitives"];
        primitives.as_array_mut().unwrap().push(primitive);
        let path = folder.join("model.gltf");
        fs::write(&path, model.text()).unwrap();
        let scene = load(&path);
        let [note] = &scene.notes[..] else {
            panic!("{:?}", scene.notes)
        };
        let found = note.split_once(": image 0: ").unwrap().1;
        assert!(found.contains(expected), "{found}");
        let end = "; shown without it: material 0, material 1 (wood)";
        assert!(found.ends_with(end), "{found}");
        assert!(
            scene.images.is_empty() && scene.maps.values().all(|maps| maps.textures.is_empty())
        );
    }
}

#[test]
fn a_truncated_file_is_refused_at_every_length() {
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
fn notes_name_what_is_not_shown_once() {
    let mut model = Gltf::triangle();
    model.json["extensionsUsed"] = json!(["KHR_materials_unlit", "XX_teapots"]);
    model.json["animations"] = json!([{ "channels": [], "samplers": [] }]);
    model.json["scenes"] = json!([{ "nodes": [0] }, { "nodes": [] }]);
    model.json["cameras"] =
        json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } }]);
    model.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
        { "type": "point", "range": 3 }
    ] } });
    let light = json!({ "KHR_lights_punctual": { "light": 0 }, "XX_teapots": {} });
    model.json["nodes"] = json!([
        { "mesh": 0, "children": [1, 2] },
        { "camera": 0, "extensions": light },
        { "camera": 0, "extensions": light, "name": "top" },
    ]);
    textured(&mut model, json!({ "index": 0 }));
    model.json["materials"][0]["extensions"] = json!({ "XX_teapots": {} });
    model.json["extensions"]["KHR_materials_variants"] =
        json!({ "variants": [{ "name": "red" }, { "name": "blue" }] });
    model.primitive()["extensions"] = json!({ "KHR_materials_variants": { "mappings": [] } });
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
            ": not shown: XX_teapots (1 material, 2 nodes)",
            ": only scene 0 of its 2 scenes is shown (counted from 0)",
            ": shown with its default materials and without its variants \"red\", \"blue\" (`--variant`, or `variant` in a scene)",
            ": shown in its rest pose, without a time of its animation 1 (`--time`)",
            ": shown from camera 1 of its cameras 1, 2 \"top\" (`--camera`)",
            ": its points and lines are shown as spheres and tubes 7.071e-3 m wide",
            ": approximated: vertex colors of 1 mesh whose material has textures, by one color per triangle",
            ": ignored: the range of 2 lights; light reaches infinitely far",
        ]
    );
}
