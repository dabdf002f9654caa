//! Choosing points on what shines. Twin: `kernels/shared/light.cuh`.
//!
//! A light is chosen with a probability proportional to its power: of a primitive, luminance times area. Triangles are
//! sampled uniformly over their area, spheres over the cone under which they are seen (Shirley, Wang & Zimmerman 1996), the
//! sky's picture by its brightness. Power is flux over π: of a point 4 times its intensity, and what comes from infinitely
//! far goes through a disk of the scene's radius. Where there are many, those that are somewhere are chosen by a tree
//! instead, see [`light_tree`](crate::light_tree).

use std::ops::Range;

use compaction::shared;
use glam::Vec3;

use crate::{
    environment::{
        Environment, EnvironmentRow, EnvironmentTexel, environment_at, sample_environment,
    },
    light_tree::{LightNode, NO_LIGHT, WHOLE, light_of_number, width_of_light},
    material::{Material, power_heuristic},
    math::{
        PI, cross, dot, greater, lesser, luminance, normalize, offset_point, square_to_disk,
        to_world,
    },
    path::NO_PRIMITIVE,
    primitive::{INSTANCE, Primitive, TRIANGLE, point_error},
    sampler::unit,
};

/// `Light::kind`: the primitive `of`.
pub const EMITTER: u32 = 0;
/// `Light::kind`: the lamp `of`.
pub const LAMP: u32 = 1;
/// `Light::kind`: the sky's picture.
pub const ENVIRONMENT: u32 = 2;

/// `Lamp::kind`: shines from a point, by `radiance` as its intensity, W/sr.
pub const POINT: u32 = 0;
/// `Lamp::kind`: the same within a cone.
pub const SPOT: u32 = 1;
/// `Lamp::kind`: shines from infinitely far, by `radiance` as its irradiance, W/m².
pub const DISTANT: u32 = 2;
/// `Lamp::kind`: a disk that is infinitely far.
pub const SUN: u32 = 3;

/// What is seen from the camera with nothing but mirrors and glass between is at most so bright where it is infinitely far:
/// a sun fits onto no film.
pub const SEEN_AT_MOST: f32 = 16_384.0;

/// In `Surroundings::strategies`: points on lights.
pub const LIGHT_SAMPLES: u32 = 1;
/// In `Surroundings::strategies`: directions by the BSDF.
pub const BSDF_SAMPLES: u32 = 2;

shared! {
    /// Something that shines.
    #[repr(align(16))]
    pub struct Light {
        /// Position among the primitives, or the lamps.
        pub of: u32,
        /// `EMITTER`, `LAMP` or `ENVIRONMENT`.
        pub kind: u32,
        /// Probability that this light or one before it is chosen, of those that are in no tree.
        pub cumulative: f32,
        /// Of one that is in the tree, see `width_of_light`.
        pub trail: u32,
    }
}

shared! {
    /// A light that is no surface of the scene.
    #[repr(align(16))]
    pub struct Lamp {
        /// World space, metres, of those that are somewhere.
        pub position: Vec3,
        /// One of the kinds.
        pub kind: u32,
        /// Of length 1: the way that a spot shines; towards those that are infinitely far.
        pub direction: Vec3,
        /// Probability that it is chosen, unless it is in the tree.
        pub chance: f32,
        /// Linear sRGB: of a sun its radiance, of the others see the kinds.
        pub radiance: Vec3,
        /// Cosine of the angle from which on a spot grows dimmer; of a sun, 1 − the cosine of its radius.
        pub inner: f32,
        /// Cosine of the angle at which a spot ends.
        pub outer: f32,
        /// Unused.
        pub _pad0: u32,
        /// Unused.
        pub _pad1: u32,
        /// Unused.
        pub _pad2: u32,
    }
}

shared! {
    /// What all lights share, and what is behind everything.
    pub struct Surroundings {
        /// Radiance of the sky, linear sRGB.
        pub sky: Vec3,
        /// Lights to choose from.
        pub light_count: u32,
        /// 1 / the sum of all lights' luminance times area, 0 without lights.
        pub inverse_power: f32,
        /// The largest coordinate of the scene, metres.
        pub extent: f32,
        /// What light that was scattered more than once may add to a sample at most, in any channel; infinite where it is
        /// not clamped.
        pub most_indirect: f32,
        /// Which samples find light: `LIGHT_SAMPLES`, `BSDF_SAMPLES`, or the sum of both.
        pub strategies: u32,
        /// What is seen infinitely far away besides the even sky: its picture and suns.
        pub far_lights: u32,
        /// Lamps that are suns: the first ones.
        pub sun_count: u32,
        /// Lights that are in the tree: the first ones. 0 where there is none.
        pub tree_lights: u32,
        /// Numbers, of `WHOLE`, that choose the tree.
        pub tree_share: u32,
        /// Where the triangles of instances that shine stand among the primitives once more, each in its place in the world,
        /// with its instance as its number; `NO_PRIMITIVE` where none does.
        pub first_placed: u32,
        /// Where the instances' entries begin among the lights' places: what is added to the position of a mesh's triangle
        /// for that of its place in the world, or `NO_LIGHT` if the instance does not shine.
        pub placed_entries: u32,
    }
}

