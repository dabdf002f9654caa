//! What a surface does with light where it was hit. Twin: `kernels/shared/bsdf.cuh`.
//!
//! Directions are in world space, of length 1, and point away from the surface: `to_eye` to where the path comes from,
//! `to_light` to where it goes. `normal` is the one that it is shaded by, on the eye's side. What a rough surface scatters
//! more than once is spread by Kulla & Conty: see `energy`.

use glam::Vec3;

use crate::{
    energy::{GRAZING, LOST, THROUGH_FRONT, directional, hemispherical},
    material::{
        COMPENSATED, CONDUCTOR, CORRELATED, DIELECTRIC, DIFFUSE, LAYERED, MIRROR, Material,
        ROUGH_CONDUCTOR, ROUGH_DIELECTRIC, SATURATED, SCHLICK, THIN, fresnel, reflect, refract,
        sample_cosine,
    },
    math::{INV_PI, dot, greater, lesser, max_component, normalize},
    microfacet::{fresnel_conductor, sample_facet, schlick, shadowing, visible_facets},
};

/// A material where it was hit, seen from one side.
#[derive(Clone, Copy, Debug)]
pub struct Bsdf {
    /// As of the material.
    pub color: Vec3,
    /// One of the material's kinds.
    pub kind: u32,
    /// Real part of a metal's refractive index.
    pub index: Vec3,
    /// Its imaginary part.
    pub k: Vec3,
    /// Refractive index on the eye's side over that behind the surface.
    pub eta: f32,
    /// GGX roughness.
    pub alpha: f32,
    /// The material's.
    pub flags: u32,
    /// Where its table begins.
    pub table: u32,
    /// 0 seen from the front, 1 from the back: the function of the table that is of the eye's side.
    pub back: u32,
    /// Part of the light to the eye that is scattered more than once; 0 if that counts for nothing.
    pub lost: f32,
    /// The same over its mean of all directions, for light from the eye's side.
    pub lost_here: f32,
    /// For light from the other side.
    pub lost_there: f32,
    /// Part of it that goes to the other side.
    pub through: f32,
    /// Where the table of a layered material's mirrors begins.
    pub mirrors: u32,
    /// What a layered material's facets reflect head on; see `Bsdf::grazing`.
    pub head_on: Vec3,
    /// What they reflect at grazing angles.
    pub grazing: f32,
    /// What a layered material's metal scatters more than once, as `lost_here`.
    pub again: Vec3,
    /// What is scattered evenly below a layered material's boundary, but for what the light loses there.
    pub below: Vec3,
    /// What that boundary reflects head on.
    pub boundary: f32,
    /// What it reflects at grazing angles.
    pub boundary_grazing: f32,
    /// Part of a layered material that is glass.
    pub glass: f32,
    /// Part of it that is coated.
    pub coat: f32,
    /// The coat's roughness.
    pub coat_alpha: f32,
    /// The normal that the coat is shaded by, on the eye's side.
    pub coat_normal: Vec3,
    /// Part of the light to the eye that comes from below the coat.
    pub uncoated: f32,
    /// Chance that a direction is drawn by the coat's facets.
    pub choose_coat: f32,
    /// By the facets below, or by the coat's.
    pub choose_facets: f32,
    /// By the cosine, or by any facets; else by the glass.
    pub choose_even: f32,
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

/// Nothing comes from there.
pub const NO_VALUE: BsdfValue = BsdfValue {
    color: Vec3::ZERO,
    scale: 0.0,
    pdf: 0.0,
};

/// A part over the whole, which may be nothing.
#[inline]
pub fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What a rough metal scatters more than once.
#[inline]
pub fn compensate_metal(tables: &[f32], bsdf: &mut Bsdf, cos_eye: f32) {
    let here = hemispherical(tables, bsdf.table, LOST, bsdf.alpha);
    bsdf.lost = if here > 0.0 {
        directional(tables, bsdf.table, LOST, bsdf.alpha, cos_eye)
    } else {
        0.0
    };
    bsdf.lost_here = share(bsdf.lost, here);
}

/// What rough glass scatters more than once. As much goes through as through a smooth boundary, but for what must be less
/// for light to have the same way in both directions.
#[inline]
pub fn compensate_glass(tables: &[f32], bsdf: &mut Bsdf, cos_eye: f32, front: bool) {
    bsdf.back = u32::from(!front);
    let here = hemispherical(tables, bsdf.table, bsdf.back, bsdf.alpha);
    let there = hemispherical(tables, bsdf.table, 1 - bsdf.back, bsdf.alpha);
    let smooth = hemispherical(tables, bsdf.table, THROUGH_FRONT + bsdf.back, bsdf.alpha);
    bsdf.lost = if here > 0.0 {
        directional(tables, bsdf.table, bsdf.back, bsdf.alpha, cos_eye)
    } else {
        0.0
    };
    bsdf.lost_here = share(bsdf.lost, here);
    bsdf.lost_there = share(bsdf.lost, there);
    bsdf.through = smooth * share(lesser(here, there), here);
}

/// What a metal reflects of light that it scatters more than once, in one channel: `mean` is what a smooth one reflects of
/// light from all sides, `lost` the part that a rough one scatters again.
#[inline]
pub fn reflected_again(mean: f32, lost: f32) -> f32 {
    mean * mean * (1.0 - lost) / (1.0 - mean * lost)
}

/// What a boundary of facets reflects in all, seen under a cosine, if single ones reflect `head_on` and `grazing` by
/// Schlick's approximation.
#[inline]
pub fn reflected_once(
    tables: &[f32],
    table: u32,
    alpha: f32,
    cosine: f32,
    head_on: f32,
    grazing: f32,
) -> f32 {
    let lost = directional(tables, table, LOST, alpha, cosine);
    let at_grazing = directional(tables, table, GRAZING, alpha, cosine);
    head_on * (1.0 - lost - at_grazing) + grazing * at_grazing
}

/// The layers of a material: a coat over a metal, over glass, and over an even base below a boundary, each of its part.
/// What the boundary does not reflect is scattered below it so that a white base loses nothing, and light has the same way
/// in both directions (C. Kelemen & L. Szirmay-Kalos, A Microfacet Based Coupled Specular-Matte BRDF Model, 2001).
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
    bsdf.head_on = bsdf.color * material.metallic + material.eta * even;
    bsdf.grazing = material.metallic + material.specular * even;
    bsdf.boundary = max_component(material.eta);
    bsdf.boundary_grazing = material.specular;

