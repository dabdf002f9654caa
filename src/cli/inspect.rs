//! The command line of `raysieve inspect`.

use std::path::PathBuf;

use clap::Args;
use raysieve::{Error, scene::Scene};

use super::{
    scene::SceneArguments,
    values::{pixel, scene_path, track_path},
};

/// Tells what happened to one path, bounce by bounce
///
/// Where it went, what it met, what it carried, what light it found and what the light that it looked for brought; and
/// where the sieve took it out, and why. Its light is, to the last bit, the sample that a render puts onto the film.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve inspect SCENE X,Y [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve inspect scenes/cornell.ron 256,300
          the first path of the pixel in column 256 and row 300, from the upper left
  raysieve inspect scenes/cornell.ron 256,300 --sample 63 --json path.json
          the last of 64, and into a file"
)]
pub(crate) struct Inspect {
    /// Scene that it is in, a .ron file or a model
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: PathBuf,

    /// Pixel that it is of: column and row from the upper left, such as 256,300
    #[arg(value_name = "X,Y", value_parser = pixel)]
    pub(crate) pixel: (u32, u32),

    /// Which of the pixel's samples it is, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) sample: u32,

    #[command(flatten)]
    settings: SceneArguments,

    /// Write it to this file too, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = track_path(), help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
}

impl Inspect {
    /// The scene, with what the command line says otherwise.
    pub(crate) fn load_scene(&self) -> Result<Scene, Error> {
        self.settings.load(&self.scene, None)
    }
}
