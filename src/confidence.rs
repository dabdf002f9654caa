//! Estimates of a pixel's light over windows of growing width, as wide as their noise allows. Twin:
//! `kernels/shared/confidence.cuh`.
//!
//! A window's mean has less noise than the pixel, and is the same light only as long as the picture is even there. From
//! one window to the next wider one that is told by confidence intervals: a mean is kept as long as it differs from those
//! of all narrower windows by no more than their noise explains (O. V. Lepski, "On a problem of adaptive estimation in
//! Gaussian white noise", 1990; A. Goldenshluger and A. Nemirovski, "On spatially adaptive estimation of nonparametric
//! regression", 1997; V. Katkovnik, "A new method for varying adaptive bandwidth selection", 1999, there of polynomials,
//! here of constants). That is done in the four quadrants at a pixel, so that beside an edge three or two of them still
//! grow, and the four are added up by the inverse of their variances (A. Foi, V. Katkovnik, K. Egiazarian and J. Astola, "A
//! novel anisotropic local polynomial estimator based on directional multiscale optimizations", 2004).
//!
//! Windows are sums of squares 1, 2, 4, 8 and 16 pixels wide, cut off at the picture's edges: four reads of a summed-area
//! table for each channel and for the noise, which is that of `noise`: two parts of a pixel's samples differ by it. Where
//! pixels get samples until they are good, it is what they are judged by.
//! The tables hold integers, so that sums have the same bits in whatever order they were added; they wrap around, and
//! a window's own sum has room.
//!
//! Deviations from the sources: one window for all channels, whose means are compared by the squared length of their
//! difference; the noise of a single pixel, which is known by one number alone, is at least what it is around it, and a
//! larger window's a part of that; and a pixel that is brighter or darker than all around it is a speck before it is a
//! detail: it may differ by twice as much.

use glam::Vec3;

use crate::{
    film::{SCALE, fixed_point},
    math::{dot, greater, lesser},
};

/// Windows towards a quadrant: each twice as wide as the one before, from a pixel on.
pub const WINDOWS: u32 = 5;
/// By how many times the sum of their standard deviations two means of the same light differ at most. Of 0.5 to 1.4 it is
/// what makes pictures look best by FLIP; more smooths more: BENCHMARKS.md, "The denoised preview".
pub const TOLERANCE: f32 = 0.7;
/// The same for a pixel that stands out.
pub const SPECK_TOLERANCE: f32 = 1.4;
/// How far around a pixel its noise is looked for.
pub const NOISE_RADIUS: u32 = 2;
/// Windows of no more pixels have at least the noise around the pixel, and larger ones at least this part of it.
pub const FEW_PIXELS: u32 = 4;
/// See [`FEW_PIXELS`].
pub const LEAST_NOISE: f32 = 0.0625;
/// The most light and noise that a table takes of a pixel: 256 of them add up to less than 2⁶⁴.
pub const MOST_TABLED: f32 = 8_388_608.0;
/// See [`MOST_TABLED`].
pub const MOST_NOISE: f32 = 32_768.0;
/// A squared radiance of 1 in the table of noise.
pub const NOISE_SCALE: f32 = 1_099_511_627_776.0;
/// Tables, one below the other.
pub const RED_TABLE: u32 = 0;
/// See [`RED_TABLE`].
pub const GREEN_TABLE: u32 = 1;
/// See [`RED_TABLE`].
pub const BLUE_TABLE: u32 = 2;
/// See [`RED_TABLE`].
pub const NOISE_TABLE: u32 = 3;
/// How many they are.
pub const TABLES: u32 = 4;

/// A mean over some pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Radiance.
    pub light: Vec3,
    /// Its variance, summed over the channels.
    pub noise: f32,
    /// The root of that.
    pub deviation: f32,
}

/// Some columns of some rows: the first of each, and the one behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub left: u32,
    /// First row.
    pub top: u32,
    /// Behind the last column.
    pub right: u32,
    /// Behind the last row.
    pub bottom: u32,
}

/// A picture with noise, and summed-area tables of it.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// Pixels a row.
    pub width: u32,
    /// Rows of the picture; the tables have as many each.
    pub height: u32,
    /// Three channels a pixel, rows from the top.
    pub lights: &'a [f32],
    /// The tables, one below the other, summed up as if they were one.
    pub sums: &'a [u64],
}

/// A channel as its table takes it.
#[inline]
pub fn tabled_light(light: f32) -> u64 {
    fixed_point(lesser(light, MOST_TABLED))
}

/// A variance as its table takes it.
#[inline]
pub fn tabled_noise(noise: f32) -> u64 {
    (lesser(noise, MOST_NOISE) * NOISE_SCALE) as u64
}

