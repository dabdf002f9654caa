//! What renders: a wave a thread on the CPU, or one large wave on each of some GPUs, dealt spans of samples as they finish.

mod ahead;
mod gpus;
mod held;
mod lots;
mod opening;
mod roster;
mod rounds;
mod settings;
mod spans;
mod sum;

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
};

use compaction::{
    cuda::{DeviceInfo, devices},
    select::Strategy,
};
use gpus::Gpus;
use held::{Held, MayHang};
use opening::Opening;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    Error,
    camera::Camera,
    devices::processor,
    film::{Exposed, Film},
    picture::Picture,
    scene::memory,
    stages::{Preview, denoise, remember, resolve},
    wave::{CpuWave, Pace, Partition, Report, Wave},
    world::World,
};
pub use ahead::Ahead;
pub use roster::Gpu;
pub use settings::{BackendChoice, Settings};
pub(crate) use spans::{Pixels, Plan, Spans};

/// Paths that a thread of the CPU has in flight: their state stays in its cache.
const CPU_WAVE: u32 = 1 << 13;
/// A path's number and a pixel's add up in 32 bits.
const MOST_PATHS: u32 = 1 << 31;

/// What was counted by waves, and by whom.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Of waves that landed.
    pub(crate) added: Vec<Counted>,
    /// Of waves that landed before, and whose film has been lost since.
    pub(crate) withdrawn: Vec<Counted>,
    /// Devices that have failed.
    pub(crate) failures: Vec<Failure>,
}

/// Devices, by their places among the backend's, that have failed, and what they said.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Others render what it had.
    One(usize, String),
    /// None is left that works: one of these has failed. The first to say so is the first.
    Last(Vec<(usize, String)>),
}

/// What a wave counted.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// Which of the backend's devices traced it.
    pub(crate) device: usize,
    pub(crate) report: Report,
    /// The part of the wall clock that its stages' times stand for: so many waves ran side by side.
    pub(crate) time_share: f64,
}

/// What renders.
pub(crate) struct Backend {
    engine: Held<Engine>,
    /// `cpu` or `cuda`.
    pub(crate) name: &'static str,
    /// The processor's or the graphics cards' names, each with what it is asked for by.
    pub(crate) devices: Vec<String>,
    /// The graphics cards, with those that are left out.
    pub(crate) gpus: Vec<Gpu>,
    /// Why this one, if nobody asked for it.
    pub(crate) reason: Option<String>,
}

enum Engine {
    /// Waves on one film.
    Waves(Waves),
    /// A wave on each of several GPUs, with a film of its own.
    Gpus(Box<Gpus>),
}

/// Waves that share a film, and the threads that drive them.
struct Waves {
    waves: Vec<Mutex<Wave>>,
    pool: ThreadPool,
    landed: Vec<Counted>,
}

impl MayHang for Engine {
    fn hangs(&self) -> bool {
        match self {
            Engine::Waves(waves) => waves.hangs(),
            Engine::Gpus(gpus) => gpus.hangs(),
        }
    }
}

impl Backend {
    /// The backend that the settings choose, with the scene on it.
    pub(crate) fn new(
        world: World,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        settings.backend.check().map_err(|problem| Error::Setting {
            setting: format!("backend {}", settings.backend),
            problem,
        })?;
        let world = Arc::new(world);
        let mut backend = Backend::of_choice(world, camera, max_bounces, settings)?;
        backend.set_partition(settings.partition)?;
        Ok(backend)
    }

    fn of_choice(
        world: Arc<World>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        match &settings.backend {
            BackendChoice::Cpu => Backend::cpu(world, camera, max_bounces, settings, None),
            BackendChoice::Cuda(ordinal) => {
                Backend::cuda(&[*ordinal], &world, camera, max_bounces, settings)
            }
            BackendChoice::SomeCuda(ordinals) => {
                Backend::cuda(ordinals, &world, camera, max_bounces, settings)
            }
            BackendChoice::AllCuda => {
                let all: Vec<usize> = devices()?.iter().map(|device| device.ordinal).collect();
                Backend::cuda(&all, &world, camera, max_bounces, settings)
            }
            BackendChoice::Auto => Backend::auto(world, camera, max_bounces, settings),
        }
    }

