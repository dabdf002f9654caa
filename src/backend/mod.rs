//! The backends: one wave per CPU thread, or one large wave on each GPU. Waves are assigned ranges of (pixel, sample)
//! pairs as they finish.

mod ahead;
mod batches;
pub mod devices;
mod gpu_health;
mod gpus;
mod host_film;
mod leak_on_hang;

mod opening;
mod pending_chunks;
mod resources;
mod rounds;
mod settings;
mod spans;
mod sum;
mod waves;

use std::{
    mem,
    sync::{Arc, Mutex},
};

pub(crate) use batches::Stop;
use compaction::{
    cuda::{DeviceInfo, devices},
    select::Strategy,
};
use gpus::Gpus;
use leak_on_hang::{CanHang, LeakOnHang};
use opening::Opening;
use rayon::{ThreadPool, ThreadPoolBuilder};
use waves::{Waves, lock};

use crate::{
    Error,
    backend::devices::processor,
    camera::Camera,
    device::render_scene::RenderScene,
    film::picture::Picture,
    film::{Film, FilmSums},
    scene::memory,
    stages::wave::{CpuWave, Pace, Report, SortHits, Wave},
    stages::{Preview, denoise, resolve, snapshot_film},
};
pub use ahead::Ahead;
pub use gpu_health::Gpu;
pub use resources::{MemoryStats, WaveStats};
pub use settings::{BackendChoice, Settings};
pub(crate) use spans::{Pixels, Plan, Spans};

/// Initial and maximum size in paths of waves on the CPU, unless the settings give a size. The state of so few paths
/// stays in the cache of a thread.
const CPU_WAVE: u32 = 1 << 13;
/// Maximum number of paths in a wave, so that a path index plus a pixel index fits into 32 bits.
const MAX_PATHS: u32 = 1 << 31;

/// The counts of waves and the failures of devices since the last [`Backend::take_counts`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Counts of waves that have finished.
    pub(crate) added: Vec<Counted>,
    /// Counts of finished waves whose samples were then lost with a GPU. They are to be subtracted.
    pub(crate) withdrawn: Vec<Counted>,
    /// GPUs that have failed while others go on: the index of each among the backend's devices, and its error.
    pub(crate) failures: Vec<(usize, String)>,
}

/// The counts and stage times of one wave.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// Index of the device among [`Backend::devices`].
    pub(crate) device: usize,
    /// Counts and stage times.
    pub(crate) report: Report,
    /// Factor from the stage times to wall-clock time: 1 / number of waves that ran at the same time.
    pub(crate) time_share: f64,
}

/// The CPU or the GPUs of a render, with the scene on them.
pub(crate) struct Backend {
    engine: LeakOnHang<Engine>,
    /// `cpu` or `cuda`.
    pub(crate) name: &'static str,
    /// Names of the devices with which rendering began; one that fails later stays in the list. They are GPUs such as
    /// `NVIDIA H200 (cuda:1)`, or the processor with the number of its threads.
    pub(crate) devices: Vec<String>,
    /// All chosen GPUs, with those that failed; empty on the CPU.
    pub(crate) gpus: Vec<Gpu>,
    /// Why this backend was chosen; `None` if the settings name it.
    pub(crate) reason: Option<String>,
}

/// The way in which the waves of a backend share films.
enum Engine {
    /// Waves on one film: one per CPU thread, or a single one on a GPU.
    Waves(Waves),
    /// Waves on several GPUs, each with its own film.
    Gpus(Box<Gpus>),
}

impl CanHang for Engine {
    fn hangs(&self) -> bool {
        match self {
            Engine::Waves(waves) => waves.hangs(),
            Engine::Gpus(gpus) => gpus.hangs(),
        }
    }
}

impl Backend {
    /// Returns the backend that the settings choose, with the scene on it.
    pub(crate) fn new(
        scene: Arc<RenderScene>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        settings.backend.check().map_err(|problem| Error::Setting {
            setting: format!("backend {}", settings.backend),
            problem,
        })?;
        let mut backend = Backend::of_choice(scene, camera, max_bounces, settings)?;
        backend.set_sort_hits(settings.sort_hits)?;
        Ok(backend)
    }

