//! A picture in linear light, computed from a film, its conversion to sRGB (`tone`), with alpha (`transparency`), and
//! its comparison with another image (`comparison`, `flip`).

pub mod comparison;
pub mod flip;
pub mod tone;
pub mod transparency;

use std::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use crate::{Error, scene::memory};

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

impl Picture {
    /// Returns a copy of some rows.
    pub(crate) fn rows(&self, rows: Range<u32>) -> Picture {
        let place = |row: u32| row as usize * self.width as usize;
        Picture {
            width: self.width,
            height: rows.end - rows.start,
            pixels: self.pixels[place(rows.start)..place(rows.end)].to_vec(),
        }
    }

    /// Sets the size and all pixels, which are computed from their row-major indices. The memory of the pixels is
    /// reused.
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory cannot be allocated. The picture is then unchanged.
    pub(crate) fn fill(
        &mut self,
        (width, height): (u32, u32),
        pixel: impl Fn(u32) -> Vec3 + Sync + Send,
    ) -> Result<(), Error> {
        let pixel_count = width * height;
        memory::reserve(&mut self.pixels, pixel_count as usize)
            .map_err(Error::memory((width, height)))?;
        (self.width, self.height) = (width, height);
        let pixels = (0..pixel_count).into_par_iter().map(pixel);
        pixels.collect_into_vec(&mut self.pixels);
        Ok(())
    }
}

/// Share of the mean of |reference|² that [`relative_squared_error`] adds to each divisor, so that the errors of black
/// pixels stay finite.
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
