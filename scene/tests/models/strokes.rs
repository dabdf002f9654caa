//! Tests of the points and lines of glTF files, which become spheres and tubes.

use glam::Vec3;
use raysieve::scene::{LoadOptions, Principled, Scene, Surface, Texels};
use serde_json::json;

use crate::{gltf::Gltf, load, load_with, refusal, triangles};

/// Four points far apart from each other.
const POINTS: [[f32; 3]; 4] = [
    [0.0, 0.0, 0.0],
    [10.0, 0.0, 0.0],
    [10.0, 10.0, 0.0],
    [0.0, 10.0, 5.0],
];

/// Returns a model of one primitive of [`POINTS`] with this mode.
fn model(mode: u32) -> Gltf {
    let mut model = Gltf::new();
    let positions = model.floats("VEC3", &POINTS);
    model.json["meshes"] = json!([{ "primitives": [
        { "attributes": { "POSITION": positions }, "mode": mode }
    ] }]);
    model
}

fn width(metres: f64) -> LoadOptions {
    LoadOptions {
        line_width: Some(metres),
        ..LoadOptions::default()
    }
}

/// Returns the distance of a point from the segment between two others.
fn distance(point: Vec3, [a, b]: [Vec3; 2]) -> f32 {
    let along = b - a;
    let part = (point - a).dot(along) / along.length_squared().max(1e-20);
    point.distance(a + along * part.clamp(0.0, 1.0))
}

/// Asserts that every vertex of the scene lies at `radius` from the nearest of `segments`, that every segment has such
/// vertices at both of its ends, and that all triangles face outwards.
fn assert_tubes(scene: &Scene, segments: &[[usize; 2]], radius: f32) {
    let segments: Vec<[Vec3; 2]> = segments
        .iter()
        .map(|ends| ends.map(|end| Vec3::from_array(POINTS[end])))
        .collect();
    let found = triangles(scene);
    assert!(!found.is_empty());
    for triangle in &found {
        let center = (triangle[0] + triangle[1] + triangle[2]) / 3.0;
        let nearest = |point: Vec3| {
            let distances = segments.iter().map(|&ends| distance(point, ends));
            distances.fold(f32::INFINITY, f32::min)
        };
        for &vertex in triangle {
            // Tubes overlap where they meet, so that a vertex may lie inside another one.
            assert!(nearest(vertex) <= radius * 1.001, "{vertex}");
        }
        let normal = (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]);
        let outwards = |ends: &&[Vec3; 2]| {
            let [a, b] = **ends;
            let along = b - a;
            let part = (center - a).dot(along) / along.length_squared().max(1e-20);
            let inside = a + along * part.clamp(0.0, 1.0);
            (center - inside).dot(normal) > 0.0
        };
        assert!(segments.iter().any(|ends| outwards(&ends)), "{triangle:?}");
    }
    for &[a, b] in &segments {
        for end in [a, b] {
            let near = |vertex: &&Vec3| (vertex.distance(end) - radius).abs() < radius * 1e-3;
            let count = found.as_flattened().iter().filter(near).count();
            assert!(count >= 8, "{end} has {count} vertices");
        }
    }
    let ends = segments.as_flattened();
    let low = ends.iter().copied().reduce(Vec3::min).unwrap() - radius * 1.001;
    let high = ends.iter().copied().reduce(Vec3::max).unwrap() + radius * 1.001;
    let inside = |vertex: &Vec3| vertex.cmpge(low).all() && vertex.cmple(high).all();
    assert!(found.as_flattened().iter().all(inside));
}

#[test]
fn points_and_lines_become_spheres_and_tubes_of_the_width() {
    for (mode, segments) in [
        (0, &[[0, 0], [1, 1], [2, 2], [3, 3]][..]),
        (1, &[[0, 1], [2, 3]]),
        (2, &[[0, 1], [1, 2], [2, 3], [3, 0]]),
        (3, &[[0, 1], [1, 2], [2, 3]]),
    ] {
        let path = model(mode).write("strokes");
        assert_tubes(&load_with(&path, &width(0.5)), segments, 0.25);
        // Indices select the ends.
        let mut indexed = model(mode);
        let indices = indexed.accessor(5121, "SCALAR", 2, &[3, 1]);
        indexed.primitive()["indices"] = json!(indices);
        let segments: &[[usize; 2]] = match mode {
            0 => &[[3, 3], [1, 1]],
            _ => &[[3, 1]],
        };
        let path = indexed.write("strokes");
        assert_tubes(&load_with(&path, &width(0.5)), segments, 0.25);
    }
}

