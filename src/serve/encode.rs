//! Pictures as bytes that any browser shows.

use axum::body::Bytes;
use jpeg_encoder::{ColorType, Encoder, EncodingError, SamplingFactor};

use crate::{live::Shown, output, output::Look, tone};

/// Noise is still to be seen, blocks are not.
const QUALITY: u8 = 85;

/// For a picture that the next one replaces soon: a JPEG, with colours at half the resolution.
pub(super) fn passing(shown: &Shown, look: Look) -> Result<Bytes, String> {
    let picture = &shown.picture;
    let sides = (u16::try_from(picture.width), u16::try_from(picture.height));
    let (Ok(width), Ok(height)) = sides else {
        // Wider than the format goes.
        return exact(shown, look);
    };
    let rgba = tone::to_srgb8(picture, look.exposure_stops, look.tone);
    let mut jpeg = Vec::with_capacity(rgba.len() / 8);
    let mut encoder = Encoder::new(&mut jpeg, QUALITY);
    encoder.set_sampling_factor(SamplingFactor::F_2_2);
    encoder
        .encode(&rgba, width, height, ColorType::Rgba)
        .map_err(|error: EncodingError| error.to_string())?;
    Ok(jpeg.into())
}

/// For one that stays: a PNG of the pixels that would be saved. A third larger than one packed well, and there in a
/// tenth of the time.
pub(super) fn exact(shown: &Shown, look: Look) -> Result<Bytes, String> {
    let mut bytes = Vec::new();
    let Shown { picture, stats, .. } = shown;
    output::encode_png(&mut bytes, picture, stats, look, png::Compression::Fast)
        .map_err(|error| error.to_string())?;
    Ok(bytes.into())
}
