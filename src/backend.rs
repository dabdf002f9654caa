//! What renders: a wave a thread on the CPU, or one large wave on a GPU, dealt spans of samples as they finish.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use compaction::{cuda::devices, select::Strategy};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    Error,
    camera::Camera,
    devices::processor,
    film::{Exposed, Film},
    path::{Span, rendered_pixel},
    picture::Picture,
    scene::memory,
    stages::{megakernel, resolve},
    wave::{CpuWave, CudaWave, Pace, Partition, Report, Wave},
    wavefront::trace,
    world::World,
};

/// Paths that a thread of the CPU has in flight: their state stays in its cache.
const CPU_WAVE: u32 = 1 << 13;
/// Paths that a GPU has in flight at first, and at most: see [`CudaWave::growing`].
const CUDA_WAVE: u32 = 1 << 22;
const MOST_CUDA_WAVE: u32 = 1 << 25;
/// The part of a GPU's memory that a wave takes at most.
const MEMORY_SHARE: u64 = 4;
/// Samples of a pixel that are traced side by side at most, as a binary logarithm.
const MOST_TOGETHER: u32 = 2;
/// A path's number and a pixel's add up in 32 bits.
const MOST_PATHS: u32 = 1 << 31;
/// Where a scene is rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The first usable GPU, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
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
}

/// The pixels of a picture that are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    pub(crate) count: u32,
    pub(crate) skipped: u32,
    /// Which ones, if some are skipped.
    pub(crate) pick: u32,
}

impl Pixels {
    /// All of them.
    pub(crate) fn all((width, height): (u32, u32)) -> Pixels {
        Pixels {
            count: width * height,
            skipped: 0,
            pick: 0,
        }
    }

    /// In row order.
    pub(crate) fn list(self) -> impl Iterator<Item = u32> {
        let span = Span {
            pixel_count: self.count,
            skipped_pixels: self.skipped,
            pick: self.pick,
            ..Span::default()
        };
        (0..self.count).map(move |number| rendered_pixel(&span, number))
    }
}

/// The (pixel, sample) pairs of a picture, dealt out in order.
pub(crate) struct Spans {
    pub(crate) width: u32,
    pub(crate) pixels: Pixels,
    pub(crate) seed: u32,
    /// Whether each path is traced in one go, instead of a wave stage by stage.
    pub(crate) by_megakernel: bool,
    pub(crate) next: AtomicU64,
    pub(crate) end: u64,
}

impl Spans {
    /// The next pairs, so many at most; `None` when all are dealt.
    fn deal(&self, paths: u32) -> Option<Span> {
        let Pixels {
            count,
            skipped,
            pick,
        } = self.pixels;
        let (count_64, paths) = (u64::from(count), u64::from(paths));
        // Up to the end of a sample, if it gets that far: so the next span begins with the first tile.
        let end = |first: u64| match (first + paths) / count_64 * count_64 {
            whole if whole > first => whole.min(self.end),
            _ => (first + paths).min(self.end),
        };
        let take = |first: u64| (first < self.end).then(|| end(first));
        let first = self.next.fetch_update(Relaxed, Relaxed, take).ok()?;
        let path_count = (end(first) - first) as u32;
        Some(Span {
            width: self.width,
            pixel_count: count,
            first_pixel: (first % u64::from(count)) as u32,
            first_sample: (first / u64::from(count)) as u32,
            path_count,
            seed: self.seed,
            skipped_pixels: skipped,
            pick,
            // Pixels that are picked have no neighbours.
            tiled: u32::from(skipped == 0),
            together: (path_count / count)
                .checked_ilog2()
                .unwrap_or(0)
                .min(MOST_TOGETHER),
        })
    }
}

/// The waves, and the threads that drive them.
pub(crate) struct Backend {
    waves: Vec<Mutex<Wave>>,
    pool: ThreadPool,
    /// `cpu` or `cuda`.
    pub(crate) name: &'static str,
    /// The processor's or the graphics card's name.
    pub(crate) device: String,
    /// Why this one, if nobody asked for it.
    pub(crate) reason: Option<String>,
}

