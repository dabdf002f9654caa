//! Geometry of the OBJ and PLY files that a scene names, without their materials. Imports `files`, `obj` and `ply`.

use std::{
    io::{BufRead, BufReader},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;

use crate::{
    files::{file_type, open_regular_file, progress::WatchedFile},
    model::{Model, ModelMesh},
    obj, ply,
};

/// Largest ratio of deflate between the sizes of data and of its compressed form.
const MAX_COMPRESSION: u64 = 1032;

/// Reads the meshes of an `.obj` or `.ply` file, or of a `.ply.gz` file, in the coordinates of the file. Texture
/// coordinates have v downwards, as [`ModelMesh`] has.
///
/// Fails with a one-line message that does not name the file.
pub(crate) fn read(path: &Path) -> Result<Vec<ModelMesh>, String> {
    let kind = file_type(path);
    let file = open_regular_file(path, &["obj", "ply", "gz"])?;
    let file = WatchedFile::new(path, file);
    let bytes = file.bytes;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let start = reader.fill_buf();
    if start
        .map_err(|error| format!("cannot be read: {error}"))?
        .is_empty()
    {
        return Err("is empty, expected a mesh".to_owned());
    }
    let nowhere = Path::new("");
    let model = match kind.as_str() {
        "obj" => obj::read_geometry(&mut reader)?,
        "ply" => ply::read(reader, bytes, nowhere)?,
        _ => {
            let unpacked = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader));
            ply::read(unpacked, bytes.saturating_mul(MAX_COMPRESSION), nowhere)?
        }
    };
    Ok(meshes(model))
}

/// Returns the meshes of a model without vertex colours.
fn meshes(model: Model) -> Vec<ModelMesh> {
    let mut meshes = model.meshes;
    for mesh in &mut meshes {
        mesh.colors = None;
        mesh.color_texture = None;
        mesh.colored_materials.clear();
    }
    meshes
}
