//! Reads scenes of Mitsuba 3, and of older versions as far as their elements have the same meaning.
//!
//! `document` reads the XML into objects, `values` its values, `defaults` replaces names in them, and `serialized`
//! reads meshes in Mitsuba's own format. The other submodules convert sensors, shapes, BSDFs, textures and emitters.

mod bsdf;
mod curves;
mod defaults;
mod document;
mod emitters;
mod media;
mod parameters;
mod principled;
mod sensor;
mod serialized;
mod shapes;
mod sun;
mod textures;
mod values;

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    rc::Rc,
};

use glam::{DAffine3, DMat4};

use self::{
    bsdf::Bsdf,
    document::{Document, Object},
    values::Value,
};
use crate::{
    Error, LoadOptions,
    error::excerpt,
    files::{display_path, relative_paths::RelativePaths},
    import::{Imported, materials::Color, mesh_files::MeshFiles},
    load_options::{choose, listed},
    model::ModelInstance,
    scene::{Medium, Scene},
};

/// Reads the scene file at `path` and the files that it names.
///
/// # Errors
/// [`Error::File`] if a file cannot be read or is invalid, or an option is set that a Mitsuba scene cannot follow.
pub(crate) fn scene(path: &Path, options: &LoadOptions) -> Result<Scene, Error> {
    let file = display_path(path);
    let wrong = |problem: String| Error::File {
        file: file.clone(),
        problem,
    };
    let others = LoadOptions {
        camera: None,
        defines: Vec::new(),
        ..options.clone()
    };
    if let Some(option) = others.first_set() {
        let problem =
            format!("is a Mitsuba scene, which has no {option} to choose; omit that choice");
        return Err(wrong(problem));
    }
    read(path, options)
        .map_err(wrong)?
        .into_scene(path, options)
}

/// Reads the scene, with the camera and the definitions of `options`. Fails with a message that does not name the file.
fn read(path: &Path, options: &LoadOptions) -> Result<Imported, String> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut files = RelativePaths::of_scene(folder);
    let mut document = Document::read(path, &mut files, &options.defines)?;
    let notes = std::mem::take(&mut document.notes);
    let mut converter = Converter {
        document: &document,
        files,
        scene: Imported::default(),
        materials: HashMap::new(),
        bsdfs: HashMap::new(),
        media: HashMap::new(),
        textures: HashMap::new(),
        colored_by_mesh: HashSet::new(),
        reads_mesh_colors: false,
        groups: HashMap::new(),
        meshes: MeshFiles::default(),
        open: HashSet::new(),
        shapes: 0,
        lit: HashSet::new(),
        hides_emitters: false,
    };
    notes
        .into_iter()
        .for_each(|note| converter.scene.note(note));
    converter.convert(options.camera.as_deref())?;
    Ok(converter.scene)
}

/// The state of converting a document to a scene.
struct Converter<'d> {
    document: &'d Document,
    /// Lookup of the files that objects name.
    files: RelativePaths,
    /// The scene so far.
    scene: Imported,
    /// Index in the model of each material, by the numbers of its BSDF, its emitter and the medium inside (0 for none),
    /// and the bits of its [`Imported::relief_size`].
    materials: HashMap<(usize, usize, usize, [u32; 2]), usize>,
    /// BSDFs by the number of their object.
    bsdfs: HashMap<usize, Bsdf>,
    /// Media by the number of their object; `None` for those that do nothing or are not shown.
    media: HashMap<usize, Option<Medium>>,
    /// Textures by the number of their object and what they are read for.
    textures: HashMap<(usize, textures::Use), Color>,
    /// Numbers of the textures that contain the vertex or face colors of a mesh.
    colored_by_mesh: HashSet<usize>,
    /// Whether a texture of that kind was read since this was last `false`.
    reads_mesh_colors: bool,
    /// Shapes of shape groups by the number of their object.
    groups: HashMap<usize, Rc<Vec<ModelInstance>>>,
    /// Meshes of the files that were read.
    meshes: MeshFiles<shapes::Reading>,
    /// Numbers of the objects that are being converted, so that references in a circle are found.
    open: HashSet<usize>,
    /// Number of shapes that were converted, counted with repetitions.
    shapes: usize,
    /// Numbers of the emitters in shapes that are not area lights.
    lit: HashSet<usize>,
    /// Whether camera rays do not see emitters.
    hides_emitters: bool,
}

impl Converter<'_> {
    /// Converts all objects of the document.
    fn convert(&mut self, camera: Option<&str>) -> Result<(), String> {
        let document = self.document;
        let root = &document.root;
        let children = || document.children(root).map(|(_, child)| child);
        self.settings();
        self.note_unknown_parameters();
        let sensors: Vec<_> = children().filter(|child| child.tag == "sensor").collect();
        let names: Vec<String> = sensors.iter().map(|sensor| sensor.id.clone()).collect();
        let chosen = match camera {
            Some(wanted) => choose("camera", &names, wanted)?,
            None => 0,
        };
        if camera.is_none() && sensors.len() > 1 {
            let list = listed(names.iter().map(String::as_str), true);
            self.scene.note(format!(
                "shown from camera 1 of its cameras {list} (`--camera`)"
            ));
        }
        if let Some(sensor) = sensors.get(chosen) {
            self.sensor(sensor)
                .and_then(|()| self.medium_around(sensor))
                .map_err(|problem| format!("{}: {problem}", sensor.name()))?;
        }
        for child in children() {
            let at = |problem: String| format!("{}: {problem}", child.name());
            match child.tag.as_str() {
                "shape" => self.shape(child, DAffine3::IDENTITY, None).map_err(at)?,
                "emitter" => self.emitter(child).map_err(at)?,
                "medium" | "volume" | "phase" | "sensor" | "integrator" | "bsdf" | "texture"
                | "film" | "sampler" | "spectrum" | "rfilter" => {}
                tag => {
                    let tag = excerpt(tag);
                    self.scene.note(format!("not used: elements <{tag}>"));
                }
            }
        }
        Ok(())
    }

    /// Marks an object as being converted and calls `convert`. Fails if it is being converted already, because then it
    /// contains itself, or if too many objects are nested.
    fn nested<T>(
        &mut self,
        object: &Object,
        convert: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if !self.open.insert(object.number) {
            return Err(format!(
                "{} contains itself; correct its references",
                object.name()
            ));
        }
        if self.open.len() > 2 * document::MAX_DEPTH as usize {
            return Err(format!(
                "{} is nested too deeply; simplify it",
                object.name()
            ));
        }
        let result = convert(self);
        self.open.remove(&object.number);
        result
    }

    /// Returns the transform with this name, without its projection; the identity if there is none.
    fn transform(&self, object: &Object, name: &str) -> DAffine3 {
        match object.value(name) {
            Some(&Value::Transform(matrix)) => affine(matrix),
            _ => DAffine3::IDENTITY,
        }
    }
}

/// Returns the affine part of a matrix.
fn affine(matrix: DMat4) -> DAffine3 {
    DAffine3::from_mat4(matrix)
}
