//! A wave in the memory of a GPU. `view` sets camera, lights and film.

mod view;

use std::{ops::Range, sync::Arc, time::Duration};

use compaction::{
    cuda::{
        CallRegister, Compiler, Launch, Module, Source, download, open_for_calls_of_this_crate,
        overwrite, upload, zeroed,
    },
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, sys::CUdevice_attribute},
    select::Strategy,
};

use super::{
    Report,
    adaptive_state::CudaAdaptiveState,
    bounce_estimate::BounceEstimate,
    clock, counts,
    in_flight::{Shape, WavesInFlight},
    sort_tuner::{SortHits, SortTuner, Timed},
    timeout::WaveTimeout,
    wave_size::{Pace, STEADY_CUDA_WAVE, WaveSize},
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
    stages::{Compactor, Denoiser, HitSorter, ImageReadback, Kernels, Megakernel, Scatterer},
};

/// Time limit for the upload of a scene of any size.
const MAX_UPLOAD_TIME: Duration = Duration::from_secs(600);
/// Minimum number of paths of a wave whose size adapts.
const MIN_PATHS: u32 = 1 << 18;

/// A wave in the memory of a GPU: the buffers of scene, paths and film, the kernels, and the waves in flight.
///
/// All waves in flight use these buffers one after the other, in stream order.
pub struct CudaWave {
    /// The CUDA stream on which all work of the wave is enqueued.
    pub stream: Arc<CudaStream>,
    /// The kernels of the stages.
    pub kernels: Kernels,
    /// The kernel of the stage `megakernel`; `None` before [`CudaWave::load_megakernel`].
    pub megakernel: Option<Megakernel>,
    /// The buffers of the scene.
    pub scene: CudaScene,
    /// The camera that creates the first rays.
    pub camera: CudaCamera,
    /// Maximum number of times that a path scatters.
    pub max_bounces: u32,
    /// The film that samples are added to, with the sample count of each pixel during adaptive sampling.
    pub film: CudaFilm,
    /// The buffers and kernels of the convergence test; `None` without adaptive sampling, and if another GPU tests.
    pub rounds: Option<CudaAdaptiveState>,
    /// The (pixel, sample) pairs of the wave that began last.
    pub span: Span,
    /// The buffers of the paths.
    pub paths: CudaPaths,
    /// The numbers of rays in each bounce, see [`counts`] for the indices.
    pub counts: CudaSlice<u32>,
    /// The start times of the stages in nanoseconds of the GPU's clock, 0 for stages that did not run. See the module
    /// `clock` for the indices.
    pub stamps: CudaSlice<u64>,
    /// The kernels and buffers that compact the queue.
    pub compactor: Compactor,
    /// The kernels and buffers that sort hits; `None` while neither waves at present nor those of a trial sort.
    pub hit_sorter: Option<HitSorter>,
    /// The kernels and buffers of the stage `scatter`; `None` in scenes without media.
    pub scatterer: Option<Scatterer>,
    /// Whether the wave that began last sorts its hits by kind of material.
    pub sorts_hits: bool,
    /// The buffers through which the last image was copied to the host, for reuse; `None` before the first image.
    pub image_readback: Option<ImageReadback>,
    /// The kernels and buffers of previews; `None` before they are needed.
    pub denoiser: Option<Denoiser>,
    pub(super) loader: KernelLoader,
    schedule: WaveSchedule,
    pub(super) in_flight: WavesInFlight,
    /// Whether a wait for the GPU has exceeded its time limit.
    hangs: bool,
}

/// The camera of a wave, in the memory of the CPU and of the GPU.
pub struct CudaCamera {
    /// The camera in the memory of the CPU.
    pub host: Camera,
    /// The camera in the memory of the GPU, for kernels; one entry.
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
    /// Compiles a source, unless it is cached or shipped, and loads it on the GPU.
    pub(super) fn load(&self, source: &Source) -> compaction::Result<Module> {
        self.compiler.load(&self.context, source)
    }
}

/// The adaptive decisions about the next waves: their size, the bounces that get large grids, whether hits are sorted,
/// and the timeout.
struct WaveSchedule {
    /// Number of multiprocessors of the GPU.
    multiprocessors: u32,
    /// Maximum number of paths that the buffers hold.
    capacity: u32,
    /// The adaptive size of waves; `None` if all waves fill the buffers.
    size: Option<WaveSize>,
    pace: Pace,
    bounce_estimate: BounceEstimate,
    /// Number of bounces, from bounce 0 on, in which many paths are expected in the wave that began last.
    busy_bounces: u32,
    sort_tuner: SortTuner,
    timeout: WaveTimeout,
}

