//! The stage `sort_hits`: sorts the queue of hits by the kind of the material that they hit.
//!
//! Reads: queue, hits, instances, and the scene's materials. Writes: the queue in the new order, and the kinds of the
//! materials into `flags`. Runs only in waves that sort their hits.
//! Method: a stable partition into classes by `compaction`. Adjacent threads of `shade` then take the same branches.
//! The film does not change.

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{Compiler, GraphBuffers, In, Kernel, Source, Uses, uninitialised},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    partition::{Classes, Workspace, cpu},
};

use super::{
    Stage,
    wave::{CpuWave, CudaWave, Wave, counts},
};
use crate::{
    Error,
    accel::instance::{NO_INSTANCE, instance_material},
    device::{
        device_scene::DeviceScene,
        kernels::{BLOCK_THREADS, stage},
        path_buffers::PathBuffers,
    },
    path::NO_PATH,
    shading::material::{KIND_COUNT, NO_KIND},
};

/// Sorts the hits of a bounce by kind of material, or does nothing in waves that do not sort their hits. On CUDA it
/// only enqueues the work.
pub fn sort_hits(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.sorts_hits => on_cpu(cpu, bounce)?,
        Wave::Cuda(cuda) if cuda.sorts_hits => on_cuda(cuda, bounce)?,
        _ => return Ok(()),
    }
    wave.mark(Stage::Compact);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::hits(bounce));
    let scene = &*wave.scene;
    for (kind, &path) in wave.flags[..entries].iter_mut().zip(&wave.queue) {
        *kind = NO_KIND as u8;
        if path != NO_PATH {
            let hit = wave.hits[path as usize];
            let primitive = &scene.primitives[hit.primitive as usize];
            let material = match wave.instances.get(path as usize) {
                Some(&instance) if instance != NO_INSTANCE => {
                    instance_material(&scene.instances[instance as usize], primitive)
                }
                _ => primitive.material,
            };
            *kind = scene.materials[material as usize].kind as u8;
        }
    }
    let mut order = vec![0_u32; entries];
    let mut starts = [0_u32; KIND_COUNT as usize + 1];
    cpu::classes(KIND_COUNT, &wave.flags[..entries], &mut order, &mut starts)?;
    for (path, entry) in wave.compacted.iter_mut().zip(order) {
        *path = wave.queue[entry as usize];
    }
    std::mem::swap(&mut wave.queue, &mut wave.compacted);
    Ok(())
}

/// Parameters of the kernel that writes the kinds of the materials into `flags`: the scene, the paths, the number of
/// queue entries, and 0 for [plain](crate::device::render_scene::RenderScene::is_plain) scenes, else 1.
type KindArguments = (DeviceScene<'static>, PathBuffers<'static>, In<u32>, u32);

/// Parameters of the kernel that writes the sorted queue: the old index of each new queue entry, the paths, and the
/// number of queue entries.
type QueueArguments = (In<u32>, PathBuffers<'static>, In<u32>);

/// Returns the source of the stage's own kernels.
fn source() -> Source {
    stage::<KindArguments>(
        "kernels/sort_hits.cu",
        include_str!("../../kernels/sort_hits.cu"),
        "sort_hits_kinds",
    )
    .kernel::<QueueArguments>("sort_hits_queue")
}

/// Returns the sources of all kernels of the stage, those of `compaction` included.
pub(super) fn sources() -> impl Iterator<Item = Source> {
    let classes = Classes::sources(KIND_COUNT).into_iter().flatten();
    classes.chain([source()])
}

/// The kernels and buffers that sort the queue of hits by kind of material on a GPU.
pub struct HitSorter {
    /// Writes the kinds of the materials that were hit.
    kinds: Kernel<KindArguments>,
    /// Writes the sorted queue.
    queue: Kernel<QueueArguments>,
    /// Computes the order of the queue entries from the kinds.
    classes: Classes,
    /// The old index of each new queue entry.
    order: CudaSlice<u32>,
    /// Index of the first queue entry of each kind, and the number of entries; not used by the renderer.
    starts: CudaSlice<u32>,
    /// Scratch memory of `classes`.
    workspace: Workspace,
}

impl GraphBuffers for HitSorter {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.order.visit(uses);
        self.starts.visit(uses);
        self.workspace.visit(uses);
    }
}

impl HitSorter {
    /// Loads the kernels, and allocates buffers for queues of up to `capacity` paths.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        capacity: usize,
    ) -> Result<HitSorter, Error> {
        let file = compiler.load(context, &source())?;
        Ok(HitSorter {
            kinds: file.kernel("sort_hits_kinds")?,
            queue: file.kernel("sort_hits_queue")?,
            classes: Classes::new(compiler, context, KIND_COUNT)?,
            order: uninitialised(stream, capacity)?,
            starts: uninitialised(stream, KIND_COUNT as usize + 1)?,
            workspace: Workspace::with_capacity(stream, capacity)?,
        })
    }
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let entries = wave.queue_length(counts::hits(bounce));
    let grid = wave.queue_grid(bounce, BLOCK_THREADS);
    let is_instanced = wave.is_instanced();
    let Some(sorter) = &mut wave.hit_sorter else {
        return Ok(());
    };
    sorter.kinds.launch(
        &wave.stream,
        grid,
        (
            wave.scene.argument(),
            wave.paths.argument(),
            wave.counts.slice(entries.clone()),
            u32::from(is_instanced),
        ),
    )?;
    let paths = ..wave.span.path_count as usize;
    sorter.classes.indices(
        &wave.stream,
        wave.paths.flags.slice(paths),
        Count::Device(wave.counts.slice(entries.clone())),
        sorter.order.slice_mut(paths),
        &mut sorter.starts,
        &mut sorter.workspace,
    )?;
    sorter.queue.launch(
        &wave.stream,
        grid,
        (
            sorter.order.as_view(),
            wave.paths.argument(),
            wave.counts.slice(entries),
        ),
    )?;
    std::mem::swap(&mut wave.paths.queue, &mut wave.paths.compacted);
    Ok(())
}
