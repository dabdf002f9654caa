//! The parts of a scene of another renderer, and the scene that is made of them.
//!
//! The readers `mitsuba` and `pbrt` fill an [`Imported`] scene. The submodules hold what both need: spectra, refractive
//! indices, shapes, materials and environment maps.

mod blends;
pub(crate) mod bump;
mod cie;
pub(crate) mod coat;
pub(crate) mod curves;
pub(crate) mod environment;
mod hidden_light;
pub(crate) mod materials;
pub(crate) mod media;
pub(crate) mod mesh_files;
mod notes;
pub(crate) mod projector;
pub(crate) mod refractive_indices;
pub(crate) mod shapes;
pub(crate) mod spectrum;
pub(crate) mod subdivision;
mod view;

pub(crate) use view::{Crop, View, ViewExtent};

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::Path,
};

use glam::{DAffine3, DMat3, DVec3, Vec3};

use crate::{
    Error, LoadOptions,
    builder::{self, geometry::Geometry, materials::Materials},
    default_scene::DEFAULT_DIRECTION,
    files::display_path,
    image::{environment_map::chosen_environment, texture_library::CoatBase},
    limits::{DEFAULT_ROULETTE, MIN_LENGTH, SAMPLE_LIMIT, check_brightness, check_size},
    load_options::UpAxis,
    memory::reserve_one,
    model::{
        DARK_SPOT, Model, ModelInstance, ModelMesh, check_position, flat_instances::is_visible,
    },
    origin::Parts,
    scene::{
        Background, Camera, Environment, Framing, Light, Medium, Outline, Scene, ViewAxes,
        WholeLens,
    },
    view_options::scene_camera,
};

/// Largest number of shapes of a scene, or of a group for instancing. An instance of a group counts as all of its
/// shapes.
pub(crate) const MAX_SHAPES: usize = 1 << 23;

/// A scene of another renderer while it is read.
pub(crate) struct Imported {
    /// Meshes, instances, materials, textures and warnings.
    pub(crate) model: Model,
    /// Spheres that are not meshes.
    pub(crate) spheres: Vec<ImportedSphere>,
    /// Lights that are not objects, without the environment map.
    pub(crate) lights: Vec<ImportedLight>,
    /// Environment map; `None` if there is none.
    pub(crate) environment: Option<Environment>,
    /// Constant radiance from all directions, W·sr⁻¹·m⁻² in linear sRGB.
    pub(crate) sky: Vec3,
    /// Medium around all bodies; `None` if there is none.
    pub(crate) fog: Option<Medium>,
    /// Camera; `None` if the file has none.
    pub(crate) view: Option<View>,
    /// Width and height of the image in pixels.
    pub(crate) size: (u32, u32),
    /// Samples per pixel, 1 or more.
    pub(crate) spp: u32,
    /// Maximum number of times that a path may scatter, 0 to 4096.
    pub(crate) max_bounces: u32,
    /// First scattering event at which roulette may end a path, 0..=4096; 0 if never.
    pub(crate) roulette: u32,
    /// Exposure of the displayed image in stops.
    pub(crate) exposure_stops: f32,
    /// Background that the file chooses.
    pub(crate) background: Background,
    /// Indices in the model of tessellated shapes, which equal shapes share.
    pub(crate) tessellated: HashMap<(Tessellated, bool), usize>,
    /// Indices in the model of the materials whose normal maps are bump maps, also of those that are parts of blends.
    pub(crate) bumped: HashSet<usize>,
    /// Bump maps of materials that are parts of blends, by the index of the material. They become normal maps in copies
    /// of the materials when the size of the surface is known.
    pub(crate) part_bumps: HashMap<u32, bump::Bump>,
    /// Index in the model of each copy of a blended material with its bump map as a normal map, by the index of the
    /// original and the bits of the surface's size.
    pub(crate) sized_parts: HashMap<(u32, [u32; 2]), u32>,
    /// Index in the model of each material for another size of its bump map, by the index of the material and the
    /// rounded size.
    pub(crate) scaled_bumps: HashMap<(usize, i32), usize>,
    /// Index in the model of each mesh with the other sign of its bitangents, by the index of the mesh.
    pub(crate) mirrored_meshes: HashMap<usize, usize>,
    /// Result of [`Imported::coat_base`] for each key of a coat.
    pub(crate) coat_bases: HashMap<[u32; 6], CoatBase>,
    /// Index in the model of each copy of a material whose back mirrors its front, by the index of the material.
    pub(crate) two_sided: HashMap<u32, u32>,
    /// Last part of the warning about mesh files that do not exist, with the name of the first; `None` if there is none.
    pub(crate) missing: HashMap<&'static str, String>,
    /// Warnings of [`Imported::note_each`], by their texts for several things.
    pub(crate) repeated: BTreeMap<&'static str, notes::RepeatedNote>,
    /// Number of objects with unknown parameters, and the parameters.
    pub(crate) unknown: (u64, BTreeSet<String>),
}

