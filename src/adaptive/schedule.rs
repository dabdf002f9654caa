//! The schedule of an adaptive render: which round is in progress, and the results of earlier rounds.
//!
//! A schedule without a goal has a single round, which gives all samples to a list of pixels.
//!
//! A round gives the same number of samples to every pixel that has not converged. Its pairs are scheduled like those
//! of an image of these pixels. The ends of rounds are fixed, so which samples a pixel gets depends on that pixel
//! alone. A *pair* is one sample of one pixel.

use std::{fmt, ops::RangeInclusive};

use crate::{
    adaptive::{
        pixel_noise::{ConvergenceTest, ERROR_UNITS, error_units, has_converged, samples_to_go},
        pixel_stats::{PixelStats, tile_error},
    },
    path::TILE,
};

/// Samples per pixel in each of the first eight rounds.
const FIRST_ROUND_SAMPLES: u64 = 16;
/// Number of rounds in which the number of samples doubles, after the first four. A pixel gets 10 % more samples than
/// it needs on average, and rounds stay large enough to fill a wave.
const ROUNDS_PER_DOUBLING: u32 = 4;
/// Radiance per channel that is added to a pixel's brightness in the convergence test, if the exposure is 0 stops: a
/// hundredth of white.
const BRIGHTNESS_OFFSET: f32 = 0.01;

/// The convergence criterion of an adaptive render.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvergenceGoal {
    /// Relative error at which a pixel counts as converged: its error over the sum of its brightness and
    /// [`ConvergenceGoal::brightness_offset`].
    pub noise: f32,
    /// Radiance, summed over the three channels, that is added to a pixel's brightness so that dark pixels converge.
    pub brightness_offset: f32,
}

impl fmt::Display for ConvergenceGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (dark is {})", self.noise, self.brightness_offset)
    }
}

impl ConvergenceGoal {
    /// Range of errors that a user may ask for.
    pub(crate) const NOISE: RangeInclusive<f32> = 1e-4..=1.0;

    /// Returns whether both values are in range.
    pub(crate) fn is_possible(&self) -> bool {
        ConvergenceGoal::NOISE.contains(&self.noise)
            && self.brightness_offset > 0.0
            && self.brightness_offset.is_finite()
    }

    /// Returns the criterion for an image whose exposure is raised by this many stops, which makes darker pixels
    /// visible.
    pub(crate) fn new(noise: f32, exposure_stops: f32) -> ConvergenceGoal {
        ConvergenceGoal {
            noise,
            brightness_offset: 3.0 * BRIGHTNESS_OFFSET * libm::exp2f(-exposure_stops),
        }
    }
}

/// Result of the convergence test of one round, summed over the round's pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundResult {
    /// Number of pixels that have not converged, which the next round samples.
    pub left: u32,
    /// Sum of the errors of the pixels that converged in this round, in fixed point, see [`error_units`].
    pub done_error: u64,
    /// Sum of the errors of the pixels that have not converged, in fixed point, see [`error_units`].
    pub left_error: u64,
    /// Estimated number of samples that the pixels that have not converged still need, see [`samples_to_go`].
    pub to_go: u64,
}

/// Progress of an adaptive render.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// The convergence criterion; `None` gives every listed pixel all samples, in one round.
    pub(crate) goal: Option<ConvergenceGoal>,
    /// Maximum number of samples per pixel.
    limit: u32,
    /// Width and height of the picture in pixels.
    size: (u32, u32),
    /// Number of pixels that are rendered.
    pixel_count: u32,
    /// Number of the round in progress, from 0.
    number: u32,
    /// Number of pixels in the round.
    listed: u32,
    /// Number of (pixel, sample) pairs of the round that are rendered.
    done: u64,
    /// Number of (pixel, sample) pairs rendered in the rounds before.
    before: u64,
    /// Minimum number of samples of a converged pixel; `None` while there are none.
    min_converged_samples: Option<u32>,
    /// Sum of the errors of converged pixels, in fixed point, see [`error_units`].
    done_error: u64,
    /// Sum of the errors of the pixels that have not converged, at their last test, in fixed point, see
    /// [`error_units`].
    left_error: u64,
    /// Estimated number of samples that the pixels that have not converged still needed at their last test.
    to_go: u64,
    /// Number of the round, from 0, and number of its (pixel, sample) pairs, after which the render ends; `None` if
    /// only the goal and the limit end it. Verification of a picture stops where the picture's render stopped.
    stop: Option<(u32, u64)>,
}

