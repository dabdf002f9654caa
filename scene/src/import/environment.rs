//! Environment maps of other renderers, converted to latitude-longitude maps.

use std::f64::consts::PI;

use glam::{DMat3, DVec2, DVec3, Vec3};
use rayon::prelude::*;

use crate::{
    color::{luminance, srgb_value},
    image::environment_map::{BYTES_PER_TEXEL, MAX_TEXELS},
    limits::{MAX_VISIBLE_RADIANCE, SAMPLE_LIMIT, check_brightness},
    memory,
    scene::{Environment, Image, Texels},
};

/// Smallest width of a resampled map in texels, so that a small image keeps its smooth transitions between texels.
const MIN_RESAMPLED: u32 = 1024;
/// Largest width of a resampled map in texels. A larger image loses resolution.
const MAX_RESAMPLED: u32 = 8192;

/// The projection by which an image shows all directions.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Layout {
    /// Latitude and longitude, like [`Environment`], with y up.
    LatitudeLongitude,
    /// Latitude and longitude, but with the poles in the middle of the first and the last row, as in Mitsuba.
    PolesInRows,
    /// The equal-area octahedral map of P. Clarberg (2008), as in pbrt, with z up.
    Octahedral,
}

/// Converts an image to an environment map. `from_world` rotates a direction of the world into the image's coordinates,
/// and may mirror it; `scale` multiplies all values, and those below 0 become 0.
///
/// The result keeps the texels of a latitude-longitude image that is only rotated about y and not mirrored. Other
/// images are resampled to that layout.
///
/// Fails if the given image has more than [`MAX_TEXELS`] texels or does not fit into memory. Also fails if a scaled
/// value is [`SAMPLE_LIMIT`] or more, or so bright that the film cannot hold the sum of `spp` samples.
pub(crate) fn environment(
    image: &Image,
    layout: Layout,
    from_world: DMat3,
    scale: Vec3,
    spp: u32,
) -> Result<Environment, String> {
    let texels = u64::from(image.width) * u64::from(image.height);
    if texels > MAX_TEXELS {
        return Err(format!(
            "its {texels} texels are too many; a sky has at most {MAX_TEXELS}"
        ));
    }
    memory::check(texels * BYTES_PER_TEXEL)?;
    let colors = colors(image, scale);
    let brightest = colors
        .iter()
        .fold(Vec3::ZERO, |most, &color| most.max(color));
    if brightest.max_element() >= SAMPLE_LIMIT {
        return Err(format!(
            "a value of {} is too bright for the film, which accepts samples below {SAMPLE_LIMIT}; lower the scale",
            brightest.max_element()
        ));
    }
    check_brightness(brightest.max_element().min(MAX_VISIBLE_RADIANCE), spp)?;
    let turned_about_y = (from_world * DVec3::Y - DVec3::Y).length() < 1e-6;
    let mirrors = from_world.determinant() < 0.0;
    if layout == Layout::LatitudeLongitude && turned_about_y && !mirrors {
        // The image's direction of +z of the world has the angle that the image is turned by.
        let z = from_world * DVec3::Z;
        let turns = (-libm::atan2(z.x, z.z) / (2.0 * PI)).rem_euclid(1.0) as f32;
        let turns = if turns < 1.0 { turns } else { 0.0 };
        return Ok(Environment::new(image.width, colors, turns));
    }
    let source = Source::new(image.width as usize, colors);
    let width = match layout {
        Layout::LatitudeLongitude | Layout::PolesInRows => {
            image.width.max(image.height.saturating_mul(2))
        }
        // A quarter of an octahedral map's side covers an eighth of a turn.
        Layout::Octahedral => image.width.saturating_mul(2),
    };
    let width = width.saturating_mul(2).clamp(MIN_RESAMPLED, MAX_RESAMPLED) as usize;
    let height = width / 2;
    memory::check((width * height) as u64 * BYTES_PER_TEXEL)?;
    let mut radiances = vec![Vec3::ZERO; width * height];
    let turns: Vec<(f64, f64)> = (0..width)
        .map(|column| libm::sincos(2.0 * PI * (column as f64 + 0.5) / width as f64))
        .collect();
    radiances
        .par_chunks_mut(width)
        .enumerate()
        .for_each(|(row, line)| {
            let (sin, cos) = libm::sincos(PI * (row as f64 + 0.5) / height as f64);
            for (&(x, z), texel) in turns.iter().zip(line) {
                let direction = from_world * DVec3::new(x * sin, cos, -z * sin);
                *texel = match layout {
                    Layout::LatitudeLongitude => source.latitude_longitude(direction, false),
                    Layout::PolesInRows => source.latitude_longitude(direction, true),
                    Layout::Octahedral => source.octahedral(direction),
                };
            }
        });
    Ok(Environment::new(width as u32, radiances, 0.0))
}

