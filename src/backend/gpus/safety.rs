//! What keeps safe: films go to the sum, and the sum to the host.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::{
    super::sum::Sum,
    Gpus,
    rounds::Begun,
    worker::{State, Worker, lock, of},
};
use crate::{
    Error,
    wave::{CudaWave, Wave},
};

/// How often the sum is copied to the host: as much is rendered again at most when its GPU fails.
const PAUSE: Duration = Duration::from_secs(2);
/// What a film crosses at a second, at the least, in bytes.
const SLOW_BUS: f64 = 8e9;
/// So many times what a film takes to cross lies between two of them at least.
const SPACING: f64 = 100.0;

/// What no GPU's failure takes away.
#[derive(Default)]
pub(super) struct Safe {
    /// A black one, if there is none.
    pub(super) film: Option<Vec<u64>>,
    /// Up to where it has the pairs.
    pub(super) done: u64,
    /// Of which round those are, where pixels get samples until they are good.
    pub(super) round: Option<Arc<Begun>>,
}

/// The sum is on its way to the host.
pub(super) struct Keeping {
    /// Up to where it has the pairs.
    done: u64,
    /// And each worker's lots.
    gathered: Vec<u64>,
}

impl Gpus {
    /// Sends what is on the films to the sum, behind the waves under way. Before that everything on its way has arrived.
    fn depart(&mut self) {
        self.arrive();
        for number in 0..self.workers.len() {
            let worker = of(&mut self.workers[number]);
            if !worker.is_working() || !worker.lots.can_depart() {
                continue;
            }
            match self.sum.send(number, worker.cuda()) {
                Ok(()) => worker.lots.depart(),
                Err(error) => self.blame(number, error),
            }
        }
    }

    /// Whether all that is on its way to the sum is there.
    fn has_arrived(&mut self) -> bool {
        let sum = &self.sum;
        let mut all = true;
        for worker in self.workers.iter_mut().map(of) {
            if worker.lots.are_under_way() {
                worker.attempt(|worker| {
                    all &= sum.has_arrived(worker.number)?;
                    Ok(())
                });
            }
        }
        all
    }

    /// Waits for what is on its way to the sum, and adds it.
    fn arrive(&mut self) {
        let time_share = self.time_share();
        let mut arrived = Vec::new();
        for worker in self.workers.iter_mut().map(of) {
            let sum = &self.sum;
            if !worker.lots.are_under_way() {
                continue;
            }
            worker.attempt(|worker| {
                // The film comes behind them.
                while worker.lots.are_to_land() && worker.land(time_share)? {}
                sum.wait(worker.number)?;
                arrived.push(worker.number);
                Ok(())
            });
        }
        if arrived.is_empty() {
            return;
        }
        let home = self.sum.home;
        let added = match &lock(&self.workers[home]).wave {
            Wave::Cuda(on) => self.sum.add(&on.kernels, &arrived),
            Wave::Cpu(_) => unreachable!("made for a GPU"),
        };
        match added {
            Ok(()) => {
                for number in arrived {
                    of(&mut self.workers[number]).lots.gather();
                }
            }
            Err(error) => self.fail(home, error),
        }
    }

    /// Brings everything onto the sum.
    pub(super) fn gather(&mut self) -> Result<(), Error> {
        loop {
            self.make_good()?;
            self.check()?;
            self.depart();
            self.arrive();
            let is_gathered = |worker: &mut Mutex<Worker>| {
                let Worker { state, lots, .. } = of(worker);
                match state {
                    State::Working => !lots.can_depart() && !lots.are_under_way(),
                    State::Failed(..) => false,
                    State::Dropped => true,
                }
            };
            if self.workers.iter_mut().all(is_gathered) {
                break;
            }
        }
        if self.leaving.take().is_some() {
            self.keep(self.done);
        }
        Ok(())
    }

    /// Once in a while brings the sum up to now and copies it to the host, without waiting for a wave.
    pub(super) fn keep_up(&mut self) -> Result<(), Error> {
        if let Some(done) = self.leaving {
            if self.has_arrived() {
                self.arrive();
                self.leaving = None;
                if !self
                    .workers
                    .iter_mut()
                    .any(|worker| of(worker).failed_at().is_some())
                {
                    self.keep(done);
                }
            }
        } else if self.kept_at.elapsed() >= self.pause() {
            self.depart();
            self.leaving = Some(self.done);
        } else {
            self.take_kept();
        }
        self.make_good()
    }

    fn pause(&self) -> Duration {
        let crossing = self.sum.bytes() as f64 / SLOW_BUS;
        let pause = PAUSE.max(Duration::from_secs_f64(SPACING * crossing));
        self.keep_every.unwrap_or(pause)
    }

    /// Begins to copy the sum to the host, which has the pairs up to `done`.
    fn keep(&mut self, done: u64) {
        self.kept_at = Instant::now();
        self.take_kept();
        let gathered = self
            .workers
            .iter_mut()
            .map(|worker| of(worker).lots.gathered());
        let gathered = gathered.collect();
        match self.sum.keep() {
            Ok(()) => self.keeping = Some(Keeping { done, gathered }),
            Err(error) => self.fail(self.sum.home, error),
        }
    }

    /// Takes the sum that was copied to the host, if it is there.
    fn take_kept(&mut self) {
        let Some(keeping) = &self.keeping else { return };
        match self.sum.kept(&mut self.safe.film) {
            Ok(true) => {
                self.safe.done = keeping.done;
                for (worker, &gathered) in self.workers.iter_mut().zip(&keeping.gathered) {
                    of(worker).lots.keep(gathered);
                }
                self.keeping = None;
            }
            Ok(false) => {}
            Err(error) => self.fail(self.sum.home, error),
        }
    }

    /// Does something with the sum of everything.
    pub(super) fn with_sum<T>(
        &mut self,
        mut work: impl FnMut(&mut Sum, &CudaWave) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            self.gather()?;
            let home = self.sum.home;
            let done = match &lock(&self.workers[home]).wave {
                Wave::Cuda(on) => work(&mut self.sum, on),
                Wave::Cpu(_) => unreachable!("made for a GPU"),
            };
            match done {
                Err(error) if !self.sum.is_alive() => self.fail(home, error),
                done => return done,
            }
        }
    }
}
