//! Pixels that get samples until they are good, on several GPUs. A round's pairs are dealt as those of a picture are, and at
//! its end all meet: the GPU that has the sum judges. What that comes to is in the host's memory before a pair of the next
//! round is dealt, so with a GPU nothing is lost but pairs of the round under way.

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
    Error, history,
    ledger::Ledger,
    rounds::Rounds,
    stages::{Reached, Verdict, count},
    wave::Wave,
};

/// How pixels stood when the round under way began.
#[derive(Default)]
pub(in crate::backend) struct Begun {
    /// Those that it has.
    pub(in crate::backend) list: Vec<u32>,
    /// Samples that each of them had.
    pub(in crate::backend) first_sample: u32,
    /// What was known of all. Of those on the list it need not say how many samples they had.
    pub(in crate::backend) ledger: Ledger,
}

impl Begun {
    /// What is known of all pixels with the first `done` pairs of the round: no more than before but for their samples.
    fn ledger(&self, done: u64) -> Ledger {
        Ledger {
            taken: self.taken(done),
            ..self.ledger.clone()
        }
    }

    /// Samples of each pixel then. They follow from the list, so that no GPU has to be asked.
    fn taken(&self, done: u64) -> Vec<u32> {
        let mut taken = self.ledger.taken.clone();
        count(&self.list, self.reached(done), &mut taken);
        taken
    }

    fn reached(&self, done: u64) -> Reached {
        Reached::new(self.first_sample, self.list.len() as u32, done)
    }
}

impl Gpus {
    /// See [`Backend::begin_rounds`](super::super::Backend::begin_rounds).
    pub(in crate::backend) fn begin_rounds(
        &mut self,
        rounds: &Rounds,
        list: &[u32],
        ledger: Option<&Ledger>,
    ) -> Result<(), Error> {
        let new = || Ledger::new(self.camera.pixel_count());
        let begun = Arc::new(Begun {
            list: list.to_vec(),
            first_sample: rounds.first_sample(),
            ledger: ledger.cloned().unwrap_or_else(new),
        });
        self.safe.round = Some(begun.clone());
        (self.done, self.safe.done) = (rounds.done(), rounds.done());
        let ready = self.with_sum(|sum, on| sum.begin_rounds(on, &begun));
        if ready.is_err() && self.fallen().is_none() {
            // There is no room for them.
            self.safe.round = None;
            self.sum.end_rounds();
        }
        ready?;
        self.hand_list_out();
        self.make_good()
    }

    pub(in crate::backend) fn end_rounds(&mut self) -> Result<(), Error> {
        self.safe.round = None;
        self.sum.end_rounds();
        self.each(Wave::end_rounds)
    }

    /// See [`Backend::judge`](super::super::Backend::judge).
    pub(in crate::backend) fn judge(&mut self, round: &history::Round) -> Result<Verdict, Error> {
        let Some(begun) = self.safe.round.clone() else {
            return Ok(Verdict::default());
        };
        // Until all of it is here nothing of what was safe goes.
        let (mut film, mut next) = mem::take(&mut self.spare);
        let whole = begun.reached(self.done);
        let verdict = self.with_sum(|sum, _| {
            sum.count(whole)?;
            sum.judge(round, &mut film, &mut next)
        })?;
        next.first_sample = round.after;
        next.ledger.taken.clone_from(&begun.ledger.taken);
        count(&begun.list, whole, &mut next.ledger.taken);
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
            worker.lots.keep(worker.lots.gathered());
        }
        self.hand_list_out();
        Ok(verdict)
    }

    /// What is known of all pixels, if they get samples until they are good.
    pub(in crate::backend) fn ledger(&self) -> Option<Ledger> {
        let begun = self.safe.round.as_ref()?;
        Some(begun.ledger(self.on_film()))
    }

    /// How many samples each pixel has then.
    pub(in crate::backend) fn taken(&self) -> Option<Vec<u32>> {
        let begun = self.safe.round.as_ref()?;
        Some(begun.taken(self.on_film()))
    }

    /// How far the round is, if there are any.
    pub(super) fn reached(&self) -> Option<Reached> {
        let begun = self.safe.round.as_ref()?;
        Some(begun.reached(self.on_film()))
    }

    /// Up to where pairs are on the film that is left, or on that of all GPUs.
    fn on_film(&self) -> u64 {
        self.fallen().unwrap_or(self.done)
    }

    /// To those that work. One that fails now has nothing to lose.
    fn hand_list_out(&mut self) {
        let (patience, round) = (self.patience, self.safe.round.clone());
        let hand_out = |worker: &mut Mutex<Worker>| {
            let list = round.iter().map(|begun| &begun.list[..]);
            let mut list = list.filter(|list| !list.is_empty());
            of(worker).attempt(|worker| {
                list.try_for_each(|list| worker.cuda().list_pixels(list, patience))
            });
        };
        self.workers.iter_mut().for_each(hand_out);
    }
}
