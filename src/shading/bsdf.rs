//! BSDFs: evaluation, pdf and sampling of a material at a hit. Twin: `kernels/shared/bsdf.cuh`.
//!
//! Directions are in world space, have length 1 and point away from the surface: `to_eye` to the previous path vertex,
//! `to_light` to the next one. `normal` is the shading normal on the eye's side. Energy that single scattering on rough
//! surfaces loses is restored after Kulla & Conty: see [`energy`](crate::shading::energy).

// The lobes. Their files are beside this one, as their headers are beside `bsdf.cuh`.
#[path = "conductor.rs"]
pub mod conductor;
#[path = "dielectric.rs"]
pub mod dielectric;
#[path = "extended.rs"]
pub mod extended;
#[path = "facets.rs"]
pub mod facets;
#[path = "layered.rs"]
pub mod layered;
#[path = "sheen.rs"]
pub mod sheen;
#[path = "specular.rs"]
pub mod specular;

use glam::Vec3;

pub use self::specular::{is_specular, sample_specular};
use self::{
    conductor::{compensate_conductor, metal_value},
    dielectric::{compensate_dielectric, glass_value, sample_rough},
    extended::{extended_value, resolve_extended, sample_extended},
    facets::{has_anisotropic_facets, has_beckmann_facets},
    layered::{layered_value, resolve_layers, sample_layers},
};
pub use crate::shading::bsdf_types::{Bsdf, BsdfSample, BsdfValue, NO_VALUE};
use crate::{
    math::{INV_PI, dot},
    shading::material::{
        COMPENSATED, DIFFUSE, EXTENDED, LAYERED, Material, ROUGH_CONDUCTOR, ROUGH_DIELECTRIC, THIN,
        sample_cosine,
    },
};

/// Returns the BSDF of a material seen from its front or back. The caller sets `coat_normal` and `tangent` afterwards.
///
/// `cos_eye` and `cos_coat` are the cosines of `to_eye` with the shading normals of the base and of the coat. `along2`
/// is the squared cosine of the azimuth of `to_eye` to the tangent; only extended materials use it.
#[inline]
pub fn bsdf_of(
    tables: &[f32],
    material: &Material,
    cos_eye: f32,
    cos_coat: f32,
    along2: f32,
    front: bool,
) -> Bsdf {
    let mut bsdf = unresolved_bsdf(material, front);
    if has_beckmann_facets(&bsdf) {
        bsdf.alpha_along = material.alpha;
    }
    if has_anisotropic_facets(&bsdf) {
        bsdf.alpha_along = material.alpha;
        bsdf.alpha = material.alpha_across;
    }
    if bsdf.kind == ROUGH_CONDUCTOR && bsdf.flags & COMPENSATED != 0 {
        compensate_conductor(tables, &mut bsdf, material, cos_eye);
    }
    if bsdf.kind == ROUGH_DIELECTRIC && bsdf.flags & COMPENSATED != 0 {
        compensate_dielectric(tables, &mut bsdf, cos_eye, front);
    }
    if bsdf.kind == LAYERED {
        resolve_layers(tables, &mut bsdf, material, cos_eye, cos_coat, front);
    }
    if bsdf.kind == EXTENDED {
        let cosines = (cos_eye, cos_coat);
        resolve_extended(tables, &mut bsdf, material, cosines, along2, front);
    }
    bsdf
}

