//! What renders: a wave a thread on the CPU, or one large wave on each of some GPUs, dealt spans of samples as they finish.

mod gpus;
mod lots;
mod rounds;
mod spans;
mod sum;

use std::{
    fmt::{self, Display, Formatter},
    mem,
    str::FromStr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    cuda::{DeviceInfo, devices},
    select::Strategy,
};
use gpus::Gpus;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    Error,
    camera::Camera,
    devices::processor,
    film::{Exposed, Film},
    picture::Picture,
    scene::memory,
    stages::resolve,
    wave::{CpuWave, CudaWave, Pace, Partition, Report, Wave},
    world::World,
};
pub(crate) use spans::{Pixels, Plan, Spans};

/// Paths that a thread of the CPU has in flight: their state stays in its cache.
const CPU_WAVE: u32 = 1 << 13;
/// Paths that a GPU has in flight at first, and at most: see [`CudaWave::growing`].
const CUDA_WAVE: u32 = 1 << 22;
const MOST_CUDA_WAVE: u32 = 1 << 25;
/// The part of a GPU's memory that a wave takes at most.
const MEMORY_SHARE: u64 = 4;
/// A path's number and a pixel's add up in 32 bits.
const MOST_PATHS: u32 = 1 << 31;
/// Where a scene is rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first usable GPU, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
    /// The GPUs of these numbers, side by side.
    SomeCuda(Vec<usize>),
    /// All GPUs, side by side.
    AllCuda,
}

impl BackendChoice {
    /// Whether each GPU that it names is named once, and any at all.
    fn check(&self) -> Result<(), String> {
        let BackendChoice::SomeCuda(numbers) = self else {
            return Ok(());
        };
        let twice = |place: &usize| numbers[..*place].contains(&numbers[*place]);
        match (0..numbers.len()).find(twice) {
            _ if numbers.is_empty() => Err("no GPU is named; name one, such as cuda:0".to_owned()),
            Some(place) => Err(format!(
                "GPU {} is named twice; name each once",
                numbers[place]
            )),
            None => Ok(()),
        }
    }
}

impl FromStr for BackendChoice {
    type Err = String;

    /// `auto`, `cpu`, `cuda`, `cuda:1`, `cuda:0,2`, `cuda:all`.
    fn from_str(text: &str) -> Result<BackendChoice, String> {
        let choice = match text.split_once(':') {
            None if text == "auto" => BackendChoice::Auto,
            None if text == "cpu" => BackendChoice::Cpu,
            None if text == "cuda" => BackendChoice::Cuda(0),
            Some(("cuda", "all")) => BackendChoice::AllCuda,
            Some(("cuda", numbers)) => {
                let numbers: Result<Vec<usize>, _> = numbers.split(',').map(str::parse).collect();
                match numbers.as_deref() {
                    Ok([number]) => BackendChoice::Cuda(*number),
                    Ok(numbers) => BackendChoice::SomeCuda(numbers.to_vec()),
                    Err(_) => {
                        return Err(
                            "numbers of GPUs, or all, are expected after \"cuda:\", such as \
                             cuda:0, cuda:0,2 or cuda:all"
                                .to_owned(),
                        );
                    }
                }
            }
            _ => return Err("known are auto, cpu, cuda, cuda:N, cuda:N,N and cuda:all".to_owned()),
        };
        choice.check().map(|()| choice)
    }
}

impl Display for BackendChoice {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            BackendChoice::Auto => formatter.write_str("auto"),
            BackendChoice::Cpu => formatter.write_str("cpu"),
            BackendChoice::Cuda(number) => write!(formatter, "cuda:{number}"),
            BackendChoice::SomeCuda(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
                write!(formatter, "cuda:{}", numbers.join(","))
            }
            BackendChoice::AllCuda => formatter.write_str("cuda:all"),
        }
    }
}

/// How a scene is rendered; none of it changes the picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where.
    pub backend: BackendChoice,
    /// How the queue is sieved.
    pub strategy: Strategy,
    /// Whether hits are ordered by the kind of material before they are shaded.
    pub partition: Partition,
    /// Paths in flight: per thread on the CPU, in all on a GPU. By memory and time if not given.
    pub wave_size: Option<u32>,
    /// Threads on the CPU. As many as it runs at once if not given.
    pub threads: Option<usize>,
    /// How often several GPUs bring what they have to safety: so much is lost at most when one fails, and rendered again by
    /// the others. Every two seconds if not given, less often where a film takes long to cross.
    pub keep_every: Option<Duration>,
}

