//! Compares an image with another one, as both look on a display.

use std::path::{Path, PathBuf};

use glam::Vec3;

use super::{
    Picture,
    flip::{self, ErrorSummary},
    relative_squared_error,
    tone::{self, Tone},
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
    /// Linear light, which exposure and tone curve apply to.
    Light(Picture),
    /// 8-bit sRGB as displayed, in RGBA with opaque alpha.
    Display(Vec<u8>),
}

impl ComparisonImage {
    /// Reads an image: linear light from an `.exr` or `.hdr` file, and colors as displayed from another one.
    ///
    /// # Errors
    /// [`Error::File`] if the image cannot be read.
    pub fn open(path: &Path) -> Result<ComparisonImage, Error> {
        let image = Image::open(path).map_err(|problem| Error::File {
            file: path.display().to_string(),
            problem,
        })?;
        let size = (image.width, image.height);
        let content = match image.texels {
            Texels::Floats(texels) => {
                let light = texels.iter().map(|&[r, g, b, _]| Vec3::new(r, g, b));
                Content::Light(Picture {
                    width: size.0,
                    height: size.1,
                    pixels: light.collect(),
                })
            }
            Texels::Bytes(texels) => {
                let rgba = texels.iter().flat_map(|&[r, g, b, _]| [r, g, b, 255]);
                Content::Display(rgba.collect())
            }
            Texels::Words(texels) => {
                let byte = |word: u16| ((u32::from(word) + 128) / 257) as u8;
                let rgba = texels
                    .iter()
                    .flat_map(|&[r, g, b, _]| [byte(r), byte(g), byte(b), 255]);
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
            Content::Light(picture) => Some(picture),
            Content::Display(_) => None,
        }
    }

    /// Returns the image as opaque RGBA in 8-bit sRGB. Exposure in stops and tone curve apply to linear light only.
    pub fn to_srgb8(&self, exposure_stops: f32, curve: Tone) -> Vec<u8> {
        match &self.content {
            Content::Light(picture) => tone::to_srgb8(picture, exposure_stops, curve),
            Content::Display(rgba) => rgba.clone(),
        }
    }

    /// Compares an image of the same size with this one, after converting linear light to 8-bit sRGB with this exposure
    /// in stops and this tone curve.
    pub fn compare(&self, image: Compared<'_>, exposure_stops: f32, curve: Tone) -> Difference {
        let expected = self.to_srgb8(exposure_stops, curve);
        let (shown, light) = match image {
            Compared::Picture(picture) => (
                tone::to_srgb8(picture, exposure_stops, curve),
                Some(picture),
            ),
            Compared::Image(image) => (image.to_srgb8(exposure_stops, curve), image.light()),
        };
        let errors = flip::errors(&expected, &shown, self.size.0 as usize);
        let squared = light.zip(self.light());
        Difference {
            summary: ErrorSummary::of(&errors),
            errors,
            relative_squared: squared.map(|(light, own)| relative_squared_error(light, own)),
        }
    }
}

/// An image that is compared with a [`ComparisonImage`].
#[derive(Clone, Copy, Debug)]
pub enum Compared<'a> {
    /// A rendered picture.
    Picture(&'a Picture),
    /// An image from a file.
    Image(&'a ComparisonImage),
}

/// The difference of an image from another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Error FLIP of each pixel, 0 to 1, rows from the top.
    pub errors: Vec<f32>,
    /// Figures of `errors`.
    pub summary: ErrorSummary,
    /// Result of [`relative_squared_error`]; `None` if one of the images is not in linear light.
    pub relative_squared: Option<f64>,
}
