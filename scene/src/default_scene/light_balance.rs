//! Balances the lights of a model's file with the exposure and the default lighting, by the irradiance that they cause
//! on the visible surfaces.
//!
//! Light is assumed to reach every surface that faces it, because shadows are not known before rendering.

use std::f64::consts::PI;

use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;

use crate::{
    color::luminance,
    model::Model,
    scene::{Camera, Light, Projection, Surface},
};

/// Maximum number of points on the model's surface at which the irradiance is computed. It applies to few lights.
const MAX_POINTS: u64 = 4096;
/// Minimum number of points. It applies to many lights.
const MIN_POINTS: u64 = 256;
/// Largest number of pairs of a point and a light, unless the number of points is the smallest.
const MAX_PAIRS: u64 = 1 << 24;
/// Approximate maximum number of triangles on which points are taken. If the model has more, only every n-th instance
/// is used.
const MAX_TRIANGLES: u64 = 1 << 24;
/// Number of triangles whose areas are computed in parallel and then added one after the other.
const BLOCK: usize = 1 << 16;
/// Fraction of the lit points that are darker than the one for which the exposure is set.
const QUANTILE: f64 = 0.9;
/// Linear value, 0..=1, of a white surface at that point in the displayed image.
const DISPLAYED_WHITE: f64 = 0.9;
/// Range of the radiance of a white surface, W·sr⁻¹·m⁻², that the film stores well.
const FILM_RANGE: [f64; 2] = [1.0 / 4096.0, 16384.0];

/// The brightness of a model in the light of its own file, and the exposure that fits it.
#[derive(Clone, Copy)]
pub(super) struct Balance {
    /// Factor by which the lights of the file are scaled; 1 unless they are too bright or too dim for the film.
    pub(super) light_scale: f32,
    /// Radiance of a white surface in the lights after scaling, W·sr⁻¹·m⁻², within [`FILM_RANGE`].
    pub(super) white: f32,
    /// Exposure in stops that displays such a surface with the value [`DISPLAYED_WHITE`].
    pub(super) exposure_stops: f32,
}

/// A point on the surface of the model, with the unit normal of its triangle, in world space.
struct SurfacePoint {
    position: DVec3,
    normal: DVec3,
    /// Whether the material reflects light. Unlit materials of glTF do not.
    reflects: bool,
}

/// Returns the brightness of the model, placed by `transform`, in `lights`, as seen by `camera` in an image of `size`
/// pixels. If the lights are too bright or too dim for the film, the result has a factor by which all of them must be
/// scaled.
///
/// Returns `None` if no light reaches the visible points, or more than half of them are on unlit materials.
pub(super) fn balance(
    model: &Model,
    lights: &[Light],
    camera: &Camera,
    size: (u32, u32),
    transform: &DAffine3,
) -> Option<Balance> {
    let count = (MAX_PAIRS / lights.len().max(1) as u64).clamp(MIN_POINTS, MAX_POINTS);
    let mut points = visible(surface_points(model, count, transform), camera, size);
    let visible_count = points.len();
    points.retain(|point| point.reflects);
    if points.len() * 2 < visible_count {
        return None;
    }
    let irradiance = |point: &SurfacePoint| {
        let each = lights.iter().map(|light| irradiance(light, point));
        each.sum::<f64>()
    };
    let mut lit: Vec<f64> = points.iter().map(irradiance).collect();
    lit.retain(|&irradiance| irradiance.is_finite() && irradiance > 0.0);
    lit.sort_by(f64::total_cmp);
    let typical = lit.get((lit.len() as f64 * QUANTILE) as usize)?;
    // A white surface reflects the irradiance evenly into all directions.
    let unscaled = typical / PI;
    let white = unscaled.clamp(FILM_RANGE[0], FILM_RANGE[1]);
    Some(Balance {
        light_scale: (white / unscaled) as f32,
        white: white as f32,
        exposure_stops: libm::log2(DISPLAYED_WHITE / white) as f32,
    })
}

