//! Stanford PLY: vertices from `vertex`, polygons from `face`, strips of triangles from `tristrips`; other elements and
//! properties are passed over.
//!
//! Elements are read one by one, so that memory grows with what a file holds and not with what its header declares.

mod header;

use std::io::{self, BufRead};

use glam::{DVec3, Vec2, Vec3};
use ply_rs_bw::{
    parser::{ParseError, Parser},
    ply::{ElementDef, Encoding, Header, Property, PropertyAccess, PropertyAccessResult},
};

use super::read_line;
use crate::scene::source::excerpt;

/// A file whose header was read.
pub(super) struct File<R> {
    reader: R,
    header: Header,
    /// Of lines of text.
    line_end: u8,
    header_lines: u64,
    /// Files of images that the header names, by number.
    pub(super) images: Vec<String>,
    /// Whether its faces have colours, texture coordinates or numbers of images.
    pub(super) faces_differ: bool,
}

/// What the file lists.
pub(super) enum Element<'e> {
    Vertex(&'e Vertex),
    Face(&'e Face),
}

impl<R: BufRead> File<R> {
    /// Reads the header.
    pub(super) fn open(mut reader: R) -> Result<File<R>, String> {
        let (text, line_end) = header::text(&mut reader)?;
        let header = header::parsed(&text)?;
        Ok(File {
            reader,
            line_end,
            header_lines: text.lines().count() as u64,
            images: header::images(&text),
            faces_differ: header::faces_differ(&header),
            header,
        })
    }

    /// Reads all vertices and faces; of strips each triangle is a face. `Err` names the place.
    pub(super) fn read(
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
                "vertex" => elements.read(|vertex: Vertex| take(Element::Vertex(&vertex)))?,
                "face" => elements.read(|face: Face| take(Element::Face(face.checked()?)))?,
                "tristrips" => elements.read(|strips: Face| {
                    strips
                        .triangles()
                        .try_for_each(|face| take(Element::Face(&face)))
                })?,
                _ => elements.read(|_: Passed| Ok(()))?,
            }
            line_number = elements.line_number;
        }
        Ok(())
    }
}

/// The elements of one name.
struct Elements<'r, R> {
    reader: &'r mut R,
    encoding: Encoding,
    element: &'r ElementDef,
    line_end: u8,
    /// Of the last line read, from 1.
    line_number: u64,
}

impl<R: BufRead> Elements<'_, R> {
    fn read<E: PropertyAccess>(
        &mut self,
        mut take: impl FnMut(E) -> Result<(), String>,
    ) -> Result<(), String> {
        let parser = Parser::<E>::new();
        let mut line = String::new();
        for done in 0..self.element.count {
            let element = match self.encoding {
                Encoding::Ascii => self
                    .next_line(&mut line)
                    .and_then(|()| parser.read_ascii_element(&line, self.element)),
                Encoding::BinaryBigEndian => {
                    parser.read_big_endian_element(self.reader, self.element)
                }
                Encoding::BinaryLittleEndian => {
                    parser.read_little_endian_element(self.reader, self.element)
                }
            };
            let element = element.map_err(|error| self.problem(done, &line, &error))?;
            take(element).map_err(|problem| format!("{}{problem}", self.place()))?;
        }
        Ok(())
    }

    /// The next line that is not blank.
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

    /// "line 12: " in a text.
    fn place(&self) -> String {
        match self.encoding {
            Encoding::Ascii => format!("line {}: ", self.line_number),
            Encoding::BinaryBigEndian | Encoding::BinaryLittleEndian => String::new(),
        }
    }

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
                    self.place(),
                    excerpt(line)
                )
            }
            _ => format!("`{name}` {}: {}", done + 1, excerpt(&error.to_string())),
        }
    }
}

/// An element that is passed over.
struct Passed;

impl PropertyAccess for Passed {
    fn new() -> Self {
        Passed
    }
}

/// A vertex; what the file does not give is NaN.
pub(super) struct Vertex {
    pub(super) position: DVec3,
    pub(super) normal: Vec3,
    pub(super) uv: Vec2,
    /// By sRGB's curve, 0 to 1.
    pub(super) color: Vec3,
}

