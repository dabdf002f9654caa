//! Ray queries of a path: the nearest hit, the light of the sky, and occlusion. Twin: `kernels/shared/rays.cuh`.
//!
//! The parameter `INSTANCED` of functions is `false` for scenes without instances, textures and extended materials.

use glam::Vec3;

use crate::{
    accel::{
        bvh,
        instance::{InstanceHit, NO_INSTANCE},
    },
    device::render_scene::RenderScene,
    lights::{
        environment::EnvironmentSample,
        light::{LightParams, Lights, sky_light, sky_light_with},
    },
    math::clamped,
    path::{Ray, ShadowRay},
    sampler::Sampler,
    shading::opacity::{
        PATH_RAY, SHADOW_RAY, nearest_alpha_tested, occluded_alpha_tested, opacity_hash,
    },
};

/// Clamps the contribution of light that has scattered `scatterings` times between light and camera. Only light that
/// scattered at least twice is clamped, to [`LightParams::max_indirect`].
#[inline(always)]
pub fn clamp_indirect(light_params: &LightParams, light: Vec3, scatterings: u32) -> Vec3 {
    if scatterings < 2 {
        light
    } else {
        clamped(light, light_params.max_indirect)
    }
}

/// Returns the nearest hit of a path's ray. `from` is the index of the instance that the ray leaves, or `NO_INSTANCE`.
///
/// Partly opaque surfaces are hit by chance, which depends on the random numbers of the path and on the bounce.
#[inline]
pub fn nearest_hit<const INSTANCED: bool>(
    scene: &RenderScene,
    ray: &Ray,
    from: u32,
    numbers: Sampler,
    bounce: u32,
) -> InstanceHit {
    if INSTANCED && let Some(opacity) = scene.stochastic_opacity() {
        let key = opacity_hash(numbers, bounce, PATH_RAY);
        return nearest_alpha_tested(&opacity.of_path_rays(bounce), ray, from, key);
    }
    if INSTANCED {
        return bvh::nearest_instanced(&scene.instanced_scene(), ray, from);
    }
    let extent = scene.light_params.extent;
    InstanceHit {
        hit: bvh::nearest(&scene.nodes, &scene.primitives, extent, ray),
        instance: NO_INSTANCE,
    }
}

/// Returns the radiance that a path gains from the sky when its ray leaves the scene, weighted and clamped. A camera
/// ray gains that of the background, if the scene has one.
///
/// `scattered` is `true` if the path has scattered off anything but smooth mirrors and glass. `bounce` is the number of
/// scattering events before.
#[inline]
pub fn escaped_light(
    lights: &Lights,
    ray: &Ray,
    throughput: Vec3,
    scattered: bool,
    bounce: u32,
) -> Vec3 {
    if bounce == 0 && lights.light_params.has_background == 1 {
        return throughput * lights.light_params.background;
    }
    let light = throughput * sky_light(lights, ray.direction, ray.pdf, scattered);
    clamp_indirect(&lights.light_params, light, bounce)
}

/// Returns the same as [`escaped_light`] for a path that does not see the background of the scene. `seen` is the value of
/// the environment map in the ray's direction.
#[inline(always)]
pub(crate) fn escaped_light_with(
    lights: &Lights,
    seen: EnvironmentSample,
    ray: &Ray,
    throughput: Vec3,
    scattered: bool,
    bounce: u32,
) -> Vec3 {
    let light = throughput * sky_light_with(lights, Some(seen), ray.direction, ray.pdf, scattered);
    clamp_indirect(&lights.light_params, light, bounce)
}

/// Returns whether a surface blocks a shadow ray. `from` is the index of the instance that the ray leaves, and `to`
/// that of the light's instance; both may be `NO_INSTANCE`.
///
/// Partly opaque surfaces block by chance, which depends on the random numbers of the path and on the bounce.
#[inline]
pub fn is_blocked<const INSTANCED: bool>(
    scene: &RenderScene,
    ray: &ShadowRay,
    from: u32,
    to: u32,
    numbers: Sampler,
    bounce: u32,
) -> bool {
    if INSTANCED && let Some(opacity) = scene.stochastic_opacity() {
        let key = opacity_hash(numbers, bounce, SHADOW_RAY);
        return occluded_alpha_tested(&opacity, ray, from, to, key);
    }
    if INSTANCED {
        return bvh::occluded_instanced(&scene.instanced_scene(), ray, from, to);
    }
    let extent = scene.light_params.extent;
    bvh::occluded(&scene.nodes, &scene.primitives, extent, ray)
}
