//! A render that stops when its pixels are good: which round is under way, and what the rounds so far have come to.
//!
//! A round gives the same number of samples to every pixel that is not good enough yet; its pairs are dealt as those of a
//! picture of these pixels are. When a round ends is fixed, so which samples a pixel gets depends on these alone.

use std::{fmt, ops::RangeInclusive};

use crate::{
    history::{ERROR_UNITS, Round, error_units, is_done, samples_to_go},
    ledger::Ledger,
    path::TILE,
    stages::Verdict,
};

/// Samples of each of the first rounds.
const FIRST: u64 = 16;
/// Rounds in which the number of samples doubles, once there are four of the first: a pixel has a tenth more samples than it
/// needs, in the mean, and few pixels still fill a wave.
const AN_OCTAVE: u32 = 4;
/// Radiance that darkness is compared with, of each channel, where white is 1: a pixel of less is good when it is as near to
/// the truth as this one.
const DARK: f32 = 0.01;

/// When a pixel is good enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Its estimated error: the distance from the truth over what it shows and [`Goal::dark`].
    pub noise: f32,
    /// What darkness is compared with: radiance, three channels together.
    pub dark: f32,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (dark is {})", self.noise, self.dark)
    }
}

impl Goal {
    /// Errors that can be asked for.
    pub(crate) const NOISE: RangeInclusive<f32> = 1e-4..=1.0;

    /// Whether pixels can be judged by it.
    pub(crate) fn is_possible(&self) -> bool {
        Goal::NOISE.contains(&self.noise) && self.dark > 0.0 && self.dark.is_finite()
    }

    /// Of a picture that is exposed by so many stops: what is dark depends on what white is.
    pub(crate) fn new(noise: f32, exposure_stops: f32) -> Goal {
        Goal {
            noise,
            dark: 3.0 * DARK * libm::exp2f(-exposure_stops),
        }
    }
}

/// Where a render is.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    pub(crate) goal: Goal,
    /// Samples that a pixel gets at most.
    limit: u32,
    /// Pixels that are rendered at all.
    pixel_count: u32,
    /// Of the round that is under way, from 0.
    number: u32,
    /// Pixels that it has.
    listed: u32,
    /// Pairs of it that are done.
    done: u64,
    /// Pairs of the rounds before.
    before: u64,
    /// Samples of the pixels that were done first.
    fewest: Option<u32>,
    /// Errors of the pixels that are done, and of the others when they were judged last; samples that these then lacked.
    done_error: u64,
    left_error: u64,
    to_go: u64,
    /// A round, and a number of its pairs, after which nothing more is rendered.
    stop: Option<(u32, u64)>,
}

/// Samples that a pixel has when so many rounds are over.
fn samples_after(rounds: u32) -> u64 {
    if rounds < AN_OCTAVE {
        return FIRST * u64::from(rounds);
    }
    let (octave, step) = (rounds / AN_OCTAVE - 1, rounds % AN_OCTAVE);
    // Beyond what a sample's number can be is beyond any limit.
    (FIRST * u64::from(AN_OCTAVE + step)) << octave.min(40)
}