impl PropertyAccess for Vertex {
    fn new() -> Self {
        Vertex {
            position: DVec3::NAN,
            normal: Vec3::NAN,
            uv: Vec2::NAN,
            color: Vec3::NAN,
        }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let Some((number, white)) = number(&property) else {
            return PropertyAccessResult::Ignored;
        };
        match name {
            "x" => self.position.x = number,
            "y" => self.position.y = number,
            "z" => self.position.z = number,
            "nx" => self.normal.x = number as f32,
            "ny" => self.normal.y = number as f32,
            "nz" => self.normal.z = number as f32,
            "u" | "s" | "texture_u" => self.uv.x = number as f32,
            "v" | "t" | "texture_v" => self.uv.y = number as f32,
            "red" | "r" | "diffuse_red" => self.color.x = (number / white) as f32,
            "green" | "g" | "diffuse_green" => self.color.y = (number / white) as f32,
            "blue" | "b" | "diffuse_blue" => self.color.z = (number / white) as f32,
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

/// A face, and what the file says of it alone.
pub(super) struct Face {
    /// Indices of its corners, from 0, as they are stored.
    pub(super) corners: Vec<i64>,
    /// At each of its corners, or none.
    pub(super) uvs: Vec<Vec2>,
    /// By sRGB's curve, 0 to 1; NaN where it has none.
    pub(super) color: Vec3,
    /// Number of its image, from 0; none has -1.
    pub(super) image: i64,
}

impl Face {
    /// Both names are in use.
    const LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];
    /// What a face may have besides its corners.
    const OWN: [&str; 8] = [
        "texcoord",
        "texnumber",
        "red",
        "green",
        "blue",
        "diffuse_red",
        "diffuse_green",
        "diffuse_blue",
    ];

    fn checked(&self) -> Result<&Face, String> {
        let (corners, uvs) = (self.corners.len(), self.uvs.len());
        if uvs == 0 || uvs == corners {
            return Ok(self);
        }
        Err(format!(
            "a face has texture coordinates for {uvs} corners, expected {corners}"
        ))
    }

    /// The triangles of strips that negative indices part. Every other one turns the other way, and those that only lead
    /// from strip to strip are left out.
    fn triangles(&self) -> impl Iterator<Item = Face> {
        let strips = self.corners.split(|&index| index < 0);
        strips.flat_map(|strip| {
            let triangles = strip.windows(3).enumerate();
            triangles.filter_map(|(number, window)| {
                let [a, b, c] = [window[0], window[1], window[2]];
                let corners = if number % 2 == 0 {
                    vec![a, b, c]
                } else {
                    vec![a, c, b]
                };
                let seen = a != b && b != c && c != a;
                seen.then(|| Face {
                    corners,
                    ..Face::new()
                })
            })
        })
    }
}

impl PropertyAccess for Face {
    fn new() -> Self {
        Face {
            corners: Vec::new(),
            uvs: Vec::new(),
            color: Vec3::NAN,
            image: 0,
        }
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        if Face::LISTS.contains(&name) {
            self.corners = indices(property);
            return PropertyAccessResult::Set;
        }
        if name == "texcoord" {
            let pairs = |numbers: Vec<f32>| {
                let pairs = numbers.chunks(2);
                pairs
                    .map(|pair| Vec2::new(pair[0], *pair.get(1).unwrap_or(&f32::NAN)))
                    .collect()
            };
            self.uvs = match property {
                Property::ListFloat(numbers) => pairs(numbers),
                Property::ListDouble(numbers) => {
                    pairs(numbers.into_iter().map(|number| number as f32).collect())
                }
                _ => return PropertyAccessResult::Ignored,
            };
            return PropertyAccessResult::Set;
        }
        let Some((number, white)) = number(&property) else {
            return PropertyAccessResult::Ignored;
        };
        match name {
            "red" | "diffuse_red" => self.color.x = (number / white) as f32,
            "green" | "diffuse_green" => self.color.y = (number / white) as f32,
            "blue" | "diffuse_blue" => self.color.z = (number / white) as f32,
            "texnumber" => self.image = number as i64,
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

/// A single number, and what is white where it is a colour.
fn number(property: &Property) -> Option<(f64, f64)> {
    Some(match *property {
        Property::Char(value) => (value.into(), 1.0),
        Property::UChar(value) => (value.into(), 255.0),
        Property::Short(value) => (value.into(), 1.0),
        Property::UShort(value) => (value.into(), 65535.0),
        Property::Int(value) => (value.into(), 1.0),
        Property::UInt(value) => (value.into(), 1.0),
        Property::Float(value) => (value.into(), 1.0),
        Property::Double(value) => (value, 1.0),
        _ => return None,
    })
}

/// A list of whole numbers.
fn indices(property: Property) -> Vec<i64> {
    fn widened<T: Into<i64>>(indices: Vec<T>) -> Vec<i64> {
        indices.into_iter().map(Into::into).collect()
    }
    match property {
        Property::ListChar(indices) => widened(indices),
        Property::ListUChar(indices) => widened(indices),
        Property::ListShort(indices) => widened(indices),
        Property::ListUShort(indices) => widened(indices),
        Property::ListInt(indices) => widened(indices),
        Property::ListUInt(indices) => widened(indices),
        _ => Vec::new(),
    }
}
