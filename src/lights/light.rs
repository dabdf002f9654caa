//! Light sampling: choosing a light and a point on it, and the pdf of doing so. Twin: `kernels/shared/light.cuh`.
//! Imports `environment`, `light_tree`, `material`, `math`, `path`, `primitive`, `sampler`.
//!
//! A light is chosen with a probability proportional to its power, which is luminance times area for a primitive. Power
//! is flux over π: 4 times the intensity of a point light; light from infinity passes a disk of the scene's radius.
//! Triangles are sampled uniformly by area, spheres uniformly in the cone that they subtend (Shirley, Wang & Zimmerman
//! 1996), the environment map by its luminance. Where there are many lights, those at finite distance are chosen by a
//! [`light_tree`](crate::lights::light_tree).

use std::ops::Range;

use compaction::shared;
use glam::Vec3;

use crate::{
    accel::primitive::{INSTANCE, Primitive, TRIANGLE, point_error},
    lights::{
        environment::{
            Environment, EnvironmentRow, EnvironmentTexel, environment_at, sample_environment,
        },
        light_tree::{LightNode, NO_LIGHT, PROBABILITY_UNITS, choose_from_tree, light_probability},
    },
    math::{
        PI, cross, dot, local_to_world, luminance, max_f32, min_f32, normalize, offset_point,
        square_to_disk,
    },
    path::NO_PRIMITIVE,
    sampler::unit,
    shading::material::{Material, power_heuristic},
};

/// `Light::kind`: an emissive primitive, the one with index `of`.
pub const EMITTER: u32 = 0;
/// `Light::kind`: the lamp with index `of`.
pub const LAMP: u32 = 1;
/// `Light::kind`: the environment map.
pub const ENVIRONMENT: u32 = 2;

/// `Lamp::kind`: a point light; `radiance` holds its intensity, W/sr.
pub const POINT: u32 = 0;
/// `Lamp::kind`: a spotlight, a point light restricted to a cone; `radiance` holds its intensity on the axis, W/sr.
pub const SPOT: u32 = 1;
/// `Lamp::kind`: a directional light at infinity; `radiance` holds its irradiance, W/m².
pub const DISTANT: u32 = 2;
/// `Lamp::kind`: a disk at infinity of uniform radiance.
pub const SUN: u32 = 3;

pub use crate::scene::limits::MAX_VISIBLE_RADIANCE;

/// Bit of `LightParams::strategies`: next-event estimation, which samples points on lights.
pub const LIGHT_SAMPLES: u32 = 1;
/// Bit of `LightParams::strategies`: BSDF sampling, whose rays hit lights.
pub const BSDF_SAMPLES: u32 = 2;

shared! {
    /// An entry of the table of lights.
    #[repr(align(16))]
    pub struct Light {
        /// Index of the light among the primitives or the lamps, as `kind` says.
        pub index: u32,
        /// Kind of the light: [`EMITTER`], [`LAMP`] or [`ENVIRONMENT`].
        pub kind: u32,
        /// Cumulative probability of this light and those before it, among the lights that are not in the light tree.
        pub cumulative: f32,
        /// Path from the root of the light tree to the light, one bit per level, see
        /// [`light_probability`](crate::lights::light_tree::light_probability); 0 if it is not in the tree.
        pub trail: u32,
    }
}

shared! {
    /// A light that is not a surface of the scene.
    #[repr(align(16))]
    pub struct Lamp {
        /// Position in world space, metres; unused for lamps at infinity.
        pub position: Vec3,
        /// Kind of the lamp: [`POINT`], [`SPOT`], [`DISTANT`] or [`SUN`].
        pub kind: u32,
        /// Direction of length 1: the axis along which a spotlight shines, or the direction towards a lamp at infinity.
        pub direction: Vec3,
        /// Probability that a light sample chooses the lamp; unused if it is in the light tree.
        pub chance: f32,
        /// Linear sRGB: radiance of a sun, intensity of a point or spot light, irradiance of a distant light.
        pub radiance: Vec3,
        /// Cosine of the angle at which a spotlight's falloff begins; for a sun, 1 − cosine of its angular
        /// radius.
        pub cos_inner: f32,
        /// Cosine of the angle at which a spotlight's falloff reaches 0.
        pub cos_outer: f32,
        /// Padding.
        pub _pad0: u32,
        /// Padding.
        pub _pad1: u32,
        /// Padding.
        pub _pad2: u32,
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
    }
}

