//! What a hand makes of the materials, and what is told and kept of that.

use std::{mem, sync::Arc};

use super::{Gesture, Session, Step};
use crate::{
    live::materials::{Turned, with_turned},
    scene::{Knob, Scene, Surface, materials_to_ron, save_view},
};

impl Session {
    /// Sets numbers of a material, by its place in the scene, and renders it once that is on a renderer.
    pub(crate) fn turn_material(
        &mut self,
        index: usize,
        numbers: &[(Knob, f32)],
    ) -> Result<Option<String>, &'static str> {
        let before = *self.scene.materials.get(index).ok_or("no such material")?;
        let turned =
            |surface: Surface, &(knob, value): &(Knob, f32)| surface.with_knob(knob, value);
        let after = numbers.iter().try_fold(before, turned);
        let after = after.ok_or("no such number of a material")?;
        Ok(self.change_material(index, before, after))
    }

    fn change_material(&mut self, index: usize, before: Surface, after: Surface) -> Option<String> {
        if before == after {
            return None;
        }
        let scene = self.with_material(index, after);
        if let Err(error) = scene.check_settings() {
            return Some(error.to_string());
        }
        self.remember_step(Gesture::Material(index), Step::Material(index, before));
        self.put_scene(Arc::new(scene));
        None
    }

    pub(super) fn with_material(&self, index: usize, surface: Surface) -> Scene {
        let mut scene = Scene::clone(&self.scene);
        scene.materials[index] = surface;
        scene
    }

    /// Has a scene rendered that differs from the one that was read by its materials.
    pub(super) fn put_scene(&mut self, scene: Arc<Scene>) {
        self.scene = scene;
        if let Some(loader) = &self.loader {
            loader.turn(self.scene.clone(), self.materials.read.clone());
        }
    }

    /// Turns materials again as they were turned before, of a scene that has been read since.
    pub(super) fn turn_again(&mut self, turned: &[Turned]) {
        let scene = with_turned(&self.materials.read, turned);
        if scene.materials != self.scene.materials {
            self.put_scene(scene);
        }
    }

    pub(super) fn step_material(&mut self, steps: f32) -> Option<String> {
        let Some((index, after)) = self.materials.stepped(&self.scene, steps) else {
            return self.materials.choose(&self.scene, true);
        };
        let before = self.scene.materials[index];
        let refused = self.change_material(index, before, after);
        refused.or_else(|| self.materials.tell(&self.scene))
    }

    /// The camera and what was turned of materials, as a scene has them.
    pub(super) fn told(&self) -> String {
        let camera = self.orbit.framed().to_ron();
        let turned = self.materials.turned(&self.scene);
        match materials_to_ron(&self.scene.path, &turned) {
            Ok(materials) if materials.is_empty() => camera,
            Ok(materials) => format!("{camera}\n{materials}"),
            Err(error) => format!("{camera}\n{error}"),
        }
    }

    pub(super) fn keep_view(&mut self) -> String {
        let (path, camera) = (&self.scene.path, self.orbit.framed());
        let turned = self.materials.turned(&self.scene);
        let what = if turned.is_empty() {
            "the camera is kept"
        } else {
            "camera and materials are kept"
        };
        match save_view(path, &camera, &turned) {
            Ok(()) => {
                // What the file says now moves no view that has been moved on or back meanwhile.
                self.orbit.settle(camera);
                let read = mem::replace(&mut self.materials.read, self.scene.clone());
                if let Some(loader) = &self.loader {
                    loader.keep(self.scene.clone(), read);
                }
                format!("{what} in {}", path.display())
            }
            Err(error) => error.to_string(),
        }
    }
}
