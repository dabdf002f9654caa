//! When the stages of a wave began, by the GPU's own clock: a stage's kernel keeps the time itself, which costs nothing, and
//! `clock_stamp` keeps it for the sieve, whose kernels are those of `compaction`. A stage ends where the next one begins.

use std::{iter, ops::Range};

use compaction::cuda::{InOut, Launch, Source};

use super::{CudaWave, Stage};
use crate::{Error, device::kernels::stage};

/// The stages of a bounce, in their order.
const BOUNCE: [Stage; 5] = [
    Stage::Intersect,
    Stage::Compact,
    Stage::Shade,
    Stage::Shadow,
    Stage::Compact,
];

/// Where a wave keeps the time, in nanoseconds of the device, at which a bounce's rays begin; 0 for what was not run.
pub(crate) const fn intersect(bounce: u32) -> Range<usize> {
    of_bounce(bounce, 0)
}
/// The same of its first sieve.
pub(crate) const fn sieve_hits(bounce: u32) -> Range<usize> {
    of_bounce(bounce, 1)
}
/// The same of its scattering.
pub(crate) const fn shade(bounce: u32) -> Range<usize> {
    of_bounce(bounce, 2)
}
/// The same of its shadow rays.
pub(crate) const fn shadow(bounce: u32) -> Range<usize> {
    of_bounce(bounce, 3)
}
/// The same of its second sieve.
pub(crate) const fn sieve_survivors(bounce: u32) -> Range<usize> {
    of_bounce(bounce, 4)
}
/// The same of the last stage.
pub(crate) const fn accumulate(max_bounces: u32) -> Range<usize> {
    of_bounce(max_bounces + 1, 0)
}
/// Where it keeps the time at which all is done.
pub(crate) const fn end(max_bounces: u32) -> Range<usize> {
    of_bounce(max_bounces + 1, 1)
}
/// Where it keeps the time at which the megakernel begins, if that is what it is traced by.
pub(crate) const fn megakernel(max_bounces: u32) -> Range<usize> {
    of_bounce(max_bounces + 1, 2)
}
/// Such times in all.
pub(crate) const fn len(max_bounces: u32) -> usize {
    megakernel(max_bounces).end
}

/// Behind that of `generate`, the first of all.
const fn of_bounce(bounce: u32, stage: usize) -> Range<usize> {
    let place = 1 + BOUNCE.len() * bounce as usize + stage;
    place..place + 1
}

/// How long each stage took, in the order of the loop, in milliseconds.
pub(super) fn times(stamps: &[u64], max_bounces: u32) -> Vec<(Stage, f64)> {
    let milliseconds = |from: u64, to: u64| to.saturating_sub(from) as f64 * 1e-6;
    let at = |place: Range<usize>| stamps[place.start];
    let mut next = at(end(max_bounces));
    let megakernel = at(megakernel(max_bounces));
    if megakernel != 0 {
        return vec![(Stage::Megakernel, milliseconds(megakernel, next))];
    }
    let bounces = iter::repeat_n(BOUNCE, max_bounces as usize + 1).flatten();
    let stages: Vec<Stage> = iter::once(Stage::Generate)
        .chain(bounces)
        .chain([Stage::Accumulate])
        .collect();
    // From the last to the first: what was not run begins and ends where the next one begins.
    let mut times: Vec<_> = stages
        .iter()
        .zip(&stamps[..stages.len()])
        .rev()
        .map(|(&stage, &stamp)| {
            let began = if stamp == 0 { next } else { stamp };
            let took = milliseconds(began, next);
            next = began;
            (stage, took)
        })
        .collect();
    times.reverse();
    times
}

/// What the kernel takes.
pub(crate) type Arguments = (InOut<u64>,);

/// The kernel's file.
pub(crate) fn source() -> Source {
    stage::<Arguments>(
        "kernels/clock.cu",
        include_str!("../../kernels/clock.cu"),
        "clock_stamp",
    )
}

/// Keeps the time at which the device gets here.
pub(crate) fn stamp(wave: &mut CudaWave, place: Range<usize>) -> Result<(), Error> {
    let began = (wave.stamps.slice_mut(place),);
    wave.kernels
        .clock_stamp
        .launch(&wave.stream, Launch::blocks(1, 1), began)?;
    Ok(())
}
