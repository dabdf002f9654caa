//! Reads bytes as a file of some kind: that may fail with one line, and in no other way.

use std::{fs, panic, sync::OnceLock};

use raysieve::{part::Found, scene::Scene};
use tempfile::TempDir;

/// Shows an image as a texture and as bumps.
const BUMPS: &str = "newmtl red\nmap_Kd IMAGE\nmap_Bump -bm 2 IMAGE\n";
/// The file of MTL's `mtllib`.
const OBJ: &str = "mtllib case.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl red\nf 1 2 3\n";

/// Shows an image in all ways.
const IMAGES: &str = r#"(
    camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40),
    lights: [Environment(file: "IMAGE")],
    materials: { "m": Principled(base_color: Texture(file: "IMAGE"), roughness: Texture(file: "IMAGE")) },
    objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "m")],
)"#;

/// Reads a file of this kind. Panics if it is refused in more than one line.
pub fn read(kind: &str, bytes: &[u8]) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        // A decoder's panic is caught by who calls it; libfuzzer ends the process in its hook, before that.
        panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
        tempfile::tempdir().expect("a folder for the case")
    });
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("the case is written");
        path
    };
    // What it is says its content.
    let ending = if kind == "image" { "png" } else { kind };
    let case = file(&format!("case.{ending}"), bytes);
    let scene = match kind {
        "hdr" | "exr" => file(
            "case.ron",
            IMAGES.replace("IMAGE", &format!("case.{kind}")).as_bytes(),
        ),
        "image" => {
            file("case.mtl", BUMPS.replace("IMAGE", "case.png").as_bytes());
            file("case.obj", OBJ.as_bytes())
        }
        "mtl" => file("case.obj", OBJ.as_bytes()),
        _ => case.clone(),
    };
    let mut refusals = vec![Scene::load(&scene).err().map(|error| error.to_string())];
    if kind == "exr" {
        refusals.push(Found::read(&case).err().map(|error| error.to_string()));
    }
    for refusal in refusals.into_iter().flatten() {
        assert!(!refusal.contains(char::is_control), "{refusal:?}");
    }
}
