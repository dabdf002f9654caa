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
    /// Wrap modes of the horizontal and the vertical image coordinate, in this order.
    pub wrap: [Wrap; 2],
    /// Interpolation between the texels of the image.
    pub filter: Filter,
    /// Transform from the texture coordinates of a surface to image coordinates, where (0, 0) is the image's upper left
    /// corner and (1, 1) its lower right one.
    pub transform: Affine2,
    /// Whether to use a mesh's second set of texture coordinates, if it has one, instead of the first.
    pub uses_second_uvs: bool,
}

/// Encoding of the red, green and blue values of an image. Alpha is always linear.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Encoded with the sRGB transfer function; decoded to linear on lookup.
    Srgb,
    /// Linear values: data such as normals and roughness, or linear colors.
    Linear,
}

/// Wrap mode: the continuation of a texture beyond the edges of its image.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// The image repeats endlessly.
    Repeat,
    /// The image repeats, with every second copy mirrored.
    Mirror,
    /// Coordinates outside the image take the value of the nearest texel at its edge.
    Clamp,
}

/// Interpolation between the texels of a texture. There are no mip maps.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Bilinear interpolation of the four nearest texels.
    Bilinear,
    /// Value of the nearest texel, without interpolation.
    Nearest,
}

/// The channel that a texture of a scalar parameter is read from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Channel {
    /// The red channel, the default. In a grey image all color channels have its value.
    Red,
    /// The green channel of the image.
    Green,
    /// The blue channel of the image.
    Blue,
    /// The alpha channel, the default for opacity.
    Alpha,
}

/// A material parameter that can have a texture. Except for normals, the texture multiplies the material's own value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Parameter {
    /// The color of the material: albedo, reflectance or base color, depending on its type.
    Color,
    /// Radiance that the material emits, W·sr⁻¹·m⁻².
    Emission,
    /// Shading normal, replaced by a tangent-space normal map: red points right in the image, green up, blue away from
    /// the surface; values 0 to 1 encode −1 to 1.
    Normal,
    /// Perceptual roughness of a principled material: the square root of the GGX alpha. For other materials, the GGX
    /// alpha itself. With [`Roughness::alpha_v`](crate::Roughness::alpha_v), it is only the alpha along the tangent.
    Roughness,
    /// Metallic fraction of a principled material, 0 to 1.
    Metallic,
    /// Fraction of a principled material's dielectric part that transmits light, 0 to 1.
    Transmission,
    /// Strength of the clear coat of a principled material, 0 to 1.
    Clearcoat,
    /// Perceptual roughness of the clear coat of a principled material: the square root of its GGX alpha.
    ClearcoatRoughness,
    /// Strength of the dielectric specular reflection of a principled material, 0 to 1.
    Specular,
    /// Tint of the dielectric specular reflection of a principled material at normal incidence.
    SpecularColor,
    /// Opacity of any material, 0 to 1: 0 lets all light pass unchanged, 1 none.
    Opacity,
    /// Shading normal of the clear coat of a principled material, encoded like `Normal`. Without it the coat uses the
    /// shading normal of the layers below.
    ClearcoatNormal,
    /// Color of the sheen of a principled material.
    SheenColor,
    /// Perceptual roughness of the sheen of a principled material, 0 to 1.
    SheenRoughness,
    /// Anisotropy of a principled material. Red and green, where 0 to 1 encodes −1 to 1, are the direction to the right
    /// and up in the image; the rotation of the material turns it. Blue multiplies the strength.
    Anisotropy,
    /// Strength of the thin film of a principled material, 0 to 1.
    Iridescence,
    /// Thickness of the thin film of a principled material, from its minimum at 0 to its maximum at 1.
    IridescenceThickness,
    /// Fraction of the diffuse part of a principled material that is transmitted, 0 to 1.
    DiffuseTransmission,
    /// Color of the light that a principled material transmits diffusely.
    DiffuseTransmissionColor,
    /// GGX alpha across the tangent of a rough conductor or dielectric with
    /// [`Roughness::alpha_v`](crate::Roughness::alpha_v).
    RoughnessV,
    /// Fraction of a blend that is its second material, 0 to 1.
    BlendWeight,
}

impl Parameter {
    /// Returns whether the texture of the parameter refers to the tangents of the surface.
    pub(crate) fn needs_tangents(self) -> bool {
        matches!(
            self,
            Parameter::Normal | Parameter::ClearcoatNormal | Parameter::Anisotropy
        )
    }
}

/// A texture assigned to a material parameter. Except for normals, the parameter is the texture's value times the
/// material's own value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaterialTexture {
    /// Index into [`Scene::textures`](crate::Scene::textures). While a model is read, index into the textures of the
    /// model.
    pub texture: u32,
    /// Channel to read if the parameter is a single number; without effect for colors and normals.
    pub channel: Channel,
}

/// The textures of a material by parameter, with its opacity, alpha cutoff and normal map scales.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialTextures {
    /// The texture of each material parameter that has one.
    pub textures: BTreeMap<Parameter, MaterialTexture>,
    /// Factor of the normal map's x and y components (glTF's `scale`), -100..=100: 1 applies the map as it is, and 0
    /// disables it.
    pub normal_scale: f32,
    /// Factor of the x and y components of the clear coat's normal map, -100..=100: 1 applies the map as it is, and 0
    /// disables it.
    pub coat_normal_scale: f32,
    /// Whether, from behind, the normal maps show the relief of the front as its mirror image at the surface. Otherwise
    /// they show the back of a thin sheet, on which the bumps of the front are dents.
    pub mirrored_relief: bool,
    /// Whether camera rays pass through the surface as if it were not there. All other rays see it.
    pub hidden_from_camera: bool,
    /// Opacity, 0..=1, which multiplies the opacity texture: 0 lets all light pass unchanged, 1 none.
    pub opacity: f32,
    /// Alpha cutoff, 0..=1. Above 0, the surface is opaque where its opacity is at least the cutoff, and absent
    /// elsewhere. 0 disables it: opacities between 0 and 1 are then partly transparent.
    pub cutoff: f32,
}

impl Default for MaterialTextures {
    /// Returns the value for a material without textures: opacity 1, no cutoff, normal scales of 1, and the
    /// relief of a thin sheet.
    fn default() -> Self {
        MaterialTextures {
            textures: BTreeMap::new(),
            normal_scale: 1.0,
            coat_normal_scale: 1.0,
            mirrored_relief: false,
            hidden_from_camera: false,
            opacity: 1.0,
            cutoff: 0.0,
        }
    }
}

impl MaterialTextures {
    /// Returns whether a normal map bends the normals of the surface.
    pub(crate) fn has_normal_map(&self) -> bool {
        self.textures.contains_key(&Parameter::Normal)
    }

    /// Returns whether a texture refers to the tangents of the surface.
    pub(crate) fn need_tangents(&self) -> bool {
        let mut parameters = self.textures.keys();
        parameters.any(|parameter| parameter.needs_tangents())
    }
}

impl Texture {
    /// Creates a texture of the image with this index. It repeats, is filtered bilinearly, and uses the first texture
    /// coordinates without a transform.
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

    /// Returns the texture with its transform replaced: coordinates are scaled, then rotated by `angle` radians, then
    /// moved by `offset`. As v points down in the image, the rotation is counter-clockwise there.
    ///
    /// This is the transform of glTF's `KHR_texture_transform`. The visible image changes the other way: a positive
    /// angle turns it clockwise, and a scale of 2 halves it.
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
