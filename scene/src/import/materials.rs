//! Materials of other renderers: values with textures, roughness, blends, and the nearest material for an emitter.
//! Imports `image`, `model` and `scene`.

use glam::{Affine2, Vec2, Vec3};

use super::{Imported, bump::Bump};
use crate::{
    image::texture_library::TextureLibrary,
    limits::{MAX_BLENDS, MIN_ALPHA},
    model::ModelMaterial,
    scene::{
        Absorption, Channel, Encoding, Filter, Image, Masking, MaterialTexture, MaterialTextures,
        Metal, Parameter, Principled, Roughness, Surface, Texels, Texture, Wrap,
    },
};

/// A colour of a material: a factor, and the texture that it multiplies.
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
    /// Returns the mean colour of the surface, as if it showed each texel of the texture equally often.
    pub(crate) fn mean(self, library: &TextureLibrary) -> Vec3 {
        self.factor
            * self
                .texture
                .map_or(Vec3::ONE, |texture| mean(library, texture))
    }

    /// Returns the number that the colour stands for where a number is expected: the mean of the factor's channels,
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

/// The GGX alphas of a rough material, each a factor with a texture.
#[derive(Clone, Copy)]
pub(crate) struct Alphas {
    /// Alpha along the direction in which `u` grows, or in all directions.
    pub(crate) along: Scalar,
    /// Alpha across that direction; `None` if it is the same.
    pub(crate) across: Option<Scalar>,
}

impl Alphas {
    /// Creates the alphas of a material. Equal ones become one alpha.
    pub(crate) fn new(along: Scalar, across: Scalar) -> Alphas {
        let is_same = (along.factor, along.texture) == (across.factor, across.texture);
        Alphas {
            along,
            across: (!is_same).then_some(across),
        }
    }

    /// Returns one alpha for all directions and the whole surface. Each alpha is averaged over its texture; the result
    /// is the geometric mean of both averages, which keeps the brightness at the centre of a highlight.
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
            alpha: alpha(self.along, Parameter::Roughness),
            alpha_v: self
                .across
                .map(|across| alpha(across, Parameter::RoughnessV)),
            masking,
            energy_compensation: false,
        }
    }
}

/// Returns the mean linear colour of the image of the texture with this index in a library.
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
fn normal_reflectance(ior: f32) -> f32 {
    let amplitude = (ior - 1.0) / (ior + 1.0);
    amplitude * amplitude
}

