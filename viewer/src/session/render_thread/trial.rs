//! Measures compaction strategies after the end of a render, so that strategies can be compared although there are no
//! samples left. The film is set aside meanwhile, and restored to the bit.

use std::{collections::VecDeque, sync::Arc};

use compaction::select::Strategy;

use super::{RenderEvent, RenderThreadState};
use crate::Error;
use raysieve::{
    film::picture::Picture,
    render::{part::Part, stats::Stats},
    stages::Preview,
};

/// A measurement of strategies in progress.
pub(super) struct Trial {
    /// The complete film.
    film: Part,
    /// Strategies to measure, beginning with the one that is being measured. Empty only once all are measured.
    strategies: VecDeque<Strategy>,
    /// Strategy that was chosen last, which stays selected after the measurement.
    chosen: Strategy,
    /// Picture of the complete film, which is displayed meanwhile.
    pub(super) picture: Arc<Picture>,
    /// Sample count of each pixel of the complete film; `None` unless frames contain sample counts.
    pub(super) counts: Option<Vec<u32>>,
    /// Denoised version of `picture`; `None` without denoising.
    pub(super) preview: Option<Arc<Preview>>,
}

impl Trial {
    /// Returns the complete film.
    pub(super) fn film(&self) -> &Part {
        &self.film
    }

    /// Returns the strategy that stays selected after the measurement.
    pub(super) fn chosen(&self) -> Strategy {
        self.chosen
    }
}

impl<T: Fn(RenderEvent)> RenderThreadState<T> {
    /// Measures those of `previous`, the strategy in use before, and `strategy` that have too few intervals for a
    /// comparison. Does nothing if both have enough. If a measurement is in progress, adds `strategy` to its end
    /// instead.
    ///
    /// If the film cannot be copied, displays a problem and measures nothing.
    ///
    /// # Errors
    /// If the render fails, for example because all GPUs have failed.
    pub(super) fn begin_trial(
        &mut self,
        previous: Strategy,
        strategy: Strategy,
    ) -> Result<(), Error> {
        if let Some(trial) = &mut self.trial {
            trial.strategies.push_back(strategy);
            trial.chosen = strategy;
            return Ok(());
        }
        let wanted: VecDeque<_> = [previous, strategy]
            .into_iter()
            .filter(|strategy| !self.recorder.is_measured(strategy.name()))
            .collect();
        let Some(&first) = wanted.front() else {
            return Ok(());
        };
        let film = match self.renderer.part() {
            Ok(film) => film,
            Err(error) if self.renderer.all_gpus_failed() => return Err(error.into()),
            Err(error) => {
                // Memory for a copy of the film may be lacking.
                let problem = format!("cannot compare strategies: {error}");
                (self.publisher.events.0)(RenderEvent::Problem(problem));
                return Ok(());
            }
        };
        self.trial = Some(Trial {
            picture: self.picture()?,
            counts: self.sample_counts()?,
            preview: self.denoised(),
            film,
            strategies: wanted,
            chosen: strategy,
        });
        self.measure(first)
    }

    /// Renders the film from the beginning with this strategy.
    fn measure(&mut self, strategy: Strategy) -> Result<(), Error> {
        self.select_strategy(strategy)?;
        self.renderer.restart()?;
        self.recorder.continue_film();
        Ok(())
    }

    /// Begins a measurement if the strategy was changed so late that the complete render leaves too few intervals for a
    /// comparison. Does nothing for a preview or a region.
    fn begin_missing_trial(&mut self) -> Result<(), Error> {
        if self.preview_of.is_some() || self.region.is_begun() {
            return Ok(());
        }
        let now = &self.stats.compaction;
        let previous = self.recorder.strategy_before(now).map(str::parse);
        match (previous, now.parse()) {
            (Some(Ok(previous)), Ok(now)) => self.begin_trial(previous, now),
            _ => Ok(()),
        }
    }

    /// Continues the measurement, if one is in progress, after some waves. Starts the film again if they have completed
    /// it (`is_complete`). Measures the next strategy once this one has enough intervals, and ends the measurement
    /// after the last. Begins a measurement if the film is complete and a comparison lacks intervals.
    pub(super) fn continue_trial(&mut self, is_complete: bool) -> Result<(), Error> {
        let Some(trial) = &mut self.trial else {
            return match is_complete {
                true => self.begin_missing_trial(),
                false => Ok(()),
            };
        };
        if !self.recorder.is_measured(&self.stats.compaction) {
            if is_complete {
                self.renderer.restart()?;
                self.recorder.continue_film();
            }
            return Ok(());
        }
        trial.strategies.pop_front();
        match trial.strategies.front().copied() {
            Some(next) => self.measure(next),
            None => self.end_trial(),
        }
    }

    /// Ends the measurement, if one is in progress. Selects the strategy that was chosen last, and restores the complete
    /// film.
    ///
    /// # Errors
    /// If the render fails. If all GPUs have failed, the renderer's safe film is then the complete one.
    pub(super) fn end_trial(&mut self) -> Result<(), Error> {
        let Some(trial) = self.trial.take() else {
            return Ok(());
        };
        // All three also after an error: if all GPUs have failed, the complete film is the one to save.
        let selected = self.select_strategy(trial.chosen);
        let restarted = self.renderer.restart();
        let resumed = self.renderer.resume(&trial.film);
        selected?;
        restarted.and(resumed)?;
        self.stats = self.renderer.stats();
        self.recorder.continue_film();
        self.recorder.skip(&self.stats);
        Ok(())
    }

    /// Returns the statistics to display: those of the film. During a measurement, returns those of the complete film,
    /// but with the compaction strategy that is being measured.
    pub(super) fn displayed_stats(&self) -> Stats {
        match &self.trial {
            Some(trial) => Stats {
                compaction: self.stats.compaction.clone(),
                ..trial.film.header.stats.clone()
            },
            None => self.stats.clone(),
        }
    }
}
