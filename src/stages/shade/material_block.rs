//! The part of the stage `shade` that shades most paths on the CPU in scenes with instances, textures or extended
//! materials: paths that hit triangles of diffuse materials, or of layered materials without glass and a clear coat.
//!
//! It shades up to 32 paths of one material at once. Each step is a loop over the paths. Steps that compute are loops
//! over arrays, which the compiler vectorises; steps that read scattered memory do nothing else, so that the reads of
//! different paths overlap. The loops call the functions of [`shade_path`](crate::vertex::shading::shade_path) in the
//! same order, so each path gets the same bits.

mod boundary_energies;
#[expect(
    clippy::needless_range_loop,
    reason = "all arrays are walked side by side, as the lanes of vectors"
)]
mod light_samples;
mod resolved_materials;
#[expect(
    clippy::needless_range_loop,
    reason = "all arrays are walked side by side, as the lanes of vectors"
)]
mod scattering;
mod surfaces;

use boundary_energies::BoundaryEnergies;
use light_samples::LightSamples;
use resolved_materials::ResolvedMaterials;
use scattering::Lobes;
use surfaces::Surfaces;

use glam::Vec3;

use super::{bodies_of, material_queues::MaterialQueue, store_next_ray, store_shadow_ray};
use crate::{
    accel::{
        arrays::{F32Array, PATHS, U32Array, Vec3Array, indices_of},
        instance::{NO_INSTANCE, instance_material},
        vectors::vectorized,
    },
    device::render_scene::RenderScene,
    math::{dot, max_component},
    path::{NO_PRIMITIVE, Ray, ShadowRay, Throughput},
    sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_LIGHT, Sampler, pair, pair_bits, sampler, unit},
    shading::material::{DIFFUSE, LAYERED, MIRRORED_RELIEF, Material},
    stages::wave::CpuWave,
    vertex::shading::{Vertex, emitted_light, survives_roulette},
};

/// Returns whether a [`MaterialBlock`] can shade paths that hit triangles of this material: a diffuse material, or a
/// layered one without glass and without a clear coat, without absorption. Textures are not checked.
#[inline(always)]
fn is_supported(material: &Material) -> bool {
    let is_opaque = material.transmission == 0.0 && material.clearcoat == 0.0;
    (material.kind == DIFFUSE || material.kind == LAYERED && is_opaque)
        && material.absorption == Vec3::ZERO
}

/// Returns the index of the material of the triangle that a path hit, and whether the triangle belongs to an instance.
/// Returns `None` if a [`MaterialBlock`] cannot shade the path. [`MaterialBlock::supports`] checks the textures.
#[inline(always)]
pub(super) fn supported_material(
    wave: &CpuWave,
    scene: &RenderScene,
    path: usize,
) -> Option<(u32, bool)> {
    let primitive = &scene.primitives[wave.hits[path].primitive as usize];
    let instance = wave.instances[path];
    let is_instanced = instance != NO_INSTANCE;
    let material = if is_instanced {
        instance_material(&scene.instances[instance as usize], primitive)
    } else {
        primitive.material
    };
    let can_shade = primitive.is_triangle()
        && is_supported(&scene.materials[material as usize])
        && bodies_of(wave, path) == 0;
    can_shade.then_some((material, is_instanced))
}

/// A group of paths that are shaded together, as arrays. Entries from `count` on hold stale values, which are computed
/// but never stored in the wave.
#[derive(Default)]
pub(super) struct MaterialBlock {
    /// Number of paths in the block.
    count: usize,

    // The inputs of each path, from `load_paths`.
    /// Index of the path's entry in the queue of the wave.
    queue_indices: U32Array,
    /// Index of the path in the wave.
    path_indices: U32Array,
    /// Row-major index of the path's pixel.
    pixels: U32Array,
    /// Sample number within the pixel.
    samples: U32Array,
    /// Direction of the ray that hit, of length 1.
    ray_directions: Vec3Array,
    /// Throughput on arrival at the surface.
    throughputs: Vec3Array,
    /// `eta_scale` of the path's [`Throughput`].
    eta_scales: F32Array,

    // The surface.
    /// Geometry of the surface.
    surfaces: Surfaces,
    /// Material with its textures applied.
    materials: ResolvedMaterials,
    /// Whether the front was hit.
    is_front: [bool; PATHS],
    /// Whether the side that was hit scatters light. The back of a one-sided surface does not.
    side_scatters: [bool; PATHS],
    /// Origin of rays that leave on the side that was hit.
    ray_origins: Vec3Array,
    /// Whether the entry of `ray_origins` lies above the flat triangle, which the ray may then hit.
    is_ray_origin_lifted: [bool; PATHS],