/// The properties on which the mesh of a tessellated shape depends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tessellated {
    /// Type of the shape.
    pub(crate) kind: &'static str,
    /// Bits of the parameters of the mesh.
    pub(crate) parameters: [u64; 3],
    /// Whether the front is turned to the back.
    pub(crate) flipped: bool,
    /// Whether the tangents are those of [`ModelMesh::add_right_handed_tangents`], and then its `mirrored`.
    pub(crate) right_handed: Option<bool>,
}

/// A sphere with its material.
pub(crate) struct ImportedSphere {
    /// Centre of the sphere in world space, metres.
    center: DVec3,
    /// Radius of the sphere in world space, metres, above 0.
    radius: f64,
    /// Index into the materials of the model.
    material: usize,
}

/// A light with its precise position.
pub(crate) struct ImportedLight {
    /// The light, whose position is ignored.
    light: Light,
    /// Position in world space, metres; 0 for a light without one.
    position: DVec3,
}

impl ImportedLight {
    /// Returns the light of a scene around `origin`.
    fn around(&self, origin: DVec3) -> Light {
        let mut light = self.light.clone();
        if let Light::Point { position, .. } | Light::Spot { position, .. } = &mut light {
            *position = (self.position - origin).as_vec3();
        }
        light
    }
}

/// Returns the length of the axes of a transform that turns and scales evenly; `None` for any other.
pub(crate) fn even_scale(transform: &DAffine3) -> Option<f64> {
    let axes = transform.matrix3;
    let length = axes.x_axis.length();
    let is_zero = |number: f64| number.abs() <= 1e-5 * length * length;
    let products = axes.transpose() * axes - DMat3::from_diagonal(DVec3::splat(length * length));
    products
        .to_cols_array()
        .into_iter()
        .all(is_zero)
        .then_some(length)
}

impl Default for Imported {
    fn default() -> Imported {
        Imported {
            model: Model::default(),
            spheres: Vec::new(),
            lights: Vec::new(),
            environment: None,
            sky: Vec3::ZERO,
            fog: None,
            view: None,
            size: (768, 576),
            spp: 64,
            max_bounces: 8,
            roulette: DEFAULT_ROULETTE,
            exposure_stops: 0.0,
            background: Background::Environment,
            tessellated: HashMap::new(),
            bumped: HashSet::new(),
            part_bumps: HashMap::new(),
            sized_parts: HashMap::new(),
            scaled_bumps: HashMap::new(),
            mirrored_meshes: HashMap::new(),
            coat_bases: HashMap::new(),
            two_sided: HashMap::new(),
            missing: HashMap::new(),
            repeated: BTreeMap::new(),
            unknown: (0, BTreeSet::new()),
        }
    }
}