/// The pixels of a picture, tile by tile, row by row within: neighbours on the list are neighbours in the picture, and stay
/// so when those between them are done.
pub(crate) fn in_tiles((width, height): (u32, u32)) -> Vec<u32> {
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

impl Rounds {
    /// Before the first sample of so many pixels.
    pub(crate) fn new(goal: Goal, limit: u32, pixel_count: u32) -> Rounds {
        Rounds {
            goal,
            limit,
            pixel_count,
            number: 0,
            listed: pixel_count,
            done: 0,
            before: 0,
            fewest: None,
            done_error: 0,
            left_error: 0,
            to_go: u64::from(pixel_count) * u64::from(limit),
            stop: None,
        }
    }

    /// Where a render of these pixels was in this round.
    pub(crate) fn resumed(self, number: u32, ledger: &Ledger) -> Rounds {
        let before = samples_after(number);
        let mut rounds = Rounds {
            number,
            listed: 0,
            to_go: 0,
            ..self
        };
        let round = rounds.last_round();
        for (history, &taken) in ledger.histories.iter().zip(&ledger.taken) {
            let error = error_units(history.error);
            if is_done(history) {
                rounds.done_error += error;
                rounds.before += u64::from(taken);
                rounds.fewest = Some(rounds.fewest.map_or(taken, |fewest| fewest.min(taken)));
            } else {
                rounds.listed += 1;
                rounds.left_error += error;
                rounds.before += before;
                rounds.done += u64::from(taken).saturating_sub(before);
                rounds.to_go += samples_to_go(history, &round);
            }
        }
        if number < 2 {
            rounds.to_go = rounds.all_to_go();
        }
        rounds
    }

    /// Ends the render after so many pairs of a round.
    pub(crate) fn stop_at(&mut self, number: u32, pairs: u64) {
        self.stop = Some((number, pairs));
    }

    /// The number of the round that is under way.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Samples of a pixel that had so many rounds.
    pub(crate) fn samples_before(round: u32) -> u64 {
        samples_after(round)
    }

    /// Samples that some pixel has, and none has more.
    pub(crate) fn of_any_pixel(&self) -> u32 {
        let in_round = self.done.div_ceil(u64::from(self.listed).max(1)) as u32;
        self.first_sample() + in_round
    }

    /// Samples that its pixels had before it.
    pub(crate) fn first_sample(&self) -> u32 {
        samples_after(self.number).min(u64::from(self.limit)) as u32
    }

    /// Pixels that it has.
    pub(crate) fn listed(&self) -> u32 {
        self.listed
    }

    /// Pairs of it that are done.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Its pairs up to here are done.
    pub(crate) fn set_done(&mut self, done: u64) {
        self.done = done;
    }

    /// Pairs of it, as far as it is rendered.
    pub(crate) fn end(&self) -> u64 {
        let last = samples_after(self.number + 1).min(u64::from(self.limit));
        let end = (last - u64::from(self.first_sample())) * u64::from(self.listed);
        match self.stop {
            Some((number, pairs)) if number == self.number => end.min(pairs),
            _ => end,
        }
    }

    /// Whether nothing is left to do: all pixels are good, or have all the samples that they may have. A round that the
    /// limit cuts short is not judged, as it would not be if the limit were higher.
    pub(crate) fn are_over(&self) -> bool {
        let cut = samples_after(self.number + 1) > u64::from(self.limit);
        let stops = self.stop.is_some_and(|(number, _)| number == self.number);
        self.listed == 0 || self.done >= self.end() && (cut || stops)
    }

    /// The round that has ended, to judge it by.
    pub(crate) fn round(&self) -> Round {
        Round {
            noise: self.goal.noise,
            dark: self.goal.dark,
            number: self.number,
            before: self.first_sample(),
            after: samples_after(self.number + 1) as u32,
            limit: self.limit,
        }
    }

    /// The one that was judged last.
    fn last_round(&self) -> Round {
        Round {
            number: self.number.saturating_sub(1),
            before: samples_after(self.number.saturating_sub(1)) as u32,
            after: self.first_sample(),
            ..self.round()
        }
    }

    /// Goes on to the next round.
    pub(crate) fn go_on(&mut self, verdict: Verdict) {
        let after = samples_after(self.number + 1);
        self.before += self.done;
        if verdict.left < self.listed {
            self.fewest.get_or_insert(after as u32);
        }
        self.number += 1;
        (self.listed, self.done) = (verdict.left, 0);
        self.done_error += verdict.done_error;
        self.left_error = verdict.left_error;
        self.to_go = if self.number < 2 {
            self.all_to_go()
        } else {
            verdict.to_go
        };
    }

    /// Samples that the pixels of the round lack up to the limit.
    fn all_to_go(&self) -> u64 {
        u64::from(self.listed) * u64::from(self.limit - self.first_sample())
    }

    /// Samples that every pixel has.
    pub(crate) fn of_every_pixel(&self) -> u32 {
        let in_round = self.done.checked_div(self.listed.into()).unwrap_or(0) as u32;
        let fewest = self.first_sample() + in_round;
        self.fewest.map_or(fewest, |done| done.min(fewest))
    }

    /// Pairs that are done.
    pub(crate) fn taken(&self) -> u64 {
        self.before + self.done
    }

    /// Whether it is known how many samples pixels still need, be it since they get all that they may have.
    pub(crate) fn know_progress(&self) -> bool {
        self.know_noise() || samples_after(2) > u64::from(self.limit)
    }

    /// Part of the samples that are done, by those that pixels still seem to need.
    pub(crate) fn progress(&self) -> f64 {
        if self.are_over() {
            return 1.0;
        }
        let taken = self.taken() as f64;
        let in_round = (self.end() - self.done) as f64;
        let left = self.to_go.saturating_sub(self.done) as f64;
        (taken / (taken + left.max(in_round)).max(1.0)).min(0.9999)
    }

    /// Whether pixels were judged by a round and those before it.
    pub(crate) fn know_noise(&self) -> bool {
        self.number > 1
    }

    /// Estimated error of the picture, the mean of its pixels'; `None` before there is one.
    pub(crate) fn error(&self) -> Option<f64> {
        let errors = (self.done_error + self.left_error) as f64;
        self.know_noise()
            .then(|| errors / f64::from(ERROR_UNITS) / f64::from(self.pixel_count))
    }
}

#[cfg(test)]
mod tests {
    use super::{in_tiles, samples_after};

    #[test]
    fn rounds_end_at_fixed_numbers_of_samples() {
        let ends: Vec<u64> = (0..15).map(samples_after).collect();
        assert_eq!(
            ends,
            [
                0, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384
            ]
        );
        assert!(samples_after(500) > u64::from(u32::MAX));
    }

    #[test]
    fn a_list_of_tiles_has_each_pixel_once() {
        for size in [(1, 1), (8, 8), (13, 21), (16, 3)] {
            let mut list = in_tiles(size);
            list.sort_unstable();
            assert!(list.into_iter().eq(0..size.0 * size.1));
        }
    }
}