/// The variance of the mean of a pixel's samples, from the means of the first of them and of the rest: see
/// [`Noise`](crate::noise::Noise). 0 where there is no rest, or no first.
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

/// The same from what is known of a sample's variance where pixels get samples until they are good (see
/// [`history`](crate::history)).
#[inline]
pub fn noise_known(variance: f32, samples: u32) -> f32 {
    if samples == 0 {
        return 0.0;
    }
    variance / samples as f32
}

/// Of some pixels, from their sum in the table.
#[inline]
pub fn mean_light(sum: u64, pixels: u32) -> f32 {
    sum as f32 / (SCALE * pixels as f32)
}

/// Of some pixels, from their sum in the table.
#[inline]
pub fn mean_noise(sum: u64, pixels: u32) -> f32 {
    sum as f32 / (NOISE_SCALE * pixels as f32)
}

/// A mean with this variance.
#[inline]
pub fn estimate(light: Vec3, noise: f32) -> Estimate {
    Estimate {
        light,
        noise,
        deviation: noise.sqrt(),
    }
}

/// Whether both can be of the same light.
#[inline]
pub fn agree(one: &Estimate, other: &Estimate, tolerance: f32) -> bool {
    let apart = one.light - other.light;
    let most = tolerance * (one.deviation + other.deviation);
    dot(apart, apart) <= most * most
}

/// The square with this side that has the pixel in a corner, and goes from there to the left and up; by the
/// quadrant's first bit to the right, by its second down.
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

/// The square around the pixel that reaches so far from it.
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

/// How many pixels it has.
#[inline]
pub fn pixels_in(window: &Window) -> u32 {
    (window.right - window.left) * (window.bottom - window.top)
}

/// The pixel as it is.
#[inline]
fn light_at(tables: &Tables, x: u32, y: u32) -> Vec3 {
    let first = 3 * (y as usize * tables.width as usize + x as usize);
    Vec3::from_slice(&tables.lights[first..first + 3])
}

/// The sum of all rows of the tables before `row`, up to `column`.
#[inline]
fn corner(tables: &Tables, row: usize, column: u32) -> u64 {
    if row == 0 || column == 0 {
        return 0;
    }
    tables.sums[(row - 1) * tables.width as usize + column as usize - 1]
}

#[inline]
fn sum_in(tables: &Tables, table: u32, window: &Window) -> u64 {
    let first = table as usize * tables.height as usize;
    let row = |row: u32| {
        let row = first + row as usize;
        corner(tables, row, window.right).wrapping_sub(corner(tables, row, window.left))
    };
    row(window.bottom).wrapping_sub(row(window.top))
}

/// Of a window larger than a pixel, in a place with so much noise.
#[inline]
fn estimate_in(tables: &Tables, window: &Window, noise_around: f32) -> Estimate {
    let pixels = pixels_in(window);
    let channel = |table| mean_light(sum_in(tables, table, window), pixels);
    let light = Vec3::new(
        channel(RED_TABLE),
        channel(GREEN_TABLE),
        channel(BLUE_TABLE),
    );
    let least = if pixels > FEW_PIXELS {
        noise_around * LEAST_NOISE
    } else {
        noise_around
    };
    let noise = greater(
        mean_noise(sum_in(tables, NOISE_TABLE, window), pixels),
        least,
    );
    estimate(light, noise / pixels as f32)
}

/// Whether the pixel is brighter, or darker, than all that touch it.
#[inline]
fn stands_out(tables: &Tables, x: u32, y: u32, light: Vec3) -> bool {
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
            brightest = greater(brightest, sum);
            darkest = lesser(darkest, sum);
        }
    }
    own > brightest || own < darkest
}

/// The mean over the widest window towards a quadrant that agrees with all narrower ones.
#[inline]
fn widest(
    tables: &Tables,
    (x, y): (u32, u32),
    quadrant: u32,
    own: &Estimate,
    noise_around: f32,
    tolerance: f32,
) -> Estimate {
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

/// The pixel with less noise; the pixel as it is where there is none.
pub fn smoothed(tables: &Tables, x: u32, y: u32) -> Vec3 {
    let light = light_at(tables, x, y);
    let near = window_around(x, y, tables.width, tables.height, NOISE_RADIUS);
    let noise_around = mean_noise(sum_in(tables, NOISE_TABLE, &near), pixels_in(&near));
    let noisy = noise_around > 0.0;
    if !noisy {
        return light;
    }
    let alone = window_around(x, y, tables.width, tables.height, 0);
    let own_noise = mean_noise(sum_in(tables, NOISE_TABLE, &alone), 1);
    let own = estimate(light, greater(own_noise, noise_around));
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
