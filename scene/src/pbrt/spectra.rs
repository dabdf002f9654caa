//! Colors of pbrt parameters.

use glam::Vec3;

use super::{
    Converter,
    parameters::{Parameter, Parameters},
};
use crate::{
    color::luminance,
    error::excerpt,
    import::{
        materials::{Color, Scalar},
        refractive_indices, spectrum,
    },
};

/// Temperature in kelvin of the black body that is the CIE's illuminant A.
const ILLUMINANT_A: f64 = 2856.0;

impl Converter {
    /// Returns the reflectance with this name, or `default` if there is none. One outside 0 to 1 is reported.
    pub(super) fn reflectance(
        &mut self,
        parameters: &Parameters,
        name: &str,
        default: f32,
    ) -> Result<Color, String> {
        let color = self.color(parameters, name, default)?;
        let kind = parameters
            .get(name)
            .map(|parameter| parameter.kind.as_str());
        if let Some("rgb" | "float") = kind {
            self.scene.check_reflectance(color.factor);
        }
        Ok(color)
    }

    /// Returns the color with this name, or `default` if there is none.
    pub(super) fn color(
        &mut self,
        parameters: &Parameters,
        name: &str,
        default: f32,
    ) -> Result<Color, String> {
        let Some(parameter) = parameters.get(name) else {
            return Ok(Vec3::splat(default).into());
        };
        if parameter.kind == "texture" {
            let texture = parameter.texts.first().map_or("", String::as_str);
            if let Some(&color) = self.colors.get(texture) {
                return Ok(color);
            }
            let one = format!(
                "no texture has the name \"{}\"; grey is used",
                excerpt(texture)
            );
            let several = "no textures have {} names, such as \"{first}\"; grey is used";
            self.scene.note_each(several, texture, one);
            return Ok(Vec3::splat(0.5).into());
        }
        Ok(self.constant_color(parameter)?.into())
    }

    /// Returns the number with this name, or `default` if there is none.
    pub(super) fn scalar(
        &mut self,
        parameters: &Parameters,
        name: &str,
        default: f32,
    ) -> Result<Scalar, String> {
        let Some(parameter) = parameters.get(name) else {
            return Ok(default.into());
        };
        if parameter.kind == "texture" {
            let texture = parameter.texts.first().map_or("", String::as_str);
            if let Some(&scalar) = self.scalars.get(texture) {
                return Ok(scalar);
            }
            let one = format!(
                "no texture has the name \"{}\"; 1 is used",
                excerpt(texture)
            );
            let several = "no textures have {} names, such as \"{first}\"; 1 is used";
            self.scene.note_each(several, texture, one);
            return Ok(1.0.into());
        }
        Ok((parameters.number(name, default.into()) as f32).into())
    }

    /// Returns the number with this name, or `default` if there is none. A texture is replaced by its mean, with a
    /// warning.
    pub(super) fn constant(
        &mut self,
        parameters: &Parameters,
        name: &str,
        default: f32,
    ) -> Result<f32, String> {
        let scalar = self.scalar(parameters, name, default)?;
        if scalar.texture.is_some() {
            self.note(format!("approximated: the texture of `{name}` by its mean"));
        }
        let mean = scalar.mean(&self.scene.model.library);
        Ok(if mean.is_finite() { mean } else { default })
    }

    /// Returns the linear sRGB color of a reflectance or a similar quantity that is not a texture.
    pub(super) fn constant_color(&mut self, parameter: &Parameter) -> Result<Vec3, String> {
        let name = &parameter.name;
        match (parameter.kind.as_str(), parameter.numbers.as_slice()) {
            ("rgb" | "color", &[r, g, b]) => Ok(Vec3::new(r as f32, g as f32, b as f32)),
            ("float", &[number]) => Ok(Vec3::splat(number as f32)),
            ("blackbody", &[kelvin, ..]) => Ok(unit(spectrum::black_body(kelvin))),
            ("spectrum", &[number]) => Ok(Vec3::splat(number as f32)),
            ("spectrum", []) => self.named_spectrum(parameter, false),
            ("spectrum", numbers) => Ok(spectrum::reflectance(&samples(name, numbers)?)),
            _ => Err(format!(
                "{name}: expected a color such as \"rgb {name}\" [ 1 1 1 ]"
            )),
        }
    }

    /// Returns the linear sRGB color of a light; white if there is none of this name. An RGB color is taken as it is,
    /// and any other spectrum is scaled to luminance 1, as in pbrt.
    pub(super) fn light_color(
        &mut self,
        parameters: &Parameters,
        name: &str,
    ) -> Result<Vec3, String> {
        let Some(parameter) = parameters.get(name) else {
            return Ok(Vec3::ONE);
        };
        match (parameter.kind.as_str(), parameter.numbers.as_slice()) {
            ("rgb" | "color", _) => self.constant_color(parameter),
            ("blackbody", &[kelvin, ..]) => Ok(unit(spectrum::black_body(kelvin))),
            ("spectrum", []) => self.named_spectrum(parameter, true),
            ("spectrum", &[_]) => Ok(unit(spectrum::equal_energy())),
            ("spectrum", numbers) => Ok(unit(spectrum::emission(&samples(name, numbers)?))),
            _ => Err(format!(
                "{name}: expected a color such as \"rgb {name}\" [ 1 1 1 ]"
            )),
        }
    }

    /// Returns the color of a spectrum with a name such as `metal-Cu-eta`, or of a file. That of a file is a
    /// reflectance, or if `emits` an emission of luminance 1.
    fn named_spectrum(&mut self, parameter: &Parameter, emits: bool) -> Result<Vec3, String> {
        let name = parameter.texts.first().map_or("", String::as_str);
        if let Some(metal) = name.strip_prefix("metal-") {
            let (metal, part) = metal.rsplit_once('-').unwrap_or((metal, ""));
            if let Some((eta, k)) = refractive_indices::conductor(metal) {
                return Ok(if part == "k" { k } else { eta });
            }
        }
        if let Some(glass) = name.strip_prefix("glass-")
            && let Some(ior) = refractive_indices::dielectric(glass)
        {
            return Ok(Vec3::splat(ior));
        }
        if name == "stdillum-A" {
            return Ok(unit(spectrum::black_body(ILLUMINANT_A)));
        }
        if name.starts_with("stdillum-") || name.starts_with("illum-") {
            if !name.ends_with("D65") {
                self.note(format!(
                    "approximated: the illuminant `{}` by white",
                    excerpt(name)
                ));
            }
            return Ok(Vec3::ONE);
        }
        let samples = spectrum::read(name, &mut self.files)?;
        Ok(match emits {
            true => unit(spectrum::emission(&samples)),
            false => spectrum::reflectance(&samples),
        })
    }
}

/// Returns a color scaled to luminance 1; black stays black.
fn unit(color: Vec3) -> Vec3 {
    let luminance = luminance(color);
    if luminance > 0.0 {
        color / luminance
    } else {
        Vec3::ZERO
    }
}

/// Returns the pairs of wavelength and value in a list of numbers. Fails if the wavelengths do not increase.
fn samples(name: &str, numbers: &[f64]) -> Result<Vec<(f64, f64)>, String> {
    let (pairs, rest) = numbers.as_chunks::<2>();
    let increases = pairs.windows(2).all(|pair| pair[0][0] < pair[1][0]);
    match rest.is_empty() && increases && !pairs.is_empty() {
        true => Ok(pairs.iter().map(|&[at, value]| (at, value)).collect()),
        false => Err(format!(
            "{name}: expected pairs of wavelength and value in increasing order of wavelength"
        )),
    }
}
