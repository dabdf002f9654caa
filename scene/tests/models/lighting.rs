//! Tests of the default lighting of models, of the balance of their own lights, and of volumes, by rendering them.

use std::{f32::consts::PI, fs};

use glam::Vec3;
use raysieve::{
    film::picture::{Picture, tone::to_srgb8},
    render::renderer::{BackendChoice, Renderer, Settings},
    scene::{Light, Scene},
};
use serde_json::{Value, json};

use crate::{folder, gltf::Gltf, load, scene_of};

/// Width and height of the images in pixels.
const SIZE: u32 = 64;

/// Renders a scene on the CPU.
fn render(scene: &Scene, spp: u32) -> Picture {
    let settings = Settings {
        backend: BackendChoice::Cpu,
        ..Settings::default()
    };
    let mut scene = scene.clone();
    scene.set_size((SIZE, SIZE));
    scene.spp = spp;
    let mut renderer = Renderer::new(&scene, &settings).unwrap();
    while renderer.advance().unwrap() {}
    renderer.picture().unwrap()
}

/// Returns the brightness of each pixel in the displayed image, 0 to 255: the green channel.
fn levels(scene: &Scene) -> Vec<u8> {
    let rgba = to_srgb8(&render(scene, 64), scene.exposure_stops, scene.tone);
    rgba.as_chunks::<4>()
        .0
        .iter()
        .map(|pixel| pixel[1])
        .collect()
}

/// Writes a smooth sphere of this color as an OBJ file and loads it.
fn sphere(test: &str, color: f32) -> Scene {
    const RINGS: usize = 32;
    let folder = folder(test);
    let mut text = "mtllib m.mtl\nusemtl m\ns 1\n".to_owned();
    for at in 0..(RINGS + 1) * 2 * RINGS {
        let (ring, segment) = (at / (2 * RINGS), at % (2 * RINGS));
        let (up, around) = (
            ring as f32 * PI / RINGS as f32,
            segment as f32 * PI / RINGS as f32,
        );
        let (x, z) = (up.sin() * around.sin(), up.sin() * around.cos());
        text += &format!("v {x} {} {z}\n", up.cos());
    }
    for at in 0..RINGS * 2 * RINGS {
        let (ring, segment) = (at / (2 * RINGS), at % (2 * RINGS));
        let corner = |ring: usize, segment: usize| ring * 2 * RINGS + segment % (2 * RINGS) + 1;
        let below = [corner(ring + 1, segment), corner(ring + 1, segment + 1)];
        text += &format!(
            "f {} {} {} {}\n",
            corner(ring, segment),
            below[0],
            below[1],
            corner(ring, segment + 1)
        );
    }
    fs::write(folder.join("model.obj"), text).unwrap();
    let library = format!("newmtl m\nillum 1\nKd {color} {color} {color}\n");
    fs::write(folder.join("m.mtl"), library).unwrap();
    load(&folder.join("model.obj"))
}

/// Checks that a white sphere has a bright and a dark side, and that white and black spheres stand out against the
/// background.
#[test]
fn default_lighting_shows_the_shape_of_white_and_dark_models() {
    for color in [1.0, 0.8, 0.03] {
        let levels = levels(&sphere("shape", color));
        let level = |x: u32, y: u32| levels[(y * SIZE + x) as usize];
        let from_center = |at: u32| (at as f32 + 0.5) / SIZE as f32 - 0.5;
        let inside = |x: u32, y: u32| from_center(x).hypot(from_center(y)) < 0.42;
        let pixels = (0..SIZE * SIZE).map(|at| (at % SIZE, at / SIZE));
        let mut shown: Vec<u8> = pixels
            .filter(|&(x, y)| inside(x, y))
            .map(|(x, y)| level(x, y))
            .collect();
        shown.sort();
        let [dark, bright] = [0.05, 0.95].map(|part| shown[(part * shown.len() as f32) as usize]);
        let background = level(0, SIZE / 2);
        let found = format!("{color}: from {dark} to {bright} on {background}");
        if color > 0.5 {
            assert!(bright >= 215 && bright - dark >= 80, "{found}");
            assert!(bright - background >= 80, "{found}");
        } else {
            assert!(bright - dark >= 12 && background >= bright + 40, "{found}");
        }
    }
}

/// Returns a square on the ground, 2 m wide, with these lights 2 m above its center and a camera if it is wanted.
fn lit_ground(lights: Value, has_camera: bool) -> Gltf {
    let mut model = Gltf::new();
    let corners = [
        [-1.0, 0.0, 1.0],
        [1.0, 0.0, 1.0],
        [1.0, 0.0, -1.0],
        [-1.0, 0.0, -1.0],
    ];
    let positions = model.floats("VEC3", &corners);
    let indices = model.accessor(5121, "SCALAR", 6, &[0, 1, 2, 0, 2, 3]);
    model.json["meshes"] = json!([{ "primitives": [{
        "attributes": { "POSITION": positions }, "indices": indices, "material": 0
    }] }]);
    model.json["materials"] = json!([{ "pbrMetallicRoughness": {
        "metallicFactor": 0, "roughnessFactor": 1, "baseColorFactor": [0.5, 0.5, 0.5, 1]
    } }]);
    let mut nodes = vec![json!({ "mesh": 0 })];
    // The rotation by -90° about x turns -z downwards.
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let down = json!([-half, 0.0, 0.0, half]);
    for light in 0..lights.as_array().unwrap().len() {
        let extension = json!({ "KHR_lights_punctual": { "light": light } });
        nodes.push(json!({ "translation": [0, 2, 0], "rotation": down, "extensions": extension }));
    }
    if has_camera {
        nodes.push(json!({ "translation": [0, 3, 0], "rotation": down, "camera": 0 }));
        model.json["cameras"] = json!([{ "type": "perspective",
            "perspective": { "yfov": 1.0, "aspectRatio": 1.0, "znear": 0.1 } }]);
    }
    model.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": lights } });
    model.json["scenes"][0]["nodes"] = (0..nodes.len()).collect();
    model.json["nodes"] = json!(nodes);
    model
}

