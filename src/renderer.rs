//! A render in progress: the scene on its backend, the film, and how far it has come.

mod uneven;

use std::{
    mem,
    ops::Range,
    sync::{Arc, Weak, atomic::AtomicU64},
    time::{Duration, Instant},
};

use compaction::{cuda::devices, select::Strategy};

use crate::{
    Error,
    backend::{Backend, Failure, Pixels, Plan, Spans},
    camera::Camera,
    film::{Exposed, film_hash},
    part::{Claim, Identity, Part, SOFTWARE, Samples},
    picture::Picture,
    rounds::{Goal, Rounds},
    scene::{self, Scene, scene_hash},
    stages::Preview,
    stats::{DeviceStats, Stats},
    trees::Trees,
    wave::Pace,
    world::World,
};
pub use crate::{
    backend::{Ahead, BackendChoice, Gpu, Settings},
    wave::Partition,
};

/// How long the waves render before they show what they have. The shorter, the more of a processor waits for the last wave.
const SLICE: Duration = Duration::from_millis(50);

/// A scene that is being rendered.
pub struct Renderer {
    backend: Backend,
    settings: Settings,
    /// See [`Renderer::trees`].
    trees: Weak<Trees>,
    view: scene::Camera,
    surfaces_hash: u128,
    size: (u32, u32),
    spp: u32,
    seed: u32,
    max_bounces: u32,
    /// Pixels to render.
    pixels: Pixels,
    /// (pixel, sample) pairs to render, in their order.
    range: Range<u64>,
    by_megakernel: bool,
    /// Up to where they are on the film, or will be when the device gets there.
    done: u64,
    /// Of the scene: what is dark depends on it.
    exposure_stops: f32,
    /// When pixels are good enough, if they get no more samples then.
    goal: Option<Goal>,
    /// And how far they are. Then `done` says nothing.
    rounds: Option<Rounds>,
    /// Counts and stage times so far.
    stats: Stats,
    elapsed: Duration,
    /// See [`Renderer::keep_for_previews`].
    keeps_earlier: bool,
    /// See [`Renderer::take_notes`].
    notes: Vec<String>,
    /// See [`Renderer::to_blame`].
    to_blame: Option<usize>,
}

impl Renderer {
    /// Puts the scene on the backend. `Err` when there is no such backend, or too little memory.
    pub fn new(scene: &Scene, settings: &Settings) -> Result<Renderer, Error> {
        Renderer::within(Arc::new(Trees::of(scene)?), scene, settings)
    }

