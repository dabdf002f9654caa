//! The alpha channel of a scene with a transparent background: the share of camera rays that hit something, and the
//! shadows on its ground.
//!
//! It is traced on the CPU whatever the backend, and depends only on the scene and its seed. So all parts of a render
//! have the same alpha.

use glam::Vec3;
use rayon::prelude::*;

use super::{SAMPLES, camera_hit};
use crate::{
    Error,
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::render_scene::RenderScene,
    lights::light::sample_light,
    math::square_to_disk,
    path::{NO_PRIMITIVE, Ray, ShadowRay, Span},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, pair_bits, sampler},
    scene::memory,
    vertex::{rays::is_blocked, shading::light_target},
};

/// Number of samples of a pixel at the outline of the scene.
const OUTLINE_SAMPLES: u32 = 256;
/// Number of samples of a pixel that shows only the ground. Other pixels have [`SAMPLES`].
const GROUND_SAMPLES: u32 = 64;

/// Returns the alpha of each pixel, row by row from the top: the share of its first 256 camera rays that hit something.
/// Rays that hit the ground count by the share of its light that is blocked. `span` covers the image.
///
/// A pixel gets 0 or 1 after [`SAMPLES`] rays if these and those of its eight neighbours agree, and none hits the
/// ground. A pixel of the ground alone gets 64 rays.
///
/// # Errors
/// [`Error::Memory`] if the memory cannot be allocated.
pub(super) fn alpha(
    render_scene: &RenderScene,
    camera: &Camera,
    span: &Span,
    ground: Option<f32>,
) -> Result<Vec<f32>, Error> {
    let (width, pixel_count) = (span.width, span.pixel_count);
    let height = pixel_count / width;
    let out_of_memory = Error::memory((width, height));
    let counts = |pixel: u32, sample_count: u32| {
        let mut counts = Counts::default();
        for sample in 0..sample_count {
            let (ray, found) = camera_hit(render_scene, camera, span, pixel, sample);
            if found.hit.primitive != NO_PRIMITIVE {
                counts.hits += 1;
            } else if let Some(point) = ground.and_then(|ground| ground_point(&ray, ground)) {
                counts.on_ground += 1;
                if sample_count > SAMPLES {
                    let numbers = sampler(span.seed, pixel, sample);
                    counts.add_light(render_scene, point, numbers);
                }
            }
        }
        counts
    };
    let mut first: Vec<u8> = Vec::new();
    memory::reserve(&mut first, pixel_count as usize).map_err(&out_of_memory)?;
    let pixels = (0..pixel_count).into_par_iter();
    pixels
        .map(|pixel| {
            let counts = counts(pixel, SAMPLES);
            let sees_ground = u8::from(counts.on_ground > 0);
            counts.hits as u8 | (sees_ground * SEES_GROUND)
        })
        .collect_into_vec(&mut first);
    let refined = |pixel: u32| {
        let own = first[pixel as usize];
        let (x, y) = (pixel % width, pixel / width);
        let rows = y.saturating_sub(1)..=(y + 1).min(height - 1);
        let mut neighbours = rows.flat_map(|y| {
            let columns = x.saturating_sub(1)..=(x + 1).min(width - 1);
            columns.map(move |x| y * width + x)
        });
        let is_even = neighbours.all(|pixel| first[pixel as usize] == own);
        let own_hits = u32::from(own & !SEES_GROUND);
        let sample_count = if is_even && (own_hits == 0 || own_hits == SAMPLES) {
            if own & SEES_GROUND == 0 {
                return f32::from(u8::from(own_hits > 0));
            }
            GROUND_SAMPLES
        } else {
            OUTLINE_SAMPLES
        };
        let counts = counts(pixel, sample_count);
        let covered = counts.hits as f32 + counts.on_ground as f32 * counts.blocked_share();
        covered / sample_count as f32
    };
    let mut alpha = Vec::new();
    memory::reserve(&mut alpha, pixel_count as usize).map_err(&out_of_memory)?;
    let pixels = (0..pixel_count).into_par_iter().map(refined);
    pixels.collect_into_vec(&mut alpha);
    Ok(alpha)
}

