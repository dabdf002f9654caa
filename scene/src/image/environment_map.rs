//! Reads environment maps: images in floating point, in latitude-longitude format.

use std::path::Path;

use glam::Vec3;

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

/// Reads the environment that `file` chooses, for `spp` samples per pixel. Returns its light, and a warning if the
/// image has values below 0.
///
/// # Errors
/// [`Error::File`] with the reasons of [`read_environment`].
pub(crate) fn chosen_environment(
    file: &EnvironmentFile,
    spp: u32,
) -> Result<(Light, Option<String>), Error> {
    let path = display_path(&file.path);
    match read_environment(&file.path, file.scale, file.rotate_degrees, spp) {
        Ok((environment, below)) => {
            let note = format!("{path}: {below} values below 0 treated as 0");
            Ok((Light::Environment(environment), (below > 0).then_some(note)))
        }
        Err(problem) => Err(Error::File {
            file: path,
            problem,
        }),
    }
}

/// Reads an environment map, whose radiance in W·sr⁻¹·m⁻² is the values of the image times `scale`. It is rotated by
/// `degrees` about +y, counter-clockwise seen from above. Returns it with the number of values below 0, which become 0.
///
/// # Errors
/// One line without the path, if the image cannot be read, is not in floating point, is too large, or is too bright for
/// `spp` samples per pixel.
pub(crate) fn read_environment(
    path: &Path,
    scale: f32,
    degrees: f64,
    spp: u32,
) -> Result<(Environment, usize), String> {
    let Image {
        width,
        height,
        texels: Texels::Floats(texels),
    } = Image::open(path)?
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
    Ok((environment, below))
}
