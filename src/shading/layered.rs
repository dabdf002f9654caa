//! Layered materials: a clear coat over a mixture of metal, glass and a diffuse base below a dielectric boundary. Twin:
//! `kernels/shared/layered.cuh`.
//!
//! Directions are those of [`bsdf`](crate::shading::bsdf).

use glam::Vec3;

use crate::{
    math::{INV_PI, dot, max_component, max_f32, normalize},
    shading::{
        bsdf::{
            conductor::multiple_scattering_tint,
            dielectric::{
                alpha_below_coat, coat_factor, coat_transmittance, compensate_dielectric,
                glass_value, mean_coat_above_glass, mean_coat_transmittance, sample_rough,
            },
        },
        bsdf_types::{Bsdf, BsdfValue, NO_VALUE, share},
        energy::{GRAZING, LOST, directional, hemispherical, mean_below_coat},
        material::{CORRELATED, Material, SATURATED, THIN, reflect, sample_cosine},
        microfacet::{sample_visible_normal, schlick, shadowing, visible_normal_density},
    },
};

/// Energies of a layered material's boundary at a viewing direction, and their means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundaryEnergy {
    /// Fraction of the energy that single scattering loses.
    pub lost: f32,
    /// Single-scattering albedo of facets weighted by Schlick's (1 − cos)⁵.
    pub at_grazing: f32,
    /// Hemispherical mean of `lost`.
    pub mean_lost: f32,
    /// Hemispherical mean of `at_grazing`.
    pub mean_grazing: f32,
}

/// Evaluates metal, boundary and diffuse base of a layered material. Returns the hemispherical mean of the energy that
/// the boundary transmits into the base.
#[inline(always)]
pub(crate) fn resolve_base(bsdf: &mut Bsdf, material: &Material, energy: &BoundaryEnergy) -> f32 {
    let &BoundaryEnergy {
        lost,
        at_grazing,
        mean_lost,
        mean_grazing,
    } = energy;
    let dielectric = 1.0 - material.metallic;
    let even = dielectric * (1.0 - material.transmission);
    bsdf.glass = dielectric * material.transmission;
    bsdf.f0 = bsdf.color * material.metallic + material.eta * even;
    bsdf.f90 = material.metallic + material.specular * even;
    bsdf.boundary_f0 = max_component(material.eta);
    bsdf.boundary_f90 = material.specular;

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
    mean_entered
}

/// Sets the probabilities of the lobes of a layered material whose other fields are set. `mean_entered` is the value of
/// [`resolve_base`].
#[inline(always)]
pub(crate) fn choose_lobes(bsdf: &mut Bsdf, energy: &BoundaryEnergy, mean_entered: f32) {
    let facets = max_component(bsdf.k)
        * (max_component(bsdf.f0) * (1.0 - energy.lost - energy.at_grazing)
            + bsdf.f90 * energy.at_grazing);
    let evenly = max_component(bsdf.multiple_scattering) * energy.mean_lost
        + max_component(bsdf.diffuse) * mean_entered;
    let rest = share(bsdf.coat_transmittance, facets + evenly + bsdf.glass);
    bsdf.coat_probability = 1.0 - bsdf.coat_transmittance;
    bsdf.facets_cumulative = bsdf.coat_probability + rest * facets;
    bsdf.diffuse_cumulative = bsdf.facets_cumulative + rest * evenly;
}

/// Evaluates the view-dependent parts of the coat and the glass of a layered material.
///
/// `lost` and `mean_lost` are the fraction of the energy towards `to_eye` that its facets lose, and the mean of that
/// fraction. `cos_eye` and `cos_coat` are those of [`resolve_layers`].
#[inline]
pub fn resolve_coat_and_glass(
    tables: &[f32],
    bsdf: &mut Bsdf,
    material: &Material,
    (lost, mean_lost): (f32, f32),
    (cos_eye, cos_coat): (f32, f32),
    front: bool,
) {
    let thin = bsdf.flags & THIN != 0;
    let table = bsdf.mirrors;
    let inside = !front && !thin && bsdf.glass > 0.0;
    bsdf.coat = material.clearcoat;
    bsdf.coat_alpha = material.clearcoat_alpha;
    bsdf.coat_transmittance = if inside || bsdf.coat <= 0.0 {
        1.0
    } else {
        coat_transmittance(tables, bsdf, cos_coat)
    };
    bsdf.coat_factor = if bsdf.coat > 0.0 && !inside {
        coat_factor(tables, bsdf, cos_coat, bsdf.coat_transmittance)
    } else {
        1.0
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
        if inside && bsdf.coat > 0.0 {
            // What the coat reflects stays inside.
            bsdf.transmitted_share *= mean_coat_above_glass(tables, bsdf);
        }
    }
}

