//! A wave in the memory of a GPU.

use std::{ops::Range, sync::Arc, time::Duration};

use compaction::{
    cuda::{
        CallRegister, Compiler, Graph, Launch, Module, Source, download, open, overwrite, upload,
        zeroed,
    },
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys::CUdevice_attribute},
    select::Strategy,
};

use super::{
    Report,
    bounce_estimate::BounceEstimate,
    clock, counts,
    in_flight::{Shape, WavesInFlight},
    rounds::CudaRounds,
    sort_tuner::{SortHits, SortTuner, Timed},
    timeout::WaveTimeout,
    wave_size::{Pace, WaveSize},
};
use crate::{
    Error,
    camera::Camera,
    device::{
        device_film::CudaFilm,
        device_scene::CudaScene,
        kernel_variant::KernelVariant,
        kernels::{BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR, SHIPPED},
        path_buffers::CudaPaths,
        render_scene::RenderScene,
    },
    film::FilmSums,
    path::Span,
    stages::{Compactor, Denoiser, HitSorter, Kernels, Megakernel, Shown},
};

/// Maximum time for the upload of a scene of any size.
const MAX_UPLOAD_TIME: Duration = Duration::from_secs(600);
/// Minimum number of paths of a wave whose size adapts.
const MIN_PATHS: u32 = 1 << 18;

/// A wave in the memory of a GPU: the buffers of the scene, the paths and the film, the kernels, and the work in flight.
pub struct CudaWave {
    /// The stream on which everything is enqueued.
    pub stream: Arc<CudaStream>,
    /// The kernels of the stages.
    pub kernels: Kernels,
    /// The kernel of `megakernel`; `None` before [`CudaWave::load_megakernel`].
    pub megakernel: Option<Megakernel>,
    /// The buffers of the scene.
    pub scene: CudaScene,
    /// The camera.
    pub camera: CudaCamera,
    /// Maximum number of times that a path scatters.
    pub max_bounces: u32,
    /// The film, with the number of samples of each pixel during adaptive sampling.
    pub film: CudaFilm,
    /// The state of adaptive sampling, while it is on.
    pub rounds: Option<CudaRounds>,
    /// The pixels and samples of the wave that began last.
    pub span: Span,
    /// The buffers of the paths.
    pub paths: CudaPaths,
    /// Numbers of rays, see [`counts`] for the indices.
    pub counts: CudaSlice<u32>,
    /// Start times of the stages, see `clock` for the indices.
    pub stamps: CudaSlice<u64>,
    /// The kernels and buffers that compact the queue.
    pub compactor: Compactor,
    /// The kernels and buffers that sort hits; `None` while no wave sorts its hits.
    pub hit_sorter: Option<HitSorter>,
    /// Whether the wave that began last sorts its hits by kind of material.
    pub sorts_hits: bool,
    /// Buffers of the image that was resolved last.
    pub shown: Option<Shown>,
    /// The kernels and buffers of previews; `None` before the first one.
    pub denoiser: Option<Denoiser>,
    pub(super) loader: KernelLoader,
    schedule: Schedule,
    in_flight: WavesInFlight,
    /// Whether some work did not complete in time.
    hangs: bool,
}

/// The camera of a wave, on both sides.
pub struct CudaCamera {
    /// The camera in the memory of the CPU.
    pub host: Camera,
    /// The camera in the memory of the GPU, for kernels.
    pub device: CudaSlice<Camera>,
}

/// Compiles and loads kernels for one GPU.
pub(super) struct KernelLoader {
    pub(super) compiler: Compiler,
    pub(super) context: Arc<CudaContext>,
    /// The features of the scene, which select kernel variants.
    pub(super) variant: KernelVariant,
}

impl KernelLoader {
    pub(super) fn load(&self, source: &Source) -> compaction::Result<Module> {
        self.compiler.load(&self.context, source)
    }
}

