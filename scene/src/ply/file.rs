//! Reads Stanford PLY files: the elements `vertex`, `face` and `tristrips`. The crate `ply-rs-bw` reads the header,
//! text, and the elements that `binary` does not.
//!
//! Other elements and properties are ignored. Elements are read one by one, so that memory use depends on the content
//! of the file and not on the counts that its header declares.

use std::io::{self, BufRead};

use ply_rs_bw::{
    parser::{ParseError, Parser},
    ply::{ElementDef, Encoding, Header, PropertyAccess},
};

use super::{
    binary::{FaceLayout, VertexLayout},
    element::{Element, Face, Skipped, Vertex},
    header,
};
use crate::{error::excerpt, files::lines::read_line, model::Model};

/// Maximum number of properties that a warning lists by name; of further ones it gives the number.
const MAX_LISTED: usize = 6;

/// A PLY file whose header has been read and whose elements have not.
pub(crate) struct PlyFile<R> {
    reader: R,
    header: Header,
    /// Byte that ends lines of text, line feed or carriage return.
    line_end: u8,
    /// Number of lines in the header.
    header_lines: u64,
    /// Names of image files in the header's `comment TextureFile` lines; faces refer to them by index.
    pub(crate) images: Vec<String>,
    /// Whether faces have colors, texture coordinates or image indices of their own.
    pub(crate) has_face_attributes: bool,
    /// Whether faces have texture coordinates of their own.
    pub(crate) has_face_uvs: bool,
    /// Whether the file has vertices and no faces.
    pub(crate) is_point_cloud: bool,
    /// Whether vertices have at least one component of a normal.
    pub(crate) has_normals: bool,
    /// Whether vertices have at least one texture coordinate.
    pub(crate) has_uvs: bool,
}

impl<R: BufRead> PlyFile<R> {
    /// Reads and validates the header. [`PlyFile::read`] can then read the elements once. Fails if the header is
    /// invalid or does not declare vertices.
    pub(crate) fn open(mut reader: R) -> Result<PlyFile<R>, String> {
        let (text, line_end) = header::text(&mut reader)?;
        let header = header::parsed(&text)?;
        Ok(PlyFile {
            reader,
            line_end,
            header_lines: text.lines().count() as u64,
            images: header::images(&text),
            has_face_attributes: header::has_face_property(&header, &Face::OWN),
            has_face_uvs: header::has_face_property(&header, &["texcoord"]),
            is_point_cloud: header::is_point_cloud(&header),
            has_normals: header::has_vertex_property(&header, &Vertex::NORMAL),
            has_uvs: header::has_vertex_property(&header, &Vertex::UV),
            header,
        })
    }

    /// Returns upper bounds of the numbers of vertices and triangles, as far as a file of `bytes` bytes can contain
    /// what the header declares. The number of triangles is exact if all faces are triangles, and 0 if it is unknown.
    pub(crate) fn expected_counts(&self, bytes: u64) -> (usize, usize) {
        let elements = &self.header.elements;
        let encoding = self.header.encoding;
        let bound = |element: &ElementDef, each: usize| {
            let fit = usize::try_from(bytes).unwrap_or(usize::MAX) / each.max(1);
            element.count.min(fit)
        };
        let vertices = elements.get("vertex").map_or(0, |element| {
            let layout = VertexLayout::of(element, encoding);
            // In text a number takes at least a digit and a space.
            let text = 2 * element.properties.len();
            bound(element, layout.map_or(text, |layout| layout.min_bytes()))
        });
        let faces = elements.get("face").and_then(|element| {
            let layout = FaceLayout::of(element, encoding)?;
            Some(bound(element, layout.triangle_bytes()))
        });
        (vertices, faces.unwrap_or(0))
    }

    /// Adds a warning to `model` for the vertex properties, face properties and elements that are not used.
    pub(crate) fn note_unused(&self, model: &mut Model) {
        let unused = |element: &ElementDef, is_used: &dyn Fn(&str) -> bool| {
            let names = element.properties.keys();
            let names = names.filter(|name| !is_used(name));
            names.map(|name| excerpt(name)).collect::<Vec<_>>()
        };
        for element in self.header.elements.values() {
            let count = element.count as u64;
            let (names, objects) = match element.name.as_str() {
                "vertex" => (
                    unused(element, &|name| Vertex::setter(name).is_some()),
                    ["vertex", "vertices"],
                ),
                "face" => (
                    unused(element, &|name| {
                        Face::LISTS.contains(&name) || Face::OWN.contains(&name)
                    }),
                    ["face", "faces"],
                ),
                "tristrips" => continue,
                name => {
                    let text = format!("not used: {{}} `{}`", excerpt(name));
                    model.note_count(&text, ["element", "elements"], count);
                    continue;
                }
            };
            let more = names.len().saturating_sub(MAX_LISTED);
            let mut listed = names[..names.len() - more].join(", ");
            if more > 0 {
                listed += &format!(" and {more} more");
            }
            if !names.is_empty() {
                let text = format!("not used: properties of {{}} ({listed})");
                model.note_count(&text, objects, count);
            }
        }
    }

