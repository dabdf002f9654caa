//! megakernel: a wave's paths from the camera to the film, each in one go and without a queue.
//!
//! Reads: span, camera, and what intersect, shade and shadow read of the scene. Writes: the film's sums, the number of
//! samples that it rejects, the counts.
//! It calls the loop's own functions in the loop's order, so the bits are the same. It is what the loop is measured
//! against: nothing of a path goes through memory, and a warp lasts as long as its longest path.

use std::sync::Arc;

use glam::Vec3;

use compaction::{
    cuda::{Compiler, In, InOut, Kernel, Launch, Source},
    cudarc::driver::CudaContext,
};

use super::{
    SceneKind,
    generate::first_ray,
    shade::{Vertex, shade_path},
};
use crate::{
    Error,
    bvh::{self, Node},
    camera::Camera,
    environment::{Environment, EnvironmentRow, EnvironmentTexel},
    instance::{Corners, Instance, MeshVertex, NO_INSTANCE},
    kernels::{BLOCK_THREADS, stage_for},
    light::{Lamp, Light, Surroundings, sky_light},
    light_tree::LightNode,
    maps::Maps,
    material::{ALL_KINDS, Material, PLAIN_KINDS, RARE_KINDS},
    math::clamped,
    opacity::{LIGHT_RAY, PATH_RAY, Veils, nearest_veiled, occluded_veiled, veil_key},
    path::{NO_PRIMITIVE, ShadowRay, Span, Throughput, pixel_and_sample},
    primitive::Primitive,
    sampler::sampler,
    texture::Texture,
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
    world::World,
};

/// Counts that a block adds up before they go to memory: of the first bounces, which most paths have.
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

/// Of a scene where meshes are placed, or of one without.
fn on_cpu<const PLACED: bool>(wave: &mut CpuWave, span: Span) {
    let world = &*wave.world;
    let list = wave.list.clone();
    let veils = world.veils();
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

/// What the paths of a wave have in common.
struct Paths<'a> {
    world: &'a World,
    veils: Option<&'a Veils<'a>>,
    camera: &'a Camera,
    span: &'a Span,
    list: &'a [u32],
    max_bounces: u32,
}

/// The light of a path.
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
        squeeze: 1.0,
    };
    let mut radiance = Vec3::ZERO;
    let (mut scattered, mut instance) = (false, NO_INSTANCE);
    for bounce in 0.. {
        let [most_emitted, most_connected] = [bounce, bounce + 1]
            .map(|scatterings| world.surroundings.after(scatterings).most_indirect);
        counts[counts::rays(bounce)] += 1;
        let hit = if PLACED {
            let found = if let Some(veils) = veils {
                nearest_veiled(veils, &ray, instance, veil_key(numbers, bounce, PATH_RAY))
            } else {
                bvh::nearest_placed(&world.placed_scene(), &ray, instance)
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
                    let key = veil_key(numbers, bounce, LIGHT_RAY);
                    occluded_veiled(veils, towards_light, instance, to, key)
                } else {
                    bvh::occluded_placed(&world.placed_scene(), towards_light, instance, to)
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

/// What the kernel takes.
type Arguments = (
    In<Node>,
    In<Primitive>,
    In<Instance>,
    In<Corners>,
    In<MeshVertex>,
    In<Material>,
    In<Maps>,
    In<Texture>,
    In<u32>,
    In<f32>,
    In<Light>,
    In<LightNode>,
    In<u32>,
    Surroundings,
    In<Lamp>,
    Environment,
    In<EnvironmentRow>,
    In<EnvironmentTexel>,
    Camera,
    Span,
    In<u32>,
    u32,
    InOut<u64>,
    InOut<u64>,
    InOut<u32>,
    InOut<u32>,
    u32,
    InOut<u64>,
);

/// Whether a scene gets the kernel of those with surfaces that hide only a part of what is behind them: with what is rare it
/// does, too.
fn is_veiled(scene: SceneKind) -> bool {
    scene.veiled || scene.materials & RARE_KINDS != 0
}

fn name_for(scene: SceneKind) -> &'static str {
    match (scene.known_materials(), scene.placed) {
        _ if is_veiled(scene) => "megakernel_veiled",
        (PLAIN_KINDS, false) => "megakernel_plain",
        (PLAIN_KINDS, true) => "megakernel_plain_placed",
        (_, false) => "megakernel",
        (_, true) => "megakernel_placed",
    }
}

/// The file of the kernel that is made for such scenes.
pub(super) fn source_for(scene: SceneKind) -> Source {
    let veiled = is_veiled(scene);
    let made_for = if veiled {
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
    .constant("VEILED", u32::from(veiled))
    .constant("TALLY", TALLY)
    .constant("COUNTS_PER_BOUNCE", counts::rays(1) as u32)
    .constant("HITS", counts::hits(0) as u32)
    .constant("SHADOW_RAYS", counts::shadow_rays(0) as u32)
}

/// The kernel on a GPU, for scenes of one kind.
pub struct Megakernel(Kernel<Arguments>);

impl Megakernel {
    /// Loads it, compiled on this machine or shipped with the program.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        scene: SceneKind,
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
            wave.nodes.as_view(),
            wave.primitives.as_view(),
            wave.placed.as_view(),
            wave.corners.as_view(),
            wave.vertices.as_view(),
            wave.materials.as_view(),
            wave.maps.as_view(),
            wave.textures.as_view(),
            wave.texels.as_view(),
            wave.energy.as_view(),
            wave.lights.as_view(),
            wave.light_nodes.as_view(),
            wave.light_places.as_view(),
            wave.surroundings,
            wave.lamps.as_view(),
            wave.environment,
            wave.environment_rows.as_view(),
            wave.environment_texels.as_view(),
            wave.camera,
            span,
            wave.list.as_view(),
            wave.max_bounces,
            wave.sums.as_view_mut(),
            wave.rejected.as_view_mut(),
            wave.taken.as_view_mut(),
            wave.counts.as_view_mut(),
            count_slots,
            wave.stamps.slice_mut(clock::megakernel(wave.max_bounces)),
        ),
    )?;
    clock::stamp(wave, clock::end(wave.max_bounces))
}
