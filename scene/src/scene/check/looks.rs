//! The check of materials, textures, images and lights.

use rayon::prelude::*;

use super::{Checked, channels, direction, invalid, light, named, number, position, unexpected};
use crate::{
    Error,
    limits::{MAX_FILM_THICKNESS, SAMPLE_LIMIT},
    scene::{
        COEFFICIENTS, Environment, FieldKind, FieldValue, Image, Light, MAX_ANISOTROPY,
        MaterialTextures, Medium, Scene, Surface, Texels,
    },
};

impl Scene {
    /// Checks the materials with their textures and media.
    pub(super) fn check_materials(&self) -> Result<(), Error> {
        let count = self.materials.len();
        if self.material_names.len() != count {
            return Err(invalid(
                "material_names",
                format!(
                    "has {} names, expected {count}, one per material",
                    self.material_names.len()
                ),
            ));
        }
        for (index, surface) in self.materials.iter().enumerate() {
            surface
                .numbers()
                .map_err(|problem| invalid(self.material_label(index), problem))?;
        }
        for (&index, maps) in &self.maps {
            self.check_material(index, "maps")?;
            let texture_count = self.textures.len();
            maps.numbers(texture_count)
                .map_err(|problem| invalid(self.material_label(index as usize), problem))?;
        }
        for (&index, medium) in &self.media {
            self.check_material(index, "media")?;
            medium
                .numbers()
                .map_err(|problem| invalid(self.material_label(index as usize), problem))?;
        }
        for &index in self.priorities.keys() {
            self.check_material(index, "priorities")?;
        }
        Ok(())
    }

    /// Checks that the material exists to which an entry of `maps`, `media` or `priorities` belongs.
    fn check_material(&self, index: u32, list: &str) -> Result<(), Error> {
        let count = self.materials.len();
        match (index as usize) < count {
            true => Ok(()),
            false => Err(invalid(
                format!("{list}[{index}]"),
                format!("there is no such material; there are {count}, counted from 0"),
            )),
        }
    }

    /// Checks that each texture's image exists and its transform is finite, and that each image has all its texels, all
    /// finite.
    pub(super) fn check_images(&self) -> Result<(), Error> {
        for (number, texture) in self.textures.iter().enumerate() {
            let count = self.images.len();
            let problem = if texture.image as usize >= count {
                unexpected("image", texture.image, format_args!("below {count}"))
            } else if !texture.transform.is_finite() {
                "transform is not finite".to_owned()
            } else {
                continue;
            };
            return Err(invalid(format!("textures[{number}]"), problem));
        }
        let mut images = self.images.iter().enumerate();
        images.try_for_each(|(number, image)| named(format!("images[{number}]"), image.numbers()))
    }

    /// Checks the lights, of which at most one is an environment.
    pub(super) fn check_lights(&self) -> Result<(), Error> {
        let mut environments = 0;
        for (number, light) in self.lights.iter().enumerate() {
            let object = || format!("lights[{number}] ({})", light.kind_name());
            environments += u32::from(matches!(light, Light::Environment(_)));
            if environments > 1 {
                let problem = "the scene has another environment; remove one of them";
                return Err(invalid(object(), problem.to_owned()));
            }
            light
                .numbers()
                .map_err(|problem| invalid(object(), problem))?;
        }
        Ok(())
    }
}

impl Surface {
    /// Checks all numbers of the surface against their valid ranges. The error names the field.
    fn numbers(&self) -> Checked {
        for field in self.fields() {
            match (field.kind, field.value) {
                // See below.
                _ if matches!(
                    field.name,
                    "anisotropy" | "base_color" | "diffuse_transmission_color"
                ) => {}
                (FieldKind::Number(kind), FieldValue::Number(value)) => {
                    number(field.name, value, kind.min..=kind.max)?;
                }
                (FieldKind::Color { max }, FieldValue::Color(value)) => {
                    channels(field.name, value, 0.0..=max)?;
                }
                (FieldKind::Light { .. }, FieldValue::Color(value)) => light(field.name, value)?,
                (FieldKind::Channels { number, .. }, FieldValue::Color(value)) => {
                    channels(field.name, value, number.min..=number.max)?;
                }
                (_, FieldValue::Absorption(absorption)) => {
                    channels("absorption.color", absorption.color(), 0.0..=1.0)?;
                    let distance = absorption.distance();
                    if !(distance > 0.0 && distance.is_finite()) {
                        return Err(unexpected("absorption.distance", distance, "more than 0"));
                    }
                    let coefficient = absorption.coefficient();
                    channels("absorption.coefficient", coefficient, 0.0..=f32::MAX)?;
                }
                _ => {}
            }
        }
        if let Surface::Principled(principled) = self {
            // The colors count in proportion to the parts of the light that they are for.
            let max = |part: f32| 1.0_f32.max(1.0001 / part.max(1e-6));
            let transmitted = principled.diffuse_transmission;
            let reflected = max(1.0 - transmitted);
            channels("base_color", principled.base_color, 0.0..=reflected)?;
            channels(
                "diffuse_transmission_color",
                principled.diffuse_transmission_color,
                0.0..=max(transmitted),
            )?;
            // Its range for users excludes 0.
            number("anisotropy", principled.anisotropy, 0.0..=1.0)?;
            let rotation = principled.anisotropy_rotation;
            number("anisotropy_rotation", rotation, -1e6..=1e6)?;
            let thickness = principled.iridescence_thickness_min;
            number(
                "iridescence_thickness_min",
                thickness,
                0.0..=MAX_FILM_THICKNESS,
            )?;
        }
        if let Surface::Blend { weight, .. } = *self {
            number("weight", weight, 0.0..=1.0)?;
        }
        Ok(())
    }
}

