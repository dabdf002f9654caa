//! Adaptive sampling: each pixel gets samples until its estimated noise is low enough.

use std::{
    mem,
    ops::Range,
    sync::atomic::AtomicU64,
    time::{Duration, Instant},
};

use super::Renderer;
use crate::{
    Error,
    adaptive::{
        pixel_stats::PixelStats,
        schedule::{ConvergenceGoal, Schedule, in_tiles},
    },
    backend::{Pixels, Plan, Spans, Stop},
    path::TILE,
    render::{
        part::{Part, PartHeader, Samples},
        region::Region,
        stats::NoiseStats,
    },
};

impl Renderer {
    /// Stops at each pixel once its estimated relative error is at most `noise`, 0.0001 to 1; `None` gives every pixel
    /// all samples. Begins again.
    ///
    /// No pixel gets more samples than [`Renderer::samples`] contains. So that dark pixels converge, a hundredth of
    /// white at the scene's exposure is added to a pixel's brightness: see [`ConvergenceGoal`].
    ///
    /// Stopping early is biased: where bright paths are missed, pixels seem converged, so that pictures are slightly too
    /// dark. Therefore the noise of a whole tile of 8 × 8 pixels counts. The bias is less than a tenth of `noise` where
    /// light is found often, and more elsewhere (docs/experiments/080-*).
    ///
    /// # Errors
    /// [`Error::Setting`] for another number, or if the samples to render are not the first ones.
    pub fn set_noise(&mut self, noise: Option<f32>) -> Result<(), Error> {
        if let Some(wrong) = noise.filter(|noise| !ConvergenceGoal::NOISE.contains(noise)) {
            return Err(Error::Setting {
                setting: format!("noise {wrong}"),
                problem: "a relative error from 0.0001 to 1 can be asked for".to_owned(),
            });
        }
        let goal = noise.map(|noise| ConvergenceGoal::new(noise, self.exposure_stops));
        self.set_goal(goal)
    }

    /// Sets the convergence criterion, or gives every pixel all samples if it is `None`. Begins again.
    ///
    /// # Errors
    /// [`Error::Setting`] if the samples to render are not the first ones, or the error of a device.
    pub(crate) fn set_goal(&mut self, goal: Option<ConvergenceGoal>) -> Result<(), Error> {
        self.check_range(goal.is_some() || self.region.is_some(), &self.range)?;
        let before = mem::replace(&mut self.goal, goal);
        let begun = self.restart();
        if begun.is_err() && before.is_none() {
            (self.goal, self.rounds) = (None, None);
        }
        begun
    }

    /// Waits for the running waves, and returns the number of samples of each pixel, row by row from the top.
    pub fn sample_counts(&mut self) -> Result<Vec<u32>, Error> {
        if self.rounds.is_some() {
            return self.adaptive_sample_counts();
        }
        let taken = self.samples_done();
        let pixels = 0..self.pixel_count();
        Ok(pixels.map(|pixel| taken.of_pixel(pixel)).collect())
    }

    /// Waits for the running waves, and returns the number of samples of one pixel.
    pub fn samples_of(&mut self, pixel: u32) -> Result<u32, Error> {
        if self.rounds.is_some() {
            return Ok(self.adaptive_sample_counts()?[pixel as usize]);
        }
        Ok(self.samples_done().of_pixel(pixel))
    }

    /// Waits for the running waves, and returns the sample counts of adaptive sampling.
    fn adaptive_sample_counts(&mut self) -> Result<Vec<u32>, Error> {
        self.finish_waves()?;
        if self.safe_copies.gpu_failed {
            let none = || vec![0; self.pixel_count() as usize];
            let pixel_stats = self.safe_copies.pixel_stats();
            return Ok(pixel_stats.map_or_else(none, |pixel_stats| pixel_stats.sample_counts));
        }
        let taken = self.backend.sample_counts();
        self.record_counts(taken)
    }

    /// Restricts the render to the pixels of a region; `None` renders the whole image. Begins again.
    ///
    /// The pixels of the region get the same samples as in a render of the whole image, and other pixels none, unless
    /// they share a tile with one of the region and a noise is asked for. So the
    /// film is incomplete: [`write_region`](crate::render::output::write_region) writes it, and it must not be used as
    /// a part.
    ///
    /// # Errors
    /// [`Error::Setting`] if the region is not inside the image, or if the samples to render are not the first ones.
    pub fn set_region(&mut self, region: Option<Region>) -> Result<(), Error> {
        let (width, height) = self.size;
        if let Some(region) = region.filter(|region| !region.is_inside(self.size)) {
            return Err(Error::Setting {
                setting: format!("crop {region}"),
                problem: format!(
                    "must have pixels, and all of them inside the image of {width}x{height} pixels"
                ),
            });
        }
        self.check_range(region.is_some() || self.goal.is_some(), &self.range)?;
        self.region = region;
        self.restart()
    }

