//! The stage `megakernel`: traces each path from the camera to the film in one thread, without a queue.
//!
//! Reads: the span, the camera, and all of the scene. Writes: the film and the counts.
//! It calls the functions of the other stages in the same order, so that films are identical. Benchmarks compare the
//! stages with it: it keeps paths in registers, but a warp runs as long as its longest path.

use std::sync::Arc;

use glam::Vec3;

use compaction::{
    cuda::{Compiler, In, InOut, Kernel, Launch, Source},
    cudarc::driver::CudaContext,
};

use super::{
    KernelVariant,
    generate::first_ray,
    shade::{Vertex, shade_path},
};
use crate::{
    Error,
    accel::{bvh, instance::NO_INSTANCE},
    camera::Camera,
    device::{
        device_film::DeviceFilm,
        device_scene::DeviceScene,
        kernels::{BLOCK_THREADS, stage_for},
        render_scene::RenderScene,
    },
    lights::light::sky_light,
    math::clamped,
    path::{NO_PRIMITIVE, ShadowRay, Span, Throughput, pixel_and_sample},
    sampler::sampler,
    shading::{
        material::{ALL_KINDS, PLAIN_KINDS, RARE_KINDS},
        opacity::{
            PATH_RAY, SHADOW_RAY, StochasticOpacity, nearest_alpha_tested, occluded_alpha_tested,
            opacity_hash,
        },
    },
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
};

/// Number of counts that a block sums in shared memory: those of the first bounces, which most paths have.
const TALLY: u32 = 96;

/// Traces the paths of `span` to their ends, as [`trace`](crate::wavefront::trace) does. On a GPU its kernel must be
/// loaded: [`CudaWave::load_megakernel`].
pub fn megakernel(wave: &mut Wave, span: Span) -> Result<(), Error> {
    wave.begin(span)?;
    match wave {
        Wave::Cpu(cpu) if cpu.world.is_plain() => on_cpu::<false>(cpu, span),
        Wave::Cpu(cpu) => on_cpu::<true>(cpu, span),
        Wave::Cuda(cuda) => on_cuda(cuda, span)?,
    }
    wave.mark(Stage::Megakernel);
    Ok(())
}

/// Runs the stage on the CPU, specialised for scenes with (`PLACED`) or without instances and textures.
fn on_cpu<const PLACED: bool>(wave: &mut CpuWave, span: Span) {
    let world = &*wave.world;
    let list = wave.list.clone();
    let veils = world.stochastic_opacity();
    for path in 0..span.path_count {
        let paths = Paths {
            world,
            veils: veils.as_ref(),
            camera: &wave.camera,
            span: &span,
            list: &list,
            max_bounces: wave.max_bounces,
        };
        let sample = trace_path::<PLACED>(&paths, path, &mut wave.counts);
        wave.film
            .expose(pixel_and_sample(&span, &list, path).0, sample);
    }
}

/// The data that all paths of a wave share.
struct Paths<'a> {
    world: &'a RenderScene,
    veils: Option<&'a StochasticOpacity<'a>>,
    camera: &'a Camera,
    span: &'a Span,
    list: &'a [u32],
    max_bounces: u32,
}

