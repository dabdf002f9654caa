//! The power of lights, and the probabilities of choosing them in proportion to it.
//!
//! Power is flux over π: radiance (as luminance) times area for a primitive. Only the host computes it, in `f64`.

use std::ops::Range;

use crate::{
    accel::primitive::Primitive,
    lights::{
        area_light::sphere_area,
        light::{EMITTER, Light},
    },
    math::luminance,
    shading::material::Material,
};

/// Sets `cumulative` of each light so that lights are chosen in proportion to their power, the second of each pair. The
/// total power must be above 0 unless the list is empty.
pub fn by_power(lights: &mut [(Light, f64)]) {
    let total: f64 = lights.iter().map(|&(_, power)| power).sum();
    let mut sum = 0.0;
    for (light, power) in lights {
        sum += *power;
        light.cumulative = (sum / total) as f32;
    }
}

/// Returns the emissive primitives with their power (flux over π, as luminance). Primitives at `of_meshes` are skipped,
/// because meshes emit only through instances.
///
/// The order does not depend on the BVH: first primitives of the scene by number, then the triangles of instances, by
/// instance and by number within the mesh. `copy_offsets` holds for each instance the offset from the index of a mesh
/// triangle to that of its world-space copy.
pub fn gather_lights(
    primitives: &[Primitive],
    of_meshes: Range<usize>,
    copy_offsets: &[u32],
    materials: &[Material],
) -> Vec<(Light, f64)> {
    let power = |primitive: &Primitive| {
        let emission = f64::from(luminance(materials[primitive.material as usize].emission));
        let area = if primitive.is_triangle() {
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
    let mut emissive: Vec<(Light, f64)> = (0u32..)
        .zip(primitives)
        .filter(|&(index, primitive)| {
            !primitive.is_instance() && !of_meshes.contains(&(index as usize))
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
    emissive.sort_by_key(|&(Light { index, .. }, _)| {
        let number = primitives[index as usize].number;
        let offset = copy_offsets.get(number as usize);
        let offset = offset.filter(|_| index as usize >= of_meshes.end);
        offset
            .map(|offset| (number, primitives[(index - offset) as usize].number))
            .map_or((false, number, 0), |(instance, triangle)| {
                (true, instance, triangle)
            })
    });
    emissive
}
