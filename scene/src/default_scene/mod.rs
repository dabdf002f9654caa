//! Makes a scene from a model that is loaded without a scene file, with a camera and default lighting.
//!
//! The camera is the model's own if it has one, and otherwise shows the whole model from the front right, slightly from
//! above. The lights are those of the model and a studio environment. A model with lights and a camera has a plain
//! backdrop instead of the studio.

mod extent;
mod light_balance;

use std::path::Path;

use glam::{DAffine3, DVec3, Vec3};

pub(crate) use self::extent::{DEFAULT_DIRECTION, Extent};
use self::light_balance::{Balance, balance, scale};
use crate::{
    EnvironmentFile, Error, LoadOptions,
    builder::{self, geometry::Geometry, materials::Materials, transform::Transform},
    files::display_path,
    image::environment_map::chosen_environment,
    limits::DEFAULT_ROULETTE,
    load_options::UpAxis,
    model::{Model, ModelCamera, ModelView},
    origin::Parts,
    scene::{
        Camera, Environment, Framing, Light, NamedCamera, PixelFilter, Projection, Scene, Timeline,
        Tone,
    },
    surroundings::Surroundings,
    view_options::projected,
};

/// Default width and height of the image in pixels. If the model's camera has an aspect ratio, only the height applies.
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
/// The camera, the exposure and the light of a model that is shown without a scene file. The frames of an animation
/// share them, so that the image does not flicker.
pub(crate) struct Staging {
    /// Value of [`Scene::origin`].
    origin: DVec3,
    /// Rule for the camera that shows the whole model; unused if a camera of the file is shown.
    whole: Framing,
    /// Centre of the model's bounding box in metres, in the coordinates of the file.
    center: DVec3,
    /// Distance in metres from `center` within which the model lies.
    radius: f64,
    /// Brightness of the model in the lights of its file; `None` without such light.
    balance: Option<Balance>,
}

impl Staging {
    /// Returns the staging for a model whose parts lie within `extent`, as `options` choose it.
    ///
    /// # Errors
    /// A one-line message if a light is not within 1e8 m of 0, or `options` does not fit the camera.
    pub(crate) fn new(
        model: &Model,
        extent: Extent,
        options: &LoadOptions,
    ) -> Result<Staging, String> {
        let (center, radius) = (extent.center(), extent.radius);
        let place = upright(options.up);
        let mut parts = Parts::default();
        model.add_parts(&place, &mut parts);
        let origin = parts.origin();
        let mut staging = Staging {
            origin,
            whole: Framing::Whole(extent.view(options, origin)),
            center,
            radius,
            balance: None,
        };
        let size = image_size(model, options);
        let camera = staging.framing(model, options)?.camera(size);
        let lights = scene_lights(model, options.up, origin)?;
        let place = DAffine3 {
            translation: place.translation - origin,
            ..place
        };
        staging.balance = balance(model, &lights, &camera, size, &place);
        Ok(staging)
    }

    /// Returns the framing of the model's own camera, or of the whole model if there is none or `options` choose a
    /// direction.
    ///
    /// # Errors
    /// A one-line message if `options` has an angle of view and the camera is orthographic.
    fn framing(&self, model: &Model, options: &LoadOptions) -> Result<Framing, String> {
        let Some(own) = file_camera(model, options) else {
            return Ok(self.whole.clone());
        };
        let camera = self.own_camera(own, options.up);
        // The width of an orthographic view is that at the middle of the model, if it is in front of the camera.
        let origin = camera.origin.as_dvec3();
        let forward = (camera.target.as_dvec3() - origin).normalize_or(DVec3::NEG_Z);
        let center = self.center - self.origin;
        let distance = (center - origin).dot(forward).max(self.radius);
        Ok(Framing::Camera {
            camera: projected(camera, options, distance)?,
            keeps_width: options.fov_degrees.is_some() && !options.orthographic,
        })
    }

    /// Returns the light from infinity around the model, which is seen by `camera` of `framing`.
    fn surroundings(
        &self,
        model: &Model,
        framing: &Framing,
        camera: &Camera,
        options: &LoadOptions,
    ) -> Surroundings {
        if let Some(file) = &options.environment {
            let stops = self.balance.map_or(0.0, |balance| balance.exposure_stops);
            return Surroundings::File(EnvironmentFile {
                scale: file.scale * libm::exp2f(-stops),
                ..file.clone()
            });
        }
        match &self.balance {
            Some(balance) if model.camera.is_some() => {
                Surroundings::Backdrop(Vec3::splat(BACKDROP * balance.white))
            }
            balance => {
                let scale = balance.map_or(1.0, |own| STUDIO_SCALE_WITH_LIGHTS * own.white);
                let viewer = match framing {
                    Framing::Whole(view) => view.to_camera(),
                    Framing::Camera { .. } => (camera.origin - camera.target).as_dvec3(),
                };
                Surroundings::studio(viewer, scale)
            }
        }
    }

    /// Converts a camera of the file, whose axis `up` points up, to that of a scene with a square image. The distance
    /// from the camera to its target becomes the radius of the model, so that an orbiting camera circles the model.
    fn own_camera(&self, camera: &ModelCamera, up: Option<UpAxis>) -> Camera {
        let transform = upright(up) * camera.transform;
        let axis = |axis: DVec3| transform.transform_vector3(axis).normalize_or(axis);
        let origin = transform.translation;
        let distance = self.radius.max(1e-3 * origin.abs().max_element()).max(1e-3);
        Camera {
            origin: (origin - self.origin).as_vec3(),
            target: (origin - self.origin + axis(DVec3::NEG_Z) * distance).as_vec3(),
            up: axis(DVec3::Y).as_vec3(),
            projection: match camera.view {
                ModelView::Perspective { yfov } => Projection::Perspective {
                    fov_degrees: yfov.to_degrees() as f32,
                },
                ModelView::Orthographic { half_height } => Projection::Orthographic {
                    width: (2.0 * half_height) as f32,
                },
            },
            shift: [0.0; 2],
            pixel_aspect: 1.0,
            lens: None,
            filter: PixelFilter::default(),
        }
    }
}

