//! Stanford PLY: vertices from `vertex`, polygons from `face`; other elements and properties are passed over.
//!
//! Elements are read one by one, so that memory grows with what a file holds and not with what its header declares.

use std::io::{self, BufRead, Read};

use glam::{DVec3, Vec2, Vec3};
use ply_rs_bw::{
    parser::{ParseError, Parser, Reader},
    ply::{
        ElementDef, Encoding, Header, Property, PropertyAccess, PropertyAccessResult, PropertyType,
        ScalarType,
    },
};

use super::read_line;
use crate::scene::source::excerpt;

const MAX_HEADER_BYTES: u64 = 1 << 20;

/// What the file lists.
pub(super) enum Element<'e> {
    Vertex(&'e Vertex),
    /// Indices of its corners, from 0, as they are stored.
    Face(&'e [i64]),
}

/// Reads all vertices and faces. `Err` names the place.
pub(super) fn read(
    reader: &mut impl BufRead,
    mut take: impl FnMut(Element) -> Result<(), String>,
) -> Result<(), String> {
    let text = read_header_text(reader)?;
    let header = Parser::<Passed>::new()
        .read_header(&mut Reader::new(text.as_bytes()))
        .map_err(|error| header_problem(&text, &error))?;
    check_header(&text, &header)?;
    let mut line_number = text.lines().count() as u64;
    for element in header.elements.values() {
        let mut elements = Elements {
            reader: &mut *reader,
            encoding: header.encoding,
            element,
            line_number,
        };
        match element.name.as_str() {
            "vertex" => elements.read(|vertex: Vertex| take(Element::Vertex(&vertex)))?,
            "face" => elements.read(|face: Face| take(Element::Face(&face.corners()?)))?,
            _ => elements.read(|_: Passed| Ok(()))?,
        }
        line_number = elements.line_number;
    }
    Ok(())
}

/// The lines up to `end_header`, with their ends; comments are of any encoding.
fn read_header_text(reader: &mut impl BufRead) -> Result<String, String> {
    let mut text = String::new();
    let mut line = Vec::new();
    let mut limited = reader.take(MAX_HEADER_BYTES);
    loop {
        line.clear();
        let read = limited
            .read_until(b'\n', &mut line)
            .map_err(|error| format!("cannot be read: {error}"))?;
        let start = text.len();
        text.push_str(&String::from_utf8_lossy(&line));
        if start == 0 && text.trim_end() != "ply" {
            return Err("is no PLY file: it does not begin with a line `ply`".to_owned());
        }
        match text[start..].trim() {
            "end_header" => return Ok(text),
            _ if read == 0 => {
                return Err("its header does not end: there is no line `end_header`".to_owned());
            }
            _ => {}
        }
    }
}

fn header_problem(text: &str, error: &ParseError) -> String {
    let found = error
        .line()
        .and_then(|number| Some((number, text.lines().nth(number.checked_sub(1)?)?)));
    match found {
        Some((number, line)) => format!(
            "line {number}: found `{}`, which is no line of a PLY header",
            excerpt(line)
        ),
        None => format!("its header is wrong: {}", excerpt(&error.to_string())),
    }
}

/// What the parser would take but read wrongly, or for ever.
fn check_header(text: &str, header: &Header) -> Result<(), String> {
    let lines = |word| {
        text.lines()
            .filter(|line| line.split_whitespace().next() == Some(word))
            .count()
    };
    let properties: usize = header
        .elements
        .values()
        .map(|element| element.properties.len())
        .sum();
    if lines("element") != header.elements.len() || lines("property") != properties {
        return Err(
            "its header gives two elements, or two properties of one, the same name".to_owned(),
        );
    }
    let known = |element: &ElementDef, property: &str, list: bool| {
        let found = element
            .properties
            .get(property)
            .map(|property| &property.data_type);
        match found {
            Some(PropertyType::Scalar(_)) => !list,
            Some(PropertyType::List(_, ScalarType::Float | ScalarType::Double)) | None => false,
            Some(PropertyType::List(..)) => list,
        }
    };
    match header.elements.get("vertex") {
        Some(vertex)
            if ["x", "y", "z"]
                .iter()
                .all(|name| known(vertex, name, false)) => {}
        _ => return Err("expected an element `vertex` with the properties x, y and z".to_owned()),
    }
    match header.elements.get("face") {
        Some(face) if Face::LISTS.iter().any(|name| known(face, name, true)) => {}
        _ => {
            return Err(
                "expected an element `face` with a list of whole numbers `vertex_indices`"
                    .to_owned(),
            );
        }
    }
    if header.elements.get_index_of("face") < header.elements.get_index_of("vertex") {
        return Err("has its faces before its vertices, expected the vertices first".to_owned());
    }
    match header
        .elements
        .values()
        .find(|element| element.properties.is_empty() && element.count > 0)
    {
        Some(element) => Err(format!(
            "its element `{}` has no properties",
            excerpt(&element.name)
        )),
        None => Ok(()),
    }
}

/// The elements of one name.
struct Elements<'r, R> {
    reader: &'r mut R,
    encoding: Encoding,
    element: &'r ElementDef,
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
            if !read_line(self.reader, line)? {
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
        let white = match property {
            Property::UChar(_) => 255.0,
            Property::UShort(_) => 65535.0,
            _ => 1.0,
        };
        let number = match property {
            Property::Char(value) => value.into(),
            Property::UChar(value) => value.into(),
            Property::Short(value) => value.into(),
            Property::UShort(value) => value.into(),
            Property::Int(value) => value.into(),
            Property::UInt(value) => value.into(),
            Property::Float(value) => value.into(),
            Property::Double(value) => value,
            _ => return PropertyAccessResult::Ignored,
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

/// The list of a face's vertices, as it is stored.
struct Face(Option<Property>);

impl Face {
    /// Both names are in use.
    const LISTS: [&str; 2] = ["vertex_indices", "vertex_index"];

    fn corners(self) -> Result<Vec<i64>, String> {
        fn widened<T: Into<i64>>(indices: Vec<T>) -> Vec<i64> {
            indices.into_iter().map(Into::into).collect()
        }
        match self.0 {
            Some(Property::ListChar(indices)) => Ok(widened(indices)),
            Some(Property::ListUChar(indices)) => Ok(widened(indices)),
            Some(Property::ListShort(indices)) => Ok(widened(indices)),
            Some(Property::ListUShort(indices)) => Ok(widened(indices)),
            Some(Property::ListInt(indices)) => Ok(widened(indices)),
            Some(Property::ListUInt(indices)) => Ok(widened(indices)),
            _ => Err("a face has no list of vertices".to_owned()),
        }
    }
}

impl PropertyAccess for Face {
    fn new() -> Self {
        Face(None)
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        if !Face::LISTS.contains(&name) {
            return PropertyAccessResult::Ignored;
        }
        self.0 = Some(property);
        PropertyAccessResult::Set
    }
}
