//! Textures: filtered lookup in images. Twin: `kernels/shared/texture.cuh`.
//!
//! A texture is looked up once per hit at the surface's texture coordinates, without mip maps: the samples of a pixel
//! filter it, without bias; `ARCHITECTURE.md` gives the reason.

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{max_f32, min_f32, round_down, truncated},
    scene::color::srgb_value,
};

/// `Texture::format`: one word per texel, with the bytes red, green, blue and alpha from the lowest. Alpha is linear;
/// the others are sRGB-encoded.
pub const SRGB_8: u32 = 0;
/// `Texture::format`: one word per texel, with the bytes red, green, blue and alpha from the lowest. All are linear.
pub const LINEAR_8: u32 = 1;
/// `Texture::format`: two words per texel, with 16 bits per channel: red in the low half of the first word, then green,
/// blue and alpha. All are linear.
pub const LINEAR_16: u32 = 2;
/// `Texture::format`: four words per texel, the bits of red, green, blue and alpha as `f32`. All are linear.
pub const FLOAT: u32 = 3;

/// `Texture::wrap_u`, `wrap_v`: the image repeats.
pub const REPEAT: u32 = 0;
/// `Texture::wrap_u`, `wrap_v`: the image repeats, mirrored every second time.
pub const MIRRORED_REPEAT: u32 = 1;
/// `Texture::wrap_u`, `wrap_v`: the texels at the image's edge continue beyond it.
pub const CLAMP: u32 = 2;

/// `Texture::filter`: bilinear interpolation of the four nearest texels.
pub const BILINEAR: u32 = 0;
/// `Texture::filter`: the nearest texel.
pub const NEAREST: u32 = 1;

/// Number of words at the start of the texel buffer: the linear values of the 256 sRGB bytes, as bits of `f32`.
pub const SRGB_VALUES: u32 = 256;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    SRGB_8,
    LINEAR_8,
    LINEAR_16,
    FLOAT,
    REPEAT,
    MIRRORED_REPEAT,
    CLAMP,
    BILINEAR,
    NEAREST
];

shared! {
    /// An image with sampler state and a transform of texture coordinates.
    #[repr(align(16))]
    pub struct Texture {
        /// Index of the image's first word in the texel buffer. Texels are in row-major order from the top left.
        pub start: u32,
        /// Width in texels, at least 1.
        pub width: u32,
        /// Height in texels, at least 1.
        pub height: u32,
        /// Texel format: [`SRGB_8`], [`LINEAR_8`], [`LINEAR_16`] or [`FLOAT`].
        pub format: u32,
        /// Affine transform: contribution of the surface's u to the image's u, which grows from 0 at the left to 1 at
        /// the right.
        pub u_by_u: f32,
        /// Affine transform: contribution of the surface's v to the image's u.
        pub u_by_v: f32,
        /// Affine transform: the image's u at surface coordinates (0, 0).
        pub u_at_zero: f32,
        /// Horizontal wrap mode: [`REPEAT`], [`MIRRORED_REPEAT`] or [`CLAMP`].
        pub wrap_u: u32,
        /// Affine transform: contribution of the surface's u to the image's v, which grows from 0 at the top to 1 at
        /// the bottom.
        pub v_by_u: f32,
        /// Affine transform: contribution of the surface's v to the image's v.
        pub v_by_v: f32,
        /// Affine transform: the image's v at surface coordinates (0, 0).
        pub v_at_zero: f32,
        /// Vertical wrap mode: [`REPEAT`], [`MIRRORED_REPEAT`] or [`CLAMP`].
        pub wrap_v: u32,
        /// Filter of the texture: [`BILINEAR`] or [`NEAREST`].
        pub filter: u32,
        /// 1 if the texture uses the surface's second set of texture coordinates, otherwise 0.
        pub second: u32,
        /// Padding.
        pub _pad0: u32,
        /// Padding.
        pub _pad1: u32,
    }
}

/// A value of a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texel {
    /// Linear red, green and blue of the texture value; 0..=1 unless the format is [`FLOAT`].
    pub rgb: Vec3,
    /// Alpha: 0 transparent, 1 opaque.
    pub alpha: f32,
}

/// The two texels between whose centers a coordinate lies, along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// Index of the texel before the coordinate, along its axis.
    pub first: u32,
    /// Index of the texel after the coordinate, along its axis.
    pub second: u32,
    /// Interpolation weight of the second texel, 0..=1.
    pub share: f32,
}

/// Returns byte `channel` of a word, 0 being the lowest.
#[inline(always)]
pub fn channel_8(word: u32, channel: u32) -> u32 {
    (word >> (8 * channel)) & 255
}

/// Converts a linear 8-bit channel to 0..=1.
#[inline(always)]
pub fn linear_8(byte: u32) -> f32 {
    byte as f32 * (1.0 / 255.0)
}

/// Converts a linear 16-bit channel to 0..=1.
#[inline(always)]
pub fn linear_16(half: u32) -> f32 {
    half as f32 * (1.0 / 65535.0)
}

/// Applies a wrap mode to a texture coordinate. Returns a coordinate in 0..=1; 0 for NaN.
#[inline(always)]
pub fn wrapped(coordinate: f32, wrap: u32) -> f32 {
    let inside = if wrap == REPEAT {
        coordinate - round_down(coordinate)
    } else if wrap == MIRRORED_REPEAT {
        let there = coordinate - 2.0 * round_down(0.5 * coordinate);
        if there > 1.0 { 2.0 - there } else { there }
    } else {
        coordinate
    };
    min_f32(max_f32(inside, 0.0), 1.0)
}

