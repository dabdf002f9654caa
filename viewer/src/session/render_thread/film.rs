//! Answers requests for a copy of the film, and continues it on the CPU after all GPUs have failed.

use std::{iter, mem};

use super::RenderThreadState;
use crate::{
    Error,
    session::{events::SessionEvent, inspection_scene::SceneView, requested_film::FilmCopy},
};
use raysieve::stages::Preview;

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
