//! Pictures with alpha: as 8-bit RGBA for files, and over a checkerboard for displays.

use rayon::prelude::*;

use super::{
    Picture,
    tone::{self, Tone},
};

/// Number of squares of the checkerboard along the shorter side of an image.
const SQUARES: u32 = 48;

/// The two sRGB grays of the checkerboard.
const GRAYS: [u8; 2] = [102, 153];

/// Converts a picture to RGBA with eight bits per channel, rows from the top, with this exposure in stops and this tone
/// curve.
///
/// `alpha` is the alpha of each pixel, 0..=1, by which the picture is premultiplied; `None` for an opaque picture. The
/// colors of the result are not premultiplied. Pixels of alpha 0 are black, and those beyond the end of `alpha` opaque.
pub fn to_rgba8(
    picture: &Picture,
    alpha: Option<&[f32]>,
    exposure_stops: f32,
    curve: Tone,
) -> Vec<u8> {
    let Some(alpha) = alpha else {
        return tone::to_srgb8(picture, exposure_stops, curve);
    };
    let mut divided = picture.clone();
    let pixels = divided.pixels.par_iter_mut().zip(alpha);
    pixels.for_each(|(pixel, &alpha)| {
        if alpha > 0.0 {
            *pixel /= alpha;
        }
    });
    let mut rgba = tone::to_srgb8(&divided, exposure_stops, curve);
    let (pixels, _) = rgba.as_chunks_mut::<4>();
    pixels
        .par_iter_mut()
        .zip(alpha)
        .for_each(|(pixel, &alpha)| {
            pixel[3] = (alpha * 255.0).round() as u8;
            if pixel[3] == 0 {
                *pixel = [0; 4];
            }
        });
    rgba
}

/// Returns whether all pixels of an image in RGBA with eight bits per channel are opaque.
pub fn is_opaque(rgba: &[u8]) -> bool {
    let (pixels, _) = rgba.as_chunks::<4>();
    pixels.iter().all(|pixel| pixel[3] == 255)
}

/// Puts an image in RGBA, which is not premultiplied, over a checkerboard, so that it is opaque. Opaque pixels are
/// unchanged. `size` is the image's width and height in pixels.
pub fn over_checkerboard(rgba: &mut [u8], size: (u32, u32)) {
    let (width, height) = (size.0.max(1), size.1.max(1));
    let square = |place: usize| place as u64 * u64::from(SQUARES) / u64::from(width.min(height));
    let rows = rgba.par_chunks_exact_mut(4 * width as usize).enumerate();
    rows.for_each(|(row, pixels)| {
        let (pixels, _) = pixels.as_chunks_mut::<4>();
        for (column, pixel) in pixels.iter_mut().enumerate() {
            let [.., alpha] = pixel;
            if *alpha == 255 {
                continue;
            }
            let gray = f32::from(GRAYS[((square(column) + square(row)) % 2) as usize]);
            let alpha = f32::from(std::mem::replace(alpha, 255)) / 255.0;
            for channel in &mut pixel[..3] {
                let mixed = gray + (f32::from(*channel) - gray) * alpha;
                *channel = mixed.round() as u8;
            }
        }
    });
}
