//! Cases of texture lookup.

use std::sync::OnceLock;

use raysieve::{
    sampler::{hash, unit},
    shading::texture::{
        BILINEAR, CLAMP, FLOAT, LINEAR_8, LINEAR_16, MIRRORED_REPEAT, NEAREST, REPEAT, SRGB_8,
        SRGB_VALUES, Texel, Texture, between, channel_8, linear_8, linear_16, nearest_texel,
        neighbours, sample_texture, texel, wrapped,
    },
};

use super::{Case, twin};
use crate::inputs::Inputs;

/// Number of words of texels, after the table of sRGB values.
const TEXEL_WORDS: u32 = 512;

/// Returns a texel buffer that both sides generate, because it is too large to be sent with every call.
pub(super) fn texels() -> &'static [u32] {
    static TEXELS: OnceLock<Vec<u32>> = OnceLock::new();
    TEXELS.get_or_init(|| {
        let word = |at| match hash(at) {
            word if at < SRGB_VALUES => unit(word).to_bits(),
            word => word,
        };
        (0..TEXEL_WORDS).map(word).collect()
    })
}

macro_rules! with_texels {
    ($arguments:literal, $call:literal) => {
        concat!(
            "+[](",
            $arguments,
            ") {
                static u32 texels[512];
                for (u32 at = 0; at < 512 && texels[511] == 0; at++) {
                    texels[at] = at < 256 ? float_to_bits(unit(hash(at))) : hash(at);
                }
                return ",
            $call,
            ";
            }"
        )
    };
}
pub(super) use with_texels;

/// Returns a texture over those texels.
pub(super) fn drawn_texture(inputs: &mut Inputs) -> Texture {
    Texture {
        start: SRGB_VALUES + inputs.below(16) as u32,
        width: 1 + inputs.below(7) as u32,
        height: 1 + inputs.below(7) as u32,
        format: inputs.one_of(&[SRGB_8, LINEAR_8, LINEAR_16, FLOAT]),
        u_by_u: inputs.draw(),
        u_by_v: inputs.draw(),
        u_at_zero: inputs.draw(),
        wrap_u: inputs.one_of(&[REPEAT, MIRRORED_REPEAT, CLAMP]),
        v_by_u: inputs.draw(),
        v_by_v: inputs.draw(),
        v_at_zero: inputs.draw(),
        wrap_v: inputs.one_of(&[REPEAT, MIRRORED_REPEAT, CLAMP]),
        filter: inputs.one_of(&[BILINEAR, NEAREST]),
        second: inputs.below(2) as u32,
        ..Texture::default()
    }
}

/// Returns a coordinate, the number of texels along its axis, and a wrap mode.
fn drawn_place(inputs: &mut Inputs) -> (f32, u32, u32) {
    let wrap = inputs.one_of(&[REPEAT, MIRRORED_REPEAT, CLAMP]);
    let size = inputs.one_of(&[1, 2, 3, 7, 1 << 16]);
    // Coordinates at texel centers and edges, and next to them.
    let grid = inputs.below(4 * size as usize) as f32 / (2 * size) as f32 - 0.5;
    let coordinate = inputs.draw();
    let coordinate = inputs.one_of(&[coordinate, grid, grid.next_up(), grid.next_down()]);
    (wrapped(coordinate, wrap), size, wrap)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("texture", "channel_8", "channel_8"),
            |inputs| (inputs.draw(), inputs.below(4) as u32),
            |word: u32, channel: u32| channel_8(word, channel)
        ),
        twin!("texture", "linear_8", |byte: u32| linear_8(byte)),
        twin!("texture", "linear_16", |half: u32| linear_16(half)),
        twin!("texture", "wrapped", |coordinate: f32, wrap: u32| wrapped(
            coordinate, wrap
        )),
        twin!(
            ("texture", "nearest_texel", "nearest_texel"),
            |inputs| {
                let (inside, size, _) = drawn_place(inputs);
                (inside, size)
            },
            |inside: f32, size: u32| nearest_texel(inside, size)
        ),
        twin!(
            ("texture", "neighbours", "neighbours"),
            drawn_place,
            |inside: f32, size: u32, wrap: u32| neighbours(inside, size, wrap)
        ),
        twin!(
            (
                "texture",
                "texel",
                with_texels!(
                    "Texture texture, u32 x, u32 y",
                    "texel(texels, texture, x, y)"
                )
            ),
            |inputs| {
                let texture = drawn_texture(inputs);
                let x = inputs.below(texture.width as usize) as u32;
                (texture, x, inputs.below(texture.height as usize) as u32)
            },
            |texture: Texture, x: u32, y: u32| texel(texels(), &texture, x, y)
        ),
        twin!("texture", "between", |a: Texel, b: Texel, share: f32| {
            between(a, b, share)
        }),
        twin!(
            (
                "texture",
                "sample_texture",
                with_texels!(
                    "Texture texture, f32 u, f32 v",
                    "sample_texture(texels, texture, u, v)"
                )
            ),
            |inputs| (drawn_texture(inputs), inputs.draw(), inputs.draw()),
            |texture: Texture, u: f32, v: f32| sample_texture(texels(), &texture, u, v)
        ),
    ]
}
