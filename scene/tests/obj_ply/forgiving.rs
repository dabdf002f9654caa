//! OBJ, MTL and PLY files that break the rules of their formats as real programs do: they open, with a note where
//! something is left out.

use std::{fmt::Write, fs, path::Path};

use glam::{Vec2, Vec3};
use raysieve::scene::{Parameter, Scene, Surface, Texels};

use crate::{assert_covered_once, flat, folder, load};

/// A square of 2 m as text of an OBJ file, without faces.
const CORNERS: &str = "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\n";

/// Loads the OBJ model of this text, with the library `m.mtl`.
fn obj(test: &str, text: &str, library: &str) -> Scene {
    let folder = folder(test);
    fs::write(folder.join("m.mtl"), library).unwrap();
    let path = folder.join("model.obj");
    fs::write(&path, text).unwrap();
    load(&path)
}

/// Asserts that the notes of a scene are these, after the path of a file. An empty list means no note.
fn assert_notes(scene: &Scene, expected: &[&str]) {
    let notes = scene.notes.iter();
    let fits = notes
        .zip(expected)
        .all(|(note, expected)| note.ends_with(expected));
    assert!(
        fits && scene.notes.len() == expected.len(),
        "{:?}, expected {expected:?}",
        scene.notes
    );
}

fn image_at(path: &Path, color: [u8; 3]) {
    image::RgbImage::from_pixel(2, 2, image::Rgb(color))
        .save(path)
        .unwrap();
}

/// Returns the material of the only triangles, and its opacity.
fn material(scene: &Scene) -> (Surface, f32) {
    let material = scene.triangles[0].material;
    let maps = scene.maps.get(&material);
    let opacity = maps.map_or(1.0, |maps| maps.opacity);
    (scene.materials[material as usize], opacity)
}

#[test]
fn materials_that_nobody_could_see_are_shown() {
    let text = format!("mtllib m.mtl\n{CORNERS}usemtl m\nf 1 2 3 4\n");
    let diffuse = |surface: &Surface| matches!(surface, Surface::Diffuse { .. });
    for (library, opacity, is_right, note) in [
        (
            "newmtl m\nKd 1 0 0\nTr 1.0\nillum 1\n",
            1.0,
            diffuse as fn(&Surface) -> bool,
            Some("shown opaque: 1 material that `Tr 1` would make invisible"),
        ),
        (
            "newmtl m\nKd 1 0 0\nd 0\nillum 1\n",
            1.0,
            diffuse,
            Some("shown opaque: 1 material that `d 0` would make invisible"),
        ),
        (
            "newmtl m\nKd 0.6 0.1 0.1\nKs 0.5 0.5 0.5\nNi 1\nd 0.5\nillum 9\n",
            0.5,
            |surface| matches!(surface, Surface::Principled(_)),
            Some(
                "shown as a surface, not as glass: 1 material whose `Ni` of 1 would make it invisible",
            ),
        ),
        // What is visible stays as it is.
        ("newmtl m\nKd 1 0 0\nTr 0.75\n", 0.25, diffuse, None),
        ("newmtl m\nKd 1 0 0\nd 1\nTr 1\n", 1.0, diffuse, None),
        (
            "newmtl m\nNi 1.5\nd 0\nillum 6\n",
            1.0,
            |surface| matches!(surface, Surface::Dielectric { .. }),
            None,
        ),
    ] {
        let scene = obj("invisible", &text, library);
        let (surface, found) = material(&scene);
        assert!(
            is_right(&surface) && found == opacity,
            "{library}: {surface:?}, opacity {found}"
        );
        assert_notes(&scene, note.as_slice());
    }
}

