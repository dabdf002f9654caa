//! The part of the stage `shade` that shades most paths on the CPU: those that hit diffuse triangles and spheres without
//! emission, in scenes without instances, textures and extended materials.
//!
//! It shades up to 32 paths at once in loops over arrays, which the compiler vectorises. The loops call the functions
//! of [`shade_path`](crate::vertex::shading::shade_path) in the same order, so each path gets the same bits.

mod light_samples;

use glam::Vec3;

use super::{bodies_of, store_next_ray, store_shadow_ray};
use crate::{
    accel::{
        arrays::{F32Array, PATHS, U32Array, Vec3Array, indices_of, select_by_mask},
        instance::NO_INSTANCE,
        primitive::{Primitive, SPHERE, Surface, TRIANGLE, surface_at},
    },
    device::render_scene::RenderScene,
    lights::light::{LIGHT_SAMPLES, sample_weight},
    math::{INV_PI, clamped, dot, max_component, offset_point},
    path::{Hit, Ray, ShadowRay, Throughput},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, pair_bits, sampler, unit},
    shading::{
        bsdf::{BsdfValue, NO_VALUE},
        material::{DIFFUSE, sample_cosine},
    },
    stages::wave::CpuWave,
    vertex::shading::survives_roulette,
};

/// A group of paths that are shaded together, as arrays. Entries from `count` on hold stale values, which are computed
/// but never stored in the wave.
#[derive(Default)]
pub(super) struct Block {
    /// Number of paths in the block.
    count: usize,

    // The inputs of each path, from `try_add`.
    /// Index of the path's queue entry.
    queue_indices: [usize; PATHS],
    /// Index of the path in the wave.
    path_indices: [usize; PATHS],
    /// Whether the back of the surface is black.
    one_sided: [bool; PATHS],
    /// Row-major index of the path's pixel.
    pixels: U32Array,
    /// Sample number within the pixel.
    samples: U32Array,
    /// Key of the path's [`Sampler`], computed by `find_surfaces`.
    sampler_keys: U32Array,
    /// Direction of the ray that hit.
    ray_directions: Vec3Array,
    /// Throughput before the surface.
    throughputs: Vec3Array,
    /// `eta_scale` of the path's [`Throughput`].
    eta_scales: F32Array,
    /// First barycentric coordinate of the hit. `draw_random_numbers` replaces it by the first random number of the
    /// BSDF sample.
    u: F32Array,
    /// Second barycentric coordinate of the hit. `draw_random_numbers` replaces it by the second random number of the
    /// BSDF sample.
    v: F32Array,
    /// First vertex of the triangle, or center of the sphere.
    a: Vec3Array,
    /// Second vertex of the triangle. Its x is the radius of the sphere.
    b: Vec3Array,
    /// Third vertex of the triangle; unused for a sphere.
    c: Vec3Array,
    /// Bit mask of the entries whose path hit a sphere; the lowest bit is that of entry 0.
    spheres: u32,
    /// Origin of the ray that hit, for a sphere.
    hit_origins: Vec3Array,
    /// Distance of the hit along the ray in metres, for a sphere.
    hit_distances: F32Array,
    /// Albedo of the surface.
    albedos: Vec3Array,

    // The surface, from `find_surfaces`.
    /// Whether the side that was hit scatters light. The back of a one-sided surface does not.
    side_scatters: [bool; PATHS],
    /// Normal on the side that was hit.
    normals: Vec3Array,
    /// Position of the hit in world space, metres.
    points: Vec3Array,
    /// Bound of the rounding error of the position in metres.
    point_errors: F32Array,
    /// Origin of rays that leave on the side that was hit.
    ray_origins: Vec3Array,

    // The light sample, from `draw_random_numbers` and `sample_lights`.
    /// Random bits that choose the light.
    light_choices: U32Array,
    /// Random bits of the first coordinate on the light.
    light_u: U32Array,
    /// Random bits of the second coordinate on the light.
    light_v: U32Array,
    /// First vertex of the chosen light.
    light_a: Vec3Array,
    /// Second vertex of the chosen light.
    light_b: Vec3Array,
    /// Third vertex of the chosen light.
    light_c: Vec3Array,
    /// Radiance of the chosen light towards the surface.
    light_radiances: Vec3Array,
    /// Probability density, per area, of points on the chosen light.
    light_area_pdfs: F32Array,
    /// Direction from the surface to the sampled point.
    light_directions: Vec3Array,
    /// Distance to the sampled point in metres; 0 if the light does not illuminate the surface.
    light_distances: F32Array,
    /// Probability density of the sample per steradian; for a delta light, the probability of choosing it.
    light_pdfs: F32Array,
    /// Index of the light's primitive, or `NO_PRIMITIVE` if the light is not a surface.
    light_primitives: U32Array,
    /// 1 for a delta light, otherwise 0.
    is_delta_light: U32Array,

