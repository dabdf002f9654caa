//! Denoising by averaging over windows that adapt to noise. Twin: `kernels/shared/adaptive_window.cuh`.
//!
//! A wider window's mean has less noise, but equals the pixel's radiance only where the image is flat. In each of the
//! four quadrants at a pixel the window grows while its mean agrees with those of all narrower ones within their noise
//! (O. V. Lepski, "On a problem of adaptive estimation in Gaussian white noise", 1990; A. Goldenshluger and A.
//! Nemirovski, "On spatially adaptive estimation of nonparametric regression", 1997; V. Katkovnik, "A new method for
//! varying adaptive bandwidth selection", 1999). The four means are combined by inverse variance (A. Foi, V. Katkovnik,
//! K. Egiazarian and J. Astola, "A novel anisotropic local polynomial estimator based on directional multiscale
//! optimizations", 2004).
//!
//! Windows are squares of 1, 2, 4, 8 and 16 pixels, cut off at the image's edges. Their sums are four reads per channel
//! of summed-area tables of integers, which wrap around without harm.
//!
//! Deviations from the sources: all channels share one window, and means are compared by the squared length of their
//! difference. A single pixel's noise is at least that around it. A pixel brighter or darker than all its neighbours
//! may differ by twice as much.

use glam::Vec3;

use crate::{
    film::{SCALE, fixed_point},
    math::{dot, max_f32, min_f32},
};

/// Number of windows per quadrant, each twice as wide as the one before, starting with the pixel itself.
pub const WINDOWS: u32 = 5;
/// Two means agree if they differ by at most this many times the sum of their standard deviations. Larger values smooth
/// more.
pub const TOLERANCE: f32 = 0.7;
/// Replaces [`TOLERANCE`] in comparisons with a pixel that is brighter or darker than all its neighbours.
pub const SPECK_TOLERANCE: f32 = 1.4;
/// Half-width in pixels of the square around a pixel over which its noise is averaged: 2 gives 5 × 5 pixels.
pub const NOISE_RADIUS: u32 = 2;
/// Windows of up to this many pixels have at least the noise around the pixel, larger ones at least [`MIN_NOISE`] of
/// it.
pub const FEW_PIXELS: u32 = 4;
/// Lower bound of the noise of windows larger than [`FEW_PIXELS`], as a fraction of the noise around the pixel.
pub const MIN_NOISE: f32 = 0.0625;
/// Upper bound of a pixel's channel in the tables, so that the sum over 256 pixels stays below 2⁶⁴.
pub const MAX_TABLED: f32 = 8_388_608.0;
/// Upper bound of a pixel's variance in the table of noise, so that the sum over 256 pixels stays below 2⁶⁴.
pub const MAX_NOISE: f32 = 32_768.0;
/// Fixed-point units of a variance of 1 (squared radiance) in the table of noise: 2⁴⁰.
pub const NOISE_SCALE: f32 = 1_099_511_627_776.0;
/// Index of the summed-area table of the red channel. The tables are stacked vertically in one buffer, in the order of
/// their indices, each with as many rows as the image.
pub const RED_TABLE: u32 = 0;
/// Index of the summed-area table of the green channel.
pub const GREEN_TABLE: u32 = 1;
/// Index of the summed-area table of the blue channel.
pub const BLUE_TABLE: u32 = 2;
/// Index of the summed-area table of the pixels' variances.
pub const NOISE_TABLE: u32 = 3;
/// Number of summed-area tables: three color channels and the variance.
pub const TABLES: u32 = 4;

/// The mean radiance of a window, with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowMean {
    /// Mean radiance of the window in linear sRGB.
    pub light: Vec3,
    /// Variance of the window's mean radiance, summed over the channels.
    pub noise: f32,
    /// Standard deviation: the square root of `noise`.
    pub deviation: f32,
}

/// A rectangle of pixels, with exclusive right and bottom bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First pixel column of the window.
    pub left: u32,
    /// First pixel row of the window.
    pub top: u32,
    /// Exclusive end of the window's pixel columns.
    pub right: u32,
    /// Exclusive end of the window's pixel rows.
    pub bottom: u32,
}

/// A noisy image and its summed-area tables, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct SummedTables<'a> {
    /// Width in pixels of the image and of each table.
    pub width: u32,
    /// Height in pixels of the image and of each table.
    pub height: u32,
    /// The image: three channels per pixel, linear radiance, rows from the top.
    pub lights: &'a [f32],
    /// The four tables in fixed point, stacked vertically and summed as if they were one image.
    pub sums: &'a [u64],
}

