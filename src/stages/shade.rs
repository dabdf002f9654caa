//! The stage `shade`: adds emission where a ray hit, samples a light, and scatters the path.
//!
//! Reads: queue, rays, hits, instances, throughputs, and the scene. Writes by path: radiances (emission, and whether
//! the path has scattered off anything but mirrors and glass), rays and throughputs of paths that continue. Writes by
//! queue entry: shadow rays and the instances they go to, and flags, 1 for paths that continue. On CUDA, origins of
//! shadow rays are stored only where the path ends or its next ray has another origin. Counts the shadow rays.
//! Method: see [`vertex::shading`](crate::vertex::shading).

mod block;
mod material_block;
mod material_queues;
mod read_ahead;

use block::Block;
use material_block::{MaterialBlock, supported_material};
use material_queues::{MaterialQueue, MaterialQueues};
use read_ahead::{GROUP, read_ahead};

use std::ops::Range;

use compaction::cuda::{In, InOut, Source};

use super::{
    Stage,
    wave::{CpuWave, CudaWave, Wave, clock, counts},
};
use crate::{
    Error,
    accel::{instance::NO_INSTANCE, vectors::vectorized},
    device::{
        device_scene::DeviceScene,
        kernel_variant::KernelVariant,
        kernels::{BLOCK_THREADS, stage_for},
        path_buffers::PathBuffers,
        render_scene::RenderScene,
    },
    path::{NO_PATH, Ray, SCATTERED, ShadowRay, Throughput},
    shading::material::{ALL_KINDS, EXTENDED_KINDS, NESTED, PLAIN_KINDS},
    vertex::shading::{Ended, Vertex, shade_path},
};

/// Shades the hits of a bounce. On CUDA it only enqueues the work.
pub fn shade(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.scene.is_plain() => on_cpu::<false>(cpu, bounce),
        Wave::Cpu(cpu) => on_cpu::<true>(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Shade);
    Ok(())
}

/// Runs the stage on the CPU. `INSTANCED` is `false` for [plain](RenderScene::is_plain) scenes, and `true` for others.
fn on_cpu<const INSTANCED: bool>(wave: &mut CpuWave, bounce: u32) {
    let scene = wave.scene.clone();
    let entries = 0..wave.queue_length(counts::hits(bounce));
    // At the last bounce only emission counts.
    if bounce == wave.max_bounces {
        for first in entries.clone().step_by(GROUP) {
            let group = first..entries.end.min(first + GROUP);
            if INSTANCED {
                read_ahead(wave, &scene, group.clone());
            }
            each_path(wave, group, |wave, entry, path| {
                shade_entry::<INSTANCED>(wave, &scene, bounce, entry, path);
            });
        }
        return;
    }
    if INSTANCED {
        in_material_blocks(wave, &scene, bounce, entries);
        return;
    }
    vectorized(
        #[inline(always)]
        || {
            let mut block = Block::default();
            each_path(
                wave,
                entries,
                #[inline(always)]
                |wave, entry, path| {
                    if !block.try_add(wave, &scene, entry, path) {
                        shade_entry::<INSTANCED>(wave, &scene, bounce, entry, path);
                    } else if block.is_full() {
                        block.shade(wave, &scene, bounce);
                    }
                },
            );
            block.shade(wave, &scene, bounce);
        },
    );
}

/// Number of paths below which they are shaded one by one instead of as a block.
const MIN_BLOCK: usize = 4;

