//! Conductors: Fresnel reflectance, and evaluation of rough conductors with compensation of multiple scattering. Twin:
//! `kernels/shared/conductor.cuh`.
//!
//! Directions are those of [`bsdf`](crate::shading::bsdf). Rough conductors are sampled by
//! [`sample_rough`](crate::shading::bsdf::dielectric::sample_rough).

use glam::Vec3;

use crate::{
    math::{INV_PI, dot, normalize},
    shading::{
        bsdf::facets::{facet_density, facet_shadowing},
        bsdf_types::{Bsdf, BsdfValue, NO_VALUE, share},
        energy::{LOST, directional, hemispherical},
        material::{Material, SCHLICK},
        microfacet::{fresnel_conductor, schlick},
    },
};

/// Sets the multiple-scattering compensation of a rough conductor. `cos_eye` is the cosine between the normal and
/// `to_eye`.
#[inline]
pub fn compensate_conductor(tables: &[f32], bsdf: &mut Bsdf, material: &Material, cos_eye: f32) {
    let here = hemispherical(tables, bsdf.table, LOST, bsdf.alpha);
    bsdf.lost = if here > 0.0 {
        directional(tables, bsdf.table, LOST, bsdf.alpha, cos_eye)
    } else {
        0.0
    };
    bsdf.lost_ratio = share(bsdf.lost, here);
    bsdf.f0 = if bsdf.flags & SCHLICK != 0 {
        bsdf.color + (Vec3::ONE - bsdf.color) * (1.0 / 21.0)
    } else {
        material.sheen * bsdf.color
    };
}

/// Returns the tint of a conductor's multiple scattering in one channel (Kulla & Conty).
///
/// `mean` is the hemispherical mean of the smooth Fresnel reflectance, `lost` the mean energy that single scattering
/// loses.
#[inline(always)]
pub fn multiple_scattering_tint(mean: f32, lost: f32) -> f32 {
    mean * mean * (1.0 - lost) / (1.0 - mean * lost)
}

/// Returns the reflectance of a conductor's facet per channel: Fresnel's times the tint for an index `eta` + i `k`,
/// Schlick's otherwise.
#[inline]
pub fn metal_reflectance(bsdf: &Bsdf, cosine: f32) -> Vec3 {
    if bsdf.flags & SCHLICK != 0 {
        return bsdf.color + (Vec3::ONE - bsdf.color) * schlick(cosine);
    }
    bsdf.color
        * Vec3::new(
            fresnel_conductor(cosine, bsdf.index.x, bsdf.k.x),
            fresnel_conductor(cosine, bsdf.index.y, bsdf.k.y),
            fresnel_conductor(cosine, bsdf.index.z, bsdf.k.z),
        )
}

/// Evaluates a rough conductor for `to_light`.
#[inline]
pub fn metal_value(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    to_light: Vec3,
) -> BsdfValue {
    let (cos_eye, cos_light) = (dot(normal, to_eye), dot(normal, to_light));
    if cos_eye <= 0.0 || cos_light <= 0.0 {
        return NO_VALUE;
    }
    let half = normalize(to_eye + to_light);
    let seen = 0.25 * facet_density(bsdf, normal, to_eye, half, cos_eye);
    let lit = facet_shadowing(bsdf, normal, to_eye, to_light, cos_light);
    let once = metal_reflectance(bsdf, dot(to_eye, half)) * (seen * lit);
    if bsdf.lost_ratio <= 0.0 {
        return BsdfValue {
            color: once,
            scale: 1.0,
            pdf: seen,
        };
    }
    let spread = cos_light * INV_PI;
    let again =
        bsdf.lost_ratio * directional(tables, bsdf.table, LOST, bsdf.alpha, cos_light) * spread;
    let mean_lost = bsdf.lost / bsdf.lost_ratio;
    let tint = Vec3::new(
        multiple_scattering_tint(bsdf.f0.x, mean_lost),
        multiple_scattering_tint(bsdf.f0.y, mean_lost),
        multiple_scattering_tint(bsdf.f0.z, mean_lost),
    );
    BsdfValue {
        color: once + tint * again,
        scale: 1.0,
        pdf: (1.0 - bsdf.lost) * seen + bsdf.lost * spread,
    }
}
