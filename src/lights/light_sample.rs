//! The sample of a light, and its MIS weight. Twin: `kernels/shared/light_sample.cuh`.

use glam::Vec3;

use crate::{path::NO_PRIMITIVE, shading::material::power_heuristic};

/// Bit of `LightParams::strategies`: next-event estimation, which samples points on lights.
pub const LIGHT_SAMPLES: u32 = 1;
/// Bit of `LightParams::strategies`: BSDF sampling, whose rays hit lights.
pub const BSDF_SAMPLES: u32 = 2;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![LIGHT_SAMPLES, BSDF_SAMPLES];

/// A sampled point on a light, as seen from a reference point.
#[derive(Clone, Copy, Debug)]
pub struct LightSample {
    /// Direction to the light in world space, of length 1.
    pub direction: Vec3,
    /// Distance to the light in metres; `f32::MAX` at infinity, 0 if the light does not illuminate the reference point.
    pub distance: f32,
    /// Pdf per steradian of solid angle; for a delta light, the probability of choosing it.
    pub pdf: f32,
    /// Unoccluded radiance towards the reference point in linear sRGB; for a delta light, irradiance at normal
    /// incidence.
    pub radiance: Vec3,
    /// Index of the light's primitive, or `NO_PRIMITIVE` if the light is not a surface.
    pub to_primitive: u32,
    /// 1 for a delta light (point, spot, distant), which BSDF samples cannot hit, otherwise 0.
    pub is_delta: u32,
}

/// The sample of a light that does not illuminate the reference point.
pub const NO_SAMPLE: LightSample = LightSample {
    direction: Vec3::ZERO,
    distance: 0.0,
    pdf: 0.0,
    radiance: Vec3::ZERO,
    to_primitive: NO_PRIMITIVE,
    is_delta: 0,
};

/// Returns the MIS weight of a sample of strategy `own`, drawn with pdf `drawn` > 0; the other strategy's pdf is
/// `other`.
///
/// With both strategies it is the power heuristic. If `own` is disabled, its samples count only where the other
/// strategy cannot sample (`other` = 0), so that nothing is lost.
#[inline(always)]
pub fn sample_weight(strategies: u32, own: u32, drawn: f32, other: f32) -> f32 {
    if other > 0.0 && strategies & own == 0 {
        return 0.0;
    }
    if strategies != LIGHT_SAMPLES + BSDF_SAMPLES {
        return 1.0;
    }
    power_heuristic(drawn, other)
}
