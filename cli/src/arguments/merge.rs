//! The command line of `raysieve merge`.

use std::{ops::Range, path::PathBuf};

use crate::error::Error;
use clap::Args;
use raysieve::{
    inspect::debug_view::DebugView,
    render::{
        output::Look,
        part::{SamplePosition, Samples},
    },
};

use super::{
    output::{LookArguments, Outputs},
    scene::{closed_sample_range, samples_between},
    values::{part_path, picture_path, scene_hash, stats_path},
};

/// Merges parts of a render; the result is identical to that of a single render
///
/// A part is any .exr that raysieve wrote: a render, also an interrupted one, a checkpoint, or a merged file. A render
/// with --noise cannot be merged with others.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve merge PART... -o FILE [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve scenes/cornell.ron --samples 0..32 -o a.exr
  raysieve scenes/cornell.ron --samples 32..64 -o b.exr
  raysieve merge a.exr b.exr -o box.exr
          renders 64 samples per pixel in two parts, for example on two machines, and merges them
  raysieve merge box.exr -o box.png --exposure 1
          converts it to a PNG"
)]
pub(crate) struct Merge {
    /// Parts to merge, .exr files of the same render
    #[arg(value_name = "PART", value_parser = part_path(), required = true)]
    pub(crate) parts: Vec<PathBuf>,

    /// File to write: .exr (again a part) or .png (8-bit sRGB)
    #[arg(short, long, value_name = "FILE", value_parser = picture_path())]
    pub(crate) output: PathBuf,

    /// Allow missing samples between the parts
    #[arg(long)]
    pub(crate) allow_gaps: bool,

    /// Samples that the parts must contain together, no fewer and no more, such as 0..64 [default: any]
    #[arg(long, value_name = "A..B", value_parser = closed_sample_range, allow_hyphen_values = true,
        conflicts_with = "allow_gaps")]
    samples: Option<Range<SamplePosition>>,

    /// Refuse parts whose scene does not have this scene_hash [default: that of the first part]
    #[arg(long, value_name = "HASH", value_parser = scene_hash)]
    pub(crate) scene_hash: Option<String>,

    /// Wait, without a limit, until all parts exist and contain the samples of --samples
    #[arg(long, requires = "samples")]
    pub(crate) wait: bool,

    /// Write the statistics of all parts together to this .json file [default: no file]
    #[arg(long, value_name = "FILE", value_parser = stats_path())]
    stats: Option<PathBuf>,

    #[command(flatten)]
    look: LookArguments,
}

impl Merge {
    /// Returns [`Error::Usage`] if `--overlay`, `--exposure` or `--tone` is given and the output file is an .exr.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.look.check(&self.output)
    }

    /// Returns the samples of `--samples` in an image of `pixel_count` pixels, or `None` without the option.
    ///
    /// # Errors
    /// [`Error::Setting`] if the range is empty or out of range.
    pub(crate) fn samples(&self, pixel_count: u32) -> Result<Option<Samples>, Error> {
        let of =
            |range: &Range<SamplePosition>| samples_between(range.start, range.end, pixel_count);
        self.samples.as_ref().map(of).transpose()
    }

    /// Returns the files to write. A PNG has exposure 0 and the tone curve `srgb` unless the command line gives others.
    pub(crate) fn outputs(&self) -> Outputs {
        Outputs {
            region: None,
            compared: None,
            oidn: None,
            prints_table: true,
            has_said_denoised: false,
            picture: self.output.clone(),
            stats: self.stats.clone(),
            figures: self.look.figures.clone(),
            look: self.look.look(Look::default()),
            debug_view: DebugView::Light,
        }
    }
}