/// Decides how large waves are, how many bounces get large grids, and whether hits are sorted.
struct Schedule {
    multiprocessors: u32,
    /// Number of paths that the buffers hold.
    capacity: u32,
    /// The adaptive size of waves; `None` if all waves fill the buffers.
    size: Option<WaveSize>,
    pace: Pace,
    bounce_estimate: BounceEstimate,
    /// Number of bounces of the wave that began last in which many paths are expected, counted from bounce 0.
    busy_bounces: u32,
    sort_tuner: SortTuner,
    timeout: WaveTimeout,
}

impl CudaWave {
    /// Device memory per path, in bytes.
    pub const BYTES_PER_PATH: usize = CudaPaths::BYTES_PER_PATH;

    /// Opens GPU number `ordinal`, loads the kernels, uploads the scene, and allocates buffers for waves of up to
    /// `capacity` paths.
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

    /// Does the same as [`CudaWave::new`], and registers calls of the driver that may never return with `watch`.
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
        let paths = capacity as usize;
        let (kernels, compactor) = rayon::join(
            || Kernels::new(&compiler, &context, variant),
            || Compactor::new(&compiler, &context, &stream, strategy, paths),
        );
        let (kernels, compactor) = (kernels?, compactor?);
        let upload = || {
            Ok(CudaWave {
                scene: CudaScene::new(&stream, world)?,
                camera: CudaCamera {
                    host: camera,
                    device: upload(&stream, &[camera])?,
                },
                max_bounces,
                film: CudaFilm::new(&stream, camera.pixel_count())?,
                rounds: None,
                span: Span::default(),
                paths: CudaPaths::new(&stream, paths, variant.instanced)?,
                counts: zeroed(&stream, counts::len(max_bounces))?,
                stamps: zeroed(&stream, clock::len(max_bounces))?,
                in_flight: WavesInFlight::new(&context, max_bounces)?,
                stream,
                kernels,
                megakernel: None,
                compactor,
                hit_sorter: None,
                sorts_hits: false,
                shown: None,
                denoiser: None,
                schedule: Schedule {
                    multiprocessors: multiprocessors.unsigned_abs(),
                    capacity,
                    size: None,
                    pace: Pace::default(),
                    bounce_estimate: BounceEstimate::of_all(max_bounces),
                    busy_bounces: max_bounces + 1,
                    sort_tuner: SortTuner::new(SortHits::Off, world.kind_count(), strategy),
                    timeout: WaveTimeout::new(max_bounces),
                },
                loader: KernelLoader {
                    compiler,
                    context,
                    variant,
                },
                hangs: false,
            })
        };
        watch.over("put the scene on the GPU", MAX_UPLOAD_TIME, upload)
    }

    /// Adapts the size of waves, up to `max` paths, to the time that they take; see [`Pace`].
    ///
    /// Larger waves spend less of their time on late bounces, whose few rays leave most of the GPU idle.
    pub fn with_adaptive_size(mut self, max: u32) -> CudaWave {
        let first = self.schedule.capacity;
        self.schedule.size = Some(WaveSize {
            first,
            min: MIN_PATHS,
            max,
            next: first,
        });
        self
    }

    /// Sets the minimum time that each wave gets before the GPU counts as hung.
    pub fn with_min_timeout(mut self, min: Duration) -> CudaWave {
        self.schedule.timeout.set_min(min);
        self
    }

    /// Returns the timeout for all waves in flight together.
    pub(crate) fn timeout(&self) -> Duration {
        self.schedule.timeout.of(self.in_flight.paths())
    }

    /// Returns whether some work did not complete in time. If so, the wave must be leaked, because dropping it would wait
    /// for that work.
    pub(crate) fn hangs(&self) -> bool {
        self.hangs
    }

    /// Returns `result`, and records whether it is a timeout; see [`CudaWave::hangs`].
    pub(crate) fn noticing<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.hangs |= matches!(&result, Err(error) if error.is_hang());
        result
    }

    /// Returns the number of paths that the next wave should have.
    pub(super) fn next_paths(&self) -> u32 {
        let size = self.schedule.size.as_ref();
        size.map_or(self.schedule.capacity, |size| size.next)
    }

    /// Sets the pace of the waves that begin after this.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        let begins_watching = self.schedule.pace == Pace::Steady && pace != Pace::Steady;
        self.schedule.pace = pace;
        if let Some(size) = self.schedule.size.as_mut().filter(|_| begins_watching) {
            size.begin_film(self.camera.host.pixel_count(), pace);
        }
    }

    /// Adapts the size of the next waves to the time that a wave took, and enlarges the buffers if needed.
    fn adapt_size(&mut self, paths: u32, report: &Report) {
        let Schedule {
            capacity,
            pace,
            size: Some(size),
            ..
        } = &mut self.schedule
        else {
            return;
        };
        size.learn(paths, report.milliseconds(), *pace);
        let (next, capacity) = (size.next, *capacity);
        if next > capacity && self.grow(next as usize).is_err() {
            // Another program uses the memory.
            if let Some(size) = &mut self.schedule.size {
                (size.next, size.max) = (capacity, capacity);
            }
        }
    }

    /// Replaces the buffers by larger ones for `paths` paths. The old ones are freed after the waves in flight. After an
    /// error, some buffers may be larger than needed.
    fn grow(&mut self, paths: usize) -> Result<(), Error> {
        self.forget_graphs();
        let stream = &self.stream;
        self.compactor.grow(stream, paths)?;
        self.paths
            .grow(stream, paths, self.loader.variant.instanced)?;
        self.schedule.capacity = paths as u32;
        if self.hit_sorter.is_some() {
            self.hit_sorter = Some(self.new_hit_sorter()?);
        }
        Ok(())
    }

    /// Begins a wave of the paths of `span`. If as many waves are in flight as possible, the report of the oldest is lost.
    pub fn begin(&mut self, span: Span) -> Result<(), Error> {
        self.span = span;
        overwrite(&self.stream, &[span], &mut self.paths.span)?;
        self.sorts_hits = self.begin_sorting()?;
        // With `off` the queue of every bounce has an entry for each path.
        let busy_bounces = if self.compactor.strategy() == Strategy::Off {
            self.max_bounces + 1
        } else {
            self.schedule.bounce_estimate.bounces()
        };
        self.schedule.busy_bounces = busy_bounces;
        self.in_flight.begin(Shape {
            paths: span.path_count,
            sorts_hits: self.sorts_hits,
            busy_bounces,
        });
        Ok(())
    }

    /// Returns whether the wave that begins sorts its hits, and allocates what it needs for that.
    fn begin_sorting(&mut self) -> Result<bool, Error> {
        let sorts = self.schedule.sort_tuner.begin();
        if sorts && self.hit_sorter.is_none() {
            match self.new_hit_sorter() {
                Ok(hit_sorter) => self.hit_sorter = Some(hit_sorter),
                Err(error) if self.schedule.sort_tuner.choice() == SortHits::On => {
                    return Err(error);
                }
                Err(_) => {
                    // Another program uses the memory.
                    self.schedule.sort_tuner.give_up();
                    return Ok(false);
                }
            }
        }
        if !self.schedule.sort_tuner.may_sort() && self.hit_sorter.take().is_some() {
            self.in_flight.drop_sorting_graphs();
        }
        Ok(sorts)
    }

    /// Returns whether the wave that began last was launched as a graph.
    pub fn is_graph(&self) -> bool {
        self.in_flight.has_graph()
    }

    /// Returns whether the wave that began last can be launched as a graph.
    pub(super) fn repeats(&self) -> bool {
        self.in_flight.repeats()
    }

    /// Launches the graph of the wave that began last. Returns `false` if none was recorded.
    pub(super) fn launch_graph(&mut self) -> Result<bool, Error> {
        let Some(graph) = self.in_flight.graph() else {
            return Ok(false);
        };
        graph.launch()?;
        Ok(true)
    }

    /// Stores the graph recorded from the wave that began last. `None` means that recording failed, and ends it.
    pub(super) fn keep_graph(&mut self, graph: Option<Graph>) {
        self.in_flight.keep_graph(graph);
    }

    /// Drops all graphs, because kernels or buffers change.
    pub(super) fn forget_graphs(&mut self) {
        self.in_flight.drop_graphs();
    }

    /// Enqueues copies of the counts and times of the wave that began last to the host.
    pub fn post_report(&mut self) -> Result<(), Error> {
        let (counts, stamps) = (self.counts.as_view(), self.stamps.as_view());
        self.in_flight.post(&self.stream, counts, stamps)
    }

    /// Returns whether [`CudaWave::land`] should be called before the next wave begins.
    pub fn is_full(&self) -> bool {
        self.in_flight.count() >= self.schedule.pace.in_flight()
    }

    /// Waits for the oldest wave in flight and returns its report, or `None` if no wave is in flight.
    ///
    /// # Errors
    /// If the wave fails, or does not end within its timeout. Then it stays in flight.
    pub fn land(&mut self) -> Result<Option<Report>, Error> {
        let timeout = |paths| self.schedule.timeout.of(paths);
        let waited = self.in_flight.wait(timeout, self.max_bounces);
        let Some((counts, times)) = self.noticing(waited)? else {
            return Ok(None);
        };
        let Some((shape, repeats)) = self.in_flight.remove_oldest() else {
            return Ok(None);
        };
        let Shape {
            paths,
            sorts_hits,
            busy_bounces,
        } = shape;
        let report = Report {
            lanes: self.launched(&counts, busy_bounces),
            counts,
            times,
        };
        let milliseconds = report.milliseconds();
        let schedule = &mut self.schedule;
        schedule.timeout.learn(paths, milliseconds);
        schedule
            .bounce_estimate
            .learn(paths, &report.counts, schedule.multiprocessors);
        schedule.sort_tuner.learn(Timed {
            paths,
            sorts_hits,
            repeats,
            milliseconds,
        });
        self.adapt_size(paths, &report);
        Ok(Some(report))
    }

    /// Waits for all waves in flight, and returns the sums of the film.
    pub fn exposed(&self) -> Result<FilmSums, Error> {
        let sums = download(&self.stream, &self.film.sums)?;
        let rejected = download(&self.stream, &self.film.rejected)?.iter().sum();
        Ok(FilmSums { sums, rejected })
    }

    /// Returns a grid over the queue, whose length only the GPU knows. The grid is small if few paths are expected.
    pub fn over_queue(&self, bounce: u32) -> Launch {
        let blocks = self.blocks_over(self.span.path_count, self.is_busy(bounce));
        Launch::blocks(blocks, BLOCK_THREADS)
    }

    fn blocks_over(&self, paths: u32, busy: bool) -> u32 {
        let each = if busy { BLOCKS_PER_MULTIPROCESSOR } else { 1 };
        paths
            .div_ceil(BLOCK_THREADS)
            .min(each * self.schedule.multiprocessors)
    }

    /// Returns whether many paths are expected in a bounce of the wave that began last.
    pub fn is_busy(&self, bounce: u32) -> bool {
        bounce < self.schedule.busy_bounces
    }

    /// Returns the number of lanes that processed the rays of each bounce: the grid's threads, as often as they stride.
    fn launched(&self, counts: &[u32], busy_bounces: u32) -> Vec<u64> {
        let paths = counts[counts::rays(0)];
        let entries = |bounce: u32| match self.compactor.strategy() {
            Strategy::Off => paths,
            _ => counts[counts::rays(bounce)],
        };
        (0..=self.max_bounces)
            .map(|bounce| {
                let blocks = self.blocks_over(paths, bounce < busy_bounces);
                let grid = u64::from(blocks * BLOCK_THREADS);
                u64::from(entries(bounce)).div_ceil(grid).max(1) * grid
            })
            .collect()
    }

    /// Returns the index in `counts` of the number of queue entries. `count` is the index of the number of live paths. With
    /// the strategy `off` the queue never gets shorter.
    pub fn queue_length(&self, count: usize) -> Range<usize> {
        let place = if self.compactor.strategy() == Strategy::Off {
            counts::rays(0)
        } else {
            count
        };
        place..place + 1
    }

    /// Returns whether the scene has instances or textures.
    pub(crate) fn is_instanced(&self) -> bool {
        self.loader.variant.instanced
    }

    /// Sets whether waves that begin after this sort their hits by kind of material.
    pub fn set_sort_hits(&mut self, sort_hits: SortHits) -> Result<(), Error> {
        self.schedule.sort_tuner.choose(sort_hits);
        if sort_hits == SortHits::On && self.hit_sorter.is_none() {
            self.hit_sorter = Some(self.new_hit_sorter()?);
        }
        Ok(())
    }

    /// Returns the tuner that decides whether hits are sorted.
    pub fn sort_tuner(&self) -> &SortTuner {
        &self.schedule.sort_tuner
    }

    fn new_hit_sorter(&self) -> Result<HitSorter, Error> {
        let KernelLoader {
            compiler, context, ..
        } = &self.loader;
        let capacity = self.schedule.capacity as usize;
        HitSorter::new(compiler, context, &self.stream, capacity)
    }

    /// Sets the compaction strategy of waves that begin after this.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        let KernelLoader {
            compiler, context, ..
        } = &self.loader;
        let capacity = self.compactor.capacity();
        self.compactor = Compactor::new(compiler, context, &self.stream, strategy, capacity)?;
        self.schedule.sort_tuner.set_strategy(strategy);
        self.forget_graphs();
        Ok(())
    }

    /// Loads the kernel of `megakernel`, unless it is loaded.
    pub fn load_megakernel(&mut self) -> Result<(), Error> {
        if self.megakernel.is_none() {
            let KernelLoader {
                compiler,
                context,
                variant,
            } = &self.loader;
            self.megakernel = Some(Megakernel::new(compiler, context, *variant)?);
        }
        Ok(())
    }

    /// Loads the kernels of previews.
    pub(crate) fn new_denoiser(&self) -> Result<Denoiser, Error> {
        Denoiser::new(&self.loader.compiler, &self.loader.context)
    }

    /// Forgets the film of the last preview.
    fn forget_earlier(&mut self) {
        if let Some(denoiser) = &mut self.denoiser {
            denoiser.forget();
        }
    }

    /// Sets the camera, and clears the film, which gets the camera's size.
    pub fn set_camera(&mut self, camera: Camera) -> Result<(), Error> {
        self.forget_earlier();
        let channels = 3 * camera.pixel_count() as usize;
        if self.film.sums.len() != channels {
            self.film.sums = zeroed(&self.stream, channels)?;
            self.forget_graphs();
        }
        let schedule = &mut self.schedule;
        if let Some(size) = &mut schedule.size {
            size.begin_film(camera.pixel_count(), schedule.pace);
        }
        if camera != self.camera.host {
            schedule.sort_tuner.reset();
        }
        self.camera.host = camera;
        overwrite(&self.stream, &[camera], &mut self.camera.device)?;
        self.clear_film()
    }

    /// Replaces the film by a copy of these sums.
    pub fn set_film(&mut self, exposed: &FilmSums) -> Result<(), Error> {
        self.forget_earlier();
        self.film.sums = upload(&self.stream, &exposed.sums)?;
        self.film.rejected = upload(&self.stream, &[exposed.rejected])?;
        self.forget_graphs();
        Ok(())
    }

    /// Clears the film.
    pub fn clear_film(&mut self) -> Result<(), Error> {
        let black = compaction::Error::driver("clear the film");
        self.stream
            .memset_zeros(&mut self.film.sums)
            .and_then(|()| self.stream.memset_zeros(&mut self.film.rejected))
            .map_err(black)?;
        Ok(())
    }
}
