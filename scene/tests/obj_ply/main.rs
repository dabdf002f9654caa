//! Tests of OBJ and PLY files as real programs write them: polygons, encodings, vertex colors and texture names.

mod binary;
mod encodings;
mod faces;
mod features;
mod forgiving;
mod left_out;
mod materials;
mod points;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

use glam::{Vec2, Vec3};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use raysieve::{
    scene::color::srgb_value,
    scene::{Parameter, Scene, Surface, Texels},
};

/// Creates an empty folder of the running test, which no other test uses, and returns it.
fn folder(name: &str) -> PathBuf {
    let test = thread::current().name().unwrap().replace("::", "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("obj_ply")
        .join(test)
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Loads a scene or model, and panics with the error if that fails.
fn load(path: &Path) -> Scene {
    Scene::load(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the triangles of a scene without instances, projected to the x-y plane.
fn flat(scene: &Scene) -> Vec<[Vec2; 3]> {
    let triangles = scene.triangles.iter();
    triangles
        .map(|triangle| triangle.vertices.map(Vec3::truncate))
        .collect()
}

/// Returns twice the signed area of a triangle, positive if it is counter-clockwise.
fn area([a, b, c]: [Vec2; 3]) -> f32 {
    (b - a).perp_dot(c - a)
}

/// Returns whether a point lies in a polygon, by counting the edges that a ray to the right crosses.
fn contains_point(polygon: &[Vec2], point: Vec2) -> bool {
    let after = polygon.iter().cycle().skip(1);
    let edges = polygon.iter().zip(after);
    let crossed = edges.filter(|(a, b)| {
        (a.y > point.y) != (b.y > point.y)
            && point.x < a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x)
    });
    crossed.count() % 2 == 1
}

/// Asserts that each point inside a polygon is covered by exactly one of the triangles, and no point outside by any. The
/// triangles of a polygon that runs `backwards`, clockwise, do so as well.
fn assert_covered_once(triangles: &[[Vec2; 3]], polygon: &[Vec2], backwards: bool) {
    let side = if backwards { -1.0 } else { 1.0 };
    let mut sides = triangles.iter().map(|&triangle| side * area(triangle));
    assert!(sides.all(|side| side > 0.0));
    for at in 0..400 {
        let at = Vec2::new((at % 20) as f32, (at / 20) as f32) / 4.6 - 2.06;
        let covering = triangles
            .iter()
            .filter(|triangle| contains_point(*triangle, at));
        let expected = usize::from(contains_point(polygon, at));
        assert_eq!(covering.count(), expected, "{polygon:?} at {at}");
    }
}

/// The polygons are stars, a comb, a spiral and one with a hole, with any first corner and both windings. Each point
/// inside is covered by exactly one triangle, and no point outside is covered.
#[test]
fn concave_polygons_are_covered_exactly_once() {
    let star = |corners: u32| -> Vec<Vec2> {
        let corner = |at: u32| {
            let angle = at as f32 / corners as f32 * std::f32::consts::TAU;
            Vec2::from_angle(angle) * if at.is_multiple_of(2) { 2.0 } else { 0.5 }
        };
        (0..corners).map(corner).collect()
    };
    let comb: Vec<Vec2> = [[-2.0, -2.0], [2.0, -2.0]]
        .into_iter()
        .chain((0..9).map(|at| [2.0 - at as f32 / 2.0, if at % 2 == 0 { 2.0 } else { -1.5 }]))
        .map(Vec2::from_array)
        .collect();
    let spiral: Vec<Vec2> = (0..40)
        .map(|at| Vec2::from_angle(at as f32 * 0.4) * (0.3 + at as f32 * 0.04))
        .chain(
            (0..40)
                .rev()
                .map(|at| Vec2::from_angle(at as f32 * 0.4) * (0.2 + at as f32 * 0.04)),
        )
        .collect();
    let around_a_hole = [
        [-2.0, -2.0],
        [2.0, -2.0],
        [2.0, 2.0],
        [-2.0, 2.0],
        [-2.0, -2.0],
        [-1.0, -1.0],
        [-1.0, 1.0],
        [1.0, 1.0],
        [1.0, -1.0],
        [-1.0, -1.0],
    ]
    .map(Vec2::from_array)
    .to_vec();
    let path = folder("dents").join("model.obj");
    for polygon in [star(8), star(30), comb, spiral, around_a_hole] {
        for first in (0..polygon.len()).step_by(3) {
            for backwards in [false, true] {
                let mut corners = polygon.clone();
                corners.rotate_left(first);
                if backwards {
                    corners.reverse();
                }
                let vertices = corners.iter().map(|at| format!("v {} {} 0\n", at.x, at.y));
                let face: String = (1..=corners.len())
                    .map(|corner| format!(" {corner}"))
                    .collect();
                let text: String = vertices.chain([format!("f{face}")]).collect();
                fs::write(&path, text).unwrap();
                let triangles = flat(&load(&path));
                assert_covered_once(&triangles, &corners, backwards);
            }
        }
    }
}

#[test]
fn a_convex_polygon_is_a_fan() {
    let path = folder("fan").join("model.obj");
    fs::write(
        &path,
        "v 0 0 0\nv 2 0 0\nv 3 1 0\nv 2 2 0\nv 0 2 0\nf 1 2 3 4 5",
    )
    .unwrap();
    let first = flat(&load(&path))
        .iter()
        .map(|triangle| triangle[0])
        .collect::<Vec<_>>();
    assert_eq!(first, [Vec2::ZERO; 3]);
}

/// Self-intersecting polygons and ones with many corners give some triangulation without taking quadratic time.
#[test]
fn large_and_self_intersecting_polygons_are_triangulated_quickly() {
    let path = folder("long").join("model.obj");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for corners in [1024_usize, 1025, 50_000] {
        let vertices = (0..corners).map(|_| {
            let [x, y] = [(); 2].map(|()| random.random_range(0..4096));
            format!("v {x} {y} 0\n")
        });
        let face: String = (1..=corners).map(|corner| format!(" {corner}")).collect();
        fs::write(
            &path,
            vertices.chain([format!("f{face}")]).collect::<String>(),
        )
        .unwrap();
        assert!(load(&path).triangles.len() <= corners - 2);
    }
}

#[test]
fn names_and_comments_may_have_any_encoding() {
    let folder = folder("encoding");
    let face = "v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl caf\u{e9}\nf 1 2 3\n";
    let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    fs::write(
        folder.join("m.mtl"),
        latin("# \u{fc}\nnewmtl caf\u{e9}\nKd 1 0 0\n"),
    )
    .unwrap();
    let obj = folder.join("model.obj");
    fs::write(&obj, latin(&format!("# \u{fc}\nmtllib m.mtl\n{face}"))).unwrap();
    let red = Surface::Diffuse {
        albedo: Vec3::X,
        one_sided: false,
    };
    let scene = load(&obj);
    assert_eq!(scene.materials[scene.triangles[0].material as usize], red);
    let ply = folder.join("model.ply");
    let text = fs::read_to_string("../tests/meshes/pyramid_ascii.ply").unwrap();
    let text = text.replacen("ply\n", "ply\ncomment \u{fc}\n", 1);
    fs::write(&ply, latin(&text)).unwrap();
    assert!(text.contains('\u{fc}') && !load(&ply).triangles.is_empty());
}

#[test]
fn obj_vertex_colors_become_a_texture() {
    let path = folder("colors").join("model.obj");
    let text = "v 0 0 0 1 0 0.5\nv 1 0 0 0 1 0.5\nv 0 1 0 0 0 1\nv 1 1 0 9\nf 1 2 3\n";
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    let [image] = &scene.images[..] else {
        panic!("{} images", scene.images.len())
    };
    let Texels::Floats(texels) = &image.texels else {
        panic!("{image:?}")
    };
    let half = srgb_value(0.5);
    assert_eq!(texels[..2], [[1.0, 0.0, half, 1.0], [0.0, 1.0, half, 1.0]]);
    let white = Surface::Diffuse {
        albedo: Vec3::ONE,
        one_sided: false,
    };
    assert!(scene.materials.contains(&white));
    // If any vertex of a mesh has no color, there is no texture.
    fs::write(&path, format!("{text}f 1 2 4\n")).unwrap();
    assert!(load(&path).images.is_empty());
}

/// Programs write names with wrong case, backslashes, and absolute paths of another machine.
#[test]
fn textures_with_foreign_paths_are_found() {
    let folder = folder("names");
    let image = image::RgbImage::from_pixel(2, 1, image::Rgb([255, 0, 0]));
    fs::create_dir(folder.join("Maps")).unwrap();
    for name in ["Wood 50%.PNG", "Maps/brick.tga", "tile.bmp"] {
        image.save(folder.join(name)).unwrap();
    }
    let text = "MTLLIB\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m\nf 1 2 3\n";
    let path = folder.join("model.obj");
    // A library that is named many times is read once.
    fs::write(
        &path,
        text.replace("MTLLIB", &"mtllib m.mtl\n".repeat(1000)),
    )
    .unwrap();
    for (name, found) in [
        ("Wood 50%.PNG", true),
        ("wood 50%.png", true),
        ("C:\\Users\\me\\Wood 50%.png", true),
        ("/home/me/wood 50%.png", true),
        ("../elsewhere/wood 50%.png", true),
        ("maps\\BRICK.tga", true),
        ("textures/tile.bmp", true),
        ("textures/brick.tga", false),
        ("../names/Maps/brick.tga", true),
        ("C:\\Users\\me\\..", false),
    ] {
        fs::write(folder.join("M.mtl"), format!("newmtl m\nmap_Kd {name}\n")).unwrap();
        let scene = load(&path);
        let maps = scene.maps.values().next();
        let mapped = maps.is_some_and(|maps| maps.textures.contains_key(&Parameter::Color));
        assert_eq!(mapped, found, "{name}: {:?}", scene.notes);
        assert_eq!(scene.notes.is_empty(), found, "{name}: {:?}", scene.notes);
        if found {
            let Texels::Bytes(texels) = &scene.images[0].texels else {
                panic!("{name}: {:?}", scene.images[0])
            };
            assert_eq!(texels[..], [[255, 0, 0, 255]; 2], "{name}");
        }
    }
}
