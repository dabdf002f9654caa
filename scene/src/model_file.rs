//! Reads a mesh or a model from a file of any supported format. The file extension selects the reader.
//!
//! Imports the readers `gltf`, `obj` and `ply`, and `builder`, `model` and `files`.

use std::{
    io::{BufRead, BufReader},
    path::Path,
};

use crate::{
    builder::geometry::MeshBuilder,
    files::{file_type, open_regular_file, progress::WatchedFile},
    gltf,
    model::Model,
    obj, ply,
};

/// File extensions of models, in lower case, without the dot.
pub(crate) const MODEL_TYPES: [&str; 4] = ["glb", "gltf", "obj", "ply"];

/// Reads the vertices and faces of a PLY or OBJ file into `mesh`. Normals and texture coordinates are passed only if
/// `mesh.attributes` is set.
///
/// # Errors
/// A one-line message without the file's name, if the file cannot be read or is invalid.
pub(crate) fn read_mesh(path: &Path, mesh: &mut MeshBuilder) -> Result<(), String> {
    let mut reader = open(path)?;
    match file_type(path).as_str() {
        "ply" => ply::read_mesh(reader, mesh),
        _ => obj::read_mesh(&mut reader, mesh),
    }
}

/// Reads a glTF, OBJ or PLY model and the files that it refers to, and merges meshes that are used once, to speed up
/// tracing.
///
/// # Errors
/// A one-line message without the model's file name.
pub(crate) fn read_model(path: &Path) -> Result<Model, String> {
    open_regular_file(path, &MODEL_TYPES)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut model = match file_type(path).as_str() {
        "ply" => {
            let reader = open(path)?;
            let bytes = reader.get_ref().bytes;
            ply::read(reader, bytes, folder)
        }
        "obj" => obj::read(&mut open(path)?, folder),
        _ => gltf::read(path),
    }?;
    model.finish_notes();
    model.merge_meshes()?;
    Ok(model)
}

/// Opens a PLY or OBJ file for buffered reading.
///
/// # Errors
/// A one-line message without the file's name, if it is missing, unreadable, empty or has another extension.
fn open(path: &Path) -> Result<BufReader<WatchedFile>, String> {
    let file = open_regular_file(path, &["ply", "obj"])?;
    let mut reader = BufReader::with_capacity(1 << 16, WatchedFile::new(path, file));
    let start = reader.fill_buf();
    if start
        .map_err(|error| format!("cannot be read: {error}"))?
        .is_empty()
    {
        return Err("is empty, expected a mesh".to_owned());
    }
    Ok(reader)
}