    let lost = directional(tables, table, LOST, alpha, cos_eye);
    let at_grazing = directional(tables, table, GRAZING, alpha, cos_eye);
    let mean_lost = hemispherical(tables, table, LOST, alpha);
    let mean_grazing = hemispherical(tables, table, GRAZING, alpha);
    let mean = bsdf.color + (Vec3::ONE - bsdf.color) * (1.0 / 21.0);
    bsdf.again = Vec3::new(
        reflected_again(mean.x, mean_lost),
        reflected_again(mean.y, mean_lost),
        reflected_again(mean.z, mean_lost),
    ) * (material.metallic * share(lost, mean_lost));

    let entered =
        1.0 - (bsdf.boundary * (1.0 - lost - at_grazing) + bsdf.boundary_grazing * at_grazing);
    let mean_entered = 1.0
        - (bsdf.boundary * (1.0 - mean_lost - mean_grazing) + bsdf.boundary_grazing * mean_grazing);
    let mut base = bsdf.color;
    if bsdf.flags & SATURATED != 0 {
        // What is sent back into the base is scattered there again.
        let leaves = mean_entered / (material.ior * material.ior);
        base = Vec3::new(
            base.x * leaves / (1.0 - base.x * (1.0 - leaves)),
            base.y * leaves / (1.0 - base.y * (1.0 - leaves)),
            base.z * leaves / (1.0 - base.z * (1.0 - leaves)),
        );
    }
    bsdf.below = base * (even * share(entered, mean_entered));

    let inside = !front && !thin && bsdf.glass > 0.0;
    bsdf.coat = material.clearcoat;
    bsdf.coat_alpha = material.clearcoat_alpha;
    bsdf.uncoated = if inside || bsdf.coat <= 0.0 {
        1.0
    } else {
        1.0 - bsdf.coat * reflected_once(tables, table, bsdf.coat_alpha, cos_coat, 0.04, 1.0)
    };
    if bsdf.glass > 0.0 && thin {
        bsdf.table = table;
        bsdf.eta = 1.0 / material.ior;
        let head_on = (1.0 - bsdf.eta) / (1.0 + bsdf.eta);
        bsdf.lost = if mean_lost > 0.0 { lost } else { 0.0 };
        bsdf.lost_here = share(lost, mean_lost);
        bsdf.lost_there = bsdf.lost_here;
        bsdf.through = (1.0 - head_on * head_on) * (20.0 / 21.0);
    } else if bsdf.glass > 0.0 {
        compensate_glass(tables, bsdf, cos_eye, front);
    }

