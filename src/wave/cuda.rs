//! A wave in a GPU's memory.

use std::{collections::VecDeque, ops::Range, sync::Arc, time::Duration};

use compaction::{
    cuda::{CallRegister, Compiler, Graph, Launch, download, open, overwrite, upload, zeroed},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys::CUdevice_attribute},
    select::{Select, Strategy, Workspace},
};

use super::{
    Report,
    bounce_estimate::Reach,
    clock, counts,
    in_flight::{InFlight, Shape},
    rounds::CudaRounds,
    sort_tuner::{SortHits, SortTuner, Timed},
    timeout::Patience,
    wave_size::{Growth, MOST_IN_FLIGHT, Pace},
};
use crate::{
    Error,
    camera::Camera,
    device::{
        device_film::CudaFilm,
        device_scene::CudaScene,
        kernels::{BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR, SHIPPED},
        path_buffers::CudaPaths,
        render_scene::RenderScene,
    },
    film::FilmSums,
    path::Span,
    stages::{Denoiser, HitSorter, KernelVariant, Kernels, Megakernel, Shown},
};

/// What the scene may take to get to a GPU, however large it is.
const UPLOAD: Duration = Duration::from_secs(600);
/// Paths that it shrinks to at the least.
const LEAST_PATHS: u32 = 1 << 18;

/// A wave in a GPU's memory: the buffers of the scene, the paths and the film, the kernels, and the work in flight.
pub struct CudaWave {
    /// What everything is enqueued on.
    pub stream: Arc<CudaStream>,
    /// The stages' kernels.
    pub kernels: Kernels,
    /// Once it was asked for: [`CudaWave::load_megakernel`].
    pub megakernel: Option<Megakernel>,
    /// The scene's buffers.
    pub scene: CudaScene,
    /// The scene's camera.
    pub camera: Camera,
    /// The same, where the kernels read it.
    pub device_camera: CudaSlice<Camera>,
    /// Times that a path may scatter.
    pub max_bounces: u32,
    /// The film, and how many samples each pixel has if pixels get samples until they converge.
    pub film: CudaFilm,
    /// The state of adaptive sampling, while it is on.
    pub rounds: Option<CudaRounds>,
    /// The pixels and samples of the wave that began last.
    pub span: Span,
    /// The paths' buffers.
    pub paths: CudaPaths,
    /// See [`counts`].
    pub counts: CudaSlice<u32>,
    /// When its stages began, in the device's nanoseconds.
    pub stamps: CudaSlice<u64>,
    /// The sieve.
    pub select: Select,
    /// The sieve's own memory.
    pub workspace: Workspace,
    /// How the queue is sieved.
    pub strategy: Strategy,
    /// By what hits are ordered by the kind of material, where some waves do.
    pub hit_sorter: Option<HitSorter>,
    /// Whether the wave that began last does.
    pub orders: bool,
    /// The last picture's memory.
    pub shown: Option<Shown>,
    /// Once previews were asked for.
    pub denoiser: Option<Denoiser>,
    /// The features that its kernels support.
    pub variant: KernelVariant,
    multiprocessors: u32,
    sort_tuner: SortTuner,
    reach: Reach,
    /// Bounces of the wave that began last that many paths may come to, the first ones.
    busy_bounces: u32,
    /// Whether waves become graphs.
    records: bool,
    /// Paths that there are buffers for.
    capacity: u32,
    /// See [`CudaWave::growing`].
    growth: Option<Growth>,
    pace: Pace,
    timeout: Patience,
    hangs: bool,
    pub(super) context: Arc<CudaContext>,
    pub(super) compiler: Compiler,
    enqueued: VecDeque<InFlight>,
    landed: Vec<InFlight>,
}

impl CudaWave {
    /// Device memory per path, in bytes.
    pub const BYTES_PER_PATH: usize = CudaPaths::BYTES_PER_PATH;

