//! Handling of GPUs that fail: their work is assigned to the others, or the render ends with the safe film if none is
//! left.

use std::{
    mem,
    sync::{Mutex, atomic::AtomicU64},
    thread,
    time::Duration,
};

use compaction::cuda::is_alive;

use super::{
    super::{pending_chunks::Chunk, spans::Spans, sum::Sum},
    Gpus,
    worker::{State, Worker, lock, of},
};
use crate::{
    Error,
    stages::wave::{CudaWave, Wave},
};

/// Time after a failure until the driver reports it on every other GPU that it affects.
const PROPAGATION: Duration = Duration::from_millis(100);

impl Gpus {
    /// Takes failed GPUs out of the render, and has the others render the pairs that were lost with them, until no
    /// further GPU fails.
    ///
    /// # Errors
    /// All GPUs have failed.
    pub(super) fn rerender_lost(&mut self) -> Result<(), Error> {
        while self.drop_failed()?
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

    /// Takes failed GPUs out of the render. Returns whether pairs were lost that have to be rendered again.
    ///
    /// # Errors
    /// All GPUs have failed.
    pub(super) fn drop_failed(&mut self) -> Result<bool, Error> {
        while let Some(first) = self.first_failed() {
            let Some(next) = self.first_working() else {
                return Err(self.fail_all());
            };
            let worker = of(&mut self.workers[first]);
            let State::Failed(error, _) = mem::replace(&mut worker.state, State::Dropped) else {
                continue;
            };
            self.leaving = None;
            let mut lost = worker.chunks.lose_film();
            self.sum.cut_off(first);
            if first == self.sum.home {
                lost.extend(self.lose_sum());
            }
            self.lose(lost);
            self.counts.failures.push((first, error.to_string()));
            if first == self.sum.home {
                self.move_sum(next);
            }
        }
        Ok(!of(&mut self.lost).is_empty())
    }

    /// Returns the number of the worker that failed first among those that `drop_failed` has not taken out yet.
    fn first_failed(&mut self) -> Option<usize> {
        let workers = self.workers.iter_mut().map(of);
        let failed = workers.filter_map(|worker| Some((worker.failed_at()?, worker.number)));
        failed.min().map(|(_, number)| number)
    }

    /// Returns the number of the first worker that still works after others have failed.
    ///
    /// It is `None` if the driver has disabled all GPUs of the process, as it does after a kernel has crashed, and
    /// while a GPU hangs, because every call to the driver would then wait for that GPU.
    fn first_working(&mut self) -> Option<usize> {
        let hangs =
            |worker: &Worker| matches!(&worker.state, State::Failed(error, _) if error.is_hang());
        if self.workers.iter_mut().any(|worker| hangs(of(worker))) {
            return None;
        }
        thread::sleep(PROPAGATION);
        self.workers
            .iter_mut()
            .map(of)
            .position(|worker| worker.is_working() && is_alive(&worker.cuda().stream))
    }

    /// Gives up all GPUs because all have failed or one hangs. Keeps the safe film, and returns the error to report:
    /// that of the GPU that hangs, otherwise the earliest.
    fn fail_all(&mut self) -> Error {
        let (mut lost, mut failed) = (Vec::new(), Vec::new());
        for worker in self.workers.iter_mut().map(of) {
            lost.extend(worker.chunks.lose_film());
            lost.extend(worker.chunks.lose_sum());
            if let State::Failed(error, at) = mem::replace(&mut worker.state, State::Dropped) {
                failed.push((!error.is_hang(), at, worker.number, error.to_string()));
            }
        }
        self.hangs = failed.iter().any(|&(answers, ..)| !answers);
        self.lose(lost);
        (self.lost, self.leaving, self.keeping) = (Mutex::default(), None, None);
        self.all_failed = true;
        match failed.into_iter().min() {
            Some((_, _, number, problem)) => Error::Gpu {
                gpu: self.names[number].clone(),
                problem,
            },
            None => no_gpu_left(),
        }
    }

    /// Removes and returns the chunks that every worker loses when the GPU with the sum fails.
    fn lose_sum(&mut self) -> Vec<Chunk> {
        self.keeping = None;
        let workers = self.workers.iter_mut().map(of);
        workers
            .flat_map(|worker| worker.chunks.lose_sum())
            .collect()
    }

    /// Queues the pairs of lost chunks to be rendered again, and withdraws their counts.
    fn lose(&mut self, chunks: Vec<Chunk>) {
        let withdrawn = &mut self.counts.withdrawn;
        let lost = of(&mut self.lost);
        for Chunk { pairs, counted } in chunks {
            lost.push(pairs);
            withdrawn.extend(counted);
        }
    }

    /// Puts the sum on the GPU of the worker `home`, starting from the safe film.
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
        let moved = Sum::new(home, on, &waves, film, self.timeout).and_then(|mut sum| {
            if let Some(round) = &self.safe.round {
                sum.begin_adaptive(on, round)?;
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

    /// Records an error as the failure of this worker.
    pub(super) fn fail(&mut self, worker: usize, error: Error) {
        of(&mut self.workers[worker]).attempt(|_| Err(error));
    }

    /// Records an error as a failure of the GPU with the sum if that has failed, otherwise of this worker.
    pub(super) fn blame(&mut self, worker: usize, error: Error) {
        let to_blame = if self.sum.is_alive() {
            worker
        } else {
            self.sum.home
        };
        self.fail(to_blame, error);
    }

    /// See [`Backend::safe_after_failure`](super::super::Backend::safe_after_failure).
    pub(in crate::backend) fn safe_after_failure(&self) -> Option<u64> {
        self.all_failed.then_some(self.safe.done)
    }

    /// Returns an error if all GPUs have failed.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.all_failed {
            false => Ok(()),
            true => Err(no_gpu_left()),
        }
    }
}

/// Returns the error for a render whose GPUs have all failed.
fn no_gpu_left() -> Error {
    Error::Compaction(compaction::Error::NoDevice {
        reason: "all GPUs of the render have failed".to_owned(),
    })
}
