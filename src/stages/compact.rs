//! sieve: compaction of the queue.
//!
//! Reads: queue, flags by lane. Writes: the queue of the flagged paths, and their count. By the strategy `off` the queue
//! keeps its length, with `NO_PATH` in the lanes that fell through.

use std::ops::Range;

use compaction::Count;

use crate::{
    Error,
    wave::{CpuWave, CudaWave, Stage, Wave, clock, counts},
};

/// Which paths stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Those whose ray hit.
    Hits,
    /// Those that go on.
    Survivors,
}

impl Keep {
    /// Where the counts hold what goes in, and what stays.
    fn counts(self, bounce: u32) -> (usize, usize) {
        match self {
            Keep::Hits => (counts::rays(bounce), counts::hits(bounce)),
            Keep::Survivors => (counts::hits(bounce), counts::survivors(bounce)),
        }
    }

    /// Where a wave on a GPU keeps the time at which it begins.
    fn began(self, bounce: u32) -> Range<usize> {
        match self {
            Keep::Hits => clock::sieve_hits(bounce),
            Keep::Survivors => clock::sieve_survivors(bounce),
        }
    }
}

/// Runs the stage.
pub fn compact(wave: &mut Wave, bounce: u32, keep: Keep) -> Result<(), Error> {
    let (before, after) = keep.counts(bounce);
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, before, after)?,
        Wave::Cuda(cuda) => {
            // Where no path is expected it takes longer than what it tells: the sieve counts as the stage before then.
            if cuda.is_busy(bounce) {
                clock::stamp(cuda, keep.began(bounce))?;
            }
            on_cuda(cuda, before, after)?;
        }
    }
    wave.mark(Stage::Compact);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave, before: usize, after: usize) -> Result<(), Error> {
    let lanes = wave.lanes(before);
    let (queue, flags) = (&wave.queue[..lanes], &wave.flags[..lanes]);
    let kept =
        compaction::select::cpu::items(wave.strategy, queue, flags, &mut wave.compacted[..lanes])?;
    wave.counts[after] = kept as u32;
    std::mem::swap(&mut wave.queue, &mut wave.compacted);
    Ok(())
}

fn on_cuda(wave: &mut CudaWave, before: usize, after: usize) -> Result<(), Error> {
    let lanes = wave.lanes(before);
    let (counted, mut uncounted) = wave.counts.split_at_mut(after);
    let paths = ..wave.span.path_count as usize;
    wave.select.items(
        &wave.stream,
        &wave.paths.queue.slice(paths),
        &wave.paths.flags.slice(paths),
        Count::Device(counted.slice(lanes)),
        &mut wave.paths.compacted.slice_mut(paths),
        &mut uncounted.slice_mut(..1),
        &mut wave.workspace,
    )?;
    std::mem::swap(&mut wave.paths.queue, &mut wave.paths.compacted);
    Ok(())
}
