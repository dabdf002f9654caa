//! Waves: the paths that the stages process together, in the memory of the CPU or of a GPU.
//!
//! [`Wave`] holds the buffers that the stages read and write, and decides how large the next wave is.
//! [`wavefront`](crate::wavefront) begins a wave and calls the stages, and the backends read the reports.

mod adaptive_state;
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

pub use adaptive_state::CudaAdaptiveState;
use compaction::{cuda::Graph, select::Strategy};
pub use cpu::CpuWave;
pub use cuda::CudaWave;
pub use sort_tuner::{SortHits, SortTuner, Timed};
pub use wave_size::Pace;

use super::Stage;
use crate::{
    Error,
    camera::Camera,
    device::render_scene::RenderScene,
    film::{Film, FilmSums},
    path::Span,
};

/// Indices of the counts of a wave: rays, hits, scattered paths and shadow rays of bounce 0, then of bounce 1, and so
/// on.
///
/// The survivors of a bounce are the rays of the next one.
pub mod counts {
    /// Number of counts of a bounce.
    pub const PER_BOUNCE: usize = 4;
    /// Returns the index of the number of rays of a bounce.
    pub const fn rays(bounce: u32) -> usize {
        PER_BOUNCE * bounce as usize
    }
    /// Returns the index of the number of rays of a bounce that hit a surface.
    pub const fn hits(bounce: u32) -> usize {
        rays(bounce) + 1
    }
    /// Returns the index of the number of paths of a bounce that scatter in a medium before they hit a surface.
    pub const fn scattered(bounce: u32) -> usize {
        rays(bounce) + 2
    }
    /// Returns the index of the number of shadow rays of a bounce.
    pub const fn shadow_rays(bounce: u32) -> usize {
        rays(bounce) + 3
    }
    /// Returns the index of the number of paths that continue from a bounce to the next one.
    pub const fn survivors(bounce: u32) -> usize {
        rays(bounce + 1)
    }
    /// Returns the number of counts of a wave: four for each bounce from 0 to `max_bounces`, and the survivors of the
    /// last.
    pub const fn len(max_bounces: u32) -> usize {
        survivors(max_bounces) + 1
    }
}

/// The measurements of a completed wave: its ray counts, and the times of its stages.
#[derive(Clone, Debug)]
pub struct Report {
    /// Numbers of rays, see [`counts`] for the indices.
    pub counts: Vec<u32>,
    /// Number of SIMT lanes that process the rays of each bounce, including idle ones; on the CPU the number of queue
    /// entries. A lane counts as often as its thread loops over the queue.
    pub lanes: Vec<u64>,
    /// Runs of stages in the order of the loop, each with its time in milliseconds.
    pub times: Vec<(Stage, f64)>,
}

impl Report {
    /// Returns the time of all stages in milliseconds.
    fn milliseconds(&self) -> f64 {
        self.times.iter().map(|&(_, time)| time).sum()
    }
}

