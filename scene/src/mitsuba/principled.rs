//! The principled BSDFs of Mitsuba, after B. Burley (2012 and 2015).

use glam::Vec3;

use super::{
    Converter,
    bsdf::{Bsdf, colored},
    document::Object,
    values::Value,
};
use crate::{
    color::luminance,
    image::texture_library::{CoatBase, TextureLibrary},
    import::{
        coat::Facets,
        materials::{Alphas, Color, Scalar, reflectance},
    },
    scene::{
        Absorption, GlassTint, Masking, MaterialTexture, MaterialTextures, Metal, Parameter,
        Principled, Surface,
    },
};

/// Perceptual roughness of the fibres whose reflection is most like the sheen of the principled BSDF.
const SHEEN_ROUGHNESS: f32 = 0.35;
/// Light that this sheen reflects, divided by that of fibres of [`SHEEN_ROUGHNESS`], at any direction: the best fit.
const SHEEN_STRENGTH: f32 = 0.129;

/// Fraction of diffuse light that a clear coat of index 1.5 reflects.
const COAT_REFLECTANCE: f32 = 0.086;

/// The parameters of a principled BSDF.
#[derive(Clone, Copy)]
struct Parameters {
    color: Color,
    roughness: Scalar,
    metallic: Scalar,
    transmission: Scalar,
    clearcoat: Scalar,
    clearcoat_gloss: f32,
    /// Index of refraction, 0.1..=10.
    ior: f32,
    /// Ratio of the GGX alpha across the direction in which u grows to its geometric mean along and across, above 0.
    aspect: f32,
    /// Color of the reflection at normal incidence that has the luminance of white.
    specular_tint: Vec3,
    /// Color of the sheen, with its strength.
    sheen: Vec3,
}

