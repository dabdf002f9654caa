//! The stage `compact`: removes paths that ended from the queue.
//!
//! Reads: the queue, and flags by queue entry. Writes: the queue of the entries whose flag is 1, and their number. With
//! the strategy `off` the queue keeps its length, and `NO_PATH` replaces the entries whose flag is 0.
//! Method: stream compaction by the crate `compaction`, with the strategy that the user chose.

use std::{ops::Range, sync::Arc};

use compaction::{
    Count,
    cuda::{Compiler, GraphBuffers, Uses},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut},
    select::{Select, Strategy, Workspace, cpu},
};

use super::{
    Stage,
    scatter::rejoin,
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
    let (mut before, after) = keep.counts(bounce);
    if keep == Keep::Survivors && rejoin(wave, bounce)? {
        before = counts::rays(bounce);
    }
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

    /// Compacts the entries of `queue` whose flag is 1 into `kept`. Reads the length of the queue at `before` in `counts`,
    /// and writes the number of entries that it keeps to the later index `after`.
    pub(super) fn compact(
        &mut self,
        stream: &Arc<CudaStream>,
        (queue, flags): (CudaView<u32>, CudaView<u8>),
        kept: CudaViewMut<u32>,
        counts: &mut CudaSlice<u32>,
        (before, after): (Range<usize>, usize),
    ) -> Result<(), Error> {
        let (counted, mut uncounted) = counts.split_at_mut(after);
        self.select.items(
            stream,
            queue,
            flags,
            Count::Device(counted.slice(before)),
            kept,
            uncounted.slice_mut(..1),
            &mut self.workspace,
        )?;
        Ok(())
    }

    /// Replaces the buffers by larger ones for queues of up to `capacity` paths.
    pub(super) fn grow(&mut self, stream: &Arc<CudaStream>, capacity: usize) -> Result<(), Error> {
        self.workspace = Workspace::for_strategy(stream, self.strategy, capacity)?;
        Ok(())
    }
}

fn on_cuda(wave: &mut CudaWave, before: usize, after: usize) -> Result<(), Error> {
    let entries = wave.queue_length(before);
    let paths = ..wave.span.path_count as usize;
    wave.compactor.compact(
        &wave.stream,
        (wave.paths.queue.slice(paths), wave.paths.flags.slice(paths)),
        wave.paths.compacted.slice_mut(paths),
        &mut wave.counts,
        (entries, after),
    )?;
    std::mem::swap(&mut wave.paths.queue, &mut wave.paths.compacted);
    Ok(())
}
