//! The renderer: a scene on its backend, the film, and the progress of the render.
//!
//! `samples` selects what is rendered, `results` returns pictures, statistics and parts, `previews` are denoised
//! pictures, `adaptive` is adaptive sampling, `safe_copy` copies the film of a single GPU to host memory, and
//! `fallback` continues on the CPU after the failure of all GPUs.

mod adaptive;
mod fallback;
mod library;
mod previews;
mod results;
mod safe_copy;
mod samples;

use std::{
    mem,
    ops::Range,
    sync::{Arc, Once, OnceLock, Weak, atomic::AtomicU64},
    time::{Duration, Instant},
};

use compaction::{cuda::devices, select::Strategy};
use safe_copy::SafeCopies;

use crate::{
    Error,
    accel::trees::SceneBvhs,
    adaptive::schedule::{ConvergenceGoal, Schedule},
    backend::{Backend, Pixels, Plan, Spans, Stop},
    camera::Camera,
    device::{camera_bodies::camera_in, render_scene::RenderScene},
    inspect::empty_view,
    light_shares,
    render::{
        part::Samples,
        region::Region,
        stats::{DeviceStats, Stats},
    },
    scene::{self, Scene},
    stages::wave::Pace,
};
pub use crate::{
    backend::{Ahead, BackendChoice, Gpu, Settings},
    stages::wave::SortHits,
};

/// Maximum desired time for a batch, a range of samples that the threads of a CPU divide among them. A render on a CPU
/// only stops between two batches. The longer they take, the more samples of a pixel are traced side by side.
const MAX_BATCH_TIME: Duration = Duration::from_millis(400);
/// Minimum time for which one [`Renderer::advance`] starts waves, as at the beginning of a render.
const MIN_ADVANCE: Duration = Duration::from_millis(100);
/// Maximum time for which one [`Renderer::advance`] starts waves. At its end, CPU threads without work wait for the
/// last wave, which takes tens of milliseconds in slow scenes.
const MAX_ADVANCE: Duration = Duration::from_millis(500);
/// The render time so far is divided by this number to get the time of the next [`Renderer::advance`], which the two
/// limits then clamp.
const ADVANCE_DIVISOR: u32 = 2;

/// Name of the kernel that traces whole paths, in the place of a compaction strategy in [`Stats::compaction`].
pub const MEGAKERNEL: &str = "megakernel";

/// A scene on its backend, with the film and the progress of its render.
pub struct Renderer {
    /// The devices, with the scene and the film on them.
    backend: Backend,
    /// Settings with which the renderer was created, with the strategy that was set last.
    settings: Settings,
    /// The scene as it was given.
    scene: Scene,
    /// Holds the trees for [`Renderer::set_scene`], from its first call on.
    kept_trees: Option<Arc<SceneBvhs>>,
    /// BVHs of the scene, which exist for as long as the backend, `lit_for` or a caller holds them.
    trees: Weak<SceneBvhs>,
    /// The scene and the camera for which the backend has the probabilities of its lights; `None` if they do not depend
    /// on the camera and there are no media, which may be around the camera.
    lit_for: Option<(Arc<RenderScene>, Camera)>,
    /// The current camera.
    view: scene::Camera,
    /// Hash of the scene without its camera.
    surfaces_hash: u128,
    /// Width and height of the film in pixels.
    size: (u32, u32),
    /// Samples per pixel that the scene asks for.
    spp: u32,
    /// Seed of every random number.
    seed: u32,
    /// Maximum number of scatterings per path.
    max_bounces: u32,
    /// The pixels to render; all of them except for verification.
    pixels: Pixels,
    /// The rectangle of pixels to which the render is restricted; `None` renders the whole image.
    region: Option<Region>,
    /// The (pixel, sample) pairs to render, as a range of pair numbers: all pixels of sample 0, then those of sample 1,
    /// and so on.
    range: Range<u64>,
    /// Whether the megakernel traces whole paths, instead of the stages.
    by_megakernel: bool,
    /// Number of (pixel, sample) pairs, counted from pair 0, whose samples are on the film or in a wave that still
    /// runs.
    done: u64,
    /// Exposure of the scene in stops; adaptive sampling derives from it which pixels count as dark.
    exposure_stops: f32,
    /// Relative error at which adaptive sampling stops at a pixel; `None` gives every pixel all samples.
    goal: Option<ConvergenceGoal>,
    /// Progress of adaptive sampling, or of a render of a region; `None` without them. While this is set, `done` is
    /// unused.
    rounds: Option<Schedule>,
    /// Counts and stage times of the waves that have finished.
    stats: Stats,
    /// Render time so far, without pauses between calls.
    elapsed: Duration,
    /// Whether the film is copied when the sample count doubles; see [`Renderer::keep_for_previews`].
    keeps_earlier: bool,
    /// Notes for the user that [`Renderer::take_notes`] has not returned yet, one line each.
    notes: Vec<String>,
    /// Why the picture of the scene's camera would be empty or black; `None` if it shows something.
    empty_view: Option<String>,
    /// Copies of the film in host memory, for a render on a single GPU.
    safe_copies: SafeCopies,
}

