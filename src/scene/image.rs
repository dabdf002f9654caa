//! Images from files and from bytes: textures, and skies.
//!
//! PNG (8 and 16 bits), JPEG, WebP, BMP, Radiance HDR, OpenEXR and Basis in KTX2, told apart by their first bytes, and TGA,
//! by its name. Nothing is converted here but grey to colour, and CIE XYZ to sRGB: what the numbers mean is the texture's to
//! say.

mod open_exr;
mod radiance;

use std::{
    fmt,
    io::{BufRead, BufReader, Cursor, Seek},
    path::Path,
};

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};
use xxhash_rust::xxh3::Xxh3;

use super::{
    basis, memory,
    source::{excerpt, file_type, open_plain},
};
use crate::quiet::quietly;

/// What images are called.
pub(crate) const IMAGE_TYPES: [&str; 9] = [
    "png", "jpg", "jpeg", "webp", "bmp", "tga", "hdr", "exr", "ktx2",
];
/// Texels of an image that a few bytes may hold.
const FREE_TEXELS: u64 = 1 << 22;
/// More of them that each byte of the file may stand for: what deflate packs best, of texels of a byte.
const TEXELS_PER_BYTE: u64 = 1024;
/// Texels a row, and rows.
const MAX_SIDE: u32 = 1 << 16;

/// An image as it was decoded: rows from top to bottom, texels from left to right, each red, green, blue and alpha.
#[derive(Clone, PartialEq)]
pub struct Image {
    /// Texels a row, from 1.
    pub width: u32,
    /// Rows, from 1.
    pub height: u32,
    /// `width * height` of them.
    pub texels: Texels,
}

/// The texels of an image.
#[derive(Clone, PartialEq)]
pub enum Texels {
    /// 8 bits a channel, 255 is 1.
    Bytes(Vec<[u8; 4]>),
    /// 16 bits a channel, 65,535 is 1.
    Words(Vec<[u16; 4]>),
    /// Finite numbers.
    Floats(Vec<[f32; 4]>),
}

impl Image {
    /// Reads an image file.
    ///
    /// # Errors
    /// What is wrong with it and what to do, on one line, without its name.
    pub fn open(path: &Path) -> Result<Image, String> {
        let file = open_plain(path, &IMAGE_TYPES)?;
        let bytes = file.metadata().map_or(0, |data| data.len());
        let named = (file_type(path) == "tga").then_some(ImageFormat::Tga);
        decode(BufReader::with_capacity(1 << 16, file), bytes, named)
    }

    /// Decodes an image that lies in memory.
    ///
    /// # Errors
    /// As of [`Image::open`].
    pub fn decode(bytes: &[u8]) -> Result<Image, String> {
        decode(Cursor::new(bytes), bytes.len() as u64, None)
    }

