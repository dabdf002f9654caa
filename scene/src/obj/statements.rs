//! A reader of Wavefront OBJ text. It reports one statement at a time and ignores group names.
//!
//! `docs/experiments/081-libraries-for-files.md` names the real files that `tobj`, `ufbx`, `obj-rs` and `wobj`
//! reject or read wrongly.

use std::{io::BufRead, mem};

use glam::{DVec3, Vec2, Vec3};

use crate::{
    error::excerpt,
    files::lines::{Lines, MAX_LINE_BYTES},
    memory,
};

/// Length in bytes from which on a face is compared with the available memory.
const LONG_FACE: usize = 1 << 16;
/// Memory in bytes that the text of a long face takes at most, per byte, until it is triangulated.
const BYTES_PER_BYTE: u64 = 128;

/// A parsed statement of an OBJ file. Statements that do not affect polygons are skipped.
pub(crate) enum Statement<'l> {
    /// `v`: a position, and the vertex color if the statement has one (sRGB-encoded, 0 to 1).
    Vertex(DVec3, Option<Vec3>),
    /// `vn`: a normal of any length.
    Normal(Vec3),
    /// `vt`: a texture coordinate; v grows upwards.
    Uv(Vec2),
    /// `f`: the corners of a polygon; there may be fewer than three.
    Face(&'l [FaceCorner<'l>]),
    /// `f` with a vertex index of 0, which names nothing: it cannot be shown.
    FaceOfNothing,
    /// `usemtl`: the name of the material of the faces that follow.
    Material(&'l str),
    /// `mtllib`: one or more names of MTL files, as one string separated by spaces.
    Libraries(&'l str),
    /// `s`: the smoothing group of the faces that follow; 0 means flat.
    Smoothing(u32),
    /// `l`, `p`, `curv`, `curv2` or `surf`: something to show that is not a polygon.
    NotShown(NotShown),
}

/// The kinds of elements that an OBJ file may contain and that are not shown.
#[derive(Clone, Copy)]
pub(crate) enum NotShown {
    Line,
    Point,
    CurveOrSurface,
}

/// A corner of a face: a vertex, with an optional normal and texture coordinate.
#[derive(Clone, Copy)]
pub(crate) struct FaceCorner<'l> {
    /// Zero-based index of a vertex that precedes the face.
    pub(crate) vertex: usize,
    /// Index of the texture coordinate as text of the file, not yet validated; `None` if the corner has none.
    pub(crate) uv: Option<&'l str>,
    /// Index of the normal as text of the file, not yet validated; `None` if the corner has none.
    pub(crate) normal: Option<&'l str>,
}

impl FaceCorner<'_> {
    /// Returns the zero-based index of the corner's normal below `count`, the number of normals read so far.
    pub(crate) fn normal_index(&self, count: usize) -> Attribute {
        attribute(self.normal, count)
    }

    /// Returns the zero-based index of the corner's texture coordinate below `count`, the number of texture coordinates
    /// read so far.
    pub(crate) fn uv_index(&self, count: usize) -> Attribute {
        attribute(self.uv, count)
    }
}

/// The normal or texture coordinate that a corner of a face names, if any.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// Nothing.
    None,
    /// A zero-based index.
    At(usize),
    /// Something that the file does not have.
    Missing,
}

impl Attribute {
    /// Returns the index, if there is one.
    pub(crate) fn index(self) -> Option<usize> {
        match self {
            Attribute::At(index) => Some(index),
            Attribute::None | Attribute::Missing => None,
        }
    }
}

/// Resolves an optional OBJ index `word` to a zero-based index below `count`.
fn attribute(word: Option<&str>, count: usize) -> Attribute {
    match word.map(|word| index(word, count)) {
        None => Attribute::None,
        Some(Ok(index)) => Attribute::At(index),
        Some(Err(_)) => Attribute::Missing,
    }
}

/// Reads a whole OBJ file and calls `take` for each statement. Fails if a statement is invalid or `take` fails; the
/// message begins with the line number.
pub(crate) fn read(
    reader: &mut impl BufRead,
    mut take: impl FnMut(Statement) -> Result<(), String>,
) -> Result<(), String> {
    let mut line = String::new();
    let mut statement = String::new();
    let mut vertex_count = 0;
    let mut number = 0u64;
    let mut lines = Lines::new(reader).map_err(|error| format!("cannot be read: {error}"))?;
    loop {
        number += 1;
        let more = lines
            .read(&mut line)
            .map_err(|error| format!("line {number}: {error}"))?;
        // A backslash at the end continues the statement on the next line.
        let carried_on = line.strip_suffix('\\');
        let is_carried_on = carried_on.is_some();
        if statement.is_empty() && !is_carried_on {
            mem::swap(&mut statement, &mut line);
        } else {
            statement.push_str(carried_on.unwrap_or(&line));
        }
        if statement.len() as u64 > MAX_LINE_BYTES {
            return Err(format!(
                "line {number}: a statement is longer than {} bytes",
                MAX_LINE_BYTES
            ));
        }
        if more && is_carried_on {
            continue;
        }
        read_statement(&statement, &mut vertex_count, &mut take)
            .map_err(|problem| format!("line {number}: {problem}"))?;
        if !more {
            return Ok(());
        }
        statement.clear();
    }
}

