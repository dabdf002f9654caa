//! Linear light to the eight bits of a screen: exposure, a tone curve, the sRGB curve, clipping. The same bytes on every
//! machine.
//!
//! The sRGB curve (IEC 61966-2-1) is not evaluated but compared against: a channel shows as the number of thresholds that
//! it reaches, and the thresholds are found with multiplications alone. So no power function rounds differently
//! somewhere.

mod curves;

use glam::Vec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::picture::Picture;

/// How light beyond a screen's range is brought into it. Out come linear sRGB channels, to be clipped to 0..=1.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum Tone {
    /// Not at all: each channel clips.
    #[default]
    Srgb,
    /// AgX by T. Sobotka, 2022: 16.5 stops through a sigmoid over their logarithm, between two matrices that let bright
    /// colours go to white. Its range ends 6.5 stops above middle grey, 0.18.
    AgX,
    /// The fit by S. Hill, 2015, of the reference and display transforms of ACES 1.0.
    Aces,
    /// Khronos PBR Neutral, 2024: base colours up to 0.76 keep hue and saturation, what is brighter is compressed.
    Neutral,
}

impl Tone {
    /// All, in the order of the window's key.
    pub const ALL: [Tone; 4] = [Tone::Srgb, Tone::AgX, Tone::Aces, Tone::Neutral];

    /// As the command line names it.
    pub fn name(self) -> &'static str {
        match self {
            Tone::Srgb => "srgb",
            Tone::AgX => "agx",
            Tone::Aces => "aces",
            Tone::Neutral => "neutral",
        }
    }

    /// Linear sRGB of any brightness through the curve; what leaves 0..=1 is to be clipped.
    pub fn apply(self, light: Vec3) -> Vec3 {
        match self {
            Tone::Srgb => light,
            Tone::AgX => curves::agx(in_range(light)),
            Tone::Aces => curves::aces(in_range(light)),
            Tone::Neutral => curves::neutral(in_range(light)),
        }
    }
}

/// Neither negative nor so bright that a square overflows.
fn in_range(light: Vec3) -> Vec3 {
    light.clamp(Vec3::ZERO, Vec3::splat(1e15))
}

/// The picture as RGBA, eight bits a channel, opaque, rows from the top.
///
/// Brightness doubles with every stop of exposure, before the tone curve. What is too bright clips to white; a pixel that
/// is not finite shows in magenta.
pub fn to_srgb8(picture: &Picture, exposure_stops: f32, tone: Tone) -> Vec<u8> {
    let gain = libm::exp2f(exposure_stops);
    let mut rgba = vec![0; picture.pixels.len() * 4];
    rgba.par_chunks_mut(4 * CHUNK_PIXELS)
        .zip(picture.pixels.par_chunks(CHUNK_PIXELS))
        .for_each(|(rgba, pixels)| {
            for (shown, &pixel) in rgba.chunks_exact_mut(4).zip(pixels) {
                let [red, green, blue] = if pixel.is_finite() {
                    tone.apply(pixel * gain).to_array().map(encode)
                } else {
                    NOT_FINITE
                };
                shown.copy_from_slice(&[red, green, blue, 255]);
            }
        });
    rgba
}

/// Long enough that handing out a chunk costs nothing beside it.
const CHUNK_PIXELS: usize = 8192;

/// No scene shows it by chance over a whole pixel.
const NOT_FINITE: [u8; 3] = [255, 0, 255];

/// Number of thresholds that `linear` reaches: the nearest code of the sRGB curve, clipped.
fn encode(linear: f32) -> u8 {
    if linear >= 1.0 {
        return 255;
    }
    if linear < LOWEST {
        return 0;
    }
    let code = CODES[bucket(linear)];
    code + u8::from(linear >= THRESHOLDS[code as usize])
}

/// Below every threshold, and a power of two.
const LOWEST: f32 = 1.0 / 8192.0;

/// A bucket is the exponent and the top seven bits of the mantissa: no more than one threshold lies in each.
const BUCKET_SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - 7;

const BUCKETS: usize = 13 << 7;

/// Of a number from `LOWEST` to below 1.
const fn bucket(linear: f32) -> usize {
    ((linear.to_bits() - LOWEST.to_bits()) >> BUCKET_SHIFT) as usize
}

/// `THRESHOLDS[code]` is the least linear value that shows as `code + 1`; nothing reaches the last.
static THRESHOLDS: [f32; 256] = thresholds();

/// The code of each bucket's lower end.
static CODES: [u8; BUCKETS] = codes();

const fn thresholds() -> [f32; 256] {
    let mut thresholds = [f32::INFINITY; 256];
    let mut code = 0;
    while code < 255 {
        // Positive floats are in the order of their bits.
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

/// Whether the curve's value is at least half way from the code below to `code`.
const fn reaches(linear: f32, code: u32) -> bool {
    let (linear, encoded) = (linear as f64, (code as f64 - 0.5) / 255.0);
    if encoded <= 0.04045 {
        return linear * 12.92 >= encoded;
    }
    // linear >= base^2.4, both to the fifth power.
    let base = (encoded + 0.055) / 1.055;
    let (square, linear_square) = (base * base, linear * linear);
    let fourth = square * square;
    linear_square * linear_square * linear >= fourth * fourth * fourth
}

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
