//! Loading of scenes and models, once or for each frame of an animation.

use std::path::{Path, PathBuf};

use crate::{
    Error, LoadOptions,
    default_scene::{self, Extent, Staging},
    files::{
        bounds::opening,
        display_path, file_type,
        record::{SceneFile, recording},
    },
    mitsuba,
    model_file::{MODEL_TYPES, ModelFile},
    pbrt, ron,
    scene::{Background, Scene},
    surroundings::Surroundings,
};

/// Loads scenes from one file, such as the frames of an animation. What the frames share is read once: the buffers and
/// images of a glTF file.
///
/// ```no_run
/// use raysieve_scene::{LoadOptions, SceneLoader};
///
/// let mut loader = SceneLoader::new("fox.glb".as_ref());
/// let mut options = LoadOptions::default();
/// let times: Vec<f64> = (0..48).map(|frame| f64::from(frame) / 24.0).collect();
/// loader.stage(&options, &times)?;
/// for time in times {
///     options.time = Some(time);
///     let scene = loader.load(&options)?;
/// }
/// # Ok::<(), raysieve_scene::Error>(())
/// ```
pub struct SceneLoader {
    path: PathBuf,
    /// The opened model file; `None` before the first load, and for a scene file.
    model: Option<ModelFile>,
    /// Camera, exposure and light of all loads; `None` if each load has its own.
    staging: Option<Staging>,
    /// Light from infinity around the model that was loaded last; `None` before, and for a scene file.
    surroundings: Option<Surroundings>,
    /// Files that were looked for so far.
    files: Vec<SceneFile>,
}

/// Largest number of times at which [`SceneLoader::stage`] reads the model.
const MAX_STAGED: usize = 16;

impl SceneLoader {
    /// Creates a loader for a scene or model file. Nothing is read yet.
    pub fn new(path: &Path) -> SceneLoader {
        SceneLoader {
            path: path.to_owned(),
            model: None,
            staging: None,
            surroundings: None,
            files: Vec::new(),
        }
    }

    /// Loads the scene like [`Scene::load`], as `options` selects it.
    ///
    /// # Errors
    /// Those of [`Scene::load`]. Also [`Error::File`] if a chosen variant, camera or animation does not exist, or if an
    /// option is set that the file cannot follow; the message lists what exists.
    pub fn load(&mut self, options: &LoadOptions) -> Result<Scene, Error> {
        let mut scene = self.record(|loader| loader.read(options))?;
        if options.ground {
            if scene.background != Background::Transparent {
                let problem = "has no transparent background, without which a ground catches no shadows; choose that \
                               background, or omit the ground";
                return Err(self.wrong(problem.to_owned()));
            }
            scene.shadow_catcher = scene.lowest_point();
        }
        Ok(Scene {
            files: self.files.clone(),
            ..scene
        })
    }

    /// Fixes the camera, the exposure and the default lighting of all later loads, so that a model without a camera
    /// stays in the image at all `times`, in seconds, and nothing flickers. At most 16 of them are examined, evenly
    /// spread. Does nothing for a scene file.
    ///
    /// # Errors
    /// Those of [`SceneLoader::load`].
    pub fn stage(&mut self, options: &LoadOptions, times: &[f64]) -> Result<(), Error> {
        if times.is_empty() || !is_model(&self.path) {
            return Ok(());
        }
        let staging = self.record(|loader| {
            let count = times.len().min(MAX_STAGED);
            let mut first = None;
            for number in 0..count {
                let at = number * (times.len() - 1) / (count - 1).max(1);
                let mut options = options.clone();
                options.time = Some(times[at]);
                let model = loader.read_model(&options)?;
                let own = Extent::of(&model, &options);
                let (model, extent) = match first {
                    None => (model, own),
                    Some((model, extent)) => (model, own.union(&extent)),
                };
                let has_camera = model.camera.is_some() && options.camera_from.is_none();
                first = Some((model, extent));
                if has_camera {
                    break;
                }
            }
            let (model, extent) = first.ok_or_else(|| loader.wrong("has no extent".to_owned()))?;
            Staging::new(&model, extent, options).map_err(|problem| loader.wrong(problem))
        })?;
        self.staging = Some(staging);
        Ok(())
    }

