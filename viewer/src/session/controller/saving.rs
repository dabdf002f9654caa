//! Returns the film, the scene text and the edits that users save.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
};

use super::Session;
use crate::{
    Error,
    session::{
        editing::described, loader::shown_options, orbit::have_same_lens,
        requested_film::RequestedFilm,
    },
};
use raysieve_scene::{
    Camera, FieldEdit, LoadOptions, Part, Scene, SceneLoader, can_save_view, edits_text,
};

/// The displayed scene with the user's camera, exposure and tone curve, to write it as scene text.
pub(crate) struct SceneToSave {
    scene: Scene,
    /// Camera as scene files store it, which does not depend on the size of the picture.
    camera: Camera,
    /// The scene with the user's edits, and as it was loaded.
    edits: [Arc<Scene>; 2],
    /// Choices among what a model's file offers, and those with which it was opened.
    options: LoadOptions,
    first: LoadOptions,
}

/// The camera and the edits of a scene, to compare them with those that were saved.
#[derive(PartialEq)]
pub(crate) struct EditState {
    /// Path of the scene's file.
    path: PathBuf,
    camera: Camera,
    edits: Vec<FieldEdit>,
}

impl EditState {
    /// Returns whether another state has the same edits of the same scene, apart from movements of the camera.
    fn has_edits_of(&self, other: &EditState) -> bool {
        self.path == other.path
            && self.edits == other.edits
            && have_same_lens(&self.camera, &other.camera)
    }
}

/// Changes of a scene that are not saved, to keep them if the render fails and nobody can be asked.
pub(crate) struct UnsavedChanges {
    scene: SceneToSave,
    /// The kinds of changed parts as words, such as "camera and materials".
    pub(super) words: String,
    /// Camera and edits as scene text, as `k` prints them.
    pub(super) text: String,
}

impl Session {
    /// Returns the changes that differ from the scene's file and from what was saved last under another name; `None` if
    /// there are none.
    pub(crate) fn changes_to_keep(&self) -> Option<UnsavedChanges> {
        let words = self.changed_words();
        (!words.is_empty() && !self.is_saved()).then(|| UnsavedChanges {
            scene: self.scene_to_save(),
            words,
            text: self.scene_text().0,
        })
    }

    /// Returns the changes like [`changes_to_keep`](Self::changes_to_keep); `None` also if the camera was only moved,
    /// since the scene was loaded or saved under another name.
    pub(crate) fn edits_to_keep(&self) -> Option<UnsavedChanges> {
        let current = self.edit_state();
        let has_edits =
            !current.edits.is_empty() || !have_same_lens(&self.orbit.current, &self.orbit.home);
        let is_same = |saved: &EditState| saved.has_edits_of(&current);
        let is_kept = has_edits && !self.saved.as_ref().is_some_and(is_same);
        is_kept.then(|| self.changes_to_keep()).flatten()
    }

    /// Returns whether the camera and the edits are those that were saved last under another name.
    pub(super) fn is_saved(&self) -> bool {
        self.saved.as_ref() == Some(&self.edit_state())
    }

    /// Records that this state was saved under another name.
    pub(crate) fn record_saved(&mut self, state: EditState) {
        self.saved = Some(state);
        self.schedule_autosave();
    }

    /// Returns the camera and the edits of the current scene, to compare them with those that were saved.
    pub(crate) fn edit_state(&self) -> EditState {
        EditState {
            path: self.scene.path.clone(),
            camera: self.orbit.current,
            edits: self.edits(),
        }
    }

    /// Requests a copy of the film of the displayed render. The render thread makes it after the current wave, once
    /// every pixel has a sample.
    pub(crate) fn request_film(&self) -> RequestedFilm {
        let (request, answer) = mpsc::channel();
        self.render.send(|commands| commands.films.push(request));
        RequestedFilm(answer)
    }

    /// Returns the displayed scene with the user's changes, to write it as scene text.
    pub(crate) fn scene_to_save(&self) -> SceneToSave {
        SceneToSave {
            scene: Scene {
                camera: self.orbit.camera(self.size),
                size: self.size,
                exposure_stops: self.look.exposure_stops,
                tone: self.look.tone,
                ..Scene::clone(&self.scene)
            },
            camera: self.orbit.current,
            edits: [self.scene.clone(), self.editing.read.clone()],
            options: shown_options(&self.first, &self.scene),
            first: self.first.clone(),
        }
    }
}

impl UnsavedChanges {
    pub(super) fn scene_path(&self) -> &Path {
        self.scene.path()
    }

