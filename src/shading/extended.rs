//! Extended materials: layered materials with sheen, anisotropic facets, a thin film, diffuse transmission or
//! dispersion. Twin: `kernels/shared/extended.cuh`.
//!
//! The layers are, from the outside: clear coat, sheen, thin film, and the mixture of metal, glass and a diffuse base.
//! Directions are those of [`bsdf`](crate::shading::bsdf).

use glam::Vec3;

use crate::{
    math::{
        INV_PI, cross, dot, local_to_world, max_component, max_f32, min_f32, normalize,
        sin_cos_turns,
    },
    shading::{
        bsdf::{
            conductor::multiple_scattering_tint,
            dielectric::{
                coat_transmittance, coated_part, filmed_glass, glass_facets, glass_value,
                mean_coat_above_glass, mean_coat_transmittance, meets_coat_from_inside,
                sample_rough,
            },
            layered::{
                BoundaryEnergy, coat_over_base, coated_value, has_coat_towards_eye, resolve_base,
                resolve_coat_and_glass,
            },
            sheen::{sheen_factor, sheen_over_base, sheen_scale, sheen_transmittance, sheen_value},
        },
        bsdf_types::{Bsdf, BsdfValue, NO_VALUE, share},
        energy::{
            GRAZING, LOST, anisotropic_directional, anisotropic_mean, directional, hemispherical,
        },
        material::{Material, THIN, fresnel, reflect, sample_cosine},
        microfacet::{
            anisotropic_density, anisotropic_shadowing, in_frame, sample_anisotropic_normal,
            sample_visible_normal, schlick,
        },
        thin_film::film_reflectance,
    },
};

/// Returns the anisotropy direction of a material in world space, of any length.
///
/// `normal` is the shading normal of the front, `tangent` the direction of increasing `u`, and `handedness` that of
/// [`Surface`](crate::accel::primitive::Surface).
#[inline]
pub fn anisotropy_direction(
    material: &Material,
    normal: Vec3,
    tangent: Vec3,
    handedness: f32,
) -> Vec3 {
    let upwards = cross(normal, tangent) * handedness;
    tangent * material.anisotropy_cosine + upwards * material.anisotropy_sine
}

/// Returns the squared cosine of the azimuth of a direction to the tangent; ½ along the normal. `local` is a direction
/// as [`in_frame`] returns it.
#[inline(always)]
pub fn along_tangent(local: Vec3) -> f32 {
    let across2 = local.x * local.x + local.y * local.y;
    if across2 > 0.0 {
        local.x * local.x / across2
    } else {
        0.5
    }
}

/// Returns a function of the energy tables, [`LOST`] or [`GRAZING`], for the facets. `along2` and `cosine` give the
/// direction, see [`anisotropic_directional`].
#[inline]
pub fn facet_energy(tables: &[f32], bsdf: &Bsdf, function: u32, along2: f32, cosine: f32) -> f32 {
    if bsdf.alpha_along == bsdf.alpha {
        return directional(tables, bsdf.mirrors, function, bsdf.alpha, cosine);
    }
    let alphas = (bsdf.alpha_along, bsdf.alpha);
    let direction = (along2, cosine);
    anisotropic_directional(tables, bsdf.anisotropic_table, function, alphas, direction)
}

/// Returns the hemispherical mean of [`facet_energy`].
#[inline]
pub fn mean_facet_energy(tables: &[f32], bsdf: &Bsdf, function: u32) -> f32 {
    if bsdf.alpha_along == bsdf.alpha {
        return hemispherical(tables, bsdf.mirrors, function, bsdf.alpha);
    }
    let (along, across) = (bsdf.alpha_along, bsdf.alpha);
    anisotropic_mean(tables, bsdf.anisotropic_table, function, along, across)
}

