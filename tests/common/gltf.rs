//! glTF files that tests generate.
#![allow(dead_code, reason = "no test uses all of it")]

use base64::Engine;
use serde_json::{Value, json};

/// A glTF file under construction: JSON, and one buffer that its accessors refer to.
pub(crate) struct Gltf {
    /// The JSON document, without `buffers`.
    pub(crate) json: Value,
    /// Contents of the buffer.
    pub(crate) binary: Vec<u8>,
}

/// Corners of the unit square in the plane z = 0, in rows.
pub(crate) const SQUARE: [[f32; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [1.0, 1.0, 0.0],
];

impl Gltf {
    /// Creates a file with one node, whose mesh 0 is still missing.
    pub(crate) fn new() -> Self {
        let json = json!({
            "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0 }], "accessors": [], "bufferViews": [],
        });
        Gltf {
            json,
            binary: Vec::new(),
        }
    }

    /// Creates a file with the first three corners of the square as a triangle.
    pub(crate) fn triangle() -> Self {
        let mut gltf = Gltf::new();
        let positions = gltf.floats("VEC3", &SQUARE[..3]);
        gltf.json["meshes"] =
            json!([{ "primitives": [{ "attributes": { "POSITION": positions } }] }]);
        gltf
    }

    /// Appends bytes to the buffer and returns the index of a new buffer view of them.
    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        let views = self.json["bufferViews"].as_array_mut().unwrap();
        views.push(json!({
            "buffer": 0, "byteOffset": self.binary.len(), "byteLength": bytes.len()
        }));
        self.binary.extend(bytes);
        self.json["bufferViews"].as_array().unwrap().len() - 1
    }

    /// Appends bytes to the buffer and returns the index of a new accessor to them. `component` is glTF's component
    /// type.
    pub(crate) fn accessor(
        &mut self,
        component: u32,
        kind: &str,
        count: usize,
        bytes: &[u8],
    ) -> usize {
        let view = self.view(bytes);
        let accessors = self.json["accessors"].as_array_mut().unwrap();
        accessors.push(json!({
            "bufferView": view, "componentType": component, "type": kind, "count": count
        }));
        accessors.len() - 1
    }

    /// Appends an accessor to vectors of floats and returns its index.
    pub(crate) fn floats<const N: usize>(&mut self, kind: &str, elements: &[[f32; N]]) -> usize {
        let bytes: Vec<u8> = elements
            .iter()
            .flatten()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        self.accessor(5126, kind, elements.len(), &bytes)
    }

    /// Appends a channel to the first animation, which plays a property (`path`) of a node: keyframes at `times` in
    /// seconds, with values of glTF's type `kind`.
    pub(crate) fn animate<const N: usize>(
        &mut self,
        node: usize,
        path: &str,
        interpolation: &str,
        times: &[f32],
        kind: &str,
        values: &[[f32; N]],
    ) {
        let times: Vec<[f32; 1]> = times.iter().map(|&time| [time]).collect();
        let input = self.floats("SCALAR", &times);
        let output = self.floats(kind, values);
        if self.json["animations"].is_null() {
            self.json["animations"] = json!([{ "channels": [], "samplers": [] }]);
        }
        let animation = &mut self.json["animations"][0];
        let samplers = animation["samplers"].as_array_mut().unwrap();
        samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
        let sampler = samplers.len() - 1;
        let channels = animation["channels"].as_array_mut().unwrap();
        channels.push(json!({ "sampler": sampler, "target": { "node": node, "path": path } }));
    }

    /// Creates a file with a red triangle that shrinks to a fifth within two seconds, and at its end keeps its size.
    pub(crate) fn shrinking() -> Gltf {
        let mut gltf = Gltf::triangle();
        gltf.json["materials"] = json!([{
            "name": "paint",
            "doubleSided": true,
            "pbrMetallicRoughness": { "baseColorFactor": [0.8, 0.05, 0.05, 1], "metallicFactor": 0 },
        }]);
        gltf.primitive()["material"] = json!(0);
        let sizes = [[1.0; 3], [0.2; 3]];
        gltf.animate(0, "scale", "LINEAR", &[0.0, 2.0], "VEC3", &sizes);
        gltf
    }

    /// Creates the file of [`shrinking`](Self::shrinking) with a second animation, which is called hop and lasts 0.75
    /// seconds.
    pub(crate) fn hopping() -> Gltf {
        let mut gltf = Gltf::shrinking();
        let mut short = gltf.json["animations"][0].clone();
        short["name"] = json!("hop");
        short["samplers"][0]["input"] = json!(gltf.floats("SCALAR", &[[0.0], [0.75]]));
        let animations = gltf.json["animations"].as_array_mut().unwrap();
        animations.push(short);
        gltf
    }

    /// Returns the first primitive of the first mesh.
    pub(crate) fn primitive(&mut self) -> &mut Value {
        &mut self.json["meshes"][0]["primitives"][0]
    }

    /// Returns the file in binary form (GLB).
    pub(crate) fn glb(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        json["buffers"] = json!([{ "byteLength": self.binary.len() }]);
        let mut text = serde_json::to_vec(&json).unwrap();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut binary = self.binary.clone();
        binary.resize(binary.len().next_multiple_of(4), 0);
        let length = 12 + 8 + text.len() + 8 + binary.len();
        let mut bytes = b"glTF".to_vec();
        for word in [2, length as u32, text.len() as u32, 0x4e4f_534a] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&text);
        for word in [binary.len() as u32, 0x004e_4942] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&binary);
        bytes
    }
}

