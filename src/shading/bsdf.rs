//! BSDFs: evaluation, pdf and sampling of a material at a hit. Twin: `kernels/shared/bsdf.cuh`. Imports `energy`,
//! `material`, `math`, `microfacet`.
//!
//! Directions are in world space, have length 1 and point away from the surface: `to_eye` to the previous path vertex,
//! `to_light` to the next one. `normal` is the shading normal on the eye's side. Energy that single scattering on rough
//! surfaces loses is restored after Kulla & Conty: see [`energy`](crate::shading::energy).

use glam::Vec3;

use crate::{
    math::{INV_PI, dot, max_component, max_f32, min_f32, normalize},
    shading::{
        energy::{GRAZING, LOST, THROUGH_FRONT, directional, hemispherical},
        material::{
            COMPENSATED, CONDUCTOR, CORRELATED, DIELECTRIC, DIFFUSE, LAYERED, MIRROR, Material,
            ROUGH_CONDUCTOR, ROUGH_DIELECTRIC, SATURATED, SCHLICK, THIN, fresnel, reflect, refract,
            sample_cosine,
        },
        microfacet::{
            fresnel_conductor, sample_visible_normal, schlick, shadowing, visible_normal_density,
        },
    },
};

/// The BSDF of a material at a hit, for the side that the path sees and its direction `to_eye`.
#[derive(Clone, Copy, Debug)]
pub struct Bsdf {
    /// Albedo, reflectance or tint in linear sRGB, see `Material::color`.
    pub color: Vec3,
    /// Material kind, one of the constants of [`material`](crate::shading::material).
    pub kind: u32,
    /// Real part of a conductor's refractive index, per channel; unused if the conductor is defined by `color`.
    pub index: Vec3,
    /// Imaginary part of a conductor's refractive index, per channel.
    pub k: Vec3,
    /// Relative refractive index: that on the eye's side over that behind the surface.
    pub eta: f32,
    /// GGX roughness `alpha`.
    pub alpha: f32,
    /// Sum of the flags of `Material::flags`.
    pub flags: u32,
    /// Offset of the material's energy table, in floats, among all [`energy`](crate::shading::energy) tables.
    pub table: u32,
    /// Side that is seen: 0 front, 1 back. It also selects the function of a glass table for the eye's side.
    pub back: u32,
    /// Fraction of the energy towards `to_eye` that single scattering loses, and that is also the probability of
    /// sampling the compensating lobe; 0 without compensation.
    pub lost: f32,
    /// Ratio of `lost` to its cosine-weighted mean over the eye's hemisphere, which scales the compensating lobe; 0
    /// without compensation.
    pub lost_ratio: f32,
    /// Ratio of `lost` to the mean over the hemisphere behind the surface, which scales the transmitted compensating
    /// lobe of glass.
    pub lost_ratio_behind: f32,
    /// Fraction of the compensated energy of glass that is transmitted; the rest is reflected.
    pub transmitted_share: f32,
    /// Offset of a layered material's energy table of perfectly reflecting facets, in floats.
    pub mirrors: u32,
    /// Schlick reflectance at normal incidence (F0) of a layered material's metal and dielectric boundary together.
    pub f0: Vec3,
    /// Schlick reflectance at grazing incidence (F90) that belongs to `f0`.
    pub f90: f32,
    /// Colour of the multiple scattering of a layered material's metal: tint times metallic weight, times the energy
    /// lost towards `to_eye` over its hemispherical mean. Multiplying by the energy lost from the light gives the lobe.
    pub multiple_scattering: Vec3,
    /// Albedo of a layered material's diffuse base, scaled by its weight and by the energy entering towards `to_eye`
    /// over its mean. Multiplying by the energy that enters from the light gives the lobe.
    pub diffuse: Vec3,
    /// Reflectance at normal incidence (F0) of the dielectric boundary above the diffuse base.
    pub boundary_f0: f32,
    /// Reflectance at grazing incidence (F90) of the dielectric boundary above the diffuse base.
    pub boundary_f90: f32,
    /// Weight of a layered material's glass, 0..=1.
    pub glass: f32,
    /// Weight of a layered material's clear coat, 0..=1.
    pub coat: f32,
    /// GGX roughness `alpha` of the clear coat.
    pub coat_alpha: f32,
    /// Shading normal of the clear coat, on the eye's side; set by the caller of [`bsdf_of`].
    pub coat_normal: Vec3,
    /// Fraction of the energy towards `to_eye` that the clear coat transmits.
    pub coat_transmittance: f32,
    /// Probability of sampling the clear coat's facets.
    pub coat_probability: f32,
    /// Cumulative probability of sampling the coat or the facets below it.
    pub facets_cumulative: f32,
    /// Cumulative probability of sampling the coat, the facets or the cosine lobe; glass takes the rest.
    pub diffuse_cumulative: f32,
}

