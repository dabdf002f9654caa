//! The buffers of a wave, on either backend.

pub(crate) mod clock;
mod cpu;
mod cuda;
mod in_flight;
mod wave_size;
pub(crate) mod timeout;
mod bounce_estimate;
mod rounds;
mod sort_tuner;

use std::{sync::Arc, time::Instant};

use compaction::{cuda::Graph, select::Strategy};
pub use cpu::CpuWave;
pub use cuda::CudaWave;
pub use rounds::CudaRounds;
pub use sort_tuner::{SortHits, SortTuner, Timed};
pub use wave_size::Pace;

use crate::{
    Error,
    camera::Camera,
    film::{Film, FilmSums},
    path::Span,
};

/// Where the counts of a wave stand: rays, hits, shadow rays of bounce 0, then of bounce 1, and so on; one bounce's
/// survivors are the next one's rays.
pub mod counts {
    /// Rays that go into the bounce.
    pub const fn rays(bounce: u32) -> usize {
        3 * bounce as usize
    }
    /// Rays that hit.
    pub const fn hits(bounce: u32) -> usize {
        rays(bounce) + 1
    }
    /// Rays towards a light.
    pub const fn shadow_rays(bounce: u32) -> usize {
        rays(bounce) + 2
    }
    /// Paths that go on.
    pub const fn survivors(bounce: u32) -> usize {
        rays(bounce + 1)
    }
    /// Counts of a wave in all.
    pub const fn len(max_bounces: u32) -> usize {
        survivors(max_bounces) + 1
    }
}

/// A stage of the loop, by which the time of a wave is divided.
///
/// This list is the only one: statistics, tables, the overlay and the page iterate over [`Stage::OF_BOUNCE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Creation of the camera rays.
    Generate,
    /// Nearest hits of the rays.
    Intersect,
    /// Compaction of the queue, and sorting of hits.
    Compact,
    /// Scattering and light sampling.
    Shade,
    /// Occlusion of the shadow rays.
    Shadow,
    /// Addition of the samples to the film.
    Accumulate,
    /// All of these in one kernel.
    Megakernel,
}

impl Stage {
    /// All stages, in the order of the loop.
    pub const ALL: [Stage; 7] = [
        Stage::Generate,
        Stage::Intersect,
        Stage::Compact,
        Stage::Shade,
        Stage::Shadow,
        Stage::Accumulate,
        Stage::Megakernel,
    ];

    /// The stages whose time is recorded for each bounce, in the order of the loop.
    pub const OF_BOUNCE: [Stage; 4] = [
        Stage::Intersect,
        Stage::Compact,
        Stage::Shade,
        Stage::Shadow,
    ];

    /// Returns the stage's name in statistics, tables and messages.
    pub const fn label(self) -> &'static str {
        match self {
            Stage::Generate => "generate",
            Stage::Intersect => "intersect",
            Stage::Compact => "compact",
            Stage::Shade => "shade",
            Stage::Shadow => "shadow",
            Stage::Accumulate => "accumulate",
            Stage::Megakernel => "megakernel",
        }
    }
}

/// What a wave counted, and how long each of its stages took.
#[derive(Clone, Debug)]
pub struct Report {
    /// See [`counts`].
    pub counts: Vec<u32>,
    /// Lanes launched for the rays of each bounce.
    pub lanes: Vec<u64>,
    /// In the order of the loop, with milliseconds.
    pub times: Vec<(Stage, f64)>,
}

impl Report {
    /// Of all stages.
    fn milliseconds(&self) -> f64 {
        self.times.iter().map(|&(_, time)| time).sum()
    }
}

/// A wave of paths on its way through the loop.
pub enum Wave {
    /// In this machine's memory, by one thread.
    Cpu(Box<CpuWave>),
    /// In a GPU's memory, by the GPU.
    Cuda(Box<CudaWave>),
}

impl Wave {
    /// Times that a path may scatter.
    pub fn max_bounces(&self) -> u32 {
        match self {
            Wave::Cpu(cpu) => cpu.max_bounces,
            Wave::Cuda(cuda) => cuda.max_bounces,
        }
    }

    /// Paths that it should take on next.
    pub fn next_paths(&self) -> u32 {
        match self {
            Wave::Cpu(cpu) => cpu.next_paths(),
            Wave::Cuda(cuda) => cuda.next_paths(),
        }
    }

