//! partition: the queue of hits, ordered by the kind of material that they hit.
//!
//! Reads: queue, hits, instances, the scene's materials. Writes: the queue. A stage of waves that ask for it: what `shade`
//! does next in neighbouring lanes is of one kind, and all else is as it was.

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{Compiler, In, InOut, Kernel, Source, uninitialised},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    partition::{Classes, Workspace, cpu},
};

use crate::{
    Error,
    instance::{Instance, NO_INSTANCE, placed_material},
    kernels::stage,
    material::{KIND_COUNT, Material, NO_KIND},
    path::{Hit, NO_PATH},
    primitive::Primitive,
    wave::{CpuWave, CudaWave, Stage, Wave, counts},
};

/// Runs the stage, in a wave that asks for it.
pub fn partition(wave: &mut Wave, bounce: u32) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) if cpu.partitions => on_cpu(cpu, bounce)?,
        Wave::Cuda(cuda) if cuda.orders => on_cuda(cuda, bounce)?,
        _ => return Ok(()),
    }
    wave.mark(Stage::Sieve);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::hits(bounce));
    let world = &*wave.world;
    for (kind, &path) in wave.flags[..lanes].iter_mut().zip(&wave.queue) {
        *kind = NO_KIND as u8;
        if path != NO_PATH {
            let hit = wave.hits[path as usize];
            let primitive = &world.primitives[hit.primitive as usize];
            let material = match wave.instances.get(path as usize) {
                Some(&instance) if instance != NO_INSTANCE => {
                    placed_material(&world.instances[instance as usize], primitive)
                }
                _ => primitive.material,
            };
            *kind = world.materials[material as usize].kind as u8;
        }
    }
    let mut order = vec![0_u32; lanes];
    let mut starts = [0_u32; KIND_COUNT as usize + 1];
    cpu::classes(KIND_COUNT, &wave.flags[..lanes], &mut order, &mut starts)?;
    for (slot, lane) in wave.sieved.iter_mut().zip(order) {
        *slot = wave.queue[lane as usize];
    }
    std::mem::swap(&mut wave.queue, &mut wave.sieved);
    Ok(())
}

/// What the kernel takes that tells kinds.
type KindArguments = (
    In<Primitive>,
    In<Instance>,
    In<Material>,
    u32,
    In<u32>,
    In<u32>,
    In<Hit>,
    In<u32>,
    InOut<u8>,
);

/// What the kernel takes that orders the queue.
type QueueArguments = (In<u32>, In<u32>, In<u32>, InOut<u32>);

/// The stage's own kernels.
fn source() -> Source {
    stage::<KindArguments>(
        "kernels/partition.cu",
        include_str!("../../kernels/partition.cu"),
        "partition_kinds",
    )
    .kernel::<QueueArguments>("partition_queue")
}

/// The files of all that it takes.
pub(super) fn sources() -> impl Iterator<Item = Source> {
    let classes = Classes::sources(KIND_COUNT).into_iter().flatten();
    classes.chain([source()])
}

/// What a wave on a GPU partitions by.
pub struct Partitioner {
    kinds: Kernel<KindArguments>,
    queue: Kernel<QueueArguments>,
    classes: Classes,
    order: CudaSlice<u32>,
    starts: CudaSlice<u32>,
    workspace: Workspace,
}

impl Partitioner {
    /// For queues of up to `capacity` paths.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        capacity: usize,
    ) -> Result<Partitioner, Error> {
        let file = compiler.load(context, &source())?;
        Ok(Partitioner {
            kinds: file.kernel("partition_kinds")?,
            queue: file.kernel("partition_queue")?,
            classes: Classes::new(compiler, context, KIND_COUNT)?,
            order: uninitialised(stream, capacity)?,
            starts: uninitialised(stream, KIND_COUNT as usize + 1)?,
            workspace: Workspace::with_capacity(stream, capacity)?,
        })
    }
}

fn on_cuda(wave: &mut CudaWave, bounce: u32) -> Result<(), Error> {
    let lanes = wave.lanes(counts::hits(bounce));
    let grid = wave.over_lanes(bounce);
    let Some(by) = &mut wave.partitioner else {
        return Ok(());
    };
    by.kinds.launch(
        &wave.stream,
        grid,
        (
            wave.primitives.as_view(),
            wave.placed.as_view(),
            wave.materials.as_view(),
            u32::from(wave.scene.placed),
            wave.counts.slice(lanes.clone()),
            wave.queue.as_view(),
            wave.hits.as_view(),
            wave.instances.as_view(),
            wave.flags.as_view_mut(),
        ),
    )?;
    let paths = ..wave.span.path_count as usize;
    by.classes.indices(
        &wave.stream,
        &wave.flags.slice(paths),
        Count::Device(wave.counts.slice(lanes.clone())),
        &mut by.order.slice_mut(paths),
        &mut by.starts.as_view_mut(),
        &mut by.workspace,
    )?;
    by.queue.launch(
        &wave.stream,
        grid,
        (
            wave.counts.slice(lanes),
            by.order.as_view(),
            wave.queue.as_view(),
            wave.sieved.as_view_mut(),
        ),
    )?;
    std::mem::swap(&mut wave.queue, &mut wave.sieved);
    Ok(())
}
