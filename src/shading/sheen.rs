//! Sheen: the reflection of cloth fibres that stand on a surface. Twin: `kernels/shared/sheen.cuh`.
//!
//! Source: A. C. Estevez & C. Kulla, Production Friendly Microfacet Sheen BRDF, 2017, as in the glTF extension
//! `KHR_materials_sheen`.

use crate::{
    math::{INV_PI, log_base_2, max_f32, min_f32, power_of_2},
    shading::{
        bsdf::dielectric::alpha_below_coat,
        bsdf_types::{Bsdf, share},
        energy::{
            SHEEN_BOUNDED, SHEEN_RAW, below_coat, directional, hemispherical, mean_below_coat,
        },
    },
};

/// Returns the Charlie distribution of fibre directions, per steradian. `sin2_half` is the squared sine between the
/// normal and the half vector.
#[inline]
pub fn charlie_density(sin2_half: f32, alpha: f32) -> f32 {
    let exponent = 1.0 / alpha;
    (2.0 + exponent) * power_of_2(0.5 * exponent * log_base_2(sin2_half)) * (0.5 * INV_PI)
}

/// Returns the fit of the logarithm of Smith's Λ for the Charlie distribution, for cosines up to ½.
#[inline(always)]
pub fn charlie_fit(cosine: f32, alpha: f32) -> f32 {
    let smooth = (1.0 - alpha) * (1.0 - alpha);
    let a = 21.5473 + (25.3245 - 21.5473) * smooth;
    let b = 3.82987 + (3.32435 - 3.82987) * smooth;
    let c = 0.19823 + (0.16801 - 0.19823) * smooth;
    let d = -1.97760 + (-1.27393 + 1.97760) * smooth;
    let e = -4.32054 + (-4.85967 + 4.32054) * smooth;
    a / (1.0 + b * power_of_2(c * log_base_2(cosine))) + d * cosine + e
}

/// Returns Smith's Λ for the Charlie distribution at a cosine, 0..=1.
#[inline]
pub fn charlie_lambda(cosine: f32, alpha: f32) -> f32 {
    let logarithm = if cosine < 0.5 {
        charlie_fit(cosine, alpha)
    } else {
        2.0 * charlie_fit(0.5, alpha) - charlie_fit(1.0 - cosine, alpha)
    };
    power_of_2(std::f32::consts::LOG2_E * logarithm)
}

/// Returns the reflection of white fibres times the cosine of the light, per steradian. Both cosines are above 0.
#[inline]
pub fn sheen_value(cos_eye: f32, cos_light: f32, sin2_half: f32, alpha: f32) -> f32 {
    let masked = 1.0 + charlie_lambda(cos_eye, alpha) + charlie_lambda(cos_light, alpha);
    charlie_density(sin2_half, alpha) / (4.0 * cos_eye * masked)
}

/// Returns the factor, 0..=1, by which sheen at a cosine is reduced so that it reflects no more light than arrives.
/// The fit of its shadowing reflects too much at grazing angles.
#[inline]
pub fn sheen_scale(tables: &[f32], bsdf: &Bsdf, cosine: f32) -> f32 {
    let reflected = directional(
        tables,
        bsdf.sheen_table,
        SHEEN_RAW,
        bsdf.sheen_alpha,
        cosine,
    );
    1.0 / max_f32(reflected, 1.0)
}

/// Returns the fraction of the energy at a cosine that the fibres let pass to the layers below.
#[inline]
pub fn sheen_transmittance(tables: &[f32], bsdf: &Bsdf, cosine: f32) -> f32 {
    let (table, alpha) = (bsdf.sheen_table, bsdf.sheen_alpha);
    let reflected = directional(tables, table, SHEEN_BOUNDED, alpha, cosine);
    1.0 - bsdf.sheen_strength * min_f32(reflected, 1.0)
}

/// Returns the factor of one of two directions for light that facets below the sheen scatter between them.
///
/// The fibres let pass the product of both factors, as a clear coat does, see
/// [`coat_factor`](crate::shading::bsdf::dielectric::coat_factor). `transmittance` is the [`sheen_transmittance`] at
/// `cosine`.
#[inline]
pub fn sheen_factor(tables: &[f32], bsdf: &Bsdf, cosine: f32, transmittance: f32) -> f32 {
    let alphas = (alpha_below_coat(bsdf), bsdf.sheen_alpha);
    let reflected = below_coat(tables, bsdf.sheen_table, alphas, cosine);
    let passed = 1.0 - bsdf.sheen_strength * reflected;
    share(transmittance, max_f32(passed, 0.0).sqrt())
}

/// Returns the factor by which the sheen dims the base below the boundary towards the eye: the transmittance over its
/// mean for the light that leaves the base.
///
/// `mean_entered` is the mean of what the boundary transmits. Towards the light, the factor is [`sheen_transmittance`].
#[inline]
pub fn sheen_over_base(tables: &[f32], bsdf: &Bsdf, mean_entered: f32) -> f32 {
    let (table, alphas) = (bsdf.sheen_table, (alpha_below_coat(bsdf), bsdf.sheen_alpha));
    let mean = hemispherical(tables, table, SHEEN_BOUNDED, bsdf.sheen_alpha);
    // Boundary and fibres both transmit less at grazing angles, so that the mean of the product is not that of means.
    let both = bsdf.boundary_f0 * mean_below_coat(tables, table, 0, alphas)
        + bsdf.boundary_f90 * mean_below_coat(tables, table, 1, alphas);
    let reflected = bsdf.sheen_strength * (mean - both);
    share(
        bsdf.sheen_transmittance,
        1.0 - share(reflected, mean_entered),
    )
}
