//! Finds out whether the clipping planes of a camera would hide something, because cameras here have none.

use glam::{DVec2, DVec3, Vec3};

use super::Model;

/// Largest number of triangles that are looked at, counted as often as their instances. Beyond it, nothing is reported.
const MAX_TRIANGLES: usize = 1 << 24;

/// Bounding box of a shape in the coordinates of the camera: to the right, up and forwards.
type Bounds = (DVec3, DVec3);

/// A camera with clipping planes.
pub(crate) struct ClippedView {
    pub(crate) origin: DVec3,
    /// Directions to the right, up and forwards, of any length.
    pub(crate) axes: [DVec3; 3],
    /// Distances of the near and the far plane in metres. The far one may be infinite.
    pub(crate) planes: [f64; 2],
    /// Largest distances from the axis, to the side and up, at which the camera sees something: in metres, or divided
    /// by the distance along the axis if `perspective`.
    pub(crate) half: DVec2,
    /// Whether the view grows with the distance.
    pub(crate) perspective: bool,
}

impl Model {
    /// Returns whether the near and the far plane of a camera would hide something in its view: a mesh of the model or
    /// one of `spheres`, which are centers with radii.
    pub(crate) fn clipped_by(
        &self,
        view: &ClippedView,
        spheres: impl Iterator<Item = (DVec3, f64)>,
    ) -> [bool; 2] {
        let Some(planes) = Planes::new(view) else {
            return [false; 2];
        };
        let (mut near, mut far) = (false, false);
        let mut left = MAX_TRIANGLES;
        for instance in &self.instances {
            let mesh = &self.meshes[instance.mesh];
            if mesh.triangles.is_empty() {
                continue;
            }
            let place = |position: Vec3| {
                planes.local(instance.transform.transform_point3(position.as_dvec3()))
            };
            let whole = bounds(mesh.corners().map(place));
            far |= whole.0.z > planes.far;
            let undecided = (!near && planes.is_near(&whole)) || (!far && whole.1.z > planes.far);
            if !undecided || mesh.triangles.len() > left {
                continue;
            }
            left -= mesh.triangles.len();
            for corners in &mesh.triangles {
                let corners = corners.map(|vertex| place(mesh.positions[vertex as usize]));
                let bounds = bounds(corners);
                near |= planes.is_near(&bounds) && planes.hides_part_of(corners);
                far |= bounds.1.z > planes.far;
            }
        }
        for (center, radius) in spheres {
            let center = planes.local(center);
            let extent = DVec3::splat(radius);
            let surface = (center.length() - radius).abs();
            far |= center.z + radius > planes.far;
            near |= surface < planes.reach() && planes.is_near(&(center - extent, center + extent));
        }
        [near, far]
    }
}

/// The clipping planes of a camera, with its position and directions.
struct Planes {
    origin: DVec3,
    /// Unit vectors to the right, up and forwards.
    axes: [DVec3; 3],
    /// Distances of both planes from the camera in metres.
    near: f64,
    far: f64,
    /// Half the extent of the view at the near plane, from the axis of the camera, in metres.
    half: DVec2,
    /// Growth of `half` per metre along the axis.
    growth: DVec2,
}

impl Planes {
    /// Returns the planes of a camera; `None` if it is degenerate.
    fn new(view: &ClippedView) -> Option<Planes> {
        let [near, far] = view.planes;
        let [right, up, forward] = view.axes;
        Some(Planes {
            origin: view.origin,
            axes: [
                right.try_normalize()?,
                up.try_normalize()?,
                forward.try_normalize()?,
            ],
            near,
            far,
            half: if view.perspective {
                view.half * near
            } else {
                view.half
            },
            growth: if view.perspective {
                view.half
            } else {
                DVec2::ZERO
            },
        })
    }

    /// Returns a point of the world in the coordinates of the camera.
    fn local(&self, point: DVec3) -> DVec3 {
        DVec3::from_array(self.axes.map(|axis| (point - self.origin).dot(axis)))
    }

    /// Returns the distance from the camera to the corners of the view at the near plane.
    fn reach(&self) -> f64 {
        self.half.extend(self.near).length()
    }

    /// Returns whether a box reaches into the view in front of the near plane.
    fn is_near(&self, (low, high): &Bounds) -> bool {
        let beside = low.x > self.half.x
            || high.x < -self.half.x
            || low.y > self.half.y
            || high.y < -self.half.y;
        !beside && low.z < self.near && high.z > 0.0
    }

    /// Returns whether a triangle reaches into the view in front of the near plane. It is cut to that space, plane by
    /// plane (I. Sutherland and G. Hodgman 1974).
    fn hides_part_of(&self, corners: [DVec3; 3]) -> bool {
        // Distance inside the planes at the sides, from the axis.
        let beside = |at: DVec3| self.half + self.growth * (at.z - self.near);
        let inside: [&dyn Fn(DVec3) -> f64; 6] = [
            &|at| at.z,
            &|at| self.near - at.z,
            &|at| beside(at).x - at.x,
            &|at| beside(at).x + at.x,
            &|at| beside(at).y - at.y,
            &|at| beside(at).y + at.y,
        ];
        let mut polygon = corners.to_vec();
        for inside in inside {
            let Some(&last) = polygon.last() else {
                return false;
            };
            let mut before = last;
            let mut cut = Vec::with_capacity(9);
            for &at in &polygon {
                let (from, to) = (inside(before), inside(at));
                if (from > 0.0) != (to > 0.0) {
                    cut.push(before.lerp(at, from / (from - to)));
                }
                if to > 0.0 {
                    cut.push(at);
                }
                before = at;
            }
            polygon = cut;
        }
        !polygon.is_empty()
    }
}

/// Returns the bounding box of points.
fn bounds<const N: usize>(points: [DVec3; N]) -> Bounds {
    let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    points.into_iter().fold(empty, |(low, high), point| {
        (low.min(point), high.max(point))
    })
}
