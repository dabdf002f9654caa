//! Reads binary vertices and faces of the usual layouts several times faster than the crate `ply-rs-bw`: vertices
//! without lists, and faces with one list.
//!
//! The layout of an element is resolved once, instead of comparing the name of each property of each element.

use std::io::{self, BufRead, Read};

use ply_rs_bw::ply::{ElementDef, Encoding, PropertyType, ScalarType};

use super::element::{Face, Setter, Vertex};

/// The layout of vertices whose properties are single numbers.
pub(super) struct VertexLayout {
    /// Size of a vertex in bytes.
    bytes: usize,
    /// Properties that are used: offset in bytes, type, and the function that stores the number.
    fields: Vec<(usize, Kind, Setter)>,
    is_big_endian: bool,
}

/// The layout of faces that have one list, the indices of their vertices.
pub(super) struct FaceLayout {
    /// Size in bytes of the properties before the list.
    before: usize,
    /// Type of the list's length.
    length: Kind,
    /// Type of the indices.
    index: Kind,
    /// Size in bytes of the properties after the list.
    after: usize,
    is_big_endian: bool,
}

/// Returns whether the numbers of a binary file begin with the most significant byte; `None` for a text file.
fn is_big_endian(encoding: Encoding) -> Option<bool> {
    match encoding {
        Encoding::Ascii => None,
        Encoding::BinaryBigEndian => Some(true),
        Encoding::BinaryLittleEndian => Some(false),
    }
}

impl VertexLayout {
    /// Returns the layout of an element, or `None` if it has lists or is text.
    pub(super) fn of(element: &ElementDef, encoding: Encoding) -> Option<VertexLayout> {
        let mut layout = VertexLayout {
            bytes: 0,
            fields: Vec::new(),
            is_big_endian: is_big_endian(encoding)?,
        };
        for (name, property) in &element.properties {
            let PropertyType::Scalar(kind) = &property.data_type else {
                return None;
            };
            let kind = Kind::of(kind);
            if let Some(setter) = Vertex::setter(name) {
                layout.fields.push((layout.bytes, kind, setter));
            }
            layout.bytes += kind.size();
        }
        Some(layout)
    }

    /// Reads the next vertex.
    pub(super) fn read(&self, reader: &mut impl BufRead) -> io::Result<Vertex> {
        with_bytes(reader, self.bytes, |record| {
            let mut vertex = Vertex::bare();
            for &(offset, kind, set) in &self.fields {
                let number = kind.decode(&record[offset..], self.is_big_endian);
                set(&mut vertex, number, kind.white());
            }
            vertex
        })
    }

    /// Returns the size of a vertex in bytes.
    pub(super) fn min_bytes(&self) -> usize {
        self.bytes
    }
}

impl FaceLayout {
    /// Returns the layout of an element, or `None` if it is text, has another list or properties that affect the faces,
    /// or if the length of its list is signed.
    pub(super) fn of(element: &ElementDef, encoding: Encoding) -> Option<FaceLayout> {
        let is_big_endian = is_big_endian(encoding)?;
        let mut lists = None;
        let (mut before, mut after) = (0, 0);
        for (name, property) in &element.properties {
            match &property.data_type {
                _ if Face::OWN.contains(&name.as_str()) => return None,
                PropertyType::Scalar(kind) if lists.is_none() => before += Kind::of(kind).size(),
                PropertyType::Scalar(kind) => after += Kind::of(kind).size(),
                PropertyType::List(length, index)
                    if lists.is_none() && Face::LISTS.contains(&name.as_str()) =>
                {
                    lists = Some((Kind::of(length), Kind::of(index)));
                }
                PropertyType::List(..) => return None,
            }
        }
        let (length, index) = lists?;
        let unsigned = [Kind::U8, Kind::U16, Kind::U32];
        unsigned.contains(&length).then_some(FaceLayout {
            before,
            length,
            index,
            after,
            is_big_endian,
        })
    }

    /// Reads the next face into `corners`.
    pub(super) fn read(&self, reader: &mut impl BufRead, corners: &mut Vec<i64>) -> io::Result<()> {
        if let Some(bytes) = self.decode(reader.fill_buf()?, corners) {
            reader.consume(bytes);
            return Ok(());
        }
        // The face continues beyond the end of the reader's buffer.
        let head = self.before + self.length.size();
        let count = with_bytes(reader, head, |head| self.count(head))?;
        let indices = count * self.index.size();
        with_bytes(reader, indices + self.after, |rest| {
            self.decode_indices(&rest[..indices], corners);
        })
    }

