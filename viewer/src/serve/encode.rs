//! Encodes pictures for browsers as horizontal strips from the top. Each strip is a JPEG or PNG file, preceded by the
//! file's length in bytes as a little-endian `u32`.

use axum::body::Bytes;
use jpeg_encoder::{ColorType, Encoder, EncodingError, SamplingFactor};
use rayon::prelude::*;

use raysieve::render::{
    output::{self, DisplayImage},
    stats::Stats,
};

/// JPEG quality, 1 to 100, at which noise stays visible and block artefacts do not.
const QUALITY: u8 = 85;

/// Number of pixel rows per strip; the last strip may have fewer. It is a multiple of 16, the height of a JPEG block
/// with subsampled colors, so that no seam is visible.
const STRIP_ROWS: usize = 16 * 9;

/// Encodes a picture that will soon be replaced as lossy JPEG strips with subsampled colors, in parallel. Encodes a
/// picture wider than 65535 pixels losslessly instead. The error is the encoder's message.
pub(super) fn lossy(image: &DisplayImage, stats: &Stats) -> Result<Bytes, String> {
    let Ok(width) = u16::try_from(image.size.0) else {
        // JPEG allows at most 65535 columns.
        return lossless(image, stats);
    };
    let row_bytes = 4 * usize::from(width);
    let strips: Result<Vec<Vec<u8>>, EncodingError> = image
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

/// Encodes a picture losslessly as one PNG strip, for pictures that stay for a while or are too wide for JPEG. The
/// error is the encoder's message.
pub(super) fn lossless(image: &DisplayImage, stats: &Stats) -> Result<Bytes, String> {
    png(image, stats).map(|png| joined(&[png]))
}

/// Encodes an image as a PNG file with fast compression. Its text chunks describe the render of `stats`. The error is
/// the encoder's message.
pub(super) fn png(image: &DisplayImage, stats: &Stats) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    output::encode_png(&mut bytes, image, stats, png::Compression::Fast)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Joins strips into one message, each preceded by its length.
fn joined(strips: &[Vec<u8>]) -> Bytes {
    let length = strips.iter().map(|strip| 4 + strip.len()).sum();
    let mut bytes = Vec::with_capacity(length);
    for strip in strips {
        bytes.extend_from_slice(&(strip.len() as u32).to_le_bytes());
        bytes.extend_from_slice(strip);
    }
    bytes.into()
}
