//! A wave in the memory of the CPU.

use std::{ops::Range, sync::Arc, time::Instant};

use compaction::select::Strategy;

use super::{
    Report, Stage, counts,
    wave_size::{Pace, STEADY_CPU_WAVE, WaveSize},
};
use crate::{
    accel::instance::NO_INSTANCE,
    adaptive::pixel_stats::PixelStats,
    camera::Camera,
    device::render_scene::RenderScene,
    film::Film,
    path::{Hit, PathRadiance, Ray, ShadowRay, Span, Throughput, fill_pairs},
    sampler::{Sampler, sampler},
    stages::{FilmSnapshots, ScatterQueues},
};

/// A wave in the memory of the CPU: its scene, film, settings and buffers.
///
/// Buffers are indexed by path unless their description says by queue entry.
pub struct CpuWave {
    /// The scene that the paths are traced in.
    pub scene: Arc<RenderScene>,
    /// The camera that creates the first rays.
    pub camera: Camera,
    /// The film that samples are added to. All waves of a render share it.
    pub film: Arc<Film>,
    /// The strategy by which `compact` removes paths from the queue.
    pub strategy: Strategy,
    /// Whether `sort_hits` sorts the queue by kind of material.
    pub sorts_hits: bool,
    /// Maximum number of times that a path scatters.
    pub max_bounces: u32,
    /// The span of the wave's paths, with their number as `path_count`. Their pairs are in `pairs`.
    pub span: Span,
    /// The pixels that are rendered, as row-major indices in the image and in the order of rendering, if `span.listed`
    /// is 1; otherwise empty.
    pub list: Arc<[u32]>,
    /// The noise statistics of all pixels for adaptive sampling; `None` without it, and in waves that do not test
    /// convergence. A test computes them from the film, which all waves share. The film holds the current sample
    /// counts.
    pub(crate) pixel_stats: Option<Box<PixelStats>>,
    /// The row-major index of the pixel, and the number of the sample within it, of each path.
    pub pairs: Vec<(u32, u32)>,
    /// The next ray of each path.
    pub rays: Vec<Ray>,
    /// The throughput of each path along its rays so far.
    pub throughputs: Vec<Throughput>,
    /// The radiance that each path has gathered so far.
    pub radiances: Vec<PathRadiance>,
    /// The nearest hit of each path's ray.
    pub hits: Vec<Hit>,
    /// The index of the instance that each path's ray hit, or `NO_INSTANCE`. Empty in
    /// [plain](RenderScene::is_plain) scenes.
    pub instances: Vec<u32>,
    /// The shadow ray of each queue entry; distance 0 means none.
    pub shadow_rays: Vec<ShadowRay>,
    /// The index of the instance that the shadow ray of each queue entry goes to, or `NO_INSTANCE`. Empty in
    /// [plain](RenderScene::is_plain) scenes.
    pub light_instances: Vec<u32>,
    /// The list of bodies at the origin of the shadow ray of each queue entry. Empty in scenes without
    /// [boundaries](RenderScene::has_boundaries).
    pub shadow_bodies: Vec<u32>,
    /// The indices of the live paths. `NO_PATH` marks entries whose path has ended, which only the strategy `off`
    /// leaves.
    pub queue: Vec<u32>,
    /// The buffer into which `compact` and `sort_hits` write the new queue, before it is swapped with `queue`.
    pub compacted: Vec<u32>,
    /// The flag of each queue entry: 1 if `compact` keeps its path, otherwise 0. `sort_hits` overwrites the flags with
    /// kinds of materials.
    pub flags: Vec<u8>,
    /// The queues of the stage `scatter`.
    pub scatter: ScatterQueues,
    /// The numbers of rays in each bounce, see [`counts`] for the indices.
    pub counts: Vec<u32>,
    /// Copies of the film at lower sample counts, for `denoise`; empty unless `snapshot_film` was called.
    pub(crate) film_snapshots: FilmSnapshots<Vec<u64>>,
    /// The runs of stages that have ended, each with the time of its end.
    pub(super) stage_ends: Vec<(Stage, Instant)>,
    /// Whether a wave has ended and its report was not read.
    pub(super) has_report: bool,
    /// Time at which the current wave began.
    begun: Instant,
    /// The adaptive size of waves; `None` if all waves fill the buffers.
    size: Option<WaveSize>,
    pace: Pace,
}

impl CpuWave {
    /// Minimum number of paths of a wave whose size adapts, or that gets smaller towards the end of a render.
    pub(crate) const MIN_PATHS: u32 = 1 << 10;
    /// Memory of the buffers in bytes per path, in scenes that are not [plain](RenderScene::is_plain).
    pub const BYTES_PER_PATH: usize = size_of::<Ray>()
        + size_of::<Throughput>()
        + size_of::<PathRadiance>()
        + size_of::<Hit>()
        + size_of::<ShadowRay>()
        + 7 * size_of::<u32>()
        + size_of::<u8>();

