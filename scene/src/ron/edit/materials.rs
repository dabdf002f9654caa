//! Replaces the colour, emission and roughness of materials in a scene's text.

use std::{collections::BTreeMap, mem, path::Path};

use super::{Edits, triple};
use crate::{
    Error,
    files::display_path,
    ron::{
        materials::{self, MaterialText},
        source::{Object, Raw, SceneSource},
        text::{ParameterText, SceneText},
    },
    scene::Surface,
};

/// Error text for a material whose definition in the file no longer matches the loaded one.
const CHANGED: &str = "has changed in the file; load the scene again";

/// Returns the scene text `text` in which the materials of `wanted`, by name, have the given values. Only colour,
/// emission and roughness can differ.
///
/// # Errors
/// [`Error::File`] if the text does not define a material, or its fields cannot express the new value; [`Error::Scene`]
/// if the text is not a valid scene.
pub(super) fn with_materials(
    path: &Path,
    text: &str,
    wanted: &BTreeMap<String, Surface>,
) -> Result<String, Error> {
    if wanted.is_empty() {
        return Ok(text.to_owned());
    }
    let source = SceneSource::new(path, text);
    let written: SceneText = source.parse_all()?;
    let current = materials::read(&source, &written.materials, 1)?;
    let mut edits = Edits {
        source: &source,
        edits: Vec::new(),
    };
    for (name, surface) in wanted {
        let Some(&index) = current.names.get(name) else {
            return Err(not_editable(
                path,
                name,
                "is not defined in this file; materials of a model cannot be saved",
            ));
        };
        let before = current.surfaces[index as usize];
        if mem::discriminant(&before) != mem::discriminant(surface) {
            return Err(not_editable(path, name, CHANGED));
        }
        let (_, raw) = written.materials.0[index as usize];
        let object = Object::new(format!("material {name:?}"), raw);
        edit(&mut edits, &object, before, *surface)?;
    }
    let text = edits.apply(text);
    // The values may not be expressible in the fields of the text (such as a metal preset): refuse instead of writing
    // others.
    let source = SceneSource::new(path, &text);
    let written: SceneText = source.parse_all()?;
    let edited = materials::read(&source, &written.materials, 1)?;
    for (name, surface) in wanted {
        let index = edited.names.get(name).copied();
        let edited = index.and_then(|index| edited.surfaces.get(index as usize));
        if edited != Some(surface) {
            return Err(not_editable(path, name, CHANGED));
        }
    }
    Ok(text)
}

/// Returns the definitions of the materials in `names`, copied from a scene's text, one per line. The values of `names`
/// are ignored, and names that the text does not define are left out.
///
/// # Errors
/// [`Error::Scene`] if the text is not a valid scene.
pub(super) fn written(
    path: &Path,
    text: &str,
    names: &BTreeMap<String, Surface>,
) -> Result<String, Error> {
    let source = SceneSource::new(path, text);
    let written: SceneText = source.parse_all()?;
    let mut lines = Vec::new();
    for &(key, raw) in &written.materials.0 {
        let name: String = ron::from_str(key.get_ron()).unwrap_or_default();
        if names.contains_key(&name) {
            lines.push(format!("{name:?}: {},", &text[source.range_of(raw)]));
        }
    }
    Ok(lines.join("\n"))
}

/// Returns an [`Error::File`] for a material that cannot be edited in the scene file at `path`.
fn not_editable(path: &Path, name: &str, problem: &str) -> Error {
    Error::File {
        file: display_path(path),
        problem: format!("material {name:?} {problem}"),
    }
}

/// Adds the edits that give the material defined by `object` the colour, emission and roughness of `wanted`, where they
/// differ from `current`. Both are the same variant of [`Surface`], which the caller has checked.
///
/// # Errors
/// [`Error::Scene`] if the text of `object` is not a valid material.
fn edit<'a>(
    edits: &mut Edits<'_, 'a>,
    object: &Object<'a>,
    mut current: Surface,
    mut wanted: Surface,
) -> Result<(), Error> {
    let text: MaterialText = edits.source.parse(object)?;
    let mut changes: Vec<(&str, String)> = Vec::new();
    let (current, wanted) = (current.editable(), wanted.editable());
    if let (Some((_, current)), Some((field, wanted))) = (current.color, wanted.color)
        && current != wanted
    {
        changes.push((field, triple(*wanted)));
    }
    if let (Some((_, current)), Some((field, wanted))) = (current.emission, wanted.emission)
        && current != wanted
    {
        changes.push((field, triple(*wanted)));
    }
    if let (Some((_, current, _)), Some((field, wanted, _))) = (current.roughness, wanted.roughness)
        && current != wanted
    {
        changes.push((field, wanted.to_string()));
    }
    for (field, value) in changes {
        match text.field(field) {
            Some(raw) => replace(edits, object, raw, value)?,
            None => edits.insert_first(object.raw, format!("{field}: {value}, ")),
        }
    }
    Ok(())
}

/// Replaces the value `raw` of a parameter by `value`. If it is a `Texture(..)`, replaces or adds its `factor` instead.
///
/// # Errors
/// [`Error::Scene`] if the text of the texture is invalid.
fn replace<'a>(
    edits: &mut Edits<'_, 'a>,
    object: &Object<'a>,
    raw: Raw<'a>,
    value: String,
) -> Result<(), Error> {
    if !raw.trim().get_ron().starts_with("Texture") {
        edits.replace(raw, true, || value);
        return Ok(());
    }
    let texture = Object::new(object.name.clone(), raw);
    let ParameterText::Texture(texture) = edits.source.parse(&texture)?;
    match texture.factor {
        Some(factor) => edits.replace(factor, true, || value),
        None => edits.insert_after(texture.file, format!(", factor: {value}")),
    }
    Ok(())
}