#[test]
fn options_may_follow_the_name_of_a_texture() {
    let text = format!(
        "mtllib m.mtl\n{CORNERS}vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3 4/4\n"
    );
    for (statement, scale) in [
        ("map_Kd tex.png -bm 1", 1.0),
        ("map_Kd \"tex.png\"", 1.0),
        ("map_Kd -clamp on \"tex.png\" -s 3 3 3", 3.0),
        ("map_Kd tex.png -s 2 2 1 -blendu off", 2.0),
        ("map_Kd red - tex.png -s 2 2", 2.0),
    ] {
        let folder = folder("after");
        image_at(&folder.join("tex.png"), [255, 0, 0]);
        image_at(&folder.join("red - tex.png"), [255, 0, 0]);
        fs::write(folder.join("m.mtl"), format!("newmtl m\n{statement}\n")).unwrap();
        let path = folder.join("model.obj");
        fs::write(&path, &text).unwrap();
        let scene = load(&path);
        assert!(scene.notes.is_empty(), "{statement}: {:?}", scene.notes);
        let maps = scene.maps.values().next().unwrap();
        let map = maps.textures[&Parameter::Color];
        let texture = scene.textures[map.texture as usize];
        assert_eq!(
            texture.transform.matrix2.x_axis.x, scale,
            "{statement}: {texture:?}"
        );
    }
}

#[test]
fn a_library_that_cannot_be_found_is_a_note() {
    let model = |library: &str| format!("{library}\n{CORNERS}usemtl m\nf 1 2 3 4\n");
    let red = "newmtl m\nKd 1 0 0\n";
    for library in [
        "mtllib C:\\tmp\\m.mtl",
        "mtllib /home/me/m.mtl",
        "mtllib \"m.mtl\"",
    ] {
        let scene = obj("library", &model(library), red);
        assert_notes(&scene, &[]);
        assert!(matches!(material(&scene).0, Surface::Diffuse { .. }));
    }
    for (library, note) in [
        ("mtllib", None),
        ("mtllib ../w/gone.mtl", Some("its materials are missing")),
        ("mtllib gone.mtl", Some("does not exist")),
        ("mtllib C:\\tmp\\..", Some("its materials are missing")),
    ] {
        let scene = obj("library", &model(library), red);
        let notes = scene.notes.join("\n");
        assert!(note.is_none_or(|note| notes.contains(note)), "{notes}");
        assert!(notes.contains("shown grey"), "{notes}");
    }
}

#[test]
fn what_faces_name_and_the_file_does_not_have_is_left_out() {
    for (faces, triangles, note) in [
        (
            "f 1 2\nf 1 2 3 4\n",
            2,
            "left out: 1 face of fewer than three corners",
        ),
        (
            "f\nf 4\nf 1 2 3 4\n",
            2,
            "left out: 2 faces of fewer than three corners",
        ),
        (
            "f 1//1 2//2 3//3 4//4\n",
            2,
            "left out: normals of 4 corners, which the file does not have",
        ),
        (
            "f 1/7 2/x 3 4\n",
            2,
            "left out: texture coordinates of 2 corners, which the file does not have",
        ),
        (
            "f 0 1 2\nf 1 2 3 4\n",
            2,
            "left out: 1 face that name vertex 0, which does not exist",
        ),
    ] {
        let scene = obj("names", &format!("{CORNERS}{faces}"), "");
        assert_notes(&scene, &[note]);
        assert_eq!(scene.triangles.len(), triangles, "{faces}");
    }
}

/// Faces stored a second time with the other winding cancel the sums of a smoothing group.
#[test]
fn faces_stored_for_both_sides_are_smooth() {
    let mut text = String::new();
    // A bent strip along x: a parabola of 9 rows.
    for row in 0..9 {
        let x = f64::from(row) / 4.0 - 1.0;
        for z in [0.0, 0.37] {
            writeln!(text, "v {x} {} {z}", 0.31 * x * x).unwrap();
        }
    }
    text += "s 1\n";
    for at in 0..8 {
        let [a, b, c, d] = [2 * at + 1, 2 * at + 2, 2 * at + 4, 2 * at + 3];
        writeln!(text, "f {a} {b} {c} {d}\nf {d} {c} {b} {a}").unwrap();
    }
    let scene = obj("twice", &text, "");
    assert_notes(&scene, &[]);
    let mesh = &scene.meshes[scene.instances[0].mesh as usize];
    for (&at, &normal) in mesh.positions.iter().zip(&mesh.normals) {
        let slope = 2.0 * 0.31 * at.x;
        let expected = Vec3::new(-slope, 1.0, 0.0).normalize();
        let cosine = normal.dot(expected).abs();
        // Faces of a parabola meet at the middle of their slopes; at its ends there is one face.
        assert!(cosine > 0.99, "{normal} at {at}, expected {expected}");
    }
}

