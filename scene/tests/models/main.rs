//! Tests of model files: glTF, OBJ and PLY, loaded alone and as objects of a scene, and the errors for invalid ones.

#[path = "../../../tests/common/gltf.rs"]
mod gltf;

mod animations;
mod bounds;
mod cameras;
mod containers;
mod extensions;
mod extras;
mod lighting;
mod lights;
mod merged;
mod materials;
mod meshes;
mod nodes;
mod obj;
mod objects;
mod strokes;
mod textures;
mod variants;
mod wrong;

use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
    thread,
};

use glam::Vec3;
use gltf::{Gltf, SQUARE};
use image::ImageFormat;
use raysieve::{
    device::render_scene::RenderScene,
    scene::{LoadOptions, Parameter, Scene},
    shading::texture::sample_texture,
};
use serde_json::json;

/// Creates and returns a folder of the running test, which no other test uses.
fn folder(name: &str) -> PathBuf {
    let test = thread::current().name().unwrap().replace("::", "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("models")
        .join(test)
        .join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Loads a scene or model, and panics with the error if that fails.
fn load(path: &Path) -> Scene {
    Scene::load(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads a model as `options` selects it, and panics with the error if that fails.
fn load_with(path: &Path, options: &LoadOptions) -> Scene {
    Scene::load_with(path, options).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the error for a choice that a file cannot follow. Checks that it is one line that begins with the file.
fn refusal(path: &Path, options: &LoadOptions) -> String {
    let error = Scene::load_with(path, options).expect_err("the choice is invalid");
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "not one line: {text:?}");
    let file = format!("{}: ", path.display());
    let text = text.strip_prefix(&file).unwrap_or_else(|| panic!("{text}"));
    text.to_owned()
}

/// Returns the options for a time in seconds.
fn at(seconds: f64) -> LoadOptions {
    LoadOptions {
        time: Some(seconds),
        ..LoadOptions::default()
    }
}

/// Returns the error for an invalid file without the leading path. Checks that it is one line with exit code 2.
fn message(path: &Path) -> String {
    let error = Scene::load(path).expect_err(&path.display().to_string());
    assert!(!matches!(error, raysieve::scene::Error::Write { .. }));
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "not one line: {text:?}");
    let file = path.display().to_string();
    text.strip_prefix(&format!("{file}: "))
        .unwrap_or_else(|| panic!("{text} does not begin with {file}"))
        .to_owned()
}

/// Returns all triangles of a scene in world coordinates, those of instances last.
fn triangles(scene: &Scene) -> Vec<[Vec3; 3]> {
    let flat = scene.triangles.iter().map(|triangle| triangle.vertices);
    let instanced = scene.instances.iter().flat_map(|instance| {
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
    flat.chain(instanced).collect()
}

/// Asserts that a scene has exactly these triangles, in this order, with vertices within 1e-5.
fn assert_triangles(scene: &Scene, expected: &[[[f32; 3]; 3]]) {
    let found = triangles(scene);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        for (found, expected) in found.iter().zip(expected) {
            let offset = found.distance(Vec3::from_array(*expected));
            assert!(offset < 1e-5, "{found} is not {expected:?}");
        }
    }
}

impl Gltf {
    /// Writes the model as `model.glb` into the folder of a test and returns its path.
    fn write(&self, test: &str) -> PathBuf {
        let path = folder(test).join("model.glb");
        fs::write(&path, self.glb()).unwrap();
        path
    }

    /// Writes the model like [`Gltf::write`] and loads it.
    fn load(&self, test: &str) -> Scene {
        load(&self.write(test))
    }
}

/// The vertex positions of the model that [`Gltf::triangle`] makes.
const TRIANGLE: [[[f32; 3]; 3]; 1] = [[SQUARE[0], SQUARE[1], SQUARE[2]]];

/// Returns a PNG of 8 × 8 different texels. Different seeds give different images.
fn png(seed: u32) -> Vec<u8> {
    let image = image::RgbaImage::from_fn(8, 8, |x, y| {
        let hash = x
            .wrapping_mul(0x01f3_5a11)
            .wrapping_add(y.wrapping_mul(0x2b10_3717));
        let [r, g, b, _] = hash.wrapping_add(seed).to_le_bytes();
        image::Rgba([r, g, b, 255])
    });
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Writes the PNG of [`png`] into the folder of a test and returns its bytes.
fn pixels(folder: &Path, name: &str, seed: u32) -> Vec<u8> {
    let bytes = png(seed);
    fs::write(folder.join(name), &bytes).unwrap();
    bytes
}

/// Gives the first primitive a new material with a base color texture. `info` is the JSON of the texture's use, such
/// as `{"index": 0}`; texture 0 exists.
fn textured(model: &mut Gltf, info: serde_json::Value) {
    let view = model.view(&png(7));
    model.json["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    model.json["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorTexture": info } }]);
    model.primitive()["material"] = json!(0);
}

/// Returns a model of a unit square with material 0, and the texture coordinates that a `Quad` has.
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

/// Writes `scene.ron` with a camera, a white sky and the given fields into `folder`, and loads it.
fn scene_of(folder: &Path, fields: &str) -> Scene {
    let path = folder.join("scene.ron");
    let text = format!(
        "(camera: (origin: (0, 0, 9), target: (0, 0, 0), fov: 40), sky: (1, 1, 1), {fields})"
    );
    fs::write(&path, text).unwrap();
    load(&path)
}

/// Returns the value of the first mesh's color texture at a point of a triangle, given by the barycentric coordinates
/// (1 − b − c, b, c).
fn sample_color(scene: &Scene, triangle: usize, [b, c]: [f32; 2]) -> Vec3 {
    let mesh = &scene.meshes[0];
    let corners = mesh.triangles[triangle].map(|vertex| mesh.uvs[vertex as usize]);
    let at = |axis: usize| {
        corners[0][axis] * (1.0 - b - c) + corners[1][axis] * b + corners[2][axis] * c
    };
    let world = RenderScene::new(scene).unwrap();
    let map = scene.maps[&mesh.materials[0]].textures[&Parameter::Color];
    let texture = &world.textures[map.texture as usize];
    sample_texture(&world.texels, texture, at(0), at(1)).rgb
}
