//! A GPU at work: it traces what it is dealt, and fails on its own.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{super::lots::Lots, dealer::Dealer};
use crate::{
    Error,
    backend::Counted,
    wave::{CudaWave, Wave, counts},
};

/// A GPU.
pub(super) struct Worker {
    /// Its place among all of them.
    pub(super) number: usize,
    pub(super) wave: Wave,
    pub(super) lots: Lots,
    /// Paths a millisecond, of late; 0 if not known.
    pub(super) speed: f64,
    /// What has landed since somebody asked.
    pub(super) landed: Vec<Counted>,
    pub(super) state: State,
}

pub(super) enum State {
    Working,
    /// It has just failed, at that time.
    Failed(Error, Instant),
    /// It failed, and that has been dealt with.
    Dropped,
}

impl Worker {
    pub(super) fn new(number: usize, wave: CudaWave) -> Worker {
        Worker {
            number,
            wave: Wave::Cuda(Box::new(wave)),
            lots: Lots::default(),
            speed: 0.0,
            landed: Vec::new(),
            state: State::Working,
        }
    }

    pub(super) fn cuda(&mut self) -> &mut CudaWave {
        match &mut self.wave {
            Wave::Cuda(wave) => wave,
            Wave::Cpu(_) => unreachable!("made for a GPU"),
        }
    }

    pub(super) fn is_working(&self) -> bool {
        matches!(self.state, State::Working)
    }

    /// When it failed, if that has not been dealt with.
    pub(super) fn failed_at(&self) -> Option<Instant> {
        match self.state {
            State::Failed(_, at) => Some(at),
            State::Working | State::Dropped => None,
        }
    }

    /// Does this, unless it has failed; an error is its failure.
    pub(super) fn attempt(&mut self, work: impl FnOnce(&mut Worker) -> Result<(), Error>) {
        if self.is_working()
            && let Err(error) = work(self)
        {
            self.state = State::Failed(error, Instant::now());
        }
    }

    /// Traces what it is dealt. Some waves are still under way when it returns.
    pub(super) fn render(&mut self, dealer: &Dealer) -> Result<(), Error> {
        loop {
            while self.wave.is_full() && self.land(dealer.time_share)? {}
            let Some(pairs) = dealer.deal(self.number, self.wave.next_paths()) else {
                return Ok(());
            };
            self.lots.deal(pairs.clone());
            dealer.spans.plan.launch(&mut self.wave, pairs)?;
        }
    }

    /// Waits for the oldest wave under way; `false` if none is.
    pub(super) fn land(&mut self, time_share: f64) -> Result<bool, Error> {
        let Some(report) = self.wave.land()? else {
            return Ok(false);
        };
        let time: f64 = report.times.iter().map(|&(_, time)| time).sum();
        if time > 0.0 {
            self.speed = f64::from(report.counts[counts::rays(0)]) / time;
        }
        let counted = Counted {
            device: self.number,
            report,
            time_share,
        };
        if self.lots.land(&counted) {
            self.landed.push(counted);
        }
        Ok(true)
    }
}

/// Nobody else has it.
pub(super) fn of<T>(held: &mut Mutex<T>) -> &mut T {
    held.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// A panic in another thread leaves a worker between two stages: the next span overwrites its wave.
pub(super) fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
