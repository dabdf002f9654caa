//! Geometry of the mesh files that a scene names, without their materials.

use std::{
    collections::HashMap,
    hash::Hash,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    rc::Rc,
};

use flate2::bufread::MultiGzDecoder;

use crate::{
    color::srgb_encoded,
    files::{display_path, file_type, open_regular_file, progress::WatchedFile},
    model::{Model, ModelMesh},
    obj, ply,
};

/// Largest ratio of deflate between the sizes of data and of its compressed form.
const MAX_COMPRESSION: u64 = 1032;

/// Indices in the model of the meshes of files that were read, by path and by `Reading`, the way in which they were
/// read.
pub(crate) struct MeshFiles<Reading>(HashMap<(PathBuf, Reading), Rc<Vec<usize>>>);

impl<Reading> Default for MeshFiles<Reading> {
    fn default() -> MeshFiles<Reading> {
        MeshFiles(HashMap::new())
    }
}

impl<Reading: Copy + Eq + Hash> MeshFiles<Reading> {
    /// Returns the meshes of the file at `path`. If no shape has read it in this way before, `read` returns its meshes,
    /// and they are added to the model. Fails with a one-line message that names the file.
    pub(crate) fn indices(
        &mut self,
        model: &mut Model,
        path: &Path,
        reading: Reading,
        read: impl FnOnce(&Path) -> Result<Vec<ModelMesh>, String>,
    ) -> Result<Rc<Vec<usize>>, String> {
        let key = (path.to_owned(), reading);
        if let Some(known) = self.0.get(&key) {
            return Ok(known.clone());
        }
        let meshes = read(path).map_err(|problem| format!("{}: {problem}", display_path(path)))?;
        let indices = meshes.into_iter().map(|mesh| model.push_mesh(mesh));
        let indices = Rc::new(indices.collect::<Vec<_>>());
        self.0.insert(key, indices.clone());
        Ok(indices)
    }
}

/// Reads the meshes of an `.obj` or `.ply` file, or of a `.gz` file with one of them (PLY unless its name says OBJ), in the coordinates of the file. Texture
/// coordinates have v downwards, as [`ModelMesh`] has. With `colors`, meshes keep the colors of a PLY file, whose numbers
/// are taken for linear.
///
/// Fails with a one-line message that does not name the file.
pub(crate) fn read(path: &Path, colors: bool) -> Result<Vec<ModelMesh>, String> {
    let packed = file_type(path) == "gz";
    let kind = match packed {
        true => file_type(&path.with_extension("")),
        false => file_type(path),
    };
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
    let model = if packed {
        let bytes = bytes.saturating_mul(MAX_COMPRESSION);
        let mut unpacked = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(reader));
        match kind.as_str() {
            "obj" => obj::read_geometry(&mut unpacked)?,
            _ => ply::read_geometry(unpacked, bytes)?,
        }
    } else {
        match kind.as_str() {
            "obj" => obj::read_geometry(&mut reader)?,
            _ => ply::read_geometry(reader, bytes)?,
        }
    };
    Ok(meshes(model, colors))
}

/// Returns the meshes of a model, with the numbers of the file as linear vertex colors, or without them.
fn meshes(model: Model, keep_colors: bool) -> Vec<ModelMesh> {
    let mut meshes = model.meshes;
    for mesh in &mut meshes {
        mesh.colors = mesh.colors.take().filter(|_| keep_colors);
        for color in mesh.colors.iter_mut().flatten() {
            *color = color.truncate().map(srgb_encoded).extend(1.0);
        }
    }
    meshes
}
