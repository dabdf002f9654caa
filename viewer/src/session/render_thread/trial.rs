//! Measures compaction strategies after the end of a render, so that strategies can be compared although there are no
//! samples left. The film is set aside meanwhile, and restored to the bit.

use std::{collections::VecDeque, sync::Arc};

use compaction::select::Strategy;

use super::{RenderEvent, RenderThreadState};
use crate::Error;
use raysieve::{
    picture::Picture,
    render::{part::Part, stats::Stats},
    stages::Preview,
};

/// A measurement of strategies in progress.
pub(super) struct Trial {
    /// The complete film.
    film: Part,
    /// Strategies that are still to be measured, the one in use first; never empty.
    strategies: VecDeque<Strategy>,
    /// The complete picture, its sample counts, and its denoised version, which are displayed meanwhile.
    pub(super) picture: Arc<Picture>,
    pub(super) counts: Option<Vec<u32>>,
    pub(super) preview: Option<Arc<Preview>>,
}

impl<T: Fn(RenderEvent)> RenderThreadState<T> {
    /// Measures `strategy` from now on, after those that are being measured. Before the first, also measures
    /// `previous`, the strategy in use, if it has too few intervals for a comparison. Does nothing if `strategy` has
    /// enough.
    pub(super) fn begin_trial(
        &mut self,
        previous: Strategy,
        strategy: Strategy,
    ) -> Result<(), Error> {
        if let Some(trial) = &mut self.trial {
            trial.strategies.push_back(strategy);
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
        });
        self.measure(first)
    }

    /// Renders the film from the beginning with this strategy.
    fn measure(&mut self, strategy: Strategy) -> Result<(), Error> {
        self.select_strategy(strategy);
        self.renderer.restart()?;
        self.recorder.continue_film();
        Ok(())
    }

    /// Continues the measurement after some waves, which may have completed the film again. Ends it once all strategies
    /// have enough intervals.
    pub(super) fn continue_trial(&mut self, is_complete: bool) -> Result<(), Error> {
        let Some(trial) = &mut self.trial else {
            return Ok(());
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

    /// Ends the measurement, if one is in progress: restores the complete film, and selects the strategy that was
    /// requested last.
    pub(super) fn end_trial(&mut self) -> Result<(), Error> {
        let Some(trial) = self.trial.take() else {
            return Ok(());
        };
        if let Some(&last) = trial.strategies.back() {
            self.select_strategy(last);
        }
        self.renderer.restart()?;
        self.renderer.resume(&trial.film)?;
        self.stats = self.renderer.stats();
        self.recorder.continue_film();
        self.recorder.skip(&self.stats);
        Ok(())
    }

    /// Returns the statistics to display: those of the film, and those of the complete film during a measurement.
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
