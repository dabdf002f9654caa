//! What of a scene is too large, too much or too bright.

use std::ops::RangeInclusive;

use super::{Map, Parameter, Scene, memory};
use crate::{Error, film::TOO_BRIGHT};

/// Radiance times samples that the film can add up without overflow.
const FILM_LIMIT: f64 = (1u64 << 30) as f64;
/// A path index and a byte count per pixel both stay far from their types' ends.
const MAX_PIXELS: u64 = 1 << 28;
const MAX_SIDE: u32 = 1 << 16;
/// The statistics keep a row per bounce.
const MAX_BOUNCES: u32 = 1024;
/// What indirect light may be clamped to.
pub(super) const CLAMPS: RangeInclusive<f32> = 1e-6..=1e6;
/// Of the film's three 64-bit sums and their copy, the picture's three floats, and its colour on the screen and in a file.
const BYTES_PER_PIXEL: u64 = 2 * 3 * 8 + 3 * 4 + 4 + 3;

impl Scene {
    /// Whether the scene can be rendered with its size, samples and bounces: ask again after changing one.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the one that is out of range.
    pub fn check_settings(&self) -> Result<(), Error> {
        let setting = |setting: String| move |problem| Error::Setting { setting, problem };
        check_size(self.size).map_err(setting(format!("size {}x{}", self.size.0, self.size.1)))?;
        check_spp(self.spp).map_err(setting(format!("spp {}", self.spp)))?;
        check_max_bounces(self.max_bounces)
            .map_err(setting(format!("max_bounces {}", self.max_bounces)))?;
        let surfaces = (0..).zip(&self.materials).map(|(index, surface)| {
            let most = self
                .maps
                .get(&index)
                .and_then(|maps| maps.textures.get(&Parameter::Emission));
            let most = most.map_or(1.0, |map| self.brightest(map));
            surface.radiance().max_element() * most
        });
        let lights = self.lights.iter().map(|light| light.seen().max_element());
        let brightest = surfaces
            .chain([self.sky.max_element()])
            .chain(lights)
            .fold(0.0, f32::max);
        check_brightness(brightest, self.spp).map_err(setting(format!("spp {}", self.spp)))
    }

    /// The largest number of a texture's colours.
    fn brightest(&self, map: &Map) -> f32 {
        let texture = &self.textures[map.texture as usize];
        self.images[texture.image as usize].brightest(texture.encoding)
    }
}

pub(super) fn check_size(size: (u32, u32)) -> Result<(), String> {
    check_sides(size)?;
    memory::check(u64::from(size.0) * u64::from(size.1) * BYTES_PER_PIXEL)
}

/// Whether a picture may have this width and height, if the memory holds it.
pub(crate) fn check_sides((width, height): (u32, u32)) -> Result<(), String> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err("a picture has at least 1x1 pixel".to_owned());
    }
    if width.max(height) > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(format!(
            "is too large; a picture has at most {MAX_SIDE} pixels a side and {MAX_PIXELS} in all"
        ));
    }
    Ok(())
}

pub(super) fn check_spp(spp: u32) -> Result<(), String> {
    if spp == 0 {
        Err("a pixel has at least 1 sample".to_owned())
    } else {
        Ok(())
    }
}

pub(super) fn check_max_bounces(max_bounces: u32) -> Result<(), String> {
    if max_bounces > MAX_BOUNCES {
        Err(format!("a path scatters at most {MAX_BOUNCES} times"))
    } else {
        Ok(())
    }
}

pub(super) fn check_brightness(brightest: f32, spp: u32) -> Result<(), String> {
    if brightest >= TOO_BRIGHT {
        return Err(format!(
            "a radiance of {brightest} is too bright for the film, which takes samples below {TOO_BRIGHT}; lower the \
             radiance"
        ));
    }
    if f64::from(brightest) * f64::from(spp) > FILM_LIMIT {
        let most = FILM_LIMIT / f64::from(spp);
        return Err(format!(
            "a radiance of {brightest} is too bright for the film: with {spp} samples a pixel it holds up to {most}; \
             lower the radiance or spp"
        ));
    }
    Ok(())
}
