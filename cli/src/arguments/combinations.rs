//! Checks of options that cannot be combined.

use raysieve::{
    inspect::{aovs::Aov, debug_view::DebugView},
    render::output::PictureFormat,
};

use super::{Arguments, Command};
use crate::error::Error;

impl Arguments {
    /// Returns [`Error::Usage`] for combinations of options that clap's attributes cannot rule out.
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_picture =
            self.command.is_none() && self.page.serve.is_none() && self.writes_picture();
        if is_picture && self.denoise.is_some() && self.debug_view != DebugView::Light {
            return Err(Error::Usage(format!(
                "--denoise applies to the rendered image, and --view {} replaces it; omit one of them",
                self.debug_view.name()
            )));
        }
        if self.crop.is_some() && self.layers.contains(&Aov::Denoised) {
            return Err(Error::Usage(
                "--layers denoised needs the whole image; omit it or --crop".to_owned(),
            ));
        }
        if let Some(checkpoint) = &self.checkpoint
            && self.crop.is_some()
            && self.output.as_ref() == Some(checkpoint)
        {
            return Err(Error::Usage(format!(
                "--crop writes an image that is no checkpoint, and {} would be both; name another checkpoint",
                checkpoint.display()
            )));
        }
        match (&self.command, &self.output) {
            (Some(Command::Merge(merge)), _) => merge.check(),
            (None, Some(output)) => {
                self.look.check(output)?;
                if self.denoise.is_some()
                    && PictureFormat::of(output) == Some(PictureFormat::Exr)
                    && !self.layers.contains(&Aov::Denoised)
                {
                    return Err(Error::Usage(format!(
                        "--denoise needs a .png, and {} is never denoised; use --layers denoised to add the denoised \
                         image as a layer, or name a .png",
                        output.display()
                    )));
                }
                if !self.layers.is_empty() && PictureFormat::of(output) == Some(PictureFormat::Png)
                {
                    return Err(Error::Usage(format!(
                        "--layers needs an .exr, and {} cannot contain layers; omit it or name an .exr",
                        output.display()
                    )));
                }
                if self.debug_view != DebugView::Light
                    && PictureFormat::of(output) == Some(PictureFormat::Exr)
                {
                    return Err(Error::Usage(format!(
                        "--view needs a .png, and {} contains the rendered image only; omit it or name a .png",
                        output.display()
                    )));
                }
                Ok(())
            }
            (Some(Command::Farm(farm)), _) => farm.check(),
            _ => Ok(()),
        }
    }
}
