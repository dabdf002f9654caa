//! Compares the compaction strategies: each renders the same samples in turns. The film is set aside meanwhile, and
//! restored to the bit.

use std::{sync::Arc, time::Duration};

use compaction::select::Strategy;

use super::RenderThreadState;
use crate::{
    Error,
    session::strategy_comparison::{ComparisonProgress, Method, Turn, compare},
};
use raysieve::{
    film::picture::Picture,
    render::{
        part::{Part, Samples},
        renderer::SortHits,
        stats::Stats,
    },
    stages::{Preview, wave::Pace},
};

/// A comparison of strategies in progress.
pub(super) struct RunningComparison {
    pub(super) film: Part,
    samples: Samples,
    sort_hits: SortHits,
    /// Strategy that is selected after the comparison.
    pub(super) chosen: Strategy,
    /// Methods to compare, each with its turns so far.
    methods: Vec<(Method, Vec<Turn>)>,
    /// Width and height in pixels of the picture that each turn renders. It is smaller than that of the film if one
    /// sample of every pixel takes too long.
    size: (u32, u32),
    /// Number of samples per pixel that each turn renders.
    turn_samples: u32,
    /// Number of rounds so far, including the one that is not recorded.
    rounds: usize,
    /// Number of turns of the current round that are complete.
    turns: usize,
    /// Number of turns so far, over all rounds.
    number: usize,
    /// Seconds of the turns of the first round, which is not recorded.
    first_seconds: Vec<f64>,
    pub(super) is_paused: bool,
    /// Picture of the film, which is displayed meanwhile.
    pub(super) picture: Arc<Picture>,
    /// Sample count of each pixel of the film; `None` unless frames contain sample counts.
    pub(super) counts: Option<Arc<Vec<u32>>>,
    /// Denoised version of `picture`; `None` without denoising.
    pub(super) preview: Option<Arc<Preview>>,
}

/// Number of recorded rounds.
const ROUNDS: usize = 16;

/// Desired time of a turn in seconds.
const TURN_SECONDS: f64 = 0.12;

/// Time of one sample of every pixel in seconds from which on turns render a smaller picture.
const MAX_TURN_SECONDS: f64 = 0.5;

/// Maximum divisor of the picture's width and height for a turn.
const MAX_REDUCTION: f64 = 8.0;

/// Maximum number of samples per pixel of a turn.
const MAX_SAMPLES: f64 = 65536.0;

/// Maximum number of samples per pixel of a turn with adaptive sampling, whose first round takes every pixel.
const MAX_ADAPTIVE_SAMPLES: u32 = 16;

/// Desired duration of a wave during the comparison.
const WAVE: Duration = Duration::from_millis(40);

impl RunningComparison {
    /// Returns the index of the method whose turn it is. Each round begins one method later.
    fn place(&self) -> usize {
        (self.rounds + self.turns) % self.methods.len().max(1)
    }

    pub(super) fn progress(&self) -> ComparisonProgress {
        let methods = self.methods.len().max(1);
        let done = self.rounds * methods + self.turns;
        ComparisonProgress {
            rounds: self.rounds.saturating_sub(1) as u32,
            of_rounds: ROUNDS as u32,
            progress: done as f64 / ((ROUNDS + 1) * methods) as f64,
            paused: self.is_paused,
        }
    }

    /// Records a complete turn. Returns whether it was the last of a round.
    fn record(&mut self, stats: &Stats) -> bool {
        let place = self.place();
        if self.rounds == 0 {
            self.first_seconds.push(stats.seconds);
        } else if let Some((_, turns)) = self.methods.get_mut(place) {
            let [width, height] = self.film.header.stats.size.map(f64::from);
            turns.push(Turn::of(self.number, stats, width * height));
        }
        self.number += 1;
        self.turns += 1;
        let is_last = self.turns >= self.methods.len();
        if is_last {
            self.turns = 0;
            self.rounds += 1;
        }
        if is_last && self.rounds == 1 {
            self.adapt_turns();
        }
        is_last
    }

    /// Adapts the number of samples, so that a turn of average speed takes the desired time.
    fn adapt_turns(&mut self) {
        self.first_seconds.sort_by(f64::total_cmp);
        let middle = self.first_seconds.get(self.first_seconds.len() / 2);
        let seconds = middle.copied().unwrap_or(0.0).max(1e-4);
        let factor = (TURN_SECONDS / seconds).clamp(0.1, 10.0);
        self.turn_samples = samples_of(f64::from(self.turn_samples) * factor);
    }
}

/// Rounds a number of samples to a whole number in 1..=65536.
fn samples_of(samples: f64) -> u32 {
    samples.round().clamp(1.0, MAX_SAMPLES) as u32
}

/// Returns the size of the picture of a turn and its samples per pixel, given the size of the film in pixels and the
/// paths per second.
fn turn_of([width, height]: [u32; 2], paths_per_second: f64) -> ((u32, u32), u32) {
    let seconds = f64::from(width) * f64::from(height) / paths_per_second.max(1.0);
    if seconds <= MAX_TURN_SECONDS {
        return ((width, height), samples_of(TURN_SECONDS / seconds));
    }
    let reduction = (seconds / TURN_SECONDS).sqrt().min(MAX_REDUCTION);
    let reduced = |length: u32| ((f64::from(length) / reduction).round() as u32).max(1);
    ((reduced(width), reduced(height)), 1)
}

impl RenderThreadState {
    /// Requests a comparison, or ends the one that is in progress or requested.
    pub(super) fn switch_comparison(&mut self) -> Result<(), Error> {
        if self.comparison.is_some() || self.wants_comparison {
            (self.publisher.events).message("comparison of strategies stopped");
            return self.end_comparison();
        }
        if self.region.wanted.is_some() {
            self.publisher.events.problem(
                "strategies are compared on the whole picture; O (Region, then a click) renders it instead of a region",
            );
            return Ok(());
        }
        self.wants_comparison = true;
        (self.publisher.events).message("comparing all strategies; c (Compare strategies) stops");
        Ok(())
    }

