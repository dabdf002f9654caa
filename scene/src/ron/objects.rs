//! Converts the objects of a scene file to triangles, spheres, meshes and instances.

mod instances;

use std::{
    collections::{HashMap, hash_map::Entry},
    path::{Path, PathBuf},
};

use glam::{DAffine3, DVec3};

use super::{
    displaced_sphere::read_displaced_sphere,
    placements::read_transform,
    source::{NumberRange, Object, Raw, SceneSource},
    text::{DisplacedSphereText, MeshText, ModelText, ObjectText},
};
use crate::{
    Error, LoadOptions,
    builder::{
        geometry::{Corner, Geometry, LeftOut, MeshBuilder},
        materials::Materials,
        transform::rotate_y,
    },
    files::display_path,
    limits::MAX_LENGTH,
    model::Model,
    model_file::{self, ModelFile},
    origin::MANY_FACES,
    scene::Light,
};

/// A collector of the geometry of a scene's objects, and of the materials and lights of models.
pub(crate) struct Builder<'s, 'a> {
    source: &'s SceneSource<'a>,
    /// Materials of the scene file, then those of models.
    materials: Materials,
    /// Samples per pixel, against which the brightness of a model's emission is checked.
    spp: u32,
    pub(crate) geometry: Geometry,
    /// Lights of models, in world space.
    lights: Vec<Light>,
    /// Models that were read so far, by canonical path and options as text.
    models: HashMap<(PathBuf, String), ReadModel>,
    /// Time in seconds at which animated models without a field `time` are shown; `None` for their rest pose.
    time: Option<f64>,
    /// Whether a model was shown at `time`.
    pub(crate) is_time_used: bool,
    /// Time in seconds of the last keyframe of the animated models without a time of their own; `None` if nothing can
    /// play.
    pub(crate) animation_seconds: Option<f64>,
    /// Warnings for [`Scene::notes`](crate::Scene::notes).
    notes: Vec<String>,
}

/// A model whose file has been read. Several objects may show it.
struct ReadModel {
    model: Model,
    /// Index in the scene of the model's first material; `None` until an object shows the model with its own materials.
    first: Option<u32>,
}

impl<'s, 'a> Builder<'s, 'a> {
    /// Creates a builder without objects for a scene. `materials` are those of the scene file, and `spp` is the number
    /// of samples per pixel. Animated models are shown at `time`, in seconds, unless their object has its own time.
    pub(crate) fn new(
        source: &'s SceneSource<'a>,
        materials: Materials,
        spp: u32,
        time: Option<f64>,
    ) -> Self {
        Builder {
            source,
            materials,
            spp,
            geometry: Geometry::around(source.origin),
            lights: Vec::new(),
            models: HashMap::new(),
            time,
            is_time_used: false,
            animation_seconds: None,
            notes: Vec::new(),
        }
    }

    /// Returns the geometry, all materials, the lights of models, and warnings for the user.
    pub(crate) fn finish(self) -> (Geometry, Materials, Vec<Light>, Vec<String>) {
        (self.geometry, self.materials, self.lights, self.notes)
    }

    /// Parses one entry of `objects`, and adds its geometry and the materials and lights of a model. Fails with
    /// [`Error::Scene`].
    pub(crate) fn object(&mut self, object: &Object<'a>) -> Result<(), Error> {
        let source = self.source;
        match source.parse(object)? {
            ObjectText::Quad {
                corner,
                edge_u,
                edge_v,
                material,
            } => {
                let corner = source.position(object, "corner", corner)?;
                let u = source.position(object, "edge_u", edge_u)?;
                let v = source.position(object, "edge_v", edge_v)?;
                let material = self.material(object, material)?;
                self.polygons(
                    object,
                    &[[corner, corner + u, corner + u + v, corner + v]],
                    material,
                )
            }
            ObjectText::Box {
                center,
                half_size,
                rotate_y,
                material,
            } => {
                let center = source.position(object, "center", center)?;
                let expected = "(x, y, z) in metres, each from 1e-15 to 1e8";
                let half_size = source.triple(
                    object,
                    "half_size",
                    half_size,
                    expected,
                    NumberRange::Length,
                )?;
                let degrees = match rotate_y {
                    Some(raw) => {
                        source.number(object, "rotate_y", raw, "an angle in degrees", |_| true)?
                    }
                    None => 0.0,
                };
                let material = self.material(object, material)?;
                self.polygons(object, &box_faces(center, half_size, degrees), material)
            }
            ObjectText::Sphere {
                center,
                radius,
                material,
            } => {
                let center = source.position(object, "center", center)?;
                let radius = source.length(object, "radius", radius)? as f32;
                let material = self.material(object, material)?;
                self.geometry
                    .push_sphere(center, radius, material)
                    .map_err(|problem| source.error(object, object.raw, problem))
            }
            ObjectText::Mesh(written) => self.mesh(object, &written),
            ObjectText::Model(written) => self.model(object, &written),
            ObjectText::DisplacedSphere(written) => self.displaced_sphere(object, &written),
            ObjectText::Instances(written) => self.instances(object, &written),
        }
    }

