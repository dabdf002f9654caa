//! Several GPUs that render one film, each with a film of its own. From time to time those are added to a sum on one GPU,
//! and the sum is copied to the host: when a GPU fails, what was only on its film, or only on the sum, is rendered by the
//! others.
//!
//! `dealer` says who deals, `worker` who works, `safety` what keeps safe, `failure` what becomes of those that fail, and
//! `rounds` how they judge together which pixels need more.

mod dealer;
mod failure;
mod rounds;
mod safety;
mod worker;

use std::{
    mem,
    ops::Range,
    sync::{Mutex, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use rayon::ThreadPool;

pub(super) use self::rounds::Begun;
use self::{
    safety::{Keeping, Safe},
    worker::{Worker, lock, of},
};
use super::{
    Counts, Settings,
    held::MayHang,
    opening::of_gpu,
    spans::{Plan, Spans},
    sum::{self, Sum},
    threads,
};
use crate::{
    Error,
    camera::Camera,
    film::Exposed,
    picture::Picture,
    stages::Preview,
    wave::{CudaWave, Pace, Wave},
};

/// GPUs that render one film.
pub(super) struct Gpus {
    workers: Vec<Mutex<Worker>>,
    /// Each one's, such as "NVIDIA H200 (cuda:1)".
    names: Vec<String>,
    /// A thread for each.
    pool: ThreadPool,
    /// Of the films.
    camera: Camera,
    sum: Sum,
    /// Pairs that were dealt, and then lost with a GPU.
    lost: Mutex<Vec<Range<u64>>>,
    /// Of what was dealt last.
    plan: Option<Plan>,
    /// Up to where pairs are on some film.
    done: u64,
    safe: Safe,
    /// Up to where pairs are on the sum, once all that is on its way has arrived there.
    leaving: Option<u64>,
    keeping: Option<Keeping>,
    /// Memory for the film and the pixels of the next round.
    spare: (Vec<u64>, Begun),
    /// When the sum was sent to the host last.
    kept_at: Instant,
    /// See [`Settings::keep_every`].
    keep_every: Option<Duration>,
    /// See [`Settings::patience`].
    patience: Duration,
    counts: Counts,
    /// Who failed while others went on, when, and what it said.
    dropped: Vec<(Instant, usize, String)>,
    /// None is left that works.
    has_fallen: bool,
    /// For one that hangs.
    hangs: bool,
}

impl Gpus {
    /// GPUs of these names, with the scene on each of them.
    pub(super) fn new(
        waves: Vec<CudaWave>,
        names: Vec<String>,
        camera: Camera,
        settings: &Settings,
    ) -> Result<Gpus, Error> {
        let patience = settings.patience();
        if !settings.gpus.is_empty() {
            // After one has failed: one after the other, so that it is known whose fault it is.
            for (wave, name) in waves.iter().zip(&names) {
                let error = match sum::try_out(wave, patience) {
                    Ok(true) => continue,
                    Ok(false) => Error::Gpu {
                        gpu: name.clone(),
                        problem: "adds up numbers wrongly".to_owned(),
                        leaves_others: true,
                    },
                    Err(error) => {
                        let hangs = error.is_hang();
                        let error = of_gpu(name, error, true);
                        if hangs {
                            // The driver would wait for it.
                            mem::forget(waves);
                        }
                        error
                    }
                };
                return Err(error);
            }
        }
        let all: Vec<_> = waves.iter().map(Some).collect();
        let sum = Sum::new(0, &waves[0], &all, None, patience)?;
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
            patience,
            counts: Counts::default(),
            dropped: Vec::new(),
            has_fallen: false,
            hangs: false,
        })
    }

    /// Deals spans to all GPUs until that is enough, by what is dealt, or none is left. All that was dealt is on some film
    /// then, or under way.
    pub(super) fn advance(
        &mut self,
        spans: &Spans,
        enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(), Error> {
        self.check()?;
        self.plan = Some(spans.plan);
        self.render(spans, enough);
        self.make_good()?;
        self.done = spans.next.load(Relaxed).min(spans.end);
        self.keep_up()
    }

    /// Keeps to this from the next wave on.
    pub(super) fn set_pace(&mut self, pace: Pace) {
        for worker in &mut self.workers {
            of(worker).wave.set_pace(pace);
        }
    }

    /// See [`Wave::partition`]; of each one that works, with its place.
    pub(super) fn partitions(&self) -> Vec<(usize, (bool, Option<f64>))> {
        let workers = self.workers.iter().map(lock);
        let working = workers.filter(|worker| worker.is_working());
        working
            .map(|worker| (worker.number, worker.wave.partition()))
            .collect()
    }

    /// The part of the wall clock that a GPU's time stands for.
    fn time_share(&mut self) -> f64 {
        let working = self.workers.iter_mut().map(of);
        1.0 / working.filter(|worker| worker.is_working()).count().max(1) as f64
    }

    /// Waits for all waves under way, and brings everything onto the sum; whether there were any.
    pub(super) fn land(&mut self) -> Result<bool, Error> {
        if self.fallen().is_some() {
            return Ok(false);
        }
        let (time_share, mut any) = (self.time_share(), false);
        for worker in self.workers.iter_mut().map(of) {
            worker.attempt(|worker| {
                while worker.land(time_share)? {
                    any = true;
                }
                Ok(())
            });
        }
        self.gather()?;
        Ok(any)
    }

    /// What has been counted since the last time.
    pub(super) fn take_counts(&mut self) -> Counts {
        for worker in self.workers.iter_mut().map(of) {
            self.counts.added.append(&mut worker.landed);
        }
        mem::take(&mut self.counts)
    }

    /// The film as a picture, with the first `done` pairs on it.
    pub(super) fn resolve(&mut self, done: u64, picture: &mut Picture) -> Result<(), Error> {
        let reached = self.reached();
        self.with_sum(|sum, on| {
            reached.map_or(Ok(()), |reached| sum.count(reached))?;
            sum.develop(on, done, picture)
        })
    }

    /// Keeps the film, with the first `done` pairs on it, to tell by it the noise of later ones.
    pub(super) fn remember(&mut self, done: u64) -> Result<(), Error> {
        self.with_sum(|sum, on| sum.remember(on, done))
    }

    /// The film, with the first `done` pairs on it, as a picture with less noise, if that is known.
    pub(super) fn denoise(&mut self, done: u64, preview: &mut Preview) -> Result<bool, Error> {
        let reached = self.reached();
        self.with_sum(|sum, on| {
            reached.map_or(Ok(()), |reached| sum.count(reached))?;
            sum.denoise(on, done, preview)
        })
    }

    /// The film itself; if all have failed, what is left of it.
    pub(super) fn exposed(&mut self) -> Result<Exposed, Error> {
        if self.fallen().is_some() {
            let black = || vec![0; sum::len(&self.camera)];
            return Ok(sum::exposed(self.safe.film.clone().unwrap_or_else(black)));
        }
        self.with_sum(|sum, _| sum.exposed())
    }

    /// Puts this onto the film, which has the pairs up to `done`, in place of what was there.
    pub(super) fn set_film(&mut self, exposed: &Exposed, done: u64) -> Result<(), Error> {
        self.begin_again(Some(sum::list(exposed)), done, CudaWave::clear_film)
    }

    /// Looks through another camera, at a black film that begins with the pair `first`.
    pub(super) fn set_camera(&mut self, camera: Camera, first: u64) -> Result<(), Error> {
        self.camera = camera;
        self.begin_again(None, first, |wave| wave.set_camera(camera))
    }

    /// With this film, up to `done`, and the others black, which `clear` makes them.
    fn begin_again(
        &mut self,
        film: Option<Vec<u64>>,
        done: u64,
        clear: impl Fn(&mut CudaWave) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for worker in self.workers.iter_mut().map(of) {
            // What is under way belongs to the film that goes.
            worker.attempt(|worker| {
                while worker.wave.land()?.is_some() {}
                clear(worker.cuda())
            });
            worker.lots = Default::default();
            worker.landed.clear();
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
        self.settle()?;
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
        self.make_good()
    }

    /// Does this to every GPU's wave. `Err` where a GPU that works refuses: then those behind it are as they were.
    pub(super) fn each(
        &mut self,
        work: impl Fn(&mut Wave) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (patience, time_share) = (self.patience, self.time_share());
        for worker in self.workers.iter_mut().map(of) {
            // One that hangs would be waited for without an end.
            worker.attempt(|worker| {
                while worker.land(time_share)? {}
                Ok(())
            });
            if !worker.is_working() {
                continue;
            }
            if let Err(error) = work(&mut worker.wave) {
                if compaction::cuda::rest(&worker.cuda().stream, patience).is_ok() {
                    return Err(error);
                }
                worker.attempt(|_| Err(error));
            }
        }
        self.make_good()
    }
}

impl MayHang for Gpus {
    fn hangs(&self) -> bool {
        self.hangs
    }
}