/// Returns the illuminance of a plane below the upper half of an equal-area octahedral map as pbrt computes it, which
/// is half of the exact value.
pub(crate) fn illuminance(image: &Image) -> f64 {
    let colors = colors(image, Vec3::ONE);
    let (width, height) = (f64::from(image.width), f64::from(image.height));
    let rows = colors.chunks_exact(image.width as usize).enumerate();
    let sum: f64 = rows
        .flat_map(|(y, row)| row.iter().enumerate().map(move |(x, color)| (x, y, color)))
        .map(|(x, y, &color)| {
            let across = 2.0 * (x as f64 + 0.5) / width - 1.0;
            let down = 2.0 * (y as f64 + 0.5) / height - 1.0;
            // The center of the square is +z, and its horizon the inner square.
            let distance = (across.abs() + down.abs()).min(1.0);
            f64::from(luminance(color)) * (1.0 - distance * distance)
        })
        .sum();
    2.0 * PI * sum / (width * height)
}

/// Rotates an environment map. `from_world` rotates a direction of the world into the map's coordinates. Returns the
/// map as it is if it is too large to be resampled, or too bright.
pub(crate) fn rotated(map: &Environment, from_world: DMat3) -> Environment {
    let image = Image {
        width: map.width,
        height: (map.radiances.len() / map.width as usize) as u32,
        texels: Texels::Floats(
            map.scaled_radiances()
                .iter()
                .map(|color| color.extend(1.0).to_array())
                .collect(),
        ),
    };
    environment(&image, Layout::LatitudeLongitude, from_world, Vec3::ONE, 1)
        .unwrap_or_else(|_| map.clone())
}

/// Mirrors an environment map at the plane x = 0.
pub(crate) fn mirror(map: &mut Environment) {
    let width = map.width as usize;
    let radiances = map.scaled_radiances().into_owned();
    let rows = radiances.chunks_exact(width);
    let mirrored = rows.flat_map(|row| row.iter().rev().copied()).collect();
    let turns = if map.turns > 0.0 {
        1.0 - map.turns
    } else {
        0.0
    };
    *map = Environment::new(map.width, mirrored, turns);
}

/// Returns the linear colors of an image times `scale`, row by row from the top. Integer texels are decoded from sRGB.
/// Negative results become 0, and alpha is ignored.
fn colors(image: &Image, scale: Vec3) -> Vec<Vec3> {
    let of = |color: [f32; 3]| (Vec3::from_array(color) * scale).max(Vec3::ZERO);
    let decode = |value: f64| srgb_value(value);
    match &image.texels {
        Texels::Floats(texels) => texels.iter().map(|&[r, g, b, _]| of([r, g, b])).collect(),
        Texels::Words(texels) => {
            let part = |word: u16| decode(f64::from(word) / 65535.0);
            texels
                .iter()
                .map(|&[r, g, b, _]| of([r, g, b].map(part)))
                .collect()
        }
        Texels::Bytes(texels) => {
            let part = |byte: u8| decode(f64::from(byte) / 255.0);
            texels
                .iter()
                .map(|&[r, g, b, _]| of([r, g, b].map(part)))
                .collect()
        }
    }
}

