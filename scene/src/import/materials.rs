//! Materials of other renderers: values with textures, roughness, and the nearest material for an emitter.

use glam::{Affine2, Vec2, Vec3};

use crate::{
    image::texture_library::TextureLibrary,
    limits::MIN_ALPHA,
    model::ModelMaterial,
    scene::{
        Channel, Encoding, FacetDistribution, Filter, Image, Masking, MaterialTexture,
        MaterialTextures, Metal, Parameter, Principled, Roughness, Surface, Texels, Texture, Wrap,
    },
};

/// A color of a material: a factor, and the texture that it multiplies.
#[derive(Clone, Copy)]
pub(crate) struct Color {
    pub(crate) factor: Vec3,
    /// Index into the textures of the model's library; `None` for a constant.
    pub(crate) texture: Option<u32>,
}

/// A number of a material: a factor, and the texture whose channel it multiplies.
#[derive(Clone, Copy)]
pub(crate) struct Scalar {
    pub(crate) factor: f32,
    /// Texture of the model's library, with the channel; `None` for a constant.
    pub(crate) texture: Option<MaterialTexture>,
}

impl From<Vec3> for Color {
    fn from(factor: Vec3) -> Color {
        Color {
            factor,
            texture: None,
        }
    }
}

impl From<f32> for Scalar {
    fn from(factor: f32) -> Scalar {
        Scalar {
            factor,
            texture: None,
        }
    }
}

impl Color {
    /// Returns the mean color of the surface, as if it showed each texel of the texture equally often.
    pub(crate) fn mean(self, library: &TextureLibrary) -> Vec3 {
        self.factor
            * self
                .texture
                .map_or(Vec3::ONE, |texture| mean(library, texture))
    }

    /// Returns the number that the color stands for where a number is expected: the mean of the factor's channels,
    /// which multiplies the red channel of the texture.
    pub(crate) fn scalar(self) -> Scalar {
        Scalar {
            factor: self.factor.element_sum() / 3.0,
            texture: self.texture.map(|texture| MaterialTexture {
                texture,
                channel: Channel::Red,
            }),
        }
    }

    /// Adds the texture to those of a material and returns the factor.
    pub(crate) fn apply(self, parameter: Parameter, maps: &mut MaterialTextures) -> Vec3 {
        self.scalar().apply(parameter, maps);
        self.factor
    }
}

impl Scalar {
    /// Returns the mean number of the surface, as if it showed each texel of the texture equally often.
    pub(crate) fn mean(self, library: &TextureLibrary) -> f32 {
        let of = |map: MaterialTexture| {
            let mean = mean(library, map.texture);
            match map.channel {
                Channel::Green => mean.y,
                Channel::Blue => mean.z,
                Channel::Red | Channel::Alpha => mean.x,
            }
        };
        self.factor * self.texture.map_or(1.0, of)
    }

    /// Adds the texture to those of a material and returns the factor.
    pub(crate) fn apply(self, parameter: Parameter, maps: &mut MaterialTextures) -> f32 {
        if let Some(texture) = self.texture {
            maps.textures.insert(parameter, texture);
        }
        self.factor
    }
}

/// Returns a reflectance with each channel limited to 0..=1; NaN becomes 0.
pub(crate) fn reflectance(color: Vec3) -> Vec3 {
    color.map(|part| {
        if part.is_nan() {
            0.0
        } else {
            part.clamp(0.0, 1.0)
        }
    })
}

/// The alphas of a rough material, each a factor with a texture.
#[derive(Clone, Copy)]
pub(crate) struct Alphas {
    /// Alpha along the direction in which `u` grows, or in all directions.
    pub(crate) along: Scalar,
    /// Alpha across that direction; `None` if it is the same.
    pub(crate) across: Option<Scalar>,
    /// Distribution of the facets.
    pub(crate) distribution: FacetDistribution,
}

