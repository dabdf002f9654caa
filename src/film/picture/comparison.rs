//! Compares an image with another one, as both look on a display.

use std::path::{Path, PathBuf};

use glam::Vec3;

use super::{
    Picture,
    flip::{self, ErrorSummary},
    relative_squared_error,
    tone::Tone,
    transparency::{over_checkerboard, to_rgba8},
};
use crate::{
    Error,
    scene::{Image, Texels},
};

/// An image from a file, to compare others with.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparisonImage {
    /// Path of the file.
    path: PathBuf,
    /// Width and height in pixels.
    size: (u32, u32),
    content: Content,
}

/// The pixels of an image.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    /// Linear light, which exposure and tone curve apply to. `alpha` is the alpha of each pixel, by which the light is
    /// premultiplied; `None` if the image is opaque.
    Light {
        picture: Picture,
        alpha: Option<Vec<f32>>,
    },
    /// 8-bit sRGB as displayed, in RGBA that is not premultiplied.
    Display(Vec<u8>),
}

impl ComparisonImage {
    /// Reads an image: linear light from an `.exr` or `.hdr` file, and colors as displayed from another one. Light
    /// whose alpha is 0 in all pixels is opaque.
    ///
    /// # Errors
    /// [`Error::File`] if the image cannot be read.
    pub fn open(path: &Path) -> Result<ComparisonImage, Error> {
        let image = Image::open(path).map_err(|error| Error::File {
            file: path.display().to_string(),
            problem: error.to_string(),
        })?;
        let size = (image.width, image.height);
        let content = match image.texels {
            Texels::Floats(texels) => {
                let light = texels.iter().map(|&[r, g, b, _]| Vec3::new(r, g, b));
                // Some programs write an alpha of 0 that means nothing.
                let is_unused = texels.iter().all(|texel| texel[3] == 0.0)
                    && texels.iter().any(|texel| texel[..3] != [0.0; 3]);
                let is_opaque = is_unused || texels.iter().all(|texel| texel[3] == 1.0);
                let alpha = texels.iter().map(|texel| texel[3].clamp(0.0, 1.0));
                Content::Light {
                    picture: Picture {
                        width: size.0,
                        height: size.1,
                        pixels: light.collect(),
                    },
                    alpha: (!is_opaque).then(|| alpha.collect()),
                }
            }
            Texels::Bytes(texels) => Content::Display(texels.into_flattened()),
            Texels::Words(texels) => {
                let byte = |word: u16| ((u32::from(word) + 128) / 257) as u8;
                let rgba = texels.iter().flat_map(|texel| texel.map(byte));
                Content::Display(rgba.collect())
            }
        };
        Ok(ComparisonImage {
            path: path.to_owned(),
            size,
            content,
        })
    }

    /// Returns the path of the file as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Returns the image in linear light; `None` if it contains colors as displayed.
    pub fn light(&self) -> Option<&Picture> {
        match &self.content {
            Content::Light { picture, .. } => Some(picture),
            Content::Display(_) => None,
        }
    }

    /// Returns the pixel in this column and row, from 0 at the upper left, as 8-bit sRGB with alpha that is not
    /// premultiplied. Returns `None` outside the image, and for an image in linear light.
    pub fn display_pixel(&self, column: u32, row: u32) -> Option<[u8; 4]> {
        let (width, height) = self.size;
        let place = row as usize * width as usize + column as usize;
        match &self.content {
            Content::Display(rgba) if column < width && row < height => {
                rgba.as_chunks().0.get(place).copied()
            }
            _ => None,
        }
    }

    /// Returns the image as opaque RGBA in 8-bit sRGB, over a checkerboard if it is transparent. Exposure in stops and
    /// tone curve apply to linear light only.
    pub fn to_display(&self, exposure_stops: f32, curve: Tone) -> Vec<u8> {
        let mut rgba = self.to_rgba8(exposure_stops, curve);
        over_checkerboard(&mut rgba, self.size);
        rgba
    }

    /// Returns the image in RGBA like [`to_display`](Self::to_display), but with its alpha and not premultiplied.
    fn to_rgba8(&self, exposure_stops: f32, curve: Tone) -> Vec<u8> {
        match &self.content {
            Content::Light { picture, alpha } => {
                to_rgba8(picture, alpha.as_deref(), exposure_stops, curve)
            }
            Content::Display(rgba) => rgba.clone(),
        }
    }

    /// Compares an image of the same size with this one, as displays show both: after converting linear light to 8-bit
    /// sRGB with this exposure in stops and this tone curve, and over a checkerboard where they are transparent.
    pub fn compare(&self, image: Compared<'_>, exposure_stops: f32, curve: Tone) -> Difference {
        let mut expected = self.to_rgba8(exposure_stops, curve);
        let (mut shown, light) = match image {
            Compared::Picture(picture, alpha) => (
                to_rgba8(picture, alpha, exposure_stops, curve),
                Some(picture),
            ),
            Compared::Image(image) => (image.to_rgba8(exposure_stops, curve), image.light()),
        };
        let pairs = expected.iter().zip(&shown).skip(3).step_by(4);
        let alpha: Vec<u8> = pairs.map(|(&one, &other)| one.max(other)).collect();
        over_checkerboard(&mut expected, self.size);
        over_checkerboard(&mut shown, self.size);
        let errors = flip::errors(&expected, &shown, self.size.0 as usize);
        let squared = light.zip(self.light());
        Difference {
            summary: ErrorSummary::of(&errors),
            errors,
            alpha,
            relative_squared: squared.map(|(light, own)| relative_squared_error(light, own)),
        }
    }
}

/// An image that is compared with a [`ComparisonImage`].
#[derive(Clone, Copy, Debug)]
pub enum Compared<'a> {
    /// A rendered picture, and the alpha of each pixel, by which it is premultiplied; `None` for an opaque picture.
    Picture(&'a Picture, Option<&'a [f32]>),
    /// An image from a file.
    Image(&'a ComparisonImage),
}

/// The difference of an image from another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Error FLIP of each pixel, 0 to 1, rows from the top.
    pub errors: Vec<f32>,
    /// Alpha of each pixel, 0 to 255: the larger one of both images.
    alpha: Vec<u8>,
    /// Figures of `errors`.
    pub summary: ErrorSummary,
    /// Result of [`relative_squared_error`]; `None` if one of the images is not in linear light.
    pub relative_squared: Option<f64>,
}

impl Difference {
    /// Returns the errors in false colors as RGBA that is not premultiplied. Pixels that are transparent in both images
    /// are transparent.
    pub fn map(&self) -> Vec<u8> {
        let pixels = self.errors.iter().zip(&self.alpha);
        let pixels = pixels.flat_map(|(&error, &alpha)| {
            let [red, green, blue] = match alpha {
                0 => [0; 3],
                _ => flip::color(error),
            };
            [red, green, blue, alpha]
        });
        pixels.collect()
    }
}
