//! Editing of a scene's materials: the selected parameter, and the edits made so far.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use raysieve_scene::{EditableParameter, Scene, Surface};

/// The state of material editing: the scene without edits, and the parameter that key presses change.
pub(super) struct Materials {
    /// Scene without the user's edits, as it was last loaded or saved.
    pub(super) read: Arc<Scene>,
    /// Index of the selected material in the scene, and the selected parameter; `None` if no material is selected.
    chosen: Option<(usize, EditableParameter)>,
}

/// A material in the page's list. A parameter that the material lacks is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MaterialInfo<'a> {
    /// Index of the material in the scene.
    index: usize,
    name: &'a str,
    roughness: Option<f32>,
    /// Colour in linear sRGB, each channel in 0..=1.
    color: Option<[f32; 3]>,
    /// Largest channel of the emitted radiance in W·sr⁻¹·m⁻².
    strength: Option<f32>,
}

/// A material that the user has edited: its name, and its values before (`read`) and after (`now`) the edits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MaterialEdit {
    name: String,
    read: Surface,
    now: Surface,
}

/// Amount by which one key press changes a colour channel or the roughness. The result is clamped to 0..=1, and
/// roughness also to the material's minimum.
const STEP: f32 = 0.05;
/// Factor by which one key press changes the strength of an emissive material. A strength of 0 becomes 1 instead.
const FACTOR: f32 = 1.25;

impl Materials {
    /// Begins editing of a scene that has no edits, without a selected material.
    pub(super) fn new(read: Arc<Scene>) -> Self {
        Self { read, chosen: None }
    }

    /// Returns the index of the selected material in the scene; `None` if no material is selected.
    pub(super) fn chosen(&self) -> Option<usize> {
        self.chosen.map(|(index, _)| index)
    }

    /// Selects the next material (`forwards`) or the previous one that has a name and an editable parameter,
    /// cyclically. Starts with the first material if none is selected. Returns a message about the selection, never
    /// `None`.
    pub(super) fn choose(&mut self, scene: &Scene, forwards: bool) -> Option<String> {
        let parameter = |index: usize| Some((index, first_parameter(scene, index)?));
        let count = scene.materials.len();
        let step = if forwards { 1 } else { count.saturating_sub(1) };
        let start = match self.chosen {
            Some((index, _)) => index + step,
            None => 0,
        };
        let places = (0..count).map(|turn| (start + turn * step) % count);
        self.chosen = places.filter_map(parameter).next();
        self.status(scene)
    }

    /// Selects the next parameter of the selected material, cyclically, or a material if none is selected. Returns a
    /// message about the selection, never `None`.
    pub(super) fn choose_parameter(&mut self, scene: &Scene) -> Option<String> {
        let Some((index, parameter)) = self.chosen else {
            return self.choose(scene, true);
        };
        let place = EditableParameter::ALL
            .iter()
            .position(|&one| one == parameter)
            .unwrap_or(0);
        let turns = 1..=EditableParameter::ALL.len();
        let mut parameters =
            turns.map(|turn| EditableParameter::ALL[(place + turn) % EditableParameter::ALL.len()]);
        let next =
            parameters.find(|&parameter| scene.materials[index].parameter(parameter).is_some());
        self.chosen = next.map(|parameter| (index, parameter));
        self.status(scene)
    }

    /// Returns the index of the selected material, and the material with its selected parameter changed by `steps` key
    /// presses, clamped to its range. Returns `None` if nothing is selected.
    pub(super) fn stepped(&self, scene: &Scene, steps: f32) -> Option<(usize, Surface)> {
        let (index, parameter) = self.chosen?;
        let surface = scene.materials.get(index)?;
        let value = surface.parameter(parameter)?;
        let value = match parameter {
            EditableParameter::Strength if value == 0.0 => 1.0,
            EditableParameter::Strength => value * libm::powf(FACTOR, steps),
            _ => value + STEP * steps,
        };
        Some((index, surface.with_parameter(parameter, value)?))
    }

    /// Returns a message with the selected parameter and its value, or that there is no editable material; never
    /// `None`.
    pub(super) fn status(&self, scene: &Scene) -> Option<String> {
        let text = self.chosen.and_then(|(index, parameter)| {
            let value = scene.materials.get(index)?.parameter(parameter)?;
            Some(format!(
                "material {:?}: {} {}",
                name(scene, index),
                parameter.name(),
                (value * 1e4).round() / 1e4
            ))
        });
        Some(text.unwrap_or_else(|| "no editable material".to_owned()))
    }

    /// Returns the materials of `scene` that the user has edited, with their current values, by name.
    pub(super) fn edits(&self, scene: &Scene) -> BTreeMap<String, Surface> {
        let edits = edits(&self.read, scene).into_iter();
        edits
            .map(|MaterialEdit { name, now, .. }| (name, now))
            .collect()
    }
}

/// Returns the edits of the materials of `scene` that differ from those with the same index in `read`.
pub(super) fn edits(read: &Scene, scene: &Scene) -> Vec<MaterialEdit> {
    let pairs = scene.materials.iter().zip(&read.materials);
    let changed = pairs.enumerate().filter(|(_, (now, read))| now != read);
    let edits = changed.map(|(index, (&now, &read))| MaterialEdit {
        name: name(scene, index).to_owned(),
        read,
        now,
    });
    edits.collect()
}

/// Applies earlier edits to a reloaded scene. An edit applies if the material's values in the file are still those from
/// before the edit. Returns the scene as loaded if no edit applies or the edited scene is invalid.
pub(super) fn with_edits(read: &Arc<Scene>, edits: &[MaterialEdit]) -> Arc<Scene> {
    let mut scene = Scene::clone(read);
    for (surface, name) in scene.materials.iter_mut().zip(&read.material_names) {
        let applies = |edit: &&MaterialEdit| edit.name == *name && edit.read == *surface;
        if let Some(edit) = edits.iter().find(applies) {
            *surface = edit.now;
        }
    }
    if scene.materials == read.materials || scene.check_settings().is_err() {
        read.clone()
    } else {
        Arc::new(scene)
    }
}

/// Returns all materials of a scene that have a name and an editable parameter, for the page.
pub(super) fn listed(scene: &Scene) -> impl Iterator<Item = MaterialInfo<'_>> {
    (0..scene.materials.len()).filter_map(|index| {
        first_parameter(scene, index)?;
        let surface = &scene.materials[index];
        let part = |parameter| surface.parameter(parameter);
        Some(MaterialInfo {
            index,
            name: name(scene, index),
            roughness: part(EditableParameter::Roughness),
            color: part(EditableParameter::Red)
                .zip(part(EditableParameter::Green))
                .zip(part(EditableParameter::Blue))
                .map(|((red, green), blue)| [red, green, blue]),
            strength: part(EditableParameter::Strength),
        })
    })
}

/// Returns the name of a material, or an empty text if it has none.
fn name(scene: &Scene, index: usize) -> &str {
    scene.material_names.get(index).map_or("", String::as_str)
}

/// Returns the first editable parameter of a material; `None` if it has no such parameter or no name.
fn first_parameter(scene: &Scene, index: usize) -> Option<EditableParameter> {
    let surface = scene.materials.get(index)?;
    let mut parameters = EditableParameter::ALL.into_iter();
    let first = parameters.find(|&parameter| surface.parameter(parameter).is_some());
    first.filter(|_| !name(scene, index).is_empty())
}
