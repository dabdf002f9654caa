//! The command line of `raysieve merge`.

use std::{ops::Range, path::PathBuf};

use clap::Args;
use raysieve::{
    Error,
    output::Look,
    part::{Place, Samples},
    sight::Sight,
};

use super::{
    output::{LookArguments, Outputs},
    scene::samples_between,
    values::{part_path, picture_path, scene_hash, stats_path, whole_range},
};

/// Adds up parts of a render, to the bits of one go
///
/// A part is an .exr that raysieve wrote: a render of some --samples, a render that Ctrl-C ended, a checkpoint, or what
/// was merged before.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "raysieve merge PART... -o FILE [OPTIONS]",
    after_long_help = "\
Examples:
  raysieve scenes/cornell.ron --samples 0..32 -o a.exr
  raysieve scenes/cornell.ron --samples 32..64 -o b.exr
  raysieve merge a.exr b.exr -o box.exr
          renders 64 samples a pixel in two parts, on two machines if you like; box.exr has the bits of one go
  raysieve merge box.exr -o box.png --exposure 1
          shows it as a PNG"
)]
pub(crate) struct Merge {
    /// Parts to add, .exr files of one render
    #[arg(value_name = "PART", value_parser = part_path(), required = true)]
    pub(crate) parts: Vec<PathBuf>,

    /// File to write: .exr (a part again) or .png (8-bit sRGB)
    #[arg(short, long, value_name = "FILE", value_parser = picture_path())]
    pub(crate) output: PathBuf,

    /// Let samples be missing between the parts
    #[arg(long)]
    pub(crate) allow_gaps: bool,

    /// Samples that the parts must be together, no fewer and no more, such as 0..64 [default: what they are]
    #[arg(long, value_name = "A..B", value_parser = whole_range, conflicts_with = "allow_gaps")]
    samples: Option<Range<Place>>,

    /// Merge only parts that show the scene of this scene_hash [default: that of the first]
    #[arg(long, value_name = "HASH", value_parser = scene_hash)]
    pub(crate) scene_hash: Option<String>,

    /// Wait until the parts are there and hold the samples of --samples
    #[arg(long, requires = "samples")]
    pub(crate) wait: bool,

    /// Statistics of all parts together to write, a .json file [default: none]
    #[arg(long, value_name = "FILE", value_parser = stats_path())]
    stats: Option<PathBuf>,

    #[command(flatten)]
    look: LookArguments,
}

impl Merge {
    /// An EXR takes no look.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.look.check(&self.output)
    }

    /// The samples that the parts must be together, of a picture of so many pixels.
    pub(crate) fn samples(&self, pixel_count: u32) -> Result<Option<Samples>, Error> {
        let of = |range: &Range<Place>| samples_between(range.start, range.end, pixel_count);
        self.samples.as_ref().map(of).transpose()
    }

    /// The files to write.
    pub(crate) fn outputs(&self) -> Outputs {
        Outputs {
            picture: self.output.clone(),
            stats: self.stats.clone(),
            look: self.look.look(Look::default()),
            sight: Sight::Light,
        }
    }
}
