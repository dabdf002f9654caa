//! Images in memory.

use std::fmt;

use glam::{DVec3, Vec3};
use xxhash_rust::xxh3::Xxh3;

use super::Encoding;
use crate::{color::srgb_value, memory::vec_with_capacity};

/// A decoded image: RGBA texels, in rows from top to bottom and from left to right.
#[derive(Clone, PartialEq)]
pub struct Image {
    /// Width in texels, at least 1.
    pub width: u32,
    /// Height in texels, at least 1.
    pub height: u32,
    /// The `width * height` RGBA texels, in rows from top to bottom, each from left to right.
    pub texels: Texels,
}

/// The RGBA texels of an image, at the precision of its file.
#[derive(Clone, PartialEq)]
pub enum Texels {
    /// 8 bits per channel; 255 stands for 1.
    Bytes(Vec<[u8; 4]>),
    /// 16 bits per channel; 65,535 stands for 1.
    Words(Vec<[u16; 4]>),
    /// 32-bit floating point; all values are finite.
    Floats(Vec<[f32; 4]>),
}

impl Image {
    /// Returns the 128-bit XXH3 hash of size, texel type and texels.
    pub(crate) fn hash(&self) -> u128 {
        let mut hash = Xxh3::default();
        hash.update(&self.width.to_le_bytes());
        hash.update(&self.height.to_le_bytes());
        match &self.texels {
            Texels::Bytes(texels) => {
                hash.update(&[0]);
                hash.update(texels.as_flattened());
            }
            Texels::Words(texels) => {
                hash.update(&[1]);
                let words = texels.as_flattened().iter();
                words.for_each(|word| hash.update(&word.to_le_bytes()));
            }
            Texels::Floats(texels) => {
                hash.update(&[2]);
                let floats = texels.as_flattened().iter();
                floats.for_each(|float| hash.update(&float.to_bits().to_le_bytes()));
            }
        }
        hash.digest128()
    }

    /// Returns the largest red, green or blue value of any texel, decoded to linear by `encoding`, and at least 0.
    /// Floating-point texels are taken as they are.
    pub(crate) fn brightest(&self, encoding: Encoding) -> f32 {
        let mut max = Vec3::ZERO;
        self.each_color(encoding, |color| max = max.max(color));
        max.max_element()
    }

    /// Returns whether the type of the texels limits all values to 1.
    pub(crate) fn is_at_most_one(&self) -> bool {
        !matches!(self.texels, Texels::Floats(_))
    }

    /// Returns `true` if alpha is 1 (for floats, 1 or more) in every texel.
    pub fn is_opaque(&self) -> bool {
        match &self.texels {
            Texels::Bytes(texels) => texels.iter().all(|texel| texel[3] == u8::MAX),
            Texels::Words(texels) => texels.iter().all(|texel| texel[3] == u16::MAX),
            Texels::Floats(texels) => texels.iter().all(|texel| texel[3] >= 1.0),
        }
    }

    /// Returns `true` if red, green and blue are equal in every texel.
    pub(crate) fn is_gray(&self) -> bool {
        fn equal<T: PartialEq>(texels: &[[T; 4]]) -> bool {
            texels.iter().all(|[r, g, b, _]| r == g && g == b)
        }
        match &self.texels {
            Texels::Bytes(texels) => equal(texels),
            Texels::Words(texels) => equal(texels),
            Texels::Floats(texels) => equal(texels),
        }
    }

    /// Returns an opaque image whose red, green and blue are the alpha of this one. Fails if memory does not suffice.
    pub(crate) fn of_alpha(&self) -> Result<Image, String> {
        fn of<T: Copy>(texels: &[[T; 4]], opaque: T) -> Result<Vec<[T; 4]>, String> {
            let mut copy = vec_with_capacity(texels.len())?;
            copy.extend(texels.iter().map(|&[.., a]| [a, a, a, opaque]));
            Ok(copy)
        }
        Ok(Image {
            width: self.width,
            height: self.height,
            texels: match &self.texels {
                Texels::Bytes(texels) => Texels::Bytes(of(texels, u8::MAX)?),
                Texels::Words(texels) => Texels::Words(of(texels, u16::MAX)?),
                Texels::Floats(texels) => Texels::Floats(of(texels, 1.0)?),
            },
        })
    }

    /// Returns the mean of all texels' red, green and blue, decoded to linear by `encoding`; values below 0 count as 0.
    /// Floating-point texels are taken as they are.
    pub fn mean(&self, encoding: Encoding) -> Vec3 {
        let mut sum = DVec3::ZERO;
        // A texture lookup clamps negative values to 0 as well.
        self.each_color(encoding, |color| sum += color.max(Vec3::ZERO).as_dvec3());
        (sum / (f64::from(self.width) * f64::from(self.height))).as_vec3()
    }

    /// Returns an image of the results of a function of the linear red, green and blue values, which returns values
    /// from 0 to 1. It has 16 bits per channel, or floats like this image, and alpha is 1. Fails if memory does not
    /// suffice.
    pub(crate) fn map_colors(
        &self,
        encoding: Encoding,
        of: impl Fn(Vec3) -> Vec3,
    ) -> Result<Image, String> {
        let count = self.width as usize * self.height as usize;
        let texels = match self.texels {
            Texels::Floats(_) => {
                let mut texels = vec_with_capacity(count)?;
                self.each_color(encoding, |color| {
                    texels.push(of(color).extend(1.0).to_array());
                });
                Texels::Floats(texels)
            }
            Texels::Bytes(_) | Texels::Words(_) => {
                let mut texels = vec_with_capacity(count)?;
                let word = |part: f32| (part * 65535.0).round() as u16;
                self.each_color(encoding, |color| {
                    let [r, g, b] = of(color).to_array().map(word);
                    texels.push([r, g, b, u16::MAX]);
                });
                Texels::Words(texels)
            }
        };
        Ok(Image {
            width: self.width,
            height: self.height,
            texels,
        })
    }

    /// Calls `take` with the linear red, green and blue of every texel, in row order. `encoding` is that of integer
    /// texels; floating-point texels are taken as they are.
    fn each_color(&self, encoding: Encoding, mut take: impl FnMut(Vec3)) {
        let decoded = |encoded: f64| match encoding {
            Encoding::Srgb => srgb_value(encoded),
            Encoding::Linear => encoded as f32,
        };
        match &self.texels {
            Texels::Bytes(texels) => {
                let values: [f32; 256] = std::array::from_fn(|byte| decoded(byte as f64 / 255.0));
                for &[r, g, b, _] in texels {
                    take(Vec3::from_array(
                        [r, g, b].map(|byte| values[usize::from(byte)]),
                    ));
                }
            }
            Texels::Words(texels) => {
                let values: Vec<f32> = (0..=u16::MAX)
                    .map(|word| decoded(f64::from(word) / 65535.0))
                    .collect();
                for &[r, g, b, _] in texels {
                    take(Vec3::from_array(
                        [r, g, b].map(|word| values[usize::from(word)]),
                    ));
                }
            }
            Texels::Floats(texels) => texels
                .iter()
                .for_each(|&[r, g, b, _]| take(Vec3::new(r, g, b))),
        }
    }
}

/// Prints size and texel type only.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let kind = match self.texels {
            Texels::Bytes(_) => "bytes",
            Texels::Words(_) => "words",
            Texels::Floats(_) => "floats",
        };
        write!(f, "Image({}x{} of {kind})", self.width, self.height)
    }
}
