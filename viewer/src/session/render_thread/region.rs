//! Renders only a region of the picture. The film of the whole picture is set aside meanwhile, and continued
//! afterwards.

use std::sync::Arc;

use super::{RenderThreadState, STILL};
use crate::Error;
use raysieve::{
    film::picture::Picture,
    render::{part::Part, region::Region},
    stages::Preview,
};

/// The render of a region: the region that is wanted, and what was rendered before it.
#[derive(Default)]
pub(super) struct RegionRender {
    /// Region to render; `None` for the whole picture.
    pub(super) wanted: Option<Region>,
    /// Whether the user has just asked for the region, so that it is begun without waiting for a still view.
    is_new: bool,
    /// Render of the whole picture, while the region is rendered; `None` until every pixel has a sample.
    whole: Option<Whole>,
}

/// The render of the whole picture before its region was begun.
struct Whole {
    film: Part,
    picture: Arc<Picture>,
    /// Denoised version of `picture`; `None` without denoising.
    preview: Option<Arc<Preview>>,
    /// Number of samples that every pixel had.
    samples: u32,
}

impl RegionRender {
    /// Returns whether the film contains only the region.
    pub(super) fn is_begun(&self) -> bool {
        self.whole.is_some()
    }

    /// Returns the region if the film contains only that region, and `None` if it contains the whole picture.
    pub(super) fn begun(&self) -> Option<Region> {
        self.wanted.filter(|_| self.is_begun())
    }

    /// Completes a picture of the film, in which every pixel of the region has this number of samples. Other pixels,
    /// and those of the region until they have as many samples as before, come from the picture before the region.
    pub(super) fn complete(&self, picture: &mut Picture, samples: u32) {
        let Some((region, whole)) = self.wanted.zip(self.whole.as_ref()) else {
            return;
        };
        if picture.pixels.len() != whole.picture.pixels.len() {
            return;
        }
        let (left, right) = (region.x as usize, (region.x + region.width) as usize);
        let rows = region.y as usize..(region.y + region.height) as usize;
        let width = (picture.width as usize).max(1);
        let lines = picture.pixels.chunks_exact_mut(width);
        let before = whole.picture.pixels.chunks_exact(width);
        for (row, (line, before)) in lines.zip(before).enumerate() {
            if !rows.contains(&row) || samples < whole.samples {
                line.copy_from_slice(before);
            } else {
                line[..left].copy_from_slice(&before[..left]);
                line[right..].copy_from_slice(&before[right..]);
            }
        }
    }
}

impl RenderThreadState {
    /// Renders only this region from now on, once every pixel of the picture has a sample; `None` continues the whole
    /// picture.
    pub(super) fn set_region(&mut self, region: Option<Region>) -> Result<(), Error> {
        self.end_comparison()?;
        self.end_region()?;
        self.region.wanted = region;
        self.region.is_new = true;
        Ok(())
    }

    /// Returns whether a region is wanted and the film of the whole picture can be set aside for it: every pixel has a
    /// sample, and the view is still.
    pub(super) fn can_begin_region(&self) -> bool {
        let is_wanted = self.region.wanted.is_some() && !self.region.is_begun();
        let has_film = self.comparison.is_none() && self.preview_of.is_none() && self.stats.spp > 0;
        is_wanted && has_film && (self.region.is_new || self.done || self.moved.elapsed() >= STILL)
    }

    /// Sets the film of the whole picture aside, and begins the wanted region with its first sample. If that is not
    /// possible, displays a problem and continues the whole picture.
    pub(super) fn begin_region(&mut self) -> Result<(), Error> {
        let (picture, preview, samples) = (self.picture()?, self.denoised(), self.stats.spp);
        self.kept_preview = None;
        let begun = self.renderer.part().and_then(|film| {
            // Before the region begins: if all GPUs fail then, this film is the one to save.
            self.region.whole = Some(Whole {
                film,
                picture,
                preview,
                samples,
            });
            self.renderer.set_region(self.region.wanted)
        });
        // The region may be outside a smaller picture.
        let begun = self.unless_fatal(begun, "cannot render a region")?;
        if begun.is_none() {
            (self.region.wanted, self.region.whole) = (None, None);
            return Ok(());
        }
        self.region.is_new = false;
        self.stats = self.renderer.stats();
        self.recorder.begin_film(true);
        self.done = false;
        Ok(())
    }

    /// Continues the film of the whole picture if a region has been rendered. The field `wanted` is unchanged, so that
    /// the region is rendered again unless the caller replaces it.
    ///
    /// # Errors
    /// If the render fails. If all GPUs have failed, the renderer's safe film is then that of the whole picture.
    pub(super) fn end_region(&mut self) -> Result<(), Error> {
        let Some(whole) = self.region.whole.take() else {
            return Ok(());
        };
        // Also after an error: if all GPUs have failed, the film of the whole picture is the one to save.
        let restarted = self.renderer.set_region(None);
        restarted.and(self.renderer.resume(&whole.film))?;
        self.stats = self.renderer.stats();
        self.recorder.begin_film(true);
        self.recorder.skip(&self.stats);
        self.kept_preview = whole.preview.map(|preview| (self.stats.paths, preview));
        self.region.is_new = true;
        self.done = false;
        Ok(())
    }

    /// Discards the film of the whole picture if a region has been rendered, because the view has changed. The region
    /// is begun again once every pixel of the new view has a sample.
    pub(super) fn leave_region(&mut self) -> Result<(), Error> {
        self.region.is_new = false;
        if self.region.whole.take().is_some() {
            self.renderer.set_region(None)?;
        }
        Ok(())
    }
}
