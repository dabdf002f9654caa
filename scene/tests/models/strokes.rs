//! Tests of the points and lines of glTF files, which become spheres and tubes.

use std::fs;

use glam::Vec3;
use raysieve::scene::{LoadOptions, Principled, Scene, Surface, Texels};
use serde_json::json;

use crate::{folder, gltf::Gltf, load, load_with, refusal, scene_of, triangles};

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

/// Returns the base color of a material.
fn base_color(material: Surface) -> [f32; 3] {
    match material {
        Surface::Principled(Principled { base_color, .. }) => base_color.to_array(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn points_become_spheres_of_the_width() {
    let spheres = |scene: &Scene| -> Vec<([f32; 3], f32)> {
        assert!(triangles(scene).is_empty());
        let spheres = scene.spheres.iter();
        spheres
            .map(|sphere| (sphere.center.to_array(), sphere.radius))
            .collect()
    };
    let path = model(0).write("points");
    let scene = load_with(&path, &width(0.5));
    assert_eq!(spheres(&scene), POINTS.map(|point| (point, 0.25)));
    // The view contains them.
    let framing = load(&path);
    assert!(framing.camera.origin.distance(Vec3::new(5.0, 5.0, 2.5)) > 7.0);
    // Indices select points, and the placement in a scene scales them.
    let mut indexed = model(0);
    let indices = indexed.accessor(5121, "SCALAR", 2, &[3, 1]);
    indexed.primitive()["indices"] = json!(indices);
    let path = indexed.write("points");
    let scene = load_with(&path, &width(0.5));
    assert_eq!(spheres(&scene), [(POINTS[3], 0.25), (POINTS[1], 0.25)]);
    let scene = scene_of(
        path.parent().unwrap(),
        "objects: [Model(file: \"model.glb\", line_width: 0.5, scale: (1, 2, 4), translate: (1, 0, 0))]",
    );
    assert_eq!(
        spheres(&scene),
        [([1.0, 20.0, 20.0], 0.5), ([11.0, 0.0, 0.0], 0.5)]
    );
    // A few unlit points are spheres, too.
    indexed.json["materials"] = json!([{ "extensions": { "KHR_materials_unlit": {} } }]);
    indexed.primitive()["material"] = json!(0);
    let scene = load_with(&indexed.write("points"), &width(0.5));
    assert_eq!(spheres(&scene), [(POINTS[3], 0.25), (POINTS[1], 0.25)]);
    let material = scene.materials[scene.spheres[0].material as usize];
    assert!(matches!(material, Surface::Emissive { .. }), "{material:?}");
}

#[test]
fn points_that_are_too_large_or_too_small_are_reported() {
    let folder = folder("point_sizes");
    // The scene shows the model of the folder.
    let placed = |fields: &str| {
        let path = folder.join("scene.ron");
        let text = format!(
            "(camera: (origin: (0, 0, 9), target: (0, 0, 0), fov: 40), sky: (1, 1, 1),
             objects: [Model(file: \"model.glb\", {fields})])"
        );
        fs::write(&path, text).unwrap();
        Scene::load(&path).map_err(|error| error.to_string())
    };
    let mut points = model(0);
    let indices = points.accessor(5121, "SCALAR", 1, &[0]);
    points.primitive()["indices"] = json!(indices);
    points.write("point_sizes");
    for (fields, expected) in [
        (
            "line_width: 1e8, scale: 1e8",
            "model.glb: the edge of a point is at",
        ),
        (
            "line_width: 0.5, scale: 1e-15",
            "model.glb: has no point with a radius of 1e-15 m or more; check its vertices, `scale` and `line_width`",
        ),
    ] {
        let problem = placed(fields).unwrap_err();
        assert!(problem.contains(expected), "{fields}: {problem}");
    }
    // A triangle in the plane z = 0 remains where the model is flattened.
    let indices = points.accessor(5121, "SCALAR", 3, &[0, 1, 2]);
    points.primitive()["indices"] = json!(indices);
    let attributes = points.primitive()["attributes"].clone();
    let primitives = points.json["meshes"][0]["primitives"].as_array_mut();
    primitives
        .unwrap()
        .push(json!({ "attributes": attributes, "indices": indices }));
    points.write("point_sizes");
    let scene = placed("line_width: 1e-10, scale: (1, 1, 1e-15)").unwrap();
    assert!(scene.spheres.is_empty() && triangles(&scene).len() == 1);
    assert_eq!(
        scene.notes,
        ["object 1 (Model): 3 points with a radius below 1e-15 m are left out; scale the model up"]
    );
}

#[test]
fn points_and_lines_become_spheres_and_tubes_of_the_width() {
    for (mode, segments) in [
        (1, &[[0, 1], [2, 3]][..]),
        (2, &[[0, 1], [1, 2], [2, 3], [3, 0]]),
        (3, &[[0, 1], [1, 2], [2, 3]]),
    ] {
        let path = model(mode).write("strokes");
        assert_tubes(&load_with(&path, &width(0.5)), segments, 0.25);
        // Indices select the ends.
        let mut indexed = model(mode);
        let indices = indexed.accessor(5121, "SCALAR", 2, &[3, 1]);
        indexed.primitive()["indices"] = json!(indices);
        let path = indexed.write("strokes");
        assert_tubes(&load_with(&path, &width(0.5)), &[[3, 1]], 0.25);
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
    // Different colors become a texture.
    let colors = model.floats("VEC3", &POINTS.map(|[x, y, _]| [x / 10.0, y / 10.0, 0.0]));
    model.primitive()["attributes"]["COLOR_0"] = json!(colors);
    let scene = model.load("colored_strokes");
    assert_eq!(scene.textures.len(), 1);
}

/// Returns a model of this many points in a row, with `side` × `side` colors, and the color of each point.
fn cloud(count: usize, side: usize) -> (Gltf, impl Fn(usize) -> [f32; 3]) {
    let points: Vec<[f32; 3]> = (0..count).map(|at| [at as f32, 0.0, 0.0]).collect();
    let color = move |at: usize| {
        let [red, green] = [at, at / side].map(|number| (number % side) as f32 / 64.0);
        [red, green, 0.5]
    };
    let colors: Vec<[f32; 3]> = (0..count).map(color).collect();
    let mut model = Gltf::new();
    let positions = model.floats("VEC3", &points);
    let colors = model.floats("VEC3", &colors);
    model.json["meshes"] = json!([{ "primitives": [
        { "attributes": { "POSITION": positions, "COLOR_0": colors }, "mode": 0 }
    ] }]);
    (model, color)
}

#[test]
fn points_of_few_colors_are_spheres_with_a_material_per_color() {
    let (mut model, color) = cloud(500, 10);
    let scene = load_with(&model.write("few_colors"), &width(0.5));
    assert!(triangles(&scene).is_empty() && scene.images.is_empty());
    for (number, sphere) in scene.spheres.iter().enumerate() {
        let found = base_color(scene.materials[sphere.material as usize]);
        assert_eq!(found, color(number));
    }
    assert_eq!(scene.materials.len(), 101);
    // Lines and points of one primitive keep their kind.
    model.primitive()["mode"] = json!(1);
    let indices = model.accessor(5121, "SCALAR", 4, &[3, 3, 5, 6]);
    model.primitive()["indices"] = json!(indices);
    let scene = load_with(&model.write("few_colors"), &width(0.5));
    let [point] = scene.spheres[..] else {
        panic!("{:?}", scene.spheres)
    };
    assert_eq!(point.center, Vec3::X * 3.0);
    assert!(!triangles(&scene).is_empty());
    assert!(
        triangles(&scene)
            .as_flattened()
            .iter()
            .all(|vertex| vertex.x > 4.7)
    );
}

#[test]
fn large_point_clouds_take_few_triangles_and_a_texel_block_per_color() {
    const COUNT: usize = 20_000;
    let (model, color) = cloud(COUNT, 40);
    let scene = load_with(&model.write("point_cloud"), &width(0.5));
    assert_eq!(triangles(&scene).len(), 10 * COUNT);
    let mesh = scene.meshes.iter().find(|mesh| !mesh.uvs.is_empty());
    let mesh = mesh.expect("a mesh with texture coordinates");
    let image = &scene.images[scene.textures[0].image as usize];
    assert_eq!((image.width, image.height), (80, 80));
    let Texels::Floats(texels) = &image.texels else {
        panic!("colors are floats");
    };
    for (position, uv) in mesh.positions.iter().zip(&mesh.uvs) {
        // A vertex lies between the four texels of its color.
        let [x, y] = uv.map(|at| (at * 80.0).round() as usize);
        for texel in [(x - 1, y - 1), (x, y - 1), (x - 1, y), (x, y)] {
            let found = texels[texel.1 * 80 + texel.0];
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