impl Converter<'_> {
    /// Converts a principled BSDF. `thin` is set for `principledthin`, a sheet without a volume. Parameters without a
    /// counterpart are named in a warning.
    pub(super) fn principled(&mut self, object: &Object, thin: bool) -> Result<Bsdf, String> {
        let parameters = self.principled_parameters(object)?;
        if self.constant(object, "flatness", 0.0)? != 0.0 {
            self.scene.note("not used: `flatness` of `principled`");
        }
        if thin {
            let diffuse_transmission = self.scalar(object, "diff_trans", 0.0)?;
            return self.layered(parameters, Some(diffuse_transmission));
        }
        let is_part = |scalar: &Scalar| !is_constant(scalar, 0.0) && !is_constant(scalar, 1.0);
        let Parameters {
            metallic,
            transmission,
            ..
        } = parameters;
        if is_part(&transmission) && is_constant(&metallic, 0.0) {
            let parts = [0.0, 1.0].map(|transmission| Parameters {
                transmission: transmission.into(),
                ..parameters
            });
            return self.sum(parts, transmission);
        }
        // Textures of `metallic` are mostly 0 or 1, and a blend is noisier.
        if is_part(&metallic) && metallic.texture.is_none() && is_constant(&transmission, 0.0) {
            let parts = [0.0, 1.0].map(|metallic| Parameters {
                metallic: metallic.into(),
                ..parameters
            });
            return self.sum(parts, metallic);
        }
        self.solid(parameters)
    }

    /// Converts a principled BSDF whose light is the sum of that of two others. `weight` is the part of the second one.
    fn sum(&mut self, parts: [Parameters; 2], weight: Scalar) -> Result<Bsdf, String> {
        let [first, second] = parts;
        let parts = [self.solid(first)?, self.solid(second)?];
        let [first, second] = parts.map(|part| (part.material, part.bump));
        let (material, _) = self.scene.blend(first, second, weight)?;
        Ok(Bsdf {
            material,
            ..Bsdf::from(Surface::Principled(Principled::default()))
        })
    }

    /// Converts the principled BSDF of a body that is opaque or transmits all light that enters it, as far as possible
    /// exactly.
    fn solid(&mut self, parameters: Parameters) -> Result<Bsdf, String> {
        match parameters.single_lobe(&mut self.scene.model.library)? {
            Some(bsdf) => Ok(bsdf),
            None => self.layered(parameters, None),
        }
    }

    /// Converts a principled BSDF to the layered material of this renderer. `diffuse_transmission` is that of a sheet
    /// without a volume, and `None` for a body.
    fn layered(
        &mut self,
        mut parameters: Parameters,
        diffuse_transmission: Option<Scalar>,
    ) -> Result<Bsdf, String> {
        self.scene
            .note("approximated: `principled`, whose layers are combined in another way");
        let thin = diffuse_transmission.is_some();
        let diffuse_transmission = diffuse_transmission.unwrap_or(0.0.into());
        let below = parameters.color.mean(&self.scene.model.library);
        if parameters.is_glass() && !thin {
            // Each side of a body lets the square root of its color pass.
            parameters.color.factor = parameters.color.factor.map(|part| part.max(0.0).sqrt());
        }
        let mut specular = 1.0;
        if !thin && parameters.is_opaque_dielectric() {
            specular = grazing_reflectance(parameters.ior);
            parameters.color = self.base_below_layers(&parameters, specular, below)?;
        }
        let mut bsdf = colored(parameters.color, |base_color| {
            Surface::Principled(Principled {
                base_color,
                ..Principled::default()
            })
        });
        let Bsdf { material, .. } = &mut bsdf;
        let Surface::Principled(principled) = &mut material.surface else {
            return Ok(bsdf);
        };
        let maps = &mut material.maps;
        principled.metallic = part(parameters.metallic.apply(Parameter::Metallic, maps));
        principled.transmission =
            part(parameters.transmission.apply(Parameter::Transmission, maps));
        // The coat of the principled BSDF has a quarter of the strength of a physical one.
        principled.clearcoat = 0.25 * part(parameters.clearcoat.apply(Parameter::Clearcoat, maps));
        principled.clearcoat_roughness = (0.1 + (0.001 - 0.1) * parameters.clearcoat_gloss).sqrt();
        principled.ior = parameters.ior;
        principled.thin = thin;
        if principled.transmission > 0.0 && parameters.specular_tint != Vec3::ONE {
            self.scene
                .note("not used: `spec_tint` of `principled` that transmits light");
        }
        // Of a sheet, only the part that transmits light specularly also reflects it so.
        principled.specular = if thin { 0.0 } else { specular };
        // The reflectance at normal incidence stays the same.
        principled.specular_color =
            (parameters.specular_tint / specular.max(0.01)).min(Vec3::splat(100.0));
        let mut roughness = part(parameters.roughness.apply(Parameter::Roughness, maps));
        if parameters.aspect != 1.0 {
            if principled.transmission > 0.0 {
                self.scene
                    .note("not used: `anisotropic` of `principled` that transmits light");
            } else {
                // glTF's anisotropy raises alpha along the tangent only.
                let mean = part(parameters.roughness.mean(&self.scene.model.library)).powi(2);
                let across = mean * parameters.aspect;
                let along = (mean / parameters.aspect).min(1.0);
                principled.anisotropy = ((along - across) / (1.0 - across)).max(0.0).sqrt();
                roughness *= parameters.aspect.sqrt();
            }
        }
        principled.roughness = roughness;
        principled.diffuse_transmission =
            part(0.5 * diffuse_transmission.apply(Parameter::DiffuseTransmission, maps));
        if principled.diffuse_transmission > 0.0 {
            principled.diffuse_transmission_color = principled.base_color;
            parameters
                .color
                .apply(Parameter::DiffuseTransmissionColor, maps);
        }
        principled.one_sided = principled.transmission == 0.0 && !thin;
        if parameters.sheen != Vec3::ZERO {
            let sheen = parameters.sheen * (SHEEN_STRENGTH * (1.0 - principled.metallic));
            principled.sheen_roughness = SHEEN_ROUGHNESS;
            principled.sheen_color = sheen_above(sheen, below);
        }
        Ok(bsdf)
    }

    /// Returns the color of the base of an opaque dielectric, so that it is as bright in diffuse light as in Mitsuba.
    /// There, the layers above the base take no light from it, and the base is not quite diffuse. `specular` is the
    /// reflectance here at grazing angles, and `below` is the mean color of the base. Fails if memory does not suffice.
    fn base_below_layers(
        &mut self,
        parameters: &Parameters,
        specular: f32,
        below: Vec3,
    ) -> Result<Color, String> {
        let library = &self.scene.model.library;
        let roughness = part(parameters.roughness.mean(library));
        let facets = Facets {
            alpha: roughness * roughness,
            beckmann: false,
            masking: Masking::Separable,
        };
        let [theirs, own] = facets.reflected(parameters.ior);
        let own = own - (1.0 - specular) * facets.reflected(1.0)[1];
        // The part of light from all directions that Burley's diffuse reflection returns from a white surface.
        let diffuse = 0.953 + roughness * (0.1087 + 0.0035 * roughness);
        let amplitude = (parameters.ior - 1.0) / (parameters.ior + 1.0);
        let tint = parameters.specular_tint.max_element() - 1.0;
        let coat = 0.25 * part(parameters.clearcoat.mean(library)) * COAT_REFLECTANCE;
        let passed = (1.0 - own - amplitude * amplitude * tint).max(0.1) * (1.0 - coat).powi(2);
        if parameters.color.texture.is_none() {
            let color = (parameters.color.factor * diffuse + (theirs - own)) / passed;
            return Ok(color.into());
        }
        let brightness = luminance(below).max(0.01);
        let base = CoatBase {
            passed: ((diffuse + (theirs - own) / brightness) / passed).max(0.0),
            returned: 0.0,
            reflections: 1,
            inside: 0.0,
        };
        self.scene.below_coat(parameters.color, base)
    }

    /// Reads the parameters of a principled BSDF.
    fn principled_parameters(&mut self, object: &Object) -> Result<Parameters, String> {
        let number = |own: &mut Self, name: &str| -> Result<f32, String> {
            Ok(part(own.constant(object, name, 0.0)?))
        };
        let color = self.reflectance(object, "base_color", 0.5)?;
        let mean = color.mean(&self.scene.model.library);
        let brightness = luminance(mean);
        let tint = if brightness > 0.0 {
            mean / brightness
        } else {
            Vec3::ONE
        };
        let tinted = |strength: f32| Vec3::ONE.lerp(tint, strength);
        let (specular_tint, sheen_tint) = (number(self, "spec_tint")?, number(self, "sheen_tint")?);
        let sheen = number(self, "sheen")?;
        if color.texture.is_some() && (specular_tint > 0.0 || sheen * sheen_tint > 0.0) {
            self.scene
                .note("approximated: the tints of `principled` by the mean of its texture");
        }
        let aspect = (1.0 - 0.9 * number(self, "anisotropic")?).sqrt();
        let ior = match object.value("eta").and_then(Value::number) {
            Some(eta) => eta as f32,
            None => {
                let specular = self.constant(object, "specular", 0.5)?.clamp(0.0, 1.0);
                2.0 / (1.0 - (0.08 * specular).sqrt()) - 1.0
            }
        };
        Ok(Parameters {
            color,
            roughness: self.scalar(object, "roughness", 0.5)?,
            metallic: self.scalar(object, "metallic", 0.0)?,
            transmission: self.scalar(object, "spec_trans", 0.0)?,
            clearcoat: self.scalar(object, "clearcoat", 0.0)?,
            clearcoat_gloss: number(self, "clearcoat_gloss")?,
            ior: if ior.is_finite() {
                ior.clamp(0.1, 10.0)
            } else {
                1.5
            },
            aspect,
            specular_tint: tinted(specular_tint),
            sheen: tinted(sheen_tint) * sheen,
        })
    }
}