/// Returns the fraction of the energy that the dielectric boundary transmits into the diffuse base.
///
/// `lost` and `at_grazing` are those of [`facet_energy`] for the direction whose cosine is `cosine`. A film reduces the
/// transmittance by the largest channel of its reflectance, so that the base keeps its hue.
#[inline]
pub fn base_transmittance(bsdf: &Bsdf, cosine: f32, lost: f32, at_grazing: f32) -> f32 {
    let reflected = bsdf.boundary_f0 * (1.0 - lost - at_grazing) + bsdf.boundary_f90 * at_grazing;
    if bsdf.film <= 0.0 {
        return 1.0 - reflected;
    }
    let film = film_reflectance(cosine, bsdf.film_ior, bsdf.film_thickness, bsdf.index);
    let filmed = max_component(film) * (1.0 - lost);
    1.0 - (reflected + (filmed - reflected) * bsdf.film)
}

/// Returns the hemispherical mean of [`base_transmittance`], by Gaussian quadrature over cosines weighted by the cosine.
#[inline]
pub fn mean_base_transmittance(tables: &[f32], bsdf: &Bsdf) -> f32 {
    let mut sum = 0.0;
    for number in 0..3 {
        let (cosine, weight) = match number {
            0 => (0.212_340_54, 0.139_653_96),
            1 => (0.590_533_13, 0.458_482_2),
            _ => (0.911_412_04, 0.401_863_83),
        };
        let lost = facet_energy(tables, bsdf, LOST, 0.5, cosine);
        let at_grazing = facet_energy(tables, bsdf, GRAZING, 0.5, cosine);
        sum += weight * base_transmittance(bsdf, cosine, lost, at_grazing);
    }
    sum
}

/// Returns the reflectance per channel of a facet of metal or of the dielectric boundary. `cosine` is that between the
/// facet and the light, and `grazing` its Schlick weight.
#[inline]
pub fn facet_reflectance(bsdf: &Bsdf, cosine: f32, grazing: f32) -> Vec3 {
    let plain = bsdf.f0 + (Vec3::splat(bsdf.f90) - bsdf.f0) * grazing;
    if bsdf.film <= 0.0 {
        return plain;
    }
    let (ior, thickness) = (bsdf.film_ior, bsdf.film_thickness);
    let metal = film_reflectance(cosine, ior, thickness, bsdf.color) * bsdf.metallic;
    let even = max_f32(1.0 - bsdf.metallic - bsdf.glass, 0.0);
    let filmed = metal + film_reflectance(cosine, ior, thickness, bsdf.index) * even;
    plain + (filmed - plain) * bsdf.film
}

/// Returns the fraction of the energy per channel that filmed glass loses in single scattering. `lost` is that without
/// film, and `by_mirrors` that of perfectly reflecting facets.
#[inline(always)]
pub fn lost_with_film(bsdf: &Bsdf, lost: f32, by_mirrors: f32) -> Vec3 {
    let difference = by_mirrors - lost;
    let part = bsdf.film_added * difference;
    Vec3::new(
        max_f32(lost + part.x, 0.0),
        max_f32(lost + part.y, 0.0),
        max_f32(lost + part.z, 0.0),
    )
}

/// Returns the factors of one channel of the light that several filmed facets reflect and transmit.
///
/// `towards_eye` is the energy that single scattering loses towards the eye, and `here` and `there` are its means on the
/// side of the eye and behind. `transmitted` is the transmittance of a smooth boundary for diffuse light.
#[inline(always)]
pub fn again_with_film(
    towards_eye: f32,
    (here, there): (f32, f32),
    transmitted: f32,
) -> (f32, f32) {
    let part = min_f32(transmitted * share(min_f32(here, there), here), 1.0);
    (
        share(towards_eye, here) * (1.0 - part),
        share(towards_eye, there) * part,
    )
}

