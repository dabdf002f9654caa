//! Makes a scene from a model that is loaded without a scene file, with a camera and default lighting.
//!
//! The camera is the model's own if it has one, and otherwise shows the whole model from the front right, slightly from
//! above. The lights are those of the model and a studio environment. A model with lights and a camera has a plain
//! backdrop instead of the studio. Imports `builder`, `model`, `scene` and what they import.

mod light_balance;
mod lighting;

use std::{path::Path, sync::Arc};

use glam::{DAffine3, DVec3, Vec3};

use self::{
    light_balance::{Balance, balance, scale},
    lighting::default_environment,
};
use crate::{
    Error,
    builder::{geometry::Geometry, materials::Materials},
    files::display_path,
    model::{Model, ModelCamera, ModelView},
    scene::{
        Camera, DirectLight, Framing, Light, NamedCamera, PixelFilter, Projection, Scene, Tone,
    },
};

/// Width and height of the image in pixels. If the model's camera has an aspect ratio, the width follows from that.
const SIZE: (u32, u32) = (960, 540);
/// Value of `Scene::spp`: the number of samples per pixel.
const SPP: u32 = 64;
/// Value of `Scene::max_bounces`: the largest number of times that a path may scatter.
const MAX_BOUNCES: u32 = 8;

/// Factor of the default lighting if the model has lights, relative to the radiance of a white surface in these.
/// Without lights the factor is 1.
const STUDIO_SCALE_WITH_LIGHTS: f32 = 0.3;
/// Radiance of the backdrop of a model with lights and a camera, relative to that of a white surface in these lights.
/// It keeps shadows from being black.
const BACKDROP: f32 = 0.12;
/// Largest product of a mesh's vertices and the model's instances for which the size of the model is computed from each
/// vertex. Beyond that the corners of the mesh's bounding box are used.
const MAX_FRAMED_POINTS: usize = 1 << 26;

/// The camera, the exposure and the light of a model that is shown without a scene file. The frames of an animation
/// share them, so that the image does not flicker.
pub(crate) struct Staging {
    /// Rule for the camera that shows the whole model; unused for a model that has a camera.
    framing: Framing,
    /// Brightness of the model in the lights of its file; `None` without such light.
    balance: Option<Balance>,
}

impl Staging {
    /// Returns the staging for a model whose parts lie within `extent` and which has a camera or not. Fails if a light
    /// is not within 1e8 m of 0.
    pub(crate) fn new(model: &Model, extent: &Extent) -> Result<Staging, String> {
        let framing = Framing::Around {
            center: extent.center().as_vec3(),
            half_size: extent.half_size().as_vec3(),
            radius: extent.radius as f32,
        };
        let size = image_size(model);
        let camera = framing_of(model, framing, extent.radius).camera(size);
        Ok(Staging {
            framing,
            balance: balance(model, &scene_lights(model)?, &camera, size),
        })
    }
}

/// Returns the width and height of the image in pixels, which follow the aspect ratio of the model's camera.
fn image_size(model: &Model) -> (u32, u32) {
    match model.camera.and_then(|camera| camera.aspect_ratio) {
        Some(ratio) => (
            (f64::from(SIZE.1) * ratio.clamp(0.25, 4.0)).round() as u32,
            SIZE.1,
        ),
        None => SIZE,
    }
}

/// Returns the framing of the model's own camera, or `whole` if it has none. `radius` is that of the model in metres.
fn framing_of(model: &Model, whole: Framing, radius: f64) -> Framing {
    match &model.camera {
        Some(camera) => framing_of_camera(camera, radius),
        None => whole,
    }
}

/// Returns the lights of the model as those of a scene. Fails if one is not within 1e8 m of 0.
fn scene_lights(model: &Model) -> Result<Vec<Light>, String> {
    let lights = model.lights.iter();
    lights
        .map(|light| light.scene_light(&DAffine3::IDENTITY))
        .collect()
}