/// A triangle of the model, or one that stands for an eighth of a sphere, in world space.
#[derive(Clone, Copy)]
struct Patch {
    corners: [DVec3; 3],
    /// Normal on the outside, as long as twice the area.
    cross: DVec3,
    /// Index of the material.
    material: usize,
}

/// Returns at most `count` points that are spread evenly over the area of the model, placed by `transform`. Returns
/// none if the area is 0 or not finite.
fn surface_points(model: &Model, count: u64, transform: &DAffine3) -> Vec<SurfacePoint> {
    let triangles = |instance: usize| model.meshes[model.instances[instance].mesh].triangles.len();
    let instances = 0..model.instances.len();
    let meshes = instances.clone().map(|instance| triangles(instance) as u64);
    let total = meshes.sum::<u64>() + 8 * model.spheres.len() as u64;
    let step = (total.div_ceil(MAX_TRIANGLES)).max(1) as usize;
    // Calls a function for each patch, with twice its area and a function that returns the patch.
    let each = |take: &mut dyn FnMut(f64, &dyn Fn() -> Patch)| {
        for instance in instances.clone().step_by(step) {
            let instance = &model.instances[instance];
            let mesh = &model.meshes[instance.mesh];
            let placed = *transform * instance.transform;
            let side = placed.matrix3.determinant().signum();
            let patch = |number: usize| {
                let corners = mesh.triangles[number].map(|vertex| {
                    let position = mesh.positions[vertex as usize].as_dvec3();
                    placed.transform_point3(position)
                });
                let [a, b, c] = corners;
                let material = mesh.triangle_materials.get(number);
                Patch {
                    corners,
                    cross: (b - a).cross(c - a) * side,
                    material: material.map_or(instance.material, |&material| material as usize),
                }
            };
            let count = mesh.triangles.len();
            for start in (0..count).step_by(BLOCK) {
                let block = (start..(start + BLOCK).min(count)).into_par_iter();
                let areas = block
                    .with_min_len(1024)
                    .map(|number| patch(number).cross.length());
                for (number, area) in areas.collect::<Vec<f64>>().into_iter().enumerate() {
                    take(area, &|| patch(start + number));
                }
            }
        }
        for sphere in model.spheres.iter().step_by(step) {
            let center = transform.transform_point3(sphere.center);
            // The faces of an octahedron stand for a sphere.
            for signs in [-1.0, 1.0]
                .map(|x| [-1.0, 1.0].map(|y| [-1.0, 1.0].map(|z| [x, y, z])))
                .as_flattened()
                .as_flattened()
            {
                let [x, y, z] = signs.map(|sign| sign * f64::from(sphere.radius));
                let corners = [DVec3::X * x, DVec3::Y * y, DVec3::Z * z].map(|arm| center + arm);
                let outside = DVec3::from_array(*signs);
                let [a, b, c] = corners;
                let patch = Patch {
                    corners,
                    cross: outside.normalize() * (b - a).cross(c - a).length(),
                    material: sphere.material,
                };
                take(patch.cross.length(), &|| patch);
            }
        }
    };
    let mut area = 0.0;
    each(&mut |patch_area, _| area += patch_area);
    if !(area.is_finite() && area > 0.0) {
        return Vec::new();
    }
    let spacing = area / count as f64;
    let (mut passed, mut points) = (0.0, Vec::new());
    each(&mut |patch_area, patch| {
        passed += patch_area;
        while (points.len() as f64 + 0.5) * spacing < passed && (points.len() as u64) < count {
            // The sequence R2 (M. Roberts, 2018) covers a triangle evenly.
            let number = points.len() as f64 + 1.0;
            let (mut u, mut v) = (
                (number * 0.754_877_666).fract(),
                (number * 0.569_840_291).fract(),
            );
            if u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            let Patch {
                corners: [a, b, c],
                cross,
                material,
            } = patch();
            points.push(SurfacePoint {
                position: a + (b - a) * u + (c - a) * v,
                normal: cross.normalize_or_zero(),
                reflects: !matches!(
                    model.materials[material].surface,
                    Surface::Emissive {
                        albedo: Vec3::ZERO,
                        ..
                    }
                ),
            });
        }
    });
    points
}

