//! The corners of a scene's objects: where most of them are, and those far from the others.

use glam::{DVec3, Vec3};

use crate::{
    camera::Camera,
    math::max_f32,
    scene::{Projection, Scene, position_in_file},
};

/// Approximate number of triangles, spheres and corners of instances from which their middle is computed.
const MAX_CORNERS: usize = 4096;
/// Distance from the middle of all corners, relative to the median, from which on a corner is far from the others.
const FAR: f64 = 1000.0;
/// Part of the picture's shorter side that the sphere around all objects covers in a proposed view.
const FILLED: f64 = 0.9;

/// Where most corners of a scene are, estimated from a part of them.
pub(super) struct Corners {
    /// Corners at even distances in the order of the scene, in world space. Not empty.
    pub(super) some: Vec<DVec3>,
    /// Median of the corners, for each coordinate.
    pub(super) middle: DVec3,
    /// Median distance of the corners from `middle`, in metres.
    pub(super) radius: f64,
}

impl Corners {
    /// Returns the corners of the scene's objects; `None` if it has none.
    pub(super) fn of(scene: &Scene) -> Option<Corners> {
        let some: Vec<DVec3> = corners(scene, MAX_CORNERS).collect();
        let middle = median(&some)?;
        let mut distances: Vec<f64> = some.iter().map(|corner| corner.distance(middle)).collect();
        distances.sort_by(f64::total_cmp);
        let radius = distances[distances.len() / 2];
        Some(Corners {
            some,
            middle,
            radius,
        })
    }

    /// Returns the end of a note that names the corner farthest from the others, and a view of the objects without it.
    /// Returns `None` if no corner is far from the others.
    pub(super) fn stray(&self, scene: &Scene, camera: &Camera) -> Option<String> {
        let limit = FAR * self.radius;
        let (mut farthest, mut distance) = (self.middle, 0.0);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for corner in corners(scene, usize::MAX) {
            let here = corner.distance(self.middle);
            if here > distance {
                (farthest, distance) = (corner, here);
            }
            if here <= limit {
                (low, high) = (low.min(corner), high.max(corner));
            }
        }
        if distance <= limit || limit == 0.0 {
            return None;
        }
        let shown = |point| in_file(scene, point);
        // Digits beyond a hundredth of the objects' size would say nothing.
        let radius = low.distance(high) / 2.0;
        let step = 10f64.powf((radius / 100.0).log10().ceil());
        let rounded = |point: DVec3| shown((point / step).round() * step);
        let (forward, target) = (camera.forward.as_dvec3(), (low + high) / 2.0);
        let side = camera.right.length().min(camera.up.length());
        let view = match scene.camera.projection {
            Projection::Perspective { .. } => {
                let distance = radius / f64::from(side).atan().sin() / FILLED;
                let origin = target - forward * (distance / forward.length());
                format!("`origin: {}, target: {}`", rounded(origin), rounded(target))
            }
            Projection::Orthographic { .. } => {
                let origin = target - forward * (2.0 * radius / forward.length());
                let width = 2.0 * radius / FILLED * f64::from(camera.right.length() / side);
                let width = (width / step).ceil() * step;
                format!(
                    "`origin: {}, target: {}, width: {width}`",
                    rounded(origin),
                    rounded(target)
                )
            }
        };
        Some(format!(
            "a corner at {} is far from all others, and perhaps a mistake; without it, the objects lie between {} and {}, in view from {view}",
            shown(farthest),
            shown(low),
            shown(high)
        ))
    }

    /// Returns half the size of the scene's middle half, relative to that of the picture's longer side. It is 0 if the
    /// camera is at the middle of the objects.
    pub(super) fn share_of_picture(&self, scene: &Scene, camera: &Camera) -> f64 {
        let depth = match scene.camera.projection {
            Projection::Perspective { .. } => camera.origin.as_dvec3().distance(self.middle),
            Projection::Orthographic { .. } => 1.0,
        };
        let side = max_f32(camera.right.length(), camera.up.length());
        self.radius / (depth * f64::from(side))
    }
}

/// Returns a point as text, in the coordinates of the scene's file: `(1, 2, 3)`.
pub(super) fn in_file(scene: &Scene, point: DVec3) -> String {
    let [x, y, z] = position_in_file(point.as_vec3(), scene.origin).to_array();
    format!("({x}, {y}, {z})")
}

/// Returns corners of the scene's objects in world space: all, or about `max` triangles, spheres and corners of
/// instances, evenly spaced.
fn corners(scene: &Scene, max: usize) -> impl Iterator<Item = DVec3> {
    let step = move |count: usize| count.div_ceil(max).max(1);
    let triangles = scene.triangles.iter().step_by(step(scene.triangles.len()));
    let triangles = triangles.flat_map(|triangle| triangle.vertices);
    let spheres = scene.spheres.iter().step_by(step(scene.spheres.len()));
    let spheres = spheres.flat_map(|sphere| {
        [-1.0, 1.0].map(|side| sphere.center + Vec3::splat(side * sphere.radius))
    });
    let count = scene.instances.len();
    let each = (max / count.max(1)).max(2);
    let instances = scene.instances.iter().step_by(step(count));
    let instances = instances.flat_map(move |instance| {
        let positions = &scene.meshes[instance.mesh as usize].positions;
        let [x, y, z] = instance.axes;
        let positions = positions
            .iter()
            .step_by(positions.len().div_ceil(each).max(1));
        positions.map(move |at| instance.position + x * at.x + y * at.y + z * at.z)
    });
    let all = triangles.chain(spheres).chain(instances);
    all.map(Vec3::as_dvec3).filter(|corner| corner.is_finite())
}

/// Returns the median of each coordinate; `None` without corners.
fn median(corners: &[DVec3]) -> Option<DVec3> {
    let of = |axis: usize| {
        let mut values: Vec<f64> = corners.iter().map(|corner| corner[axis]).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0)
    };
    Some(DVec3::new(of(0)?, of(1)?, of(2)?))
}
