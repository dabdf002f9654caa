//! The frames of a scene, strategy after strategy, round after round.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use compaction::select::Strategy;
use indicatif::ProgressBar;
use raysieve::{
    Error,
    part::Samples,
    renderer::{Partition, Renderer},
    scene::Scene,
    stats::{BounceStats, Stats},
};

use super::results::{SceneResults, Timing, typical};
use crate::{
    backend_line,
    cli::{Bench, Method},
    headless::{PROGRESS_STEPS, progress_bar, reading},
    note,
};

/// Paths of a frame, about, if nobody says how many samples: a second or two on most machines, a fraction of one on
/// large GPUs, of which each has as many.
const PATHS_ON_CPU: u32 = 1 << 22;
const PATHS_ON_CUDA: u32 = 1 << 28;

/// Of all frames of all scenes.
pub(super) struct Progress {
    bar: ProgressBar,
    scenes: usize,
    scenes_done: usize,
}

impl Progress {
    pub(super) fn new(scenes: usize) -> Progress {
        Progress {
            bar: progress_bar(PROGRESS_STEPS),
            scenes,
            scenes_done: 0,
        }
    }

    /// Lets something be printed meanwhile.
    pub(super) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// So much of this scene is done, 0..=1.
    fn set(&self, part: f64) {
        let done = (self.scenes_done as f64 + part) / self.scenes as f64;
        self.bar.set_position((done * PROGRESS_STEPS as f64) as u64);
    }
}

/// Measures a scene, as far as it gets until a signal; `None` if not one round was done. `refuse` sees all but the times
/// before there are any.
pub(super) fn scene(
    path: &Path,
    arguments: &Bench,
    progress: &mut Progress,
    refuse: impl FnOnce(&SceneResults) -> Result<(), Error>,
    interrupted: &AtomicBool,
) -> Result<Option<SceneResults>, Error> {
    let methods = arguments.methods();
    let mut scene = progress.suspend(|| reading(path, || Scene::load(path)))?;
    scene.set_size(arguments.size.unwrap_or(scene.size));
    scene.spp = arguments.spp.unwrap_or(1);
    scene.check_settings()?;
    let mut renderer = arguments.renderer(&scene)?;
    let pixels = scene.size.0 * scene.size.1;
    if arguments.spp.is_none() {
        let stats = renderer.stats();
        let paths = match stats.backend.as_str() {
            "cpu" => PATHS_ON_CPU,
            _ => PATHS_ON_CUDA.saturating_mul(stats.devices.len() as u32),
        };
        scene.spp = paths.div_ceil(pixels);
        scene.check_settings()?;
    }
    renderer.set_samples(&Samples::first(scene.spp, pixels))?;
    progress.suspend(|| {
        scene.notes.iter().for_each(|line| note(line));
        note(&format!("{}: {}", path.display(), backend_line(&renderer)));
    });
    let mut results = described(&scene, &renderer);
    refuse(&results)?;

    let frames = frames(&mut renderer, &methods, arguments, progress, interrupted)
        .map_err(|error| failed_gpu(&renderer).unwrap_or(error))?;
    if frames.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    agree(&scene, &methods, &frames)?;
    let first = &frames[0][0];
    results.film_hash.clone_from(&first.film_hash);
    (results.paths, results.rays) = (first.paths, first.rays);
    results.strategies = methods
        .iter()
        .zip(&frames)
        .map(|(method, frames)| Timing {
            strategy: method.name().to_owned(),
            seconds: frames.iter().map(|frame| frame.seconds).collect(),
            bounces: typical(frames),
        })
        .collect();
    progress.scenes_done += 1;
    progress.set(0.0);
    Ok(Some(results))
}