/// Evaluates the light that several filmed facets of glass scatter. `lost` is the fraction of the energy towards the eye
/// that perfectly reflecting facets lose, and `mean_lost` its hemispherical mean.
#[inline]
pub fn resolve_film(bsdf: &mut Bsdf, lost: f32, mean_lost: f32) {
    // The relative index from outside. The angle is one at which the film reflects about as much as on average.
    let eta = if bsdf.back == 1 {
        1.0 / bsdf.eta
    } else {
        bsdf.eta
    };
    let cosine = 0.6;
    let (plain, _) = fresnel(cosine, eta);
    let amplitude = (1.0 - eta) / (1.0 + eta);
    let base = Vec3::splat(amplitude * amplitude);
    let film = film_reflectance(cosine, bsdf.film_ior, bsdf.film_thickness, base);
    bsdf.film_added = (film - Vec3::splat(plain)) * (bsdf.film * share(1.0, 1.0 - plain));

    let here = share(bsdf.lost, bsdf.lost_ratio);
    let there = share(bsdf.lost, bsdf.lost_ratio_behind);
    let plain_ratio = share(min_f32(here, there), here);
    let towards_eye = lost_with_film(bsdf, bsdf.lost, lost);
    let here = lost_with_film(bsdf, here, mean_lost);
    let there = lost_with_film(bsdf, there, mean_lost);
    let transmitted = share(bsdf.transmitted_share, plain_ratio);
    (bsdf.film_again.x, bsdf.film_again_behind.x) = again_with_film(
        towards_eye.x,
        (here.x, there.x),
        transmitted * (1.0 - bsdf.film_added.x),
    );
    (bsdf.film_again.y, bsdf.film_again_behind.y) = again_with_film(
        towards_eye.y,
        (here.y, there.y),
        transmitted * (1.0 - bsdf.film_added.y),
    );
    (bsdf.film_again.z, bsdf.film_again_behind.z) = again_with_film(
        towards_eye.z,
        (here.z, there.z),
        transmitted * (1.0 - bsdf.film_added.z),
    );
    // Samples choose the side for the mean over the channels.
    let behind = bsdf.film_again_behind * there;
    bsdf.transmitted_share = share(
        behind.x + behind.y + behind.z,
        towards_eye.x + towards_eye.y + towards_eye.z,
    );
}

