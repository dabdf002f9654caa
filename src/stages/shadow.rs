//! shadow: the rays towards the lights.
//!
//! Reads: queue, shadow rays by lane, nodes, primitives, instances. Writes: radiances of the paths whose shadow ray nothing blocks.
//! Without a light there are no shadow rays, and nothing is done.

use compaction::cuda::{In, InOut, Source};

use crate::{
    Error,
    bvh::{self, Node},
    instance::Instance,
    kernels::stage,
    path::{Rgb, ShadowRay},
    primitive::Primitive,
    wave::{CpuWave, CudaWave, Stage, Wave, counts},
};

/// Runs the stage.
pub fn shadow(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Shadow)
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let world = &*wave.world;
    if world.surroundings.light_count == 0 {
        return;
    }
    let extent = world.surroundings.extent;
    for lane in 0..wave.lanes(counts::hits(bounce)) {
        let ray = &wave.shadow_rays[lane];
        if ray.distance == 0.0 {
            continue;
        }
        let blocked = if world.is_plain() {
            bvh::occluded(&world.nodes, &world.primitives, extent, ray)
        } else {
            let from = wave.instances[wave.queue[lane] as usize];
            bvh::occluded_placed(&world.placed_scene(), ray, from, wave.light_instances[lane])
        };
        if !blocked {
            wave.radiances[wave.queue[lane] as usize].rgb += ray.light;
        }
    }
}

/// What the kernel takes.
pub(super) type Arguments = (
    In<Node>,
    In<Primitive>,
    In<Instance>,
    f32,
    In<u32>,
    In<u32>,
    In<u32>,
    In<u32>,
    In<ShadowRay>,
    InOut<Rgb>,
);

/// The kernel's file.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/shadow.cu",
        include_str!("../../kernels/shadow.cu"),
        "shadow",
    )
    .kernel::<Arguments>("shadow_placed")
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    if wave.surroundings.light_count == 0 {
        return Ok(());
    }
    let lanes = wave.lanes(counts::hits(bounce));
    let kernel = if wave.is_plain {
        &wave.kernels.shadow
    } else {
        &wave.kernels.shadow_placed
    };
    kernel.launch(
        &wave.stream,
        wave.over_lanes(),
        (
            wave.nodes.as_view(),
            wave.primitives.as_view(),
            wave.placed.as_view(),
            wave.surroundings.extent,
            wave.counts.slice(lanes),
            wave.queue.as_view(),
            wave.instances.as_view(),
            wave.light_instances.as_view(),
            wave.shadow_rays.as_view(),
            wave.radiances.as_view_mut(),
        ),
    )?;
    Ok(())
}
