//! The stage `test_convergence`: decides after each round of adaptive sampling which pixels need more samples.
//!
//! Reads: the film's sums, the sums at the previous test, and the list of pixels that the round sampled. Writes: the
//! noise of those pixels, their sums for the next test, and the list of pixels that need more samples, in the same
//! order.
//! Method: [`after_round`] compares the round's mean with the mean before it, and [`converged_rounds`] tests the error
//! together with those of the pixel's tile. So whatever renders some pixels of a tile renders all of them. The list is
//! compacted by stream compaction.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    Count,
    cuda::{In, InOut, Launch, Source, clear, copy, download, rest},
    cudarc::driver::{CudaSlice, CudaStream, CudaView},
    select::Strategy,
};
use glam::Vec3;
use rayon::prelude::*;

use super::wave::{CpuWave, CudaAdaptiveState, CudaWave, Wave};
use crate::{
    Error,
    adaptive::{
        pixel_noise::{
            ConvergenceTest, PixelNoise, after_round, converged_rounds, error_units, has_converged,
            samples_to_go,
        },
        pixel_stats::tile_error,
        schedule::RoundResult,
    },
    device::kernels::{BLOCK_THREADS, stage},
    film::mean,
};

/// Index in the tally of the sum of the errors of pixels that converged in the round, in units of [`error_units`].
const CONVERGED_ERROR: usize = 0;
/// Index in the tally of the sum of the errors of pixels that have not converged, in units of [`error_units`].
const UNCONVERGED_ERROR: usize = 1;
/// Index in the tally of the estimated number of samples that the pixels that have not converged still need.
const SAMPLES_TO_GO: usize = 2;
/// Length of the tally: the sums over the tested pixels that a test computes.
pub(crate) const TALLY_LEN: usize = 3;

impl RoundResult {
    /// Creates the result from the number of pixels that have not converged and the tally.
    fn new(left: usize, tally: &[u64]) -> RoundResult {
        RoundResult {
            left: left as u32,
            done_error: tally[CONVERGED_ERROR],
            left_error: tally[UNCONVERGED_ERROR],
            to_go: tally[SAMPLES_TO_GO],
        }
    }
}

/// Tests the pixels on the wave's list after a round, and reduces the list to those that have not converged.
///
/// Every listed pixel must have all samples of the round. Waits for the result. Does nothing and returns zeros unless
/// [`Wave::begin_adaptive`] has begun adaptive sampling.
///
/// # Errors
/// On a GPU, if a kernel fails, or if the stream is not done before the wave's timeout.
pub fn test_convergence(wave: &mut Wave, round: &ConvergenceTest) -> Result<RoundResult, Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, round),
        Wave::Cuda(cuda) => {
            let tested = on_cuda(cuda, round);
            cuda.record_timeout(tested)
        }
    }
}

fn on_cpu(wave: &mut CpuWave, round: &ConvergenceTest) -> Result<RoundResult, Error> {
    let Some(pixel_stats) = &mut wave.pixel_stats else {
        return Ok(RoundResult::default());
    };
    let list = &*wave.list;
    let sums = &wave.film.sums;
    let estimate = |&pixel: &u32| {
        let first = 3 * pixel as usize;
        let sums = [0, 1, 2].map(|channel| sums[first + channel].load(Relaxed));
        let (mut mean_before, mut mean_of_round) = (Vec3::ZERO, Vec3::ZERO);
        let mut mean_after = Vec3::ZERO;
        for (channel, &sum) in sums.iter().enumerate() {
            let sum_before = pixel_stats.sums_at_test[first + channel];
            let sum_of_round = sum.wrapping_sub(sum_before);
            mean_before[channel] = mean(sum_before, round.before);
            mean_of_round[channel] = mean(sum_of_round, round.after - round.before);
            mean_after[channel] = mean(sum, round.after);
        }
        let noise_before = pixel_stats.pixel_noise[pixel as usize];
        let noise = after_round(noise_before, round, mean_before, mean_of_round, mean_after);
        (sums, noise)
    };
    let estimates: Vec<([u64; 3], PixelNoise)> = list.par_iter().map(estimate).collect();
    for (&pixel, (sums, noise)) in list.iter().zip(estimates) {
        let pixel = pixel as usize;
        pixel_stats.sums_at_test[3 * pixel..3 * pixel + 3].copy_from_slice(&sums);
        pixel_stats.pixel_noise[pixel] = noise;
    }
    let test = |&pixel: &u32| {
        let noise = pixel_stats.pixel_noise[pixel as usize];
        let around = tile_error(round, &pixel_stats.pixel_noise, pixel);
        let converged_rounds = converged_rounds(&noise, round, around);
        let noise = PixelNoise {
            converged_rounds,
            ..noise
        };
        (noise, samples_to_go(&noise, round, around))
    };
    let results: Vec<(PixelNoise, u64)> = list.par_iter().map(test).collect();
    let mut tally = [0; TALLY_LEN];
    let mut flags = vec![0; list.len()];
    for ((&pixel, (noise, to_go)), flag) in list.iter().zip(results).zip(&mut flags) {
        pixel_stats.pixel_noise[pixel as usize] = noise;
        if has_converged(&noise) {
            tally[CONVERGED_ERROR] += error_units(noise.error);
        } else {
            *flag = 1;
            tally[UNCONVERGED_ERROR] += error_units(noise.error);
            tally[SAMPLES_TO_GO] += to_go;
        }
    }
    let mut unconverged = vec![0; list.len()];
    let count = compaction::select::cpu::items(Strategy::LookBack, list, &flags, &mut unconverged)?;
    unconverged.truncate(count);
    wave.list = unconverged.into();
    Ok(RoundResult::new(count, &tally))
}

