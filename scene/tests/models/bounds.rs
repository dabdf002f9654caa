//! Files that models name by paths with `..`: those of the opened file's folder and of its repository are read.

use std::{fs, path::Path};

use raysieve::scene::{Parameter, Scene};
use serde_json::json;
use tempfile::TempDir;

use crate::gltf::Gltf;

/// Writes a glTF, an OBJ and a PLY model with the texture `image` into a folder.
fn write_models(folder: &Path, image: &str) {
    fs::create_dir_all(folder).unwrap();
    let mut model = Gltf::triangle();
    let uvs = model.floats("VEC2", &[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    let primitive = model.primitive();
    primitive["attributes"]["TEXCOORD_0"] = json!(uvs);
    primitive["material"] = json!(0);
    model.json["images"] = json!([{ "uri": image }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    model.json["materials"] =
        json!([{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }]);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let obj = "mtllib model.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl m\nf 1/1 2/2 3/3\n";
    fs::write(folder.join("model.obj"), obj).unwrap();
    fs::write(
        folder.join("model.mtl"),
        format!("newmtl m\nmap_Kd {image}\n"),
    )
    .unwrap();
    let ply = format!(
        "ply\nformat ascii 1.0\ncomment TextureFile {image}\nelement vertex 3\nproperty float x\nproperty float y\n\
         property float z\nproperty float u\nproperty float v\nelement face 1\n\
         property list uchar int vertex_indices\nend_header\n0 0 0 0 0\n1 0 0 1 0\n0 1 0 0 1\n3 0 1 2\n"
    );
    fs::write(folder.join("model.ply"), ply).unwrap();
}

/// Loads a scene or model, and returns whether it has a texture, and its warnings.
fn is_textured(path: &Path) -> (bool, Vec<String>) {
    let scene = Scene::load(path).unwrap_or_else(|error| panic!("{error}"));
    let mut maps = scene.maps.values();
    let textured = maps.any(|maps| maps.textures.contains_key(&Parameter::Color));
    (textured, scene.notes)
}

const MODELS: [&str; 3] = ["model.glb", "model.obj", "model.ply"];

/// A folder of models in `assets/models/a`, with an image in `assets/textures`, and a secret outside of `assets`.
fn project() -> TempDir {
    let root = TempDir::new().unwrap();
    let image = image::RgbImage::from_pixel(1, 1, image::Rgb([255, 0, 0]));
    for folder in ["assets/models/a", "assets/textures"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    image
        .save(root.path().join("assets/textures/wood.png"))
        .unwrap();
    image.save(root.path().join("secret.png")).unwrap();
    root
}

#[test]
fn a_repository_shares_its_images() {
    let root = project();
    let models = root.path().join("assets/models/a");
    write_models(&models, "../../textures/wood.png");
    for name in MODELS {
        let (textured, notes) = is_textured(&models.join(name));
        assert!(!textured, "{name}");
        let expected = "which is outside of the folder of the opened file and of its repository; copy it into the model's folder";
        let is_named = notes.iter().any(|note| note.contains(expected));
        assert!(is_named, "{name}: {notes:?}");
    }
    // A worktree and a submodule have a file of this name.
    fs::write(root.path().join("assets/.git"), "gitdir: elsewhere\n").unwrap();
    for name in MODELS {
        let (textured, notes) = is_textured(&models.join(name));
        assert!(textured, "{name}: {notes:?}");
    }
    // The repository ends there.
    write_models(&models, "../../../secret.png");
    for name in MODELS {
        let (textured, notes) = is_textured(&models.join(name));
        assert!(!textured, "{name}");
        assert!(
            notes.iter().any(|note| note.contains("is outside of")),
            "{notes:?}"
        );
    }
}

#[test]
fn the_folder_of_the_opened_scene_shares_its_images() {
    let root = project();
    let models = root.path().join("assets/models/a");
    let scene = root.path().join("assets/scene.ron");
    for (image, expected) in [
        ("../../textures/wood.png", true),
        ("..\\..\\textures\\wood.png", true),
        ("./../../textures/wood.png", true),
        ("../../../secret.png", false),
        ("../../../assets/textures/wood.png", true),
        ("../../textures/../../secret.png", false),
        ("none/../../../../secret.png", false),
    ] {
        write_models(&models, image);
        for name in MODELS {
            let text = format!(
                "(camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40), objects: [Model(file: \"models/a/{name}\")])"
            );
            fs::write(&scene, text).unwrap();
            let (textured, notes) = is_textured(&scene);
            assert_eq!(textured, expected, "{name} with {image}: {notes:?}");
            assert_eq!(notes.is_empty(), expected, "{name} with {image}: {notes:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn symbolic_links_do_not_lead_out_by_two_dots() {
    let root = project();
    let assets = root.path().join("assets");
    fs::create_dir_all(root.path().join("elsewhere/deep")).unwrap();
    std::os::unix::fs::symlink(
        root.path().join("elsewhere/deep"),
        assets.join("models/link"),
    )
    .unwrap();
    fs::rename(
        root.path().join("secret.png"),
        root.path().join("elsewhere/secret.png"),
    )
    .unwrap();
    let models = assets.join("models/a");
    // By its words, the path leads to `models/secret.png`.
    write_models(&models, "../link/../secret.png");
    fs::write(assets.join(".git"), "").unwrap();
    for name in MODELS {
        let (textured, notes) = is_textured(&models.join(name));
        assert!(!textured, "{name}");
        assert!(
            notes.iter().any(|note| note.contains("is outside of")),
            "{notes:?}"
        );
    }
}
