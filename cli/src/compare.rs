//! `--compare`: the difference between the rendered image and another one, as figures and as an error map.

use std::{
    io,
    path::{Path, PathBuf},
};

use glam::Vec3;
use raysieve::{
    picture::{Picture, relative_squared_error, tone},
    render::{output::Look, part::Part},
};
use raysieve_scene::{Image, Texels, atomic_file};

use crate::{error::Error, flip, print_result};

/// The image of `--compare`.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    /// Path of the image as the user gave it.
    path: PathBuf,
    picture: Picture,
}

impl Reference {
    /// Reads the image, which is compared with renders of this width and height in pixels.
    ///
    /// # Errors
    /// [`Error::File`] if the image cannot be read, has another size, or has no linear values.
    pub(crate) fn read(path: &Path, size: (u32, u32)) -> Result<Reference, Error> {
        Ok(Reference {
            path: path.to_owned(),
            picture: read_picture(path, size)?,
        })
    }

    /// Compares a render with the reference, after converting both to 8-bit sRGB with the exposure and the tone curve
    /// of `look`. Writes the error map beside `picture`, the path of the rendered image. Prints the figures and the
    /// path of the map.
    ///
    /// # Errors
    /// If the map or the standard output cannot be written.
    pub(crate) fn compare(&self, part: &Part, look: Look, picture: &Path) -> Result<(), Error> {
        let rendered = part.picture();
        let [shown, expected] = [&rendered, &self.picture]
            .map(|picture| tone::to_srgb8(picture, look.exposure_stops, look.tone));
        let errors = flip::errors(&expected, &shown, rendered.width as usize);
        let map = map_path(picture);
        write_map(&map, (rendered.width, rendered.height), &errors)?;
        let mean = errors.iter().map(|&error| f64::from(error)).sum::<f64>() / errors.len() as f64;
        let mut sorted = errors;
        sorted.sort_unstable_by(f32::total_cmp);
        let quantile = sorted[(sorted.len() * 95 / 100).min(sorted.len() - 1)];
        let largest = sorted[sorted.len() - 1];
        print_result(&format!(
            "difference   from {}\n  FLIP       {mean:.4} on average, below {quantile:.4} in 95 % of the pixels, at most \
             {largest:.4}\n  squared    {:.3e}, relative to the light of {}\nerror map    {}\n",
            self.path.display(),
            relative_squared_error(&rendered, &self.picture),
            self.path.display(),
            map.display()
        ))
    }
}

/// Returns the path of the error map of the image at `picture`: `box.flip.png` for `box.exr`.
pub(crate) fn map_path(picture: &Path) -> PathBuf {
    picture.with_extension("flip.png")
}

/// Writes errors from 0 to 1 as a PNG in the colours magma: from black over purple and orange to pale yellow.
fn write_map(path: &Path, (width, height): (u32, u32), errors: &[f32]) -> Result<(), Error> {
    let rgb: Vec<u8> = errors
        .iter()
        .flat_map(|&error| {
            let color = colorous::MAGMA.eval_continuous(error.into());
            [color.r, color.g, color.b]
        })
        .collect();
    Ok(atomic_file::write_whole(path, |file| {
        let mut encoder = png::Encoder::new(file, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().map_err(io_error)?;
        writer.write_image_data(&rgb).map_err(io_error)?;
        writer.finish().map_err(io_error)
    })?)
}

/// Converts an error of the PNG encoder: returns the I/O error in it, or wraps another error in one.
fn io_error(error: png::EncodingError) -> io::Error {
    match error {
        png::EncodingError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// Reads the image that renders of this width and height are compared with.
///
/// # Errors
/// [`Error::File`] if the image cannot be read, has another size, or has no linear values.
pub(crate) fn read_picture(path: &Path, size: (u32, u32)) -> Result<Picture, Error> {
    let refused = |problem: String| Error::File {
        file: path.display().to_string(),
        problem,
    };
    let image = Image::open(path).map_err(refused)?;
    if (image.width, image.height) != size {
        return Err(refused(format!(
            "is {}x{}, but the scene is rendered at {}x{}; give --size {}x{}, or render the reference again",
            image.width, image.height, size.0, size.1, image.width, image.height
        )));
    }
    let Texels::Floats(texels) = image.texels else {
        return Err(refused(
            "does not contain floating-point values; render the reference to an .exr file"
                .to_owned(),
        ));
    };
    Ok(Picture {
        width: image.width,
        height: image.height,
        pixels: texels
            .iter()
            .map(|&[r, g, b, _]| Vec3::new(r, g, b))
            .collect(),
    })
}
