//! The differences between a scene as it was loaded and as it was edited.

use super::{FieldValue, Part, Scene};

/// An edited field: its part, and its values in the loaded and in the edited scene.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldEdit {
    /// The part of the scene.
    pub part: Part,
    /// Name of the part, by which it is found in another scene.
    pub part_name: String,
    /// Name of the field in a scene file.
    pub name: &'static str,
    /// Value in the loaded scene.
    pub before: FieldValue,
    /// Value in the edited scene.
    pub after: FieldValue,
}

impl Scene {
    /// Returns the fields of this scene whose values differ from those of `loaded`, a scene with the same parts. The
    /// camera is left out.
    pub fn edits_since(&self, loaded: &Scene) -> Vec<FieldEdit> {
        let is_changed = |&index: &usize| {
            let (now, before) = (self.materials.get(index), loaded.materials.get(index));
            now != before || self.maps_of(index) != loaded.maps_of(index)
        };
        let materials = (0..self.materials.len()).filter(is_changed);
        let materials = materials.map(Part::Material);
        let lights = (0..self.lights.len()).map(Part::Light);
        let others = [Part::Sky, Part::Background];
        let parts = materials.chain(lights).chain(others);
        parts
            .flat_map(|part| self.part_edits(loaded, part))
            .collect()
    }

    fn part_edits(&self, loaded: &Scene, part: Part) -> Vec<FieldEdit> {
        let before = loaded.fields(part);
        let after = self.fields(part).into_iter();
        let edit = |field: super::Field| {
            let before = before.iter().find(|before| before.name == field.name)?;
            (before.value != field.value).then(|| FieldEdit {
                part,
                part_name: self.part_name(part),
                name: field.name,
                before: before.value,
                after: field.value,
            })
        };
        after.filter_map(edit).collect()
    }

    /// Returns whether both scenes have the same parts, in the same order and with the same names.
    pub fn has_same_parts(&self, other: &Scene) -> bool {
        let kinds = |scene: &Scene| -> Vec<_> {
            scene.lights.iter().map(super::Light::kind_name).collect()
        };
        self.material_names == other.material_names && kinds(self) == kinds(other)
    }

    /// Returns this scene, which was loaded again, with earlier edits applied. An edit applies if its field still has
    /// the value from before the edit. Its part must have the same kind, number and name; a named material may have
    /// another number. The edits apply in their order, and those that would make the scene invalid are left out.
    pub fn with_edits(&self, edits: &[FieldEdit]) -> Scene {
        let mut scene = self.clone();
        for edit in edits {
            let Some(part) = scene.matching_part(edit) else {
                continue;
            };
            let is_same = |field: super::Field| field.value == edit.before;
            if !self.field(part, edit.name).is_some_and(is_same) {
                continue;
            }
            if let Ok(edited) = scene.with_field(part, edit.name, edit.after)
                && edited.check_settings().is_ok()
            {
                scene = edited;
            }
        }
        scene
    }

    /// Returns the part of this scene that an edit of another one refers to; `None` if there is none. The index of a
    /// named material may differ.
    fn matching_part(&self, edit: &FieldEdit) -> Option<Part> {
        let part = match edit.part {
            Part::Material(index) => {
                let has_name =
                    |index: &usize| self.part_name(Part::Material(*index)) == edit.part_name;
                let mut others = 0..self.materials.len();
                let found = Some(index)
                    .filter(has_name)
                    .or_else(|| others.find(has_name));
                Part::Material(found?)
            }
            part => part,
        };
        (self.part_name(part) == edit.part_name).then_some(part)
    }
}
