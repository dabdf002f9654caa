//! Pictures as bytes that any browser shows: strips from the top, each an image of its own behind its length in bytes, a
//! `u32` with the lowest byte first.

use axum::body::Bytes;
use jpeg_encoder::{ColorType, Encoder, EncodingError, SamplingFactor};
use rayon::prelude::*;

use crate::{
    output::{self, Developed},
    stats::Stats,
};

/// Noise is still to be seen, blocks are not.
const QUALITY: u8 = 85;

/// Rows of a strip. JPEG's blocks are 16 rows where colours have half the resolution, so that no seam shows.
const STRIP_ROWS: usize = 16 * 9;

/// For a picture that the next one replaces soon: JPEGs, with colours at half the resolution, encoded side by side.
pub(super) fn passing(developed: &Developed, stats: &Stats) -> Result<Bytes, String> {
    let Ok(width) = u16::try_from(developed.size.0) else {
        // Wider than the format goes.
        return exact(developed, stats);
    };
    let row_bytes = 4 * usize::from(width);
    let strips: Result<Vec<Vec<u8>>, EncodingError> = developed
        .rgba
        .par_chunks(STRIP_ROWS * row_bytes)
        .map(|strip| {
            let rows = (strip.len() / row_bytes) as u16;
            let mut jpeg = Vec::with_capacity(strip.len() / 8);
            let mut encoder = Encoder::new(&mut jpeg, QUALITY);
            encoder.set_sampling_factor(SamplingFactor::F_2_2);
            encoder.encode(strip, width, rows, ColorType::Rgba)?;
            Ok(jpeg)
        })
        .collect();
    strips
        .map(|strips| joined(&strips))
        .map_err(|error| error.to_string())
}

/// For one that stays: a PNG, in one strip.
pub(super) fn exact(developed: &Developed, stats: &Stats) -> Result<Bytes, String> {
    png(developed, stats).map(|png| joined(&[png]))
}

/// A PNG. A third larger than one packed well, and there in a tenth of the time.
pub(super) fn png(developed: &Developed, stats: &Stats) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    output::encode_png(&mut bytes, developed, stats, png::Compression::Fast)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn joined(strips: &[Vec<u8>]) -> Bytes {
    let length = strips.iter().map(|strip| 4 + strip.len()).sum();
    let mut bytes = Vec::with_capacity(length);
    for strip in strips {
        bytes.extend_from_slice(&(strip.len() as u32).to_le_bytes());
        bytes.extend_from_slice(strip);
    }
    bytes.into()
}
