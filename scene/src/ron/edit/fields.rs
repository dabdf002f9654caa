//! Replaces edited fields of materials, lights, sky and background in a scene's text.

use std::path::Path;

use glam::Vec3;

use super::{Edits, triple};
use crate::{
    Error,
    files::display_path,
    ron::{
        materials::{self, MaterialText},
        source::{Object, Raw, SceneSource},
        text::{LightText, ParameterText, SceneText},
    },
    scene::{
        Background, EnvironmentSource, FieldEdit, FieldValue, Light, Part, Scene,
        fields_of_material,
    },
};

/// Error text for a part whose definition in the file no longer matches the loaded one.
const CHANGED: &str = "has changed in the file; load the scene again";

/// A scene's text after its edited fields were replaced.
pub(super) struct EditedText {
    pub(super) text: String,
    /// Parts that the text does not define, so that their edits are missing.
    pub(super) missing: Vec<Part>,
    /// Definitions of the edited parts, one per line, as in a scene file.
    pub(super) definitions: String,
}

/// Returns the scene text `text` with the edits that lead from the scene `loaded` to `edited`, except those of the
/// camera.
///
/// # Errors
/// [`Error::File`] if the text now defines an edited part in another way; [`Error::Scene`] if the text is not a valid
/// scene.
pub(super) fn with_fields(
    path: &Path,
    text: &str,
    edited: &Scene,
    loaded: &Scene,
) -> Result<EditedText, Error> {
    let changes = edited.edits_since(loaded);
    let mut missing = Vec::new();
    let mut saved: Vec<(&FieldEdit, Place)> = Vec::new();
    let source = SceneSource::new(path, text, edited.origin);
    let written: SceneText = source.parse_all()?;
    for edit in &changes {
        match place(&source, &written, edited, edit.part)? {
            Some(place) => saved.push((edit, place)),
            None if missing.contains(&edit.part) => {}
            None => missing.push(edit.part),
        }
    }
    if saved.is_empty() {
        return Ok(EditedText {
            text: text.to_owned(),
            missing,
            definitions: String::new(),
        });
    }
    let mut edits = Edits {
        source: &source,
        edits: Vec::new(),
    };
    for &(edit, place) in &saved {
        replace_field(&mut edits, &written, edited, edit, place)?;
    }
    let text = edits.apply(text);
    // The text may define another material by now, which cannot express the values: refuse instead of writing others.
    let source = SceneSource::new(path, &text, edited.origin);
    let written: SceneText = source.parse_all()?;
    check_materials(&source, &written, &saved)?;
    let mut definitions: Vec<String> = Vec::new();
    for &(edit, place) in &saved {
        let definition = definition(&source, &text, &written, edit, place);
        if !definitions.contains(&definition) {
            definitions.push(definition);
        }
    }
    Ok(EditedText {
        definitions: definitions.join("\n"),
        missing,
        text,
    })
}

/// The definition of a part in a scene's text. Numbers count from 0 in the order of the text.
#[derive(Clone, Copy)]
enum Place {
    /// Number of the entry of `materials`.
    Material(usize),
    /// Number of the entry of `lights`.
    Light(usize),
    Sky,
    Background,
}

/// Returns an edit's part for people.
fn described(edit: &FieldEdit) -> String {
    match edit.part {
        Part::Material(_) => format!("material {:?}", edit.part_name),
        _ => edit.part_name.clone(),
    }
}