    // The random numbers, from `draw_random_numbers`.
    /// Random bits that choose the light.
    light_choices: U32Array,
    /// Random bits of the first coordinate on the light.
    light_u: U32Array,
    /// Random bits of the second coordinate on the light.
    light_v: U32Array,
    /// Random number in [0, 1) of Russian roulette.
    roulette_choices: F32Array,
    /// First random number of the BSDF sample, in [0, 1).
    bsdf_u: F32Array,
    /// Second random number of the BSDF sample, in [0, 1).
    bsdf_v: F32Array,

    // The lobes of layered materials.
    /// Lobes of each path's layered BSDF, for the direction to the eye.
    lobes: Lobes,
    /// Boundary energies at the cosine that is being evaluated.
    energies: BoundaryEnergies,

    // The shadow ray.
    /// Samples of the lights.
    lights: LightSamples,
    /// Origin of the shadow ray.
    shadow_origins: Vec3Array,
    /// Whether the origin of the shadow ray is lifted off the flat triangle.
    is_shadow_lifted: [bool; PATHS],
    /// Radiance that the path gains if nothing blocks the shadow ray.
    shadow_lights: Vec3Array,
    /// Whether the path has a shadow ray.
    casts_shadow_ray: [bool; PATHS],

    // The next ray.
    /// Direction of the next ray, of length 1.
    next_directions: Vec3Array,
    /// `BsdfValue::color` of a layered material in that direction.
    next_values: Vec3Array,
    /// `BsdfValue::scale` of a layered material in that direction.
    next_scales: F32Array,
    /// Probability density of that direction per steradian.
    next_pdfs: F32Array,
    /// Throughput of the next ray.
    next_throughputs: Vec3Array,
    /// Whether the path continues.
    continues: [bool; PATHS],
}

impl MaterialBlock {
    /// Returns whether the block can look up the textures of the material with this index.
    pub(super) fn supports(&self, scene: &RenderScene, material: u32) -> bool {
        ResolvedMaterials::uses_only_first_coordinates(scene, &scene.materials[material as usize])
    }

    /// Shades the paths of a queue and stores the results in the wave. The material must be one that
    /// [`supported_material`] returns and [`Self::supports`] accepts.
    #[inline(never)]
    pub(super) fn shade(
        &mut self,
        wave: &mut CpuWave,
        scene: &RenderScene,
        bounce: u32,
        queue: &MaterialQueue,
    ) {
        vectorized(
            #[inline(always)]
            || {
                if scene.materials[queue.material as usize].kind == LAYERED {
                    self.shade_kind::<true>(wave, scene, bounce, queue);
                } else {
                    self.shade_kind::<false>(wave, scene, bounce, queue);
                }
            },
        );
    }

    /// Shades the paths of a queue whose material is layered (`IS_LAYERED`) or diffuse.
    #[inline(always)]
    fn shade_kind<const IS_LAYERED: bool>(
        &mut self,
        wave: &mut CpuWave,
        scene: &RenderScene,
        bounce: u32,
        queue: &MaterialQueue,
    ) {
        let material = &Material {
            kind: if IS_LAYERED { LAYERED } else { DIFFUSE },
            ..scene.materials[queue.material as usize]
        };
        self.load_paths(wave, queue);
        let paths = &self.path_indices[..self.count];
        if queue.is_instanced {
            self.surfaces.load_instanced(wave, scene, paths);
        } else {
            self.surfaces.load_triangles(wave, scene, paths);
        }
        let has_normal_map = ResolvedMaterials::has_normal_map(scene, material);
        self.surfaces
            .compute(&self.ray_directions, queue.is_instanced, has_normal_map);
        if has_normal_map && material.flags & MIRRORED_RELIEF != 0 {
            self.surfaces.turn_tangents(&self.ray_directions);
        }
        self.materials
            .resolve(scene, material, &mut self.surfaces, self.count);
        self.add_emission(wave, scene, bounce, material);
        self.turn_to_eye(material);
        self.draw_random_numbers(wave.span.seed, bounce);
        if IS_LAYERED {
            self.find_lobes(scene, material);
        }
        if scene.light_params.light_count > 0 {
            self.sample_lights(scene);
            self.weight_light_samples::<IS_LAYERED>(scene, bounce, material);
            self.store_shadow_rays(wave, bounce);
        }
        self.scatter::<IS_LAYERED>(scene, material);
        self.play_roulette(scene.light_params.roulette_start, bounce);
        self.store_next_rays(wave);
    }

