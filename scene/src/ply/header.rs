//! Reads and validates the header of a PLY file.

use std::io::{self, BufRead, Read};

use ply_rs_bw::{
    parser::{ParseError, Parser, Reader},
    ply::{ElementDef, Header, PropertyType, ScalarType},
};

use super::element::{Face, Skipped};
use crate::{
    error::excerpt,
    files::{
        foreign::{SPLAT, UTF16_TEXT},
        lines::is_utf16,
    },
};

/// Maximum length of a header in bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// First words of the lines of a header, besides `ply`.
const KEYWORDS: [&str; 6] = [
    "format",
    "comment",
    "obj_info",
    "element",
    "property",
    "end_header",
];

/// Reads the lines up to and including `end_header`, and skips a UTF-8 byte order mark. Returns the lines with `\n` at
/// their ends, and the byte that ends lines in this file.
///
/// Bytes that are not UTF-8, as in comments, are replaced. Fails if the file is UTF-16, if the first line is not `ply`,
/// or if `end_header` does not follow within 1 MiB.
pub(crate) fn text(reader: &mut impl BufRead) -> Result<(String, u8), String> {
    let unread = |error: io::Error| format!("cannot be read: {error}");
    let start = reader.fill_buf().map_err(unread)?;
    if is_utf16(start) {
        return Err(UTF16_TEXT.to_owned());
    }
    if start.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    // Binary data after the header may begin with a line-end byte, so only the first line can tell how lines end.
    let end = match reader.fill_buf().map_err(unread)? {
        [b'p', b'l', b'y', b'\r', next, ..] if *next != b'\n' => b'\r',
        _ => b'\n',
    };
    let mut text = String::new();
    let mut line = Vec::new();
    let mut limited = reader.take(MAX_HEADER_BYTES);
    loop {
        line.clear();
        let read = limited.read_until(end, &mut line).map_err(unread)?;
        let start = text.len();
        let found = String::from_utf8_lossy(&line);
        let found = found.trim();
        // Some programs write comments without the word.
        let keyword = found.split_whitespace().next().unwrap_or_default();
        if start > 0 && !KEYWORDS.contains(&keyword) && read > 0 {
            text.push_str("comment ");
        }
        text.push_str(found);
        text.push('\n');
        if start == 0 && text.trim_end() != "ply" {
            return Err("is no PLY file: it does not begin with a line `ply`".to_owned());
        }
        match text[start..].trim() {
            "end_header" => return Ok((text, end)),
            _ if read == 0 => {
                return Err("its header does not end: there is no line `end_header`".to_owned());
            }
            _ => {}
        }
    }
}

/// Parses the text of a header. Fails if it is malformed or does not declare usable vertices and faces.
pub(crate) fn parsed(text: &str) -> Result<Header, String> {
    let header = Parser::<Skipped>::new()
        .read_header(&mut Reader::new(text.as_bytes()))
        .map_err(|error| problem(text, &error))?;
    check(text, &header)?;
    Ok(header)
}

/// Returns the image file names in the lines `comment TextureFile NAME` of a header, which MeshLab and photogrammetry
/// programs write.
pub(crate) fn images(text: &str) -> Vec<String> {
    let named = text.lines().filter_map(|line| {
        let comment = line.trim().strip_prefix("comment")?.trim_start();
        let name = comment.strip_prefix("TextureFile")?;
        name.starts_with(char::is_whitespace)
            .then(|| name.trim().to_owned())
    });
    named.filter(|name| !name.is_empty()).collect()
}

/// Returns `true` if faces have a property with one of these names.
pub(crate) fn has_face_property(header: &Header, names: &[&str]) -> bool {
    header.elements.get("face").is_some_and(|face| {
        let mut found = face.properties.keys();
        found.any(|name| names.contains(&name.as_str()))
    })
}

/// Returns `true` if vertices have a property with one of these names.
pub(crate) fn has_vertex_property(header: &Header, names: &[&str]) -> bool {
    header.elements.get("vertex").is_some_and(|vertex| {
        let mut found = vertex.properties.keys();
        found.any(|name| names.contains(&name.as_str()))
    })
}

/// Returns the error message for a parser error in the header `text`. It quotes the faulty line with its number, or
/// gives the parser's reason if that line is not known.
fn problem(text: &str, error: &ParseError) -> String {
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

/// Returns whether the header is that of a Gaussian splat: its vertices have spherical harmonics and a rotation, or are
/// packed as PlayCanvas does.
fn is_splat(header: &Header) -> bool {
    let has = |name: &str| {
        let vertex = header.elements.get("vertex");
        vertex.is_some_and(|vertex| vertex.properties.contains_key(name))
    };
    (has("f_dc_0") && (has("rot_0") || has("scale_0") || has("opacity"))) || has("packed_position")
}

/// Returns whether a file has vertices and no faces.
pub(super) fn is_point_cloud(header: &Header) -> bool {
    let count = |name: &str| header.elements.get(name).map_or(0, |all| all.count);
    count("vertex") > 0 && count("face") == 0 && count("tristrips") == 0
}

/// Fails for headers that the parser accepts but would read incorrectly or endlessly, or that lack usable vertices, or
/// faces unless it is a point cloud.
fn check(text: &str, header: &Header) -> Result<(), String> {
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
    if is_splat(header) {
        return Err(SPLAT.to_owned());
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
    let mut shapes = ["face", "tristrips"]
        .into_iter()
        .filter_map(|name| header.elements.get_full(name))
        .peekable();
    let listed = |face: &ElementDef| Face::LISTS.iter().any(|name| known(face, name, true));
    let has_faces = shapes.peek().is_some() && shapes.clone().all(|(_, _, face)| listed(face));
    if !has_faces && !is_point_cloud(header) {
        return Err(
            "expected an element `face` with a list of whole numbers `vertex_indices`".to_owned(),
        );
    }
    let vertices = header.elements.get_index_of("vertex");
    if shapes.any(|(place, ..)| Some(place) < vertices) {
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
