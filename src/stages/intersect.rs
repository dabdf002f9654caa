//! intersect: every live ray against the scene.
//!
//! Reads: queue, rays, throughputs, nodes, primitives, instances, the sky and what shines in it. Writes: hits by path, and of which instance they are;
//! flags by lane, 1 for a hit; radiances of the rays that miss, which see the sky.
//! A scene without instances has a kernel of its own, which does not ask for any; and a sky that is not even is added by
//! one more, which takes registers that traversal needs.

use compaction::cuda::{In, InOut, Source};

use crate::{
    Error,
    bvh::{self, Node},
    environment::{Environment, EnvironmentRow, EnvironmentTexel},
    instance::Instance,
    kernels::stage,
    light::{Lamp, Surroundings, sky_light},
    math::clamped,
    path::{Hit, NO_PATH, NO_PRIMITIVE, Ray, Rgb, Throughput},
    primitive::Primitive,
    wave::{CpuWave, CudaWave, Stage, Wave, counts},
};

/// Runs the stage.
pub fn intersect(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) => on_cuda(cuda, bounce)?,
    }
    wave.mark(Stage::Intersect)
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let world = &*wave.world;
    let lights = world.lights();
    let most_light = world.surroundings.after(bounce).most_indirect;
    for lane in 0..wave.lanes(counts::rays(bounce)) {
        let path = wave.queue[lane];
        if path == NO_PATH {
            wave.flags[lane] = 0;
            continue;
        }
        let slot = path as usize;
        let ray = wave.rays[slot];
        let extent = world.surroundings.extent;
        let hit = if world.is_plain() {
            bvh::nearest(&world.nodes, &world.primitives, extent, &ray)
        } else {
            let found = bvh::nearest_placed(&world.placed_scene(), &ray, wave.instances[slot]);
            wave.instances[slot] = found.instance;
            found.hit
        };
        let missed = hit.primitive == NO_PRIMITIVE;
        if missed {
            let scattered = wave.radiances[slot].scattered == 1;
            let sky = sky_light(&lights, ray.direction, ray.pdf, scattered);
            wave.radiances[slot].rgb += clamped(wave.throughputs[slot].rgb * sky, most_light);
        }
        wave.hits[slot] = hit;
        wave.flags[lane] = u8::from(!missed);
    }
}

/// What the kernel takes.
pub(super) type Arguments = (
    In<Node>,
    In<Primitive>,
    In<Instance>,
    Surroundings,
    In<u32>,
    In<u32>,
    In<Ray>,
    In<Throughput>,
    InOut<Rgb>,
    InOut<Hit>,
    InOut<u32>,
    InOut<u8>,
);

/// What the kernel takes that adds the sky, if it is not even.
pub(super) type SkyArguments = (
    Surroundings,
    In<Lamp>,
    Environment,
    In<EnvironmentRow>,
    In<EnvironmentTexel>,
    In<u32>,
    In<u32>,
    In<u8>,
    In<Ray>,
    In<Throughput>,
    InOut<Rgb>,
);

/// The kernels' file.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/intersect.cu",
        include_str!("../../kernels/intersect.cu"),
        "intersect",
    )
    .kernel::<Arguments>("intersect_placed")
    .kernel::<SkyArguments>("intersect_sky")
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::rays(bounce));
    let kernel = if wave.is_plain {
        &wave.kernels.intersect
    } else {
        &wave.kernels.intersect_placed
    };
    kernel.launch(
        &wave.stream,
        wave.over_lanes(),
        (
            wave.nodes.as_view(),
            wave.primitives.as_view(),
            wave.placed.as_view(),
            wave.surroundings.after(bounce),
            wave.counts.slice(lanes.clone()),
            wave.queue.as_view(),
            wave.rays.as_view(),
            wave.throughputs.as_view(),
            wave.radiances.as_view_mut(),
            wave.hits.as_view_mut(),
            wave.instances.as_view_mut(),
            wave.flags.as_view_mut(),
        ),
    )?;
    if wave.surroundings.far_lights > 0 {
        wave.kernels.intersect_sky.launch(
            &wave.stream,
            wave.over_lanes(),
            (
                wave.surroundings.after(bounce),
                wave.lamps.as_view(),
                wave.environment,
                wave.environment_rows.as_view(),
                wave.environment_texels.as_view(),
                wave.counts.slice(lanes),
                wave.queue.as_view(),
                wave.flags.as_view(),
                wave.rays.as_view(),
                wave.throughputs.as_view(),
                wave.radiances.as_view_mut(),
            ),
        )?;
    }
    Ok(())
}