/// An image from which an environment map is resampled: linear colors in rows from top to bottom.
struct Source {
    width: usize,
    height: usize,
    colors: Vec<Vec3>,
    /// Number of rows above the black ones at the bottom, such as the lower half of a sky.
    lit_rows: usize,
}

impl Source {
    /// Creates the source of an image of `width` columns, without black rows at its bottom.
    fn new(width: usize, colors: Vec<Vec3>) -> Source {
        let is_black = |row: &&[Vec3]| row.iter().all(|&color| color == Vec3::ZERO);
        let black = colors.rchunks_exact(width).take_while(is_black).count();
        let height = colors.len() / width;
        Source {
            width,
            height,
            colors,
            lit_rows: height - black,
        }
    }

    /// Returns the color in a direction of any length, if the image shows latitude and longitude. `poles_in_rows` is
    /// that of [`Layout::PolesInRows`].
    fn latitude_longitude(&self, direction: DVec3, poles_in_rows: bool) -> Vec3 {
        let direction = direction.normalize_or(DVec3::Y);
        let v = libm::acos(direction.y.clamp(-1.0, 1.0)) / PI;
        let y = match poles_in_rows {
            true => v * (self.height as f64 - 1.0),
            false => v * self.height as f64 - 0.5,
        };
        if y >= self.lit_rows as f64 {
            return Vec3::ZERO;
        }
        let u = libm::atan2(direction.x, -direction.z) / (2.0 * PI);
        let x = u * self.width as f64 - 0.5;
        let at = |x: i64, y: i64| {
            let column = x.rem_euclid(self.width as i64) as usize;
            let row = y.clamp(0, self.height as i64 - 1) as usize;
            self.colors[row * self.width + column]
        };
        bilinear(x, y, at)
    }

    /// Returns the color in a direction of any length, if the image is an equal-area octahedral map.
    fn octahedral(&self, direction: DVec3) -> Vec3 {
        let at = octahedral(direction);
        let (width, height) = (self.width as i64, self.height as i64);
        let texel = |x: i64, y: i64| {
            let (mut x, mut y) = (x, y);
            // Beyond an edge the map continues at the point that is mirrored in that edge.
            if x < 0 || x >= width {
                (x, y) = (x.clamp(0, width - 1), height - 1 - y);
            }
            if y < 0 || y >= height {
                (x, y) = (width - 1 - x, y.clamp(0, height - 1));
            }
            self.colors[(y * width + x) as usize]
        };
        bilinear(at.x * width as f64 - 0.5, at.y * height as f64 - 0.5, texel)
    }
}

/// Interpolates between the four texels around a position in texels, whose centers are at whole numbers. `texel` is
/// also called with positions just outside the image.
fn bilinear(x: f64, y: f64, texel: impl Fn(i64, i64) -> Vec3) -> Vec3 {
    let (left, top) = (x.floor(), y.floor());
    let (part_x, part_y) = ((x - left) as f32, (y - top) as f32);
    let (left, top) = (left as i64, top as i64);
    let row = |y: i64| texel(left, y).lerp(texel(left + 1, y), part_x);
    row(top).lerp(row(top + 1), part_y)
}

/// Returns the position in the unit square of a direction of any length, by the equal-area octahedral map of P.
/// Clarberg. The center of the square is +z, its corners are −z; a zero vector counts as +z.
fn octahedral(direction: DVec3) -> DVec2 {
    let direction = direction.normalize_or(DVec3::Z);
    let size = direction.abs();
    let radius = libm::sqrt((1.0 - size.z).max(0.0));
    let phi = libm::atan2(size.x.min(size.y), size.x.max(size.y)) * 2.0 / PI;
    let phi = if size.x < size.y { 1.0 - phi } else { phi };
    let mut at = DVec2::new(radius - phi * radius, phi * radius);
    if direction.z < 0.0 {
        at = DVec2::new(1.0 - at.y, 1.0 - at.x);
    }
    let at = DVec2::new(at.x.copysign(direction.x), at.y.copysign(direction.y));
    (at + 1.0) * 0.5
}
