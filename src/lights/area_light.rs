//! Area lights: sampling a point on an emissive triangle or sphere, and the pdf of doing so. Twin:
//! `kernels/shared/area_light.cuh`.
//!
//! Triangles are sampled uniformly by area, spheres uniformly in the cone that they subtend (Shirley, Wang & Zimmerman
//! 1996).

use glam::Vec3;

use crate::{
    accel::primitive::{Primitive, point_error},
    lights::{
        light_sample::{LightSample, NO_SAMPLE},
        light_tree::PROBABILITY_UNITS,
    },
    math::{PI, cross, dot, local_to_world, max_f32, normalize, offset_point, square_to_disk},
};

/// Returns 1 − cos θ of the cone that a sphere subtends. `distance2` is the squared distance to its center, outside it.
#[inline(always)]
pub fn one_minus_cos_max(radius: f32, distance2: f32) -> f32 {
    let sin2 = radius * radius / distance2;
    sin2 / (1.0 + (1.0 - sin2).sqrt())
}

/// Returns the surface area of a sphere.
#[inline(always)]
pub fn sphere_area(radius: f32) -> f32 {
    4.0 * PI * radius * radius
}

/// Returns the pdf per area with which a primitive is sampled if `width` of [`PROBABILITY_UNITS`] random numbers choose
/// it.
#[inline(always)]
pub fn area_pdf_of_width(primitive: &Primitive, width: u32) -> f32 {
    let area = if primitive.is_triangle() {
        let normal = cross(primitive.b - primitive.a, primitive.c - primitive.a);
        0.5 * dot(normal, normal).sqrt()
    } else {
        sphere_area(primitive.b.x)
    };
    width as f32 * (1.0 / PROBABILITY_UNITS as f32) / area
}

/// Returns the pdf per steradian with which [`sample_light`](crate::lights::light::sample_light) samples the point that
/// a ray from `origin` hit.
///
/// `share` is the pdf per area from [`emitter_area_pdf`](crate::lights::light::emitter_area_pdf). `cosine` is that
/// between the light's front normal and the direction back along the ray, above 0. Returns 0 inside an emissive sphere.
#[inline]
pub fn light_pdf(
    primitive: &Primitive,
    share: f32,
    origin: Vec3,
    distance: f32,
    cosine: f32,
) -> f32 {
    if primitive.is_triangle() {
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
/// pdf per area. Returns [`NO_SAMPLE`] if `origin` is inside the sphere or behind the sampled point.
#[inline(always)]
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
    // From the center to where that direction meets the sphere. Subtracting distances would lose a small radius.
    let local = Vec3::new(
        x * stretch * reach,
        y * stretch * reach,
        -(away * sin2 + depth * cosine),
    );
    let normal = normalize(local_to_world(to_center * (1.0 / away), local));
    let target = offset_point(light.a + normal * radius, normal, point_error(light)) - origin;
    let distance = dot(target, target).sqrt();
    // The offsets of both points can lift the target above the horizon of a point on the same sphere.
    let lit = dot(target, normal) < 0.0;
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
    if primitive.is_triangle() {
        sample_triangle(primitive, radiance, share, origin, u, v)
    } else {
        sample_sphere(primitive, radiance, share, origin, u, v)
    }
}
