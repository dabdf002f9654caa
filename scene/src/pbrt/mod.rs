//! Reads scenes of pbrt-v4.
//!
//! `tokens` and `parameters` read the text, and `state` its directives. The other submodules convert cameras, shapes,
//! materials, textures and lights.

mod camera;
mod known;
mod lights;
mod materials;
mod media;
mod parameters;
mod shapes;
mod spectra;
mod state;
mod textures;
mod tokens;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    rc::Rc,
};

use glam::DAffine3;

use self::{
    lights::Emission,
    materials::{Converted, Described},
    parameters::Parameters,
    state::State,
};
use crate::{
    Error, LoadOptions,
    files::{display_path, relative_paths::RelativePaths},
    import::{
        Imported,
        materials::{Color, Scalar},
        mesh_files::MeshFiles,
    },
    limits::DEFAULT_ROULETTE,
    model::ModelInstance,
    scene::{Medium, Scene},
};

/// Reads the scene file at `path` and the files that it names, which must lie in its folder or below it.
///
/// # Errors
/// [`Error::File`] if a file cannot be read or is invalid, or an option is set that a pbrt scene cannot follow.
pub(crate) fn scene(path: &Path, options: &LoadOptions) -> Result<Scene, Error> {
    let file = display_path(path);
    let wrong = |problem: String| Error::File {
        file: file.clone(),
        problem,
    };
    if let Some(option) = options.first_set() {
        let problem = format!("is a pbrt scene, which has no {option} to choose; omit that choice");
        return Err(wrong(problem));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut converter = Converter {
        files: RelativePaths::of_scene(folder),
        scene: Imported {
            size: (1280, 720),
            spp: 16,
            max_bounces: 5,
            roulette: DEFAULT_ROULETTE,
            ..Imported::default()
        },
        camera: None,
        film: Parameters::default(),
        filter: None,
        state: State::default(),
        stack: Vec::new(),
        systems: HashMap::new(),
        in_world: false,
        colors: HashMap::new(),
        scalars: HashMap::new(),
        named: HashMap::new(),
        described: 0,
        emissions: 0,
        media: HashMap::new(),
        inside_shapes: HashSet::new(),
        around_camera: String::new(),
        converted: HashMap::new(),
        materials: HashMap::new(),
        objects: HashMap::new(),
        object: None,
        meshes: MeshFiles::default(),
        subdivided: 0,
        open: Vec::new(),
        included_bytes: 0,
    };
    converter.file(path).map_err(wrong)?;
    converter.finish_camera().map_err(wrong)?;
    converter.finish_media();
    converter.scene.into_scene(path, options)
}

/// The state of converting a scene.
struct Converter {
    /// Lookup of the files that the scene names.
    files: RelativePaths,
    /// The scene so far.
    scene: Imported,
    /// Type and parameters of the camera, and its transform to the world; `None` before the directive.
    camera: Option<(String, Parameters, DAffine3)>,
    /// Parameters of the film; empty before the directive.
    film: Parameters,
    /// Type and parameters of the pixel filter; `None` before the directive.
    filter: Option<(String, Parameters)>,
    /// Graphics state at the current place in the file.
    state: State,
    /// Graphics states that were saved.
    stack: Vec<State>,
    /// Transforms of named coordinate systems.
    systems: HashMap<String, DAffine3>,
    /// Whether `WorldBegin` was read.
    in_world: bool,
    /// Textures of colors by name.
    colors: HashMap<String, Color>,
    /// Textures of numbers by name.
    scalars: HashMap<String, Scalar>,
    /// Named materials.
    named: HashMap<String, Rc<Described>>,
    /// Number of materials that directives described so far, from which each gets [`Described::number`].
    described: usize,
    /// Number of directives `AreaLightSource` so far, from which each gets [`Emission::number`].
    emissions: usize,
    /// Numbers of the media by name, from 1, with the media; `None` for those that do nothing or are not shown.
    media: HashMap<String, (usize, Option<Medium>)>,
    /// Names of the media that shapes have inside.
    inside_shapes: HashSet<String>,
    /// Name of the medium around the camera; empty if there is none.
    around_camera: String,
    /// Converted materials by [`Described::number`].
    converted: HashMap<usize, Converted>,
    /// Index in the model of each material, by what it depends on.
    materials: HashMap<materials::Key, usize>,
    /// Shapes of each object for instancing, by its name. A later object replaces an earlier one of the same name.
    objects: HashMap<String, Rc<Vec<ModelInstance>>>,
    /// Name and shapes of the object that is being defined; `None` outside of `ObjectBegin` and `ObjectEnd`.
    object: Option<(String, Vec<ModelInstance>)>,
    /// Meshes of the files that were read.
    meshes: MeshFiles<shapes::Reading>,
    /// Number of triangles that subdivision surfaces have beyond those of their control meshes.
    subdivided: usize,
    /// Files that are being read, each included by the one before it.
    open: Vec<PathBuf>,
    /// Size of the included files so far; see [`count_included`](crate::files::count_included).
    included_bytes: u64,
}

impl Converter {
    /// Adds a warning for the user, unless an equal one exists.
    fn note(&mut self, note: impl Into<String>) {
        self.scene.note(note);
    }

    /// Returns the emission of the shapes that follow; `None` if they do not emit. In an object they do not, as in pbrt,
    /// with a warning.
    fn emission(&mut self) -> Option<Rc<Emission>> {
        let emission = self.state.emission.clone()?;
        if self.object.is_some() {
            self.note("not used: area lights in objects, as in pbrt; move them out of the objects");
            return None;
        }
        Some(emission)
    }
}
