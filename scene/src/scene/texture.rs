//! Textures: how an image is mapped onto a surface, and which material parameters it scales.

use std::collections::BTreeMap;

use glam::{Affine2, Vec2};
use serde::Deserialize;

/// A texture: an image with its mapping, wrapping, filtering and encoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Index into [`Scene::images`](crate::Scene::images).
    pub image: u32,
    /// Encoding of 8-bit and 16-bit images. Float images are always linear.
    pub encoding: Encoding,
    /// Wrap modes of the horizontal and the vertical image coordinate.
    pub wrap: [Wrap; 2],
    /// Interpolation between the texels of the image.
    pub filter: Filter,
    /// Transform from surface coordinates to image coordinates, where (0, 0) is the image's upper left corner and (1,
    /// 1) its lower right one.
    pub transform: Affine2,
    /// Whether to use a mesh's second set of texture coordinates, if it has one, instead of the first.
    pub uses_second_uvs: bool,
}

/// Encoding of an image's red, green and blue. Alpha is always linear.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Encoded with the sRGB transfer function; decoded to linear on lookup.
    Srgb,
    /// Linear values: data such as normals and roughness, or linear colours.
    Linear,
}

/// Wrap mode: the continuation of a texture beyond the edges of its image.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// The image repeats.
    Repeat,
    /// The image repeats, with every second copy mirrored.
    Mirror,
    /// The texels at the edge extend outwards.
    Clamp,
}

/// Interpolation between the texels of a texture. There are no mip maps.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Filter {
    /// Bilinear interpolation of the four nearest texels.
    Bilinear,
    /// The value of the nearest texel, without interpolation.
    Nearest,
}

/// The channel that a texture of a scalar parameter is read from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Channel {
    /// The red channel, the default. In a grey image all colour channels have its value.
    Red,
    /// The green channel.
    Green,
    /// The blue channel.
    Blue,
    /// The alpha channel, the default for opacity.
    Alpha,
}

/// A material parameter that can have a texture. Except for normals, the texture multiplies the material's own value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Parameter {
    /// The colour of the material: albedo, reflectance or base colour, depending on its type.
    Color,
    /// Radiance that the material emits.
    Emission,
    /// Shading normal, replaced by a tangent-space normal map: red points right in the image, green up, blue away from
    /// the surface; values 0 to 1 encode −1 to 1.
    Normal,
    /// Perceptual roughness of a principled material.
    Roughness,
    /// Metallic fraction of a principled material.
    Metallic,
    /// Transmissive fraction of a principled material.
    Transmission,
    /// Clear coat strength of a principled material.
    Clearcoat,
    /// Perceptual roughness of the clear coat of a principled material.
    ClearcoatRoughness,
    /// Strength of the dielectric specular reflection of a principled material.
    Specular,
    /// Tint of the dielectric specular reflection of a principled material at normal incidence.
    SpecularColor,
    /// Opacity of any material: 0 lets all light pass unchanged, 1 none.
    Opacity,
    /// Shading normal of the clear coat of a principled material, encoded like `Normal`. Without it the coat uses the
    /// shading normal of the layers below.
    ClearcoatNormal,
}

/// A texture assigned to a material parameter. The parameter is the texture's value times the material's own value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaterialTexture {
    /// Index into [`Scene::textures`](crate::Scene::textures), or into the library of a model while it is read.
    pub texture: u32,
    /// Channel to read if the parameter is a single number; ignored for colours and normals.
    pub channel: Channel,
}

/// The textures of a material, by parameter, with its opacity, alpha cutoff and normal map scales.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialTextures {
    /// The texture of each material parameter that has one.
    pub textures: BTreeMap<Parameter, MaterialTexture>,
    /// Factor of the normal map's x and y components (glTF's `scale`): 1 applies it as it is, 0 not at all.
    pub normal_scale: f32,
    /// Factor of the x and y components of the clear coat's normal map; see `normal_scale`.
    pub coat_normal_scale: f32,
    /// Opacity, 0..=1, by which the opacity texture is multiplied: 0 lets all light pass unchanged, 1 none.
    pub opacity: f32,
    /// Alpha cutoff. If above 0, the surface is fully opaque where its opacity reaches it and absent elsewhere.
    pub cutoff: f32,
}

impl Default for MaterialTextures {
    /// Returns the value for a material without textures: opacity 1, no cutoff, and normal scales of 1.
    fn default() -> Self {
        MaterialTextures {
            textures: BTreeMap::new(),
            normal_scale: 1.0,
            coat_normal_scale: 1.0,
            opacity: 1.0,
            cutoff: 0.0,
        }
    }
}

impl Texture {
    /// Creates a texture with an identity transform, repeating, with bilinear filtering and the first set of
    /// coordinates.
    pub fn new(image: u32, encoding: Encoding) -> Texture {
        Texture {
            image,
            encoding,
            wrap: [Wrap::Repeat; 2],
            filter: Filter::Bilinear,
            transform: Affine2::IDENTITY,
            uses_second_uvs: false,
        }
    }

    /// Replaces the transform: coordinates are scaled, then rotated counter-clockwise by `angle` radians, then offset.
    ///
    /// This is the transform of glTF's `KHR_texture_transform`.
    pub fn transformed(self, scale: Vec2, angle: f64, offset: Vec2) -> Texture {
        let (sine, cosine) = (libm::sin(angle) as f32, libm::cos(angle) as f32);
        let transform = Affine2::from_cols(
            Vec2::new(cosine, -sine) * scale.x,
            Vec2::new(sine, cosine) * scale.y,
            offset,
        );
        Texture { transform, ..self }
    }
}
