//! Options that choose the backend and tune the speed of a render. They do not change the image.

use std::{sync::Arc, time::Duration};

use crate::error::Error;
use clap::Args;
use compaction::select::Strategy;
use raysieve::{
    accel::trees::SceneBvhs,
    render::renderer::{BackendChoice, Renderer, Settings, SortHits},
};
use raysieve_scene::{Scene, memory};

use super::values::{MIN_INTERVAL, MIN_TIMEOUT, duration_from, sort_hits, strategy};
use crate::progress::with_progress_line;

/// The options of a render that do not change the image: those of [`Device`], `--compaction` and `--sort-hits`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Machine {
    #[command(flatten)]
    device: Device,

    /// Strategy of stream compaction; does not change the image
    #[arg(long, value_name = "STRATEGY", value_parser = strategy(), default_value_t,
        help_heading = "Rendering")]
    pub(super) compaction: Strategy,

    /// Sort hits by kind of material before shading: auto (on a GPU, if trial waves show that sorting is faster), on or
    /// off; does not change the image
    #[arg(long, alias = "order-hits", value_name = "WHEN", value_parser = sort_hits(), default_value = SortHits::default().name(),
        help_heading = "Rendering")]
    sort_hits: SortHits,
}

/// The options of the backend, such as `--backend` and `--threads`, shared by all commands that render.
#[derive(Args, Clone, Debug)]
pub(super) struct Device {
    /// Backend: auto (GPU 0 if it can be used, otherwise the CPU), cpu, cuda (GPU 0), cuda:N (GPU N), cuda:N,N (several
    /// GPUs) or cuda:all (all GPUs)
    #[arg(long, value_name = "BACKEND", value_parser = str::parse::<BackendChoice>, default_value = "auto", help_heading = "Rendering")]
    backend: BackendChoice,

    /// Maximum number of paths in flight, per thread on the CPU and in total on a GPU; does not change the image
    /// [default: chosen by the backend]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rendering")]
    wave_size: Option<u32>,

    /// Number of threads that render on the CPU, 1 to 1024 [default: the number of hardware threads, or fewer under a
    /// limit of the memory]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Rendering")]
    threads: Option<u16>,

    /// Minimum time, such as 30s or 2m, after which a GPU that does not finish a wave counts as hung; the render then
    /// ends with an error, even if other GPUs work. The limit grows to 100 times the expected duration of the wave, but
    /// at most to 1 s per million rays, which is also the limit of the first wave. Also applies to each step of opening
    /// a GPU [default: 30s]
    #[arg(long, alias = "patience", value_name = "TIME", value_parser = duration_from(MIN_TIMEOUT), allow_hyphen_values = true,
        help_heading = "Rendering")]
    timeout: Option<Duration>,

    /// Minimum time, such as 2s, between copies of the film from GPUs to host memory; when a GPU fails, at most the
    /// work since the last copy is repeated [default: 2s, 10s for a single GPU, or longer for a large film]
    #[arg(long, value_name = "TIME", value_parser = duration_from(MIN_INTERVAL), allow_hyphen_values = true,
        help_heading = "Rendering")]
    keep_every: Option<Duration>,
}

impl Machine {
    /// Returns the backend chosen by `--backend`.
    pub(crate) fn backend(&self) -> &BackendChoice {
        &self.device.backend
    }

    /// Creates a renderer for the scene with the options of the command line. See [`Device::renderer`] for progress and
    /// errors.
    ///
    /// `trees` are the acceleration structures of the scene; `None` builds them.
    pub(crate) fn renderer_on(
        &self,
        scene: &Scene,
        trees: Option<Arc<SceneBvhs>>,
    ) -> Result<Renderer, Error> {
        let (strategy, sort_hits) = (self.compaction, self.sort_hits);
        self.device.renderer(scene, trees, strategy, sort_hits)
    }

    /// Checks that `bytes` and the memory of the threads that render fit into the available host memory. Renders on
    /// GPUs are assumed to need as many threads as those on the CPU.
    ///
    /// # Errors
    /// See [`memory::check_with_threads`].
    pub(super) fn check_memory(&self, bytes: u64) -> Result<(), String> {
        let settings = self.device.settings(self.compaction, self.sort_hits);
        let (threads, each) = (settings.cpu_threads(), settings.bytes_per_cpu_thread());
        Ok(memory::check_with_threads(bytes, threads, each)?)
    }
}

impl Device {
    /// Creates a renderer for the scene with these options. Shows a progress line on a terminal if that takes over half
    /// a second. `trees` are the acceleration structures of the scene; `None` builds them.
    ///
    /// # Errors
    /// If the scene's BVH is too deep, or the backend cannot be used. With `--backend cuda`, `cuda:N`, `cuda:N,N` or
    /// `cuda:all`, a missing GPU is an [`Error::Setting`] that suggests `--backend cpu`. With `auto`, the CPU replaces
    /// a GPU that cannot be used.
    pub(super) fn renderer(
        &self,
        scene: &Scene,
        trees: Option<Arc<SceneBvhs>>,
        strategy: Strategy,
        sort_hits: SortHits,
    ) -> Result<Renderer, Error> {
        let settings = self.settings(strategy, sort_hits);
        let what = format!("building the trees of {}", scene.path.display());
        let create = || match trees {
            Some(trees) => Renderer::with_trees(trees, scene, &settings),
            None => Renderer::new(scene, &settings),
        };
        with_progress_line(what, create).map_err(|error| match (&self.backend, error) {
            (
                BackendChoice::Cuda(_) | BackendChoice::SomeCuda(_) | BackendChoice::AllCuda,
                raysieve::Error::Compaction(missing @ compaction::Error::NoDevice { .. }),
            ) => Error::Setting {
                setting: format!("--backend {}", self.backend),
                problem: format!("{missing}; use --backend cpu"),
            },
            (_, error) => error.into(),
        })
    }

    /// Returns these options as settings of the renderer.
    fn settings(&self, strategy: Strategy, sort_hits: SortHits) -> Settings {
        Settings {
            backend: self.backend.clone(),
            strategy,
            sort_hits,
            wave_size: self.wave_size,
            threads: self.threads.map(usize::from),
            keep_every: self.keep_every,
            timeout: self.timeout,
        }
    }
}
