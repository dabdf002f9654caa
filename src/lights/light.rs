//! Light sampling: choosing a light and a point on it, and the radiance of lights at infinity. Twin:
//! `kernels/shared/light.cuh`.
//!
//! A light is chosen with a probability proportional to its power, which is luminance times area for a primitive. Power
//! is flux over π: 4 times the intensity of a point light; light from infinity passes a disk of the scene's radius. The
//! environment map is sampled by its luminance. Where there are many lights, those at finite distance are chosen by a
//! [`light_tree`](crate::lights::light_tree).

use compaction::shared;
use glam::Vec3;

use crate::{
    accel::primitive::Primitive,
    lights::{
        area_light::area_pdf_of_width,
        environment::{
            Environment, EnvironmentRow, EnvironmentSample, EnvironmentTexel, environment_at,
            sample_environment,
        },
        light_tree::{
            HAS_CONE, LEAF, LightPair, NO_LIGHT, PROBABILITY_UNITS, choose_from_tree,
            light_probability,
        },
    },
    math::{PI, cross, dot, luminance, min_f32},
    path::NO_PRIMITIVE,
    sampler::unit,
    shading::material::Material,
};
pub use crate::{
    lights::{
        area_light::{light_pdf, sample_emitter, sample_triangle},
        lamp::{DISTANT, Lamp, POINT, SPOT, SUN, sample_lamp},
        light_sample::{BSDF_SAMPLES, LIGHT_SAMPLES, LightSample, NO_SAMPLE, sample_weight},
    },
    scene::limits::MAX_VISIBLE_RADIANCE,
};

/// `Light::kind`: an emissive primitive, whose index is `Light::index`.
pub const EMITTER: u32 = 0;
/// `Light::kind`: a lamp, whose index is `Light::index`.
pub const LAMP: u32 = 1;
/// `Light::kind`: the environment map.
pub const ENVIRONMENT: u32 = 2;
/// Whole numbers of lights, light trees and lamps that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    EMITTER,
    PROBABILITY_UNITS,
    LEAF,
    HAS_CONE,
    NO_LIGHT,
    LAMP,
    SPOT,
    DISTANT,
    SUN
];
/// Real numbers that kernels use under the same names.
pub(crate) const NUMBERS: &[(&str, f32)] = named![MAX_VISIBLE_RADIANCE];

shared! {
    /// An entry of the table of lights.
    #[repr(align(16))]
    pub struct Light {
        /// Index among the primitives for [`EMITTER`], among the lamps for [`LAMP`]; unused for the environment map.
        pub index: u32,
        /// Kind of the light: [`EMITTER`], [`LAMP`] or [`ENVIRONMENT`].
        pub kind: u32,
        /// Cumulative probability, 0..=1, of this light and those before it, among the lights that are not in the light
        /// tree; unused for lights in the tree.
        pub cumulative: f32,
        /// Path from the root of the light tree to the light, one bit per level, see
        /// [`light_probability`](crate::lights::light_tree::light_probability); 0 if it is not in the tree.
        pub trail: u32,
    }
}

shared! {
    /// Parameters of direct lighting that all lights share, and the constant sky.
    pub struct LightParams {
        /// Radiance of the constant sky in linear sRGB.
        pub sky: Vec3,
        /// Number of lights that light sampling chooses from, in and outside the light tree.
        pub light_count: u32,
        /// Reciprocal of the power of all lights; 0 without lights.
        pub inverse_power: f32,
        /// Largest absolute coordinate of the scene in metres, which scales rounding margins.
        pub extent: f32,
        /// Upper bound per channel of the contributions that indirect light adds to a sample (clamping); infinite if
        /// not clamped.
        pub max_indirect: f32,
        /// First scattering event, counted from 1, at which Russian roulette may end a path; `u32::MAX` if never.
        pub roulette_start: u32,
        /// Sampling strategies of direct light: [`LIGHT_SAMPLES`], [`BSDF_SAMPLES`], or the sum of both for MIS.
        pub strategies: u32,
        /// Number of lights at infinity that a ray can hit: suns and the environment map.
        pub far_lights: u32,
        /// Number of suns, which are the first lamps.
        pub sun_count: u32,
        /// Number of lights in the light tree, which are the first of the table; 0 without a tree.
        pub tree_lights: u32,
        /// Probability of choosing from the light tree, in units of 1 / [`PROBABILITY_UNITS`].
        pub tree_share: u32,
        /// Index of the first world-space copy of an emissive instance's triangle among the primitives; `NO_PRIMITIVE`
        /// if there is none. The `number` of such a copy is its instance's index.
        pub first_instanced: u32,
        /// Index, in `Lights::places`, of the first instance's entry.
        ///
        /// An instance's entry is the offset from a mesh triangle's index to that of its world-space copy, or
        /// `NO_LIGHT` if the instance is not sampled as a light.
        pub instance_entries: u32,
        /// Radiance that camera rays see where they hit nothing, if `has_background` is 1; otherwise the constant sky.
        pub background: Vec3,
        /// 1 if camera rays that hit nothing see `background` instead of the light from infinity, otherwise 0.
        pub has_background: u32,
        /// 1 if some material absorbs light in its interior, so that paths list the [bodies](crate::shading::bodies)
        /// that they are inside, otherwise 0.
        pub tracks_bodies: u32,
        /// List of [bodies](crate::shading::bodies) that contains only the fog of the scene; 0 without fog.
        pub fog_body: u32,
        /// 1 if light passes some surfaces straight, such as boundaries of media. Then `scatter` and `shadow` attenuate light on its
        /// way through media, and otherwise `shade`. Otherwise 0.
        pub has_boundaries: u32,
    }
}