    /// Parses the value `raw` of the field `material`, the name of a material, and returns that material's index. An
    /// unknown name is an [`Error::Scene`].
    fn material(&self, object: &Object, raw: Raw) -> Result<u32, Error> {
        self.source
            .material(object, "material", raw, &self.materials.names)
    }

    /// Adds the faces of a `Quad` or `Box`, given by their corners. A face with no area is an [`Error::Scene`].
    fn polygons(
        &mut self,
        object: &Object,
        polygons: &[[DVec3; 4]],
        material: u32,
    ) -> Result<(), Error> {
        let corners = || polygons.as_flattened().iter().copied();
        let low = corners().fold(DVec3::INFINITY, DVec3::min);
        let high = corners().fold(DVec3::NEG_INFINITY, DVec3::max);
        self.geometry.parts.push(low, high, polygons.len());
        let flat: Result<u64, String> = if self.materials.is_textured(material) {
            self.geometry
                .push_textured_parallelograms(polygons, material)
        } else {
            let mut each = polygons.iter();
            each.try_fold(0, |flat, polygon| {
                Ok(flat + self.geometry.push_polygon(polygon, material)?)
            })
        };
        if flat.map_err(|problem| self.source.error(object, object.raw, problem))? > 0 {
            let problem = "has a side without area; expected edges of 1e-9 metres or more that are not parallel";
            return Err(self.source.error(object, object.raw, problem));
        }
        Ok(())
    }

    /// Adds a `Mesh`: as separate triangles, or as a mesh with one instance if it has the field `smooth` or its
    /// material has textures. Only meshes store normals and texture coordinates.
    fn mesh(&mut self, object: &Object<'a>, written: &MeshText<'a>) -> Result<(), Error> {
        let material = self.material(object, written.material)?;
        let smooth = self.source.flag(object, "smooth", written.smooth, false)?;
        if smooth || self.materials.is_textured(material) {
            return self.object_as_instance(object);
        }
        self.mesh_triangles(object, written, false).map(|_| ())
    }

    /// Adds the triangles of a mesh file to `geometry`, transformed to world space.
    ///
    /// Returns the file's normals and texture coordinates at the corners of each triangle if `attributes` is set, else
    /// an empty list. An invalid file is an [`Error::Scene`].
    fn mesh_triangles(
        &mut self,
        object: &Object,
        written: &MeshText,
        attributes: bool,
    ) -> Result<Vec<[Corner; 3]>, Error> {
        let source = self.source;
        let path = source.path(object, written.file)?;
        let material = self.material(object, written.material)?;
        let (scale, rotate, translate) = (written.scale, written.rotate, written.translate);
        let transform = read_transform(source, object, scale, rotate, translate)?;
        let mut builder = MeshBuilder::new(&mut self.geometry, transform, material, attributes);
        let result = model_file::read_mesh(&path, &mut builder).and_then(|()| builder.finish());
        let (left_out, corners) = result.map_err(|problem| {
            let problem = format!("{}: {problem}", display_path(&path));
            source.error(object, written.file, problem)
        })?;
        self.note_left_out(object, left_out);
        Ok(corners)
    }

    /// Adds the model of a `Model` object, with its lights unless the object turns them off. An invalid model is an
    /// [`Error::Scene`].
    fn model(&mut self, object: &Object, written: &ModelText) -> Result<(), Error> {
        let source = self.source;
        let path = source.path(object, written.file)?;
        let (scale, rotate, translate) = (written.scale, written.rotate, written.translate);
        let transform = read_transform(source, object, scale, rotate, translate)?.affine();
        let replacement = written
            .material
            .map(|raw| self.material(object, raw))
            .transpose()?;
        let lights = source.flag(object, "lights", written.lights, true)?;
        let options = model_options(source, object, written)?;
        let before = self.geometry.primitive_count();
        let left_out = self
            .place_model(&path, options, &transform, replacement, lights)
            .and_then(|left_out| {
                if self.geometry.primitive_count() > before {
                    return Ok(left_out);
                }
                let causes = match left_out.points {
                    0 => "its vertices and the scale",
                    _ => "its vertices, `scale` and `line_width`",
                };
                Err(format!("{}; check {causes}", left_out.problem()))
            })
            .map_err(|problem| {
                source.error(
                    object,
                    written.file,
                    format!("{}: {problem}", display_path(&path)),
                )
            })?;
        self.note_left_out(object, left_out);
        Ok(())
    }

