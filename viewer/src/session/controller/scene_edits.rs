//! Edits the parts of the current scene, prints the edits, and saves them to the scene's file.

use std::{mem, sync::Arc};

use serde::Serialize;

use super::{
    Continuity, Session,
    saving::{missing_of_model, missing_suffix, time_suffix, write_refusal},
};
use crate::session::{
    editing::{Component, Property, Seen, described},
    light_groups::{NUMBER, PartInfo, listed_part, listed_parts},
    loader::{LoadRequest, shown_options},
    orbit::Orbit,
    path_query::InspectedPath,
};
use raysieve_scene::{
    Background, FieldEdit, FieldValue, Light, Part, Scene, can_save_view, edits_to_ron, save_edits,
};

/// What users can edit: the parts of the scene, and the properties of the selected one.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct EditorState {
    /// Materials, lights, sky, background and camera, in this order. Many lights of one kind are one part.
    pub(crate) parts: Vec<PartInfo>,
    /// Selected part; `None` if none is selected.
    pub(crate) selected: Option<Part>,
    /// Part in `parts` that contains the selected one; `None` if none is selected.
    pub(crate) listed: Option<Part>,
    /// Selected part as text; `None` if none is selected.
    #[serde(skip)]
    pub(crate) name: Option<String>,
    /// Properties of the selected part; none if no part is selected.
    pub(crate) properties: Vec<Property>,
    /// Component that keys change; `None` if no part is selected.
    #[serde(skip)]
    pub(crate) component: Option<Component>,
    can_undo: bool,
    can_redo: bool,
}

impl Session {
    /// Returns what users can edit.
    pub(crate) fn editor(&self) -> EditorState {
        let (scene, seen, selected) = (&self.scene, self.seen(), self.editing.selected);
        let (can_undo, can_redo) = self.undo_and_redo();
        EditorState {
            parts: listed_parts(scene),
            selected,
            listed: selected.map(|part| listed_part(scene, part)),
            name: selected.map(|part| described(scene, part)),
            properties: selected.map_or(Vec::new(), |part| self.editing.properties(seen, part)),
            component: self.editing.component(seen),
            can_undo,
            can_redo,
        }
    }

