//! The extent of a model: its bounding box, and its outline in the view of the camera.

use std::ops::Range;

use glam::{DAffine3, DQuat, DVec3};
use rayon::prelude::*;

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
    /// Distance in metres from the center of the box within which all vertices lie.
    pub(super) radius: f64,
    /// The points that can touch the edges of the image.
    outline: Outline,
}

impl Extent {
    /// Returns the extent of the triangles and spheres of a model in the view that `options` choose.
    pub(crate) fn of(model: &Model, options: &LoadOptions) -> Extent {
        let points = FramedPoints::of(model, &upright(options.up));
        let from = options.camera_from.unwrap_or(DEFAULT_DIRECTION);
        let axes = ViewAxes::new(from.azimuth_degrees, from.elevation_degrees);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let mut outline = Outline::new(axes);
        let of_group = points.map_groups(|group| {
            let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            let mut outline = Outline::new(axes);
            points.each(group, |point| {
                (low, high) = (low.min(point), high.max(point));
                outline.push(point);
            });
            outline.reduce();
            (low, high, outline)
        });
        for (group_low, group_high, group_outline) in &of_group {
            (low, high) = (low.min(*group_low), high.max(*group_high));
            outline.extend(group_outline);
        }
        let center = (low + high) / 2.0;
        let of_group = points.map_groups(|group| {
            let mut farthest: f64 = 0.0;
            points.each(group, |point| {
                farthest = farthest.max(point.distance_squared(center));
            });
            farthest
        });
        let farthest = of_group.into_iter().fold(0.0, f64::max);
        if options.turntable {
            let turns: Vec<DQuat> = (1..TURNS)
                .map(|turn| turn_about_y(360.0 * f64::from(turn) / f64::from(TURNS)))
                .collect();
            let of_group = points.map_groups(|group| {
                let mut outline = Outline::new(axes);
                points.each(group, |point| {
                    let arm = point - center;
                    turns
                        .iter()
                        .for_each(|turn| outline.push(center + *turn * arm));
                });
                outline.reduce();
                outline
            });
            of_group.iter().for_each(|group| outline.extend(group));
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

    /// Returns the center of the bounding box.
    pub(super) fn center(&self) -> DVec3 {
        (self.low + self.high) / 2.0
    }

    /// Returns the view of everything, with the projection that `options` choose, for a scene around `origin`.
    pub(super) fn view(self, options: &LoadOptions, origin: DVec3) -> WholeView {
        let center = self.center();
        let lens = WholeLens {
            orthographic: options.orthographic,
            fov_degrees: options.fov_degrees,
            distance: options.camera_from.and_then(|from| from.distance),
            turntable: options.turntable,
        };
        self.outline.view(center, lens, origin)
    }
}

/// Returns the corners of the bounding box of at least one sphere. `transform`, a rotation, is applied to the spheres.
fn corners_around(spheres: &[ModelSphere], transform: &DAffine3) -> [DVec3; 8] {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for sphere in spheres {
        let center = transform.transform_point3(sphere.center);
        let arm = DVec3::splat(f64::from(sphere.radius));
        (low, high) = (low.min(center - arm), high.max(center + arm));
    }
    CUBE_CORNERS.map(|signs| DVec3::select(signs.cmpgt(DVec3::ZERO), high, low))
}

/// The points of a model that its extent is computed from, in groups that threads share.
struct FramedPoints<'m> {
    model: &'m Model,
    /// The rotation after which the model is upright.
    upright: DAffine3,
    /// Tells for each mesh and vertex whether the vertex is part of a triangle.
    used: Vec<Vec<bool>>,
    groups: Vec<PointGroup>,
}

/// Some points of a model.
enum PointGroup {
    /// All points of these instances.
    Instances(Range<usize>),
    /// Vertices of the mesh of an instance.
    Vertices {
        instance: usize,
        range: Range<usize>,
    },
    /// The corners of the bounding boxes of these spheres.
    Spheres(Range<usize>),
    /// The corners of the bounding box of all spheres.
    AllSpheres,
}

impl FramedPoints<'_> {
    /// Approximate number of points of a group.
    const GROUP: usize = 1 << 16;

