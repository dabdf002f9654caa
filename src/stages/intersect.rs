//! The stage `intersect`: finds the nearest hit of every live ray.
//!
//! Reads: queue, rays, throughputs, instances, the BVHs and the sky. Writes by path: hits, their instances, and, for
//! rays that missed, radiances with the light of the sky added. Writes by queue entry: flags, 1 for a hit, otherwise 0.
//! On CUDA, the kernel that adds the light of a sky that is not constant does not read throughputs and radiances in
//! bounce 0: it assumes the values that `generate` writes, 1 and 0.
//! Method: BVH traversal. On CUDA, lanes of a warp whose rays end take new rays from bounce 1 on, see
//! `kernels/shared/warp_traversal.cuh`. Scenes without instances, with instances and with alpha-tested surfaces have
//! kernel variants. A further kernel adds a sky that is not constant, because its code would take registers from the
//! traversal.

use std::{cell::Cell, ops::Range};

use compaction::cuda::{In, InOut, Source};

use super::{
    Stage,
    map_lookups::MapLookups,
    wave::{CpuWave, CudaWave, Wave, clock, counts},
};
use crate::{
    Error,
    accel::{
        arrays::PATHS,
        bvh::wide::{InstancedRay, SimdInstancedScene},
        instance::{NO_INSTANCE, OpacityTest, Opaque},
        vectors::vectorized,
    },
    device::{
        device_scene::DeviceScene,
        kernel_variant::KernelVariant,
        kernels::{BLOCK_THREADS, stage_for},
        path_buffers::PathBuffers,
    },
    lights::light::Lights,
    path::{NO_PATH, NO_PRIMITIVE, SCATTERED},
    sampler::sampler,
    shading::{
        material::ALL_KINDS,
        opacity::{PATH_RAY, opacity_hash},
    },
    vertex::rays::{escaped_light, escaped_light_with, nearest_hit},
};

/// Intersects the live rays of a bounce with the scene. On CUDA it only enqueues the work.
pub fn intersect(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Intersect);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let scene = wave.scene.clone();
    let entries = 0..wave.queue_length(counts::rays(bounce));
    if let Some(simd_scene) = scene.simd_scene() {
        let CpuWave {
            queue, rays, hits, ..
        } = wave;
        simd_scene.each_nearest(
            &scene.primitives,
            rays,
            live_paths(&queue[entries.clone()]),
            #[inline(always)]
            |path, hit| hits[path] = hit,
        );
    } else if let Some(simd_scene) = scene.simd_instanced_scene() {
        match scene.stochastic_opacity() {
            Some(opacity) => {
                let opacity = opacity.of_path_rays(bounce);
                each_instanced(wave, simd_scene, &opacity, entries.clone(), bounce);
            }
            None => {
                let opaque = Opaque(&scene.primitives);
                each_instanced(wave, simd_scene, &opaque, entries.clone(), bounce);
            }
        }
    } else if scene.is_plain() {
        for path in live_paths(&wave.queue[entries.clone()]) {
            let (ray, numbers) = (&wave.rays[path], wave.path_sampler(path));
            wave.hits[path] = nearest_hit::<false>(&scene, ray, NO_INSTANCE, numbers, bounce).hit;
        }
    } else {
        for path in live_paths(&wave.queue[entries.clone()]) {
            let (ray, from) = (&wave.rays[path], wave.instances[path]);
            let found = nearest_hit::<true>(&scene, ray, from, wave.path_sampler(path), bounce);
            wave.instances[path] = found.instance;
            wave.hits[path] = found.hit;
        }
    }

    let lights = scene.lights();
    let sees_background = bounce == 0 && lights.light_params.has_background == 1;
    let sees_map = lights.environment.width > 0 && !sees_background;
    let mut escaped = EscapedPaths::default();
    for entry in entries {
        let path = wave.queue[entry] as usize;
        let is_live = wave.queue[entry] != NO_PATH;
        let has_hit = is_live && wave.hits[path].primitive != NO_PRIMITIVE;
        wave.flags[entry] = u8::from(has_hit);
        if is_live && !has_hit && sees_map {
            escaped.paths[escaped.count] = path;
            escaped.count += 1;
            if escaped.count == PATHS {
                escaped.add_light(wave, &lights, bounce);
            }
        } else if is_live && !has_hit {
            let (ray, throughput) = (&wave.rays[path], wave.throughputs[path].rgb);
            let radiance = &mut wave.radiances[path];
            let scattered = radiance.history & SCATTERED != 0;
            radiance.rgb += escaped_light(&lights, ray, throughput, scattered, bounce);
        }
    }
    escaped.add_light(wave, &lights, bounce);
}

