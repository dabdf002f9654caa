//! Reads the parameters of a material: constants, textures multiplied by a constant factor, and metals.

use std::{collections::HashMap, ops::RangeInclusive};

use glam::{DVec3, Vec2, Vec3};
use serde::de::DeserializeOwned;

use super::{
    source::{NumberRange, Object, Raw, SceneSource},
    text::{ParameterText, TextureText},
};
use crate::{
    Error,
    error::excerpt,
    files::display_path,
    image::texture_library::TextureLibrary,
    limits::{MAX_FILM_THICKNESS, MIN_ALPHA, check_brightness},
    scene::{
        Absorption, Channel, DISTANCES, Encoding, FacetDistribution, Filter, GlassTint, Masking,
        MaterialTexture, MaterialTextures, Medium, Parameter, Roughness, Texture, Wrap,
    },
};

/// Valid thicknesses of a thin film in nanometres, and their text for messages.
pub(crate) const NANOMETRES: (RangeInclusive<f64>, &str) = (
    0.0..=MAX_FILM_THICKNESS as f64,
    "a number of nanometres from 0 to 100000",
);

/// A reader of the parameters of one material, which collects their textures.
pub(crate) struct Parameters<'m, 's, 'a> {
    pub(super) source: &'s SceneSource<'a>,
    pub(super) object: &'m Object<'a>,
    library: &'m mut TextureLibrary,
    /// Index of each material of the scene file by its name.
    names: &'m HashMap<String, u32>,
    /// Textures collected so far, with opacity, cutoff and normal map scales.
    pub(crate) maps: MaterialTextures,
    /// The medium inside the body, if it has one.
    pub(crate) medium: Option<Medium>,
    /// Priority of the body, 0 by default.
    pub(crate) priority: u8,
}

impl<'m, 's, 'a> Parameters<'m, 's, 'a> {
    /// Creates a reader for the material `object`, without textures. Images and textures are added to `library`, and
    /// `names` are the indices of all materials by name.
    pub(crate) fn new(
        source: &'s SceneSource<'a>,
        object: &'m Object<'a>,
        library: &'m mut TextureLibrary,
        names: &'m HashMap<String, u32>,
    ) -> Self {
        Parameters {
            source,
            object,
            library,
            names,
            maps: MaterialTextures::default(),
            medium: None,
            priority: 0,
        }
    }

    /// Parses a linear sRGB color, each channel from 0 to 1. For a texture, stores it as that of `parameter` and
    /// returns its `factor`, 1 by default. Any other value is an [`Error::Scene`].
    pub(crate) fn color_fraction(
        &mut self,
        field: &str,
        raw: Raw<'a>,
        parameter: Parameter,
    ) -> Result<Vec3, Error> {
        let expected = "(r, g, b), each from 0 to 1";
        self.color(field, raw, parameter, expected, NumberRange::Fraction)
    }

    /// Parses an optional color like [`Self::color_fraction`]; returns `default` if it is missing.
    pub(crate) fn color_or(
        &mut self,
        field: &str,
        raw: Option<Raw<'a>>,
        parameter: Parameter,
        default: Vec3,
    ) -> Result<Vec3, Error> {
        raw.map_or(Ok(default), |raw| {
            self.color_fraction(field, raw, parameter)
        })
    }

    /// Parses the field `specular_color`, each channel from 0 to 100. For a texture, stores it and returns its
    /// `factor`, 1 by default. Any other value is an [`Error::Scene`].
    pub(crate) fn specular_color(&mut self, raw: Raw<'a>) -> Result<Vec3, Error> {
        let expected = "(r, g, b), each from 0 to 100";
        self.color(
            "specular_color",
            raw,
            Parameter::SpecularColor,
            expected,
            NumberRange::MetalIndex,
        )
    }

