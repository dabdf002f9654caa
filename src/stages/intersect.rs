//! The stage `intersect`: finds the nearest hit of every live ray.
//!
//! Reads: queue, rays, throughputs, the BVHs and the sky. Writes by path: hits, their instances, and radiances of rays
//! that missed, to which it adds the sky. Writes by queue entry: flags, 1 for a hit.
//! On CUDA, scenes without instances, with instances and with alpha-tested surfaces have kernels of their own. A further
//! kernel adds a sky that is not constant, because it would take registers from the traversal.

use compaction::cuda::{In, InOut, Source};

use super::KernelVariant;
use crate::{
    Error,
    accel::bvh,
    device::{
        device_scene::DeviceScene,
        kernels::{stage, stage_for},
        path_buffers::PathBuffers,
    },
    lights::light::sky_light,
    math::clamped,
    path::{NO_PATH, NO_PRIMITIVE},
    sampler::sampler,
    shading::{
        material::ALL_KINDS,
        opacity::{PATH_RAY, nearest_alpha_tested, opacity_hash},
    },
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
};

/// Runs the stage on a wave.
pub fn intersect(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Intersect);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let world = wave.world.clone();
    let extent = world.surroundings.extent;
    let queued = 0..wave.lanes(counts::rays(bounce));
    if let Some(wide) = world.simd_scene() {
        let CpuWave {
            queue, rays, hits, ..
        } = wave;
        wide.each_nearest(
            &world.primitives,
            rays,
            paths(&queue[queued.clone()]),
            #[inline(always)]
            |slot, hit| hits[slot] = hit,
        );
    } else if world.is_plain() {
        for slot in paths(&wave.queue[queued.clone()]) {
            let ray = &wave.rays[slot];
            wave.hits[slot] = bvh::nearest(&world.nodes, &world.primitives, extent, ray);
        }
    } else {
        let veils = world.stochastic_opacity();
        for slot in paths(&wave.queue[queued.clone()]) {
            let (ray, from) = (&wave.rays[slot], wave.instances[slot]);
            let found = if let Some(veils) = &veils {
                let (pixel, sample) = wave.pairs[slot];
                let key = opacity_hash(sampler(wave.span.seed, pixel, sample), bounce, PATH_RAY);
                nearest_alpha_tested(veils, ray, from, key)
            } else {
                bvh::nearest_instanced(&world.instanced_scene(), ray, from)
            };
            wave.instances[slot] = found.instance;
            wave.hits[slot] = found.hit;
        }
    }

    let lights = world.lights();
    let most_light = world.surroundings.clamped_after(bounce).max_indirect;
    for lane in queued {
        let path = wave.queue[lane];
        let slot = path as usize;
        let hits = path != NO_PATH && wave.hits[slot].primitive != NO_PRIMITIVE;
        wave.flags[lane] = u8::from(hits);
        if path != NO_PATH && !hits {
            let ray = &wave.rays[slot];
            let scattered = wave.radiances[slot].scattered == 1;
            let sky = sky_light(&lights, ray.direction, ray.pdf, scattered);
            wave.radiances[slot].rgb += clamped(wave.throughputs[slot].rgb * sky, most_light);
        }
    }
}

/// Returns the indices of the live paths in a queue.
fn paths(queue: &[u32]) -> impl Iterator<Item = usize> {
    let live = queue.iter().filter(|&&path| path != NO_PATH);
    live.map(|&path| path as usize)
}

/// Parameters of the kernel: the scene, the paths, the bounce, the number of queue entries, and the start time.
pub(super) type Arguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    u32,
    In<u32>,
    InOut<u64>,
);

/// Parameters of the kernel that adds the sky: the scene, the paths, and the number of queue entries.
pub(super) type SkyArguments = (DeviceScene<'static>, PathBuffers<'static>, In<u32>);

/// Returns the name of the kernel variant for a scene.
pub(super) fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.alpha_tested, scene.placed) {
        (true, _) => "intersect_alpha_tested",
        (_, true) => "intersect_placed",
        _ => "intersect",
    }
}

/// Returns the source of the kernel variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    let name = name_for(scene);
    if scene.alpha_tested {
        return stage::<Arguments>(
            "kernels/intersect_alpha_tested.cu",
            include_str!("../../kernels/intersect_alpha_tested.cu"),
            name,
        );
    }
    stage_for::<Arguments>(
        "kernels/intersect.cu",
        include_str!("../../kernels/intersect.cu"),
        name,
        (ALL_KINDS, scene.placed),
    )
}

/// Returns the source of the kernel that adds a sky that is not constant.
pub(super) fn sky_source() -> Source {
    stage::<SkyArguments>(
        "kernels/intersect_sky.cu",
        include_str!("../../kernels/intersect_sky.cu"),
        "intersect_sky",
    )
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::rays(bounce));
    let grid = wave.over_lanes(bounce);
    wave.kernels.intersect.launch(
        &wave.stream,
        grid,
        (
            wave.scene.argument_after(bounce),
            wave.paths.argument(),
            bounce,
            wave.counts.slice(lanes.clone()),
            wave.stamps.slice_mut(clock::intersect(bounce)),
        ),
    )?;
    if let Some(kernel) = &wave.kernels.intersect_sky {
        kernel.launch(
            &wave.stream,
            grid,
            (
                wave.scene.argument_after(bounce),
                wave.paths.argument(),
                wave.counts.slice(lanes),
            ),
        )?;
    }
    Ok(())
}
