//! Rough glass: evaluation with compensation of multiple scattering, and sampling of GGX facets. Twin:
//! `kernels/shared/dielectric.cuh`.
//!
//! Directions are those of [`bsdf`](crate::shading::bsdf). Light passes through thin glass without refraction.

use glam::Vec3;

use crate::{
    math::{INV_PI, dot, local_to_world, max_f32, min_f32, normalize, sin_cos_turns, truncated},
    sampler::{hash, unit},
    shading::{
        bsdf::facets::{facet_density, facet_shadowing, sample_facet},
        bsdf_types::{Bsdf, BsdfValue, NO_VALUE, share},
        energy::{
            GRAZING, LOST, THROUGH_FRONT, below_coat, directional, hemispherical, mean_below_coat,
            sample_directional,
        },
        material::{EXTENDED, ROUGH_CONDUCTOR, THIN, fresnel, reflect, refract, sample_cosine},
        microfacet::schlick,
        thin_film::film_reflectance,
    },
};

/// Returns whether light comes from inside glass that refracts and has a clear coat.
#[inline]
pub fn meets_coat_from_inside(bsdf: &Bsdf) -> bool {
    bsdf.flags & THIN == 0 && bsdf.coat > 0.0 && bsdf.coat_probability <= 0.0
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

/// Returns the part of the light that glass reflects, with its clear coat. `reflected` is that part without a coat, and
/// `cos_out` the cosine of the refracted direction with the facet.
///
/// From inside, the coat outside the glass reflects some of the light that the facet transmits. It is counted as
/// reflected, so that no energy is lost between the two.
#[inline]
pub fn coated_part(bsdf: &Bsdf, reflected: f32, cos_out: f32) -> f32 {
    if !meets_coat_from_inside(bsdf) {
        return reflected;
    }
    let coat = bsdf.coat * (0.04 + 0.96 * schlick(cos_out));
    reflected + (1.0 - reflected) * coat
}

/// Returns the reflectance per channel of a facet of glass with a thin film, without a clear coat.
///
/// `cos_in` and `cos_out` are the cosines of the incoming and the refracted direction with the facet, and `reflected`
/// is the reflectance without the film.
#[inline]
pub fn filmed_glass(bsdf: &Bsdf, cos_in: f32, (reflected, cos_out): (f32, f32)) -> Vec3 {
    let plain = Vec3::splat(reflected);
    if reflected >= 1.0 {
        return plain;
    }
    // The film lies outside the glass.
    let outside = if bsdf.back == 1 { cos_out } else { cos_in };
    let amplitude = (1.0 - bsdf.eta) / (1.0 + bsdf.eta);
    let base = Vec3::splat(amplitude * amplitude);
    let film = film_reflectance(outside, bsdf.film_ior, bsdf.film_thickness, base);
    plain + (film - plain) * bsdf.film
}

/// Returns the part of the light that a facet of glass reflects, as a mean over the channels, with thin film and clear
/// coat. The arguments are those of [`filmed_glass`].
#[inline]
pub fn reflected_part(bsdf: &Bsdf, cos_in: f32, (reflected, cos_out): (f32, f32)) -> f32 {
    if bsdf.film > 0.0 {
        let film = filmed_glass(bsdf, cos_in, (reflected, cos_out));
        let mean = (film.x + film.y + film.z) * (1.0 / 3.0);
        return coated_part(bsdf, mean, cos_out);
    }
    coated_part(bsdf, reflected, cos_out)
}

/// Returns the part of the light that the clear coat lets pass, if it comes from outside at an angle of this cosine.
#[inline]
pub fn coat_transmittance(tables: &[f32], bsdf: &Bsdf, cosine: f32) -> f32 {
    let lost = directional(tables, bsdf.mirrors, LOST, bsdf.coat_alpha, cosine);
    let at_grazing = directional(tables, bsdf.mirrors, GRAZING, bsdf.coat_alpha, cosine);
    1.0 - bsdf.coat * (0.04 * (1.0 - lost - at_grazing) + at_grazing)
}

/// Returns the hemispherical mean of [`coat_transmittance`].
#[inline]
pub fn mean_coat_transmittance(tables: &[f32], bsdf: &Bsdf) -> f32 {
    let lost = hemispherical(tables, bsdf.mirrors, LOST, bsdf.coat_alpha);
    let at_grazing = hemispherical(tables, bsdf.mirrors, GRAZING, bsdf.coat_alpha);
    1.0 - bsdf.coat * (0.04 * (1.0 - lost - at_grazing) + at_grazing)
}

/// Returns the roughness alpha of isotropic facets that scatter about as far as those below the clear coat.
#[inline(always)]
pub fn alpha_below_coat(bsdf: &Bsdf) -> f32 {
    if bsdf.kind == EXTENDED && bsdf.alpha_along > bsdf.alpha {
        0.5 * (bsdf.alpha_along + bsdf.alpha)
    } else {
        bsdf.alpha
    }
}

/// Returns the factor of one of two directions for light that facets below the clear coat scatter between them.
///
/// The coat lets pass the product of both factors. It is reciprocal, and the light towards a direction is then dimmed by
/// the transmittance for this direction on average, as in glTF. `transmittance` is the [`coat_transmittance`] at
/// `cosine`.
#[inline]
pub fn coat_factor(tables: &[f32], bsdf: &Bsdf, cosine: f32, transmittance: f32) -> f32 {
    let alphas = (alpha_below_coat(bsdf), bsdf.coat_alpha);
    let reflected = below_coat(tables, bsdf.mirrors, alphas, cosine);
    share(
        transmittance,
        max_f32(1.0 - bsdf.coat * reflected, 0.0).sqrt(),
    )
}

/// Returns the mean transmittance of the clear coat outside for light that several facets of glass scatter to the front.
#[inline]
pub fn mean_coat_above_glass(tables: &[f32], bsdf: &Bsdf) -> f32 {
    let alphas = (bsdf.alpha, bsdf.coat_alpha);
    1.0 - bsdf.coat * mean_below_coat(tables, bsdf.table, 0, alphas)
}

/// Returns the part of the light that a facet reflects or transmits to `to_light`, if the eye is in glass below a clear
/// coat. `reflected` is the value of [`reflected_part`] for the facet, and `cos_eye_half` the cosine between its normal
/// and `to_eye`.
///
/// The coat lets pass what it lets pass in the other direction, so that the BSDF is reciprocal. The rest is reflected,
/// and divided among the directions inside so that no energy is lost or gained.
#[inline]
pub fn part_below_coat(
    tables: &[f32],
    bsdf: &Bsdf,
    (cos_eye, cos_light): (f32, f32),
    cos_eye_half: f32,
    reflected: f32,
) -> f32 {
    let (_, cos_out) = fresnel(cos_eye_half, bsdf.eta);
    let through = share(
        1.0 - reflected,
        1.0 - bsdf.coat * (0.04 + 0.96 * schlick(cos_out)),
    );
    if cos_light < 0.0 {
        return through * coat_transmittance(tables, bsdf, -cos_light);
    }
    let alphas = (bsdf.alpha, bsdf.coat_alpha);
    let factors = below_coat(tables, bsdf.table, alphas, cos_eye)
        * below_coat(tables, bsdf.table, alphas, cos_light);
    let back = 1.0 - coat_transmittance(tables, bsdf, cos_out);
    1.0 - through * (1.0 - back * factors)
}

/// Evaluates the light that one facet of rough glass scatters, without the scaling of radiance by refraction. Returns
/// BSDF times cosine, and the pdf with which [`sample_rough`] samples a facet and the direction.
///
/// With compensation, both are the same except below a clear coat. The cosines are those of the eye, above 0, and of the
/// light, not 0.
#[inline(always)]
pub fn glass_facets(
    tables: &[f32],
    bsdf: &Bsdf,
    (normal, to_eye, to_light): (Vec3, Vec3, Vec3),
    (cos_eye, cos_light): (f32, f32),
) -> (f32, f32) {
    let reflects = cos_light > 0.0;
    let bends = !reflects && bsdf.flags & THIN == 0;
    let depth = if reflects { cos_light } else { -cos_light };
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
    let inside_coat = meets_coat_from_inside(bsdf);
    let mut seen = 0.0;
    let mut passed = 1.0;
    if eye_half > 0.0 && (light_half < 0.0) == bends {
        let reflected = reflected_part(bsdf, eye_half, fresnel(eye_half, bsdf.eta));
        let facets = facet_density(bsdf, normal, to_eye, half, cos_eye);
        let part = if reflects { reflected } else { 1.0 - reflected };
        if inside_coat {
            let cosines = (cos_eye, cos_light);
            passed = share(
                part_below_coat(tables, bsdf, cosines, eye_half, reflected),
                part,
            );
        }
        seen = if bends {
            facets * part * (eye_half * -light_half / length2)
        } else {
            0.25 * facets * part
        };
    }
    let lit = facet_shadowing(bsdf, normal, to_eye, to_light, depth);
    let mut once = seen * lit;
    let pdf = if bsdf.lost_ratio > 0.0 { once } else { seen };
    if inside_coat {
        once *= passed;
    }
    (once, pdf)
}

/// Evaluates rough glass for `to_light` on either side of the surface. From inside, a clear coat is part of it. The
/// color of the result is only that of rough dielectrics; layered materials use their own.
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
    let directions = (normal, to_eye, to_light);
    let (once, pdf) = glass_facets(tables, bsdf, directions, (cos_eye, cos_light));
    let color = if reflects { bsdf.index } else { bsdf.color };
    if bsdf.lost_ratio <= 0.0 {
        return BsdfValue {
            color,
            scale: squeezed * once,
            pdf,
        };
    }
    let (lost, part) = if reflects {
        (bsdf.lost_ratio, 1.0 - bsdf.transmitted_share)
    } else {
        (bsdf.lost_ratio_behind, bsdf.transmitted_share)
    };
    let function = if bends { 1 - bsdf.back } else { bsdf.back };
    let spread = part * depth * INV_PI;
    let mut again = lost * directional(tables, bsdf.table, function, bsdf.alpha, depth) * spread;
    let pdf = pdf + again;
    if meets_coat_from_inside(bsdf) && !reflects {
        // The mean is in `transmitted_share`.
        let mean = mean_coat_above_glass(tables, bsdf);
        again *= share(coat_transmittance(tables, bsdf, depth), mean);
    }
    BsdfValue {
        color,
        scale: squeezed * (once + again),
        pdf,
    }
}