    /// Parses a number from 0 to 1. For a texture, stores it as that of `parameter` and returns its `factor`, 1 by
    /// default. Any other value is an [`Error::Scene`].
    pub(crate) fn fraction(
        &mut self,
        field: &str,
        raw: Raw<'a>,
        parameter: Parameter,
    ) -> Result<f32, Error> {
        let Some(written) = self.texture_text(raw)? else {
            return self.untextured_fraction(field, raw);
        };
        let factor = match written.factor {
            Some(factor) => self.untextured_fraction("factor", factor)?,
            None => 1.0,
        };
        self.add_texture(field, &written, parameter, Encoding::Linear)?;
        Ok(factor)
    }

    /// Parses an optional number like [`Self::fraction`]; returns `default` if it is missing.
    pub(crate) fn fraction_or(
        &mut self,
        field: &str,
        raw: Option<Raw<'a>>,
        parameter: Parameter,
        default: f32,
    ) -> Result<f32, Error> {
        raw.map_or(Ok(default), |raw| self.fraction(field, raw, parameter))
    }

    /// Parses an optional number within `range`; returns `default`, which is not checked, if it is missing. Any other
    /// value, a texture too, is an [`Error::Scene`], whose message describes a valid value by `expected`.
    pub(crate) fn number_or(
        &self,
        field: &str,
        raw: Option<Raw>,
        (range, expected): (RangeInclusive<f64>, &str),
        default: f32,
    ) -> Result<f32, Error> {
        let Some(raw) = raw else { return Ok(default) };
        let valid = |value: f64| range.contains(&value);
        let value = self
            .source
            .number(self.object, field, raw, expected, valid)?;
        Ok(value as f32)
    }

    /// Parses the optional field `iridescence_thickness`, from 0 to 100,000 nanometres; returns `default` if it is
    /// missing. For a texture, stores it and returns its `factor`, `default` if that is missing. Any other value is an
    /// [`Error::Scene`].
    pub(crate) fn film_thickness(
        &mut self,
        raw: Option<Raw<'a>>,
        default: f32,
    ) -> Result<f32, Error> {
        let Some(raw) = raw else { return Ok(default) };
        let field = "iridescence_thickness";
        let Some(written) = self.texture_text(raw)? else {
            return self.number_or(field, Some(raw), NANOMETRES, default);
        };
        let thickness = self.number_or("factor", written.factor, NANOMETRES, default)?;
        self.add_texture(
            field,
            &written,
            Parameter::IridescenceThickness,
            Encoding::Linear,
        )?;
        Ok(thickness)
    }

    /// Parses an emitted radiance in W·sr⁻¹·m⁻², 0 or more per channel. For a texture, stores it and returns its
    /// `factor`.
    ///
    /// Any other value, or a radiance (with the brightest texel) that is too bright for `spp` samples per pixel, is an
    /// [`Error::Scene`].
    pub(crate) fn radiance(&mut self, field: &str, raw: Raw<'a>, spp: u32) -> Result<Vec3, Error> {
        let expected = "(r, g, b), each 0 or more";
        let radiance = self.color(
            field,
            raw,
            Parameter::Emission,
            expected,
            NumberRange::FromZero,
        )?;
        let brightest = match self.maps.textures.get(&Parameter::Emission) {
            Some(map) => self.library.brightest(map.texture),
            None => 1.0,
        };
        check_brightness(radiance.max_element() * brightest, spp)
            .map_err(|problem| self.source.error(self.object, raw, problem))?;
        Ok(radiance)
    }

    /// Parses the optional field `normal`, a texture that is a normal map; its `factor`, 1 by default, scales how far
    /// the normal tilts. Any other value is an [`Error::Scene`].
    pub(crate) fn normal(&mut self, raw: Option<Raw<'a>>) -> Result<(), Error> {
        if let Some(normal_scale) = self.normal_map("normal", raw, Parameter::Normal)? {
            self.maps.normal_scale = normal_scale;
        }
        Ok(())
    }

