//! The stage `shadow`: traces the shadow rays, and adds the light of those that nothing blocks to the paths.
//!
//! Reads: queue, instances, shadow rays and their instances by queue entry, and the BVHs. Writes: radiances by path.
//! Method: BVH traversal that ends at the first hit. In scenes without lights the stage does nothing. On CUDA, scenes
//! without instances, with instances and with alpha-tested surfaces have kernel variants.

use compaction::cuda::{In, InOut, Source};
use glam::Vec3;

use super::{
    Stage,
    wave::{CpuWave, CudaWave, Wave, clock, counts},
};
use crate::{
    Error,
    accel::instance::NO_INSTANCE,
    device::{
        device_scene::DeviceScene, kernel_variant::KernelVariant, kernels::stage_for,
        path_buffers::PathBuffers,
    },
    shading::material::ALL_KINDS,
    vertex::rays::is_blocked,
};

/// The addend that leaves the bits of any number unchanged, also those of −0.
const NEUTRAL: Vec3 = Vec3::splat(-0.0);

/// Traces the shadow rays of a bounce, and adds their light to the paths. On CUDA it only enqueues the work.
pub fn shadow(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Shadow);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let scene = wave.scene.clone();
    if scene.light_params.light_count == 0 {
        return;
    }
    let entries = 0..wave.queue_length(counts::hits(bounce));
    let entries = entries.filter(|&entry| wave.shadow_rays[entry].distance != 0.0);
    if let Some(simd_scene) = scene.simd_scene() {
        let (queue, rays, radiances) = (&wave.queue, &wave.shadow_rays, &mut wave.radiances);
        // Adding a neutral value avoids a branch that would often be mispredicted.
        let add_unless = |entry: usize, blocked: bool| {
            let light = rays[entry].light;
            radiances[queue[entry] as usize].rgb += if blocked { NEUTRAL } else { light };
        };
        simd_scene.each_occluded(&scene.primitives, rays, entries, add_unless);
        return;
    }
    for entry in entries {
        let (ray, path) = (&wave.shadow_rays[entry], wave.queue[entry] as usize);
        let numbers = wave.path_sampler(path);
        let blocked = if scene.is_plain() {
            is_blocked::<false>(&scene, ray, NO_INSTANCE, NO_INSTANCE, numbers, bounce)
        } else {
            let (from, to) = (wave.instances[path], wave.light_instances[entry]);
            is_blocked::<true>(&scene, ray, from, to, numbers, bounce)
        };
        if !blocked {
            wave.radiances[path].rgb += ray.light;
        }
    }
}

/// Parameters of the kernel: the scene, the paths, the bounce, the number of queue entries, and the start time to
/// store.
pub(super) type Arguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    u32,
    In<u32>,
    InOut<u64>,
);

/// Returns the name of the kernel `shadow` in the variant for a scene.
pub(super) fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.alpha_tested, scene.instanced) {
        (true, _) => "shadow_alpha_tested",
        (_, true) => "shadow_instanced",
        _ => "shadow",
    }
}

/// Returns the source of the kernel `shadow` in the variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    stage_for::<Arguments>(
        "kernels/shadow.cu",
        include_str!("../../kernels/shadow.cu"),
        name_for(scene),
        KernelVariant {
            materials: ALL_KINDS,
            ..scene
        },
    )
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::hits(bounce));
    let grid = wave.queue_grid(bounce);
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
            wave.counts.slice(entries),
            wave.stamps
                .slice_mut(clock::start(bounce, Stage::Shadow, 0)),
        ),
    )?;
    Ok(())
}