    /// Returns the text of a file at `target` with the changed scene. If a scene file cannot contain all changes,
    /// comments at its end have the others. Without a scene that can be read, all changes are comments. Also returns the
    /// end of a message about what is missing; empty if nothing is.
    pub(super) fn text(&self, target: &Path) -> (String, String) {
        let is_comment = |line: &&str| line.starts_with("//");
        let (mut text, without, has_camera, has_parts) = match self.scene.text(target) {
            Ok((text, without)) => (text, without, true, true),
            Err(error) => match self.scene.text_without_camera() {
                Ok(text) => (text, ", without the camera".to_owned(), false, true),
                Err(_) => {
                    let why = format!("// {}\n", error.line());
                    (why, ", as comments".to_owned(), false, false)
                }
            },
        };
        // What the text of a scene cannot contain is a comment already.
        for line in self.text.lines() {
            let is_camera = line.starts_with("camera: ");
            if is_comment(&line) && !without.is_empty() {
                text += &format!("{line}\n");
            } else if is_camera && !has_camera || !is_camera && !has_parts {
                text += &format!("// {line}\n");
            }
        }
        (text, without)
    }
}

impl SceneToSave {
    /// Returns the path of the scene's file.
    pub(crate) fn path(&self) -> &Path {
        &self.scene.path
    }

    /// Returns whether the scene's file names other files, by paths relative to its own folder.
    pub(crate) fn names_files(&self) -> bool {
        can_save_view(&self.scene.path) && self.scene.files.len() > 1
    }

    /// Checks whether the scene can be written to a file at `target`, as far as its format decides that.
    ///
    /// # Errors
    /// If the scene has a format that cannot be written.
    pub(crate) fn check_target(&self, target: &Path) -> Result<(), Error> {
        match write_refusal(&self.scene.path) {
            None => Ok(()),
            Some(why) => Err(Error::not_saved(target, why)),
        }
    }

    /// Returns the text of the scene's file with the edits, but with the camera of the file.
    ///
    /// # Errors
    /// If the scene's file cannot be read any more or is a model.
    fn text_without_camera(&self) -> Result<String, Error> {
        let [edited, loaded] = &self.edits;
        Ok(edits_text(edited, loaded, None)?.0)
    }

    /// Returns the text of a scene file at `target`: the scene's own file with the changed values, or for a model a new
    /// scene that shows it. A model is read again. Also returns the end of a message about the saved scene, which names
    /// the edited parts that the text lacks; it is empty if there are none.
    ///
    /// # Errors
    /// If the scene's file cannot be read any more, or has a format that cannot be written.
    pub(crate) fn text(&self, target: &Path) -> Result<(String, String), Error> {
        self.check_target(target)?;
        let path = &self.scene.path;
        let [edited, loaded] = &self.edits;
        let mut time = String::new();
        let (text, missing) = if can_save_view(path) {
            time = time_suffix(edited);
            edits_text(edited, loaded, Some(&self.camera))?
        } else {
            let mut loader = SceneLoader::new(path);
            if self.options != self.first {
                loader.stage_like(&self.first)?;
            }
            loader.load(&self.options)?;
            let text = loader.scene_text(&self.scene, &self.options, target)?;
            (text, missing_of_model(edited, loaded))
        };
        Ok((text, missing_suffix(edited, &missing) + &time))
    }
}

/// Returns why the scene's file at `path` can be written neither with changes nor as a new scene, and what to do
/// instead. Returns `None` for the scenes of this program and for models.
pub(super) fn write_refusal(path: &Path) -> Option<String> {
    let format = Scene::foreign_format(path)?;
    Some(format!(
        "a {format} scene cannot be written; k prints its changes"
    ))
}

/// Returns the end of a message about a saved scene, which names the edited parts that its file does not define; empty
/// if there are none.
pub(super) fn missing_suffix(edited: &Scene, missing: &[Part]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let names = missing.iter().map(|&part| described(edited, part));
    let names: Vec<_> = names.collect();
    format!(
        ", without {}, which the file does not define",
        names.join(", ")
    )
}

/// Returns the end of a message about a saved scene file with animated models, which says how to show the present time
/// again; empty for their rest pose.
pub(super) fn time_suffix(scene: &Scene) -> String {
    match scene.timeline.as_ref().and_then(|shown| shown.time) {
        Some(time) => format!(", without the time; --time {time} shows it"),
        None => String::new(),
    }
}

/// Returns the edited parts of a model that a scene which shows it does not define: its materials, which come from the
/// model's file.
pub(super) fn missing_of_model(edited: &Scene, loaded: &Scene) -> Vec<Part> {
    let edits = edited.edits_since(loaded).into_iter();
    let parts = edits.map(|edit| edit.part);
    let mut missing: Vec<_> = parts
        .filter(|part| matches!(part, Part::Material(_)))
        .collect();
    // The edits of one part follow each other.
    missing.dedup();
    missing
}
