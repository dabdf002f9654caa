//! Tests of the materials of OBJ files: order of definitions, and forms of colors.

use std::fs;

use glam::Vec3;
use raysieve::scene::{Scene, Surface};

use crate::{folder, load};

/// Returns the albedo of each triangle, whose materials must be diffuse.
fn albedos(scene: &Scene) -> Vec<Vec3> {
    let materials = scene.triangles.iter();
    materials
        .map(
            |triangle| match scene.materials[triangle.material as usize] {
                Surface::Diffuse { albedo, .. } => albedo,
                other => panic!("{other:?}"),
            },
        )
        .collect()
}

/// Albedo of the default material.
const GREY: Vec3 = Vec3::splat(0.8);

#[test]
fn a_material_may_be_used_before_its_library_is_named() {
    let folder = folder("late");
    fs::write(
        folder.join("m.mtl"),
        "newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n",
    )
    .unwrap();
    let path = folder.join("model.obj");
    let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\nusemtl green\nf 1 2 3\nusemtl blue\nf 1 2 3\n\
                mtllib m.mtl\nusemtl red\nf 1 2 3\nf 3 2 1\n";
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    assert_eq!(albedos(&scene), [Vec3::X, Vec3::X, Vec3::X, GREY, Vec3::Z]);
    let [note] = &scene.notes[..] else {
        panic!("{:?}", scene.notes)
    };
    assert!(
        note.ends_with("shown grey: faces of the materials green, which no library has"),
        "{note}"
    );
    // A material that no library defines shows the vertex colors.
    let colored = text
        .replace("0 0 0\n", "0 0 0 1 1 0\n")
        .replace("v 1 0 0\n", "v 1 0 0 1 1 0\n")
        .replace("v 0 1 0\n", "v 0 1 0 1 1 0\n");
    fs::write(&path, colored).unwrap();
    let yellow = Vec3::new(1.0, 1.0, 0.0);
    assert_eq!(
        albedos(&load(&path)),
        [Vec3::X, Vec3::X, Vec3::X, yellow, Vec3::ZERO]
    );
}

#[test]
fn library_colors_may_be_rgb_or_xyz_but_not_spectral() {
    let folder = folder("kinds");
    let path = folder.join("model.obj");
    fs::write(
        &path,
        "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl it\nf 1 2 3\n",
    )
    .unwrap();
    // The first two are D65 white and the red primary of sRGB.
    for (kd, expected, notes) in [
        ("xyz 0.9505 1 1.089", Vec3::ONE, 0),
        ("xyz 0.4124 0.2126 0.0193", Vec3::X, 0),
        ("0.25 0.5 1", Vec3::new(0.25, 0.5, 1.0), 0),
        ("spectral green.rfl 1", GREY, 1),
    ] {
        fs::write(folder.join("m.mtl"), format!("newmtl it\nKd {kd}\n")).unwrap();
        let scene = load(&path);
        let found = albedos(&scene)[0];
        assert!(found.abs_diff_eq(expected, 1e-3), "{kd}: {found}");
        assert_eq!(scene.notes.len(), notes, "{kd}: {:?}", scene.notes);
    }
    fs::write(folder.join("m.mtl"), "newmtl it\nKd xyz\n").unwrap();
    let found = Scene::load(&path).unwrap_err().to_string();
    assert!(
        found.ends_with("line 2: found `Kd xyz`, expected a color `r g b`"),
        "{found}"
    );
}