/// Evaluates the view-dependent parts of an extended material.
///
/// `cos_eye` and `cos_coat` are the cosines of `to_eye` with the shading normals of base and coat. `along2` is the
/// squared cosine of its azimuth to the tangent.
#[inline]
pub fn resolve_extended(
    tables: &[f32],
    bsdf: &mut Bsdf,
    material: &Material,
    (cos_eye, cos_coat): (f32, f32),
    along2: f32,
    front: bool,
) {
    let thin = bsdf.flags & THIN != 0;
    bsdf.metallic = material.metallic;
    bsdf.film = material.film;
    bsdf.film_ior = material.film_ior;
    bsdf.film_thickness = material.film_thickness;
    let strength = material.anisotropy * material.anisotropy;
    bsdf.alpha_along = bsdf.alpha + (1.0 - bsdf.alpha) * strength;
    bsdf.anisotropic_table = material.anisotropic_table;
    let energy = BoundaryEnergy {
        lost: facet_energy(tables, bsdf, LOST, along2, cos_eye),
        at_grazing: facet_energy(tables, bsdf, GRAZING, along2, cos_eye),
        mean_lost: mean_facet_energy(tables, bsdf, LOST),
        mean_grazing: mean_facet_energy(tables, bsdf, GRAZING),
    };
    let mean_entered = resolve_base(bsdf, material, &energy);
    // Glass ignores anisotropy.
    let lost = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, cos_eye);
    let mean_lost = hemispherical(tables, bsdf.mirrors, LOST, bsdf.alpha);
    let cosines = (cos_eye, cos_coat);
    resolve_coat_and_glass(tables, bsdf, material, (lost, mean_lost), cosines, front);

    let even = (1.0 - material.metallic) * (1.0 - material.transmission);
    let mut mean_through = mean_entered;
    if bsdf.film > 0.0 {
        mean_through = mean_base_transmittance(tables, bsdf);
        let mean = bsdf.color + (Vec3::ONE - bsdf.color) * (1.0 / 21.0);
        let film = film_reflectance(0.7, bsdf.film_ior, bsdf.film_thickness, bsdf.color);
        let mean = mean + (film - mean) * bsdf.film;
        bsdf.multiple_scattering = Vec3::new(
            multiple_scattering_tint(mean.x, energy.mean_lost),
            multiple_scattering_tint(mean.y, energy.mean_lost),
            multiple_scattering_tint(mean.z, energy.mean_lost),
        ) * (material.metallic * share(energy.lost, energy.mean_lost));
    }
    if bsdf.film > 0.0 && bsdf.glass > 0.0 {
        resolve_film(bsdf, lost, mean_lost);
    }
    let entered = base_transmittance(bsdf, cos_eye, energy.lost, energy.at_grazing);
    let through = even * share(entered, mean_through);
    bsdf.diffuse = bsdf.color * (through * (1.0 - material.diffuse_transmission));
    bsdf.behind = material.diffuse_transmission_color * (through * material.diffuse_transmission);

    // Inside glass there is no sheen. It takes its part of the light that leaves.
    let inside = !front && !thin && bsdf.glass > 0.0;
    bsdf.sheen = if inside { Vec3::ZERO } else { material.sheen };
    bsdf.sheen_strength = max_component(material.sheen);
    bsdf.sheen_alpha = material.sheen_alpha;
    bsdf.sheen_table = material.sheen_table;
    bsdf.sheen_transmittance = if inside || bsdf.sheen_strength <= 0.0 {
        1.0
    } else {
        sheen_transmittance(tables, bsdf, cos_eye)
    };
    bsdf.sheen_factor = if inside || bsdf.sheen_strength <= 0.0 {
        1.0
    } else {
        sheen_factor(tables, bsdf, cos_eye, bsdf.sheen_transmittance)
    };

    let filmed = facet_reflectance(bsdf, cos_eye, schlick(cos_eye));
    let facets = if bsdf.film > 0.0 {
        max_component(filmed) * (1.0 - energy.lost)
    } else {
        max_component(bsdf.f0) * (1.0 - energy.lost - energy.at_grazing)
            + bsdf.f90 * energy.at_grazing
    };
    let evenly = max_component(bsdf.multiple_scattering) * energy.mean_lost
        + max_component(bsdf.diffuse) * mean_through;
    let behind = max_component(bsdf.behind) * mean_through;
    let below = bsdf.sheen_transmittance * (facets + evenly + behind + bsdf.glass);
    let sheen = 1.0 - bsdf.sheen_transmittance;
    let rest = share(bsdf.coat_transmittance, sheen + below);
    let rest_below = rest * bsdf.sheen_transmittance;
    bsdf.coat_probability = 1.0 - bsdf.coat_transmittance;
    bsdf.facets_cumulative = bsdf.coat_probability + rest_below * facets;
    bsdf.diffuse_cumulative = bsdf.facets_cumulative + rest_below * evenly;
    bsdf.behind_cumulative = bsdf.diffuse_cumulative + rest_below * behind;
    bsdf.sheen_cumulative = bsdf.behind_cumulative + rest * sheen;
    if has_coat_towards_eye(bsdf) {
        let over = if bsdf.film > 0.0 {
            share(
                bsdf.coat_transmittance,
                mean_coat_transmittance(tables, bsdf),
            )
        } else {
            coat_over_base(tables, bsdf, mean_entered)
        };
        bsdf.diffuse *= over;
        bsdf.behind *= over;
    }
    if !inside && bsdf.sheen_strength > 0.0 {
        let over = sheen_over_base(tables, bsdf, mean_through);
        bsdf.diffuse *= over;
        // The back of thin surfaces has sheen too.
        bsdf.behind *= if thin { over } else { bsdf.sheen_transmittance };
    }
}

/// Returns the factors by which a thin film changes the light per channel that glass scatters from `to_light`, relative
/// to the mean over the channels.
#[inline]
pub fn film_tint(bsdf: &Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3) -> Vec3 {
    let cos_light = dot(normal, to_light);
    let reflects = cos_light > 0.0;
    let bends = !reflects && bsdf.flags & THIN == 0;
    let to_light = if reflects || bends {
        to_light
    } else {
        to_light - normal * (2.0 * cos_light)
    };
    let apart = if bends {
        to_eye * bsdf.eta + to_light
    } else {
        to_eye + to_light
    };
    let upward = if dot(normal, apart) < 0.0 { -1.0 } else { 1.0 };
    let half = apart * (upward / dot(apart, apart).sqrt());
    let eye_half = dot(to_eye, half);
    if eye_half <= 0.0 || (dot(to_light, half) < 0.0) != bends {
        // No facet connects the directions, only light that several facets scatter.
        return Vec3::ONE;
    }
    let (reflected, cos_out) = fresnel(eye_half, bsdf.eta);
    let film = filmed_glass(bsdf, eye_half, (reflected, cos_out));
    let mean = (film.x + film.y + film.z) * (1.0 / 3.0);
    let whole = coated_part(bsdf, mean, cos_out);
    let x = coated_part(bsdf, film.x, cos_out);
    let y = coated_part(bsdf, film.y, cos_out);
    let z = coated_part(bsdf, film.z, cos_out);
    if reflects {
        Vec3::new(share(x, whole), share(y, whole), share(z, whole))
    } else {
        let rest = 1.0 - whole;
        Vec3::new(
            share(1.0 - x, rest),
            share(1.0 - y, rest),
            share(1.0 - z, rest),
        )
    }
}