    fn auto(
        world: Arc<World>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        let reason = match devices() {
            Ok(found) => {
                let ordinal = found.first().map_or(0, |device| device.ordinal);
                match Backend::cuda(&[ordinal], &world, camera, max_bounces, settings) {
                    Ok(backend) => {
                        let reason = match found.len() {
                            1 => "the first GPU".to_owned(),
                            count => {
                                format!("the first of {count} GPUs; cuda:all renders on all")
                            }
                        };
                        return Ok(Backend {
                            reason: Some(reason),
                            ..backend
                        });
                    }
                    Err(error) => format!("the GPU cannot be used: {error}"),
                }
            }
            Err(error) => error.to_string(),
        };
        Backend::cpu(world, camera, max_bounces, settings, Some(reason))
    }

    fn cpu(
        world: Arc<World>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
        reason: Option<String>,
    ) -> Result<Backend, Error> {
        let pool = threads(settings.threads.unwrap_or(0))?;
        let count = pool.current_num_threads();
        let wave_size = possible(settings.wave_size.unwrap_or(CPU_WAVE))?;
        memory::check(count as u64 * u64::from(wave_size) * CpuWave::BYTES_PER_PATH as u64)
            .map_err(|problem| Error::Setting {
                setting: format!("wave size {wave_size}"),
                problem,
            })?;
        // Now, before anything is timed.
        pool.install(|| world.wide());
        let film = Arc::new(Film::new(camera.pixel_count()));
        let wave = |_| {
            let (world, film) = (world.clone(), film.clone());
            let mut wave = CpuWave::new(
                world,
                camera,
                film,
                max_bounces,
                wave_size,
                settings.strategy,
            );
            if settings.wave_size.is_none() {
                wave = wave.shrinking();
            }
            Mutex::new(Wave::Cpu(Box::new(wave)))
        };
        let waves = (0..count).map(wave).collect();
        let device = format!(
            "{}, {count} {}",
            processor(),
            if count == 1 { "thread" } else { "threads" }
        );
        Ok(Backend {
            engine: Held::new(Engine::Waves(Waves::new(waves, pool))),
            name: "cpu",
            devices: vec![device],
            gpus: Vec::new(),
            reason,
        })
    }

    /// On these GPUs.
    fn cuda(
        ordinals: &[usize],
        world: &Arc<World>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        let found = devices()?;
        let mut gpus = chosen(&found, ordinals, &settings.gpus)?;
        let opening = Opening {
            found: &found,
            world,
            camera,
            max_bounces,
            settings,
        };
        let waves = opening.open(&mut gpus)?;
        let gpus: Vec<Gpu> = gpus.into_iter().map(|(_, gpu)| gpu).collect();
        let working = gpus.iter().filter(|gpu| gpu.failure.is_none());
        let devices: Vec<String> = working.map(|gpu| gpu.name.clone()).collect();
        let engine = if gpus.len() == 1 && settings.gpus.is_empty() {
            let waves = waves.into_iter().map(Box::new).map(Wave::Cuda);
            let waves = waves.map(Mutex::new).collect();
            Engine::Waves(Waves::new(waves, threads(1)?))
        } else {
            // Also for the last that is left: what it has is kept safe.
            let gpus = Gpus::new(waves, devices.clone(), camera, settings)?;
            Engine::Gpus(Box::new(gpus))
        };
        Ok(Backend {
            engine: Held::new(engine),
            name: "cuda",
            devices,
            gpus,
            reason: None,
        })
    }