/// Converts one channel of a pixel, at most [`MAX_TABLED`], to the fixed point of its table.
#[inline]
pub fn tabled_light(light: f32) -> u64 {
    fixed_point(min_f32(light, MAX_TABLED))
}

/// Converts a pixel's variance, at most [`MAX_NOISE`], to the fixed point of the table of noise.
#[inline]
pub fn tabled_noise(noise: f32) -> u64 {
    (min_f32(noise, MAX_NOISE) * NOISE_SCALE) as u64
}

/// Estimates the variance of the mean of a pixel's samples, summed over the channels, from the means of its first
/// samples and of the rest.
///
/// `samples` is their total number. Returns 0 if either part is empty; see
/// [`NoiseEstimator`](crate::adaptive::noise_estimate::NoiseEstimator).
#[inline]
pub fn noise_of(first: Vec3, rest: Vec3, first_samples: u32, samples: u32) -> f32 {
    if first_samples == 0 || first_samples >= samples {
        return 0.0;
    }
    let apart = first - rest;
    let all = samples as f32;
    let weight = first_samples as f32 / all * ((samples - first_samples) as f32 / all);
    dot(apart, apart) * weight
}

/// Returns the variance of a pixel's mean from the variance of a sample, which adaptive renders know (see
/// [`pixel_noise`](crate::adaptive::pixel_noise)); 0 without samples.
#[inline]
pub fn noise_known(variance: f32, samples: u32) -> f32 {
    if samples == 0 {
        return 0.0;
    }
    variance / samples as f32
}

/// Returns the mean of a channel over some pixels from their sum in its table.
#[inline]
pub fn mean_light(sum: u64, pixels: u32) -> f32 {
    sum as f32 / (SCALE * pixels as f32)
}

/// Returns the mean variance over some pixels from their sum in the table of noise.
#[inline]
pub fn mean_noise(sum: u64, pixels: u32) -> f32 {
    sum as f32 / (NOISE_SCALE * pixels as f32)
}

/// Returns the mean of a window from its radiance `light` and `noise`, the variance of that mean.
#[inline]
pub fn estimate(light: Vec3, noise: f32) -> WindowMean {
    WindowMean {
        light,
        noise,
        deviation: noise.sqrt(),
    }
}

/// Returns whether two estimates can be of the same radiance, within `tolerance` times the sum of their deviations.
#[inline]
pub fn agree(one: &WindowMean, other: &WindowMean, tolerance: f32) -> bool {
    let apart = one.light - other.light;
    let max_distance = tolerance * (one.deviation + other.deviation);
    dot(apart, apart) <= max_distance * max_distance
}

/// Returns the square of up to `side` pixels that has the pixel in a corner and extends into a quadrant, clipped to the
/// image.
///
/// Bit 0 of `quadrant` extends it to the right instead of left, bit 1 down instead of up.
#[inline]
pub fn window_towards(x: u32, y: u32, width: u32, height: u32, quadrant: u32, side: u32) -> Window {
    let (right, down) = (quadrant & 1 != 0, quadrant & 2 != 0);
    let wide = if right { width - x } else { x + 1 };
    let high = if down { height - y } else { y + 1 };
    let (wide, high) = (wide.min(side), high.min(side));
    let left = if right { x } else { x + 1 - wide };
    let top = if down { y } else { y + 1 - high };
    Window {
        left,
        top,
        right: left + wide,
        bottom: top + high,
    }
}

/// Returns the square around a pixel that extends by `radius` pixels to each side, clipped to the image.
#[inline]
pub fn window_around(x: u32, y: u32, width: u32, height: u32, radius: u32) -> Window {
    let last = |place: u32, length: u32| {
        if length - place > radius {
            place + radius + 1
        } else {
            length
        }
    };
    Window {
        left: x.saturating_sub(radius),
        top: y.saturating_sub(radius),
        right: last(x, width),
        bottom: last(y, height),
    }
}

/// Returns the number of pixels of a window.
#[inline]
pub fn pixels_in(window: &Window) -> u32 {
    (window.right - window.left) * (window.bottom - window.top)
}

/// Returns the radiance of a pixel of the noisy image.
#[inline]
fn light_at(tables: &SummedTables, x: u32, y: u32) -> Vec3 {
    let first = 3 * (y as usize * tables.width as usize + x as usize);
    Vec3::from_slice(&tables.lights[first..first + 3])
}