#[test]
fn the_width_is_in_metres_of_the_model_whatever_the_transform_of_the_node() {
    let mut scaled = model(3);
    scaled.json["nodes"][0]["scale"] = json!([0.5, 2, 4]);
    scaled.json["nodes"][0]["translation"] = json!([-5, 0, 0]);
    let positions = POINTS.map(|[x, y, z]| [2.0 * (x + 5.0), y / 2.0, z / 4.0]);
    let positions = scaled.floats("VEC3", &positions);
    scaled.primitive()["attributes"]["POSITION"] = json!(positions);
    let path = scaled.write("scaled_strokes");
    let scene = load_with(&path, &width(0.5));
    assert_tubes(&scene, &[[0, 1], [1, 2], [2, 3]], 0.25);
}

#[test]
fn the_default_width_is_a_fraction_of_the_size_of_the_model() {
    let scene = model(3).load("default_width");
    // The diagonal of the bounding box is 15 m.
    assert_tubes(&scene, &[[0, 1], [1, 2], [2, 3]], 15.0 / 200.0 / 2.0);
    let note = "its points and lines are shown as spheres and tubes 7.500e-2 m wide";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
}

#[test]
fn vertex_colors_of_lines_are_shown() {
    let mut model = model(3);
    let colors = model.floats("VEC3", &[[0.25, 0.5, 0.75]; 4]);
    model.primitive()["attributes"]["COLOR_0"] = json!(colors);
    let path = model.write("colored_strokes");
    let scene = load(&path);
    let colors: Vec<[f32; 3]> = scene
        .materials
        .iter()
        .filter_map(|material| match material {
            Surface::Principled(Principled { base_color, .. }) => Some(base_color.to_array()),
            _ => None,
        })
        .collect();
    assert!(colors.contains(&[0.25, 0.5, 0.75]), "{colors:?}");
    // Different colours become a texture.
    let colors = model.floats("VEC3", &POINTS.map(|[x, y, _]| [x / 10.0, y / 10.0, 0.0]));
    model.primitive()["attributes"]["COLOR_0"] = json!(colors);
    let scene = model.load("colored_strokes");
    assert_eq!(scene.textures.len(), 1);
}

#[test]
fn large_point_clouds_take_few_triangles_and_a_texel_block_per_color() {
    const COUNT: usize = 20_000;
    let points: Vec<[f32; 3]> = (0..COUNT).map(|at| [at as f32, 0.0, 0.0]).collect();
    let color = |at: usize| [(at % 10) as f32 / 16.0, (at / 10 % 10) as f32 / 16.0, 0.5];
    let colors: Vec<[f32; 3]> = (0..COUNT).map(color).collect();
    let mut model = Gltf::new();
    let positions = model.floats("VEC3", &points);
    let colors = model.floats("VEC3", &colors);
    model.json["meshes"] = json!([{ "primitives": [
        { "attributes": { "POSITION": positions, "COLOR_0": colors }, "mode": 0 }
    ] }]);
    let scene = load_with(&model.write("point_cloud"), &width(0.5));
    assert_eq!(triangles(&scene).len(), 10 * COUNT);
    let mesh = scene.meshes.iter().find(|mesh| !mesh.uvs.is_empty());
    let mesh = mesh.expect("a mesh with texture coordinates");
    let image = &scene.images[scene.textures[0].image as usize];
    assert_eq!((image.width, image.height), (20, 20));
    let Texels::Floats(texels) = &image.texels else {
        panic!("colors are floats");
    };
    for (position, uv) in mesh.positions.iter().zip(&mesh.uvs) {
        // A vertex lies between the four texels of its color.
        let [x, y] = uv.map(|at| (at * 20.0).round() as usize);
        for texel in [(x - 1, y - 1), (x, y - 1), (x - 1, y), (x, y)] {
            let found = texels[texel.1 * 20 + texel.0];
            assert_eq!(found[..3], color(position.x.round() as usize), "{position}");
        }
    }
}

#[test]
fn a_width_that_cannot_be_is_refused_and_one_without_effect_noted() {
    let path = model(1).write("wrong_width");
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let problem = refusal(&path, &width(wrong));
        assert!(problem.contains("expected a width above 0"), "{problem}");
    }
    let path = Gltf::triangle().write("no_strokes");
    let scene = load_with(&path, &width(0.5));
    let note = "has no points or lines, so that their width has no effect";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
}