impl LightParams {
    /// Returns the parameters for light that has scattered this many times. Light that scattered less than twice is not
    /// clamped.
    pub fn clamped_after(self, scatterings: u32) -> LightParams {
        LightParams {
            max_indirect: if scatterings < 2 {
                f32::INFINITY
            } else {
                self.max_indirect
            },
            ..self
        }
    }
}

/// All data that light sampling reads, borrowed from the scene.
#[derive(Clone, Copy)]
pub struct Lights<'a> {
    /// Parameters that all lights share.
    pub surroundings: LightParams,
    /// The scene's primitives, world-space copies of emissive instances included.
    pub primitives: &'a [Primitive],
    /// The scene's materials.
    pub materials: &'a [Material],
    /// All lights, those of the light tree first.
    pub table: &'a [Light],
    /// Nodes of the light tree, the root first; empty without a tree.
    pub nodes: &'a [LightNode],
    /// For each primitive, its index in `table` or `NO_LIGHT`; then one entry per instance, see
    /// `LightParams::instance_entries`. Empty without a light tree and without emissive instances.
    pub places: &'a [u32],
    /// All lamps, suns first.
    pub lamps: &'a [Lamp],
    /// The environment map's size and orientation.
    pub environment: Environment,
    /// Rows of the environment map.
    pub rows: &'a [EnvironmentRow],
    /// Texels of the environment map in row-major order from the top.
    pub texels: &'a [EnvironmentTexel],
}

/// A sampled point on a light, as seen from a reference point.
#[derive(Clone, Copy, Debug)]
pub struct LightSample {
    /// Direction to the light in world space, of length 1.
    pub direction: Vec3,
    /// Distance to the light in metres; `f32::MAX` at infinity, 0 if the light does not illuminate the reference point.
    pub distance: f32,
    /// Pdf per steradian of solid angle; for a delta light, the probability of choosing it.
    pub pdf: f32,
    /// Unoccluded radiance towards the reference point in linear sRGB; for a delta light, irradiance at normal
    /// incidence.
    pub radiance: Vec3,
    /// Index of the light's primitive, or `NO_PRIMITIVE` if the light is not a surface.
    pub to_primitive: u32,
    /// 1 for a delta light (point, spot, distant), which BSDF samples cannot hit, otherwise 0.
    pub is_delta: u32,
}

/// The sample of a light that does not illuminate the reference point.
pub const NO_SAMPLE: LightSample = LightSample {
    direction: Vec3::ZERO,
    distance: 0.0,
    pdf: 0.0,
    radiance: Vec3::ZERO,
    to_primitive: NO_PRIMITIVE,
    is_delta: 0,
};

