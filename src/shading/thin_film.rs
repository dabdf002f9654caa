//! Thin-film interference: the reflectance of a film of a few hundred nanometres on a surface. Twin:
//! `kernels/shared/thin_film.cuh`.
//!
//! Source: L. Belcour & P. Barla, A Practical Extension to Microfacet Theory for the Modeling of Varying Iridescence,
//! 2017, in the form of the glTF extension `KHR_materials_iridescence`.

use glam::Vec3;

use crate::{
    math::{half_power, max_f32, min_f32, round_down, sin_cos_turns},
    shading::{material::fresnel, microfacet::schlick},
};

/// Returns cos 2πx · 2⁻ʸ. `turns` is x and `damping` is y, 0 or more.
#[inline(always)]
pub fn damped_cosine(turns: f32, damping: f32) -> f32 {
    let (_, cosine) = sin_cos_turns(turns - round_down(turns));
    cosine * half_power(damping)
}

/// Returns the linear sRGB response to light whose waves differ by a path length in micrometres: the Fourier transform
/// of the sensitivity of each channel. It is near 1 at 0 and vanishes for long paths.
#[inline]
pub fn interference(path: f32) -> Vec3 {
    let square = path * path;
    // The sensitivities of the CIE 1931 observer, as a sum of Gaussians.
    let x = 0.846_59 * damped_cosine(1.681 * path, 0.246_491_22 * square)
        + 0.153_868_3 * damped_cosine(2.2399 * path, 0.257_905_07 * square);
    let y = 1.000_221_9 * damped_cosine(1.7953 * path, 0.529_946_45 * square);
    let z = 1.001_122_5 * damped_cosine(2.2084 * path, 0.376_594_25 * square);
    Vec3::new(
        3.240_454_2 * x - 1.537_138_5 * y - 0.498_531_4 * z,
        -0.969_266 * x + 1.876_010_8 * y + 0.041_556 * z,
        0.055_643_4 * x - 0.204_025_9 * y + 1.057_225_2 * z,
    )
}

/// Returns the reflectance of a film in one channel, 0..=1. The film has index of refraction `ior`.
///
/// `front` is the reflectance of the film's front for the light, and `cos_inside` the cosine of the light in the film.
/// `base` is the reflectance of the surface below at normal incidence without a film. `once` and `twice` are the
/// responses to light that crosses the film once and twice more than other light.
#[inline(always)]
pub fn film_channel(
    front: f32,
    ior: f32,
    cos_inside: f32,
    base: f32,
    (once, twice): (f32, f32),
) -> f32 {
    let root = min_f32(max_f32(base, 0.0), 0.9999).sqrt();
    let base_ior = (1.0 + root) / (1.0 - root);
    let amplitude = (base_ior - ior) / (base_ior + ior);
    let at_normal = amplitude * amplitude;
    let back = at_normal + (1.0 - at_normal) * schlick(cos_inside);
    // A wave that is reflected at a higher index of refraction is shifted by half a period.
    let shift = if base_ior < ior { 1.0 } else { -1.0 };
    let through = 1.0 - front;
    let product = min_f32(front * back, 0.9999);
    let between = product.sqrt();
    let repeated = through * through * back / (1.0 - product);
    let first = (repeated - through) * between;
    let sum = front + repeated + 2.0 * first * (shift * once + between * twice);
    min_f32(max_f32(sum, 0.0), 1.0)
}

/// Returns the reflectance per channel of a film in air on a surface, 0..=1.
///
/// `cosine` is that of the light outside the film. The film has index of refraction `ior`, at least 1, and `thickness`
/// in nanometres. `base` is the reflectance of the surface at normal incidence without the film.
#[inline]
pub fn film_reflectance(cosine: f32, ior: f32, thickness: f32, base: Vec3) -> Vec3 {
    // The thinnest films fade out.
    let fade = min_f32(thickness * (1.0 / 0.03), 1.0);
    let ior = 1.0 + (ior - 1.0) * (fade * fade * (3.0 - 2.0 * fade));
    let cosine = min_f32(max_f32(cosine, 0.0), 1.0);
    let (front, cos_inside) = fresnel(cosine, 1.0 / ior);
    let path = 2e-3 * ior * thickness * cos_inside;
    let once = interference(path);
    let twice = interference(2.0 * path);
    Vec3::new(
        film_channel(front, ior, cos_inside, base.x, (once.x, twice.x)),
        film_channel(front, ior, cos_inside, base.y, (once.y, twice.y)),
        film_channel(front, ior, cos_inside, base.z, (once.z, twice.z)),
    )
}
