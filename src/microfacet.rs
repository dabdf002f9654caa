//! Rough surfaces as small mirrors whose normals are spread by GGX. Twin: `kernels/shared/microfacet.cuh`.
//!
//! Sources: B. Walter et al., Microfacet Models for Refraction through Rough Surfaces, 2007; E. Heitz, Understanding the
//! Masking-Shadowing Function, 2014; J. Dupuy & A. Benyoub, Sampling Visible GGX Normals with Spherical Caps, 2023.

use glam::Vec3;

use crate::math::{INV_PI, cross, dot, greater, normalize, square_to_disk, to_local, to_world};

/// Roughness below which a surface is no longer told from a smooth one: the smallest `alpha` of a rough material.
pub const MIN_ALPHA: f32 = 0.001;

/// √(cos² + α² sin²): what Smith's masking is made of.
#[inline]
pub fn smith_root(cosine: f32, alpha: f32) -> f32 {
    (cosine * cosine + alpha * alpha * greater(0.0, 1.0 - cosine * cosine)).sqrt()
}

/// Density of the normals that the eye sees, per steradian, over the cosine between the normal and `to_eye`: for a normal
/// `half`, GGX times Smith's masking over the eye's cosine.
#[inline]
pub fn visible_facets(normal: Vec3, half: Vec3, cos_eye: f32, alpha: f32) -> f32 {
    let cos_half = dot(normal, half);
    if cos_half <= 0.0 {
        return 0.0;
    }
    let across = cross(normal, half);
    let spread = alpha * alpha * cos_half * cos_half + dot(across, across);
    let ratio = alpha / spread;
    2.0 * INV_PI * ratio * ratio / (cos_eye + smith_root(cos_eye, alpha))
}

/// Part of the visible facets that the light sees too, by Smith: as if heights on both ways had nothing to do with each
/// other (separable), or correlated.
#[inline]
pub fn shadowing(cos_eye: f32, cos_light: f32, alpha: f32, correlated: bool) -> f32 {
    let root_light = smith_root(cos_light, alpha);
    if !correlated {
        return 2.0 * cos_light / (cos_light + root_light);
    }
    let root_eye = smith_root(cos_eye, alpha);
    cos_light * (cos_eye + root_eye) / (cos_eye * root_light + cos_light * root_eye)
}

/// A normal in proportion to `visible_facets` times its cosine with `to_eye`.
#[inline]
pub fn sample_facet(normal: Vec3, to_eye: Vec3, alpha: f32, u: f32, v: f32) -> Vec3 {
    let eye = to_local(normal, to_eye);
    let stretched = normalize(Vec3::new(eye.x * alpha, eye.y * alpha, eye.z));
    // A disk of uniform density, lifted onto the cap: heights are uniform where squared radii are.
    let (x, y) = square_to_disk(u, v);
    let height = 1.0 + stretched.z;
    let drop = (x * x + y * y) * height;
    let stretch = greater(0.0, height * (2.0 - drop)).sqrt();
    let half = Vec3::new(
        (x * stretch + stretched.x) * alpha,
        (y * stretch + stretched.y) * alpha,
        1.0 - drop + stretched.z,
    );
    normalize(to_world(normal, normalize(half)))
}

/// Fraction of unpolarised light that a conductor reflects in one channel: Fresnel's equations for a complex index.
#[inline]
pub fn fresnel_conductor(cosine: f32, eta: f32, k: f32) -> f32 {
    let cos2 = cosine * cosine;
    let sin2 = greater(0.0, 1.0 - cos2);
    let difference = eta * eta - k * k - sin2;
    let sum = (difference * difference + 4.0 * eta * eta * k * k).sqrt();
    let real = greater(0.0, 0.5 * (sum + difference)).sqrt();
    let (s0, s1) = (sum + cos2, 2.0 * real * cosine);
    let across = (s0 - s1) / (s0 + s1);
    let (p0, p1) = (cos2 * sum + sin2 * sin2, s1 * sin2);
    let along = across * ((p0 - p1) / (p0 + p1));
    0.5 * (across + along)
}

/// Schlick's weight of what is reflected at grazing angles: (1 − cos)⁵.
#[inline]
pub fn schlick(cosine: f32) -> f32 {
    let m = greater(0.0, 1.0 - cosine);
    let m2 = m * m;
    m2 * m2 * m
}
