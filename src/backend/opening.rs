//! Opens GPUs in parallel, each on its own thread. Every wait has a timeout, because a call to the driver may never
//! return from a broken GPU.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use compaction::cuda::{CallRegister, DeviceInfo, HangDetector, is_alive, open};

use super::{BackendChoice, Gpu, Settings, possible};
use crate::{Error, camera::Camera, device::render_scene::RenderScene, stages::wave::CudaWave};

/// Initial size in paths of waves on a GPU, or fewer if its memory is small. See [`CudaWave::with_adaptive_size`].
const CUDA_WAVE: u32 = 1 << 23;
/// Maximum size in paths of waves on a GPU, unless the settings give a size.
const MAX_CUDA_WAVE: u32 = 1 << 26;
/// Divisor of the GPU's memory. Unless the settings give a size, the paths of a wave take at most 1 / `MEMORY_SHARE` of
/// it.
const MEMORY_SHARE: u64 = 4;
/// Time between two checks whether a GPU that is being opened hangs.
const PAUSE: Duration = Duration::from_millis(20);

/// The scene and settings for GPUs that are to be opened.
pub(super) struct Opening<'a> {
    pub(super) found: &'a [DeviceInfo],
    pub(super) scene: &'a Arc<RenderScene>,
    pub(super) camera: Camera,
    pub(super) max_bounces: u32,
    pub(super) settings: &'a Settings,
}

impl Opening<'_> {
    /// Opens these GPUs and returns a wave on each that works.
    ///
    /// With `cuda:all`, a GPU that cannot be opened gets a [`Gpu::failure`] if at least one works and all opened ones
    /// still do.
    ///
    /// # Errors
    /// The first failure in the order of `gpus` otherwise, or a GPU that hangs.
    pub(super) fn open(&self, gpus: &mut [Gpu]) -> Result<Vec<CudaWave>, Error> {
        let (count, opened) = (gpus.len(), self.open_side_by_side(gpus)?);
        let (mut waves, mut failed) = (Vec::new(), Vec::new());
        for (gpu, opened) in gpus.iter_mut().zip(opened) {
            match opened {
                Ok(wave) => waves.push(wave),
                Err(error) => failed.push((gpu, error)),
            }
        }
        // A GPU that crashes can disable all others of the process.
        let others_work = !waves.is_empty() && waves.iter().all(|wave| is_alive(&wave.stream));
        let may_leave_out = self.settings.backend == BackendChoice::AllCuda && others_work;
        for (gpu, error) in failed {
            if !may_leave_out {
                return Err(match count {
                    1 => error,
                    _ => of_gpu(&gpu.name, error),
                });
            }
            gpu.failure = Some(error.to_string());
        }
        Ok(waves)
    }

    /// Returns a wave on each GPU, or the reason why there is none, in the order of `gpus`.
    ///
    /// # Errors
    /// A GPU that hangs. The other waves are leaked, because the driver would wait forever for them.
    fn open_side_by_side(&self, gpus: &[Gpu]) -> Result<Vec<Result<CudaWave, Error>>, Error> {
        let timeout = self.settings.timeout();
        let (sender, opened) = mpsc::channel();
        let turn = Arc::new(Mutex::new(()));
        let mut watchers = Vec::new();
        for (place, gpu) in gpus.iter().enumerate() {
            let watch = CallRegister::default();
            watchers.push(HangDetector::new(&watch));
            let open = self.opener(gpu.ordinal, turn.clone(), watch);
            let sender = sender.clone();
            let started = thread::Builder::new().spawn(move || {
                let wave = catch_unwind(AssertUnwindSafe(open));
                // The receiver is gone if another GPU hangs.
                let _ = sender.send((place, wave));
            });
            started.map_err(|error| Error::Gpu {
                gpu: gpu.name.clone(),
                problem: format!(
                    "no thread can be started: {error}; allow more memory or processes"
                ),
            })?;
        }
        let mut waves: Vec<Option<Result<CudaWave, Error>>> = gpus.iter().map(|_| None).collect();
        while waves.iter().any(Option::is_none) {
            match opened.recv_timeout(PAUSE) {
                Ok((place, Ok(wave))) => waves[place] = Some(wave),
                Ok((_, Err(panic))) => resume_unwind(panic),
                Err(_) => {}
            }
            let opening = watchers.iter_mut().zip(gpus).zip(&waves);
            let hangs =
                opening
                    .filter(|(_, wave)| wave.is_none())
                    .find_map(|((watcher, gpu), _)| {
                        let hang = watcher.look(timeout).err()?;
                        Some(of_gpu(&gpu.name, hang.into()))
                    });
            if let Some(hang) = hangs {
                mem::forget(waves);
                return Err(hang);
            }
        }
        Ok(waves.into_iter().flatten().collect())
    }

    /// Returns a closure that opens the GPU with this number and makes a wave on it.
    ///
    /// The closure holds the lock `turn` while it opens the GPU, so that only one opens at a time. It registers its
    /// driver calls with `watch`, so that another thread can detect a hang.
    fn opener(
        &self,
        ordinal: usize,
        turn: Arc<Mutex<()>>,
        watch: CallRegister,
    ) -> impl FnOnce() -> Result<CudaWave, Error> + Send + 'static {
        let device = self.found.iter().find(|device| device.ordinal == ordinal);
        let memory = device.map_or(0, |device| device.memory_bytes);
        let (scene, settings) = (self.scene.clone(), self.settings.clone());
        let camera = (self.camera, self.max_bounces);
        move || {
            let fitting = memory / MEMORY_SHARE / CudaWave::BYTES_PER_PATH as u64;
            let max_paths = u64::from(MAX_CUDA_WAVE).min(fitting.max(1)) as u32;
            let wave_size = possible(settings.wave_size.unwrap_or(CUDA_WAVE.min(max_paths)))?;
            // The driver opens one GPU at a time anyway; taking turns shows which one hangs.
            let turns = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let _context = watch.over("open the GPU", Duration::ZERO, || open(ordinal))?;
            drop(turns);
            let strategy = settings.strategy;
            let wave = CudaWave::new_watched(ordinal, &scene, camera, wave_size, strategy, &watch)?;
            let wave = wave.with_min_timeout(settings.timeout());
            Ok(match settings.wave_size {
                None => wave.with_adaptive_size(max_paths),
                Some(_) => wave,
            })
        }
    }
}

/// Adds the GPU's name to an error, unless the error says that there is no such GPU.
fn of_gpu(name: &str, error: Error) -> Error {
    match error {
        Error::Compaction(compaction::Error::NoDevice { .. }) => error,
        other => Error::Gpu {
            gpu: name.to_owned(),
            problem: other.to_string(),
        },
    }
}