    let facets =
        max_component(bsdf.head_on) * (1.0 - lost - at_grazing) + bsdf.grazing * at_grazing;
    let evenly = max_component(bsdf.again) * mean_lost + max_component(bsdf.below) * mean_entered;
    let rest = share(bsdf.uncoated, facets + evenly + bsdf.glass);
    bsdf.choose_coat = 1.0 - bsdf.uncoated;
    bsdf.choose_facets = bsdf.choose_coat + rest * facets;
    bsdf.choose_even = bsdf.choose_facets + rest * evenly;
}

/// The material as it is seen from its front or its back; `cos_eye` is between its normal there and the eye, `cos_coat`
/// between its coat's and the eye. The coat's normal is for the caller to put in.
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
        lost_here: 0.0,
        lost_there: 0.0,
        through: 0.0,
        mirrors: material.mirrors,
        head_on: Vec3::ZERO,
        grazing: 0.0,
        again: Vec3::ZERO,
        below: Vec3::ZERO,
        boundary: 0.0,
        boundary_grazing: 0.0,
        glass: 0.0,
        coat: 0.0,
        coat_alpha: 0.0,
        coat_normal: Vec3::ZERO,
        uncoated: 0.0,
        choose_coat: 0.0,
        choose_facets: 0.0,
        choose_even: 0.0,
    };
    if bsdf.kind == ROUGH_CONDUCTOR && bsdf.flags & COMPENSATED != 0 {
        compensate_metal(tables, &mut bsdf, cos_eye);
    }
    if bsdf.kind == ROUGH_DIELECTRIC && bsdf.flags & COMPENSATED != 0 {
        compensate_glass(tables, &mut bsdf, cos_eye, front);
    }
    if bsdf.kind == LAYERED {
        resolve_layers(tables, &mut bsdf, material, cos_eye, cos_coat, front);
    }
    bsdf
}

/// Whether all light goes into directions that no light sample can find.
#[inline]
pub fn is_specular(bsdf: &Bsdf) -> bool {
    bsdf.kind == MIRROR || bsdf.kind == DIELECTRIC || bsdf.kind == CONDUCTOR
}

/// What a facet of metal reflects.
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

/// What comes from `to_light` by a rough metal.
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
    let seen = 0.25 * visible_facets(normal, half, cos_eye, bsdf.alpha);
    let lit = shadowing(cos_eye, cos_light, bsdf.alpha, bsdf.flags & CORRELATED != 0);
    let once = metal_reflectance(bsdf, dot(to_eye, half)) * (seen * lit);
    if bsdf.lost_here <= 0.0 {
        return BsdfValue {
            color: once,
            scale: 1.0,
            pdf: seen,
        };
    }
    let spread = cos_light * INV_PI;
    let again =
        bsdf.lost_here * directional(tables, bsdf.table, LOST, bsdf.alpha, cos_light) * spread;
    let mean_lost = bsdf.lost / bsdf.lost_here;
    let mean = if bsdf.flags & SCHLICK != 0 {
        bsdf.color + (Vec3::ONE - bsdf.color) * (1.0 / 21.0)
    } else {
        bsdf.color
    };
    let tint = Vec3::new(
        reflected_again(mean.x, mean_lost),
        reflected_again(mean.y, mean_lost),
        reflected_again(mean.z, mean_lost),
    );
    BsdfValue {
        color: once + tint * again,
        scale: 1.0,
        pdf: (1.0 - bsdf.lost) * seen + bsdf.lost * spread,
    }
}

