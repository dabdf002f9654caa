//! Continues on the CPU after all GPUs have failed.

use super::RenderThreadState;
use crate::{Error, session::controller::SessionEvent};

impl RenderThreadState {
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
