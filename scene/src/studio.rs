//! The default lighting of models: a grey room with three soft boxes, which is lighter at the top and behind the
//! viewer.

use std::f64::consts::PI;

use glam::{DVec3, Vec3};

/// Texels per row of the environment map.
const WIDTH: usize = 256;
/// Rows of the environment map.
const HEIGHT: usize = 128;
/// Grey radiance of the environment without its soft boxes, W·sr⁻¹·m⁻²: straight down, at the horizon and straight up.
/// Between them it is interpolated.
const ROOM: [f64; 3] = [0.09, 0.19, 0.2];
/// Grey radiance that is added in the horizontal direction of the viewer, and falls to 0 with the cosine of the angle
/// to it. Metals reflect it, and so differ from the background.
const BEHIND_VIEWER: f64 = 0.18;
/// Width of the fade at the edge of a soft box, as a multiple of the box's distance from the model.
const SOFT: f64 = 0.08;

/// A rectangular area light that faces the model and is painted into the environment map.
struct SoftBox {
    /// Angle around the model in degrees, from the direction of the viewer (0) to the viewer's right (90).
    azimuth: f64,
    /// Elevation of the box's center above the horizon in degrees, as seen from the model.
    elevation: f64,
    /// Half the width and half the height of the box, as multiples of its distance from the model.
    half_size: [f64; 2],
    /// Radiance inside the box, W·sr⁻¹·m⁻² per channel, linear sRGB.
    radiance: [f64; 3],
}

/// The soft boxes: the key light on the viewer's left, a narrow fill light on the viewer's right, and a rim light
/// behind the model.
const BOXES: [SoftBox; 3] = [
    SoftBox {
        azimuth: -65.0,
        elevation: 40.0,
        half_size: [0.45, 0.4],
        radiance: [4.9, 4.7, 4.45],
    },
    SoftBox {
        azimuth: 75.0,
        elevation: 15.0,
        half_size: [0.14, 0.6],
        radiance: [0.63, 0.7, 0.8],
    },
    SoftBox {
        azimuth: 160.0,
        elevation: 40.0,
        half_size: [0.6, 0.2],
        radiance: [3.0, 3.2, 3.4],
    },
];

/// Makes the environment map of the studio with its soft boxes. The azimuth is that of the viewer in degrees, 0 at +z
/// and 90 at +x.
///
/// Returns the texels per row, and the radiances row by row from the top: W·sr⁻¹·m⁻², linear sRGB.
pub(crate) fn studio_radiances(azimuth_degrees: f64) -> (u32, Vec<Vec3>) {
    let (sin, cos) = libm::sincos(azimuth_degrees.to_radians());
    let front = DVec3::new(sin, 0.0, cos);
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
            let towards_viewer = direction.dot(front).max(0.0);
            let room = level + (end - level) * cos.abs() + BEHIND_VIEWER * towards_viewer;
            let mut radiance = DVec3::splat(room);
            for (of, axes) in &boxes {
                let coverage = coverage(of, axes, direction);
                radiance += (DVec3::from_array(of.radiance) - radiance) * coverage;
            }
            radiances.push(radiance.as_vec3());
        }
    }
    (WIDTH as u32, radiances)
}

/// Returns the coverage of a unit direction by a soft box: 1 inside, 0 outside, and a smooth step at the edge. The axes
/// are the box's right, its up and the direction to its center.
fn coverage(of: &SoftBox, &[side, up, axis]: &[DVec3; 3], direction: DVec3) -> f64 {
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