    /// Returns whether a comparison is wanted and the film can be set aside for it: every pixel has a sample.
    pub(super) fn can_begin_comparison(&self) -> bool {
        self.wants_comparison
            && self.comparison.is_none()
            && self.preview_of.is_none()
            && self.stats.spp > 0
    }

    /// Sets the film aside, and begins the comparison. If the film cannot be copied, displays a problem.
    pub(super) fn begin_comparison(&mut self) -> Result<(), Error> {
        self.wants_comparison = false;
        let film = self.renderer.part();
        let Some(film) = self.unless_fatal(film, "cannot compare strategies")? else {
            return Ok(());
        };
        let (size, turn_samples) = turn_of(self.stats.size, self.stats.paths_per_second);
        let methods = Method::all().into_iter();
        self.recorder.strategies.clear();
        self.comparison = Some(RunningComparison {
            samples: self.renderer.samples(),
            sort_hits: self.renderer.settings().sort_hits,
            chosen: self.stats.compaction.parse().unwrap_or_default(),
            methods: methods.map(|method| (method, Vec::new())).collect(),
            size,
            turn_samples,
            rounds: 0,
            turns: 0,
            number: 0,
            first_seconds: Vec::new(),
            is_paused: false,
            picture: self.picture()?,
            counts: self.sample_counts()?,
            preview: self.denoised(),
            film,
        });
        self.begin_turn()
    }

    /// Begins the turn of the next method. Methods that are not available are left out, and a problem is displayed.
    fn begin_turn(&mut self) -> Result<(), Error> {
        while let Some(running) = &mut self.comparison {
            let place = running.place();
            let Some(&(method, _)) = running.methods.get(place) else {
                return self.end_comparison();
            };
            let Err(error) = method.select(&mut self.renderer) else {
                break;
            };
            if self.renderer.all_gpus_failed() {
                return Err(error.into());
            }
            let problem = format!("{} is not compared: {error}", method.name());
            self.publisher.events.problem(problem);
            running.methods.remove(place);
            // Rounds begin again, because the order of the methods has changed.
            running.turns = 0;
            running.first_seconds.clear();
        }
        let Some(running) = &self.comparison else {
            return Ok(());
        };
        let (width, height) = running.size;
        if self.stats.size != [width, height] {
            self.renderer.set_size(width, height)?;
        }
        let samples = match self.stats.noise {
            Some(_) => running.turn_samples.max(MAX_ADAPTIVE_SAMPLES),
            None => running.turn_samples,
        };
        let samples = Samples::first(samples, width * height);
        self.renderer.set_samples(&samples)?;
        self.stats = self.renderer.stats();
        Ok(())
    }

    /// Continues the turn that is in progress until a command is pending or the turn is complete. Then begins the next
    /// turn, or ends the comparison after the last.
    pub(super) fn continue_comparison(&mut self) -> Result<(), Error> {
        let Some(running) = &mut self.comparison else {
            return Ok(());
        };
        let is_adaptive = self.stats.noise.is_some();
        let wanted = running.turn_samples.min(MAX_ADAPTIVE_SAMPLES);
        let commands = &self.commands;
        self.renderer.set_pace(Pace::Watched(WAVE));
        let enough = |samples: u32| {
            commands.is_closed() || commands.has_changed() || is_adaptive && samples >= wanted
        };
        let is_complete = !self.renderer.advance_until(&enough)?;
        self.renderer.finish_waves()?;
        self.stats = self.renderer.stats();
        let has_enough = is_adaptive && self.stats.spp >= wanted;
        if !(is_complete || has_enough) {
            return Ok(());
        }
        let is_round = running.record(&self.stats);
        if is_round {
            self.recorder.strategies = compare(&running.methods);
        }
        if running.rounds > ROUNDS {
            return self.end_comparison();
        }
        self.begin_turn()
    }

    /// Ends the comparison, if one is in progress or requested. Selects the strategy that was chosen last, and restores
    /// the film.
    ///
    /// # Errors
    /// If the render fails. If all GPUs have failed, the renderer's safe film is then that of the render.
    pub(super) fn end_comparison(&mut self) -> Result<(), Error> {
        self.wants_comparison = false;
        let Some(running) = self.comparison.take() else {
            return Ok(());
        };
        // All also after an error: if all GPUs have failed, this film is the one to save.
        let sorted = self.renderer.set_sort_hits(running.sort_hits);
        let selected = self.renderer.set_strategy(running.chosen);
        let [width, height] = running.film.header.stats.size;
        let resized = match self.renderer.stats().size == [width, height] {
            true => Ok(()),
            false => self.renderer.set_size(width, height),
        };
        let restarted = self.renderer.set_samples(&running.samples);
        let resumed = self.renderer.resume(&running.film);
        sorted
            .and(selected)
            .and(resized)
            .and(restarted)
            .and(resumed)?;
        self.stats = self.renderer.stats();
        if running.film.header.stats.compaction != self.stats.compaction {
            self.recorder.set_strategy();
        }
        self.recorder.skip(&self.stats);
        self.kept_preview = running.preview.map(|preview| (self.stats.paths, preview));
        Ok(())
    }

    /// Returns the statistics to display: those of the film, which is set aside during a comparison.
    pub(super) fn displayed_stats(&self) -> Stats {
        match &self.comparison {
            Some(running) => running.film.header.stats.clone(),
            None => self.stats.clone(),
        }
    }
}