/// What comes from `to_light` by rough glass, from either side. What goes through thin glass is not bent: it leaves as if
/// reflected, on the other side.
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
        let facets = visible_facets(normal, half, cos_eye, bsdf.alpha);
        let part = if reflects { reflected } else { 1.0 - reflected };
        seen = if bends {
            facets * part * (eye_half * -light_half / length2)
        } else {
            0.25 * facets * part
        };
    }
    let lit = shadowing(cos_eye, depth, bsdf.alpha, bsdf.flags & CORRELATED != 0);
    let once = seen * lit;
    if bsdf.lost_here <= 0.0 {
        return BsdfValue {
            color: bsdf.color,
            scale: squeezed * once,
            pdf: seen,
        };
    }
    let (lost, part) = if reflects {
        (bsdf.lost_here, 1.0 - bsdf.through)
    } else {
        (bsdf.lost_there, bsdf.through)
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

/// What comes from `to_light` by the layers of a material.
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
        let seen = 0.25 * visible_facets(normal, half, cos_eye, bsdf.alpha);
        let lit = shadowing(cos_eye, cos_light, bsdf.alpha, correlated);
        let facets = bsdf.head_on + (Vec3::splat(bsdf.grazing) - bsdf.head_on) * grazing;
        let lost = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, cos_light);
        let at_grazing = directional(tables, bsdf.mirrors, GRAZING, bsdf.alpha, cos_light);
        let entered =
            1.0 - (bsdf.boundary * (1.0 - lost - at_grazing) + bsdf.boundary_grazing * at_grazing);
        let spread = cos_light * INV_PI;
        color = facets * (seen * lit) + (bsdf.again * lost + bsdf.below * entered) * spread;
        pdf = (bsdf.choose_facets - bsdf.choose_coat) * seen
            + (bsdf.choose_even - bsdf.choose_facets) * spread;
    }
    if bsdf.glass > 0.0 {
        let glass = glass_value(tables, bsdf, normal, to_eye, to_light);
        let tint = if reflects { Vec3::ONE } else { bsdf.color };
        color += tint * (bsdf.glass * glass.scale);
        pdf += (1.0 - bsdf.choose_even) * glass.pdf;
    }
    if bsdf.coat > 0.0 {
        let (coat_eye, coat_light) = (
            dot(bsdf.coat_normal, to_eye),
            dot(bsdf.coat_normal, to_light),
        );
        let outside = greater(if reflects { coat_light } else { -coat_light }, 0.0);
        let other = 1.0
            - bsdf.coat * reflected_once(tables, bsdf.mirrors, bsdf.coat_alpha, outside, 0.04, 1.0);
        if bsdf.choose_coat <= 0.0 {
            // From inside there is no coat, but on what leaves.
            if !reflects {
                color *= other;
            }
        } else if reflects {
            color *= lesser(bsdf.uncoated, other);
            if coat_eye > 0.0 && coat_light > 0.0 {
                let seen = 0.25 * visible_facets(bsdf.coat_normal, half, coat_eye, bsdf.coat_alpha);
                let lit = shadowing(coat_eye, coat_light, bsdf.coat_alpha, correlated);
                let coat = bsdf.coat * (0.04 + 0.96 * grazing) * (seen * lit);
                color += Vec3::splat(coat);
                pdf += bsdf.choose_coat * seen;
            }
        } else {
            color *= if bsdf.flags & THIN != 0 {
                lesser(bsdf.uncoated, other)
            } else {
                bsdf.uncoated
            };
        }
    }
    BsdfValue {
        color,
        scale: 1.0,
        pdf,
    }
}

/// What comes from `to_light` to `to_eye`, without what only one direction does.
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

/// The next direction from a mirror, a smooth metal or a smooth boundary. What goes through is spread or squeezed by the
/// square of the refractive indices' ratio.
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

/// A direction by a rough metal or rough glass, and the side that it is meant to be on.
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
        let side = if choice < bsdf.lost * bsdf.through {
            -1.0
        } else {
            1.0
        };
        let (direction, _) = sample_cosine(normal * side, u, v);
        return (direction, side);
    }
    let facet = sample_facet(normal, to_eye, bsdf.alpha, u, v);
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

/// A direction by one of the layers, and the side that it is meant to be on.
#[inline]
pub fn sample_layers(
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> (Vec3, f32) {
    if choice >= bsdf.choose_even {
        let choice = share(choice - bsdf.choose_even, 1.0 - bsdf.choose_even);
        return sample_rough(bsdf, normal, to_eye, choice, u, v);
    }
    if choice >= bsdf.choose_facets {
        return (sample_cosine(normal, u, v).0, 1.0);
    }
    let (normal, alpha) = if choice < bsdf.choose_coat {
        (bsdf.coat_normal, bsdf.coat_alpha)
    } else {
        (normal, bsdf.alpha)
    };
    (
        reflect(-to_eye, sample_facet(normal, to_eye, alpha, u, v)),
        1.0,
    )
}

/// A direction in proportion to what comes from there, unless the surface is specular. `choice` picks among ways to go on, `u` and `v` the direction.
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
            squeeze: 1.0,
            side: 1.0,
        };
    }
    let (direction, side) = if bsdf.kind == LAYERED {
        sample_layers(bsdf, normal, to_eye, choice, u, v)
    } else {
        sample_rough(bsdf, normal, to_eye, choice, u, v)
    };
    let value = bsdf_value(tables, bsdf, normal, to_eye, direction);
    // What leaves on the wrong side meets other facets first.
    let leaves = dot(normal, direction) * side > 0.0 && value.pdf > 0.0;
    BsdfSample {
        direction,
        weight: if leaves {
            value.color * (value.scale / value.pdf)
        } else {
            Vec3::ZERO
        },
        pdf: value.pdf,
        squeeze: if side < 0.0 && bsdf.flags & THIN == 0 {
            1.0 / (bsdf.eta * bsdf.eta)
        } else {
            1.0
        },
        side,
    }
}
