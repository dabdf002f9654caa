//! Reads image files, and keeps the images and textures of a scene while it is read.
//!
//! The format is recognised by the first bytes: PNG (8 and 16 bits), JPEG, WebP, BMP, Radiance HDR, OpenEXR, PFM, and
//! KTX2 with Basis Universal, plain texels or BC1 to BC7. TGA has no signature and is recognised by the file name. Grey
//! becomes RGB, and CIE XYZ becomes linear sRGB. Other values are not converted; the texture defines their encoding.

mod basis;
mod cube_map;
pub(crate) mod environment_map;
mod height_maps;
mod luminance_chroma;
mod open_exr;
mod pfm;
mod plain_ktx2;
mod radiance;
pub(crate) mod texture_library;

use std::{
    io::{BufRead, BufReader, Cursor, Seek},
    path::Path,
};

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};

use crate::{
    catch_panics::catch_panics,
    error::sentence,
    files::{file_type, foreign, open_regular_file},
    memory,
    scene::{Image, Texels},
};

/// File extensions of the supported image formats, in lower case without the dot.
pub(crate) const IMAGE_TYPES: [&str; 10] = [
    "png", "jpg", "jpeg", "webp", "bmp", "tga", "hdr", "exr", "pfm", "ktx2",
];
/// Number of texels that an image may declare, however small its file is.
const FREE_TEXELS: u64 = 1 << 22;
/// Number of texels that an image may declare in addition, per byte of its file. This is the best compression ratio of
/// deflate, at one byte per texel.
const TEXELS_PER_BYTE: u64 = 1024;
/// Maximum width and height of an image in texels.
const MAX_SIDE: u32 = 1 << 16;

/// The reason why an image cannot be read or decoded, or is too large: one line with cause and remedy, without its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImageError(String);

impl From<ImageError> for String {
    fn from(error: ImageError) -> String {
        error.0
    }
}

impl Image {
    /// Returns whether a file has the name of an image of a supported format. The file need not exist.
    pub fn is_named(path: &Path) -> bool {
        IMAGE_TYPES.contains(&file_type(path).as_str())
    }

    /// Reads an image file of any supported format.
    ///
    /// # Errors
    /// If the file cannot be read or decoded, or is too large.
    pub fn open(path: &Path) -> Result<Image, ImageError> {
        let decoded = decode_file(path).and_then(Decoded::finite);
        decoded.map_err(ImageError)
    }

    /// Decodes an image in memory. TGA is not recognised.
    ///
    /// # Errors
    /// If the image cannot be decoded or is too large.
    pub fn decode(bytes: &[u8]) -> Result<Image, ImageError> {
        let decoded = decode(Cursor::new(bytes), bytes.len() as u64, None);
        decoded.and_then(Decoded::finite).map_err(ImageError)
    }
}

/// An image as it is decoded, whose floating-point values may be infinite or NaN.
struct Decoded {
    image: Image,
    /// Whether the image consists of the six faces of a cube, as the attribute `envmap` of an EXR file says.
    is_cube: bool,
}

impl Decoded {
    /// Returns the image. Fails with the position of the first texel that is not finite.
    fn finite(self) -> Result<Image, String> {
        if let Texels::Floats(texels) = &self.image.texels {
            check_finite(self.image.width, texels)?;
        }
        Ok(self.image)
    }
}

/// Decodes an image file of any supported format. Fails as [`Image::open`] does.
fn decode_file(path: &Path) -> Result<Decoded, String> {
    let file = open_regular_file(path, &IMAGE_TYPES)?;
    let bytes = file.metadata().map_or(0, |data| data.len());
    let named = (file_type(path) == "tga").then_some(ImageFormat::Tga);
    decode(BufReader::with_capacity(1 << 16, file), bytes, named)
}

/// Decodes an image from a file of `bytes` bytes, which limit the size that it may declare. `named` is the format to
/// use if the first bytes are of no known format.
///
/// A panic of a decoder becomes an error.
fn decode(
    reader: impl BufRead + Seek,
    bytes: u64,
    named: Option<ImageFormat>,
) -> Result<Decoded, String> {
    // Some decoders panic on damaged images.
    let decoded = catch_panics(|| decode_checked(reader, bytes, named));
    decoded
        .unwrap_or_else(|_| Err("cannot be decoded; save it again with another program".to_owned()))
}

