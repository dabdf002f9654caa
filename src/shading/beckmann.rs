//! Beckmann's microfacet distribution with Smith masking-shadowing, isotropic or anisotropic. Twin:
//! `kernels/shared/beckmann.cuh`.
//!
//! Directions are in the frame of the surface: along the tangent, along the bitangent and along the normal. `alpha_x`
//! and `alpha_y` are the roughness along the first two.
//!
//! Sources: B. Walter et al., Microfacet Models for Refraction through Rough Surfaces, 2007; E. Heitz & E. d'Eon,
//! Importance Sampling Microfacet-Based BSDFs using the Distribution of Visible Normals, 2014; M. Giles, Approximating
//! the erfinv Function, 2010.

use std::f32::consts::{LN_2, LOG2_E};

use glam::Vec3;

use crate::math::{INV_PI, dot, half_power, log_base_2, max_f32, min_f32};

/// 1 / √π.
const INV_ROOT_PI: f32 = 0.564_189_6;
/// Largest slope of sampled facets of roughness 1. A fraction of 1e-8 of all facets is steeper.
const MAX_SLOPE: f32 = 4.0;
/// Number of steps that find a slope: Newton's, or halvings of an interval where these would leave it.
pub const BECKMANN_STEPS: u32 = 12;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![BECKMANN_STEPS];

/// Returns e^(−x²).
#[inline(always)]
pub fn bell(x: f32) -> f32 {
    half_power(x * x * LOG2_E)
}

/// Returns the error function of `x` within 2e-7. `bell` is [`bell`] of `x`.
#[inline(always)]
pub fn error_function(x: f32, bell: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let sum = -1.453_152 + t * 1.061_405_4;
    let sum = 0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * sum));
    let positive = 1.0 - t * sum * bell;
    if x < 0.0 { -positive } else { positive }
}

/// Returns the inverse of the error function for `x` in (−1, 1).
#[inline(always)]
pub fn inverse_error_function(x: f32) -> f32 {
    let w = -LN_2 * log_base_2((1.0 - x) * (1.0 + x));
    if w < 5.0 {
        let w = w - 2.5;
        let p = 3.432_739_4e-7 + w * 2.810_226_4e-8;
        let p = -4.391_506_5e-6 + w * (-3.523_387_7e-6 + w * p);
        let p = -0.001_253_725 + w * (0.000_218_580_87 + w * p);
        return x * (1.501_409_4 + w * (0.246_640_73 + w * (-0.004_177_681_6 + w * p)));
    }
    let w = w.sqrt() - 3.0;
    let p = 0.000_100_950_56 + w * -0.000_200_214_26;
    let p = -0.003_673_428_4 + w * (0.001_349_343_2 + w * p);
    let p = -0.007_622_461_3 + w * (0.005_739_507_7 + w * p);
    x * (2.832_976_8 + w * (1.001_674 + w * (0.009_438_870_5 + w * p)))
}

/// Returns the area of visible facets per area of the surface, projected along `direction`: its cosine divided by
/// Smith's masking. `direction` is above the surface.
#[inline]
pub fn beckmann_area(direction: Vec3, alpha_x: f32, alpha_y: f32) -> f32 {
    let (x, y) = (direction.x * alpha_x, direction.y * alpha_y);
    let spread = (x * x + y * y).sqrt();
    let slope = direction.z / max_f32(spread, 1e-20);
    let near = bell(slope);
    0.5 * (direction.z * (1.0 + error_function(slope, near)) + spread * INV_ROOT_PI * near)
}

/// Returns the density of visible normals at `half`, per steradian, divided by the cosine between `half` and `eye`.
#[inline]
pub fn beckmann_density(eye: Vec3, half: Vec3, alpha_x: f32, alpha_y: f32) -> f32 {
    if half.z <= 0.0 {
        return 0.0;
    }
    let (x, y) = (half.x / alpha_x, half.y / alpha_y);
    let cos2 = half.z * half.z;
    let power = half_power((x * x + y * y) / cos2 * LOG2_E);
    if power <= 0.0 {
        return 0.0;
    }
    let area = alpha_x * alpha_y * cos2 * cos2;
    INV_PI * power / (area * beckmann_area(eye, alpha_x, alpha_y))
}

/// Returns Smith's masking-shadowing of both directions divided by the masking of `eye`, 0..=1. `correlated` selects the
/// height-correlated form. Both directions are above the surface.
#[inline]
pub fn beckmann_shadowing(
    eye: Vec3,
    light: Vec3,
    alpha_x: f32,
    alpha_y: f32,
    correlated: bool,
) -> f32 {
    let lit = beckmann_area(light, alpha_x, alpha_y);
    if !correlated {
        return min_f32(light.z / lit, 1.0);
    }
    let seen = beckmann_area(eye, alpha_x, alpha_y);
    min_f32(
        seen * light.z / (seen * light.z + lit * eye.z - eye.z * light.z),
        1.0,
    )
}

/// Samples the slope, towards the eye, of a visible facet of roughness 1. `cosine` and `sine` are those of the eye's
/// direction to the normal, and `u` is uniform in [0, 1).
#[inline]
pub fn sample_slope(cosine: f32, sine: f32, u: f32) -> f32 {
    // Facets below this slope face away. The integral of the visible area up to a slope has a closed form.
    let lowest = cosine / max_f32(sine, 1e-20);
    let bell_lowest = bell(lowest);
    let area_lowest = 0.5 * cosine * error_function(lowest, bell_lowest);
    let edge = 0.5 * INV_ROOT_PI * sine;
    let wanted = u * (0.5 * cosine + area_lowest + edge * bell_lowest);
    let mut low = max_f32(-lowest, -MAX_SLOPE);
    let mut high = MAX_SLOPE;
    let mut slope = min_f32(sine, 0.7);
    for _ in 0..BECKMANN_STEPS {
        let here = bell(slope);
        let sum =
            0.5 * cosine * error_function(slope, here) + area_lowest + edge * (bell_lowest - here);
        let above = sum - wanted;
        if above > 0.0 {
            high = slope;
        } else {
            low = slope;
        }
        let rise = INV_ROOT_PI * here * (cosine + slope * sine);
        let next = slope - above / max_f32(rise, 1e-20);
        slope = if next >= low && next <= high {
            next
        } else {
            0.5 * (low + high)
        };
    }
    slope
}

/// Samples the normal of a facet from those visible from `eye`. `u` and `v` are uniform in [0, 1).
#[inline]
pub fn sample_beckmann_normal(eye: Vec3, alpha_x: f32, alpha_y: f32, u: f32, v: f32) -> Vec3 {
    let (x, y) = (eye.x * alpha_x, eye.y * alpha_y);
    let spread = (x * x + y * y).sqrt();
    let length = (spread * spread + eye.z * eye.z).sqrt();
    let along = sample_slope(eye.z / length, spread / length, u);
    // Half of the distance between two numbers `v` keeps the argument above −1.
    let across = inverse_error_function(2.0 * v - (1.0 - 0.5 / 8_388_608.0));
    let (cosine, sine) = if spread > 0.0 {
        (x / spread, y / spread)
    } else {
        (1.0, 0.0)
    };
    let half = Vec3::new(
        (along * cosine - across * sine) * alpha_x,
        (along * sine + across * cosine) * alpha_y,
        1.0,
    );
    half * (1.0 / dot(half, half).sqrt())
}