    // The shadow ray, from `weight_light_samples`.
    /// Origin of the shadow ray.
    shadow_origins: Vec3Array,
    /// Radiance that the path gains if nothing blocks the shadow ray.
    shadow_lights: Vec3Array,
    /// Whether the path has a shadow ray.
    casts_shadow_ray: [bool; PATHS],

    // The next ray, from `draw_random_numbers`, `scatter` and `play_roulette`.
    /// Random number in [0, 1) of Russian roulette.
    roulette_choices: F32Array,
    /// Direction of the next ray.
    next_directions: Vec3Array,
    /// Probability density of that direction per steradian.
    next_pdfs: F32Array,
    /// Throughput of the next ray.
    next_throughputs: Vec3Array,
    /// Whether the path continues.
    continues: [bool; PATHS],
}

impl Block {
    /// Returns whether the block has the maximum number of paths.
    pub(super) fn is_full(&self) -> bool {
        self.count == PATHS
    }

    /// Adds a path, given by the index of its queue entry and its own index, and returns `true`. Returns `false` if it
    /// did not hit a diffuse triangle or sphere without emission and absorption, or is inside a body; then the caller
    /// must shade it.
    ///
    /// The block must not be full.
    #[inline(always)]
    pub(super) fn try_add(
        &mut self,
        wave: &CpuWave,
        scene: &RenderScene,
        queue_index: usize,
        path: usize,
    ) -> bool {
        let hit = &wave.hits[path];
        let primitive = &scene.primitives[hit.primitive as usize];
        let material = &scene.materials[primitive.material as usize];
        let is_supported = (primitive.is_triangle() || primitive.is_sphere())
            && material.kind == DIFFUSE
            && material.emission == Vec3::ZERO
            && material.absorption == Vec3::ZERO
            && bodies_of(wave, path) == 0;
        if !is_supported {
            return false;
        }
        let at = self.count;
        self.count += 1;
        let (pixel, sample) = wave.pairs[path];
        self.queue_indices[at] = queue_index;
        self.path_indices[at] = path;
        self.one_sided[at] = material.one_sided == 1;
        self.pixels[at] = pixel;
        self.samples[at] = sample;
        self.ray_directions.set(at, wave.rays[path].direction);
        let throughput = wave.throughputs[path];
        self.throughputs.set(at, throughput.rgb);
        self.eta_scales[at] = throughput.eta_scale;
        self.u[at] = hit.u;
        self.v[at] = hit.v;
        self.a.set(at, primitive.a);
        self.b.set(at, primitive.b);
        self.c.set(at, primitive.c);
        self.albedos.set(at, material.color);
        if primitive.is_sphere() {
            self.spheres |= 1 << at;
            self.hit_origins.set(at, wave.rays[path].origin);
            self.hit_distances[at] = hit.distance;
        }
        true
    }

    /// Shades the paths of the block, stores the results in the wave, and empties the block.
    #[inline(always)]
    pub(super) fn shade(&mut self, wave: &mut CpuWave, scene: &RenderScene, bounce: u32) {
        self.find_surfaces(wave.span.seed);
        if self.spheres != 0 {
            self.find_spheres();
        }
        self.draw_random_numbers(bounce);
        if scene.light_params.light_count > 0 {
            // The clamping of `clamp_indirect`, for light that scatters `bounce` + 1 times.
            let max_light = match bounce {
                0 => f32::INFINITY,
                _ => scene.light_params.max_indirect,
            };
            self.sample_lights(&scene.lights());
            self.weight_light_samples(scene.light_params.strategies, max_light);
            self.store_shadow_rays(wave, bounce);
        }
        self.scatter();
        self.play_roulette(scene.light_params.roulette_start, bounce);
        self.add_zero_emission(wave);
        self.store_next_rays(wave);
        self.count = 0;
        self.spheres = 0;
    }

