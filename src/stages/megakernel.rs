//! The stage `megakernel`: traces each path from the camera to the film in one thread, without a queue.
//!
//! Reads: the span, the list of rendered pixels, the camera, and the scene. Writes: the film and the counts.
//! Method: it calls the functions of the other stages in the same order, so that films are identical. It is the
//! baseline of benchmarks: it keeps paths in registers, but a warp runs as long as its longest path.

use std::sync::Arc;

use glam::Vec3;

use compaction::{
    cuda::{Compiler, In, InOut, Kernel, Launch, Source, clear},
    cudarc::driver::CudaContext,
};

use super::{
    Stage,
    accumulate::add_to_film,
    generate::first_ray,
    wave::{CpuWave, CudaWave, Wave, clock, counts},
};
use crate::{
    Error,
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::{
        device_film::DeviceFilm,
        device_scene::DeviceScene,
        kernel_variant::KernelVariant,
        kernels::{BLOCK_THREADS, stage_for},
        render_scene::RenderScene,
    },
    path::{NO_PRIMITIVE, Span, Throughput},
    sampler::sampler,
    shading::{
        bodies::INNERMOST,
        material::{ALL_KINDS, EXTENDED_KINDS, NESTED, PLAIN_KINDS, RARE_KINDS},
    },
    vertex::{
        boundaries::{arriving_light, cross_boundaries, is_boundary},
        rays::{escaped_light, nearest_hit},
        scattering::{fly, medium_before, scatter_path},
        shading::{Vertex, shade_path},
    },
};

/// Number of counts that a block sums in shared memory before it adds them to the global counts: those of the first 32
/// bounces. Counts of later bounces are added directly.
const TALLY: u32 = 32 * counts::PER_BOUNCE as u32;

/// Begins a wave, traces the paths of `span` to their ends and adds their samples to the film, as
/// [`trace`](crate::wavefront::trace) does. On CUDA it loads the kernel if needed, and only enqueues the work.
pub fn megakernel(wave: &mut Wave, span: Span) -> Result<(), Error> {
    wave.begin(span)?;
    megakernel_prepared(wave)
}

/// Traces the paths of a wave that has begun, as [`megakernel`] does.
pub(crate) fn megakernel_prepared(wave: &mut Wave) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.scene.is_plain() => on_cpu::<false>(cpu),
        Wave::Cpu(cpu) => on_cpu::<true>(cpu),
        Wave::Cuda(cuda) => on_cuda(cuda)?,
    }
    wave.mark(Stage::Megakernel);
    Ok(())
}

/// Runs the stage on the CPU. `INSTANCED` is `false` for plain scenes, and `true` for others; see
/// [`is_plain`](crate::device::render_scene::RenderScene::is_plain).
fn on_cpu<const INSTANCED: bool>(wave: &mut CpuWave) {
    for path in 0..wave.span.path_count as usize {
        let CpuWave {
            scene,
            camera,
            span,
            counts,
            ..
        } = wave;
        let rgb = trace_path::<INSTANCED>(
            scene,
            camera,
            wave.max_bounces,
            span,
            wave.pairs[path],
            |at| counts[at] += 1,
        );
        wave.radiances[path].rgb = rgb;
    }
    add_to_film(wave);
}

