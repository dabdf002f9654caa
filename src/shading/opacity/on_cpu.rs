//! The opacity test as the CPU runs it during SIMD traversal. It gives the results of [`passes_opacity`], and decodes
//! only the channel that holds the opacity.

use super::{StochasticOpacity, coordinates_at, opacity_at, opacity_random};
use crate::{
    accel::instance::{InstanceHit, NO_INSTANCE, instance_material},
    math::{max_f32, min_f32},
    path::Ray,
    shading::{
        material::HIDDEN,
        material_textures::{MAP_OPACITY, apply_cutoff},
        texture::{BILINEAR, LINEAR_8, SRGB_8, Texture, channel_8, linear_8, neighbours, wrapped},
    },
};

/// Returns whether a ray's intersection with a surface passes the opacity test, like
/// [`passes_opacity`](super::passes_opacity). `key` is the hash of the ray.
#[inline]
pub(super) fn accepts(
    opacity: &StochasticOpacity,
    ray: &Ray,
    found: &InstanceHit,
    key: u32,
) -> bool {
    if let Some(passes) = opacity.known_result(&found.hit) {
        return passes;
    }
    let primitive = &opacity.scene.primitives[found.hit.primitive as usize];
    let material = if found.instance == NO_INSTANCE {
        primitive.material
    } else {
        instance_material(&opacity.scene.instances[found.instance as usize], primitive)
    };
    let material = &opacity.materials[material as usize];
    if material.maps == 0 {
        return true;
    }
    if opacity.from_camera && material.flags & HIDDEN != 0 {
        return false;
    }
    let maps = &opacity.atlas.maps[material.maps as usize];
    if maps.used & (1 << MAP_OPACITY) == 0 {
        let at = apply_cutoff(maps, maps.opacity);
        return is_below(key, primitive.number, found.instance, at);
    }
    let map = maps.textures[MAP_OPACITY as usize];
    let texture = &opacity.atlas.textures[(map >> 2) as usize];
    let at = if texture.filter == BILINEAR && matches!(texture.format, SRGB_8 | LINEAR_8) {
        let (u, v) = coordinates_at(opacity, ray, found, texture.second);
        let value = sample_channel(opacity.atlas.texels, texture, (u, v), map & 3);
        apply_cutoff(maps, maps.opacity * min_f32(max_f32(value, 0.0), 1.0))
    } else {
        opacity_at(opacity, ray, found)
    };
    is_below(key, primitive.number, found.instance, at)
}

/// Returns whether the random number of a ray at a primitive is below an opacity. `number` is `Primitive::number`, and
/// `instance` its instance or `NO_INSTANCE`.
#[inline]
fn is_below(key: u32, number: u32, instance: u32, opacity: f32) -> bool {
    // Random numbers are at least 0 and less than 1.
    opacity >= 1.0 || opacity > 0.0 && opacity_random(key, number, instance) < opacity
}

/// Returns one channel of the value that `sample_texture` returns for an image of 8-bit channels with bilinear
/// interpolation. Channels are 0 red, 1 green, 2 blue, 3 alpha.
#[inline]
fn sample_channel(texels: &[u32], texture: &Texture, (u, v): (f32, f32), channel: u32) -> f32 {
    let across = u * texture.u_by_u + v * texture.u_by_v + texture.u_at_zero;
    let down = u * texture.v_by_u + v * texture.v_by_v + texture.v_at_zero;
    let x = wrapped(across, texture.wrap_u);
    let y = wrapped(down, texture.wrap_v);
    let columns = neighbours(x, texture.width, texture.wrap_u);
    let rows = neighbours(y, texture.height, texture.wrap_v);
    let texel = |x: u32, y: u32| {
        let word = texels[(texture.start + y * texture.width + x) as usize];
        let byte = channel_8(word, channel);
        if texture.format == SRGB_8 && channel < 3 {
            f32::from_bits(texels[byte as usize])
        } else {
            linear_8(byte)
        }
    };
    let between = |a: f32, b: f32, share: f32| a + (b - a) * share;
    let above = between(
        texel(columns.first, rows.first),
        texel(columns.second, rows.first),
        columns.share,
    );
    let below = between(
        texel(columns.first, rows.second),
        texel(columns.second, rows.second),
        columns.share,
    );
    between(above, below, rows.share)
}