impl Surroundings {
    /// As light meets them that has been scattered so often: what was scattered once or never is not clamped.
    pub fn after(self, scatterings: u32) -> Surroundings {
        Surroundings {
            most_indirect: if scatterings < 2 {
                f32::INFINITY
            } else {
                self.most_indirect
            },
            ..self
        }
    }
}

/// All that shines, as the stages read it.
#[derive(Clone, Copy)]
pub struct Lights<'a> {
    /// What all lights share.
    pub surroundings: Surroundings,
    /// The scene's.
    pub primitives: &'a [Primitive],
    /// The scene's.
    pub materials: &'a [Material],
    /// What there is to choose from.
    pub table: &'a [Light],
    /// The tree over the first of them.
    pub nodes: &'a [LightNode],
    /// For each primitive its place in the table, or `NO_LIGHT`; empty without a tree.
    pub places: &'a [u32],
    /// Suns first.
    pub lamps: &'a [Lamp],
    /// The sky's picture.
    pub environment: Environment,
    /// The picture's rows.
    pub rows: &'a [EnvironmentRow],
    /// The picture's texels.
    pub texels: &'a [EnvironmentTexel],
}

/// A point on a light, seen from another point.
#[derive(Clone, Copy, Debug)]
pub struct LightSample {
    /// To the light, of length 1.
    pub direction: Vec3,
    /// To the light, metres; 0 if it does not shine there, the largest number if it is infinitely far.
    pub distance: f32,
    /// Density, per steradian; of a direction that is the only one, its probability.
    pub pdf: f32,
    /// What it sends, linear sRGB; of a direction that is the only one, the irradiance.
    pub radiance: Vec3,
    /// Position of the primitive that it is, or `NO_PRIMITIVE`.
    pub to: u32,
    /// 1 if it is the only direction, which no ray finds by chance.
    pub only: u32,
}

/// A light that does not shine on the point.
pub const DARK: LightSample = LightSample {
    direction: Vec3::ZERO,
    distance: 0.0,
    pdf: 0.0,
    radiance: Vec3::ZERO,
    to: NO_PRIMITIVE,
    only: 0,
};

/// Weight of a sample by `own` strategy, drawn with a density that is above 0, which the other strategy draws with density
/// `other`: the power heuristic, unless one of them is left out, whose samples count where the other finds nothing.
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

/// The light whose share of [0, 1) holds `u`.
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

/// 1 − cos θ of the cone under which a sphere is seen from `distance2`, the squared distance of its centre.
#[inline]
pub fn cone_height(radius: f32, distance2: f32) -> f32 {
    let sin2 = radius * radius / distance2;
    sin2 / (1.0 + (1.0 - sin2).sqrt())
}

/// Area of a sphere.
#[inline]
pub fn sphere_area(radius: f32) -> f32 {
    4.0 * PI * radius * radius
}

/// What a primitive has of all chances, per area, if `width` numbers of `WHOLE` choose it.
#[inline]
pub fn share_of_width(primitive: &Primitive, width: u32) -> f32 {
    let area = if primitive.kind == TRIANGLE {
        let normal = cross(primitive.b - primitive.a, primitive.c - primitive.a);
        0.5 * dot(normal, normal).sqrt()
    } else {
        sphere_area(primitive.b.x)
    };
    width as f32 * (1.0 / WHOLE as f32) / area
}

/// The same of any primitive, where a light is chosen for the point `origin`.
#[inline]
pub fn emitter_share(lights: &Lights, position: u32, origin: Vec3) -> f32 {
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
    let width = width_of_light(lights.nodes, origin, trail, surroundings.tree_share);
    share_of_width(primitive, width)
}

/// Density per steradian with which `sample_light` draws the point that a ray from `origin` hit. `share` is the
/// `emitter_share`; `cosine` is the one between the light's normal and the ray, positive at its front.
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
    share * sphere_area(radius) / (2.0 * PI * cone_height(radius, distance2))
}