impl Renderer {
    /// Creates a renderer: builds the scene's BVHs and tables, and copies them to the devices of the backend.
    ///
    /// # Errors
    /// The scene is invalid, see [`Scene::check`], the backend does not exist or has too little memory, or a BVH is too
    /// deep for the traversal stack.
    pub fn new(scene: &Scene, settings: &Settings) -> Result<Renderer, Error> {
        Renderer::with_trees(Arc::new(SceneBvhs::of(scene)?), scene, settings)
    }

    /// Creates a renderer with BVHs that are built already. See [`Renderer::new`].
    pub fn with_trees(
        trees: Arc<SceneBvhs>,
        scene: &Scene,
        settings: &Settings,
    ) -> Result<Renderer, Error> {
        note_slow_build();
        let (width, height) = scene.size;
        let kept = Arc::downgrade(&trees);
        let render_scene = Arc::new(RenderScene::with_trees(trees, scene)?);
        let camera = camera_in(&render_scene, &scene.camera, width, height);
        let lit_scene = light_shares::for_camera(&render_scene, &camera, scene.max_bounces);
        let empty_view = empty_view::note(scene, &lit_scene, &camera);
        let depends =
            light_shares::depend_on_camera(&render_scene) || !render_scene.media.is_empty();
        let lit_for = depends.then_some((render_scene, camera));
        let backend = Backend::new(lit_scene, camera, scene.max_bounces, settings)?;
        let names = match &backend.gpus[..] {
            [] => backend.devices.clone(),
            gpus => gpus.iter().map(|gpu| gpu.name.clone()).collect(),
        };
        let stats = Stats {
            scene: scene.path.display().to_string(),
            backend: backend.name.to_owned(),
            device: device_line(&names),
            devices: DeviceStats::of(&names),
            size: [width, height],
            seed: scene.seed,
            roulette: scene.roulette,
            clamp_indirect: scene.clamp_indirect,
            compaction: settings.strategy.to_string(),
            bounces: Stats::rows(scene.max_bounces),
            ..Stats::default()
        };
        let mut renderer = Renderer {
            backend,
            settings: settings.clone(),
            scene: scene.clone(),
            kept_trees: None,
            trees: kept,
            lit_for,
            view: scene.camera,
            surfaces_hash: scene.surfaces_hash(),
            size: scene.size,
            spp: scene.spp,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            pixels: Pixels::all(scene.size),
            region: None,
            range: Samples::first(scene.spp, width * height).ranges()[0].clone(),
            by_megakernel: false,
            done: 0,
            exposure_stops: scene.exposure_stops,
            goal: None,
            rounds: None,
            stats,
            elapsed: Duration::ZERO,
            keeps_earlier: false,
            notes: Vec::new(),
            empty_view,
            safe_copies: SafeCopies::new(),
        };
        renderer.report_unopened();
        Ok(renderer)
    }

    /// Returns the scene's BVHs as long as they are in host memory: on the CPU always, on GPUs while a caller holds
    /// them or if the scene has several lights, whose probabilities depend on the camera.
    pub fn trees(&self) -> Option<Arc<SceneBvhs>> {
        self.trees.upgrade()
    }

    /// Returns one line with the names of the devices and, if the backend was chosen automatically, the reason.
    pub fn backend_line(&self) -> String {
        let device = device_line(&self.backend.devices);
        match &self.backend.reason {
            Some(reason) => format!("{device}: {reason}"),
            None => device,
        }
    }