    /// Checks that this range of pair numbers can be rendered in rounds of listed pixels, which need whole samples from
    /// the first on.
    pub(super) fn check_range(&self, in_rounds: bool, range: &Range<u64>) -> Result<(), Error> {
        let pixel_count = u64::from(self.pixel_count());
        if !in_rounds || range.start == 0 && range.end.is_multiple_of(pixel_count) {
            return Ok(());
        }
        Err(Error::Setting {
            setting: format!(
                "samples {}",
                Samples::of_pairs(range.clone(), self.pixel_count())
            ),
            problem:
                "to a noise or in a region the samples are rendered from the first on; leave out one of the two"
                    .to_owned(),
        })
    }

    /// Resets adaptive sampling, or the render of a region, to the first round. Returns whether either was active
    /// before.
    pub(super) fn reset_rounds(&mut self) -> bool {
        let in_rounds = self.goal.is_some() || self.region.is_some();
        let rounds = in_rounds.then(|| self.first_round());
        mem::replace(&mut self.rounds, rounds).is_some()
    }

    /// Returns the schedule of the render, before the first sample.
    fn first_round(&self) -> Schedule {
        let count = self.list().len() as u32;
        Schedule::new(self.goal, self.limit(), self.size, count)
    }

    /// Begins adaptive sampling on a black film, or ends it if it was active before and is no longer asked for.
    pub(super) fn begin_adaptive(&mut self, was_adaptive: bool) -> Result<(), Error> {
        let begun = match &self.rounds {
            Some(rounds) => self.backend.begin_adaptive(rounds, &self.list(), None),
            None if was_adaptive => self.backend.end_adaptive(),
            None => Ok(()),
        };
        self.record_counts(begun)
    }

    /// Continues adaptive sampling, or the render of a region, from a part whose film is set.
    pub(super) fn resume_rounds(&mut self, part: &Part) -> Result<(), Error> {
        let Some(pixel_stats) = &part.pixel_stats else {
            return Ok(());
        };
        let (list, rounds) = (self.list(), self.first_round());
        let (list, rounds) = match &part.header.stats.noise {
            Some(noise) => (
                pixel_stats.unfinished(&list),
                rounds.resumed(noise.round, pixel_stats, &list),
            ),
            None => {
                let mut rounds = rounds;
                rounds.set_done(part.header.stats.paths);
                (list, rounds)
            }
        };
        let begun = self
            .backend
            .begin_adaptive(&rounds, &list, Some(pixel_stats));
        self.rounds = Some(rounds);
        self.safe_copies.set_schedule(&self.rounds);
        self.record_counts(begun)
    }

    /// Raises the maximum number of samples per pixel of adaptive sampling or of a region. Does nothing without them.
    pub(super) fn raise_limit(&mut self, samples: u32) -> Result<(), Error> {
        let pixel_stats = match self.goal {
            Some(_) => self.pixel_stats()?,
            None => None,
        };
        let pixel_stats = pixel_stats.unwrap_or_default();
        let list = match pixel_stats.pixel_noise[..] {
            [] => Vec::new(),
            _ => pixel_stats.unfinished(&self.list()),
        };
        for rounds in self.rounds.iter_mut().chain(self.safe_copies.schedule()) {
            rounds.raise_limit(samples, &pixel_stats, &list);
        }
        Ok(())
    }

    /// Checks that no pixel of a part has more samples than the maximum per pixel of this render, so that adaptive
    /// sampling, or the render of a region, can continue from the part. The error is the reason, as text.
    pub(super) fn check_rounds(&self, header: &PartHeader) -> Result<(), String> {
        let max_samples = match &header.stats.noise {
            Some(noise) => u64::from(noise.max_samples),
            None => header.stats.paths.div_ceil(self.list().len() as u64),
        };
        if max_samples > u64::from(self.limit()) {
            return Err(format!(
                "has pixels with {max_samples} samples, more than {}",
                self.limit()
            ));
        }
        Ok(())
    }

    /// Prepares to render some pixels with the error target of a part, up to its progress. The film is then incomplete
    /// and must not be used as a part.
    pub(crate) fn set_rounds(
        &mut self,
        header: &PartHeader,
        pixel_stats: &PixelStats,
        pixels: Pixels,
    ) -> Result<(), Error> {
        let (Some(goal), Some(noise)) = (header.identity.goal, &header.stats.noise) else {
            return self.set_pixels(&header.samples, pixels);
        };
        self.goal = None;
        self.set_samples(&Samples::first(noise.max_samples, self.pixel_count()))?;
        self.pixels = pixels;
        self.set_goal(Some(goal))?;
        let first = Schedule::samples_before(noise.round);
        let left = pixel_stats.unfinished(&self.list());
        let pairs = left.iter().map(|&pixel| {
            u64::from(pixel_stats.sample_counts[pixel as usize]).saturating_sub(first)
        });
        let pairs = pairs.sum();
        if let Some(rounds) = &mut self.rounds {
            rounds.stop_at(noise.round, pairs);
        }
        Ok(())
    }