/// Returns whether a number has no texture and is `value` after it was limited to 0..=1.
fn is_constant(scalar: &Scalar, value: f32) -> bool {
    scalar.texture.is_none() && part(scalar.factor) == value
}

/// Returns the reflectance at grazing angles, 0 to 1, with which Schlick's formula reflects as much diffuse light as a
/// smooth dielectric of this index. A boundary between similar indices reflects little unless the angle is very grazing.
fn grazing_reflectance(ior: f32) -> f32 {
    let smooth = Facets {
        alpha: 0.0,
        beckmann: false,
        masking: Masking::Separable,
    };
    let amplitude = (ior - 1.0) / (ior + 1.0);
    let at_normal = amplitude * amplitude;
    let [fresnel, _] = smooth.reflected(ior);
    // The mean of (1 - c)^5 over directions with the cosine c.
    let grazing = 1.0 / 21.0;
    match ior >= 1.0 {
        true => (at_normal + (fresnel - at_normal) / grazing).clamp(0.0, 1.0),
        false => 1.0,
    }
}

impl Parameters {
    /// Returns whether the BSDF neither transmits light nor is metallic anywhere.
    fn is_opaque_dielectric(&self) -> bool {
        is_constant(&self.metallic, 0.0) && is_constant(&self.transmission, 0.0)
    }

