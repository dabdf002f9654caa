//! What is written, and how it looks.

use std::path::{Path, PathBuf};

use clap::Args;
use raysieve::{
    Error,
    output::{self, Look, PictureFormat},
    scene::Scene,
    sight::Sight,
    tone::Tone,
};

use super::values::{exposure, tone};

/// How a PNG shows the light.
#[derive(Args, Clone, Debug)]
pub(super) struct LookArguments {
    /// Draw the statistics on the PNG too
    #[arg(long, help_heading = "Output")]
    overlay: bool,

    /// Exposure of the window and the PNG in stops, -32 to 32: one more is twice as bright [default: the
    /// scene's]
    #[arg(long, value_name = "STOPS", value_parser = exposure, allow_negative_numbers = true,
        help_heading = "Output")]
    exposure: Option<f32>,

    /// Tone curve of the window and the PNG: how what is brighter than the screen is shown [default: the
    /// scene's]
    #[arg(long, value_name = "CURVE", value_parser = tone(), help_heading = "Output")]
    tone: Option<Tone>,
}

impl LookArguments {
    /// What is not said is as in `own`.
    pub(super) fn look(&self, own: Look) -> Look {
        Look {
            exposure_stops: self.exposure.unwrap_or(own.exposure_stops),
            tone: self.tone.unwrap_or(own.tone),
            overlay: self.overlay,
            denoise: own.denoise,
        }
    }

    /// An EXR takes no look.
    pub(super) fn check(&self, output: &Path) -> Result<(), Error> {
        let given = match self {
            _ if PictureFormat::of(output) != Some(PictureFormat::Exr) => return Ok(()),
            LookArguments { overlay: true, .. } => "--overlay",
            LookArguments {
                exposure: Some(_), ..
            } => "--exposure",
            LookArguments { tone: Some(_), .. } => "--tone",
            _ => return Ok(()),
        };
        Err(Error::Usage(format!(
            "{given} is for a .png, and {} holds the light as it is; leave it out or name a .png",
            output.display()
        )))
    }
}

/// The files that a render is to leave.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    /// Written by a render without a window.
    pub(crate) picture: PathBuf,
    pub(crate) stats: Option<PathBuf>,
    pub(crate) look: Look,
    pub(crate) sight: Sight,
}

impl Outputs {
    /// Finds before the render what would keep the picture from being written after it.
    pub(crate) fn check_picture(&self) -> Result<(), Error> {
        output::check_place(&self.picture)
    }

    /// Finds before the render what would keep the statistics from being written after it.
    pub(crate) fn check_stats(&self) -> Result<(), Error> {
        self.stats.as_deref().map_or(Ok(()), output::check_place)
    }

    /// Finds before the render that the picture would take the place of what the scene is made of.
    pub(crate) fn check_apart(&self, scene: &Scene) -> Result<(), Error> {
        output::check_apart(&self.picture, scene)
    }
}