/// All but what was measured.
fn described(scene: &Scene, renderer: &Renderer) -> SceneResults {
    let stats = renderer.stats();
    SceneResults {
        scene: stats.scene,
        scene_hash: renderer.identity().scene_hash,
        backend: stats.backend,
        device: stats.device,
        size: stats.size,
        spp: scene.spp,
        seed: scene.seed,
        max_bounces: scene.max_bounces,
        film_hash: String::new(),
        paths: 0,
        rays: 0,
        strategies: Vec::new(),
    }
}

/// The statistics of every measured frame, by strategy, of whole rounds. Every round begins with another strategy, so that
/// none is always behind the same one.
fn frames(
    renderer: &mut Renderer,
    methods: &[Method],
    arguments: &Bench,
    progress: &Progress,
    interrupted: &AtomicBool,
) -> Result<Vec<Vec<Stats>>, Error> {
    let rounds = arguments.warm_up + arguments.rounds;
    let all = (rounds as usize * methods.len()) as f64;
    let mut frames = vec![Vec::new(); methods.len()];
    for round in 0..rounds {
        for turn in 0..methods.len() {
            let place = (round as usize + turn) % methods.len();
            renderer.set_partition(match methods[place] {
                Method::Partition => Partition::On,
                Method::Sieve(_) | Method::Megakernel => Partition::Off,
            })?;
            match methods[place] {
                Method::Sieve(strategy) => renderer.set_strategy(strategy)?,
                Method::Partition => renderer.set_strategy(Strategy::default())?,
                Method::Megakernel => renderer.set_megakernel()?,
            }
            renderer.restart()?;
            loop {
                // Also before a frame that is done at once.
                if interrupted.load(Ordering::Relaxed) {
                    let whole = frames.iter().map(Vec::len).min().unwrap_or(0);
                    frames.iter_mut().for_each(|frames| frames.truncate(whole));
                    return Ok(frames);
                }
                if !renderer.advance()? {
                    break;
                }
                let done = (round as usize * methods.len() + turn) as f64;
                progress.set((done + renderer.progress()) / all);
            }
            if let Some(error) = failed_gpu(renderer) {
                return Err(error);
            }
            let frame = renderer.finish()?;
            if round >= arguments.warm_up {
                frames[place].push(frame);
            }
        }
    }
    Ok(frames)
}

/// If one of several GPUs has failed: what is measured without it says nothing of all of them.
fn failed_gpu(renderer: &Renderer) -> Option<Error> {
    let gpus = renderer.gpus();
    let failed = gpus.iter().find(|gpu| gpu.failure.is_some())?;
    let others = gpus.iter().filter(|gpu| gpu.failure.is_none());
    let others: Vec<&str> = others.map(|gpu| gpu.number()).collect();
    let backend = match &others[..] {
        [] => "cpu".to_owned(),
        others => format!("cuda:{}", others.join(",")),
    };
    Some(Error::Gpu {
        gpu: failed.name.clone(),
        leaves_others: false,
        problem: format!(
            "has failed: {}; measure without it, by --backend {backend}",
            failed.failure.as_deref().unwrap_or_default()
        ),
    })
}

/// Whether all frames show the same, and counted the same.
fn agree(scene: &Scene, methods: &[Method], frames: &[Vec<Stats>]) -> Result<(), Error> {
    let counts = |stats: &Stats| -> Vec<[u64; 4]> {
        let row = |row: &BounceStats| [row.rays, row.hits, row.survivors, row.shadow_rays];
        stats.bounces.iter().map(row).collect()
    };
    let (by, first) = (methods[0].name(), &frames[0][0]);
    for (method, frames) in methods.iter().zip(frames) {
        let method = method.name();
        for frame in frames {
            let problem = if frame.film_hash != first.film_hash {
                format!(
                    "film_hash is {} by {by} and {} by {method}",
                    first.film_hash, frame.film_hash
                )
            } else if counts(frame) != counts(first) {
                format!("{by} and {method} count other rays")
            } else {
                continue;
            };
            return Err(Error::Refuted {
                file: scene.path.display().to_string(),
                problem,
            });
        }
    }
    Ok(())
}
