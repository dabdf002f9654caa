//! The stage `scatter`: scatters paths in media before they reach the surface that their ray hit.
//!
//! Reads: queue, rays, hits, throughputs, radiances (bodies), and the scene. Writes by path: throughputs, and of paths
//! that scatter the next rays, radiances (light that nothing blocks) and instances. Clears the flags of their queue
//! entries, so that they leave the hits. They are compacted into a queue of their own, get shadow rays and next rays, and
//! [`rejoin`] makes them live again. Counts them. In scenes without media the stage does nothing.
//! Method: see [`vertex::scattering`](crate::vertex::scattering). A shadow ray stays in one medium, because every surface
//! blocks it. Scenes with boundaries of media have a kernel variant: paths pass those, see
//! [`vertex::boundaries`](crate::vertex::boundaries), so that the stage also writes hits, and the light of the sky.

use std::sync::Arc;

use compaction::{
    cuda::{Compiler, GraphBuffers, In, InOut, Kernel, Source, Uses, uninitialised},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
};

use super::{
    Stage, shadow,
    wave::{CpuWave, CudaWave, Wave, counts},
};
use crate::{
    Error,
    accel::instance::{InstanceHit, NO_INSTANCE},
    device::{
        device_scene::DeviceScene,
        kernel_variant::KernelVariant,
        kernels::{BLOCK_THREADS, stage_for},
        path_buffers::PathBuffers,
        render_scene::RenderScene,
    },
    path::{NO_PATH, NO_PRIMITIVE, SCATTERED},
    shading::{
        bodies::INNERMOST,
        material::{ALL_KINDS, EXTENDED_KINDS, NESTED, RARE_KINDS},
    },
    vertex::{
        boundaries::{arriving_light, cross_boundaries, is_boundary},
        rays::escaped_light,
        scattering::{fly, medium_before, scatter_path},
        shading::{Ended, Vertex},
    },
};

/// Scatters the paths of a bounce that do not reach their hit, or does nothing without media. On CUDA it only enqueues
/// the work.
pub fn scatter(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.has_media() => on_cpu(cpu, bounce),
        Wave::Cuda(cuda) if cuda.scatterer.is_some() => on_cuda(cuda, bounce)?,
        _ => return Ok(()),
    }
    wave.mark(Stage::Intersect);
    Ok(())
}

/// The queues by which scattered paths leave the hits and become live again, on the CPU; empty in scenes without media.
#[derive(Default)]
pub struct ScatterQueues {
    /// The queue before hits were compacted.
    live: Vec<u32>,
    /// By path: whether it continues to the next bounce.
    survives: Vec<bool>,
}

impl ScatterQueues {
    /// Allocates the queues for up to `capacity` paths.
    pub fn new(capacity: usize) -> ScatterQueues {
        ScatterQueues {
            live: vec![0; capacity],
            survives: vec![false; capacity],
        }
    }
}

/// A path that was in a medium, or passed boundaries, on the way to its hit.
pub(crate) struct Passage {
    /// Where the path scatters, or the state in which it reaches its hit.
    pub(crate) vertex: Vertex,
    /// What its ray hits behind all boundaries.
    pub(crate) found: InstanceHit,
    /// If the path scatters, whether it continues or why it will end.
    pub(crate) scattered: Option<Result<(), Ended>>,
}