    /// Puts the scene and buffers for waves of up to `capacity` paths onto the GPU of this number.
    pub fn new(
        ordinal: usize,
        world: &RenderScene,
        camera: Camera,
        max_bounces: u32,
        capacity: u32,
        strategy: Strategy,
    ) -> Result<CudaWave, Error> {
        let watch = CallRegister::default();
        let camera = (camera, max_bounces);
        CudaWave::watched(ordinal, world, camera, capacity, strategy, &watch)
    }

    /// The same; `watch` knows of each call of the driver that may never return.
    pub(crate) fn watched(
        ordinal: usize,
        world: &RenderScene,
        (camera, max_bounces): (Camera, u32),
        capacity: u32,
        strategy: Strategy,
        watch: &CallRegister,
    ) -> Result<CudaWave, Error> {
        let context = watch.over("open the GPU", Duration::ZERO, || open(ordinal))?;
        let multiprocessors = context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(compaction::Error::driver("count the multiprocessors"))?;
        let stream = context
            .new_stream()
            .map_err(compaction::Error::driver("create a stream"))?;
        let compiler = Compiler::new().shipped(SHIPPED).watched(watch);
        let variant = KernelVariant::of(world);
        let (kernels, select) = rayon::join(
            || Kernels::new(&compiler, &context, variant),
            || Select::new(&compiler, &context, strategy),
        );
        let (kernels, select) = (kernels?, select?);
        let paths = capacity as usize;
        let put = || {
            Ok(CudaWave {
                scene: CudaScene::new(&stream, world)?,
                camera,
                device_camera: upload(&stream, &[camera])?,
                max_bounces,
                film: CudaFilm::new(&stream, camera.pixel_count())?,
                rounds: None,
                span: Span::default(),
                paths: CudaPaths::new(&stream, paths, variant.placed)?,
                counts: zeroed(&stream, counts::len(max_bounces))?,
                stamps: zeroed(&stream, clock::len(max_bounces))?,
                workspace: Workspace::for_strategy(&stream, strategy, capacity as usize)?,
                landed: (0..MOST_IN_FLIGHT)
                    .map(|_| InFlight::new(&context, max_bounces))
                    .collect::<Result<_, Error>>()?,
                enqueued: VecDeque::new(),
                stream,
                kernels,
                megakernel: None,
                variant,
                select,
                strategy,
                hit_sorter: None,
                orders: false,
                shown: None,
                denoiser: None,
                multiprocessors: multiprocessors.unsigned_abs(),
                sort_tuner: SortTuner::new(SortHits::Off, world.kind_count(), strategy),
                reach: Reach::of_all(max_bounces),
                busy_bounces: max_bounces + 1,
                records: true,
                capacity,
                growth: None,
                pace: Pace::default(),
                timeout: Patience::new(max_bounces),
                hangs: false,
                context,
                compiler,
            })
        };
        watch.over("put the scene on the GPU", UPLOAD, put)
    }

    /// Lets waves grow up to so many paths, or shrink, to some 32 ms each, unless somebody looks. The larger they are, the less of their time goes
    /// to late bounces, whose few rays leave most of the device idle.
    pub fn growing(mut self, most: u32) -> CudaWave {
        let first = self.capacity;
        self.growth = Some(Growth {
            first,
            least: LEAST_PATHS,
            most,
            next: first,
        });
        self
    }

    /// Gives each wave so much time at the least, before the GPU counts as hung.
    pub fn patient(mut self, least: Duration) -> CudaWave {
        self.timeout.set_least(least);
        self
    }

    /// What all that is under way may take.
    pub(crate) fn timeout(&self) -> Duration {
        let paths = self.enqueued.iter().map(|flight| flight.shape.paths);
        self.timeout.of(paths.map(f64::from).sum())
    }

    /// Whether something that it was given did not come in time. Then it must not be dropped, which would wait for it.
    pub(crate) fn hangs(&self) -> bool {
        self.hangs
    }

