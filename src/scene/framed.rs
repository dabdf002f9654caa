//! A model on its own: framed and lit.
//!
//! Its file's own camera if it has one; else from three quarters, a little from above, with a floor under it. Where the
//! file has no lights there is an even sky, and without a camera of its own a large lamp beside the one that looks.

use std::path::Path;

use glam::{DAffine3, DVec3, Vec3};

use super::{
    Camera, DirectLight, PixelFilter, Scene, Surface, Triangle,
    geometry::Geometry,
    materials::Materials,
    mesh,
    model::{Model, ModelCamera},
    source::shown,
};
use crate::{Error, tone::Tone};

const SIZE: (u32, u32) = (960, 540);
const SPP: u32 = 64;
const MAX_BOUNCES: u32 = 8;

/// Seen from 35° to the right of +z, 20° above it.
const FROM: DVec3 = DVec3::new(0.539, 0.342, 0.7698);
/// Of half the angle of view along the picture's shorter side: 14°.
const TAN_HALF_FOV: f64 = 0.2493;
/// Room around the model, over its radius.
const MARGIN: f64 = 1.03;
/// The lamp stands 40° to the left of +z, 50° above it, so many radii away; its edges are three radii long.
const LAMP: DVec3 = DVec3::new(-0.4132, 0.766, 0.4924);
const LAMP_DISTANCE: f64 = 5.0;
const LAMP_EDGE: f64 = 3.0;
const LAMP_RADIANCE: f32 = 6.0;
const SKY: Vec3 = Vec3::splat(0.6);
/// Where the file has lights of its own.
const SKY_BESIDE_LIGHTS: Vec3 = Vec3::splat(0.2);
const FLOOR_ALBEDO: Vec3 = Vec3::splat(0.5);
/// Half an edge of the floor over the model's radius.
const FLOOR: f64 = 100.0;
/// A model that is larger stands in the sky: its floor would not have a place.
const FLOOR_LIMIT: f64 = 1e5;
/// Points times instances up to which each is looked at to frame them, instead of the boxes around them.
const EACH_POINT: usize = 1 << 26;

/// How a model's picture follows its size: whatever that is, it shows the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Framing {
    /// The whole of a ball, from three quarters.
    Around {
        /// Metres.
        center: Vec3,
        /// Metres.
        radius: f32,
    },
    /// What the file's own camera sees.
    Camera {
        /// The camera, but for its angle of view.
        camera: Camera,
        /// Tangent of half the vertical angle of view.
        tan_half_height: f32,
    },
}

impl Framing {
    /// The camera for a picture of this size.
    pub fn camera(&self, (width, height): (u32, u32)) -> Camera {
        let aspect_ratio = f64::from(width) / f64::from(height.max(1));
        // The scene's angle of view is the horizontal one.
        let fov_degrees = |tan_half_width: f64| {
            (2.0 * libm::atan(tan_half_width).to_degrees()).clamp(0.001, 179.999) as f32
        };
        match *self {
            Framing::Around { center, radius } => {
                let tan_half = TAN_HALF_FOV;
                let sine = tan_half / (1.0 + tan_half * tan_half).sqrt();
                let distance = f64::from(radius) * MARGIN / sine;
                Camera {
                    origin: (center.as_dvec3() + FROM * distance).as_vec3(),
                    target: center,
                    up: Vec3::Y,
                    // The ball fits into the shorter side.
                    fov_degrees: fov_degrees(tan_half * aspect_ratio.max(1.0)),
                    lens: None,
                    filter: PixelFilter::default(),
                }
            }
            Framing::Camera {
                camera,
                tan_half_height,
            } => Camera {
                fov_degrees: fov_degrees(f64::from(tan_half_height) * aspect_ratio),
                ..camera
            },
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
                fov_degrees: 0.0,
                lens: None,
                filter: PixelFilter::default(),
            },
            tan_half_height: libm::tan(camera.yfov / 2.0) as f32,
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
    let (center, radius, floor) = extent(&model);
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
    let lights = model
        .lights
        .iter()
        .map(|light| light.placed(&DAffine3::IDENTITY))
        .collect::<Result<Vec<_>, _>>()
        .map_err(wrong)?;
    let framing = match &model.camera {
        Some(camera) => Framing::of(camera, radius),
        None => Framing::Around {
            center: center.as_vec3(),
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
    let mut scene = Scene {
        path: path.to_owned(),
        size,
        spp: SPP,
        max_bounces: MAX_BOUNCES,
        seed: 0,
        clamp_indirect: None,
        exposure_stops: 0.0,
        tone: Tone::default(),
        camera: framing.camera(size),
        framing: Some(framing),
        sky: if model.lights.is_empty() {
            SKY
        } else {
            SKY_BESIDE_LIGHTS
        },
        direct_light: DirectLight::Both,
        lights,
        materials: materials.surfaces,
        maps: materials.maps,
        textures: materials.library.textures,
        images: materials.library.images,
        triangles: geometry.triangles,
        spheres: geometry.spheres,
        meshes: geometry.meshes,
        instances: geometry.instances,
        notes: std::mem::take(&mut model.notes),
    };
    if model.camera.is_none() {
        add_floor_and_lamp(&mut scene, center, radius, floor);
    }
    let file = shown(path);
    scene
        .notes
        .iter_mut()
        .for_each(|note| *note = format!("{file}: {note}"));
    Ok(scene)
}

/// Of the model: a point in its middle, the farthest that anything is from there, and its lowest height.
fn extent(model: &Model) -> (DVec3, f64, f64) {
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
    (center, farthest.sqrt(), low.y)
}

fn add_floor_and_lamp(scene: &mut Scene, center: DVec3, radius: f64, low: f64) {
    let mut add = |corners: [DVec3; 4], surface: Surface| {
        let material = scene.materials.len() as u32;
        scene.materials.push(surface);
        let [a, b, c, d] = corners.map(|corner| corner.as_vec3());
        for vertices in [[a, b, c], [a, c, d]] {
            scene.triangles.push(Triangle { vertices, material });
        }
    };
    if radius <= FLOOR_LIMIT {
        // What the model has as its own floor lies above.
        let height = low - 1e-3 * radius;
        let half = FLOOR * radius;
        let corner = |x: f64, z: f64| DVec3::new(center.x + x * half, height, center.z + z * half);
        add(
            [
                corner(-1.0, 1.0),
                corner(1.0, 1.0),
                corner(1.0, -1.0),
                corner(-1.0, -1.0),
            ],
            Surface::Diffuse {
                albedo: FLOOR_ALBEDO,
                one_sided: false,
            },
        );
    }
    let (u, v) = LAMP.any_orthonormal_pair();
    let middle = center + LAMP * LAMP_DISTANCE * radius;
    let half = LAMP_EDGE / 2.0 * radius;
    let corner = |x: f64, y: f64| middle + (u * x + v * y) * half;
    add(
        // Towards the model.
        [
            corner(-1.0, -1.0),
            corner(-1.0, 1.0),
            corner(1.0, 1.0),
            corner(1.0, -1.0),
        ],
        Surface::Emissive {
            radiance: Vec3::splat(LAMP_RADIANCE),
            albedo: Vec3::ZERO,
            one_sided: true,
        },
    );
}