impl Alphas {
    /// Creates the alphas of a GGX material. Equal ones become one alpha.
    pub(crate) fn new(along: Scalar, across: Scalar) -> Alphas {
        let is_same = (along.factor, along.texture) == (across.factor, across.texture);
        Alphas {
            along,
            across: (!is_same).then_some(across),
            distribution: FacetDistribution::Ggx,
        }
    }

    /// Returns one alpha for all directions and the whole surface. Each alpha is averaged over its texture; the result
    /// is the geometric mean of both averages, which keeps the brightness at the center of a highlight.
    pub(crate) fn mean(self, library: &TextureLibrary) -> f32 {
        let along = self.along.mean(library);
        match self.across {
            Some(across) => (along * across.mean(library)).max(0.0).sqrt(),
            None => along,
        }
    }

    /// Returns whether there is a texture, or another alpha across.
    pub(crate) fn vary(self) -> bool {
        self.along.texture.is_some() || self.across.is_some()
    }

    /// Adds the textures to those of a material, and returns the microfacet distribution, whose facets scatter light
    /// once. Alphas are clamped to [`MIN_ALPHA`]..=1, and NaN becomes 1.
    pub(crate) fn apply(self, masking: Masking, maps: &mut MaterialTextures) -> Roughness {
        let mut alpha = |scalar: Scalar, parameter| {
            let factor = scalar.apply(parameter, maps);
            match factor.is_nan() {
                true => 1.0,
                false => factor.clamp(MIN_ALPHA, 1.0),
            }
        };
        Roughness {
            distribution: self.distribution,
            alpha: alpha(self.along, Parameter::Roughness),
            alpha_v: self
                .across
                .map(|across| alpha(across, Parameter::RoughnessV)),
            masking,
            energy_compensation: false,
        }
    }
}

/// Returns the mean linear color of the image of the texture with this index in a library.
fn mean(library: &TextureLibrary, texture: u32) -> Vec3 {
    let texture = &library.textures[texture as usize];
    library.images[texture.image as usize].mean(texture.encoding)
}

/// Adds a checkerboard to a library and returns the index of its texture. `to_uv` transforms texture coordinates to
/// those in which the unit square shows two by two squares, `first` at the upper left, and repeats.
pub(crate) fn checkerboard(
    library: &mut TextureLibrary,
    [first, second]: [Vec3; 2],
    to_uv: Affine2,
) -> u32 {
    let texel = |color: Vec3| color.extend(1.0).to_array();
    let image = library.add_image(Image {
        width: 2,
        height: 2,
        texels: Texels::Floats(vec![
            texel(first),
            texel(second),
            texel(second),
            texel(first),
        ]),
    });
    library.add_texture(Texture {
        filter: Filter::Nearest,
        transform: to_uv,
        wrap: [Wrap::Repeat; 2],
        ..Texture::new(image, Encoding::Linear)
    })
}

/// Returns the transform of texture coordinates that a scale and an offset make; the identity if it is not finite.
pub(crate) fn uv_transform(scale: Vec2, offset: Vec2) -> Affine2 {
    let transform = Affine2::from_cols(Vec2::new(scale.x, 0.0), Vec2::new(0.0, scale.y), offset);
    match transform.is_finite() {
        true => transform,
        false => Affine2::IDENTITY,
    }
}

/// Returns the reflectance of a dielectric boundary at normal incidence.
pub(super) fn normal_reflectance(ior: f32) -> f32 {
    let amplitude = (ior - 1.0) / (ior + 1.0);
    amplitude * amplitude
}

/// Returns the index of refraction of a boundary that reflects, at normal incidence, what both sides of a pane of index
/// `ior` reflect together.
fn thin_ior(ior: f32) -> f32 {
    let once = normal_reflectance(ior);
    let amplitude = (2.0 * once / (1.0 + once)).sqrt();
    // Both sides of a pane whose amplitude is almost 1 reflect everything.
    (1.0 + amplitude) / (1.0 - amplitude).max(1e-3)
}

