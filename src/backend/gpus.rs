//! Several GPUs render one film, each on a film of its own. From time to time these films are added to a sum on one
//! GPU, and the sum is copied to the host. When a GPU fails, the others render again what was only on its film or on
//! the sum.
//!
//! `scheduler` assigns work, `worker` is one GPU, `safety` copies films to the sum and the host, `failure` handles GPUs
//! that fail, and `rounds` tests which pixels need more samples.

mod failure;
mod rounds;
mod safety;
mod scheduler;
mod worker;

use std::{
    mem,
    ops::Range,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use rayon::ThreadPool;

pub(super) use self::rounds::Begun;
use self::{
    safety::{Keeping, Safe},
    scheduler::Scheduler,
    worker::{Worker, lock, of},
};
use super::{
    Counts, Settings,
    leak_on_hang::CanHang,
    spans::{Plan, Spans},
    sum::{self, Sum},
    threads,
};
use crate::{
    Error,
    camera::Camera,
    device::render_scene::RenderScene,
    film::FilmSums,
    film::picture::Picture,
    stages::Preview,
    stages::wave::{CudaWave, Pace, Wave},
};

/// The GPUs that render one film, and the state of that film.
pub(super) struct Gpus {
    workers: Vec<Mutex<Worker>>,
    /// Name of each GPU, such as `NVIDIA H200 (cuda:1)`.
    names: Vec<String>,
    /// Pool with one thread per GPU.
    pool: ThreadPool,
    /// Camera of all films.
    camera: Camera,
    /// Sum of the films, on the GPU of one worker.
    sum: Sum,
    /// Pairs that were lost with a GPU, to be assigned again.
    lost: Mutex<Vec<Range<u64>>>,
    /// Plan of the pairs that were assigned last; `None` before the first.
    plan: Option<Plan>,
    /// Number of the pair before which all pairs are on some film.
    done: u64,
    /// Last copy of the sum in host memory.
    safe: Safe,
    /// Value of `done` when the films were sent to the sum; `None` if no film is in transfer.
    leaving: Option<u64>,
    /// Copy of the sum that is in transfer to the host; `None` without one.
    keeping: Option<Keeping>,
    /// Memory of the film and the state of an earlier round, which the end of the next round reuses.
    spare: (Vec<u64>, Begun),
    /// Time of the last copy of the sum to the host.
    kept_at: Instant,
    /// See [`Settings::keep_every`].
    keep_every: Option<Duration>,
    /// Minimum time that a GPU gets before it counts as hung, see [`Settings::timeout`].
    timeout: Duration,
    /// Counts and failures since [`Gpus::take_counts`].
    counts: Counts,
    /// Whether all GPUs have failed.
    all_failed: bool,
    /// Whether a GPU hangs, so that freeing anything through the driver would never return.
    hangs: bool,
}

impl Gpus {
    /// Returns the GPUs with these waves and names. The sum is on the first one.
    pub(super) fn new(
        waves: Vec<CudaWave>,
        names: Vec<String>,
        camera: Camera,
        settings: &Settings,
    ) -> Result<Gpus, Error> {
        let timeout = settings.timeout();
        let all: Vec<_> = waves.iter().map(Some).collect();
        let sum = Sum::new(0, &waves[0], &all, None, timeout)?;
        let workers = waves.into_iter().enumerate();
        let workers: Vec<_> = workers
            .map(|(number, wave)| Mutex::new(Worker::new(number, wave)))
            .collect();
        Ok(Gpus {
            pool: threads(workers.len())?,
            workers,
            names,
            camera,
            sum,
            lost: Mutex::default(),
            plan: None,
            done: 0,
            safe: Safe::default(),
            leaving: None,
            keeping: None,
            spare: Default::default(),
            kept_at: Instant::now(),
            keep_every: settings.keep_every,
            timeout,
            counts: Counts::default(),
            all_failed: false,
            hangs: false,
        })
    }

    /// Assigns (pixel, sample) pairs to the GPUs until none are left, or until `enough` returns `true` for the number
    /// of the first pair that is not assigned. GPUs that fail leave the render, and the others render their lost pairs
    /// again. Also continues the periodic copy of the sum to the host. When it returns, the samples of the assigned
    /// pairs are on the film of a GPU, on the sum, or still being traced.
    ///
    /// # Errors
    /// All GPUs have failed.
    pub(super) fn advance(
        &mut self,
        spans: &Spans,
        enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(), Error> {
        self.check()?;
        self.plan = Some(spans.plan);
        self.render(spans, enough);
        self.rerender_lost()?;
        self.done = spans.next.load(Relaxed).min(spans.end);
        self.continue_safe_copy()
    }

    /// Has all working GPUs trace the pairs that the scheduler assigns to them.
    fn render(&mut self, spans: &Spans, enough: &(dyn Fn(u64) -> bool + Sync)) {
        let speeds = self.workers.iter_mut().map(|worker| {
            let worker = of(worker);
            worker.is_working().then_some(worker.speed)
        });
        let speeds: Vec<Option<f64>> = speeds.collect();
        let working = speeds.iter().flatten().count() as f64;
        let all: f64 = speeds.iter().flatten().sum();
        // Shares are equal until all speeds are known.
        let known = speeds.iter().flatten().all(|&speed| speed > 0.0);
        let share = |speed: &Option<f64>| match speed {
            Some(speed) if known => speed / all,
            Some(_) => 1.0 / working,
            None => 0.0,
        };
        let scheduler = Scheduler {
            spans,
            lost: &self.lost,
            shares: speeds.iter().map(share).collect(),
            time_share: 1.0 / working,
            enough,
        };
        self.pool.broadcast(|thread| {
            lock(&self.workers[thread.index()]).attempt(|worker| worker.render(&scheduler));
        });
    }

    /// Sets the pace of all waves from the next one on.
    pub(super) fn set_pace(&mut self, pace: Pace) {
        for worker in &mut self.workers {
            of(worker).wave.set_pace(pace);
        }
    }

    /// Returns [`Wave::sort_hits`] of each working GPU, with its index.
    pub(super) fn sort_hits_states(&self) -> Vec<(usize, (bool, Option<f64>))> {
        let workers = self.workers.iter().map(lock);
        let working = workers.filter(|worker| worker.is_working());
        working
            .map(|worker| (worker.number, worker.wave.sort_hits()))
            .collect()
    }

    /// Calls `work` with the waves of the working GPUs.
    pub(super) fn with_waves<T>(
        &self,
        work: impl FnOnce(&mut dyn Iterator<Item = &Wave>) -> T,
    ) -> T {
        let workers: Vec<_> = self.workers.iter().map(lock).collect();
        let working = workers.iter().filter(|worker| worker.is_working());
        work(&mut working.map(|worker| &worker.wave))
    }

    /// Returns the factor from stage times to wall-clock time: 1 / number of working GPUs.
    fn time_share(&mut self) -> f64 {
        let working = self.workers.iter_mut().map(of);
        1.0 / working.filter(|worker| worker.is_working()).count().max(1) as f64
    }

    /// Waits for all running waves and adds all films to the sum. Returns whether a wave was running; `false` if all
    /// GPUs have failed.
    pub(super) fn finish_waves(&mut self) -> Result<bool, Error> {
        if self.all_failed {
            return Ok(false);
        }
        let (time_share, mut any) = (self.time_share(), false);
        for worker in self.workers.iter_mut().map(of) {
            worker.attempt(|worker| {
                while worker.finish_oldest(time_share)? {
                    any = true;
                }
                Ok(())
            });
        }
        self.gather()?;
        Ok(any)
    }

    /// Returns the counts and failures since the last call.
    pub(super) fn take_counts(&mut self) -> Counts {
        for worker in self.workers.iter_mut().map(of) {
            self.counts.added.append(&mut worker.finished);
        }
        mem::take(&mut self.counts)
    }

    /// Resolves the sum, which holds the first `done` pairs, into a picture.
    pub(super) fn resolve(&mut self, done: u64, picture: &mut Picture) -> Result<(), Error> {
        let reached = self.reached();
        self.with_sum(|sum, on| {
            reached.map_or(Ok(()), |reached| sum.count(reached))?;
            sum.develop(on, done, picture)
        })
    }

    /// Keeps a copy of the sum, which holds the first `done` (pixel, sample) pairs, on its GPU. [`Gpus::denoise`] later
    /// compares the film with it to estimate the film's noise.
    pub(super) fn snapshot_film(&mut self, done: u64) -> Result<(), Error> {
        self.with_sum(|sum, on| sum.snapshot_film(on, done))
    }

    /// Resolves the sum, which holds the first `done` pairs, into a denoised preview. Returns `false` while its noise
    /// is unknown.
    pub(super) fn denoise(&mut self, done: u64, preview: &mut Preview) -> Result<bool, Error> {
        let reached = self.reached();
        self.with_sum(|sum, on| {
            reached.map_or(Ok(()), |reached| sum.count(reached))?;
            sum.denoise(on, done, preview)
        })
    }

    /// Returns a copy of the film; if all GPUs have failed, of the safe film.
    pub(super) fn film_sums(&mut self) -> Result<FilmSums, Error> {
        if self.all_failed {
            let black = || vec![0; sum::len(&self.camera)];
            return Ok(sum::film_sums(self.safe.film.clone().unwrap_or_else(black)));
        }
        self.with_sum(|sum, _| sum.film_sums())
    }

    /// Replaces the film by this one, which holds the pairs of a pixel and a sample with numbers below `done`.
    pub(super) fn set_film(&mut self, film_sums: &FilmSums, done: u64) -> Result<(), Error> {
        self.begin_again(Some(sum::list(film_sums)), done, CudaWave::clear_film)
    }

    /// Sets the camera and clears the film. The first pair of a pixel and a sample that is added to it then has the
    /// number `first`. `scene` is the scene with the probabilities of lights for the camera, if they depend on it.
    pub(super) fn set_camera(
        &mut self,
        camera: Camera,
        scene: Option<&Arc<RenderScene>>,
        first: u64,
    ) -> Result<(), Error> {
        self.camera = camera;
        self.begin_again(None, first, |wave| {
            wave.set_camera(camera)?;
            scene.map_or(Ok(()), |scene| wave.set_lights(scene))
        })
    }

    /// Puts this film, which holds the pairs up to `done`, on the sum, and clears the workers' films with `clear`.
    fn begin_again(
        &mut self,
        film: Option<Vec<u64>>,
        done: u64,
        clear: impl Fn(&mut CudaWave) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for worker in self.workers.iter_mut().map(of) {
            // Running waves belong to the old film.
            worker.attempt(|worker| {
                while worker.wave.finish_oldest()?.is_some() {}
                clear(worker.cuda())
            });
            worker.chunks = Default::default();
            worker.finished.clear();
        }
        self.lost = Mutex::default();
        (self.leaving, self.keeping, self.kept_at) = (None, None, Instant::now());
        self.counts.added.clear();
        self.counts.withdrawn.clear();
        self.done = done;
        self.safe = Safe {
            film,
            done,
            round: None,
        };
        self.drop_failed()?;
        self.check()?;
        let home = self.sum.home;
        let film = self.safe.film.as_deref();
        if self.sum.fits(&self.camera) {
            if let Err(error) = self.sum.set(&self.camera, film) {
                self.fail(home, error);
            }
        } else {
            self.move_sum(home);
        }
        self.rerender_lost()
    }

    /// Does the work with every GPU's wave.
    ///
    /// # Errors
    /// The error of a GPU that still works afterwards; the waves behind it are then unchanged.
    pub(super) fn each(
        &mut self,
        work: impl Fn(&mut Wave) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (timeout, time_share) = (self.timeout, self.time_share());
        for worker in self.workers.iter_mut().map(of) {
            // A GPU that hangs must not be waited for without a limit.
            worker.attempt(|worker| {
                while worker.finish_oldest(time_share)? {}
                Ok(())
            });
            if !worker.is_working() {
                continue;
            }
            if let Err(error) = work(&mut worker.wave) {
                if compaction::cuda::rest(&worker.cuda().stream, timeout).is_ok() {
                    return Err(error);
                }
                worker.attempt(|_| Err(error));
            }
        }
        self.rerender_lost()
    }
}

impl CanHang for Gpus {
    fn hangs(&self) -> bool {
        self.hangs
    }
}
