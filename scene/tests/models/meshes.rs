//! Tests of glTF mesh data: modes, accessors, deformation, compression and vertex colors.

use std::{fs, path::Path};

use glam::Vec3;
use raysieve::{
    device::render_scene::RenderScene,
    scene::color::srgb_value,
    scene::{Channel, Parameter, Surface},
    shading::texture::sample_texture,
};
use serde_json::json;

use crate::{
    assert_triangles, folder,
    gltf::{Gltf, SQUARE},
    load, sample_color, square, textured, triangles,
};

#[test]
fn strips_and_fans_keep_the_winding() {
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
        // A triangle may start with any of its corners.
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
fn accessors_may_be_normalised_strided_and_sparse() {
    let mut model = Gltf::new();
    // Normalised signed 16-bit components, with padding after each vertex.
    let shorts = [[0, 0, 0, 9], [32767, 0, 0, 9], [0, -32768, 0, 9]];
    let bytes: Vec<u8> = shorts
        .iter()
        .flatten()
        .flat_map(|&number: &i16| number.to_le_bytes())
        .collect();
    let positions = model.accessor(5122, "VEC3", 3, &bytes);
    model.json["accessors"][positions]["normalized"] = json!(true);
    model.json["bufferViews"][0]["byteStride"] = json!(8);
    // A sparse value replaces the last vertex.
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
fn morph_targets_and_skins_are_in_their_rest_pose() {
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
    // glTF ignores the transform of a skinned node itself.
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

/// The files were encoded by the reference encoders of Draco and meshopt; see `tests/models/make.mjs`.
#[test]
fn compressed_meshes_equal_the_uncompressed_one() {
    let plain = triangles(&load(Path::new("tests/models/strip.glb")));
    assert_eq!(plain.len(), 288);
    for name in ["draco", "draco_sequential", "meshopt"] {
        let mut found = triangles(&load(Path::new(&format!("tests/models/strip_{name}.glb"))));
        assert_eq!(found.len(), plain.len(), "{name}");
        for triangle in &plain {
            // Positions are quantised to 14 bits, and a triangle may start with any corner.
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
fn vertex_colors_multiply_the_color_of_the_material() {
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
            let (found, expected) = (sample_color(&scene, triangle, at), expected(corners, at));
            assert!(
                found.distance(expected) < 1e-5,
                "{at:?}: {found} is not {expected}"
            );
        }
    }
    // Equal vertex colors change the material and need no texture.
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
    // Vertex alpha counts only if the alpha mode uses it.
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
    let world = RenderScene::new(&scene).unwrap();
    let texture = world.textures[opacity.texture as usize];
    let [a, b, c] = scene.meshes[0].triangles[0]
        .map(|corner| scene.meshes[0].uvs[corner as usize])
        .map(|[u, v]| sample_texture(&world.texels, &texture, u, v).alpha);
    assert_eq!([a, b, c], [1.0, 0.5, 1.0]);
    // Vertex colors of a PLY file are sRGB.
    let path = folder("colors").join("model.ply");
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
               property uchar red\nproperty uchar green\nproperty uchar blue\nproperty uchar alpha\nelement face 1\n\
               property list uchar int vertex_indices\nend_header\n\
               0 0 0 255 0 128 9\n1 0 0 0 255 0 9\n0 1 0 255 255 255 9\n3 0 1 2\n";
    fs::write(&path, ply).unwrap();
    let corner = sample_color(&load(&path), 0, [0.0, 0.0]);
    let expected = Vec3::new(1.0, 0.0, srgb_value(128.0 / 255.0));
    assert!(corner.distance(expected) < 1e-5, "{corner}");
}

#[test]
fn vertex_colors_multiply_a_textured_material() {
    let mut model = square();
    textured(&mut model, json!({ "index": 0 }));
    model.json["materials"][0]["alphaMode"] = json!("BLEND");
    let (red, blue) = ([1.0, 0.0, 0.0, 0.5], [0.0, 0.0, 1.0, 1.0]);
    // Each triangle has vertices of its own.
    let corners = [0, 1, 2, 1, 3, 2].map(|corner: usize| SQUARE[corner]);
    let positions = model.floats("VEC3", &corners);
    let uvs = model.floats("VEC2", &corners.map(|[x, y, _]| [x, y]));
    let colors = model.floats("VEC4", &[red, red, red, blue, blue, blue]);
    let attributes = json!({ "POSITION": positions, "TEXCOORD_0": uvs, "COLOR_0": colors });
    let primitive = model.primitive();
    primitive["attributes"] = attributes;
    primitive.as_object_mut().unwrap().remove("indices");
    // A mesh that is scaled to 0 along an axis is copied.
    for depth in [0, 1] {
        model.json["nodes"][0]["scale"] = json!([1, 1, depth]);
        let scene = model.load("textured_colors");
        assert_eq!(scene.notes, [""; 0]);
        let mesh = &scene.meshes[scene.instances[0].mesh as usize];
        for (triangle, color) in [red, blue].into_iter().enumerate() {
            let material = mesh.materials[triangle];
            let Surface::Principled(seen) = scene.materials[material as usize] else {
                panic!("{:?}", scene.materials);
            };
            assert_eq!(seen.base_color.to_array(), color[..3]);
            let maps = &scene.maps[&material];
            assert!(maps.textures.contains_key(&Parameter::Color));
            assert_eq!(maps.opacity, color[3]);
        }
    }
    // Colors that differ within triangles are replaced by their mean, and rounded if there are very many.
    let smooth = model.floats("VEC4", &[red, red, blue, blue, blue, blue]);
    model.primitive()["attributes"]["COLOR_0"] = json!(smooth);
    let scene = model.load("textured_colors");
    let material = scene.meshes[0].materials[0];
    assert!((scene.maps[&material].opacity - 2.0 / 3.0).abs() < 1e-6);
    let note = "approximated: vertex colors of 1 mesh whose material has textures, by one color per triangle";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
    let count = 5000;
    let many =
        |of: &dyn Fn(usize) -> [f32; 3]| -> Vec<[f32; 3]> { (0..3 * count).map(of).collect() };
    let positions = many(&|vertex| corners[vertex % 3]);
    let colors = many(&|vertex| [(vertex / 3) as f32 / count as f32, 1.0, 0.5]);
    let positions = model.floats("VEC3", &positions);
    let colors = model.floats("VEC3", &colors);
    let uvs = model.floats("VEC2", &vec![[0.0; 2]; 3 * count]);
    model.primitive()["attributes"] =
        json!({ "POSITION": positions, "TEXCOORD_0": uvs, "COLOR_0": colors });
    let scene = model.load("textured_colors");
    assert!(scene.materials.len() < 1100, "{}", scene.materials.len());
    let Surface::Principled(seen) = scene.materials[scene.meshes[0].materials[count / 2] as usize]
    else {
        panic!("{:?}", scene.materials[0]);
    };
    assert!((seen.base_color.x - 0.5).abs() < 0.01, "{seen:?}");
}