    /// Loads the state of the queue's paths.
    #[inline(always)]
    fn load_paths(&mut self, wave: &CpuWave, queue: &MaterialQueue) {
        self.count = queue.count;
        self.queue_indices = queue.queue_indices;
        self.path_indices = queue.path_indices;
        for at in 0..self.count {
            let path = self.path_indices[at] as usize;
            (self.pixels[at], self.samples[at]) = wave.pairs[path];
            self.ray_directions.set(at, wave.rays[path].direction);
            let throughput = wave.throughputs[path];
            self.throughputs.set(at, throughput.rgb);
            self.eta_scales[at] = throughput.eta_scale;
        }
    }

    /// Adds the light that the surfaces emit to the radiances of the paths, weighted against light sampling.
    ///
    /// An emission of 0 is added too, as `shade` does for paths that are not in a block. It turns −0 into 0, so that
    /// bits are equal.
    #[inline(always)]
    fn add_emission(
        &self,
        wave: &mut CpuWave,
        scene: &RenderScene,
        bounce: u32,
        material: &Material,
    ) {
        for at in 0..self.count {
            let path = self.path_indices[at] as usize;
            let mut emitted = Vec3::ZERO;
            let emission = self.materials.emissions.get(at);
            if max_component(emission) > 0.0 {
                let vertex = Vertex::new(
                    wave.path_sampler(path),
                    bounce,
                    wave.instances[path],
                    wave.rays[path],
                    wave.throughputs[path],
                );
                let material = &Material {
                    emission,
                    ..*material
                };
                let cosine = -dot(self.ray_directions.get(at), self.surfaces.normals.get(at));
                emitted = emitted_light(scene, &wave.hits[path], material, &vertex, cosine);
            }
            wave.radiances[path].rgb += emitted;
        }
    }

    /// Computes the random numbers of the light samples, the BSDF samples and Russian roulette.
    #[inline(always)]
    fn draw_random_numbers(&mut self, seed: u32, bounce: u32) {
        let mut numbers = [Sampler { sample: 0, key: 0 }; PATHS];
        for (at, numbers) in numbers.iter_mut().enumerate() {
            *numbers = sampler(seed, self.pixels[at], self.samples[at]);
        }
        for (at, &numbers) in numbers.iter().enumerate() {
            (self.light_u[at], self.light_v[at]) = pair_bits(numbers, bounce, PAIR_LIGHT);
        }
        for (at, &numbers) in numbers.iter().enumerate() {
            let (choice, roulette) = pair_bits(numbers, bounce, PAIR_CHOICE);
            self.light_choices[at] = choice;
            self.roulette_choices[at] = unit(roulette);
        }
        for (at, &numbers) in numbers.iter().enumerate() {
            (self.bsdf_u[at], self.bsdf_v[at]) = pair(numbers, bounce, PAIR_BSDF);
        }
    }

    /// Decides which paths continue, and scales their throughputs by Russian roulette. Paths without throughput and
    /// those that hit the back of a one-sided surface end.
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

    /// Stores the shadow rays in the wave by queue entry, and adds their number to the count of the bounce.
    #[inline(always)]
    fn store_shadow_rays(&self, wave: &mut CpuWave, bounce: u32) {
        let (indices, count) = indices_of(&self.casts_shadow_ray[..self.count]);
        for &at in &indices[..count] {
            let entry = self.queue_indices[at] as usize;
            let path = self.path_indices[at] as usize;
            let ray = ShadowRay {
                origin: self.shadow_origins.get(at),
                distance: self.lights.distances[at],
                direction: self.lights.directions.get(at),
                from_primitive: if self.is_shadow_lifted[at] {
                    NO_PRIMITIVE
                } else {
                    wave.hits[path].primitive
                },
                light: self.shadow_lights.get(at),
                to_primitive: self.lights.primitives[at],
            };
            store_shadow_ray::<true>(wave, bounce, entry, ray, self.lights.instances[at]);
        }
    }

    /// Stores the next rays and throughputs of the paths that continue in the wave, and sets their flags to 1. Paths
    /// that end keep the flag 0 that the stage has set before.
    #[inline(always)]
    fn store_next_rays(&self, wave: &mut CpuWave) {
        let (indices, count) = indices_of(&self.continues[..self.count]);
        for &at in &indices[..count] {
            let (entry, path) = (self.queue_indices[at], self.path_indices[at] as usize);
            let ray = Ray {
                origin: self.ray_origins.get(at),
                pdf: self.next_pdfs[at],
                direction: self.next_directions.get(at),
                from_primitive: if self.is_ray_origin_lifted[at] {
                    NO_PRIMITIVE
                } else {
                    wave.hits[path].primitive
                },
            };
            let throughput = Throughput {
                rgb: self.next_throughputs.get(at),
                eta_scale: self.eta_scales[at],
            };
            store_next_ray(wave, entry as usize, path, ray, throughput);
        }
    }
}
