//! Returns the film, the scene text and the edits that users save.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
};

use super::Session;
use crate::{
    Error,
    session::{commands::Command, editing::described, film::RequestedFilm},
};
use raysieve_scene::{
    Camera, FieldEdit, Light, LoadOptions, Part, Scene, SceneLoader, can_save_view, edits_text,
};

/// The displayed scene with the user's camera, exposure and tone curve, to write it as scene text.
pub(crate) struct SceneToSave {
    scene: Scene,
    /// Camera as scene files store it, which does not depend on the size of the picture.
    camera: Camera,
    /// The scene with the user's edits, and as it was loaded.
    edits: [Arc<Scene>; 2],
    /// Choices among what a model's file offers.
    options: LoadOptions,
}

/// The camera and the edits of a scene, to compare them with those that were saved.
#[derive(PartialEq)]
pub(crate) struct EditState {
    /// Path of the scene's file.
    path: PathBuf,
    camera: Camera,
    edits: Vec<FieldEdit>,
}

impl Session {
    /// Returns the camera and the edits of the current scene, to compare them with those that were saved.
    pub(crate) fn edit_state(&self) -> EditState {
        EditState {
            path: self.scene.path.clone(),
            camera: self.orbit.current(),
            edits: self.edits(),
        }
    }

    /// Requests a copy of the film of the displayed render. The render thread makes it after the current wave, once
    /// every pixel has a sample.
    pub(crate) fn request_film(&self) -> RequestedFilm {
        let (request, answer) = mpsc::channel();
        self.render.send(Command::Film(request));
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
            camera: self.orbit.current(),
            edits: [self.scene.clone(), self.editing.read.clone()],
            options: self.load.clone(),
        }
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

    /// Returns the text of a scene file at `target`: the scene's own file with the changed values, or for a model a new
    /// scene that shows it. A model is read again. Also returns the edited parts that the text does not define, so that
    /// their edits are not in it.
    ///
    /// # Errors
    /// If the scene's file cannot be read any more, or has a format that cannot be written.
    pub(crate) fn text(&self, target: &Path) -> Result<(String, Vec<String>), Error> {
        let path = &self.scene.path;
        let [edited, loaded] = &self.edits;
        let (text, missing) = if can_save_view(path) {
            edits_text(edited, loaded, &self.camera)?
        } else {
            let mut loader = SceneLoader::new(path);
            loader.load(&self.options)?;
            let text = loader.scene_text(&self.scene, &self.options, target)?;
            (text, missing_of_model(edited, loaded))
        };
        let names = missing.into_iter().map(|part| described(edited, part));
        Ok((text, names.collect()))
    }
}

/// Returns the edited parts of a model that a scene which shows it does not define: materials, which come from the
/// model's file, and the environment, which is written as it was loaded.
pub(super) fn missing_of_model(edited: &Scene, loaded: &Scene) -> Vec<Part> {
    let is_missing = |part: &Part| match *part {
        Part::Material(_) => true,
        Part::Light(at) => matches!(edited.lights.get(at), Some(Light::Environment(_))),
        Part::Sky | Part::Background | Part::Camera => false,
    };
    let edits = edited.edits_since(loaded).into_iter();
    let mut missing: Vec<_> = edits.map(|edit| edit.part).filter(is_missing).collect();
    // The edits of one part follow each other.
    missing.dedup();
    missing
}
