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