/// A letter C of more than 1,024 corners, in both windings.
#[test]
fn concave_polygons_of_many_corners_are_covered_exactly_once() {
    let arc = |radius: f32, count: u32| {
        (0..count)
            .map(move |at| Vec2::from_angle(0.5 + 5.2 * at as f32 / (count - 1) as f32) * radius)
    };
    let outer = arc(2.0, 3000);
    let mut letter: Vec<Vec2> = outer
        .chain(arc(1.2, 3000).collect::<Vec<_>>().into_iter().rev())
        .collect();
    for backwards in [false, true] {
        let mut text = String::new();
        for at in &letter {
            writeln!(text, "v {} {} 0", at.x, at.y).unwrap();
        }
        text += "f";
        for corner in 1..=letter.len() {
            write!(text, " {corner}").unwrap();
        }
        let triangles = flat(&obj("letter", &text, ""));
        assert_covered_once(&triangles, &letter, backwards);
        letter.reverse();
    }
}

/// Loads a PLY file of a square with these lines before its vertices, in its header, and after the position of each
/// vertex, and these faces.
fn ply(test: &str, comment: &str, properties: &str, values: &str, faces: &str) -> Scene {
    let path = folder(test).join("model.ply");
    let count = faces.lines().count();
    let vertices: String = ["-1 -1 0", "1 -1 0", "1 1 0", "-1 1 0"]
        .map(|place| format!("{place} {values}\n"))
        .concat();
    let text = format!(
        "ply\nformat ascii 1.0\n{comment}element vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
         {properties}element face {count}\nproperty list uchar int vertex_indices\nend_header\n{vertices}{faces}"
    );
    fs::write(&path, text).unwrap();
    load(&path)
}

#[test]
fn headers_of_ply_files_may_be_untidy() {
    for comment in [
        "",
        "  \t",
        "made by a program\n",
        "\n",
        " comment \n obj_info x\n  ",
    ] {
        let scene = ply("untidy", comment, "", "", "4 0 1 2 3\n");
        assert_eq!(scene.triangles.len(), 2, "{comment:?}");
        assert_notes(&scene, &[]);
    }
    let scene = ply("untidy", "", "", "", "2 0 1\n4 0 1 2 3\n");
    assert_notes(&scene, &["left out: 1 face of fewer than three corners"]);
}

#[test]
fn colors_of_ply_files_may_be_numbers_of_any_type_up_to_255() {
    for (kind, values) in [
        ("uchar", "255 127 0"),
        ("float", "255 127 0"),
        ("double", "255.0 127. 0"),
        ("int", "255 127 0"),
        ("uint", "255 127 0"),
        ("short", "255 127 0"),
        ("float", "1 .498039 0"),
        ("ushort", "65535 32639 0"),
        ("int", "65535 32639 0"),
    ] {
        let properties = ["red", "green", "blue"].map(|name| format!("property {kind} {name}\n"));
        let scene = ply("colors", "", &properties.concat(), values, "4 0 1 2 3\n");
        let Surface::Diffuse { albedo, .. } = material(&scene).0 else {
            panic!("{kind}: {:?}", scene.materials)
        };
        let albedo = Vec3::from_array(albedo.into());
        let expected = Vec3::new(1.0, 0.212_2, 0.0);
        assert!(
            (albedo - expected).abs().max_element() < 1e-3,
            "{kind} {values}: {albedo}"
        );
    }
}

