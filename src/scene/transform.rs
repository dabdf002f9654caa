//! Scaling, turning and moving, in `f64`, so that positions are rounded to `f32` only once.
//!
//! The sines come from the crate `libm`: the same bits on every machine, which the system's library does not promise.

use glam::{DAffine3, DMat3, DVec3};

/// Scale, then rotation about x, then y, then z, then translation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transform {
    pub(super) scale: DVec3,
    pub(super) rotate_degrees: DVec3,
    pub(super) translate: DVec3,
}

impl Default for Transform {
    fn default() -> Self {
        Transform {
            scale: DVec3::ONE,
            rotate_degrees: DVec3::ZERO,
            translate: DVec3::ZERO,
        }
    }
}

impl Transform {
    pub(super) fn apply(&self, point: DVec3) -> DVec3 {
        self.turn(point) + self.translate
    }

    /// All but the translation.
    fn turn(&self, point: DVec3) -> DVec3 {
        let p = point * self.scale;
        let (sin, cos) = sin_cos_degrees(self.rotate_degrees.x);
        let p = DVec3::new(p.x, p.y * cos - p.z * sin, p.y * sin + p.z * cos);
        let p = rotate_y(p, self.rotate_degrees.y);
        let (sin, cos) = sin_cos_degrees(self.rotate_degrees.z);
        DVec3::new(p.x * cos - p.y * sin, p.x * sin + p.y * cos, p.z)
    }

    /// The same as a matrix.
    pub(super) fn affine(&self) -> DAffine3 {
        DAffine3 {
            matrix3: DMat3::from_cols(
                self.turn(DVec3::X),
                self.turn(DVec3::Y),
                self.turn(DVec3::Z),
            ),
            translation: self.translate,
        }
    }

    /// Whether it turns the outside in.
    pub(super) fn mirrors(&self) -> bool {
        self.scale
            .to_array()
            .iter()
            .filter(|&&scale| scale < 0.0)
            .count()
            % 2
            == 1
    }
}

/// Turns about +y, right-handed.
pub(super) fn rotate_y(p: DVec3, degrees: f64) -> DVec3 {
    let (sin, cos) = sin_cos_degrees(degrees);
    DVec3::new(p.x * cos + p.z * sin, p.y, p.z * cos - p.x * sin)
}

/// Sine and cosine, exact at multiples of 90°.
pub(super) fn sin_cos_degrees(degrees: f64) -> (f64, f64) {
    let quarters = (degrees / 90.0).round();
    let (sin, cos) = libm::sincos((degrees - quarters * 90.0).to_radians());
    match quarters.rem_euclid(4.0) {
        1.0 => (cos, -sin),
        2.0 => (-sin, -cos),
        3.0 => (-cos, sin),
        _ => (sin, cos),
    }
}