/// Returns the way of a path through media to its hit; `None` if there is none on its way. Does not change the wave.
pub(crate) fn passage(wave: &CpuWave, bounce: u32, path: usize) -> Option<Passage> {
    let (scene, hit) = (&wave.scene, &wave.hits[path]);
    if scene.media.is_empty() {
        return None;
    }
    let bodies = wave.radiances[path].history >> 1;
    let mut found = InstanceHit {
        hit: *hit,
        instance: wave.instances[path],
    };
    let (ray, throughput) = (wave.rays[path], wave.throughputs[path]);
    let numbers = wave.path_sampler(path);
    let mut vertex = Vertex::new(numbers, bounce, NO_INSTANCE, ray, throughput);
    vertex.bodies = bodies;
    let scatters = if scene.has_boundaries() {
        if bodies == 0 && !is_boundary(scene, &found, bodies) {
            return None;
        }
        cross_boundaries(scene, &mut found, &mut vertex)
    } else {
        fly(medium_before(scene, hit, bodies)?, hit, &mut vertex)
    };
    let scattered = scatters.then(|| {
        let medium = &scene.media[(vertex.bodies & INNERMOST) as usize - 1];
        scatter_path(scene, bounce < wave.max_bounces, medium, &mut vertex)
    });
    Some(Passage {
        vertex,
        found,
        scattered,
    })
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) {
    let scene = wave.scene.clone();
    for entry in 0..wave.queue_length(counts::rays(bounce)) {
        wave.scatter.live[entry] = wave.queue[entry];
        if wave.queue[entry] == NO_PATH {
            continue;
        }
        let path = wave.queue[entry] as usize;
        wave.scatter.survives[path] = false;
        let Some(passage) = passage(wave, bounce, path) else {
            continue;
        };
        let (vertex, found) = (&passage.vertex, &passage.found);
        let Some(end) = passage.scattered else {
            wave.throughputs[path] = vertex.throughput;
            if scene.has_boundaries() {
                reach(wave, &scene, bounce, (entry, path), vertex, found);
            }
            continue;
        };
        wave.flags[entry] = 0;
        wave.instances[path] = NO_INSTANCE;
        wave.counts[counts::scattered(bounce)] += 1;
        if vertex.shadow_ray.distance > 0.0 {
            wave.counts[counts::shadow_rays(bounce)] += 1;
            if let Some(light) = arriving_light::<true>(&scene, vertex, NO_INSTANCE) {
                wave.radiances[path].rgb += light;
            }
        }
        if end.is_ok() {
            wave.rays[path] = vertex.ray;
            wave.throughputs[path] = vertex.throughput;
            wave.radiances[path].history = vertex.bodies << 1 | SCATTERED;
            wave.scatter.survives[path] = true;
        }
    }
}

/// Stores what a path has hit behind boundaries, and the bodies that it is inside there. If it has hit nothing there,
/// adds the light of the sky.
fn reach(
    wave: &mut CpuWave,
    scene: &RenderScene,
    bounce: u32,
    (entry, path): (usize, usize),
    vertex: &Vertex,
    found: &InstanceHit,
) {
    let had_missed = wave.hits[path].primitive == NO_PRIMITIVE;
    wave.hits[path] = found.hit;
    wave.instances[path] = found.instance;
    let radiance = &mut wave.radiances[path];
    let scattered = radiance.history & SCATTERED != 0;
    radiance.history = vertex.bodies << 1 | radiance.history & SCATTERED;
    if found.hit.primitive == NO_PRIMITIVE && !had_missed {
        wave.flags[entry] = 0;
        let (lights, throughput) = (scene.lights(), vertex.throughput.rgb);
        radiance.rgb += escaped_light(&lights, &vertex.ray, throughput, scattered, bounce);
    }
}

/// Replaces the queue of hits by the one before hits were compacted, with the flags of all paths that continue, scattered
/// or not. Returns whether it did; without media it does nothing.
pub(super) fn rejoin(wave: &mut Wave, bounce: u32) -> Result<bool, Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.has_media() => rejoin_on_cpu(cpu, bounce),
        Wave::Cuda(cuda) if cuda.scatterer.is_some() => rejoin_on_cuda(cuda, bounce)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn rejoin_on_cpu(wave: &mut CpuWave, bounce: u32) {
    for entry in 0..wave.queue_length(counts::hits(bounce)) {
        if wave.queue[entry] != NO_PATH {
            wave.scatter.survives[wave.queue[entry] as usize] = wave.flags[entry] == 1;
        }
    }
    for entry in 0..wave.queue_length(counts::rays(bounce)) {
        let path = wave.scatter.live[entry];
        wave.queue[entry] = path;
        let survives = path != NO_PATH && wave.scatter.survives[path as usize];
        wave.flags[entry] = u8::from(survives);
    }
}

