//! Answers requests for a copy of the film, and continues it on the CPU after all GPUs have failed.

use std::{
    iter, mem,
    path::Path,
    sync::mpsc::{Receiver, Sender},
};

use super::RenderThreadState;
use crate::{
    Error,
    session::{controller::SessionEvent, inspection::SceneView},
};
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
        let copy = self.0.recv().map_err(|_| Error::Write {
            path: path.to_owned(),
            problem: "not saved: the render has ended".to_owned(),
        })?;
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

impl RenderThreadState {
    /// Sends a copy of the film to all who wait for it, once every pixel of the requested picture has a sample. During
    /// a comparison of strategies, that is the film that is set aside. If the film cannot be copied, displays a problem.
    pub(super) fn answer_film_requests(&mut self) -> Result<(), Error> {
        let is_ready = self.comparison.is_some() || self.preview_of.is_none() && self.stats.spp > 0;
        if !is_ready || self.films.is_empty() {
            return Ok(());
        }
        let mut requests = mem::take(&mut self.films).into_iter();
        while let Some(request) = requests.next() {
            let part = match &self.comparison {
                Some(running) => running.film.clone(),
                None => {
                    let part = self.renderer.part();
                    match self.unless_fatal(part, "cannot save the film") {
                        Ok(Some(part)) => part,
                        Ok(None) => continue,
                        Err(error) => {
                            // The CPU may continue the render, and answer them.
                            self.films = iter::once(request).chain(requests).collect();
                            return Err(error);
                        }
                    }
                }
            };
            let preview = match &self.comparison {
                None => self.film_preview(),
                Some(running) => running.preview.as_deref().cloned(),
            };
            let copy = FilmCopy {
                view: SceneView {
                    inspection_scene: self.inspection_scene.clone(),
                    camera: self.renderer.camera(),
                    size: part.header.identity.size,
                },
                part,
                region: self.region.begun(),
                preview,
            };
            // The requester may have gone.
            let _ = request.send(copy);
        }
        Ok(())
    }

    /// Returns the denoised picture of the film; `None` if the noise is unknown or denoising failed.
    fn film_preview(&mut self) -> Option<Preview> {
        let made = self.renderer.preview().unwrap_or_default();
        made.or_else(|| {
            let kept = self.kept_preview.as_ref();
            let kept = kept.filter(|(paths, _)| *paths == self.stats.paths);
            kept.map(|(_, preview)| Preview::clone(preview))
        })
    }

    /// Continues the render on the CPU after all GPUs have failed with `error`, and displays that. The film of the whole
    /// picture continues if a region was rendered, and the one that was set aside if strategies were compared.
    ///
    /// # Errors
    /// `error` if it is another failure, if the user has chosen the GPUs, or if the CPU lacks memory.
    pub(super) fn continue_on_cpu(&mut self, error: Error) -> Result<(), Error> {
        let Error::Render(failure) = error else {
            return Err(error);
        };
        if !self.may_use_cpu || !self.renderer.all_gpus_failed() {
            return Err(failure.into());
        }
        let strategy = self.comparison.as_ref().map(|running| running.chosen);
        // Both fail, because no GPU works, but choose the film that continues.
        let _ = self.end_comparison().and(self.end_region());
        let scene = &self.inspection_scene.scene;
        match self.renderer.continue_on_cpu(&failure, scene) {
            Ok(on_cpu) => *self.renderer = on_cpu,
            Err(why) => {
                let problem = format!("the CPU cannot continue: {why}");
                self.publisher.events.problem(problem);
                return Err(failure.into());
            }
        }
        if let Some(strategy) = strategy {
            self.select_strategy(strategy)?;
        }
        self.stats = self.renderer.stats();
        self.recorder.begin_film(true);
        self.recorder.skip(&self.stats);
        self.publisher.pacing.record_view_change();
        self.speed = 0.0;
        self.done = false;
        self.report_notes();
        self.publisher.events.to_session(SessionEvent::GpusFailed);
        Ok(())
    }
}