/// Lights of any strength and unit give the same image: exposure goes both ways.
#[test]
fn exposure_follows_the_lights_of_a_file() {
    for has_camera in [true, false] {
        let mut means = Vec::new();
        for light in [
            json!({ "type": "point", "intensity": 1e-4 }),
            json!({ "type": "point", "intensity": 3 }),
            json!({ "type": "point", "intensity": 50000 }),
            json!({ "type": "directional", "intensity": 0.02 }),
            json!({ "type": "directional", "intensity": 100000 }),
            json!({ "type": "spot", "intensity": 7 }),
        ] {
            let model = lit_ground(json!([light]), has_camera);
            let scene = model.load("exposure");
            let levels = levels(&scene);
            // The ground at the center of the image.
            let rows = SIZE / 2 - 4..SIZE / 2 + 4;
            let center = rows.flat_map(|y| rows_of(&levels, y));
            means.push(center.map(f32::from).sum::<f32>() / 64.0);
        }
        let found = format!("{means:?}, camera: {has_camera}");
        assert!(
            means.iter().all(|mean| (165.0..=215.0).contains(mean)),
            "{found}"
        );
    }
}

/// Returns the eight pixels in the middle of a row.
fn rows_of(levels: &[u8], y: u32) -> impl Iterator<Item = u8> {
    let start = (y * SIZE + SIZE / 2 - 4) as usize;
    levels[start..start + 8].iter().copied()
}

#[test]
fn studio_is_hidden_if_a_file_has_lights_and_a_camera() {
    let is_environment = |light: &Light| matches!(light, Light::Environment(_));
    let lamp = json!([{ "type": "point", "intensity": 3 }]);
    let scene = lit_ground(lamp.clone(), true).load("studio");
    assert!(!scene.lights.iter().any(is_environment));
    // The backdrop is much darker than a white surface, and not black.
    let shown = scene.sky.x * scene.exposure_stops.exp2();
    assert!((0.05..0.2).contains(&shown), "{shown}");
    let scene = lit_ground(lamp, false).load("studio");
    assert!(scene.lights.iter().any(is_environment) && scene.sky == Vec3::ZERO);
    // Unlit materials are shown as they are.
    let mut unlit = lit_ground(json!([{ "type": "point", "intensity": 3 }]), true);
    unlit.json["materials"][0]["extensions"] = json!({ "KHR_materials_unlit": {} });
    assert_eq!(unlit.load("studio").exposure_stops, 0.0);
    // A light that reaches nothing counts as none.
    let black = json!([{ "type": "point", "intensity": 0 }]);
    for has_camera in [true, false] {
        let scene = lit_ground(black.clone(), has_camera).load("studio");
        assert!(scene.lights.iter().any(is_environment));
        assert_eq!(scene.exposure_stops, 0.0);
    }
}

/// Compares a body of index 1 with one of index 1.002, smooth and rough. Light crosses 2 m of it.
#[test]
fn volume_of_index_one_absorbs_and_stays_clear() {
    let folder = folder("index_one");
    let mut pyramid = Gltf::triangle();
    let corners = [
        [-2.0, -2.0, -1.0],
        [2.0, -2.0, -1.0],
        [2.0, 2.0, -1.0],
        [-2.0, 2.0, -1.0],
    ];
    let front = corners.map(|[x, y, _]| [x, y, 1.0]);
    let positions = pyramid.floats("VEC3", &[corners, front].concat());
    let faces = [0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7];
    let sides = [
        0, 1, 5, 0, 5, 4, 1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7,
    ];
    let indices = [&faces[..], &sides[..]].concat();
    let indices = pyramid.accessor(5121, "SCALAR", indices.len(), &indices);
    pyramid.json["meshes"] = json!([{ "primitives": [{
        "attributes": { "POSITION": positions }, "indices": indices, "material": 0
    }] }]);
    for roughness in [0.0, 0.6] {
        let mut center = |ior: f32| {
            pyramid.json["materials"] = json!([{
                "pbrMetallicRoughness": { "metallicFactor": 0, "roughnessFactor": roughness },
                "extensions": {
                    "KHR_materials_transmission": { "transmissionFactor": 1 },
                    "KHR_materials_ior": { "ior": ior },
                    "KHR_materials_volume": { "thicknessFactor": 1,
                        "attenuationColor": [0.5, 0.25, 0.9], "attenuationDistance": 2 },
                },
            }]);
            fs::write(folder.join("model.glb"), pyramid.glb()).unwrap();
            let scene = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
            let pixel = SIZE / 2 * SIZE + SIZE / 2;
            render(&scene, 64).pixels[pixel as usize]
        };
        let (air, near) = (center(1.0), center(1.002));
        let expected = Vec3::new(0.5, 0.25, 0.9);
        for found in [air, near] {
            let offset = (found - expected).abs().max_element();
            assert!(
                offset < 0.02,
                "roughness {roughness}: {found}, expected {expected}"
            );
        }
    }
}