/// Returns whether the eye sees the surface through a clear coat.
#[inline(always)]
pub fn has_coat_towards_eye(bsdf: &Bsdf) -> bool {
    bsdf.coat > 0.0 && bsdf.coat_probability > 0.0
}

/// Returns the factor by which the clear coat dims the base below the boundary towards the eye: the transmittance over
/// its mean for the light that leaves the base.
///
/// `mean_entered` is the value of `resolve_base`. Towards the light, the factor is [`coat_transmittance`].
#[inline]
pub fn coat_over_base(tables: &[f32], bsdf: &Bsdf, mean_entered: f32) -> f32 {
    let alphas = (alpha_below_coat(bsdf), bsdf.coat_alpha);
    // Boundary and coat both transmit less at grazing angles, so that the mean of the product is not that of means.
    let both = bsdf.boundary_f0 * mean_below_coat(tables, bsdf.mirrors, 0, alphas)
        + bsdf.boundary_f90 * mean_below_coat(tables, bsdf.mirrors, 1, alphas);
    let reflected = 1.0 - mean_coat_transmittance(tables, bsdf) - bsdf.coat * both;
    share(
        bsdf.coat_transmittance,
        1.0 - share(reflected, mean_entered),
    )
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
    let (alpha, table) = (bsdf.alpha, bsdf.mirrors);
    let energy = BoundaryEnergy {
        lost: directional(tables, table, LOST, alpha, cos_eye),
        at_grazing: directional(tables, table, GRAZING, alpha, cos_eye),
        mean_lost: hemispherical(tables, table, LOST, alpha),
        mean_grazing: hemispherical(tables, table, GRAZING, alpha),
    };
    let mean_entered = resolve_base(bsdf, material, &energy);
    resolve_coat_and_glass(
        tables,
        bsdf,
        material,
        (energy.lost, energy.mean_lost),
        (cos_eye, cos_coat),
        front,
    );
    choose_lobes(bsdf, &energy, mean_entered);
    if has_coat_towards_eye(bsdf) {
        bsdf.diffuse *= coat_over_base(tables, bsdf, mean_entered);
    }
}

/// Evaluates the facets and the diffuse base of a layered material for light on the eye's side. Returns BSDF times
/// cosine of the facets, π times the BSDFs of their multiple scattering and of the diffuse base, and the pdf.
///
/// `half` is the half vector, and `grazing` its Schlick weight. Cosines are those of the eye and of the light, above 0.
/// Energies are those of the boundary towards the light: the lost fraction and the albedo at grazing angles.
#[inline(always)]
pub(crate) fn reflected_value(
    bsdf: &Bsdf,
    normal: Vec3,
    half: Vec3,
    grazing: f32,
    (cos_eye, cos_light): (f32, f32),
    (lost, at_grazing): (f32, f32),
) -> (Vec3, Vec3, Vec3, f32) {
    let correlated = bsdf.flags & CORRELATED != 0;
    let seen = 0.25 * visible_normal_density(normal, half, cos_eye, bsdf.alpha);
    let lit = shadowing(cos_eye, cos_light, bsdf.alpha, correlated);
    let facets = bsdf.f0 + (Vec3::splat(bsdf.f90) - bsdf.f0) * grazing;
    let entered =
        1.0 - (bsdf.boundary_f0 * (1.0 - lost - at_grazing) + bsdf.boundary_f90 * at_grazing);
    let spread = cos_light * INV_PI;
    let facets = bsdf.k * facets * (seen * lit);
    let again = bsdf.multiple_scattering * lost;
    let diffuse = bsdf.diffuse * entered;
    let pdf = (bsdf.facets_cumulative - bsdf.coat_probability) * seen
        + (bsdf.diffuse_cumulative - bsdf.facets_cumulative) * spread;
    (facets, again, diffuse, pdf)
}

