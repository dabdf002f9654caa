//! Textures: the values between an image's texels. Twin: `kernels/shared/texture.cuh`.
//!
//! A texture is looked up where a surface's coordinates lead, once a hit: it is not filtered over the pixel's footprint
//! (no mip maps). Samples do that, without bias, and more of them the better; `ARCHITECTURE.md` says why.

use compaction::shared;
use glam::Vec3;

use crate::math::{greater, lesser, round_down};

/// `Texture::format`: a word a texel, red in its low byte; red, green and blue sRGB-encoded, alpha linear.
pub const SRGB_8: u32 = 0;
/// `Texture::format`: a word a texel, red in its low byte; all linear.
pub const LINEAR_8: u32 = 1;
/// `Texture::format`: two words a texel, red in the low half of the first; all linear.
pub const LINEAR_16: u32 = 2;
/// `Texture::format`: four words a texel, each an `f32`.
pub const FLOAT: u32 = 3;

/// `Texture::wrap_u`, `wrap_v`: the image stands beside itself.
pub const REPEAT: u32 = 0;
/// `Texture::wrap_u`, `wrap_v`: the image stands beside its mirror image.
pub const MIRRORED_REPEAT: u32 = 1;
/// `Texture::wrap_u`, `wrap_v`: beyond the image its edge goes on.
pub const CLAMP: u32 = 2;

/// `Texture::filter`: between the four nearest texels.
pub const BILINEAR: u32 = 0;
/// `Texture::filter`: the nearest texel.
pub const NEAREST: u32 = 1;

/// Words at the beginning of the texels: the 256 values of sRGB's encoding, each an `f32`.
pub const SRGB_VALUES: u32 = 256;

shared! {
    /// How a surface's coordinates lead to a value of an image.
    #[repr(align(16))]
    pub struct Texture {
        /// Its first word among the texels, which run from left to right and from top to bottom.
        pub start: u32,
        /// Texels a row, from 1.
        pub width: u32,
        /// Rows, from 1.
        pub height: u32,
        /// One of the formats.
        pub format: u32,
        /// What a surface's u adds to the image's u, which grows to the right, from 0 to 1.
        pub u_by_u: f32,
        /// What its v adds to it.
        pub u_by_v: f32,
        /// The image's u where the surface's coordinates are 0.
        pub u_at_zero: f32,
        /// How it goes on to the left and to the right.
        pub wrap_u: u32,
        /// What a surface's u adds to the image's v, which grows downwards, from 0 to 1.
        pub v_by_u: f32,
        /// What its v adds to it.
        pub v_by_v: f32,
        /// The image's v where the surface's coordinates are 0.
        pub v_at_zero: f32,
        /// How it goes on above and below.
        pub wrap_v: u32,
        /// One of the filters.
        pub filter: u32,
        /// 1 if it lies by a surface's second coordinates.
        pub second: u32,
        /// Unused.
        pub _pad0: u32,
        /// Unused.
        pub _pad1: u32,
    }
}

/// The value of a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texel {
    /// Linear.
    pub rgb: Vec3,
    /// 1 where it covers all.
    pub alpha: f32,
}

/// The two texels about a coordinate, along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// The one before it.
    pub first: u32,
    /// The one after it.
    pub second: u32,
    /// The second's share, in 0..=1.
    pub share: f32,
}

/// One of the four bytes of a word, as a number from 0 to 255.
#[inline]
pub fn channel_8(word: u32, channel: u32) -> u32 {
    (word >> (8 * channel)) & 255
}

/// A linear channel of 8 bits: 0 is 0, 255 is 1.
#[inline]
pub fn linear_8(byte: u32) -> f32 {
    byte as f32 * (1.0 / 255.0)
}

/// A linear channel of 16 bits, the low or the high ones of a word: 0 is 0, 65,535 is 1.
#[inline]
pub fn linear_16(half: u32) -> f32 {
    half as f32 * (1.0 / 65535.0)
}

/// A coordinate within the image, 0..=1; 0 for one that is no number.
#[inline]
pub fn wrapped(coordinate: f32, wrap: u32) -> f32 {
    let inside = if wrap == REPEAT {
        coordinate - round_down(coordinate)
    } else if wrap == MIRRORED_REPEAT {
        let there = coordinate - 2.0 * round_down(0.5 * coordinate);
        if there > 1.0 { 2.0 - there } else { there }
    } else {
        coordinate
    };
    lesser(greater(inside, 0.0), 1.0)
}

/// The texel that a coordinate within the image, 0..=1, lies on.
#[inline]
pub fn nearest_texel(inside: f32, size: u32) -> u32 {
    let last = size - 1;
    let at = (inside * size as f32) as u32;
    if at > last { last } else { at }
}

/// The texels whose middles a coordinate within the image, 0..=1, lies between.
#[inline]
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
    let at = place as u32;
    let first = if at > last { last } else { at };
    Neighbours {
        first,
        second: if first == last { after } else { first + 1 },
        share: place - first as f32,
    }
}

/// A texel.
#[inline]
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
    let (red, green, blue) = (channel_8(word, 0), channel_8(word, 1), channel_8(word, 2));
    let alpha = linear_8(channel_8(word, 3));
    let rgb = if texture.format == SRGB_8 {
        Vec3::new(
            f32::from_bits(texels[red as usize]),
            f32::from_bits(texels[green as usize]),
            f32::from_bits(texels[blue as usize]),
        )
    } else {
        Vec3::new(linear_8(red), linear_8(green), linear_8(blue))
    };
    Texel { rgb, alpha }
}

/// From `a` to `b` by a share in 0..=1; of two that are equal, the very same.
#[inline]
pub fn between(a: Texel, b: Texel, share: f32) -> Texel {
    Texel {
        rgb: a.rgb + (b.rgb - a.rgb) * share,
        alpha: a.alpha + (b.alpha - a.alpha) * share,
    }
}

/// The texture's value at a surface's coordinates. sRGB is decoded before it is filtered.
#[inline]
pub fn sample_texture(texels: &[u32], texture: &Texture, u: f32, v: f32) -> Texel {
    let across = u * texture.u_by_u + v * texture.u_by_v + texture.u_at_zero;
    let down = u * texture.v_by_u + v * texture.v_by_v + texture.v_at_zero;
    let x = wrapped(across, texture.wrap_u);
    let y = wrapped(down, texture.wrap_v);
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
    let above = between(
        texel(texels, texture, columns.first, rows.first),
        texel(texels, texture, columns.second, rows.first),
        columns.share,
    );
    let below = between(
        texel(texels, texture, columns.first, rows.second),
        texel(texels, texture, columns.second, rows.second),
        columns.share,
    );
    between(above, below, rows.share)
}

/// What the 256 bytes of sRGB's encoding stand for (IEC 61966-2-1).
pub fn srgb_values() -> [f32; SRGB_VALUES as usize] {
    std::array::from_fn(|byte| srgb_value(byte as f64 / 255.0))
}

/// What an encoded value from 0 to 1 stands for.
pub fn srgb_value(encoded: f64) -> f32 {
    let linear = if encoded <= 0.04045 {
        encoded / 12.92
    } else {
        libm::pow((encoded + 0.055) / 1.055, 2.4)
    };
    linear as f32
}
