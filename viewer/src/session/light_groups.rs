//! Lists the parts of a scene. Many lights of one kind are listed as one part, with a number that selects one of them.
//! Readers of other formats make hundreds of lights from one lamp.

use std::collections::HashMap;

use serde::Serialize;

use raysieve_scene::{NumberKind, Part, Scene};

/// Identifier of the property that selects one of many lights.
pub(super) const NUMBER: &str = "light_number";

/// A part of the scene in the list of parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PartInfo {
    pub(crate) part: Part,
    pub(crate) name: String,
}

/// Maximum number of lights of one kind that are listed one by one.
const MAX_SINGLE: usize = 16;

/// The lights of one kind that are listed as one part.
pub(super) struct LightGroup {
    /// Indices of the lights in the scene, in increasing order.
    lights: Vec<usize>,
    /// Place of one of them in `lights`.
    place: usize,
}

impl LightGroup {
    /// Returns the group of a light; `None` if the part is no light, or is listed alone.
    pub(super) fn of(scene: &Scene, part: Part) -> Option<Self> {
        let Part::Light(of) = part else {
            return None;
        };
        let kind = scene.lights.get(of)?.kind_name();
        let alike = |part| match part {
            Part::Light(index) if scene.lights[index].kind_name() == kind => Some(index),
            _ => None,
        };
        let lights: Vec<usize> = scene.parts().into_iter().filter_map(alike).collect();
        let place = lights.iter().position(|&index| index == of)?;
        (lights.len() > MAX_SINGLE).then_some(Self { lights, place })
    }

    /// Returns the number of the light in the group, from 1.
    pub(super) fn number(&self) -> f32 {
        (self.place + 1) as f32
    }

    /// Returns the valid numbers of lights in the group.
    pub(super) fn numbers(&self) -> NumberKind {
        let count = self.lights.len() as f32;
        NumberKind {
            min: 1.0,
            max: count,
            slider: (1.0, count),
            is_whole: true,
            unit: "",
            is_logarithmic: false,
            names: &[],
        }
    }

    /// Returns the name of the number for people.
    pub(super) fn label(&self) -> String {
        format!("number (1 to {})", self.lights.len())
    }

    /// Returns the light with this number, which is clamped to the valid ones.
    pub(super) fn light(&self, number: f32) -> Part {
        let number = self.numbers().clamped(number) as usize;
        Part::Light(self.lights[number - 1])
    }
}

/// Returns the parts of a scene that are listed, with their names: materials, lights or groups of them, sky, background
/// and camera, in this order.
pub(super) fn listed_parts(scene: &Scene) -> Vec<PartInfo> {
    let kind = |part: Part| match part {
        Part::Light(index) => scene.lights.get(index).map(|light| light.kind_name()),
        _ => None,
    };
    let parts = scene.parts();
    let mut counts = HashMap::new();
    for kind in parts.iter().filter_map(|&part| kind(part)) {
        *counts.entry(kind).or_insert(0) += 1;
    }
    let mut listed_kinds = Vec::new();
    let mut listed = Vec::new();
    for part in parts {
        let group = kind(part).filter(|kind| counts[kind] > MAX_SINGLE);
        let name = match group {
            Some(kind) if listed_kinds.contains(&kind) => continue,
            Some(kind) => {
                listed_kinds.push(kind);
                format!("{kind}s ({})", counts[kind])
            }
            None => scene.part_name(part),
        };
        listed.push(PartInfo { part, name });
    }
    listed
}

/// Returns the part that is listed for a part: that of its group, or itself.
pub(super) fn listed_part(scene: &Scene, part: Part) -> Part {
    LightGroup::of(scene, part).map_or(part, |group| Part::Light(group.lights[0]))
}
