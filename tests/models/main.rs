//! Models as people have them: what a glTF, OBJ or PLY file shows, alone and in a scene, and what a wrong one is told.

#[path = "../common/gltf.rs"]
mod gltf;

mod cameras;
mod containers;
mod gathered;
mod lights;
mod materials;
mod meshes;
mod nodes;
mod obj;
mod objects;
mod textures;
mod wrong;

use std::{
    fs,
    path::{Path, PathBuf},
};

use glam::Vec3;
use gltf::{Gltf, SQUARE};
use raysieve::{
    scene::{Parameter, Scene},
    texture::sample_texture,
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
