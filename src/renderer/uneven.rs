//! Pixels that get samples until they are good.

use std::{mem, ops::Range, sync::atomic::AtomicU64, time::Instant};

use super::Renderer;
use crate::{
    Error,
    backend::{Pixels, Plan, Spans},
    ledger::Ledger,
    part::{Claim, Part, Samples},
    rounds::{Goal, Rounds, in_tiles},
    stats::NoiseStats,
};

impl Renderer {
    /// Stops at each pixel once its error is estimated to be at most this, 0.0001 to 1 of what it shows, after up to as many
    /// samples as are to be rendered; `None` gives every pixel all of them. Begins again.
    ///
    /// What is dark is compared with a hundredth of white, by the scene's own exposure: see [`Goal`].
    ///
    /// Stopping early biases: a pixel that has missed its bright paths seems good, so that pictures are a little too dark, by
    /// less than a tenth of this error where light is found often, and by more where it is not (BENCHMARKS.md, "Until it is
    /// good"). A film of as many samples for every pixel has no such bias.
    ///
    /// # Errors
    /// [`Error::Setting`] for another number, and where other samples than the first are rendered.
    pub fn set_noise(&mut self, noise: Option<f32>) -> Result<(), Error> {
        if let Some(wrong) = noise.filter(|noise| !Goal::NOISE.contains(noise)) {
            return Err(Error::Setting {
                setting: format!("noise {wrong}"),
                problem: "a relative error from 0.0001 to 1 can be asked for".to_owned(),
            });
        }
        let goal = noise.map(|noise| Goal::new(noise, self.exposure_stops));
        self.set_goal(goal)
    }

    pub(crate) fn set_goal(&mut self, goal: Option<Goal>) -> Result<(), Error> {
        self.check_range(goal, &self.range)?;
        let before = mem::replace(&mut self.goal, goal);
        let begun = self.restart();
        if begun.is_err() && before.is_none() {
            (self.goal, self.rounds) = (None, None);
        }
        begun
    }

    /// Samples of each pixel so far, rows from the top. Waits for what is under way.
    pub fn sample_counts(&mut self) -> Result<Vec<u32>, Error> {
        if self.rounds.is_some() {
            return self.taken();
        }
        let taken = self.samples_done();
        let pixels = 0..self.pixel_count();
        Ok(pixels.map(|pixel| taken.of_pixel(pixel)).collect())
    }

    /// The same of one pixel.
    pub(crate) fn samples_of(&mut self, pixel: u32) -> Result<u32, Error> {
        if self.rounds.is_some() {
            return Ok(self.taken()?[pixel as usize]);
        }
        Ok(self.samples_done().of_pixel(pixel))
    }

    /// The same of all pixels, where they are judged.
    fn taken(&mut self) -> Result<Vec<u32>, Error> {
        self.land()?;
        let taken = self.backend.taken();
        self.counting(taken)
    }

    /// Whether these pairs can be rendered to this goal.
    pub(super) fn check_range(&self, goal: Option<Goal>, range: &Range<u64>) -> Result<(), Error> {
        let pixel_count = u64::from(self.pixel_count());
        if goal.is_none() || range.start == 0 && range.end.is_multiple_of(pixel_count) {
            return Ok(());
        }
        Err(Error::Setting {
            setting: format!(
                "samples {}",
                Samples::of_pairs(range.clone(), self.pixel_count())
            ),
            problem:
                "to a noise the samples are rendered from the first on; leave out one of the two"
                    .to_owned(),
        })
    }

    /// Before the first sample again; whether there were rounds before.
    pub(super) fn reset_rounds(&mut self) -> bool {
        let rounds = self.goal.map(|goal| self.first_round(goal));
        mem::replace(&mut self.rounds, rounds).is_some()
    }

    fn first_round(&self, goal: Goal) -> Rounds {
        Rounds::new(goal, self.limit(), self.pixels.count)
    }

    /// Behind a black film, where there may have been rounds before.
    pub(super) fn begin_rounds(&mut self, had_rounds: bool) -> Result<(), Error> {
        let begun = match &self.rounds {
            Some(rounds) => self.backend.begin_rounds(rounds, &self.list(), None),
            None if had_rounds => self.backend.end_rounds(),
            None => Ok(()),
        };
        self.counting(begun)
    }

    /// Behind the part's film.
    pub(super) fn resume_rounds(&mut self, part: &Part) -> Result<(), Error> {
        let (Some(goal), Some(ledger), Some(noise)) =
            (self.goal, &part.ledger, &part.claim.stats.noise)
        else {
            return Ok(());
        };
        let list = ledger.unfinished(&self.list());
        let rounds = self.first_round(goal).resumed(noise.round, ledger);
        let begun = self.backend.begin_rounds(&rounds, &list, Some(ledger));
        self.rounds = Some(rounds);
        self.counting(begun)
    }