/// Samples the lobe that compensates for multiple scattering on glass. Returns the direction and its side, see
/// [`sample_rough`].
///
/// `choice` chooses the side. The direction comes from a hash of `u` and `v`, because these have chosen a facet before,
/// whose light was blocked: they are not uniform any more, and their hash is.
#[inline]
pub fn sample_again(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> (Vec3, f32) {
    let side = if choice < bsdf.transmitted_share {
        -1.0
    } else {
        1.0
    };
    let bends = side < 0.0 && bsdf.flags & THIN == 0;
    let function = if bends { 1 - bsdf.back } else { bsdf.back };
    let first = hash(truncated(u * 16_777_216.0));
    let key = hash(truncated(v * 16_777_216.0) ^ first);
    let place = unit(key) + 0.5 / 16_777_216.0;
    let cos2 = sample_directional(tables, bsdf.table, function, bsdf.alpha, place);
    let (sine_turn, cosine_turn) = sin_cos_turns(unit(hash(key)));
    let radius = max_f32(0.0, 1.0 - cos2).sqrt();
    let local = Vec3::new(radius * cosine_turn, radius * sine_turn, cos2.sqrt());
    (normalize(local_to_world(normal * side, local)), side)
}

/// Samples a direction from a rough conductor or rough glass.
///
/// Returns the direction and the side of the surface that its lobe belongs to, 1 or −1; the direction itself may lie on
/// the wrong side. `choice`, `u` and `v` are uniform in [0, 1).
///
/// The light of a facet of compensated glass leaves with the probability that other facets do not block it, and
/// otherwise goes to the compensating lobe. The density is then that of the scattered light, and the weight of a sample
/// does not vary. In glass of a high index, where a path meets the surface some hundred times before it leaves, the
/// product of varying weights would have a mean that hardly any path has.
#[inline]
pub fn sample_rough(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> (Vec3, f32) {
    let conducts = bsdf.kind == ROUGH_CONDUCTOR;
    if conducts && choice < bsdf.lost {
        return (sample_cosine(normal, u, v).0, 1.0);
    }
    let facet = sample_facet(bsdf, normal, to_eye, u, v);
    let mirrored = reflect(-to_eye, facet);
    if conducts {
        return (mirrored, 1.0);
    }
    let cos_in = dot(facet, to_eye);
    let (reflected, cos_out) = fresnel(cos_in, bsdf.eta);
    let part = reflected_part(bsdf, cos_in, (reflected, cos_out));
    let (mut direction, mut side) = (mirrored, 1.0);
    let mut rest = share(choice, part);
    if choice >= part {
        side = -1.0;
        rest = share(choice - part, 1.0 - part);
        direction = if bsdf.flags & THIN != 0 {
            mirrored - normal * (2.0 * dot(normal, mirrored))
        } else {
            refract(-to_eye, facet, bsdf.eta, cos_in, cos_out)
        };
    }
    if bsdf.lost_ratio <= 0.0 {
        return (direction, side);
    }
    let depth = dot(normal, direction) * side;
    let lit = if depth > 0.0 {
        facet_shadowing(bsdf, normal, to_eye, direction, depth)
    } else {
        0.0
    };
    if rest < lit {
        return (direction, side);
    }
    let choice = share(rest - lit, 1.0 - lit);
    sample_again(tables, bsdf, normal, choice, u, v)
}
