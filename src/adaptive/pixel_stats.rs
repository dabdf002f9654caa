//! Per-pixel statistics of an adaptive render, kept beside the film's sums.

use xxhash_rust::xxh3::Xxh3;

use crate::{
    adaptive::pixel_noise::{ConvergenceTest, MAX_ERROR, PixelNoise, has_converged},
    math::min_f32,
    path::TILE,
};

/// Sample counts and noise statistics of all pixels, in row-major order from the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PixelStats {
    /// Number of samples of each pixel.
    pub sample_counts: Vec<u32>,
    /// The film's sums at each pixel's last convergence test, three channels per pixel.
    pub sums_at_test: Vec<u64>,
    /// Noise statistics of each pixel after its last convergence test.
    pub pixel_noise: Vec<PixelNoise>,
}

impl PixelStats {
    /// Creates the statistics of an image without samples.
    pub fn new(pixel_count: u32) -> PixelStats {
        PixelStats {
            sample_counts: vec![0; pixel_count as usize],
            sums_at_test: vec![0; 3 * pixel_count as usize],
            pixel_noise: vec![PixelNoise::default(); pixel_count as usize],
        }
    }

    /// Returns the pixels of the list `pixels` that have not converged, in the order of the list.
    pub(crate) fn unfinished(&self, pixels: &[u32]) -> Vec<u32> {
        let left = |&&pixel: &&u32| !has_converged(&self.pixel_noise[pixel as usize]);
        pixels.iter().filter(left).copied().collect()
    }

    /// Returns the hash of all data as 32 hexadecimal digits (XXH3, 128 bits).
    pub(crate) fn hash(&self) -> String {
        let mut hash = Xxh3::new();
        for chunk in self.sample_counts.chunks(1 << 12) {
            hash.update(bytemuck::cast_slice(&little_endian(chunk, u32::to_le)));
        }
        for chunk in self.sums_at_test.chunks(1 << 12) {
            hash.update(bytemuck::cast_slice(&little_endian(chunk, u64::to_le)));
        }
        for chunk in self.pixel_noise.chunks(1 << 12) {
            let words: &[u32] = bytemuck::cast_slice(chunk);
            hash.update(bytemuck::cast_slice(&little_endian(words, u32::to_le)));
        }
        format!("{:032x}", hash.digest128())
    }
}

/// Returns the root mean square of the errors of the pixels of a pixel's tile, summed row by row.
pub(crate) fn tile_error(round: &ConvergenceTest, pixel_noise: &[PixelNoise], pixel: u32) -> f32 {
    let (left, top) = (
        pixel % round.width / TILE * TILE,
        pixel / round.width / TILE * TILE,
    );
    let (mut sum, mut count) = (0.0, 0);
    for y in top..round.height.min(top + TILE) {
        for x in left..round.width.min(left + TILE) {
            let error = min_f32(pixel_noise[(y * round.width + x) as usize].error, MAX_ERROR);
            sum += error * error;
            count += 1;
        }
    }
    (sum / count as f32).sqrt()
}

/// Returns the words in little-endian byte order; `convert` converts one.
fn little_endian<T: Copy>(words: &[T], convert: fn(T) -> T) -> Vec<T> {
    words.iter().map(|&word| convert(word)).collect()
}