/// Returns the place of a part of the scene `edited` in its text; `None` if the text does not define the part, such as
/// a material of a model.
///
/// # Errors
/// [`Error::Scene`] if a light of the text is invalid.
fn place(
    source: &SceneSource,
    written: &SceneText,
    edited: &Scene,
    part: Part,
) -> Result<Option<Place>, Error> {
    Ok(match part {
        Part::Material(index) => {
            let name = &edited.material_names[index];
            // Materials of the file precede those of models, which may have the same names.
            let is_first =
                edited.material_names.iter().position(|other| other == name) == Some(index);
            let mut names = written
                .materials
                .0
                .iter()
                .map(|&(key, _)| material_name(key));
            let place = names.position(|other| other == *name);
            place
                .filter(|_| is_first && !name.is_empty())
                .map(Place::Material)
        }
        Part::Light(index) => {
            let kind = kind(&edited.lights[index]);
            if kind.is_empty() {
                return Ok(None);
            }
            let before = (0..index).filter(|&other| !edited.is_sun_of_sky(other));
            let number = before
                .filter(|&other| self::kind(&edited.lights[other]) == kind)
                .count();
            let mut entries = Vec::new();
            for (index, raw) in written.lights.iter().enumerate() {
                let parsed: LightText = source.parse(&Object::listed("light", index, raw))?;
                if parsed.kind() == kind {
                    entries.push(index);
                }
            }
            entries.get(number).copied().map(Place::Light)
        }
        Part::Sky => Some(Place::Sky),
        Part::Background => Some(Place::Background),
        Part::Camera => None,
    })
}

/// Returns the name of a light's type in a scene file; empty for an environment that the file does not define.
fn kind(light: &Light) -> &'static str {
    match light {
        Light::Point { .. } => "Point",
        Light::Spot { .. } => "Spot",
        Light::Directional { .. } => "Directional",
        Light::Environment(environment) if !environment.is_in_scene => "",
        Light::Environment(environment) => match environment.source {
            EnvironmentSource::Map { .. } => "Environment",
            EnvironmentSource::Studio { .. } => "Studio",
            EnvironmentSource::SunSky(_) => "SunSky",
        },
    }
}

fn material_name(key: Raw) -> String {
    ron::from_str(key.get_ron()).unwrap_or_default()
}

/// Returns a value as the text of a scene file.
fn value_text(value: FieldValue) -> String {
    match value {
        FieldValue::Number(number) => number.to_string(),
        FieldValue::Color(color) => triple(color),
        FieldValue::Absorption(absorption) => {
            format!(
                "({}, {})",
                triple(absorption.color()),
                absorption.distance()
            )
        }
        FieldValue::Background(Background::Color(radiance)) => triple(radiance),
        FieldValue::Background(Background::Environment) => "Environment".to_owned(),
        FieldValue::Background(Background::Transparent) => "Transparent".to_owned(),
    }
}

/// Returns an edit as a comment of a scene file: `// material "gold": roughness: 0.3`.
pub(super) fn comment(edit: &FieldEdit) -> String {
    let (part, value) = (described(edit), value_text(edit.after));
    format!("// {part}: {}: {value}", edit.name)
}

