//! Media: matter that absorbs and scatters light on its way.

use std::ops::RangeInclusive;

use glam::Vec3;

use super::hasher::Hasher;

/// A homogeneous medium, such as fog.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    /// Scattering coefficient, 1/m per channel, 0 or more.
    pub scattering: Vec3,
    /// Absorption coefficient, 1/m per channel, 0 or more.
    pub absorption: Vec3,
    /// Mean cosine of the scattering angle, above -1 and below 1: the parameter of the Henyey–Greenstein phase
    /// function. 0 scatters equally in all directions, and more scatters forward.
    pub anisotropy: f32,
}

/// Coefficients in 1/m that a scene file may contain.
pub(crate) const COEFFICIENTS: RangeInclusive<f64> = 0.0..=1e6;
/// Smallest sum of scattering and absorption of fog, in 1/m.
pub(crate) const MIN_FOG_EXTINCTION: f64 = 1e-6;
/// Largest absolute value of `anisotropy`.
pub(crate) const MAX_ANISOTROPY: f64 = 0.99;

impl Medium {
    /// Returns the extinction coefficient, 1/m per channel: scattering plus absorption.
    pub fn extinction(&self) -> Vec3 {
        self.scattering + self.absorption
    }

    /// Adds the medium to the hash of a scene.
    pub(super) fn add_to(&self, hash: &mut Hasher) {
        hash.bytes(b"medium");
        hash.vectors([self.scattering, self.absorption]);
        hash.vectors([Vec3::splat(self.anisotropy)]);
    }
}