    /// Fixes the camera, the exposure and the default lighting of all later loads to those with which `options` loads the
    /// model, so that only its pose differs at another time. Does nothing for a scene file.
    ///
    /// # Errors
    /// Those of [`SceneLoader::load`].
    pub fn stage_like(&mut self, options: &LoadOptions) -> Result<(), Error> {
        if is_model(&self.path) {
            let staging = self.record(|loader| {
                let model = loader.read_model(options)?;
                let staging = Staging::new(&model, Extent::of(&model, options), options);
                staging.map_err(|problem| loader.wrong(problem))
            })?;
            self.staging = Some(staging);
        }
        Ok(())
    }

    /// Returns the text of a scene file at `path` that renders like `scene`, to continue from. `scene` is the model
    /// that was loaded last, with these options; its settings, camera, lights and environment may have changed since.
    ///
    /// # Errors
    /// [`Error::File`] if the loader has loaded no model, such as for a scene file, or if the format cannot express a
    /// light or a path.
    pub fn scene_text(
        &self,
        scene: &Scene,
        options: &LoadOptions,
        path: &Path,
    ) -> Result<String, Error> {
        let Some(surroundings) = &self.surroundings else {
            let problem = "is a scene file already; copy it and change the copy";
            return Err(self.wrong(problem.to_owned()));
        };
        ron::write::scene_text(scene, options, surroundings, path)
    }

    /// Returns the files that were looked for so far, existing or not.
    pub fn into_files(self) -> Vec<SceneFile> {
        self.files
    }

    /// Calls `read` and adds the files that it looks for to `files`.
    fn record<T>(
        &mut self,
        read: impl FnOnce(&mut SceneLoader) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = self.path.clone();
        let (result, files) = recording(|| opening(&path, || read(self)));
        for file in files {
            if !self.files.iter().any(|known| known.path == file.path) {
                self.files.push(file);
            }
        }
        result
    }

    /// Loads the scene; [`Scene::files`] of the result is empty.
    fn read(&mut self, options: &LoadOptions) -> Result<Scene, Error> {
        if is_model(&self.path) {
            let model = self.read_model(options)?;
            let own;
            let staging = match &self.staging {
                Some(staging) => staging,
                None => {
                    let staging = Staging::new(&model, Extent::of(&model, options), options);
                    own = staging.map_err(|problem| self.wrong(problem))?;
                    &own
                }
            };
            let (scene, surroundings) = default_scene::scene(&self.path, model, staging, options)?;
            self.surroundings = Some(surroundings);
            return Ok(scene);
        }
        match file_type(&self.path).as_str() {
            "xml" => return mitsuba::scene(&self.path, options),
            "pbrt" => return pbrt::scene(&self.path, options),
            _ => {}
        }
        if let Err(problem) = Scene::check_name(&self.path)
            && self.path.is_file()
        {
            return Err(self.wrong(problem.to_owned()));
        }
        let text = ron::source::read_scene_file(&self.path)?;
        ron::scene(&self.path, &text, options)
    }

    /// Reads the model, and opens its file if that is not open yet.
    fn read_model(&mut self, options: &LoadOptions) -> Result<crate::model::Model, Error> {
        let file = display_path(&self.path);
        let wrong = |problem: String| Error::File { file, problem };
        let model = match &mut self.model {
            Some(model) => Ok(model),
            none => ModelFile::open(&self.path).map(|model| none.insert(model)),
        };
        model.and_then(|model| model.read(options)).map_err(wrong)
    }

    /// Returns the error for a problem of the file.
    fn wrong(&self, problem: String) -> Error {
        Error::File {
            file: display_path(&self.path),
            problem,
        }
    }
}

/// Returns whether a path is that of a model, by its extension.
fn is_model(path: &Path) -> bool {
    MODEL_TYPES.contains(&file_type(path).as_str())
}
