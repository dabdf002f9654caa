//! Reads environment maps: images in floating point, in latitude-longitude format.

use std::path::Path;

use glam::Vec3;

use super::cube_map;
use crate::{
    EnvironmentFile, Error,
    files::display_path,
    limits::{MAX_VISIBLE_RADIANCE, SAMPLE_LIMIT, check_brightness},
    memory,
    scene::{Environment, EnvironmentSource, Image, Light, Texels, turns},
};

/// Largest number of texels of an environment map. Sampling tables index them with 32 bits.
pub(crate) const MAX_TEXELS: u64 = 1 << 28;
/// Bytes of memory per texel of an environment map: its radiance, and an entry of a sampling table on the host and on a
/// GPU.
pub(crate) const BYTES_PER_TEXEL: u64 = 12 + 16 + 16;

/// Radiance that replaces infinite values: the largest number of 16 bits, beyond which programs write infinity.
const MAX_HALF: f32 = 65504.0;

/// An image of an environment, without infinite values.
pub(crate) struct EnvironmentImage {
    /// The image. A cube map of an EXR file is converted to latitude-longitude format.
    pub(crate) image: Image,
    /// Number of values that were infinite.
    pub(crate) infinite: usize,
}

impl EnvironmentImage {
    /// Reads an image file.
    ///
    /// # Errors
    /// Those of [`Image::open`], except that infinite values become 65504.
    pub(crate) fn open(path: &Path) -> Result<EnvironmentImage, String> {
        let mut decoded = super::decode_file(path)?;
        let mut infinite = 0;
        if let Texels::Floats(texels) = &mut decoded.image.texels {
            for value in texels.as_flattened_mut() {
                if *value == f32::INFINITY {
                    *value = MAX_HALF;
                    infinite += 1;
                }
            }
        }
        let is_cube = decoded.is_cube;
        let image = decoded.finite()?;
        let image = match is_cube {
            true => cube_map::latitude_longitude(&image)?,
            false => image,
        };
        Ok(EnvironmentImage { image, infinite })
    }

    /// Returns a warning if there were infinite values.
    pub(crate) fn note(&self) -> Option<String> {
        match self.infinite {
            0 => None,
            1 => Some(format!("1 infinite value treated as {MAX_HALF}")),
            count => Some(format!("{count} infinite values treated as {MAX_HALF}")),
        }
    }
}

/// Reads the environment that `file` chooses, for `spp` samples per pixel. Returns its light, and warnings about values
/// that are below 0 or infinite.
///
/// # Errors
/// [`Error::File`] with the reasons of [`read_environment`].
pub(crate) fn chosen_environment(
    file: &EnvironmentFile,
    spp: u32,
) -> Result<(Light, Vec<String>), Error> {
    let path = display_path(&file.path);
    match read_environment(&file.path, file.scale, file.rotate_degrees, spp) {
        Ok((environment, notes)) => {
            let notes = notes.iter().map(|note| format!("{path}: {note}"));
            Ok((Light::Environment(environment), notes.collect()))
        }
        Err(problem) => Err(Error::File {
            file: path,
            problem,
        }),
    }
}

/// Reads an environment map, whose radiance in W·sr⁻¹·m⁻² is the values of the image times `scale`. It is rotated by
/// `degrees` about +y, counter-clockwise seen from above. Returns it with warnings about values below 0, which become 0,
/// and infinite ones.
///
/// # Errors
/// One line without the path, if the image cannot be read, is not in floating point, is too large, or is too bright for
/// `spp` samples per pixel.
pub(crate) fn read_environment(
    path: &Path,
    scale: f32,
    degrees: f64,
    spp: u32,
) -> Result<(Environment, Vec<String>), String> {
    let opened = EnvironmentImage::open(path)?;
    let mut notes: Vec<String> = opened.note().into_iter().collect();
    let Image {
        width,
        height,
        texels: Texels::Floats(texels),
    } = opened.image
    else {
        return Err("holds no radiance; expected an HDR or EXR image".to_owned());
    };
    if u64::from(width) * u64::from(height) > MAX_TEXELS {
        return Err(format!(
            "its {width}x{height} texels are too many; a sky has at most {MAX_TEXELS}"
        ));
    }
    memory::check(u64::from(width) * u64::from(height) * BYTES_PER_TEXEL)?;
    let mut below = 0;
    let mut brightest = 0.0_f32;
    let mut radiances = Vec::with_capacity(texels.len());
    for (index, &[red, green, blue, _]) in texels.iter().enumerate() {
        let radiance = Vec3::new(red, green, blue);
        below += radiance
            .to_array()
            .iter()
            .filter(|&&value| value < 0.0)
            .count();
        let radiance = radiance.max(Vec3::ZERO);
        let most = (radiance * scale).max_element();
        if most >= SAMPLE_LIMIT {
            let (column, row) = (index % width as usize + 1, index / width as usize + 1);
            return Err(format!(
                "its texel in column {column} of row {row} has the value {most}, too bright for the film, which accepts \
                 samples below {SAMPLE_LIMIT}; lower `scale`"
            ));
        }
        brightest = brightest.max(most);
        radiances.push(radiance);
    }
    check_brightness(brightest.min(MAX_VISIBLE_RADIANCE), spp)?;
    let environment = Environment {
        scale,
        source: EnvironmentSource::Map { rotate_y: degrees },
        ..Environment::new(width, radiances, turns(degrees))
    };
    if below > 0 {
        notes.push(format!("{below} values below 0 treated as 0"));
    }
    Ok((environment, notes))
}