    /// Returns the current scene and camera.
    fn seen(&self) -> Seen<'_> {
        seen(&self.scene, &self.orbit)
    }

    /// Selects a part of the scene.
    pub(crate) fn select(&mut self, part: Part) -> Result<(), &'static str> {
        if self.scene.fields(part).is_empty() {
            return Err("unknown part of the scene");
        }
        self.editing.select(seen(&self.scene, &self.orbit), part);
        Ok(())
    }

    /// Selects what the camera ray of a path has hit: a material, the light from infinity, or the background before it.
    /// Returns the beginning of a message about it, such as `material "gold" of instance 3 selected`, to which a hint
    /// how to edit it is added. Returns `None` if the part has no properties.
    pub(crate) fn select_hit(&mut self, inspected: &InspectedPath) -> Option<String> {
        let vertex = inspected.path_record.vertices.first()?;
        let part = match &vertex.hit {
            Some(hit) => Part::Material(hit.material_index as usize),
            None => {
                let is_environment = |light: &Light| matches!(light, Light::Environment(_));
                let environment = self.scene.lights.iter().position(is_environment);
                match self.scene.background {
                    Background::Environment => environment.map_or(Part::Sky, Part::Light),
                    _ => Part::Background,
                }
            }
        };
        self.editing.select(seen(&self.scene, &self.orbit), part);
        if self.editing.selected != Some(part) {
            return None;
        }
        let instance = vertex.hit.as_ref().and_then(|hit| hit.instance);
        let object = instance.map_or(String::new(), |instance| format!(" of instance {instance}"));
        Some(format!("{}{object} selected", described(&self.scene, part)))
    }

    /// Selects the next part of the scene (`forwards`) or the previous one.
    pub(crate) fn choose_part(&mut self, forwards: bool) {
        self.editing.choose(&self.scene, forwards);
    }

    /// Selects the next component of the selected part.
    pub(super) fn choose_component(&mut self) {
        self.editing
            .choose_component(seen(&self.scene, &self.orbit));
    }

    /// Displays the selected part, component and value.
    pub(super) fn say_selection(&self) {
        self.say(self.editing.status(self.seen()));
    }

    /// Gives the property `id` of a part the value `value`. If a number is outside its range, changes nothing and returns
    /// a message. If the scene would become invalid, changes nothing and reports a problem.
    ///
    /// # Errors
    /// A message if there is no such property, or if it is a number and `value` is a color or the other way round.
    pub(crate) fn edit(
        &mut self,
        part: Part,
        id: &str,
        value: FieldValue,
        continuity: Continuity,
    ) -> Result<Option<String>, &'static str> {
        if continuity == Continuity::Begins {
            // Also if this change has no effect, the following ones belong to a new drag.
            self.history.end_gesture();
        }
        let seen = seen(&self.scene, &self.orbit);
        if let Some(refusal) = self.editing.range_refusal(seen, part, id, value) {
            return Ok(Some(refusal));
        }
        if id == NUMBER {
            self.editing.select_number(&self.scene, part, value)?;
            return Ok(None);
        }
        let changed = self.editing.field_value(seen, part, id, value);
        let (field, value) = changed.ok_or("unknown property, or a value of the wrong type")?;
        if part == Part::Camera {
            let camera = seen.camera.with_field(field, value);
            if !camera.is_expressible() {
                self.report_refusal(part, "a scene cannot express such a camera");
                return Ok(None);
            }
            if camera != seen.camera {
                self.record_part(part, field, continuity);
                self.orbit.current = camera;
                self.render_view();
            }
            return Ok(None);
        }
        let edited = match self.scene.with_field(part, field, value) {
            Ok(edited) => edited,
            Err(error) => {
                self.report_refusal(part, &error.to_string());
                return Ok(None);
            }
        };
        if edited.part_state(part) == self.scene.part_state(part) {
            return Ok(None);
        }
        if let Err(error) = edited.check_settings() {
            self.report_refusal(part, &error.to_string());
            return Ok(None);
        }
        self.record_part(part, field, continuity);
        self.put_scene(Arc::new(edited));
        Ok(None)
    }

    /// Reports that an edit of a part was refused, for this reason.
    fn report_refusal(&self, part: Part, why: &str) {
        let of = described(&self.scene, part);
        self.report_problem(format!("{of} not changed: {why}"));
    }

    /// Replaces the session's scene at once by one that differs from the loaded one only in edits. The new scene is
    /// displayed once a renderer for it is ready, and never without a loader thread.
    pub(super) fn put_scene(&mut self, scene: Arc<Scene>) {
        self.schedule_autosave();
        self.scene = scene;
        if let Some(loader) = &self.loader {
            let read = self.editing.read.clone();
            loader.send(LoadRequest::Edit(self.scene.clone(), read));
        }
    }

    /// Applies the user's edits of a scene to the same scene after a reload.
    pub(super) fn apply_edits(&mut self, edits: &[FieldEdit]) {
        let scene = self.editing.read.with_edits(edits);
        if !scene.edits_since(&self.scene).is_empty() {
            self.put_scene(Arc::new(scene));
        }
    }

    /// Changes the selected component by `steps` steps, and displays its value. Selects a part instead if none is selected.
    pub(super) fn step_component(&mut self, steps: f32) {
        let stepped = self.editing.stepped(self.seen(), steps);
        let refusal = match stepped {
            Some((part, id, value)) => self.edit(part, id, value, Continuity::ByTime),
            None => {
                self.choose_part(true);
                Ok(None)
            }
        };
        match refusal {
            Ok(Some(refusal)) => self.say(refusal),
            _ => self.say_selection(),
        }
    }

    /// Returns the edits of the scene, without those of the camera.
    pub(super) fn edits(&self) -> Vec<FieldEdit> {
        self.scene.edits_since(&self.editing.read)
    }

    /// Returns the camera and the edited parts as scene text (RON), after a comment with animation and time. If the parts
    /// cannot be written as scene text, they are comments, and the error is returned too.
    pub(crate) fn scene_text(&self) -> (String, Option<raysieve_scene::Error>) {
        let camera = self.orbit.current.to_ron(self.scene.origin);
        let shown = shown_options(&self.first, &self.scene);
        let animation = shown
            .animation
            .map(|name| format!(" --animation {name:?}"))
            .unwrap_or_default();
        let camera = match shown.time {
            Some(time) => format!("//{animation} --time {time}\n{camera}"),
            None => camera,
        };
        match edits_to_ron(&self.scene, &self.editing.read) {
            (parts, problem) if parts.is_empty() => (camera, problem),
            (parts, problem) => (format!("{camera}\n{parts}"), problem),
        }
    }

    /// Returns what differs from the scene's file, and how it can be saved, as words for a message, such as "camera and
    /// materials changed and not saved: K saves to the scene file, S to another one". `None` if nothing does, or if it was saved under another name. The camera of a model or of
    /// another renderer's scene does not count, because their files cannot store it. For other changes of a model, the
    /// words say what a new scene would lack.
    pub(crate) fn unsaved_changes(&self) -> Option<String> {
        let is_scene = can_save_view(&self.scene.path);
        let words = self.changed_words();
        let remedy = match (is_scene, write_refusal(&self.scene.path)) {
            (true, _) => "K saves to the scene file, S to another one".to_owned(),
            (false, Some(why)) => why,
            (false, None) => {
                let missing = missing_of_model(&self.scene, &self.editing.read);
                let lack = match missing.is_empty() {
                    true => "",
                    false => ", without the changes of its materials",
                };
                format!("S saves a scene that shows the model{lack}")
            }
        };
        (!words.is_empty() && !self.is_saved())
            .then(|| format!("{words} changed and not saved: {remedy}"))
    }

    /// Returns the kinds of parts that differ from the scene's file, as words such as "camera and materials"; empty if
    /// there are none. The camera of a model or of another renderer's scene does not count.
    pub(super) fn changed_words(&self) -> String {
        let has_camera = can_save_view(&self.scene.path);
        words(has_camera && !self.orbit.is_home(), &self.edits())
    }

    /// Saves the camera and the edited parts to the scene's file, and displays a message about it or a problem.
    pub(super) fn save_to_scene(&mut self) {
        let path = self.scene.path.display();
        let saved = match (
            can_save_view(&self.scene.path),
            write_refusal(&self.scene.path),
        ) {
            (true, _) => self
                .write_to_scene()
                .map_err(|error| self.save_problem(&error)),
            (false, Some(why)) => Err(format!("{path}: {why}")),
            (false, None) => Err(format!(
                "{path} is a model, which cannot store changes; S (Save as) saves a scene that shows it"
            )),
        };
        match saved {
            Ok(message) => self.say(message),
            Err(problem) => self.report_problem(problem),
        }
    }

    /// Returns a problem on one line: what was not saved to the scene's file, why, and what to do instead.
    fn save_problem(&self, error: &raysieve_scene::Error) -> String {
        use raysieve_scene::Error;
        let path = &self.scene.path;
        let what = format!(
            "{}: {} not saved",
            path.display(),
            words(true, &self.edits())
        );
        match error {
            // Saving under another name also needs the text of the file.
            Error::File { .. } if matches!(path.try_exists(), Ok(false)) => {
                format!(
                    "{what}: the file does not exist any more; put it back and press K (Save scene) again"
                )
            }
            Error::File { problem, .. } => format!("{what}: {problem}"),
            Error::Write { problem, .. } => format!("{what}: {problem}, with S (Save as)"),
            _ => format!("{} not saved: {error}", words(true, &self.edits())),
        }
    }

    /// Saves the camera and the edited parts to the scene's file. Returns a message.
    fn write_to_scene(&mut self) -> Result<String, raysieve_scene::Error> {
        let camera = self.orbit.current.as_written(self.scene.origin);
        let read = self.editing.read.clone();
        let missing = save_edits(&self.scene, &read, &camera)?;
        // Reloading the saved file moves no camera that the user has moved since.
        self.orbit.home = camera;
        self.schedule_autosave();
        let mut message = format!(
            "{} saved to {}",
            words(true, &self.edits()),
            self.scene.path.display()
        );
        let mut saved = self.scene.clone();
        message += &missing_suffix(&self.scene, &missing);
        message += &time_suffix(&self.scene);
        if !missing.is_empty() {
            let mut scene = Scene::clone(&saved);
            for part in missing {
                if let Some(state) = read.part_state(part) {
                    scene = scene.with_part_state(part, &state);
                }
            }
            saved = Arc::new(scene);
        }
        let read = mem::replace(&mut self.editing.read, saved.clone());
        if let Some(loader) = &self.loader {
            let scene = self.scene.clone();
            loader.send(LoadRequest::Saved { saved, scene, read });
        }
        Ok(message)
    }
}

/// Returns the scene and the camera that the user has moved.
fn seen<'a>(scene: &'a Scene, orbit: &Orbit) -> Seen<'a> {
    Seen {
        scene,
        camera: orbit.current,
    }
}

/// Returns what was changed, as words for a message, such as "camera and materials"; empty if nothing was.
fn words(has_moved: bool, edits: &[FieldEdit]) -> String {
    let has = |is_kind: fn(Part) -> bool| edits.iter().any(|edit| is_kind(edit.part));
    let kinds = [
        ("camera", has_moved),
        ("materials", has(|part| matches!(part, Part::Material(_)))),
        ("lights", has(|part| matches!(part, Part::Light(_)))),
        ("sky", has(|part| part == Part::Sky)),
        ("background", has(|part| part == Part::Background)),
    ];
    let changed: Vec<_> = kinds
        .into_iter()
        .filter_map(|(kind, is_changed)| is_changed.then_some(kind))
        .collect();
    match changed.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        all => all.join(""),
    }
}
