//! Several GPUs that render one film, each with a film of its own. From time to time those are added to a sum on one GPU,
//! and the sum is copied to the host: when a GPU fails, what was only on its film, or only on the sum, is rendered by the
//! others.

use std::{
    mem,
    ops::Range,
    panic::resume_unwind,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use compaction::cuda::DeviceInfo;
use rayon::ThreadPool;

use super::{
    Counted, Counts, Settings,
    lots::{Lot, Lots},
    new_wave,
    spans::{Plan, Spans},
    sum::{self, Sum},
    threads,
};
use crate::{
    Error,
    camera::Camera,
    film::Exposed,
    picture::Picture,
    wave::{CudaWave, Pace, Wave, counts},
    world::World,
};

/// Paths that a wave has at the least when the last ones are dealt: some milliseconds of a slow GPU.
const LEAST_PATHS: u64 = 1 << 20;
/// How often the sum is copied to the host: as much is rendered again at most when its GPU fails.
const PAUSE: Duration = Duration::from_secs(2);
/// What a film crosses at a second, at the least, in bytes.
const SLOW_BUS: f64 = 8e9;
/// So many times what a film takes to cross lies between two of them at least.
const SPACING: f64 = 100.0;

/// GPUs that render one film.
pub(super) struct Gpus {
    workers: Vec<Mutex<Worker>>,
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
    /// When the sum was sent to the host last.
    kept_at: Instant,
    /// See [`Settings::keep_every`].
    keep_every: Option<Duration>,
    counts: Counts,
}

/// What no GPU's failure takes away.
#[derive(Default)]
struct Safe {
    /// A black one, if there is none.
    film: Option<Vec<u64>>,
    /// Up to where it has the pairs.
    done: u64,
}

/// The sum is on its way to the host.
struct Keeping {
    /// Up to where it has the pairs.
    done: u64,
    /// And each worker's lots.
    gathered: Vec<u64>,
}

/// A GPU.
struct Worker {
    /// "NVIDIA H200 (cuda:1)".
    name: String,
    number: usize,
    wave: Wave,
    lots: Lots,
    /// Paths a millisecond, of late; 0 if not known.
    speed: f64,
    /// What has landed since somebody asked.
    landed: Vec<Counted>,
    state: State,
}

enum State {
    Working,
    /// It has just failed.
    Failed(Error),
    /// It failed, and that has been dealt with.
    Dropped,
}

/// What workers are dealt from, side by side.
struct Dealer<'a> {
    spans: &'a Spans,
    lost: &'a Mutex<Vec<Range<u64>>>,
    /// What part of all work each worker does in a time.
    shares: Vec<f64>,
    /// The part of the wall clock that a worker's time stands for.
    time_share: f64,
    /// Whether no more is to be dealt, by what is.
    enough: &'a (dyn Fn(u64) -> bool + Sync),
}

impl Dealer<'_> {
    /// What was lost comes first, and is never enough: without it the film would have holes.
    fn deal(&self, worker: usize, most: u32) -> Option<Range<u64>> {
        let (plan, most) = (&self.spans.plan, u64::from(most));
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pairs) = lost.pop() {
            let dealt = plan.cut(pairs.clone(), most);
            if dealt.end < pairs.end {
                lost.push(dealt.end..pairs.end);
            }
            return Some(dealt);
        }
        drop(lost);
        if (self.enough)(self.spans.next.load(Relaxed)) {
            return None;
        }
        let (share, count) = (self.shares[worker], u64::from(plan.pixels.count));
        let part = |pairs: u64| (pairs as f64 * share).ceil() as u64;
        self.spans.deal(|left| {
            if left.start < count {
                // The first sample of a view is soon there if all are at it.
                most.min(part(count))
            } else {
                // The last waves are small ones, so that all GPUs end at once.
                most.min(LEAST_PATHS.max(part(left.end - left.start) / 2))
            }
        })
    }
}

impl Worker {
    fn cuda(&mut self) -> &mut CudaWave {
        match &mut self.wave {
            Wave::Cuda(wave) => wave,
            Wave::Cpu(_) => unreachable!("made for a GPU"),
        }
    }

    fn is_working(&self) -> bool {
        matches!(self.state, State::Working)
    }

    /// Does this, unless it has failed; an error is its failure.
    fn attempt(&mut self, work: impl FnOnce(&mut Worker) -> Result<(), Error>) {
        if self.is_working()
            && let Err(error) = work(self)
        {
            self.state = State::Failed(error);
        }
    }