/// Shades paths of a scene that is not [plain](RenderScene::is_plain), those of one material together.
fn in_material_blocks(wave: &mut CpuWave, scene: &RenderScene, bounce: u32, entries: Range<usize>) {
    let mut block = Box::<MaterialBlock>::default();
    let mut shade = |wave: &mut CpuWave, queue: &MaterialQueue| {
        if queue.count >= MIN_BLOCK && block.supports(scene, queue.material) {
            block.shade(wave, scene, bounce, queue);
            return;
        }
        for (&entry, &path) in queue.entries() {
            shade_entry::<true>(wave, scene, bounce, entry as usize, path as usize);
        }
    };
    let mut queues = MaterialQueues::new(scene.materials.len());
    for first in entries.clone().step_by(GROUP) {
        let group = first..entries.end.min(first + GROUP);
        // The materials of the group are found first, so that the reads of scattered memory overlap.
        let mut materials = [None; GROUP];
        for (&path, material) in wave.queue[group.clone()].iter().zip(&mut materials) {
            if path != NO_PATH {
                *material = supported_material(wave, scene, path as usize);
            }
        }
        each_path(wave, group, |wave, entry, path| {
            match materials[entry - first] {
                Some(material) => queues.add(material, entry, path, |queue| shade(wave, queue)),
                None => shade_entry::<true>(wave, scene, bounce, entry, path),
            }
        });
    }
    queues.flush(|queue| shade(wave, queue));
}

/// Clears the flag and the shadow ray of each of these queue entries. Calls `shade` for each live path, with the index
/// of its queue entry and its own index.
#[inline(always)]
fn each_path(
    wave: &mut CpuWave,
    entries: Range<usize>,
    mut shade: impl FnMut(&mut CpuWave, usize, usize),
) {
    for entry in entries {
        let path = wave.queue[entry];
        wave.shadow_rays[entry].distance = 0.0;
        wave.flags[entry] = 0;
        if path != NO_PATH {
            shade(wave, entry, path as usize);
        }
    }
}

/// Shades the path with index `path`, whose queue entry has index `entry`, and stores the results in the wave.
/// `INSTANCED` is as in [`on_cpu`].
fn shade_entry<const INSTANCED: bool>(
    wave: &mut CpuWave,
    scene: &RenderScene,
    bounce: u32,
    entry: usize,
    path: usize,
) {
    let scatters = bounce < wave.max_bounces;
    let mut vertex = vertex_of(wave, bounce, path);
    let end = shade_path::<INSTANCED>(scene, scatters, &wave.hits[path], &mut vertex);
    wave.radiances[path].rgb += vertex.emitted;
    if vertex.shadow_ray.distance > 0.0 {
        let (ray, light_instance) = (vertex.shadow_ray, vertex.light_instance);
        store_shadow_ray::<INSTANCED>(wave, bounce, entry, ray, light_instance);
        if INSTANCED && let Some(bodies) = wave.shadow_bodies.get_mut(entry) {
            *bodies = vertex.shadow_bodies;
        }
    }
    if end.is_ok() {
        store_next_ray(wave, entry, path, vertex.ray, vertex.throughput);
        let scattered = wave.radiances[path].history & SCATTERED;
        wave.radiances[path].history = vertex.bodies << 1 | scattered;
    }
}

/// Stores the shadow ray of the path at a queue entry, and counts it. `light_instance` is the index of the instance that
/// it goes to, or `NO_INSTANCE`. `INSTANCED` is as in [`on_cpu`].
#[inline(always)]
fn store_shadow_ray<const INSTANCED: bool>(
    wave: &mut CpuWave,
    bounce: u32,
    entry: usize,
    ray: ShadowRay,
    light_instance: u32,
) {
    wave.shadow_rays[entry] = ray;
    if INSTANCED {
        wave.light_instances[entry] = light_instance;
        // Blocks shade only paths that are inside no body.
        if let Some(bodies) = wave.shadow_bodies.get_mut(entry) {
            *bodies = 0;
        }
    }
    wave.counts[counts::shadow_rays(bounce)] += 1;
}

/// Stores the next ray of a path that continues, and sets the flag of its queue entry.
#[inline(always)]
fn store_next_ray(wave: &mut CpuWave, entry: usize, path: usize, ray: Ray, throughput: Throughput) {
    wave.rays[path] = ray;
    wave.throughputs[path] = throughput;
    wave.radiances[path].history |= if ray.pdf != 0.0 { SCATTERED } else { 0 };
    wave.flags[entry] = 1;
}