    /// Returns the settings to create a renderer of another scene on the same devices. An automatic choice is replaced
    /// by its result, and GPUs that have failed are omitted.
    pub fn settings(&self) -> Settings {
        let mut settings = self.settings.clone();
        let working = self.backend.gpus.iter().filter(|gpu| gpu.works());
        let working: Vec<usize> = working.map(|gpu| gpu.ordinal).collect();
        if working.len() < self.backend.gpus.len() {
            settings.backend = BackendChoice::SomeCuda(working);
        }
        if settings.backend == BackendChoice::Auto {
            let first = devices()
                .ok()
                .and_then(|found| Some(found.first()?.ordinal));
            settings.backend = match first {
                Some(ordinal) if self.backend.name == "cuda" => BackendChoice::Cuda(ordinal),
                _ => BackendChoice::Cpu,
            };
        }
        settings
    }

    /// Returns one line that says why the picture is empty or black, and what to do; `None` if it shows something. It
    /// is that of the scene's camera when the renderer was created.
    ///
    /// A picture is empty if the camera sees no object. It is black if paths over the picture find no light that its
    /// exposure would show.
    pub fn empty_view(&self) -> Option<&str> {
        self.empty_view.as_deref()
    }

    /// Returns the messages for the user since the last call, one line each, such as that a GPU has failed and is left
    /// out.
    pub fn take_notes(&mut self) -> Vec<String> {
        mem::take(&mut self.notes)
    }

    /// Returns whether all GPUs of the render have failed, or cannot be used any more because one hangs.
    ///
    /// [`Renderer::part`] then returns the last copy of the film in host memory, with its samples. If the film was not
    /// copied yet, see [`Settings::keep_every`], the part has no samples.
    ///
    /// Another process can [resume](Renderer::resume) from that part to the same bits, and so can the CPU: see
    /// [`Renderer::continue_on_cpu`]. This process can no longer use any GPU.
    ///
    /// ```no_run
    /// use raysieve::{
    ///     render::{part::Packing, renderer::{BackendChoice, Renderer, Settings}},
    ///     scene::Scene,
    /// };
    ///
    /// let scene = Scene::load("scenes/mesh.ron".as_ref())?;
    /// let settings = Settings { backend: BackendChoice::Cuda(0), ..Settings::default() };
    /// let mut renderer = Renderer::new(&scene, &settings)?;
    /// loop {
    ///     match renderer.advance() {
    ///         Ok(true) => {}
    ///         Ok(false) => break renderer.part()?.write("mesh.exr".as_ref(), Packing::Small)?,
    ///         Err(error) => {
    ///             if renderer.all_gpus_failed() {
    ///                 renderer.part()?.write("safe.exr".as_ref(), Packing::Fast)?;
    ///             }
    ///             return Err(error);
    ///         }
    ///     }
    /// }
    /// # Ok::<(), raysieve::Error>(())
    /// ```
    pub fn all_gpus_failed(&self) -> bool {
        self.safe_copies.gpu_failed || self.backend.safe_after_failure().is_some()
    }

    /// Returns the GPUs that the settings choose, with those that have failed or could not be opened; empty on the CPU.
    pub fn gpus(&self) -> &[Gpu] {
        &self.backend.gpus
    }

    /// Renders for a while, as [`Renderer::advance_for`]: for about 0.1 s at first, and for up to a second later.
    /// Returns `true` if samples remain, and `false` when all are done.
    pub fn advance(&mut self) -> Result<bool, Error> {
        let slice = (self.elapsed / ADVANCE_DIVISOR).clamp(MIN_ADVANCE, MAX_ADVANCE);
        self.advance_in_batches(slice, MAX_BATCH_TIME)
    }

    /// Starts waves for the time `slice`, at least one, or until all samples are assigned. On the CPU it returns when
    /// they have finished; on a GPU the last ones may still run. Returns `false` when all samples are done.
    pub fn advance_for(&mut self, slice: Duration) -> Result<bool, Error> {
        self.advance_in_batches(slice, slice.min(MAX_BATCH_TIME))
    }