    /// Hash of its size and texels.
    pub(super) fn hash(&self) -> u128 {
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
}

/// Its size and kind: texels would fill the screen.
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

/// `named` is the format of an image that begins like none.
fn decode(
    reader: impl BufRead + Seek,
    bytes: u64,
    named: Option<ImageFormat>,
) -> Result<Image, String> {
    // Decoders have bugs, and a damaged image is no reason to die of one.
    let decoded = quietly(|| decode_checked(reader, bytes, named));
    decoded
        .unwrap_or_else(|_| Err("cannot be decoded; save it again by another program".to_owned()))
}

fn decode_checked(
    mut reader: impl BufRead + Seek,
    bytes: u64,
    named: Option<ImageFormat>,
) -> Result<Image, String> {
    let begin = reader.fill_buf();
    let begin = begin.map_err(|error| format!("cannot be read: {error}"))?;
    if begin.starts_with(basis::MAGIC) {
        return decode_basis(reader, bytes);
    }
    let floats = if begin.starts_with(&exr::meta::magic_number::BYTES) {
        Some(open_exr::decode(&mut reader, bytes)?)
    } else if begin.starts_with(radiance::MAGIC) {
        Some(radiance::decode(&mut reader, bytes)?)
    } else {
        None
    };
    if let Some((width, height, texels)) = floats {
        return Ok(Image {
            width,
            height,
            texels,
        });
    }
    let damaged = |error: image::ImageError| damaged(&error.to_string());
    let mut reader = ImageReader::new(reader)
        .with_guessed_format()
        .map_err(|error| format!("cannot be read: {error}"))?;
    if let (None, Some(named)) = (reader.format(), named) {
        reader.set_format(named);
    }
    reader.no_limits();
    if !matches!(
        reader.format(),
        Some(
            ImageFormat::Png
                | ImageFormat::Jpeg
                | ImageFormat::WebP
                | ImageFormat::Bmp
                | ImageFormat::Tga
        )
    ) {
        return Err(
            "is no image of a known kind; expected PNG, JPEG, WebP, BMP, TGA, HDR, EXR or KTX2"
                .to_owned(),
        );
    }
    let decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    let texel_bytes = u64::from(decoder.color_type().bytes_per_pixel());
    check_size(width, height, texel_bytes, bytes)?;
    let texels = texels(DynamicImage::from_decoder(decoder).map_err(damaged)?)?;
    Ok(Image {
        width,
        height,
        texels,
    })
}

fn damaged(error: &str) -> String {
    format!(
        "cannot be decoded: {}; save it again by another program",
        excerpt(error)
    )
}

fn decode_basis(mut reader: impl BufRead, bytes: u64) -> Result<Image, String> {
    memory::check(bytes)?;
    let mut file = Vec::new();
    reader
        .read_to_end(&mut file)
        .map_err(|error| format!("cannot be read: {error}"))?;
    let (width, height) = basis::size(&file)?;
    check_size(width, height, 4, bytes)?;
    Ok(Image {
        width,
        height,
        texels: Texels::Bytes(basis::decode(&file)?),
    })
}

fn check_size(width: u32, height: u32, texel_bytes: u64, bytes: u64) -> Result<(), String> {
    let texels = u64::from(width) * u64::from(height);
    if texels == 0 {
        return Err("has no texels; expected at least one".to_owned());
    }
    let most = FREE_TEXELS.saturating_add(bytes.saturating_mul(TEXELS_PER_BYTE));
    if width.max(height) > MAX_SIDE || texels > most {
        return Err(format!(
            "declares {width}x{height} texels, more than its {bytes} bytes can hold; save it again, or smaller"
        ));
    }
    // As it is decoded, and with four channels.
    memory::check(texels * 2 * texel_bytes.next_power_of_two())
}

fn texels(image: DynamicImage) -> Result<Texels, String> {
    fn quads<T: Copy>(channels: &[T]) -> Vec<[T; 4]> {
        channels.as_chunks::<4>().0.to_vec()
    }
    Ok(match image {
        DynamicImage::ImageLuma8(_)
        | DynamicImage::ImageLumaA8(_)
        | DynamicImage::ImageRgb8(_)
        | DynamicImage::ImageRgba8(_) => Texels::Bytes(quads(&image.into_rgba8())),
        DynamicImage::ImageLuma16(_)
        | DynamicImage::ImageLumaA16(_)
        | DynamicImage::ImageRgb16(_)
        | DynamicImage::ImageRgba16(_) => Texels::Words(quads(&image.into_rgba16())),
        _ => {
            let width = image.width();
            floats(width, quads(&image.into_rgba32f()))?
        }
    })
}

/// `Err` names the first texel that is not finite.
fn floats(width: u32, texels: Vec<[f32; 4]>) -> Result<Texels, String> {
    let wrong = |texel: &[f32; 4]| !texel.iter().all(|channel| channel.is_finite());
    match texels.iter().position(wrong) {
        Some(at) => Err(format!(
            "its texel in column {} of row {} is {:?}, expected finite numbers",
            at % width as usize + 1,
            at / width as usize + 1,
            texels[at]
        )),
        None => Ok(Texels::Floats(texels)),
    }
}
