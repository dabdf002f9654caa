//! Notes about the parts of OBJ and PLY files that are not shown, and errors for files of other kinds.

use std::fs;

use glam::Vec3;
use raysieve::scene::{Scene, Surface, Texels};

use crate::{folder, load};

/// Returns the notes of a scene without the path of the model's file. `name` is the file's name.
fn notes(scene: &Scene, name: &str) -> Vec<String> {
    let start = format!("{name}: ");
    let text = |note: &String| note.split_once(&start).unwrap().1.to_owned();
    scene.notes.iter().map(text).collect()
}

/// Returns a PLY triangle in text, with these vertex properties after the position and their values per vertex.
fn ply(properties: &[&str], values: [&str; 3]) -> String {
    let properties: String = (properties.iter())
        .map(|property| format!("property {property}\n"))
        .collect();
    let [a, b, c] = values;
    format!(
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n{properties}\
         element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 {a}\n1 0 0 {b}\n0 1 0 {c}\n3 0 1 2\n"
    )
}

#[test]
fn vertex_colors_named_by_numbers_are_shown() {
    let path = folder("numbered").join("model.ply");
    for (kind, one) in [("uchar", "255"), ("float", "1")] {
        let names = [0, 1, 2].map(|channel| format!("{kind} color_{channel}"));
        let names = names.each_ref().map(String::as_str);
        let values = [
            format!("{one} 0 0"),
            format!("0 {one} 0"),
            format!("0 0 {one}"),
        ];
        let text = ply(&names, values.each_ref().map(String::as_str));
        fs::write(&path, text).unwrap();
        let scene = load(&path);
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
        let Texels::Floats(texels) = &scene.images[0].texels else {
            panic!("{:?}", scene.images[0])
        };
        assert_eq!(texels[..2], [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]]);
    }
}

#[test]
fn unused_parts_of_ply_files_are_counted() {
    let path = folder("unused").join("model.ply");
    let text = ply(&["float quality", "uchar flags"], ["1 2"; 3]);
    let text = text.replace(
        "end_header",
        "element edge 1\nproperty int vertex1\nend_header",
    ) + "0\n";
    fs::write(&path, text).unwrap();
    assert_eq!(
        notes(&load(&path), "model.ply"),
        [
            "not used: properties of 3 vertices (quality, flags)",
            "not used: 1 element `edge`"
        ]
    );
}

#[test]
fn unused_parts_of_obj_files_are_counted() {
    let folder = folder("obj");
    let library = "newmtl a\nKd 1 0 0\nrefl -type sphere a.png\nTf 1 1 1\nPs 0\n\
                   newmtl b\nKd 0 1 0\nrefl b.png\nPs 0.5\n";
    fs::write(folder.join("m.mtl"), library).unwrap();
    let path = folder.join("model.obj");
    let text = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\nl 1 2\nl 2 3 1\np 1\n";
    fs::write(&path, text).unwrap();
    let scene = load(&path);
    assert_eq!(
        notes(&scene, "model.obj"),
        [
            "not shown: textures of 2 materials (refl)",
            "not shown: Ps of 1 material",
            "not shown: 2 lines",
            "not shown: 1 point statement",
        ]
    );
    let (albedo, one_sided) = (Vec3::X, false);
    assert!(
        scene
            .materials
            .contains(&Surface::Diffuse { albedo, one_sided })
    );
}

#[test]
fn files_of_other_kinds_are_named_with_the_remedy() {
    let folder = folder("kinds");
    let points = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n";
    let splat = points.replace(
        "property float z\n",
        "property float z\nproperty float f_dc_0\nproperty float opacity\nproperty float rot_0\n",
    );
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let point_cloud = "is a point cloud in a format that is not read; convert it to PLY";
    let gaussians = "is a Gaussian splat, which has no surfaces";
    let pointer = "is a Git LFS pointer instead of the file itself; run `git lfs pull`";
    for (name, content, expected) in [
        ("points.obj", "v 0 0 0\nv 1 0 0\n".to_owned(), point_cloud),
        (
            "lines.obj",
            "v 0 0 0\nv 1 0 0\nl 1 2\n".to_owned(),
            "has lines and no faces; export it as glTF",
        ),
        (
            "surface.obj",
            "v 0 0 0\nv 1 0 0\nv 0 1 0\ncstype bezier\ndeg 1 1\nsurf 0 1 0 1 1 2 3\nend\n"
                .to_owned(),
            "has free-form curves or surfaces and no faces; convert them to a mesh",
        ),
        (
            "splat.ply",
            format!("{splat}end_header\n0 0 0 1 1 1\n"),
            gaussians,
        ),
        ("pointer.glb", lfs.to_owned(), pointer),
        ("pointer.gltf", lfs.to_owned(), pointer),
        ("pointer.obj", lfs.to_owned(), pointer),
        ("pointer.ply", lfs.to_owned(), pointer),
        (
            "renamed.glb",
            "Kaydara FBX Binary  \0".to_owned(),
            "is an FBX file",
        ),
        ("renamed.obj", "#usda 1.0\n".to_owned(), "is a USD file"),
        (
            "renamed.gltf",
            "BLENDER-v300".to_owned(),
            "is a Blender file",
        ),
        ("page.obj", "<!DOCTYPE html>\n".to_owned(), "is a web page"),
    ] {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        let found = Scene::load(&path).unwrap_err().to_string();
        let found = found
            .strip_prefix(&format!("{}: ", path.display()))
            .unwrap();
        assert!(found.starts_with(expected), "{name}: {found}");
        assert!(
            !found.contains('\n') && found.contains(';'),
            "{name}: {found}"
        );
    }
    for (name, expected) in [
        (
            "a.fbx",
            "is an FBX file, which is not supported; export it as glTF (.glb)",
        ),
        ("a.STL", "is an STL file"),
        ("a.usdz", "is a USD file"),
        ("a.blend", "is a Blender file"),
        ("a.splat", gaussians),
        ("a.las", point_cloud),
        (
            "a.txt",
            "expected a scene (.ron, Mitsuba's .xml or .pbrt), or a model",
        ),
    ] {
        let found = Scene::check_name(name.as_ref()).unwrap_err();
        assert!(found.starts_with(expected), "{name}: {found}");
    }
    assert_eq!(Scene::check_name("a.GLB".as_ref()), Ok(()));
}
