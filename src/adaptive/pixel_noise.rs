//! Adaptive sampling of one pixel: its estimated noise, and the convergence test. Twin:
//! `kernels/shared/pixel_noise.cuh`.
//!
//! A pixel gets its samples in rounds. The difference between a round's mean and the mean before it estimates the
//! variance of a sample (T. Chan, G. Golub and R. LeVeque, "Algorithms for computing the sample variance", 1983); the
//! estimates of recent rounds are averaged. Samples are stratified over a round, so the estimate is below the variance
//! of independent samples, as is the mean's error. A pixel that has not yet met its rare bright paths looks calm, so the
//! errors of the other pixels of its tile count, too.

use compaction::shared;
use glam::Vec3;

use crate::math::{dot, max_f32, min_f32};

/// Length of the running average of a pixel's variance, in rounds: a new estimate gets at least the weight 1/8.
///
/// Later rounds weigh more, because stratification improves with the number of samples.
pub const AVERAGED_ROUNDS: f32 = 8.0;
/// Mean absolute deviation of a normal distribution, in standard deviations: √(2/π).
pub const MEAN_ABSOLUTE_DEVIATION: f32 = 0.797_884_6;
/// Brightness of a hypothetical sample not found yet, relative to the pixel. Each pixel is assumed to lack one.
///
/// So even a pixel without visible noise takes some samples, more of them for a stricter goal.
pub const UNSEEN: f32 = 2.0;
/// Safety factor: the estimated error is multiplied by 1 + `CAUTION` / rounds, because estimates from few rounds are
/// unreliable.
pub const CAUTION: f32 = 1.0;
/// Number of consecutive rounds that must find a pixel converged.
pub const CONVERGED_ROUNDS: u32 = 2;
/// Fixed-point units of a relative error of 1, in sums of errors.
pub const ERROR_UNITS: f32 = 1_048_576.0;
/// Relative errors above this count as this in fixed-point sums.
pub const MAX_ERROR: f32 = 1024.0;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![CONVERGED_ROUNDS];
/// Real numbers that kernels use under the same names.
pub(crate) const NUMBERS: &[(&str, f32)] = named![
    AVERAGED_ROUNDS,
    MEAN_ABSOLUTE_DEVIATION,
    UNSEEN,
    CAUTION,
    ERROR_UNITS,
    MAX_ERROR
];

shared! {
    /// Noise statistics of a pixel.
    pub struct PixelNoise {
        /// Variance of a sample, summed over the channels, averaged over recent rounds; squared radiance.
        pub variance: f32,
        /// Estimated absolute error of the pixel's mean over the sum of its brightness (over the channels) and
        /// [`ConvergenceTest::brightness_offset`]; 1 after the first round, which gives no estimate.
        pub error: f32,
        /// Number of consecutive rounds that found the pixel converged.
        pub converged_rounds: u32,
    }
}

shared! {
    /// A round of adaptive sampling and the parameters of its convergence test.
    pub struct ConvergenceTest {
        /// Goal: a pixel counts as converged if its relative error and that of its tile are at most this, see
        /// [`converged_rounds`].
        pub noise: f32,
        /// Radiance, summed over the three channels, that is added to a pixel's brightness so that dark pixels
        /// converge.
        pub brightness_offset: f32,
        /// Number of the round, from 0.
        pub number: u32,
        /// Samples per pixel before the round.
        pub before: u32,
        /// Samples per pixel after the round.
        pub after: u32,
        /// Maximum number of samples per pixel.
        pub limit: u32,
        /// Width of the picture in pixels.
        pub width: u32,
        /// Height of the picture in pixels.
        pub height: u32,
    }
}

/// Returns a pixel's variance and error after a round; the number of converged rounds stays.
///
/// `earlier` is its mean before the round, `added` the mean of the round's samples, and `mean` the mean of all samples.
/// The first round gives no estimate: the error is then 1.
#[inline]
pub fn after_round(
    pixel: PixelNoise,
    round: &ConvergenceTest,
    earlier: Vec3,
    added: Vec3,
    mean: Vec3,
) -> PixelNoise {
    // The first round has nothing to be compared with.
    if round.number == 0 {
        return PixelNoise {
            variance: 0.0,
            error: 1.0,
            converged_rounds: 0,
        };
    }
    let (before, after) = (round.before as f32, round.after as f32);
    let apart = added - earlier;
    let found = dot(apart, apart) * (before * (after - before) / after);
    let weight = 1.0 / min_f32(round.number as f32, AVERAGED_ROUNDS);
    let variance = pixel.variance + (found - pixel.variance) * weight;
    let light = mean.x + mean.y + mean.z + round.brightness_offset;
    // The worst case is errors that are correlated between channels: three times one of them.
    let error = MEAN_ABSOLUTE_DEVIATION * (3.0 * variance / after).sqrt() / light;
    PixelNoise {
        variance,
        error,
        converged_rounds: pixel.converged_rounds,
    }
}

/// Returns the number of consecutive rounds that found a pixel converged, after a round.
///
/// `tile_error` is the root mean square of the errors of the pixels of its tile. The first round finds none converged.
#[inline]
pub fn converged_rounds(pixel: &PixelNoise, round: &ConvergenceTest, tile_error: f32) -> u32 {
    let error = max_f32(pixel.error, tile_error);
    let unseen = UNSEEN / round.after as f32;
    let caution = 1.0 + CAUTION / round.number as f32;
    let meets_goal = (error * error + unseen * unseen).sqrt() * caution <= round.noise;
    if meets_goal && round.number > 0 {
        pixel.converged_rounds + 1
    } else {
        0
    }
}

/// Returns whether a pixel has converged: [`CONVERGED_ROUNDS`] rounds in a row found its error small enough.
#[inline]
pub fn has_converged(pixel: &PixelNoise) -> bool {
    pixel.converged_rounds >= CONVERGED_ROUNDS
}

/// Converts an error to fixed point, so that sums do not depend on the order of summation. It counts as at most
/// [`MAX_ERROR`].
#[inline]
pub fn error_units(error: f32) -> u64 {
    (min_f32(error, MAX_ERROR) * ERROR_UNITS) as u64
}

/// Estimates how many more samples a pixel needs until it has converged, up to the limit.
///
/// It assumes the safety factor of twice the rounds so far, and includes the rounds that must confirm convergence.
/// `tile_error` is that of [`converged_rounds`].
#[inline]
pub fn samples_to_go(pixel: &PixelNoise, round: &ConvergenceTest, tile_error: f32) -> u64 {
    let (before, after) = (round.before as f32, round.after as f32);
    let cautious = 1.0 + CAUTION / (2.0 * round.number as f32);
    let times = max_f32(pixel.error, tile_error) * cautious / round.noise;
    let wanted = max_f32(after * (times * times), UNSEEN * cautious / round.noise);
    let again = if pixel.converged_rounds < CONVERGED_ROUNDS {
        (CONVERGED_ROUNDS - pixel.converged_rounds) as f32
    } else {
        0.0
    };
    let missing = max_f32(wanted - after, 0.0) + again * max_f32(after - before, 0.0);
    min_f32(missing, max_f32(round.limit as f32 - after, 0.0)) as u64
}
