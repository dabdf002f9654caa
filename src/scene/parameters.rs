//! A material's parameters: each is a constant, or a texture that scales one.

use glam::{DVec3, Vec2, Vec3};
use serde::de::DeserializeOwned;

use super::{
    Channel, Encoding, Filter, Map, Maps, Parameter, Texture, Wrap,
    limits::check_brightness,
    objects::MAX_PATH_BYTES,
    source::{Extent, Object, Raw, Source, excerpt, shown},
    text::{ParameterText, TextureText},
    texture::Library,
};
use crate::Error;

/// Reads the parameters of one material, and notes their textures.
pub(super) struct Parameters<'m, 's, 'a> {
    source: &'s Source<'a>,
    object: &'m Object<'a>,
    library: &'m mut Library,
    /// What was noted so far.
    pub(super) maps: Maps,
}

impl<'m, 's, 'a> Parameters<'m, 's, 'a> {
    pub(super) fn new(
        source: &'s Source<'a>,
        object: &'m Object<'a>,
        library: &'m mut Library,
    ) -> Self {
        Parameters {
            source,
            object,
            library,
            maps: Maps::default(),
        }
    }

    /// Part of the light in each channel, 0 to 1.
    pub(super) fn part(
        &mut self,
        field: &str,
        raw: Raw<'a>,
        parameter: Parameter,
    ) -> Result<Vec3, Error> {
        let expected = "(r, g, b), each from 0 to 1";
        self.color(field, raw, parameter, expected, Extent::Part)
    }

    /// A colour of highlights.
    pub(super) fn specular_color(&mut self, raw: Raw<'a>) -> Result<Vec3, Error> {
        let expected = "(r, g, b), each from 0 to 100";
        self.color(
            "specular_color",
            raw,
            Parameter::SpecularColor,
            expected,
            Extent::Index,
        )
    }

    /// A number from 0 to 1.
    pub(super) fn fraction(
        &mut self,
        field: &str,
        raw: Raw<'a>,
        parameter: Parameter,
    ) -> Result<f32, Error> {
        let (source, object) = (self.source, self.object);
        let part = |field, raw| {
            let expected = "a number from 0 to 1";
            let valid = |part| Extent::Part.holds(part);
            source.number(object, field, raw, expected, valid)
        };
        let Some(written) = self.written(raw)? else {
            return Ok(part(field, raw)? as f32);
        };
        let factor = match written.factor {
            Some(factor) => part("factor", factor)?,
            None => 1.0,
        };
        self.note(field, &written, parameter, Encoding::Linear)?;
        Ok(factor as f32)
    }

    /// Radiance, dim enough for the film.
    pub(super) fn radiance(&mut self, field: &str, raw: Raw<'a>, spp: u32) -> Result<Vec3, Error> {
        let expected = "(r, g, b), each 0 or more";
        let radiance = self.color(field, raw, Parameter::Emission, expected, Extent::FromZero)?;
        let most = match self.maps.textures.get(&Parameter::Emission) {
            Some(map) => self.library.brightest(map.texture),
            None => 1.0,
        };
        check_brightness(radiance.max_element() * most, spp)
            .map_err(|problem| self.source.error(self.object, raw, problem))?;
        Ok(radiance)
    }

    /// A normal map; its factor is how far it bends.
    pub(super) fn normal(&mut self, raw: Option<Raw<'a>>) -> Result<(), Error> {
        if let Some(bend) = self.normal_map("normal", raw, Parameter::Normal)? {
            self.maps.bend = bend;
        }
        Ok(())
    }

    /// The same, of a coat.
    pub(super) fn clearcoat_normal(&mut self, raw: Option<Raw<'a>>) -> Result<(), Error> {
        let bend = self.normal_map("clearcoat_normal", raw, Parameter::ClearcoatNormal)?;
        if let Some(bend) = bend {
            self.maps.coat_bend = bend;
        }
        Ok(())
    }

    /// How far it bends, if that is said.
    fn normal_map(
        &mut self,
        field: &str,
        raw: Option<Raw<'a>>,
        parameter: Parameter,
    ) -> Result<Option<f32>, Error> {
        let Some(raw) = raw else { return Ok(None) };
        let Some(written) = self.written(raw)? else {
            let found = excerpt(raw.trim().get_ron());
            let problem = format!("{field}: found `{found}`, expected Texture(..)");
            return Err(self.source.error(self.object, raw, problem));
        };
        let bend = match written.factor {
            Some(factor) => {
                let valid = |bend: f64| (-100.0..=100.0).contains(&bend);
                let expected = "a number from -100 to 100";
                let bend = self
                    .source
                    .number(self.object, "factor", factor, expected, valid)?;
                Some(bend as f32)
            }
            None => None,
        };
        self.note(field, &written, parameter, Encoding::Linear)?;
        Ok(bend)
    }

