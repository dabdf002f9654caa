//! Verifies that a picture's bits equal those of a new render of its samples.

use rayon::prelude::*;

use super::{Part, PartFile, bits};
use crate::{
    Error,
    adaptive::{pixel_noise::PixelNoise, pixel_stats::PixelStats},
    backend::Pixels,
    film::FilmSums,
    render::renderer::Renderer,
    stages::gather,
};

/// The portion of a picture that is rendered again to verify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// All pixels of the picture.
    Whole,
    /// Randomly chosen pixels, spread evenly over the picture in row order; at least one.
    Some {
        /// Number of pixels; limited to the picture's pixel count.
        pixels: u32,
        /// Seed of the random selection of those pixels.
        pick: u32,
    },
}

/// A mismatch between a picture file and a new render of its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of pixels that differ.
    pub count: usize,
    /// Column of the first differing pixel, from the left.
    pub x: u32,
    /// Row of the first differing pixel, from the top.
    pub y: u32,
    /// Expected value of that pixel, as text: red, green and blue of the picture, or of the film if the picture is
    /// equal.
    pub expected: String,
    /// Value of that pixel in the file, as text.
    pub found: String,
}

impl PartFile {
    /// Renders the samples again and compares them. Returns `None` if no pixel differs. Calls `progress` with values in
    /// 0..=1.
    ///
    /// # Errors
    /// [`Error::Setting`] if the renderer's scene or settings differ from the picture's.
    pub fn verify(
        &self,
        renderer: &mut Renderer,
        portion: Portion,
        mut progress: impl FnMut(f64),
    ) -> Result<Option<Difference>, Error> {
        let identity = &self.header.identity;
        let refused = |problem: String| Error::Setting {
            setting: "verify".to_owned(),
            problem,
        };
        if let Some(crop) = identity.crop {
            return Err(refused(format!(
                "the image has only crop {crop}; verify one of the whole image"
            )));
        }
        // Another program version may still give the same bits, and the noise target is taken from the picture.
        let own = super::Identity {
            software: identity.software.clone(),
            goal: identity.goal,
            ..renderer.identity()
        };
        if let Some(difference) = own.difference(identity) {
            return Err(refused(format!("the renderer {difference} as the picture")));
        }
        let all = identity.pixel_count();
        let pixels = match portion {
            Portion::Whole => Pixels::all(identity.size),
            Portion::Some { pixels, pick } => {
                let count = pixels.clamp(1, all);
                Pixels {
                    count,
                    skipped: all - count,
                    pick_seed: pick,
                }
            }
        };
        let mut film = FilmSums {
            sums: vec![0; 3 * all as usize],
            rejected: 0,
        };
        let pixel_list: Vec<u32> = pixels.list().collect();
        if let Some(pixel_stats) = &self.pixel_stats {
            renderer.set_rounds(&self.header, pixel_stats, pixels)?;
            while renderer.advance()? {
                progress(renderer.progress());
            }
            let expected = Part {
                header: self.header.clone(),
                film: renderer.film_sums()?,
                pixel_stats: renderer.pixel_stats()?,
            };
            return Ok(self.difference(&expected, &pixel_list));
        }
        let (total, mut before) = (self.header.samples.len() as f64, 0.0);
        for range in self.header.samples.each() {
            renderer.set_pixels(&range, pixels)?;
            let share = range.len() as f64 / total;
            while renderer.advance()? {
                progress(before + share * renderer.progress());
            }
            before += share;
            let more = renderer.film_sums()?;
            gather(&mut film, &more);
        }
        let expected = Part {
            header: self.header.clone(),
            film,
            pixel_stats: None,
        };
        Ok(self.difference(&expected, &pixel_list))
    }

    /// Compares these pixels with a new render, row by row from the top: film, noise estimates and picture. Returns
    /// `None` if none differs.
    fn difference(&self, expected: &Part, pixels: &[u32]) -> Option<Difference> {
        let sums = |film: &FilmSums, pixel: u32| film.sums.as_chunks::<3>().0[pixel as usize];
        let shown = |pixel: u32| self.picture.pixels[pixel as usize].to_array();
        // Sample count and noise estimate of a pixel, with adaptive sampling.
        let noise = |pixel_stats: &Option<PixelStats>, pixel: u32| {
            let pixel_stats = pixel_stats.as_ref()?;
            let pixel = pixel as usize;
            Some((
                pixel_stats.sample_counts[pixel],
                pixel_stats.pixel_noise[pixel],
            ))
        };
        let looks_right = |pixel: u32| bits(shown(pixel)) == bits(expected.pixel(pixel));
        let differs = |pixel: &&u32| {
            let pixel = **pixel;
            sums(&self.film, pixel) != sums(&expected.film, pixel)
                || noise(&self.pixel_stats, pixel) != noise(&expected.pixel_stats, pixel)
                || !looks_right(pixel)
        };
        let &first = pixels.par_iter().find_first(differs)?;
        let (expected_noise, found_noise) = (
            noise(&expected.pixel_stats, first),
            noise(&self.pixel_stats, first),
        );
        let (expected, found) = if let (Some(expected_noise), Some(found_noise)) =
            (expected_noise, found_noise)
            && expected_noise != found_noise
        {
            let text = |(taken, noise): (u32, PixelNoise)| {
                format!("{taken} samples, estimated error {}", noise.error)
            };
            (text(expected_noise), text(found_noise))
        } else if looks_right(first) {
            let text = |[red, green, blue]: [u64; 3]| format!("{red} {green} {blue} on the film");
            (
                text(sums(&expected.film, first)),
                text(sums(&self.film, first)),
            )
        } else {
            let text = |[red, green, blue]: [f32; 3]| format!("{red} {green} {blue}");
            (text(expected.pixel(first)), text(shown(first)))
        };
        let width = self.header.identity.size.0;
        Some(Difference {
            count: pixels.par_iter().filter(differs).count(),
            x: first % width,
            y: first / width,
            expected,
            found,
        })
    }
}