    /// Takes these paths on.
    pub fn begin(&mut self, span: Span) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.begin(span),
            Wave::Cuda(cuda) => cuda.begin(span)?,
        }
        Ok(())
    }

    /// Does the stages. On CUDA they are one launch where waves of one size follow each other.
    pub fn run(&mut self, stages: fn(&mut Wave) -> Result<(), Error>) -> Result<(), Error> {
        if self.run_as_graph(stages)? {
            return Ok(());
        }
        stages(self)
    }

    /// `false` where it has to be done stage by stage.
    fn run_as_graph(&mut self, stages: fn(&mut Wave) -> Result<(), Error>) -> Result<bool, Error> {
        let Wave::Cuda(cuda) = self else {
            return Ok(false);
        };
        if !cuda.repeats() {
            return Ok(false);
        }
        if cuda.launch_graph()? {
            return Ok(true);
        }
        let stream = cuda.stream.clone();
        let graph = Graph::record(&stream, || stages(self));
        match self {
            Wave::Cpu(_) => Ok(false),
            Wave::Cuda(cuda) => {
                cuda.keep_graph(graph.ok());
                cuda.launch_graph()
            }
        }
    }

    /// Notes that the stage is done. On CUDA its kernel does.
    pub(crate) fn mark(&mut self, stage: Stage) {
        if let Wave::Cpu(cpu) = self {
            cpu.marks.push((stage, Instant::now()));
        }
    }

    /// After the last stage: lets its report be read.
    pub fn depart(&mut self) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.landed = true,
            Wave::Cuda(cuda) => cuda.post_report()?,
        }
        Ok(())
    }

    /// Keeps to this from the next wave on.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        match self {
            Wave::Cpu(cpu) => cpu.set_pace(pace),
            Wave::Cuda(cuda) => cuda.set_pace(pace),
        }
    }

    /// Whether a wave must land before the next can be traced.
    pub fn is_full(&self) -> bool {
        match self {
            Wave::Cpu(cpu) => cpu.landed,
            Wave::Cuda(cuda) => cuda.is_full(),
        }
    }

    /// Waits for the oldest wave under way, and tells what it counted; `None` if none is.
    pub fn land(&mut self) -> Result<Option<Report>, Error> {
        match self {
            Wave::Cpu(cpu) => Ok(std::mem::take(&mut cpu.landed).then(|| cpu.report())),
            Wave::Cuda(cuda) => cuda.land(),
        }
    }

    /// The film. Waits for all waves under way.
    pub fn exposed(&self) -> Result<FilmSums, Error> {
        match self {
            Wave::Cpu(cpu) => Ok(cpu.film.exposed()),
            Wave::Cuda(cuda) => cuda.exposed(),
        }
    }

    /// Looks through another camera, at a black film: this one in this machine's memory, or a GPU's own.
    pub fn set_camera(&mut self, camera: Camera, film: &Arc<Film>) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                cpu.camera = camera;
                cpu.film = film.clone();
                cpu.earlier.forget();
            }
            Wave::Cuda(cuda) => cuda.set_camera(camera)?,
        }
        Ok(())
    }

    /// Goes on with this film: itself in this machine's memory, or what is on it in a GPU's.
    pub fn set_film(&mut self, film: &Arc<Film>) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                cpu.film = film.clone();
                cpu.earlier.forget();
            }
            Wave::Cuda(cuda) => cuda.set_film(&film.exposed())?,
        }
        Ok(())
    }

    /// Orders hits by the kind of material from the next wave on, or no longer, or finds out whether to.
    pub fn set_sort_hits(&mut self, sort_hits: SortHits) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.sorts_hits = sort_hits == SortHits::On,
            Wave::Cuda(cuda) => cuda.set_sort_hits(sort_hits)?,
        }
        Ok(())
    }

    /// Whether hits are ordered so, and how many times as fast that is, once both were timed.
    pub fn sort_hits(&self) -> (bool, Option<f64>) {
        match self {
            Wave::Cpu(cpu) => (cpu.sorts_hits, None),
            Wave::Cuda(cuda) => (cuda.sort_tuner().orders(), cuda.sort_tuner().gain()),
        }
    }

    /// Sieves by another strategy from the next wave on.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.strategy = strategy,
            Wave::Cuda(cuda) => cuda.set_strategy(strategy)?,
        }
        Ok(())
    }
}
