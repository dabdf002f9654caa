//! The command line of `raysieve inspect`.

use std::path::PathBuf;

use crate::error::Error;
use clap::Args;
use raysieve_scene::Scene;

use super::{
    model::ModelArguments,
    scene::SceneArguments,
    values::{path_record_path, pixel, scene_path},
};

/// Prints the record of one path, bounce by bounce
///
/// The record shows for each bounce the position, the surface hit, the throughput, the emission found and the direct
/// light; then the bounce at which the path ended, and why. The radiance equals the sample that a render adds to the
/// film, bit for bit.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve inspect SCENE X,Y [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve inspect scenes/cornell.ron 256,300
          the first sample of the pixel in column 256 and row 300, counted from the upper left
  raysieve inspect scenes/cornell.ron 256,300 --sample 63 --json path.json
          its 64th sample, also written to a file"
)]
pub(crate) struct Inspect {
    /// Scene to trace the path in: a .ron file or a model
    #[arg(value_name = "SCENE", value_parser = scene_path())]
    pub(crate) scene: PathBuf,

    /// Pixel of the path: column and row, counted from 0 at the upper left, such as 256,300
    #[arg(value_name = "X,Y", value_parser = pixel)]
    pub(crate) pixel: (u32, u32),

    /// Number of the sample within the pixel, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) sample: u32,

    #[command(flatten)]
    settings: SceneArguments,

    #[command(flatten)]
    model: ModelArguments,

    /// Write the path record to this .json file too [default: no file]
    #[arg(long, value_name = "FILE", value_parser = path_record_path(), help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,
}

impl Inspect {
    /// Loads the scene and applies the options of the command line.
    ///
    /// # Errors
    /// If the scene cannot be read or is invalid, or if a setting is out of range.
    pub(crate) fn load_scene(&self) -> Result<Scene, Error> {
        self.settings.load(&self.scene, &self.model.options(), None)
    }
}
