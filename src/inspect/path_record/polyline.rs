//! Projection of a path record onto the image, as line segments.

use glam::Vec3;
use serde::Serialize;

use super::{DirectLightSample, PathRecord, PathVertex};
use crate::{camera::Camera, math::dot};

/// A straight segment of a path, projected onto the image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathSegment {
    /// Start point (x, y) in pixels from the upper left of the image, possibly outside it.
    pub from: [f32; 2],
    /// End point (x, y) in pixels from the upper left of the image, possibly outside it.
    pub to: [f32; 2],
    /// Kind of ray that the segment represents.
    pub kind: SegmentKind,
}

/// The kind of ray that a segment of a path represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentKind {
    /// A segment between two vertices of the path.
    Path,
    /// The path's last ray, which hit nothing. It is drawn as a stub, shorter in the scene than the camera ray.
    Missed,
    /// An unblocked shadow ray; it is drawn as a stub if the light is distant.
    Light,
    /// A blocked shadow ray; it is drawn like an unblocked one.
    Blocked,
}

/// Length at which rays that hit nothing or go to a distant light are drawn, as a fraction of the first vertex's
/// distance from the camera.
const STUB: f32 = 0.35;

/// Distance of the near clipping plane, as a fraction of the first vertex's distance from the camera.
const NEAR_PLANE: f32 = 1e-3;

impl PathRecord {
    /// Returns the path's rays as segments in the image of `camera`, in the order of tracing. Returns no segments if
    /// the camera ray hit nothing. The camera ray itself is omitted, because it would appear as a point.
    pub fn project(&self, camera: &Camera) -> Vec<PathSegment> {
        let ends = |vertex: &PathVertex| {
            let hit = vertex.hit.as_ref().map(|hit| hit.position);
            hit.or(vertex.scattering).map(|position| position.relative)
        };
        let first = self.vertices.first();
        let reach = match first.and_then(|vertex| Some((vertex.origin.relative, ends(vertex)?))) {
            Some((origin, end)) => origin.distance(end),
            // The camera ray left the scene.
            None => return Vec::new(),
        };
        let mut segments = Vec::new();
        let mut draw = |from: Vec3, to: Vec3, kind| {
            segments.extend(clip_and_project(camera, from, to, reach * NEAR_PLANE, kind));
        };
        for (bounce, vertex) in self.vertices.iter().enumerate() {
            match ends(vertex) {
                Some(end) if bounce > 0 => draw(vertex.origin.relative, end, SegmentKind::Path),
                Some(_) => {}
                None => draw(
                    vertex.origin.relative,
                    vertex.origin.relative + vertex.direction * (STUB * reach),
                    SegmentKind::Missed,
                ),
            }
            if let Some(sample) = &vertex.light_sample {
                let (end, kind) = shadow_ray_end(sample, reach);
                draw(sample.origin.relative, end, kind);
            }
        }
        segments
    }
}

/// Returns the point up to which a shadow ray is drawn, and its kind. `reach` is the first vertex's distance from the
/// camera in metres.
fn shadow_ray_end(sample: &DirectLightSample, reach: f32) -> (Vec3, SegmentKind) {
    let far = sample.distance > 100.0 * reach;
    let length = if far { STUB * reach } else { sample.distance };
    let kind = if sample.blocked {
        SegmentKind::Blocked
    } else {
        SegmentKind::Light
    };
    (sample.origin.relative + sample.direction * length, kind)
}

/// Clips a segment to the part beyond the near plane, which is at distance `nearest` in metres from the camera, and
/// projects it. Returns `None` if nothing remains, or if the projection is not finite. Segments of orthographic cameras
/// are not clipped.
fn clip_and_project(
    camera: &Camera,
    from: Vec3,
    to: Vec3,
    nearest: f32,
    kind: SegmentKind,
) -> Option<PathSegment> {
    let direction = camera.viewing_direction();
    let ahead = |point: Vec3| dot(point - camera.origin, direction) - nearest;
    let (mut from, mut to) = (from, to);
    if camera.parallel == 0 {
        let (a, b) = (ahead(from), ahead(to));
        if a <= 0.0 && b <= 0.0 {
            return None;
        }
        let border = from + (to - from) * (a / (a - b));
        if a <= 0.0 {
            from = border;
        } else if b <= 0.0 {
            to = border;
        }
    }
    let segment = PathSegment {
        from: project_point(camera, from),
        to: project_point(camera, to),
        kind,
    };
    let is_finite = |place: [f32; 2]| place.iter().all(|length| length.is_finite());
    (is_finite(segment.from) && is_finite(segment.to)).then_some(segment)
}

/// Projects a point in world space to (x, y) in pixels from the upper left of the image.
fn project_point(camera: &Camera, point: Vec3) -> [f32; 2] {
    let away = point - camera.origin;
    // The vector from the film's center at the depth of the point.
    let (depth, off_centre) = if camera.parallel == 1 {
        (1.0, away)
    } else {
        let depth = dot(away, camera.viewing_direction());
        (depth, away - camera.forward * depth)
    };
    let part = |axis: Vec3| dot(off_centre, axis) / (dot(axis, axis) * depth);
    [
        camera.width * (1.0 + part(camera.right)) / 2.0,
        camera.height * (1.0 - part(camera.up)) / 2.0,
    ]
}
