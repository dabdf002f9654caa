//! Tests of `Model` and `Mesh` objects of a scene.

use std::{fs, path::Path};

use glam::Vec3;
use raysieve::scene::Scene;
use serde_json::json;

use crate::{assert_triangles, folder, gltf::Gltf, load, pixels, scene_of, triangles};

#[test]
fn a_model_object_is_transformed_and_its_material_can_be_replaced() {
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
        problem.contains("object 1 (Model): ") && problem.contains("model.glb: is not a GLB file"),
        "{problem}"
    );
}

#[test]
fn a_mesh_object_uses_the_texture_coordinates_and_normals_of_its_file() {
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
    // Normals transform by the inverse transpose: half the width doubles their x.
    let fields = format!(
        "{wood}, objects: [Mesh(file: \"square.obj\", material: \"wood\", smooth: true, scale: (0.5, 1, 1))]"
    );
    let leaning = Vec3::new(2.0, 0.0, 1.0).normalize();
    for normal in &scene_of(&folder, &fields).meshes[0].normals {
        assert!(normal.distance(leaning) < 1e-6, "{normal}");
    }
    // Without normals in the file they are averages of the faces' normals.
    let fields =
        format!("{wood}, objects: [Mesh(file: \"square.ply\", material: \"wood\", smooth: true)]");
    assert_eq!(scene_of(&folder, &fields).meshes[0].normals, [Vec3::Z; 4]);
    fs::write(folder.join("square.obj"), obj.replace("4/4/1", "4/5/1")).unwrap();
    let fields = format!(
        "({}, {wood}, objects: [Mesh(file: \"square.obj\", material: \"wood\")])",
        "camera: (origin: (0, 0, 9), target: (0, 0, 0), fov: 40)"
    );
    fs::write(folder.join("scene.ron"), fields).unwrap();
    let scene = Scene::load(&folder.join("scene.ron")).unwrap();
    let note = "object 1 (Mesh): normals or texture coordinates of 1 corners are left out";
    assert!(
        scene.notes.iter().any(|found| found.starts_with(note)),
        "{:?}",
        scene.notes
    );
}

#[test]
fn ply_models_of_every_encoding_have_all_triangles() {
    let expected = {
        let scene = load(Path::new("../tests/meshes/pyramid.obj"));
        triangles(&scene)
    };
    for encoding in ["ascii", "little", "big"] {
        let scene = load(Path::new(&format!(
            "../tests/meshes/pyramid_{encoding}.ply"
        )));
        assert_eq!(triangles(&scene).len(), expected.len(), "{encoding}");
    }
}