    /// Computes the keys of the samplers, and the surfaces that the rays hit as if all were triangles.
    #[inline(always)]
    fn find_surfaces(&mut self, seed: u32) {
        for at in 0..PATHS {
            self.sampler_keys[at] = sampler(seed, self.pixels[at], self.samples[at]).key;
        }
        for at in 0..PATHS {
            let primitive = Primitive {
                a: self.a.get(at),
                b: self.b.get(at),
                c: self.c.get(at),
                kind_bits: TRIANGLE,
                material: 0,
                number: 0,
            };
            let direction = self.ray_directions.get(at);
            let ray = Ray {
                origin: Vec3::ZERO,
                pdf: 0.0,
                direction,
                from_primitive: 0,
            };
            let hit = Hit {
                distance: 0.0,
                primitive: 0,
                u: self.u[at],
                v: self.v[at],
            };
            let surface = surface_at(&primitive, &ray, &hit);
            let (normal, scatters) = side_hit(&surface, direction, self.one_sided[at]);
            self.side_scatters[at] = scatters;
            self.normals.set(at, normal);
            self.point_errors[at] = surface.error;
            self.points.set(at, surface.point);
            self.ray_origins
                .set(at, offset_point(surface.point, normal, surface.error));
        }
    }

    /// Replaces the surfaces of the paths that hit spheres.
    #[inline(always)]
    fn find_spheres(&mut self) {
        for at in 0..PATHS {
            let primitive = Primitive {
                a: self.a.get(at),
                b: self.b.get(at),
                c: Vec3::ZERO,
                kind_bits: SPHERE,
                material: 0,
                number: 0,
            };
            let direction = self.ray_directions.get(at);
            let ray = Ray {
                origin: self.hit_origins.get(at),
                pdf: 0.0,
                direction,
                from_primitive: 0,
            };
            let hit = Hit {
                distance: self.hit_distances[at],
                primitive: 0,
                u: 0.0,
                v: 0.0,
            };
            let surface = surface_at(&primitive, &ray, &hit);
            let (normal, scatters) = side_hit(&surface, direction, self.one_sided[at]);
            let mask = ((self.spheres >> at) & 1).wrapping_neg();
            let is_sphere = mask != 0;
            self.side_scatters[at] = (is_sphere & scatters) | (!is_sphere & self.side_scatters[at]);
            self.normals.set_by_mask(at, mask, normal);
            self.point_errors[at] = select_by_mask(mask, surface.error, self.point_errors[at]);
            self.points.set_by_mask(at, mask, surface.point);
            let origin = offset_point(surface.point, normal, surface.error);
            self.ray_origins.set_by_mask(at, mask, origin);
        }
    }

    /// Computes the random numbers of the light samples, the BSDF samples and Russian roulette.
    #[inline(always)]
    fn draw_random_numbers(&mut self, bounce: u32) {
        for at in 0..PATHS {
            let numbers = Sampler {
                sample: self.samples[at],
                key: self.sampler_keys[at],
            };
            (self.light_u[at], self.light_v[at]) = pair_bits(numbers, bounce, PAIR_LIGHT);
        }
        for at in 0..PATHS {
            let numbers = Sampler {
                sample: self.samples[at],
                key: self.sampler_keys[at],
            };
            let (choice, roulette) = pair_bits(numbers, bounce, PAIR_CHOICE);
            self.light_choices[at] = choice;
            self.roulette_choices[at] = unit(roulette);
        }
        for at in 0..PATHS {
            let numbers = Sampler {
                sample: self.samples[at],
                key: self.sampler_keys[at],
            };
            (self.u[at], self.v[at]) = pair(numbers, bounce, PAIR_BSDF);
        }
    }

    /// Computes the shadow rays and the light that they carry, weighted against BSDF sampling and clamped to
    /// `max_light` per channel.
    #[inline(always)]
    fn weight_light_samples(&mut self, strategies: u32, max_light: f32) {
        for at in 0..PATHS {
            let (normal, direction) = (self.normals.get(at), self.light_directions.get(at));
            let cosine = dot(normal, direction);
            let (above, below) = (cosine > 0.0, cosine < 0.0);
            let side = if below { -1.0 } else { 1.0 };
            let origin = offset_point(self.points.get(at), normal * side, self.point_errors[at]);
            self.shadow_origins.set(at, origin);
            let value = if cosine <= 0.0 {
                NO_VALUE
            } else {
                let pdf = cosine * INV_PI;
                BsdfValue {
                    color: self.albedos.get(at),
                    scale: pdf,
                    pdf,
                }
            };
            let bsdf_pdf = if self.is_delta_light[at] == 1 {
                0.0
            } else {
                value.pdf
            };
            let weight = sample_weight(strategies, LIGHT_SAMPLES, self.light_pdfs[at], bsdf_pdf);
            let light = self.throughputs.get(at)
                * value.color
                * self.light_radiances.get(at)
                * (value.scale * weight / self.light_pdfs[at]);
            self.shadow_lights.set(at, clamped(light, max_light));
            let is_dark = max_component(light) <= 0.0;
            let connects = (above | below) & !is_dark & (self.light_distances[at] > 0.0);
            self.casts_shadow_ray[at] = connects & self.side_scatters[at];
        }
    }

