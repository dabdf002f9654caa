//! Edits the materials of the current scene, prints the edits, and saves them to the scene's file.

use std::{mem, sync::Arc};

use super::{Gesture, Session, Step};
use crate::session::materials::{MaterialEdit, with_edits};
use raysieve_scene::{
    EditableParameter, Scene, Surface, can_save_view, materials_to_ron, save_view,
};

impl Session {
    /// Sets parameters of the material with this index in the scene, clamped to their ranges. Returns a message, and
    /// changes nothing, if the scene would become invalid.
    ///
    /// # Errors
    /// A message if there is no such material, or if the material lacks one of the parameters. Nothing changes then.
    pub(crate) fn edit_material(
        &mut self,
        index: usize,
        numbers: &[(EditableParameter, f32)],
    ) -> Result<Option<String>, &'static str> {
        let before = *self.scene.materials.get(index).ok_or("unknown material")?;
        let edited = |surface: Surface, &(parameter, value): &(EditableParameter, f32)| {
            surface.with_parameter(parameter, value)
        };
        let after = numbers.iter().try_fold(before, edited);
        let after = after.ok_or("the material has no such parameter")?;
        Ok(self.change_material(index, before, after))
    }

    /// Replaces a material, and records an undo step. Returns a message, and changes nothing, if the scene would become
    /// invalid.
    fn change_material(&mut self, index: usize, before: Surface, after: Surface) -> Option<String> {
        if before == after {
            return None;
        }
        let scene = self.with_material(index, after);
        if let Err(error) = scene.check_settings() {
            return Some(error.to_string());
        }
        self.record_step(Gesture::Material(index), Step::Material(index, before));
        self.put_scene(Arc::new(scene));
        None
    }

    /// Returns a copy of the scene in which the material with this index is replaced. Panics if there is none.
    pub(super) fn with_material(&self, index: usize, surface: Surface) -> Scene {
        let mut scene = Scene::clone(&self.scene);
        scene.materials[index] = surface;
        scene
    }

    /// Replaces the session's scene at once by one that differs from the loaded one only in materials. The new scene is
    /// displayed once a renderer for it is ready, and never without a loader thread.
    pub(super) fn put_scene(&mut self, scene: Arc<Scene>) {
        self.scene = scene;
        if let Some(loader) = &self.loader {
            loader.edit(self.scene.clone(), self.materials.read.clone());
        }
    }

    /// Applies the user's edits of a scene to the same scene after a reload, as far as [`with_edits`] allows.
    pub(super) fn apply_edits(&mut self, edits: &[MaterialEdit]) {
        let scene = with_edits(&self.materials.read, edits);
        if scene.materials != self.scene.materials {
            self.put_scene(scene);
        }
    }

    /// Changes the selected parameter by `steps` steps. Selects a material instead if none is selected. Always returns
    /// a message.
    pub(super) fn step_material(&mut self, steps: f32) -> Option<String> {
        let Some((index, after)) = self.materials.stepped(&self.scene, steps) else {
            return self.materials.choose(&self.scene, true);
        };
        let before = self.scene.materials[index];
        let refused = self.change_material(index, before, after);
        refused.or_else(|| self.materials.status(&self.scene))
    }

    /// Returns the camera and the edited materials as scene text (RON). If the materials cannot be written as scene
    /// text, the error takes their place.
    pub(super) fn scene_text(&self) -> String {
        let camera = self.orbit.current().to_ron();
        let edits = self.materials.edits(&self.scene);
        match materials_to_ron(&self.scene.path, &edits) {
            Ok(materials) if materials.is_empty() => camera,
            Ok(materials) => format!("{camera}\n{materials}"),
            Err(error) => format!("{camera}\n{error}"),
        }
    }

    /// Returns what differs from the scene's file and can be saved to it, as words for a message: the camera, materials
    /// or both. `None` if nothing does.
    pub(crate) fn unsaved_changes(&self) -> Option<&'static str> {
        if !can_save_view(&self.scene.path) {
            return None;
        }
        let moved = !self.orbit.is_home();
        match (moved, self.materials.edits(&self.scene).is_empty()) {
            (false, true) => None,
            (true, true) => Some("the camera"),
            (false, false) => Some("materials"),
            (true, false) => Some("the camera and materials"),
        }
    }

    /// Saves the camera and the edited materials to the scene's file. Returns a message about success or failure.
    pub(super) fn save_to_scene(&mut self) -> String {
        let (path, camera) = (&self.scene.path, self.orbit.current());
        let edits = self.materials.edits(&self.scene);
        let what = if edits.is_empty() {
            "camera"
        } else {
            "camera and materials"
        };
        match save_view(path, &camera, &edits) {
            Ok(()) => {
                // Reloading the saved file moves no camera that the user has moved since.
                self.orbit.replace_home(camera);
                let read = mem::replace(&mut self.materials.read, self.scene.clone());
                if let Some(loader) = &self.loader {
                    loader.saved(self.scene.clone(), read);
                }
                format!("{what} saved to {}", path.display())
            }
            Err(error) => error.to_string(),
        }
    }
}