/// Parses one statement and passes it to `take`. `vertex_count` counts the vertices read so far. Fails if the statement
/// is invalid or `take` fails.
fn read_statement(
    statement: &str,
    vertex_count: &mut usize,
    take: &mut impl FnMut(Statement) -> Result<(), String>,
) -> Result<(), String> {
    let comment = statement.bytes().position(|byte| byte == b'#');
    let code = &statement[..comment.unwrap_or(statement.len())];
    // Splitting bytes takes a fraction of the time for splitting characters. The only other white space of ASCII is the
    // vertical tab.
    if code.is_ascii() && !code.as_bytes().contains(&0x0b) {
        read_words(code, code.split_ascii_whitespace(), vertex_count, take)
    } else {
        read_words(code, code.split_whitespace(), vertex_count, take)
    }
}

/// Parses a statement, given as its whole text `code` and as its `words`; see [`read_statement`].
fn read_words<'l>(
    code: &'l str,
    mut words: impl Iterator<Item = &'l str>,
    vertex_count: &mut usize,
    take: &mut impl FnMut(Statement) -> Result<(), String>,
) -> Result<(), String> {
    match words.next() {
        Some("v") => {
            let position = numbers(&mut words, code, "`v x y z`")?;
            // A single number after the position is a weight, which polygons do not use.
            let color: Vec<f32> = words.map_while(|word| word.parse().ok()).collect();
            let color = match color[..] {
                [r, g, b] => Some(Vec3::new(r, g, b)),
                _ => None,
            };
            *vertex_count += 1;
            take(Statement::Vertex(DVec3::from_array(position), color))
        }
        Some("vn") => {
            let normal = numbers(&mut words, code, "`vn x y z`")?;
            take(Statement::Normal(DVec3::from_array(normal).as_vec3()))
        }
        Some("vt") => {
            let mut coordinate = || words.next().map(str::parse::<f32>);
            match (coordinate(), coordinate()) {
                (Some(Ok(u)), Some(Ok(v))) => take(Statement::Uv(Vec2::new(u, v))),
                (Some(Ok(u)), None) => take(Statement::Uv(Vec2::new(u, 0.0))),
                _ => Err(format!("found `{}`, expected `vt u v`", excerpt(code))),
            }
        }
        Some("f") => {
            if code.len() > LONG_FACE {
                // A corner takes two bytes or more of text, and is stored in several lists.
                memory::check(code.len() as u64 * BYTES_PER_BYTE)?;
            }
            let mut corners = Vec::with_capacity(4);
            let mut names_nothing = false;
            for word in words {
                let slash = word.bytes().position(|byte| byte == b'/');
                let (first, rest) = word.split_at(slash.unwrap_or(word.len()));
                let mut parts = rest.split('/').skip(1);
                let count = *vertex_count;
                let vertex = match index(first, count) {
                    Ok(vertex) => vertex,
                    Err(Some(0)) => {
                        names_nothing = true;
                        continue;
                    }
                    Err(Some(index)) => {
                        return Err(format!(
                            "a face names vertex {index}, but there are {count} vertices before it"
                        ));
                    }
                    Err(None) => {
                        return Err(format!(
                            "found corner `{}`, expected the number of a vertex",
                            excerpt(word)
                        ));
                    }
                };
                let mut given = || parts.next().filter(|part| !part.is_empty());
                corners.push(FaceCorner {
                    vertex,
                    uv: given(),
                    normal: given(),
                });
            }
            take(match names_nothing {
                true => Statement::FaceOfNothing,
                false => Statement::Face(&corners),
            })
        }
        Some("usemtl") => take(Statement::Material(rest(code, "usemtl"))),
        Some("mtllib") => take(Statement::Libraries(rest(code, "mtllib"))),
        Some("s") => {
            // `off` and 0 both mean flat.
            let group = words.next().and_then(|word| word.parse().ok());
            take(Statement::Smoothing(group.unwrap_or(0)))
        }
        Some("l") => take(Statement::NotShown(NotShown::Line)),
        Some("p") => take(Statement::NotShown(NotShown::Point)),
        Some("curv" | "curv2" | "surf") => take(Statement::NotShown(NotShown::CurveOrSurface)),
        _ => Ok(()),
    }
}

/// Returns the text of the statement `code` after `keyword`, trimmed. If `code` does not begin with the keyword,
/// returns all of it.
pub(crate) fn rest<'l>(code: &'l str, keyword: &str) -> &'l str {
    let code = code.trim();
    code.strip_prefix(keyword).unwrap_or(code).trim()
}

/// Parses the next three words as numbers, and leaves further words. Fails if there are fewer, or one is not a number.
///
/// The message quotes `code`, the text of the whole statement, and `expected`, the right syntax in backticks.
fn numbers<'a>(
    words: &mut impl Iterator<Item = &'a str>,
    code: &str,
    expected: &str,
) -> Result<[f64; 3], String> {
    let mut number = || words.next()?.parse::<f64>().ok();
    match (number(), number(), number()) {
        (Some(x), Some(y), Some(z)) => Ok([x, y, z]),
        _ => Err(format!("found `{}`, expected {expected}", excerpt(code))),
    }
}

/// Converts an OBJ index (from 1, or from -1 backwards) to a zero-based one below `count`.
///
/// Fails with the index if it is 0 or out of range, and with `None` if the word is not an integer.
fn index(word: &str, count: usize) -> Result<usize, Option<i64>> {
    let index: i64 = word.parse().map_err(|_| None)?;
    let count = count as i64;
    let from_zero = if index > 0 {
        index - 1
    } else {
        count.saturating_add(index)
    };
    if index == 0 || !(0..count).contains(&from_zero) {
        return Err(Some(index));
    }
    Ok(from_zero as usize)
}