    /// How much the surface hides, and what as good as all is.
    pub(super) fn opacity(
        &mut self,
        raw: Option<Raw<'a>>,
        cutoff: Option<Raw<'a>>,
    ) -> Result<(), Error> {
        if let Some(raw) = raw {
            self.maps.opacity = self.fraction("opacity", raw, Parameter::Opacity)?;
        }
        if let Some(raw) = cutoff {
            let expected = "a number above 0, to 1";
            let valid = |part: f64| part as f32 > 0.0 && part <= 1.0;
            let cutoff = self
                .source
                .number(self.object, "cutoff", raw, expected, valid)?;
            self.maps.cutoff = cutoff as f32;
        }
        Ok(())
    }

    fn color(
        &mut self,
        field: &str,
        raw: Raw<'a>,
        parameter: Parameter,
        expected: &str,
        extent: Extent,
    ) -> Result<Vec3, Error> {
        let Some(written) = self.written(raw)? else {
            let color = self
                .source
                .triple(self.object, field, raw, expected, extent)?;
            return Ok(color.as_vec3());
        };
        let color = match written.factor {
            Some(factor) => {
                let single = ron::from_str(factor.get_ron()).ok().map(DVec3::splat);
                match single.filter(|&all| extent.holds(all.x)) {
                    Some(all) => all,
                    None => self
                        .source
                        .triple(self.object, "factor", factor, expected, extent)?,
                }
            }
            None => DVec3::ONE,
        };
        self.note(field, &written, parameter, Encoding::Srgb)?;
        Ok(color.as_vec3())
    }

    /// What is written if it is a texture.
    fn written(&self, raw: Raw<'a>) -> Result<Option<TextureText<'a>>, Error> {
        if !raw.trim().get_ron().starts_with("Texture") {
            return Ok(None);
        }
        let object = Object::new(self.object.name.clone(), raw);
        let ParameterText::Texture(written) = self.source.parse(&object)?;
        Ok(Some(written))
    }

    fn note(
        &mut self,
        field: &str,
        written: &TextureText<'a>,
        parameter: Parameter,
        encoding: Encoding,
    ) -> Result<(), Error> {
        let (source, object) = (self.source, self.object);
        let named = |path: &String| (1..=MAX_PATH_BYTES).contains(&path.len());
        let file = source.field(object, "file", written.file, "a path in quotes", named)?;
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
            Some(raw) => source.number(object, "rotate", raw, "degrees", |_| true)?,
            None => 0.0,
        };
        let path = source.folder().join(file);
        let image = self.library.open(&path).map_err(|problem| {
            let problem = format!("{field}: {}: {problem}", shown(&path));
            source.error(object, written.file, problem)
        })?;
        let texture = Texture {
            wrap,
            filter,
            ..Texture::new(image, encoding)
        };
        let texture = texture.transformed(scale, degrees.to_radians(), offset);
        let texture = self.library.texture(texture);
        self.maps
            .textures
            .insert(parameter, Map { texture, channel });
        Ok(())
    }

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

    fn wrap(&self, raw: Option<Raw>) -> Result<[Wrap; 2], Error> {
        let Some(raw) = raw else {
            return Ok([Wrap::Repeat; 2]);
        };
        if let Ok(both) = ron::from_str(raw.get_ron()) {
            return Ok([both; 2]);
        }
        let expected = "Repeat, Mirror or Clamp, or two of them: (across, down)";
        let pair: (Wrap, Wrap) = self
            .source
            .field(self.object, "wrap", raw, expected, |_| true)?;
        Ok(pair.into())
    }

    fn scale(&self, raw: Option<Raw>) -> Result<Vec2, Error> {
        let Some(raw) = raw else { return Ok(Vec2::ONE) };
        let valid = |value: f64| Extent::Factor.holds(value);
        if let Some(both) = ron::from_str(raw.get_ron())
            .ok()
            .filter(|&both| valid(both))
        {
            return Ok(Vec2::splat(both as f32));
        }
        let expected = "how often the image fits, or (across, down): not 0, and within 1e8";
        let (u, v) = self
            .source
            .field(self.object, "scale", raw, expected, |&(u, v)| {
                valid(u) && valid(v)
            })?;
        Ok(Vec2::new(u as f32, v as f32))
    }

    fn offset(&self, raw: Option<Raw>) -> Result<Vec2, Error> {
        let Some(raw) = raw else {
            return Ok(Vec2::ZERO);
        };
        let valid = |value: f64| Extent::Coordinate.holds(value);
        let expected = "(right, down) in parts of the image, each within 1e8 of 0";
        let (u, v) = self
            .source
            .field(self.object, "offset", raw, expected, |&(u, v)| {
                valid(u) && valid(v)
            })?;
        Ok(Vec2::new(u as f32, v as f32))
    }
}
