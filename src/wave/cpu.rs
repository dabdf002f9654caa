//! A wave in this machine's memory.

use std::{sync::Arc, time::Instant};

use compaction::select::Strategy;

use super::{
    Report, Stage, counts,
    wave_size::{Growth, Pace},
};
use crate::{
    accel::instance::NO_INSTANCE,
    adaptive::pixel_stats::PixelStats,
    camera::Camera,
    device::render_scene::RenderScene,
    film::Film,
    path::{Hit, PathRadiance, Ray, ShadowRay, Span, Throughput, pixel_and_sample},
    stages::Earlier,
};

/// Buffers of a wave in this machine's memory. By path, unless they are called by lane: a lane is a place in the queue.
pub struct CpuWave {
    /// The scene.
    pub world: Arc<RenderScene>,
    /// The scene's camera.
    pub camera: Camera,
    /// Shared by all waves.
    pub film: Arc<Film>,
    /// How the queue is sieved.
    pub strategy: Strategy,
    /// Whether hits are ordered by the kind of material.
    pub sorts_hits: bool,
    /// Times that a path may scatter.
    pub max_bounces: u32,
    /// The paths' numbers.
    pub span: Span,
    /// The pixels that are rendered, where the span says that they are listed.
    pub list: Arc<[u32]>,
    /// What is known of the pixels, where they get samples until they are good, and by the wave that judges them.
    pub(crate) ledger: Option<Box<PixelStats>>,
    /// Pixel and sample.
    pub pairs: Vec<(u32, u32)>,
    /// The next ray.
    pub rays: Vec<Ray>,
    /// The fraction of light that the path passes on.
    pub throughputs: Vec<Throughput>,
    /// The light gathered so far.
    pub radiances: Vec<PathRadiance>,
    /// Where the ray hit.
    pub hits: Vec<Hit>,
    /// Of which instance; none in a scene without any.
    pub instances: Vec<u32>,
    /// By lane.
    pub shadow_rays: Vec<ShadowRay>,
    /// By lane: the instance that the shadow ray goes to; none in a scene without any.
    pub light_instances: Vec<u32>,
    /// Live paths, by lane.
    pub queue: Vec<u32>,
    /// The next queue.
    pub compacted: Vec<u32>,
    /// By lane: 1 if the path stays.
    pub flags: Vec<u8>,
    /// See [`counts`].
    pub counts: Vec<u32>,
    /// Of this wave's film, where previews are asked for.
    pub(crate) earlier: Earlier<Vec<u64>>,
    pub(super) marks: Vec<(Stage, Instant)>,
    pub(super) landed: bool,
    begun: Instant,
    /// See [`CpuWave::shrinking`].
    growth: Option<Growth>,
    pace: Pace,
}

/// Paths that a wave shrinks to at the least.
const LEAST_PATHS: u32 = 1 << 10;

impl CpuWave {
    /// Memory of a path in flight.
    pub const BYTES_PER_PATH: usize = size_of::<Ray>()
        + size_of::<Throughput>()
        + size_of::<PathRadiance>()
        + size_of::<Hit>()
        + size_of::<ShadowRay>()
        + 6 * size_of::<u32>()
        + size_of::<u8>();

    /// Buffers for waves of up to `capacity` paths.
    pub fn new(
        world: Arc<RenderScene>,
        camera: Camera,
        film: Arc<Film>,
        max_bounces: u32,
        capacity: u32,
        strategy: Strategy,
    ) -> CpuWave {
        let capacity = capacity as usize;
        let placed = if world.is_plain() { 0 } else { capacity };
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
            instances: vec![NO_INSTANCE; placed],
            light_instances: vec![NO_INSTANCE; placed],
            shadow_rays: vec![ShadowRay::default(); capacity],
            queue: vec![0; capacity],
            compacted: vec![0; capacity],
            flags: vec![0; capacity],
            counts: vec![0; counts::len(max_bounces)],
            earlier: Earlier::default(),
            marks: Vec::new(),
            landed: false,
            begun: Instant::now(),
            growth: None,
            pace: Pace::default(),
        }
    }

    /// Lets waves shrink where its paths take long, to some 32 ms each, unless somebody looks.
    pub(crate) fn shrinking(mut self) -> CpuWave {
        let most = self.capacity();
        self.growth = Some(Growth {
            first: most,
            least: LEAST_PATHS.min(most),
            most,
            next: most,
        });
        self
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// Paths that the next wave should have.
    pub(super) fn next_paths(&self) -> u32 {
        let held = self.capacity();
        self.growth.as_ref().map_or(held, |growth| growth.next)
    }

    /// Takes these paths on: starts the clock and the counts anew.
    pub fn begin(&mut self, span: Span) {
        self.span = span;
        // Once: it takes divisions.
        for (path, pair) in (0..span.path_count).zip(&mut self.pairs) {
            *pair = pixel_and_sample(&span, &self.list, path);
        }
        self.counts.fill(0);
        self.marks.clear();
        self.begun = Instant::now();
    }

    /// Paths that it has buffers for.
    pub fn capacity(&self) -> u32 {
        self.rays.len() as u32
    }

    /// Lanes of the queue, where `count` is the place of its number of live paths: by `off` it never gets shorter.
    pub fn lanes(&self, count: usize) -> usize {
        let lanes = if self.strategy == Strategy::Off {
            self.span.path_count
        } else {
            self.counts[count]
        };
        lanes as usize
    }

    /// What the last wave counted. Sets the size of the next.
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
                .map(|bounce| self.lanes(counts::rays(bounce)) as u64)
                .collect(),
        };
        if let Some(growth) = &mut self.growth {
            growth.settle(self.span.path_count, report.milliseconds(), self.pace);
        }
        report
    }
}
