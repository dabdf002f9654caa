//! Meshes from files, alone and as models with what they are made of.

mod mtl;
mod obj;
mod obj_model;
mod ply;
mod ply_model;

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use glam::Vec2;

use super::{
    geometry::{Corner, MeshBuilder, make_room},
    gltf,
    model::Model,
    source::{file_type, open_plain},
};

/// What a model's file may be.
pub(super) const MODEL_TYPES: [&str; 4] = ["glb", "gltf", "obj", "ply"];

/// A polygon of a hundred thousand corners fits; a file without line ends must not fill the memory.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Reads vertices and faces of a PLY or OBJ file, and what it has at their corners, if that is asked for.
pub(super) fn read(path: &Path, mesh: &mut MeshBuilder) -> Result<(), String> {
    let mut reader = open(path)?;
    match file_type(path).as_str() {
        "ply" => {
            let mut at: Vec<Corner> = Vec::new();
            ply::read(&mut reader, |element| match element {
                ply::Element::Vertex(vertex) => {
                    if mesh.attributes {
                        make_room(&mut at)?;
                        at.push(Corner {
                            normal: vertex.normal,
                            uv: from_top(vertex.uv),
                        });
                    }
                    mesh.push_vertex(vertex.position)
                }
                ply::Element::Face(corners) => mesh.push_face(corners.iter().map(|&index| {
                    let at = usize::try_from(index).ok().and_then(|index| at.get(index));
                    (index, at.copied().unwrap_or(Corner::BARE))
                })),
            })
        }
        _ => {
            let (mut normals, mut uvs) = (Vec::new(), Vec::new());
            let mut face: Vec<(i64, Corner)> = Vec::new();
            obj::read(&mut reader, |statement| match statement {
                obj::Statement::Vertex(position) => mesh.push_vertex(position),
                obj::Statement::Normal(normal) if mesh.attributes => {
                    make_room(&mut normals)?;
                    normals.push(normal);
                    Ok(())
                }
                obj::Statement::Uv(uv) if mesh.attributes => {
                    make_room(&mut uvs)?;
                    uvs.push(from_top(uv));
                    Ok(())
                }
                obj::Statement::Face(corners) => {
                    face.clear();
                    for corner in corners {
                        let mut at = Corner::BARE;
                        if mesh.attributes {
                            if let Some(number) = corner.normal_number(normals.len())? {
                                at.normal = normals[number];
                            }
                            if let Some(number) = corner.uv_number(uvs.len())? {
                                at.uv = uvs[number];
                            }
                        }
                        face.push((corner.vertex as i64, at));
                    }
                    mesh.push_face(face.iter().copied())
                }
                _ => Ok(()),
            })
        }
    }
}

/// Texture coordinates whose v grows upwards, as those of an image whose first row is its top.
fn from_top(uv: Vec2) -> [f32; 2] {
    [uv.x, 1.0 - uv.y]
}

/// Reads a model's file and what it refers to.
pub(super) fn read_model(path: &Path) -> Result<Model, String> {
    match file_type(path).as_str() {
        "ply" => ply_model::read(&mut open(path)?),
        "obj" => obj_model::read(&mut open(path)?, path.parent().unwrap_or(Path::new(""))),
        // It names all types where this is none of them.
        _ => gltf::read(path),
    }
}

/// Opens a PLY or OBJ file that is not empty.
fn open(path: &Path) -> Result<BufReader<std::fs::File>, String> {
    let file = open_plain(path, &["ply", "obj"])?;
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
