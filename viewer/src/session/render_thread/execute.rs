//! Executes the session's commands on the render thread.

use std::time::Instant;

use compaction::select::Strategy;

use super::RenderThreadState;
use crate::{
    Error,
    session::{
        commands::Commands, events::SessionEvent, noise_history::NoiseHistory,
        path_query::PathQuery, recent_stats::Recorder,
    },
};
use raysieve::render::part::Samples;

impl RenderThreadState {
    /// Executes the commands. Returns whether a frame must be published even if the film does not change, because a
    /// setting of the frames has changed. After an error, `commands` are those that can be executed again.
    pub(super) fn execute(&mut self, commands: &mut Commands) -> Result<bool, Error> {
        let mut changed = false;
        if commands.view.is_some() || commands.restart || commands.samples.is_some() {
            self.end_comparison()?;
        }
        if commands.view.is_some() || commands.restart {
            self.kept_preview = None;
            self.leave_region()?;
            self.noise = NoiseHistory::default();
        }
        if let Some(new) = commands.renderer.take() {
            self.renderer = new.renderer;
            self.renderer.keep_for_previews();
            self.inspection_scene = new.inspection_scene;
            self.samples = new.samples;
            self.stats = self.renderer.stats();
            self.recorder = Recorder::default();
        }
        if let Some((camera, size)) = commands.view {
            let preview = self.preview(size);
            self.preview_of = preview.map(|_| size);
            self.render_in(preview.unwrap_or(size))?;
            self.renderer.set_camera(camera)?;
            self.recorder.begin_film(true);
            self.moved = Instant::now();
        }
        if commands.restart {
            self.renderer.restart()?;
            self.recorder.begin_film(false);
        }
        if commands.view.is_some() || commands.restart {
            self.done = false;
            self.publisher.pacing.record_view_change();
        }
        (commands.view, commands.restart) = (None, false);
        if let Some(counts) = commands.counts {
            changed = self.counts != counts;
            self.counts = counts;
        }
        if let Some(paused) = commands.paused {
            changed |= self.paused != paused;
            self.paused = paused;
            if let Some(running) = &mut self.comparison {
                running.is_paused = paused;
            }
        }
        if let Some(denoises) = commands.denoises {
            changed |= self.denoises != denoises;
            self.denoises = denoises;
        }
        if let Some(strategy) = commands.strategy {
            match &mut self.comparison {
                Some(running) => running.chosen = strategy,
                None => self.select_strategy(strategy)?,
            }
            commands.strategy = None;
            changed = true;
        }
        if commands.compares {
            self.switch_comparison()?;
            commands.compares = false;
            changed = true;
        }
        if let Some(samples) = commands.samples {
            self.add_samples(samples)?;
            commands.samples = None;
            changed = true;
        }
        if let Some(region) = commands.region {
            self.set_region(region)?;
            commands.region = None;
            changed = true;
        }
        self.stats = self.renderer.stats();
        self.films.append(&mut commands.films);
        for wanted in [&mut commands.last_sample, &mut commands.pixel] {
            let sample = match &wanted {
                Some(query) => self.last_sample(query)?,
                None => continue,
            };
            let query = wanted.take().map(|query| PathQuery { sample, ..query });
            if let Some(query) = query {
                self.publisher.events.to_session(SessionEvent::Query(query));
            }
        }
        Ok(changed)
    }

    /// Continues with this compaction strategy. If it is not available on this machine, reports that, and the previous
    /// one stays in use.
    pub(super) fn select_strategy(&mut self, strategy: Strategy) -> Result<(), Error> {
        if let Err(error) = self.renderer.set_strategy(strategy) {
            if self.renderer.all_gpus_failed() {
                return Err(error.into());
            }
            self.publisher.events.problem(error.to_string());
        }
        self.recorder.set_strategy();
        self.stats = self.renderer.stats();
        Ok(())
    }

    /// Continues the render up to this number of samples per pixel, which is larger than before.
    fn add_samples(&mut self, samples: u32) -> Result<(), Error> {
        self.samples = samples;
        match self.renderer.extend_to(samples) {
            Ok(()) => {}
            Err(error) if self.renderer.all_gpus_failed() => return Err(error.into()),
            Err(_) => {
                // The film does not begin with the first sample, so that it cannot be continued.
                let [width, height] = self.stats.size;
                self.end_region()?;
                let samples = Samples::first(samples, width * height);
                self.renderer.set_samples(&samples)?;
                self.noise = NoiseHistory::default();
                self.recorder.begin_film(false);
            }
        }
        self.done = false;
        Ok(())
    }

    /// Returns the number, from 0, of the last sample of the requested pixel; 0 if there is none. While the film has
    /// another size, as for a preview, uses the minimum sample count of its pixels.
    fn last_sample(&mut self, query: &PathQuery) -> Result<u32, Error> {
        let (size, (column, row)) = (query.view.size, query.pixel);
        let is_on_film = self.stats.size == [size.0, size.1] && column < size.0 && row < size.1;
        let samples = match is_on_film {
            true => self.renderer.samples_of(row * size.0 + column)?,
            false => self.stats.spp,
        };
        Ok(samples.saturating_sub(1))
    }
}