    /// Adds a transformed model. Its file is read only once for equal `options`. Returns the numbers of its parts that
    /// were left out because they are too small.
    ///
    /// `replacement` is the index of a material that replaces the model's own ones, unless it is `None`. `lights` says
    /// whether to add the lights of the model.
    ///
    /// # Errors
    /// A one-line message without the file's name.
    fn place_model(
        &mut self,
        path: &Path,
        mut options: LoadOptions,
        transform: &DAffine3,
        replacement: Option<u32>,
        lights: bool,
    ) -> Result<LeftOut, String> {
        let canonical = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let key = (canonical, format!("{options:?}"));
        let ReadModel { model, first } = match self.models.entry(key) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(entry) => {
                let mut opened = ModelFile::open(path)?;
                let has_own_time = options.time.is_some();
                if !has_own_time && self.time.is_some() && opened.is_animated() {
                    options.time = self.time;
                    self.is_time_used = true;
                }
                let model = opened.read(&options)?;
                if !has_own_time {
                    let seconds = [self.animation_seconds, model.animation_seconds];
                    self.animation_seconds = seconds.into_iter().flatten().reduce(f64::max);
                }
                let file = display_path(path);
                let notes = model.notes.iter().map(|note| format!("{file}: {note}"));
                self.notes.extend(notes);
                entry.insert(ReadModel { model, first: None })
            }
        };
        if lights {
            for light in &model.lights {
                let light = light.scene_light(transform, self.geometry.origin)?;
                self.lights.push(light);
            }
        }
        let (materials, geometry) = (&mut self.materials, &mut self.geometry);
        if let Some(replacement) = replacement {
            return geometry.push_model(model, transform, |_| replacement, materials);
        }
        let first = match *first {
            Some(first) => first,
            None => *first.insert(materials.add_model(model, self.spp)?),
        };
        let own = |material| first + material as u32;
        geometry.push_model(model, transform, own, materials)
    }

    /// Adds a `DisplacedSphere`: as separate triangles, or as a mesh with one instance if its field `smooth` is `true`,
    /// because only meshes store normals. Fails with [`Error::Scene`].
    fn displaced_sphere(
        &mut self,
        object: &Object<'a>,
        written: &DisplacedSphereText,
    ) -> Result<(), Error> {
        let source = self.source;
        if source.flag(object, "smooth", written.smooth, false)? {
            return self.object_as_instance(object);
        }
        let sphere = read_displaced_sphere(source, object, written)?;
        let material = self.material(object, written.material)?;
        let before = self.geometry.triangles.len();
        let (low, high) = sphere.extent();
        self.geometry.parts.push(low, high, MANY_FACES);
        let flat = sphere
            .push(&mut self.geometry, material)
            .map_err(|problem| source.error(object, object.raw, problem))?;
        if self.geometry.triangles.len() == before {
            let problem = "has no triangle with an area; check `radius`, `rings` and `segments`";
            return Err(source.error(object, object.raw, problem));
        }
        self.note_flat(object, flat);
        Ok(())
    }

    /// Adds a warning if `flat`, the number of triangles that were left out because they have no area, is not 0.
    fn note_flat(&mut self, object: &Object, flat: u64) {
        let left_out = LeftOut {
            triangles: flat,
            ..LeftOut::default()
        };
        self.note_left_out(object, left_out);
    }

    /// Adds a warning for each kind of parts of an object of which some were left out because they are too small.
    fn note_left_out(&mut self, object: &Object, left_out: LeftOut) {
        for note in left_out.notes() {
            self.notes.push(format!("{}: {note}", object.name));
        }
    }
}

/// Returns the corners of the six faces of a cuboid that is rotated by `degrees` about +y. The corners of a face are
/// counter-clockwise seen from outside.
fn box_faces(center: DVec3, half_size: DVec3, degrees: f64) -> [[DVec3; 4]; 6] {
    let corner = |x, y, z| center + rotate_y(DVec3::new(x, y, z) * half_size, degrees);
    let [a, b, c, d] =
        [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| corner(x, y, 1.0));
    let [e, f, g, h] =
        [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| corner(x, y, -1.0));
    [
        [a, b, c, d],
        [f, e, h, g],
        [b, f, g, c],
        [e, a, d, h],
        [d, c, g, h],
        [e, f, b, a],
    ]
}

/// Reads the fields of a `Model` object that choose among what its file offers. Fails with [`Error::Scene`].
fn model_options(
    source: &SceneSource,
    object: &Object,
    written: &ModelText,
) -> Result<LoadOptions, Error> {
    let text = |field: &str, raw: Option<Raw>| {
        let name = |raw| source.field::<String>(object, field, raw, "a name in quotes", |_| true);
        raw.map(name).transpose()
    };
    let number = |field: &str, raw: Option<Raw>, expected: &str, valid: fn(f64) -> bool| {
        let number = |raw| source.number(object, field, raw, expected, valid);
        raw.map(number).transpose()
    };
    Ok(LoadOptions {
        variant: text("variant", written.variant)?,
        animation: text("animation", written.animation)?,
        time: number("time", written.time, "seconds", |_| true)?,
        line_width: number(
            "line_width",
            written.line_width,
            "metres above 0 and up to 1e8",
            |width| width > 0.0 && width <= MAX_LENGTH,
        )?,
        ..LoadOptions::default()
    })
}
