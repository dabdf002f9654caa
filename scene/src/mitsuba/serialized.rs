//! Reads the meshes of Mitsuba's `.serialized` files: several meshes, each compressed by zlib.

use std::{
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use flate2::bufread::ZlibDecoder;
use glam::Vec3;

use crate::{
    files::open_regular_file,
    memory::{self, vec_with_capacity},
    model::ModelMesh,
};

/// First number of a file and of each of its meshes.
const MAGIC: u16 = 0x041c;
/// Flag of a mesh with vertex normals.
const NORMALS: u32 = 0x0001;
/// Flag of a mesh with texture coordinates.
const UVS: u32 = 0x0002;
/// Flag of a mesh with vertex colors.
const COLORS: u32 = 0x0008;
/// Flag of a mesh whose normals are those of its faces.
const FACE_NORMALS: u32 = 0x0010;
/// Flag of a mesh whose floating-point numbers have 64 bits.
const DOUBLE: u32 = 0x2000;
/// Largest length of the name of a mesh in bytes.
const MAX_NAME: u32 = 4096;
/// Largest ratio of deflate between the sizes of data and of its compressed form.
const MAX_COMPRESSION: u64 = 1032;

/// Reads the mesh with number `index`, from 0, of a file. Fails with a one-line message that does not name the file.
pub(super) fn read(path: &Path, index: u64) -> Result<ModelMesh, String> {
    let mut file = open_regular_file(path, &["serialized"])?;
    let cannot = |error: io::Error| format!("cannot be read: {error}");
    let bytes = file.metadata().map_err(cannot)?.len();
    let damaged = || "is damaged: it ends too early, or is not a Mitsuba mesh".to_owned();
    file.seek(SeekFrom::End(-4)).map_err(|_| damaged())?;
    let count = u64::from(u32::from_le_bytes(fixed(&mut file).map_err(cannot)?));
    if index >= count {
        return Err(format!(
            "has {count} meshes, but shape_index is {index}; expected less"
        ));
    }
    file.rewind().map_err(cannot)?;
    let [a, b, c, d] = fixed(&mut file).map_err(cannot)?;
    let version = u16::from_le_bytes([c, d]);
    if u16::from_le_bytes([a, b]) != MAGIC || !(3..=4).contains(&version) {
        return Err("is not a Mitsuba mesh of version 3 or 4; export it again".to_owned());
    }
    // Offsets of the meshes stand before their number at the end of the file.
    let width = if version == 4 { 8 } else { 4 };
    let table = (bytes - 4).checked_sub(count * width).ok_or_else(damaged)?;
    let mut offset = |number: u64| -> Result<u64, String> {
        if number == count {
            return Ok(table);
        }
        file.seek(SeekFrom::Start(table + number * width))
            .map_err(cannot)?;
        Ok(match version {
            4 => u64::from_le_bytes(fixed(&mut file).map_err(cannot)?),
            _ => u32::from_le_bytes(fixed(&mut file).map_err(cannot)?).into(),
        })
    };
    let (start, end) = (offset(index)?, offset(index + 1)?);
    let packed = end
        .checked_sub(start.saturating_add(4))
        .filter(|_| end <= table);
    let packed = packed.ok_or_else(damaged)?;
    file.seek(SeekFrom::Start(start + 4)).map_err(cannot)?;
    let packed_bytes = BufReader::with_capacity(1 << 16, file.take(packed));
    let unpacked = BufReader::with_capacity(1 << 16, ZlibDecoder::new(packed_bytes));
    mesh(unpacked, version, packed.saturating_mul(MAX_COMPRESSION))
}

/// Reads a mesh from decompressed data. `version` is that of the file, 3 or 4. Fails if the mesh is damaged, or
/// declares more than `limit` bytes.
fn mesh(mut reader: impl Read, version: u16, limit: u64) -> Result<ModelMesh, String> {
    let damaged = |error: io::Error| format!("is damaged: {error}; export it again");
    let flags = u32::from_le_bytes(fixed(&mut reader).map_err(damaged)?);
    if version == 4 {
        let mut length = 0;
        while fixed::<1>(&mut reader).map_err(damaged)? != [0] {
            length += 1;
            if length > MAX_NAME {
                return Err("is damaged: its name has no end; export it again".to_owned());
            }
        }
    }
    let vertices = u64::from_le_bytes(fixed(&mut reader).map_err(damaged)?);
    let triangles = u64::from_le_bytes(fixed(&mut reader).map_err(damaged)?);
    let double = flags & DOUBLE != 0;
    let number = if double { 8 } else { 4 };
    let has = |flag: u32, numbers: u64| if flags & flag != 0 { numbers } else { 0 };
    let numbers = 3 + has(NORMALS, 3) + has(UVS, 2) + has(COLORS, 3);
    let index = if vertices > u64::from(u32::MAX) { 8 } else { 4 };
    let size = vertices
        .saturating_mul(numbers * number)
        .saturating_add(triangles.saturating_mul(3 * index));
    if size > limit || index == 8 {
        return Err(format!(
            "is damaged: it declares {vertices} vertices and {triangles} triangles; export it again"
        ));
    }
    memory::check(size)?;
    let mut list = |width: usize| floats(&mut reader, vertices as usize * width, double);
    let positions = list(3).map_err(damaged)?;
    let normals = (flags & NORMALS != 0).then(|| list(3)).transpose();
    let normals = normals.map_err(damaged)?;
    let uvs = (flags & UVS != 0)
        .then(|| list(2))
        .transpose()
        .map_err(damaged)?;
    if flags & COLORS != 0 {
        list(3).map_err(damaged)?;
    }
    let vectors = |list: Vec<f32>| -> Vec<Vec3> {
        list.as_chunks::<3>()
            .0
            .iter()
            .copied()
            .map(Vec3::from_array)
            .collect()
    };
    let mut mesh = ModelMesh {
        positions: vectors(positions),
        normals: normals.map(vectors).filter(|_| flags & FACE_NORMALS == 0),
        uvs: uvs.map(|list| list.as_chunks::<2>().0.to_vec()),
        triangles: vec_with_capacity(triangles as usize)?,
        ..ModelMesh::default()
    };
    for number in 1..=triangles {
        let triangle = fixed::<12>(&mut reader).map_err(damaged)?;
        let corner =
            |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| triangle[at + byte]));
        let corners = [corner(0), corner(4), corner(8)];
        if corners.iter().any(|&corner| u64::from(corner) >= vertices) {
            return Err(format!(
                "triangle {number} names a vertex that does not exist; export it again"
            ));
        }
        mesh.triangles.push(corners);
    }
    if !mesh.positions.iter().all(|position| position.is_finite()) {
        return Err("has vertices that are not finite; export it again".to_owned());
    }
    match mesh.triangles.is_empty() {
        true => Err("has no triangles; export it again".to_owned()),
        false => Ok(mesh),
    }
}

/// Reads `N` bytes. Fails if the data ends before.
fn fixed<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads floating-point numbers of 64 bits if `double`, else of 32 bits.
fn floats(reader: &mut impl Read, count: usize, double: bool) -> io::Result<Vec<f32>> {
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(match double {
            true => f64::from_le_bytes(fixed(reader)?) as f32,
            false => f32::from_le_bytes(fixed(reader)?),
        });
    }
    Ok(list)
}
