//! What becomes of GPUs that fail: they are left out, one by one, or all fall at once.

use std::{
    mem,
    sync::{Mutex, atomic::AtomicU64},
    thread,
    time::Duration,
};

use compaction::cuda::is_alive;

use super::{
    super::{Failure, lots::Lot, spans::Spans, sum::Sum},
    Gpus,
    worker::{State, Worker, lock, of},
};
use crate::{
    Error,
    wave::{CudaWave, Wave},
};

/// After a failure: until then the driver has told the process whatever else has become of it.
const MOMENT: Duration = Duration::from_millis(100);
/// Who failed so shortly before all others fell may have taken them along, or been taken along first.
const AFTERMATH: Duration = Duration::from_secs(5);

impl Gpus {
    /// Deals with those that have failed, and renders again what was lost with them.
    pub(super) fn make_good(&mut self) -> Result<(), Error> {
        while self.settle()?
            && let Some(plan) = self.plan
        {
            let spans = Spans {
                plan,
                next: AtomicU64::new(0),
                end: 0,
            };
            self.render(&spans, &|_| true);
        }
        Ok(())
    }

    /// Deals with those that have failed; whether something is lost that has to be rendered again. `Err` if none is left
    /// to do that.
    pub(super) fn settle(&mut self) -> Result<bool, Error> {
        while let Some(first) = self.first_failed() {
            let Some(next) = self.left() else {
                return Err(self.fall());
            };
            let worker = of(&mut self.workers[first]);
            let State::Failed(error, at) = mem::replace(&mut worker.state, State::Dropped) else {
                continue;
            };
            self.dropped.push((at, first, error.to_string()));
            self.leaving = None;
            let mut lost = worker.lots.lose_film();
            self.sum.cut_off(first);
            if first == self.sum.home {
                lost.extend(self.lose_sum());
            }
            self.lose(lost);
            let failure = Failure::One(first, error.to_string());
            self.counts.failures.push(failure);
            if first == self.sum.home {
                self.move_sum(next);
            }
        }
        Ok(!of(&mut self.lost).is_empty())
    }

    /// Of those whose failure has not been dealt with, the one that failed first.
    fn first_failed(&mut self) -> Option<usize> {
        let workers = self.workers.iter_mut().map(of);
        let failed = workers.filter_map(|worker| Some((worker.failed_at()?, worker.number)));
        failed.min().map(|(_, number)| number)
    }

    /// The first that still works, after others have failed. None does where the driver has taken them along, nor while one
    /// hangs, for which the driver would wait whatever it is asked.
    fn left(&mut self) -> Option<usize> {
        let hangs =
            |worker: &Worker| matches!(&worker.state, State::Failed(error, _) if error.is_hang());
        if self.workers.iter_mut().any(|worker| hangs(of(worker))) {
            return None;
        }
        thread::sleep(MOMENT);
        self.workers
            .iter_mut()
            .map(of)
            .position(|worker| worker.is_working() && is_alive(&worker.cuda().stream))
    }

    /// All have failed at once, or the last one has: nothing more is asked of any. What is safe is left.
    fn fall(&mut self) -> Error {
        let (mut lost, mut silent, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for worker in self.workers.iter_mut().map(of) {
            lost.extend(worker.lots.lose_film());
            lost.extend(worker.lots.lose_sum());
            match mem::replace(&mut worker.state, State::Dropped) {
                State::Failed(error, at) => failed.push((at, worker.number, error)),
                State::Working => silent.push(worker.number),
                State::Dropped => {}
            }
        }
        self.hangs = failed.iter().any(|(.., error)| error.is_hang());
        if self.hangs {
            // It took nobody along: the others are left since the driver would wait for it.
            failed.retain(|(.., error)| error.is_hang());
            silent.clear();
        }
        failed.sort_by_key(|&(at, ..)| at);
        let mut fallen = Vec::new();
        if let Some(&(began, ..)) = failed.first().filter(|_| !self.hangs) {
            let is_late = |at| began.saturating_duration_since(at) < AFTERMATH;
            self.dropped.retain(|&(at, ..)| is_late(at));
            let dropped = self.dropped.drain(..);
            fallen.extend(dropped.map(|(_, number, problem)| (number, problem)));
        }
        let said = |(_, number, error): &(_, usize, Error)| (*number, error.to_string());
        fallen.extend(failed.iter().map(said));
        let said = |number| (number, "fell with the others".to_owned());
        fallen.extend(silent.into_iter().map(said));
        self.lose(lost);
        (self.lost, self.leaving, self.keeping) = (Mutex::default(), None, None);
        self.has_fallen = true;
        let (first, problem) = fallen[0].clone();
        self.counts.failures.push(Failure::Last(fallen));
        Error::Gpu {
            gpu: self.names[first].clone(),
            problem,
            leaves_others: self.names.len() > 1,
        }
    }

    fn lose_sum(&mut self) -> Vec<Lot> {
        self.keeping = None;
        let workers = self.workers.iter_mut().map(of);
        workers.flat_map(|worker| worker.lots.lose_sum()).collect()
    }

    fn lose(&mut self, lots: Vec<Lot>) {
        let withdrawn = &mut self.counts.withdrawn;
        let lost = of(&mut self.lost);
        for Lot { pairs, counted } in lots {
            lost.push(pairs);
            withdrawn.extend(counted);
        }
    }

    /// Goes on with the sum that is safe, on another GPU.
    pub(super) fn move_sum(&mut self, home: usize) {
        let workers: Vec<_> = self.workers.iter().map(lock).collect();
        let waves: Vec<Option<&CudaWave>> = workers
            .iter()
            .map(|worker| match &worker.wave {
                Wave::Cuda(cuda) if worker.is_working() => Some(&**cuda),
                _ => None,
            })
            .collect();
        let Some(on) = waves[home] else { return };
        let film = self.safe.film.as_deref();
        let moved = Sum::new(home, on, &waves, film, self.patience).and_then(|mut sum| {
            if let Some(round) = &self.safe.round {
                sum.begin_rounds(on, round)?;
            }
            Ok(sum)
        });
        match moved {
            Ok(sum) => self.sum = sum,
            Err(error) => {
                drop(workers);
                self.sum.home = home;
                self.fail(home, error);
            }
        }
    }

    pub(super) fn fail(&mut self, worker: usize, error: Error) {
        of(&mut self.workers[worker]).attempt(|_| Err(error));
    }

    /// An error that came from the sum's GPU or from the worker's.
    pub(super) fn blame(&mut self, worker: usize, error: Error) {
        let to_blame = if self.sum.is_alive() {
            worker
        } else {
            self.sum.home
        };
        self.fail(to_blame, error);
    }

    /// If none is left that works: up to where the pairs are on the film that is left.
    pub(in crate::backend) fn fallen(&self) -> Option<u64> {
        self.has_fallen.then_some(self.safe.done)
    }

    /// Whether any GPU is left.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.fallen() {
            None => Ok(()),
            Some(_) => Err(Error::Compaction(compaction::Error::NoDevice {
                reason: "all of those that rendered have failed".to_owned(),
            })),
        }
    }
}