/// Returns the points that lie in the view of the camera and face it. If none does, returns those in the view, turned
/// to the camera, and if there are none either, all points.
fn visible(
    points: Vec<SurfacePoint>,
    camera: &Camera,
    (width, height): (u32, u32),
) -> Vec<SurfacePoint> {
    let origin = camera.origin.as_dvec3();
    let forward = (camera.target.as_dvec3() - origin).normalize_or(DVec3::NEG_Z);
    let right = forward.cross(camera.up.as_dvec3()).normalize_or(DVec3::X);
    let up = right.cross(forward);
    let aspect_ratio = f64::from(width) / f64::from(height.max(1)) * f64::from(camera.pixel_aspect);
    let is_in_view = |point: &SurfacePoint| {
        let from = point.position - origin;
        let depth = from.dot(forward);
        let half_width = match camera.projection {
            Projection::Perspective { fov_degrees } => {
                depth * (f64::from(fov_degrees).to_radians() / 2.0).tan()
            }
            Projection::Orthographic { width } => f64::from(width) / 2.0,
        };
        let half_height = half_width / aspect_ratio;
        depth > 0.0 && from.dot(right).abs() <= half_width && from.dot(up).abs() <= half_height
    };
    let to_camera = |point: &SurfacePoint| match camera.projection {
        Projection::Perspective { .. } => origin - point.position,
        Projection::Orthographic { .. } => -forward,
    };
    let (in_view, outside): (Vec<_>, Vec<_>) = points.into_iter().partition(is_in_view);
    if in_view.is_empty() {
        return outside;
    }
    let faces = |point: &SurfacePoint| point.normal.dot(to_camera(point)) > 0.0;
    let (mut facing, mut turned): (Vec<_>, Vec<_>) = in_view.into_iter().partition(faces);
    if facing.is_empty() {
        turned
            .iter_mut()
            .for_each(|point| point.normal = -point.normal);
        facing = turned;
    }
    facing
}

/// Returns the luminance of the irradiance, in W/m², that a light causes at a point without shadows. An environment
/// counts as 0.
fn irradiance(light: &Light, point: &SurfacePoint) -> f64 {
    let from = |position: Vec3, intensity: Vec3| {
        let to_light = position.as_dvec3() - point.position;
        let distance2 = to_light.length_squared().max(1e-12);
        let cosine = to_light.dot(point.normal).max(0.0) / distance2.sqrt();
        f64::from(luminance(intensity)) * cosine / distance2
    };
    match *light {
        Light::Point {
            position,
            intensity,
        } => from(position, intensity),
        Light::Spot {
            position,
            direction,
            intensity,
            inner_degrees,
            outer_degrees,
            falloff,
        } => {
            let along = (point.position - position.as_dvec3()).normalize_or_zero();
            let cosine = along.dot(direction.as_dvec3());
            let angles = [inner_degrees, outer_degrees].map(|angle| f64::from(angle).to_radians());
            let [inner, outer] = angles.map(f64::cos);
            let fade = ((cosine - outer) / (inner - outer).max(1e-6)).clamp(0.0, 1.0);
            let [first, second, third] = falloff.polynomial(angles[0], angles[1]);
            from(position, intensity) * fade * (first + fade * (second + fade * third))
        }
        Light::Directional {
            direction,
            irradiance,
            ..
        } => {
            let cosine = -direction.as_dvec3().dot(point.normal);
            f64::from(luminance(irradiance)) * cosine.max(0.0)
        }
        Light::Environment(_) => 0.0,
    }
}

/// Multiplies the brightness of a light by `factor`. An environment is unchanged.
pub(super) fn scale(light: &mut Light, factor: f32) {
    match light {
        Light::Point { intensity, .. } | Light::Spot { intensity, .. } => *intensity *= factor,
        Light::Directional { irradiance, .. } => *irradiance *= factor,
        Light::Environment(_) => {}
    }
}