/// Decodes an image from a file of `bytes` bytes, which limit the size that it may declare. `named` is the format to
/// use if the first bytes are of no known format.
///
/// May panic on damaged images.
fn decode_checked(
    mut reader: impl BufRead + Seek,
    bytes: u64,
    named: Option<ImageFormat>,
) -> Result<Decoded, String> {
    let plain = |image| Decoded {
        image,
        is_cube: false,
    };
    let begin = reader.fill_buf();
    let begin = begin.map_err(|error| format!("cannot be read: {error}"))?;
    if let Some(problem) = foreign::by_content(begin) {
        return Err(problem.to_owned());
    }
    if begin.starts_with(basis::MAGIC) {
        return decode_ktx2(reader, bytes).map(plain);
    }
    if begin.starts_with(&exr::meta::magic_number::BYTES) {
        return open_exr::decode(&mut reader, bytes);
    }
    let floats = if begin.starts_with(radiance::MAGIC) {
        Some(radiance::decode(&mut reader, bytes)?)
    } else if pfm::is_pfm(begin) {
        Some(pfm::decode(&mut reader, bytes)?)
    } else {
        None
    };
    if let Some((width, height, texels)) = floats {
        return Ok(plain(Image {
            width,
            height,
            texels: Texels::Floats(texels),
        }));
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
            "is not an image in a supported format; expected PNG, JPEG, WebP, BMP, TGA, HDR, EXR, PFM or KTX2"
                .to_owned(),
        );
    }
    let decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    let texel_bytes = u64::from(decoder.color_type().bytes_per_pixel());
    check_size(width, height, texel_bytes, bytes)?;
    let texels = texels(DynamicImage::from_decoder(decoder).map_err(damaged)?);
    Ok(plain(Image {
        width,
        height,
        texels,
    }))
}

/// Returns the error message that an image cannot be decoded, with the start of the decoder's own error text. A text
/// that lists the fields of a value of the decoder is left out.
fn damaged(error: &str) -> String {
    let reason = match error.contains(" { ") {
        true => String::new(),
        false => format!(": {}", sentence(error)),
    };
    format!("cannot be decoded{reason}; save it again with another program")
}

/// Decodes a KTX2 file of `bytes` bytes. Fails if it is invalid or too large.
fn decode_ktx2(mut reader: impl BufRead, bytes: u64) -> Result<Image, String> {
    memory::check(bytes)?;
    let mut file = Vec::new();
    reader
        .read_to_end(&mut file)
        .map_err(|error| format!("cannot be read: {error}"))?;
    let (width, height) = basis::size(&file)?;
    let texels = if plain_ktx2::is_plain(&file) {
        check_size(width, height, 16, bytes)?;
        plain_ktx2::decode(&file)?
    } else {
        check_size(width, height, 4, bytes)?;
        Texels::Bytes(basis::decode(&file)?)
    };
    Ok(Image {
        width,
        height,
        texels,
    })
}

/// Fails if an image is empty, too large for the `bytes` bytes of its file, or too large for the memory.
///
/// `width` and `height` are in texels, and `texel_bytes` is the size of a decoded texel in bytes.
fn check_size(width: u32, height: u32, texel_bytes: u64, bytes: u64) -> Result<(), String> {
    let texels = u64::from(width) * u64::from(height);
    if texels == 0 {
        return Err("has no pixels; expected a width and height of at least 1".to_owned());
    }
    let max_texels = FREE_TEXELS.saturating_add(bytes.saturating_mul(TEXELS_PER_BYTE));
    if width.max(height) > MAX_SIDE || texels > max_texels {
        return Err(format!(
            "declares {width}x{height} texels, but the limit is {MAX_SIDE} per side and {max_texels} in a file of {bytes} \
             bytes; export it again"
        ));
    }
    // Both the decoded image and its copy with four channels exist at the same time.
    Ok(memory::check(texels * 2 * texel_bytes.next_power_of_two())?)
}

/// Converts a decoded image to RGBA texels of 8 bits, 16 bits or floating point, as the image has.
fn texels(image: DynamicImage) -> Texels {
    fn quads<T: Copy>(channels: &[T]) -> Vec<[T; 4]> {
        channels.as_chunks::<4>().0.to_vec()
    }
    match image {
        DynamicImage::ImageLuma8(_)
        | DynamicImage::ImageLumaA8(_)
        | DynamicImage::ImageRgb8(_)
        | DynamicImage::ImageRgba8(_) => Texels::Bytes(quads(&image.into_rgba8())),
        DynamicImage::ImageLuma16(_)
        | DynamicImage::ImageLumaA16(_)
        | DynamicImage::ImageRgb16(_)
        | DynamicImage::ImageRgba16(_) => Texels::Words(quads(&image.into_rgba16())),
        _ => Texels::Floats(quads(&image.into_rgba32f())),
    }
}

/// Fails with the position of the first texel that is not finite, of an image that is `width` texels wide.
fn check_finite(width: u32, texels: &[[f32; 4]]) -> Result<(), String> {
    let wrong = |texel: &[f32; 4]| !texel.iter().all(|channel| channel.is_finite());
    match texels.iter().position(wrong) {
        Some(at) => Err(format!(
            "the texel in column {} of row {} is {:?}; expected finite numbers",
            at % width as usize + 1,
            at / width as usize + 1,
            texels[at]
        )),
        None => Ok(()),
    }
}
