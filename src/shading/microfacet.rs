//! The GGX microfacet distribution with Smith masking-shadowing, and Fresnel reflectance of conductors. Twin:
//! `kernels/shared/microfacet.cuh`.
//!
//! Sources: B. Walter et al., Microfacet Models for Refraction through Rough Surfaces, 2007; E. Heitz, Understanding
//! the Masking-Shadowing Function, 2014; J. Dupuy & A. Benyoub, Sampling Visible GGX Normals with Spherical Caps, 2023.

use glam::Vec3;

use crate::math::{
    INV_PI, cross, dot, local_to_world, max_f32, normalize, square_to_disk, to_local,
};

pub use crate::scene::limits::MIN_ALPHA;

/// Returns √(cos² + α² sin²), the term from which Smith's masking function of GGX is built.
#[inline(always)]
pub fn smith_root(cosine: f32, alpha: f32) -> f32 {
    (cosine * cosine + alpha * alpha * max_f32(0.0, 1.0 - cosine * cosine)).sqrt()
}

/// Returns the density of visible normals (VNDF) at `half`, per steradian, divided by the cosine between `half` and the
/// direction to the eye.
///
/// This is D(half) · G1(eye) / `cos_eye`. `cos_eye` is the cosine between `normal` and the direction to the eye, above
/// 0. Returns 0 for a `half` below the surface.
#[inline(always)]
pub fn visible_normal_density(normal: Vec3, half: Vec3, cos_eye: f32, alpha: f32) -> f32 {
    let cos_half = dot(normal, half);
    if cos_half <= 0.0 {
        return 0.0;
    }
    let across = cross(normal, half);
    let spread = alpha * alpha * cos_half * cos_half + dot(across, across);
    let ratio = alpha / spread;
    2.0 * INV_PI * ratio * ratio / (cos_eye + smith_root(cos_eye, alpha))
}

/// Returns Smith's masking-shadowing G2 divided by the masking G1 of the eye, 0..=1: the visible facets' lit fraction.
///
/// `correlated` selects the height-correlated form; otherwise masking and shadowing are separable. Both cosines are
/// above 0.
#[inline(always)]
pub fn shadowing(cos_eye: f32, cos_light: f32, alpha: f32, correlated: bool) -> f32 {
    let root_light = smith_root(cos_light, alpha);
    if !correlated {
        return 2.0 * cos_light / (cos_light + root_light);
    }
    let root_eye = smith_root(cos_eye, alpha);
    cos_light * (cos_eye + root_eye) / (cos_eye * root_light + cos_light * root_eye)
}

/// Samples a microfacet normal from the distribution of normals visible from `to_eye`, in world space. `u` and `v` are
/// uniform in [0, 1).
#[inline(always)]
pub fn sample_visible_normal(normal: Vec3, to_eye: Vec3, alpha: f32, u: f32, v: f32) -> Vec3 {
    let eye = to_local(normal, to_eye);
    let stretched = normalize(Vec3::new(eye.x * alpha, eye.y * alpha, eye.z));
    // A uniform disk lifted onto the spherical cap: heights are uniform if squared radii are.
    let (x, y) = square_to_disk(u, v);
    let height = 1.0 + stretched.z;
    let drop = (x * x + y * y) * height;
    let stretch = max_f32(0.0, height * (2.0 - drop)).sqrt();
    let half = Vec3::new(
        (x * stretch + stretched.x) * alpha,
        (y * stretch + stretched.y) * alpha,
        1.0 - drop + stretched.z,
    );
    normalize(local_to_world(normal, normalize(half)))
}

/// Returns the components of a direction along the tangent, along the bitangent (`normal` × `tangent`) and along the
/// normal. `normal` and `tangent` are perpendicular and of length 1.
#[inline(always)]
pub fn in_frame(normal: Vec3, tangent: Vec3, direction: Vec3) -> Vec3 {
    Vec3::new(
        dot(tangent, direction),
        dot(cross(normal, tangent), direction),
        dot(normal, direction),
    )
}

