//! The extent of a model: its bounding box, and its outline in the view of the camera.
//!
//! Imports `load_options`, `model` and `scene`.

use glam::{DAffine3, DQuat, DVec3};

use super::upright;
use crate::{
    LoadOptions,
    load_options::CameraFrom,
    model::{Model, ModelMesh, ModelSphere},
    scene::{Outline, ViewAxes, WholeLens, WholeView, turn_about_y},
};

/// Direction of the camera without another choice: 35° to the right of +z and 20° above.
pub(crate) const DEFAULT_DIRECTION: CameraFrom = CameraFrom {
    azimuth_degrees: 35.0,
    elevation_degrees: 20.0,
    distance: None,
};
/// Largest product of a mesh's vertices and the model's instances for which the size of the model is computed from each
/// vertex. Beyond that the corners of the mesh's bounding box are used.
///
/// If eight times the number of the model's spheres is larger, the corners of the bounding box of all spheres are used
/// instead of those of each.
const MAX_FRAMED_POINTS: usize = 1 << 26;

/// Corners of the cube that encloses a sphere of radius 1 around the origin.
const CUBE_CORNERS: [DVec3; 8] = [
    DVec3::new(-1.0, -1.0, -1.0),
    DVec3::new(1.0, -1.0, -1.0),
    DVec3::new(-1.0, 1.0, -1.0),
    DVec3::new(1.0, 1.0, -1.0),
    DVec3::new(-1.0, -1.0, 1.0),
    DVec3::new(1.0, -1.0, 1.0),
    DVec3::new(-1.0, 1.0, 1.0),
    DVec3::new(1.0, 1.0, 1.0),
];

/// Number of azimuths from which a model on a turntable is examined.
const TURNS: u32 = 24;

/// The extent of a model, or of a model at several times.
pub(crate) struct Extent {
    /// Corner of the bounding box with the smallest coordinates, in metres.
    low: DVec3,
    /// Corner of the bounding box with the largest coordinates, in metres.
    high: DVec3,
    /// Distance in metres from the centre of the box within which all vertices lie.
    pub(super) radius: f64,
    /// The points that can touch the edges of the image.
    outline: Outline,
}

impl Extent {
    /// Returns the extent of the triangles and spheres of a model in the view that `options` choose.
    pub(crate) fn of(model: &Model, options: &LoadOptions) -> Extent {
        let upright = upright(options.up);
        let used: Vec<Vec<bool>> = model.meshes.iter().map(used_vertices).collect();
        let are_many = model.spheres.len().saturating_mul(CUBE_CORNERS.len()) > MAX_FRAMED_POINTS;
        let around_spheres = are_many.then(|| corners_around(&model.spheres, &upright));
        let points = |take: &mut dyn FnMut(DVec3)| {
            for instance in &model.instances {
                let mesh = &model.meshes[instance.mesh];
                let transform = upright * instance.transform;
                let mut take = |point: DVec3| take(transform.transform_point3(point));
                if model.instances.len().saturating_mul(mesh.positions.len()) <= MAX_FRAMED_POINTS {
                    let vertices = mesh.positions.iter().zip(&used[instance.mesh]);
                    let used = vertices.filter(|&(_, &used)| used);
                    used.for_each(|(position, _)| take(position.as_dvec3()));
                } else {
                    let corners = mesh.corners();
                    corners.iter().for_each(|corner| take(corner.as_dvec3()));
                }
            }
            if let Some(corners) = around_spheres {
                corners.into_iter().for_each(take);
                return;
            }
            for sphere in &model.spheres {
                let center = upright.transform_point3(sphere.center.as_dvec3());
                for signs in CUBE_CORNERS {
                    take(center + signs * f64::from(sphere.radius));
                }
            }
        };
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let from = options.camera_from.unwrap_or(DEFAULT_DIRECTION);
        let axes = ViewAxes::new(from.azimuth_degrees, from.elevation_degrees);
        let mut outline = Outline::new(axes);
        points(&mut |point| {
            (low, high) = (low.min(point), high.max(point));
            outline.push(point);
        });
        let center = (low + high) / 2.0;
        let mut farthest: f64 = 0.0;
        points(&mut |point| farthest = farthest.max(point.distance_squared(center)));
        if options.turntable {
            let turns: Vec<DQuat> = (1..TURNS)
                .map(|turn| turn_about_y(360.0 * f64::from(turn) / f64::from(TURNS)))
                .collect();
            points(&mut |point| {
                let arm = point - center;
                turns
                    .iter()
                    .for_each(|turn| outline.push(center + *turn * arm));
            });
        }
        Extent {
            low,
            high,
            radius: farthest.sqrt(),
            outline,
        }
    }

    /// Returns the extent of both, which must be in the same view: the box around both boxes, and half its diagonal as
    /// radius.
    pub(crate) fn union(mut self, other: &Extent) -> Extent {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        self.outline.extend(&other.outline);
        Extent {
            low,
            high,
            radius: (high - low).length() / 2.0,
            outline: self.outline,
        }
    }

    /// Returns the centre of the bounding box.
    pub(super) fn center(&self) -> DVec3 {
        (self.low + self.high) / 2.0
    }

    /// Returns the view of everything, with the projection that `options` choose.
    pub(super) fn view(self, options: &LoadOptions) -> WholeView {
        let center = self.center();
        let lens = WholeLens {
            orthographic: options.orthographic,
            fov_degrees: options.fov_degrees,
            distance: options.camera_from.and_then(|from| from.distance),
            turntable: options.turntable,
        };
        self.outline.view(center, lens)
    }
}

/// Returns the corners of the bounding box of at least one sphere. `transform`, a rotation, is applied to the spheres.
fn corners_around(spheres: &[ModelSphere], transform: &DAffine3) -> [DVec3; 8] {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for sphere in spheres {
        let center = transform.transform_point3(sphere.center.as_dvec3());
        let arm = DVec3::splat(f64::from(sphere.radius));
        (low, high) = (low.min(center - arm), high.max(center + arm));
    }
    CUBE_CORNERS.map(|signs| DVec3::select(signs.cmpgt(DVec3::ZERO), high, low))
}

/// Returns for each vertex of a mesh whether it is part of a triangle.
fn used_vertices(mesh: &ModelMesh) -> Vec<bool> {
    let mut used = vec![false; mesh.positions.len()];
    for vertex in mesh.triangles.as_flattened() {
        used[*vertex as usize] = true;
    }
    used
}
