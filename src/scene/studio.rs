//! The light of a model that is shown alone: a grey room that gets lighter upwards, and three soft boxes in it.

use std::f64::consts::PI;

use glam::DVec3;

use super::Environment;

const WIDTH: usize = 256;
const HEIGHT: usize = 128;
/// Radiance below, at the horizon and above.
const ROOM: [f64; 3] = [0.25, 0.55, 0.75];
/// Over how much of a box's distance its edge fades.
const SOFT: f64 = 0.08;

/// A rectangle that faces the model.
struct SoftBox {
    /// From the viewer to the right about the model, and up from the horizon; degrees.
    azimuth: f64,
    elevation: f64,
    /// Half its width and height over its distance.
    half_size: [f64; 2],
    radiance: [f64; 3],
}

/// The main light to the left, a narrow one to the right, and one from behind that draws the outline.
const BOXES: [SoftBox; 3] = [
    SoftBox {
        azimuth: -55.0,
        elevation: 45.0,
        half_size: [0.45, 0.4],
        radiance: [4.2, 4.0, 3.8],
    },
    SoftBox {
        azimuth: 75.0,
        elevation: 15.0,
        half_size: [0.14, 0.6],
        radiance: [1.9, 2.1, 2.4],
    },
    SoftBox {
        azimuth: 160.0,
        elevation: 40.0,
        half_size: [0.6, 0.2],
        radiance: [3.6, 3.8, 4.0],
    },
];

/// The room seen from the horizontal direction of `viewer`, so many times as bright.
pub(super) fn studio(viewer: DVec3, scale: f32) -> Environment {
    let front = DVec3::new(viewer.x, 0.0, viewer.z).normalize_or(DVec3::Z);
    let right = DVec3::Y.cross(front);
    let boxes = BOXES.map(|of| {
        let (across, towards) = libm::sincos(of.azimuth.to_radians());
        let (up, level) = libm::sincos(of.elevation.to_radians());
        let axis = (front * towards + right * across) * level + DVec3::Y * up;
        let side = DVec3::Y.cross(axis).normalize();
        (of, [side, axis.cross(side), axis])
    });
    let mut radiances = Vec::with_capacity(WIDTH * HEIGHT);
    for row in 0..HEIGHT {
        let (sin, cos) = libm::sincos(PI * (row as f64 + 0.5) / HEIGHT as f64);
        for column in 0..WIDTH {
            let turn = 2.0 * PI * (column as f64 + 0.5) / WIDTH as f64;
            let (east, north) = libm::sincos(turn);
            let direction = DVec3::new(east * sin, cos, -north * sin);
            let [below, level, above] = ROOM;
            let end = if cos > 0.0 { above } else { below };
            let mut radiance = DVec3::splat(level + (end - level) * cos.abs());
            for (of, axes) in &boxes {
                let share = share(of, axes, direction);
                radiance += (DVec3::from_array(of.radiance) - radiance) * share;
            }
            radiances.push(radiance.as_vec3() * scale);
        }
    }
    Environment {
        width: WIDTH as u32,
        radiances: radiances.into(),
        turns: 0.0,
    }
}

/// 1 on the box, 0 beside it, and between the two at its edge.
fn share(of: &SoftBox, &[side, up, axis]: &[DVec3; 3], direction: DVec3) -> f64 {
    let away = direction.dot(axis);
    if away <= 0.0 {
        return 0.0;
    }
    let [width, height] = of.half_size;
    let edge = |at: f64, half: f64| {
        let part = ((half - at.abs()) / SOFT + 0.5).clamp(0.0, 1.0);
        part * part * (3.0 - 2.0 * part)
    };
    edge(direction.dot(side) / away, width) * edge(direction.dot(up) / away, height)
}
