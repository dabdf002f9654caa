//! Facets of rough conductors and glass: GGX or Beckmann's, isotropic or anisotropic. Twin:
//! `kernels/shared/facets.cuh`.
//!
//! Directions are those of [`bsdf`](crate::shading::bsdf).

use glam::Vec3;

use crate::{
    math::{cross, dot, local_to_world, normalize, to_local},
    shading::{
        beckmann::{beckmann_density, beckmann_shadowing, sample_beckmann_normal},
        bsdf_types::Bsdf,
        material::{ANISOTROPIC_FACETS, BECKMANN_FACETS, CORRELATED},
        microfacet::{
            anisotropic_density, anisotropic_shadowing, in_frame, sample_anisotropic_normal,
            sample_visible_normal, shadowing, visible_normal_density,
        },
    },
};

/// Returns whether the facets have different roughness along the tangent and across it.
#[inline(always)]
pub fn has_anisotropic_facets(bsdf: &Bsdf) -> bool {
    bsdf.flags & ANISOTROPIC_FACETS != 0
}

/// Returns whether the facets have Beckmann's distribution.
#[inline(always)]
pub fn has_beckmann_facets(bsdf: &Bsdf) -> bool {
    bsdf.flags & BECKMANN_FACETS != 0
}

/// Returns the components of a direction along the tangent of the facets, across it and along `normal`. For facets of
/// one roughness, the tangent is any.
#[inline(always)]
pub fn facet_frame(bsdf: &Bsdf, normal: Vec3, direction: Vec3) -> Vec3 {
    if has_anisotropic_facets(bsdf) {
        in_frame(normal, bsdf.tangent, direction)
    } else {
        to_local(normal, direction)
    }
}

/// Returns the [`visible_normal_density`] of the facet normal `half`. `cos_eye` is the cosine between `normal` and
/// `to_eye`, above 0.
#[inline(always)]
pub fn facet_density(bsdf: &Bsdf, normal: Vec3, to_eye: Vec3, half: Vec3, cos_eye: f32) -> f32 {
    if has_beckmann_facets(bsdf) {
        let eye = facet_frame(bsdf, normal, to_eye);
        let half_here = facet_frame(bsdf, normal, half);
        return beckmann_density(eye, half_here, bsdf.alpha_along, bsdf.alpha);
    }
    if has_anisotropic_facets(bsdf) {
        let eye = in_frame(normal, bsdf.tangent, to_eye);
        let half_here = in_frame(normal, bsdf.tangent, half);
        return anisotropic_density(eye, half_here, bsdf.alpha_along, bsdf.alpha);
    }
    visible_normal_density(normal, half, cos_eye, bsdf.alpha)
}

/// Returns the [`shadowing`] of facets. `to_light` may lie on either side of the surface, and `depth` is the absolute
/// value of its cosine to `normal`, above 0.
#[inline(always)]
pub fn facet_shadowing(bsdf: &Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3, depth: f32) -> f32 {
    let correlated = bsdf.flags & CORRELATED != 0;
    if has_beckmann_facets(bsdf) {
        let eye = facet_frame(bsdf, normal, to_eye);
        let mut light = facet_frame(bsdf, normal, to_light);
        light.z = depth;
        return beckmann_shadowing(eye, light, bsdf.alpha_along, bsdf.alpha, correlated);
    }
    if has_anisotropic_facets(bsdf) {
        let eye = in_frame(normal, bsdf.tangent, to_eye);
        let mut light = in_frame(normal, bsdf.tangent, to_light);
        light.z = depth;
        let (along, across) = (bsdf.alpha_along, bsdf.alpha);
        return anisotropic_shadowing(eye, light, along, across, correlated);
    }
    shadowing(dot(normal, to_eye), depth, bsdf.alpha, correlated)
}

/// Samples the normal of a facet that is visible from `to_eye`, in world space. `u` and `v` are uniform in [0, 1).
#[inline(always)]
pub fn sample_facet(bsdf: &Bsdf, normal: Vec3, to_eye: Vec3, u: f32, v: f32) -> Vec3 {
    if has_beckmann_facets(bsdf) {
        let eye = facet_frame(bsdf, normal, to_eye);
        let half = sample_beckmann_normal(eye, bsdf.alpha_along, bsdf.alpha, u, v);
        if !has_anisotropic_facets(bsdf) {
            return normalize(local_to_world(normal, half));
        }
        let across = cross(normal, bsdf.tangent) * half.y;
        return normalize(bsdf.tangent * half.x + across + normal * half.z);
    }
    if has_anisotropic_facets(bsdf) {
        let (along, across) = (bsdf.alpha_along, bsdf.alpha);
        return sample_anisotropic_normal((normal, bsdf.tangent), to_eye, along, across, (u, v));
    }
    sample_visible_normal(normal, to_eye, bsdf.alpha, u, v)
}