/// Traces a path to its end and returns its radiance. `pair` is the pixel, as a row-major index, and the sample. Calls
/// `count` for each ray, hit and shadow ray, with its index in [`counts`].
pub(crate) fn trace_path<const INSTANCED: bool>(
    scene: &RenderScene,
    camera: &Camera,
    max_bounces: u32,
    span: &Span,
    (pixel, sample): (u32, u32),
    mut count: impl FnMut(usize),
) -> Vec3 {
    let numbers = sampler(span.seed, pixel, sample);
    let mut ray = first_ray(camera, span, pixel, sample);
    let mut throughput = Throughput {
        rgb: Vec3::ONE,
        eta_scale: 1.0,
    };
    let mut radiance = Vec3::ZERO;
    let (mut scattered, mut instance) = (false, NO_INSTANCE);
    let mut bodies = camera.bodies;
    for bounce in 0.. {
        count(counts::rays(bounce));
        let mut found = nearest_hit::<INSTANCED>(scene, &ray, instance, numbers, bounce);
        if !scene.media.is_empty() {
            let mut vertex = Vertex::new(numbers, bounce, NO_INSTANCE, ray, throughput);
            vertex.bodies = bodies;
            let scatters = if scene.has_boundaries() {
                (bodies != 0 || is_boundary(scene, &found, bodies))
                    && cross_boundaries(scene, &mut found, &mut vertex)
            } else {
                medium_before(scene, &found.hit, bodies)
                    .is_some_and(|medium| fly(medium, &found.hit, &mut vertex))
            };
            bodies = vertex.bodies;
            if scatters {
                count(counts::scattered(bounce));
                instance = NO_INSTANCE;
                let medium = &scene.media[(bodies & INNERMOST) as usize - 1];
                let scatters = bounce < max_bounces;
                let goes_on = scatter_path(scene, scatters, medium, &mut vertex).is_ok();
                if vertex.shadow_ray.distance > 0.0 {
                    count(counts::shadow_rays(bounce));
                    if let Some(light) = arriving_light::<INSTANCED>(scene, &vertex, instance) {
                        radiance += light;
                    }
                }
                if !goes_on {
                    break;
                }
                (ray, throughput, scattered) = (vertex.ray, vertex.throughput, true);
                continue;
            }
            throughput = vertex.throughput;
        }
        instance = found.instance;
        if found.hit.primitive == NO_PRIMITIVE {
            let lights = scene.lights();
            radiance += escaped_light(&lights, &ray, throughput.rgb, scattered, bounce);
            break;
        }
        count(counts::hits(bounce));
        let mut vertex = Vertex::new(numbers, bounce, instance, ray, throughput);
        vertex.bodies = bodies;
        let scatters = bounce < max_bounces;
        let goes_on = shade_path::<INSTANCED>(scene, scatters, &found.hit, &mut vertex).is_ok();
        radiance += vertex.emitted;
        if vertex.shadow_ray.distance > 0.0 {
            count(counts::shadow_rays(bounce));
            if let Some(light) = arriving_light::<INSTANCED>(scene, &vertex, instance) {
                radiance += light;
            }
        }
        if !goes_on {
            break;
        }
        (ray, throughput, bodies) = (vertex.ray, vertex.throughput, vertex.bodies);
        scattered |= ray.pdf != 0.0;
    }
    radiance
}

/// Parameters of the kernel: the scene, the camera, the span and its list of pixels, the maximum number of bounces, the
/// film, the counts and their length, and the start time to store, in nanoseconds.
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

/// Returns whether a scene without extended materials needs the kernel `megakernel_alpha_tested`: it has alpha-tested
/// surfaces or rare features of materials.
fn needs_general_kernel(scene: KernelVariant) -> bool {
    scene.alpha_tested || scene.materials & RARE_KINDS != 0
}

/// Returns the name of the kernel `megakernel` in the variant for a scene.
fn name_for(scene: KernelVariant) -> &'static str {
    match (scene.known_materials(), scene.instanced) {
        _ if scene.materials & NESTED != 0 => "megakernel_nested",
        _ if scene.boundaries => "megakernel_boundaries",
        _ if scene.media => "megakernel_media",
        _ if scene.materials & EXTENDED_KINDS != 0 => "megakernel_extended",
        _ if needs_general_kernel(scene) => "megakernel_alpha_tested",
        (PLAIN_KINDS, false) => "megakernel_plain",
        (PLAIN_KINDS, true) => "megakernel_plain_instanced",
        (_, false) => "megakernel",
        (_, true) => "megakernel_instanced",
    }
}

/// Returns the source of the kernel `megakernel` in the variant for a scene.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    let is_extended = scene.media || scene.materials & EXTENDED_KINDS != 0;
    let variant = if is_extended || needs_general_kernel(scene) {
        let extended = if is_extended { EXTENDED_KINDS } else { 0 };
        KernelVariant {
            materials: ALL_KINDS | RARE_KINDS | extended | scene.materials & NESTED,
            instanced: true,
            alpha_tested: true,
            ..scene
        }
    } else {
        KernelVariant {
            materials: scene.known_materials(),
            ..scene
        }
    };
    stage_for::<Arguments>(
        "kernels/megakernel.cu",
        include_str!("../../kernels/megakernel.cu"),
        name_for(scene),
        variant,
    )
    .constant("MEDIA", u32::from(scene.media))
    .constant("CROSSES_BOUNDARIES", u32::from(scene.boundaries))
    .constant("SCATTERED_PATHS", counts::scattered(0) as u32)
    .constant("TALLY", TALLY)
    .constant("COUNTS_PER_BOUNCE", counts::rays(1) as u32)
    .constant("HITS", counts::hits(0) as u32)
    .constant("SHADOW_RAYS", counts::shadow_rays(0) as u32)
}

/// The loaded kernel of the stage `megakernel`, in the variant for a scene.
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

fn on_cuda(wave: &mut CudaWave) -> Result<(), Error> {
    wave.load_megakernel()?;
    let span = wave.span;
    let count_slots = wave.counts.len() as u32;
    clear(&wave.stream, &mut wave.counts)?;
    clear(&wave.stream, &mut wave.stamps)?;
    let Some(Megakernel(kernel)) = &wave.megakernel else {
        return Ok(());
    };
    kernel.launch(
        &wave.stream,
        Launch::covering(span.path_count, BLOCK_THREADS),
        (
            wave.scene.argument(),
            wave.camera.host,
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