/// Returns the MIS weight of a sample of strategy `own`, drawn with pdf `drawn` > 0; the other strategy's pdf is
/// `other`.
///
/// With both strategies it is the power heuristic. If `own` is disabled, its samples count only where the other
/// strategy cannot sample (`other` = 0), so that nothing is lost.
#[inline(always)]
pub fn sample_weight(strategies: u32, own: u32, drawn: f32, other: f32) -> f32 {
    if other > 0.0 && strategies & own == 0 {
        return 0.0;
    }
    if strategies != LIGHT_SAMPLES + BSDF_SAMPLES {
        return 1.0;
    }
    power_heuristic(drawn, other)
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

/// Returns 1 − cos θ of the cone that a sphere subtends. `distance2` is the squared distance to its centre, outside it.
#[inline]
pub fn one_minus_cos_max(radius: f32, distance2: f32) -> f32 {
    let sin2 = radius * radius / distance2;
    sin2 / (1.0 + (1.0 - sin2).sqrt())
}

/// Returns the surface area of a sphere.
#[inline]
pub fn sphere_area(radius: f32) -> f32 {
    4.0 * PI * radius * radius
}

/// Returns the pdf per area with which a primitive is sampled if `width` of [`PROBABILITY_UNITS`] random numbers choose it.
#[inline]
pub fn area_pdf_of_width(primitive: &Primitive, width: u32) -> f32 {
    let area = if primitive.kind == TRIANGLE {
        let normal = cross(primitive.b - primitive.a, primitive.c - primitive.a);
        0.5 * dot(normal, normal).sqrt()
    } else {
        sphere_area(primitive.b.x)
    };
    width as f32 * (1.0 / PROBABILITY_UNITS as f32) / area
}

/// Returns the pdf per area with which light sampling for the reference point `origin` samples the primitive at
/// `position`. Without a light tree it does not depend on `origin`.
#[inline]
pub fn emitter_area_pdf(lights: &Lights, position: u32, origin: Vec3) -> f32 {
    let primitive = &lights.primitives[position as usize];
    let surroundings = &lights.surroundings;
    if surroundings.tree_lights == 0 {
        let material = &lights.materials[primitive.material as usize];
        return luminance(material.emission) * surroundings.inverse_power;
    }
    let place = lights.places[position as usize];
    if place == NO_LIGHT {
        return 0.0;
    }
    let trail = lights.table[place as usize].trail;
    let width = light_probability(lights.nodes, origin, trail, surroundings.tree_share);
    area_pdf_of_width(primitive, width)
}

/// Returns the pdf per steradian with which [`sample_light`] samples the point that a ray from `origin` hit.
///
/// `share` is the pdf per area from [`emitter_area_pdf`]. `cosine` is that between the light's front normal and the
/// direction back along the ray, above 0. Returns 0 inside an emissive sphere.
#[inline]
pub fn light_pdf(
    primitive: &Primitive,
    share: f32,
    origin: Vec3,
    distance: f32,
    cosine: f32,
) -> f32 {
    if primitive.kind == TRIANGLE {
        return share * distance * distance / cosine;
    }
    let radius = primitive.b.x;
    let to_center = primitive.a - origin;
    let distance2 = dot(to_center, to_center);
    if distance2 <= radius * radius {
        return 0.0;
    }
    share * sphere_area(radius) / (2.0 * PI * one_minus_cos_max(radius, distance2))
}

/// Samples a point on a triangle light uniformly by area. `share` is the pdf per area.
#[inline(always)]
pub fn sample_triangle(
    light: &Primitive,
    radiance: Vec3,
    share: f32,
    origin: Vec3,
    u: f32,
    v: f32,
) -> LightSample {
    // Maps the square to the triangle without a square root, preserving areas and neighbourhoods (Heitz 2019).
    let (b, c) = if v > u {
        (0.5 * u, v - 0.5 * u)
    } else {
        (u - 0.5 * v, 0.5 * v)
    };
    let ab = light.b - light.a;
    let ac = light.c - light.a;
    let normal = normalize(cross(ab, ac));
    let point = offset_point(light.a + ab * b + ac * c, normal, point_error(light));
    let to_light = point - origin;
    let distance2 = dot(to_light, to_light);
    let distance = distance2.sqrt();
    let direction = to_light * (1.0 / distance);
    let cosine = -dot(direction, normal);
    let lit = cosine > 0.0 && distance > 0.0;
    if !lit {
        return NO_SAMPLE;
    }
    LightSample {
        direction,
        distance,
        pdf: share * distance2 / cosine,
        radiance,
        ..NO_SAMPLE
    }
}

/// Samples a direction in the cone that a sphere light subtends at `origin`, uniformly by solid angle. `share` is the
/// pdf per area. Returns [`NO_SAMPLE`] inside the sphere.
#[inline]
pub fn sample_sphere(
    light: &Primitive,
    radiance: Vec3,
    share: f32,
    origin: Vec3,
    u: f32,
    v: f32,
) -> LightSample {
    let radius = light.b.x;
    let to_center = light.a - origin;
    let distance2 = dot(to_center, to_center);
    if distance2 <= radius * radius {
        return NO_SAMPLE;
    }
    let height = one_minus_cos_max(radius, distance2);
    let (x, y) = square_to_disk(u, v);
    // A uniform disk lifted onto the cone's cap: heights are uniform if squared radii are.
    let drop = (x * x + y * y) * height;
    let stretch = max_f32(0.0, height * (2.0 - drop)).sqrt();
    let cosine = 1.0 - drop;
    let sin2 = drop * (2.0 - drop);
    let away = distance2.sqrt();
    let depth = max_f32(0.0, radius * radius - distance2 * sin2).sqrt();
    let reach = away * cosine - depth;
    // From the centre to where that direction meets the sphere. Subtracting distances would lose a small radius.
    let local = Vec3::new(
        x * stretch * reach,
        y * stretch * reach,
        -(away * sin2 + depth * cosine),
    );
    let normal = normalize(local_to_world(to_center * (1.0 / away), local));
    let target = offset_point(light.a + normal * radius, normal, point_error(light)) - origin;
    let distance = dot(target, target).sqrt();
    let lit = distance > 0.0;
    if !lit {
        return NO_SAMPLE;
    }
    let pdf = share * sphere_area(radius) / (2.0 * PI * height);
    LightSample {
        direction: target * (1.0 / distance),
        distance,
        pdf,
        radiance,
        ..NO_SAMPLE
    }
}

/// Samples a point on an emissive primitive for the reference point `origin`. `share` is the pdf per area.
#[inline]
pub fn sample_emitter(
    primitive: &Primitive,
    radiance: Vec3,
    share: f32,
    origin: Vec3,
    u: f32,
    v: f32,
) -> LightSample {
    if primitive.kind == TRIANGLE {
        sample_triangle(primitive, radiance, share, origin, u, v)
    } else {
        sample_sphere(primitive, radiance, share, origin, u, v)
    }
}

/// Returns the fraction of its intensity that a spotlight emits at an angle with this cosine to its axis.
///
/// It is 1 within the inner cone, 0 outside the outer one, and the square of a ramp linear in the cosine between
/// (glTF's `KHR_lights_punctual`).
#[inline]
pub fn spot_falloff(lamp: &Lamp, cosine: f32) -> f32 {
    if cosine >= lamp.cos_inner {
        return 1.0;
    }
    if cosine <= lamp.cos_outer {
        return 0.0;
    }
    let part = (cosine - lamp.cos_outer) / (lamp.cos_inner - lamp.cos_outer);
    part * part
}

/// Samples a direction to a lamp. `chance` is the probability with which the lamp was chosen.
#[inline]
pub fn sample_lamp(lamp: &Lamp, chance: f32, origin: Vec3, u: f32, v: f32) -> LightSample {
    if lamp.kind == DISTANT {
        return LightSample {
            direction: lamp.direction,
            distance: f32::MAX,
            pdf: chance,
            radiance: lamp.radiance,
            to_primitive: NO_PRIMITIVE,
            is_delta: 1,
        };
    }
    if lamp.kind == SUN {
        let (x, y) = square_to_disk(u, v);
        let drop = (x * x + y * y) * lamp.cos_inner;
        let stretch = max_f32(0.0, lamp.cos_inner * (2.0 - drop)).sqrt();
        let local = Vec3::new(x * stretch, y * stretch, 1.0 - drop);
        return LightSample {
            direction: normalize(local_to_world(lamp.direction, local)),
            distance: f32::MAX,
            pdf: chance / (2.0 * PI * lamp.cos_inner),
            radiance: lamp.radiance,
            to_primitive: NO_PRIMITIVE,
            is_delta: 0,
        };
    }
    let to_lamp = lamp.position - origin;
    let distance2 = dot(to_lamp, to_lamp);
    let distance = distance2.sqrt();
    let direction = to_lamp * (1.0 / distance);
    let part = if lamp.kind == SPOT {
        spot_falloff(lamp, -dot(direction, lamp.direction))
    } else {
        1.0
    };
    let lit = distance > 0.0 && part > 0.0;
    if !lit {
        return NO_SAMPLE;
    }
    LightSample {
        direction,
        distance,
        pdf: chance,
        radiance: lamp.radiance * (part / distance2),
        to_primitive: NO_PRIMITIVE,
        is_delta: 1,
    }
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
    let surroundings = &lights.surroundings;
    let (u, v) = (unit(point_u), unit(point_v));
    let number = choice >> 1;
    let by_tree = number < surroundings.tree_share;
    let mut width = 0;
    let chosen = if by_tree {
        let share = surroundings.tree_share;
        let chosen = choose_from_tree(lights.nodes, origin, number, share);
        if chosen.light == NO_LIGHT {
            return NO_SAMPLE;
        }
        width = chosen.width;
        chosen.light
    } else if surroundings.tree_lights > 0 {
        let first = surroundings.tree_lights;
        let part = (number - surroundings.tree_share) as f32
            / (PROBABILITY_UNITS - surroundings.tree_share) as f32;
        let rest = &lights.table[first as usize..];
        first
            + choose_light(
                rest,
                surroundings.light_count - first,
                min_f32(part, 0.999_999_94),
            )
    } else {
        choose_light(lights.table, surroundings.light_count, unit(choice))
    };
    let light = lights.table[chosen as usize];
    if light.kind == EMITTER {
        let primitive = &lights.primitives[light.index as usize];
        let radiance = lights.materials[primitive.material as usize].emission;
        let share = if by_tree {
            area_pdf_of_width(primitive, width)
        } else {
            luminance(radiance) * surroundings.inverse_power
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
        point_u,
        point_v,
    );
    let seen = environment_at(&lights.environment, lights.rows, lights.texels, direction);
    // Rounding may have moved the direction into a texel that is never sampled.
    if seen.pdf == 0.0 {
        return NO_SAMPLE;
    }
    LightSample {
        direction,
        distance: f32::MAX,
        pdf: seen.pdf * lights.environment.chance,
        radiance: seen.radiance,
        to_primitive: NO_PRIMITIVE,
        is_delta: 0,
    }
}

/// Returns the contribution of radiance from infinity along a BSDF-sampled ray.
///
/// Before the first non-specular scattering the radiance is bounded by [`MAX_VISIBLE_RADIANCE`]. A ray of a delta distribution
/// (`ray_pdf` = 0) receives all of it, others the MIS-weighted part.
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

/// Returns the radiance from infinity along a ray that hits nothing: constant sky, environment map and suns,
/// MIS-weighted.
///
/// `ray_pdf` is the pdf of the direction, 0 for a delta distribution. `scattered` tells whether the path has had a
/// non-specular scattering event.
#[inline]
pub fn sky_light(lights: &Lights, direction: Vec3, ray_pdf: f32, scattered: bool) -> Vec3 {
    let strategies = lights.surroundings.strategies;
    let mut light = lights.surroundings.sky;
    if lights.environment.width > 0 {
        let seen = environment_at(&lights.environment, lights.rows, lights.texels, direction);
        let pdf = seen.pdf * lights.environment.chance;
        light += far_light_contribution(strategies, seen.radiance, pdf, ray_pdf, scattered);
    }
    for sun in 0..lights.surroundings.sun_count {
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

/// Sets `cumulative` of each light so that lights are chosen in proportion to their power, the second of each pair.
pub fn by_power(lights: &mut [(Light, f64)]) {
    let total: f64 = lights.iter().map(|&(_, power)| power).sum();
    let mut sum = 0.0;
    for (light, power) in lights {
        sum += *power;
        light.cumulative = (sum / total) as f32;
    }
}

/// Returns the emissive primitives with their power. Those at `of_meshes` are skipped: meshes emit only through
/// instances.
///
/// The order does not depend on the BVH: first primitives of the scene by number, then the triangles of instances, by
/// instance and by number within the mesh. `twins` holds for each instance the offset from its mesh triangles to their
/// world-space copies.
pub fn gather_lights(
    primitives: &[Primitive],
    of_meshes: Range<usize>,
    twins: &[u32],
    materials: &[Material],
) -> Vec<(Light, f64)> {
    let power = |primitive: &Primitive| {
        let emission = f64::from(luminance(materials[primitive.material as usize].emission));
        let area = if primitive.kind == TRIANGLE {
            let (a, b, c) = (
                primitive.a.as_dvec3(),
                primitive.b.as_dvec3(),
                primitive.c.as_dvec3(),
            );
            0.5 * (b - a).cross(c - a).length()
        } else {
            f64::from(sphere_area(primitive.b.x))
        };
        emission * area
    };
    let mut shining: Vec<(Light, f64)> = (0u32..)
        .zip(primitives)
        .filter(|&(index, primitive)| {
            primitive.kind != INSTANCE && !of_meshes.contains(&(index as usize))
        })
        .map(|(index, primitive)| {
            let light = Light {
                index,
                kind: EMITTER,
                ..Light::default()
            };
            (light, power(primitive))
        })
        .filter(|&(_, power)| power > 0.0)
        .collect();
    // Makes the order independent of the BVH.
    shining.sort_by_key(|&(Light { index, .. }, _)| {
        let number = primitives[index as usize].number;
        let behind = twins.get(number as usize);
        let behind = behind.filter(|_| index as usize >= of_meshes.end);
        behind
            .map(|behind| (number, primitives[(index - behind) as usize].number))
            .map_or((false, number, 0), |(instance, triangle)| {
                (true, instance, triangle)
            })
    });
    shining
}