/// What was counted by waves, and by whom.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Of waves that landed.
    pub(crate) added: Vec<Counted>,
    /// Of waves that landed before, and whose film has been lost since.
    pub(crate) withdrawn: Vec<Counted>,
    /// Devices that have failed and are left out, each with a line that says so.
    pub(crate) failures: Vec<(usize, String)>,
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
    engine: Engine,
    /// `cpu` or `cuda`.
    pub(crate) name: &'static str,
    /// The processor's or the graphics cards' names, each with what it is asked for by.
    pub(crate) devices: Vec<String>,
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
        let mut backend = Backend::of_choice(world, camera, max_bounces, settings)?;
        backend.set_partition(settings.partition)?;
        Ok(backend)
    }

    fn of_choice(
        world: World,
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
        world: World,
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
        world: World,
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
        let (world, film) = (Arc::new(world), Arc::new(Film::new(camera.pixel_count())));
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
            engine: Engine::Waves(Waves::new(waves, pool)),
            name: "cpu",
            devices: vec![device],
            reason,
        })
    }

    /// On these GPUs.
    fn cuda(
        ordinals: &[usize],
        world: &World,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        let found = devices()?;
        let (engine, devices) = if let [ordinal] = *ordinals {
            let (wave, device) = new_wave(&found, ordinal, world, camera, max_bounces, settings)?;
            let waves = vec![Mutex::new(Wave::Cuda(Box::new(wave)))];
            (Engine::Waves(Waves::new(waves, threads(1)?)), vec![device])
        } else {
            let gpus = Gpus::new(&found, ordinals, world, camera, max_bounces, settings)?;
            let names = gpus.names();
            (Engine::Gpus(Box::new(gpus)), names)
        };
        Ok(Backend {
            engine,
            name: "cuda",
            devices,
            reason: None,
        })
    }

    /// Deals spans to all waves until that is enough, by what is dealt, or none is left.
    pub(crate) fn advance(
        &mut self,
        spans: &Spans,
        enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(), Error> {
        match &mut self.engine {
            Engine::Waves(waves) => waves.advance(spans, enough),
            Engine::Gpus(gpus) => gpus.advance(spans, enough),
        }
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        match &mut self.engine {
            Engine::Waves(waves) => {
                for wave in &waves.waves {
                    lock(wave).set_pace(pace);
                }
            }
            Engine::Gpus(gpus) => gpus.set_pace(pace),
        }
    }

    /// Waits for all waves under way.
    pub(crate) fn land(&mut self) -> Result<(), Error> {
        match &mut self.engine {
            Engine::Waves(waves) => waves.land(),
            Engine::Gpus(gpus) => gpus.land(),
        }
    }

    /// What waves that have landed counted since the last time.
    pub(crate) fn take_counts(&mut self) -> Counts {
        match &mut self.engine {
            Engine::Waves(waves) => Counts {
                added: mem::take(&mut waves.landed),
                ..Counts::default()
            },
            Engine::Gpus(gpus) => gpus.take_counts(),
        }
    }

    /// If all of several GPUs have failed: up to where the pairs are on the film that is left.
    pub(crate) fn fallen(&mut self) -> Option<u64> {
        match &mut self.engine {
            Engine::Waves(_) => None,
            Engine::Gpus(gpus) => gpus.fallen(),
        }
    }

    /// The film as a picture, with the first `done` pairs on it.
    pub(crate) fn resolve(&mut self, done: u64, picture: &mut Picture) -> Result<(), Error> {
        match &mut self.engine {
            Engine::Waves(waves) => waves
                .pool
                .install(|| resolve(&mut lock(&waves.waves[0]), done, picture)),
            Engine::Gpus(gpus) => gpus.resolve(done, picture),
        }
    }

    /// Puts this onto the film, which has the pairs up to `done`, in place of what was there.
    pub(crate) fn set_film(&mut self, exposed: &Exposed, done: u64) -> Result<(), Error> {
        match &mut self.engine {
            Engine::Waves(waves) => {
                let film = Arc::new(Film::of(exposed));
                waves.begin_again(|wave| wave.set_film(&film))
            }
            Engine::Gpus(gpus) => gpus.set_film(exposed, done),
        }
    }

    /// The film itself.
    pub(crate) fn exposed(&mut self) -> Result<Exposed, Error> {
        match &mut self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).exposed(),
            Engine::Gpus(gpus) => gpus.exposed(),
        }
    }

    /// Looks through another camera, at a black film that begins with the pair `first`.
    pub(crate) fn set_camera(&mut self, camera: Camera, first: u64) -> Result<(), Error> {
        match &mut self.engine {
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

    /// See [`Wave::partition`]; of several GPUs the first one's that works.
    pub(crate) fn partition(&self) -> (bool, Option<f64>) {
        match &self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).partition(),
            Engine::Gpus(gpus) => gpus.partition(),
        }
    }

    /// Sieves by another strategy.
    pub(crate) fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        self.each(|wave| wave.set_strategy(strategy))
    }

    fn each(&mut self, work: impl Fn(&mut Wave) -> Result<(), Error>) -> Result<(), Error> {
        match &mut self.engine {
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

    fn land(&mut self) -> Result<(), Error> {
        let mut reports = Vec::new();
        for wave in &self.waves {
            let mut wave = lock(wave);
            while let Some(report) = wave.land()? {
                reports.push(report);
            }
        }
        self.count(reports);
        Ok(())
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

/// A wave on a GPU of those that were found, and what that is called.
fn new_wave(
    found: &[DeviceInfo],
    ordinal: usize,
    world: &World,
    camera: Camera,
    max_bounces: u32,
    settings: &Settings,
) -> Result<(CudaWave, String), Error> {
    let device = found.iter().find(|device| device.ordinal == ordinal);
    let memory = device.map_or(0, |device| device.memory_bytes);
    let fitting = memory / MEMORY_SHARE / CudaWave::BYTES_PER_PATH as u64;
    let most = u64::from(MOST_CUDA_WAVE).min(fitting.max(1)) as u32;
    let wave_size = possible(settings.wave_size.unwrap_or(CUDA_WAVE.min(most)))?;
    let mut wave = CudaWave::new(
        ordinal,
        world,
        camera,
        max_bounces,
        wave_size,
        settings.strategy,
    )?;
    if settings.wave_size.is_none() {
        wave = wave.growing(most);
    }
    let name = device.map_or("", |device| &device.name);
    Ok((wave, format!("{name} (cuda:{ordinal})")))
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
