//! A worker: one GPU with its wave, its pending chunks and its failure.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{super::pending_chunks::PendingChunks, scheduler::Scheduler};
use crate::{
    Error,
    backend::Counted,
    stages::wave::{CudaWave, Wave, counts},
};

/// A GPU that renders part of a film.
pub(super) struct Worker {
    /// The worker's index among all workers, which is its index among the backend's devices.
    pub(super) number: usize,
    pub(super) wave: Wave,
    /// Assigned work that is not safe in host memory yet.
    pub(super) chunks: PendingChunks,
    /// Speed of the last timed wave, in paths per millisecond; 0 until one is known.
    pub(super) speed: f64,
    /// Counts of the waves that have finished since `Gpus::take_counts`.
    pub(super) finished: Vec<Counted>,
    pub(super) state: State,
}

/// Whether a worker's GPU can be used.
pub(super) enum State {
    /// The GPU has not failed.
    Working,
    /// The GPU failed with this error at this time, and `Gpus::drop_failed` has not handled that yet.
    Failed(Error, Instant),
    /// The GPU failed and is out of the render.
    Dropped,
}

impl Worker {
    /// Returns a working worker that owns the wave of its GPU.
    pub(super) fn new(number: usize, wave: CudaWave) -> Worker {
        Worker {
            number,
            wave: Wave::Cuda(Box::new(wave)),
            chunks: PendingChunks::default(),
            speed: 0.0,
            finished: Vec::new(),
            state: State::Working,
        }
    }

    /// Returns the wave, which is always on a GPU.
    pub(super) fn cuda(&mut self) -> &mut CudaWave {
        match &mut self.wave {
            Wave::Cuda(wave) => wave,
            Wave::Cpu(_) => unreachable!("made for a GPU"),
        }
    }

    /// Returns whether the GPU has not failed.
    pub(super) fn is_working(&self) -> bool {
        matches!(self.state, State::Working)
    }

    /// Returns the time of a failure that `Gpus::drop_failed` has not handled yet.
    pub(super) fn failed_at(&self) -> Option<Instant> {
        match self.state {
            State::Failed(_, at) => Some(at),
            State::Working | State::Dropped => None,
        }
    }

    /// Does the work unless the GPU has failed, and records an error as its failure.
    pub(super) fn attempt(&mut self, work: impl FnOnce(&mut Worker) -> Result<(), Error>) {
        if self.is_working()
            && let Err(error) = work(self)
        {
            self.state = State::Failed(error, Instant::now());
        }
    }

    /// Traces the pairs that the scheduler assigns, until there are none. The last waves can still be running when it
    /// returns.
    pub(super) fn render(&mut self, scheduler: &Scheduler) -> Result<(), Error> {
        loop {
            while self.wave.is_full() && self.finish_oldest(scheduler.time_share)? {}
            let Some(pairs) = scheduler.assign(self.number, self.wave.next_paths()) else {
                return Ok(());
            };
            self.chunks.assign(pairs.clone());
            scheduler.spans.plan.launch(&mut self.wave, pairs)?;
        }
    }

    /// Waits for the oldest running wave and takes its counts. Returns `false` if no wave is running.
    pub(super) fn finish_oldest(&mut self, time_share: f64) -> Result<bool, Error> {
        let Some(report) = self.wave.finish_oldest()? else {
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
        if self.chunks.finish_oldest(&counted) {
            self.finished.push(counted);
        }
        Ok(true)
    }
}

/// Returns the value of a mutex without locking, because the exclusive reference proves that no other thread holds it.
pub(super) fn of<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the mutex. A panic in another thread leaves a worker between two stages, and its next span overwrites the
/// wave.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
