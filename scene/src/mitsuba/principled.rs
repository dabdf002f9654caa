//! The principled BSDFs of Mitsuba, after B. Burley (2012 and 2015). Imports `bsdf`, `document` and `import`.

use glam::Vec3;

use super::{
    Converter,
    bsdf::{Bsdf, colored},
    document::Object,
    values::Value,
};
use crate::{
    color::luminance,
    image::texture_library::CoatBase,
    import::{
        coat::Facets,
        materials::{Alphas, Color, Scalar, reflectance},
    },
    scene::{Absorption, Masking, MaterialTextures, Metal, Parameter, Principled, Surface},
};

/// Perceptual roughness of the fibres whose reflection is most like the sheen of the principled BSDF.
const SHEEN_ROUGHNESS: f32 = 0.35;
/// Light that this sheen reflects, divided by that of fibres of [`SHEEN_ROUGHNESS`], at any direction: the best fit.
const SHEEN_STRENGTH: f32 = 0.129;

/// Fraction of diffuse light that a clear coat of index 1.5 reflects.
const COAT_REFLECTANCE: f32 = 0.086;

/// The parameters of a principled BSDF.
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
    /// Colour of the reflection at normal incidence that has the luminance of white.
    specular_tint: Vec3,
    /// Colour of the sheen, with its strength.
    sheen: Vec3,
}

impl Converter<'_> {
    /// Converts a principled BSDF. `thin` is set for `principledthin`, a sheet without a volume. Parameters without a
    /// counterpart are named in a warning.
    pub(super) fn principled(&mut self, object: &Object, thin: bool) -> Result<Bsdf, String> {
        let mut parameters = self.principled_parameters(object)?;
        if !thin && let Some(bsdf) = parameters.single_lobe() {
            return Ok(bsdf);
        }
        self.scene
            .note("approximated: `principled`, whose layers are combined in another way");
        if self.constant(object, "flatness", 0.0)? != 0.0 {
            self.scene.note("not used: `flatness` of `principled`");
        }
        let diffuse_transmission = match thin {
            true => self.scalar(object, "diff_trans", 0.0)?,
            false => 0.0.into(),
        };
        let below = parameters.color.mean(&self.scene.model.library);
        if parameters.is_glass() && !thin {
            // Each side of a body lets the square root of its colour pass.
            parameters.color.factor = parameters.color.factor.map(|part| part.max(0.0).sqrt());
        }
        if !thin {
            parameters.color = self.base_below_layers(&parameters, below)?;
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
        if thin {
            // Only the part that transmits light specularly also reflects it so.
            principled.specular = 0.0;
        }
        principled.specular_color = parameters.specular_tint;
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

    /// Returns the colour of the base of an opaque dielectric, so that it is as bright in diffuse light as in Mitsuba.
    /// There, the layers above the base take no light from it, and the base is not quite diffuse. `below` is the mean
    /// colour of the base. Other materials keep their colour. Fails if memory does not suffice.
    fn base_below_layers(&mut self, parameters: &Parameters, below: Vec3) -> Result<Color, String> {
        if !is_constant(&parameters.metallic, 0.0) || !is_constant(&parameters.transmission, 0.0) {
            return Ok(parameters.color);
        }
        let library = &self.scene.model.library;
        let roughness = part(parameters.roughness.mean(library));
        let facets = Facets {
            alpha: roughness * roughness,
            beckmann: false,
            masking: Masking::Separable,
        };
        let [theirs, own] = facets.reflected(parameters.ior);
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

impl Parameters {
    /// Returns whether the BSDF lets light of one colour pass and reflects nothing diffusely.
    fn is_glass(&self) -> bool {
        let is_whole = is_constant(&self.metallic, 0.0) && is_constant(&self.transmission, 1.0);
        is_whole && self.color.texture.is_none()
    }

    /// Returns the BSDF if it is exactly that of a rough metal or of rough, colourless glass; otherwise `None`.
    fn single_lobe(&self) -> Option<Bsdf> {
        let alpha = part(self.roughness.factor).powi(2);
        let is_plain = self.roughness.texture.is_none() && is_constant(&self.clearcoat, 0.0);
        // Alphas are at most 1 here.
        if !is_plain || alpha > self.aspect {
            return None;
        }
        let mut maps = MaterialTextures::default();
        let alphas = Alphas::new((alpha / self.aspect).into(), (alpha * self.aspect).into());
        let roughness = alphas.apply(Masking::Separable, &mut maps);
        let surface = if is_constant(&self.metallic, 1.0) {
            self.color.apply(Parameter::Color, &mut maps);
            Surface::RoughConductor {
                metal: Metal::Color(reflectance(self.color.factor)),
                roughness,
                one_sided: true,
            }
        } else if self.is_glass()
            && self.color.factor == Vec3::ONE
            && self.specular_tint == Vec3::ONE
            && self.sheen == Vec3::ZERO
        {
            Surface::RoughDielectric {
                ior: self.ior,
                roughness,
                absorption: Absorption::NONE,
            }
        } else {
            return None;
        };
        let mut bsdf = Bsdf::from(surface);
        bsdf.material.maps = maps;
        Some(bsdf)
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

/// Returns the colour of a sheen that adds `sheen` to the light of a base of the colour `below`, although it takes light
/// from the base, in proportion to its largest channel. A base that reflects all light allows no more.
fn sheen_above(sheen: Vec3, below: Vec3) -> Vec3 {
    let absorbed = (Vec3::ONE - below).max(Vec3::splat(1e-3));
    let strongest = (sheen / absorbed).max_element();
    let color = sheen + below * strongest;
    (color / color.max_element().max(1.0)).clamp(Vec3::ZERO, Vec3::ONE)
}
