//! Finds out why a picture is black although its camera sees objects.

use std::f32::consts::TAU;

use glam::Vec3;
use rayon::prelude::*;

use super::has_material;
use crate::{
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::render_scene::RenderScene,
    film::SCALE,
    math::{dot, max_component, max_f32},
    path::{NO_PRIMITIVE, Ray, Span},
    sampler::sampler,
    scene::{Environment, Light, Scene},
    stages::{trace_path, wave::counts},
    vertex::rays::nearest_hit,
};

/// Numbers of rows and columns of the paths that look for light: few at first, and many if those find none.
const GRIDS: [u32; 3] = [8, 32, 128];
/// Limit for the scatterings of those paths, because a closed room of white walls would take long.
const MAX_BOUNCES: u32 = 128;
/// Number of directions in which surfaces are looked for around the camera.
const DIRECTIONS: u32 = 1024;
/// Radiance below which a picture without exposure shows black: half a step of 8 bits in sRGB.
const BLACK: f32 = 0.5 / 255.0 / 12.92;
/// Radiance of one unit of the film: the sum of a pixel's samples is stored with an error of a few units.
const COARSE: f32 = 1.0 / SCALE;
/// Radiance that is bright enough for a proposed exposure, or a proposed factor for the lights.
const BRIGHT: f32 = 0.5;

/// The light of paths through a picture.
#[derive(Clone, Copy, Default)]
struct Found {
    /// Number of paths.
    paths: u32,
    /// Largest channel of a path's radiance.
    brightest: f32,
    /// Whether a path went on from the first surface that it hit.
    scattered: bool,
}

impl Found {
    fn and(self, other: Found) -> Found {
        Found {
            paths: self.paths + other.paths,
            brightest: max_f32(self.brightest, other.brightest),
            scattered: self.scattered || other.scattered,
        }
    }
}

/// Returns one line with the likely cause if the picture is black at its exposure; `None` if a path over the picture finds
/// light that is not. The camera must see an object.
pub(super) fn note(scene: &Scene, render_scene: &RenderScene, camera: &Camera) -> Option<String> {
    let gain = libm::exp2f(scene.exposure_stops);
    let visible = max_f32(BLACK / gain, COARSE);
    let mut found = Found::default();
    for side in GRIDS {
        found = found.and(paths(scene, render_scene, camera, side));
        if found.brightest >= visible || !found.brightest.is_finite() {
            return None;
        }
    }
    let Found {
        paths,
        brightest,
        scattered,
    } = found;
    let cause = if !shines(scene) {
        "nothing in the scene emits light; give it a light, or light it by `--env`".to_owned()
    } else if brightest > 0.0 && brightest < COARSE {
        let factor = (BRIGHT / brightest).log10().ceil();
        format!(
            "its light is too dim for the film: the largest radiance of {paths} paths is {brightest:.1e}, and the film stores multiples of {:.1e}; \
             make the lights 1e{factor} times as bright",
            COARSE
        )
    } else if brightest > 0.0 {
        let stops = (BRIGHT / (brightest * gain)).log2().ceil();
        format!(
            "its light is dim: the largest radiance of {paths} paths is {brightest:.1e}; raise the exposure by {stops} stops, or make the lights brighter"
        )
    } else if scene.max_bounces == 0 {
        "with `max_bounces` 0, it shows only surfaces that emit light, and none is in view; raise it"
            .to_owned()
    } else if !scattered {
        "the surfaces in view absorb all light, because they are black, or emit light only from their other side".to_owned()
    } else if let Some(surroundings) = surroundings(scene, render_scene, camera) {
        surroundings
    } else {
        format!(
            "none of {paths} paths from the camera finds a light: the lights are hidden, or point away from what is in view"
        )
    };
    Some(format!("the picture is black: {cause}"))
}

