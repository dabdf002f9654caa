//! Adaptive sampling on several GPUs. The pairs of a round are assigned like any others; at its end all films are on
//! the sum, and the GPU with the sum tests the pixels for convergence. The result is in host memory before the next
//! round begins, so that a failing GPU loses only pairs of the current round.

use std::{
    mem,
    sync::{Arc, Mutex},
    time::Instant,
};

use super::{
    Gpus,
    worker::{Worker, of},
};
use crate::{
    Error,
    adaptive::{
        pixel_noise,
        pixel_stats::PixelStats,
        schedule::{RoundResult, Schedule},
    },
    stages::wave::Wave,
    stages::{RoundProgress, count},
};

/// The state of all pixels when the current round began.
#[derive(Default)]
pub(in crate::backend) struct Begun {
    /// Indices of the pixels that are sampled in the round.
    pub(in crate::backend) list: Vec<u32>,
    /// Number of samples of each pixel on the list before the round.
    pub(in crate::backend) first_sample: u32,
    /// Statistics of all pixels. The sample counts of pixels on the list are not used.
    pub(in crate::backend) pixel_stats: PixelStats,
}

impl Begun {
    /// Returns the statistics of all pixels after the first `done` pairs of the round. Only the sample counts differ
    /// from those at its start.
    fn pixel_stats(&self, done: u64) -> PixelStats {
        PixelStats {
            sample_counts: self.sample_counts(done),
            ..self.pixel_stats.clone()
        }
    }

    /// Returns the number of samples of each pixel after `done` pairs. It is computed from the list, without a GPU.
    fn sample_counts(&self, done: u64) -> Vec<u32> {
        let mut taken = self.pixel_stats.sample_counts.clone();
        count(&self.list, self.reached(done), &mut taken);
        taken
    }

    /// Returns the progress of the round after `done` pairs.
    fn reached(&self, done: u64) -> RoundProgress {
        RoundProgress::new(self.first_sample, self.list.len() as u32, done)
    }
}

impl Gpus {
    /// See [`Backend::begin_adaptive`](super::super::Backend::begin_adaptive).
    pub(in crate::backend) fn begin_adaptive(
        &mut self,
        rounds: &Schedule,
        list: &[u32],
        pixel_stats: Option<&PixelStats>,
    ) -> Result<(), Error> {
        let new = || PixelStats::new(self.camera.pixel_count());
        let begun = Arc::new(Begun {
            list: list.to_vec(),
            first_sample: rounds.first_sample(),
            pixel_stats: pixel_stats.cloned().unwrap_or_else(new),
        });
        self.safe.round = Some(begun.clone());
        (self.done, self.safe.done) = (rounds.done(), rounds.done());
        let ready = self.with_sum(|sum, on| sum.begin_adaptive(on, &begun));
        if ready.is_err() && !self.all_failed {
            // The GPU has too little memory for adaptive sampling.
            self.safe.round = None;
            self.sum.end_adaptive();
        }
        ready?;
        self.send_list();
        self.rerender_lost()
    }

    /// See [`Backend::end_adaptive`](super::super::Backend::end_adaptive).
    pub(in crate::backend) fn end_adaptive(&mut self) -> Result<(), Error> {
        self.safe.round = None;
        self.sum.end_adaptive();
        self.each(Wave::end_adaptive)
    }

    /// See [`Backend::test_convergence`](super::super::Backend::test_convergence).
    pub(in crate::backend) fn test_convergence(
        &mut self,
        round: &pixel_noise::ConvergenceTest,
    ) -> Result<RoundResult, Error> {
        let Some(begun) = self.safe.round.clone() else {
            return Ok(RoundResult::default());
        };
        // The safe state is replaced only after the new one has arrived completely.
        let (mut film, mut next) = mem::take(&mut self.spare);
        let whole = begun.reached(self.done);
        let result = self.with_sum(|sum, _| {
            sum.count(whole)?;
            sum.test_convergence(round, &mut film, &mut next)
        })?;
        next.first_sample = round.after;
        next.pixel_stats
            .sample_counts
            .clone_from(&begun.pixel_stats.sample_counts);
        count(&begun.list, whole, &mut next.pixel_stats.sample_counts);
        drop(begun);
        let film_before = self.safe.film.replace(film).unwrap_or_default();
        let before = self.safe.round.replace(Arc::new(next));
        self.spare = (
            film_before,
            before.and_then(Arc::into_inner).unwrap_or_default(),
        );
        (self.done, self.safe.done) = (0, 0);
        (self.keeping, self.kept_at) = (None, Instant::now());
        for worker in self.workers.iter_mut().map(of) {
            worker.chunks.keep(worker.chunks.gathered());
        }
        self.send_list();
        Ok(result)
    }

    /// Returns the statistics of all pixels during adaptive sampling, otherwise `None`.
    pub(in crate::backend) fn pixel_stats(&self) -> Option<PixelStats> {
        let begun = self.safe.round.as_ref()?;
        Some(begun.pixel_stats(self.on_film()))
    }

    /// Returns the number of samples of each pixel during adaptive sampling, otherwise `None`.
    pub(in crate::backend) fn sample_counts(&self) -> Option<Vec<u32>> {
        let begun = self.safe.round.as_ref()?;
        Some(begun.sample_counts(self.on_film()))
    }

    /// Returns the progress of the round during adaptive sampling, otherwise `None`.
    pub(super) fn reached(&self) -> Option<RoundProgress> {
        let begun = self.safe.round.as_ref()?;
        Some(begun.reached(self.on_film()))
    }

    /// Returns how many pairs of the round, from the first one on, are on the GPUs' films without a gap. If all GPUs
    /// have failed, it counts those on the copy in host memory.
    fn on_film(&self) -> u64 {
        self.safe_after_failure().unwrap_or(self.done)
    }

    /// Copies the list of pixels to all working GPUs. It runs between rounds, when a GPU that fails loses no pairs.
    fn send_list(&mut self) {
        let (timeout, round) = (self.timeout, self.safe.round.clone());
        let send = |worker: &mut Mutex<Worker>| {
            let list = round.iter().map(|begun| &begun.list[..]);
            let mut list = list.filter(|list| !list.is_empty());
            of(worker).attempt(|worker| {
                list.try_for_each(|list| worker.cuda().list_pixels(list, timeout))
            });
        };
        self.workers.iter_mut().for_each(send);
    }
}