impl Imported {
    /// Adds a warning for the user, unless an equal one exists.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.model.note(note.into());
    }

    /// Adds a light. `position` is its position in world space, metres; 0 for a light without one. Adds a warning for a
    /// spot light without a cone.
    pub(crate) fn push_light(&mut self, light: Light, position: DVec3) {
        if let Light::Spot { outer_degrees, .. } = light
            && outer_degrees <= 0.0
        {
            self.note(DARK_SPOT);
        }
        self.lights.push(ImportedLight { light, position });
    }

    /// Adds an instance of a mesh to a group, or to the scene if that is `None`. The scene leaves out an invisible one,
    /// scaled to a line or a point. Fails if the transform is not finite, or if there are too many instances.
    pub(crate) fn push_instance(
        &mut self,
        instance: ModelInstance,
        group: Option<&mut Vec<ModelInstance>>,
    ) -> Result<(), String> {
        let in_scene = group.is_none();
        let instances = group.unwrap_or(&mut self.model.instances);
        if in_scene && !instance.transform.is_finite() {
            return Err("has a transform that is not finite; correct its numbers".to_owned());
        }
        if instances.len() >= MAX_SHAPES {
            return Err(format!(
                "has more than {MAX_SHAPES} shapes; split the scene"
            ));
        }
        if !in_scene || is_visible(&instance.transform) {
            reserve_one(instances)?;
            instances.push(instance);
        }
        Ok(())
    }

    /// Adds a sphere around the origin of `transform`. Fails if its size is not finite and above 0, or if there are too
    /// many spheres.
    pub(crate) fn push_sphere(
        &mut self,
        transform: &DAffine3,
        radius: f64,
        material: usize,
    ) -> Result<(), String> {
        if self.spheres.len() >= MAX_SHAPES {
            return Err(format!(
                "has more than {MAX_SHAPES} spheres; split the scene"
            ));
        }
        if !(transform.is_finite() && radius > 0.0) {
            return Err("has no size that is finite and above 0; correct it".to_owned());
        }
        self.spheres.push(ImportedSphere {
            center: transform.translation,
            radius,
            material,
        });
        Ok(())
    }

    /// Returns whether a material needs texture coordinates: it has a texture or is anisotropic.
    pub(crate) fn is_textured(&self, material: usize) -> bool {
        self.model.needs_uvs(&self.model.materials[material])
    }

    /// Adds a mesh and returns its index. A mesh without normals gets those of its triangles if the material needs
    /// tangents, as for a normal map. Fails if memory does not suffice.
    pub(crate) fn push_mesh(
        &mut self,
        mut mesh: ModelMesh,
        material: usize,
    ) -> Result<usize, String> {
        let material = &self.model.materials[material];
        if mesh.normals.is_none() && self.model.needs_tangents(material) {
            mesh.facet()?;
        }
        Ok(self.model.push_mesh(mesh))
    }

    /// Adds the mesh of a tessellated shape like [`Imported::push_mesh`], or returns the index of an equal one.
    pub(crate) fn push_tessellated(
        &mut self,
        shape: Tessellated,
        mesh: ModelMesh,
        material: usize,
    ) -> Result<usize, String> {
        let needs_tangents = self.model.needs_tangents(&self.model.materials[material]);
        let key = (shape, needs_tangents);
        if let Some(&known) = self.tessellated.get(&key) {
            return Ok(known);
        }
        let index = self.push_mesh(mesh, material)?;
        self.tessellated.insert(key, index);
        Ok(index)
    }

    /// Makes the scene of the file at `path`, with the camera, the environment and the background that `options`
    /// choose.
    ///
    /// # Errors
    /// [`Error::File`] if nothing is visible, or something is too large, too bright or too far away. Also if `options`
    /// do not fit the camera.
    pub(crate) fn into_scene(mut self, path: &Path, options: &LoadOptions) -> Result<Scene, Error> {
        let file = display_path(path);
        let wrong = |problem: String| Error::File {
            file: file.clone(),
            problem,
        };
        check_size(self.size)
            .map_err(|problem| wrong(format!("its image size {:?} {problem}", self.size)))?;
        self.note_clipped();
        if self.view.as_ref().is_some_and(View::is_sheared) {
            self.note("approximated: the camera, whose axes are not perpendicular");
        }
        self.finish_repeated();
        self.model.finish_notes();
        let of_view = || self.view.as_ref().map(View::up_axis);
        let up = options
            .up
            .or_else(|| of_view().filter(|_| options.need_vertical()));
        self.turn_upright(up.unwrap_or_default());
        let depth = self.depth();
        self.model.bake_flat_instances().map_err(wrong)?;
        self.model.merge_meshes().map_err(wrong)?;
        let mirror = self.view.as_ref().is_some_and(View::is_mirrored);
        if mirror {
            self.mirror();
        }
        let place = match mirror {
            true => DAffine3::from_mat3(MIRROR),
            false => DAffine3::IDENTITY,
        };
        let origin = self.origin(&place);
        let (camera, framing) = self.camera(depth, options, origin).map_err(wrong)?;
        let mut chosen = None;
        if let Some(file) = &options.environment {
            let (light, notes) = chosen_environment(file, self.spp)?;
            notes.into_iter().for_each(|note| self.note(note));
            (chosen, self.environment, self.sky) = (Some(light), None, Vec3::ZERO);
        }
        let (mut geometry, mut materials) = (Geometry::around(origin), Materials::default());
        materials.add_model(&self.model, self.spp).map_err(wrong)?;
        let left_out = geometry
            .push_model(&mut self.model, &place, |index| index as u32, &materials)
            .map_err(wrong)?;
        for sphere in &self.spheres {
            let far = sphere.center.abs().max_element() + sphere.radius;
            check_position(DVec3::splat(far), "a sphere").map_err(wrong)?;
            let radius = sphere.radius.max(MIN_LENGTH) as f32;
            geometry
                .push_sphere(sphere.center, radius, sphere.material as u32)
                .map_err(wrong)?;
        }
        for note in left_out.notes() {
            self.note(note);
        }
        if geometry.primitive_count() == 0 {
            let remedy = match self.model.notes.is_empty() {
                true => "add one",
                false => "correct its file",
            };
            let problem = format!("has no shape that can be shown; {remedy}");
            return Err(wrong(problem).with_notes(&self.model.notes));
        }
        check_brightness(self.sky.max_element(), self.spp).map_err(wrong)?;
        let mut lights = Vec::new();
        for light in &self.lights {
            check_light(light).map_err(wrong)?;
            lights.push(light.around(origin));
        }
        lights.extend(self.environment.take().map(Light::Environment).or(chosen));
        let background = options.background.unwrap_or(self.background);
        let prefix = |note: &String| format!("{file}: {note}");
        Ok(Scene {
            size: self.size,
            spp: self.spp,
            max_bounces: self.max_bounces,
            roulette: self.roulette,
            exposure_stops: self.exposure_stops,
            framing,
            sky: self.sky,
            fog: self.fog.and_then(media::fog),
            background: background.at_exposure(self.exposure_stops),
            lights,
            notes: self.model.notes.iter().map(prefix).collect(),
            ..builder::scene(path, camera, geometry, materials)
        })
    }

    /// Adds a warning for each clipping plane of the camera that would hide something in its view.
    fn note_clipped(&mut self) {
        let view = self.view.as_ref();
        let Some(view) = view.and_then(|view| view.clipped(self.size)) else {
            return;
        };
        let spheres = (self.spheres.iter()).map(|sphere| (sphere.center, sphere.radius));
        let clips = self.model.clipped_by(&view, spheres);
        let planes = [("near_clip", "before"), ("far_clip", "beyond")];
        for (clips, (name, place)) in clips.into_iter().zip(planes) {
            if clips {
                self.note(format!(
                    "not used: {name}, so that shapes {place} that distance are visible"
                ));
            }
        }
    }

    /// Returns the median depth in metres of the shapes in front of the camera, within 45° of its axis. Returns `None`
    /// if there are none or the file has no camera.
    fn depth(&self) -> Option<f64> {
        let view = self.view.as_ref()?;
        let forward = view.forward.try_normalize()?;
        let meshes = self.model.instances.iter().map(|instance| {
            let [low, .., high] = self.model.meshes[instance.mesh].corners();
            let center = (low.as_dvec3() + high.as_dvec3()) / 2.0;
            instance.transform.transform_point3(center)
        });
        let centers = meshes.chain(self.spheres.iter().map(|sphere| sphere.center));
        let depths = centers.filter_map(|center| {
            let depth = (center - view.origin).dot(forward);
            (depth > 0.0 && depth > 0.7 * center.distance(view.origin)).then_some(depth)
        });
        let mut depths: Vec<f64> = depths.collect();
        if depths.is_empty() {
            return None;
        }
        let middle = (depths.len() - 1) / 2;
        Some(*depths.select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    /// Returns the origin that suits the shapes. `place` transforms the model, and the spheres are in place already.
    fn origin(&self, place: &DAffine3) -> DVec3 {
        let mut parts = Parts::default();
        self.model.add_parts(place, &mut parts);
        for sphere in &self.spheres {
            parts.push(
                sphere.center - sphere.radius,
                sphere.center + sphere.radius,
                1,
            );
        }
        parts.origin()
    }

    /// Returns the camera, and the rule for it if the file has none, for a scene around `origin`. `depth` is that of the
    /// shapes in its view. Fails if the camera is degenerate, or `options` have an angle of view and it is orthographic.
    fn camera(
        &self,
        depth: Option<f64>,
        options: &LoadOptions,
        origin: DVec3,
    ) -> Result<(Camera, Option<Framing>), String> {
        if let Some(view) = &self.view {
            return Ok((
                scene_camera(view.camera(depth, origin)?, options, origin)?,
                None,
            ));
        }
        let from = options.camera_from.unwrap_or(DEFAULT_DIRECTION);
        let axes = ViewAxes::new(from.azimuth_degrees, from.elevation_degrees);
        let mut outline = Outline::new(axes);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let mut push = |point: DVec3| {
            (low, high) = (low.min(point), high.max(point));
            outline.push(point);
        };
        for instance in &self.model.instances {
            for corner in self.model.meshes[instance.mesh].corners() {
                push(instance.transform.transform_point3(corner.as_dvec3()));
            }
        }
        for sphere in &self.spheres {
            for axis in [axes.right, axes.up, axes.back] {
                push(sphere.center - axis * sphere.radius);
                push(sphere.center + axis * sphere.radius);
            }
        }
        if self.model.instances.is_empty() && self.spheres.is_empty() {
            push(DVec3::NEG_ONE);
            push(DVec3::ONE);
        }
        let lens = WholeLens {
            orthographic: options.orthographic,
            fov_degrees: options.fov_degrees,
            distance: from.distance,
            turntable: options.turntable,
        };
        let framing = Framing::Whole(outline.view((low + high) / 2.0, lens, origin));
        Ok((framing.camera(self.size), Some(framing)))
    }

    /// Turns everything so that the axis `up` becomes +y. Does nothing for +y.
    fn turn_upright(&mut self, up: UpAxis) {
        if up == UpAxis::Y {
            return;
        }
        let turn = up.to_y();
        if let Some(view) = &mut self.view {
            for vector in view.vectors() {
                *vector = turn * *vector;
            }
        }
        for instance in &mut self.model.instances {
            instance.transform = DAffine3::from_mat3(turn) * instance.transform;
        }
        for sphere in &mut self.spheres {
            sphere.center = turn * sphere.center;
        }
        // Its numbers are 0, 1 and -1.
        let turn_f32 = turn.as_mat3();
        for ImportedLight { light, position } in &mut self.lights {
            *position = turn * *position;
            if let Light::Spot { direction, .. } | Light::Directional { direction, .. } = light {
                *direction = turn_f32 * *direction;
            }
        }
        if let Some(environment) = &mut self.environment {
            *environment = environment::rotated(environment, turn.transpose());
        }
    }

    /// Mirrors camera, lights and spheres at the plane x = 0. The camera of a scene cannot mirror its image, but an
    /// image of the mirrored scene is the mirrored image.
    fn mirror(&mut self) {
        if let Some(view) = &mut self.view {
            for vector in view.vectors() {
                *vector = MIRROR * *vector;
            }
        }
        for sphere in &mut self.spheres {
            sphere.center = MIRROR * sphere.center;
        }
        for ImportedLight { light, position } in &mut self.lights {
            position.x = -position.x;
            if let Light::Spot { direction, .. } | Light::Directional { direction, .. } = light {
                direction.x = -direction.x;
            }
        }
        if let Some(environment) = &mut self.environment {
            environment::mirror(environment);
        }
    }
}

/// Mirrors at the plane x = 0.
const MIRROR: DMat3 = DMat3::from_cols(DVec3::NEG_X, DVec3::Y, DVec3::Z);

/// Fails if a light has a channel of 2²⁴ or more or a coordinate beyond 1e8 m, or a spot or directional light has no
/// direction. An environment always passes, because it is checked when it is made.
fn check_light(ImportedLight { light, position }: &ImportedLight) -> Result<(), String> {
    let (strength, direction) = match light {
        Light::Point { intensity, .. } => (*intensity, Vec3::X),
        Light::Spot {
            direction,
            intensity,
            ..
        } => (*intensity, *direction),
        Light::Directional {
            direction,
            irradiance,
            ..
        } => (*irradiance, *direction),
        Light::Environment(_) => return Ok(()),
    };
    check_position(*position, "a light")?;
    if !direction.length_squared().is_normal() {
        return Err("a light has no direction; give it one".to_owned());
    }
    match strength.max_element() < SAMPLE_LIMIT && strength.is_finite() {
        true => Ok(()),
        false => Err(format!(
            "a light of {} is too bright for the film; expected less than {SAMPLE_LIMIT}",
            strength.max_element()
        )),
    }
}

impl Error {
    /// Adds one of `notes` to the message of a file that shows nothing: the first that reports a missing shape, or
    /// otherwise the first one.
    fn with_notes(self, notes: &[String]) -> Error {
        let note = notes.iter().find(|note| note.starts_with("not shown"));
        match (self, note.or(notes.first())) {
            (Error::File { file, problem }, Some(note)) => Error::File {
                file,
                problem: format!("{problem} ({note})"),
            },
            (error, _) => error,
        }
    }
}
