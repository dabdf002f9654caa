//! The way of light past boundaries of media without refraction: it passes them straight, and changes its medium. Twin:
//! `kernels/shared/boundaries.cuh`. It also passes surfaces inside bodies of higher priority, which are not there.
//!
//! A ray visits its hits one after the other, see [`nearest_beyond`], until it meets a surface. Between them it is in
//! the medium of its innermost [body](crate::shading::bodies). A ray is traced from one origin, and its last hit has
//! the distance from there, so that shading and multiple importance sampling do not notice boundaries.

use glam::Vec3;

use super::{rays::is_blocked, shading::Vertex};
use crate::{
    accel::instance::{InstanceHit, NO_INSTANCE, instance_material, normal_to_world},
    device::render_scene::RenderScene,
    math::{cross, dot, max_component},
    path::{NO_PRIMITIVE, Ray, ShadowRay},
    sampler::{PAIR_FLIGHT, PAIR_MEDIUM, Sampler, pair},
    shading::{
        bodies::{INNERMOST, MAX_BOUNDARIES, bodies_beyond, body_of, is_displaced, nested_beyond},
        material::{BOUNDARY, transmitted},
        medium::sample_flight,
        opacity::{PATH_RAY, SHADOW_RAY, light_passes_opacity, nearest_beyond, opacity_hash},
    },
};

/// Returns whether a ray meets the front of a surface at its hit.
#[inline]
pub fn meets_front(scene: &RenderScene, ray: &Ray, found: &InstanceHit) -> bool {
    let primitive = &scene.primitives[found.hit.primitive as usize];
    let mut normal = if primitive.is_sphere() {
        ray.origin + ray.direction * found.hit.distance - primitive.a
    } else {
        cross(primitive.b - primitive.a, primitive.c - primitive.a)
    };
    if found.instance != NO_INSTANCE {
        normal = normal_to_world(&scene.instances[found.instance as usize], normal);
    }
    dot(ray.direction, normal) < 0.0
}

/// Returns the index of the material at a hit.
#[inline]
pub fn material_met(scene: &RenderScene, found: &InstanceHit) -> u32 {
    let primitive = &scene.primitives[found.hit.primitive as usize];
    if found.instance == NO_INSTANCE {
        primitive.material
    } else {
        instance_material(&scene.instances[found.instance as usize], primitive)
    }
}

/// Returns whether a hit is with a boundary, which light that is inside these bodies passes straight.
#[inline]
pub fn is_boundary(scene: &RenderScene, found: &InstanceHit, bodies: u32) -> bool {
    if found.hit.primitive == NO_PRIMITIVE {
        return false;
    }
    let index = material_met(scene, found);
    let (materials, material) = (&scene.materials, &scene.materials[index as usize]);
    material.flags & BOUNDARY != 0
        || scene.has_priorities() && is_displaced(materials, bodies, body_of(index), material)
}

/// Returns the list of bodies behind a boundary that a ray has hit.
#[inline]
pub fn bodies_behind(scene: &RenderScene, ray: &Ray, found: &InstanceHit, bodies: u32) -> u32 {
    let index = material_met(scene, found);
    let material = &scene.materials[index as usize];
    let front = meets_front(scene, ray, found);
    let body = body_of(index);
    if scene.has_priorities() {
        nested_beyond(&scene.materials, bodies, body, material, front)
    } else {
        bodies_beyond(bodies, body, material, front)
    }
}

/// Samples the numbers of a flight through a medium, the one with this number among the flights along a ray.
#[inline]
pub fn flight_numbers(numbers: Sampler, bounce: u32, flight: u32) -> (f32, f32) {
    if flight == 0 {
        pair(numbers, bounce, PAIR_MEDIUM)
    } else {
        pair(
            numbers,
            bounce.wrapping_mul(MAX_BOUNDARIES).wrapping_add(flight),
            PAIR_FLIGHT,
        )
    }
}

/// Moves a path along its ray to where it scatters in a medium, or to its first hit that is no boundary.
///
/// `found` is the ray's nearest hit, and becomes that hit. Returns whether the path scatters; then its ray begins
/// there. Updates its throughput by the transmittance of all media on the way, and its bodies.
#[inline]
pub fn cross_boundaries(scene: &RenderScene, found: &mut InstanceHit, vertex: &mut Vertex) -> bool {
    let key = opacity_hash(vertex.numbers, vertex.bounce, PATH_RAY);
    let opacity = scene.opacity().of_path_rays(vertex.bounce);
    // The primitive that the ray leaves lies before its first hit.
    let ray = Ray {
        from_primitive: NO_PRIMITIVE,
        ..vertex.ray
    };
    let (mut begin, mut flights) = (0.0, 0);
    for _ in 0..MAX_BOUNDARIES {
        let missed = found.hit.primitive == NO_PRIMITIVE;
        let end = found.hit.distance;
        let innermost = vertex.bodies & INNERMOST;
        if innermost != 0 && !(missed && innermost != scene.light_params.fog_body) {
            let medium = &scene.media[innermost as usize - 1];
            if medium.scatters == 1 {
                let (u, v) = flight_numbers(vertex.numbers, vertex.bounce, flights);
                let flight = sample_flight(medium, vertex.throughput.rgb, end - begin, u, v);
                vertex.throughput.rgb *= flight.weight;
                if flight.distance < end - begin {
                    let distance = begin + flight.distance;
                    vertex.ray.origin += vertex.ray.direction * distance;
                    vertex.ray.from_primitive = NO_PRIMITIVE;
                    return true;
                }
                flights += 1;
            }
            vertex.throughput.rgb *= transmitted(medium.extinction, end - begin);
            if max_component(vertex.throughput.rgb) <= 0.0 {
                break;
            }
        }
        if !is_boundary(scene, found, vertex.bodies) {
            return false;
        }
        vertex.bodies = bodies_behind(scene, &ray, found, vertex.bodies);
        begin = end;
        let to = (NO_PRIMITIVE, NO_INSTANCE);
        *found = nearest_beyond(&opacity, &ray, NO_INSTANCE, key, found, f32::MAX, to);
    }
    vertex.throughput.rgb = Vec3::ZERO;
    *found = InstanceHit::none_within(f32::MAX);
    false
}