/// Returns [`smith_root`] for roughness `alpha_x` along the tangent and `alpha_y` along the bitangent. `local` is a
/// direction as [`in_frame`] returns it.
#[inline(always)]
pub fn anisotropic_root(local: Vec3, alpha_x: f32, alpha_y: f32) -> f32 {
    let (x, y) = (local.x * alpha_x, local.y * alpha_y);
    (local.z * local.z + x * x + y * y).sqrt()
}

/// Returns [`visible_normal_density`] for roughness `alpha_x` along the tangent and `alpha_y` along the bitangent.
/// `eye` and `half` are directions as [`in_frame`] returns them.
#[inline(always)]
pub fn anisotropic_density(eye: Vec3, half: Vec3, alpha_x: f32, alpha_y: f32) -> f32 {
    if half.z <= 0.0 {
        return 0.0;
    }
    let (x, y) = (half.x / alpha_x, half.y / alpha_y);
    let spread = x * x + y * y + half.z * half.z;
    let area = alpha_x * alpha_y * spread * spread;
    2.0 * INV_PI / (area * (eye.z + anisotropic_root(eye, alpha_x, alpha_y)))
}

/// Returns the [`shadowing`] for roughness `alpha_x` along the tangent and `alpha_y` along the bitangent. `eye` and
/// `light` are directions as [`in_frame`] returns them, on the side of the normal.
#[inline(always)]
pub fn anisotropic_shadowing(
    eye: Vec3,
    light: Vec3,
    alpha_x: f32,
    alpha_y: f32,
    correlated: bool,
) -> f32 {
    let root_light = anisotropic_root(light, alpha_x, alpha_y);
    if !correlated {
        return 2.0 * light.z / (light.z + root_light);
    }
    let root_eye = anisotropic_root(eye, alpha_x, alpha_y);
    light.z * (eye.z + root_eye) / (eye.z * root_light + light.z * root_eye)
}

/// Samples a microfacet normal like [`sample_visible_normal`], for roughness `alpha_x` along the tangent and `alpha_y`
/// along the bitangent. Returns it in world space.
#[inline(always)]
pub fn sample_anisotropic_normal(
    (normal, tangent): (Vec3, Vec3),
    to_eye: Vec3,
    alpha_x: f32,
    alpha_y: f32,
    (u, v): (f32, f32),
) -> Vec3 {
    let eye = in_frame(normal, tangent, to_eye);
    let stretched = normalize(Vec3::new(eye.x * alpha_x, eye.y * alpha_y, eye.z));
    let (x, y) = square_to_disk(u, v);
    let height = 1.0 + stretched.z;
    let drop = (x * x + y * y) * height;
    let stretch = max_f32(0.0, height * (2.0 - drop)).sqrt();
    let half = normalize(Vec3::new(
        (x * stretch + stretched.x) * alpha_x,
        (y * stretch + stretched.y) * alpha_y,
        1.0 - drop + stretched.z,
    ));
    normalize(tangent * half.x + cross(normal, tangent) * half.y + normal * half.z)
}

/// Returns the Fresnel reflectance of a conductor for unpolarised light in one channel. `eta` + i `k` is the refractive
/// index relative to the outside.
#[inline]
pub fn fresnel_conductor(cosine: f32, eta: f32, k: f32) -> f32 {
    let cos2 = cosine * cosine;
    let sin2 = max_f32(0.0, 1.0 - cos2);
    let difference = eta * eta - k * k - sin2;
    let sum = (difference * difference + 4.0 * eta * eta * k * k).sqrt();
    let real = max_f32(0.0, 0.5 * (sum + difference)).sqrt();
    let (s0, s1) = (sum + cos2, 2.0 * real * cosine);
    let across = (s0 - s1) / (s0 + s1);
    let (p0, p1) = (cos2 * sum + sin2 * sin2, s1 * sin2);
    let along = across * ((p0 - p1) / (p0 + p1));
    0.5 * (across + along)
}

/// Returns Schlick's weight (1 − cos)⁵, which interpolates from normal-incidence to grazing reflectance.
#[inline(always)]
pub fn schlick(cosine: f32) -> f32 {
    let m = max_f32(0.0, 1.0 - cosine);
    let m2 = m * m;
    m2 * m2 * m
}
