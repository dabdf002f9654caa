//! Meshes from files.

mod obj;
mod ply;

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use super::{
    geometry::MeshBuilder,
    source::{file_type, open_plain},
};

/// A polygon of a hundred thousand corners fits; a file without line ends must not fill the memory.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Reads vertices and faces of a PLY or OBJ file.
pub(super) fn read(path: &Path, mesh: &mut MeshBuilder) -> Result<(), String> {
    let file = open_plain(path, &["ply", "obj"])?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    if reader
        .fill_buf()
        .map_err(|error| format!("cannot be read: {error}"))?
        .is_empty()
    {
        return Err("is empty, expected a mesh".to_owned());
    }
    match file_type(path).as_str() {
        "ply" => ply::read(&mut reader, mesh),
        _ => obj::read(&mut reader, mesh),
    }
}

/// Reads a line of text, without its end; `false` at the end of the file.
fn read_line(reader: &mut impl BufRead, line: &mut String) -> io::Result<bool> {
    line.clear();
    let read = reader.take(MAX_LINE_BYTES).read_line(line)?;
    if read as u64 == MAX_LINE_BYTES && !line.ends_with('\n') {
        return Err(io::Error::other(format!(
            "a line is longer than {MAX_LINE_BYTES} bytes"
        )));
    }
    line.truncate(line.trim_end().len());
    Ok(read > 0)
}