    /// Renders as [`Renderer::advance_for`]. On a CPU, a batch takes about `batch_time`.
    fn advance_in_batches(&mut self, slice: Duration, batch_time: Duration) -> Result<bool, Error> {
        // The time counts from the first wave on: on a busy machine, the slice can be over before a thread takes it.
        let begun = OnceLock::new();
        let enough = |_| {
            let is_first = begun.set(Instant::now()).is_ok();
            !is_first && begun.wait().elapsed() >= slice
        };
        self.advance_by(&enough, batch_time)
    }

    /// Renders until `enough` returns true or all samples are done. Before each wave, `enough` is called with the
    /// sample count that every pixel will have once the running waves finish. On a CPU it is called before each batch
    /// of waves, which takes up to 0.4 s at a steady pace. Returns `false` when all samples are done.
    pub fn advance_until(&mut self, enough: &(dyn Fn(u32) -> bool + Sync)) -> Result<bool, Error> {
        self.advance_by(enough, MAX_BATCH_TIME)
    }

    /// Renders as [`Renderer::advance_until`]. On a CPU, a batch takes about `batch_time` at a steady pace.
    fn advance_by(
        &mut self,
        enough: &(dyn Fn(u32) -> bool + Sync),
        batch_time: Duration,
    ) -> Result<bool, Error> {
        let goes_on = match self.rounds {
            Some(_) => self.advance_rounds(enough, batch_time)?,
            None => self.advance_pairs(enough, batch_time)?,
        };
        if goes_on {
            self.keep_safe_copy()?;
        }
        Ok(goes_on)
    }

    /// Renders like [`Renderer::advance_until`], but without rounds and without a safe copy.
    fn advance_pairs(
        &mut self,
        enough: &(dyn Fn(u32) -> bool + Sync),
        batch_time: Duration,
    ) -> Result<bool, Error> {
        let Range { start, end } = self.range;
        let pixel_count = self.pixel_count();
        let doubling = self.next_doubling();
        let end = doubling.map_or(end, |doubling| doubling.min(end));
        let begun = Instant::now();
        let spans = Spans {
            plan: Plan {
                width: self.size.0,
                pixels: self.pixels,
                listed: false,
                first_sample: 0,
                seed: self.seed,
                by_megakernel: self.by_megakernel,
            },
            next: AtomicU64::new(self.done),
            end,
        };
        let enough = |assigned: u64| {
            enough(Samples::of_pairs(start..assigned.min(end), pixel_count).min_samples())
        };
        let stop = Stop {
            enough: &enough,
            batch_time,
        };
        let advanced = self.backend.advance(&spans, &stop);
        self.done = spans.next.into_inner().min(end);
        self.elapsed += begun.elapsed();
        self.record_counts(advanced)?;
        if self.done == self.range.end {
            self.finish_waves()?;
        }
        if doubling == Some(self.done) {
            self.finish_waves()?;
            self.keep_film_copy();
        }
        Ok(self.done < self.range.end)
    }

    /// Sets the pace of all waves from the next one on.
    pub fn set_pace(&mut self, pace: Pace) {
        self.backend.set_pace(pace);
    }

    /// Returns whether the remaining work is known. With adaptive sampling it is unknown at first, and
    /// [`Renderer::progress`] then refers to the maximum number of samples.
    pub fn knows_progress(&self) -> bool {
        self.rounds.as_ref().is_none_or(Schedule::has_progress)
    }

