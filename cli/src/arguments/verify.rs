//! The command line of `raysieve verify`.

use std::path::PathBuf;

use clap::Args;
use raysieve_scene::LoadOptions;

use super::{
    machine::Machine,
    model::ModelArguments,
    values::{part_path, percentage, scene_path},
};

/// Renders the samples of an image again and compares every bit
///
/// Exit code 0: identical. 1: different, damaged, or the render failed; the first pixel that differs, or the cause, is
/// printed. 2: the image or the scene cannot be read for another reason, or the scene has changed.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve verify PICTURE [SCENE] [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve verify box.exr
          renders the scene that is recorded in box.exr
  raysieve verify from-the-farm.exr scenes/cornell.ron
          names the scene, if it has another path on this machine
  raysieve verify box.exr --pixels 10%
          compares a tenth of the pixels, in a tenth of the time"
)]
pub(crate) struct Verify {
    /// Image to verify, an .exr that raysieve wrote
    #[arg(value_name = "PICTURE", value_parser = part_path())]
    pub(crate) picture: PathBuf,

    /// Scene of the image: a .ron file or a model [default: the path recorded in the image]
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: Option<PathBuf>,

    /// Compare only this percentage of the pixels, chosen at random, such as 10% [default: 100%]
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    pub(crate) pixels: Option<f64>,

    /// Seed that chooses the pixels of --pixels, to repeat a run; each run with --pixels prints its seed [default:
    /// random]
    #[arg(long, value_name = "N", requires = "pixels")]
    pub(crate) pick: Option<u32>,

    #[command(flatten)]
    model: ModelArguments,

    #[command(flatten)]
    pub(crate) machine: Machine,
}

impl Verify {
    /// Returns the choices among what the scene's file offers, such as a material variant. They must be those with
    /// which the image was rendered.
    pub(crate) fn load_options(&self) -> LoadOptions {
        self.model.options()
    }
}