/// Returns the index of refraction of a boundary that reflects, at normal incidence, what both sides of a pane of index
/// `ior` reflect together.
pub(crate) fn thin_ior(ior: f32) -> f32 {
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
        Metal::Index { eta, k } => conductor_reflectance(eta, k),
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
        Surface::Dielectric { ior, absorption } => Principled {
            absorption,
            ..glass(ior, 0.0)
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
            absorption,
        } => Principled {
            absorption,
            ..glass(ior, roughness.alpha)
        },
        Surface::CoatedDiffuse {
            albedo,
            ior,
            alpha,
            one_sided,
        } => Principled {
            base_color: albedo,
            ior,
            roughness: alpha.sqrt(),
            one_sided,
            ..Principled::default()
        },
        Surface::Principled(principled) => principled,
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

impl Imported {
    /// Returns a material that is `second` on the fraction `weight` of its surface, and `first` elsewhere. `weight` is
    /// clamped to 0..=1. Two diffuse materials become one with the weighted mean albedo if neither they nor `weight`
    /// have textures.
    ///
    /// Each material has its bump map, if any. The second value is the bump map of the whole result; those of a blend
    /// belong to its parts unless they are equal.
    ///
    /// In a [`Surface::Blend`] both materials become opaque, and the blend gets the weighted mean of their opacities.
    /// A texture of `weight` with a fully transparent material is the opacity of the other one. Three approximations give
    /// a warning, and the function fails if memory does not suffice:
    ///
    /// - A texture of an opacity is replaced by its mean.
    /// - If the opacities differ and both are above 0, a texture of `weight` is replaced by its mean in the whole blend.
    /// - If blends would nest deeper than [`MAX_BLENDS`], the result is a single material with interpolated parameters.
    pub(crate) fn blend(
        &mut self,
        (mut first, first_bump): (ModelMaterial, Option<Bump>),
        (mut second, second_bump): (ModelMaterial, Option<Bump>),
        weight: Scalar,
    ) -> Result<(ModelMaterial, Option<Bump>), String> {
        let same_relief = first_bump == second_bump;
        let heavier = |weight: f32| match weight < 0.5 {
            true => first_bump,
            false => second_bump,
        };
        let factor = match weight.factor.is_nan() {
            true => 0.5,
            false => weight.factor.clamp(0.0, 1.0),
        };
        let mut weight = Scalar { factor, ..weight };
        let is_constant = weight.texture.is_none();
        let is_one = factor == 1.0 || factor == 0.0;
        if is_constant && (is_one || same_relief && blends_exactly(&first, &second)) {
            return Ok((blend(&first, &second, factor), heavier(factor)));
        }
        let is_clear = |material: &ModelMaterial| material.maps.opacity == 0.0;
        if !is_constant && is_clear(&first) != is_clear(&second) {
            // A mask of the other material.
            let (mut shown, bump, share) = match is_clear(&first) {
                true => (second, second_bump, weight),
                false => (first, first_bump, self.complement(weight)?),
            };
            self.multiply_opacity(&mut shown.maps, share);
            return Ok((shown, bump));
        }
        let levels = [&first, &second].map(|material| self.blend_levels(&material.surface));
        if levels.into_iter().max() >= Some(MAX_BLENDS) {
            self.note("approximated: blends that contain many others by a single material");
            let mean = weight.mean(&self.model.library).clamp(0.0, 1.0);
            return Ok((blend(&first, &second, mean), heavier(mean)));
        }
        let mut maps = MaterialTextures::default();
        let opacities = [&mut first, &mut second].map(|part| self.take_opacity(part));
        if opacities != [1.0; 2] {
            if weight.texture.is_some() && opacities[0] != opacities[1] {
                self.note(
                    "approximated: the weight of a blend with different opacities by its mean",
                );
                weight = weight.mean(&self.model.library).clamp(0.0, 1.0).into();
            }
            // Of the rays that hit either material, this part hits the second one.
            let shares = [
                (1.0 - weight.factor) * opacities[0],
                weight.factor * opacities[1],
            ];
            maps.opacity = (shares[0] + shares[1]).clamp(0.0, 1.0);
            if weight.texture.is_some() {
                maps.opacity = opacities[0];
            } else if maps.opacity > 0.0 {
                weight.factor = shares[1] / maps.opacity;
            }
        }
        let weight = weight.apply(Parameter::BlendWeight, &mut maps);
        let number = |own: &mut Imported, part: ModelMaterial, bump: Option<Bump>| {
            own.model.materials.push(part);
            let index = own.model.materials.len() as u32 - 1;
            if let Some(bump) = bump.filter(|_| !same_relief) {
                own.part_bumps.insert(index, bump);
            }
            index
        };
        let surface = Surface::Blend {
            first: number(self, first, first_bump),
            second: number(self, second, second_bump),
            weight,
            emission: Vec3::ZERO,
            both_sides: false,
        };
        let material = ModelMaterial {
            maps,
            ..ModelMaterial::from(surface)
        };
        Ok((material, first_bump.filter(|_| same_relief)))
    }

    /// Returns 1 minus a number from 0 to 1. Fails if memory does not suffice.
    fn complement(&mut self, number: Scalar) -> Result<Scalar, String> {
        let Some(map) = number.texture else {
            return Ok((1.0 - number.factor).into());
        };
        let library = &mut self.model.library;
        let texture = library.affine(map.texture, Vec3::splat(-number.factor), Vec3::ONE)?;
        Ok(Scalar {
            factor: 1.0,
            texture: Some(MaterialTexture { texture, ..map }),
        })
    }

    /// Multiplies the opacity of a material. Of two textures, that of the material is replaced by its mean, with a
    /// warning.
    pub(crate) fn multiply_opacity(&mut self, maps: &mut MaterialTextures, opacity: Scalar) {
        if opacity.texture.is_some()
            && let Some(texture) = maps.textures.remove(&Parameter::Opacity)
        {
            self.note("approximated: the product of two opacities with textures, by the outer one times the mean of the inner one");
            let own = Scalar {
                factor: maps.opacity,
                texture: Some(texture),
            };
            maps.opacity = own.mean(&self.model.library).clamp(0.0, 1.0);
        }
        maps.opacity *= opacity.apply(Parameter::Opacity, maps).clamp(0.0, 1.0);
    }

    /// Returns the depth to which blends are nested in a material: 0 if it is not a blend, 1 if it blends no blends.
    fn blend_levels(&self, surface: &Surface) -> u32 {
        let parts = surface.blended();
        parts.map_or(0, |parts| {
            let level = |part: u32| self.blend_levels(&self.model.materials[part as usize].surface);
            1 + level(parts[0]).max(level(parts[1]))
        })
    }

    /// Makes a material opaque and returns its opacity before, 0..=1. A texture of it is replaced by its mean, with a
    /// warning.
    fn take_opacity(&mut self, material: &mut ModelMaterial) -> f32 {
        let maps = &mut material.maps;
        let texture = maps.textures.remove(&Parameter::Opacity);
        if texture.is_some() {
            self.note("approximated: the texture of an opacity in a blend by its mean");
        }
        let factor = std::mem::replace(&mut maps.opacity, 1.0);
        let opacity = Scalar { factor, texture };
        opacity.mean(&self.model.library).clamp(0.0, 1.0)
    }

    /// Makes the back of a material reflect like its front, also of the materials of a blend. These are copied, because
    /// others may use them.
    pub(crate) fn show_both_sides(&mut self, surface: &mut Surface) {
        surface.show_both_sides();
        if let Surface::Blend { first, second, .. } = surface {
            for part in [first, second] {
                if let Some(&known) = self.two_sided.get(part) {
                    *part = known;
                    continue;
                }
                let mut copy = self.model.materials[*part as usize].clone();
                self.show_both_sides(&mut copy.surface);
                let index = self.model.materials.len() as u32;
                self.model.materials.push(copy);
                if let Some(&bump) = self.part_bumps.get(part) {
                    self.part_bumps.insert(index, bump);
                }
                self.two_sided.insert(*part, index);
                *part = index;
            }
        }
    }
}

/// Returns a material between two others: `first` at a `weight` of 0, `second` at 1. Two diffuse materials without
/// textures are blended exactly, apart from their backs. Others become principled materials, whose parameters are
/// interpolated. The textures are those of the material with the larger weight.
fn blend(first: &ModelMaterial, second: &ModelMaterial, weight: f32) -> ModelMaterial {
    let weight = weight.clamp(0.0, 1.0);
    let heavier = if weight < 0.5 { first } else { second };
    if weight == 0.0 || weight == 1.0 {
        return heavier.clone();
    }
    let number = |from: f32, to: f32| from + (to - from) * weight;
    let surface = match (&first.surface, &second.surface) {
        (
            &Surface::Diffuse { albedo, one_sided },
            &Surface::Diffuse {
                albedo: other,
                one_sided: both,
            },
        ) => Surface::Diffuse {
            albedo: albedo.lerp(other, weight),
            one_sided: one_sided && both,
        },
        (first, second) => {
            let (a, b) = (principled(first), principled(second));
            // The reflectance of a boundary is interpolated, rather than its index.
            let reflectance = number(
                normal_reflectance(a.ior) * a.specular,
                normal_reflectance(b.ior) * b.specular,
            );
            let ior = if a.transmission > b.transmission {
                a.ior
            } else {
                b.ior
            };
            Surface::Principled(Principled {
                base_color: a.base_color.lerp(b.base_color, weight),
                metallic: number(a.metallic, b.metallic),
                roughness: number(a.roughness, b.roughness),
                ior,
                specular: (reflectance / normal_reflectance(ior).max(1e-6)).clamp(0.0, 1.0),
                specular_color: a.specular_color.lerp(b.specular_color, weight),
                transmission: number(a.transmission, b.transmission),
                thin: a.thin || b.thin,
                clearcoat: number(a.clearcoat, b.clearcoat),
                clearcoat_roughness: number(a.clearcoat_roughness, b.clearcoat_roughness),
                emission: a.emission.lerp(b.emission, weight),
                both_sides: a.both_sides || b.both_sides,
                one_sided: a.one_sided && b.one_sided,
                absorption: Absorption::of_coefficient(
                    a.absorption
                        .coefficient()
                        .lerp(b.absorption.coefficient(), weight),
                ),
                // No imported material has the other properties.
                ..Principled::default()
            })
        }
    };
    ModelMaterial {
        surface,
        ..heavier.clone()
    }
}

/// Returns whether [`blend`] is exact for these materials, apart from their backs.
fn blends_exactly(first: &ModelMaterial, second: &ModelMaterial) -> bool {
    let plain = |material: &ModelMaterial| {
        matches!(material.surface, Surface::Diffuse { .. })
            && material.maps == MaterialTextures::default()
    };
    plain(first) && plain(second)
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