impl MaterialTextures {
    /// Checks all numbers of the material's textures against their valid ranges, given the number of textures of the
    /// scene. The error names the field.
    fn numbers(&self, texture_count: usize) -> Checked {
        for (parameter, map) in &self.textures {
            if map.texture as usize >= texture_count {
                let field = format!("texture of {parameter:?}");
                let expected = format_args!("an index below {texture_count}");
                return Err(unexpected(&field, map.texture, expected));
            }
        }
        number("opacity", self.opacity, 0.0..=1.0)?;
        number("cutoff", self.cutoff, 0.0..=1.0)?;
        number("normal_scale", self.normal_scale, -100.0..=100.0)?;
        number("coat_normal_scale", self.coat_normal_scale, -100.0..=100.0)
    }
}

impl Medium {
    /// Checks all numbers of the medium against their valid ranges. The error names the field.
    pub(super) fn numbers(&self) -> Checked {
        let coefficients = *COEFFICIENTS.start() as f32..=*COEFFICIENTS.end() as f32;
        channels("scattering", self.scattering, coefficients.clone())?;
        channels("absorption", self.absorption, coefficients)?;
        let max = MAX_ANISOTROPY as f32;
        number("anisotropy", self.anisotropy, -max..=max)
    }
}

impl Image {
    /// Checks that the image has as many texels as its size says, and that all are finite.
    fn numbers(&self) -> Checked {
        let (width, height) = (self.width, self.height);
        if width == 0 || height == 0 {
            let size = format_args!("{width}x{height}");
            return Err(unexpected("size", size, "at least 1x1 texel"));
        }
        let count = match &self.texels {
            Texels::Bytes(texels) => texels.len(),
            Texels::Words(texels) => texels.len(),
            Texels::Floats(texels) => texels.len(),
        };
        let expected = u64::from(width) * u64::from(height);
        if count as u64 != expected {
            return Err(format!(
                "has {count} texels, expected {width} times {height}, which is {expected}"
            ));
        }
        if let Texels::Floats(texels) = &self.texels {
            let texels = texels.as_flattened();
            if let Some(place) = texels.par_iter().position_first(|texel| !texel.is_finite()) {
                let (texel, value) = (place / 4, texels[place]);
                return Err(format!("texel {texel} is {value}, expected finite numbers"));
            }
        }
        Ok(())
    }
}

impl Light {
    /// Checks all numbers of the light against their valid ranges. The error names the field.
    fn numbers(&self) -> Checked {
        match self {
            Light::Point {
                position: at,
                intensity,
            } => {
                position("position", *at)?;
                light("intensity", *intensity)
            }
            Light::Spot {
                position: at,
                direction: axis,
                intensity,
                inner_degrees,
                outer_degrees,
                falloff: _,
            } => {
                position("position", *at)?;
                direction("direction", *axis)?;
                light("intensity", *intensity)?;
                number("outer_degrees", *outer_degrees, 0.0..=90.0)?;
                number("inner_degrees", *inner_degrees, 0.0..=*outer_degrees)
            }
            Light::Directional {
                direction: along,
                irradiance,
                angle_degrees,
            } => {
                direction("direction", *along)?;
                light("irradiance", *irradiance)?;
                match *angle_degrees {
                    0.0 | 0.01..=90.0 => Ok(()),
                    angle => Err(unexpected("angle_degrees", angle, "0.01 to 90, or 0")),
                }
            }
            Light::Environment(environment) => environment.numbers(),
        }
    }
}

impl Environment {
    /// Checks size, scale, rotation and texels. The error names the field.
    fn numbers(&self) -> Checked {
        let count = self.radiances.len();
        if self.width == 0 || count == 0 || !count.is_multiple_of(self.width as usize) {
            return Err(format!(
                "has {count} radiances with a width of {}, expected whole rows of at least 1 texel",
                self.width
            ));
        }
        number("scale", self.scale, 0.0..=f32::MAX)?;
        if !(0.0..1.0).contains(&self.turns) {
            return Err(unexpected("turns", self.turns, "0 to below 1"));
        }
        let is_valid = |value: f32| value.is_finite() && value >= 0.0;
        let mut texels = self.radiances.iter().enumerate();
        if let Some((texel, value)) =
            texels.find(|(_, value)| !value.to_array().into_iter().all(is_valid))
        {
            return Err(format!(
                "radiance {texel} is {value}, expected finite numbers of 0 or more"
            ));
        }
        match self.brightest().max_element() < SAMPLE_LIMIT {
            true => Ok(()),
            false => Err(format!(
                "scale is {}, which makes it too bright for the film; lower it",
                self.scale
            )),
        }
    }
}