    /// Takes note of what came of a wait.
    pub(crate) fn noticing<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.hangs |= matches!(&result, Err(error) if error.is_hang());
        result
    }

    /// Paths that the next wave should have.
    pub(super) fn next_paths(&self) -> u32 {
        let held = self.capacity;
        self.growth.as_ref().map_or(held, |growth| growth.next)
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        let somebody_comes = self.pace == Pace::Steady && pace != Pace::Steady;
        self.pace = pace;
        if let Some(growth) = self.growth.as_mut().filter(|_| somebody_comes) {
            growth.begin_film(self.camera.pixel_count(), pace);
        }
    }

    /// Sets the size of the next waves by the time that this one took.
    fn settle(&mut self, paths: u32, report: &Report) {
        let (held, pace) = (self.capacity, self.pace);
        let Some(growth) = self.growth.as_mut() else {
            return;
        };
        growth.settle(paths, report.milliseconds(), pace);
        let next = growth.next;
        if next > held && self.make_room(next as usize).is_err() {
            // Another program has the memory.
            if let Some(growth) = &mut self.growth {
                (growth.next, growth.most) = (held, held);
            }
        }
    }

    /// Buffers for so many paths, in the place of the old ones once the waves under way are done with those. On an error
    /// some may be larger than they have to be.
    fn make_room(&mut self, paths: usize) -> Result<(), Error> {
        self.forget_graphs();
        let stream = &self.stream;
        self.workspace = Workspace::for_strategy(stream, self.strategy, paths)?;
        self.paths.grow(stream, paths, self.variant.placed)?;
        self.capacity = paths as u32;
        if self.hit_sorter.is_some() {
            self.hit_sorter = Some(self.new_hit_sorter()?);
        }
        Ok(())
    }

    /// Takes these paths on.
    pub fn begin(&mut self, span: Span) -> Result<(), Error> {
        self.span = span;
        overwrite(&self.stream, &[span], &mut self.paths.span)?;
        self.orders = self.begin_order()?;
        // By `off` every bounce has the lanes of all paths.
        self.busy_bounces = if self.strategy == Strategy::Off {
            self.max_bounces + 1
        } else {
            self.reach.bounces()
        };
        let shape = Shape {
            paths: span.path_count,
            orders: self.orders,
            busy_bounces: self.busy_bounces,
        };
        let flight = self.landed.pop().or_else(|| self.enqueued.pop_front());
        self.enqueued.extend(flight.map(|mut flight| {
            flight.begin(shape);
            flight
        }));
        Ok(())
    }

    /// Whether the wave that begins orders its hits; if so, there is what it needs for it.
    fn begin_order(&mut self) -> Result<bool, Error> {
        let orders = self.sort_tuner.begin();
        if orders && self.hit_sorter.is_none() {
            match self.new_hit_sorter() {
                Ok(hit_sorter) => self.hit_sorter = Some(hit_sorter),
                Err(error) if self.sort_tuner.choice() == SortHits::On => return Err(error),
                Err(_) => {
                    // Another program has the memory.
                    self.sort_tuner.give_up();
                    return Ok(false);
                }
            }
        }
        if !self.sort_tuner.may_order() {
            self.drop_partitioner();
        }
        Ok(orders)
    }

    /// Whether the wave that began last was launched as a graph.
    pub fn is_graph(&self) -> bool {
        self.enqueued.back().is_some_and(InFlight::is_graph)
    }

    /// Whether the wave is of the size of the one before.
    pub(super) fn repeats(&self) -> bool {
        let flight = self.enqueued.back();
        self.records && flight.is_some_and(|flight| flight.repeats)
    }

    /// Launches all stages by the graph that was recorded of them; `false` if there is none.
    pub(super) fn launch_graph(&mut self) -> Result<bool, Error> {
        let flight = self.enqueued.back_mut();
        let Some(graph) = flight.and_then(InFlight::graph) else {
            return Ok(false);
        };
        graph.launch()?;
        Ok(true)
    }

    /// Keeps what was recorded of the stages. After a wave that could not be, none is recorded any more.
    pub(super) fn keep_graph(&mut self, graph: Option<Graph>) {
        self.records = graph.is_some();
        if let Some(flight) = self.enqueued.back_mut() {
            flight.keep(graph);
        }
    }

    /// Forgets what was recorded: kernels or buffers are others now.
    pub(super) fn forget_graphs(&mut self) {
        for flight in self.landed.iter_mut().chain(&mut self.enqueued) {
            flight.forget();
        }
    }

    /// Sends the counts and stamps of the wave that was enqueued last to the host, behind all its work.
    pub fn post_report(&mut self) -> Result<(), Error> {
        if let Some(flight) = self.enqueued.back_mut() {
            flight.counts.post(&self.stream, self.counts.as_view())?;
            flight.stamps.post(&self.stream, self.stamps.as_view())?;
        }
        Ok(())
    }

    /// Whether the host should land a wave before it enqueues another.
    pub fn is_full(&self) -> bool {
        self.enqueued.len() >= self.pace.in_flight()
    }

    /// Waits for the oldest wave that is enqueued; `None` if none is.
    pub fn land(&mut self) -> Result<Option<Report>, Error> {
        let Some(flight) = self.enqueued.front() else {
            return Ok(None);
        };
        let paths = f64::from(flight.shape.paths);
        let came = flight.arrived(self.timeout.of(paths), self.max_bounces);
        // One that does not come stays where it is.
        let (counts, times) = self.noticing(came)?;
        let Some(flight) = self.enqueued.pop_front() else {
            return Ok(None);
        };
        let report = Report {
            lanes: self.launched(&counts, flight.shape.busy_bounces),
            counts,
            times,
        };
        let (Shape { paths, orders, .. }, repeats) = (flight.shape, flight.repeats);
        self.landed.push(flight);
        self.timeout.learn(paths, report.milliseconds());
        self.reach
            .learn(paths, &report.counts, self.multiprocessors);
        self.sort_tuner.learn(Timed {
            paths,
            orders,
            repeats,
            milliseconds: report.milliseconds(),
        });
        self.settle(paths, &report);
        Ok(Some(report))
    }

    /// The film. Waits for all waves under way.
    pub fn exposed(&self) -> Result<FilmSums, Error> {
        let sums = download(&self.stream, &self.film.sums)?;
        let rejected = download(&self.stream, &self.film.rejected)?.iter().sum();
        Ok(FilmSums { sums, rejected })
    }

    /// A grid over the lanes of the queue, whose length the device alone knows: a small one where none are expected.
    pub fn over_lanes(&self, bounce: u32) -> Launch {
        let blocks = self.blocks_over(self.span.path_count, self.is_busy(bounce));
        Launch::blocks(blocks, BLOCK_THREADS)
    }

    fn blocks_over(&self, paths: u32, busy: bool) -> u32 {
        let each = if busy { BLOCKS_PER_MULTIPROCESSOR } else { 1 };
        paths
            .div_ceil(BLOCK_THREADS)
            .min(each * self.multiprocessors)
    }

    /// Whether paths are expected in a bounce.
    pub fn is_busy(&self, bounce: u32) -> bool {
        bounce < self.busy_bounces
    }

    /// Threads that went over the rays of each bounce of a wave that counted this, and of which so many bounces were
    /// expected to be busy: grids of one size, as often as it takes.
    fn launched(&self, counts: &[u32], busy_bounces: u32) -> Vec<u64> {
        let paths = counts[counts::rays(0)];
        let lanes = |bounce: u32| match self.strategy {
            Strategy::Off => paths,
            _ => counts[counts::rays(bounce)],
        };
        (0..=self.max_bounces)
            .map(|bounce| {
                let blocks = self.blocks_over(paths, bounce < busy_bounces);
                let grid = u64::from(blocks * BLOCK_THREADS);
                u64::from(lanes(bounce)).div_ceil(grid).max(1) * grid
            })
            .collect()
    }

    /// Where the counts hold the lanes of the queue, when `count` is the place of its number of live paths: by `off` the
    /// queue never gets shorter.
    pub fn lanes(&self, count: usize) -> Range<usize> {
        let place = if self.strategy == Strategy::Off {
            counts::rays(0)
        } else {
            count
        };
        place..place + 1
    }

    /// Orders hits by the kind of material from the next wave on, or no longer, or finds out whether to.
    pub fn set_sort_hits(&mut self, sort_hits: SortHits) -> Result<(), Error> {
        self.sort_tuner.choose(sort_hits);
        if sort_hits == SortHits::On && self.hit_sorter.is_none() {
            self.hit_sorter = Some(self.new_hit_sorter()?);
        }
        Ok(())
    }

    /// What became of it.
    pub fn sort_tuner(&self) -> &SortTuner {
        &self.sort_tuner
    }

    /// Gives its memory back, which graphs of waves that order hits may name.
    fn drop_partitioner(&mut self) {
        if self.hit_sorter.take().is_some() {
            for flight in self.landed.iter_mut().chain(&mut self.enqueued) {
                flight.forget_ordered();
            }
        }
    }

    fn new_hit_sorter(&self) -> Result<HitSorter, Error> {
        let capacity = self.capacity as usize;
        HitSorter::new(&self.compiler, &self.context, &self.stream, capacity)
    }

    /// Sieves by another strategy from the next wave on.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        let select = Select::new(&self.compiler, &self.context, strategy)?;
        let capacity = self.workspace.capacity();
        self.workspace = Workspace::for_strategy(&self.stream, strategy, capacity)?;
        self.select = select;
        self.strategy = strategy;
        self.sort_tuner.set_strategy(strategy);
        self.forget_graphs();
        Ok(())
    }

    /// Loads the kernel that traces whole paths, unless it is there.
    pub fn load_megakernel(&mut self) -> Result<(), Error> {
        if self.megakernel.is_none() {
            let kernel = Megakernel::new(&self.compiler, &self.context, self.variant)?;
            self.megakernel = Some(kernel);
        }
        Ok(())
    }

    /// What previews are made by, on this GPU.
    pub(crate) fn new_denoiser(&self) -> Result<Denoiser, Error> {
        Denoiser::new(&self.compiler, &self.context)
    }

    /// Forgets what the film held before.
    fn forget_earlier(&mut self) {
        if let Some(denoiser) = &mut self.denoiser {
            denoiser.forget();
        }
    }

    /// Looks through another camera, at a black film.
    pub fn set_camera(&mut self, camera: Camera) -> Result<(), Error> {
        self.forget_earlier();
        let channels = 3 * camera.pixel_count() as usize;
        if self.film.sums.len() != channels {
            self.film.sums = zeroed(&self.stream, channels)?;
            self.forget_graphs();
        }
        if let Some(growth) = &mut self.growth {
            growth.begin_film(camera.pixel_count(), self.pace);
        }
        if camera != self.camera {
            self.sort_tuner.look_anew();
        }
        self.camera = camera;
        overwrite(&self.stream, &[camera], &mut self.device_camera)?;
        self.clear_film()
    }

    /// Puts this onto the film, in place of what was there.
    pub fn set_film(&mut self, exposed: &FilmSums) -> Result<(), Error> {
        self.forget_earlier();
        self.film.sums = upload(&self.stream, &exposed.sums)?;
        self.film.rejected = upload(&self.stream, &[exposed.rejected])?;
        self.forget_graphs();
        Ok(())
    }

    /// Makes the film black.
    pub fn clear_film(&mut self) -> Result<(), Error> {
        let black = compaction::Error::driver("clear the film");
        self.stream
            .memset_zeros(&mut self.film.sums)
            .and_then(|()| self.stream.memset_zeros(&mut self.film.rejected))
            .map_err(black)?;
        Ok(())
    }
}