    /// Parses the optional field `clearcoat_normal`, a texture that is the normal map of the clear coat. Any other
    /// value is an [`Error::Scene`].
    pub(crate) fn clearcoat_normal(&mut self, raw: Option<Raw<'a>>) -> Result<(), Error> {
        let normal_scale = self.normal_map("clearcoat_normal", raw, Parameter::ClearcoatNormal)?;
        if let Some(normal_scale) = normal_scale {
            self.maps.coat_normal_scale = normal_scale;
        }
        Ok(())
    }

    /// Parses an optional normal map and stores it as the texture of `parameter`. Returns its `factor`, -100 to 100, or
    /// `None` if the map or the factor is missing. Invalid values are an [`Error::Scene`].
    fn normal_map(
        &mut self,
        field: &str,
        raw: Option<Raw<'a>>,
        parameter: Parameter,
    ) -> Result<Option<f32>, Error> {
        let Some(raw) = raw else { return Ok(None) };
        let Some(written) = self.texture_text(raw)? else {
            let found = excerpt(raw.trim().get_ron());
            let problem = format!("{field}: found `{found}`, expected Texture(..)");
            return Err(self.source.error(self.object, raw, problem));
        };
        let normal_scale = match written.factor {
            Some(factor) => {
                let valid = |normal_scale: f64| (-100.0..=100.0).contains(&normal_scale);
                let expected = "a number from -100 to 100";
                let normal_scale =
                    self.source
                        .number(self.object, "factor", factor, expected, valid)?;
                Some(normal_scale as f32)
            }
            None => None,
        };
        self.add_texture(field, &written, parameter, Encoding::Linear)?;
        Ok(normal_scale)
    }

    /// Parses the optional fields `opacity` and `cutoff`, which are independent. Invalid values are an
    /// [`Error::Scene`].
    ///
    /// `opacity` is a number from 0 to 1 or a texture, 1 by default. `cutoff` is above 0 and up to 1: opacities of at
    /// least that count as 1 and others as 0. Without it they are used as they are.
    pub(crate) fn opacity(
        &mut self,
        raw: Option<Raw<'a>>,
        cutoff: Option<Raw<'a>>,
    ) -> Result<(), Error> {
        if let Some(raw) = raw {
            self.maps.opacity = self.fraction("opacity", raw, Parameter::Opacity)?;
        }
        if let Some(raw) = cutoff {
            let expected = "a number above 0 and up to 1";
            let valid = |part: f64| part as f32 > 0.0 && part <= 1.0;
            let cutoff = self
                .source
                .number(self.object, "cutoff", raw, expected, valid)?;
            self.maps.cutoff = cutoff as f32;
        }
        Ok(())
    }

    /// Parses an optional field that is `true` or `false`; returns `false` if it is missing. Any other value is an
    /// [`Error::Scene`].
    pub(crate) fn flag(&self, field: &str, raw: Option<Raw>) -> Result<bool, Error> {
        self.source.flag(self.object, field, raw, false)
    }

    /// Parses the field `ior`, an index of refraction from 0.1 to 10. Any other value is an [`Error::Scene`].
    pub(crate) fn ior(&self, raw: Raw) -> Result<f32, Error> {
        let valid = |ior: f64| (0.1..=10.0).contains(&ior);
        let expected = "a number from 0.1 to 10";
        let ior = self
            .source
            .number(self.object, "ior", raw, expected, valid)?;
        Ok(ior as f32)
    }

    /// Parses a number from 0 to 1. Any other value, a texture too, is an [`Error::Scene`].
    pub(crate) fn untextured_fraction(&self, field: &str, raw: Raw) -> Result<f32, Error> {
        let valid = |part| NumberRange::Fraction.holds(part);
        let expected = "a number from 0 to 1";
        let part = self
            .source
            .number(self.object, field, raw, expected, valid)?;
        Ok(part as f32)
    }