/// Returns the index of the texel that contains a wrapped coordinate, 0..=1, along an axis of `size` texels.
#[inline(always)]
pub fn nearest_texel(inside: f32, size: u32) -> u32 {
    let last = size - 1;
    let at = truncated(inside * size as f32);
    if at > last { last } else { at }
}

/// Returns the two texels between whose centers a wrapped coordinate, 0..=1, lies, along an axis of `size` texels.
#[inline(always)]
pub fn neighbours(inside: f32, size: u32, wrap: u32) -> Neighbours {
    let last = size - 1;
    let (before, after) = if wrap == REPEAT { (last, 0) } else { (0, last) };
    let place = inside * size as f32 - 0.5;
    if place < 0.0 {
        return Neighbours {
            first: before,
            second: 0,
            share: place + 1.0,
        };
    }
    let at = truncated(place);
    let first = if at > last { last } else { at };
    Neighbours {
        first,
        second: if first == last { after } else { first + 1 },
        share: place - first as f32,
    }
}

/// Reads the texel at column `x` and row `y`, decoded to linear values.
#[inline(always)]
pub fn texel(texels: &[u32], texture: &Texture, x: u32, y: u32) -> Texel {
    let number = y * texture.width + x;
    if texture.format == FLOAT {
        let at = (texture.start + 4 * number) as usize;
        return Texel {
            rgb: Vec3::new(
                f32::from_bits(texels[at]),
                f32::from_bits(texels[at + 1]),
                f32::from_bits(texels[at + 2]),
            ),
            alpha: f32::from_bits(texels[at + 3]),
        };
    }
    if texture.format == LINEAR_16 {
        let at = (texture.start + 2 * number) as usize;
        let (low, high) = (texels[at], texels[at + 1]);
        return Texel {
            rgb: Vec3::new(
                linear_16(low & 65535),
                linear_16(low >> 16),
                linear_16(high & 65535),
            ),
            alpha: linear_16(high >> 16),
        };
    }
    let word = texels[(texture.start + number) as usize];
    decoded_8(word, texture.format == SRGB_8, |byte| texels[byte as usize])
}

/// Decodes a texel of 8 bits per channel. `srgb_bits` returns the bits of the linear value of an sRGB byte.
#[inline(always)]
pub(crate) fn decoded_8(word: u32, is_srgb: bool, srgb_bits: impl Fn(u32) -> u32) -> Texel {
    let (red, green, blue) = (channel_8(word, 0), channel_8(word, 1), channel_8(word, 2));
    let alpha = linear_8(channel_8(word, 3));
    let rgb = if is_srgb {
        Vec3::new(
            f32::from_bits(srgb_bits(red)),
            f32::from_bits(srgb_bits(green)),
            f32::from_bits(srgb_bits(blue)),
        )
    } else {
        Vec3::new(linear_8(red), linear_8(green), linear_8(blue))
    };
    Texel { rgb, alpha }
}

/// Interpolates linearly from `a` to `b` by a weight in 0..=1. Equal values give exactly that value.
#[inline(always)]
pub fn between(a: Texel, b: Texel, share: f32) -> Texel {
    Texel {
        rgb: a.rgb + (b.rgb - a.rgb) * share,
        alpha: a.alpha + (b.alpha - a.alpha) * share,
    }
}

/// Returns the filtered value of a texture at a surface's texture coordinates. sRGB is decoded before filtering.
#[inline]
pub fn sample_texture(texels: &[u32], texture: &Texture, u: f32, v: f32) -> Texel {
    let (x, y) = image_position(texture, u, v);
    if texture.filter == NEAREST {
        return texel(
            texels,
            texture,
            nearest_texel(x, texture.width),
            nearest_texel(y, texture.height),
        );
    }
    let columns = neighbours(x, texture.width, texture.wrap_u);
    let rows = neighbours(y, texture.height, texture.wrap_v);
    let corners = [
        texel(texels, texture, columns.first, rows.first),
        texel(texels, texture, columns.second, rows.first),
        texel(texels, texture, columns.first, rows.second),
        texel(texels, texture, columns.second, rows.second),
    ];
    bilinear(corners, columns.share, rows.share)
}

/// Returns the wrapped position in the image, 0..=1 from the left and from the top, of a surface's texture coordinates.
#[inline(always)]
pub(crate) fn image_position(texture: &Texture, u: f32, v: f32) -> (f32, f32) {
    let across = u * texture.u_by_u + v * texture.u_by_v + texture.u_at_zero;
    let down = u * texture.v_by_u + v * texture.v_by_v + texture.v_at_zero;
    (
        wrapped(across, texture.wrap_u),
        wrapped(down, texture.wrap_v),
    )
}

/// Interpolates four texels: the upper left, upper right, lower left and lower right one. The shares are the weights of
/// the right and of the lower ones.
#[inline(always)]
pub(crate) fn bilinear(corners: [Texel; 4], right: f32, lower: f32) -> Texel {
    let above = between(corners[0], corners[1], right);
    let below = between(corners[2], corners[3], right);
    between(above, below, lower)
}

/// Returns the linear values of the 256 sRGB bytes (IEC 61966-2-1).
pub fn srgb_values() -> [f32; SRGB_VALUES as usize] {
    std::array::from_fn(|byte| srgb_value(byte as f64 / 255.0))
}
