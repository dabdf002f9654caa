//! Textured materials: textures that scale a material's parameters or bend its normals. Twin:
//! `kernels/shared/material_textures.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{
    accel::primitive::Surface,
    math::{cross, max_f32, min_f32, normalize},
    shading::{
        material::{LINEAR_ROUGHNESS, MIN_SHEEN_ALPHA, Material},
        microfacet::MIN_ALPHA,
        texture::{Texel, Texture, sample_texture},
    },
};

/// Index in `MaterialTextures::textures`: the texture that scales `Material::color`.
pub const MAP_COLOR: u32 = 0;
/// Index in `MaterialTextures::textures`: the texture that scales `MaterialTextures::emission`.
pub const MAP_EMISSION: u32 = 1;
/// Index in `MaterialTextures::textures`: the tangent-space normal map.
pub const MAP_NORMAL: u32 = 2;
/// Index in `MaterialTextures::textures`: the channel that scales the roughness: `Material::alpha` of materials with
/// [`LINEAR_ROUGHNESS`], the square root of `Material::alpha` of others.
pub const MAP_ROUGHNESS: u32 = 3;
/// Index in `MaterialTextures::textures`: the channel that scales `Material::metallic`.
pub const MAP_METALLIC: u32 = 4;
/// Index in `MaterialTextures::textures`: the channel that scales `Material::transmission`.
pub const MAP_TRANSMISSION: u32 = 5;
/// Index in `MaterialTextures::textures`: the channel that scales `Material::clearcoat`.
pub const MAP_CLEARCOAT: u32 = 6;
/// Index in `MaterialTextures::textures`: the channel that scales the clear coat's perceptual roughness.
pub const MAP_CLEARCOAT_ROUGHNESS: u32 = 7;
/// Index in `MaterialTextures::textures`: the channel that scales the reflectance of a layered material's boundary, F0
/// and F90.
pub const MAP_SPECULAR: u32 = 8;
/// Index in `MaterialTextures::textures`: the texture that scales the F0 of a layered material's boundary.
pub const MAP_SPECULAR_COLOR: u32 = 9;
/// Index in `MaterialTextures::textures`: the channel that scales `MaterialTextures::opacity`. It is looked up during
/// traversal, not in shading.
pub const MAP_OPACITY: u32 = 10;

/// Index in `MaterialTextures::textures`: the clear coat's normal map. Without one the coat uses the shading normal of
/// the base.
pub const MAP_COAT_NORMAL: u32 = 11;
/// Index in `MaterialTextures::textures`: the texture that scales `Material::sheen`.
pub const MAP_SHEEN_COLOR: u32 = 12;
/// Index in `MaterialTextures::textures`: the channel that scales the perceptual roughness of the sheen.
pub const MAP_SHEEN_ROUGHNESS: u32 = 13;
/// Index in `MaterialTextures::textures`: the texture that turns the anisotropy direction (red and green) and scales
/// `Material::anisotropy` (blue).
pub const MAP_ANISOTROPY: u32 = 14;
/// Index in `MaterialTextures::textures`: the channel that scales `Material::film`.
pub const MAP_FILM: u32 = 15;
/// Index in `MaterialTextures::textures`: the channel that interpolates the thickness of the thin film.
pub const MAP_FILM_THICKNESS: u32 = 16;
/// Index in `MaterialTextures::textures`: the channel that scales `Material::diffuse_transmission`.
pub const MAP_DIFFUSE_TRANSMISSION: u32 = 17;
/// Index in `MaterialTextures::textures`: the texture that scales `Material::diffuse_transmission_color`.
pub const MAP_DIFFUSE_TRANSMISSION_COLOR: u32 = 18;
/// Index in `MaterialTextures::textures`: the channel that scales `Material::alpha_across`.
pub const MAP_ROUGHNESS_ACROSS: u32 = 19;
/// Index in `MaterialTextures::textures`: the channel that scales `Material::weight`.
pub const MAP_WEIGHT: u32 = 20;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    MAP_COLOR,
    MAP_EMISSION,
    MAP_NORMAL,
    MAP_ROUGHNESS,
    MAP_METALLIC,
    MAP_TRANSMISSION,
    MAP_CLEARCOAT,
    MAP_CLEARCOAT_ROUGHNESS,
    MAP_SPECULAR,
    MAP_SPECULAR_COLOR,
    MAP_OPACITY,
    MAP_COAT_NORMAL,
    MAP_SHEEN_COLOR,
    MAP_SHEEN_ROUGHNESS,
    MAP_ANISOTROPY,
    MAP_FILM,
    MAP_FILM_THICKNESS,
    MAP_DIFFUSE_TRANSMISSION,
    MAP_ROUGHNESS_ACROSS,
    MAP_WEIGHT
];

