//! The command line of `raysieve bench`.

use std::path::PathBuf;

use clap::Args;
use compaction::select::Strategy;
use raysieve::{
    Error,
    renderer::{Partition, Renderer},
    scene::Scene,
};

use super::{
    machine::Device,
    values::{bench_path, chart_path, method, scene_path, size},
};

/// Measures what the sieve is worth: every strategy, bounce by bounce, beside none
///
/// Each scene is rendered with each strategy in turn, round after round, so that what disturbs the machine disturbs all
/// alike; and with a megakernel, which traces each path in one go, without stages and without a sieve. The tables are Markdown: the time of a frame and its spread, how many times as fast as without a sieve (off),
/// and for every bounce the paths that live and the time of its stages. The film must be the same every time.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve bench [SCENE...] [OPTIONS]\n       raysieve bench --from FILE [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve bench
          cornell, spheres and mesh of the folder scenes/, where they are
  raysieve bench scenes/cornell.ron --size 1024x1024 --spp 256 --strategies look-back,off
          one scene, and of the strategies only two
  raysieve bench --json before.json
  raysieve bench --compare before.json
          before a change and after it: exit code 1 if a strategy is slower on a scene
  raysieve bench --from before.json --plot before.svg
          the tables once more and a chart, nothing measured

When it is slower:
  A strategy is slower where the median of its frames takes more than 5 % longer than it did, and
  the noise on top of that. The noise of a run is three times the median absolute deviation of its
  frames, over their median: two standard deviations of a normal distribution. Both runs' noise
  counts, as the root of the sum of squares. A run of one round has no spread that could be
  measured, and counts as free of noise.

Ctrl-C:
  Ends it after the rounds that are whole: their tables are printed, and the files written of
  them.

What the rays alone are:
  Rays over the time of their stage, which reads and writes the state of the paths too: intersect
  of bounce 0 for rays from the camera, of bounce 1 for those that were scattered once, and shadow
  of all bounces."
)]
pub(crate) struct Bench {
    /// Scenes to render, .ron files or models [default: cornell, spheres and mesh of ./scenes]
    #[arg(value_name = "SCENE", value_parser = scene_path(), conflicts_with = "from")]
    pub(crate) scenes: Vec<PathBuf>,

    /// Picture size in pixels, such as 1024x1024 [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = size, conflicts_with = "from")]
    pub(crate) size: Option<(u32, u32)>,

    /// Samples a pixel [default: what makes some 4 million paths a frame on the CPU, 256 million on a GPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "from")]
    pub(crate) spp: Option<u32>,

    /// Frames of each strategy that are measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 5,
        conflicts_with = "from")]
    pub(crate) rounds: u32,

    /// Frames of each strategy before those, which do not count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000), default_value_t = 1,
        conflicts_with = "from")]
    pub(crate) warm_up: u32,

    /// Strategies to measure, a partition by material, and the megakernel [default: all]
    #[arg(long, value_name = "STRATEGIES", value_delimiter = ',', value_parser = method(), conflicts_with = "from")]
    strategies: Vec<Method>,

    #[command(flatten)]
    device: Device,

    /// Show what was measured before, a .json file that --json wrote, and measure nothing
    #[arg(long, value_name = "FILE", value_parser = bench_path(),
        conflicts_with_all = ["backend", "wave_size", "threads", "patience", "keep_every"])]
    pub(crate) from: Option<PathBuf>,

    /// Write what was measured, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = bench_path(), help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Compare with what was measured before on the same machine, a .json file that --json wrote; exit code 1 if it is
    /// slower now
    #[arg(long, value_name = "FILE", value_parser = bench_path(), help_heading = "Output")]
    pub(crate) compare: Option<PathBuf>,

    /// Draw a chart of it, an .svg file [default: none]
    #[arg(long, value_name = "FILE", value_parser = chart_path(), help_heading = "Output")]
    pub(crate) plot: Option<PathBuf>,
}

impl Bench {
    /// What is measured, in the order of the tables.
    pub(crate) fn methods(&self) -> Vec<Method> {
        let wanted =
            |method: &Method| self.strategies.is_empty() || self.strategies.contains(method);
        Method::all().filter(wanted).collect()
    }

    /// The scene on its backend.
    pub(crate) fn renderer(&self, scene: &Scene) -> Result<Renderer, Error> {
        let (strategy, partition) = (Strategy::default(), Partition::Off);
        self.device.renderer(scene, strategy, partition, &[])
    }
}

/// How a frame is rendered: stage by stage with a sieve between them, or each path in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Sieve(Strategy),
    /// By the default strategy, hits ordered by material before they are shaded.
    Partition,
    Megakernel,
}

impl Method {
    pub(super) fn all() -> impl Iterator<Item = Method> {
        let sieves = Strategy::ALL.iter().copied().map(Method::Sieve);
        sieves.chain([Method::Partition, Method::Megakernel])
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Sieve(strategy) => strategy.name(),
            Method::Partition => "partition",
            Method::Megakernel => "megakernel",
        }
    }
}