compaction::shared! {
    /// Buffers of the stage `scatter`, as the kernel that finds the paths that scatter receives them.
    pub struct ScatterBuffers<'a> {
        /// The queue before hits were compacted.
        pub live: InOut<u32>,
        /// The paths that scatter, compacted by `flags`.
        pub scattered: InOut<u32>,
        /// By queue entry of `live`: 1 if the path scatters, else 0.
        pub flags: InOut<u8>,
        /// By path: 1 if the path continues to the next bounce, else 0.
        pub survives: InOut<u8>,
    }
}

/// Parameters of the kernel that finds the paths that scatter: the scene, the paths, the buffers of the stage, the
/// bounce, and the number of queue entries.
type FindArguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    ScatterBuffers<'static>,
    u32,
    In<u32>,
);

/// Parameters of the kernel that scatters them: the scene, the paths, whether each continues, the bounce, the number of
/// queue entries, 1 if paths may scatter else 0, and the count of shadow rays.
type ScatterArguments = (
    DeviceScene<'static>,
    PathBuffers<'static>,
    InOut<u8>,
    u32,
    In<u32>,
    u32,
    InOut<u32>,
);

/// Parameters of the kernel that notes which hits continue: the paths, whether each continues, and the number of queue
/// entries.
type NoteArguments = (PathBuffers<'static>, InOut<u8>, In<u32>);

/// Parameters of the kernel that sets the flags: the paths, whether each continues, and the number of queue entries.
type RejoinArguments = (PathBuffers<'static>, In<u8>, In<u32>);

/// Returns the name of the kernel that finds the paths that scatter, in the variant for a scene.
fn name_for(scene: KernelVariant) -> &'static str {
    if scene.materials & NESTED != 0 {
        "scatter_find_in_nested_bodies"
    } else if scene.boundaries {
        "scatter_find_behind_boundaries"
    } else {
        "scatter_find"
    }
}

/// Returns the source of the kernels, for scenes with any features, with or without boundaries of media.
pub(super) fn source_for(scene: KernelVariant) -> Source {
    stage_for::<FindArguments>(
        "kernels/scatter.cu",
        include_str!("../../kernels/scatter.cu"),
        name_for(scene),
        KernelVariant {
            materials: ALL_KINDS | RARE_KINDS | EXTENDED_KINDS | scene.materials & NESTED,
            instanced: true,
            alpha_tested: scene.boundaries,
            ..KernelVariant::PLAIN
        },
    )
    .constant("CROSSES_BOUNDARIES", u32::from(scene.boundaries))
    .kernel::<ScatterArguments>("scatter_found")
    .kernel::<NoteArguments>("scatter_note")
    .kernel::<RejoinArguments>("scatter_rejoin")
}

/// The kernels and buffers of the stage on a GPU, for scenes with media.
pub struct Scatterer {
    find: Kernel<FindArguments>,
    scatter: Kernel<ScatterArguments>,
    note: Kernel<NoteArguments>,
    rejoin: Kernel<RejoinArguments>,
    buffers: Buffers,
}

/// The memory of [`ScatterBuffers`].
struct Buffers {
    live: CudaSlice<u32>,
    scattered: CudaSlice<u32>,
    flags: CudaSlice<u8>,
    survives: CudaSlice<u8>,
}

impl Buffers {
    /// Allocates buffers for up to `capacity` paths.
    fn new(stream: &Arc<CudaStream>, capacity: usize) -> Result<Buffers, Error> {
        Ok(Buffers {
            live: uninitialised(stream, capacity)?,
            scattered: uninitialised(stream, capacity)?,
            flags: uninitialised(stream, capacity)?,
            survives: uninitialised(stream, capacity)?,
        })
    }
}

impl GraphBuffers for Scatterer {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        let buffers = &mut self.buffers;
        buffers.live.visit(uses);
        buffers.scattered.visit(uses);
        buffers.flags.visit(uses);
        buffers.survives.visit(uses);
    }
}

