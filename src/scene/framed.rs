//! A model on its own: framed and lit.
//!
//! It is seen by its file's own camera if it has one, else from three quarters, a little from above; in the light of a
//! studio, and of its file's lights.

use std::{path::Path, sync::Arc};

use glam::{DAffine3, DVec3, Vec3};

use super::{
    Camera, DirectLight, Light, PixelFilter, Projection, Scene,
    camera::fov_degrees,
    geometry::Geometry,
    materials::Materials,
    mesh,
    model::{Model, ModelCamera, ModelView},
    source::shown,
    studio::studio,
};
use crate::{Error, math::luminance, tone::Tone};

const SIZE: (u32, u32) = (960, 540);
const SPP: u32 = 64;
const MAX_BOUNCES: u32 = 8;

/// Seen from 35° to the right of +z, 20° above it.
const FROM: DVec3 = DVec3::new(0.539, 0.342, 0.7698);
/// Of half the angle of view along the picture's shorter side: 14°.
const TAN_HALF_FOV: f64 = 0.2493;
/// Room around the model, over its size.
const MARGIN: f64 = 1.06;
/// How bright the studio is beside lights of the file's own.
const BESIDE_LIGHTS: f32 = 0.3;
/// Points times instances up to which each is looked at to frame them, instead of the boxes around them.
const EACH_POINT: usize = 1 << 26;

/// How a model's picture follows its size: whatever that is, it shows the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Framing {
    /// The whole of what is both in a box and in a ball about its middle, from three quarters.
    Around {
        /// Metres.
        center: Vec3,
        /// Half the box's edges along x, y and z, metres.
        half_size: Vec3,
        /// The ball's, metres.
        radius: f32,
    },
    /// What the file's own camera sees.
    Camera {
        /// The camera, for a picture as high as wide.
        camera: Camera,
    },
}

impl Framing {
    /// The camera for a picture of this size.
    pub fn camera(&self, (width, height): (u32, u32)) -> Camera {
        let aspect_ratio = f64::from(width) / f64::from(height.max(1));
        match *self {
            Framing::Around {
                center,
                half_size,
                radius,
            } => {
                let tan_half_width = TAN_HALF_FOV * aspect_ratio.max(1.0);
                let tan_half_height = tan_half_width / aspect_ratio;
                let right = DVec3::Y.cross(FROM).normalize();
                let up = FROM.cross(right);
                // As far away as each corner is within the picture, or all of the ball.
                let box_distance = (0..8).fold(0.0, |distance: f64, corner| {
                    let sign = |axis: u32| if corner >> axis & 1 == 0 { -1.0 } else { 1.0 };
                    let corner = half_size.as_dvec3() * DVec3::new(sign(0), sign(1), sign(2));
                    let aside = (corner.dot(right).abs() / tan_half_width)
                        .max(corner.dot(up).abs() / tan_half_height);
                    distance.max(corner.dot(FROM) + MARGIN * aside)
                });
                let sine = TAN_HALF_FOV / (1.0 + TAN_HALF_FOV * TAN_HALF_FOV).sqrt();
                let distance = box_distance.min(f64::from(radius) * MARGIN / sine);
                Camera {
                    origin: (center.as_dvec3() + FROM * distance).as_vec3(),
                    target: center,
                    up: Vec3::Y,
                    projection: Projection::Perspective {
                        fov_degrees: fov_degrees(tan_half_width),
                    },
                    lens: None,
                    filter: PixelFilter::default(),
                }
            }
            Framing::Camera { camera } => camera.widened(aspect_ratio),
        }
    }

    fn of(camera: &ModelCamera, extent: f64) -> Framing {
        let axis = |axis: DVec3| camera.transform.transform_vector3(axis).normalize_or(axis);
        let origin = camera.transform.translation;
        // A point to look at, as far away as the model is large: so the window's orbit leads around it.
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
}

/// The scene of a model's file.
pub(super) fn scene(path: &Path) -> Result<Scene, Error> {
    let wrong = |problem: String| Error::File {
        file: shown(path),
        problem,
    };
    let mut model = mesh::read_model(path).map_err(wrong)?;
    let (center, half_size, radius) = extent(&model);
    let (mut geometry, mut materials) = (Geometry::default(), Materials::default());
    materials.adopt(&model, SPP).map_err(wrong)?;
    let own = |material| material as u32;
    let flat = geometry
        .push_model(&mut model, &DAffine3::IDENTITY, own, &materials)
        .map_err(wrong)?;
    if flat > 0 {
        model.note(format!("{flat} triangles without area are left out"));
    }
    if geometry.standing() == 0 {
        return Err(wrong("has no triangle with an area".to_owned()));
    }
    let mut lights = model
        .lights
        .iter()
        .map(|light| light.placed(&DAffine3::IDENTITY))
        .collect::<Result<Vec<_>, _>>()
        .map_err(wrong)?;
    let irradiance = lights.iter().map(|light| irradiance(light, center));
    let exposure_stops = (irradiance.sum::<f64>() / std::f64::consts::PI).max(1.0);
    let exposure_stops = -libm::log2(exposure_stops).min(32.0) as f32;
    let framing = match &model.camera {
        Some(camera) => Framing::of(camera, radius),
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
    let scale = if lights.is_empty() {
        1.0
    } else {
        BESIDE_LIGHTS
    };
    let viewer = (camera.origin - camera.target).as_dvec3();
    lights.push(Light::Environment(studio(viewer, scale)));
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
        sky: Vec3::ZERO,
        direct_light: DirectLight::Both,
        lights,
        materials: materials.surfaces,
        material_names: materials.titles,
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
    let file = shown(path);
    scene
        .notes
        .iter_mut()
        .for_each(|note| *note = format!("{file}: {note}"));
    Ok(scene)
}

/// The middle of the box around the model, half its edges, and the farthest that anything is from there.
fn extent(model: &Model) -> (DVec3, DVec3, f64) {
    let points = |of: &mut dyn FnMut(DVec3)| {
        for instance in &model.instances {
            let mesh = &model.meshes[instance.mesh];
            let mut take = |point: &Vec3| of(instance.transform.transform_point3(point.as_dvec3()));
            if model.instances.len().saturating_mul(mesh.positions.len()) <= EACH_POINT {
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

/// What a light without a size gives a surface at a point that faces it.
fn irradiance(light: &Light, point: DVec3) -> f64 {
    match *light {
        Light::Point {
            position,
            intensity,
        }
        | Light::Spot {
            position,
            intensity,
            ..
        } => {
            let distance2 = position.as_dvec3().distance_squared(point);
            f64::from(luminance(intensity)) / distance2.max(1e-12)
        }
        Light::Directional { irradiance, .. } => luminance(irradiance).into(),
        Light::Environment(_) => 0.0,
    }
}