/// Value and pdf of a BSDF for a pair of directions.
#[derive(Clone, Copy, Debug)]
pub struct BsdfValue {
    /// Linear sRGB factor; BSDF times the absolute cosine of `to_light` is `color * scale`.
    pub color: Vec3,
    /// Scalar factor to `color`, per steradian: BSDF times the absolute cosine of `to_light` is `color * scale`.
    pub scale: f32,
    /// Pdf with which [`bsdf_sample`] samples the direction, per steradian of solid angle.
    pub pdf: f32,
}

/// A sampled direction in which the path continues.
#[derive(Clone, Copy, Debug)]
pub struct BsdfSample {
    /// Direction in world space, of length 1.
    pub direction: Vec3,
    /// Throughput factor: BSDF times cosine over pdf, per channel; 0 ends the path.
    pub weight: Vec3,
    /// Pdf of the direction, per steradian of solid angle; 0 for a delta distribution.
    pub pdf: f32,
    /// Factor to [`Throughput::eta_scale`](crate::path::Throughput): the squared ratio of the refractive indices behind
    /// and before a refraction, otherwise 1.
    pub eta_scale: f32,
    /// 1 if the path continues on the eye's side of the surface, −1 on the other.
    pub side: f32,
}

/// Value of a BSDF for directions that it does not connect: zero, with pdf 0.
pub const NO_VALUE: BsdfValue = BsdfValue {
    color: Vec3::ZERO,
    scale: 0.0,
    pdf: 0.0,
};

/// Returns `part / whole`, or 0 if `whole` is not positive.
#[inline]
pub fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Sets the multiple-scattering compensation of a rough conductor. `cos_eye` is the cosine between the normal and
/// `to_eye`.
#[inline]
pub fn compensate_conductor(tables: &[f32], bsdf: &mut Bsdf, cos_eye: f32) {
    let here = hemispherical(tables, bsdf.table, LOST, bsdf.alpha);
    bsdf.lost = if here > 0.0 {
        directional(tables, bsdf.table, LOST, bsdf.alpha, cos_eye)
    } else {
        0.0
    };
    bsdf.lost_ratio = share(bsdf.lost, here);
}

/// Sets the multiple-scattering compensation of rough glass seen from its front or back.
///
/// The compensated energy is split between reflection and transmission as by a smooth boundary, with the transmitted
/// part reduced where reciprocity demands it.
#[inline]
pub fn compensate_dielectric(tables: &[f32], bsdf: &mut Bsdf, cos_eye: f32, front: bool) {
    bsdf.back = u32::from(!front);
    let here = hemispherical(tables, bsdf.table, bsdf.back, bsdf.alpha);
    let there = hemispherical(tables, bsdf.table, 1 - bsdf.back, bsdf.alpha);
    let smooth = hemispherical(tables, bsdf.table, THROUGH_FRONT + bsdf.back, bsdf.alpha);
    bsdf.lost = if here > 0.0 {
        directional(tables, bsdf.table, bsdf.back, bsdf.alpha, cos_eye)
    } else {
        0.0
    };
    bsdf.lost_ratio = share(bsdf.lost, here);
    bsdf.lost_ratio_behind = share(bsdf.lost, there);
    bsdf.transmitted_share = smooth * share(min_f32(here, there), here);
}