/// A point on a light that is a triangle, as of `sample_light`. `share` is what the light has of all power, per area.
#[inline(always)]
pub fn sample_triangle(
    light: &Primitive,
    radiance: Vec3,
    share: f32,
    origin: Vec3,
    u: f32,
    v: f32,
) -> LightSample {
    // The square onto the triangle without a root, areas and neighbourhoods kept (Heitz 2019).
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
        return DARK;
    }
    LightSample {
        direction,
        distance,
        pdf: share * distance2 / cosine,
        radiance,
        ..DARK
    }
}

/// A point on a light that is a sphere, as of `sample_light`.
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
        return DARK;
    }
    let height = cone_height(radius, distance2);
    let (x, y) = square_to_disk(u, v);
    // A disk of uniform density, lifted onto the cone's cap: heights are uniform where squared radii are.
    let drop = (x * x + y * y) * height;
    let stretch = greater(0.0, height * (2.0 - drop)).sqrt();
    let cosine = 1.0 - drop;
    let sin2 = drop * (2.0 - drop);
    let away = distance2.sqrt();
    let depth = greater(0.0, radius * radius - distance2 * sin2).sqrt();
    let reach = away * cosine - depth;
    // From the centre to where that direction meets the sphere: no difference of distances, which would lose a small
    // radius.
    let local = Vec3::new(
        x * stretch * reach,
        y * stretch * reach,
        -(away * sin2 + depth * cosine),
    );
    let normal = normalize(to_world(to_center * (1.0 / away), local));
    let target = offset_point(light.a + normal * radius, normal, point_error(light)) - origin;
    let distance = dot(target, target).sqrt();
    let lit = distance > 0.0;
    if !lit {
        return DARK;
    }
    let pdf = share * sphere_area(radius) / (2.0 * PI * height);
    LightSample {
        direction: target * (1.0 / distance),
        distance,
        pdf,
        radiance,
        ..DARK
    }
}

/// A point on a primitive that shines, drawn for the point `origin`.
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

/// How much of its intensity a spot sends at an angle of this cosine to its axis: all within the inner cone, from there
/// the square of what falls linearly in the cosine (as glTF's `KHR_lights_punctual` recommends).
#[inline]
pub fn spot_falloff(lamp: &Lamp, cosine: f32) -> f32 {
    if cosine >= lamp.inner {
        return 1.0;
    }
    if cosine <= lamp.outer {
        return 0.0;
    }
    let part = (cosine - lamp.outer) / (lamp.inner - lamp.outer);
    part * part
}

