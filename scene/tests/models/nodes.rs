//! Tests of glTF node transforms and instances.

use std::fs;

use glam::Vec3;
use serde_json::json;

use crate::{TRIANGLE, assert_triangles, folder, gltf::Gltf, load, scene_of, textured, triangles};

#[test]
fn node_transforms_are_relative_to_the_parent() {
    let mut model = Gltf::triangle();
    let half = 0.5f32.sqrt();
    model.json["nodes"] = json!([
        { "translation": [10, 0, 0], "children": [1, 2] },
        // Rotates by 90° about z and scales by 2, so that (x, y) becomes (-2y, 2x).
        { "rotation": [0, 0, half, half], "scale": [2, 2, 2], "mesh": 0 },
        // Mirrors, and the front stays in front.
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

/// Meshes scaled to 0 along one axis, like shadows and labels, are flat. Meshes scaled to a line or a point are hidden.
#[test]
fn meshes_scaled_to_a_plane_are_visible() {
    let mut model = Gltf::triangle();
    model.json["scenes"] = json!([{ "nodes": [0, 1, 2, 3] }]);
    model.json["nodes"] = json!([
        { "mesh": 0, "scale": [2, 3, 0], "translation": [0, 0, 5] },
        { "mesh": 0, "scale": [1, 0, 0] },
        { "mesh": 0, "scale": [0, 0, 0] },
        { "children": [4], "scale": [1, 0, 1] },
        { "mesh": 0, "rotation": [0.5, 0, 0, 0.75f64.sqrt()] },
    ]);
    // The second triangle is rotated by 60° about x and projected to the ground.
    let half = 0.75f32.sqrt();
    let found = model.load("planes");
    assert_triangles(
        &found,
        &[
            [[0.0, 0.0, 5.0], [2.0, 0.0, 5.0], [0.0, 3.0, 5.0]],
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, half]],
        ],
    );
    // Texture coordinates are kept.
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
fn a_projective_matrix_gives_one_note() {
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
                "ignored: the last row of a matrix, [0.0, 0.0, 0.5, 1.0] of node 0, expected [0, 0, 0, 1]",
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
fn ext_mesh_gpu_instancing_places_a_node_many_times() {
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
    // Two objects with the same file share its meshes and materials.
    let twice =
        "objects: [Model(file: \"model.glb\"), Model(file: \"model.glb\", translate: (0, 9, 0))]";
    let twice = scene_of(&folder, twice);
    assert_eq!((twice.meshes.len(), twice.instances.len()), (1, 2000));
    assert_eq!(twice.materials.len(), 1);
}

/// A scene need not have nodes, and nodes need not be in a scene. Blender shows all of them.
#[test]
fn meshes_outside_of_an_empty_default_scene_are_shown() {
    let triangle_at = |x: f32| [[x, 0.0, 0.0], [x + 1.0, 0.0, 0.0], [x, 1.0, 0.0]];
    const ALL: &str = ": its scenes have no meshes; the nodes outside of them are shown";
    for (scenes, shown, notes) in [
        (json!(null), &[0.0, 5.0][..], &[] as &[&str]),
        (json!([{}]), &[0.0, 5.0], &[ALL]),
        (json!([{ "nodes": [2] }]), &[0.0, 5.0], &[ALL]),
        (
            json!([{}, { "nodes": [2] }, { "nodes": [1, 0] }]),
            &[5.0, 0.0],
            &[": scene 0 has no meshes; scene 2 is shown instead (counted from 0)"],
        ),
        (
            json!([{ "nodes": [2] }, { "nodes": [1] }, { "nodes": [0] }]),
            &[5.0],
            &[
                ": scene 0 has no meshes; scene 1 is shown instead (counted from 0)",
                ": not shown: 1 other scene with meshes",
                ": not shown: 2 lights and cameras of scene 0",
            ],
        ),
        (
            json!([{ "nodes": [0] }]),
            &[0.0],
            &[": not shown: 1 node with meshes outside of all scenes"],
        ),
    ] {
        let mut model = Gltf::triangle();
        let document = model.json.as_object_mut().unwrap();
        document.remove("scene");
        document.insert("scenes".to_owned(), scenes);
        document.retain(|_, value| !value.is_null());
        let lamp = json!({ "KHR_lights_punctual": { "light": 0 } });
        model.json["nodes"] = json!([
            { "mesh": 0 },
            { "mesh": 0, "translation": [5, 0, 0] },
            { "camera": 0, "extensions": lamp },
        ]);
        model.json["cameras"] =
            json!([{ "type": "perspective", "perspective": { "yfov": 1, "znear": 0.1 } }]);
        model.json["extensions"] =
            json!({ "KHR_lights_punctual": { "lights": [{ "type": "point" }] } });
        let scene = model.load("scenes");
        let expected: Vec<_> = shown.iter().map(|&x| triangle_at(x)).collect();
        assert_triangles(&scene, &expected);
        let found = &scene.notes;
        let mut pairs = found.iter().zip(notes);
        assert!(
            found.len() == notes.len() && pairs.all(|(found, note)| found.ends_with(note)),
            "{found:?}"
        );
    }
}

#[test]
fn a_node_with_several_parents_is_shown_below_the_first() {
    let mut model = Gltf::triangle();
    model.json["nodes"] = json!([
        { "children": [1, 2] },
        { "children": [3], "translation": [10, 0, 0] },
        { "children": [3, 0], "translation": [0, 10, 0] },
        { "mesh": 0 },
    ]);
    model.json["scenes"] = json!([{ "nodes": [0] }]);
    let scene = load(&model.write("several_parents"));
    let moved = TRIANGLE.map(|triangle| triangle.map(|[x, y, z]| [x + 10.0, y, z]));
    assert_triangles(&scene, &moved);
    let note = "shown below one of its parents only: 2 nodes with several parents";
    assert!(
        scene.notes.iter().any(|found| found.ends_with(note)),
        "{:?}",
        scene.notes
    );
}
