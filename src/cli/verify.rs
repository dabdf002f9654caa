//! The command line of `raysieve verify`.

use std::path::PathBuf;

use clap::Args;

use super::{
    machine::Machine,
    values::{part_path, percentage, scene_path},
};

/// Renders a picture's samples again, and says whether its bits hold
///
/// Exit code 0 says that they do, 1 that they do not, with the first pixel that differs; 2 that there was nothing to
/// compare with.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve verify PICTURE [SCENE] [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve verify box.exr
          renders box.exr again by the scene that it names
  raysieve verify from-the-farm.exr scenes/cornell.ron
          where the scene lies elsewhere on this machine
  raysieve verify box.exr --pixels 10%
          a tenth of its pixels, in a tenth of the time"
)]
pub(crate) struct Verify {
    /// Picture to verify, an .exr that raysieve wrote
    #[arg(value_name = "PICTURE", value_parser = part_path())]
    pub(crate) picture: PathBuf,

    /// Scene that it shows, a .ron file or a model [default: the one that it names]
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: Option<PathBuf>,

    /// Compare only this part of the pixels, spread over the picture by chance, such as 10% [default: 100%]
    #[arg(long, value_name = "PART", value_parser = percentage)]
    pub(crate) pixels: Option<f64>,

    /// Which pixels those are; a number that a run with --pixels told repeats it [default: by chance]
    #[arg(long, value_name = "N", requires = "pixels")]
    pub(crate) pick: Option<u32>,

    #[command(flatten)]
    pub(crate) machine: Machine,
}