impl Backend {
    /// The backend that the settings choose, with the scene on it.
    pub(crate) fn new(
        world: World,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
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
        match settings.backend {
            BackendChoice::Cpu => Backend::cpu(world, camera, max_bounces, settings, None),
            BackendChoice::Cuda(ordinal) => {
                Backend::cuda(ordinal, &world, camera, max_bounces, settings, None)
            }
            BackendChoice::Auto => match devices() {
                Ok(found) => {
                    let ordinal = found.first().map_or(0, |device| device.ordinal);
                    let reason = Some("the first GPU".to_owned());
                    Backend::cuda(
                        ordinal,
                        &world,
                        camera,
                        max_bounces,
                        settings,
                        reason.clone(),
                    )
                    .or_else(|error| {
                        let reason = Some(format!("the GPU cannot be used: {error}"));
                        Backend::cpu(world, camera, max_bounces, settings, reason)
                    })
                }
                Err(error) => Backend::cpu(
                    world,
                    camera,
                    max_bounces,
                    settings,
                    Some(error.to_string()),
                ),
            },
        }
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
            waves,
            pool,
            name: "cpu",
            device,
            reason,
        })
    }

    fn cuda(
        ordinal: usize,
        world: &World,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
        reason: Option<String>,
    ) -> Result<Backend, Error> {
        let found = devices()?;
        let memory = found
            .iter()
            .find(|device| device.ordinal == ordinal)
            .map_or(0, |device| device.memory_bytes);
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
        let name = found
            .into_iter()
            .find(|device| device.ordinal == ordinal)
            .map(|device| device.name);
        Ok(Backend {
            waves: vec![Mutex::new(Wave::Cuda(Box::new(wave)))],
            pool: threads(1)?,
            name: "cuda",
            device: format!("{} (cuda:{ordinal})", name.unwrap_or_default()),
            reason,
        })
    }

    /// Deals spans to all waves until that is enough, by what is dealt, or none is left; what the waves counted that have
    /// landed.
    pub(crate) fn advance(
        &mut self,
        spans: &Spans,
        enough: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Vec<Report>, Error> {
        let waves = &self.waves;
        let reports = self
            .pool
            .broadcast(|thread| render(&mut lock(&waves[thread.index()]), spans, enough));
        let reports: Result<Vec<Vec<Report>>, Error> = reports.into_iter().collect();
        Ok(reports?.into_iter().flatten().collect())
    }

    /// Waits for all waves under way; what they counted.
    pub(crate) fn land(&mut self) -> Result<Vec<Report>, Error> {
        let mut reports = Vec::new();
        for wave in &self.waves {
            let mut wave = lock(wave);
            while let Some(report) = wave.land()? {
                reports.push(report);
            }
        }
        Ok(reports)
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        for wave in &self.waves {
            lock(wave).set_pace(pace);
        }
    }

    /// The part of the wall clock that a stage's time stands for: so many waves run side by side.
    pub(crate) fn time_share(&self) -> f64 {
        1.0 / self.waves.len() as f64
    }

    /// The film as a picture, with the first `done` pairs on it.
    pub(crate) fn resolve(&mut self, done: u64) -> Result<Picture, Error> {
        self.pool
            .install(|| resolve(&mut lock(&self.waves[0]), done))
    }

    /// Puts this onto the film, in place of what was there.
    pub(crate) fn set_film(&mut self, exposed: &Exposed) -> Result<(), Error> {
        let film = Arc::new(Film::of(exposed));
        self.waves
            .iter()
            .try_for_each(|wave| lock(wave).set_film(&film))
    }

    /// The film itself.
    pub(crate) fn exposed(&mut self) -> Result<Exposed, Error> {
        lock(&self.waves[0]).exposed()
    }

    /// Looks through another camera, at a black film.
    pub(crate) fn set_camera(&mut self, camera: Camera) -> Result<(), Error> {
        let film = Arc::new(Film::new(camera.pixel_count()));
        self.waves
            .iter()
            .try_for_each(|wave| lock(wave).set_camera(camera, &film))
    }

    /// Gets ready to trace paths in one go.
    pub(crate) fn load_megakernel(&mut self) -> Result<(), Error> {
        self.waves
            .iter()
            .try_for_each(|wave| match &mut *lock(wave) {
                Wave::Cpu(_) => Ok(()),
                Wave::Cuda(cuda) => cuda.load_megakernel(),
            })
    }

    /// Orders hits by the kind of material, or not, or finds out whether to.
    pub(crate) fn set_partition(&mut self, partition: Partition) -> Result<(), Error> {
        self.waves
            .iter()
            .try_for_each(|wave| lock(wave).set_partition(partition))
    }

    /// See [`Wave::partition`].
    pub(crate) fn partition(&self) -> (bool, Option<f64>) {
        lock(&self.waves[0]).partition()
    }

    /// Sieves by another strategy.
    pub(crate) fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        self.waves
            .iter()
            .try_for_each(|wave| lock(wave).set_strategy(strategy))
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
        let Some(span) = spans.deal(wave.next_paths()) else {
            return Ok(reports);
        };
        if spans.by_megakernel {
            megakernel(wave, span)?;
        } else {
            trace(wave, span)?;
        }
        wave.depart()?;
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
