//! Features of real OBJ files that other readers reject or lose: see `docs/experiments/081-libraries-for-files.md`.

use std::{fs, path::Path};

use crate::{folder, load};

/// Counts the triangles of a model, in instances and outside them.
fn triangle_count(path: &Path) -> usize {
    let scene = load(path);
    let meshes = scene.instances.iter();
    let meshes = meshes.map(|instance| &scene.meshes[instance.mesh as usize]);
    scene.triangles.len() + meshes.map(|mesh| mesh.triangles.len()).sum::<usize>()
}

/// Reads squares, each with one unusual feature.
#[test]
fn features_that_libraries_reject_are_read() {
    let path = folder("features").join("model.obj");
    let vertices = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";
    let two_triangles: [(&str, String); 8] = [
        ("continued line", format!("{vertices}f 1 2 \\\n3 4\n")),
        (
            "trailing comments",
            format!(
                "{}f 1 2 3 4 # quad\n",
                vertices.replace(" 0\n", " 0 # corner\n")
            ),
        ),
        ("tabs", format!("{vertices}usemtl\ta\nf\t1\t2\t3\t4\n")),
        ("group without a name", format!("{vertices}g\nf 1 2 3 4\n")),
        (
            "material without a name",
            format!("{vertices}usemtl \nf 1 2 3 4\n"),
        ),
        (
            "mixed corners",
            format!("{vertices}vt 0\nvn 0 0 1\nf 1/1 2/1 3/1\nf 1//1 3//1 4//1\n"),
        ),
        (
            "color of one vertex",
            format!(
                "{}f 1 2 3 4\n",
                vertices.replacen("0 0\n", "0 0 1 0.5 0\n", 1)
            ),
        ),
        (
            "color with alpha",
            format!("{}f 1 2 3 4\n", vertices.replace(" 0\n", " 0 1 0.5 0 1\n")),
        ),
    ];
    for (feature, text) in two_triangles {
        fs::write(&path, text).unwrap();
        assert_eq!(triangle_count(&path), 2, "{feature}");
    }
    let text = [
        b"# B\xe4ume\n",
        vertices.as_bytes(),
        b"g gr\xfcn\nf 1 2 3 4\n",
    ]
    .concat();
    fs::write(&path, text).unwrap();
    assert_eq!(triangle_count(&path), 2, "Latin-1");
}