/// Returns the tint of a conductor's multiple scattering in one channel (Kulla & Conty).
///
/// `mean` is the hemispherical mean of the smooth Fresnel reflectance, `lost` the mean energy that single scattering
/// loses.
#[inline]
pub fn multiple_scattering_tint(mean: f32, lost: f32) -> f32 {
    mean * mean * (1.0 - lost) / (1.0 - mean * lost)
}

/// Returns the directional albedo of single scattering by GGX facets whose Fresnel reflectance is Schlick's, from
/// `f0` to `f90`. `cosine` is that of the viewing direction.
#[inline]
pub fn schlick_albedo(
    tables: &[f32],
    table: u32,
    alpha: f32,
    cosine: f32,
    f0: f32,
    f90: f32,
) -> f32 {
    let lost = directional(tables, table, LOST, alpha, cosine);
    let at_grazing = directional(tables, table, GRAZING, alpha, cosine);
    f0 * (1.0 - lost - at_grazing) + f90 * at_grazing
}

/// Evaluates the view-dependent parts of a layered material: a coat over a mixture of metal, glass and a diffuse base
/// below a dielectric boundary.
///
/// Energy that the boundary does not reflect enters the base, so that a white base loses nothing and the BSDF stays
/// reciprocal (C. Kelemen & L. Szirmay-Kalos, A Microfacet Based Coupled Specular-Matte BRDF Model, 2001). `cos_eye`
/// and `cos_coat` are the cosines of `to_eye` with the shading normals of base and coat.
#[inline]
pub fn resolve_layers(
    tables: &[f32],
    bsdf: &mut Bsdf,
    material: &Material,
    cos_eye: f32,
    cos_coat: f32,
    front: bool,
) {
    let thin = bsdf.flags & THIN != 0;
    let (alpha, table) = (bsdf.alpha, bsdf.mirrors);
    let dielectric = 1.0 - material.metallic;
    let even = dielectric * (1.0 - material.transmission);
    bsdf.glass = dielectric * material.transmission;
    bsdf.f0 = bsdf.color * material.metallic + material.eta * even;
    bsdf.f90 = material.metallic + material.specular * even;
    bsdf.boundary_f0 = max_component(material.eta);
    bsdf.boundary_f90 = material.specular;

    let lost = directional(tables, table, LOST, alpha, cos_eye);
    let at_grazing = directional(tables, table, GRAZING, alpha, cos_eye);
    let mean_lost = hemispherical(tables, table, LOST, alpha);
    let mean_grazing = hemispherical(tables, table, GRAZING, alpha);
    let mean = bsdf.color + (Vec3::ONE - bsdf.color) * (1.0 / 21.0);
    bsdf.multiple_scattering = Vec3::new(
        multiple_scattering_tint(mean.x, mean_lost),
        multiple_scattering_tint(mean.y, mean_lost),
        multiple_scattering_tint(mean.z, mean_lost),
    ) * (material.metallic * share(lost, mean_lost));

    let entered =
        1.0 - (bsdf.boundary_f0 * (1.0 - lost - at_grazing) + bsdf.boundary_f90 * at_grazing);
    let mean_entered = 1.0
        - (bsdf.boundary_f0 * (1.0 - mean_lost - mean_grazing) + bsdf.boundary_f90 * mean_grazing);
    let mut base = bsdf.color;
    if bsdf.flags & SATURATED != 0 {
        // Light that the boundary reflects back into the base is scattered there again.
        let leaves = mean_entered / (material.ior * material.ior);
        base = Vec3::new(
            base.x * leaves / (1.0 - base.x * (1.0 - leaves)),
            base.y * leaves / (1.0 - base.y * (1.0 - leaves)),
            base.z * leaves / (1.0 - base.z * (1.0 - leaves)),
        );
    }
    bsdf.diffuse = base * (even * share(entered, mean_entered));

    let inside = !front && !thin && bsdf.glass > 0.0;
    bsdf.coat = material.clearcoat;
    bsdf.coat_alpha = material.clearcoat_alpha;
    bsdf.coat_transmittance = if inside || bsdf.coat <= 0.0 {
        1.0
    } else {
        1.0 - bsdf.coat * schlick_albedo(tables, table, bsdf.coat_alpha, cos_coat, 0.04, 1.0)
    };
    if bsdf.glass > 0.0 && thin {
        bsdf.table = table;
        bsdf.eta = 1.0 / material.ior;
        let amplitude = (1.0 - bsdf.eta) / (1.0 + bsdf.eta);
        bsdf.lost = if mean_lost > 0.0 { lost } else { 0.0 };
        bsdf.lost_ratio = share(lost, mean_lost);
        bsdf.lost_ratio_behind = bsdf.lost_ratio;
        bsdf.transmitted_share = (1.0 - amplitude * amplitude) * (20.0 / 21.0);
    } else if bsdf.glass > 0.0 {
        compensate_dielectric(tables, bsdf, cos_eye, front);
    }

    let facets = max_component(bsdf.f0) * (1.0 - lost - at_grazing) + bsdf.f90 * at_grazing;
    let evenly = max_component(bsdf.multiple_scattering) * mean_lost
        + max_component(bsdf.diffuse) * mean_entered;
    let rest = share(bsdf.coat_transmittance, facets + evenly + bsdf.glass);
    bsdf.coat_probability = 1.0 - bsdf.coat_transmittance;
    bsdf.facets_cumulative = bsdf.coat_probability + rest * facets;
    bsdf.diffuse_cumulative = bsdf.facets_cumulative + rest * evenly;
}

