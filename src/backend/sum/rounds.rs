//! Adaptive sampling on the sum: its GPU judges the pixels.

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
    stages::wave::{CudaRounds, CudaWave},
    stages::{CountArguments, Reached, count_on_cuda, test_convergence_on_cuda},
};

/// The device memory and kernels that judge the pixels of the sum.
pub(super) struct Judging {
    pub(super) rounds: CudaRounds,
    count: Kernel<CountArguments>,
    /// The pixels that have the round: the first `rounds.listed`.
    list: CudaSlice<u32>,
    /// Number of samples of each pixel, as [`Sum::count`] left it.
    pub(super) taken: CudaSlice<u32>,
    /// Transfers of the histories and of the new list to the host.
    histories: Readback<PixelNoise>,
    left: Readback<u32>,
}

impl Sum {
    /// Prepares to judge pixels in this state. `on` is the wave of the sum's GPU.
    pub(in crate::backend) fn begin_rounds(
        &mut self,
        on: &CudaWave,
        begun: &Begun,
    ) -> Result<(), Error> {
        let (pixel_count, listed) = (begun.ledger.histories.len(), begun.list.len());
        let fits = |judging: &Judging| judging.rounds.fits(pixel_count, listed);
        let judging = match self.judging.take().filter(fits) {
            Some(mut judging) => {
                overwrite(&self.stream, &begun.list, &mut judging.list)?;
                overwrite(&self.stream, &begun.ledger.taken, &mut judging.taken)?;
                judging
            }
            None => Judging {
                rounds: on.new_rounds(&self.stream, pixel_count, listed)?,
                count: on.new_counter()?,
                list: upload(&self.stream, &begun.list)?,
                taken: upload(&self.stream, &begun.ledger.taken)?,
                histories: Readback::new(self.stream.context(), pixel_count)?,
                left: Readback::new(self.stream.context(), listed)?,
            },
        };
        let judging = self.judging.insert(judging);
        // Before the first round there are no statistics.
        let known = (begun.first_sample > 0).then_some(&begun.ledger);
        judging.rounds.set_pixel_stats(&self.stream, known)
    }

    pub(in crate::backend) fn end_rounds(&mut self) {
        self.judging = None;
    }

    /// Judges the pixels of the list after this round. Writes the film, the new list and the new statistics into `film`
    /// and `next`.
    pub(in crate::backend) fn test_convergence(
        &mut self,
        round: &ConvergenceTest,
        film: &mut Vec<u64>,
        next: &mut Begun,
    ) -> Result<RoundResult, Error> {
        let Some(judging) = &mut self.judging else {
            return Ok(RoundResult::default());
        };
        let (stream, timeout) = (&self.stream, self.timeout);
        let sums = self.film.slice(..self.film.len() - 1);
        let (rounds, list) = (&mut judging.rounds, &mut judging.list);
        let verdict = test_convergence_on_cuda((stream, timeout), rounds, list, sums, round)?;
        self.kept.post(stream, self.film.as_view())?;
        judging.histories.post(stream, rounds.histories.as_view())?;
        let left = list.slice(..verdict.left as usize);
        judging.left.post(stream, left)?;
        let sums = self.kept.wait_for(timeout)?;
        copy(sums, film);
        // Judged pixels are marked with their sums, and all others have not changed since.
        copy(&sums[..sums.len() - 1], &mut next.ledger.marks);
        let histories = judging.histories.wait_for(timeout)?;
        copy(histories, &mut next.ledger.histories);
        copy(judging.left.wait_for(timeout)?, &mut next.list);
        Ok(verdict)
    }

    /// Computes the sample counts of the pixels on the list from the progress of their round.
    pub(in crate::backend) fn count(&mut self, reached: Reached) -> Result<(), Error> {
        let Some(Judging {
            count,
            list,
            rounds,
            taken,
            ..
        }) = &mut self.judging
        else {
            return Ok(());
        };
        let list = list.slice(..rounds.listed as usize);
        count_on_cuda(count, &self.stream, list, reached, taken.as_view_mut())
    }
}

/// Copies with all threads into reused memory, because a large film takes long otherwise.
pub(super) fn copy<T: Copy + Default + Send + Sync>(from: &[T], to: &mut Vec<T>) {
    to.resize(from.len(), T::default());
    let parts = to.par_chunks_mut(1 << 16).zip(from.par_chunks(1 << 16));
    parts.for_each(|(to, from)| to.copy_from_slice(from));
}