    /// Parses an optional color that has no texture, each channel 0 to 1; returns white if it is missing.
    pub(crate) fn plain_color_or_white(
        &self,
        field: &str,
        raw: Option<Raw>,
    ) -> Result<Vec3, Error> {
        let expected = "(r, g, b), each from 0 to 1";
        raw.map_or(Ok(Vec3::ONE), |raw| {
            let range = NumberRange::Fraction;
            let color = self
                .source
                .triple(self.object, field, raw, expected, range)?;
            Ok(color.as_vec3())
        })
    }

    /// Parses the fields `reflection_tint` and `transmission_tint` of a transparent body, white if they are missing.
    pub(crate) fn glass_tint(
        &mut self,
        reflection: Option<Raw<'a>>,
        transmission: Option<Raw<'a>>,
    ) -> Result<GlassTint, Error> {
        let white = Vec3::ONE;
        let (reflected, transmitted) = (Parameter::SpecularColor, Parameter::Color);
        Ok(GlassTint {
            reflection: self.color_or("reflection_tint", reflection, reflected, white)?,
            transmission: self.color_or("transmission_tint", transmission, transmitted, white)?,
        })
    }

    /// Parses the roughness fields of a rough conductor or dielectric. `smooth` is the name of its smooth counterpart,
    /// for messages. `alpha` and `alpha_v` are 0.001 to 1 or textures, and `masking` is height-correlated by default.
    /// `energy_compensation` is `true` by default without `alpha_v` and Beckmann's distribution, with which it must not be
    /// set. Invalid values are an [`Error::Scene`].
    pub(crate) fn roughness(
        &mut self,
        smooth: &str,
        (alpha, alpha_v): (Raw<'a>, Option<Raw<'a>>),
        (distribution, masking): (Option<Raw>, Option<Raw>),
        energy_compensation: Option<Raw>,
    ) -> Result<Roughness, Error> {
        let alpha = self.alpha("alpha", alpha, Parameter::Roughness, smooth)?;
        let alpha_v = match alpha_v {
            Some(raw) => Some(self.alpha("alpha_v", raw, Parameter::RoughnessV, smooth)?),
            None => None,
        };
        let maskings = "Separable or HeightCorrelated";
        let masking = self.word("masking", masking, Masking::default(), maskings)?;
        let field = "distribution";
        let distributions = "Ggx or Beckmann";
        let distribution = self.word(field, distribution, FacetDistribution::Ggx, distributions)?;
        let field = "energy_compensation";
        let one_alpha = alpha_v.is_none();
        let has_energy = one_alpha && distribution == FacetDistribution::Ggx;
        let compensated = self
            .source
            .flag(self.object, field, energy_compensation, has_energy)?;
        if let Some(raw) = energy_compensation
            && compensated
            && !has_energy
        {
            let with = if one_alpha {
                "distribution: Beckmann"
            } else {
                "alpha_v"
            };
            let problem = format!("{field}: is not available with `{with}`; remove one of them");
            return Err(self.source.error(self.object, raw, problem));
        }
        Ok(Roughness {
            alpha,
            alpha_v,
            distribution,
            masking,
            energy_compensation: compensated,
        })
    }

    /// Parses a GGX alpha from 0.001 to 1. For a texture, stores it as that of `parameter` and returns its `factor`, 1
    /// by default. Any other value is an [`Error::Scene`]. `smooth` is as in [`Self::roughness`].
    fn alpha(
        &mut self,
        field: &str,
        raw: Raw<'a>,
        parameter: Parameter,
        smooth: &str,
    ) -> Result<f32, Error> {
        let valid = |alpha: f64| (MIN_ALPHA..=1.0).contains(&(alpha as f32));
        let expected = format!(
            "a number from {MIN_ALPHA} to 1; for a smooth surface use the material `{smooth}`, which has no alpha"
        );
        let number = |field, raw| -> Result<f32, Error> {
            let alpha = self
                .source
                .number(self.object, field, raw, &expected, valid)?;
            Ok(alpha as f32)
        };
        let Some(written) = self.texture_text(raw)? else {
            return number(field, raw);
        };
        let factor = written
            .factor
            .map_or(Ok(1.0), |factor| number("factor", factor))?;
        self.add_texture(field, &written, parameter, Encoding::Linear)?;
        Ok(factor)
    }

