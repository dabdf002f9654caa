//! shadow: the rays towards the lights.
//!
//! Reads: queue, shadow rays by lane, nodes, primitives, instances. Writes: radiances of the paths whose shadow ray nothing blocks.
//! Without a light there are no shadow rays, and nothing is done. Scenes with instances, and with surfaces that hide only a
//! part of what is behind them, have kernels of their own.

use compaction::cuda::{In, InOut, Source};
use glam::Vec3;

use super::{SceneKind, scene_kind::MadeFor};
use crate::{
    Error,
    bvh::{self, Node},
    instance::{Corners, Instance, MeshVertex},
    kernels::{stage, stage_for},
    maps::Maps,
    material::{ALL_KINDS, Material},
    opacity::{LIGHT_RAY, occluded_veiled, veil_key},
    path::{Rgb, ShadowRay, Span},
    primitive::Primitive,
    sampler::sampler,
    texture::Texture,
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
};

/// What can be added to any radiance and leaves its bits.
const NOTHING: Vec3 = Vec3::splat(-0.0);

/// Runs the stage.
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
    // Whether a ray is blocked would be guessed wrongly for many: what leaves every sum as it is, -0 too, is added instead.
    let mut add_unless = |lane: usize, blocked: bool| {
        let light = rays[lane].light;
        radiances[queue[lane] as usize].rgb += if blocked { NOTHING } else { light };
    };
    let lanes = hits.filter(|&lane| rays[lane].distance != 0.0);
    if let Some(wide) = world.wide() {
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
        let veils = world.veils();
        for lane in lanes {
            let (ray, path) = (&rays[lane], queue[lane]);
            let (from, to) = (wave.instances[path as usize], wave.light_instances[lane]);
            let blocked = if let Some(veils) = &veils {
                let (pixel, sample) = wave.pairs[path as usize];
                let key = veil_key(sampler(wave.span.seed, pixel, sample), bounce, LIGHT_RAY);
                occluded_veiled(veils, ray, from, to, key)
            } else {
                bvh::occluded_placed(&world.placed_scene(), ray, from, to)
            };
            add_unless(lane, blocked);
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
    f32,
    In<Span>,
    In<u32>,
    u32,
    In<u32>,
    In<u32>,
    In<u32>,
    In<u32>,
    In<ShadowRay>,
    InOut<Rgb>,
    InOut<u64>,
);

/// The kernel that is made for such scenes.
pub(super) fn name_for(scene: SceneKind) -> &'static str {
    match (scene.veiled, scene.placed) {
        (true, _) => "shadow_veiled",
        (_, true) => "shadow_placed",
        _ => "shadow",
    }
}

/// Its file.
pub(super) fn source_for(scene: SceneKind) -> Source {
    let name = name_for(scene);
    if scene.veiled {
        return stage::<VeiledArguments>(
            "kernels/shadow_veiled.cu",
            include_str!("../../kernels/shadow_veiled.cu"),
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
    let Some(kernel) = &wave.kernels.shadow else {
        return Ok(());
    };
    let lanes = wave.lanes(counts::hits(bounce));
    let began = clock::shadow(bounce);
    match kernel {
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
                wave.surroundings.extent,
                wave.device_span.as_view(),
                wave.list.as_view(),
                bounce,
                wave.counts.slice(lanes),
                wave.queue.as_view(),
                wave.instances.as_view(),
                wave.light_instances.as_view(),
                wave.shadow_rays.as_view(),
                wave.radiances.as_view_mut(),
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
                wave.surroundings.extent,
                wave.counts.slice(lanes),
                wave.queue.as_view(),
                wave.instances.as_view(),
                wave.light_instances.as_view(),
                wave.shadow_rays.as_view(),
                wave.radiances.as_view_mut(),
                wave.stamps.slice_mut(began),
            ),
        )?,
    }
    Ok(())
}
