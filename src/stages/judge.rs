//! judge: which pixels are good enough, after each round of samples where the render is to stop when all are.
//!
//! Reads: the film's sums, the list of the pixels that had the round. Writes: what is known of their noise, and the list of
//! those that need more: stream compaction, which keeps their order.
//! A pixel is judged by its own samples alone, so the film does not depend on who renders which pixels, or when.

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

use crate::{
    Error,
    film::mean,
    history::{History, Round, error_units, is_done, judged, samples_to_go},
    kernels::{BLOCK_THREADS, stage},
    wave::{CpuWave, CudaRounds, CudaWave, Wave},
};

/// Where the tally has the errors of pixels that the round has done, of those that it has left, and the samples that these
/// still need.
const DONE_ERROR: usize = 0;
const LEFT_ERROR: usize = 1;
const TO_GO: usize = 2;
/// Numbers of the tally.
pub(crate) const TALLIED: usize = 3;

/// What a round has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Pixels that need more samples.
    pub left: u32,
    /// Errors of those that do not, and have not been counted before: see [`error_units`].
    pub done_error: u64,
    /// Errors of those that do.
    pub left_error: u64,
    /// Samples that they still need, as it seems.
    pub to_go: u64,
}

impl Verdict {
    fn new(left: usize, tally: &[u64]) -> Verdict {
        Verdict {
            left: left as u32,
            done_error: tally[DONE_ERROR],
            left_error: tally[LEFT_ERROR],
            to_go: tally[TO_GO],
        }
    }
}

/// Runs the stage over the first `listed` pixels of the list, which had the round; nothing where no rounds have begun.
pub fn judge(wave: &mut Wave, round: &Round, listed: u32) -> Result<Verdict, Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, round, listed as usize),
        Wave::Cuda(cuda) => {
            let judged = on_cuda(cuda, round, listed);
            cuda.noticing(judged)
        }
    }
}

fn on_cpu(wave: &mut CpuWave, round: &Round, listed: usize) -> Result<Verdict, Error> {
    let Some(ledger) = &mut wave.ledger else {
        return Ok(Verdict::default());
    };
    let list = &wave.list[..listed];
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
        (sums, judged(known, round, earlier, added, now))
    };
    let found: Vec<([u64; 3], History)> = list.par_iter().map(verdict).collect();
    let mut tally = [0; TALLIED];
    let mut flags = vec![0; listed];
    for ((&pixel, (sums, history)), flag) in list.iter().zip(found).zip(&mut flags) {
        let pixel = pixel as usize;
        ledger.marks[3 * pixel..3 * pixel + 3].copy_from_slice(&sums);
        ledger.histories[pixel] = history;
        if is_done(&history) {
            tally[DONE_ERROR] += error_units(history.error);
        } else {
            *flag = 1;
            tally[LEFT_ERROR] += error_units(history.error);
            tally[TO_GO] += samples_to_go(&history, round);
        }
    }
    let mut left = vec![0; listed];
    let count = compaction::select::cpu::items(Strategy::LookBack, list, &flags, &mut left)?;
    left.truncate(count);
    wave.list = left.into();
    Ok(Verdict::new(count, &tally))
}

/// What the kernel takes.
pub(crate) type Arguments = (
    Round,
    u32,
    In<u32>,
    In<u64>,
    InOut<u64>,
    InOut<History>,
    InOut<u8>,
    InOut<u64>,
);

/// The kernel's file.
pub(crate) fn source() -> Source {
    stage::<Arguments>(
        "kernels/judge.cu",
        include_str!("../../kernels/judge.cu"),
        "judge",
    )
    .constant("TALLIED", TALLIED as u32)
    .constant("DONE_ERROR", DONE_ERROR as u32)
    .constant("LEFT_ERROR", LEFT_ERROR as u32)
    .constant("TO_GO", TO_GO as u32)
}

fn on_cuda(wave: &mut CudaWave, round: &Round, listed: u32) -> Result<Verdict, Error> {
    let stream = (&wave.stream, wave.patience());
    match &mut wave.rounds {
        Some(rounds) => {
            let sums = wave.sums.as_view();
            judge_on_cuda(stream, rounds, &mut wave.list, sums, round, listed)
        }
        None => Ok(Verdict::default()),
    }
}

/// Runs the stage on a GPU, over the sums of a film. Waits for so long at most for what the stream has to do.
pub(crate) fn judge_on_cuda(
    (stream, patience): (&Arc<CudaStream>, Duration),
    rounds: &mut CudaRounds,
    list: &mut CudaSlice<u32>,
    sums: CudaView<'_, u64>,
    round: &Round,
    listed: u32,
) -> Result<Verdict, Error> {
    stream
        .memset_zeros(&mut rounds.tally)
        .map_err(compaction::Error::driver("clear the tally"))?;
    let pixels = ..listed as usize;
    rounds.judge.launch(
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
    rest(stream, patience)?;
    let count = download(stream, &rounds.count)?;
    let tally = download(stream, &rounds.tally)?;
    Ok(Verdict::new(count[0] as usize, &tally))
}