/// Traces one path, adds its rays to the counts, and returns its radiance.
fn trace_path<const PLACED: bool>(paths: &Paths, path: u32, counts: &mut [u32]) -> Vec3 {
    let Paths {
        world,
        veils,
        camera,
        span,
        list,
        max_bounces,
    } = *paths;
    let extent = world.surroundings.extent;
    let (pixel, sample) = pixel_and_sample(span, list, path);
    let numbers = sampler(span.seed, pixel, sample);
    let mut ray = first_ray(camera, span, list, path);
    let mut throughput = Throughput {
        rgb: Vec3::ONE,
        eta_scale: 1.0,
    };
    let mut radiance = Vec3::ZERO;
    let (mut scattered, mut instance) = (false, NO_INSTANCE);
    for bounce in 0.. {
        let [most_emitted, most_connected] = [bounce, bounce + 1]
            .map(|scatterings| world.surroundings.clamped_after(scatterings).max_indirect);
        counts[counts::rays(bounce)] += 1;
        let hit = if PLACED {
            let found = if let Some(veils) = veils {
                nearest_alpha_tested(
                    veils,
                    &ray,
                    instance,
                    opacity_hash(numbers, bounce, PATH_RAY),
                )
            } else {
                bvh::nearest_instanced(&world.instanced_scene(), &ray, instance)
            };
            instance = found.instance;
            found.hit
        } else {
            bvh::nearest(&world.nodes, &world.primitives, extent, &ray)
        };
        if hit.primitive == NO_PRIMITIVE {
            let sky = sky_light(&world.lights(), ray.direction, ray.pdf, scattered);
            return radiance + clamped(throughput.rgb * sky, most_emitted);
        }
        counts[counts::hits(bounce)] += 1;
        let mut vertex = Vertex {
            numbers,
            bounce,
            instance,
            ray,
            throughput,
            emitted: Vec3::ZERO,
            shadow_ray: ShadowRay::default(),
            light_instance: NO_INSTANCE,
        };
        let goes_on = shade_path::<PLACED>(world, bounce < max_bounces, &hit, &mut vertex);
        radiance += clamped(vertex.emitted, most_emitted);
        let towards_light = &vertex.shadow_ray;
        if towards_light.distance > 0.0 {
            counts[counts::shadow_rays(bounce)] += 1;
            let blocked = if PLACED {
                let to = vertex.light_instance;
                if let Some(veils) = veils {
                    let key = opacity_hash(numbers, bounce, SHADOW_RAY);
                    occluded_alpha_tested(veils, towards_light, instance, to, key)
                } else {
                    bvh::occluded_instanced(&world.instanced_scene(), towards_light, instance, to)
                }
            } else {
                bvh::occluded(&world.nodes, &world.primitives, extent, towards_light)
            };
            if !blocked {
                radiance += clamped(towards_light.light, most_connected);
            }
        }
        if !goes_on {
            break;
        }
        (ray, throughput) = (vertex.ray, vertex.throughput);
        scattered |= ray.pdf != 0.0;
    }
    radiance
}

/// Parameters of the kernel: the scene, the camera, the span and its list, the most bounces, the film, the counts and
/// their length, and the start time.
type Arguments = (
    DeviceScene<'static>,
    Camera,
    Span,
    In<u32>,
    u32,
    DeviceFilm<'static>,
    InOut<u32>,
    u32,
    InOut<u64>,
);

/// Returns whether a scene uses the variant for alpha-tested surfaces; scenes with rare features do, too.
fn is_alpha_tested(scene: KernelVariant) -> bool {
    scene.alpha_tested || scene.materials & RARE_KINDS != 0
}

fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.known_materials(), scene.placed) {
        _ if is_alpha_tested(scene) => "megakernel_veiled",
        (PLAIN_KINDS, false) => "megakernel_plain",
        (PLAIN_KINDS, true) => "megakernel_plain_placed",
        (_, false) => "megakernel",
        (_, true) => "megakernel_placed",
    }
}

/// Returns the source of the kernel variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    let alpha_tested = is_alpha_tested(scene);
    let made_for = if alpha_tested {
        (ALL_KINDS | RARE_KINDS, true)
    } else {
        (scene.known_materials(), scene.placed)
    };
    stage_for::<Arguments>(
        "kernels/megakernel.cu",
        include_str!("../../kernels/megakernel.cu"),
        name_for(scene),
        made_for,
    )
    .constant("ALPHA_TESTED", u32::from(alpha_tested))
    .constant("TALLY", TALLY)
    .constant("COUNTS_PER_BOUNCE", counts::rays(1) as u32)
    .constant("HITS", counts::hits(0) as u32)
    .constant("SHADOW_RAYS", counts::shadow_rays(0) as u32)
}

/// The megakernel on a GPU, in the variant for a scene.
pub struct Megakernel(Kernel<Arguments>);

impl Megakernel {
    /// Loads the kernel, compiled on this machine or shipped with the program.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        scene: KernelVariant,
    ) -> Result<Megakernel, Error> {
        let file = compiler.load(context, &source_for(scene))?;
        Ok(Megakernel(file.kernel(name_for(scene))?))
    }
}

fn on_cuda(wave: &mut CudaWave, span: Span) -> Result<(), Error> {
    wave.load_megakernel()?;
    let count_slots = wave.counts.len() as u32;
    let clear = compaction::Error::driver("clear the counts");
    wave.stream
        .memset_zeros(&mut wave.counts)
        .and_then(|()| wave.stream.memset_zeros(&mut wave.stamps))
        .map_err(clear)?;
    let Some(Megakernel(kernel)) = &wave.megakernel else {
        return Ok(());
    };
    kernel.launch(
        &wave.stream,
        Launch::covering(span.path_count, BLOCK_THREADS),
        (
            wave.scene.argument(),
            wave.camera,
            span,
            wave.paths.list.as_view(),
            wave.max_bounces,
            wave.film.argument(),
            wave.counts.as_view_mut(),
            count_slots,
            wave.stamps.slice_mut(clock::megakernel(wave.max_bounces)),
        ),
    )?;
    clock::stamp(wave, clock::end(wave.max_bounces))
}
