//! The picture as window and page save it: as a PNG in its own size, with alpha, and never denoised by `--denoise`.

use std::{path::Path, sync::Arc};

use crate::{
    Error,
    overlay::{Detail, Figures, Overlay, Units, scale_for},
    session::{DisplayFrame, SceneView, Session, State},
};
use raysieve::{
    inspect::debug_view::DebugImage,
    render::output::{self, Look},
};

/// The displayed picture or debug image, to save it.
pub(crate) struct SavedPicture {
    frame: DisplayFrame,
    /// Debug image that is saved instead of the picture; `None` for the picture.
    debug_image: Option<Arc<DebugImage>>,
    look: Look,
    /// The view of the frame if its background is transparent, to trace alpha; otherwise `None`.
    transparent_view: Option<SceneView>,
    /// Units of the statistics that are drawn over the picture; `None` draws none.
    units: Option<Units>,
}

impl SavedPicture {
    /// Creates a copy of a frame of the session, or of the debug image that is displayed instead of it. Statistics in
    /// `units` are drawn over it; `None` draws none.
    pub(crate) fn new(
        session: &Session,
        frame: DisplayFrame,
        debug_image: Option<Arc<DebugImage>>,
        units: Option<Units>,
    ) -> Self {
        Self {
            look: Look {
                denoise: false,
                ..session.look
            },
            transparent_view: frame.transparent_view(),
            debug_image,
            frame,
            units,
        }
    }

    pub(crate) fn scene(&self) -> &Path {
        &self.frame.scene().path
    }

    /// Encodes the picture as a PNG, or the debug image with its legend. If the background is transparent, the PNG has
    /// alpha like that of a headless render, unless there are statistics. Camera rays are traced for it.
    ///
    /// # Errors
    /// If alpha cannot be traced, or [`Error::Write`] with the path of the scene if the PNG cannot be encoded.
    pub(crate) fn png(&self, compression: png::Compression) -> Result<Vec<u8>, Error> {
        let DisplayFrame { picture, stats, .. } = &self.frame;
        let mut png = Vec::new();
        let encoded = if self.units.is_none() && self.debug_image.is_none() {
            let view = self.transparent_view.as_ref();
            let alpha = view.map(SceneView::alpha).transpose()?;
            let alpha = alpha.as_deref();
            output::encode_picture(&mut png, picture, alpha, stats, self.look, compression)
        } else {
            output::encode_png(&mut png, &self.annotated(), stats, compression)
        };
        encoded.map_err(|error| Error::Write {
            path: stats.scene.clone().into(),
            problem: format!("cannot encode the picture: {error}"),
        })?;
        Ok(png)
    }

    /// Returns the picture or, if there is one, the debug image with its legend, below the statistics if there are any.
    fn annotated(&self) -> output::DisplayImage {
        let mut image = match self.debug_image.as_deref() {
            Some(debug_image) => debug_image.to_image(),
            None => self.frame.to_image(self.look, None, None),
        };
        let size = image.size;
        let mut overlay = Overlay::new(scale_for(size.0, size.1));
        if let Some(units) = self.units {
            let figures = Figures {
                size,
                state: State::Done,
                detail: Detail::for_picture(size),
                ..Figures::of(&self.frame, &self.frame.stats, units)
            };
            overlay.draw_stats(&mut image.rgba, size, &figures);
        }
        if let Some(debug_image) = &self.debug_image {
            overlay.draw_legend(&mut image.rgba, size, &debug_image.legend);
        }
        image
    }
}