/// Returns the part of a shadow ray's light that arrives, per channel: 0 if a surface blocks it, otherwise the
/// transmittance of the media on its way.
///
/// `bodies` is the list of bodies at the origin of the ray. `from` and `to` are the indices of the instances that the
/// ray leaves and goes to, or `NO_INSTANCE`.
#[inline]
pub fn arriving_part(
    scene: &RenderScene,
    ray: &ShadowRay,
    from: u32,
    to: u32,
    bodies: u32,
    numbers: Sampler,
    bounce: u32,
) -> Vec3 {
    let key = opacity_hash(numbers, bounce, SHADOW_RAY);
    let opacity = scene.opacity();
    if !light_passes_opacity(&opacity, ray, to, key) {
        return Vec3::ZERO;
    }
    let along = Ray {
        origin: ray.origin,
        pdf: 0.0,
        direction: ray.direction,
        from_primitive: ray.from_primitive,
    };
    let target = (ray.to_primitive, to);
    let mut found = InstanceHit::none_within(0.0);
    let (mut part, mut begin, mut inside) = (Vec3::ONE, 0.0, bodies);
    for _ in 0..MAX_BOUNDARIES {
        found = nearest_beyond(&opacity, &along, from, key, &found, ray.distance, target);
        let arrives = found.hit.primitive == NO_PRIMITIVE || found.hit.distance >= ray.distance;
        if !arrives && !is_boundary(scene, &found, inside) {
            return Vec3::ZERO;
        }
        let end = if arrives {
            ray.distance
        } else {
            found.hit.distance
        };
        let innermost = inside & INNERMOST;
        // No medium extends to infinity, except fog, through which no light comes from there.
        if innermost != 0 && end < f32::MAX {
            let medium = &scene.media[innermost as usize - 1];
            part *= transmitted(medium.extinction, end - begin);
        }
        if arrives {
            return part;
        }
        if max_component(part) <= 0.0 {
            return Vec3::ZERO;
        }
        inside = bodies_behind(scene, &along, &found, inside);
        begin = end;
    }
    Vec3::ZERO
}

/// Returns the light of a vertex's shadow ray that arrives, or `None` if something blocks it. `from` is the index of
/// the instance that the ray leaves, or `NO_INSTANCE`. `INSTANCED` is `false` for plain scenes.
#[inline]
pub(crate) fn arriving_light<const INSTANCED: bool>(
    scene: &RenderScene,
    vertex: &Vertex,
    from: u32,
) -> Option<Vec3> {
    let (ray, to) = (&vertex.shadow_ray, vertex.light_instance);
    let (numbers, bounce) = (vertex.numbers, vertex.bounce);
    if INSTANCED && scene.has_boundaries() {
        let bodies = vertex.shadow_bodies;
        let part = arriving_part(scene, ray, from, to, bodies, numbers, bounce);
        return (part != Vec3::ZERO).then(|| ray.light * part);
    }
    let blocked = is_blocked::<INSTANCED>(scene, ray, from, to, numbers, bounce);
    (!blocked).then_some(ray.light)
}

/// Moves a ray past boundaries of media to its first hit that is none: replaces `found`, the nearest hit, by that one.
/// Returns the list of bodies there; `bodies` is that at the origin.
pub(crate) fn pass_boundaries(
    scene: &RenderScene,
    ray: &Ray,
    numbers: Sampler,
    bounce: u32,
    found: &mut InstanceHit,
    mut bodies: u32,
) -> u32 {
    let key = opacity_hash(numbers, bounce, PATH_RAY);
    let opacity = scene.opacity().of_path_rays(bounce);
    for _ in 0..MAX_BOUNDARIES {
        if !is_boundary(scene, found, bodies) {
            break;
        }
        bodies = bodies_behind(scene, ray, found, bodies);
        let to = (NO_PRIMITIVE, NO_INSTANCE);
        *found = nearest_beyond(&opacity, ray, NO_INSTANCE, key, found, f32::MAX, to);
    }
    bodies
}