shared! {
    /// The textures of a material, and the factors that belong to them.
    #[repr(align(16))]
    pub struct MaterialTextures {
        /// Emitted radiance where the emission texture is 1, in linear sRGB.
        pub emission: Vec3,
        /// Scale of the normal map's tangential components: 1 as stored, 0 without effect.
        pub normal_scale: f32,
        /// Texture of each parameter: 4 times the index of a texture, plus the channel (0..=3) that a scalar parameter
        /// reads. Unused entries are 0.
        pub textures: [u32; 24],
        /// Bit mask of the parameters that have a texture.
        pub used: u32,
        /// Opacity where the opacity texture is 1, 0..=1.
        pub opacity: f32,
        /// Alpha cutoff: if above 0, opacities from here on count as 1 and all others as 0.
        pub cutoff: f32,
        /// Scale of the tangential components of the clear coat's normal map.
        pub coat_normal_scale: f32,
    }
}

/// Borrowed texture data of a scene: material textures, textures and texels.
#[derive(Clone, Copy, Debug)]
pub struct TextureAtlas<'a> {
    /// Textures and opacity of each material that is not opaque or has textures, indexed by `Material::maps`; entry 0
    /// is unused.
    pub maps: &'a [MaterialTextures],
    /// The textures, indexed by `MaterialTextures::textures` / 4.
    pub textures: &'a [Texture],
    /// The texel buffer, in 32-bit words: the table of sRGB values, then the images.
    pub texels: &'a [u32],
}

/// Multiplies a color by a texture value clamped to 0..=1, per channel.
#[inline(always)]
pub fn scale_color(color: Vec3, by: Vec3) -> Vec3 {
    Vec3::new(
        color.x * min_f32(max_f32(by.x, 0.0), 1.0),
        color.y * min_f32(max_f32(by.y, 0.0), 1.0),
        color.z * min_f32(max_f32(by.z, 0.0), 1.0),
    )
}

/// Multiplies a radiance by a texture value per channel. Negative values count as 0; there is no upper bound.
#[inline(always)]
pub fn scale_radiance(radiance: Vec3, by: Vec3) -> Vec3 {
    Vec3::new(
        radiance.x * max_f32(by.x, 0.0),
        radiance.y * max_f32(by.y, 0.0),
        radiance.z * max_f32(by.z, 0.0),
    )
}

/// Returns the value of a texture at a point of a surface. `map` is an entry of `MaterialTextures::textures`.
#[inline]
pub fn map_at(atlas: &TextureAtlas, map: u32, surface: &Surface) -> Texel {
    let texture = &atlas.textures[(map >> 2) as usize];
    let (u, v) = if texture.second == 1 {
        (surface.second_u, surface.second_v)
    } else {
        (surface.u, surface.v)
    };
    sample_texture(atlas.texels, texture, u, v)
}

/// Returns one channel of a texture value, clamped to 0..=1. Channels are 0 red, 1 green, 2 blue, 3 alpha.
#[inline(always)]
pub fn channel_value(value: Texel, channel: u32) -> f32 {
    let number = match channel {
        0 => value.rgb.x,
        1 => value.rgb.y,
        2 => value.rgb.z,
        _ => value.alpha,
    };
    min_f32(max_f32(number, 0.0), 1.0)
}

/// Applies the alpha cutoff, if there is one, to an opacity. Returns 0..=1.
#[inline]
pub fn apply_cutoff(maps: &MaterialTextures, opacity: f32) -> f32 {
    if maps.cutoff > 0.0 {
        return if opacity >= maps.cutoff { 1.0 } else { 0.0 };
    }
    opacity
}

/// Returns `normal`, a shading normal of the surface, bent by a tangent-space normal map.
///
/// `value` encodes −1..=1 as 0..=1: red to the right in the image, green up, blue away from the surface. `normal_scale`
/// scales red and green. The result has length 1.
#[inline(always)]
pub fn bent_normal(surface: &Surface, normal: Vec3, value: Vec3, normal_scale: f32) -> Vec3 {
    let right = (2.0 * value.x - 1.0) * normal_scale;
    let up = (2.0 * value.y - 1.0) * normal_scale;
    if right == 0.0 && up == 0.0 {
        return normal;
    }
    // The normal never points into the surface.
    let away = max_f32(2.0 * value.z - 1.0, 1e-3);
    let upwards = cross(normal, surface.tangent) * surface.handedness;
    normalize(surface.tangent * right + upwards * up + normal * away)
}

