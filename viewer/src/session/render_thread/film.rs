//! Answers requests for a copy of the film.

use std::{iter, mem};

use super::{RenderEvent, RenderThreadState};
use crate::{Error, session::film::FilmCopy};

impl<T: Fn(RenderEvent)> RenderThreadState<T> {
    /// Sends a copy of the film to all who wait for it, once every pixel of the requested picture has a sample. During
    /// a measurement of strategies, that is the complete film. If the film cannot be copied, displays a problem.
    ///
    /// # Errors
    /// If the render fails, for example because all GPUs have failed.
    pub(super) fn answer_film_requests(&mut self) -> Result<(), Error> {
        let is_ready = self.trial.is_some() || self.preview_of.is_none() && self.stats.spp > 0;
        if !is_ready || self.films.is_empty() {
            return Ok(());
        }
        let mut requests = mem::take(&mut self.films).into_iter();
        while let Some(request) = requests.next() {
            let part = match &self.trial {
                Some(trial) => trial.film().clone(),
                None => match self.renderer.part() {
                    Ok(part) => part,
                    Err(error) if self.renderer.all_gpus_failed() => {
                        // The CPU may continue the render, and answer them.
                        self.films = iter::once(request).chain(requests).collect();
                        return Err(error.into());
                    }
                    Err(error) => {
                        // Memory for a copy of the film may be lacking.
                        let problem = format!("cannot save the film: {error}");
                        (self.publisher.events.0)(RenderEvent::Problem(problem));
                        continue;
                    }
                },
            };
            let preview = match self.trial {
                None => self.renderer.preview().unwrap_or_default(),
                Some(_) => None,
            };
            let copy = FilmCopy {
                inspection_scene: self.inspection_scene.clone(),
                part,
                camera: self.renderer.camera(),
                region: self.region.begun(),
                preview,
            };
            // The requester may have gone.
            let _ = request.send(copy);
        }
        Ok(())
    }
}