    /// Returns the points of a model. `upright` is a rotation that is applied to them.
    fn of<'m>(model: &'m Model, upright: &DAffine3) -> FramedPoints<'m> {
        let mut points = FramedPoints {
            model,
            upright: *upright,
            used: model.meshes.par_iter().map(used_vertices).collect(),
            groups: Vec::new(),
        };
        let groups = &mut points.groups;
        // The first instance of the next group, and the number of points since.
        let (mut first, mut size) = (0, 0);
        for (number, instance) in model.instances.iter().enumerate() {
            let mesh = &model.meshes[instance.mesh];
            let count = match has_many_points(model, mesh) {
                true => CUBE_CORNERS.len(),
                false => mesh.positions.len(),
            };
            size += count;
            if count > Self::GROUP {
                groups.push(PointGroup::Instances(first..number));
                let ranges = ranges(count, Self::GROUP);
                groups.extend(ranges.map(|range| PointGroup::Vertices {
                    instance: number,
                    range,
                }));
            } else if size >= Self::GROUP {
                groups.push(PointGroup::Instances(first..number + 1));
            } else {
                continue;
            }
            (first, size) = (number + 1, 0);
        }
        groups.push(PointGroup::Instances(first..model.instances.len()));
        let spheres = model.spheres.len();
        if spheres.saturating_mul(CUBE_CORNERS.len()) > MAX_FRAMED_POINTS {
            groups.push(PointGroup::AllSpheres);
        } else {
            let ranges = ranges(spheres, Self::GROUP / CUBE_CORNERS.len());
            groups.extend(ranges.map(PointGroup::Spheres));
        }
        points
    }

    /// Calls a function for each group, in parallel, and returns the results in the order of the groups.
    fn map_groups<T: Send>(&self, function: impl Fn(&PointGroup) -> T + Send + Sync) -> Vec<T> {
        self.groups.par_iter().map(function).collect()
    }

    /// Calls a function for each point of a group.
    fn each(&self, group: &PointGroup, mut take: impl FnMut(DVec3)) {
        match group {
            PointGroup::Instances(range) => {
                for instance in range.clone() {
                    let mesh = self.model.instances[instance].mesh;
                    let mesh = &self.model.meshes[mesh];
                    if has_many_points(self.model, mesh) {
                        let transform = self.upright * self.model.instances[instance].transform;
                        for corner in mesh.corners() {
                            take(transform.transform_point3(corner.as_dvec3()));
                        }
                    } else {
                        self.each_vertex(instance, 0..mesh.positions.len(), &mut take);
                    }
                }
            }
            PointGroup::Vertices { instance, range } => {
                self.each_vertex(*instance, range.clone(), &mut take);
            }
            PointGroup::Spheres(range) => {
                for sphere in &self.model.spheres[range.clone()] {
                    let center = self.upright.transform_point3(sphere.center);
                    for signs in CUBE_CORNERS {
                        take(center + signs * f64::from(sphere.radius));
                    }
                }
            }
            PointGroup::AllSpheres => {
                let corners = corners_around(&self.model.spheres, &self.upright);
                corners.into_iter().for_each(take);
            }
        }
    }

    /// Calls a function for each of these vertices of an instance's mesh that is part of a triangle.
    #[inline(always)]
    fn each_vertex(&self, instance: usize, range: Range<usize>, take: &mut impl FnMut(DVec3)) {
        let instance = &self.model.instances[instance];
        let (mesh, used) = (&self.model.meshes[instance.mesh], &self.used[instance.mesh]);
        let transform = self.upright * instance.transform;
        for vertex in range {
            if used[vertex] {
                let position = mesh.positions[vertex].as_dvec3();
                take(transform.transform_point3(position));
            }
        }
    }
}

/// Returns whether only the corners of the bounding boxes of a mesh's instances are framed, see [`MAX_FRAMED_POINTS`].
fn has_many_points(model: &Model, mesh: &ModelMesh) -> bool {
    model.instances.len().saturating_mul(mesh.positions.len()) > MAX_FRAMED_POINTS
}

/// Divides `0..count` into ranges of at most `len`.
fn ranges(count: usize, len: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..count).step_by(len);
    starts.map(move |start| start..(start + len).min(count))
}

/// Returns for each vertex of a mesh whether it is part of a triangle.
fn used_vertices(mesh: &ModelMesh) -> Vec<bool> {
    let mut used = vec![false; mesh.positions.len()];
    for vertex in mesh.triangles.as_flattened() {
        used[*vertex as usize] = true;
    }
    used
}