/// Returns the number of samples of an unconverged pixel after this many rounds. The limit is not applied.
pub fn samples_after(rounds: u32) -> u64 {
    if rounds < ROUNDS_PER_DOUBLING {
        return FIRST_ROUND_SAMPLES * u64::from(rounds);
    }
    let (octave, step) = (
        rounds / ROUNDS_PER_DOUBLING - 1,
        rounds % ROUNDS_PER_DOUBLING,
    );
    // Numbers of samples beyond `u32` are beyond any limit.
    (FIRST_ROUND_SAMPLES * u64::from(ROUNDS_PER_DOUBLING + step)) << octave.min(40)
}

/// Returns the pixels of an image ordered by tile and row-major within tiles.
///
/// Neighbours in the list are neighbours in the image, and stay close when others between them have converged.
pub fn in_tiles((width, height): (u32, u32)) -> Vec<u32> {
    let mut list = Vec::with_capacity(width as usize * height as usize);
    for top in (0..height).step_by(TILE as usize) {
        for left in (0..width).step_by(TILE as usize) {
            for row in top..(top + TILE).min(height) {
                list.extend((left..(left + TILE).min(width)).map(|column| row * width + column));
            }
        }
    }
    list
}

impl Schedule {
    /// Returns the schedule of a render of `pixel_count` pixels of a picture of this size, without samples. Each of them
    /// gets at most `limit`.
    pub(crate) fn new(
        goal: Option<ConvergenceGoal>,
        limit: u32,
        size: (u32, u32),
        pixel_count: u32,
    ) -> Schedule {
        Schedule {
            goal,
            limit,
            size,
            pixel_count,
            number: 0,
            listed: pixel_count,
            done: 0,
            before: 0,
            min_converged_samples: None,
            done_error: 0,
            left_error: 0,
            to_go: u64::from(pixel_count) * u64::from(limit),
            stop: None,
        }
    }

    /// Returns the schedule of a render of the pixels in `list` that continues in round `number`, from 0. The state is
    /// computed from the statistics of all pixels.
    pub(crate) fn resumed(self, number: u32, pixel_stats: &PixelStats, list: &[u32]) -> Schedule {
        let before = samples_after(number);
        let mut rounds = Schedule {
            number,
            listed: 0,
            to_go: 0,
            ..self
        };
        let round = rounds.last_round();
        let pixel_noise = &pixel_stats.pixel_noise;
        for &pixel in list {
            let noise = &pixel_noise[pixel as usize];
            let taken = pixel_stats.sample_counts[pixel as usize];
            let error = error_units(noise.error);
            if has_converged(noise) {
                rounds.done_error += error;
                rounds.before += u64::from(taken);
                rounds.min_converged_samples = Some(
                    rounds
                        .min_converged_samples
                        .map_or(taken, |min| min.min(taken)),
                );
            } else {
                rounds.listed += 1;
                rounds.left_error += error;
                rounds.before += before;
                rounds.done += u64::from(taken).saturating_sub(before);
                rounds.to_go +=
                    samples_to_go(noise, &round, tile_error(&round, pixel_noise, pixel));
            }
        }
        if number < 2 {
            rounds.to_go = rounds.all_to_go();
        }
        rounds
    }

    /// Sets where the render ends early: after `pairs` (pixel, sample) pairs of round `number`.
    pub(crate) fn stop_at(&mut self, number: u32, pairs: u64) {
        self.stop = Some((number, pairs));
    }

    /// Returns the number of the round in progress, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the number of samples of an unconverged pixel before round number `round`, from 0. The limit is not
    /// applied.
    pub(crate) fn samples_before(round: u32) -> u64 {
        samples_after(round)
    }

    /// Returns the maximum number of samples of any pixel so far.
    pub(crate) fn max_samples(&self) -> u32 {
        let in_round = self.done.div_ceil(u64::from(self.listed).max(1)) as u32;
        self.first_sample() + in_round
    }

    /// Returns the number of samples that the round's pixels had before it, which is their next sample's number.
    pub(crate) fn first_sample(&self) -> u32 {
        samples_after(self.number).min(u64::from(self.limit)) as u32
    }

    /// Returns the number of pixels in the round.
    pub(crate) fn listed(&self) -> u32 {
        self.listed
    }

    /// Returns the number of pairs of the round that are rendered.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Sets the number of pairs of the round that are rendered.
    pub(crate) fn set_done(&mut self, done: u64) {
        self.done = done;
    }

    /// Returns the number of samples of an unconverged pixel after the round in progress. The limit is not applied.
    fn round_end(&self) -> u64 {
        match self.goal {
            Some(_) => samples_after(self.number + 1),
            None => u64::MAX,
        }
    }

    /// Returns the number of pixels that are rendered.
    pub(crate) fn pixel_count(&self) -> u32 {
        self.pixel_count
    }

    /// Returns the number of pairs of the round, up to the limit of samples or a requested stop.
    pub(crate) fn end(&self) -> u64 {
        let last = self.round_end().min(u64::from(self.limit));
        let end = (last - u64::from(self.first_sample())) * u64::from(self.listed);
        match self.stop {
            Some((number, pairs)) if number == self.number => end.min(pairs),
            _ => end,
        }
    }

