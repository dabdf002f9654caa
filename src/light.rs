//! Choosing points on what shines. Twin: `kernels/shared/light.cuh`.
//!
//! A primitive is chosen with a probability proportional to its power: luminance times area. Triangles are sampled
//! uniformly over their area, spheres over the cone under which they are seen (Shirley, Wang & Zimmerman 1996).

use compaction::shared;
use glam::Vec3;

use crate::{
    material::{Material, power_heuristic},
    math::{PI, cross, dot, greater, luminance, normalize, offset_point, square_to_disk, to_world},
    primitive::{INSTANCE, Primitive, TRIANGLE, point_error},
};

/// In `Surroundings::strategies`: points on lights.
pub const LIGHT_SAMPLES: u32 = 1;
/// In `Surroundings::strategies`: directions by the BSDF.
pub const BSDF_SAMPLES: u32 = 2;

shared! {
    /// A primitive that shines.
    pub struct Light {
        /// Position among the primitives.
        pub primitive: u32,
        /// Probability that this light or one before it is chosen.
        pub cumulative: f32,
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

/// A point on a light, seen from another point.
#[derive(Clone, Copy, Debug)]
pub struct LightSample {
    /// To the light, of length 1.
    pub direction: Vec3,
    /// To the light, metres; 0 if it does not shine there.
    pub distance: f32,
    /// Density, per steradian.
    pub pdf: f32,
    /// What it sends, linear sRGB.
    pub radiance: Vec3,
}

/// A light that does not shine on the point.
pub const DARK: LightSample = LightSample {
    direction: Vec3::ZERO,
    distance: 0.0,
    pdf: 0.0,
    radiance: Vec3::ZERO,
};

/// Weight of a sample by `own` strategy, drawn with a density that is above 0, which the other strategy draws with density
/// `other`: the power heuristic, unless one of them is left out, whose samples count where the other finds nothing.
#[inline]
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

/// Density per steradian with which `sample_light` draws the point that a ray from `origin` hit.
/// `cosine` is the one between the light's normal and the ray, positive at its front.
#[inline]
pub fn light_pdf(
    primitive: &Primitive,
    material: &Material,
    surroundings: &Surroundings,
    origin: Vec3,
    distance: f32,
    cosine: f32,
) -> f32 {
    let share = luminance(material.emission) * surroundings.inverse_power;
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
#[inline]
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
    }
}

/// A point on the light, drawn for the point `origin`.
#[inline]
pub fn sample_light(
    primitive: &Primitive,
    material: &Material,
    surroundings: &Surroundings,
    origin: Vec3,
    u: f32,
    v: f32,
) -> LightSample {
    let share = luminance(material.emission) * surroundings.inverse_power;
    if primitive.kind == TRIANGLE {
        sample_triangle(primitive, material.emission, share, origin, u, v)
    } else {
        sample_sphere(primitive, material.emission, share, origin, u, v)
    }
}

/// The lights among the primitives, and their joint inverse power.
pub fn gather_lights(primitives: &[Primitive], materials: &[Material]) -> (Vec<Light>, f32) {
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
    // In the scene's order, so that the tree's does not matter.
    let mut shining: Vec<(u32, f64)> = (0u32..)
        .zip(primitives)
        .filter(|(_, primitive)| primitive.kind != INSTANCE)
        .map(|(position, primitive)| (position, power(primitive)))
        .filter(|&(_, power)| power > 0.0)
        .collect();
    shining.sort_by_key(|&(position, _)| primitives[position as usize].number);
    let total: f64 = shining.iter().map(|&(_, power)| power).sum();
    let mut sum = 0.0;
    let lights = shining
        .iter()
        .map(|&(primitive, power)| {
            sum += power;
            Light {
                primitive,
                cumulative: (sum / total) as f32,
            }
        })
        .collect();
    (
        lights,
        if total > 0.0 {
            (1.0 / total) as f32
        } else {
            0.0
        },
    )
}