    /// Parses the name of a material of the scene file and returns its index. Any other value is an [`Error::Scene`].
    pub(crate) fn material(&self, field: &str, raw: Raw) -> Result<u32, Error> {
        self.source.material(self.object, field, raw, self.names)
    }

    /// Parses the optional field `absorption`: the transmittance per channel, 0 to 1, and the distance in metres over
    /// which it applies.
    ///
    /// Returns a clear body if the field is missing. Invalid values are an [`Error::Scene`].
    pub(crate) fn absorption(&self, raw: Option<Raw>) -> Result<Absorption, Error> {
        let Some(raw) = raw else {
            return Ok(Absorption::NONE);
        };
        let expected =
            "((r, g, b), distance): r, g and b from 0 to 1, distance from 1e-6 to 1e8 metres";
        let valid = |&(color, distance): &([f64; 3], f64)| {
            let is_fraction = |&part: &f64| NumberRange::Fraction.holds(part);
            color.iter().all(is_fraction) && DISTANCES.contains(&distance)
        };
        let (color, distance) =
            self.source
                .field(self.object, "absorption", raw, expected, valid)?;
        let transmittance = Vec3::from_array(color.map(|part| part as f32));
        Ok(Absorption::new(transmittance, distance))
    }

    /// Parses three numbers in the range `extent`. For a texture, stores it as that of `parameter` and returns its
    /// `factor`, 1 by default. Any other value is an [`Error::Scene`], whose message says what was `expected`.
    fn color(
        &mut self,
        field: &str,
        raw: Raw<'a>,
        parameter: Parameter,
        expected: &str,
        extent: NumberRange,
    ) -> Result<Vec3, Error> {
        let Some(written) = self.texture_text(raw)? else {
            let color = self
                .source
                .triple(self.object, field, raw, expected, extent)?;
            return Ok(color.as_vec3());
        };
        let color = match written.factor {
            Some(factor) => {
                let grey = ron::from_str(factor.get_ron()).ok().map(DVec3::splat);
                match grey.filter(|&grey| extent.holds(grey.x)) {
                    Some(grey) => grey,
                    None => self
                        .source
                        .triple(self.object, "factor", factor, expected, extent)?,
                }
            }
            None => DVec3::ONE,
        };
        self.add_texture(field, &written, parameter, Encoding::Srgb)?;
        Ok(color.as_vec3())
    }

