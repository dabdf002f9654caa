//! The stage `test_convergence`: decides after each round of adaptive sampling which pixels need more samples.
//!
//! Reads: the film's sums, and the list of the pixels that had the round. Writes: the noise of each pixel, and the list of
//! pixels that need more samples, compacted in order.
//! A pixel is tested by its own samples alone, so that the film does not depend on which device renders it, or when.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    Count,
    cuda::{In, InOut, Launch, Source, download, rest},
    cudarc::driver::{CudaSlice, CudaStream, CudaView},
    select::Strategy,
};
use glam::Vec3;
use rayon::prelude::*;

use super::wave::{CpuWave, CudaRounds, CudaWave, Wave};
use crate::{
    Error,
    adaptive::{
        pixel_noise::{
            ConvergenceTest, PixelNoise, after_round, error_units, has_converged, samples_to_go,
        },
        schedule::RoundResult,
    },
    device::kernels::{BLOCK_THREADS, stage},
    film::mean,
};

/// Where the tally has the errors of pixels that the round has done, of those that it has left, and the samples that these
/// still need.
const DONE_ERROR: usize = 0;
const LEFT_ERROR: usize = 1;
const TO_GO: usize = 2;
/// Number of entries of the tally.
pub(crate) const TALLIED: usize = 3;

impl RoundResult {
    fn new(left: usize, tally: &[u64]) -> RoundResult {
        RoundResult {
            left: left as u32,
            done_error: tally[DONE_ERROR],
            left_error: tally[LEFT_ERROR],
            to_go: tally[TO_GO],
        }
    }
}

/// Runs the stage over the pixels of the list, which had the round; nothing where no rounds have begun.
pub fn test_convergence(wave: &mut Wave, round: &ConvergenceTest) -> Result<RoundResult, Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, round),
        Wave::Cuda(cuda) => {
            let after_round = on_cuda(cuda, round);
            cuda.noticing(after_round)
        }
    }
}

fn on_cpu(wave: &mut CpuWave, round: &ConvergenceTest) -> Result<RoundResult, Error> {
    let Some(ledger) = &mut wave.ledger else {
        return Ok(RoundResult::default());
    };
    let list = &*wave.list;
    let sums = &wave.film.sums;
    let verdict = |&pixel: &u32| {
        let first = 3 * pixel as usize;
        let sums = [0, 1, 2].map(|channel| sums[first + channel].load(Relaxed));
        let (mut earlier, mut added, mut now) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
        for (channel, &sum) in sums.iter().enumerate() {
            let mark = ledger.marks[first + channel];
            earlier[channel] = mean(mark, round.before);
            added[channel] = mean(sum.wrapping_sub(mark), round.after - round.before);
            now[channel] = mean(sum, round.after);
        }
        let known = ledger.histories[pixel as usize];
        (sums, after_round(known, round, earlier, added, now))
    };
    let found: Vec<([u64; 3], PixelNoise)> = list.par_iter().map(verdict).collect();
    let mut tally = [0; TALLIED];
    let mut flags = vec![0; list.len()];
    for ((&pixel, (sums, history)), flag) in list.iter().zip(found).zip(&mut flags) {
        let pixel = pixel as usize;
        ledger.marks[3 * pixel..3 * pixel + 3].copy_from_slice(&sums);
        ledger.histories[pixel] = history;
        if has_converged(&history) {
            tally[DONE_ERROR] += error_units(history.error);
        } else {
            *flag = 1;
            tally[LEFT_ERROR] += error_units(history.error);
            tally[TO_GO] += samples_to_go(&history, round);
        }
    }
    let mut left = vec![0; list.len()];
    let count = compaction::select::cpu::items(Strategy::LookBack, list, &flags, &mut left)?;
    left.truncate(count);
    wave.list = left.into();
    Ok(RoundResult::new(count, &tally))
}

/// Parameters of the kernel: the test, the length of the list, the list, the sums, the sums at the previous test, the
/// noise of each pixel, flags by place in the list, and the tally.
pub(crate) type Arguments = (
    ConvergenceTest,
    u32,
    In<u32>,
    In<u64>,
    InOut<u64>,
    InOut<PixelNoise>,
    InOut<u8>,
    InOut<u64>,
);

/// Returns the source of the kernel.
pub(crate) fn source() -> Source {
    stage::<Arguments>(
        "kernels/test_convergence.cu",
        include_str!("../../kernels/test_convergence.cu"),
        "test_convergence",
    )
    .constant("TALLIED", TALLIED as u32)
    .constant("DONE_ERROR", DONE_ERROR as u32)
    .constant("LEFT_ERROR", LEFT_ERROR as u32)
    .constant("TO_GO", TO_GO as u32)
}

fn on_cuda(wave: &mut CudaWave, round: &ConvergenceTest) -> Result<RoundResult, Error> {
    let stream = (&wave.stream, wave.timeout());
    match &mut wave.rounds {
        Some(rounds) => {
            let sums = wave.film.sums.as_view();
            test_convergence_on_cuda(stream, rounds, &mut wave.paths.list, sums, round)
        }
        None => Ok(RoundResult::default()),
    }
}

/// Runs the stage on a GPU, over the sums of a film. Waits for so long at most for what the stream has to do.
pub(crate) fn test_convergence_on_cuda(
    (stream, timeout): (&Arc<CudaStream>, Duration),
    rounds: &mut CudaRounds,
    list: &mut CudaSlice<u32>,
    sums: CudaView<'_, u64>,
    round: &ConvergenceTest,
) -> Result<RoundResult, Error> {
    stream
        .memset_zeros(&mut rounds.tally)
        .map_err(compaction::Error::driver("clear the tally"))?;
    let listed = rounds.listed;
    let pixels = ..listed as usize;
    rounds.test_convergence.launch(
        stream,
        Launch::covering(listed, BLOCK_THREADS),
        (
            *round,
            listed,
            list.as_view(),
            sums,
            rounds.marks.as_view_mut(),
            rounds.histories.as_view_mut(),
            rounds.flags.as_view_mut(),
            rounds.tally.as_view_mut(),
        ),
    )?;
    rounds.select.items(
        stream,
        &list.slice(pixels),
        &rounds.flags.slice(pixels),
        Count::Given(listed),
        &mut rounds.left.slice_mut(pixels),
        &mut rounds.count.as_view_mut(),
        &mut rounds.workspace,
    )?;
    // Graphs of waves name the list's place.
    stream
        .memcpy_dtod(&rounds.left, list)
        .map_err(compaction::Error::driver("keep the list of pixels"))?;
    // What is copied to the host is waited for without an end.
    rest(stream, timeout)?;
    let count = download(stream, &rounds.count)?;
    let tally = download(stream, &rounds.tally)?;
    rounds.listed = count[0];
    Ok(RoundResult::new(count[0] as usize, &tally))
}
