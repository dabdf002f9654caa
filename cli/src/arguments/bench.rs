//! The command line of `raysieve bench`.

use std::path::PathBuf;

use crate::error::Error;
use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use compaction::select::Strategy;
use raysieve::render::renderer::{Renderer, SortHits};
use raysieve_scene::Scene;

use super::{
    machine::Device,
    values::{bench_path, chart_path, reference_path, scene_path, size},
};

/// Measures how much compaction gains: each strategy against rendering without compaction, bounce by bounce
///
/// Each round renders one frame with each strategy, so that disturbances of the machine affect all strategies alike. A
/// megakernel, which traces each path in one kernel without stages, is measured too. The output is Markdown tables: the
/// time per frame and its spread, the speedup over no compaction (off), and for each bounce the live paths and the time
/// of each stage. All frames of a scene must have the same film hash and ray counts.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve bench [SCENE...] [OPTIONS]\n       raysieve bench --from FILE [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve bench
          measures cornell, spheres and mesh of ./scenes, as far as they exist
  raysieve bench scenes/cornell.ron --size 1024x1024 --spp 256 --strategies look-back,off
          measures one scene with two strategies
  raysieve bench box.ron --reference box.exr --strategies look-back
          also reports the squared error of the image, and its product with the time
  raysieve bench --json before.json
  raysieve bench --compare before.json
          run before and after a change: exit code 1 if a strategy is slower on a scene
  raysieve bench --from before.json --plot before.svg
          prints the tables again and draws a chart, without measuring

When a strategy counts as slower:
  Its median frame time is longer than the baseline's by more than 5 % plus the noise. The noise of
  a run is three times the median absolute deviation of its frame times, divided by their median:
  two standard deviations of a normal distribution. The noises of both runs are combined as the
  root of the sum of squares. A run of one round counts as free of noise.

Error times seconds:
  With --reference, the relative mean squared error of the image is the mean over the pixels of
  |image - reference|^2 / (|reference|^2 + a hundredth of its mean). Its product with the frame time
  hardly depends on --spp, so that it compares renderers of different speed and noise: half of it
  means the same quality in half the time. The reference needs far more samples and another seed.

Ctrl-C:
  Stops the measurement. Tables and files contain the completed rounds.

Columns of rays per second:
  Number of rays divided by the time of their stage, which also reads and writes the path states:
  primary is intersect of bounce 0, first bounce is intersect of bounce 1, and shadow is the shadow
  stage of all bounces."
)]
pub(crate) struct Bench {
    /// Scenes to measure: .ron files or models [default: those of cornell, spheres and mesh that exist in ./scenes]
    #[arg(value_name = "SCENE", value_parser = scene_path(), conflicts_with = "from")]
    pub(crate) scenes: Vec<PathBuf>,

    /// Image size in pixels, such as 1024x1024 [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = size, conflicts_with = "from")]
    pub(crate) size: Option<(u32, u32)>,

    /// Samples per pixel [default: enough for about 4 million paths per frame on the CPU, 270 million per GPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "from")]
    pub(crate) spp: Option<u32>,

    /// Number of measured frames per strategy
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 5,
        conflicts_with = "from")]
    pub(crate) rounds: u32,

    /// Number of unmeasured frames per strategy before the measured ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000), default_value_t = 1,
        conflicts_with = "from")]
    pub(crate) warm_up: u32,

    /// Strategies to measure, separated by commas: those of --compaction, sort-hits and megakernel [default: all]
    #[arg(long, value_name = "STRATEGIES", value_delimiter = ',', value_parser = method(), conflicts_with = "from")]
    strategies: Vec<Method>,

    /// Compare the image with this .exr image of the same scene and size, rendered with far more samples and another
    /// seed, and report error times seconds; for one scene [default: compare with nothing]
    #[arg(long, value_name = "FILE", value_parser = reference_path(), conflicts_with = "from")]
    pub(crate) reference: Option<PathBuf>,

    #[command(flatten)]
    device: Device,

    /// Print the results in this .json file, written by --json, and measure nothing
    #[arg(long, value_name = "FILE", value_parser = bench_path(),
        conflicts_with_all = ["backend", "wave_size", "threads", "timeout", "keep_every"])]
    pub(crate) from: Option<PathBuf>,

    /// Write the results to this .json file [default: no file]
    #[arg(long, value_name = "FILE", value_parser = bench_path(), help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Compare with the results in this .json file, written by --json on the same machine; exit code 1 if any strategy
    /// is slower [default: compare with nothing]
    #[arg(long, value_name = "FILE", value_parser = bench_path(), help_heading = "Output")]
    pub(crate) compare: Option<PathBuf>,

    /// Draw a chart of the results into this .svg file [default: no file]
    #[arg(long, value_name = "FILE", value_parser = chart_path(), help_heading = "Output")]
    pub(crate) plot: Option<PathBuf>,
}

impl Bench {
    /// Returns the methods to measure, in the order of [`Method::all`]: those of `--strategies`, or all without that
    /// option.
    pub(crate) fn methods(&self) -> Vec<Method> {
        let is_selected =
            |method: &Method| self.strategies.is_empty() || self.strategies.contains(method);
        Method::all().filter(is_selected).collect()
    }

    /// Creates a renderer for the scene on the backend of `--backend`, with the default strategy and unsorted hits.
    pub(crate) fn renderer(&self, scene: &Scene) -> Result<Renderer, Error> {
        let (strategy, sort_hits) = (Strategy::default(), SortHits::Off);
        self.device.renderer(scene, None, strategy, sort_hits)
    }
}

/// A way to render a frame that `bench` measures: a compaction strategy, sorted hits, or a megakernel. Tables, files
/// and options call each of these a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// The wavefront renderer with this compaction strategy and unsorted hits.
    Compact(Strategy),
    /// The wavefront renderer with the default compaction strategy, and with hits sorted by kind of material before
    /// shading.
    SortHits,
    /// A renderer of one kernel, which traces each path from the camera to the path's end. It has no stages and does
    /// not compact.
    Megakernel,
}

impl Method {
    /// Returns all methods, in the order of the tables.
    fn all() -> impl Iterator<Item = Method> {
        let strategies = Strategy::ALL.iter().copied().map(Method::Compact);
        strategies.chain([Method::SortHits, Method::Megakernel])
    }

    /// Returns the name of the method in options, tables and files: the name of a compaction strategy, such as
    /// `look-back`, or `sort-hits` or `megakernel`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Compact(strategy) => strategy.name(),
            Method::SortHits => "sort-hits",
            Method::Megakernel => "megakernel",
        }
    }
}

/// Returns a parser of the names of benchmark methods: a compaction strategy, `sort-hits` or `megakernel`. It accepts
/// `partition`, the former name of `sort-hits`.
fn method() -> impl TypedValueParser<Value = Method> {
    // The former name of sort-hits.
    const OLD_NAME: &str = "partition";
    let names = Method::all().map(|method| match method {
        Method::SortHits => PossibleValue::new(method.name()).alias(OLD_NAME),
        _ => PossibleValue::new(method.name()),
    });
    PossibleValuesParser::new(names.collect::<Vec<_>>()).try_map(|name| {
        let name = match name.as_str() {
            OLD_NAME => Method::SortHits.name(),
            name => name,
        };
        let named = Method::all().find(|method| method.name() == name);
        named.ok_or("no such strategy")
    })
}