/// Evaluates a layered material without glass and without a coat, as [`layered_value`]. `lost` and `at_grazing` are
/// those of its boundary at the cosine of `to_light`.
#[inline(always)]
pub(crate) fn opaque_value(
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    to_light: Vec3,
    (lost, at_grazing): (f32, f32),
) -> BsdfValue {
    let (cos_eye, cos_light) = (dot(normal, to_eye), dot(normal, to_light));
    if cos_eye <= 0.0 || cos_light == 0.0 {
        return NO_VALUE;
    }
    let half = normalize(to_eye + to_light);
    let grazing = schlick(dot(to_eye, half));
    let cosines = (cos_eye, cos_light);
    let (facets, again, diffuse, pdf) =
        reflected_value(bsdf, normal, half, grazing, cosines, (lost, at_grazing));
    let color = facets + (again + diffuse) * (cos_light * INV_PI);
    let reflects = cos_light > 0.0;
    BsdfValue {
        color: if reflects { color } else { Vec3::ZERO },
        scale: 1.0,
        pdf: if reflects { pdf } else { 0.0 },
    }
}

/// Evaluates the clear coat of a layered material over its base.
///
/// `half` is the half vector, and `grazing` its Schlick weight. `color` is BSDF times cosine of facets, `evenly` that of
/// lobes whose coat towards the eye is already counted, see [`coat_over_base`], and `pdf` the pdf of both.
#[inline]
pub fn coated_value(
    tables: &[f32],
    bsdf: &Bsdf,
    (to_eye, to_light, half): (Vec3, Vec3, Vec3),
    grazing: f32,
    reflects: bool,
    (mut color, evenly, mut pdf): (Vec3, Vec3, f32),
) -> BsdfValue {
    let correlated = bsdf.flags & CORRELATED != 0;
    let (coat_eye, coat_light) = (
        dot(bsdf.coat_normal, to_eye),
        dot(bsdf.coat_normal, to_light),
    );
    let outside = max_f32(if reflects { coat_light } else { -coat_light }, 0.0);
    let other = coat_transmittance(tables, bsdf, outside);
    if reflects || bsdf.flags & THIN != 0 {
        // Light passes the coat twice.
        color *= bsdf.coat_factor * coat_factor(tables, bsdf, outside, other);
    } else {
        // The transmittance, without a register of its own in kernels.
        color *= 1.0 - bsdf.coat_probability;
    }
    color += evenly * other;
    if reflects && coat_eye > 0.0 && coat_light > 0.0 {
        let seen = 0.25 * visible_normal_density(bsdf.coat_normal, half, coat_eye, bsdf.coat_alpha);
        let lit = shadowing(coat_eye, coat_light, bsdf.coat_alpha, correlated);
        let coat = bsdf.coat * (0.04 + 0.96 * grazing) * (seen * lit);
        color += Vec3::splat(coat);
        pdf += bsdf.coat_probability * seen;
    }
    BsdfValue {
        color,
        scale: 1.0,
        pdf,
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
    let reflects = cos_light > 0.0;
    // The coat is seen only from outside.
    let coated = has_coat_towards_eye(bsdf);
    let (mut color, mut evenly, mut pdf) = (Vec3::ZERO, Vec3::ZERO, 0.0);
    let half = normalize(to_eye + to_light);
    let grazing = schlick(dot(to_eye, half));
    if reflects {
        let lost = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, cos_light);
        let at_grazing = directional(tables, bsdf.mirrors, GRAZING, bsdf.alpha, cos_light);
        let cosines = (cos_eye, cos_light);
        let (facets, again, diffuse, pdf_here) =
            reflected_value(bsdf, normal, half, grazing, cosines, (lost, at_grazing));
        let spread = cos_light * INV_PI;
        pdf = pdf_here;
        if coated {
            color = facets + again * spread;
            evenly = diffuse * spread;
        } else {
            color = facets + (again + diffuse) * spread;
        }
    }
    if bsdf.glass > 0.0 {
        let glass = glass_value(tables, bsdf, normal, to_eye, to_light);
        let tint = if reflects { Vec3::ONE } else { bsdf.color };
        color += tint * (bsdf.glass * glass.scale);
        pdf += (1.0 - bsdf.diffuse_cumulative) * glass.pdf;
    }
    if coated {
        return coated_value(
            tables,
            bsdf,
            (to_eye, to_light, half),
            grazing,
            reflects,
            (color, evenly, pdf),
        );
    }
    BsdfValue {
        color,
        scale: 1.0,
        pdf,
    }
}

/// Samples a direction from one lobe of a layered material, selected by `choice`.
///
/// Returns the direction and the side of the surface that its lobe belongs to, 1 or −1; the direction itself may lie on
/// the wrong side. `choice`, `u` and `v` are uniform in [0, 1).
#[inline]
pub fn sample_layers(
    tables: &[f32],
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
        return sample_rough(tables, bsdf, normal, to_eye, choice, u, v);
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
