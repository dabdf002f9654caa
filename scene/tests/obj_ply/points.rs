//! Tests of PLY files with points and no faces, which become spheres.

use std::fs;

use glam::Vec3;
use raysieve::scene::{LoadOptions, Scene, Surface};

use crate::{folder, load};

/// A PLY file of four colored points, with an element `face` that has no faces if `faces` is true.
fn points(faces: bool) -> String {
    let face = match faces {
        true => "element face 0\nproperty list uchar int vertex_indices\n",
        false => "",
    };
    format!(
        "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
         property float nx\nproperty float ny\nproperty float nz\nproperty uchar red\nproperty uchar green\n\
         property uchar blue\n{face}end_header\n\
         0 0 0 0 0 1 255 0 0\n3 0 0 0 0 1 0 255 0\n0 4 0 0 0 1 0 0 255\n3 4 0 0 0 1 255 0 0\n"
    )
}

#[test]
fn point_clouds_become_spheres_with_the_colors_of_their_points() {
    let path = folder("points").join("points.ply");
    for faces in [false, true] {
        fs::write(&path, points(faces)).unwrap();
        let scene = load(&path);
        assert!(scene.triangles.is_empty() && scene.instances.is_empty());
        let centers: Vec<Vec3> = scene.spheres.iter().map(|sphere| sphere.center).collect();
        let expected = [(0.0, 0.0), (3.0, 0.0), (0.0, 4.0), (3.0, 4.0)];
        assert_eq!(centers, expected.map(|(x, y)| Vec3::new(x, y, 0.0)));
        for (sphere, color) in scene
            .spheres
            .iter()
            .zip([Vec3::X, Vec3::Y, Vec3::Z, Vec3::X])
        {
            // A 200th of the diagonal of 5 m is the diameter.
            assert!((sphere.radius - 0.0125).abs() < 1e-6, "{}", sphere.radius);
            let Surface::Diffuse { albedo, .. } = scene.materials[sphere.material as usize] else {
                panic!("{:?}", scene.materials)
            };
            assert!(albedo.distance(color) < 1e-6, "{albedo}");
        }
        let note = "its points and lines are shown as spheres and tubes 2.500e-2 m wide";
        assert!(
            scene.notes.iter().any(|found| found.ends_with(note)),
            "{:?}",
            scene.notes
        );
    }
}

#[test]
fn the_width_of_points_is_an_option() {
    let folder = folder("point_width");
    let path = folder.join("points.ply");
    fs::write(&path, points(false)).unwrap();
    let wide = LoadOptions {
        line_width: Some(0.5),
        ..LoadOptions::default()
    };
    let scene = Scene::load_with(&path, &wide).unwrap();
    assert!(scene.spheres.iter().all(|sphere| sphere.radius == 0.25));
    assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    // In a scene, a `Model` has the field, and its scale applies to the places of the points.
    let text = "(camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40), \
                objects: [Model(file: \"points.ply\", line_width: 0.5, scale: 2)])";
    fs::write(folder.join("scene.ron"), text).unwrap();
    let scene = load(&folder.join("scene.ron"));
    assert!(scene.spheres.iter().all(|sphere| sphere.radius == 0.5));
    assert_eq!(scene.spheres[3].center, Vec3::new(6.0, 8.0, 0.0));
    // A mesh has faces, which have no width.
    let text = text
        .replace("Model(", "Mesh(")
        .replace("line_width: 0.5, ", "material: \"m\", ");
    let text = text.replace(
        "objects",
        "materials: {\"m\": Diffuse(albedo: (1, 1, 1))}, objects",
    );
    fs::write(folder.join("mesh.ron"), text).unwrap();
    let error = Scene::load(&folder.join("mesh.ron"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is a point cloud, which has no faces; show it by a `Model`"),
        "{error}"
    );
    fs::write(
        folder.join("faces.ply"),
        points(false).replace(
            "end_header",
            "element face 1\nproperty list uchar int vertex_indices\nend_header",
        ) + "3 0 1 2\n",
    )
    .unwrap();
    let scene = Scene::load_with(&folder.join("faces.ply"), &wide).unwrap();
    let note = "has no points or lines, so that their width has no effect";
    assert!(
        scene.notes.iter().any(|found| found.ends_with(note)),
        "{:?}",
        scene.notes
    );
    for (option, named) in [
        (
            LoadOptions {
                variant: Some("red".to_owned()),
                ..LoadOptions::default()
            },
            "variant",
        ),
        (
            LoadOptions {
                time: Some(1.0),
                ..wide.clone()
            },
            "time",
        ),
    ] {
        let error = Scene::load_with(&path, &option).unwrap_err().to_string();
        assert!(
            error.contains(&format!("has no {named} to choose")),
            "{error}"
        );
    }
}

/// Thousands of colors become meshes of spheres with a texture of colors, as those of glTF files.
#[test]
fn point_clouds_of_many_colors_are_shown() {
    let mut text = points(false).replace("element vertex 4", "element vertex 2000");
    text.truncate(text.find("end_header").unwrap());
    text += "end_header\n";
    for number in 0..2000 {
        let (x, y) = (number % 50, number / 50);
        text += &format!("{x} {y} 0 0 0 1 {} {} {}\n", x * 5, y * 6, number % 256);
    }
    let path = folder("many_points").join("points.ply");
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    assert!(scene.spheres.is_empty());
    assert!(
        scene.triangles.len()
            + scene
                .meshes
                .iter()
                .map(|mesh| mesh.triangles.len())
                .sum::<usize>()
            >= 2000 * 20
    );
}