    /// Returns whether the render is complete: all pixels have converged or reached the limit, or the requested stop is
    /// reached.
    ///
    /// A round that the limit cuts short is not tested for convergence, as it would not be with a higher limit.
    pub(crate) fn is_complete(&self) -> bool {
        let cut = self.round_end() > u64::from(self.limit);
        let stops = self.stop.is_some_and(|(number, _)| number == self.number);
        self.listed == 0 || self.done >= self.end() && (cut || stops)
    }

    /// Returns the parameters for the convergence test after the round in progress. A schedule without a goal runs
    /// none.
    pub(crate) fn round(&self) -> ConvergenceTest {
        ConvergenceTest {
            noise: self.goal.map_or(0.0, |goal| goal.noise),
            brightness_offset: self.goal.map_or(0.0, |goal| goal.brightness_offset),
            number: self.number,
            before: self.first_sample(),
            after: samples_after(self.number + 1) as u32,
            limit: self.limit,
            width: self.size.0,
            height: self.size.1,
        }
    }

    /// Returns the parameters of the convergence test that was run last.
    fn last_round(&self) -> ConvergenceTest {
        ConvergenceTest {
            number: self.number.saturating_sub(1),
            before: samples_after(self.number.saturating_sub(1)) as u32,
            after: self.first_sample(),
            ..self.round()
        }
    }

    /// Begins the next round with the result of the convergence test.
    pub(crate) fn begin_next_round(&mut self, result: RoundResult) {
        let after = samples_after(self.number + 1);
        self.before += self.done;
        if result.left < self.listed {
            self.min_converged_samples.get_or_insert(after as u32);
        }
        self.number += 1;
        (self.listed, self.done) = (result.left, 0);
        self.done_error += result.done_error;
        self.left_error = result.left_error;
        self.to_go = if self.number < 2 {
            self.all_to_go()
        } else {
            result.to_go
        };
    }

    /// Raises the maximum number of samples per pixel. The round in progress continues. With a goal, `pixel_stats` are
    /// the statistics of all pixels, and `list` contains the pixels of the round.
    pub(crate) fn raise_limit(&mut self, limit: u32, pixel_stats: &PixelStats, list: &[u32]) {
        self.limit = limit;
        self.to_go = if self.has_error() && self.goal.is_some() {
            let round = self.last_round();
            let pixel_noise = &pixel_stats.pixel_noise;
            let to_go = list.iter().map(|&pixel| {
                let around = tile_error(&round, pixel_noise, pixel);
                samples_to_go(&pixel_noise[pixel as usize], &round, around)
            });
            to_go.sum()
        } else {
            self.all_to_go()
        };
    }

    /// Returns the number of samples that the round's pixels lack up to the limit.
    fn all_to_go(&self) -> u64 {
        u64::from(self.listed) * u64::from(self.limit - self.first_sample())
    }

    /// Returns the minimum number of samples of any pixel so far.
    pub(crate) fn min_samples(&self) -> u32 {
        let in_round = self.done.checked_div(self.listed.into()).unwrap_or(0) as u32;
        let unconverged = self.first_sample() + in_round;
        self.min_converged_samples
            .map_or(unconverged, |converged| converged.min(unconverged))
    }

    /// Returns the number of pairs rendered in all rounds.
    pub(crate) fn sample_count(&self) -> u64 {
        self.before + self.done
    }

    /// Returns whether the number of missing samples can be estimated: noise is known, or the limit comes before the
    /// first test.
    pub(crate) fn has_progress(&self) -> bool {
        self.goal.is_none() || self.has_error() || samples_after(2) > u64::from(self.limit)
    }

    /// Returns the estimated fraction of the render that is done, 0..=1; 1 only once it is complete.
    pub(crate) fn progress(&self) -> f64 {
        if self.is_complete() {
            return 1.0;
        }
        let taken = self.sample_count() as f64;
        let in_round = (self.end() - self.done) as f64;
        let left = self.to_go.saturating_sub(self.done) as f64;
        (taken / (taken + left.max(in_round)).max(1.0)).min(0.9999)
    }

    /// Returns whether pixels have been tested against an earlier round, so that errors are known.
    pub(crate) fn has_error(&self) -> bool {
        self.number > 1
    }

    /// Returns the estimated error of the image, the mean over its pixels; `None` before it is known.
    pub(crate) fn error(&self) -> Option<f64> {
        let errors = (self.done_error + self.left_error) as f64;
        self.has_error()
            .then(|| errors / f64::from(ERROR_UNITS) / f64::from(self.pixel_count))
    }
}
