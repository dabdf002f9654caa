//! Options of the output files, and of the conversion of the film to the colors of a PNG.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::error::Error;
use clap::{Args, ValueEnum};
use raysieve::{
    film::picture::{comparison::ComparisonImage, tone::Tone},
    inspect::debug_view::DebugView,
    render::{
        oidn::Oidn,
        output::{self, Look, PictureFormat},
        region::Region,
    },
};
use raysieve_scene::{Scene, atomic_file};

use super::values::{exposure, figures_path, tone};

/// Options for the conversion of linear radiance to the colors of a PNG, a window or a page, and for the overlay of a
/// PNG.
#[derive(Args, Clone, Debug)]
pub(super) struct LookArguments {
    /// Draw the statistics on the PNG
    #[arg(long, help_heading = "Output")]
    pub(super) overlay: bool,

    /// Write the figures that --overlay draws to this .csv or .json file: for each bounce rays, times and busy threads,
    /// with the spread of the times [default: no file]
    #[arg(long, value_name = "FILE", value_parser = figures_path(), help_heading = "Output")]
    pub(super) figures: Option<PathBuf>,

    /// Exposure of the window, the page and the PNG in stops, -32 to 32; one more stop doubles the brightness [default:
    /// the scene's; 0 for merge]
    #[arg(long, value_name = "STOPS", value_parser = exposure,
        help_heading = "Output")]
    exposure: Option<f32>,

    /// Tone curve of the window, the page and the PNG, which maps radiance to the range of a display [default: the
    /// scene's; srgb for merge]
    #[arg(long, value_name = "CURVE", value_parser = tone(), help_heading = "Output")]
    tone: Option<Tone>,
}

impl LookArguments {
    /// Returns the look that the options select. Denoising, and an exposure or tone curve that is not given, come from
    /// `own`. The overlay comes from `--overlay` alone.
    pub(super) fn look(&self, own: Look) -> Look {
        Look {
            exposure_stops: self.exposure.unwrap_or(own.exposure_stops),
            tone: self.tone.unwrap_or(own.tone),
            overlay: self.overlay,
            denoise: own.denoise,
        }
    }

    /// Returns [`Error::Usage`] if `output` is an .exr and `--overlay`, `--exposure` or `--tone` is given. These
    /// options apply only to a .png, because an .exr contains linear radiance.
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
            "{given} needs a .png, and {} contains linear radiance; omit it or name a .png",
            output.display()
        )))
    }
}

/// A denoiser of `--denoise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Denoiser {
    /// The denoiser of this program: averages neighboring pixels that agree within their noise
    Own,
    /// Open Image Denoise by Intel
    Oidn,
}

impl Denoiser {
    /// Name of [`Denoiser::Oidn`] on the command line.
    pub(crate) const OIDN: &str = "oidn";
}

/// The files that a command writes, and the look of the image if it is a PNG.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    /// Path of the image. A run with a page writes the image only with `--output`, and a run with an open window never.
    /// If all of several GPUs fail, a part is saved in the same folder.
    pub(crate) picture: PathBuf,
    /// Path of the statistics file in JSON, or `None` to write none.
    pub(crate) stats: Option<PathBuf>,
    /// Path of the file with the figures of the overlay, `.csv` or `.json`, or `None` to write none.
    pub(crate) figures: Option<PathBuf>,
    /// Exposure, tone curve, overlay and denoising of a PNG. An EXR ignores them.
    pub(crate) look: Look,
    /// The debug view to write to a PNG instead of the rendered image. [`DebugView::Light`] selects the rendered image.
    pub(crate) debug_view: DebugView,
    /// The region of `--crop`, to which the image is restricted. `None` for the whole image.
    pub(crate) region: Option<Region>,
    /// The image of `--compare`, with which the rendered image is compared. `None` also until it is read.
    pub(crate) compared: Option<Arc<ComparisonImage>>,
    /// The program that denoises the image, with `--denoise oidn`. `None` also until it is found.
    pub(crate) oidn: Option<Oidn>,
    /// Whether a render prints its table to the standard output. The frames of a sequence do not.
    pub(crate) prints_table: bool,
    /// Whether an earlier frame of a sequence has said whether its files contain a denoised image.
    pub(crate) has_said_denoised: bool,
}

impl Outputs {
    /// Returns the files of a frame of a sequence: the same with the number of the frame before the extension, such as
    /// `fox.0012.png`. The number has at least four digits.
    pub(crate) fn of_frame(&self, number: u32) -> Outputs {
        let numbered = |path: &Path| {
            let extension = path.extension().unwrap_or_default().to_owned();
            let stem = path.with_extension("");
            let mut name = stem.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{number:04}."));
            name.push(extension);
            path.with_file_name(name)
        };
        Outputs {
            picture: numbered(&self.picture),
            stats: self.stats.as_deref().map(numbered),
            figures: self.figures.as_deref().map(numbered),
            ..self.clone()
        }
    }

    /// Returns an error if no file could be written at the image's path, for example because the folder does not exist.
    ///
    /// A long render should call this before its start. Also removes temporary files that killed processes left for
    /// this path. The file's extension is not checked here, but when the command line is parsed.
    pub(crate) fn check_picture(&self) -> Result<(), Error> {
        Ok(atomic_file::check_place(&self.picture)?)
    }

    /// Returns an error if no file could be written at the paths of the statistics and the figures. A long render should
    /// call this before its start.
    pub(crate) fn check_stats(&self) -> Result<(), Error> {
        for path in [&self.stats, &self.figures].into_iter().flatten() {
            atomic_file::check_place(path)?;
        }
        Ok(())
    }

    /// Returns an error if the image would overwrite the scene file or another file that the scene was read from.
    pub(crate) fn check_apart(&self, scene: &Scene) -> Result<(), Error> {
        Ok(output::check_apart(&self.picture, scene)?)
    }
}
