//! `--compare`: the difference between the rendered image, or an existing one, and another image, as figures and as an
//! error map.

use std::path::{Path, PathBuf};

use raysieve::{
    film::picture::{
        Picture,
        comparison::{Compared, ComparisonImage},
        transparency::is_opaque,
    },
    render::output::Look,
};
use raysieve_scene::atomic_file;

use crate::{error::Error, print_result};

/// Compares two image files of the same size, without rendering. Linear light is converted with the exposure and the
/// tone curve of `look`. Writes the error map to `map`, and prints the figures and the path of the map.
///
/// # Errors
/// If an image cannot be read, they have different sizes, or the map or the standard output cannot be written.
pub(crate) fn compare_files(
    image: &Path,
    other: &Path,
    look: Look,
    map: &Path,
) -> Result<(), Error> {
    atomic_file::check_place(map)?;
    let image = ComparisonImage::open(image)?;
    let other = ComparisonImage::open(other)?;
    let (size, expected) = (image.size(), other.size());
    if size != expected {
        return Err(Error::File {
            file: other.path().display().to_string(),
            problem: format!(
                "is {}x{}, but {} is {}x{}; compare images of the same size",
                expected.0,
                expected.1,
                image.path().display(),
                size.0,
                size.1
            ),
        });
    }
    compare(Compared::Image(&image), &other, look, map)
}

/// Compares an image with another one of the same size, after converting linear light to 8-bit sRGB with the exposure
/// and the tone curve of `look`. Writes the error map to `map`, and prints the figures and the path of the map.
///
/// # Errors
/// If the map or the standard output cannot be written.
pub(crate) fn compare(
    image: Compared<'_>,
    other: &ComparisonImage,
    look: Look,
    map: &Path,
) -> Result<(), Error> {
    let difference = other.compare(image, look.exposure_stops, look.tone);
    write_map(map, other.size(), &difference.map())?;
    let name = other.path().display();
    let summary = difference.summary;
    let squared = match difference.relative_squared {
        Some(squared) => format!("  squared    {squared:.3e}, relative to the light of {name}\n"),
        None => String::new(),
    };
    print_result(&format!(
        "difference   from {name}\n  FLIP       {:.4} on average, below {:.4} in 95 % of the pixels, at most {:.4}\n\
         {squared}error map    {}\n",
        summary.mean,
        summary.quantile_95,
        summary.max,
        map.display()
    ))
}

/// Returns the path of the error map of the image at `picture`: `box.flip.png` for `box.exr`.
pub(crate) fn map_path(picture: &Path) -> PathBuf {
    picture.with_extension("flip.png")
}

/// Writes an error map in RGBA as a PNG, without an alpha channel if it is opaque.
fn write_map(path: &Path, (width, height): (u32, u32), rgba: &[u8]) -> Result<(), Error> {
    let (pixels, _) = rgba.as_chunks::<4>();
    let rgb = pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]);
    let (color_type, bytes): (_, Vec<u8>) = match is_opaque(rgba) {
        true => (png::ColorType::Rgb, rgb.collect()),
        false => (png::ColorType::Rgba, rgba.to_vec()),
    };
    Ok(atomic_file::write_whole(path, |file| {
        let mut encoder = png::Encoder::new(file, width, height);
        encoder.set_color(color_type);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&bytes)?;
        Ok(writer.finish()?)
    })?)
}

/// Reads the image that renders of this width and height are compared with.
///
/// # Errors
/// [`Error::File`] if the image cannot be read or has another size.
pub(crate) fn read(path: &Path, size: (u32, u32)) -> Result<ComparisonImage, Error> {
    let image = ComparisonImage::open(path)?;
    let (width, height) = image.size();
    if image.size() == size {
        return Ok(image);
    }
    Err(Error::File {
        file: path.display().to_string(),
        problem: format!(
            "is {width}x{height}, but the scene is rendered at {}x{}; give --size {width}x{height}, or render the \
             image again",
            size.0, size.1
        ),
    })
}

/// Reads the image that renders of this width and height are compared with, in linear light.
///
/// # Errors
/// [`Error::File`] if the image cannot be read, has another size, or contains colors as displayed, such as a PNG.
pub(crate) fn read_picture(path: &Path, size: (u32, u32)) -> Result<Picture, Error> {
    let image = read(path, size)?;
    image.light().cloned().ok_or_else(|| Error::File {
        file: path.display().to_string(),
        problem: "does not contain floating-point values; render the reference to an .exr file"
            .to_owned(),
    })
}