/// Makes a scene with default settings, a camera and default lighting from the model of the file at `path`.
///
/// # Errors
/// [`Error::File`] if the model has no triangle with an area, or is too bright or too large.
pub(crate) fn scene(path: &Path, mut model: Model, staging: &Staging) -> Result<Scene, Error> {
    let wrong = |problem: String| Error::File {
        file: display_path(path),
        problem,
    };
    let Framing::Around { radius, .. } = staging.framing else {
        return Err(wrong("has no extent".to_owned()));
    };
    let framing = framing_of(&model, staging.framing, radius.into());
    let size = image_size(&model);
    let camera = framing.camera(size);
    let cameras = std::mem::take(&mut model.cameras).into_iter();
    let cameras = cameras.map(|(name, camera)| NamedCamera {
        name,
        framing: framing_of_camera(&camera, radius.into()),
    });
    let cameras = cameras.collect();
    let mut lights = scene_lights(&model).map_err(wrong)?;
    let balance = staging.balance;
    if let Some(balance) = balance.filter(|balance| balance.light_scale != 1.0) {
        let factor = balance.light_scale;
        lights.iter_mut().for_each(|light| scale(light, factor));
    }
    let mut sky = Vec3::ZERO;
    match &balance {
        Some(balance) if model.camera.is_some() => sky = Vec3::splat(BACKDROP * balance.white),
        _ => {
            let own = balance.as_ref();
            let scale = own.map_or(1.0, |own| STUDIO_SCALE_WITH_LIGHTS * own.white);
            let viewer = (camera.origin - camera.target).as_dvec3();
            lights.push(Light::Environment(default_environment(viewer, scale)));
        }
    }
    let exposure_stops = balance.map_or(0.0, |balance| balance.exposure_stops);
    let (mut geometry, mut materials) = (Geometry::default(), Materials::default());
    materials.add_model(&model, SPP).map_err(wrong)?;
    let own = |material| material as u32;
    let flat = geometry
        .push_model(&mut model, &DAffine3::IDENTITY, own, &materials)
        .map_err(wrong)?;
    if flat > 0 {
        model.note(format!("{flat} triangles without area are left out"));
    }
    if geometry.primitive_count() == 0 {
        return Err(wrong("has no triangle with an area".to_owned()));
    }
    let mut scene = Scene {
        path: path.to_owned(),
        size,
        spp: SPP,
        max_bounces: MAX_BOUNCES,
        seed: 0,
        clamp_indirect: None,
        exposure_stops,
        tone: Tone::Neutral,
        camera,
        framing: Some(framing),
        cameras,
        sky,
        direct_light: DirectLight::Both,
        lights,
        materials: materials.surfaces,
        material_names: materials.display_names,
        maps: materials.maps,
        textures: materials.library.textures,
        images: materials.library.images,
        triangles: Arc::new(geometry.triangles),
        spheres: Arc::new(geometry.spheres),
        meshes: Arc::new(geometry.meshes),
        instances: Arc::new(geometry.instances),
        notes: std::mem::take(&mut model.notes),
        files: Vec::new(),
    };
    let file = display_path(path);
    scene
        .notes
        .iter_mut()
        .for_each(|note| *note = format!("{file}: {note}"));
    Ok(scene)
}

/// Makes the framing for a model's own camera. `extent` is the radius of the model in metres, which becomes the
/// distance from the camera to its target.
fn framing_of_camera(camera: &ModelCamera, extent: f64) -> Framing {
    let axis = |axis: DVec3| camera.transform.transform_vector3(axis).normalize_or(axis);
    let origin = camera.transform.translation;
    // The target is as far away as the model is large, so that an orbiting camera circles the model.
    let distance = extent.max(1e-3 * origin.abs().max_element()).max(1e-3);
    Framing::Camera {
        camera: Camera {
            origin: origin.as_vec3(),
            target: (origin + axis(DVec3::NEG_Z) * distance).as_vec3(),
            up: axis(DVec3::Y).as_vec3(),
            projection: match camera.view {
                ModelView::Perspective { yfov } => Projection::Perspective {
                    fov_degrees: yfov.to_degrees() as f32,
                },
                ModelView::Orthographic { half_height } => Projection::Orthographic {
                    width: (2.0 * half_height) as f32,
                },
            },
            lens: None,
            filter: PixelFilter::default(),
        },
    }
}

/// The extent of a model, or of a model at several times.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// Corner of the bounding box with the smallest coordinates, in metres.
    low: DVec3,
    /// Corner of the bounding box with the largest coordinates, in metres.
    high: DVec3,
    /// Distance in metres from the centre of the box within which all vertices lie.
    radius: f64,
}

impl Extent {
    /// Returns the extent of a model.
    pub(crate) fn of(model: &Model) -> Extent {
        let points = |of: &mut dyn FnMut(DVec3)| {
            for instance in &model.instances {
                let mesh = &model.meshes[instance.mesh];
                let mut take =
                    |point: &Vec3| of(instance.transform.transform_point3(point.as_dvec3()));
                if model.instances.len().saturating_mul(mesh.positions.len()) <= MAX_FRAMED_POINTS {
                    mesh.positions.iter().for_each(&mut take);
                } else {
                    mesh.corners().iter().for_each(&mut take);
                }
            }
        };
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        points(&mut |point| (low, high) = (low.min(point), high.max(point)));
        let center = (low + high) / 2.0;
        let mut farthest: f64 = 0.0;
        points(&mut |point| farthest = farthest.max(point.distance_squared(center)));
        let radius = farthest.sqrt();
        Extent { low, high, radius }
    }

    /// Returns the extent of both: the box around both boxes, and half its diagonal as radius.
    pub(crate) fn union(self, other: Extent) -> Extent {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        let radius = (high - low).length() / 2.0;
        Extent { low, high, radius }
    }

    /// Returns the centre of the bounding box.
    fn center(&self) -> DVec3 {
        (self.low + self.high) / 2.0
    }

    /// Returns half the lengths of the bounding box's edges.
    fn half_size(&self) -> DVec3 {
        (self.high - self.low) / 2.0
    }
}
