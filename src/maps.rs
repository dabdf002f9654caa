//! Materials that vary over their surface: textures scale their parameters. Twin: `kernels/shared/maps.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{
    material::Material,
    math::{cross, greater, lesser, normalize},
    microfacet::MIN_ALPHA,
    primitive::Surface,
    texture::{Texel, Texture, sample_texture},
};

/// In `Maps::of`: the place of `Material::color`.
pub const MAP_COLOR: u32 = 0;
/// In `Maps::of`: the place of `Material::emission`.
pub const MAP_EMISSION: u32 = 1;
/// In `Maps::of`: the place of the normal.
pub const MAP_NORMAL: u32 = 2;
/// In `Maps::of`: the place of a layered material's roughness, whose square is `Material::alpha`.
pub const MAP_ROUGHNESS: u32 = 3;
/// In `Maps::of`: the place of `Material::metallic`.
pub const MAP_METALLIC: u32 = 4;
/// In `Maps::of`: the place of `Material::transmission`.
pub const MAP_TRANSMISSION: u32 = 5;
/// In `Maps::of`: the place of `Material::clearcoat`.
pub const MAP_CLEARCOAT: u32 = 6;
/// In `Maps::of`: the place of the coat's roughness.
pub const MAP_CLEARCOAT_ROUGHNESS: u32 = 7;
/// In `Maps::of`: the place of what the boundary of a layered material reflects at all angles.
pub const MAP_SPECULAR: u32 = 8;
/// In `Maps::of`: the place of the colour that it reflects head on.
pub const MAP_SPECULAR_COLOR: u32 = 9;
/// In `Maps::of`: the place of the opacity, which is looked up where rays are traced.
pub const MAP_OPACITY: u32 = 10;

/// In `Maps::of`: the place of the normal of its clear coat, which else is that of the surface.
pub const MAP_COAT_NORMAL: u32 = 11;

shared! {
    /// The textures of a material.
    #[repr(align(16))]
    pub struct Maps {
        /// Radiance where its texture is 1.
        pub emission: Vec3,
        /// How far the normal map bends: 1 as it says, 0 not at all.
        pub bend: f32,
        /// By place: four times the number of a texture, and the channel of a single number.
        pub of: [u32; 12],
        /// The places that have a texture, a bit each.
        pub used: u32,
        /// Opacity where its texture is 1, 0..=1.
        pub opacity: f32,
        /// If above 0: what is as opaque hides all, the rest nothing.
        pub cutoff: f32,
        /// As `bend`, of the coat's normal map.
        pub coat_bend: f32,
    }
}

/// All that lookups read.
#[derive(Clone, Copy, Debug)]
pub struct Imagery<'a> {
    /// By `Material::maps`.
    pub maps: &'a [Maps],
    /// By number.
    pub textures: &'a [Texture],
    /// sRGB's values, and the images.
    pub texels: &'a [u32],
}

/// A colour that scales one: nothing is made darker than black, or brighter than it was.
#[inline]
pub fn scaled(color: Vec3, by: Vec3) -> Vec3 {
    Vec3::new(
        color.x * lesser(greater(by.x, 0.0), 1.0),
        color.y * lesser(greater(by.y, 0.0), 1.0),
        color.z * lesser(greater(by.z, 0.0), 1.0),
    )
}

/// Radiance, scaled by a colour that may be any but darker than black.
#[inline]
pub fn shining(radiance: Vec3, by: Vec3) -> Vec3 {
    Vec3::new(
        radiance.x * greater(by.x, 0.0),
        radiance.y * greater(by.y, 0.0),
        radiance.z * greater(by.z, 0.0),
    )
}

/// The value of a texture at a point of a surface.
#[inline]
pub fn map_at(imagery: &Imagery, map: u32, surface: &Surface) -> Texel {
    let texture = &imagery.textures[(map >> 2) as usize];
    let (u, v) = if texture.second == 1 {
        (surface.second_u, surface.second_v)
    } else {
        (surface.u, surface.v)
    };
    sample_texture(imagery.texels, texture, u, v)
}

/// A single number of a value, 0..=1.
#[inline]
pub fn part_of(value: Texel, channel: u32) -> f32 {
    let number = match channel {
        0 => value.rgb.x,
        1 => value.rgb.y,
        2 => value.rgb.z,
        _ => value.alpha,
    };
    lesser(greater(number, 0.0), 1.0)
}

/// How much is hidden by what is so opaque, 0..=1.
#[inline]
pub fn cut(maps: &Maps, opacity: f32) -> f32 {
    if maps.cutoff > 0.0 {
        return if opacity >= maps.cutoff { 1.0 } else { 0.0 };
    }
    opacity
}

/// `normal`, the surface's own, by a normal map's value: red is to the right on the image, green up, blue away from the surface; all from
/// −1 to 1 as 0 to 1.
#[inline]
pub fn bent_normal(surface: &Surface, normal: Vec3, value: Vec3, bend: f32) -> Vec3 {
    let right = (2.0 * value.x - 1.0) * bend;
    let up = (2.0 * value.y - 1.0) * bend;
    if right == 0.0 && up == 0.0 {
        return normal;
    }
    // Never into the surface.
    let away = greater(2.0 * value.z - 1.0, 1e-3);
    let upwards = cross(normal, surface.tangent) * surface.handedness;
    normalize(surface.tangent * right + upwards * up + normal * away)
}

/// A material that has maps, at a point of a surface, whose shading normals it bends.
#[inline]
pub fn material_at(imagery: &Imagery, material: &Material, surface: &mut Surface) -> Material {
    let maps = &imagery.maps[material.maps as usize];
    let mut here = *material;
    let mut left = maps.used & !(1 << MAP_OPACITY);
    while left != 0 {
        let place = left.trailing_zeros();
        left &= left - 1;
        let map = maps.of[place as usize];
        let value = map_at(imagery, map, surface);
        let part = part_of(value, map & 3);
        match place {
            MAP_COLOR => here.color = scaled(here.color, value.rgb),
            MAP_EMISSION => here.emission = shining(maps.emission, value.rgb),
            MAP_NORMAL => {
                surface.shading = bent_normal(surface, surface.shading, value.rgb, maps.bend);
            }
            MAP_COAT_NORMAL => {
                surface.coat = bent_normal(surface, surface.coat, value.rgb, maps.coat_bend);
            }
            MAP_ROUGHNESS => here.alpha = greater(here.alpha * (part * part), MIN_ALPHA),
            MAP_METALLIC => here.metallic *= part,
            MAP_TRANSMISSION => here.transmission *= part,
            MAP_CLEARCOAT => here.clearcoat *= part,
            MAP_CLEARCOAT_ROUGHNESS => {
                here.clearcoat_alpha = greater(here.clearcoat_alpha * (part * part), MIN_ALPHA);
            }
            MAP_SPECULAR => {
                here.specular *= part;
                here.eta *= part;
            }
            _ => here.eta = scaled(here.eta, value.rgb),
        }
    }
    if maps.used & (1 << MAP_COAT_NORMAL) == 0 {
        surface.coat = surface.shading;
    }
    here
}

/// What a material that has maps gives off at a point of a surface.
#[inline]
pub fn emission_at(imagery: &Imagery, material: &Material, surface: &Surface) -> Vec3 {
    let maps = &imagery.maps[material.maps as usize];
    if maps.used & (1 << MAP_EMISSION) == 0 {
        return material.emission;
    }
    let map = maps.of[MAP_EMISSION as usize];
    shining(maps.emission, map_at(imagery, map, surface).rgb)
}
