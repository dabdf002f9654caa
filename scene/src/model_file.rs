//! Reads a mesh or a model from a file of any supported format. The file extension selects the reader.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use crate::{
    LoadOptions,
    builder::geometry::MeshBuilder,
    files::{file_type, open_regular_file, progress::WatchedFile},
    gltf::GltfFile,
    model::Model,
    obj, ply,
};

/// File extensions of models, in lower case, without the dot.
pub(crate) const MODEL_TYPES: [&str; 4] = ["glb", "gltf", "obj", "ply"];

/// Reads the vertices and faces of a PLY or OBJ file into `mesh`, which keeps normals and texture coordinates only if
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

/// A model file, from which several models can be read, such as the frames of an animation.
pub(crate) enum ModelFile {
    /// An opened glTF file.
    Gltf(Box<GltfFile>),
    /// Path of an OBJ or PLY file, which is read anew for each model.
    Plain(PathBuf),
}

impl ModelFile {
    /// Opens a glTF file and reads its buffers, or checks the name of an OBJ or PLY file.
    ///
    /// # Errors
    /// A one-line message without the model's file name.
    pub(crate) fn open(path: &Path) -> Result<ModelFile, String> {
        open_regular_file(path, &MODEL_TYPES)?;
        Ok(match file_type(path).as_str() {
            "ply" | "obj" => ModelFile::Plain(path.to_owned()),
            _ => ModelFile::Gltf(Box::new(GltfFile::open(path)?)),
        })
    }

    /// Returns whether the file has animations.
    pub(crate) fn is_animated(&self) -> bool {
        matches!(self, ModelFile::Gltf(file) if file.is_animated())
    }

    /// Reads the model and the files that it refers to, and merges meshes that are used once, to speed up tracing.
    ///
    /// # Errors
    /// A one-line message without the model's file name. Also if an option is set that the file cannot follow.
    pub(crate) fn read(&mut self, options: &LoadOptions) -> Result<Model, String> {
        if !options.defines.is_empty() {
            return Err(
                "is a model, which has no names to define; omit the definitions".to_owned(),
            );
        }
        let mut model = match self {
            ModelFile::Gltf(file) => file.read(options)?,
            ModelFile::Plain(path) => {
                let is_ply = file_type(path) == "ply";
                let chosen = options.first_set();
                // The points of a PLY file have a width.
                let chosen = chosen.filter(|&option| !(is_ply && option == "line width"));
                if let Some(option) = chosen {
                    return Err(format!(
                        "has no {option} to choose, because it is not a glTF file; omit that choice"
                    ));
                }
                let folder = path.parent().unwrap_or(Path::new(""));
                let mut reader = open(path)?;
                if is_ply {
                    let bytes = reader.get_ref().bytes;
                    ply::read(reader, bytes, folder, options.line_width)?
                } else {
                    obj::read(&mut reader, folder)?
                }
            }
        };
        model.finish_notes();
        model.separate_back_to_back()?;
        model.merge_meshes()?;
        Ok(model)
    }
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