    /// The same, with the scene's trees.
    pub(crate) fn within(
        trees: Arc<Trees>,
        scene: &Scene,
        settings: &Settings,
    ) -> Result<Renderer, Error> {
        let (width, height) = scene.size;
        let camera = Camera::new(&scene.camera, width, height);
        let kept = Arc::downgrade(&trees);
        let world = World::within(trees, scene)?;
        let backend = Backend::new(world, camera, scene.max_bounces, settings)?;
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
            clamp_indirect: scene.clamp_indirect,
            compaction: settings.strategy.to_string(),
            bounces: Stats::rows(scene.max_bounces),
            ..Stats::default()
        };
        let mut renderer = Renderer {
            backend,
            settings: settings.clone(),
            trees: kept,
            view: scene.camera,
            surfaces_hash: scene.surfaces_hash(),
            size: scene.size,
            spp: scene.spp,
            seed: scene.seed,
            max_bounces: scene.max_bounces,
            pixels: Pixels::all(scene.size),
            range: Samples::first(scene.spp, width * height).stretches()[0].clone(),
            by_megakernel: false,
            done: 0,
            exposure_stops: scene.exposure_stops,
            goal: None,
            rounds: None,
            stats,
            elapsed: Duration::ZERO,
            keeps_earlier: false,
            notes: Vec::new(),
            to_blame: None,
        };
        renderer.mark_failed();
        if settings.gpus.is_empty() {
            renderer.tell_left_out();
        }
        Ok(renderer)
    }

    /// The scene's trees, if it renders by them here: a GPU has its own.
    pub(crate) fn trees(&self) -> Option<Arc<Trees>> {
        self.trees.upgrade()
    }

    /// What it renders on, and why on that.
    pub fn backend_line(&self) -> String {
        let device = device_line(&self.backend.devices);
        match &self.backend.reason {
            Some(reason) => format!("{device}: {reason}"),
            None => device,
        }
    }

    /// What puts another scene where this one is: on the same device, even if nobody named it.
    pub fn settings(&self) -> Settings {
        let mut settings = self.settings.clone();
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

    /// What happened since the last time that a user should know, a line each: a GPU that has failed, and whose samples
    /// others render.
    pub fn take_notes(&mut self) -> Vec<String> {
        mem::take(&mut self.notes)
    }

    /// Whether none of several GPUs is left that works: each has failed, or one has and took all others along, as a driver
    /// does with a kernel that crashes. Then there is a film nevertheless, of samples that were brought to safety before:
    /// [`Renderer::part`].
    ///
    /// This process then has no use of any GPU, but another one may go on where this one was: with
    /// [`Settings::gpus`] as [`Renderer::gpus`] says, it leaves out the one to blame, and [`Renderer::resume`] takes the
    /// part. Where several fell together that is a suspicion; once another one has failed alone, it is taken back. So it may
    /// take several starts until the right one is left out, which come to an end.
    ///
    /// ```no_run
    /// use raysieve::{part::{Packing, Part}, renderer::{Gpu, Renderer, Settings}, scene::Scene};
    ///
    /// /// Renders, if it can; else leaves a part and the GPUs to go on with, for a new process that calls this again.
    /// fn render(scene: &Scene, gpus: Vec<Gpu>, part: Option<&Part>) -> Result<Option<Vec<Gpu>>, raysieve::Error> {
    ///     let mut renderer = Renderer::new(scene, &Settings { gpus, ..Settings::default() })?;
    ///     if let Some(part) = part {
    ///         renderer.resume(part)?;
    ///     }
    ///     let error = loop {
    ///         match renderer.advance() {
    ///             Ok(true) => {}
    ///             Ok(false) => {
    ///                 renderer.part()?.write("whole.exr".as_ref(), Packing::Small)?;
    ///                 return Ok(None);
    ///             }
    ///             Err(error) => break error,
    ///         }
    ///     };
    ///     if !renderer.has_fallen() || renderer.gpus().iter().all(|gpu| gpu.failure.is_some()) {
    ///         return Err(error);
    ///     }
    ///     renderer.part()?.write("safe.exr".as_ref(), Packing::Fast)?;
    ///     Ok(Some(renderer.gpus().to_vec()))
    /// }
    /// ```
    pub fn has_fallen(&mut self) -> bool {
        self.backend.fallen().is_some()
    }

    /// Of GPUs that fell together the one whose own call said so first, which [is a suspect](Gpu::is_suspect); or the last one,
    /// which fell alone.
    pub fn to_blame(&self) -> Option<&Gpu> {
        self.to_blame.and_then(|place| self.backend.gpus.get(place))
    }

    /// The GPUs that it was begun on, those that an earlier process left out among them, and which of them are to be left out
    /// from now on. Of those that fell together only the one to blame is.
    pub fn gpus(&self) -> &[Gpu] {
        &self.backend.gpus
    }

    /// Renders for some 50 ms; `false` when all samples are done.
    pub fn advance(&mut self) -> Result<bool, Error> {
        self.advance_for(SLICE)
    }

    /// Renders for at least so long, until the waves that began in it end; `false` when all samples are done.
    pub fn advance_for(&mut self, slice: Duration) -> Result<bool, Error> {
        let deadline = Instant::now() + slice;
        self.advance_until(&|_| Instant::now() >= deadline)
    }

    /// Renders until that is enough, which is asked before each wave, by the samples that every pixel then has; `false`
    /// when all are done.
    pub(crate) fn advance_until(
        &mut self,
        enough: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<bool, Error> {
        if self.rounds.is_some() {
            return self.advance_rounds(enough);
        }
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
        let enough = |dealt: u64| {
            enough(Samples::of_pairs(start..dealt.min(end), pixel_count).of_every_pixel())
        };
        let advanced = self.backend.advance(&spans, &enough);
        self.done = spans.next.into_inner().min(end);
        self.elapsed += begun.elapsed();
        self.counting(advanced)?;
        if self.done == self.range.end {
            self.land()?;
        }
        if doubling == Some(self.done) {
            self.land()?;
            self.remember();
        }
        Ok(self.done < self.range.end)
    }

    /// From now on keeps, beside the film, what it held at some fewer samples, as [`Renderer::preview`] needs it: one or
    /// two films more of the backend's memory, copied each time that the samples have doubled. A film that is no longer
    /// black tells its noise by the samples that come from now on.
    pub fn keep_for_previews(&mut self) {
        if !self.keeps_earlier {
            self.keeps_earlier = true;
            self.remember();
        }
    }

    /// The film as a picture with less noise: a preview, and not what was rendered. It is the mean over as many pixels as
    /// look alike by their noise (see [`confidence`](crate::confidence)), and nears the film's own picture as samples are
    /// added. `None` while its noise is not known: with less than two samples a pixel, or without
    /// [`Renderer::keep_for_previews`]. Where pixels stop at a noise, it is known from what they are judged by: after the
    /// first two rounds, of 16 samples a pixel each, and without being kept.
    ///
    /// If that was asked for before the first sample, the bits depend on the scene, the size, the seed and the samples
    /// alone, as those of the film.
    pub fn preview(&mut self) -> Result<Option<Preview>, Error> {
        let mut preview = Preview::default();
        let made = self.preview_into(&mut preview)?;
        Ok(made.then_some(preview))
    }

    /// The same in the memory of a preview before it; `false` while the noise is not known.
    pub fn preview_into(&mut self, preview: &mut Preview) -> Result<bool, Error> {
        let is_known = match &self.rounds {
            Some(rounds) => rounds.know_noise(),
            None => self.is_even(),
        };
        if !is_known {
            return Ok(false);
        }
        self.land()?;
        let made = self.backend.denoise(self.done - self.range.start, preview);
        self.counting(made)
    }

    /// The next number of pairs, a power of two for every pixel, at which the film is kept.
    fn next_doubling(&self) -> Option<u64> {
        let Range { start, end } = self.range;
        let pixel_count = u64::from(self.pixel_count());
        let samples = (self.done - start) / pixel_count;
        let pairs = (samples + 1)
            .next_power_of_two()
            .saturating_mul(pixel_count);
        let next = start.saturating_add(pairs);
        (self.keeps_earlier && self.is_even() && next < end).then_some(next)
    }

    /// Keeps what is on the film, once every pixel has a sample. Where there is no room for it, previews are what is given
    /// up.
    fn remember(&mut self) {
        let done = self.done - self.range.start;
        if done < self.pixel_count().into() || !self.is_even() {
            return;
        }
        let kept = self.backend.remember(done);
        if let Err(error) = self.counting(kept) {
            self.keeps_earlier = false;
            self.notes.push(format!("no more previews: {error}"));
        }
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        self.backend.set_pace(pace);
    }

    /// Whether what is left is known: where pixels stop at a noise, from when it is. Until then [`Renderer::progress`] is of
    /// the samples that they get at the most.
    pub fn knows_progress(&self) -> bool {
        self.rounds.as_ref().is_none_or(Rounds::know_progress)
    }

    /// Part of the samples that is done, 0..=1.
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

    /// Begins again from the first sample, with the film black.
    pub fn restart(&mut self) -> Result<(), Error> {
        let (width, height) = self.size;
        self.done = self.range.start;
        self.elapsed = Duration::ZERO;
        self.stats.size = [width, height];
        self.stats.clear();
        let had_rounds = self.reset_rounds();
        let camera = Camera::new(&self.view, width, height);
        let begun = self.backend.set_camera(camera, self.range.start);
        self.counting(begun)?;
        self.begin_rounds(had_rounds)
    }

    /// Renders these samples and no others; begins again. `Err` unless they are one stretch, or the first ones where pixels
    /// get samples until they are good: see [`Renderer::set_noise`].
    pub fn set_samples(&mut self, samples: &Samples) -> Result<(), Error> {
        let [range] = samples.stretches() else {
            return Err(Error::Setting {
                setting: format!("samples {samples}"),
                problem: "one stretch of samples is rendered at a time; render each by itself"
                    .to_owned(),
            });
        };
        self.check_range(self.goal, range)?;
        self.pixels = Pixels::all(self.size);
        self.range = range.clone();
        self.restart()
    }

    /// Renders these samples, one stretch, but of some pixels only; begins again. What is on the film is no part then.
    pub(crate) fn set_pixels(&mut self, samples: &Samples, pixels: Pixels) -> Result<(), Error> {
        self.set_samples(samples)?;
        let all = u64::from(self.pixel_count());
        let chosen: Vec<u32> = pixels.list().collect();
        let place = |pairs: u64| {
            let before = chosen.partition_point(|&pixel| u64::from(pixel) < pairs % all);
            pairs / all * chosen.len() as u64 + before as u64
        };
        self.range = place(self.range.start)..place(self.range.end);
        self.pixels = pixels;
        self.restart()
    }

    /// The samples that are to be rendered.
    pub fn samples(&self) -> Samples {
        Samples::of_pairs(self.range.clone(), self.pixel_count())
    }

    /// Those of them that are done.
    pub fn samples_done(&self) -> Samples {
        if let Some(rounds) = &self.rounds {
            return Samples::first(rounds.of_every_pixel(), self.pixel_count());
        }
        Samples::of_pairs(self.range.start..self.done, self.pixel_count())
    }

    /// Those of them that are not done; of some use only where every pixel gets all samples.
    pub fn samples_left(&self) -> Samples {
        Samples::of_pairs(self.done..self.range.end, self.pixel_count())
    }

    /// Goes on from a part that holds the first of the samples.
    ///
    /// # Errors
    /// [`Error::Setting`] if the part is of another render: then this one is as it was.
    pub fn resume(&mut self, part: &Part) -> Result<(), Error> {
        self.check_resume(&part.claim)
            .map_err(|problem| Error::Setting {
                setting: format!("part with samples {}", part.claim.samples),
                problem,
            })?;
        let Claim { samples, stats, .. } = &part.claim;
        self.done = samples.stretches().first().map_or(0, |held| held.end);
        self.elapsed = Duration::try_from_secs_f64(stats.seconds).unwrap_or_default();
        self.stats.bounces.clone_from(&stats.bounces);
        self.stats.devices.clone_from(&stats.devices);
        self.stats.rejected_samples = stats.rejected_samples;
        self.mark_failed();
        let begun = self.backend.set_film(&part.exposed, self.done);
        self.counting(begun)?;
        self.resume_rounds(part)?;
        if self.keeps_earlier {
            self.remember();
        }
        Ok(())
    }

    /// What keeps the render from going on from a part, in words.
    pub(crate) fn check_resume(&self, claim: &Claim) -> Result<(), String> {
        if let Some(difference) = claim.identity.difference(&self.identity()) {
            return Err(difference);
        }
        if self.goal.is_some() {
            return self.check_rounds(claim);
        }
        match claim.samples.stretches() {
            [held] if held.start == self.range.start && held.end <= self.range.end => Ok(()),
            _ => Err(format!(
                "holds samples {}, not the first of {}",
                claim.samples,
                self.samples()
            )),
        }
    }

    /// Looks from elsewhere; begins again.
    pub fn set_camera(&mut self, camera: scene::Camera) -> Result<(), Error> {
        self.view = camera;
        self.restart()
    }

    /// Renders all samples in another size; begins again.
    pub fn set_size(&mut self, width: u32, height: u32) -> Result<(), Error> {
        self.size = (width, height);
        self.set_samples(&Samples::first(self.spp, width * height))
    }

    /// Goes on with another implementation of the sieve: the film stays, since the bits do not change.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        let set = self.backend.set_strategy(strategy);
        self.counting(set)?;
        self.by_megakernel = false;
        self.stats.compaction = strategy.to_string();
        Ok(())
    }

    /// Goes on with hits ordered by the kind of material before they are shaded, or not, or where it pays: the film stays.
    /// Time spent on it counts as the sieve's.
    pub fn set_partition(&mut self, partition: Partition) -> Result<(), Error> {
        let set = self.backend.set_partition(partition);
        self.counting(set)
    }

    /// Goes on with one kernel that traces whole paths, without stages and without a sieve, until a strategy is set: the
    /// film stays. The statistics then have no times of stages.
    pub fn set_megakernel(&mut self) -> Result<(), Error> {
        let loaded = self.backend.load_megakernel();
        self.counting(loaded)?;
        self.by_megakernel = true;
        self.stats.compaction = "megakernel".to_owned();
        Ok(())
    }

    /// The film as a picture: the mean of the samples so far.
    pub fn picture(&mut self) -> Result<Picture, Error> {
        let mut picture = Picture::default();
        self.picture_into(&mut picture)?;
        Ok(picture)
    }

    /// The same in the memory of a picture before it. New memory, which the system has to find page by page, takes longer to
    /// fill than a GPU takes for the picture.
    pub fn picture_into(&mut self, picture: &mut Picture) -> Result<(), Error> {
        self.land()?;
        // The stage knows films that begin at a first pixel.
        if self.rounds.is_some() || self.range.start.is_multiple_of(self.pixel_count().into()) {
            // Rounds know by themselves what is done.
            let done = self.done.saturating_sub(self.range.start);
            let resolved = self.backend.resolve(done, picture);
            self.counting(resolved)
        } else {
            *picture = self.part()?.picture();
            Ok(())
        }
    }

    /// Counts and times so far, with an empty `film_hash`: see [`Renderer::finish`].
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats.clone();
        let samples = self.samples_done();
        stats.spp = samples.of_every_pixel();
        stats.sample_range = samples.to_string();
        let partitions = self.backend.partitions();
        stats.set_partitions(
            partitions.into_iter().map(|(device, (orders, gain))| {
                (self.backend.devices[device].as_str(), orders, gain)
            }),
        );
        stats.noise = self.noise_stats();
        stats.settle(self.elapsed.as_secs_f64());
        stats
    }

    /// Counts and times, with the hash of the film and the number of samples that it rejected. Waits for what is under
    /// way.
    pub fn finish(&mut self) -> Result<Stats, Error> {
        Ok(self.part()?.claim.stats)
    }

    /// The film so far, with what it is of. Waits for what is under way.
    pub fn part(&mut self) -> Result<Part, Error> {
        let exposed = self.exposed()?;
        let ledger = self.ledger()?;
        let mut stats = Stats {
            film_hash: film_hash(self.size.0, self.size.1, &exposed.sums),
            ..self.stats()
        };
        if let (Some(noise), Some(ledger)) = (&mut stats.noise, &ledger) {
            noise.ledger_hash = ledger.hash();
        }
        let claim = Claim {
            identity: self.identity(),
            samples: self.samples_done(),
            stats,
        };
        Ok(Part {
            claim,
            exposed,
            ledger,
        })
    }

    /// What is on the film. Waits for what is under way.
    pub(crate) fn exposed(&mut self) -> Result<Exposed, Error> {
        self.land()?;
        let exposed = self.backend.exposed();
        let exposed = self.counting(exposed)?;
        self.stats.rejected_samples = exposed.rejected;
        Ok(exposed)
    }

    /// What the film is of.
    pub fn identity(&self) -> Identity {
        Identity {
            scene_hash: scene_hash(self.surfaces_hash, &self.view),
            size: self.size,
            seed: self.seed,
            max_bounces: self.max_bounces,
            clamp_indirect: self.stats.clamp_indirect,
            goal: self.goal,
            software: SOFTWARE.to_owned(),
        }
    }

    /// Waits for what is under way, which is time of the render.
    pub(crate) fn land(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        let landed = self.backend.land();
        if let Ok(true) = landed {
            self.elapsed += begun.elapsed();
        }
        self.counting(landed).map(drop)
    }

    /// Takes what was counted meanwhile into the statistics, whatever came of it.
    fn counting<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
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
        let has_failed = !counts.failures.is_empty();
        for failure in counts.failures {
            match failure {
                Failure::One(device, problem) => {
                    let name = &devices[device];
                    self.notes.push(format!(
                        "{name} has failed and is left out; the others render what it had: {problem}"
                    ));
                    Gpu::lose(&mut self.backend.gpus, name, &problem);
                }
                Failure::Last(fallen) => {
                    let named = |(device, problem): (usize, _)| (&*devices[device], problem);
                    let fallen: Vec<(&str, String)> = fallen.into_iter().map(named).collect();
                    let gpus = &mut self.backend.gpus;
                    self.to_blame = gpus.iter().position(|gpu| gpu.name == fallen[0].0);
                    Gpu::fall(gpus, &fallen);
                }
            }
        }
        if has_failed {
            self.mark_failed();
        }
        if let Some(done) = self.backend.fallen() {
            match &mut self.rounds {
                Some(rounds) => rounds.set_done(done),
                None => self.done = done,
            }
        }
        result
    }

    /// Tells of GPUs that could not be opened; they stay left out for the scenes that come after this one.
    fn tell_left_out(&mut self) {
        let gpus = self.backend.gpus.iter();
        for (gpu, problem) in gpus.filter_map(|gpu| Some((gpu, gpu.failure.as_ref()?))) {
            self.notes.push(format!(
                "{} cannot be used and is left out; the others render: {problem}",
                gpu.name
            ));
            self.settings.gpus.clone_from(&self.backend.gpus);
        }
    }

    /// Says in the statistics which GPUs are left out. Those that an earlier process left out may have been taken back.
    fn mark_failed(&mut self) {
        let is_begun_again = !self.settings.gpus.is_empty();
        for gpu in &self.backend.gpus {
            let is_left_out = gpu.failure.is_some();
            if is_left_out || is_begun_again {
                self.stats.set_failed(&gpu.name, is_left_out);
            }
        }
    }

    /// Whether the samples are those of previews: of all pixels alike, from a first one on.
    fn is_even(&self) -> bool {
        let begins = self.range.start.is_multiple_of(self.pixel_count().into());
        begins && self.rounds.is_none()
    }

    fn pixel_count(&self) -> u32 {
        self.size.0 * self.size.1
    }
}

/// All devices in one line, those of one name together: `2 × NVIDIA H200 (cuda:0, cuda:1)`.
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
