//! Test of the merging of meshes that are each used once.

use glam::Vec3;
use raysieve::{
    accel::instance::instance_surface,
    device::render_scene::RenderScene,
    path::{Hit, Ray},
    scene::Scene,
};
use serde_json::json;

use crate::{gltf::SQUARE, png, square};

/// Returns the surface at one point of every triangle of a scene's instances with z below 50, sorted by position. Each
/// entry has the material, five vectors (position, normals, tangent and bitangent), and the texture coordinates.
fn surfaces(scene: &Scene) -> Vec<(u32, [Vec3; 5], [f32; 2])> {
    let world = RenderScene::new(scene).unwrap();
    let mut surfaces = Vec::new();
    for (instance_record, instance) in world.instances.iter().zip(scene.instances.iter()) {
        let mesh = &scene.meshes[instance.mesh as usize];
        let first = world.nodes[instance_record.root as usize].primitive_base;
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
            let at = instance_surface(
                instance_record,
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

/// Merges meshes with and without tangents, with rotated, stretched and mirrored transforms.
#[test]
fn merged_meshes_look_like_separate_ones() {
    let mut model = square();
    let normals: [Vec3; 4] = std::array::from_fn(|corner| {
        let [x, y] = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]][corner];
        Vec3::new(0.3 * x, 0.3 * y, 1.0).normalize()
    });
    let normals = model.floats("VEC3", &normals.map(|normal| normal.to_array()));
    model.primitive()["attributes"]["NORMAL"] = json!(normals);
    let view = model.view(&png(7));
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
        // With equal accessors they would be instances of one mesh.
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
    let merged = model.load("merged");
    // One mesh with tangents, one without, and the emissive one.
    assert_eq!((merged.meshes.len(), merged.instances.len()), (3, 3));
    // Meshes with two instances are not merged.
    for number in 0..count {
        nodes.push(json!({ "mesh": number, "translation": [0, 0, 100] }));
    }
    model.json["scenes"] = json!([{ "nodes": (0..2 * count).collect::<Vec<_>>() }]);
    model.json["nodes"] = json!(nodes);
    let unmerged = model.load("apart");
    assert_eq!(unmerged.meshes.len(), 11);
    let (found, expected) = (surfaces(&merged), surfaces(&unmerged));
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
