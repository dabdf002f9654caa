//! MTL: what the faces of an OBJ file are made of.

use std::{io::BufReader, path::Path};

use glam::Vec3;

use super::{obj, read_line};
use crate::scene::{
    gltf::relative_path,
    model::{Model, ModelMaterial},
    source::{excerpt, open_plain, shown},
};

/// Reads the libraries that a `mtllib` line names: the materials and their names. One that is missing is noted.
pub(super) fn read(
    folder: &Path,
    names: &str,
    model: &mut Model,
) -> Result<Vec<(String, ModelMaterial)>, String> {
    // One name with spaces is more common than two names.
    let whole = relative_path(names)?;
    let files = if folder.join(&whole).exists() {
        vec![whole]
    } else {
        let each = names.split_whitespace().map(relative_path);
        each.collect::<Result<_, _>>()?
    };
    let mut materials = Vec::new();
    for file in files {
        let path = folder.join(file);
        if !path.exists() {
            model.note(format!(
                "{}: does not exist; its materials are missing",
                shown(&path)
            ));
            continue;
        }
        library(&path, &mut materials, model)
            .map_err(|problem| format!("{}: {problem}", shown(&path)))?;
    }
    Ok(materials)
}

fn library(
    path: &Path,
    materials: &mut Vec<(String, ModelMaterial)>,
    model: &mut Model,
) -> Result<(), String> {
    let mut reader = BufReader::new(open_plain(path, &["mtl"])?);
    let mut line = String::new();
    let first = materials.len();
    let mut number = 0u64;
    loop {
        number += 1;
        let more =
            read_line(&mut reader, &mut line).map_err(|error| format!("line {number}: {error}"))?;
        if !more {
            return Ok(());
        }
        let code = line.split('#').next().unwrap_or_default().trim();
        let keyword = code.split_whitespace().next().unwrap_or_default();
        if keyword == "newmtl" {
            let name = obj::rest(code, keyword).to_owned();
            materials.push((name, ModelMaterial::default()));
        } else if let Some((_, material)) = materials[first..].last_mut() {
            statement(keyword, code, material, model)
                .map_err(|problem| format!("line {number}: {problem}"))?;
        }
    }
}

fn statement(
    keyword: &str,
    code: &str,
    material: &mut ModelMaterial,
    model: &mut Model,
) -> Result<(), String> {
    match keyword {
        "Kd" => material.base_color = color(code)?.clamp(Vec3::ZERO, Vec3::ONE),
        "Ke" => material.emission = color(code)?.max(Vec3::ZERO),
        "Ni" => material.ior = number(code)?.clamp(1.0, 10.0),
        // Glass, with or without ray tracing.
        "illum" if matches!(number(code)?, 4.0 | 6.0 | 7.0 | 9.0) => material.transmission = 1.0,
        _ if keyword.starts_with("map_") || matches!(keyword, "bump" | "norm" | "disp") => {
            model.note(format!("not shown: textures ({})", excerpt(keyword)));
        }
        _ => {}
    }
    Ok(())
}

/// One number, or three.
fn color(code: &str) -> Result<Vec3, String> {
    let numbers: Vec<f32> = code
        .split_whitespace()
        .skip(1)
        .map_while(|word| word.parse().ok())
        .collect();
    let color = match numbers[..] {
        [r, g, b, ..] => Vec3::new(r, g, b),
        [grey, ..] => Vec3::splat(grey),
        [] => Vec3::NAN,
    };
    if color.is_finite() {
        Ok(color)
    } else {
        Err(format!(
            "found `{}`, expected a color `r g b`",
            excerpt(code)
        ))
    }
}

fn number(code: &str) -> Result<f32, String> {
    let word = code.split_whitespace().nth(1).unwrap_or_default();
    let number: Option<f32> = word.parse().ok();
    number
        .filter(|number| number.is_finite())
        .ok_or_else(|| format!("found `{}`, expected a number", excerpt(code)))
}
