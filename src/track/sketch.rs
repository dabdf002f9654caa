//! A path as it lies in the picture.

use glam::Vec3;
use serde::Serialize;

use super::{Probe, Track};
use crate::{camera::Camera, math::dot};

/// A straight line of a path, in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stroke {
    /// Where it begins, pixels from the upper left of the picture; it may lie outside.
    pub from: [f32; 2],
    /// Where it ends.
    pub to: [f32; 2],
    /// What went there.
    pub what: Flight,
}

/// What a line of a path stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flight {
    /// The path itself, from vertex to vertex.
    Path,
    /// Its last ray, which met nothing.
    Missed,
    /// A ray towards a light, whose light came.
    Light,
    /// One that something blocked.
    Blocked,
}

/// What goes on for ever is drawn for so much of the way that the path has come.
const STUB: f32 = 0.35;

/// Nearer to the camera's plane nothing is drawn, in parts of the first vertex's distance.
const NEAREST: f32 = 1e-3;

impl Track {
    /// Its lines, in the order in which they were traced. The camera ray is none: it is seen end on.
    pub fn sketch(&self, camera: &Camera) -> Vec<Stroke> {
        let reach = match self.vertices.first().and_then(|vertex| vertex.met.as_ref()) {
            Some(met) => met.distance,
            // It left at once.
            None => return Vec::new(),
        };
        let mut strokes = Vec::new();
        let mut draw = |from: Vec3, to: Vec3, what| {
            strokes.extend(seen(camera, from, to, reach * NEAREST, what));
        };
        for (bounce, vertex) in self.vertices.iter().enumerate() {
            match &vertex.met {
                Some(met) if bounce > 0 => draw(vertex.origin, met.position, Flight::Path),
                Some(_) => {}
                None => draw(
                    vertex.origin,
                    vertex.origin + vertex.direction * (STUB * reach),
                    Flight::Missed,
                ),
            }
            if let Some(probe) = &vertex.light_sample {
                let (end, what) = light(probe, reach);
                draw(probe.origin, end, what);
            }
        }
        strokes
    }
}

fn light(probe: &Probe, reach: f32) -> (Vec3, Flight) {
    let far = probe.distance > 100.0 * reach;
    let length = if far { STUB * reach } else { probe.distance };
    let what = if probe.blocked {
        Flight::Blocked
    } else {
        Flight::Light
    };
    (probe.origin + probe.direction * length, what)
}

/// What of a line lies before the camera.
fn seen(camera: &Camera, from: Vec3, to: Vec3, nearest: f32, what: Flight) -> Option<Stroke> {
    let ahead = |point: Vec3| dot(point - camera.origin, camera.forward) - nearest;
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
    let stroke = Stroke {
        from: place(camera, from),
        to: place(camera, to),
        what,
    };
    let is_finite = |place: [f32; 2]| place.iter().all(|length| length.is_finite());
    (is_finite(stroke.from) && is_finite(stroke.to)).then_some(stroke)
}

/// Where a point is seen, pixels from the upper left.
fn place(camera: &Camera, point: Vec3) -> [f32; 2] {
    let away = point - camera.origin;
    let depth = if camera.parallel == 1 {
        1.0
    } else {
        dot(away, camera.forward)
    };
    let part = |axis: Vec3| dot(away, axis) / (dot(axis, axis) * depth);
    [
        camera.width * (1.0 + part(camera.right)) / 2.0,
        camera.height * (1.0 - part(camera.up)) / 2.0,
    ]
}