    /// Samples the directions of the next rays, and computes their throughputs before Russian roulette.
    #[inline(always)]
    fn scatter(&mut self) {
        for at in 0..PATHS {
            let normal = self.normals.get(at);
            let (direction, cosine) = sample_cosine(normal, self.u[at], self.v[at]);
            let weight = if cosine > 0.0 {
                self.albedos.get(at)
            } else {
                Vec3::ZERO
            };
            let throughput = self.throughputs.get(at) * weight;
            let is_behind = dot(normal, direction) < 0.0;
            self.next_directions.set(at, direction);
            self.next_pdfs[at] = cosine * INV_PI;
            self.next_throughputs
                .set(at, if is_behind { Vec3::ZERO } else { throughput });
        }
    }

    /// Plays Russian roulette, which begins at scattering event `start`, scales the throughputs of the next rays and
    /// decides which paths continue.
    #[inline(always)]
    fn play_roulette(&mut self, start: u32, bounce: u32) {
        for at in 0..PATHS {
            let mut throughput = Throughput {
                rgb: self.next_throughputs.get(at),
                eta_scale: self.eta_scales[at],
            };
            let carries_light = max_component(throughput.rgb) > 0.0;
            let survives =
                survives_roulette(start, bounce, self.roulette_choices[at], &mut throughput);
            self.next_throughputs.set(at, throughput.rgb);
            self.continues[at] = carries_light & survives & self.side_scatters[at];
        }
    }

    /// Stores the shadow rays in the wave and counts them.
    #[inline(always)]
    fn store_shadow_rays(&self, wave: &mut CpuWave, bounce: u32) {
        let (indices, count) = indices_of(&self.casts_shadow_ray[..self.count]);
        for &at in &indices[..count] {
            let ray = ShadowRay {
                origin: self.shadow_origins.get(at),
                distance: self.light_distances[at],
                direction: self.light_directions.get(at),
                from_primitive: wave.hits[self.path_indices[at]].primitive,
                light: self.shadow_lights.get(at),
                to_primitive: self.light_primitives[at],
            };
            let entry = self.queue_indices[at];
            store_shadow_ray::<false>(wave, bounce, entry, ray, NO_INSTANCE);
        }
    }

    /// Adds an emission of 0 to the radiance of each path, as `shade` does for other surfaces. It turns −0 into 0, so
    /// that bits are equal.
    #[inline(always)]
    fn add_zero_emission(&self, wave: &mut CpuWave) {
        for &path in &self.path_indices[..self.count] {
            wave.radiances[path].rgb += Vec3::ZERO;
        }
    }

    /// Stores the next rays and throughputs of the paths that continue in the wave, and sets their flags.
    #[inline(always)]
    fn store_next_rays(&self, wave: &mut CpuWave) {
        let (indices, count) = indices_of(&self.continues[..self.count]);
        for &at in &indices[..count] {
            let path = self.path_indices[at];
            let ray = Ray {
                origin: self.ray_origins.get(at),
                pdf: self.next_pdfs[at],
                direction: self.next_directions.get(at),
                from_primitive: wave.hits[path].primitive,
            };
            let throughput = Throughput {
                rgb: self.next_throughputs.get(at),
                eta_scale: self.eta_scales[at],
            };
            store_next_ray(wave, self.queue_indices[at], path, ray, throughput);
        }
    }
}

/// Returns the normal on the side of a surface that a ray hit, and whether that side scatters light. `direction` is that
/// of the ray.
#[inline(always)]
fn side_hit(surface: &Surface, direction: Vec3, one_sided: bool) -> (Vec3, bool) {
    let front = -dot(direction, surface.normal) > 0.0;
    let normal = surface.normal * if front { 1.0 } else { -1.0 };
    (normal, front | !one_sided)
}
