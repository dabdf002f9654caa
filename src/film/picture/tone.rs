//! Tone mapping: converts linear light to 8-bit sRGB by exposure, tone curve, sRGB encoding and clipping.
//!
//! The result has the same bytes on every machine. The sRGB curve (IEC 61966-2-1) is not evaluated: an 8-bit code is
//! the number of thresholds that a value reaches, and the thresholds are computed with multiplications only.

mod curves;

use glam::Vec3;
use rayon::prelude::*;

use crate::film::picture::Picture;

pub use crate::scene::Tone;

/// Maps linear sRGB of any brightness through the tone curve. Channels outside 0..=1 are left for the caller to clip.
pub fn apply(tone: Tone, light: Vec3) -> Vec3 {
    match tone {
        Tone::Srgb => light,
        Tone::AgX => curves::agx(in_range(light)),
        Tone::Aces => curves::aces(in_range(light)),
        Tone::Neutral => curves::neutral(in_range(light)),
    }
}

/// Clamps light to non-negative values whose squares do not overflow.
fn in_range(light: Vec3) -> Vec3 {
    light.clamp(Vec3::ZERO, Vec3::splat(1e15))
}

/// Converts a picture to opaque RGBA with eight bits per channel, rows from the top.
///
/// Each stop of exposure doubles the brightness before tone mapping. Any exposure is valid, and NaN counts as 0. With
/// [`Tone::Srgb`], infinity gives each channel above 1e-38 the value 255. Minus infinity makes all finite pixels black.
/// Pixels that are not finite become magenta.
pub fn to_srgb8(picture: &Picture, exposure_stops: f32, tone: Tone) -> Vec<u8> {
    let gain = match exposure_stops.is_nan() {
        true => 1.0,
        // Finite, so that black stays black.
        false => libm::exp2f(exposure_stops).min(f32::MAX),
    };
    let mut rgba = vec![0; picture.pixels.len() * 4];
    rgba.par_chunks_mut(4 * CHUNK_PIXELS)
        .zip(picture.pixels.par_chunks(CHUNK_PIXELS))
        .for_each(|(rgba, pixels)| {
            for (shown, &pixel) in rgba.chunks_exact_mut(4).zip(pixels) {
                let [red, green, blue] = if pixel.is_finite() {
                    apply(tone, pixel * gain).to_array().map(encode)
                } else {
                    NOT_FINITE
                };
                shown.copy_from_slice(&[red, green, blue, 255]);
            }
        });
    rgba
}

/// Number of pixels per parallel task, large enough to make the scheduling cost negligible.
const CHUNK_PIXELS: usize = 8192;

/// Color of pixels that are not finite.
const NOT_FINITE: [u8; 3] = [255, 0, 255];

/// Encodes a linear channel as the nearest 8-bit sRGB code, clipped: the number of thresholds that it reaches. It is 0
/// for NaN.
fn encode(linear: f32) -> u8 {
    if linear >= 1.0 {
        return 255;
    }
    if linear.is_nan() || linear < LOWEST {
        return 0;
    }
    let code = CODES[bucket(linear)];
    code + u8::from(linear >= THRESHOLDS[code as usize])
}

/// A power of two below every threshold.
const LOWEST: f32 = 1.0 / 8192.0;

/// Shift from float bits to a bucket, which is the exponent and the top seven mantissa bits. A bucket contains at most
/// one threshold.
const BUCKET_SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - 7;

/// Number of buckets from [`LOWEST`] to 1: 13 powers of two with 128 each.
const BUCKETS: usize = 13 << 7;

/// Returns the bucket of a number in `LOWEST..1`.
const fn bucket(linear: f32) -> usize {
    ((linear.to_bits() - LOWEST.to_bits()) >> BUCKET_SHIFT) as usize
}

/// `THRESHOLDS[code]` is the smallest linear value that is encoded as `code + 1`; the last is infinite.
static THRESHOLDS: [f32; 256] = thresholds();

/// sRGB code of the lower end of each bucket.
static CODES: [u8; BUCKETS] = codes();

/// Computes [`THRESHOLDS`].
const fn thresholds() -> [f32; 256] {
    let mut thresholds = [f32::INFINITY; 256];
    let mut code = 0;
    while code < 255 {
        // Bisection over the bits, which order positive floats by value.
        let (mut below, mut reached) = (0_u32, 1.0_f32.to_bits());
        while below + 1 < reached {
            let middle = u32::midpoint(below, reached);
            if reaches(f32::from_bits(middle), code + 1) {
                reached = middle
            } else {
                below = middle
            }
        }
        thresholds[code as usize] = f32::from_bits(reached);
        code += 1;
    }
    thresholds
}

/// Returns whether the sRGB-encoded value is at least midway between `code - 1` and `code`.
const fn reaches(linear: f32, code: u32) -> bool {
    let (linear, encoded) = (linear as f64, (code as f64 - 0.5) / 255.0);
    if encoded <= 0.04045 {
        return linear * 12.92 >= encoded;
    }
    // Compares linear >= base^2.4 by raising both sides to the fifth power.
    let base = (encoded + 0.055) / 1.055;
    let (square, linear_square) = (base * base, linear * linear);
    let fourth = square * square;
    linear_square * linear_square * linear >= fourth * fourth * fourth
}

/// Computes [`CODES`].
const fn codes() -> [u8; BUCKETS] {
    let thresholds = thresholds();
    let mut codes = [0; BUCKETS];
    let (mut index, mut code) = (0, 0);
    while index < BUCKETS {
        let lower_end = f32::from_bits(LOWEST.to_bits() + ((index as u32) << BUCKET_SHIFT));
        let before = code;
        while lower_end >= thresholds[code as usize] {
            code += 1;
        }
        assert!(code - before <= 1, "two thresholds in one bucket");
        codes[index] = code;
        index += 1;
    }
    codes
}
