//! Times of the stages on a GPU, taken from the GPU's own clock.
//!
//! Each kernel stores the time at which it begins in a buffer of the wave, which costs nothing measurable. The kernels
//! of `compaction` do not, so a kernel of one thread, `clock_stamp`, runs before them. A stage ends when the next one
//! begins.
//!
//! The buffer has an entry for each run of a stage, whether it takes place or not: `generate`, then the runs of each
//! bounce, then `accumulate`, the end of the wave, and `megakernel`. Indices are ranges of length 1, by which the
//! buffer is sliced.

use std::{iter, ops::Range};

use compaction::cuda::{InOut, Launch, Source};

use super::{CudaWave, Stage};
use crate::{Error, device::kernels::stage};

/// Number of stage runs per bounce.
const RUNS: usize = Stage::BOUNCE.len();

/// Returns the index of the time stamp of the beginning of a stage in a bounce, as a range of length 1. `run` is 0 for
/// the first run of the stage in the bounce, 1 for the second.
///
/// Times are in nanoseconds of the GPU's clock; 0 means that the stage did not run.
///
/// # Panics
/// If the stage has fewer than `run` + 1 runs in a bounce.
pub(crate) fn start(bounce: u32, stage: Stage, run: usize) -> Range<usize> {
    let mut runs = (0..RUNS).filter(|&place| Stage::BOUNCE[place] == stage);
    let place = runs.nth(run).expect("a stage of the bounce");
    let start = 1 + RUNS * bounce as usize + place;
    start..start + 1
}

/// Returns the index of the time stamp of the beginning of `accumulate`, as a range of length 1.
pub(crate) const fn accumulate(max_bounces: u32) -> Range<usize> {
    after_bounces(max_bounces, 0)
}

/// Returns the index of the time stamp of the end of the wave, as a range of length 1.
pub(crate) const fn end(max_bounces: u32) -> Range<usize> {
    after_bounces(max_bounces, 1)
}

/// Returns the index of the time stamp of the beginning of `megakernel`, which replaces the other stages, as a range of
/// length 1.
pub(crate) const fn megakernel(max_bounces: u32) -> Range<usize> {
    after_bounces(max_bounces, 2)
}

/// Returns the length of a wave's buffer of time stamps, which has entries also for stages that do not run.
pub(crate) const fn len(max_bounces: u32) -> usize {
    megakernel(max_bounces).end
}

/// Returns the index of entry `place` after the time stamps of all bounces, as a range of length 1. The time stamps
/// begin with that of `generate`, at index 0.
const fn after_bounces(max_bounces: u32, place: usize) -> Range<usize> {
    let start = 1 + RUNS * (max_bounces as usize + 1) + place;
    start..start + 1
}

/// Returns each run of a stage with its duration in milliseconds, in the order of the loop; only `megakernel` if that
/// ran.
///
/// `stamps` are the time stamps of one wave. Runs that did not take place have the duration 0.
pub(super) fn times(stamps: &[u64], max_bounces: u32) -> Vec<(Stage, f64)> {
    let milliseconds = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-6;
    let at = |place: Range<usize>| stamps[place.start];
    let mut next = at(end(max_bounces));
    let megakernel = at(megakernel(max_bounces));
    if megakernel != 0 {
        return vec![(Stage::Megakernel, milliseconds(megakernel, next))];
    }
    let bounces = iter::repeat_n(Stage::BOUNCE, max_bounces as usize + 1).flatten();
    let stages: Vec<Stage> = iter::once(Stage::Generate)
        .chain(bounces)
        .chain([Stage::Accumulate])
        .collect();
    // Backwards, because a stage that did not run begins and ends where the next one begins.
    let mut times: Vec<_> = stages
        .iter()
        .zip(&stamps[..stages.len()])
        .rev()
        .map(|(&stage, &stamp)| {
            let began = if stamp == 0 { next } else { stamp };
            let duration = milliseconds(began, next);
            next = began;
            (stage, duration)
        })
        .collect();
    times.reverse();
    times
}

/// Parameters of the kernel: the buffer of one entry in which it stores the time.
pub(crate) type Arguments = (InOut<u64>,);

/// Returns the source of the kernel that stores the GPU's time.
pub(crate) fn source() -> Source {
    stage::<Arguments>(
        "kernels/clock.cu",
        include_str!("../../../kernels/clock.cu"),
        "clock_stamp",
    )
}

/// Enqueues a kernel that stores the GPU's time at index `place` of the wave's time stamps. See [`start`] and the other
/// functions for the indices.
pub(crate) fn stamp(wave: &mut CudaWave, place: Range<usize>) -> Result<(), Error> {
    let began = (wave.stamps.slice_mut(place),);
    wave.kernels
        .clock_stamp
        .launch(&wave.stream, Launch::blocks(1, 1), began)?;
    Ok(())
}
