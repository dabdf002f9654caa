//! Adaptive sampling on any backend: the list of pixels that get more samples, and the test that shortens it.

use std::sync::Arc;

use super::{Backend, Engine, Waves, lock};
use crate::{
    Error,
    adaptive::{
        pixel_noise::ConvergenceTest,
        pixel_stats::PixelStats,
        schedule::{RoundResult, Schedule},
    },
    stages::test_convergence,
    stages::wave::Wave,
};

impl Backend {
    /// Begins adaptive sampling of the pixels on this list, on the current film and at the state of `rounds`.
    ///
    /// `pixel_stats` holds the statistics of all pixels; `None` if no round has ended yet.
    pub(crate) fn begin_adaptive(
        &mut self,
        rounds: &Schedule,
        list: &[u32],
        pixel_stats: Option<&PixelStats>,
    ) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.begin_adaptive(list, pixel_stats),
            Engine::Gpus(gpus) => gpus.begin_adaptive(rounds, list, pixel_stats),
        }
    }

    /// Ends adaptive sampling: every pixel gets all samples.
    pub(crate) fn end_adaptive(&mut self) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.each(Wave::end_adaptive),
            Engine::Gpus(gpus) => gpus.end_adaptive(),
        }
    }

    /// Tests the pixels of the list for convergence after this round, and removes those that have converged from it.
    pub(crate) fn test_convergence(
        &mut self,
        round: &ConvergenceTest,
    ) -> Result<RoundResult, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.test_convergence(round),
            Engine::Gpus(gpus) => gpus.test_convergence(round),
        }
    }

    /// Returns the number of samples of each pixel during adaptive sampling.
    pub(crate) fn sample_counts(&mut self) -> Result<Vec<u32>, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).sample_counts(),
            Engine::Gpus(gpus) => Ok(gpus.sample_counts().unwrap_or_default()),
        }
    }

    /// Returns the statistics of all pixels during adaptive sampling, otherwise `None`.
    pub(crate) fn pixel_stats(&mut self) -> Result<Option<PixelStats>, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).pixel_stats(),
            Engine::Gpus(gpus) => Ok(gpus.pixel_stats()),
        }
    }
}

impl Waves {
    /// See [`Backend::begin_adaptive`].
    fn begin_adaptive(
        &mut self,
        list: &[u32],
        pixel_stats: Option<&PixelStats>,
    ) -> Result<(), Error> {
        let list: Arc<[u32]> = list.into();
        lock(&self.waves[0]).begin_adaptive(&list, pixel_stats)?;
        self.share_list(&list);
        Ok(())
    }

    /// Runs the test with the first wave, and gives the new list to the other waves.
    fn test_convergence(&mut self, round: &ConvergenceTest) -> Result<RoundResult, Error> {
        let after_round = self
            .pool
            .install(|| test_convergence(&mut lock(&self.waves[0]), round))?;
        let list = match &*lock(&self.waves[0]) {
            Wave::Cpu(cpu) => cpu.list.clone(),
            Wave::Cuda(_) => return Ok(after_round),
        };
        self.share_list(&list);
        Ok(after_round)
    }

    /// Gives the list of pixels to all waves but the first.
    fn share_list(&self, list: &Arc<[u32]>) {
        for wave in &self.waves[1..] {
            if let Wave::Cpu(cpu) = &mut *lock(wave) {
                cpu.list = list.clone();
            }
        }
    }
}