/// A PNG image of two texels.
const PIXELS: [u8; 74] = [
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 1, 8, 6, 0,
    0, 0, 244, 34, 127, 138, 0, 0, 0, 17, 73, 68, 65, 84, 120, 218, 99, 248, 207, 208, 240, 159,
    243, 68, 138, 6, 0, 19, 104, 3, 220, 29, 250, 135, 216, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66,
    96, 130,
];

impl Gltf {
    /// Creates a file with a little of everything that is supported.
    ///
    /// It contains instances, a skin, a morph target, sparse and normalised accessors, cameras, a light, vertex
    /// colors, textures with two sets of coordinates, a clear coat, and enough equal meshes to be instanced
    /// automatically. It also contains lines, the material variant `red`, and animations of all interpolations.
    pub(crate) fn everything() -> Gltf {
        let mut gltf = Gltf::triangle();
        let indices = gltf.accessor(5121, "SCALAR", 4, &[0, 1, 2, 1]);
        let normals = gltf.floats("VEC3", &[[0.0, 0.0, 1.0]; 3]);
        let uvs = gltf.accessor(
            5123,
            "VEC2",
            3,
            &[0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 255, 255],
        );
        gltf.json["accessors"][uvs]["normalized"] = json!(true);
        let moves = gltf.floats("VEC3", &[[0.0, 0.0, 2.0], [0.0; 3], [0.0; 3]]);
        let (place, value) = (gltf.view(&[1]), gltf.view(&[0; 12]));
        gltf.json["accessors"][moves]["sparse"] = json!({ "count": 1, "values": { "bufferView": value },
            "indices": { "bufferView": place, "componentType": 5121 } });
        let joints = gltf.accessor(5121, "VEC4", 3, &[0; 12]);
        let weights = gltf.floats("VEC4", &[[1.0, 0.0, 0.0, 0.0]; 3]);
        let places = gltf.floats("VEC3", &[[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]);
        gltf.json["meshes"] = json!([
            { "weights": [0.5], "primitives": [{
                "attributes": { "POSITION": 0, "NORMAL": normals, "TEXCOORD_0": uvs, "JOINTS_0": joints, "WEIGHTS_0": weights },
                "indices": indices, "mode": 5, "material": 0, "targets": [{ "POSITION": moves }] }] },
            { "primitives": [{ "attributes": { "POSITION": 0 }, "material": 1 }] },
        ]);
        gltf.json["skins"] = json!([{ "joints": [2] }]);
        gltf.json["cameras"] = json!([{ "type": "perspective", "perspective": { "yfov": 1.0, "znear": 0.1 } },
                { "type": "orthographic", "orthographic": { "xmag": 2, "ymag": 1, "znear": 0, "zfar": 9 } }]);
        gltf.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
            { "type": "spot", "intensity": 10, "spot": { "innerConeAngle": 0.1, "outerConeAngle": 0.5 } }
        ] } });
        let colors = gltf.accessor(
            5121,
            "VEC4",
            3,
            &[9, 255, 0, 255, 255, 9, 0, 255, 255, 9, 0, 255],
        );
        gltf.json["accessors"][colors]["normalized"] = json!(true);
        gltf.json["meshes"][1]["primitives"][0]["attributes"]["COLOR_0"] = json!(colors);
        let image = gltf.view(&PIXELS);
        gltf.json["images"] = json!([{ "bufferView": image, "mimeType": "image/png" }]);
        gltf.json["samplers"] = json!([{ "magFilter": 9728, "wrapS": 33071 }]);
        gltf.json["textures"] = json!([{ "source": 0, "sampler": 0 }]);
        let transform = json!({ "KHR_texture_transform": { "scale": [2, 1], "rotation": 1 } });
        let texture = json!({ "index": 0, "extensions": transform });
        gltf.json["materials"] = json!([
            { "pbrMetallicRoughness": { "baseColorFactor": [0.5, 0.5, 0.5, 1], "roughnessFactor": 0.5, "baseColorTexture": texture },
              "normalTexture": texture, "alphaMode": "MASK", "alphaCutoff": 0.25,
              "extensions": { "KHR_materials_transmission": { "transmissionFactor": 1 }, "KHR_materials_ior": { "ior": 1.4 } } },
            { "emissiveFactor": [1, 0.5, 0], "extensions": { "KHR_materials_emissive_strength": { "emissiveStrength": 2 } },
              "doubleSided": true, "alphaMode": "BLEND" },
            { "pbrMetallicRoughness": { "baseColorTexture": { "index": 0, "texCoord": 1 } }, "normalTexture": { "index": 0 },
              "extensions": { "KHR_materials_clearcoat": { "clearcoatFactor": 1,
                "clearcoatNormalTexture": { "index": 0, "scale": 0.5 } } } },
        ]);
        gltf.json["nodes"] = json!([
            { "children": [1, 2, 3, 4] },
            { "mesh": 0, "skin": 0 },
            { "translation": [0, 0, 4], "rotation": [0, 0, 0.6, 0.8] },
            { "mesh": 1, "scale": [1, 2, 1], "extensions": { "EXT_mesh_gpu_instancing": {
                "attributes": { "TRANSLATION": places } } } },
            { "camera": 1, "extensions": { "KHR_lights_punctual": { "light": 0 } }, "translation": [0, 0, 9] },
        ]);
        // Four equal meshes at different positions, one of them mirrored.
        for number in 0..4 {
            let attributes =
                json!({ "POSITION": 0, "NORMAL": normals, "TEXCOORD_0": uvs, "TEXCOORD_1": uvs });
            let meshes = gltf.json["meshes"].as_array_mut().unwrap();
            let mode = [4, 5, 6, 4][number];
            meshes.push(
                json!({ "name": number.to_string(), "primitives": [{ "attributes": attributes, "material": 2,
                "mode": mode, "targets": [{ "POSITION": moves }] }], "weights": [number] }),
            );
            let mesh = meshes.len() - 1;
            let nodes = gltf.json["nodes"].as_array_mut().unwrap();
            let side = if number == 3 { -1 } else { 1 };
            nodes.push(
                json!({ "mesh": mesh, "translation": [number, 1, 0], "scale": [side, 1, 1] }),
            );
            let node = nodes.len() - 1;
            nodes[0]["children"]
                .as_array_mut()
                .unwrap()
                .push(json!(node));
        }
        let mut lines = gltf.json["meshes"][1]["primitives"][0].clone();
        lines["mode"] = json!(2);
        lines["extensions"] = json!({ "KHR_materials_variants": {
            "mappings": [{ "material": 0, "variants": [0] }]
        } });
        let primitives = gltf.json["meshes"][1]["primitives"].as_array_mut();
        primitives.unwrap().push(lines);
        gltf.json["extensions"]["KHR_materials_variants"] =
            json!({ "variants": [{ "name": "red" }] });
        let turns = [[0.0, 0.0, 0.6, 0.8], [0.6, 0.0, 0.0, 0.8]];
        gltf.animate(2, "rotation", "LINEAR", &[0.0, 1.0], "VEC4", &turns);
        let spline = [0.0, 1.0, 2.0, 2.0, 4.0, 0.0].map(|x| [x, 0.0, 0.0]);
        gltf.animate(
            3,
            "translation",
            "CUBICSPLINE",
            &[0.0, 1.0],
            "VEC3",
            &spline,
        );
        gltf.animate(1, "weights", "STEP", &[0.0, 1.0], "SCALAR", &[[0.5], [1.0]]);
        gltf
    }

    /// Returns the file in text form, with the buffer as a data URI.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut json = self.json.clone();
        let bytes = base64::engine::general_purpose::STANDARD.encode(&self.binary);
        let uri = format!("data:application/octet-stream;base64,{bytes}");
        json["buffers"] = json!([{ "byteLength": self.binary.len(), "uri": uri }]);
        json.to_string().into_bytes()
    }
}