/// Bit that marks pixels of which a ray hits the ground. The other bits are the number of hits, up to [`SAMPLES`].
const SEES_GROUND: u8 = 0x80;

/// The camera rays of a pixel, counted by what they hit.
#[derive(Default)]
struct Counts {
    /// Number of the pixel's camera rays that hit a surface of the scene.
    hits: u32,
    /// Number of the pixel's camera rays that hit nothing but the ground.
    on_ground: u32,
    /// Irradiance of the ground without blockers, in the red, green and blue channel together, summed over the samples.
    unblocked: f64,
    /// The part of `unblocked` that something blocks.
    blocked: f64,
}

impl Counts {
    /// Returns the share of the light of the ground that is blocked, from 0 to 1.
    fn blocked_share(&self) -> f32 {
        if self.unblocked > 0.0 {
            (self.blocked / self.unblocked) as f32
        } else {
            0.0
        }
    }

    /// Samples the direct light at a point of the ground, from a light and from the constant sky, and adds it to the
    /// irradiance. `numbers` are the random numbers of the camera ray's sample.
    fn add_light(&mut self, scene: &RenderScene, point: Vec3, numbers: Sampler) {
        let lights = scene.lights();
        if lights.light_params.light_count > 0 {
            let (choice, _) = pair_bits(numbers, 0, PAIR_CHOICE);
            let (u, v) = pair_bits(numbers, 0, PAIR_LIGHT);
            let sample = sample_light(&lights, point, choice, u, v);
            if sample.distance > 0.0 && sample.direction.y > 0.0 {
                let (to, instance, radiance) = light_target(scene, point, &sample);
                let irradiance = radiance * (sample.direction.y / sample.pdf);
                let ray = ShadowRay {
                    distance: sample.distance,
                    to_primitive: to,
                    ..shadow_ray(point, sample.direction)
                };
                self.add(scene, &ray, instance, numbers, irradiance);
            }
        }
        let sky = lights.light_params.sky;
        if sky != Vec3::ZERO {
            // The density of the direction is proportional to its cosine.
            let (u, v) = pair(numbers, 0, PAIR_BSDF);
            let (x, z) = square_to_disk(u, v);
            let up = (1.0 - x * x - z * z).max(0.0).sqrt();
            let ray = shadow_ray(point, Vec3::new(x, up, z));
            self.add(
                scene,
                &ray,
                NO_INSTANCE,
                numbers,
                sky * std::f32::consts::PI,
            );
        }
    }

    /// Adds the irradiance of a shadow ray, which goes to the light's instance or `NO_INSTANCE`.
    fn add(
        &mut self,
        scene: &RenderScene,
        ray: &ShadowRay,
        instance: u32,
        numbers: Sampler,
        irradiance: Vec3,
    ) {
        let irradiance = f64::from(irradiance.element_sum());
        if !irradiance.is_finite() {
            return;
        }
        self.unblocked += irradiance;
        if is_blocked::<true>(scene, ray, NO_INSTANCE, instance, numbers, 0) {
            self.blocked += irradiance;
        }
    }
}

/// Returns a shadow ray from a point of the ground to a light at infinity in `direction`, of length 1.
fn shadow_ray(origin: Vec3, direction: Vec3) -> ShadowRay {
    ShadowRay {
        origin,
        distance: f32::MAX,
        direction,
        from_primitive: NO_PRIMITIVE,
        light: Vec3::ZERO,
        to_primitive: NO_PRIMITIVE,
    }
}

/// Returns the point at which a ray from above hits the horizontal plane at the height `ground`; `None` if it does not.
fn ground_point(ray: &Ray, ground: f32) -> Option<Vec3> {
    let distance = (ground - ray.origin.y) / ray.direction.y;
    if ray.direction.y < 0.0 && distance > 0.0 && distance.is_finite() {
        let point = ray.origin + ray.direction * distance;
        return Some(Vec3::new(point.x, ground, point.z));
    }
    None
}
