//! The stage `shadow`: traces the shadow rays, and adds the light of those that nothing blocks to the paths.
//!
//! Reads: queue, instances, shadow rays and their instances by queue entry, and the BVHs. On CUDA also rays by path and
//! shadow origins by queue entry, because a [`PackedShadowRay`](crate::device::path_buffers::PackedShadowRay) has no
//! origin. So no stage may change rays or queue between `shade` and this one. Writes: radiances by path. Method: BVH
//! traversal that ends at the first hit. In scenes without lights the stage does nothing. On CUDA, lanes of a warp
//! whose rays end take new rays, see `kernels/shared/warp_traversal.cuh`. Scenes without instances, with instances and
//! with alpha-tested surfaces have kernel variants. In scenes with boundaries of media, light passes those and is
//! attenuated by media, see [`boundaries`](crate::vertex::boundaries).

use std::ops::Range;

use compaction::cuda::{In, InOut, Source};
use glam::Vec3;

use super::{
    Stage,
    wave::{CpuWave, CudaWave, Wave, clock, counts},
};
use crate::{
    Error,
    accel::{
        bvh::wide::{InstancedRay, SimdInstancedScene},
        instance::{NO_INSTANCE, OpacityTest, Opaque},
    },
    device::{
        device_scene::DeviceScene,
        kernel_variant::KernelVariant,
        kernels::{BLOCK_THREADS, stage_for},
        path_buffers::PathBuffers,
    },
    path::ShadowRay,
    sampler::sampler,
    shading::{
        material::{ALL_KINDS, NESTED},
        opacity::{SHADOW_RAY, light_passes_opacity, opacity_hash},
    },
    vertex::{boundaries::arriving_part, rays::is_blocked},
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
    if scene.has_boundaries() {
        for entry in entries.filter(|&entry| wave.shadow_rays[entry].distance != 0.0) {
            let (ray, path) = (&wave.shadow_rays[entry], wave.queue[entry] as usize);
            let (from, to) = (wave.instances[path], wave.light_instances[entry]);
            let (bodies, numbers) = (wave.shadow_bodies[entry], wave.path_sampler(path));
            let part = arriving_part(&scene, ray, from, to, bodies, numbers, bounce);
            if part != Vec3::ZERO {
                wave.radiances[path].rgb += ray.light * part;
            }
        }
        return;
    }
    if let Some(simd_scene) = scene.simd_scene() {
        let entries = entries.filter(|&entry| wave.shadow_rays[entry].distance != 0.0);
        let (queue, rays, radiances) = (&wave.queue, &wave.shadow_rays, &mut wave.radiances);
        // Adding a neutral value avoids a branch that would often be mispredicted.
        let add_unless = |entry: usize, blocked: bool| {
            let light = rays[entry].light;
            radiances[queue[entry] as usize].rgb += if blocked { NEUTRAL } else { light };
        };
        simd_scene.each_occluded(&scene.primitives, rays, entries, add_unless);
        return;
    }
    if let Some(simd_scene) = scene.simd_instanced_scene() {
        match scene.stochastic_opacity() {
            Some(opacity) => {
                let passes = |ray: &InstancedRay<ShadowRay>| {
                    light_passes_opacity(&opacity, &ray.ray, ray.to, ray.key)
                };
                each_instanced(wave, simd_scene, (&opacity, passes), entries, bounce);
            }
            None => {
                let opaque = Opaque(&scene.primitives);
                each_instanced(wave, simd_scene, (&opaque, |_: &_| true), entries, bounce);
            }
        }
        return;
    }
    for entry in entries.filter(|&entry| wave.shadow_rays[entry].distance != 0.0) {
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

/// Traces the shadow rays of these queue entries by SIMD traversal of instances, and adds their light to the paths.
///
/// The tuple holds the opacity test, and whether the light's own surface passes it.
fn each_instanced(
    wave: &mut CpuWave,
    simd_scene: &SimdInstancedScene,
    (opacity, light_passes): (&impl OpacityTest, impl Fn(&InstancedRay<ShadowRay>) -> bool),
    entries: Range<usize>,
    bounce: u32,
) {
    let scene = wave.scene.clone();
    let CpuWave {
        queue,
        shadow_rays,
        radiances,
        instances,
        light_instances,
        pairs,
        span,
        ..
    } = wave;
    let traced = entries.filter_map(
        #[inline(always)]
        |entry| {
            let path = queue[entry] as usize;
            let ray = shadow_rays[entry];
            if ray.distance == 0.0 {
                return None;
            }
            let (pixel, sample) = pairs[path];
            let ray = InstancedRay {
                ray,
                from: instances[path],
                to: light_instances[entry],
                key: opacity_hash(sampler(span.seed, pixel, sample), bounce, SHADOW_RAY),
            };
            light_passes(&ray).then_some((entry, ray))
        },
    );
    simd_scene.each_occluded(
        &scene.instanced_scene(),
        opacity,
        traced,
        #[inline(always)]
        |entry, blocked| {
            let light = if blocked {
                NEUTRAL
            } else {
                shadow_rays[entry].light
            };
            radiances[queue[entry] as usize].rgb += light;
        },
    );
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

/// Returns the name of the kernel `shadow` in the variant for a scene.
pub(super) fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.alpha_tested, scene.instanced) {
        _ if scene.materials & NESTED != 0 => "shadow_nested",
        _ if scene.boundaries => "shadow_boundaries",
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
            materials: ALL_KINDS | scene.materials & NESTED,
            alpha_tested: scene.alpha_tested || scene.boundaries,
            ..scene
        },
    )
    .constant("CROSSES_BOUNDARIES", u32::from(scene.boundaries))
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::hits(bounce));
    launch(wave, bounce, entries)
}

/// Launches the kernel on the queue of the wave. `entries` is where the counts hold its length.
pub(super) fn launch(wave: &mut CudaWave, bounce: u32, entries: Range<usize>) -> Result<(), Error> {
    let grid = wave.queue_grid(bounce, BLOCK_THREADS);
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
