//! The stage `compact`: removes paths that ended from the queue.
//!
//! Reads: the queue, and flags by queue entry. Writes: the queue of the entries whose flag is 1, and their number. With
//! the strategy `off` the queue keeps its length, and `NO_PATH` replaces the entries whose flag is 0.
//! Method: stream compaction by the crate `compaction`, with the strategy that the user chose.

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{Compiler, GraphBuffers, Uses},
    cudarc::driver::{CudaContext, CudaStream},
    select::{Select, Strategy, Workspace, cpu},
};

use super::{
    Stage,
    wave::{CpuWave, CudaWave, Wave, clock, counts},
};
use crate::Error;

/// The paths that a compaction keeps. Each bounce runs one compaction of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The paths whose ray hit a surface. This compaction runs after `intersect`.
    Hits,
    /// The paths that continue to the next bounce. This compaction runs after `shadow`.
    Survivors,
}

impl Keep {
    /// Returns the indices, in the [`counts`] of a wave, of the numbers of paths before and after the compaction.
    pub fn counts(self, bounce: u32) -> (usize, usize) {
        match self {
            Keep::Hits => (counts::rays(bounce), counts::hits(bounce)),
            Keep::Survivors => (counts::hits(bounce), counts::survivors(bounce)),
        }
    }
}

/// Removes the paths that ended from the queue of a bounce, and counts those that `keep` names. On CUDA it only
/// enqueues the work.
pub fn compact(wave: &mut Wave, bounce: u32, keep: Keep) -> Result<(), Error> {
    let (before, after) = keep.counts(bounce);
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, before, after)?,
        Wave::Cuda(cuda) => {
            // Without many paths, storing the time would take longer than the stage. Its time then counts as that of
            // the stage before it.
            if cuda.expects_many_paths(bounce) {
                clock::stamp(cuda, clock::start(bounce, Stage::Compact, keep as usize))?;
            }
            on_cuda(cuda, before, after)?;
        }
    }
    wave.mark(Stage::Compact);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, before: usize, after: usize) -> Result<(), Error> {
    let entries = ..wave.queue_length(before);
    let (queue, flags) = (&wave.queue[entries], &wave.flags[entries]);
    let kept = cpu::items(wave.strategy, queue, flags, &mut wave.compacted[entries])?;
    wave.counts[after] = kept as u32;
    std::mem::swap(&mut wave.queue, &mut wave.compacted);
    Ok(())
}

/// The kernels and buffers that compact a queue on a GPU.
pub struct Compactor {
    strategy: Strategy,
    /// The kernels of the strategy.
    select: Select,
    /// The scratch buffers of the strategy.
    workspace: Workspace,
}

impl GraphBuffers for Compactor {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.workspace.visit(uses);
    }
}

impl Compactor {
    /// Loads the kernels of a strategy, and allocates its buffers for queues of up to `capacity` paths.
    pub fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        strategy: Strategy,
        capacity: usize,
    ) -> Result<Compactor, Error> {
        Ok(Compactor {
            strategy,
            select: Select::new(compiler, context, strategy)?,
            workspace: Workspace::for_strategy(stream, strategy, capacity)?,
        })
    }

    /// Returns the strategy whose kernels are loaded.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Returns the maximum length of a queue that the buffers suffice for.
    pub(super) fn capacity(&self) -> usize {
        self.workspace.capacity()
    }

    /// Replaces the buffers by larger ones for queues of up to `capacity` paths.
    pub(super) fn grow(&mut self, stream: &Arc<CudaStream>, capacity: usize) -> Result<(), Error> {
        self.workspace = Workspace::for_strategy(stream, self.strategy, capacity)?;
        Ok(())
    }
}

fn on_cuda(wave: &mut CudaWave, before: usize, after: usize) -> Result<(), Error> {
    let entries = wave.queue_length(before);
    let (counted, mut uncounted) = wave.counts.split_at_mut(after);
    let paths = ..wave.span.path_count as usize;
    wave.compactor.select.items(
        &wave.stream,
        wave.paths.queue.slice(paths),
        wave.paths.flags.slice(paths),
        Count::Device(counted.slice(entries)),
        wave.paths.compacted.slice_mut(paths),
        uncounted.slice_mut(..1),
        &mut wave.compactor.workspace,
    )?;
    std::mem::swap(&mut wave.paths.queue, &mut wave.paths.compacted);
    Ok(())
}
