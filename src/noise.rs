//! How noisy a picture still is, told by its own samples.

use glam::Vec3;

use crate::picture::Picture;

/// Estimates the error of a render from its pictures at different numbers of samples.
///
/// It stands for the mean over the pixels of |shown − true| ÷ (true + a hundredth of the picture's mean), each the sum of
/// the channels. The true picture is not known, but two pictures of one render are: where the samples of a pixel are
/// independent, with the variance σ² each, the mean M of n of them and the mean A of the first m differ by a number of
/// the variance σ²·(n−m)/(n·m), and M from the truth by one of σ²/n. So |M−A|·√(m/(n−m)) is distributed as |M−true| is.
/// Its mean over thousands of pixels is sharp, however little is known of each.
///
/// The samples here are not independent but spread evenly (Sobol), and cancel better than that: the estimate is about
/// the error where light is rough, and above it where light is smooth. What no sample has found yet it cannot know.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// Some pixels of a picture, and the samples of each.
    before: Option<(u32, Vec<Vec3>)>,
    /// The last estimate, and the samples that it was made at.
    estimate: Option<(u32, f64)>,
}

/// Pixels that are kept: more tell no more.
const MOST_PIXELS: usize = 1 << 18;
/// From one pixel that is kept to the next.
const STRIDES: [usize; 5] = [1, 7, 61, 509, 4093];

/// Of the picture's mean: what darkness is compared with.
pub(crate) const DARK: f64 = 0.01;

impl Noise {
    /// Nothing is known yet.
    pub fn new() -> Noise {
        Noise::default()
    }

    /// Whether a picture of so many samples a pixel would tell more: with each doubling.
    pub fn wants(&self, samples: u32) -> bool {
        match &self.before {
            Some((before, _)) => samples / 2 >= *before,
            None => samples > 0,
        }
    }

    /// Looks at a picture of so many samples a pixel, all later ones with more of the same.
    pub fn look(&mut self, samples: u32, picture: &Picture) {
        // A prime number of pixels apart, so that no column of the picture is left out.
        let apart = STRIDES
            .into_iter()
            .find(|apart| picture.pixels.len() / apart <= MOST_PIXELS)
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

    /// The relative error of the picture at so many samples a pixel, by the last estimate; `None` before there is one.
    pub fn at(&self, samples: u32) -> Option<f64> {
        let (known, error) = self.estimate?;
        Some(error * (f64::from(known) / f64::from(samples.max(1))).sqrt())
    }
}

/// Mean over the pixels of |one − other| ÷ (other + a hundredth of the other's mean), each the sum of the channels: what
/// [`Noise`] estimates where `other` is the true picture.
pub fn mean_difference(one: &Picture, other: &Picture) -> f64 {
    difference(&one.pixels, &other.pixels)
}

fn difference(one: &[Vec3], other: &[Vec3]) -> f64 {
    let sum = |pixel: Vec3| f64::from(pixel.x) + f64::from(pixel.y) + f64::from(pixel.z);
    let count = other.len().max(1) as f64;
    let mean = other.iter().map(|&pixel| sum(pixel)).sum::<f64>() / count;
    if mean <= 0.0 {
        return 0.0;
    }
    let relative =
        |(&one, &other): (&Vec3, &Vec3)| sum((one - other).abs()) / (sum(other) + DARK * mean);
    one.iter().zip(other).map(relative).sum::<f64>() / count
}
