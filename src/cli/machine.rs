//! What renders, and how.

use std::time::Duration;

use clap::Args;
use compaction::select::Strategy;
use raysieve::{
    Error,
    renderer::{BackendChoice, Gpu, Partition, Renderer, Settings},
    scene::Scene,
};

use super::values::{duration, partition, patience, strategy};
use crate::headless::telling;

/// What renders, and how; none of it changes the picture.
#[derive(Args, Clone, Debug)]
pub(crate) struct Machine {
    #[command(flatten)]
    device: Device,

    /// How the rays are sieved; any strategy gives the same picture
    #[arg(long, value_name = "STRATEGY", value_parser = strategy(), default_value_t,
        help_heading = "Rendering")]
    pub(super) compaction: Strategy,

    /// Order hits by the kind of material before they are shaded: auto (on a GPU where it pays, as a few waves tell), on
    /// or off; the picture is the same
    #[arg(long, value_name = "WHEN", value_parser = partition(), default_value = Partition::default().name(),
        help_heading = "Rendering")]
    order_hits: Partition,
}

/// What renders, and how much of it.
#[derive(Args, Clone, Debug)]
pub(super) struct Device {
    /// Where to render: auto (the first usable GPU, else the CPU), cpu, cuda:all (all GPUs side by side), cuda:N (the
    /// GPU of number N, 0 if not said) or cuda:N,N (some of them)
    #[arg(long, value_name = "BACKEND", value_parser = str::parse::<BackendChoice>, default_value = "auto", help_heading = "Rendering")]
    backend: BackendChoice,

    /// Paths in flight, per thread on the CPU and in all on a GPU; any number gives the same picture [default: what the
    /// backend is fastest with]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rendering")]
    wave_size: Option<u32>,

    /// Threads of the CPU, 1 to 1024 [default: one for each that it runs at a time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Rendering")]
    threads: Option<u16>,

    /// Time that a wave gets on a GPU before that counts as hung, and is left out where there are others, such as 30s or
    /// 2m; a wave gets a hundred times what the last one took if that is more, and the first a second for a million rays;
    /// the same for each step in which a GPU is opened [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = patience, help_heading = "Rendering")]
    patience: Option<Duration>,

    /// Time between two copies of what several GPUs have rendered to this machine's memory, such as 2s: as much is rendered
    /// again at most when one fails [default: 2s, more where that takes long]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Rendering")]
    keep_every: Option<Duration>,
}

impl Machine {
    /// Where to render.
    pub(crate) fn backend(&self) -> &BackendChoice {
        &self.device.backend
    }

    /// The scene on its backend; on those of these GPUs that have not failed, if an earlier start has left any.
    pub(crate) fn renderer_on(&self, scene: &Scene, gpus: &[Gpu]) -> Result<Renderer, Error> {
        let (strategy, partition) = (self.compaction, self.order_hits);
        self.device.renderer(scene, strategy, partition, gpus)
    }
}

impl Device {
    /// The scene on its backend; on those of these GPUs that have not failed, if any are named.
    pub(super) fn renderer(
        &self,
        scene: &Scene,
        strategy: Strategy,
        partition: Partition,
        gpus: &[Gpu],
    ) -> Result<Renderer, Error> {
        let settings = Settings {
            backend: self.backend.clone(),
            strategy,
            partition,
            wave_size: self.wave_size,
            threads: self.threads.map(usize::from),
            keep_every: self.keep_every,
            patience: self.patience,
            gpus: gpus.to_vec(),
        };
        let what = format!("building the trees of {}", scene.path.display());
        telling(what, || Renderer::new(scene, &settings)).map_err(|error| {
            match (&self.backend, error) {
                (
                    BackendChoice::Cuda(_) | BackendChoice::SomeCuda(_) | BackendChoice::AllCuda,
                    Error::Compaction(missing @ compaction::Error::NoDevice { .. }),
                ) => Error::Setting {
                    setting: format!("--backend {}", self.backend),
                    problem: format!("{missing}; use --backend cpu"),
                },
                (_, error) => error,
            }
        })
    }
}