impl CudaWave {
    /// GPU memory of the path buffers in bytes per path, in scenes that are not [plain](RenderScene::is_plain).
    pub const BYTES_PER_PATH: usize = CudaPaths::BYTES_PER_PATH;

    /// Opens a GPU, loads the kernels, uploads the scene, and allocates buffers for waves of up to `capacity` paths.
    ///
    /// `ordinal` is the number of the GPU in CUDA's order, from 0. Paths scatter up to `max_bounces` times.
    ///
    /// # Errors
    /// If the GPU cannot be opened, a kernel cannot be loaded, or the GPU's memory does not suffice.
    pub fn new(
        ordinal: usize,
        scene: &RenderScene,
        camera: Camera,
        max_bounces: u32,
        capacity: u32,
        strategy: Strategy,
    ) -> Result<CudaWave, Error> {
        let watch = CallRegister::default();
        let camera = (camera, max_bounces);
        CudaWave::new_watched(ordinal, scene, camera, capacity, strategy, &watch)
    }

    /// Creates a wave like [`CudaWave::new`], and registers driver calls that may never return with `watch`, so that
    /// another thread can detect a hang. The tuple is the camera and `max_bounces`.
    pub(crate) fn new_watched(
        ordinal: usize,
        scene: &RenderScene,
        (camera, max_bounces): (Camera, u32),
        capacity: u32,
        strategy: Strategy,
        watch: &CallRegister,
    ) -> Result<CudaWave, Error> {
        let context = watch.over("open the GPU", Duration::ZERO, || {
            open_for_calls_of_this_crate(ordinal)
        })?;
        let multiprocessors = context
            .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(compaction::Error::driver("count the multiprocessors"))?;
        let stream = context
            .new_stream()
            .map_err(compaction::Error::driver("create a stream"))?;
        let compiler = Compiler::new().shipped(SHIPPED).watched(watch);
        let variant = KernelVariant::of(scene);
        let paths = capacity as usize;
        let (kernels, compactor) = rayon::join(
            || Kernels::new(&compiler, &context, variant),
            || Compactor::new(&compiler, &context, &stream, strategy, paths),
        );
        let (kernels, compactor) = (kernels?, compactor?);
        let scatterer = variant
            .media
            .then(|| Scatterer::new(&compiler, &context, &stream, variant, paths))
            .transpose()?;
        let upload = || {
            Ok(CudaWave {
                scene: CudaScene::new(&stream, scene)?,
                camera: CudaCamera {
                    host: camera,
                    device: upload(&stream, &[camera])?,
                },
                max_bounces,
                film: CudaFilm::new(&stream, camera.pixel_count())?,
                rounds: None,
                span: Span::default(),
                paths: CudaPaths::new(&stream, paths, variant)?,
                counts: zeroed(&stream, counts::len(max_bounces))?,
                stamps: zeroed(&stream, clock::len(max_bounces))?,
                in_flight: WavesInFlight::new(&context, max_bounces)?,
                stream,
                kernels,
                megakernel: None,
                compactor,
                hit_sorter: None,
                scatterer,
                sorts_hits: false,
                image_readback: None,
                denoiser: None,
                schedule: WaveSchedule {
                    multiprocessors: multiprocessors.unsigned_abs(),
                    capacity,
                    size: None,
                    pace: Pace::default(),
                    bounce_estimate: BounceEstimate::all_bounces(max_bounces),
                    busy_bounces: max_bounces + 1,
                    sort_tuner: SortTuner::new(SortHits::Off, scene.kind_count(), strategy),
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

    /// Makes the size of waves adapt to the time that they take, up to `max` paths; see [`Pace`]. Buffers grow when a
    /// larger wave is due.
    ///
    /// Larger waves spend less of their time on late bounces, whose few rays leave most of the GPU idle.
    pub fn with_adaptive_size(mut self, max: u32) -> CudaWave {
        let first = self.schedule.capacity;
        self.schedule.size = Some(WaveSize::new(first, MIN_PATHS..=max, STEADY_CUDA_WAVE));
        self
    }

    /// Sets the minimum timeout of a wave. A GPU that exceeds the timeout counts as hung.
    pub(crate) fn with_min_timeout(mut self, min: Duration) -> CudaWave {
        self.schedule.timeout.set_min(min);
        self
    }

    /// Returns the timeout for all waves in flight together.
    pub(crate) fn timeout(&self) -> Duration {
        self.schedule.timeout.for_paths(self.in_flight.paths())
    }

    /// Returns whether a wait for the GPU has exceeded its time limit. If so, the wave must be leaked, because dropping
    /// it would wait without a limit.
    pub(crate) fn hangs(&self) -> bool {
        self.hangs
    }

    /// Returns `result`. If it is a timeout, the wave counts as hung from now on; see [`CudaWave::hangs`].
    pub(crate) fn record_timeout<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        self.hangs |= matches!(&result, Err(error) if error.is_hang());
        result
    }

    /// Returns the number of paths that the next wave should have.
    pub(super) fn next_paths(&self) -> u32 {
        let size = self.schedule.size.as_ref();
        size.map_or(self.schedule.capacity, |size| size.next)
    }

    /// Returns the maximum number of waves in flight at the present pace.
    pub(crate) fn max_in_flight(&self) -> usize {
        self.schedule.pace.in_flight()
    }

    /// Sets the pace of the waves that begin after this.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        let begins_watching = self.schedule.pace == Pace::Steady && pace != Pace::Steady;
        self.schedule.pace = pace;
        if let Some(size) = self.schedule.size.as_mut().filter(|_| begins_watching) {
            size.begin_film(self.camera.host.pixel_count(), pace);
        }
    }

    /// Adapts the size of the next waves to the time that a wave of `paths` paths took, and enlarges the buffers if
    /// needed. If the GPU's memory does not suffice, waves stay at the capacity of the buffers.
    fn adapt_size(&mut self, paths: u32, report: &Report) {
        let WaveSchedule {
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
            // Other programs may use the GPU's memory.
            if let Some(size) = &mut self.schedule.size {
                (size.next, size.max) = (capacity, capacity);
            }
        }
    }

    /// Replaces the buffers by larger ones for up to `paths` paths, and drops the CUDA graphs. The old buffers are
    /// freed after the waves in flight. After an error, some may be larger, but waves must not be.
    fn grow(&mut self, paths: usize) -> Result<(), Error> {
        self.drop_graphs();
        let stream = &self.stream;
        self.compactor.grow(stream, paths)?;
        self.paths.grow(stream, paths, self.loader.variant)?;
        if let Some(scatterer) = &mut self.scatterer {
            scatterer.grow(stream, paths)?;
        }
        self.schedule.capacity = paths as u32;
        if self.hit_sorter.is_some() {
            self.hit_sorter = Some(self.new_hit_sorter()?);
        }
        Ok(())
    }

    /// Begins a wave of the paths of `span`, which must fit into the buffers. If the maximum number of waves is in
    /// flight, the report of the oldest is lost.
    pub fn begin(&mut self, span: Span) -> Result<(), Error> {
        self.span = span;
        overwrite(&self.stream, &[span], &mut self.paths.span)?;
        self.sorts_hits = self.decide_sorting()?;
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

    /// Returns whether the wave that begins sorts its hits. Loads the kernels and buffers for it, or frees them if
    /// neither waves at present nor those of a trial sort.
    fn decide_sorting(&mut self) -> Result<bool, Error> {
        let sorts = self.schedule.sort_tuner.begin();
        if sorts && self.hit_sorter.is_none() {
            match self.new_hit_sorter() {
                Ok(hit_sorter) => self.hit_sorter = Some(hit_sorter),
                Err(error) if self.schedule.sort_tuner.choice() == SortHits::On => {
                    return Err(error);
                }
                Err(_) => {
                    // Other programs may use the GPU's memory.
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

    /// Returns whether there is a CUDA graph that launches the wave that began last.
    pub fn is_graph(&self) -> bool {
        self.in_flight.has_graph()
    }

    /// Launches the CUDA graph of the wave that began last. Returns `false`, with nothing launched, if none was
    /// recorded.
    pub(super) fn launch_graph(&mut self) -> Result<bool, Error> {
        let Some(graph) = self.in_flight.graph() else {
            return Ok(false);
        };
        graph.launch(&mut (
            self.scene.argument(),
            &self.camera.device,
            self.paths.argument(),
            self.film.argument(),
            &mut self.counts,
            &mut self.stamps,
            &mut self.compactor,
            self.hit_sorter.as_mut(),
            self.scatterer.as_mut(),
        ))?;
        Ok(true)
    }

    /// Drops all CUDA graphs. Call it when kernels or buffers change, because graphs contain kernels and addresses.
    pub(super) fn drop_graphs(&mut self) {
        self.in_flight.drop_graphs();
    }

    /// Enqueues copies of the counts and times of the wave that began last to the host. Does not wait.
    pub fn post_report(&mut self) -> Result<(), Error> {
        let (counts, stamps) = (self.counts.as_view(), self.stamps.as_view());
        self.in_flight.post(&self.stream, counts, stamps)
    }

    /// Returns whether as many waves are in flight as the pace allows. If so, call [`CudaWave::finish_oldest`] before
    /// the next wave begins.
    pub fn is_full(&self) -> bool {
        self.in_flight.count() >= self.schedule.pace.in_flight()
    }

    /// Waits for the oldest wave in flight and returns its report, or `None` if no wave is in flight.
    ///
    /// # Errors
    /// If the wave fails, or does not end within its timeout. Then it stays in flight.
    pub fn finish_oldest(&mut self) -> Result<Option<Report>, Error> {
        let timeout = |paths| self.schedule.timeout.for_paths(paths);
        let waited = self.in_flight.wait(timeout, self.max_bounces);
        let Some((counts, times)) = self.record_timeout(waited)? else {
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
            lanes: self.lanes_per_bounce(&counts, busy_bounces),
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

    /// Waits for all waves in flight, without a time limit, and returns a copy of the film's sums.
    pub fn film_sums(&self) -> Result<FilmSums, Error> {
        let sums = download(&self.stream, &self.film.sums)?;
        let rejected = download(&self.stream, &self.film.rejected)?.iter().sum();
        Ok(FilmSums { sums, rejected })
    }

    /// Returns the grid of a kernel that processes the queue of a bounce, in blocks of `block_threads`. Its threads
    /// loop over the queue, because only the GPU knows the queue's length. The grid is small if few paths are expected.
    pub(crate) fn queue_grid(&self, bounce: u32, block_threads: u32) -> Launch {
        let blocks = self.queue_blocks(self.span.path_count, self.expects_many_paths(bounce));
        Launch::covering(blocks * BLOCK_THREADS, block_threads)
    }

    /// Returns the number of blocks of a grid over the queue, for a wave of `paths` paths. `busy` is `true` if many
    /// paths are expected in the bounce.
    fn queue_blocks(&self, paths: u32, busy: bool) -> u32 {
        let blocks_per_multiprocessor = if busy { BLOCKS_PER_MULTIPROCESSOR } else { 1 };
        paths
            .div_ceil(BLOCK_THREADS)
            .min(blocks_per_multiprocessor * self.schedule.multiprocessors)
    }

    /// Returns whether many paths are expected in this bounce of the wave that began last, so that large grids pay.
    pub(crate) fn expects_many_paths(&self, bounce: u32) -> bool {
        bounce < self.schedule.busy_bounces
    }

    /// Returns the number of SIMT lanes that processed the rays of each bounce: the threads of the grid times the
    /// number of their loop iterations over the queue, at least 1.
    fn lanes_per_bounce(&self, counts: &[u32], busy_bounces: u32) -> Vec<u64> {
        let paths = counts[counts::rays(0)];
        let entries = |bounce: u32| match self.compactor.strategy() {
            Strategy::Off => paths,
            _ => counts[counts::rays(bounce)],
        };
        (0..=self.max_bounces)
            .map(|bounce| {
                let blocks = self.queue_blocks(paths, bounce < busy_bounces);
                let grid = u64::from(blocks * BLOCK_THREADS);
                u64::from(entries(bounce)).div_ceil(grid).max(1) * grid
            })
            .collect()
    }

    /// Returns where `self.counts` holds the number of queue entries at the point of the loop where `counts[count]`
    /// paths are live, as a range of length 1. With the strategy `off` that is the number of all paths, because the
    /// queue never gets shorter.
    pub(crate) fn queue_length(&self, count: usize) -> Range<usize> {
        let index = if self.compactor.strategy() == Strategy::Off {
            counts::rays(0)
        } else {
            count
        };
        index..index + 1
    }

    /// Returns `true` unless the scene is [plain](RenderScene::is_plain).
    pub(crate) fn is_instanced(&self) -> bool {
        self.loader.variant.instanced
    }

    /// Sets whether waves that begin after this sort their hits by kind of material. Allocates buffers for `On`.
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

    /// Loads the kernels that sort hits, and allocates their buffers.
    fn new_hit_sorter(&self) -> Result<HitSorter, Error> {
        let KernelLoader {
            compiler, context, ..
        } = &self.loader;
        let capacity = self.schedule.capacity as usize;
        HitSorter::new(compiler, context, &self.stream, capacity)
    }

    /// Sets the compaction strategy of waves that begin after this: loads its kernels, and allocates its buffers.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        let KernelLoader {
            compiler, context, ..
        } = &self.loader;
        let capacity = self.compactor.capacity();
        self.compactor = Compactor::new(compiler, context, &self.stream, strategy, capacity)?;
        self.schedule.sort_tuner.set_strategy(strategy);
        self.drop_graphs();
        Ok(())
    }

    /// Loads the kernel of the stage `megakernel`, unless it is loaded already.
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

    /// Loads the kernels of previews. Allocates no buffers.
    pub(crate) fn new_denoiser(&self) -> Result<Denoiser, Error> {
        Denoiser::new(&self.loader.compiler, &self.loader.context)
    }
}