    /// Deals spans to all waves until that is enough, by what is dealt, or none is left.
    pub(crate) fn advance(
        &mut self,
        spans: &Spans,
        enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.advance(spans, enough),
            Engine::Gpus(gpus) => gpus.advance(spans, enough),
        }
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        match &mut *self.engine {
            Engine::Waves(waves) => {
                for wave in &waves.waves {
                    lock(wave).set_pace(pace);
                }
            }
            Engine::Gpus(gpus) => gpus.set_pace(pace),
        }
    }

    /// Waits for all waves under way; whether there were any.
    pub(crate) fn land(&mut self) -> Result<bool, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.land(),
            Engine::Gpus(gpus) => gpus.land(),
        }
    }

    /// What waves that have landed counted since the last time.
    pub(crate) fn take_counts(&mut self) -> Counts {
        match &mut *self.engine {
            Engine::Waves(waves) => Counts {
                added: mem::take(&mut waves.landed),
                ..Counts::default()
            },
            Engine::Gpus(gpus) => gpus.take_counts(),
        }
    }

    /// If all of several GPUs have failed: up to where the pairs are on the film that is left.
    pub(crate) fn fallen(&mut self) -> Option<u64> {
        match &mut *self.engine {
            Engine::Waves(_) => None,
            Engine::Gpus(gpus) => gpus.fallen(),
        }
    }

    /// The film as a picture, with the first `done` pairs on it.
    pub(crate) fn resolve(&mut self, done: u64, picture: &mut Picture) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.with_first(|wave| resolve(wave, done, picture)),
            Engine::Gpus(gpus) => gpus.resolve(done, picture),
        }
    }

    /// Keeps the film, with the first `done` pairs on it, to tell by it the noise of later ones.
    pub(crate) fn remember(&mut self, done: u64) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.with_first(|wave| remember(wave, done)),
            Engine::Gpus(gpus) => gpus.remember(done),
        }
    }

    /// The film, with the first `done` pairs on it, as a picture with less noise, if that is known.
    pub(crate) fn denoise(&mut self, done: u64, preview: &mut Preview) -> Result<bool, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.with_first(|wave| denoise(wave, done, preview)),
            Engine::Gpus(gpus) => gpus.denoise(done, preview),
        }
    }

    /// Puts this onto the film, which has the pairs up to `done`, in place of what was there.
    pub(crate) fn set_film(&mut self, exposed: &Exposed, done: u64) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => {
                let film = Arc::new(Film::of(exposed));
                waves.begin_again(|wave| wave.set_film(&film))
            }
            Engine::Gpus(gpus) => gpus.set_film(exposed, done),
        }
    }

    /// The film itself.
    pub(crate) fn exposed(&mut self) -> Result<Exposed, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).exposed(),
            Engine::Gpus(gpus) => gpus.exposed(),
        }
    }

    /// Looks through another camera, at a black film that begins with the pair `first`.
    pub(crate) fn set_camera(&mut self, camera: Camera, first: u64) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => {
                let film = Arc::new(Film::new(camera.pixel_count()));
                waves.begin_again(|wave| wave.set_camera(camera, &film))
            }
            Engine::Gpus(gpus) => gpus.set_camera(camera, first),
        }
    }

    /// Gets ready to trace paths in one go.
    pub(crate) fn load_megakernel(&mut self) -> Result<(), Error> {
        self.each(|wave| match wave {
            Wave::Cpu(_) => Ok(()),
            Wave::Cuda(cuda) => cuda.load_megakernel(),
        })
    }

    /// Orders hits by the kind of material, or not, or finds out whether to.
    pub(crate) fn set_partition(&mut self, partition: Partition) -> Result<(), Error> {
        self.each(|wave| wave.set_partition(partition))
    }

    /// See [`Wave::partition`]; of each device that works, with its place among them.
    pub(crate) fn partitions(&self) -> Vec<(usize, (bool, Option<f64>))> {
        match &*self.engine {
            Engine::Waves(waves) => vec![(0, lock(&waves.waves[0]).partition())],
            Engine::Gpus(gpus) => gpus.partitions(),
        }
    }

    /// Sieves by another strategy.
    pub(crate) fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        self.each(|wave| wave.set_strategy(strategy))
    }

    fn each(&mut self, work: impl Fn(&mut Wave) -> Result<(), Error>) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.each(work),
            Engine::Gpus(gpus) => gpus.each(work),
        }
    }
}

impl Waves {
    fn new(waves: Vec<Mutex<Wave>>, pool: ThreadPool) -> Waves {
        Waves {
            waves,
            pool,
            landed: Vec::new(),
        }
    }

    /// Does this to the first wave: by the threads that render where those are the processor's, else by all.
    fn with_first<R: Send>(&self, work: impl FnOnce(&mut Wave) -> R + Send) -> R {
        let first = &self.waves[0];
        let is_on_cpu = matches!(&*lock(first), Wave::Cpu(_));
        if is_on_cpu {
            self.pool.install(|| work(&mut lock(first)))
        } else {
            work(&mut lock(first))
        }
    }

    fn hangs(&self) -> bool {
        self.waves.iter().any(|wave| match &*lock(wave) {
            Wave::Cpu(_) => false,
            Wave::Cuda(cuda) => cuda.hangs(),
        })
    }

