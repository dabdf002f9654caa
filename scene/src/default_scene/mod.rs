//! Makes a scene from a model that is loaded without a scene file, with a camera and default lighting.
//!
//! The camera is the model's own if it has one, and otherwise shows the whole model from the front right, slightly from
//! above. The lights are those of the model and a studio environment. A model with lights and a camera has a plain
//! backdrop instead of the studio. Imports `model_file`, `builder`, `model`, `scene` and what they import.

mod light_balance;
mod lighting;

use std::{path::Path, sync::Arc};

use glam::{DAffine3, DVec3, Vec3};

use self::{light_balance::balance, lighting::default_environment};
use crate::{
    Error,
    builder::{geometry::Geometry, materials::Materials},
    files::display_path,
    model::{Model, ModelCamera, ModelView},
    model_file,
    scene::{Camera, DirectLight, Framing, Light, PixelFilter, Projection, Scene, Tone},
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

/// Loads a model file as a scene with default settings, a camera and default lighting.
///
/// # Errors
/// [`Error::File`] if the model cannot be read, is invalid, has no triangle with an area, or is too bright or too
/// large.
pub(crate) fn scene(path: &Path) -> Result<Scene, Error> {
    let wrong = |problem: String| Error::File {
        file: display_path(path),
        problem,
    };
    let mut model = model_file::read_model(path).map_err(wrong)?;
    let (center, half_size, radius) = extent(&model);
    let framing = match &model.camera {
        Some(camera) => framing_of_camera(camera, radius),
        None => Framing::Around {
            center: center.as_vec3(),
            half_size: half_size.as_vec3(),
            radius: radius as f32,
        },
    };
    let size = match model.camera.and_then(|camera| camera.aspect_ratio) {
        Some(ratio) => (
            (f64::from(SIZE.1) * ratio.clamp(0.25, 4.0)).round() as u32,
            SIZE.1,
        ),
        None => SIZE,
    };
    let camera = framing.camera(size);
    let mut lights = model
        .lights
        .iter()
        .map(|light| light.scene_light(&DAffine3::IDENTITY))
        .collect::<Result<Vec<_>, _>>()
        .map_err(wrong)?;
    let balance = balance(&model, &mut lights, &camera, size);
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

/// Returns the centre of the model's bounding box, half the lengths of its edges, and the largest distance of a vertex
/// from that centre, all in metres.
fn extent(model: &Model) -> (DVec3, DVec3, f64) {
    let points = |of: &mut dyn FnMut(DVec3)| {
        for instance in &model.instances {
            let mesh = &model.meshes[instance.mesh];
            let mut take = |point: &Vec3| of(instance.transform.transform_point3(point.as_dvec3()));
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
    (center, (high - low) / 2.0, farthest.sqrt())
}