#[test]
fn a_face_without_texture_coordinates_shows_no_texture() {
    let folder = folder("untextured");
    image_at(&folder.join("tex.png"), [255, 0, 0]);
    let path = folder.join("model.ply");
    let text = "ply\nformat ascii 1.0\ncomment TextureFile tex.png\nelement vertex 4\nproperty float x\n\
                property float y\nproperty float z\nelement face 2\nproperty list uchar int vertex_indices\n\
                property list uchar float texcoord\nend_header\n-1 -1 0\n1 -1 0\n1 1 0\n-1 1 0\n\
                3 0 1 2 6 0 0 1 0 1 1\n3 0 2 3 0\n";
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    assert_notes(&scene, &[]);
    let Texels::Bytes(_) = &scene.images[0].texels else {
        panic!("{:?}", scene.images[0])
    };
    let triangles = scene.triangles.iter().map(|triangle| triangle.material);
    let meshes = scene.instances.iter().map(|instance| {
        let mesh = &scene.meshes[instance.mesh as usize];
        instance.material.unwrap_or(mesh.materials[0])
    });
    let triangles = triangles
        .chain(meshes)
        .map(|material| scene.maps.contains_key(&material));
    let mut textured: Vec<bool> = triangles.collect();
    textured.sort_unstable();
    assert_eq!(textured, [false, true]);
}

/// A strip of a long line, which a height field of text has.
#[test]
fn lines_may_be_longer_than_a_mebibyte() {
    let path = folder("strip").join("model.ply");
    let (mut vertices, mut strip) = (String::new(), String::new());
    let rows = 100_000;
    for row in 0..rows {
        writeln!(vertices, "{row} 0 0\n{row} 1 0").unwrap();
        write!(strip, " {} {}", 2 * row, 2 * row + 1).unwrap();
    }
    let count = 2 * rows;
    let text = format!(
        "ply\nformat ascii 1.0\nelement vertex {count}\nproperty float x\nproperty float y\nproperty float z\n\
         element tristrips 1\nproperty list int int vertex_indices\nend_header\n{vertices}{count}{strip}\n"
    );
    assert!(strip.len() > 1 << 20);
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    let meshes = scene.meshes.iter().map(|mesh| mesh.triangles.len());
    assert_eq!(scene.triangles.len() + meshes.sum::<usize>(), count - 2);
}

/// SketchUp stores a face for each side. Each shows its own material, whichever comes first in the file.
#[test]
fn faces_back_to_back_show_the_material_of_their_side() {
    let library = "newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n";
    let red = "usemtl red\nf 1 2 3 4\nusemtl blue\nf 4 3 2 1\n";
    let blue = "usemtl blue\nf 1 4 3 2\nusemtl red\nf 1 2 3 4\n";
    for faces in [red, blue] {
        // Another face shares an edge with the red one, and moves with it.
        let fin = "v 1 -1 -2\nusemtl red\nf 1 5 2\n";
        let scene = obj(
            "sides",
            &format!("mtllib m.mtl\n{CORNERS}{faces}{fin}"),
            library,
        );
        assert_notes(&scene, &[]);
        for triangle in scene.triangles.iter() {
            let [a, b, c] = triangle.vertices;
            let normal = (b - a).cross(c - a).normalize();
            if normal.z.abs() < 0.9 {
                continue;
            }
            let Surface::Diffuse { albedo, .. } = scene.materials[triangle.material as usize]
            else {
                panic!("{:?}", scene.materials)
            };
            let is_red = Vec3::from_array(albedo.into()).x == 1.0;
            assert_eq!(normal.z > 0.0, is_red);
            let outside = (a.z + b.z + c.z) / 3.0 * normal.z;
            assert!(outside > 1e-6 && outside < 1e-5, "{triangle:?}");
        }
    }
    // Both sides have one material: nothing moves.
    let faces = "usemtl red\nf 1 2 3 4\nf 4 3 2 1\n";
    let scene = obj("sides", &format!("mtllib m.mtl\n{CORNERS}{faces}"), library);
    let mut corners = scene
        .triangles
        .iter()
        .flat_map(|triangle| triangle.vertices);
    assert!(corners.all(|corner| corner.z == 0.0));
}