    /// Traces what it is dealt. Some waves are still under way when it returns.
    fn render(&mut self, dealer: &Dealer) -> Result<(), Error> {
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
    fn land(&mut self, time_share: f64) -> Result<bool, Error> {
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

impl Gpus {
    /// These GPUs of those that were found, with the scene on each of them.
    pub(super) fn new(
        found: &[DeviceInfo],
        ordinals: &[usize],
        world: &World,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Gpus, Error> {
        let made = thread::scope(|scope| {
            let make = |&ordinal| {
                scope.spawn(move || new_wave(found, ordinal, world, camera, max_bounces, settings))
            };
            let threads: Vec<_> = ordinals.iter().map(make).collect();
            let join = |thread: thread::ScopedJoinHandle<_>| match thread.join() {
                Ok(made) => made,
                Err(panic) => resume_unwind(panic),
            };
            threads
                .into_iter()
                .map(join)
                .collect::<Result<Vec<(CudaWave, String)>, Error>>()
        })?;
        let waves: Vec<_> = made.iter().map(|(wave, _)| Some(wave)).collect();
        let sum = Sum::new(0, &made[0].0, &waves, None)?;
        let worker = |(number, (wave, name)): (usize, (CudaWave, String))| {
            Mutex::new(Worker {
                name,
                number,
                wave: Wave::Cuda(Box::new(wave)),
                lots: Lots::default(),
                speed: 0.0,
                landed: Vec::new(),
                state: State::Working,
            })
        };
        let workers: Vec<_> = made.into_iter().enumerate().map(worker).collect();
        Ok(Gpus {
            pool: threads(workers.len())?,
            workers,
            camera,
            sum,
            lost: Mutex::default(),
            plan: None,
            done: 0,
            safe: Safe::default(),
            leaving: None,
            keeping: None,
            kept_at: Instant::now(),
            keep_every: settings.keep_every,
            counts: Counts::default(),
        })
    }

    /// Each one's name.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |worker: &Mutex<Worker>| lock(worker).name.clone();
        self.workers.iter().map(name).collect()
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

    /// See [`Wave::partition`]; the first GPU's that works.
    pub(super) fn partition(&self) -> (bool, Option<f64>) {
        let working = self
            .workers
            .iter()
            .map(lock)
            .find(|worker| worker.is_working());
        working.map_or((false, None), |worker| worker.wave.partition())
    }

    fn render(&mut self, spans: &Spans, enough: &(dyn Fn(u64) -> bool + Sync)) {
        let speeds = self.workers.iter_mut().map(|worker| {
            let worker = of(worker);
            worker.is_working().then_some(worker.speed)
        });
        let speeds: Vec<Option<f64>> = speeds.collect();
        let working = speeds.iter().flatten().count() as f64;
        let all: f64 = speeds.iter().flatten().sum();
        // Alike, until all of them are known.
        let known = speeds.iter().flatten().all(|&speed| speed > 0.0);
        let share = |speed: &Option<f64>| match speed {
            Some(speed) if known => speed / all,
            Some(_) => 1.0 / working,
            None => 0.0,
        };
        let dealer = Dealer {
            spans,
            lost: &self.lost,
            shares: speeds.iter().map(share).collect(),
            time_share: 1.0 / working,
            enough,
        };
        self.pool.broadcast(|thread| {
            lock(&self.workers[thread.index()]).attempt(|worker| worker.render(&dealer));
        });
    }

    /// Deals with those that have failed, and renders again what was lost with them.
    fn make_good(&mut self) -> Result<(), Error> {
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
    fn settle(&mut self) -> Result<bool, Error> {
        while let Some((failed, error)) = self.next_failed() {
            self.leaving = None;
            let lots = &mut of(&mut self.workers[failed]).lots;
            let mut lost = lots.lose_film();
            self.sum.cut_off(failed);
            let next = self
                .workers
                .iter_mut()
                .position(|worker| of(worker).is_working());
            if failed == self.sum.home || next.is_none() {
                self.keeping = None;
                let sums = self.workers.iter_mut();
                lost.extend(sums.flat_map(|worker| of(worker).lots.lose_sum()));
            }
            self.lose(lost);
            let Some(next) = next else {
                self.lost = Mutex::default();
                return Err(error);
            };
            let name = &of(&mut self.workers[failed]).name;
            self.counts.failures.push((
                failed,
                format!(
                    "{name} has failed and is left out; the others render what it had: {error}"
                ),
            ));
            if failed == self.sum.home {
                self.move_sum(next);
            }
        }
        Ok(!of(&mut self.lost).is_empty())
    }

    fn next_failed(&mut self) -> Option<(usize, Error)> {
        self.workers.iter_mut().map(of).find_map(|worker| {
            match mem::replace(&mut worker.state, State::Dropped) {
                State::Failed(error) => Some((worker.number, error)),
                other => {
                    worker.state = other;
                    None
                }
            }
        })
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
    fn move_sum(&mut self, home: usize) {
        let workers: Vec<_> = self.workers.iter().map(lock).collect();
        let waves: Vec<Option<&CudaWave>> = workers
            .iter()
            .map(|worker| match &worker.wave {
                Wave::Cuda(cuda) if worker.is_working() => Some(&**cuda),
                _ => None,
            })
            .collect();
        let Some(on) = waves[home] else { return };
        match Sum::new(home, on, &waves, self.safe.film.as_deref()) {
            Ok(sum) => self.sum = sum,
            Err(error) => {
                drop(workers);
                self.sum.home = home;
                self.fail(home, error);
            }
        }
    }

    fn fail(&mut self, worker: usize, error: Error) {
        of(&mut self.workers[worker]).attempt(|_| Err(error));
    }

    /// An error that came from the sum's GPU or from the worker's.
    fn blame(&mut self, worker: usize, error: Error) {
        let to_blame = if self.sum.is_alive() {
            worker
        } else {
            self.sum.home
        };
        self.fail(to_blame, error);
    }

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
                // All these waves have ended when their film is there.
                sum.wait(worker.number)?;
                while worker.lots.are_to_land() && worker.land(time_share)? {}
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
    fn gather(&mut self) -> Result<(), Error> {
        loop {
            self.make_good()?;
            self.check()?;
            self.depart();
            self.arrive();
            let is_gathered = |worker: &mut Mutex<Worker>| {
                let Worker { state, lots, .. } = of(worker);
                match state {
                    State::Working => !lots.can_depart() && !lots.are_under_way(),
                    State::Failed(_) => false,
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
    fn keep_up(&mut self) -> Result<(), Error> {
        if let Some(done) = self.leaving {
            if self.has_arrived() {
                self.arrive();
                self.leaving = None;
                let failed = |worker: &Worker| matches!(worker.state, State::Failed(_));
                if !self.workers.iter_mut().any(|worker| failed(of(worker))) {
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

    /// The part of the wall clock that a GPU's time stands for.
    fn time_share(&mut self) -> f64 {
        let working = self.workers.iter_mut().map(of);
        1.0 / working.filter(|worker| worker.is_working()).count().max(1) as f64
    }

    /// Waits for all waves under way, and brings everything onto the sum.
    pub(super) fn land(&mut self) -> Result<(), Error> {
        if self.fallen().is_some() {
            return Ok(());
        }
        let time_share = self.time_share();
        for worker in self.workers.iter_mut().map(of) {
            worker.attempt(|worker| {
                while worker.land(time_share)? {}
                Ok(())
            });
        }
        self.gather()
    }

    /// What has been counted since the last time.
    pub(super) fn take_counts(&mut self) -> Counts {
        for worker in self.workers.iter_mut().map(of) {
            self.counts.added.append(&mut worker.landed);
        }
        mem::take(&mut self.counts)
    }

    /// If all have failed: up to where the pairs are on the film that is left.
    pub(super) fn fallen(&mut self) -> Option<u64> {
        let works = self
            .workers
            .iter_mut()
            .any(|worker| of(worker).is_working());
        (!works).then_some(self.safe.done)
    }

    /// Whether any GPU is left.
    fn check(&mut self) -> Result<(), Error> {
        match self.fallen() {
            None => Ok(()),
            Some(_) => Err(Error::Compaction(compaction::Error::NoDevice {
                reason: "all of those that rendered have failed".to_owned(),
            })),
        }
    }

    /// Does something with the sum of everything.
    fn with_sum<T>(
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

    /// The film as a picture, with the first `done` pairs on it.
    pub(super) fn resolve(&mut self, done: u64, picture: &mut Picture) -> Result<(), Error> {
        self.with_sum(|sum, on| sum.develop(on, done, picture))
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
            worker.lots = Lots::default();
            worker.landed.clear();
        }
        self.lost = Mutex::default();
        (self.leaving, self.keeping, self.kept_at) = (None, None, Instant::now());
        self.counts.added.clear();
        self.counts.withdrawn.clear();
        self.done = done;
        self.safe = Safe { film, done };
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
        for worker in self.workers.iter_mut().map(of) {
            if !worker.is_working() {
                continue;
            }
            if let Err(error) = work(&mut worker.wave) {
                if worker.cuda().stream.synchronize().is_ok() {
                    return Err(error);
                }
                worker.attempt(|_| Err(error));
            }
        }
        self.make_good()
    }
}

/// Nobody else has it.
fn of<T>(held: &mut Mutex<T>) -> &mut T {
    held.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// A panic in another thread leaves a worker between two stages: the next span overwrites its wave.
fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
