//! The stage `shadow`: tests the rays towards lights, and adds the light of those that nothing blocks.
//!
//! Reads: queue, shadow rays by queue entry, and the BVHs. Writes: radiances by path. Does nothing in scenes without
//! lights. On CUDA, scenes without instances, with instances and with alpha-tested surfaces have kernels of their own.

use compaction::cuda::{In, InOut, Source};
use glam::Vec3;

use super::KernelVariant;
use crate::{
    Error,
    accel::bvh,
    device::{
        device_scene::DeviceScene,
        kernels::{stage, stage_for},
        path_buffers::PathBuffers,
    },
    sampler::sampler,
    shading::{
        material::ALL_KINDS,
        opacity::{SHADOW_RAY, occluded_alpha_tested, opacity_hash},
    },
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
};

/// The value that leaves the bits of every sum unchanged, also those of -0.
const NOTHING: Vec3 = Vec3::splat(-0.0);

/// Runs the stage on a wave.
pub fn shadow(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Shadow);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let world = &*wave.world;
    if world.surroundings.light_count == 0 {
        return;
    }
    let extent = world.surroundings.extent;
    let hits = 0..wave.lanes(counts::hits(bounce));
    let (queue, rays, radiances) = (&wave.queue, &wave.shadow_rays, &mut wave.radiances);
    // Adding a neutral value avoids a branch that would often be mispredicted.
    let mut add_unless = |lane: usize, blocked: bool| {
        let light = rays[lane].light;
        radiances[queue[lane] as usize].rgb += if blocked { NOTHING } else { light };
    };
    let lanes = hits.filter(|&lane| rays[lane].distance != 0.0);
    if let Some(wide) = world.simd_scene() {
        wide.each_occluded(&world.primitives, rays, lanes, add_unless);
    } else if world.is_plain() {
        for lane in lanes {
            let ray = &rays[lane];
            add_unless(
                lane,
                bvh::occluded(&world.nodes, &world.primitives, extent, ray),
            );
        }
    } else {
        let veils = world.stochastic_opacity();
        for lane in lanes {
            let (ray, path) = (&rays[lane], queue[lane]);
            let (from, to) = (wave.instances[path as usize], wave.light_instances[lane]);
            let blocked = if let Some(veils) = &veils {
                let (pixel, sample) = wave.pairs[path as usize];
                let key = opacity_hash(sampler(wave.span.seed, pixel, sample), bounce, SHADOW_RAY);
                occluded_alpha_tested(veils, ray, from, to, key)
            } else {
                bvh::occluded_instanced(&world.instanced_scene(), ray, from, to)
            };
            add_unless(lane, blocked);
        }
    }
}

/// Parameters of the kernel: the scene, the paths, the bounce, the number of queue entries, and the start time.
pub(super) type Arguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    u32,
    In<u32>,
    InOut<u64>,
);

/// Returns the name of the kernel variant for a scene.
pub(super) fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.alpha_tested, scene.placed) {
        (true, _) => "shadow_alpha_tested",
        (_, true) => "shadow_placed",
        _ => "shadow",
    }
}

/// Returns the source of the kernel variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    let name = name_for(scene);
    if scene.alpha_tested {
        return stage::<Arguments>(
            "kernels/shadow_alpha_tested.cu",
            include_str!("../../kernels/shadow_alpha_tested.cu"),
            name,
        );
    }
    stage_for::<Arguments>(
        "kernels/shadow.cu",
        include_str!("../../kernels/shadow.cu"),
        name,
        (ALL_KINDS, scene.placed),
    )
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::hits(bounce));
    let grid = wave.over_lanes(bounce);
    let Some(kernel) = &wave.kernels.shadow else {
        return Ok(());
    };
    kernel.launch(
        &wave.stream,
        grid,
        (
            wave.scene.argument(),
            wave.paths.argument(),
            bounce,
            wave.counts.slice(lanes),
            wave.stamps.slice_mut(clock::shadow(bounce)),
        ),
    )?;
    Ok(())
}