/// Returns the BSDF of a material seen from its front or back. The caller sets `coat_normal` afterwards.
///
/// `cos_eye` and `cos_coat` are the cosines of `to_eye` with the shading normals of the base and of the coat.
#[inline]
pub fn bsdf_of(
    tables: &[f32],
    material: &Material,
    cos_eye: f32,
    cos_coat: f32,
    front: bool,
) -> Bsdf {
    let mut bsdf = Bsdf {
        color: material.color,
        kind: material.kind,
        index: material.eta,
        k: material.k,
        eta: if front {
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
        coat_probability: 0.0,
        facets_cumulative: 0.0,
        diffuse_cumulative: 0.0,
    };
    if bsdf.kind == ROUGH_CONDUCTOR && bsdf.flags & COMPENSATED != 0 {
        compensate_conductor(tables, &mut bsdf, cos_eye);
    }
    if bsdf.kind == ROUGH_DIELECTRIC && bsdf.flags & COMPENSATED != 0 {
        compensate_dielectric(tables, &mut bsdf, cos_eye, front);
    }
    if bsdf.kind == LAYERED {
        resolve_layers(tables, &mut bsdf, material, cos_eye, cos_coat, front);
    }
    bsdf
}

/// Returns whether the BSDF consists of delta distributions only, so that light samples contribute nothing.
#[inline]
pub fn is_specular(bsdf: &Bsdf) -> bool {
    bsdf.kind == MIRROR || bsdf.kind == DIELECTRIC || bsdf.kind == CONDUCTOR
}

/// Returns the Fresnel reflectance of a conductor's facet per channel: exact for an index `eta` + i `k`, Schlick's
/// otherwise.
#[inline]
pub fn metal_reflectance(bsdf: &Bsdf, cosine: f32) -> Vec3 {
    if bsdf.flags & SCHLICK != 0 {
        return bsdf.color + (Vec3::ONE - bsdf.color) * schlick(cosine);
    }
    Vec3::new(
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
    let seen = 0.25 * visible_normal_density(normal, half, cos_eye, bsdf.alpha);
    let lit = shadowing(cos_eye, cos_light, bsdf.alpha, bsdf.flags & CORRELATED != 0);
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
    let mean = if bsdf.flags & SCHLICK != 0 {
        bsdf.color + (Vec3::ONE - bsdf.color) * (1.0 / 21.0)
    } else {
        bsdf.color
    };
    let tint = Vec3::new(
        multiple_scattering_tint(mean.x, mean_lost),
        multiple_scattering_tint(mean.y, mean_lost),
        multiple_scattering_tint(mean.z, mean_lost),
    );
    BsdfValue {
        color: once + tint * again,
        scale: 1.0,
        pdf: (1.0 - bsdf.lost) * seen + bsdf.lost * spread,
    }
}

/// Evaluates rough glass for `to_light` on either side of the surface.
///
/// Thin glass does not refract: light is transmitted as if reflected and then mirrored to the other side.
#[inline]
pub fn glass_value(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    to_light: Vec3,
) -> BsdfValue {
    let (cos_eye, cos_light) = (dot(normal, to_eye), dot(normal, to_light));
    if cos_eye <= 0.0 || cos_light == 0.0 {
        return NO_VALUE;
    }
    let reflects = cos_light > 0.0;
    let bends = !reflects && bsdf.flags & THIN == 0;
    let depth = if reflects { cos_light } else { -cos_light };
    let squeezed = if bends { bsdf.eta * bsdf.eta } else { 1.0 };
    let to_light = if reflects || bends {
        to_light
    } else {
        to_light + normal * (2.0 * depth)
    };
    let apart = if bends {
        to_eye * bsdf.eta + to_light
    } else {
        to_eye + to_light
    };
    let length2 = dot(apart, apart);
    let upward = if dot(normal, apart) < 0.0 { -1.0 } else { 1.0 };
    let half = apart * (upward / length2.sqrt());
    let (eye_half, light_half) = (dot(to_eye, half), dot(to_light, half));
    let mut seen = 0.0;
    if eye_half > 0.0 && (light_half < 0.0) == bends {
        let (reflected, _) = fresnel(eye_half, bsdf.eta);
        let facets = visible_normal_density(normal, half, cos_eye, bsdf.alpha);
        let part = if reflects { reflected } else { 1.0 - reflected };
        seen = if bends {
            facets * part * (eye_half * -light_half / length2)
        } else {
            0.25 * facets * part
        };
    }
    let lit = shadowing(cos_eye, depth, bsdf.alpha, bsdf.flags & CORRELATED != 0);
    let once = seen * lit;
    if bsdf.lost_ratio <= 0.0 {
        return BsdfValue {
            color: bsdf.color,
            scale: squeezed * once,
            pdf: seen,
        };
    }
    let (lost, part) = if reflects {
        (bsdf.lost_ratio, 1.0 - bsdf.transmitted_share)
    } else {
        (bsdf.lost_ratio_behind, bsdf.transmitted_share)
    };
    let function = if bends { 1 - bsdf.back } else { bsdf.back };
    let spread = part * depth * INV_PI;
    let again = lost * directional(tables, bsdf.table, function, bsdf.alpha, depth) * spread;
    BsdfValue {
        color: bsdf.color,
        scale: squeezed * (once + again),
        pdf: (1.0 - bsdf.lost) * seen + bsdf.lost * spread,
    }
}

/// Evaluates a layered material for `to_light` on either side of the surface.
#[inline]
pub fn layered_value(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    to_light: Vec3,
) -> BsdfValue {
    let (cos_eye, cos_light) = (dot(normal, to_eye), dot(normal, to_light));
    if cos_eye <= 0.0 || cos_light == 0.0 {
        return NO_VALUE;
    }
    let correlated = bsdf.flags & CORRELATED != 0;
    let reflects = cos_light > 0.0;
    let (mut color, mut pdf) = (Vec3::ZERO, 0.0);
    let half = normalize(to_eye + to_light);
    let grazing = schlick(dot(to_eye, half));
    if reflects {
        let seen = 0.25 * visible_normal_density(normal, half, cos_eye, bsdf.alpha);
        let lit = shadowing(cos_eye, cos_light, bsdf.alpha, correlated);
        let facets = bsdf.f0 + (Vec3::splat(bsdf.f90) - bsdf.f0) * grazing;
        let lost = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, cos_light);
        let at_grazing = directional(tables, bsdf.mirrors, GRAZING, bsdf.alpha, cos_light);
        let entered =
            1.0 - (bsdf.boundary_f0 * (1.0 - lost - at_grazing) + bsdf.boundary_f90 * at_grazing);
        let spread = cos_light * INV_PI;
        color = facets * (seen * lit)
            + (bsdf.multiple_scattering * lost + bsdf.diffuse * entered) * spread;
        pdf = (bsdf.facets_cumulative - bsdf.coat_probability) * seen
            + (bsdf.diffuse_cumulative - bsdf.facets_cumulative) * spread;
    }
    if bsdf.glass > 0.0 {
        let glass = glass_value(tables, bsdf, normal, to_eye, to_light);
        let tint = if reflects { Vec3::ONE } else { bsdf.color };
        color += tint * (bsdf.glass * glass.scale);
        pdf += (1.0 - bsdf.diffuse_cumulative) * glass.pdf;
    }
    if bsdf.coat > 0.0 {
        let (coat_eye, coat_light) = (
            dot(bsdf.coat_normal, to_eye),
            dot(bsdf.coat_normal, to_light),
        );
        let outside = max_f32(if reflects { coat_light } else { -coat_light }, 0.0);
        let other = 1.0
            - bsdf.coat * schlick_albedo(tables, bsdf.mirrors, bsdf.coat_alpha, outside, 0.04, 1.0);
        if bsdf.coat_probability <= 0.0 {
            // The coat is seen only from outside; from inside it attenuates the light that leaves.
            if !reflects {
                color *= other;
            }
        } else if reflects {
            color *= min_f32(bsdf.coat_transmittance, other);
            if coat_eye > 0.0 && coat_light > 0.0 {
                let seen = 0.25
                    * visible_normal_density(bsdf.coat_normal, half, coat_eye, bsdf.coat_alpha);
                let lit = shadowing(coat_eye, coat_light, bsdf.coat_alpha, correlated);
                let coat = bsdf.coat * (0.04 + 0.96 * grazing) * (seen * lit);
                color += Vec3::splat(coat);
                pdf += bsdf.coat_probability * seen;
            }
        } else {
            color *= if bsdf.flags & THIN != 0 {
                min_f32(bsdf.coat_transmittance, other)
            } else {
                bsdf.coat_transmittance
            };
        }
    }
    BsdfValue {
        color,
        scale: 1.0,
        pdf,
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
        DIFFUSE => {
            let cosine = dot(normal, to_light);
            if cosine <= 0.0 {
                return NO_VALUE;
            }
            let pdf = cosine * INV_PI;
            BsdfValue {
                color: bsdf.color,
                scale: pdf,
                pdf,
            }
        }
        ROUGH_CONDUCTOR => metal_value(tables, bsdf, normal, to_eye, to_light),
        ROUGH_DIELECTRIC => glass_value(tables, bsdf, normal, to_eye, to_light),
        LAYERED => layered_value(tables, bsdf, normal, to_eye, to_light),
        _ => NO_VALUE,
    }
}

/// Samples the next direction of a mirror, smooth conductor or smooth dielectric.
///
/// `choice`, uniform in [0, 1), decides between reflection and refraction. The weight of a refraction contains the
/// radiance scaling by the squared ratio of the refractive indices.
#[inline]
pub fn sample_specular(bsdf: &Bsdf, normal: Vec3, to_eye: Vec3, choice: f32) -> BsdfSample {
    let eta = bsdf.eta;
    let cos_in = dot(normal, to_eye);
    let (reflected, cos_out) = if bsdf.kind == DIELECTRIC {
        fresnel(cos_in, eta)
    } else {
        (1.0, 0.0)
    };
    if choice < reflected {
        return BsdfSample {
            direction: reflect(-to_eye, normal),
            weight: if bsdf.kind == CONDUCTOR {
                metal_reflectance(bsdf, cos_in)
            } else {
                bsdf.color
            },
            pdf: 0.0,
            eta_scale: 1.0,
            side: 1.0,
        };
    }
    BsdfSample {
        direction: refract(-to_eye, normal, eta, cos_in, cos_out),
        weight: bsdf.color * (eta * eta),
        pdf: 0.0,
        eta_scale: 1.0 / (eta * eta),
        side: -1.0,
    }
}

/// Samples a direction from a rough conductor or rough glass.
///
/// Returns the direction and the side of the surface that its lobe belongs to, 1 or −1; the direction itself may lie on
/// the wrong side. `choice`, `u` and `v` are uniform in [0, 1).
#[inline]
pub fn sample_rough(
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> (Vec3, f32) {
    if choice < bsdf.lost {
        let side = if choice < bsdf.lost * bsdf.transmitted_share {
            -1.0
        } else {
            1.0
        };
        let (direction, _) = sample_cosine(normal * side, u, v);
        return (direction, side);
    }
    let facet = sample_visible_normal(normal, to_eye, bsdf.alpha, u, v);
    let cos_in = dot(facet, to_eye);
    let mirrored = reflect(-to_eye, facet);
    if bsdf.kind != ROUGH_CONDUCTOR {
        let (reflected, cos_out) = fresnel(cos_in, bsdf.eta);
        if choice >= bsdf.lost + (1.0 - bsdf.lost) * reflected {
            if bsdf.flags & THIN != 0 {
                return (mirrored - normal * (2.0 * dot(normal, mirrored)), -1.0);
            }
            return (refract(-to_eye, facet, bsdf.eta, cos_in, cos_out), -1.0);
        }
    }
    (mirrored, 1.0)
}

/// Samples a direction from one lobe of a layered material, selected by `choice`.
///
/// Returns the direction and the side of the surface that its lobe belongs to, 1 or −1; the direction itself may lie on
/// the wrong side. `choice`, `u` and `v` are uniform in [0, 1).
#[inline]
pub fn sample_layers(
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> (Vec3, f32) {
    if choice >= bsdf.diffuse_cumulative {
        let choice = share(
            choice - bsdf.diffuse_cumulative,
            1.0 - bsdf.diffuse_cumulative,
        );
        return sample_rough(bsdf, normal, to_eye, choice, u, v);
    }
    if choice >= bsdf.facets_cumulative {
        return (sample_cosine(normal, u, v).0, 1.0);
    }
    let (normal, alpha) = if choice < bsdf.coat_probability {
        (bsdf.coat_normal, bsdf.coat_alpha)
    } else {
        (normal, bsdf.alpha)
    };
    (
        reflect(-to_eye, sample_visible_normal(normal, to_eye, alpha, u, v)),
        1.0,
    )
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
        let (direction, cosine) = sample_cosine(normal, u, v);
        return BsdfSample {
            direction,
            weight: if cosine > 0.0 { bsdf.color } else { Vec3::ZERO },
            pdf: cosine * INV_PI,
            eta_scale: 1.0,
            side: 1.0,
        };
    }
    let (direction, side) = if bsdf.kind == LAYERED {
        sample_layers(bsdf, normal, to_eye, choice, u, v)
    } else {
        sample_rough(bsdf, normal, to_eye, choice, u, v)
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