/// The direction to a lamp, or one to a point of a sun. `chance` is the probability that it was chosen.
#[inline]
pub fn sample_lamp(lamp: &Lamp, chance: f32, origin: Vec3, u: f32, v: f32) -> LightSample {
    if lamp.kind == DISTANT {
        return LightSample {
            direction: lamp.direction,
            distance: f32::MAX,
            pdf: chance,
            radiance: lamp.radiance,
            to: NO_PRIMITIVE,
            only: 1,
        };
    }
    if lamp.kind == SUN {
        let (x, y) = square_to_disk(u, v);
        let drop = (x * x + y * y) * lamp.inner;
        let stretch = greater(0.0, lamp.inner * (2.0 - drop)).sqrt();
        let local = Vec3::new(x * stretch, y * stretch, 1.0 - drop);
        return LightSample {
            direction: normalize(to_world(lamp.direction, local)),
            distance: f32::MAX,
            pdf: chance / (2.0 * PI * lamp.inner),
            radiance: lamp.radiance,
            to: NO_PRIMITIVE,
            only: 0,
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
        return DARK;
    }
    LightSample {
        direction,
        distance,
        pdf: chance,
        radiance: lamp.radiance * (part / distance2),
        to: NO_PRIMITIVE,
        only: 1,
    }
}

/// The direction to a light, drawn for the point `origin` by 32 bits for which light and 64 for which point of it.
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
        let chosen = light_of_number(lights.nodes, origin, number, share);
        if chosen.light == NO_LIGHT {
            return DARK;
        }
        width = chosen.width;
        chosen.light
    } else if surroundings.tree_lights > 0 {
        let first = surroundings.tree_lights;
        let part =
            (number - surroundings.tree_share) as f32 / (WHOLE - surroundings.tree_share) as f32;
        let rest = &lights.table[first as usize..];
        first
            + choose_light(
                rest,
                surroundings.light_count - first,
                lesser(part, 0.999_999_94),
            )
    } else {
        choose_light(lights.table, surroundings.light_count, unit(choice))
    };
    let light = lights.table[chosen as usize];
    if light.kind == EMITTER {
        let primitive = &lights.primitives[light.of as usize];
        let radiance = lights.materials[primitive.material as usize].emission;
        let share = if by_tree {
            share_of_width(primitive, width)
        } else {
            luminance(radiance) * surroundings.inverse_power
        };
        let sample = sample_emitter(primitive, radiance, share, origin, u, v);
        return LightSample {
            to: light.of,
            ..sample
        };
    }
    if light.kind == LAMP {
        let lamp = &lights.lamps[light.of as usize];
        let chance = if by_tree {
            width as f32 * (1.0 / WHOLE as f32)
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
    // Rounding may have taken it into a texel that is never drawn.
    if seen.pdf == 0.0 {
        return DARK;
    }
    LightSample {
        direction,
        distance: f32::MAX,
        pdf: seen.pdf * lights.environment.chance,
        radiance: seen.radiance,
        to: NO_PRIMITIVE,
        only: 0,
    }
}

/// What of the radiance is seen: all, weighted against the light sample that could have found it; or, where nothing but
/// mirrors and glass lies between it and the camera, as much as the film takes.
#[inline]
pub fn seen_from(
    strategies: u32,
    radiance: Vec3,
    light_pdf: f32,
    ray_pdf: f32,
    scattered: bool,
) -> Vec3 {
    if !scattered {
        return Vec3::new(
            lesser(radiance.x, SEEN_AT_MOST),
            lesser(radiance.y, SEEN_AT_MOST),
            lesser(radiance.z, SEEN_AT_MOST),
        );
    }
    if ray_pdf == 0.0 {
        return radiance;
    }
    radiance * sample_weight(strategies, BSDF_SAMPLES, ray_pdf, light_pdf)
}

/// What comes from infinitely far along a ray that hits nothing. `ray_pdf` is the density with which its direction was
/// drawn, 0 if it is the only one possible; `scattered` says whether the path met more than mirrors and glass so far.
#[inline]
pub fn sky_light(lights: &Lights, direction: Vec3, ray_pdf: f32, scattered: bool) -> Vec3 {
    let strategies = lights.surroundings.strategies;
    let mut light = lights.surroundings.sky;
    if lights.environment.width > 0 {
        let seen = environment_at(&lights.environment, lights.rows, lights.texels, direction);
        let pdf = seen.pdf * lights.environment.chance;
        light += seen_from(strategies, seen.radiance, pdf, ray_pdf, scattered);
    }
    for sun in 0..lights.surroundings.sun_count {
        let lamp = &lights.lamps[sun as usize];
        let apart = cross(direction, lamp.direction);
        let sin2 = dot(apart, apart);
        let within = sin2 <= lamp.inner * (2.0 - lamp.inner);
        if within && dot(direction, lamp.direction) > 0.0 {
            let pdf = lamp.chance / (2.0 * PI * lamp.inner);
            light += seen_from(strategies, lamp.radiance, pdf, ray_pdf, scattered);
        }
    }
    light
}

/// Probabilities by power, each with those before it.
pub fn by_power(lights: &mut [(Light, f64)]) {
    let total: f64 = lights.iter().map(|&(_, power)| power).sum();
    let mut sum = 0.0;
    for (light, power) in lights {
        sum += *power;
        light.cumulative = (sum / total) as f32;
    }
}

/// The primitives that shine, with their power, but for those at these positions, which are of meshes. First those that stand
/// in the scene, in its order; then the triangles of its instances, instance by instance, in the order of their mesh.
/// `twins` has for each instance by how much its triangles stand behind those of its mesh.
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
        .filter(|&(of, primitive)| {
            primitive.kind != INSTANCE && !of_meshes.contains(&(of as usize))
        })
        .map(|(of, primitive)| {
            let light = Light {
                of,
                kind: EMITTER,
                ..Light::default()
            };
            (light, power(primitive))
        })
        .filter(|&(_, power)| power > 0.0)
        .collect();
    // So that the order of no tree matters.
    shining.sort_by_key(|&(Light { of, .. }, _)| {
        let number = primitives[of as usize].number;
        let behind = twins.get(number as usize);
        let behind = behind.filter(|_| of as usize >= of_meshes.end);
        behind
            .map(|behind| (number, primitives[(of - behind) as usize].number))
            .map_or((false, number, 0), |(instance, triangle)| {
                (true, instance, triangle)
            })
    });
    shining
}
