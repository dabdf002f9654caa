//! What wrong models are told, and what is not shown.

use std::fs;

use serde_json::json;

use crate::{folder, gltf::Gltf, load, message, textured};

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
