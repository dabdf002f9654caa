//! A wave in the memory of the CPU.

use std::{sync::Arc, time::Instant};

use compaction::select::Strategy;

use super::{
    Report, Stage, counts,
    wave_size::{Pace, WaveSize},
};
use crate::{
    accel::instance::NO_INSTANCE,
    adaptive::pixel_stats::PixelStats,
    camera::Camera,
    device::render_scene::RenderScene,
    film::Film,
    path::{Hit, PathRadiance, Ray, ShadowRay, Span, Throughput, pixel_and_sample},
    sampler::{Sampler, sampler},
    stages::Earlier,
};

/// The buffers of a wave in the memory of the CPU. They are indexed by path, except those that are indexed by queue entry.
pub struct CpuWave {
    /// The scene.
    pub world: Arc<RenderScene>,
    /// The camera.
    pub camera: Camera,
    /// The film, which all waves of a render share.
    pub film: Arc<Film>,
    /// Strategy that compacts the queue.
    pub strategy: Strategy,
    /// Whether hits are sorted by kind of material.
    pub sorts_hits: bool,
    /// Maximum number of times that a path scatters.
    pub max_bounces: u32,
    /// The pixels and samples of the wave's paths.
    pub span: Span,
    /// The pixels that are rendered, if the span is listed; otherwise empty.
    pub list: Arc<[u32]>,
    /// Statistics of the pixels for adaptive sampling; `None` without it, and in waves that do not test convergence.
    pub(crate) ledger: Option<Box<PixelStats>>,
    /// Pixel and sample of each path.
    pub pairs: Vec<(u32, u32)>,
    /// The next ray of each path.
    pub rays: Vec<Ray>,
    /// The fraction of light that each path passes on.
    pub throughputs: Vec<Throughput>,
    /// The light gathered so far.
    pub radiances: Vec<PathRadiance>,
    /// Where each ray hit.
    pub hits: Vec<Hit>,
    /// The instance that each ray hit; empty in scenes without instances and textures.
    pub instances: Vec<u32>,
    /// Shadow rays by queue entry; distance 0 means none.
    pub shadow_rays: Vec<ShadowRay>,
    /// The instance that each shadow ray goes to, by queue entry; empty in scenes without instances and textures.
    pub light_instances: Vec<u32>,
    /// Live paths, and `NO_PATH` for gaps.
    pub queue: Vec<u32>,
    /// The queue that `compact` and `sort_hits` write.
    pub compacted: Vec<u32>,
    /// 1 for each queue entry whose path stays in the queue, else 0.
    pub flags: Vec<u8>,
    /// Numbers of rays, see [`counts`] for the indices.
    pub counts: Vec<u32>,
    /// The film at the last preview; unused before previews are requested.
    pub(crate) earlier: Earlier<Vec<u64>>,
    /// Each stage that ended, with the time.
    pub(super) marks: Vec<(Stage, Instant)>,
    /// Whether the last wave has ended and its report was not read.
    pub(super) landed: bool,
    begun: Instant,
    /// The adaptive size of waves; `None` if all waves fill the buffers.
    size: Option<WaveSize>,
    pace: Pace,
}

/// Minimum number of paths of a wave whose size adapts.
const MIN_PATHS: u32 = 1 << 10;

impl CpuWave {
    /// Memory per path, in bytes.
    pub const BYTES_PER_PATH: usize = size_of::<Ray>()
        + size_of::<Throughput>()
        + size_of::<PathRadiance>()
        + size_of::<Hit>()
        + size_of::<ShadowRay>()
        + 6 * size_of::<u32>()
        + size_of::<u8>();

    /// Allocates buffers for waves of up to `capacity` paths.
    pub fn new(
        world: Arc<RenderScene>,
        camera: Camera,
        film: Arc<Film>,
        max_bounces: u32,
        capacity: u32,
        strategy: Strategy,
    ) -> CpuWave {
        let capacity = capacity as usize;
        let instances = if world.is_plain() { 0 } else { capacity };
        CpuWave {
            world,
            camera,
            film,
            strategy,
            sorts_hits: false,
            max_bounces,
            span: Span::default(),
            list: Arc::default(),
            ledger: None,
            pairs: vec![(0, 0); capacity],
            rays: vec![Ray::default(); capacity],
            throughputs: vec![Throughput::default(); capacity],
            radiances: vec![PathRadiance::default(); capacity],
            hits: vec![Hit::default(); capacity],
            instances: vec![NO_INSTANCE; instances],
            light_instances: vec![NO_INSTANCE; instances],
            shadow_rays: vec![ShadowRay::default(); capacity],
            queue: vec![0; capacity],
            compacted: vec![0; capacity],
            flags: vec![0; capacity],
            counts: vec![0; counts::len(max_bounces)],
            earlier: Earlier::default(),
            marks: Vec::new(),
            landed: false,
            begun: Instant::now(),
            size: None,
            pace: Pace::default(),
        }
    }

    /// Adapts the size of waves to the time that they take, up to the capacity of the buffers; see [`Pace`].
    pub(crate) fn with_adaptive_size(mut self) -> CpuWave {
        let max = self.capacity();
        self.size = Some(WaveSize {
            first: max,
            min: MIN_PATHS.min(max),
            max,
            next: max,
        });
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

    /// Begins a wave of the paths of `span`, and clears counts and times.
    pub fn begin(&mut self, span: Span) {
        self.span = span;
        // Stored, because computing it takes divisions.
        for (path, pair) in (0..span.path_count).zip(&mut self.pairs) {
            *pair = pixel_and_sample(&span, &self.list, path);
        }
        self.counts.fill(0);
        self.marks.clear();
        self.begun = Instant::now();
    }

    /// Returns the random numbers of a path.
    #[inline]
    pub(crate) fn path_sampler(&self, path: usize) -> Sampler {
        let (pixel, sample) = self.pairs[path];
        sampler(self.span.seed, pixel, sample)
    }

    /// Returns the number of paths that the buffers hold.
    pub fn capacity(&self) -> u32 {
        self.rays.len() as u32
    }

    /// Returns the number of queue entries. `count` is the index of the number of live paths in [`counts`]. With the strategy
    /// `off` the queue never gets shorter.
    pub fn queue_length(&self, count: usize) -> usize {
        let lanes = if self.strategy == Strategy::Off {
            self.span.path_count
        } else {
            self.counts[count]
        };
        lanes as usize
    }

    /// Returns the report of the last wave, and adapts the size of the next one.
    pub fn report(&mut self) -> Report {
        let mut last = self.begun;
        let times = self.marks.iter().map(|&(stage, at)| {
            let milliseconds = at.duration_since(last).as_secs_f64() * 1e3;
            last = at;
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
