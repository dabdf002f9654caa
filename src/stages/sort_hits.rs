//! The stage `sort_hits`: sorts the queue of hits by the kind of the material that they hit.
//!
//! Reads: queue, hits, instances, and the scene's materials. Writes: the queue in the new order, and the kinds of the
//! materials into `flags`. Runs only in waves that sort their hits.
//! Method: a stable partition into classes and a gather, both by `compaction`. Adjacent threads of `shade` then take the same branches.
//! The film does not change.

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{Compiler, GraphBuffers, In, Kernel, Source, Uses, uninitialised},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    gather::{self, Gather},
    partition::{self, Classes},
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
    partition::cpu::classes(KIND_COUNT, &wave.flags[..entries], &mut order, &mut starts)?;
    gather::cpu::gather(&wave.queue, &order, &mut wave.compacted)?;
    std::mem::swap(&mut wave.queue, &mut wave.compacted);
    Ok(())
}

/// Parameters of the kernel that writes the kinds of the materials into `flags`: the scene, the paths, the number of
/// queue entries, and 0 for [plain](crate::device::render_scene::RenderScene::is_plain) scenes, else 1.
type KindArguments = (DeviceScene<'static>, PathBuffers<'static>, In<u32>, u32);

/// Returns the source of the stage's own kernel.
fn source() -> Source {
    stage::<KindArguments>(
        "kernels/sort_hits.cu",
        include_str!("../../kernels/sort_hits.cu"),
        "sort_hits",
    )
}

/// Returns the sources of all kernels of the stage, those of `compaction` included.
pub(super) fn sources() -> impl Iterator<Item = Source> {
    let classes = Classes::sources(KIND_COUNT).into_iter().flatten();
    classes.chain(Gather::<u32>::sources()).chain([source()])
}

/// The kernels and buffers that sort the queue of hits by kind of material on a GPU.
pub struct HitSorter {
    /// Writes the kinds of the materials that were hit.
    kinds: Kernel<KindArguments>,
    /// Computes the order of the queue entries from the kinds.
    classes: Classes,
    /// Writes the sorted queue.
    gather: Gather<u32>,
    /// The old index of each new queue entry.
    order: CudaSlice<u32>,
    /// Index of the first queue entry of each kind, and the number of entries; not used by the renderer.
    starts: CudaSlice<u32>,
    /// Scratch memory of `classes`.
    class_workspace: partition::Workspace,
    /// Scratch memory of `gather`.
    gather_workspace: gather::Workspace,
}

impl GraphBuffers for HitSorter {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.order.visit(uses);
        self.starts.visit(uses);
        self.class_workspace.visit(uses);
        self.gather_workspace.visit(uses);
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
        Ok(HitSorter {
            kinds: compiler.load(context, &source())?.kernel("sort_hits")?,
            gather: Gather::new(compiler, context)?,
            classes: Classes::new(compiler, context, KIND_COUNT)?,
            order: uninitialised(stream, capacity)?,
            starts: uninitialised(stream, KIND_COUNT as usize + 1)?,
            class_workspace: partition::Workspace::with_capacity(stream, capacity)?,
            gather_workspace: gather::Workspace::new(stream)?,
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
        &mut sorter.class_workspace,
    )?;
    sorter.gather.items(
        &wave.stream,
        &wave.paths.queue,
        sorter.order.slice(paths),
        Count::Device(wave.counts.slice(entries)),
        &mut wave.paths.compacted,
        &mut sorter.gather_workspace,
    )?;
    std::mem::swap(&mut wave.paths.queue, &mut wave.paths.compacted);
    Ok(())
}