/// Returns the BSDF of a material seen from its front or back, without the parts that depend on the viewing direction.
#[inline(always)]
pub(crate) fn unresolved_bsdf(material: &Material, front: bool) -> Bsdf {
    Bsdf {
        color: material.color,
        kind: material.kind,
        index: material.eta,
        k: material.k,
        eta: if front || material.flags & THIN != 0 {
            1.0 / material.ior
        } else {
            material.ior
        },
        alpha: material.alpha,
        flags: material.flags,
        table: material.table,
        back: 0,
        lost: 0.0,
        lost_ratio: 0.0,
        lost_ratio_behind: 0.0,
        transmitted_share: 0.0,
        mirrors: material.mirrors,
        f0: Vec3::ZERO,
        f90: 0.0,
        multiple_scattering: Vec3::ZERO,
        diffuse: Vec3::ZERO,
        boundary_f0: 0.0,
        boundary_f90: 0.0,
        glass: 0.0,
        coat: 0.0,
        coat_alpha: 0.0,
        coat_normal: Vec3::ZERO,
        coat_transmittance: 0.0,
        coat_factor: 0.0,
        coat_probability: 0.0,
        facets_cumulative: 0.0,
        diffuse_cumulative: 0.0,
        tangent: Vec3::ZERO,
        alpha_along: 0.0,
        anisotropic_table: 0,
        metallic: 0.0,
        film: 0.0,
        film_ior: 0.0,
        film_thickness: 0.0,
        film_added: Vec3::ZERO,
        film_again: Vec3::ZERO,
        film_again_behind: Vec3::ZERO,
        behind: Vec3::ZERO,
        sheen: Vec3::ZERO,
        sheen_strength: 0.0,
        sheen_alpha: 0.0,
        sheen_table: 0,
        sheen_transmittance: 0.0,
        sheen_factor: 0.0,
        behind_cumulative: 0.0,
        sheen_cumulative: 0.0,
    }
}

/// Evaluates Lambertian reflection of this albedo, as [`bsdf_value`].
#[inline(always)]
pub(crate) fn diffuse_value(albedo: Vec3, normal: Vec3, to_light: Vec3) -> BsdfValue {
    let cosine = dot(normal, to_light);
    if cosine <= 0.0 {
        return NO_VALUE;
    }
    let pdf = cosine * INV_PI;
    BsdfValue {
        color: albedo,
        scale: pdf,
        pdf,
    }
}

/// Samples Lambertian reflection of this albedo, as [`bsdf_sample`].
#[inline(always)]
pub(crate) fn sample_diffuse(albedo: Vec3, normal: Vec3, u: f32, v: f32) -> BsdfSample {
    let (direction, cosine) = sample_cosine(normal, u, v);
    BsdfSample {
        direction,
        weight: if cosine > 0.0 { albedo } else { Vec3::ZERO },
        pdf: cosine * INV_PI,
        eta_scale: 1.0,
        side: 1.0,
    }
}

/// Evaluates a BSDF for light from `to_light` towards `to_eye`, and the pdf of sampling `to_light`. Delta distributions
/// evaluate to zero.
#[inline]
pub fn bsdf_value(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    to_light: Vec3,
) -> BsdfValue {
    match bsdf.kind {
        DIFFUSE => diffuse_value(bsdf.color, normal, to_light),
        ROUGH_CONDUCTOR => metal_value(tables, bsdf, normal, to_eye, to_light),
        ROUGH_DIELECTRIC => glass_value(tables, bsdf, normal, to_eye, to_light),
        LAYERED => layered_value(tables, bsdf, normal, to_eye, to_light),
        EXTENDED => extended_value(tables, bsdf, normal, to_eye, to_light),
        _ => NO_VALUE,
    }
}

/// Samples the next direction of a BSDF that is not specular, approximately proportional to BSDF times cosine.
///
/// `choice` selects a lobe, `u` and `v` the direction; all are uniform in [0, 1).
#[inline]
pub fn bsdf_sample(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> BsdfSample {
    if bsdf.kind == DIFFUSE {
        return sample_diffuse(bsdf.color, normal, u, v);
    }
    let (direction, side) = match bsdf.kind {
        LAYERED => sample_layers(tables, bsdf, normal, to_eye, choice, u, v),
        EXTENDED => sample_extended(tables, bsdf, normal, to_eye, choice, u, v),
        _ => sample_rough(tables, bsdf, normal, to_eye, choice, u, v),
    };
    let value = bsdf_value(tables, bsdf, normal, to_eye, direction);
    // A direction on the wrong side would meet other facets first; it is rejected.
    let leaves = dot(normal, direction) * side > 0.0 && value.pdf > 0.0;
    BsdfSample {
        direction,
        weight: if leaves {
            value.color * (value.scale / value.pdf)
        } else {
            Vec3::ZERO
        },
        pdf: value.pdf,
        eta_scale: if side < 0.0 && bsdf.flags & THIN == 0 {
            1.0 / (bsdf.eta * bsdf.eta)
        } else {
            1.0
        },
        side,
    }
}
