//! Conversion of cube maps, as OpenEXR stores them, to latitude-longitude maps.
//!
//! The six faces lie below each other in the order +x, -x, +y, -y, +z, -z. The centers of the outermost texels of a face
//! are at the edges of the cube. `ImfEnvmap.h` of OpenEXR defines which way the faces are turned.

use std::f64::consts::PI;

use glam::DVec3;
use rayon::prelude::*;

use super::check_size;
use crate::scene::{Image, Texels};

/// Largest width of a converted map in texels. A larger cube loses resolution.
const MAX_WIDTH: usize = 8192;

/// Converts the cube map of an EXR file, in floating point, to an image in latitude-longitude format, in which the center
/// is +z and a quarter of the width is +x. Fails if the image is no column of six squares, or memory does not suffice.
pub(super) fn latitude_longitude(image: &Image) -> Result<Image, String> {
    let Texels::Floats(texels) = &image.texels else {
        return Err("is a cube map without floating-point values; export it again".to_owned());
    };
    let side = image.width as usize;
    if u64::from(image.height) != 6 * u64::from(image.width) {
        return Err(format!(
            "is a cube map of {}x{} texels; expected six squares below each other",
            image.width, image.height
        ));
    }
    // A face covers a quarter of a turn.
    let width = (4 * side).clamp(4, MAX_WIDTH);
    let height = width / 2;
    check_size(width as u32, height as u32, 16, u64::MAX)?;
    let mut converted = vec![[0.0; 4]; width * height];
    let rows = converted.par_chunks_mut(width).enumerate();
    rows.for_each(|(row, line)| {
        let (sin, cos) = libm::sincos(PI * (row as f64 + 0.5) / height as f64);
        for (column, texel) in line.iter_mut().enumerate() {
            let turn = 2.0 * PI * (column as f64 + 0.5) / width as f64;
            let (turn_sin, turn_cos) = libm::sincos(turn);
            let direction = DVec3::new(turn_sin * sin, cos, -turn_cos * sin);
            *texel = in_direction(texels, side, direction);
        }
    });
    Ok(Image {
        width: width as u32,
        height: height as u32,
        texels: Texels::Floats(converted),
    })
}

/// Returns the bilinearly interpolated value of a cube map in a direction other than 0. `side` is the width of a face in
/// texels.
fn in_direction(texels: &[[f32; 4]], side: usize, direction: DVec3) -> [f32; 4] {
    let [x, y, z] = direction.to_array();
    let [across, up, along] = direction.abs().to_array();
    // Coordinates within the face, -1 to 1, to the right and upwards in the image.
    let (face, right, upwards) = if across >= up && across >= along {
        let face = if x > 0.0 { 0 } else { 1 };
        (face, z / x, y / across)
    } else if up >= along {
        let face = if y > 0.0 { 2 } else { 3 };
        (face, x / up, z / y)
    } else {
        let face = if z > 0.0 { 4 } else { 5 };
        (face, -x / z, y / along)
    };
    let last = side - 1;
    let place = |coordinate: f64| {
        let at = (coordinate + 1.0) / 2.0 * last as f64;
        let first = (at as usize).min(last.saturating_sub(1));
        (first, (at - first as f64) as f32)
    };
    let ((column, right), (row, down)) = (place(right), place(-upwards));
    let texel = |column: usize, row: usize| {
        let column = column.min(last);
        texels[(face * side + row.min(last)) * side + column]
    };
    let mix = |a: [f32; 4], b: [f32; 4], part: f32| {
        std::array::from_fn(|channel| a[channel] * (1.0 - part) + b[channel] * part)
    };
    let upper = mix(texel(column, row), texel(column + 1, row), right);
    let lower = mix(texel(column, row + 1), texel(column + 1, row + 1), right);
    mix(upper, lower, down)
}