/// Returns the list of bodies that a path is inside. Blocks shade only paths that are inside none.
#[inline(always)]
fn bodies_of(wave: &CpuWave, path: usize) -> u32 {
    wave.radiances[path].history >> 1
}

/// Returns the vertex of a path whose ray hit a surface, before it is shaded.
#[inline]
fn vertex_of(wave: &CpuWave, bounce: u32, path: usize) -> Vertex {
    let instance = wave.instances.get(path).copied().unwrap_or(NO_INSTANCE);
    let (ray, throughput) = (wave.rays[path], wave.throughputs[path]);
    let mut vertex = Vertex::new(wave.path_sampler(path), bounce, instance, ray, throughput);
    vertex.bodies = bodies_of(wave, path);
    vertex
}

/// Returns whether a path whose ray hit a surface is about to continue, or why it will end. Call it before the stage,
/// which changes the path.
pub(crate) fn path_end(wave: &CpuWave, bounce: u32, path: usize) -> Result<(), Ended> {
    let mut vertex = vertex_of(wave, bounce, path);
    let (scene, hit) = (&wave.scene, &wave.hits[path]);
    let scatters = bounce < wave.max_bounces;
    if scene.is_plain() {
        shade_path::<false>(scene, scatters, hit, &mut vertex)
    } else {
        shade_path::<true>(scene, scatters, hit, &mut vertex)
    }
}

/// Parameters of the kernel: the scene, the paths, the bounce, the number of queue entries, 1 if paths may scatter else
/// 0, the count of shadow rays, and the start time to store, in nanoseconds.
pub(super) type Arguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    u32,
    In<u32>,
    u32,
    InOut<u32>,
    InOut<u64>,
);

/// Returns the name of the kernel `shade` in the variant for a scene.
pub(super) fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.known_materials(), scene.instanced) {
        (PLAIN_KINDS, false) => "shade_plain",
        (PLAIN_KINDS, true) => "shade_plain_instanced",
        (kinds, _) if kinds & NESTED != 0 => "shade_nested",
        (kinds, _) if kinds & EXTENDED_KINDS != 0 => "shade_extended_instanced",
        (_, false) => "shade",
        (ALL_KINDS, true) => "shade_instanced",
        _ => "shade_rare_instanced",
    }
}

/// Returns the number of threads per block of the kernel `shade` in the variant for a scene.
///
/// With other than plain materials it has more instructions than fit in the instruction caches. The warps of large blocks
/// share them (docs/experiments/079-blocks-that-share-instructions.md).
pub(super) fn block_threads(scene: KernelVariant) -> u32 {
    match name_for(scene) {
        "shade_plain" | "shade_plain_instanced" => BLOCK_THREADS,
        "shade_instanced" => 2 * BLOCK_THREADS,
        "shade_rare_instanced" => 3 * BLOCK_THREADS,
        _ => 4 * BLOCK_THREADS,
    }
}

/// Returns the source of the kernel `shade` in the variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    stage_for::<Arguments>(
        "kernels/shade.cu",
        include_str!("../../kernels/shade.cu"),
        name_for(scene),
        KernelVariant {
            materials: scene.known_materials(),
            alpha_tested: false,
            ..scene
        },
    )
    .constant("SHADE_THREADS", block_threads(scene))
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::hits(bounce));
    let grid = wave.queue_grid(bounce, wave.kernels.shade_threads);
    let (counted, mut uncounted) = wave.counts.split_at_mut(counts::shadow_rays(bounce));
    wave.kernels.shade.launch(
        &wave.stream,
        grid,
        (
            wave.scene.argument(),
            wave.paths.argument(),
            bounce,
            counted.slice(entries),
            u32::from(bounce < wave.max_bounces),
            uncounted.slice_mut(..1),
            wave.stamps.slice_mut(clock::start(bounce, Stage::Shade, 0)),
        ),
    )?;
    Ok(())
}
