//! The buffers of a wave, on either backend.

pub(crate) mod clock;
mod cpu;
mod cuda;
mod flight;
mod pace;
pub(crate) mod patience;
mod reach;
mod rounds;
mod trial;

use std::{sync::Arc, time::Instant};

use compaction::{cuda::Graph, select::Strategy};
pub use cpu::CpuWave;
pub use cuda::CudaWave;
pub(crate) use pace::Pace;
pub use rounds::CudaRounds;
pub use trial::{Partition, Timed, Trial};

use crate::{
    Error,
    camera::Camera,
    film::{Exposed, Film},
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

/// What a stretch of a wave's time went into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Camera rays.
    Generate,
    /// Rays against the scene.
    Intersect,
    /// Compaction of the queue.
    Sieve,
    /// Scattering.
    Shade,
    /// Rays towards the lights.
    Shadow,
    /// Samples onto the film.
    Accumulate,
    /// All of it at once.
    Megakernel,
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
    pub fn exposed(&self) -> Result<Exposed, Error> {
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
    pub fn set_partition(&mut self, partition: Partition) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.partitions = partition == Partition::On,
            Wave::Cuda(cuda) => cuda.set_partition(partition)?,
        }
        Ok(())
    }

    /// Whether hits are ordered so, and how many times as fast that is, once both were timed.
    pub fn partition(&self) -> (bool, Option<f64>) {
        match self {
            Wave::Cpu(cpu) => (cpu.partitions, None),
            Wave::Cuda(cuda) => (cuda.trial().orders(), cuda.trial().gain()),
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
