//! The picture denoised by Open Image Denoise.

use super::derived_image::{AovCache, DerivedImageRequest};
use raysieve::{
    film::picture::transparency::to_rgba8,
    inspect::debug_view::{DebugImage, DebugView, Legend},
    render::oidn::{GUIDES, Oidn},
    stages::Preview,
};

/// Denoises pictures, and keeps what the next picture may need again.
pub(super) struct OidnImages {
    oidn: Oidn,
    /// Albedo, normal and alpha of the view.
    guides: AovCache,
    /// The last denoised picture, and the progress of the picture.
    denoised: Option<((u64, f64), Preview)>,
}

impl OidnImages {
    /// Creates a denoiser that has seen no picture.
    pub(super) fn new(oidn: Oidn) -> Self {
        Self {
            oidn,
            guides: AovCache::new(&GUIDES),
            denoised: None,
        }
    }

    /// Returns the denoised picture as an image. Denoises only if the picture is another one than the last, and not if
    /// only exposure or tone curve have changed.
    ///
    /// # Errors
    /// A message on one line if the first hits cannot be traced, or if the program of Open Image Denoise fails.
    pub(super) fn image(&mut self, request: &DerivedImageRequest) -> Result<DebugImage, String> {
        let guides = self.guides.of(&request.view)?;
        let denoised = match self.denoised.take() {
            Some((progress, denoised)) if progress == request.progress => denoised,
            _ => {
                let denoised = self.oidn.denoise(&request.picture, guides);
                denoised.map_err(|error| error.line())?
            }
        };
        let (picture, look) = (&denoised.picture, request.look);
        let rgba = to_rgba8(picture, guides.alpha(), look.exposure_stops, look.tone);
        let image = DebugImage {
            debug_view: DebugView::Light,
            size: (request.picture.width, request.picture.height),
            rgba,
            legend: Legend {
                title: "denoised by Open Image Denoise".to_owned(),
                bar: Vec::new(),
                ticks: Vec::new(),
                note: format!(
                    "{} samples, {:.1} s",
                    request.samples,
                    denoised.milliseconds / 1e3
                ),
            },
        };
        self.denoised = Some((request.progress, denoised));
        Ok(image)
    }
}
