//! Reads bytes as a file of a given type. A one-line error is accepted; a panic or any other failure is a bug.

use std::{fs, panic, sync::OnceLock};

use raysieve::{render::part::PartFile, scene::{LoadOptions, Scene}};
use tempfile::TempDir;

/// An MTL file that uses `IMAGE` as a texture and as a bump map.
const BUMPS: &str = "newmtl red\nmap_Kd IMAGE\nmap_Bump -bm 2 IMAGE\n";
/// An OBJ file that names the MTL file of the case.
const OBJ: &str = "mtllib case.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl red\nf 1 2 3\n";

/// A Mitsuba scene that shows the mesh of the case.
const SERIALIZED: &str = r#"<scene>
    <shape type="serialized"><string name="filename" value="case.serialized"/></shape>
</scene>"#;

/// A Mitsuba scene that shows the control points of the case as both types of curves.
const CURVES: &str = r#"<scene>
    <shape type="bsplinecurve"><string name="filename" value="case.txt"/></shape>
    <shape type="linearcurve"><string name="filename" value="case.txt"/></shape>
</scene>"#;

/// A scene that uses `IMAGE` as an environment map and as textures.
const IMAGES: &str = r#"(
    camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 40),
    lights: [Environment(file: "IMAGE")],
    materials: { "m": Principled(base_color: Texture(file: "IMAGE"), roughness: Texture(file: "IMAGE")) },
    objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "m")],
)"#;

/// Reads `bytes` as a file of type `kind`, a target's name such as `glb`.
///
/// # Panics
/// If the reader's error has more than one line, or if the reader panics.
pub fn read(kind: &str, bytes: &[u8]) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        // Readers catch panics of decoders, but libfuzzer's panic hook would end the process before that.
        panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
        tempfile::tempdir().expect("a folder for the case")
    });
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("the case is written");
        path
    };
    // Images are recognised by their contents, whatever the extension.
    let ending = match kind {
        "image" => "png",
        "curves" => "txt",
        kind => kind,
    };
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
        "serialized" => file("case.xml", SERIALIZED.as_bytes()),
        "curves" => file("case.xml", CURVES.as_bytes()),
        _ => case.clone(),
    };
    let mut refusals = vec![Scene::load(&scene).err().map(|error| error.to_string())];
    if ["glb", "gltf"].contains(&kind) {
        let options = LoadOptions {
            time: Some(0.4),
            ..LoadOptions::default()
        };
        let refusal = Scene::load_with(&scene, &options).err();
        refusals.push(refusal.map(|error| error.to_string()));
    }
    if kind == "exr" {
        refusals.push(PartFile::read(&case).err().map(|error| error.to_string()));
    }
    for refusal in refusals.into_iter().flatten() {
        assert!(!refusal.contains(char::is_control), "{refusal:?}");
    }
}
