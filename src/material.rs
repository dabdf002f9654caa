//! How surfaces scatter and shine. Twin: `kernels/shared/material.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{dot, greater, normalize, square_to_disk, to_world},
    scene,
};

/// `Material::kind`: Lambert's, of albedo `color`; shines with `emission` from its front.
pub const DIFFUSE: u32 = 0;
/// `Material::kind`: a perfect mirror that reflects `color`.
pub const MIRROR: u32 = 1;
/// `Material::kind`: a smooth boundary to a medium of refractive index `ior`, which lies behind the front.
pub const DIELECTRIC: u32 = 2;

shared! {
    /// A surface's material.
    #[repr(align(16))]
    pub struct Material {
        /// Albedo or reflectance, linear sRGB, 0..=1.
        pub color: Vec3,
        /// One of the kinds.
        pub kind: u32,
        /// Radiance from the front, linear sRGB.
        pub emission: Vec3,
        /// Refractive index relative to the outside.
        pub ior: f32,
        /// 1 if it is black seen from behind.
        pub one_sided: u32,
        /// Unused.
        pub _pad0: u32,
        /// Unused.
        pub _pad1: u32,
        /// Unused.
        pub _pad2: u32,
    }
}

/// Direction of a mirrored ray, of length 1. `normal` faces the ray.
#[inline]
pub fn reflect(direction: Vec3, normal: Vec3) -> Vec3 {
    normalize(direction - normal * (2.0 * dot(direction, normal)))
}

/// Direction of a refracted ray, of length 1. `normal` faces the ray; `eta` is the index before the surface over the one
/// behind it; `cos_out` is the refracted ray's cosine from `fresnel`.
#[inline]
pub fn refract(direction: Vec3, normal: Vec3, eta: f32, cos_in: f32, cos_out: f32) -> Vec3 {
    normalize(direction * eta + normal * (eta * cos_in - cos_out))
}

/// Fraction of unpolarised light that a smooth boundary reflects, and the cosine of the refracted ray (0 in total
/// reflection). Fresnel's equations for dielectrics.
#[inline]
pub fn fresnel(cos_in: f32, eta: f32) -> (f32, f32) {
    let sin2_out = eta * eta * greater(0.0, 1.0 - cos_in * cos_in);
    if sin2_out >= 1.0 {
        return (1.0, 0.0);
    }
    let cos_out = (1.0 - sin2_out).sqrt();
    let parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    let perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    (
        0.5 * (parallel * parallel + perpendicular * perpendicular),
        cos_out,
    )
}

/// A direction about `normal` with density cos θ / π, and its cosine.
#[inline]
pub fn sample_cosine(normal: Vec3, u: f32, v: f32) -> (Vec3, f32) {
    let (x, y) = square_to_disk(u, v);
    let cosine = greater(0.0, 1.0 - x * x - y * y).sqrt();
    (normalize(to_world(normal, Vec3::new(x, y, cosine))), cosine)
}

/// Weight of a sample drawn with density `drawn` that `other` could have drawn too: the power heuristic with exponent 2
/// (Veach 1997). The quotient, and not the squares, so that no density is too large for it.
#[inline]
pub fn power_heuristic(drawn: f32, other: f32) -> f32 {
    let ratio = other / drawn;
    1.0 / (1.0 + ratio * ratio)
}

impl From<&scene::Surface> for Material {
    fn from(surface: &scene::Surface) -> Material {
        let plain = |kind, color| Material {
            kind,
            color,
            ior: 1.0,
            ..Material::default()
        };
        match *surface {
            scene::Surface::Diffuse { albedo, one_sided } => Material {
                one_sided: one_sided.into(),
                ..plain(DIFFUSE, albedo)
            },
            scene::Surface::Mirror {
                reflectance,
                one_sided,
            } => Material {
                one_sided: one_sided.into(),
                ..plain(MIRROR, reflectance)
            },
            scene::Surface::Dielectric { ior } => Material {
                ior,
                ..plain(DIELECTRIC, Vec3::ONE)
            },
            scene::Surface::Emissive {
                radiance,
                albedo,
                one_sided,
            } => Material {
                emission: radiance,
                one_sided: one_sided.into(),
                ..plain(DIFFUSE, albedo)
            },
        }
    }
}
