//! Homogeneous media of other renderers.

use glam::Vec3;

use crate::scene::{COEFFICIENTS, MAX_ANISOTROPY, MIN_FOG_EXTINCTION, Medium, Surface};

/// Returns a medium with these coefficients in 1/m and this mean cosine, each clamped to what a scene may contain;
/// `None` if it neither scatters nor absorbs light.
pub(crate) fn medium(scattering: Vec3, absorption: Vec3, anisotropy: f64) -> Option<Medium> {
    let valid = |coefficient: f32| match coefficient.is_nan() {
        true => 0.0,
        false => coefficient.clamp(0.0, *COEFFICIENTS.end() as f32),
    };
    let anisotropy = match anisotropy.is_nan() {
        true => 0.0,
        false => anisotropy.clamp(-MAX_ANISOTROPY, MAX_ANISOTROPY),
    };
    let coefficients = |of: Vec3| Vec3::from_array(of.to_array().map(valid));
    let medium = Medium {
        scattering: coefficients(scattering),
        absorption: coefficients(absorption),
        anisotropy: anisotropy as f32,
    };
    (medium.extinction() != Vec3::ZERO).then_some(medium)
}

/// Returns the medium as one around all bodies, which no channel passes to infinity; `None` if it does nothing.
pub(super) fn fog(medium: Medium) -> Option<Medium> {
    let least = Vec3::splat(MIN_FOG_EXTINCTION as f32);
    let missing = (least - medium.extinction()).max(Vec3::ZERO);
    (medium.extinction() != Vec3::ZERO).then(|| Medium {
        absorption: medium.absorption + missing,
        ..medium
    })
}

/// Returns whether light passes through a surface, so that a medium behind it is visible.
pub(crate) fn shows_inside(surface: &Surface) -> bool {
    match surface {
        Surface::Boundary | Surface::RoughDielectric { .. } => true,
        Surface::Dielectric { thin, .. } => !thin,
        Surface::Principled(principled) => principled.transmission > 0.0 && !principled.thin,
        _ => false,
    }
}
