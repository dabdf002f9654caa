//! shadow: the rays towards the lights.
//!
//! Reads: shadow rays by lane, nodes, primitives. Writes: radiances of the paths whose shadow ray nothing blocks.
//! Without a light there are no shadow rays, and nothing is done.

use compaction::cuda::{In, InOut, Source};

use crate::{
    Error,
    bvh::{self, Node},
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
    for ray in &wave.shadow_rays[..wave.lanes(counts::hits(bounce))] {
        if ray.distance == 0.0 {
            continue;
        }
        let extent = world.surroundings.extent;
        if !bvh::occluded(
            &world.nodes,
            &world.primitives,
            extent,
            ray.origin,
            ray.direction,
            ray.distance,
        ) {
            wave.radiances[ray.path as usize].rgb += ray.light;
        }
    }
}

/// What the kernel takes.
pub(super) type Arguments = (
    In<Node>,
    In<Primitive>,
    f32,
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
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    if wave.surroundings.light_count == 0 {
        return Ok(());
    }
    let lanes = wave.lanes(counts::hits(bounce));
    wave.kernels.shadow.launch(
        &wave.stream,
        wave.over_lanes(),
        (
            wave.nodes.as_view(),
            wave.primitives.as_view(),
            wave.surroundings.extent,
            wave.counts.slice(lanes),
            wave.shadow_rays.as_view(),
            wave.radiances.as_view_mut(),
        ),
    )?;
    Ok(())
}