    /// Parses a value as `Texture(..)`; returns `None` if it is something else. A texture with invalid fields is an
    /// [`Error::Scene`].
    fn texture_text(&self, raw: Raw<'a>) -> Result<Option<TextureText<'a>>, Error> {
        if !raw.trim().get_ron().starts_with("Texture") {
            return Ok(None);
        }
        let object = Object::new(self.object.name.clone(), raw);
        let ParameterText::Texture(written) = self.source.parse(&object)?;
        Ok(Some(written))
    }

    /// Opens the image of a texture and stores the texture as that of `parameter`.
    ///
    /// `encoding` is the encoding if the texture does not name one. Invalid values, and images that cannot be read, are
    /// an [`Error::Scene`].
    fn add_texture(
        &mut self,
        field: &str,
        written: &TextureText<'a>,
        parameter: Parameter,
        encoding: Encoding,
    ) -> Result<(), Error> {
        let (source, object) = (self.source, self.object);
        let path = source.path(object, written.file)?;
        let expected = "Srgb or Linear";
        let encoding = self.word("encoding", written.encoding, encoding, expected)?;
        let expected = "Bilinear or Nearest";
        let filter = self.word("filter", written.filter, Filter::Bilinear, expected)?;
        let wrap = self.wrap(written.wrap)?;
        let expected = "Red, Green, Blue or Alpha";
        let channel = match parameter {
            Parameter::Opacity => Channel::Alpha,
            _ => Channel::Red,
        };
        let channel = self.word("channel", written.channel, channel, expected)?;
        let scale = self.scale(written.scale)?;
        let offset = self.offset(written.offset)?;
        let degrees = match written.rotate {
            Some(raw) => source.number(object, "rotate", raw, "an angle in degrees", |_| true)?,
            None => 0.0,
        };
        let image = self.library.open(&path).map_err(|problem| {
            let problem = format!("{field}: {}: {problem}", display_path(&path));
            source.error(object, written.file, problem)
        })?;
        let texture = Texture {
            wrap,
            filter,
            ..Texture::new(image, encoding)
        };
        let texture = texture.transformed(scale, degrees.to_radians(), offset);
        let texture = self.library.add_texture(texture);
        self.maps
            .textures
            .insert(parameter, MaterialTexture { texture, channel });
        Ok(())
    }

    /// Parses an optional field that is one of several words, the variants of `T`; returns `default` if it is missing.
    /// Any other value is an [`Error::Scene`].
    fn word<T: DeserializeOwned>(
        &self,
        field: &str,
        raw: Option<Raw>,
        default: T,
        expected: &str,
    ) -> Result<T, Error> {
        match raw {
            Some(raw) => self
                .source
                .field(self.object, field, raw, expected, |_| true),
            None => Ok(default),
        }
    }

    /// Parses the optional field `wrap`: one mode for both axes, or one across and one down. The default is to repeat.
    /// Any other value is an [`Error::Scene`].
    fn wrap(&self, raw: Option<Raw>) -> Result<[Wrap; 2], Error> {
        let Some(raw) = raw else {
            return Ok([Wrap::Repeat; 2]);
        };
        if let Ok(both) = ron::from_str(raw.get_ron()) {
            return Ok([both; 2]);
        }
        let expected = "Repeat, Mirror or Clamp, or two of them as (across, down)";
        let pair: (Wrap, Wrap) = self
            .source
            .field(self.object, "wrap", raw, expected, |_| true)?;
        Ok(pair.into())
    }

    /// Parses the optional field `scale` of a texture: one number of repetitions for both axes, or one across and one
    /// down. The default is 1. Any other value is an [`Error::Scene`].
    fn scale(&self, raw: Option<Raw>) -> Result<Vec2, Error> {
        let Some(raw) = raw else { return Ok(Vec2::ONE) };
        let valid = |value: f64| NumberRange::Factor.holds(value);
        if let Some(both) = ron::from_str(raw.get_ron())
            .ok()
            .filter(|&both| valid(both))
        {
            return Ok(Vec2::splat(both as f32));
        }
        let expected = "a number of repetitions or (across, down), of magnitude 1e-15 to 1e8";
        let (u, v) = self
            .source
            .field(self.object, "scale", raw, expected, |&(u, v)| {
                valid(u) && valid(v)
            })?;
        Ok(Vec2::new(u as f32, v as f32))
    }

    /// Parses the optional field `offset` of a texture: (right, down) in image widths and heights, -1e8 to 1e8; 0 if it
    /// is missing. Any other value is an [`Error::Scene`].
    fn offset(&self, raw: Option<Raw>) -> Result<Vec2, Error> {
        let Some(raw) = raw else {
            return Ok(Vec2::ZERO);
        };
        let valid = |value: f64| NumberRange::Coordinate.holds(value);
        let expected = "(right, down) in image widths and heights, each from -1e8 to 1e8";
        let (u, v) = self
            .source
            .field(self.object, "offset", raw, expected, |&(u, v)| {
                valid(u) && valid(v)
            })?;
        Ok(Vec2::new(u as f32, v as f32))
    }
}
