//! Measurement of a scene: renders one frame with each strategy per round.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::error::Error;
use compaction::select::Strategy;
use indicatif::ProgressBar;
use raysieve::{
    film::picture::relative_squared_error,
    render::{
        part::Samples,
        renderer::{Renderer, SortHits},
        stats::{BounceStats, Stats},
    },
};
use raysieve_scene::Scene;

use super::results::{ReferenceError, SceneResults, Timing, median_bounces};
use crate::{
    arguments::{Bench, Method},
    backend_line,
    compare::read_picture,
    note,
    progress::{PROGRESS_STEPS, progress_bar, with_reading_line},
};

/// Approximate number of paths per frame on the CPU if `--spp` is not given. Every pixel gets at least one sample. A
/// frame then takes about a second or less on most machines.
const PATHS_ON_CPU: u32 = 1 << 22;
/// Approximate number of paths per frame and GPU if `--spp` is not given. Every pixel gets at least one sample. A frame
/// then takes less than a second on an H200.
const PATHS_ON_CUDA: u32 = 1 << 28;

/// The progress bar of a benchmark on standard error. Each scene is an equal part of the bar.
pub(super) struct BenchProgress {
    bar: ProgressBar,
    /// Number of scenes to measure.
    scenes: usize,
    /// Number of scenes that are measured completely.
    scenes_done: usize,
}

impl BenchProgress {
    /// Creates a bar for a benchmark of `scenes` scenes.
    pub(super) fn new(scenes: usize) -> BenchProgress {
        BenchProgress {
            bar: progress_bar(PROGRESS_STEPS),
            scenes,
            scenes_done: 0,
        }
    }

    /// Runs `print` while the bar is hidden, and returns the result of `print`.
    pub(super) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Moves the bar to the progress of the current scene, from 0 to 1, after the scenes that are done.
    fn set(&self, progress: f64) {
        let done = (self.scenes_done as f64 + progress) / self.scenes as f64;
        self.bar.set_position((done * PROGRESS_STEPS as f64) as u64);
    }
}

/// Measures the scene at `path`. Returns `None` if no measured round was completed before `interrupted` was set. The
/// measurement then ends before the next wave, and the incomplete round is dropped.
///
/// `refuse` receives the description of the scene, without times, before the first frame. It can return an error to
/// prevent the measurement.
///
/// # Errors
/// If the scene cannot be loaded or rendered, if `refuse` returns an error, or if a GPU fails, even one of several.
/// [`Error::VerificationFailed`] if two frames have different films or ray counts.
pub(super) fn scene(
    path: &Path,
    arguments: &Bench,
    progress: &mut BenchProgress,
    refuse: impl FnOnce(&SceneResults) -> Result<(), Error>,
    interrupted: &AtomicBool,
) -> Result<Option<SceneResults>, Error> {
    let methods = arguments.methods();
    let mut scene = progress.suspend(|| with_reading_line(path, || Scene::load(path)))?;
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
    let mut results = results_without_times(&scene, &renderer);
    refuse(&results)?;
    let reference = match &arguments.reference {
        Some(path) => Some((path, read_picture(path, scene.size)?)),
        None => None,
    };

    let frames = frames(&mut renderer, &methods, arguments, progress, interrupted)
        .map_err(|error| failed_gpu(&renderer).unwrap_or(error))?;
    if frames.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    check_agreement(&scene, &methods, &frames)?;
    let first = &frames[0][0];
    results.film_hash.clone_from(&first.film_hash);
    (results.paths, results.rays) = (first.paths, first.rays);
    results.strategies = methods
        .iter()
        .zip(&frames)
        .map(|(method, frames)| Timing {
            strategy: method.name().to_owned(),
            seconds: frames.iter().map(|frame| frame.seconds).collect(),
            bounces: median_bounces(frames),
        })
        .collect();
    if let Some((path, reference)) = reference {
        results.reference = Some(ReferenceError {
            file: path.display().to_string(),
            squared_error: relative_squared_error(&renderer.picture()?, &reference),
        });
    }
    progress.scenes_done += 1;
    progress.set(0.0);
    Ok(Some(results))
}

/// Returns the results of a scene with all fields that are known before the first frame. The other fields are empty,
/// 0 or `None`: film hash, paths, rays, reference and strategies.
fn results_without_times(scene: &Scene, renderer: &Renderer) -> SceneResults {
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
        reference: None,
        strategies: Vec::new(),
    }
}

/// Renders the unmeasured and the measured frames. Returns the statistics of the measured ones, as one list per method
/// in the order of `methods`. All lists are equally long, because an incomplete round is omitted.
///
/// The methods take turns in a fixed cyclic order. Each round begins one method later than the round before, so that
/// none is always the first.
fn frames(
    renderer: &mut Renderer,
    methods: &[Method],
    arguments: &Bench,
    progress: &BenchProgress,
    interrupted: &AtomicBool,
) -> Result<Vec<Vec<Stats>>, Error> {
    let rounds = arguments.warm_up + arguments.rounds;
    let all = (rounds as usize * methods.len()) as f64;
    let mut frames = vec![Vec::new(); methods.len()];
    for round in 0..rounds {
        for turn in 0..methods.len() {
            let place = (round as usize + turn) % methods.len();
            renderer.set_sort_hits(match methods[place] {
                Method::SortHits => SortHits::On,
                Method::Compact(_) | Method::Megakernel => SortHits::Off,
            })?;
            match methods[place] {
                Method::Compact(strategy) => renderer.set_strategy(strategy)?,
                Method::SortHits => renderer.set_strategy(Strategy::default())?,
                Method::Megakernel => renderer.set_megakernel()?,
            }
            renderer.restart()?;
            loop {
                // Checked before each wave, also before the first one of a frame.
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

/// Returns an error if any GPU has failed, because times without that GPU cannot be compared. The error suggests the
/// `--backend` of the GPUs that work, or the CPU if there are none.
fn failed_gpu(renderer: &Renderer) -> Option<Error> {
    let gpus = renderer.gpus();
    let failed = gpus.iter().find(|gpu| !gpu.works())?;
    let others = gpus.iter().filter(|gpu| gpu.works());
    let others: Vec<String> = others.map(|gpu| gpu.ordinal.to_string()).collect();
    let backend = match &others[..] {
        [] => "cpu".to_owned(),
        others => format!("cuda:{}", others.join(",")),
    };
    Some(Error::Render(raysieve::Error::Gpu {
        gpu: failed.name.clone(),
        problem: format!(
            "has failed: {}; measure without it, with --backend {backend}",
            failed.failure.as_deref().unwrap_or_default()
        ),
    }))
}

/// Returns [`Error::VerificationFailed`] if two frames differ in the film hash, or in the numbers of rays, hits,
/// survivors or shadow rays of a bounce.
fn check_agreement(scene: &Scene, methods: &[Method], frames: &[Vec<Stats>]) -> Result<(), Error> {
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
                    "film_hash is {} with {by} and {} with {method}",
                    first.film_hash, frame.film_hash
                )
            } else if counts(frame) != counts(first) {
                format!("{by} and {method} have different ray counts")
            } else {
                continue;
            };
            return Err(Error::VerificationFailed {
                file: scene.path.display().to_string(),
                problem,
            });
        }
    }
    Ok(())
}