    /// Returns the fraction of the samples that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        if let Some(rounds) = &self.rounds {
            return rounds.progress();
        }
        let Range { start, end } = self.range;
        if start == end {
            return 1.0;
        }
        (self.done - start) as f64 / (end - start) as f64
    }

    /// Continues with another strategy of stream compaction. The film stays, because the bits do not change.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        let set = self.backend.set_strategy(strategy);
        self.record_counts(set)?;
        self.settings.strategy = strategy;
        self.by_megakernel = false;
        self.begin_strategy(strategy.to_string());
        Ok(())
    }

    /// Continues with or without sorting hits by material kind, or where it pays. The film stays. The time for sorting
    /// counts as that of compaction.
    pub fn set_sort_hits(&mut self, sort_hits: SortHits) -> Result<(), Error> {
        let set = self.backend.set_sort_hits(sort_hits);
        self.record_counts(set)?;
        self.settings.sort_hits = sort_hits;
        self.stats.begin_strategy();
        Ok(())
    }

    /// Continues with one kernel that traces whole paths, without stages and compaction, until a strategy is set. The
    /// film stays. The statistics then have no stage times.
    pub fn set_megakernel(&mut self) -> Result<(), Error> {
        let loaded = self.backend.load_megakernel();
        self.record_counts(loaded)?;
        self.by_megakernel = true;
        self.begin_strategy(MEGAKERNEL.to_owned());
        Ok(())
    }

    /// Records the name of the strategy of later waves.
    fn begin_strategy(&mut self, name: String) {
        if self.stats.compaction != name {
            self.stats.compaction = name;
            self.stats.begin_strategy();
        }
    }

    /// Waits for the running waves; the waiting counts as render time.
    pub fn finish_waves(&mut self) -> Result<(), Error> {
        if self.safe_copies.gpu_failed {
            return Ok(());
        }
        let begun = Instant::now();
        let waited = self.backend.finish_waves();
        if let Ok(true) = waited {
            self.elapsed += begun.elapsed();
        }
        self.record_counts(waited).map(drop)
    }

    /// Adds pending counts and device failures of the backend to the statistics and notes. Returns `result`, and its
    /// error names the only GPU if that GPU has failed.
    fn record_counts<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        let counts = self.backend.take_counts();
        let devices = &self.backend.devices;
        for counted in &counts.added {
            self.stats.add(
                &devices[counted.device],
                &counted.report,
                counted.time_share,
            );
        }
        for counted in &counts.withdrawn {
            self.stats.withdraw(
                &devices[counted.device],
                &counted.report,
                counted.time_share,
            );
        }
        for (device, problem) in counts.failures {
            let name = &devices[device];
            self.notes.push(format!(
                "{name} has failed and is left out; the others render what it had: {problem}"
            ));
            self.stats.set_failed(name);
            let gpus = &mut self.backend.gpus;
            if let Some(gpu) = gpus.iter_mut().find(|gpu| gpu.name == *name) {
                gpu.failure = Some(problem);
            }
        }
        if let Some(done) = self.backend.safe_after_failure() {
            match &mut self.rounds {
                Some(rounds) => rounds.set_done(done),
                None => self.done = done,
            }
        }
        result.map_err(|error| self.restore_after_failure(error))
    }

    /// Marks the GPUs that could not be opened as failed in the statistics, and adds a note about each.
    fn report_unopened(&mut self) {
        for gpu in &self.backend.gpus {
            if let Some(problem) = &gpu.failure {
                self.stats.set_failed(&gpu.name);
                self.notes.push(format!(
                    "{} cannot be used and is left out; the others render: {problem}",
                    gpu.name
                ));
            }
        }
    }

    /// Returns the number of pixels of the film.
    fn pixel_count(&self) -> u32 {
        self.size.0 * self.size.1
    }
}

/// Prints one line, once per process, if this crate was compiled without optimisation, which makes a render take tens
/// of times as long.
fn note_slow_build() {
    if cfg!(unoptimized) {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            eprintln!(
                "raysieve: compiled without optimization, which is about 50 times slower; add to Cargo.toml: \
                 [profile.dev.package.\"*\"] opt-level = 3"
            );
        });
    }
}

/// Returns all devices in one line, grouped by name: `2 × NVIDIA H200 (cuda:0, cuda:1)`.
fn device_line(devices: &[String]) -> String {
    let mut alike: Vec<(&str, Vec<&str>)> = Vec::new();
    for device in devices {
        let (name, place) = match device.strip_suffix(')').and_then(|d| d.rsplit_once(" (")) {
            Some((name, place)) if devices.len() > 1 => (name, place),
            _ => (device.as_str(), ""),
        };
        match alike.iter_mut().find(|(known, _)| *known == name) {
            Some((_, places)) => places.push(place),
            None => alike.push((name, vec![place])),
        }
    }
    let line = |(name, places): &(&str, Vec<&str>)| match places[..] {
        [""] => (*name).to_owned(),
        [place] => format!("{name} ({place})"),
        _ => format!("{} × {name} ({})", places.len(), places.join(", ")),
    };
    alike.iter().map(line).collect::<Vec<_>>().join("; ")
}
