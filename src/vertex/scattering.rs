//! The scattering of one path in a medium, before it reaches a surface: where it scatters, a shadow ray, and the next
//! ray. Twin: `kernels/shared/scattering.cuh`.
//!
//! Method: see [`medium`](crate::shading::medium), and as at surfaces multiple importance sampling of lights and phase
//! function, and Russian roulette. The medium is that of the innermost [body](crate::shading::bodies) of a path. On the
//! way to a surface, [`shade_path`](super::shading::shade_path) multiplies by the transmittance, and here the throughput
//! is divided by the probability of that way.

use glam::Vec3;

use super::{
    rays::clamp_indirect,
    shading::{Ended, Vertex, light_target, survives_roulette},
};
use crate::{
    device::render_scene::RenderScene,
    lights::light::{LIGHT_SAMPLES, sample_light, sample_weight},
    math::{dot, max_component},
    path::{Hit, NO_PRIMITIVE, Ray},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, PAIR_MEDIUM, pair, pair_bits},
    shading::{
        bodies::INNERMOST,
        material::transmitted,
        medium::{Medium, phase, sample_flight, sample_phase},
    },
};

/// Returns the medium that scatters light on the way to `hit`, or `None`. A path that hits nothing is in the fog or in
/// no medium.
#[inline]
pub fn medium_before<'a>(scene: &'a RenderScene, hit: &Hit, bodies: u32) -> Option<&'a Medium> {
    let innermost = bodies & INNERMOST;
    let missed = hit.primitive == NO_PRIMITIVE;
    if innermost == 0 || missed && innermost != scene.light_params.fog_body {
        return None;
    }
    let medium = scene.media.get(innermost as usize - 1)?;
    (medium.scatters == 1).then_some(medium)
}

/// Moves the ray's origin to the point where the path scatters before `hit`, and returns whether it does. Updates the
/// throughput.
#[inline]
pub fn fly(medium: &Medium, hit: &Hit, vertex: &mut Vertex) -> bool {
    let missed = hit.primitive == NO_PRIMITIVE;
    let end = if missed { f32::MAX } else { hit.distance };
    let (u, v) = pair(vertex.numbers, vertex.bounce, PAIR_MEDIUM);
    let flight = sample_flight(medium, vertex.throughput.rgb, end, u, v);
    vertex.throughput.rgb *= flight.weight;
    if flight.distance >= end {
        return false;
    }
    vertex.ray.origin += vertex.ray.direction * flight.distance;
    vertex.ray.from_primitive = NO_PRIMITIVE;
    true
}

/// Samples a point on a light, and stores the shadow ray in the vertex with the light that it carries, which the medium
/// has attenuated. Stores nothing if the sample cannot contribute.
#[inline]
pub fn connect_scattered(scene: &RenderScene, medium: &Medium, vertex: &mut Vertex) {
    let (choice, _) = pair_bits(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let (u, v) = pair_bits(vertex.numbers, vertex.bounce, PAIR_LIGHT);
    let origin = vertex.ray.origin;
    let sample = sample_light(&scene.lights(), origin, choice, u, v);
    if sample.distance <= 0.0 {
        return;
    }
    let (to, light_instance, radiance) = light_target(scene, origin, &sample);
    let value = phase(
        medium.anisotropy,
        dot(vertex.ray.direction, sample.direction),
    );
    let found = if sample.is_delta == 1 { 0.0 } else { value };
    let strategies = scene.light_params.strategies;
    let weight = sample_weight(strategies, LIGHT_SAMPLES, sample.pdf, found);
    // With boundaries, `shadow` attenuates the light.
    let passed = if scene.has_boundaries() {
        Vec3::ONE
    } else {
        transmitted(medium.extinction, sample.distance)
    };
    let light_here = vertex.throughput.rgb * radiance * passed * (value * weight / sample.pdf);
    if max_component(light_here) <= 0.0 {
        return;
    }
    vertex.shadow_ray.origin = origin;
    vertex.shadow_ray.distance = sample.distance;
    vertex.shadow_ray.direction = sample.direction;
    vertex.shadow_ray.from_primitive = NO_PRIMITIVE;
    vertex.shadow_ray.to_primitive = to;
    vertex.light_instance = light_instance;
    vertex.shadow_bodies = vertex.bodies;
    let scatterings = vertex.bounce + 1;
    vertex.shadow_ray.light = clamp_indirect(&scene.light_params, light_here, scatterings);
}

/// Scatters a path at the origin of its ray, see [`fly`]: writes the outputs of `vertex`. The path continues unless the
/// result says why it ended. `scatters` is `false` at the maximum number of bounces.
#[inline]
pub fn scatter_path(
    scene: &RenderScene,
    scatters: bool,
    medium: &Medium,
    vertex: &mut Vertex,
) -> Result<(), Ended> {
    if !scatters {
        return Err(Ended::LastBounce);
    }
    if max_component(vertex.throughput.rgb) <= 0.0 {
        vertex.throughput.rgb = Vec3::ZERO;
        return Err(Ended::Absorbed);
    }
    if scene.light_params.light_count > 0 {
        connect_scattered(scene, medium, vertex);
    }
    let (u, v) = pair(vertex.numbers, vertex.bounce, PAIR_BSDF);
    let direction = sample_phase(medium.anisotropy, vertex.ray.direction, u, v);
    vertex.ray = Ray {
        origin: vertex.ray.origin,
        pdf: phase(medium.anisotropy, dot(vertex.ray.direction, direction)),
        direction,
        from_primitive: NO_PRIMITIVE,
    };
    let (_, choice) = pair(vertex.numbers, vertex.bounce, PAIR_CHOICE);
    let start = scene.light_params.roulette_start;
    if survives_roulette(start, vertex.bounce, choice, &mut vertex.throughput) {
        Ok(())
    } else {
        Err(Ended::Roulette)
    }
}
