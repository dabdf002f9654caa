//! Reads a mesh or a model from a file of any supported format. The file extension selects the reader.
//!
//! Imports the readers `gltf`, `obj` and `ply`, and `builder`, `model` and `files`.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use crate::{
    builder::geometry::MeshBuilder,
    files::{file_type, open_regular_file},
    gltf,
    model::Model,
    obj, ply,
};

/// File extensions of models, in lower case.
pub(crate) const MODEL_TYPES: [&str; 4] = ["glb", "gltf", "obj", "ply"];

/// Reads the vertices and faces of a PLY or OBJ file into `mesh`, with normals and texture coordinates if
/// `mesh.attributes` is set.
pub(crate) fn read_mesh(path: &Path, mesh: &mut MeshBuilder) -> Result<(), String> {
    let mut reader = open(path)?;
    match file_type(path).as_str() {
        "ply" => ply::read_mesh(reader, mesh),
        _ => obj::read_mesh(&mut reader, mesh),
    }
}

/// Reads a model and the files that it refers to, and merges its meshes where that makes it faster to trace.
pub(crate) fn read_model(path: &Path) -> Result<Model, String> {
    open_regular_file(path, &MODEL_TYPES)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut model = match file_type(path).as_str() {
        "ply" => ply::read(open(path)?, folder),
        "obj" => obj::read(&mut open(path)?, folder),
        _ => gltf::read(path),
    }?;
    model.merge_meshes()?;
    Ok(model)
}

/// Opens a PLY or OBJ file for buffered reading. Fails if it is empty.
fn open(path: &Path) -> Result<BufReader<File>, String> {
    let file = open_regular_file(path, &["ply", "obj"])?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let start = reader.fill_buf();
    if start
        .map_err(|error| format!("cannot be read: {error}"))?
        .is_empty()
    {
        return Err("is empty, expected a mesh".to_owned());
    }
    Ok(reader)
}