/// Returns the table entry that sums all rows above `row` of the stacked tables, left of `column`.
#[inline]
fn corner(tables: &SummedTables, row: usize, column: u32) -> u64 {
    if row == 0 || column == 0 {
        return 0;
    }
    tables.sums[(row - 1) * tables.width as usize + column as usize - 1]
}

/// Returns the sum over a window in one table.
#[inline]
fn sum_in(tables: &SummedTables, table: u32, window: &Window) -> u64 {
    let first = table as usize * tables.height as usize;
    let row = |row: u32| {
        let row = first + row as usize;
        corner(tables, row, window.right).wrapping_sub(corner(tables, row, window.left))
    };
    row(window.bottom).wrapping_sub(row(window.top))
}

/// Returns the mean radiance of a window of more than one pixel, and its uncertainty.
///
/// `noise_around` is the mean variance of single pixels around; it bounds the window's noise from below.
#[inline]
fn estimate_in(tables: &SummedTables, window: &Window, noise_around: f32) -> WindowMean {
    let pixels = pixels_in(window);
    let channel = |table| mean_light(sum_in(tables, table, window), pixels);
    let light = Vec3::new(
        channel(RED_TABLE),
        channel(GREEN_TABLE),
        channel(BLUE_TABLE),
    );
    let min_noise = if pixels > FEW_PIXELS {
        noise_around * MIN_NOISE
    } else {
        noise_around
    };
    let noise = max_f32(
        mean_noise(sum_in(tables, NOISE_TABLE, window), pixels),
        min_noise,
    );
    estimate(light, noise / pixels as f32)
}

/// Returns whether a pixel is brighter, or darker, than all its up to eight neighbours.
#[inline]
fn stands_out(tables: &SummedTables, x: u32, y: u32, light: Vec3) -> bool {
    let near = window_around(x, y, tables.width, tables.height, 1);
    let own = light.x + light.y + light.z;
    let (mut brightest, mut darkest) = (-1.0, f32::MAX);
    for row in near.top..near.bottom {
        for column in near.left..near.right {
            if row == y && column == x {
                continue;
            }
            let other = light_at(tables, column, row);
            let sum = other.x + other.y + other.z;
            brightest = max_f32(brightest, sum);
            darkest = min_f32(darkest, sum);
        }
    }
    own > brightest || own < darkest
}

/// Returns the estimate of the widest window in a quadrant that agrees with all narrower ones.
#[inline]
fn widest(
    tables: &SummedTables,
    (x, y): (u32, u32),
    quadrant: u32,
    own: &WindowMean,
    noise_around: f32,
    tolerance: f32,
) -> WindowMean {
    let mut known = [*own; WINDOWS as usize];
    for step in 1..WINDOWS {
        let window = window_towards(x, y, tables.width, tables.height, quadrant, 1 << step);
        let next = estimate_in(tables, &window, noise_around);
        let agrees = agree(&next, own, tolerance)
            && known[1..step as usize]
                .iter()
                .all(|before| agree(&next, before, TOLERANCE));
        if !agrees {
            return known[step as usize - 1];
        }
        known[step as usize] = next;
    }
    known[WINDOWS as usize - 1]
}

/// Returns the denoised radiance of a pixel; the pixel itself where no noise is known.
pub fn denoise_pixel(tables: &SummedTables, x: u32, y: u32) -> Vec3 {
    let light = light_at(tables, x, y);
    let near = window_around(x, y, tables.width, tables.height, NOISE_RADIUS);
    let noise_around = mean_noise(sum_in(tables, NOISE_TABLE, &near), pixels_in(&near));
    let noisy = noise_around > 0.0;
    if !noisy {
        return light;
    }
    let alone = window_around(x, y, tables.width, tables.height, 0);
    let own_noise = mean_noise(sum_in(tables, NOISE_TABLE, &alone), 1);
    let own = estimate(light, max_f32(own_noise, noise_around));
    let tolerance = if stands_out(tables, x, y, light) {
        SPECK_TOLERANCE
    } else {
        TOLERANCE
    };
    let (mut sum, mut weights) = (Vec3::ZERO, 0.0);
    for quadrant in 0..4 {
        let found = widest(tables, (x, y), quadrant, &own, noise_around, tolerance);
        let weight = 1.0 / found.noise;
        sum += found.light * weight;
        weights += weight;
    }
    sum * (1.0 / weights)
}