    /// Decodes the face at the start of `bytes` into `corners` and returns its size in bytes. Returns `None` if `bytes`
    /// end before the face does.
    fn decode(&self, bytes: &[u8], corners: &mut Vec<i64>) -> Option<usize> {
        let (head, rest) = bytes.split_at_checked(self.before + self.length.size())?;
        let indices = self.count(head) * self.index.size();
        let size = head.len() + indices + self.after;
        if bytes.len() < size {
            return None;
        }
        self.decode_indices(&rest[..indices], corners);
        Some(size)
    }

    /// Returns the number of indices of the face that begins with `head`, which ends with the length of the list.
    #[inline(always)]
    fn count(&self, head: &[u8]) -> usize {
        self.length.decode(&head[self.before..], self.is_big_endian) as usize
    }

    /// Decodes the list of indices in `bytes` into `corners`.
    #[inline(always)]
    fn decode_indices(&self, bytes: &[u8], corners: &mut Vec<i64>) {
        corners.clear();
        if self.index == Kind::I32 && !self.is_big_endian {
            // The usual type.
            for &index in bytes.as_chunks().0 {
                corners.push(i32::from_le_bytes(index).into());
            }
            return;
        }
        for index in bytes.chunks_exact(self.index.size()) {
            corners.push(self.index.decode(index, self.is_big_endian) as i64);
        }
    }

    /// Returns the size of a triangle in bytes.
    pub(super) fn triangle_bytes(&self) -> usize {
        self.before + self.length.size() + 3 * self.index.size() + self.after
    }
}

/// Reads `count` bytes and passes them to `take`. Allocates only if they are not in the reader's buffer as a whole, and
/// never more than the file has.
fn with_bytes<T>(
    reader: &mut impl BufRead,
    count: usize,
    take: impl FnOnce(&[u8]) -> T,
) -> io::Result<T> {
    if let Some(bytes) = reader.fill_buf()?.get(..count) {
        let taken = take(bytes);
        reader.consume(count);
        return Ok(taken);
    }
    let mut bytes = Vec::new();
    reader.take(count as u64).read_to_end(&mut bytes)?;
    if bytes.len() < count {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(take(&bytes))
}

/// The type of a binary number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Kind {
    /// Returns the type as a header declares it.
    fn of(declared: &ScalarType) -> Kind {
        match declared {
            ScalarType::Char => Kind::I8,
            ScalarType::UChar => Kind::U8,
            ScalarType::Short => Kind::I16,
            ScalarType::UShort => Kind::U16,
            ScalarType::Int => Kind::I32,
            ScalarType::UInt => Kind::U32,
            ScalarType::Float => Kind::F32,
            ScalarType::Double => Kind::F64,
        }
    }

    /// Returns the size of a number in bytes.
    fn size(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }

    /// Returns the value that means 1 in a color of this type: 255 for an unsigned 8-bit integer, for example.
    fn white(self) -> f64 {
        match self {
            Kind::U8 => 255.0,
            Kind::U16 => 65535.0,
            _ => 1.0,
        }
    }

    /// Decodes the number at the start of `bytes`, which must be long enough. Every type fits into `f64` exactly.
    #[inline]
    fn decode(self, bytes: &[u8], is_big_endian: bool) -> f64 {
        macro_rules! decode {
            ($kind:ty) => {{
                let bytes = *bytes.first_chunk().unwrap_or(&[0; size_of::<$kind>()]);
                f64::from(if is_big_endian {
                    <$kind>::from_be_bytes(bytes)
                } else {
                    <$kind>::from_le_bytes(bytes)
                })
            }};
        }
        match self {
            Kind::I8 => decode!(i8),
            Kind::U8 => decode!(u8),
            Kind::I16 => decode!(i16),
            Kind::U16 => decode!(u16),
            Kind::I32 => decode!(i32),
            Kind::U32 => decode!(u32),
            Kind::F32 => decode!(f32),
            Kind::F64 => decode!(f64),
        }
    }
}