/// Returns the rotation that turns the axis of a file that points up to +y.
fn upright(up: Option<UpAxis>) -> DAffine3 {
    let transform = Transform {
        rotate_degrees: up.unwrap_or_default().rotate_degrees().into(),
        ..Transform::default()
    };
    transform.affine()
}

/// Returns the model's camera that is shown; `None` if it has none, or if `options` choose a direction instead.
fn file_camera<'m>(model: &'m Model, options: &LoadOptions) -> Option<&'m ModelCamera> {
    let own = model.camera.as_ref();
    own.filter(|_| options.camera_from.is_none())
}

/// Returns the width and height of the image in pixels: [`SIZE`], or its height with the aspect ratio of the model's
/// camera, which is clamped to 0.25..=4.
fn image_size(model: &Model, options: &LoadOptions) -> (u32, u32) {
    match file_camera(model, options).and_then(|camera| camera.aspect_ratio) {
        Some(ratio) => (
            (f64::from(SIZE.1) * ratio.clamp(0.25, 4.0)).round() as u32,
            SIZE.1,
        ),
        None => SIZE,
    }
}

/// Returns the lights of a model, whose axis `up` points up, as those of a scene around `origin`. Fails if one is not
/// within 1e8 m of 0.
fn scene_lights(model: &Model, up: Option<UpAxis>, origin: DVec3) -> Result<Vec<Light>, String> {
    let place = upright(up);
    let lights = model.lights.iter();
    lights
        .map(|light| light.scene_light(&place, origin))
        .collect()
}

/// Makes a scene with default settings, a camera and default lighting from the model of the file at `path`. Returns it
/// with the light from infinity, which is part of it.
///
/// # Errors
/// [`Error::File`] if all triangles and points of the model are too small, it is too bright or too large, or `options`
/// does not fit its camera.
pub(crate) fn scene(
    path: &Path,
    mut model: Model,
    staging: &Staging,
    options: &LoadOptions,
) -> Result<(Scene, Surroundings), Error> {
    let wrong = |problem: String| Error::File {
        file: display_path(path),
        problem,
    };
    let framing = staging.framing(&model, options).map_err(wrong)?;
    let size = image_size(&model, options);
    let camera = framing.camera(size);
    let cameras = std::mem::take(&mut model.cameras).into_iter();
    let cameras = cameras.map(|(name, camera)| NamedCamera {
        name,
        framing: Framing::Camera {
            camera: staging.own_camera(&camera, options.up),
            keeps_width: false,
        },
    });
    let cameras = cameras.collect();
    let mut lights = scene_lights(&model, options.up, staging.origin).map_err(wrong)?;
    let balance = staging.balance;
    if let Some(balance) = balance.filter(|balance| balance.light_scale != 1.0) {
        let factor = balance.light_scale;
        lights.iter_mut().for_each(|light| scale(light, factor));
    }
    let exposure_stops = balance.map_or(0.0, |balance| balance.exposure_stops);
    let surroundings = staging.surroundings(&model, &framing, &camera, options);
    let mut sky = Vec3::ZERO;
    match &surroundings {
        Surroundings::Studio {
            azimuth_degrees,
            scale,
        } => {
            let environment = Environment::studio(*azimuth_degrees, *scale);
            lights.push(Light::Environment(environment));
        }
        Surroundings::Backdrop(radiance) => sky = *radiance,
        Surroundings::File(file) => {
            let (light, notes) = chosen_environment(file, SPP)?;
            lights.push(light);
            model.notes.extend(notes);
        }
    }
    let background = options.background.unwrap_or_default();
    let (mut geometry, mut materials) = (Geometry::around(staging.origin), Materials::default());
    materials.add_model(&model, SPP).map_err(wrong)?;
    let own = |material| material as u32;
    let left_out = geometry
        .push_model(&mut model, &upright(options.up), own, &materials)
        .map_err(wrong)?;
    for note in left_out.notes() {
        model.note(note);
    }
    if geometry.primitive_count() == 0 {
        return Err(wrong(left_out.problem().to_owned()));
    }
    let mut scene = Scene {
        size,
        spp: SPP,
        max_bounces: MAX_BOUNCES,
        roulette: DEFAULT_ROULETTE,
        exposure_stops,
        tone: Tone::Neutral,
        framing: Some(framing),
        cameras,
        sky,
        background: background.at_exposure(exposure_stops),
        lights,
        timeline: model.animation_seconds.map(|seconds| Timeline {
            seconds,
            // A chosen animation is shown at 0 s.
            time: options.time.or(options.animation.as_ref().map(|_| 0.0)),
            animations: std::mem::take(&mut model.animations),
            lengths: std::mem::take(&mut model.animation_lengths),
            overlap: model.animations_overlap,
            chosen: model.chosen_animation,
        }),
        notes: std::mem::take(&mut model.notes),
        ..builder::scene(path, camera, geometry, materials)
    };
    let file = display_path(path);
    scene
        .notes
        .iter_mut()
        .for_each(|note| *note = format!("{file}: {note}"));
    Ok((scene, surroundings))
}