    /// Reads the elements and calls `take` for each vertex and face. A strip is reported as one face per triangle.
    ///
    /// Fails if an element is malformed or missing, or `take` fails. In text files, errors begin with the line number.
    pub(crate) fn read(
        &mut self,
        mut take: impl FnMut(Element) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut line_number = self.header_lines;
        for element in self.header.elements.values() {
            let mut elements = Elements {
                reader: &mut self.reader,
                encoding: self.header.encoding,
                element,
                line_end: self.line_end,
                line_number,
            };
            match element.name.as_str() {
                "vertex" => match VertexLayout::of(element, self.header.encoding) {
                    Some(layout) => elements.read_with(|reader| {
                        let vertex = layout.read(reader)?;
                        Ok(take(Element::Vertex(&vertex)))
                    })?,
                    None => elements.read(|vertex: Vertex| take(Element::Vertex(&vertex)))?,
                },
                "face" => match FaceLayout::of(element, self.header.encoding) {
                    Some(layout) => {
                        let mut face = Face::new();
                        elements.read_with(|reader| {
                            layout.read(reader, &mut face.corners)?;
                            Ok(take(Element::Face(&face)))
                        })?;
                    }
                    None => elements.read(|face: Face| take(Element::Face(face.checked()?)))?,
                },
                "tristrips" => elements.read(|strips: Face| {
                    strips
                        .triangles()
                        .try_for_each(|face| take(Element::Face(&face)))
                })?,
                _ => elements.read(|_: Skipped| Ok(()))?,
            }
            line_number = elements.line_number;
        }
        Ok(())
    }
}

/// A reader for the consecutive elements of one type, such as `vertex`.
struct Elements<'r, R> {
    reader: &'r mut R,
    encoding: Encoding,
    element: &'r ElementDef,
    line_end: u8,
    /// Number of the last line that was read as text, counted from 1 at the start of the file. In binary files it is
    /// the last line of the header.
    line_number: u64,
}

impl<R: BufRead> Elements<'_, R> {
    /// Parses each element of this type as an `E` and calls `take` with it. Fails if an element is malformed or
    /// missing, or `take` fails.
    fn read<E: PropertyAccess>(
        &mut self,
        mut take: impl FnMut(E) -> Result<(), String>,
    ) -> Result<(), String> {
        let parser = Parser::<E>::new();
        let mut line = String::new();
        for done in 0..self.element.count {
            let element = match self.encoding {
                Encoding::Ascii => self.next_line(&mut line).and_then(|()| {
                    let element = parser.read_ascii_element(&line, self.element);
                    element.or_else(|_| parser.read_ascii_element(&plain(&line), self.element))
                }),
                Encoding::BinaryBigEndian => {
                    parser.read_big_endian_element(self.reader, self.element)
                }
                Encoding::BinaryLittleEndian => {
                    parser.read_little_endian_element(self.reader, self.element)
                }
            };
            let element = element.map_err(|error| self.problem(done, &line, &error))?;
            take(element).map_err(|problem| format!("{}{problem}", self.line_prefix()))?;
        }
        Ok(())
    }

    /// Calls `read`, which reads an element and returns the result of using it, for each binary element of this type.
    /// Fails if an element is missing or cannot be used.
    fn read_with(
        &mut self,
        mut read: impl FnMut(&mut R) -> io::Result<Result<(), String>>,
    ) -> Result<(), String> {
        for done in 0..self.element.count {
            read(self.reader).map_err(|error| self.problem(done, "", &error.into()))??;
        }
        Ok(())
    }

    /// Reads the next line that is not blank into `line`. Fails at the end of the file.
    fn next_line(&mut self, line: &mut String) -> Result<(), ParseError> {
        loop {
            if !read_line(self.reader, self.line_end, line)? {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            self.line_number += 1;
            if !line.is_empty() {
                return Ok(());
            }
        }
    }

    /// Returns the prefix of error messages: `line 12: ` in text files, empty in binary files.
    fn line_prefix(&self) -> String {
        match self.encoding {
            Encoding::Ascii => format!("line {}: ", self.line_number),
            Encoding::BinaryBigEndian | Encoding::BinaryLittleEndian => String::new(),
        }
    }

    /// Returns the error message for a parser error after `done` complete elements. `line` is the faulty line of a text
    /// file.
    fn problem(&self, done: usize, line: &str, error: &ParseError) -> String {
        let ElementDef { name, count, .. } = self.element;
        let name = excerpt(name);
        match (error.kind(), self.encoding) {
            (io::ErrorKind::UnexpectedEof, _) => {
                format!(
                    "ends after {done} of the {count} elements `{name}` that its header declares"
                )
            }
            (_, Encoding::Ascii) => {
                format!(
                    "{}found `{}`, expected the numbers of one `{name}`",
                    self.line_prefix(),
                    excerpt(line)
                )
            }
            _ => format!("`{name}` {}: {}", done + 1, excerpt(&error.to_string())),
        }
    }
}

/// Returns a line with its numbers written so that the parser reads them, such as `5.0` instead of `5.`.
fn plain(line: &str) -> String {
    let words = line.split_whitespace();
    let words = words.map(|word| match word.parse::<f64>() {
        Ok(number) if word.contains('.') => format!("{number:?}"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}