    /// What keeps this render from going on from a part to the same goal, in words.
    pub(super) fn check_rounds(&self, claim: &Claim) -> Result<(), String> {
        match &claim.stats.noise {
            Some(noise) if noise.most_samples > self.limit() => Err(format!(
                "has pixels with {} samples, more than {}",
                noise.most_samples,
                self.limit()
            )),
            _ => Ok(()),
        }
    }

    /// Renders to the goal of a part, but some pixels only, until they are where the part is; begins again. What is on the
    /// film is no part then.
    pub(crate) fn set_rounds(
        &mut self,
        claim: &Claim,
        ledger: &Ledger,
        pixels: Pixels,
    ) -> Result<(), Error> {
        let (Some(goal), Some(noise)) = (claim.identity.goal, &claim.stats.noise) else {
            return self.set_pixels(&claim.samples, pixels);
        };
        self.goal = None;
        self.set_samples(&Samples::first(noise.most_samples, self.pixel_count()))?;
        self.pixels = pixels;
        self.set_goal(Some(goal))?;
        let first = Rounds::samples_before(noise.round);
        let left = ledger.unfinished(&self.list());
        let pairs = left
            .iter()
            .map(|&pixel| u64::from(ledger.taken[pixel as usize]).saturating_sub(first));
        let pairs = pairs.sum();
        if let Some(rounds) = &mut self.rounds {
            rounds.stop_at(noise.round, pairs);
        }
        Ok(())
    }

    /// Renders until that is enough, which is asked before each wave; `false` when all is done.
    pub(super) fn advance_rounds(
        &mut self,
        enough: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<bool, Error> {
        let begun = Instant::now();
        let advanced = self.advance_within_rounds(enough);
        self.elapsed += begun.elapsed();
        let goes_on = advanced?;
        if !goes_on {
            self.land()?;
        }
        Ok(goes_on)
    }

    fn advance_within_rounds(
        &mut self,
        enough: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<bool, Error> {
        while let Some(rounds) = &mut self.rounds
            && !rounds.are_over()
        {
            let (listed, first_sample) = (rounds.listed(), rounds.first_sample());
            let spans = Spans {
                plan: Plan {
                    width: self.size.0,
                    pixels: Pixels {
                        count: listed,
                        skipped: 0,
                        pick: 0,
                    },
                    listed: true,
                    first_sample,
                    seed: self.seed,
                    by_megakernel: self.by_megakernel,
                },
                next: AtomicU64::new(rounds.done()),
                end: rounds.end(),
            };
            let enough = |dealt: u64| enough(first_sample + (dealt / u64::from(listed)) as u32);
            let advanced = self.backend.advance(&spans, &enough);
            let done = spans.next.into_inner().min(spans.end);
            rounds.set_done(done);
            let (ends, over, round) = (done == spans.end, rounds.are_over(), rounds.round());
            self.counting(advanced)?;
            if over {
                break;
            }
            if !ends {
                return Ok(true);
            }
            let verdict = self.backend.judge(&round, listed);
            let verdict = self.counting(verdict)?;
            if let Some(rounds) = &mut self.rounds {
                rounds.go_on(verdict);
            }
        }
        Ok(false)
    }

    /// What is told of the pixels' noise, if they get samples until they are good.
    pub(super) fn noise_stats(&self) -> Option<NoiseStats> {
        let rounds = self.rounds.as_ref()?;
        Some(NoiseStats {
            wanted: rounds.goal.noise,
            dark: rounds.goal.dark,
            estimated: rounds.error(),
            unfinished: rounds.listed(),
            mean_samples: rounds.taken() as f64 / f64::from(self.pixel_count()),
            most_samples: rounds.of_any_pixel(),
            round: rounds.number(),
            ledger_hash: String::new(),
        })
    }

    /// What is known of each pixel. Waits for what is under way.
    pub(crate) fn ledger(&mut self) -> Result<Option<Ledger>, Error> {
        self.land()?;
        let ledger = self.backend.ledger();
        self.counting(ledger)
    }

    /// The pixels that are rendered, neighbours next to each other.
    fn list(&self) -> Vec<u32> {
        let mut list = in_tiles(self.size);
        if self.pixels.skipped > 0 {
            let mut chosen = vec![false; list.len()];
            self.pixels
                .list()
                .for_each(|pixel| chosen[pixel as usize] = true);
            list.retain(|&pixel| chosen[pixel as usize]);
        }
        list
    }

    /// Samples that a pixel gets at most.
    fn limit(&self) -> u32 {
        u32::try_from(self.range.end / u64::from(self.pixel_count())).unwrap_or(u32::MAX)
    }
}
