//! Copies of the film that survive failures: films are added to the sum, and the sum is copied to the host.

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
    stages::wave::{CudaWave, Wave},
};

/// Default minimum time between two copies of the sum to the host. The shorter it is, the less is rendered again if the
/// sum's GPU fails.
const PAUSE: Duration = Duration::from_secs(2);
/// Low estimate of the bandwidth from GPU to host in bytes per second. It gives the transfer time of a copy of the sum,
/// which limits how often the sum is copied, see [`SPACING`].
const SLOW_BUS: f64 = 8e9;
/// Minimum time between two copies of the sum, as a multiple of the transfer time of one: copying takes at most 1 % of
/// the time.
const SPACING: f64 = 100.0;

/// The state in host memory, which no failure of a GPU destroys.
#[derive(Default)]
pub(super) struct Safe {
    /// Copy of the sum; `None` is a black film.
    pub(super) film: Option<Vec<u64>>,
    /// Number of the pair before which all pairs are on the film.
    pub(super) done: u64,
    /// The round of those pairs during adaptive sampling, otherwise `None`.
    pub(super) round: Option<Arc<Begun>>,
}

/// A copy of the sum that is in transfer to the host.
pub(super) struct Keeping {
    /// Number of the pair before which all pairs are on the copy.
    done: u64,
    /// Number of chunks of each worker that are on the copy.
    gathered: Vec<u64>,
}

impl Gpus {
    /// Sends all films to the sum behind the running waves, after earlier transfers have arrived.
    fn post_report(&mut self) {
        self.arrive();
        for number in 0..self.workers.len() {
            let worker = of(&mut self.workers[number]);
            if !worker.is_working() || !worker.chunks.can_depart() {
                continue;
            }
            match self.sum.send(number, worker.cuda()) {
                Ok(()) => worker.chunks.post_report(),
                Err(error) => self.blame(number, error),
            }
        }
    }

    /// Returns whether all transfers to the sum have arrived.
    fn has_arrived(&mut self) -> bool {
        let sum = &self.sum;
        let mut all = true;
        for worker in self.workers.iter_mut().map(of) {
            if worker.chunks.are_under_way() {
                worker.attempt(|worker| {
                    all &= sum.has_arrived(worker.number)?;
                    Ok(())
                });
            }
        }
        all
    }

    /// Waits for all transfers to the sum, and adds the films.
    fn arrive(&mut self) {
        let time_share = self.time_share();
        let mut arrived = Vec::new();
        for worker in self.workers.iter_mut().map(of) {
            let sum = &self.sum;
            if !worker.chunks.are_under_way() {
                continue;
            }
            worker.attempt(|worker| {
                // The film arrives after the waves that are on it.
                while worker.chunks.has_unreported() && worker.finish_oldest(time_share)? {}
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
                    of(&mut self.workers[number]).chunks.gather();
                }
            }
            Err(error) => self.fail(home, error),
        }
    }

    /// Waits until all pairs are on the sum, and renders lost ones again.
    ///
    /// # Errors
    /// All GPUs have failed.
    pub(super) fn gather(&mut self) -> Result<(), Error> {
        loop {
            self.rerender_lost()?;
            self.check()?;
            self.post_report();
            self.arrive();
            let is_gathered = |worker: &mut Mutex<Worker>| {
                let Worker { state, chunks, .. } = of(worker);
                match state {
                    State::Working => !chunks.can_depart() && !chunks.are_under_way(),
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

    /// Starts, continues or finishes the periodic copy of the sum to the host, without waiting for a wave.
    pub(super) fn continue_safe_copy(&mut self) -> Result<(), Error> {
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
            self.post_report();
            self.leaving = Some(self.done);
        } else {
            self.take_kept();
        }
        self.rerender_lost()
    }

    /// Returns the minimum time between two copies of the sum to the host: that of the settings, or else one that
    /// depends on the size of the sum.
    fn pause(&self) -> Duration {
        let transfer = self.sum.bytes() as f64 / SLOW_BUS;
        let pause = PAUSE.max(Duration::from_secs_f64(SPACING * transfer));
        self.keep_every.unwrap_or(pause)
    }

    /// Starts a copy of the sum to the host; the sum has all pairs before `done`.
    fn keep(&mut self, done: u64) {
        self.kept_at = Instant::now();
        self.take_kept();
        let gathered = self
            .workers
            .iter_mut()
            .map(|worker| of(worker).chunks.gathered());
        let gathered = gathered.collect();
        match self.sum.start_host_copy() {
            Ok(()) => self.keeping = Some(Keeping { done, gathered }),
            Err(error) => self.fail(self.sum.home, error),
        }
    }

    /// Takes the copy of the sum if it has arrived in host memory.
    fn take_kept(&mut self) {
        let Some(keeping) = &self.keeping else { return };
        match self.sum.take_host_copy(&mut self.safe.film) {
            Ok(true) => {
                self.safe.done = keeping.done;
                for (worker, &gathered) in self.workers.iter_mut().zip(&keeping.gathered) {
                    of(worker).chunks.keep(gathered);
                }
                self.keeping = None;
            }
            Ok(false) => {}
            Err(error) => self.fail(self.sum.home, error),
        }
    }

    /// Does the work with the sum of all films, and repeats it on another GPU if the one with the sum fails.
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
