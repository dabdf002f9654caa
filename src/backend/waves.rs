//! Waves that share one film: one per thread of the CPU, or a single one on a GPU.

use std::sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed};

use compaction::cuda::is_alive;
use rayon::ThreadPool;

#[cfg(doc)]
use super::Backend;
use super::{
    Counted,
    batches::{Batches, Stop},
    spans::Spans,
};
use crate::{
    Error,
    stages::wave::{Report, Wave},
};

/// Waves that share a film, and the threads that run them.
pub(super) struct Waves {
    pub(super) waves: Vec<Mutex<Wave>>,
    /// The pairs that the waves on the CPU divide among them; unused on a GPU.
    pub(super) batches: Mutex<Batches>,
    /// Pool with one thread per wave.
    pub(super) pool: ThreadPool,
    /// Counts of the waves that have finished since [`Backend::take_counts`].
    pub(super) finished: Vec<Counted>,
}

impl Waves {
    /// Returns these waves; the pool must have one thread per wave.
    pub(super) fn new(waves: Vec<Mutex<Wave>>, pool: ThreadPool) -> Waves {
        // One wave per thread. Later batches grow.
        let capacity = waves.iter().map(|wave| lock(wave).next_paths());
        let first = capacity.fold(0, u32::saturating_add);
        let batches = Batches::new(waves.len() as u32, first);
        Waves {
            waves,
            batches: Mutex::new(batches),
            pool,
            finished: Vec::new(),
        }
    }

    /// Does the work with the first wave, on the rendering threads if that is on the CPU.
    pub(super) fn with_first<R: Send>(&self, work: impl FnOnce(&mut Wave) -> R + Send) -> R {
        let first = &self.waves[0];
        let is_on_cpu = matches!(&*lock(first), Wave::Cpu(_));
        if is_on_cpu {
            self.pool.install(|| work(&mut lock(first)))
        } else {
            work(&mut lock(first))
        }
    }

    /// Returns whether a GPU that traces these waves hangs.
    pub(super) fn hangs(&self) -> bool {
        self.waves.iter().any(|wave| match &*lock(wave) {
            Wave::Cpu(_) => false,
            Wave::Cuda(cuda) => cuda.hangs(),
        })
    }

    /// Returns whether a GPU that traces these waves has failed or hangs.
    pub(super) fn gpu_has_failed(&self) -> bool {
        self.waves.iter().any(|wave| match &*lock(wave) {
            Wave::Cpu(_) => false,
            Wave::Cuda(cuda) => cuda.hangs() || !is_alive(&cuda.stream),
        })
    }

    /// See [`Backend::advance`].
    pub(super) fn advance(&mut self, spans: &Spans, stop: &Stop) -> Result<(), Error> {
        let (waves, batches) = (&self.waves, &self.batches);
        lock(batches).begin_advance();
        let reports = self.pool.broadcast(|thread| {
            let mut wave = lock(&waves[thread.index()]);
            match &*wave {
                Wave::Cpu(_) => render_batches(&mut wave, spans, batches, stop),
                Wave::Cuda(_) => render(&mut wave, spans, stop),
            }
        });
        for reports in reports {
            self.count(reports?);
        }
        Ok(())
    }

    /// See [`Backend::finish_waves`].
    pub(super) fn finish_waves(&mut self) -> Result<bool, Error> {
        let mut reports = Vec::new();
        for wave in &self.waves {
            let mut wave = lock(wave);
            while let Some(report) = wave.finish_oldest()? {
                reports.push(report);
            }
        }
        let any = !reports.is_empty();
        self.count(reports);
        Ok(any)
    }

    /// Keeps the reports of finished waves for [`Backend::take_counts`].
    pub(super) fn count(&mut self, reports: Vec<Report>) {
        let time_share = 1.0 / self.waves.len() as f64;
        let counted = |report| Counted {
            device: 0,
            report,
            time_share,
        };
        self.finished.extend(reports.into_iter().map(counted));
    }

    /// Does the work with every wave, up to the first error.
    pub(super) fn each(
        &mut self,
        work: impl Fn(&mut Wave) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.waves.iter().try_for_each(|wave| work(&mut lock(wave)))
    }
}

/// Traces the pairs that `spans` assigns to the wave, see [`Backend::advance`]. Returns the reports of finished waves.
/// The last waves can still run when it returns.
fn render(wave: &mut Wave, spans: &Spans, stop: &Stop) -> Result<Vec<Report>, Error> {
    let mut reports = Vec::new();
    loop {
        while wave.is_full() {
            reports.extend(wave.finish_oldest()?);
        }
        if (stop.enough)(spans.next.load(Relaxed)) {
            return Ok(reports);
        }
        let paths = u64::from(wave.next_paths());
        let Some(pairs) = spans.assign(|_| paths) else {
            return Ok(reports);
        };
        spans.plan.launch(wave, pairs)?;
    }
}

/// Traces paths of the batches that the waves on the CPU divide among them, see [`Backend::advance`]. Returns the
/// reports of the waves.
fn render_batches(
    wave: &mut Wave,
    spans: &Spans,
    batches: &Mutex<Batches>,
    stop: &Stop,
) -> Result<Vec<Report>, Error> {
    let mut reports = Vec::new();
    loop {
        let max_paths = wave.next_paths();
        let assigned = lock(batches).assign(spans, max_paths, stop);
        let Some((span, paths)) = assigned else {
            return Ok(reports);
        };
        if let Wave::Cpu(cpu) = wave {
            cpu.begin_range(span, paths);
        }
        spans.plan.launch_prepared(wave)?;
        reports.extend(wave.finish_oldest()?);
    }
}

/// Locks a wave or the batches. A panic in another thread may have left them incomplete. The next span then overwrites
/// the wave, and the next call of [`Waves::advance`] drops the batch.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
