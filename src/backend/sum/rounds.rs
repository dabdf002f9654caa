//! Adaptive sampling on the sum of all films: the convergence test, on the GPU that holds the sum.

use compaction::{
    cuda::{Kernel, Readback, overwrite, upload},
    cudarc::driver::CudaSlice,
};
use rayon::prelude::*;

use super::{super::gpus::Begun, Sum};
use crate::{
    Error,
    adaptive::{
        pixel_noise::{ConvergenceTest, PixelNoise},
        schedule::RoundResult,
    },
    stages::wave::{CudaAdaptiveState, CudaWave},
    stages::{CountArguments, RoundProgress, count_on_cuda, test_convergence_on_cuda},
};

/// The device memory and kernels that test the pixels of the sum for convergence.
pub(super) struct ConvergenceState {
    pub(super) rounds: CudaAdaptiveState,
    count: Kernel<CountArguments>,
    /// Indices of the pixels that are sampled in the round: the first `rounds.listed`.
    list: CudaSlice<u32>,
    /// Number of samples of each pixel, as [`Sum::count`] left it.
    pub(super) sample_counts: CudaSlice<u32>,
    /// Transfer of the noise statistics of all pixels to the host.
    pixel_noise: Readback<PixelNoise>,
    /// Transfer of the new list, the pixels that have not converged, to the host.
    left: Readback<u32>,
}

impl Sum {
    /// Begins adaptive sampling on the sum with the pixels in this state. `on` is the wave of the sum's GPU.
    pub(in crate::backend) fn begin_adaptive(
        &mut self,
        on: &CudaWave,
        begun: &Begun,
    ) -> Result<(), Error> {
        let (pixel_count, listed) = (begun.pixel_stats.pixel_noise.len(), begun.list.len());
        let fits = |convergence: &ConvergenceState| convergence.rounds.fits(pixel_count, listed);
        let convergence = match self.convergence.take().filter(fits) {
            Some(mut convergence) => {
                overwrite(&self.stream, &begun.list, &mut convergence.list)?;
                overwrite(
                    &self.stream,
                    &begun.pixel_stats.sample_counts,
                    &mut convergence.sample_counts,
                )?;
                convergence
            }
            None => ConvergenceState {
                rounds: on.new_adaptive_state(&self.stream, pixel_count, listed)?,
                count: on.new_counter()?,
                list: upload(&self.stream, &begun.list)?,
                sample_counts: upload(&self.stream, &begun.pixel_stats.sample_counts)?,
                pixel_noise: Readback::new(self.stream.context(), pixel_count)?,
                left: Readback::new(self.stream.context(), listed)?,
            },
        };
        let convergence = self.convergence.insert(convergence);
        // Before the first round there are no statistics.
        let known = (begun.first_sample > 0).then_some(&begun.pixel_stats);
        convergence.rounds.set_pixel_stats(&self.stream, known)
    }

    /// Ends adaptive sampling on the sum, and frees its memory.
    pub(in crate::backend) fn end_adaptive(&mut self) {
        self.convergence = None;
    }

    /// Tests the pixels of the list for convergence after this round. Writes the film, the new list and the new
    /// statistics into `film` and `next`.
    pub(in crate::backend) fn test_convergence(
        &mut self,
        round: &ConvergenceTest,
        film: &mut Vec<u64>,
        next: &mut Begun,
    ) -> Result<RoundResult, Error> {
        let Some(convergence) = &mut self.convergence else {
            return Ok(RoundResult::default());
        };
        let (stream, timeout) = (&self.stream, self.timeout);
        let sums = self.film.slice(..self.film.len() - 1);
        let (rounds, list) = (&mut convergence.rounds, &mut convergence.list);
        let result = test_convergence_on_cuda((stream, timeout), rounds, list, sums, round)?;
        self.host_copy.post(stream, self.film.as_view())?;
        convergence
            .pixel_noise
            .post(stream, rounds.pixel_noise.as_view())?;
        let left = list.slice(..result.left as usize);
        convergence.left.post(stream, left)?;
        let sums = self.host_copy.wait_for(timeout)?;
        copy(sums, film);
        // For pixels on the list these are the sums at this test. The sums of all others have not changed since theirs.
        copy(&sums[..sums.len() - 1], &mut next.pixel_stats.sums_at_test);
        let pixel_noise = convergence.pixel_noise.wait_for(timeout)?;
        copy(pixel_noise, &mut next.pixel_stats.pixel_noise);
        copy(convergence.left.wait_for(timeout)?, &mut next.list);
        Ok(result)
    }

    /// Computes the sample counts of the pixels on the list from the progress of their round. Does nothing without
    /// adaptive sampling.
    pub(in crate::backend) fn count(&mut self, reached: RoundProgress) -> Result<(), Error> {
        let Some(ConvergenceState {
            count,
            list,
            rounds,
            sample_counts,
            ..
        }) = &mut self.convergence
        else {
            return Ok(());
        };
        let list = list.slice(..rounds.listed as usize);
        count_on_cuda(
            count,
            &self.stream,
            list,
            reached,
            sample_counts.as_view_mut(),
        )
    }
}

/// Copies with all threads into reused memory, because a large film takes long otherwise.
pub(super) fn copy<T: Copy + Default + Send + Sync>(from: &[T], to: &mut Vec<T>) {
    to.resize(from.len(), T::default());
    let parts = to.par_chunks_mut(1 << 16).zip(from.par_chunks(1 << 16));
    parts.for_each(|(to, from)| to.copy_from_slice(from));
}