    /// Renders with adaptive sampling until `enough` returns true. It is called as in [`Renderer::advance_until`], with
    /// the sample count of the unconverged pixels. Returns `false` when the render is complete.
    pub(super) fn advance_rounds(
        &mut self,
        enough: &(dyn Fn(u32) -> bool + Sync),
        batch_time: Duration,
    ) -> Result<bool, Error> {
        let begun = Instant::now();
        let advanced = self.advance_within_rounds(enough, batch_time);
        self.elapsed += begun.elapsed();
        let goes_on = advanced?;
        if !goes_on {
            self.finish_waves()?;
        }
        Ok(goes_on)
    }

    /// Renders as [`Renderer::advance_rounds`], without adding to the render time.
    fn advance_within_rounds(
        &mut self,
        enough: &(dyn Fn(u32) -> bool + Sync),
        batch_time: Duration,
    ) -> Result<bool, Error> {
        while let Some(rounds) = &mut self.rounds
            && !rounds.is_complete()
        {
            let (listed, first_sample) = (rounds.listed(), rounds.first_sample());
            let spans = Spans {
                plan: Plan {
                    width: self.size.0,
                    pixels: Pixels {
                        count: listed,
                        skipped: 0,
                        pick_seed: 0,
                    },
                    listed: true,
                    first_sample,
                    seed: self.seed,
                    by_megakernel: self.by_megakernel,
                },
                next: AtomicU64::new(rounds.done()),
                end: rounds.end(),
            };
            let enough =
                |assigned: u64| enough(first_sample + (assigned / u64::from(listed)) as u32);
            let stop = Stop {
                enough: &enough,
                batch_time,
            };
            let advanced = self.backend.advance(&spans, &stop);
            let done = spans.next.into_inner().min(spans.end);
            rounds.set_done(done);
            let (ends, over, round) = (done == spans.end, rounds.is_complete(), rounds.round());
            self.record_counts(advanced)?;
            if over {
                break;
            }
            if !ends {
                return Ok(true);
            }
            let result = self.backend.test_convergence(&round);
            let result = self.record_counts(result)?;
            if let Some(rounds) = &mut self.rounds {
                rounds.begin_next_round(result);
            }
        }
        Ok(false)
    }

    /// Returns the noise statistics; `None` unless adaptive sampling has an error target.
    pub(super) fn noise_stats(&self) -> Option<NoiseStats> {
        let rounds = self.rounds.as_ref()?;
        let goal = rounds.goal?;
        Some(NoiseStats {
            target: goal.noise,
            dark: goal.brightness_offset,
            estimated: rounds.error(),
            unconverged_pixels: rounds.listed(),
            mean_samples: rounds.sample_count() as f64 / f64::from(rounds.pixel_count()),
            max_samples: rounds.max_samples(),
            round: rounds.number(),
            pixel_stats_hash: String::new(),
        })
    }

    /// Waits for the running waves, and returns the statistics of all pixels during adaptive sampling.
    pub(crate) fn pixel_stats(&mut self) -> Result<Option<PixelStats>, Error> {
        self.finish_waves()?;
        if self.safe_copies.gpu_failed {
            return Ok(self.safe_copies.pixel_stats());
        }
        let pixel_stats = self.backend.pixel_stats();
        self.record_counts(pixel_stats)
    }

    /// Returns the indices of the pixels to render, ordered tile by tile. With a goal, the pixels of a tile depend on each
    /// other, so that those of all tiles that contain a pixel to render are included.
    fn list(&self) -> Vec<u32> {
        let list = in_tiles(self.size);
        if self.region.is_none() && self.pixels.skipped == 0 {
            return list;
        }
        let width = self.size.0;
        let mut chosen = vec![self.pixels.skipped == 0; list.len()];
        if self.pixels.skipped > 0 {
            self.pixels
                .list()
                .for_each(|pixel| chosen[pixel as usize] = true);
        }
        let is_chosen = |&pixel: &u32| {
            let in_region = self
                .region
                .is_none_or(|region| region.contains(pixel, width));
            in_region && chosen[pixel as usize]
        };
        if self.goal.is_none() {
            return list.into_iter().filter(is_chosen).collect();
        }
        let tile = |&pixel: &u32| (pixel % width / TILE, pixel / width / TILE);
        let tiles = list.chunk_by(|one, next| tile(one) == tile(next));
        let tiles = tiles.filter(|tile| tile.iter().any(is_chosen));
        tiles.flatten().copied().collect()
    }

    /// Returns the maximum number of samples of a pixel.
    fn limit(&self) -> u32 {
        u32::try_from(self.range.end / u64::from(self.pixel_count())).unwrap_or(u32::MAX)
    }
}