    /// Allocates buffers for waves of up to `capacity` paths.
    pub fn new(
        scene: Arc<RenderScene>,
        camera: Camera,
        film: Arc<Film>,
        max_bounces: u32,
        capacity: u32,
        strategy: Strategy,
    ) -> CpuWave {
        let capacity = capacity as usize;
        let instances = if scene.is_plain() { 0 } else { capacity };
        let boundaries = if scene.has_boundaries() { capacity } else { 0 };
        let scatter_queues = if scene.media.is_empty() {
            ScatterQueues::default()
        } else {
            ScatterQueues::new(capacity)
        };
        CpuWave {
            scene,
            camera,
            film,
            strategy,
            sorts_hits: false,
            max_bounces,
            span: Span::default(),
            list: Arc::default(),
            pixel_stats: None,
            pairs: vec![(0, 0); capacity],
            rays: vec![Ray::default(); capacity],
            throughputs: vec![Throughput::default(); capacity],
            radiances: vec![PathRadiance::default(); capacity],
            hits: vec![Hit::default(); capacity],
            instances: vec![NO_INSTANCE; instances],
            light_instances: vec![NO_INSTANCE; instances],
            shadow_bodies: vec![0; boundaries],
            shadow_rays: vec![ShadowRay::default(); capacity],
            queue: vec![0; capacity],
            compacted: vec![0; capacity],
            flags: vec![0; capacity],
            scatter: scatter_queues,
            counts: vec![0; counts::len(max_bounces)],
            film_snapshots: FilmSnapshots::default(),
            stage_ends: Vec::new(),
            has_report: false,
            begun: Instant::now(),
            size: None,
            pace: Pace::default(),
        }
    }

    /// Adapts the size of waves to the time that they take, up to the capacity of the buffers; see [`Pace`].
    pub(crate) fn with_adaptive_size(mut self) -> CpuWave {
        let max = self.capacity();
        let sizes = CpuWave::MIN_PATHS.min(max)..=max;
        self.size = Some(WaveSize::new(max, sizes, STEADY_CPU_WAVE));
        self
    }

    /// Sets the pace of the waves that begin after this.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Returns the number of paths that the next wave should have.
    pub(super) fn next_paths(&self) -> u32 {
        let capacity = self.capacity();
        self.size.as_ref().map_or(capacity, |size| size.next)
    }

    /// Begins a wave of the paths of `span`, which must fit into the buffers. Clears counts and times.
    pub fn begin(&mut self, span: Span) {
        self.begin_range(span, 0..span.path_count);
    }

    /// Begins a wave of these paths of `span`, which must fit into the buffers. Clears counts and times.
    ///
    /// If the waves of several threads share a span that is larger than each of them, several samples of a pixel can be
    /// adjacent.
    pub(crate) fn begin_range(&mut self, span: Span, paths: Range<u32>) {
        let path_count = paths.end - paths.start;
        self.span = Span { path_count, ..span };
        // Stored, because several stages need them.
        let pairs = &mut self.pairs[..path_count as usize];
        fill_pairs(&span, &self.list, paths.start, pairs);
        self.counts.fill(0);
        self.stage_ends.clear();
        self.begun = Instant::now();
    }

    /// Returns whether light scatters in media.
    pub(crate) fn has_media(&self) -> bool {
        !self.scene.media.is_empty()
    }

    /// Returns the sampler of the random numbers of a path.
    #[inline]
    pub(crate) fn path_sampler(&self, path: usize) -> Sampler {
        let (pixel, sample) = self.pairs[path];
        sampler(self.span.seed, pixel, sample)
    }

    /// Returns the maximum number of paths that the buffers hold.
    pub fn capacity(&self) -> u32 {
        self.rays.len() as u32
    }

    /// Returns the number of queue entries at the point of the loop where `counts[count]` paths are live; see
    /// [`counts`] for the indices. With the strategy `off` that is the number of all paths, because the queue never
    /// gets shorter.
    pub(crate) fn queue_length(&self, count: usize) -> usize {
        let entries = if self.strategy == Strategy::Off {
            self.span.path_count
        } else {
            self.counts[count]
        };
        entries as usize
    }

    /// Returns the memory of the path buffers in bytes.
    pub(crate) fn path_bytes(&self) -> u64 {
        let capacity = u64::from(self.capacity());
        let indices = self.instances.len() + self.light_instances.len() + self.shadow_bodies.len();
        let instances = indices * size_of::<u32>();
        let each = CpuWave::BYTES_PER_PATH - 3 * size_of::<u32>();
        capacity * each as u64 + instances as u64
    }

    /// Returns the report of the wave that ended last, and adapts the size of the next one.
    pub fn report(&mut self) -> Report {
        let mut last = self.begun;
        let times = self.stage_ends.iter().map(|&(stage, end)| {
            let milliseconds = end.duration_since(last).as_secs_f64() * 1e3;
            last = end;
            (stage, milliseconds)
        });
        let report = Report {
            times: times.collect(),
            counts: self.counts.clone(),
            lanes: (0..=self.max_bounces)
                .map(|bounce| self.queue_length(counts::rays(bounce)) as u64)
                .collect(),
        };
        if let Some(size) = &mut self.size {
            size.learn(self.span.path_count, report.milliseconds(), self.pace);
        }
        report
    }
}