/// Traces a path from each point of a grid of `side` × `side` points over the picture.
fn paths(scene: &Scene, render_scene: &RenderScene, camera: &Camera, side: u32) -> Found {
    // The camera shows the same part of the scene with pixels of another size.
    let camera = Camera {
        width: side as f32,
        height: side as f32,
        ..*camera
    };
    let span = Span {
        width: side,
        seed: scene.seed,
        ..Span::default()
    };
    let max_bounces = scene.max_bounces.min(MAX_BOUNCES);
    let trace = |pixel: u32| {
        let mut scattered = false;
        let count = |at| scattered |= at == counts::survivors(0);
        // No render has this sample.
        let pair = (pixel, u32::MAX);
        let radiance = match render_scene.is_plain() {
            true => trace_path::<false>(render_scene, &camera, max_bounces, &span, pair, count),
            false => trace_path::<true>(render_scene, &camera, max_bounces, &span, pair, count),
        };
        let brightest = match radiance.is_finite() {
            true => max_component(radiance),
            false => f32::INFINITY,
        };
        Found {
            paths: 1,
            brightest,
            scattered,
        }
    };
    let all = (0..side * side).into_par_iter().map(trace);
    all.reduce(Found::default, Found::and)
}

/// Returns whether a light, the sky, or the material of an object emits light.
fn shines(scene: &Scene) -> bool {
    let emits = |material: u32| scene.materials[material as usize].radiance() != Vec3::ZERO;
    let shines = |light: &Light| match light {
        Light::Point { intensity, .. } | Light::Spot { intensity, .. } => *intensity != Vec3::ZERO,
        Light::Directional { irradiance, .. } => *irradiance != Vec3::ZERO,
        Light::Environment(Environment {
            radiances, scale, ..
        }) => *scale > 0.0 && radiances.iter().any(|texel| *texel != Vec3::ZERO),
    };
    scene.sky != Vec3::ZERO || scene.lights.iter().any(shines) || has_material(scene, emits)
}

/// Returns the phrase that the camera is in a closed space, and of which material, if rays from it in all directions hit
/// something.
fn surroundings(scene: &Scene, render_scene: &RenderScene, camera: &Camera) -> Option<String> {
    let found: Option<Vec<(bool, u32, f32)>> = (0..DIRECTIONS)
        .into_par_iter()
        .map(|number| {
            // A Fibonacci lattice: even in height, and each turned by the golden angle from the one before.
            let height = 1.0 - (2 * number + 1) as f32 / DIRECTIONS as f32;
            let radius = (1.0 - height * height).sqrt();
            let (sin, cos) = libm::sincosf(number as f32 * (0.381_966_02 * TAU));
            let ray = Ray {
                origin: camera.origin,
                pdf: 0.0,
                direction: Vec3::new(radius * cos, height, radius * sin),
                from_primitive: NO_PRIMITIVE,
            };
            let numbers = sampler(scene.seed, number, u32::MAX);
            let found = match render_scene.is_plain() {
                true => nearest_hit::<false>(render_scene, &ray, NO_INSTANCE, numbers, 0),
                false => nearest_hit::<true>(render_scene, &ray, NO_INSTANCE, numbers, 0),
            };
            let hit = found.hit;
            (hit.primitive != NO_PRIMITIVE).then(|| {
                let surface = render_scene.surface_and_material(&ray, &hit, found.instance);
                let is_back = dot(ray.direction, surface.0.normal) > 0.0;
                (is_back, surface.0.material, hit.distance)
            })
        })
        .collect();
    let mut found = found?;
    let backs = found.iter().filter(|(is_back, ..)| *is_back).count();
    found.sort_by(|(.., one), (.., other)| one.total_cmp(other));
    let (.., farthest) = found[found.len() - 1];
    let (_, nearest, _) = found[0];
    Some(if backs > found.len() / 2 {
        let name = &scene.material_names[nearest as usize];
        let name = match name.as_str() {
            "" => String::new(),
            name => format!(" of the material `{name}`"),
        };
        format!(
            "the camera is inside a closed body{name}, where no path finds light; move the camera out of it"
        )
    } else {
        format!(
            "the camera is in a closed space, with walls up to {farthest} m away, where no path finds light; put a light there, or move the camera out"
        )
    })
}
