//! Other numbers of materials in a scene's text.

use std::{collections::BTreeMap, mem, path::Path};

use super::{Edits, triple};
use crate::{
    Error,
    scene::{
        Surface,
        materials::materials,
        source::{Object, Raw, Source, shown},
        text::{MaterialText, ParameterText, SceneText},
    },
};

const CHANGED: &str = "is another one now; load the scene again";

/// The scene's text with other numbers of these materials, by their names.
pub(super) fn with_materials(
    path: &Path,
    text: &str,
    wanted: &BTreeMap<String, Surface>,
) -> Result<String, Error> {
    if wanted.is_empty() {
        return Ok(text.to_owned());
    }
    let source = Source::new(path, text);
    let written: SceneText = source.parse_all()?;
    let held = materials(&source, &written.materials, 1)?;
    let mut edits = Edits {
        source: &source,
        edits: Vec::new(),
    };
    for (name, surface) in wanted {
        let Some(&index) = held.names.get(name) else {
            return Err(lost(
                path,
                name,
                "is not written there; a model's own are kept by nobody",
            ));
        };
        let is_same_kind = |held: &Surface| mem::discriminant(held) == mem::discriminant(surface);
        if !is_same_kind(&held.surfaces[index as usize]) {
            return Err(lost(path, name, CHANGED));
        }
        let (_, raw) = written.materials.0[index as usize];
        let object = Object::new(format!("material {name:?}"), raw);
        edit(&mut edits, &object, held.surfaces[index as usize], *surface)?;
    }
    let text = edits.done(text);
    // What cannot be said by these fields is not written.
    let source = Source::new(path, &text);
    let written: SceneText = source.parse_all()?;
    let kept = materials(&source, &written.materials, 1)?;
    for (name, surface) in wanted {
        let index = kept.names.get(name).copied();
        let kept = index.and_then(|index| kept.surfaces.get(index as usize));
        if kept != Some(surface) {
            return Err(lost(path, name, CHANGED));
        }
    }
    Ok(text)
}

/// These materials as they stand in a scene's text, a line each.
pub(super) fn written(
    path: &Path,
    text: &str,
    names: &BTreeMap<String, Surface>,
) -> Result<String, Error> {
    let source = Source::new(path, text);
    let written: SceneText = source.parse_all()?;
    let mut lines = Vec::new();
    for &(key, raw) in &written.materials.0 {
        let name: String = ron::from_str(key.get_ron()).unwrap_or_default();
        if names.contains_key(&name) {
            lines.push(format!("{name:?}: {},", &text[source.place(raw)]));
        }
    }
    Ok(lines.join("\n"))
}

fn lost(path: &Path, name: &str, problem: &str) -> Error {
    Error::File {
        file: shown(path),
        problem: format!("material {name:?} {problem}"),
    }
}

fn edit<'a>(
    edits: &mut Edits<'_, 'a>,
    object: &Object<'a>,
    mut held: Surface,
    mut wanted: Surface,
) -> Result<(), Error> {
    let text: MaterialText = edits.source.parse(object)?;
    let mut changes: Vec<(&str, String)> = Vec::new();
    if let (Some((_, held)), Some((field, wanted))) = (held.color_mut(), wanted.color_mut())
        && held != wanted
    {
        changes.push((field, triple(*wanted)));
    }
    if let (Some((_, held)), Some((field, wanted))) = (held.emission_mut(), wanted.emission_mut())
        && held != wanted
    {
        changes.push((field, triple(*wanted)));
    }
    if let (Some((_, held, _)), Some((field, wanted, _))) =
        (held.roughness_mut(), wanted.roughness_mut())
        && held != wanted
    {
        changes.push((field, wanted.to_string()));
    }
    for (field, value) in changes {
        match given(&text, field) {
            Some(raw) => exchange(edits, object, raw, value)?,
            None => edits.begin(object.raw, format!("{field}: {value}, ")),
        }
    }
    Ok(())
}

/// Another number, or the factor of a texture.
fn exchange<'a>(
    edits: &mut Edits<'_, 'a>,
    object: &Object<'a>,
    raw: Raw<'a>,
    value: String,
) -> Result<(), Error> {
    if !raw.trim().get_ron().starts_with("Texture") {
        edits.exchange(raw, true, || value);
        return Ok(());
    }
    let texture = Object::new(object.name.clone(), raw);
    let ParameterText::Texture(texture) = edits.source.parse(&texture)?;
    match texture.factor {
        Some(factor) => edits.exchange(factor, true, || value),
        None => edits.insert(texture.file, format!(", factor: {value}")),
    }
    Ok(())
}

/// A field as it is written, if it is.
fn given<'a>(text: &MaterialText<'a>, field: &str) -> Option<Raw<'a>> {
    match (text, field) {
        (
            MaterialText::Diffuse { albedo, .. } | MaterialText::CoatedDiffuse { albedo, .. },
            "albedo",
        ) => Some(albedo),
        (MaterialText::Mirror { reflectance, .. }, _) => Some(reflectance),
        (MaterialText::Conductor { color, .. }, _)
        | (MaterialText::RoughConductor { color, .. }, "color") => *color,
        (
            MaterialText::RoughConductor { alpha, .. }
            | MaterialText::RoughDielectric { alpha, .. },
            _,
        ) => Some(alpha),
        (MaterialText::CoatedDiffuse { alpha, .. }, _) => *alpha,
        (MaterialText::Emissive { radiance, .. }, _) => Some(radiance),
        (MaterialText::Principled(principled), "base_color") => principled.base_color,
        (MaterialText::Principled(principled), "roughness") => principled.roughness,
        (MaterialText::Principled(principled), _) => principled.emission,
        (MaterialText::Diffuse { .. } | MaterialText::Dielectric { .. }, _) => None,
    }
}
