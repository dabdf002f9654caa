//! Tests of glTF textures: texture coordinates, tangents and Basis Universal images.

use std::{fs, path::PathBuf};

use glam::Vec3;
use raysieve::{
    accel::instance::instance_surface,
    device::render_scene::RenderScene,
    path::{Hit, Ray},
    scene::{Image, Parameter, Scene, Texels},
};
use serde_json::json;

use crate::{folder, gltf::Gltf, load, pixels, scene_of, square, textured};

/// Checks that each texture uses its own set of coordinates. The set of a normal map comes first, because tangents
/// belong to it.
#[test]
fn textures_of_a_material_use_two_sets_of_coordinates() {
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
        scene.textures[map.texture as usize].uses_second_uvs
    };
    let scene = load(&model);
    assert_eq!(scene.notes, [""; 0]);
    assert_eq!(scene.meshes[0].second_uvs, other);
    let expected = [(Parameter::Color, false), (Parameter::Roughness, true)];
    for (parameter, second) in expected {
        assert_eq!(lies_by_second(&scene, parameter), second, "{parameter:?}");
    }
    // A surface has both sets, interpolated from the vertices.
    let world = RenderScene::new(&scene).unwrap();
    let instance_record = &world.instances[0];
    for (u, v) in [(0.2, 0.1), (0.5, 0.4), (0.0, 1.0)] {
        let position = (0..)
            .find(|&at: &u32| world.primitives[at as usize].is_triangle())
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
        let surface = instance_surface(
            instance_record,
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
        let difference = found
            .iter()
            .zip(expected)
            .map(|(found, expected)| (found - expected).abs());
        assert!(
            difference.fold(0.0, f32::max) < 1e-6,
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
    let expected = "not shown: textures that use a third set of texture coordinates (emissiveTexture, 1 material)";
    assert!(notes.contains(expected), "{notes}");
}

#[test]
fn computed_tangents_equal_those_of_the_file() {
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

/// The files were encoded by the reference encoder; see `tests/models/make_basis.mjs`.
#[test]
fn basis_textures_decode_to_the_encoded_image() {
    // ETC1S has one base color per block, so block averages are compared. UASTC is close at each texel.
    for (name, block, tolerance) in [("basis_etc1s", 4, 32.0), ("basis_uastc", 1, 3.0)] {
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
                let difference: f32 = (0..block * block)
                    .map(|at| (column * block + at % block, row * block + at / block))
                    .map(|(x, y)| f32::from(texels[20 * y + x][channel]) - expected(x, y)[channel])
                    .sum();
                let difference = difference / (block * block) as f32;
                assert!(
                    difference.abs() <= tolerance,
                    "{name}, block {column}, {row}: {difference}"
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
        // A truncated file is an error. A damaged one may decode to another image, but must not panic.
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
