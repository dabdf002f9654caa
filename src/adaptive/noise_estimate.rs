//! Estimates the noise of a picture from its own samples.

use glam::Vec3;

use crate::film::picture::Picture;

/// Estimates the error of a render from its pictures at different sample counts.
///
/// The error is the mean over the pixels of |shown − true| ÷ (true + a hundredth of the picture's mean), each summed
/// over the channels. The true picture is unknown, but two pictures of one render are known. Let M be the mean of n
/// independent samples of a pixel with variance σ², and A the mean of the first m. M−A then has variance
/// σ²·(n−m)/(n·m), and the error of M has variance σ²/n. So |M−A|·√(m/(n−m)) is distributed like |M−true|, and its mean
/// over thousands of pixels is precise.
///
/// Sobol samples are stratified instead of independent, so the estimate is too high where light is smooth. Light that
/// no sample has found is not included.
#[derive(Clone, Debug, Default)]
pub struct NoiseEstimator {
    /// Sample count of the last picture, and a subset of its pixels.
    before: Option<(u32, Vec<Vec3>)>,
    /// Sample count of the last estimate, and its value.
    estimate: Option<(u32, f64)>,
}

/// Maximum number of pixels kept.
const MAX_PIXELS: usize = 1 << 18;
/// Candidate distances between kept pixels.
const STRIDES: [usize; 5] = [1, 7, 61, 509, 4093];

/// Fraction of the picture's mean that is added to a pixel's value to compute its relative error.
pub(crate) const BRIGHTNESS_OFFSET: f64 = 0.01;

impl NoiseEstimator {
    /// Creates an estimator without data.
    pub fn new() -> NoiseEstimator {
        NoiseEstimator::default()
    }

    /// Returns whether a picture at this sample count improves the estimate, which is the case at each doubling.
    pub fn wants(&self, samples: u32) -> bool {
        match &self.before {
            Some((before, _)) => samples / 2 >= *before,
            None => samples > 0,
        }
    }

    /// Returns the ratio of a sample count to that of the last picture; infinity before the first picture.
    pub fn growth(&self, samples: u32) -> f64 {
        self.before.as_ref().map_or(f64::INFINITY, |(before, _)| {
            f64::from(samples) / f64::from(*before)
        })
    }

    /// Adds a picture with this sample count. Later pictures must contain the samples of earlier ones.
    pub fn look(&mut self, samples: u32, picture: &Picture) {
        // Prime distances, so that the kept pixels are spread over all columns.
        let apart = STRIDES
            .into_iter()
            .find(|apart| picture.pixels.len() / apart <= MAX_PIXELS)
            .unwrap_or(picture.pixels.len());
        let pixels: Vec<Vec3> = picture.pixels.iter().copied().step_by(apart).collect();
        if let Some((before, earlier)) = &self.before
            && samples > *before
            && earlier.len() == pixels.len()
        {
            let sharpen = f64::from(*before) / f64::from(samples - before);
            let error = sharpen.sqrt() * difference(earlier, &pixels);
            self.estimate = Some((samples, error));
        }
        self.before = Some((samples, pixels));
    }

    /// Returns the relative error extrapolated to this sample count; `None` before there is an estimate.
    pub fn at(&self, samples: u32) -> Option<f64> {
        let (known, error) = self.estimate?;
        Some(error * (f64::from(known) / f64::from(samples.max(1))).sqrt())
    }
}

/// Returns the mean over the pixels of |one − other| ÷ (other + a hundredth of the other's mean), each summed over the
/// channels; 0 if `other` is black. [`NoiseEstimator`] estimates this, with the true picture as `other`.
pub fn mean_difference(one: &Picture, other: &Picture) -> f64 {
    difference(&one.pixels, &other.pixels)
}

/// Returns [`mean_difference`] of two lists of pixels; 0 if `other` is black.
fn difference(one: &[Vec3], other: &[Vec3]) -> f64 {
    let sum = |pixel: Vec3| f64::from(pixel.x) + f64::from(pixel.y) + f64::from(pixel.z);
    let count = other.len().max(1) as f64;
    let mean = other.iter().map(|&pixel| sum(pixel)).sum::<f64>() / count;
    if mean <= 0.0 {
        return 0.0;
    }
    let relative = |(&one, &other): (&Vec3, &Vec3)| {
        sum((one - other).abs()) / (sum(other) + BRIGHTNESS_OFFSET * mean)
    };
    one.iter().zip(other).map(relative).sum::<f64>() / count
}
