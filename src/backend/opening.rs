//! GPUs are opened side by side, each by a thread of its own that nobody waits for without an end: from a GPU that is broken
//! the driver may never come back.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use compaction::cuda::{DeviceInfo, Watch, Watcher, is_alive, open};

use super::{BackendChoice, Gpu, Settings, possible};
use crate::{Error, camera::Camera, wave::CudaWave, world::World};

/// Paths that a GPU has in flight at first, and at most: see [`CudaWave::growing`].
const CUDA_WAVE: u32 = 1 << 22;
const MOST_CUDA_WAVE: u32 = 1 << 25;
/// The part of a GPU's memory that a wave takes at most.
const MEMORY_SHARE: u64 = 4;
/// Between two looks at those that are being opened.
const PAUSE: Duration = Duration::from_millis(20);

/// What is put on each GPU, of those that were found.
pub(super) struct Opening<'a> {
    pub(super) found: &'a [DeviceInfo],
    pub(super) world: &'a Arc<World>,
    pub(super) camera: Camera,
    pub(super) max_bounces: u32,
    pub(super) settings: &'a Settings,
}

impl Opening<'_> {
    /// A wave on each of these GPUs that is not left out. If all are to render that there are, one that cannot be opened is
    /// left out from now on, unless none can be.
    pub(super) fn open(&self, gpus: &mut [(usize, Gpu)]) -> Result<Vec<CudaWave>, Error> {
        let works = |(_, gpu): &&(usize, Gpu)| gpu.failure.is_none();
        let chosen: Vec<(usize, Gpu)> = gpus.iter().filter(works).cloned().collect();
        let (mut waves, mut failed) = (Vec::new(), Vec::new());
        for ((_, gpu), opened) in chosen.iter().zip(self.open_side_by_side(&chosen)?) {
            match opened {
                Ok(wave) => waves.push(wave),
                Err(error) => failed.push((&gpu.name, error)),
            }
        }
        let is_begun_again = !self.settings.gpus.is_empty();
        // One that fails may take the others along.
        let others_work = waves.iter().all(|wave| is_alive(&wave.stream));
        let are_all = self.settings.backend == BackendChoice::AllCuda && !is_begun_again;
        let is_enough = are_all && others_work && !waves.is_empty();
        if !failed.is_empty() && !is_enough {
            let (name, error) = failed.swap_remove(0);
            return Err(match chosen.len() {
                1 if !is_begun_again => error,
                _ => of_gpu(name, error, is_begun_again || !others_work),
            });
        }
        for (name, error) in failed {
            let failed = gpus.iter_mut().find(|(_, gpu)| gpu.name == *name);
            if let Some((_, gpu)) = failed {
                gpu.failure = Some(error.to_string());
            }
        }
        match waves.is_empty() {
            true => Err(Error::Compaction(compaction::Error::NoDevice {
                reason: "all of those that rendered have failed".to_owned(),
            })),
            false => Ok(waves),
        }
    }

    /// A wave on each, or why there is none. `Err` for one that hangs: then the driver would wait for it whatever is given
    /// back, so nothing is.
    fn open_side_by_side(
        &self,
        chosen: &[(usize, Gpu)],
    ) -> Result<Vec<Result<CudaWave, Error>>, Error> {
        let patience = self.settings.patience();
        let (sender, opened) = mpsc::channel();
        let turn = Arc::new(Mutex::new(()));
        let mut watchers = Vec::new();
        for (place, (ordinal, _)) in chosen.iter().enumerate() {
            let watch = Watch::default();
            watchers.push(Watcher::new(&watch));
            let wave = self.wave(*ordinal, turn.clone(), watch);
            let sender = sender.clone();
            thread::spawn(move || {
                let wave = catch_unwind(AssertUnwindSafe(wave));
                // Nobody may be there any more to hear of it.
                let _ = sender.send((place, wave));
            });
        }
        let mut waves: Vec<Option<Result<CudaWave, Error>>> = chosen.iter().map(|_| None).collect();
        while waves.iter().any(Option::is_none) {
            match opened.recv_timeout(PAUSE) {
                Ok((place, Ok(wave))) => waves[place] = Some(wave),
                Ok((_, Err(panic))) => resume_unwind(panic),
                Err(_) => {}
            }
            let opening = watchers.iter_mut().zip(chosen).zip(&waves);
            let hangs =
                opening
                    .filter(|(_, wave)| wave.is_none())
                    .find_map(|((watcher, gpu), _)| {
                        let hang = watcher.look(patience).err()?;
                        Some(of_gpu(&gpu.1.name, hang.into(), chosen.len() > 1))
                    });
            if let Some(hang) = hangs {
                mem::forget(waves);
                return Err(hang);
            }
        }
        Ok(waves.into_iter().flatten().collect())
    }

    /// What makes a wave on the GPU of this number, once it is its turn to open that.
    fn wave(
        &self,
        ordinal: usize,
        turn: Arc<Mutex<()>>,
        watch: Watch,
    ) -> impl FnOnce() -> Result<CudaWave, Error> + Send + 'static {
        let device = self.found.iter().find(|device| device.ordinal == ordinal);
        let memory = device.map_or(0, |device| device.memory_bytes);
        let (world, settings) = (self.world.clone(), self.settings.clone());
        let camera = (self.camera, self.max_bounces);
        move || {
            let fitting = memory / MEMORY_SHARE / CudaWave::BYTES_PER_PATH as u64;
            let most = u64::from(MOST_CUDA_WAVE).min(fitting.max(1)) as u32;
            let wave_size = possible(settings.wave_size.unwrap_or(CUDA_WAVE.min(most)))?;
            // One after the other, as the driver does it anyway: so that it is known which of them hangs.
            let turns = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let _context = watch.over("open the GPU", Duration::ZERO, || open(ordinal))?;
            drop(turns);
            let strategy = settings.strategy;
            let wave = CudaWave::watched(ordinal, &world, camera, wave_size, strategy, &watch)?;
            let wave = wave.patient(settings.patience());
            Ok(match settings.wave_size {
                None => wave.growing(most),
                Some(_) => wave,
            })
        }
    }
}

/// Says which GPU it was, unless there is none.
pub(super) fn of_gpu(name: &str, error: Error, leaves_others: bool) -> Error {
    match error {
        Error::Compaction(compaction::Error::NoDevice { .. }) => error,
        other => Error::Gpu {
            gpu: name.to_owned(),
            problem: other.to_string(),
            leaves_others,
        },
    }
}