    /// Returns whether the BSDF lets light of one color pass and reflects nothing diffusely.
    fn is_glass(&self) -> bool {
        let is_whole = is_constant(&self.metallic, 0.0) && is_constant(&self.transmission, 1.0);
        is_whole && self.color.texture.is_none()
    }

    /// Returns the BSDF if it is exactly that of a rough metal or of rough, colorless glass; otherwise `None`. Fails if
    /// memory does not suffice.
    fn single_lobe(&self, library: &mut TextureLibrary) -> Result<Option<Bsdf>, String> {
        let texture = self.roughness.texture;
        // The product of a factor above 1 and a texture can still be below 1.
        let max_factor = if texture.is_some() { 1e6 } else { 1.0 };
        let alpha = self.roughness.factor.max(0.0).min(max_factor).powi(2);
        let largest = texture.map_or(1.0, |map| library.brightest(map.texture).clamp(0.0, 1.0));
        // Alphas are at most 1 here.
        if !is_constant(&self.clearcoat, 0.0) || alpha * largest * largest > self.aspect {
            return Ok(None);
        }
        let is_metal = is_constant(&self.metallic, 1.0);
        let is_clear = self.is_glass()
            && self.color.factor == Vec3::ONE
            && self.specular_tint == Vec3::ONE
            && self.sheen == Vec3::ZERO;
        if !is_metal && !is_clear {
            return Ok(None);
        }
        let mut scaled = |factor: f32| -> Result<Scalar, String> {
            let Some(map) = texture else {
                return Ok(factor.into());
            };
            // A factor above 1 becomes part of the texture, because alphas are clamped.
            let (part, rest) = (factor.max(1.0), factor.min(1.0));
            let mut texture = library.square(map.texture)?;
            if part > 1.0 {
                texture = library.affine(texture, Vec3::splat(part), Vec3::ZERO)?;
            }
            Ok(Scalar {
                factor: rest,
                texture: Some(MaterialTexture { texture, ..map }),
            })
        };
        let (along, across) = (scaled(alpha / self.aspect)?, scaled(alpha * self.aspect)?);
        let mut maps = MaterialTextures::default();
        let alphas = Alphas::new(along, across);
        let roughness = alphas.apply(Masking::Separable, &mut maps);
        let surface = if is_metal {
            self.color.apply(Parameter::Color, &mut maps);
            Surface::RoughConductor {
                metal: Metal::Color(reflectance(self.color.factor)),
                roughness,
                one_sided: true,
            }
        } else {
            Surface::RoughDielectric {
                ior: self.ior,
                roughness,
                tint: GlassTint::WHITE,
                absorption: Absorption::NONE,
            }
        };
        let mut bsdf = Bsdf::from(surface);
        bsdf.material.maps = maps;
        Ok(Some(bsdf))
    }
}

/// Returns the number limited to 0..=1; NaN becomes 0.
fn part(number: f32) -> f32 {
    if number.is_nan() {
        0.0
    } else {
        number.clamp(0.0, 1.0)
    }
}

/// Returns the color of a sheen that adds `sheen` to the light of a base of the color `below`, although it takes light
/// from the base, in proportion to its largest channel. A base that reflects all light allows no more.
fn sheen_above(sheen: Vec3, below: Vec3) -> Vec3 {
    let absorbed = (Vec3::ONE - below).max(Vec3::splat(1e-3));
    let strongest = (sheen / absorbed).max_element();
    let color = sheen + below * strongest;
    (color / color.max_element().max(1.0)).clamp(Vec3::ZERO, Vec3::ONE)
}