impl Scatterer {
    /// Loads the kernels in the variant for a scene, and allocates buffers for up to `capacity` paths.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        scene: KernelVariant,
        capacity: usize,
    ) -> Result<Scatterer, Error> {
        let file = compiler.load(context, &source_for(scene))?;
        Ok(Scatterer {
            find: file.kernel(name_for(scene))?,
            scatter: file.kernel("scatter_found")?,
            note: file.kernel("scatter_note")?,
            rejoin: file.kernel("scatter_rejoin")?,
            buffers: Buffers::new(stream, capacity)?,
        })
    }

    /// Replaces the buffers by larger ones for up to `capacity` paths.
    pub(super) fn grow(&mut self, stream: &Arc<CudaStream>, capacity: usize) -> Result<(), Error> {
        self.buffers = Buffers::new(stream, capacity)?;
        Ok(())
    }
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let Some(mut scatterer) = wave.scatterer.take() else {
        return Ok(());
    };
    let result = find(wave, &mut scatterer, bounce).and_then(|()| {
        std::mem::swap(&mut wave.paths.queue, &mut scatterer.buffers.scattered);
        let result = scatter_found(wave, &mut scatterer, bounce);
        std::mem::swap(&mut wave.paths.queue, &mut scatterer.buffers.scattered);
        result
    });
    wave.scatterer = Some(scatterer);
    result
}

/// Finds the paths that scatter, and compacts them into a queue of their own.
fn find(wave: &mut CudaWave, scatterer: &mut Scatterer, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::rays(bounce));
    scatterer.find.launch(
        &wave.stream,
        wave.queue_grid(bounce, BLOCK_THREADS),
        (
            wave.scene.argument(),
            wave.paths.argument(),
            ScatterBuffers {
                live: scatterer.buffers.live.as_view_mut(),
                scattered: scatterer.buffers.scattered.as_view_mut(),
                flags: scatterer.buffers.flags.as_view_mut(),
                survives: scatterer.buffers.survives.as_view_mut(),
            },
            bounce,
            wave.counts.slice(entries.clone()),
        ),
    )?;
    let (paths, scattered) = (..wave.span.path_count as usize, counts::scattered(bounce));
    wave.compactor.compact(
        &wave.stream,
        (
            wave.paths.queue.slice(paths),
            scatterer.buffers.flags.slice(paths),
        ),
        scatterer.buffers.scattered.slice_mut(paths),
        &mut wave.counts,
        (entries, scattered),
    )
}

/// Scatters the paths of the queue of scattered paths, which must be that of the wave, and traces their shadow rays.
fn scatter_found(wave: &mut CudaWave, scatterer: &mut Scatterer, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::scattered(bounce));
    let grid = wave.queue_grid(bounce, BLOCK_THREADS);
    let (counted, mut uncounted) = wave.counts.split_at_mut(counts::shadow_rays(bounce));
    scatterer.scatter.launch(
        &wave.stream,
        grid,
        (
            wave.scene.argument(),
            wave.paths.argument(),
            scatterer.buffers.survives.as_view_mut(),
            bounce,
            counted.slice(entries.clone()),
            u32::from(bounce < wave.max_bounces),
            uncounted.slice_mut(..1),
        ),
    )?;
    shadow::launch(wave, bounce, entries)
}

fn rejoin_on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let (hits, rays) = (
        wave.queue_length(counts::hits(bounce)),
        wave.queue_length(counts::rays(bounce)),
    );
    let grid = wave.queue_grid(bounce, BLOCK_THREADS);
    let Some(scatterer) = &mut wave.scatterer else {
        return Ok(());
    };
    scatterer.note.launch(
        &wave.stream,
        grid,
        (
            wave.paths.argument(),
            scatterer.buffers.survives.as_view_mut(),
            wave.counts.slice(hits),
        ),
    )?;
    std::mem::swap(&mut wave.paths.queue, &mut scatterer.buffers.live);
    scatterer.rejoin.launch(
        &wave.stream,
        grid,
        (
            wave.paths.argument(),
            scatterer.buffers.survives.as_view(),
            wave.counts.slice(rays),
        ),
    )?;
    Ok(())
}
