//! A picture in linear light, computed from a film, and its conversion to sRGB (`tone`).
//!
//! Imports only `scene`.

pub mod tone;

use glam::Vec3;

/// Mean radiance per pixel in linear sRGB, rows from the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Radiance of `width * height` pixels, in W·sr⁻¹·m⁻² per channel.
    pub pixels: Vec<Vec3>,
}

/// Share of the reference's mean that [`relative_squared_error`] adds to each pixel, so that black pixels count little.
const DARK_SHARE: f64 = 0.01;

/// Returns the relative mean squared error of a picture: the mean over the pixels of |picture − reference|² ÷
/// (|reference|² + a hundredth of its mean). It does not depend on the exposure; 0 if the reference is black.
///
/// Both pictures must have the same size.
pub fn relative_squared_error(picture: &Picture, reference: &Picture) -> f64 {
    let squared = |light: Vec3| light.as_dvec3().length_squared();
    let count = reference.pixels.len().max(1) as f64;
    let mean = reference.pixels.iter().copied().map(squared).sum::<f64>() / count;
    if mean <= 0.0 {
        return 0.0;
    }
    let pixels = picture.pixels.iter().zip(&reference.pixels);
    let relative = pixels.map(|(&one, &other)| {
        (one.as_dvec3() - other.as_dvec3()).length_squared() / (squared(other) + DARK_SHARE * mean)
    });
    relative.sum::<f64>() / count
}
