//! A picture in linear light: what the film shows.

use glam::Vec3;

/// Mean radiance per pixel, linear sRGB, rows from the top.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Pixels a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// `width * height` pixels, W·sr⁻¹·m⁻² per channel.
    pub pixels: Vec<Vec3>,
}
