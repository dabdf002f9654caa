//! Meshes from files, alone and as models with what they are made of.

mod beside;
mod mtl;
mod obj;
mod obj_model;
mod ply;
mod ply_model;
pub(super) mod polygon;

use std::{
    io::{self, BufRead, BufReader, Read},
    mem::take,
    path::Path,
};

use glam::{Vec2, Vec3, Vec4};

use super::{
    Surface,
    geometry::{Corner, MeshBuilder, make_room},
    gltf,
    model::{Model, ModelMaterial},
    source::{file_type, open_plain},
};
use crate::texture::srgb_value;

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
            ply::File::open(reader)?.read(|element| match element {
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
                ply::Element::Face(face) => {
                    mesh.push_face(face.corners.iter().enumerate().map(|(corner, &index)| {
                        let at = usize::try_from(index).ok().and_then(|index| at.get(index));
                        let mut at = at.copied().unwrap_or(Corner::BARE);
                        if let Some(&uv) = face.uvs.get(corner) {
                            at.uv = from_top(uv);
                        }
                        (index, at)
                    }))
                }
            })
        }
        _ => {
            let (mut normals, mut uvs) = (Vec::new(), Vec::new());
            let mut face: Vec<(i64, Corner)> = Vec::new();
            obj::read(&mut reader, |statement| match statement {
                obj::Statement::Vertex(position, _) => mesh.push_vertex(position),
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

/// A colour of a vertex as files have it: 0 to 1, by sRGB's curve.
fn linear(color: Vec3) -> Vec4 {
    color
        .map(|part| srgb_value(part.clamp(0.0, 1.0).into()))
        .extend(1.0)
}

/// What a surface is made of of which nothing is known but the colours of its vertices.
fn painted() -> ModelMaterial {
    let (albedo, one_sided) = (Vec3::ONE, false);
    Surface::Diffuse { albedo, one_sided }.into()
}

/// Reads a model's file and what it refers to.
pub(super) fn read_model(path: &Path) -> Result<Model, String> {
    open_plain(path, &MODEL_TYPES)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut model = match file_type(path).as_str() {
        "ply" => ply_model::read(open(path)?, folder),
        "obj" => obj_model::read(&mut open(path)?, folder),
        _ => gltf::read(path),
    }?;
    model.gather()?;
    Ok(model)
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

/// What ends the lines of a text that was not read from yet: of old programs a carriage return alone.
fn line_end(reader: &mut impl BufRead) -> io::Result<u8> {
    let start = reader.fill_buf()?;
    let old = start.contains(&b'\r') && !start.contains(&b'\n');
    Ok(if old { b'\r' } else { b'\n' })
}

/// Reads a line of text that ends with `end`, without it; `false` at the end of the file. Comments and names are of any
/// encoding.
fn read_line(reader: &mut impl BufRead, end: u8, line: &mut String) -> io::Result<bool> {
    let mut bytes = take(line).into_bytes();
    bytes.clear();
    let read = reader.take(MAX_LINE_BYTES).read_until(end, &mut bytes)?;
    if read as u64 == MAX_LINE_BYTES && !bytes.ends_with(&[end]) {
        return Err(io::Error::other(format!(
            "a line is longer than {MAX_LINE_BYTES} bytes"
        )));
    }
    if bytes.contains(&0) {
        return Err(io::Error::other("is not text"));
    }
    *line = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    line.truncate(line.trim_end().len());
    Ok(read > 0)
}
