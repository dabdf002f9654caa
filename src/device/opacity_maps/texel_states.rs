//! The states of the texels of an opacity texture, summed so that rectangles are tested in constant time.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    scene::memory,
    shading::{
        material_textures::{MAP_OPACITY, MaterialTextures, apply_cutoff},
        opacity_map::{OPAQUE, TRANSPARENT, UNKNOWN},
        texture::{MIRRORED_REPEAT, REPEAT, Texel, Texture, texel},
    },
};

use super::image_triangle::TexelRange;

/// Largest width and height of an image whose opacity is examined, in texels.
const MAX_SIDE: u32 = 1 << 14;
/// Bound of the rounding error of `sample_texture`, which interpolates bilinearly, for texels of 0 to 1. It has a large
/// reserve.
const MARGIN: f32 = 1e-5;
/// Value of an opaque texel in the sums; it is 0 for a transparent texel and 1 for an unknown one.
const OPAQUE_TEXEL: u32 = 2;

/// The states of the texels of an image as a summed-area table.
pub(super) struct TexelStates {
    /// Width in texels.
    width: u32,
    /// Height in texels.
    height: u32,
    /// Horizontal wrap mode, see `Texture::wrap_u`.
    wrap_u: u32,
    /// Vertical wrap mode, see `Texture::wrap_v`.
    wrap_v: u32,
    /// Sums of the texels above and to the left of each corner of a texel, in row-major order.
    sums: Vec<u32>,
}

impl TexelStates {
    /// Examines the texels of the opacity texture of a material. Returns `None` if the image is too large, or if the
    /// machine has less memory left than the 4 bytes per texel that the states take.
    pub(super) fn new(
        maps: &MaterialTextures,
        texture: &Texture,
        texels: &[u32],
    ) -> Option<TexelStates> {
        let (width, height) = (texture.width, texture.height);
        if width.max(height) > MAX_SIDE {
            return None;
        }
        let channel = maps.textures[MAP_OPACITY as usize] & 3;
        let stride = width as usize + 1;
        let count = stride * (height as usize + 1);
        memory::check(4 * count as u64).ok()?;
        let mut sums = vec![0; count];
        let rows = sums[stride..].par_chunks_exact_mut(stride);
        rows.enumerate().for_each(|(y, row)| {
            let mut sum = 0;
            for (x, in_row) in row[1..].iter_mut().enumerate() {
                let value = texel(texels, texture, x as u32, y as u32);
                sum += state_value(maps, value, channel);
                *in_row = sum;
            }
        });
        for first in (stride..count - stride).step_by(stride) {
            let (above, below) = sums[first..first + 2 * stride].split_at_mut(stride);
            for (sum, above) in below.iter_mut().zip(above) {
                *sum += *above;
            }
        }
        Some(TexelStates {
            width,
            height,
            wrap_u: texture.wrap_u,
            wrap_v: texture.wrap_v,
            sums,
        })
    }

    /// Returns the state of a surface that reads these texels of the endlessly continued image, all of them or some.
    pub(super) fn over(&self, [columns, rows]: TexelRange) -> u32 {
        let (mut sum, mut area) = (0, 0);
        let all_columns = in_image(columns, self.width, self.wrap_u);
        for rows in in_image(rows, self.height, self.wrap_v) {
            for columns in &all_columns {
                if !rows.is_empty() && !columns.is_empty() {
                    area += (columns.len() * rows.len()) as u32;
                    sum += self.sum(columns, &rows);
                }
            }
        }
        if sum == OPAQUE_TEXEL * area {
            OPAQUE
        } else if sum == 0 {
            TRANSPARENT
        } else {
            UNKNOWN
        }
    }

    /// Returns the sum of the values of the texels in a rectangle, which must lie inside the image.
    fn sum(&self, columns: &Range<usize>, rows: &Range<usize>) -> u32 {
        let at = |x: usize, y: usize| self.sums[y * (self.width as usize + 1) + x];
        let below = at(columns.end, rows.end) - at(columns.start, rows.end);
        below - (at(columns.end, rows.start) - at(columns.start, rows.start))
    }
}

/// Returns the value of a texel in the sums.
///
/// Interpolation between texels of the same state must keep it. Between equal values it is exact, and between others it
/// rounds by less than [`MARGIN`].
fn state_value(maps: &MaterialTextures, value: Texel, channel: u32) -> u32 {
    let stored = match channel {
        0 => value.rgb.x,
        1 => value.rgb.y,
        2 => value.rgb.z,
        _ => value.alpha,
    };
    if !(0.0..=1.0).contains(&stored) {
        return 1;
    }
    let opacity = |value: f32| apply_cutoff(maps, maps.opacity * value);
    let is_opaque = |value: f32| opacity(value) >= 1.0;
    let is_transparent = |value: f32| opacity(value) <= 0.0;
    if is_opaque(stored) && (stored == 1.0 || is_opaque(stored - MARGIN)) {
        OPAQUE_TEXEL
    } else if is_transparent(stored) && (stored == 0.0 || is_transparent(stored + MARGIN)) {
        0
    } else {
        1
    }
}

/// Returns the columns or rows of an image of `size` in which those from `first` to `last` of the endlessly continued
/// image lie. The ranges do not overlap, and the second may be empty.
fn in_image([first, last]: [i64; 2], size: u32, wrap: u32) -> [Range<usize>; 2] {
    let size = i64::from(size);
    let range = |first: i64, last: i64| first as usize..last as usize + 1;
    // Most triangles lie inside the image.
    if first >= 0 && last < size {
        return [range(first, last), 0..0];
    }
    let all = [range(0, size - 1), 0..0];
    match wrap {
        REPEAT | MIRRORED_REPEAT if last - first >= size - 1 => all,
        REPEAT => {
            let (first, last) = (first.rem_euclid(size), last.rem_euclid(size));
            if first <= last {
                [range(first, last), 0..0]
            } else {
                [range(first, size - 1), range(0, last)]
            }
        }
        MIRRORED_REPEAT => {
            let is_mirrored = |place: i64| place.div_euclid(size).rem_euclid(2) == 1;
            let inside = |place: i64| {
                let place_in_copy = place.rem_euclid(size);
                if is_mirrored(place) {
                    size - 1 - place_in_copy
                } else {
                    place_in_copy
                }
            };
            let (low, high) = (
                inside(first).min(inside(last)),
                inside(first).max(inside(last)),
            );
            let single_copy = first.div_euclid(size) == last.div_euclid(size);
            // Two copies meet at the image's right or lower edge, or at its left or upper one.
            match (single_copy, is_mirrored(last)) {
                (true, _) => [range(low, high), 0..0],
                (false, true) => [range(low, size - 1), 0..0],
                (false, false) => [range(0, high), 0..0],
            }
        }
        _ => [
            range(first.clamp(0, size - 1), last.clamp(0, size - 1)),
            0..0,
        ],
    }
}
