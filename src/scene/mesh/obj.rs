//! Wavefront OBJ: `v` and `f` lines; groups, normals, texture coordinates, curves and materials are passed over.
//!
//! Read here and not by a library, since an error has to name its line.

use std::io::BufRead;

use glam::DVec3;

use super::read_line;
use crate::scene::{geometry::MeshBuilder, source::excerpt};

pub(super) fn read(reader: &mut impl BufRead, mesh: &mut MeshBuilder) -> Result<(), String> {
    let mut line = String::new();
    let mut statement = String::new();
    let mut number = 0u64;
    loop {
        number += 1;
        let more =
            read_line(reader, &mut line).map_err(|error| format!("line {number}: {error}"))?;
        // A backslash carries a statement on to the next line.
        let carried_on = line.strip_suffix('\\');
        statement.push_str(carried_on.unwrap_or(&line));
        if more && carried_on.is_some() {
            continue;
        }
        read_statement(&statement, mesh).map_err(|problem| format!("line {number}: {problem}"))?;
        if !more {
            return Ok(());
        }
        statement.clear();
    }
}

fn read_statement(statement: &str, mesh: &mut MeshBuilder) -> Result<(), String> {
    let code = statement.split('#').next().unwrap_or_default();
    let mut words = code.split_whitespace();
    match words.next() {
        Some("v") => mesh.push_vertex(position(words, code)?),
        Some("f") => {
            let vertex_count = mesh.vertex_count();
            let mut corners = Vec::new();
            for word in words {
                corners.push(vertex_index(word, vertex_count)?);
            }
            mesh.push_face(corners.into_iter())
        }
        _ => Ok(()),
    }
}

/// x, y, z; after them a weight or a colour may stand, which a position does not need.
fn position<'a>(mut words: impl Iterator<Item = &'a str>, code: &str) -> Result<DVec3, String> {
    let mut coordinate = || words.next()?.parse::<f64>().ok();
    match (coordinate(), coordinate(), coordinate()) {
        (Some(x), Some(y), Some(z)) => Ok(DVec3::new(x, y, z)),
        _ => Err(format!("found `{}`, expected `v x y z`", excerpt(code))),
    }
}

/// Of a corner `v`, `v/vt`, `v//vn` or `v/vt/vn`: the vertex, from 0. Written from 1, or backwards from -1.
fn vertex_index(corner: &str, vertex_count: usize) -> Result<i64, String> {
    let word = corner.split('/').next().unwrap_or_default();
    let index: i64 = word.parse().map_err(|_| {
        format!(
            "found corner `{}`, expected the number of a vertex",
            excerpt(corner)
        )
    })?;
    let count = vertex_count as i64;
    let from_zero = if index > 0 {
        index - 1
    } else {
        count.saturating_add(index)
    };
    if index == 0 || !(0..count).contains(&from_zero) {
        return Err(format!(
            "a face names vertex {index}, but there are {count} vertices before it"
        ));
    }
    Ok(from_zero)
}
