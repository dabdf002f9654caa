//! A copy of the film that is requested from the render thread, to save it.

use std::{
    path::Path,
    sync::mpsc::{Receiver, Sender},
};

use super::inspection_scene::SceneView;
use crate::Error;
use raysieve::{
    inspect::aovs::Aov,
    render::{
        output::{self, Look},
        part::Part,
        region::Region,
    },
    stages::Preview,
};

/// Additional layers of a saved film. Alpha is added for scenes with a transparent background.
const LAYERS: [Aov; 5] = [
    Aov::Albedo,
    Aov::Normal,
    Aov::Depth,
    Aov::Samples,
    Aov::Denoised,
];

/// A copy of the film, as the render thread returns it.
pub(crate) struct FilmCopy {
    /// The view that was rendered.
    pub(super) view: SceneView,
    /// Film with the samples rendered so far, and its header.
    pub(super) part: Part,
    /// Region to which the render is restricted; `None` for the whole picture.
    pub(super) region: Option<Region>,
    /// Denoised picture; `None` if the noise is unknown, denoising failed, or compaction strategies are being measured.
    pub(super) preview: Option<Preview>,
}

/// A request for the film, for the render thread. The requester notices if it is dropped without an answer.
pub(crate) type FilmRequest = Sender<FilmCopy>;

/// A film that was requested from the render thread.
pub(crate) struct RequestedFilm(pub(crate) Receiver<FilmCopy>);

impl RequestedFilm {
    /// Waits for the film, and writes it as an EXR with all layers. The first hits of the camera rays are traced for
    /// them. While a region is rendered, the file contains that region, as with `--crop`.
    ///
    /// # Errors
    /// If the render has ended, or the file cannot be written.
    pub(crate) fn write(self, path: &Path) -> Result<(), Error> {
        let copy = self.0.recv();
        let copy = copy.map_err(|_| Error::not_saved(path, "the render has ended"))?;
        let mut aovs = copy.view.trace(&LAYERS)?;
        aovs.set_preview(copy.preview);
        match copy.region {
            Some(region) => {
                aovs.requested.retain(|&aov| aov != Aov::Denoised);
                output::write_region(path, &copy.part, region, Look::default(), &aovs)?;
            }
            None => output::write_picture(path, &copy.part, Look::default(), &aovs, &|_, _| ())?,
        }
        Ok(())
    }
}
