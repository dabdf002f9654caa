//! Returns the film and the scene text that users save.

use std::{
    path::Path,
    sync::{Arc, mpsc},
};

use super::Session;
use crate::{
    Error,
    session::{commands::Command, editing::described, film::RequestedFilm},
};
use raysieve_scene::{LoadOptions, Scene, SceneLoader, can_save_view, edits_text};

/// The displayed scene with the user's camera, exposure and tone curve, to write it as scene text.
pub(crate) struct SceneToSave {
    scene: Scene,
    /// Camera as scene files store it, which does not depend on the size of the picture.
    camera: raysieve_scene::Camera,
    /// The scene with the user's edits, and as it was loaded.
    edits: [Arc<Scene>; 2],
    /// Choices among what a model's file offers.
    options: LoadOptions,
}

impl Session {
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
    /// scene that shows it. A model is read again. Also returns the edited parts that the text does not have, because
    /// the scene's own file does not define them.
    ///
    /// # Errors
    /// If the scene's file cannot be read any more, or has a format that cannot be written.
    pub(crate) fn text(&self, target: &Path) -> Result<(String, Vec<String>), Error> {
        let path = &self.scene.path;
        if can_save_view(path) {
            let [edited, loaded] = &self.edits;
            let (text, missing) = edits_text(edited, loaded, &self.camera)?;
            let names = missing.into_iter().map(|part| described(edited, part));
            return Ok((text, names.collect()));
        }
        let mut loader = SceneLoader::new(path);
        loader.load(&self.options)?;
        let text = loader.scene_text(&self.scene, &self.options, target)?;
        Ok((text, Vec::new()))
    }
}