/// Adds the replacement of an edited field at its place, or its insertion if the text omits it. `edited` is the scene
/// with all edits.
///
/// # Errors
/// [`Error::Scene`] if the text of the part is invalid, and [`Error::File`] if the field has another value than the one
/// that was edited.
fn replace_field<'a>(
    edits: &mut Edits<'_, 'a>,
    written: &SceneText<'a>,
    edited: &Scene,
    edit: &FieldEdit,
    place: Place,
) -> Result<(), Error> {
    let value = value_text(edit.after);
    let (object, raw) = match place {
        Place::Material(index) => {
            let object = Object::new(described(edit), written.materials.0[index].1);
            let parsed: MaterialText = edits.source.parse(&object)?;
            let raw = parsed.field(edit.name);
            if let (None, "eta" | "k", Some(preset)) = (raw, edit.name, parsed.field("preset")) {
                let field = |name| edited.field(edit.part, name);
                let parts = ["eta", "k"].map(field).into_iter().flatten();
                let parts =
                    parts.map(|field| format!("{}: {}", field.name, value_text(field.value)));
                let parts: Vec<String> = parts.collect();
                return edits.replace_named(preset, "preset", &parts.join(", "));
            }
            (object, raw)
        }
        Place::Light(index) => {
            let object = Object::listed("light", index, written.lights[index]);
            let parsed: LightText = edits.source.parse(&object)?;
            let raw = parsed.field(edit.name);
            if raw.is_some_and(|raw| !has_value(raw, edit)) {
                return Err(edits.source.error(&object, object.raw, CHANGED));
            }
            (object, raw)
        }
        Place::Sky => match written.sky {
            Some(raw) => (Object::new("sky", raw), Some(raw)),
            None => {
                edits.insert_after(written.camera, format!(",\n    sky: {value}"));
                return Ok(());
            }
        },
        Place::Background => match written.background {
            Some(raw) => (Object::new("background", raw), Some(raw)),
            None => {
                edits.insert_after(written.camera, format!(",\n    background: {value}"));
                return Ok(());
            }
        },
    };
    match raw {
        Some(raw) if let FieldValue::Absorption(absorption) = edit.after => {
            let (color, distance): (Raw, Raw) =
                edits.source.parse(&Object::new(object.name, raw))?;
            edits.replace(color, true, || triple(absorption.color()));
            edits.replace(distance, true, || absorption.distance().to_string());
            Ok(())
        }
        Some(raw) => replace(edits, &object, raw, value),
        None => {
            edits.insert_first(object.raw, format!("{}: {value}, ", edit.name));
            Ok(())
        }
    }
}

/// Returns whether a value of the text is the one before or after an edit.
fn has_value(raw: Raw, edit: &FieldEdit) -> bool {
    let text = raw.get_ron();
    let value = match edit.before {
        FieldValue::Number(_) => ron::from_str::<f64>(text)
            .ok()
            .map(|number| FieldValue::Number(number as f32)),
        FieldValue::Color(_) => ron::from_str::<[f64; 3]>(text)
            .ok()
            .map(|color| FieldValue::Color(Vec3::from_array(color.map(|channel| channel as f32)))),
        // No light has such a field.
        FieldValue::Absorption(_) | FieldValue::Background(_) => None,
    };
    value == Some(edit.before) || value == Some(edit.after)
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

/// Fails with [`Error::File`] if a material of the edited text does not have an edited value.
fn check_materials(
    source: &SceneSource,
    written: &SceneText,
    saved: &[(&FieldEdit, Place)],
) -> Result<(), Error> {
    let is_material = |(_, place): &&(&FieldEdit, Place)| matches!(place, Place::Material(_));
    if !saved.iter().any(|one| is_material(&one)) {
        return Ok(());
    }
    // If a material is of another kind now, it does not have the field.
    let read = materials::read(source, &written.materials, 1).unwrap_or_default();
    for (edit, _) in saved.iter().filter(is_material) {
        let index = read.names.get(&edit.part_name);
        let surface = index.and_then(|&index| read.surfaces.get(index as usize));
        let maps = index.and_then(|index| read.maps.get(index));
        let fields = surface.map_or_else(Vec::new, |surface| fields_of_material(surface, maps));
        let is_wanted = |field: &crate::Field| field.name == edit.name && field.value == edit.after;
        if !fields.iter().any(is_wanted) {
            return Err(Error::File {
                file: display_path(source.scene_path()),
                problem: format!("{} {CHANGED}", described(edit)),
            });
        }
    }
    Ok(())
}

/// Returns the definition of a saved part in the edited text, as one entry of a scene file.
fn definition(
    source: &SceneSource,
    text: &str,
    written: &SceneText,
    edit: &FieldEdit,
    place: Place,
) -> String {
    let copied = |raw| &text[source.range_of(raw)];
    match place {
        Place::Material(index) => {
            let (_, raw) = written.materials.0[index];
            format!("{:?}: {},", edit.part_name, copied(raw))
        }
        Place::Light(index) => format!("{},", copied(written.lights[index])),
        Place::Sky => format!("sky: {},", written.sky.map_or("", copied)),
        Place::Background => format!("background: {},", written.background.map_or("", copied)),
    }
}
