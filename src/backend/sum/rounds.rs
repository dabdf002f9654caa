//! The sum's pixels are judged where it is.

use compaction::{
    cuda::{Kernel, Mailbox, overwrite, upload},
    cudarc::driver::CudaSlice,
};
use rayon::prelude::*;

use super::{super::gpus::Begun, Sum};
use crate::{
    Error,
    history::{History, Round},
    stages::{CountArguments, Reached, Verdict, count_on_cuda, judge_on_cuda},
    wave::{CudaRounds, CudaWave},
};

/// What it takes to judge them.
pub(super) struct Judging {
    pub(super) rounds: CudaRounds,
    count: Kernel<CountArguments>,
    /// Those that have the round: the first `listed`.
    list: CudaSlice<u32>,
    listed: usize,
    /// Samples of each pixel, by [`Sum::count`].
    pub(super) taken: CudaSlice<u32>,
    /// On their way to the host.
    histories: Mailbox<History>,
    left: Mailbox<u32>,
}

impl Sum {
    /// Gets ready to judge pixels that stand so. `on` is the wave of its own GPU.
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
                judging.listed = listed;
                judging
            }
            None => Judging {
                rounds: on.new_rounds(&self.stream, pixel_count, listed)?,
                count: on.new_counter()?,
                list: upload(&self.stream, &begun.list)?,
                listed,
                taken: upload(&self.stream, &begun.ledger.taken)?,
                histories: Mailbox::new(self.stream.context(), pixel_count)?,
                left: Mailbox::new(self.stream.context(), listed)?,
            },
        };
        let judging = self.judging.insert(judging);
        // Nothing is, in the first round.
        let known = (begun.first_sample > 0).then_some(&begun.ledger);
        judging.rounds.know(&self.stream, known)
    }

    pub(in crate::backend) fn end_rounds(&mut self) {
        self.judging = None;
    }

    /// Judges the pixels of the list, which had this round. The film, the list that is left and what is known then come here,
    /// in the place of what was in `film` and `next`.
    pub(in crate::backend) fn judge(
        &mut self,
        round: &Round,
        film: &mut Vec<u64>,
        next: &mut Begun,
    ) -> Result<Verdict, Error> {
        let Some(judging) = &mut self.judging else {
            return Ok(Verdict::default());
        };
        let (stream, patience) = (&self.stream, self.patience);
        let sums = self.film.slice(..self.film.len() - 1);
        let (rounds, list) = (&mut judging.rounds, &mut judging.list);
        let listed = judging.listed as u32;
        let verdict = judge_on_cuda((stream, patience), rounds, list, sums, round, listed)?;
        self.kept.post(stream, self.film.as_view())?;
        judging.histories.post(stream, rounds.histories.as_view())?;
        judging.listed = verdict.left as usize;
        let left = list.slice(..judging.listed);
        judging.left.post(stream, left)?;
        let sums = self.kept.wait_for(patience)?;
        copy(sums, film);
        // Who is judged is marked, and of all others nothing has changed since.
        copy(&sums[..sums.len() - 1], &mut next.ledger.marks);
        let histories = judging.histories.wait_for(patience)?;
        copy(histories, &mut next.ledger.histories);
        copy(judging.left.wait_for(patience)?, &mut next.list);
        Ok(verdict)
    }

    /// Says how many samples the pixels of the list have, by how far their round is.
    pub(in crate::backend) fn count(&mut self, reached: Reached) -> Result<(), Error> {
        let Some(Judging {
            count,
            list,
            listed,
            taken,
            ..
        }) = &mut self.judging
        else {
            return Ok(());
        };
        let list = list.slice(..*listed);
        count_on_cuda(count, &self.stream, list, reached, taken.as_view_mut())
    }
}

/// By all threads, into memory that is there already: both are the time of a large film.
pub(super) fn copy<T: Copy + Default + Send + Sync>(from: &[T], to: &mut Vec<T>) {
    to.resize(from.len(), T::default());
    let parts = to.par_chunks_mut(1 << 16).zip(from.par_chunks(1 << 16));
    parts.for_each(|(to, from)| to.copy_from_slice(from));
}
