//! Reads bytes as a file of some kind: that may fail with one line, and in no other way.

use std::{fs, path::Path, sync::OnceLock};

use raysieve::{
    part::Found,
    scene::{Image, Scene},
};
use tempfile::TempDir;

/// The file of MTL's `mtllib`.
const OBJ: &str = "mtllib case.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl red\nf 1 2 3\n";

/// Reads a file of this kind. Panics if it is refused in more than one line.
pub fn read(kind: &str, bytes: &[u8]) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder for the case"));
    let case = folder.path().join(format!("case.{kind}"));
    fs::write(&case, bytes).expect("the case is written");
    let load = |path: &Path| Scene::load(path).map(drop).map_err(|error| error.to_string());
    let refused = match kind {
        "hdr" => Image::decode(bytes).map(drop),
        "exr" => {
            let part = Found::read(&case).map(drop);
            let image = Image::decode(bytes).map(drop);
            image.and(part.map_err(|error| error.to_string()))
        }
        "mtl" => {
            let obj = folder.path().join("case.obj");
            fs::write(&obj, OBJ).expect("the case is written");
            load(&obj)
        }
        _ => load(&case),
    };
    if let Err(problem) = refused {
        assert!(!problem.contains(char::is_control), "{problem:?}");
    }
}
