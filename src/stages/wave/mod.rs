//! A wave: the paths that the stages process together, in the memory of the CPU or of a GPU.
//!
//! [`Wave`] holds the buffers that stages read and write, and whatever decides how large the next wave is. Stages are
//! called by [`wavefront`](crate::wavefront), and the backends begin waves and read their reports.

mod bounce_estimate;
pub(crate) mod clock;
mod cpu;
mod cuda;
mod in_flight;
mod rounds;
mod sort_tuner;
pub(crate) mod timeout;
mod wave_size;

use std::{sync::Arc, time::Instant};

use compaction::{cuda::Graph, select::Strategy};
pub use cpu::CpuWave;
pub use cuda::CudaWave;
pub use rounds::CudaRounds;
pub use sort_tuner::{SortHits, SortTuner, Timed};
pub use wave_size::Pace;

use super::Stage;
use crate::{
    Error,
    camera::Camera,
    film::{Film, FilmSums},
    path::Span,
};

/// Indices of the counts of a wave: rays, hits and shadow rays of bounce 0, then of bounce 1, and so on.
///
/// The survivors of a bounce are the rays of the next one.
pub mod counts {
    /// Returns the index of the number of rays that enter a bounce.
    pub const fn rays(bounce: u32) -> usize {
        3 * bounce as usize
    }
    /// Returns the index of the number of rays that hit.
    pub const fn hits(bounce: u32) -> usize {
        rays(bounce) + 1
    }
    /// Returns the index of the number of shadow rays.
    pub const fn shadow_rays(bounce: u32) -> usize {
        rays(bounce) + 2
    }
    /// Returns the index of the number of paths that continue to the next bounce.
    pub const fn survivors(bounce: u32) -> usize {
        rays(bounce + 1)
    }
    /// Returns the number of counts of a wave.
    pub const fn len(max_bounces: u32) -> usize {
        survivors(max_bounces) + 1
    }
}

/// The ray counts of a completed wave, and the times of its stages.
#[derive(Clone, Debug)]
pub struct Report {
    /// Numbers of rays, see [`counts`] for the indices.
    pub counts: Vec<u32>,
    /// Number of lanes launched for the rays of each bounce, including lanes without a ray.
    pub lanes: Vec<u64>,
    /// Each stage in the order of the loop, with its time in milliseconds.
    pub times: Vec<(Stage, f64)>,
}

impl Report {
    /// Returns the time of all stages in milliseconds.
    fn milliseconds(&self) -> f64 {
        self.times.iter().map(|&(_, time)| time).sum()
    }
}

/// The buffers of a wave, on either backend.
pub enum Wave {
    /// A wave in the memory of the CPU, processed by one thread.
    Cpu(Box<CpuWave>),
    /// A wave in the memory of a GPU, processed by that GPU.
    Cuda(Box<CudaWave>),
}

impl Wave {
    /// Returns the maximum number of times that a path scatters.
    pub fn max_bounces(&self) -> u32 {
        match self {
            Wave::Cpu(cpu) => cpu.max_bounces,
            Wave::Cuda(cuda) => cuda.max_bounces,
        }
    }

    /// Returns the number of paths that the next wave should have.
    pub fn next_paths(&self) -> u32 {
        match self {
            Wave::Cpu(cpu) => cpu.next_paths(),
            Wave::Cuda(cuda) => cuda.next_paths(),
        }
    }

    /// Begins a wave of the paths of `span`, which must fit into the buffers. Stages may run after this.
    pub fn begin(&mut self, span: Span) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.begin(span),
            Wave::Cuda(cuda) => cuda.begin(span)?,
        }
        Ok(())
    }

    /// Runs `stages` on the wave. On CUDA, waves that repeat an earlier one are captured in a graph, and launched as one.
    pub fn run(&mut self, stages: fn(&mut Wave) -> Result<(), Error>) -> Result<(), Error> {
        if self.run_as_graph(stages)? {
            return Ok(());
        }
        stages(self)
    }

    /// Launches the wave as a graph, and captures the graph first if needed. Returns `false` if the stages must be
    /// launched one by one.
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

    /// Records the time at which a stage ended on the CPU. On CUDA, kernels record the times at which they begin.
    pub(crate) fn mark(&mut self, stage: Stage) {
        if let Wave::Cpu(cpu) = self {
            cpu.marks.push((stage, Instant::now()));
        }
    }

    /// Makes the report of the wave available to [`Wave::land`]; call it after the last stage.
    pub fn depart(&mut self) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.landed = true,
            Wave::Cuda(cuda) => cuda.post_report()?,
        }
        Ok(())
    }

    /// Sets the pace of the waves that begin after this.
    pub(crate) fn set_pace(&mut self, pace: Pace) {
        match self {
            Wave::Cpu(cpu) => cpu.set_pace(pace),
            Wave::Cuda(cuda) => cuda.set_pace(pace),
        }
    }

    /// Returns whether [`Wave::land`] must be called before the next wave can begin.
    pub fn is_full(&self) -> bool {
        match self {
            Wave::Cpu(cpu) => cpu.landed,
            Wave::Cuda(cuda) => cuda.is_full(),
        }
    }

    /// Waits for the oldest wave in flight and returns its report, or `None` if no wave is in flight.
    pub fn land(&mut self) -> Result<Option<Report>, Error> {
        match self {
            Wave::Cpu(cpu) => Ok(std::mem::take(&mut cpu.landed).then(|| cpu.report())),
            Wave::Cuda(cuda) => cuda.land(),
        }
    }

    /// Waits for all waves in flight, and returns the sums of the film.
    pub fn exposed(&self) -> Result<FilmSums, Error> {
        match self {
            Wave::Cpu(cpu) => Ok(cpu.film.exposed()),
            Wave::Cuda(cuda) => cuda.exposed(),
        }
    }

    /// Sets the camera, and a black film. On the CPU the film is `film`; a GPU clears its own.
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

    /// Replaces the film. On the CPU the wave adds to `film` itself from now on; a GPU uploads a copy of its sums.
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

    /// Sets whether waves that begin after this sort their hits by kind of material.
    pub fn set_sort_hits(&mut self, sort_hits: SortHits) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.sorts_hits = sort_hits == SortHits::On,
            Wave::Cuda(cuda) => cuda.set_sort_hits(sort_hits)?,
        }
        Ok(())
    }

    /// Returns whether waves sort their hits, and the speed of a wave with sorted hits relative to one without, if both
    /// were measured.
    pub fn sort_hits(&self) -> (bool, Option<f64>) {
        match self {
            Wave::Cpu(cpu) => (cpu.sorts_hits, None),
            Wave::Cuda(cuda) => (cuda.sort_tuner().sorts(), cuda.sort_tuner().gain()),
        }
    }

    /// Sets the compaction strategy of waves that begin after this.
    pub fn set_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.strategy = strategy,
            Wave::Cuda(cuda) => cuda.set_strategy(strategy)?,
        }
        Ok(())
    }
}
