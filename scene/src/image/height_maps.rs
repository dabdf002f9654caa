//! Conversion of height maps (bump maps) to normal maps. A scene contains only normal maps.

use glam::{Mat2, Vec2, Vec3};

use crate::{
    memory::vec_with_capacity,
    scene::{Image, Texels, Wrap},
};

/// Height of a white texel above a black one at scale 1, as a fraction of the image's width on the surface.
pub(super) const HEIGHT: f32 = 0.01;
/// Largest slope of the surface, rise over run; steeper ones are clamped.
const MAX_SLOPE: f32 = 1e3;

/// Converts a height map to a tangent-space normal map with 16 bits per channel. A texel's height is the mean of its
/// red, green and blue as stored.
///
/// `slopes` multiplies the differences of neighbouring texels to the right and upwards, and the products are the slopes
/// along the tangent and the bitangent. `wrap` selects the neighbours at the edges. Fails if memory does not suffice.
pub(crate) fn normals(heights: &Image, slopes: Mat2, wrap: Wrap) -> Result<Image, String> {
    let (width, height) = (heights.width as usize, heights.height as usize);
    let texels = vec_with_capacity::<f32>(width * height).map(|mut levels| {
        match &heights.texels {
            Texels::Bytes(texels) => levels.extend(texels.iter().map(|&[r, g, b, _]| {
                f32::from(u16::from(r) + u16::from(g) + u16::from(b)) / (3.0 * 255.0)
            })),
            Texels::Words(texels) => levels.extend(texels.iter().map(|&[r, g, b, _]| {
                (f32::from(r) + f32::from(g) + f32::from(b)) / (3.0 * 65535.0)
            })),
            Texels::Floats(texels) => {
                levels.extend(texels.iter().map(|&[r, g, b, _]| (r + g + b) / 3.0));
            }
        }
        levels
    })?;
    // Both neighbours of a texel in a row or column, and their distance in texels.
    let around = |at: usize, count: usize| match wrap {
        Wrap::Repeat => ((at + count - 1) % count, (at + 1) % count, 2.0),
        Wrap::Mirror | Wrap::Clamp => {
            let (before, after) = (at.saturating_sub(1), (at + 1).min(count - 1));
            (before, after, (after - before).max(1) as f32)
        }
    };
    let clamped = |slope: f32| {
        if slope.is_nan() {
            0.0
        } else {
            slope.clamp(-MAX_SLOPE, MAX_SLOPE)
        }
    };
    let mut normals: Vec<[u16; 4]> = vec_with_capacity(width * height)?;
    for y in 0..height {
        let (above, below, rows) = around(y, height);
        for x in 0..width {
            let (left, right, columns) = around(x, width);
            let (before, after) = (texels[y * width + left], texels[y * width + right]);
            let (lower, upper) = (texels[below * width + x], texels[above * width + x]);
            let steps = Vec2::new((after - before) / columns, (upper - lower) / rows);
            let slope = (slopes * steps).map(clamped);
            let normal = Vec3::new(-slope.x, -slope.y, 1.0).normalize();
            let [r, g, b] = (normal * 0.5 + 0.5).to_array();
            normals.push([r, g, b, 1.0].map(|part| (part * 65535.0).round() as u16));
        }
    }
    Ok(Image {
        width: heights.width,
        height: heights.height,
        texels: Texels::Words(normals),
    })
}