/// Evaluates rough glass with a thin film for `to_light`, as [`glass_value`]. `color` contains the scale, but not the tint
/// of the glass.
///
/// The light that one facet scatters has the colors of the film at that facet. Several facets scatter what is then
/// missing in each channel. That is a mixture of what glass and mirrors lose, by the part that the film adds to the
/// reflected light.
#[inline]
pub fn filmed_glass_value(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    to_light: Vec3,
) -> BsdfValue {
    let (cos_eye, cos_light) = (dot(normal, to_eye), dot(normal, to_light));
    let reflects = cos_light > 0.0;
    let bends = !reflects && bsdf.flags & THIN == 0;
    let depth = if reflects { cos_light } else { -cos_light };
    let squeezed = if bends { bsdf.eta * bsdf.eta } else { 1.0 };
    let directions = (normal, to_eye, to_light);
    let (once, pdf) = glass_facets(tables, bsdf, directions, (cos_eye, cos_light));
    let color = film_tint(bsdf, normal, to_eye, to_light) * (squeezed * once);
    if bsdf.lost_ratio <= 0.0 {
        return BsdfValue {
            color,
            scale: 1.0,
            pdf,
        };
    }
    let factor = if reflects {
        bsdf.film_again
    } else {
        bsdf.film_again_behind
    };
    let function = if bends { 1 - bsdf.back } else { bsdf.back };
    let lost = directional(tables, bsdf.table, function, bsdf.alpha, depth);
    let by_mirrors = directional(tables, bsdf.mirrors, LOST, bsdf.alpha, depth);
    let spread = depth * INV_PI;
    let mut again = factor * lost_with_film(bsdf, lost, by_mirrors) * spread;
    let pdf = pdf + (again.x + again.y + again.z) * (1.0 / 3.0);
    if meets_coat_from_inside(bsdf) && !reflects {
        // The mean is in `film_again_behind`.
        let mean = mean_coat_above_glass(tables, bsdf);
        again *= share(coat_transmittance(tables, bsdf, depth), mean);
    }
    BsdfValue {
        color: color + again * squeezed,
        scale: 1.0,
        pdf,
    }
}

