//! Wavefront OBJ, statement by statement; lines, curves, surfaces and names of groups are passed over.
//!
//! Read here and not by a library, since an error has to name its line.

use std::io::BufRead;

use glam::{DVec3, Vec2, Vec3};

use super::{line_end, read_line};
use crate::scene::source::excerpt;

/// What a line says.
pub(super) enum Statement<'l> {
    /// Where it is, and its colour, 0 to 1 by sRGB's curve, if it has one.
    Vertex(DVec3, Option<Vec3>),
    Normal(Vec3),
    Uv(Vec2),
    Face(&'l [Corner<'l>]),
    /// The faces that follow are of this material.
    Material(&'l str),
    /// Files of materials.
    Libraries(&'l str),
    /// The faces that follow are smooth together, or flat (0).
    Smoothing(u32),
}

/// A corner of a face.
#[derive(Clone, Copy)]
pub(super) struct Corner<'l> {
    /// Index from 0 of a vertex that is there.
    pub(super) vertex: usize,
    /// As it is written, if it is.
    pub(super) uv: Option<&'l str>,
    pub(super) normal: Option<&'l str>,
}

impl Corner<'_> {
    /// Index from 0 of its normal, if it has one, of so many.
    pub(super) fn normal_number(&self, count: usize) -> Result<Option<usize>, String> {
        number_of(self.normal, count, ["normal", "normals"])
    }

    /// Index from 0 of its texture coordinate, if it has one, of so many.
    pub(super) fn uv_number(&self, count: usize) -> Result<Option<usize>, String> {
        number_of(
            self.uv,
            count,
            ["texture coordinate", "texture coordinates"],
        )
    }
}

fn number_of(word: Option<&str>, count: usize, names: [&str; 2]) -> Result<Option<usize>, String> {
    let Some(word) = word else { return Ok(None) };
    index(word, count, names).map(Some).map_err(|problem| {
        problem.unwrap_or_else(|| {
            let (word, one) = (excerpt(word), names[0]);
            format!("found `{word}`, expected the number of a {one}")
        })
    })
}

/// Reads all statements. `Err` names the line.
pub(super) fn read(
    reader: &mut impl BufRead,
    mut take: impl FnMut(Statement) -> Result<(), String>,
) -> Result<(), String> {
    let mut line = String::new();
    let mut statement = String::new();
    let mut vertex_count = 0;
    let mut number = 0u64;
    let end = line_end(reader).map_err(|error| format!("cannot be read: {error}"))?;
    loop {
        number += 1;
        let more =
            read_line(reader, end, &mut line).map_err(|error| format!("line {number}: {error}"))?;
        // A backslash carries a statement on to the next line.
        let carried_on = line.strip_suffix('\\');
        statement.push_str(carried_on.unwrap_or(&line));
        if statement.len() as u64 > super::MAX_LINE_BYTES {
            return Err(format!(
                "line {number}: a statement is longer than {} bytes",
                super::MAX_LINE_BYTES
            ));
        }
        if more && carried_on.is_some() {
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

fn read_statement(
    statement: &str,
    vertex_count: &mut usize,
    take: &mut impl FnMut(Statement) -> Result<(), String>,
) -> Result<(), String> {
    let code = statement.split('#').next().unwrap_or_default();
    let mut words = code.split_whitespace();
    match words.next() {
        Some("v") => {
            let position = numbers(&mut words, code, "`v x y z`")?;
            // A single number would be a weight.
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
            let mut corners = Vec::new();
            for word in words {
                let mut parts = word.split('/');
                let vertex = index(
                    parts.next().unwrap_or_default(),
                    *vertex_count,
                    ["vertex", "vertices"],
                )
                .map_err(|problem| match problem {
                    Some(problem) => problem,
                    None => format!(
                        "found corner `{}`, expected the number of a vertex",
                        excerpt(word)
                    ),
                })?;
                let mut given = || parts.next().filter(|part| !part.is_empty());
                corners.push(Corner {
                    vertex,
                    uv: given(),
                    normal: given(),
                });
            }
            take(Statement::Face(&corners))
        }
        Some("usemtl") => take(Statement::Material(rest(code, "usemtl"))),
        Some("mtllib") => take(Statement::Libraries(rest(code, "mtllib"))),
        Some("s") => {
            // `off` or 0: flat.
            let group = words.next().and_then(|word| word.parse().ok());
            take(Statement::Smoothing(group.unwrap_or(0)))
        }
        _ => Ok(()),
    }
}

/// What stands behind the keyword.
pub(super) fn rest<'l>(code: &'l str, keyword: &str) -> &'l str {
    let code = code.trim();
    code.strip_prefix(keyword).unwrap_or(code).trim()
}

/// Three numbers; after them others may stand.
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

/// An index from 0, written from 1, or backwards from -1. `Err(None)` if it is no number.
fn index(word: &str, count: usize, [one, many]: [&str; 2]) -> Result<usize, Option<String>> {
    let index: i64 = word.parse().map_err(|_| None)?;
    let count = count as i64;
    let from_zero = if index > 0 {
        index - 1
    } else {
        count.saturating_add(index)
    };
    if index == 0 || !(0..count).contains(&from_zero) {
        return Err(Some(format!(
            "a face names {one} {index}, but there are {count} {many} before it"
        )));
    }
    Ok(from_zero as usize)
}