/// Paths whose rays have left a scene with an environment map.
#[derive(Default)]
struct EscapedPaths {
    /// Number of paths.
    count: usize,
    /// Indices of the paths in the wave. Those from `count` on are unspecified.
    paths: [usize; PATHS],
    lookups: MapLookups,
}

impl EscapedPaths {
    /// Adds the light from infinity to the radiances of the paths in the list, with the same bits as [`escaped_light`],
    /// and empties the list.
    fn add_light(&mut self, wave: &mut CpuWave, lights: &Lights, bounce: u32) {
        if self.count == 0 {
            return;
        }
        vectorized(
            #[inline(always)]
            || {
                let paths = &self.paths[..self.count];
                for (at, &path) in paths.iter().enumerate() {
                    self.lookups.directions.set(at, wave.rays[path].direction);
                }
                self.lookups.look_up(lights, self.count);
                for (at, &path) in paths.iter().enumerate() {
                    let (ray, throughput) = (&wave.rays[path], wave.throughputs[path].rgb);
                    let radiance = &mut wave.radiances[path];
                    let scattered = radiance.history & SCATTERED != 0;
                    let seen = self.lookups.get(at);
                    radiance.rgb +=
                        escaped_light_with(lights, seen, ray, throughput, scattered, bounce);
                }
            },
        );
        self.count = 0;
    }
}

/// Finds the nearest hits of the live rays among these queue entries by SIMD traversal of instances.
fn each_instanced(
    wave: &mut CpuWave,
    simd_scene: &SimdInstancedScene,
    opacity: &impl OpacityTest,
    entries: Range<usize>,
    bounce: u32,
) {
    let scene = wave.scene.clone();
    let CpuWave {
        queue,
        rays,
        hits,
        instances,
        pairs,
        span,
        ..
    } = wave;
    // A path's instance is read before its ray is traced, and written after.
    let instances = Cell::from_mut(&mut instances[..]).as_slice_of_cells();
    let traced = live_paths(&queue[entries]).map(
        #[inline(always)]
        |path| {
            let (pixel, sample) = pairs[path];
            let ray = InstancedRay {
                ray: rays[path],
                from: instances[path].get(),
                to: NO_INSTANCE,
                key: opacity_hash(sampler(span.seed, pixel, sample), bounce, PATH_RAY),
            };
            (path, ray)
        },
    );
    simd_scene.each_nearest(
        &scene.instanced_scene(),
        opacity,
        traced,
        #[inline(always)]
        |path, found| {
            instances[path].set(found.instance);
            hits[path] = found.hit;
        },
    );
}

/// Returns the indices of the live paths in a queue, which may have gaps.
fn live_paths(queue: &[u32]) -> impl Iterator<Item = usize> {
    let live = queue.iter().filter(|&&path| path != NO_PATH);
    live.map(|&path| path as usize)
}

/// Parameters of the kernel: the scene, the paths, the bounce, the number of queue entries, and the start time to
/// store, in nanoseconds.
pub(super) type Arguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    u32,
    In<u32>,
    InOut<u64>,
);

/// Parameters of the kernel that adds the sky: the scene, the paths, the bounce, and the number of queue entries.
pub(super) type SkyArguments = (DeviceScene<'static>, PathBuffers<'static>, u32, In<u32>);

/// Returns the name of the kernel `intersect` in the variant for a scene.
pub(super) fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.alpha_tested, scene.instanced) {
        (true, _) => "intersect_alpha_tested",
        (_, true) => "intersect_instanced",
        _ => "intersect",
    }
}

/// Returns the source of the kernel `intersect` in the variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    stage_for::<Arguments>(
        "kernels/intersect.cu",
        include_str!("../../kernels/intersect.cu"),
        name_for(scene),
        KernelVariant {
            materials: ALL_KINDS,
            ..scene
        },
    )
}

/// Returns the source of the kernel that adds a sky that is not constant.
pub(super) fn sky_source() -> Source {
    stage_for::<SkyArguments>(
        "kernels/intersect_sky.cu",
        include_str!("../../kernels/intersect_sky.cu"),
        "intersect_sky",
        KernelVariant::PLAIN,
    )
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::rays(bounce));
    let grid = wave.queue_grid(bounce, BLOCK_THREADS);
    wave.kernels.intersect.launch(
        &wave.stream,
        grid,
        (
            wave.scene.argument(),
            wave.paths.argument(),
            bounce,
            wave.counts.slice(entries.clone()),
            wave.stamps
                .slice_mut(clock::start(bounce, Stage::Intersect, 0)),
        ),
    )?;
    if let Some(kernel) = &wave.kernels.intersect_sky {
        kernel.launch(
            &wave.stream,
            grid,
            (
                wave.scene.argument(),
                wave.paths.argument(),
                bounce,
                wave.counts.slice(entries),
            ),
        )?;
    }
    Ok(())
}