    fn advance(
        &mut self,
        spans: &Spans,
        enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(), Error> {
        let waves = &self.waves;
        let reports = self
            .pool
            .broadcast(|thread| render(&mut lock(&waves[thread.index()]), spans, enough));
        for reports in reports {
            self.count(reports?);
        }
        Ok(())
    }

    fn land(&mut self) -> Result<bool, Error> {
        let mut reports = Vec::new();
        for wave in &self.waves {
            let mut wave = lock(wave);
            while let Some(report) = wave.land()? {
                reports.push(report);
            }
        }
        let any = !reports.is_empty();
        self.count(reports);
        Ok(any)
    }

    fn count(&mut self, reports: Vec<Report>) {
        let time_share = 1.0 / self.waves.len() as f64;
        let counted = |report| Counted {
            device: 0,
            report,
            time_share,
        };
        self.landed.extend(reports.into_iter().map(counted));
    }

    /// With another film. What is under way belongs to the one that goes.
    fn begin_again(
        &mut self,
        set_film: impl Fn(&mut Wave) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.land()?;
        self.landed.clear();
        self.each(set_film)
    }

    fn each(&mut self, work: impl Fn(&mut Wave) -> Result<(), Error>) -> Result<(), Error> {
        self.waves.iter().try_for_each(|wave| work(&mut lock(wave)))
    }
}

/// Traces spans until that is enough, or until none is left. On CUDA some waves may still be under way when it returns.
fn render(
    wave: &mut Wave,
    spans: &Spans,
    enough: &(dyn Fn(u64) -> bool + Sync),
) -> Result<Vec<Report>, Error> {
    let mut reports = Vec::new();
    loop {
        while wave.is_full() {
            reports.extend(wave.land()?);
        }
        if enough(spans.next.load(Relaxed)) {
            return Ok(reports);
        }
        let paths = u64::from(wave.next_paths());
        let Some(pairs) = spans.deal(|_| paths) else {
            return Ok(reports);
        };
        spans.plan.launch(wave, pairs)?;
    }
}

impl Gpu {
    /// All that the driver knows, in the order of their numbers.
    pub fn all() -> Result<Vec<Gpu>, Error> {
        let found = devices()?;
        let all: Vec<usize> = found.iter().map(|device| device.ordinal).collect();
        let all = chosen(&found, &all, &[])?;
        Ok(all.into_iter().map(|(_, gpu)| gpu).collect())
    }
}

/// The GPUs of these numbers, or those that an earlier process knew, each with the number that it has for the driver now.
/// `Err` for one that is gone where others are only suspected: they are to be taken back, and this process may not see them.
fn chosen(
    found: &[DeviceInfo],
    ordinals: &[usize],
    known: &[Gpu],
) -> Result<Vec<(usize, Gpu)>, Error> {
    let of_number = |&ordinal: &usize| {
        let device = found.iter().find(|device| device.ordinal == ordinal);
        let (name, uuid) = device.map_or(("", ""), |device| (&device.name, &device.uuid));
        let gpu = Gpu {
            name: Gpu::name(name, ordinal),
            uuid: uuid.to_owned(),
            failure: None,
            is_suspect: false,
        };
        (ordinal, gpu)
    };
    let are_suspected = known.iter().any(|gpu| gpu.is_suspect);
    let again = |known: &Gpu| {
        let mut gpu = known.clone();
        let device = found.iter().find(|device| device.uuid == gpu.uuid);
        if device.is_none() && gpu.failure.is_none() {
            let problem = "the driver knows it no more".to_owned();
            if are_suspected {
                return Err(Error::Gpu {
                    gpu: gpu.name,
                    problem,
                    leaves_others: true,
                });
            }
            gpu.failure = Some(problem);
        }
        Ok((device.map_or(0, |device| device.ordinal), gpu))
    };
    match known {
        [] => Ok(ordinals.iter().map(of_number).collect()),
        known => known.iter().map(again).collect(),
    }
}

/// A panic in another thread leaves a wave as it was between two stages: the next span overwrites it.
fn lock(wave: &Mutex<Wave>) -> MutexGuard<'_, Wave> {
    wave.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Paths that a wave can have: at least one, and so few that their numbers fit behind that of the first pixel.
fn possible(wave_size: u32) -> Result<u32, Error> {
    if (1..=MOST_PATHS).contains(&wave_size) {
        return Ok(wave_size);
    }
    let problem = format!("a wave has 1 to {MOST_PATHS} paths");
    Err(Error::Setting {
        setting: format!("wave size {wave_size}"),
        problem,
    })
}

/// So many threads, or as many as the machine runs at once for 0.
fn threads(count: usize) -> Result<ThreadPool, Error> {
    ThreadPoolBuilder::new()
        .num_threads(count)
        .build()
        .map_err(|error| Error::Setting {
            setting: format!("threads {count}"),
            problem: format!("cannot be started: {error}; ask for fewer"),
        })
}