/// Parameters of the first kernel: the test, the length of the list, the list, the film's sums, the sums at the previous
/// test, and the noise of each pixel.
pub(crate) type EstimateArguments = (
    ConvergenceTest,
    u32,
    In<u32>,
    In<u64>,
    InOut<u64>,
    InOut<PixelNoise>,
);

/// Parameters of the second kernel: the test, the length of the list, the list, the noise of each pixel, a flag for each
/// list entry (1 if its pixel needs more samples), and the tally.
pub(crate) type Arguments = (
    ConvergenceTest,
    u32,
    In<u32>,
    InOut<PixelNoise>,
    InOut<u8>,
    InOut<u64>,
);

/// Returns the source of the kernels `estimate_noise` and `test_convergence`.
pub(crate) fn source() -> Source {
    stage::<Arguments>(
        "kernels/test_convergence.cu",
        include_str!("../../kernels/test_convergence.cu"),
        "test_convergence",
    )
    .kernel::<EstimateArguments>("estimate_noise")
    .constant("TALLY_LEN", TALLY_LEN as u32)
    .constant("CONVERGED_ERROR", CONVERGED_ERROR as u32)
    .constant("UNCONVERGED_ERROR", UNCONVERGED_ERROR as u32)
    .constant("SAMPLES_TO_GO", SAMPLES_TO_GO as u32)
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

/// Tests the first `rounds.listed` pixels of `list` on a GPU, and replaces them by those that have not converged.
///
/// `sums` are those of the film, three channels per pixel. Waits until the stream is done, at most for `timeout`.
///
/// # Errors
/// If a kernel fails, or on a timeout.
pub(crate) fn test_convergence_on_cuda(
    (stream, timeout): (&Arc<CudaStream>, Duration),
    rounds: &mut CudaAdaptiveState,
    list: &mut CudaSlice<u32>,
    sums: CudaView<'_, u64>,
    round: &ConvergenceTest,
) -> Result<RoundResult, Error> {
    clear(stream, &mut rounds.tally)?;
    let listed = rounds.listed;
    let pixels = ..listed as usize;
    rounds.estimate_noise.launch(
        stream,
        Launch::covering(listed, BLOCK_THREADS),
        (
            *round,
            listed,
            list.as_view(),
            sums,
            rounds.sums_at_test.as_view_mut(),
            rounds.pixel_noise.as_view_mut(),
        ),
    )?;
    rounds.test_convergence.launch(
        stream,
        Launch::covering(listed, BLOCK_THREADS),
        (
            *round,
            listed,
            list.as_view(),
            rounds.pixel_noise.as_view_mut(),
            rounds.flags.as_view_mut(),
            rounds.tally.as_view_mut(),
        ),
    )?;
    rounds.select.items(
        stream,
        list.slice(pixels),
        rounds.flags.slice(pixels),
        Count::Given(listed),
        rounds.unconverged.slice_mut(pixels),
        &mut rounds.unconverged_count,
        &mut rounds.workspace,
    )?;
    // Copied instead of swapped, because CUDA graphs of waves contain the address of `list`.
    let listed = ..rounds.unconverged.len();
    copy(stream, &rounds.unconverged, &mut list.slice_mut(listed))?;
    // Waits here, because `download` would wait without a limit.
    rest(stream, timeout)?;
    let count = download(stream, &rounds.unconverged_count)?;
    let tally = download(stream, &rounds.tally)?;
    rounds.listed = count[0];
    Ok(RoundResult::new(count[0] as usize, &tally))
}
