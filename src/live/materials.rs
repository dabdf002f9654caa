//! The materials of a scene, and what somebody has turned of them.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::scene::{Knob, Scene, Surface};

/// The materials that have names, and the knob that keys turn.
pub(super) struct Materials {
    /// As it was read.
    pub(super) read: Arc<Scene>,
    /// Which material, by its place in the scene, and which of its numbers.
    chosen: Option<(usize, Knob)>,
}

/// A material as a page lists it; what it does not have is not a number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Listed<'a> {
    /// Its place in the scene.
    index: usize,
    name: &'a str,
    roughness: Option<f32>,
    color: Option<[f32; 3]>,
    strength: Option<f32>,
}

/// A material that is not as its file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Turned {
    name: String,
    read: Surface,
    now: Surface,
}

/// Of a key: of numbers from 0 to 1, and of light.
const STEP: f32 = 0.05;
const FACTOR: f32 = 1.25;

impl Materials {
    pub(super) fn new(read: Arc<Scene>) -> Self {
        Self { read, chosen: None }
    }

    /// Which one keys turn, by its place in the scene.
    pub(super) fn chosen(&self) -> Option<usize> {
        self.chosen.map(|(index, _)| index)
    }

    /// Goes to the next material that has something to turn, or the one before.
    pub(super) fn choose(&mut self, scene: &Scene, forwards: bool) -> Option<String> {
        let knob = |index: usize| Some((index, first_knob(scene, index)?));
        let count = scene.materials.len();
        let step = if forwards { 1 } else { count.saturating_sub(1) };
        let start = match self.chosen {
            Some((index, _)) => index + step,
            None => 0,
        };
        let places = (0..count).map(|turn| (start + turn * step) % count);
        self.chosen = places.filter_map(knob).next();
        self.tell(scene)
    }

    /// Goes to the next number of the material.
    pub(super) fn choose_knob(&mut self, scene: &Scene) -> Option<String> {
        let Some((index, knob)) = self.chosen else {
            return self.choose(scene, true);
        };
        let place = Knob::ALL.iter().position(|&one| one == knob).unwrap_or(0);
        let turns = 1..=Knob::ALL.len();
        let mut knobs = turns.map(|turn| Knob::ALL[(place + turn) % Knob::ALL.len()]);
        let next = knobs.find(|&knob| scene.materials[index].knob(knob).is_some());
        self.chosen = next.map(|knob| (index, knob));
        self.tell(scene)
    }

    /// What a key makes of the number, so many steps up or down.
    pub(super) fn stepped(&self, scene: &Scene, steps: f32) -> Option<(usize, Surface)> {
        let (index, knob) = self.chosen?;
        let surface = scene.materials.get(index)?;
        let value = surface.knob(knob)?;
        let value = match knob {
            Knob::Strength if value == 0.0 => 1.0,
            Knob::Strength => value * libm::powf(FACTOR, steps),
            _ => value + STEP * steps,
        };
        Some((index, surface.with_knob(knob, value)?))
    }

    /// Which number is turned, and what it is.
    pub(super) fn tell(&self, scene: &Scene) -> Option<String> {
        let told = self.chosen.and_then(|(index, knob)| {
            let value = scene.materials.get(index)?.knob(knob)?;
            Some(format!(
                "material {:?}: {} {}",
                name(scene, index),
                knob.name(),
                (value * 1e4).round() / 1e4
            ))
        });
        Some(told.unwrap_or_else(|| "no material that could be turned".to_owned()))
    }

    /// The materials that are others than they were read, by their names.
    pub(super) fn turned(&self, scene: &Scene) -> BTreeMap<String, Surface> {
        let turned = turned(&self.read, scene).into_iter();
        turned.map(|Turned { name, now, .. }| (name, now)).collect()
    }
}

/// What is turned of a scene that was read.
pub(super) fn turned(read: &Scene, scene: &Scene) -> Vec<Turned> {
    let pairs = scene.materials.iter().zip(&read.materials);
    let turned = pairs.enumerate().filter(|(_, (now, read))| now != read);
    let turned = turned.map(|(index, (&now, &read))| Turned {
        name: name(scene, index).to_owned(),
        read,
        now,
    });
    turned.collect()
}

/// A scene that was read anew, or by another process, with what was turned before: of those materials that its file has as
/// it had them then. As it was read if nothing is left of that, or it cannot be rendered so.
pub(super) fn with_turned(read: &Arc<Scene>, turned: &[Turned]) -> Arc<Scene> {
    let mut scene = Scene::clone(read);
    for (surface, name) in scene.materials.iter_mut().zip(&read.material_names) {
        let of_this = |turned: &&Turned| turned.name == *name && turned.read == *surface;
        if let Some(turned) = turned.iter().find(of_this) {
            *surface = turned.now;
        }
    }
    if scene.materials == read.materials || scene.check_settings().is_err() {
        read.clone()
    } else {
        Arc::new(scene)
    }
}

/// All that have a name and something to turn.
pub(super) fn listed(scene: &Scene) -> impl Iterator<Item = Listed<'_>> {
    (0..scene.materials.len()).filter_map(|index| {
        first_knob(scene, index)?;
        let surface = &scene.materials[index];
        let part = |knob| surface.knob(knob);
        Some(Listed {
            index,
            name: name(scene, index),
            roughness: part(Knob::Roughness),
            color: part(Knob::Red)
                .zip(part(Knob::Green))
                .zip(part(Knob::Blue))
                .map(|((red, green), blue)| [red, green, blue]),
            strength: part(Knob::Strength),
        })
    })
}

fn name(scene: &Scene, index: usize) -> &str {
    scene.material_names.get(index).map_or("", String::as_str)
}

/// The first number of a material that has a name.
fn first_knob(scene: &Scene, index: usize) -> Option<Knob> {
    let surface = scene.materials.get(index)?;
    let mut knobs = Knob::ALL.into_iter();
    let first = knobs.find(|&knob| surface.knob(knob).is_some());
    first.filter(|_| !name(scene, index).is_empty())
}