/// All data that light sampling reads, borrowed from the scene.
#[derive(Clone, Copy)]
pub struct Lights<'a> {
    /// Parameters of direct lighting that all lights share, and the constant sky.
    pub light_params: LightParams,
    /// The scene's primitives, world-space copies of emissive instances included.
    pub primitives: &'a [Primitive],
    /// The scene's materials.
    pub materials: &'a [Material],
    /// All lights, those of the light tree first.
    pub table: &'a [Light],
    /// Nodes of the light tree in pairs, the children of the root first; empty without a tree.
    pub light_pairs: &'a [LightPair],
    /// The index in `table` of each primitive, or `NO_LIGHT`; then one entry per instance, see
    /// `LightParams::instance_entries`. Empty without a light tree and without emissive instances.
    pub places: &'a [u32],
    /// All lamps, suns first.
    pub lamps: &'a [Lamp],
    /// The environment map's size, orientation and selection probability.
    pub environment: Environment,
    /// Rows of the environment map.
    pub rows: &'a [EnvironmentRow],
    /// Texels of the environment map in row-major order from the top.
    pub texels: &'a [EnvironmentTexel],
    /// Search guide of the environment map's sampling tables.
    pub guide: &'a [u32],
}

/// Returns the index of the light whose interval of cumulative probability contains `u`, by binary search.
/// `light_count` is at least 1.
#[inline]
pub fn choose_light(lights: &[Light], light_count: u32, u: f32) -> u32 {
    let mut first = 0;
    let mut last = light_count - 1;
    while first < last {
        let middle = (first + last) / 2;
        if u < lights[middle as usize].cumulative {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    first
}

/// Returns the pdf per area with which light sampling for the reference point `origin` samples the primitive with
/// index `position`. Without a light tree it does not depend on `origin`.
#[inline]
pub fn emitter_area_pdf(lights: &Lights, position: u32, origin: Vec3) -> f32 {
    let primitive = &lights.primitives[position as usize];
    let params = &lights.light_params;
    if params.tree_lights == 0 {
        let material = &lights.materials[primitive.material as usize];
        return luminance(material.emission) * params.inverse_power;
    }
    let place = lights.places[position as usize];
    if place == NO_LIGHT {
        return 0.0;
    }
    let trail = lights.table[place as usize].trail;
    let width = light_probability(lights.light_pairs, origin, trail, params.tree_share);
    area_pdf_of_width(primitive, width)
}

/// Chooses a light and samples a point on it for the reference point `origin`. There must be at least one light.
///
/// `choice` is 32 random bits that choose the light; `point_u` and `point_v` choose the point.
#[inline]
pub fn sample_light(
    lights: &Lights,
    origin: Vec3,
    choice: u32,
    point_u: u32,
    point_v: u32,
) -> LightSample {
    let chosen = choose_for(lights, origin, choice);
    if chosen.0 == NO_LIGHT {
        return NO_SAMPLE;
    }
    sample_chosen(lights, chosen, origin, point_u, point_v)
}

/// Chooses a light for the reference point `origin` by 32 random bits, in the form that [`sample_chosen`] takes. The
/// index is `NO_LIGHT` if the bits lead into a part of the light tree of which no light illuminates the point.
#[inline(always)]
pub(crate) fn choose_for(lights: &Lights, origin: Vec3, choice: u32) -> (u32, u32, bool) {
    let params = &lights.light_params;
    let number = choice >> 1;
    if number < params.tree_share {
        let share = params.tree_share;
        let chosen = choose_from_tree(lights.light_pairs, origin, number, share);
        return (chosen.light, chosen.width, true);
    }
    let chosen = if params.tree_lights > 0 {
        let first = params.tree_lights;
        let part =
            (number - params.tree_share) as f32 / (PROBABILITY_UNITS - params.tree_share) as f32;
        let rest = &lights.table[first as usize..];
        first
            + choose_light(
                rest,
                params.light_count - first,
                min_f32(part, 0.999_999_94),
            )
    } else {
        choose_light(lights.table, params.light_count, unit(choice))
    };
    (chosen, 0, false)
}

/// Samples a point on a chosen light for the reference point `origin`. `point_u` and `point_v` are 32 random bits each.
///
/// The tuple holds the light's index in the table, and its probability in units of 1 / [`PROBABILITY_UNITS`] if the
/// light tree has chosen it, which the last value tells.
#[inline]
pub(crate) fn sample_chosen(
    lights: &Lights,
    (chosen, width, by_tree): (u32, u32, bool),
    origin: Vec3,
    point_u: u32,
    point_v: u32,
) -> LightSample {
    let params = &lights.light_params;
    let (u, v) = (unit(point_u), unit(point_v));
    let light = lights.table[chosen as usize];
    if light.kind == EMITTER {
        let primitive = &lights.primitives[light.index as usize];
        let radiance = lights.materials[primitive.material as usize].emission;
        let share = if by_tree {
            area_pdf_of_width(primitive, width)
        } else {
            luminance(radiance) * params.inverse_power
        };
        let sample = sample_emitter(primitive, radiance, share, origin, u, v);
        return LightSample {
            to_primitive: light.index,
            ..sample
        };
    }
    if light.kind == LAMP {
        let lamp = &lights.lamps[light.index as usize];
        let chance = if by_tree {
            width as f32 * (1.0 / PROBABILITY_UNITS as f32)
        } else {
            lamp.chance
        };
        return sample_lamp(lamp, chance, origin, u, v);
    }
    let direction = sample_environment(
        &lights.environment,
        lights.rows,
        lights.texels,
        lights.guide,
        point_u,
        point_v,
    );
    let seen = environment_at(&lights.environment, lights.rows, lights.texels, direction);
    environment_sample(&lights.environment, direction, seen)
}

/// Returns the light sample of a sampled direction to the environment map. `seen` is the value of the map there.
#[inline(always)]
pub(crate) fn environment_sample(
    environment: &Environment,
    direction: Vec3,
    seen: EnvironmentSample,
) -> LightSample {
    // Rounding may have moved the direction into a texel that is never sampled.
    if seen.pdf == 0.0 {
        return NO_SAMPLE;
    }
    LightSample {
        direction,
        distance: f32::MAX,
        pdf: seen.pdf * environment.chance,
        radiance: seen.radiance,
        to_primitive: NO_PRIMITIVE,
        is_delta: 0,
    }
}

/// Returns the contribution of radiance from infinity along a camera ray or a BSDF-sampled ray.
///
/// Before the path's first non-specular scattering event (`scattered` is `false`) it is the radiance, bounded by
/// [`MAX_VISIBLE_RADIANCE`]. After it, a ray of a delta distribution (`ray_pdf` = 0) receives all of the radiance,
/// others the MIS-weighted part.
#[inline]
pub fn far_light_contribution(
    strategies: u32,
    radiance: Vec3,
    light_pdf: f32,
    ray_pdf: f32,
    scattered: bool,
) -> Vec3 {
    if !scattered {
        return Vec3::new(
            min_f32(radiance.x, MAX_VISIBLE_RADIANCE),
            min_f32(radiance.y, MAX_VISIBLE_RADIANCE),
            min_f32(radiance.z, MAX_VISIBLE_RADIANCE),
        );
    }
    if ray_pdf == 0.0 {
        return radiance;
    }
    radiance * sample_weight(strategies, BSDF_SAMPLES, ray_pdf, light_pdf)
}

/// Returns the radiance from infinity along a ray that hits nothing: the constant sky, and the contributions of the
/// environment map and of the suns whose disks the ray meets.
///
/// The constant sky counts in full, because light sampling never chooses it. The others are bounded or MIS-weighted by
/// [`far_light_contribution`]. `direction` has length 1. `ray_pdf` is its pdf per steradian; 0 for a camera ray or a
/// delta distribution. `scattered` tells whether the path has had a non-specular scattering event.
#[inline]
pub fn sky_light(lights: &Lights, direction: Vec3, ray_pdf: f32, scattered: bool) -> Vec3 {
    let seen = (lights.environment.width > 0)
        .then(|| environment_at(&lights.environment, lights.rows, lights.texels, direction));
    sky_light_with(lights, seen, direction, ray_pdf, scattered)
}

/// Returns the same as [`sky_light`]. `seen` is the value of the environment map in the direction; `None` if the scene
/// has no map.
#[inline(always)]
pub(crate) fn sky_light_with(
    lights: &Lights,
    seen: Option<EnvironmentSample>,
    direction: Vec3,
    ray_pdf: f32,
    scattered: bool,
) -> Vec3 {
    let strategies = lights.light_params.strategies;
    let mut light = lights.light_params.sky;
    if let Some(seen) = seen {
        let pdf = seen.pdf * lights.environment.chance;
        light += far_light_contribution(strategies, seen.radiance, pdf, ray_pdf, scattered);
    }
    for sun in 0..lights.light_params.sun_count {
        let lamp = &lights.lamps[sun as usize];
        let apart = cross(direction, lamp.direction);
        let sin2 = dot(apart, apart);
        let within = sin2 <= lamp.cos_inner * (2.0 - lamp.cos_inner);
        if within && dot(direction, lamp.direction) > 0.0 {
            let pdf = lamp.chance / (2.0 * PI * lamp.cos_inner);
            light += far_light_contribution(strategies, lamp.radiance, pdf, ray_pdf, scattered);
        }
    }
    light
}