/// Returns the reflectance at normal incidence of a conductor with a complex refractive index.
fn conductor_reflectance(eta: Vec3, k: Vec3) -> Vec3 {
    let of = |eta: f32, k: f32| ((eta - 1.0).powi(2) + k * k) / ((eta + 1.0).powi(2) + k * k);
    Vec3::new(of(eta.x, k.x), of(eta.y, k.y), of(eta.z, k.z))
}

/// Returns the reflectance at normal incidence of a metal.
pub(crate) fn metal_color(metal: Metal) -> Vec3 {
    match metal {
        Metal::Color(color) => color,
        Metal::Index { eta, k, tint } => conductor_reflectance(eta, k) * tint,
    }
}

/// Returns a principled material that is like a surface.
pub(crate) fn principled(surface: &Surface) -> Principled {
    let metallic = |color: Vec3, roughness: f32, one_sided: bool| Principled {
        base_color: color,
        metallic: 1.0,
        roughness,
        one_sided,
        ..Principled::default()
    };
    let glass = |ior: f32, alpha: f32| Principled {
        transmission: 1.0,
        ior,
        roughness: alpha.sqrt(),
        ..Principled::default()
    };
    match *surface {
        Surface::Diffuse { albedo, one_sided } => Principled {
            base_color: albedo,
            specular: 0.0,
            roughness: 1.0,
            one_sided,
            ..Principled::default()
        },
        Surface::Mirror {
            reflectance,
            one_sided,
        } => metallic(reflectance, 0.0, one_sided),
        Surface::Dielectric {
            ior,
            thin,
            tint,
            absorption,
        } => Principled {
            base_color: tint.transmission,
            thin,
            absorption,
            ..glass(if thin { thin_ior(ior) } else { ior }, 0.0)
        },
        Surface::Conductor { metal, one_sided } => metallic(metal_color(metal), 0.0, one_sided),
        Surface::RoughConductor {
            metal,
            roughness,
            one_sided,
        } => metallic(metal_color(metal), roughness.alpha.sqrt(), one_sided),
        Surface::RoughDielectric {
            ior,
            roughness,
            tint,
            absorption,
        } => Principled {
            base_color: tint.transmission,
            absorption,
            ..glass(ior, roughness.alpha)
        },
        Surface::CoatedDiffuse {
            albedo,
            ior,
            alpha,
            reflection_tint,
            one_sided,
        } => Principled {
            base_color: albedo,
            specular_color: reflection_tint,
            ior,
            roughness: alpha.sqrt(),
            one_sided,
            ..Principled::default()
        },
        Surface::Principled(principled) => principled,
        Surface::Boundary => Principled {
            thin: true,
            ..glass(1.0, 0.0)
        },
        // Callers convert its materials instead.
        Surface::Blend {
            emission,
            both_sides,
            ..
        } => Principled {
            emission,
            both_sides,
            ..Principled::default()
        },
        Surface::Emissive {
            radiance,
            albedo,
            one_sided,
            both_sides,
        } => Principled {
            base_color: albedo,
            specular: 0.0,
            roughness: 1.0,
            emission: radiance,
            one_sided,
            both_sides,
            ..Principled::default()
        },
    }
}

/// Makes a material emit `radiance` from its front. Returns whether its reflection is that of the material; otherwise
/// it is replaced by that of a principled material.
pub(crate) fn emit(material: &mut ModelMaterial, radiance: Color) -> bool {
    let radiance = radiance
        .apply(Parameter::Emission, &mut material.maps)
        .max(Vec3::ZERO);
    if let Surface::Blend { emission, .. } = &mut material.surface {
        *emission = radiance;
        return true;
    }
    if let Surface::Diffuse { albedo, one_sided } = material.surface {
        material.surface = Surface::Emissive {
            radiance,
            albedo,
            one_sided,
            both_sides: false,
        };
        return true;
    }
    let exact = matches!(material.surface, Surface::Principled(_));
    material.surface = Surface::Principled(Principled {
        emission: radiance,
        ..principled(&material.surface)
    });
    exact
}
