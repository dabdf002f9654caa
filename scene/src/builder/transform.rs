//! Transforms in `f64`, so that positions are rounded to `f32` only once.
//!
//! Sines come from the crate `libm`, which gives the same bits on every machine. The system's library does not
//! guarantee that.

use glam::{DAffine3, DMat3, DVec3};

/// A transform of scale, then rotation about x, y and z in this order, then translation. The default is the identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transform {
    /// Scale factors along x, y and z; negative values mirror.
    pub(crate) scale: DVec3,
    /// Rotation angles about x, y and z in degrees.
    pub(crate) rotate_degrees: DVec3,
    /// Translation in metres.
    pub(crate) translate: DVec3,
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
    /// Returns `point` transformed: scaled, rotated about x, y and z, and translated.
    pub(crate) fn apply(&self, point: DVec3) -> DVec3 {
        self.scale_and_rotate(point) + self.translate
    }

    /// Returns `point` scaled, then rotated about x, y and z, without the translation.
    fn scale_and_rotate(&self, point: DVec3) -> DVec3 {
        let p = point * self.scale;
        let (sin, cos) = sin_cos_degrees(self.rotate_degrees.x);
        let p = DVec3::new(p.x, p.y * cos - p.z * sin, p.y * sin + p.z * cos);
        let p = rotate_y(p, self.rotate_degrees.y);
        let (sin, cos) = sin_cos_degrees(self.rotate_degrees.z);
        DVec3::new(p.x * cos - p.y * sin, p.x * sin + p.y * cos, p.z)
    }

    /// Returns the whole transform as a matrix and a translation.
    pub(crate) fn affine(&self) -> DAffine3 {
        DAffine3 {
            matrix3: DMat3::from_cols(
                self.scale_and_rotate(DVec3::X),
                self.scale_and_rotate(DVec3::Y),
                self.scale_and_rotate(DVec3::Z),
            ),
            translation: self.translate,
        }
    }

    /// Returns whether the transform mirrors, that is, has an odd number of negative scale factors. Then it turns
    /// counter-clockwise triangles clockwise.
    pub(crate) fn mirrors(&self) -> bool {
        self.scale
            .to_array()
            .iter()
            .filter(|&&scale| scale < 0.0)
            .count()
            % 2
            == 1
    }
}

/// Rotates a vector about +y by an angle in degrees: x' = x cos + z sin, z' = z cos − x sin.
pub(crate) fn rotate_y(p: DVec3, degrees: f64) -> DVec3 {
    let (sin, cos) = sin_cos_degrees(degrees);
    DVec3::new(p.x * cos + p.z * sin, p.y, p.z * cos - p.x * sin)
}

/// Returns the rotation about an axis of any length by an angle in degrees, counter-clockwise if the axis points to the
/// viewer. Returns `None` if the axis has no direction.
pub(crate) fn rotation(axis: DVec3, degrees: f64) -> Option<DMat3> {
    let axis = axis.try_normalize()?;
    let (sin, cos) = sin_cos_degrees(degrees);
    let turned =
        |unit: DVec3| unit * cos + axis.cross(unit) * sin + axis * (axis.dot(unit) * (1.0 - cos));
    Some(DMat3::from_cols(
        turned(DVec3::X),
        turned(DVec3::Y),
        turned(DVec3::Z),
    ))
}

/// Returns sine and cosine, in this order, of an angle in degrees. They are exact at multiples of 90°.
pub(crate) fn sin_cos_degrees(degrees: f64) -> (f64, f64) {
    let quarters = (degrees / 90.0).round();
    let (sin, cos) = libm::sincos((degrees - quarters * 90.0).to_radians());
    match quarters.rem_euclid(4.0) {
        1.0 => (cos, -sin),
        2.0 => (-sin, -cos),
        3.0 => (-cos, sin),
        _ => (sin, cos),
    }
}