/// Evaluates an extended material for `to_light` on either side of the surface.
#[inline]
pub fn extended_value(
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
    let thin = bsdf.flags & THIN != 0;
    let depth = if reflects { cos_light } else { -cos_light };
    let coated = has_coat_towards_eye(bsdf);
    let half = normalize(to_eye + to_light);
    let eye_half = dot(to_eye, half);
    let grazing = schlick(eye_half);
    let eye = in_frame(normal, bsdf.tangent, to_eye);
    let light = in_frame(normal, bsdf.tangent, to_light);
    let along2 = along_tangent(light);
    let lost = facet_energy(tables, bsdf, LOST, along2, depth);
    let at_grazing = facet_energy(tables, bsdf, GRAZING, along2, depth);
    let entered = base_transmittance(bsdf, depth, lost, at_grazing);
    let spread = depth * INV_PI;
    let mut color = Vec3::ZERO;
    let (mut evenly, mut pdf);
    if reflects {
        let half_here = in_frame(normal, bsdf.tangent, half);
        let (along, across) = (bsdf.alpha_along, bsdf.alpha);
        let seen = 0.25 * anisotropic_density(eye, half_here, along, across);
        let lit = anisotropic_shadowing(eye, light, along, across, true);
        color = facet_reflectance(bsdf, eye_half, grazing) * (seen * lit)
            + bsdf.multiple_scattering * (lost * spread);
        evenly = bsdf.diffuse * (entered * spread);
        pdf = (bsdf.facets_cumulative - bsdf.coat_probability) * seen
            + (bsdf.diffuse_cumulative - bsdf.facets_cumulative) * spread;
    } else {
        // Within glass, the diffusely transmitted light has the radiance of refracted light.
        let squeezed = if thin { 1.0 } else { bsdf.eta * bsdf.eta };
        evenly = bsdf.behind * (entered * spread * squeezed);
        pdf = (bsdf.behind_cumulative - bsdf.diffuse_cumulative) * spread;
    }
    if bsdf.glass > 0.0 {
        let tint = if reflects { Vec3::ONE } else { bsdf.color };
        let glass = if bsdf.film > 0.0 {
            let glass = filmed_glass_value(tables, bsdf, normal, to_eye, to_light);
            color += tint * glass.color * bsdf.glass;
            glass
        } else {
            let glass = glass_value(tables, bsdf, normal, to_eye, to_light);
            color += tint * (bsdf.glass * glass.scale);
            glass
        };
        pdf += (1.0 - bsdf.sheen_cumulative) * glass.pdf;
    }
    if bsdf.sheen_strength > 0.0 {
        let inside = max_component(bsdf.sheen) <= 0.0;
        let light_outside = if reflects { !inside } else { thin || inside };
        let other = if light_outside {
            sheen_transmittance(tables, bsdf, depth)
        } else {
            1.0
        };
        // Light that crosses the surface of a body passes the fibres once.
        color *= if light_outside && !inside {
            bsdf.sheen_factor * sheen_factor(tables, bsdf, depth, other)
        } else {
            bsdf.sheen_transmittance * other
        };
        evenly *= other;
        if reflects && !inside {
            let across = cross(normal, half);
            let fibres = sheen_value(cos_eye, cos_light, dot(across, across), bsdf.sheen_alpha);
            let scale = min_f32(
                sheen_scale(tables, bsdf, cos_eye),
                sheen_scale(tables, bsdf, cos_light),
            );
            color += bsdf.sheen * (fibres * scale);
            pdf += (bsdf.sheen_cumulative - bsdf.behind_cumulative) * (0.5 * INV_PI);
        }
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
        color: color + evenly,
        scale: 1.0,
        pdf,
    }
}

/// Samples a direction from one lobe of an extended material, selected by `choice`.
///
/// Returns the direction and the side of the surface that its lobe belongs to, 1 or −1; the direction itself may lie on
/// the wrong side. `choice`, `u` and `v` are uniform in [0, 1).
#[inline]
pub fn sample_extended(
    tables: &[f32],
    bsdf: &Bsdf,
    normal: Vec3,
    to_eye: Vec3,
    choice: f32,
    u: f32,
    v: f32,
) -> (Vec3, f32) {
    if choice >= bsdf.sheen_cumulative {
        let choice = share(choice - bsdf.sheen_cumulative, 1.0 - bsdf.sheen_cumulative);
        return sample_rough(tables, bsdf, normal, to_eye, choice, u, v);
    }
    if choice >= bsdf.behind_cumulative {
        // Uniform over the hemisphere, because sheen is strongest at grazing angles.
        let cosine = 1.0 - u;
        let radius = max_f32(0.0, 1.0 - cosine * cosine).sqrt();
        let (sine_turn, cosine_turn) = sin_cos_turns(v);
        let local = Vec3::new(radius * cosine_turn, radius * sine_turn, cosine);
        return (normalize(local_to_world(normal, local)), 1.0);
    }
    if choice >= bsdf.diffuse_cumulative {
        return (sample_cosine(-normal, u, v).0, -1.0);
    }
    if choice >= bsdf.facets_cumulative {
        return (sample_cosine(normal, u, v).0, 1.0);
    }
    let half = if choice < bsdf.coat_probability {
        sample_visible_normal(bsdf.coat_normal, to_eye, bsdf.coat_alpha, u, v)
    } else {
        let (along, across) = (bsdf.alpha_along, bsdf.alpha);
        let frame = (normal, bsdf.tangent);
        sample_anisotropic_normal(frame, to_eye, along, across, (u, v))
    };
    (reflect(-to_eye, half), 1.0)
}