/// A wave on either backend: the buffers of its paths, its scene and its film. It is reused for one wave after the
/// other.
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

    /// Returns the number of paths that the next wave should have, at most as many as the buffers hold.
    pub fn next_paths(&self) -> u32 {
        match self {
            Wave::Cpu(cpu) => cpu.next_paths(),
            Wave::Cuda(cuda) => cuda.next_paths(),
        }
    }

    /// Begins a wave of the paths of `span`, which must fit into the buffers. Call it before any stage.
    pub fn begin(&mut self, span: Span) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.begin(span),
            Wave::Cuda(cuda) => cuda.begin(span)?,
        }
        Ok(())
    }

    /// Runs the function `stages`, which calls the stages on a wave that has begun.
    ///
    /// On CUDA the work is only enqueued. If a previous wave had the same shape, the launches are captured in a CUDA
    /// graph once and launched as a whole.
    pub fn run(&mut self, stages: fn(&mut Wave) -> Result<(), Error>) -> Result<(), Error> {
        if self.run_as_graph(stages)? {
            return Ok(());
        }
        stages(self)
    }

    /// Launches the wave as a CUDA graph, and captures the graph first if needed. Returns `false`, with nothing
    /// launched, if the stages must be launched one by one.
    fn run_as_graph(&mut self, stages: fn(&mut Wave) -> Result<(), Error>) -> Result<bool, Error> {
        let Wave::Cuda(cuda) = self else {
            return Ok(false);
        };
        if !cuda.in_flight.repeats() {
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
                cuda.in_flight.keep_graph(graph.ok());
                cuda.launch_graph()
            }
        }
    }

    /// Records that a stage has ended now; stages in sequence that share one time count as one run. Does nothing on CUDA,
    /// where kernels store the times at which they begin.
    pub(crate) fn mark(&mut self, stage: Stage) {
        if let Wave::Cpu(cpu) = self {
            match cpu.stage_ends.last_mut() {
                Some((last, end)) if *last == stage => *end = Instant::now(),
                _ => cpu.stage_ends.push((stage, Instant::now())),
            }
        }
    }

    /// Makes the report of the wave available to [`Wave::finish_oldest`]. Call it after the last stage. Does not wait.
    pub fn post_report(&mut self) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.has_report = true,
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

    /// Returns whether as many waves are in flight as the pace allows. If so, call [`Wave::finish_oldest`] before the
    /// next wave begins, because otherwise a report may be lost.
    pub fn is_full(&self) -> bool {
        match self {
            Wave::Cpu(cpu) => cpu.has_report,
            Wave::Cuda(cuda) => cuda.is_full(),
        }
    }

    /// Waits for the oldest wave in flight and returns its report, or `None` if no wave is in flight.
    ///
    /// # Errors
    /// On a GPU, if the wave fails, or does not end within its timeout. Then it stays in flight.
    pub fn finish_oldest(&mut self) -> Result<Option<Report>, Error> {
        match self {
            Wave::Cpu(cpu) => Ok(std::mem::take(&mut cpu.has_report).then(|| cpu.report())),
            Wave::Cuda(cuda) => cuda.finish_oldest(),
        }
    }

    /// Waits for all waves in flight, without a time limit, and returns a copy of the film's sums.
    pub fn film_sums(&self) -> Result<FilmSums, Error> {
        match self {
            Wave::Cpu(cpu) => {
                let size = cpu.camera.size();
                cpu.film.film_sums().map_err(Error::memory(size))
            }
            Wave::Cuda(cuda) => cuda.film_sums(),
        }
    }

    /// Sets the camera, and clears the film. On the CPU the wave uses `film` from now on, which must be black; a GPU
    /// clears its own film. Drops the film's snapshots for previews.
    pub fn set_camera(&mut self, camera: Camera, film: &Arc<Film>) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                cpu.camera = camera;
                cpu.film = film.clone();
                cpu.film_snapshots.clear();
            }
            Wave::Cuda(cuda) => cuda.set_camera(camera)?,
        }
        Ok(())
    }

    /// Sets the probabilities of lights to those of `scene`, which must otherwise be the scene of the wave.
    pub(crate) fn set_lights(&mut self, scene: &Arc<RenderScene>) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.scene = scene.clone(),
            Wave::Cuda(cuda) => cuda.set_lights(scene)?,
        }
        Ok(())
    }

    /// Replaces the film, and drops its snapshots for previews. On the CPU the wave adds samples to `film` from now on,
    /// which must hold the sums of `film_sums`; on a GPU it adds them to a copy of `film_sums`.
    pub(crate) fn set_film(&mut self, film: &Arc<Film>, film_sums: &FilmSums) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                cpu.film = film.clone();
                cpu.film_snapshots.clear();
            }
            Wave::Cuda(cuda) => cuda.set_film(film_sums)?,
        }
        Ok(())
    }

    /// Sets whether waves that begin after this sort their hits by kind of material. On the CPU, `Auto` is the same as
    /// `Off`.
    pub fn set_sort_hits(&mut self, sort_hits: SortHits) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => cpu.sorts_hits = sort_hits == SortHits::On,
            Wave::Cuda(cuda) => cuda.set_sort_hits(sort_hits)?,
        }
        Ok(())
    }

    /// Returns whether waves sort their hits, and the speed of waves with sorted hits relative to waves without, which
    /// is above 1 if sorting saves time. The speed is `None` if it was not measured, and on the CPU.
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
