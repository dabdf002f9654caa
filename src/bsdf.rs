//! What a surface does with light where it was hit. Twin: `kernels/shared/bsdf.cuh`.
//!
//! Directions are in world space, of length 1, and point away from the surface: `to_eye` to where the path comes from,
//! `to_light` to where it goes. `normal` is the one that it is shaded by, on the eye's side.

use glam::Vec3;

use crate::{
    material::{DIFFUSE, MIRROR, Material, fresnel, reflect, refract, sample_cosine},
    math::{INV_PI, dot},
};

/// A material where it was hit, seen from one side.
#[derive(Clone, Copy, Debug)]
pub struct Bsdf {
    /// Albedo or reflectance, linear sRGB.
    pub color: Vec3,
    /// One of the material's kinds.
    pub kind: u32,
    /// Refractive index on the eye's side over that behind the surface.
    pub eta: f32,
}

/// How much of the light from one direction goes into another.
#[derive(Clone, Copy, Debug)]
pub struct BsdfValue {
    /// Per linear sRGB channel, to be multiplied by `scale`.
    pub color: Vec3,
    /// BSDF times the light's cosine is `color * scale`, per steradian.
    pub scale: f32,
    /// Density with which `bsdf_sample` draws the direction, per steradian.
    pub pdf: f32,
}

/// A direction for the path to go on.
#[derive(Clone, Copy, Debug)]
pub struct BsdfSample {
    /// Of length 1.
    pub direction: Vec3,
    /// BSDF times cosine over the density; 0 where the path ends.
    pub weight: Vec3,
    /// Density, per steradian; 0 if the direction is the only one possible.
    pub pdf: f32,
    /// See `Throughput::squeeze`: what it is multiplied by.
    pub squeeze: f32,
    /// 1 if it leaves on the eye's side, −1 if on the other.
    pub side: f32,
}

/// The material as it is seen from its front or its back.
#[inline]
pub fn bsdf_of(material: &Material, front: bool) -> Bsdf {
    Bsdf {
        color: material.color,
        kind: material.kind,
        eta: if front {
            1.0 / material.ior
        } else {
            material.ior
        },
    }
}

/// Whether all light goes into directions that no light sample can find.
#[inline]
pub fn is_specular(bsdf: &Bsdf) -> bool {
    bsdf.kind != DIFFUSE
}

/// What comes from `to_light` to `to_eye`, without what only one direction does.
#[inline]
pub fn bsdf_value(bsdf: &Bsdf, normal: Vec3, _to_eye: Vec3, to_light: Vec3) -> BsdfValue {
    let cosine = dot(normal, to_light);
    if is_specular(bsdf) || cosine <= 0.0 {
        return BsdfValue {
            color: Vec3::ZERO,
            scale: 0.0,
            pdf: 0.0,
        };
    }
    let pdf = cosine * INV_PI;
    BsdfValue {
        color: bsdf.color,
        scale: pdf,
        pdf,
    }
}

/// The next direction from a mirror or a smooth boundary. What goes through is spread or squeezed by the square of the
/// refractive indices' ratio.
#[inline]
pub fn sample_specular(bsdf: &Bsdf, normal: Vec3, to_eye: Vec3, choice: f32) -> BsdfSample {
    let eta = bsdf.eta;
    let cos_in = dot(normal, to_eye);
    let (reflected, cos_out) = if bsdf.kind == MIRROR {
        (1.0, 0.0)
    } else {
        fresnel(cos_in, eta)
    };
    if choice < reflected {
        return BsdfSample {
            direction: reflect(-to_eye, normal),
            weight: bsdf.color,
            pdf: 0.0,
            squeeze: 1.0,
            side: 1.0,
        };
    }
    BsdfSample {
        direction: refract(-to_eye, normal, eta, cos_in, cos_out),
        weight: bsdf.color * (eta * eta),
        pdf: 0.0,
        squeeze: 1.0 / (eta * eta),
        side: -1.0,
    }
}

/// A direction in proportion to what comes from there. `choice` picks among ways to go on, `u` and `v` the direction.
#[inline]
pub fn bsdf_sample(
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> BsdfSample {
    if is_specular(bsdf) {
        return sample_specular(bsdf, normal, to_eye, choice);
    }
    let (direction, cosine) = sample_cosine(normal, u, v);
    BsdfSample {
        direction,
        weight: if cosine > 0.0 { bsdf.color } else { Vec3::ZERO },
        pdf: cosine * INV_PI,
        squeeze: 1.0,
        side: 1.0,
    }
}
