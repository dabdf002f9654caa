//! intersect: every live ray against the scene.
//!
//! Reads: queue, rays, throughputs, nodes, primitives, instances, the sky and what shines in it. Writes: hits by path, and of which instance they are;
//! flags by lane, 1 for a hit; radiances of the rays that miss, which see the sky.
//! A scene without instances has a kernel of its own, which does not ask for any, and one with surfaces that hide only a
//! part of what is behind them has another, which looks up their textures; a sky that is not even is added by one more,
//! which takes registers that traversal needs.

use compaction::cuda::{In, InOut, Source};

use super::{SceneKind, scene_kind::MadeFor};
use crate::{
    Error,
    bvh::{self, Node},
    environment::{Environment, EnvironmentRow, EnvironmentTexel},
    instance::{Corners, Instance, MeshVertex},
    kernels::{stage, stage_for},
    light::{Lamp, Surroundings, sky_light},
    maps::Maps,
    material::{ALL_KINDS, Material},
    math::clamped,
    opacity::{PATH_RAY, nearest_veiled, veil_key},
    path::{Hit, NO_PATH, NO_PRIMITIVE, Ray, Rgb, Span, Throughput},
    primitive::Primitive,
    sampler::sampler,
    texture::Texture,
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
};

/// Runs the stage.
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
    if let Some(wide) = world.wide() {
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
        let veils = world.veils();
        for slot in paths(&wave.queue[queued.clone()]) {
            let (ray, from) = (&wave.rays[slot], wave.instances[slot]);
            let found = if let Some(veils) = &veils {
                let (pixel, sample) = wave.pairs[slot];
                let key = veil_key(sampler(wave.span.seed, pixel, sample), bounce, PATH_RAY);
                nearest_veiled(veils, ray, from, key)
            } else {
                bvh::nearest_placed(&world.placed_scene(), ray, from)
            };
            wave.instances[slot] = found.instance;
            wave.hits[slot] = found.hit;
        }
    }

    let lights = world.lights();
    let most_light = world.surroundings.after(bounce).most_indirect;
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

/// The slots of the paths in a queue.
fn paths(queue: &[u32]) -> impl Iterator<Item = usize> {
    let live = queue.iter().filter(|&&path| path != NO_PATH);
    live.map(|&path| path as usize)
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
    InOut<u64>,
);

/// What the kernel takes of a scene with surfaces that hide only a part.
pub(super) type VeiledArguments = (
    In<Node>,
    In<Primitive>,
    In<Instance>,
    In<Corners>,
    In<MeshVertex>,
    In<Material>,
    In<Maps>,
    In<Texture>,
    In<u32>,
    Surroundings,
    In<Span>,
    In<u32>,
    u32,
    In<u32>,
    In<u32>,
    In<Ray>,
    In<Throughput>,
    InOut<Rgb>,
    InOut<Hit>,
    InOut<u32>,
    InOut<u8>,
    InOut<u64>,
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

/// The kernel that is made for such scenes.
pub(super) fn name_for(scene: SceneKind) -> &'static str {
    match (scene.veiled, scene.placed) {
        (true, _) => "intersect_veiled",
        (_, true) => "intersect_placed",
        _ => "intersect",
    }
}

/// Its file.
pub(super) fn source_for(scene: SceneKind) -> Source {
    let name = name_for(scene);
    if scene.veiled {
        return stage::<VeiledArguments>(
            "kernels/intersect_veiled.cu",
            include_str!("../../kernels/intersect_veiled.cu"),
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

/// The file of the kernel that adds the sky, where it is not even.
pub(super) fn sky_source() -> Source {
    stage::<SkyArguments>(
        "kernels/intersect_sky.cu",
        include_str!("../../kernels/intersect_sky.cu"),
        "intersect_sky",
    )
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::rays(bounce));
    let began = clock::intersect(bounce);
    match &wave.kernels.intersect {
        MadeFor::Veiled(kernel) => kernel.launch(
            &wave.stream,
            wave.over_lanes(bounce),
            (
                wave.nodes.as_view(),
                wave.primitives.as_view(),
                wave.placed.as_view(),
                wave.corners.as_view(),
                wave.vertices.as_view(),
                wave.materials.as_view(),
                wave.maps.as_view(),
                wave.textures.as_view(),
                wave.texels.as_view(),
                wave.surroundings.after(bounce),
                wave.device_span.as_view(),
                wave.list.as_view(),
                bounce,
                wave.counts.slice(lanes.clone()),
                wave.queue.as_view(),
                wave.rays.as_view(),
                wave.throughputs.as_view(),
                wave.radiances.as_view_mut(),
                wave.hits.as_view_mut(),
                wave.instances.as_view_mut(),
                wave.flags.as_view_mut(),
                wave.stamps.slice_mut(began),
            ),
        )?,
        MadeFor::Opaque(kernel) => kernel.launch(
            &wave.stream,
            wave.over_lanes(bounce),
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
                wave.stamps.slice_mut(began),
            ),
        )?,
    }
    if let Some(kernel) = &wave.kernels.intersect_sky {
        kernel.launch(
            &wave.stream,
            wave.over_lanes(bounce),
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