/// Returns the factor of the GGX roughness `alpha` for the value of a texture of the roughness, 0..=1.
#[inline(always)]
pub fn roughness_factor(material: &Material, part: f32) -> f32 {
    if material.flags & LINEAR_ROUGHNESS != 0 {
        part
    } else {
        part * part
    }
}

/// Applies a texture of an extended, anisotropic or blended material to its parameters. `place` is the index of the
/// texture in `MaterialTextures::textures`, `value` its value, and `part` the channel that a scalar parameter reads.
#[inline]
pub fn apply_extended_map(material: &mut Material, place: u32, value: Texel, part: f32) {
    match place {
        MAP_SHEEN_COLOR => material.sheen = scale_color(material.sheen, value.rgb),
        MAP_SHEEN_ROUGHNESS => {
            material.sheen_alpha = max_f32(material.sheen_alpha * (part * part), MIN_SHEEN_ALPHA);
        }
        MAP_ANISOTROPY => {
            let right = 2.0 * value.rgb.x - 1.0;
            let up = 2.0 * value.rgb.y - 1.0;
            let (cosine, sine) = (material.anisotropy_cosine, material.anisotropy_sine);
            material.anisotropy_cosine = cosine * right - sine * up;
            material.anisotropy_sine = sine * right + cosine * up;
            material.anisotropy *= channel_value(value, 2);
        }
        MAP_FILM => material.film *= part,
        MAP_FILM_THICKNESS => {
            let thinnest = material.film_thickness_min;
            material.film_thickness = thinnest + (material.film_thickness - thinnest) * part;
        }
        MAP_DIFFUSE_TRANSMISSION => material.diffuse_transmission *= part,
        MAP_ROUGHNESS_ACROSS => {
            material.alpha_across = max_f32(material.alpha_across * part, MIN_ALPHA);
        }
        MAP_WEIGHT => material.weight *= part,
        _ => {
            let color = scale_color(material.diffuse_transmission_color, value.rgb);
            material.diffuse_transmission_color = color;
        }
    }
}

/// Returns a textured material with its parameters at a point of a surface, and bends the surface's shading normals.
#[inline]
pub fn material_at(atlas: &TextureAtlas, material: &Material, surface: &mut Surface) -> Material {
    let maps = &atlas.maps[material.maps as usize];
    let mut here = *material;
    let mut left = maps.used & !(1 << MAP_OPACITY);
    while left != 0 {
        let place = left.trailing_zeros();
        left &= left - 1;
        let map = maps.textures[place as usize];
        let value = map_at(atlas, map, surface);
        let part = channel_value(value, map & 3);
        match place {
            MAP_COLOR => here.color = scale_color(here.color, value.rgb),
            MAP_EMISSION => here.emission = scale_radiance(maps.emission, value.rgb),
            MAP_NORMAL => {
                surface.shading =
                    bent_normal(surface, surface.shading, value.rgb, maps.normal_scale);
            }
            MAP_COAT_NORMAL => {
                surface.coat =
                    bent_normal(surface, surface.coat, value.rgb, maps.coat_normal_scale);
            }
            MAP_ROUGHNESS => {
                here.alpha = max_f32(here.alpha * roughness_factor(&here, part), MIN_ALPHA);
            }
            MAP_METALLIC => here.metallic *= part,
            MAP_TRANSMISSION => here.transmission *= part,
            MAP_CLEARCOAT => here.clearcoat *= part,
            MAP_CLEARCOAT_ROUGHNESS => {
                here.clearcoat_alpha = max_f32(here.clearcoat_alpha * (part * part), MIN_ALPHA);
            }
            MAP_SPECULAR => {
                here.specular *= part;
                here.eta *= part;
            }
            MAP_SPECULAR_COLOR => here.eta = scale_color(here.eta, value.rgb),
            _ => apply_extended_map(&mut here, place, value, part),
        }
    }
    if maps.used & (1 << MAP_COAT_NORMAL) == 0 {
        surface.coat = surface.shading;
    }
    here
}

/// Returns the radiance that a textured material emits at a point of a surface, in linear sRGB.
#[inline]
pub fn emission_at(atlas: &TextureAtlas, material: &Material, surface: &Surface) -> Vec3 {
    let maps = &atlas.maps[material.maps as usize];
    if maps.used & (1 << MAP_EMISSION) == 0 {
        return material.emission;
    }
    let map = maps.textures[MAP_EMISSION as usize];
    scale_radiance(maps.emission, map_at(atlas, map, surface).rgb)
}