    /// Returns the backend of a valid choice. See [`Backend::new`].
    fn of_choice(
        scene: Arc<RenderScene>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        match &settings.backend {
            BackendChoice::Cpu => Backend::cpu(scene, camera, max_bounces, settings, None),
            BackendChoice::Cuda(ordinal) => {
                Backend::cuda(&[*ordinal], &scene, camera, max_bounces, settings)
            }
            BackendChoice::SomeCuda(ordinals) => {
                Backend::cuda(ordinals, &scene, camera, max_bounces, settings)
            }
            BackendChoice::AllCuda => {
                let all: Vec<usize> = devices()?.iter().map(|device| device.ordinal).collect();
                Backend::cuda(&all, &scene, camera, max_bounces, settings)
            }
            BackendChoice::Auto => Backend::auto(scene, camera, max_bounces, settings),
        }
    }

    /// Returns a backend on the first GPU, or on the CPU with the reason why the GPU cannot be used.
    fn auto(
        scene: Arc<RenderScene>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        let reason = match devices() {
            Ok(found) => {
                let ordinal = found.first().map_or(0, |device| device.ordinal);
                match Backend::cuda(&[ordinal], &scene, camera, max_bounces, settings) {
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
        Backend::cpu(scene, camera, max_bounces, settings, Some(reason))
    }

    /// Returns a backend on the CPU, which was chosen for `reason`.
    fn cpu(
        scene: Arc<RenderScene>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
        reason: Option<String>,
    ) -> Result<Backend, Error> {
        let wave_size = possible(settings.wave_size.unwrap_or(CPU_WAVE))?;
        let (count, of_wave) = (settings.cpu_threads(), settings.bytes_per_cpu_thread());
        memory::check_with_threads(0, count, of_wave).map_err(|problem| {
            match settings.wave_size {
                Some(_) => Error::Setting {
                    setting: format!("wave size {wave_size}"),
                    problem: format!("{problem}; choose a smaller one"),
                },
                None => Error::Setting {
                    setting: format!("threads {count}"),
                    problem: match count {
                        1 => format!("{problem}; allow more"),
                        _ => format!("{problem}; choose fewer"),
                    },
                },
            }
        })?;
        let (width, height) = camera.size();
        let of_film = u64::from(camera.pixel_count()) * Film::BYTES_PER_PIXEL;
        memory::check_with_threads(of_film, count, of_wave).map_err(|problem| Error::Setting {
            setting: format!("size {width}x{height}"),
            problem: format!("{problem}; choose a smaller size"),
        })?;
        let pool = threads(count)?;
        // Built here, so that it does not count as render time.
        pool.install(|| scene.prepare_simd());
        let film = Film::new(camera.pixel_count()).map_err(Error::memory(camera.size()))?;
        let film = Arc::new(film);
        let wave = |_| {
            let (scene, film) = (scene.clone(), film.clone());
            let mut wave = CpuWave::new(
                scene,
                camera,
                film,
                max_bounces,
                wave_size,
                settings.strategy,
            );
            if settings.wave_size.is_none() {
                wave = wave.with_adaptive_size();
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
            engine: LeakOnHang::new(Engine::Waves(Waves::new(waves, pool))),
            name: "cpu",
            devices: vec![device],
            gpus: Vec::new(),
            reason,
        })
    }

    /// Returns a backend on the GPUs with these device numbers.
    fn cuda(
        ordinals: &[usize],
        scene: &Arc<RenderScene>,
        camera: Camera,
        max_bounces: u32,
        settings: &Settings,
    ) -> Result<Backend, Error> {
        let found = devices()?;
        let mut gpus = chosen(&found, ordinals);
        let opening = Opening {
            found: &found,
            scene,
            camera,
            max_bounces,
            settings,
        };
        let waves = opening.open(&mut gpus)?;
        let working = gpus.iter().filter(|gpu| gpu.works());
        let devices: Vec<String> = working.map(|gpu| gpu.name.clone()).collect();
        let engine = if gpus.len() == 1 {
            let waves = waves.into_iter().map(Box::new).map(Wave::Cuda);
            let waves = waves.map(Mutex::new).collect();
            Engine::Waves(Waves::new(waves, threads(1)?))
        } else {
            // Even if only one could be opened: this engine keeps a safe copy of the film.
            let gpus = Gpus::new(waves, devices.clone(), camera, settings)?;
            Engine::Gpus(Box::new(gpus))
        };
        Ok(Backend {
            engine: LeakOnHang::new(engine),
            name: "cuda",
            devices,
            gpus,
            reason: None,
        })
    }

    /// Assigns pairs to all waves until none are left, or until it is time to [`Stop`].
    pub(crate) fn advance(&mut self, spans: &Spans, stop: &Stop) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.advance(spans, stop),
            Engine::Gpus(gpus) => gpus.advance(spans, stop.enough),
        }
    }

    /// Sets the pace of all waves from the next one on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        match &mut *self.engine {
            Engine::Waves(waves) => {
                lock(&waves.batches).pace = pace;
                for wave in &waves.waves {
                    lock(wave).set_pace(pace);
                }
            }
            Engine::Gpus(gpus) => gpus.set_pace(pace),
        }
    }

    /// Waits for all running waves. Returns whether there were any.
    pub(crate) fn finish_waves(&mut self) -> Result<bool, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.finish_waves(),
            Engine::Gpus(gpus) => gpus.finish_waves(),
        }
    }

    /// Returns the counts and failures since the last call.
    pub(crate) fn take_counts(&mut self) -> Counts {
        match &mut *self.engine {
            Engine::Waves(waves) => Counts {
                added: mem::take(&mut waves.finished),
                ..Counts::default()
            },
            Engine::Gpus(gpus) => gpus.take_counts(),
        }
    }

    /// Returns whether the render uses a single GPU. The renderer then copies its film to host memory itself.
    pub(crate) fn is_single_gpu(&self) -> bool {
        matches!(&*self.engine, Engine::Waves(_)) && !self.gpus.is_empty()
    }

    /// Returns whether the render uses a single GPU that has failed or hangs. Returns `false` on the CPU.
    pub(crate) fn only_gpu_has_failed(&self) -> bool {
        match &*self.engine {
            Engine::Waves(waves) => waves.gpu_has_failed(),
            Engine::Gpus(_) => false,
        }
    }

    /// Returns the number of pairs that are safe in host memory, counted from pair 0, if all of several GPUs have
    /// failed. Returns `None` while one of them works, on a single GPU, and on the CPU.
    pub(crate) fn safe_after_failure(&self) -> Option<u64> {
        match &*self.engine {
            Engine::Waves(_) => None,
            Engine::Gpus(gpus) => gpus.safe_after_failure(),
        }
    }

    /// Resolves the film, which holds the first `done` pairs, into a picture.
    pub(crate) fn resolve(&mut self, done: u64, picture: &mut Picture) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.with_first(|wave| resolve(wave, done, picture)),
            Engine::Gpus(gpus) => gpus.resolve(done, picture),
        }
    }

    /// Keeps a copy of the film, which holds the first `done` pairs, to estimate the noise of later films.
    pub(crate) fn snapshot_film(&mut self, done: u64) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.with_first(|wave| snapshot_film(wave, done)),
            Engine::Gpus(gpus) => gpus.snapshot_film(done),
        }
    }

    /// Resolves the film, which holds the first `done` pairs, into a denoised preview. Returns `false` while its noise
    /// is unknown.
    pub(crate) fn denoise(&mut self, done: u64, preview: &mut Preview) -> Result<bool, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.with_first(|wave| denoise(wave, done, preview)),
            Engine::Gpus(gpus) => gpus.denoise(done, preview),
        }
    }

    /// Replaces the film by this one, which holds the pairs of a pixel and a sample with numbers below `done`.
    pub(crate) fn set_film(&mut self, film_sums: &FilmSums, done: u64) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => {
                let size = waves.size();
                let set = |film: &mut Film| film.set(film_sums).map_err(Error::memory(size));
                waves.begin_again(set, |wave, film| wave.set_film(film, film_sums))
            }
            Engine::Gpus(gpus) => gpus.set_film(film_sums, done),
        }
    }

    /// Returns a copy of the film.
    pub(crate) fn film_sums(&mut self) -> Result<FilmSums, Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => lock(&waves.waves[0]).film_sums(),
            Engine::Gpus(gpus) => gpus.film_sums(),
        }
    }

    /// Sets the camera and clears the film. The first pair of a pixel and a sample that is added to it then has the
    /// number `first`. `scene` is the scene with the probabilities of lights for the camera, if they depend on it.
    pub(crate) fn set_camera(
        &mut self,
        camera: Camera,
        scene: Option<&Arc<RenderScene>>,
        first: u64,
    ) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => {
                let (pixels, size) = (camera.pixel_count(), camera.size());
                lock(&waves.batches).begin_film();
                let clear = |film: &mut Film| film.clear(pixels).map_err(Error::memory(size));
                waves.begin_again(clear, |wave, film| {
                    wave.set_camera(camera, film)?;
                    scene.map_or(Ok(()), |scene| wave.set_lights(scene))
                })
            }
            Engine::Gpus(gpus) => gpus.set_camera(camera, scene, first),
        }
    }

    /// Loads the megakernel on each GPU; does nothing on the CPU.
    pub(crate) fn load_megakernel(&mut self) -> Result<(), Error> {
        self.each(|wave| match wave {
            Wave::Cpu(_) => Ok(()),
            Wave::Cuda(cuda) => cuda.load_megakernel(),
        })
    }

    /// Sets whether hits are sorted by material kind, or that the waves measure whether it pays.
    pub(crate) fn set_sort_hits(&mut self, sort_hits: SortHits) -> Result<(), Error> {
        self.each(|wave| wave.set_sort_hits(sort_hits))
    }

    /// Returns for each working device its index among [`Backend::devices`] and its [`Wave::sort_hits`].
    pub(crate) fn sort_hits_states(&self) -> Vec<(usize, (bool, Option<f64>))> {
        match &*self.engine {
            Engine::Waves(waves) => vec![(0, lock(&waves.waves[0]).sort_hits())],
            Engine::Gpus(gpus) => gpus.sort_hits_states(),
        }
    }

    /// Sets the strategy of stream compaction.
    pub(crate) fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        self.each(|wave| wave.set_strategy(strategy))
    }

    /// Does the work with every wave, up to the first error. If several GPUs render, those that fail meanwhile are left
    /// out.
    fn each(&mut self, work: impl Fn(&mut Wave) -> Result<(), Error>) -> Result<(), Error> {
        match &mut *self.engine {
            Engine::Waves(waves) => waves.each(work),
            Engine::Gpus(gpus) => gpus.each(work),
        }
    }
}

/// Returns the GPUs with these device numbers; one that the driver does not know has an empty name and fails to open.
fn chosen(found: &[DeviceInfo], ordinals: &[usize]) -> Vec<Gpu> {
    let chosen = ordinals.iter().map(|&ordinal| {
        let device = found.iter().find(|device| device.ordinal == ordinal);
        Gpu::new(ordinal, device.map_or("", |device| &device.name))
    });
    chosen.collect()
}

/// Checks that a wave size is at least 1 and at most [`MAX_PATHS`].
fn possible(wave_size: u32) -> Result<u32, Error> {
    if (1..=MAX_PATHS).contains(&wave_size) {
        return Ok(wave_size);
    }
    let problem = format!("a wave has 1 to {MAX_PATHS} paths");
    Err(Error::Setting {
        setting: format!("wave size {wave_size}"),
        problem,
    })
}

/// Returns a pool of `count` threads.
fn threads(count: usize) -> Result<ThreadPool, Error> {
    ThreadPoolBuilder::new()
        .num_threads(count)
        .build()
        .map_err(|error| Error::Setting {
            setting: format!("threads {count}"),
            problem: format!("cannot be started: {error}; ask for fewer"),
        })
}
