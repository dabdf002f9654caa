//! What the samples of a pixel have told of its noise, and whether it is good enough. Twin: `kernels/shared/history.cuh`.
//!
//! A pixel gets its samples in rounds. What a round adds differs from what was there before by chance alone, so each tells
//! the variance of a sample once (T. Chan, G. Golub and R. LeVeque, "Algorithms for computing the sample variance", 1983),
//! and what the last ones told is put together. Samples are spread evenly over a round, so that this is less than the
//! variance of samples taken apart, as their mean's error is.

use compaction::shared;
use glam::Vec3;

use crate::math::{dot, greater, lesser};

/// Rounds whose variances count: what is found later counts for more, since samples cancel the better the more there are.
pub const REMEMBERED: f32 = 8.0;
/// Mean distance of a normal distribution from its middle, in standard deviations: √(2/π).
pub const MEAN_DISTANCE: f32 = 0.797_884_6;
/// How bright the sample is that no sample has found yet, in what the pixel shows: each pixel is taken to lack one. So even
/// what shows no noise takes some samples, the more the better it is to be, and light that one in a hundred of them brings is
/// found by most before they are done.
pub const UNSEEN: f32 = 2.0;
/// How much larger an error may be than it was found to be, over the rounds that found it: a few are often wrong.
pub const CAUTION: f32 = 1.0;
/// Rounds after one another that must find a pixel good.
pub const ENOUGH: u32 = 2;
/// Errors are added up as whole numbers of one by this.
pub const ERROR_UNITS: f32 = 1_048_576.0;
/// Errors from here on count alike.
pub const MOST_ERROR: f32 = 1024.0;

shared! {
    /// What is known of a pixel's noise.
    pub struct History {
        /// Variance of a sample, all channels together, by the rounds of late; radiance squared.
        pub variance: f32,
        /// Estimated distance of the mean from the truth, relative to what it shows.
        pub error: f32,
        /// Rounds after one another that found it good.
        pub good: u32,
    }
}

shared! {
    /// A round, and what it is judged by.
    pub struct Round {
        /// The error that is good enough.
        pub noise: f32,
        /// What darkness is compared with: radiance, three channels together.
        pub dark: f32,
        /// Its number, from 0.
        pub number: u32,
        /// Samples that a pixel had before it.
        pub before: u32,
        /// Samples that it has now.
        pub after: u32,
        /// Samples that it gets at most.
        pub limit: u32,
    }
}

/// What is known after a round: its pixel's mean was `earlier`, that of what it added is `added`, and now it is `mean`.
#[inline]
pub fn judged(history: History, round: &Round, earlier: Vec3, added: Vec3, mean: Vec3) -> History {
    // The first differs from nothing.
    if round.number == 0 {
        return History {
            variance: 0.0,
            error: 1.0,
            good: 0,
        };
    }
    let (before, after) = (round.before as f32, round.after as f32);
    let rounds = round.number as f32;
    let apart = added - earlier;
    let found = dot(apart, apart) * (before * (after - before) / after);
    let variance =
        history.variance + (found - history.variance) * (1.0 / lesser(rounds, REMEMBERED));
    let light = mean.x + mean.y + mean.z + round.dark;
    // Channels that err together err most: three times one of them.
    let error = MEAN_DISTANCE * (3.0 * variance / after).sqrt() / light;
    let unseen = UNSEEN / after;
    let most = (error * error + unseen * unseen).sqrt() * (1.0 + CAUTION / rounds);
    let good = most <= round.noise;
    History {
        variance,
        error,
        good: if good { history.good + 1 } else { 0 },
    }
}

/// Whether the pixel needs no more samples.
#[inline]
pub fn is_done(history: &History) -> bool {
    history.good >= ENOUGH
}

/// An error as a whole number, so that many add up to the same in any order.
#[inline]
pub fn error_units(error: f32) -> u64 {
    (lesser(error, MOST_ERROR) * ERROR_UNITS) as u64
}

/// Samples that the pixel still needs by its error, up to the limit: until it is good, as cautiously judged as after as many
/// rounds again, and for the rounds that must find it so.
#[inline]
pub fn samples_to_go(history: &History, round: &Round) -> u64 {
    let (before, after) = (round.before as f32, round.after as f32);
    let cautious = 1.0 + CAUTION / (2.0 * round.number as f32);
    let times = history.error * cautious / round.noise;
    let wanted = greater(after * (times * times), UNSEEN * cautious / round.noise);
    let again = if history.good < ENOUGH {
        (ENOUGH - history.good) as f32
    } else {
        0.0
    };
    let missing = greater(wanted - after, 0.0) + again * greater(after - before, 0.0);
    lesser(missing, greater(round.limit as f32 - after, 0.0)) as u64
}
