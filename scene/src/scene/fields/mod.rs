//! The values of a scene that users edit interactively: those of materials, lights, sky, background and camera.
//!
//! A field has the name that it has in a scene file, so that an edit can be saved there. `surface`, `light` and
//! `camera` list the fields, each once.

mod camera;
mod edits;
mod light;
mod surface;

use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};

use super::{
    Absorption, Background, Camera, Environment, EnvironmentSource, Light, MaterialTextures, Scene,
    Surface,
};

pub use edits::FieldEdit;
pub(crate) use surface::fields_of_material;

/// A part of a scene that has editable fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The material with this index in [`Scene::materials`].
    Material(usize),
    /// The light with this index in [`Scene::lights`]. The sun of a sun with sky belongs to the sky before it.
    Light(usize),
    /// The constant radiance [`Scene::sky`].
    Sky,
    /// The background, [`Scene::background`].
    Background,
    /// The camera.
    Camera,
}

/// The value of an editable field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A number in the unit of the field.
    Number(f32),
    /// A color or radiance: linear sRGB, 0 or more per channel.
    Color(#[serde(with = "super::camera::numbers")] Vec3),
    /// The absorption of a body.
    #[serde(skip)]
    Absorption(Absorption),
    /// The background of a scene.
    #[serde(skip)]
    Background(Background),
}

/// The type of the value of an editable field, with its valid range. [`FieldKind::clamped`] replaces values outside by
/// the nearest valid ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind {
    /// A number.
    Number(NumberKind),
    /// A color, 0 to `max` per channel.
    Color {
        /// Largest valid value of a channel.
        max: f32,
    },
    /// The light of a source, 0 to [`MAX_LIGHT`] per channel: a color times a strength.
    Light {
        /// Unit of each channel.
        unit: &'static str,
    },
    /// A number per color channel that is no color, such as an index of refraction.
    Channels {
        /// Unit and range of each number.
        number: NumberKind,
        /// Identifiers of the numbers, for red, green and blue.
        ids: [&'static str; 3],
    },
    /// The absorption of a body.
    Absorption,
    /// The background of a scene.
    Background,
}

/// The unit and the range of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NumberKind {
    /// Unit; empty for a number without one.
    pub unit: &'static str,
    /// Smallest valid value.
    pub min: f32,
    /// Largest valid value.
    pub max: f32,
    /// Range of a slider, which may be smaller than the valid range.
    pub slider: (f32, f32),
    /// Whether a slider is logarithmic. Its lower end then stands for `min` if that is 0.
    pub is_logarithmic: bool,
    /// Whether only whole numbers are valid. Others are rounded.
    pub is_whole: bool,
    /// Names of the numbers `min`, `min + 1` and so on, which are displayed instead of them. Empty for most kinds.
    pub names: &'static [&'static str],
}

impl NumberKind {
    /// Returns the number clamped to the valid range, and rounded if only whole numbers are valid. NaN becomes the
    /// smallest valid number.
    pub fn clamped(&self, value: f32) -> f32 {
        match value {
            value if value.is_nan() => self.min,
            value if self.is_whole => value.clamp(self.min, self.max).round(),
            value => value.clamp(self.min, self.max),
        }
    }

    /// Returns the name that is displayed instead of a number; `None` if it has none.
    pub fn name_of(&self, value: f32) -> Option<&'static str> {
        let place = value - self.min;
        let named = place >= 0.0 && place < self.names.len() as f32;
        named.then(|| self.names[place as usize])
    }

    /// Returns whether each valid number has a name, so that the number stands for a choice.
    pub fn is_choice(&self) -> bool {
        self.names.len() as f32 > self.max - self.min
    }
}

/// An editable field with its present value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// Name of the field in a scene file, unique within its part.
    pub name: &'static str,
    /// Name that users see.
    pub label: &'static str,
    /// Type of the value, such as a number or a color, and its valid range.
    pub kind: FieldKind,
    /// Present value.
    pub value: FieldValue,
    /// Whether the value is multiplied by a texture.
    pub is_textured: bool,
}

impl Field {
    /// Creates a field without a texture.
    fn new(name: &'static str, label: &'static str, kind: FieldKind, value: FieldValue) -> Field {
        Field {
            name,
            label,
            kind,
            value,
            is_textured: false,
        }
    }

    /// Creates a field of a number, without a texture.
    fn of_number(name: &'static str, label: &'static str, kind: FieldKind, value: f32) -> Field {
        Field::new(name, label, kind, FieldValue::Number(value))
    }
}

/// Largest value of a channel of a [`FieldKind::Light`], in the field's unit: the largest `f32` below 2²⁴.
pub const MAX_LIGHT: f32 = 16_777_215.0;

/// All values of a part of a scene at one time, to restore them later to the bit.
#[derive(Clone, Debug, PartialEq)]
pub struct PartState(State);

/// The values of a part, by its kind.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// The material, and its textures if it has an entry in [`Scene::maps`].
    Material(Surface, Option<MaterialTextures>),
    /// The light and, if it is a sky with a sun, the sun.
    Lights(Vec<Light>),
    Sky(Vec3),
    Background(Background),
    Camera(Camera),
}

/// A mutable field of a part, while the part's fields are listed.
pub(super) struct Entry<'a> {
    name: &'static str,
    label: &'static str,
    kind: FieldKind,
    slot: Slot<'a>,
}

/// The place where the value of a field is stored.
pub(super) enum Slot<'a> {
    Number(&'a mut f32),
    /// A number of a scene file in full precision.
    Wide(&'a mut f64),
    Color(&'a mut Vec3),
    /// A color of a scene file in full precision.
    WideColor(&'a mut DVec3),
    Absorption(&'a mut Absorption),
}

impl Slot<'_> {
    fn value(&self) -> FieldValue {
        match self {
            Slot::Number(number) => FieldValue::Number(**number),
            Slot::Wide(number) => FieldValue::Number(**number as f32),
            Slot::Color(color) => FieldValue::Color(**color),
            Slot::WideColor(color) => FieldValue::Color(color.as_vec3()),
            Slot::Absorption(absorption) => FieldValue::Absorption(**absorption),
        }
    }
}

impl Entry<'_> {
    /// Returns the field, which has no texture.
    fn field(&self) -> Field {
        Field::new(self.name, self.label, self.kind, self.slot.value())
    }

    /// Stores a value, clamped to the range of the field. Does nothing if the value has the wrong type.
    fn store(self, value: FieldValue) {
        match (self.slot, self.kind.clamped(value)) {
            (Slot::Number(slot), FieldValue::Number(value)) => *slot = value,
            (Slot::Wide(slot), FieldValue::Number(value)) => *slot = as_written(value),
            (Slot::Color(slot), FieldValue::Color(value)) => *slot = value,
            (Slot::WideColor(slot), FieldValue::Color(value)) => {
                *slot = DVec3::from_array(value.to_array().map(as_written));
            }
            (Slot::Absorption(slot), FieldValue::Absorption(value)) => *slot = value,
            _ => {}
        }
    }
}

impl FieldKind {
    /// Returns the value clamped to the valid range. NaN becomes the smallest valid value.
    pub fn clamped(self, value: FieldValue) -> FieldValue {
        let color = |color: Vec3, max: f32| {
            let channel = number_kind("", (0.0, max), (0.0, max), false);
            Vec3::from_array(color.to_array().map(|value| channel.clamped(value)))
        };
        match (self, value) {
            (FieldKind::Number(kind), FieldValue::Number(value)) => {
                FieldValue::Number(kind.clamped(value))
            }
            (FieldKind::Color { max }, FieldValue::Color(value)) => {
                FieldValue::Color(color(value, max))
            }
            (FieldKind::Light { .. }, FieldValue::Color(value)) => {
                FieldValue::Color(color(value, MAX_LIGHT))
            }
            (FieldKind::Channels { number, .. }, FieldValue::Color(value)) => {
                let channels = value.to_array();
                FieldValue::Color(Vec3::from_array(
                    channels.map(|channel| number.clamped(channel)),
                ))
            }
            (_, FieldValue::Absorption(absorption)) => FieldValue::Absorption(absorption.clamped()),
            (_, FieldValue::Background(Background::Color(radiance))) => {
                FieldValue::Background(Background::Color(color(radiance, MAX_LIGHT)))
            }
            (_, value) => value,
        }
    }

    /// Returns whether a value is of this kind, such as a number or a color.
    pub fn accepts(self, value: FieldValue) -> bool {
        match self {
            FieldKind::Number(_) => matches!(value, FieldValue::Number(_)),
            FieldKind::Color { .. } | FieldKind::Light { .. } | FieldKind::Channels { .. } => {
                matches!(value, FieldValue::Color(_))
            }
            FieldKind::Absorption => matches!(value, FieldValue::Absorption(_)),
            FieldKind::Background => matches!(value, FieldValue::Background(_)),
        }
    }
}

/// Returns the number that a scene file contains after `value` was written to it with the fewest digits.
pub(super) fn as_written(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// Creates the kind of a fraction, from 0 to 1.
pub(super) const fn fraction() -> FieldKind {
    number("", (0.0, 1.0), (0.0, 1.0))
}

/// Creates the kind of a number with a linear slider.
pub(super) const fn number(unit: &'static str, range: (f32, f32), slider: (f32, f32)) -> FieldKind {
    FieldKind::Number(number_kind(unit, range, slider, false))
}

/// Creates the kind of a number with a logarithmic slider, whose range is above 0.
pub(super) const fn logarithmic(
    unit: &'static str,
    range: (f32, f32),
    slider: (f32, f32),
) -> FieldKind {
    FieldKind::Number(number_kind(unit, range, slider, true))
}

/// Creates the kind of a whole number within a range, whose first numbers have these names.
pub(super) const fn whole(range: (f32, f32), names: &'static [&'static str]) -> FieldKind {
    FieldKind::Number(NumberKind {
        is_whole: true,
        names,
        ..number_kind("", range, range, false)
    })
}

/// Creates the kind of a number, given by its unit, its allowed range and the ends of its slider.
pub(super) const fn number_kind(
    unit: &'static str,
    (min, max): (f32, f32),
    slider: (f32, f32),
    is_logarithmic: bool,
) -> NumberKind {
    NumberKind {
        unit,
        min,
        max,
        slider,
        is_logarithmic,
        is_whole: false,
        names: &[],
    }
}

/// The kind of a color of which each channel is at most 1.
pub(super) const COLOR: FieldKind = FieldKind::Color { max: 1.0 };

/// Unit of a radiance.
const RADIANCE: &str = "W/(sr·m²)";

/// The kind of a radiance.
pub(super) const RADIANT: FieldKind = FieldKind::Light { unit: RADIANCE };

/// The reason why a field cannot have a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The part has no such field.
    #[error("there is no such value")]
    Missing,
    /// The value is of another kind than the field, such as a number for a color.
    #[error("expected another kind of value, such as a number or a color")]
    OtherKind,
    /// The scene would be invalid, for this reason, such as that the sun is below the horizon.
    #[error("{0}")]
    Impossible(String),
}

impl Scene {
    /// Returns the parts that have editable fields: materials, lights, sky, background and camera, in this order.
    pub fn parts(&self) -> Vec<Part> {
        let materials = (0..self.materials.len()).map(Part::Material);
        let lights = (0..self.lights.len()).map(Part::Light);
        let others = [Part::Sky, Part::Background, Part::Camera];
        let parts = materials.chain(lights).chain(others);
        parts
            .filter(|&part| !self.fields(part).is_empty())
            .collect()
    }

    /// Returns the name of a part for people: that of the material, or the kind of the part with its number among the
    /// parts of that kind if there are several.
    pub fn part_name(&self, part: Part) -> String {
        match part {
            Part::Material(index) => match self.material_names.get(index) {
                Some(name) if !name.is_empty() => name.clone(),
                _ => format!("material {}", index + 1),
            },
            Part::Light(index) => {
                let Some(light) = self.lights.get(index) else {
                    return String::new();
                };
                let kind = light.kind_name();
                let is_same = |light: &&Light| light.kind_name() == kind;
                if self.lights.iter().filter(is_same).count() == 1 {
                    return kind.to_owned();
                }
                let number = self.lights[..=index].iter().filter(is_same).count();
                format!("{kind} {number}")
            }
            Part::Sky => "sky".to_owned(),
            Part::Background => "background".to_owned(),
            Part::Camera => "camera".to_owned(),
        }
    }

    /// Returns the fields of a part with their present values, or an empty list if there is no such part.
    pub fn fields(&self, part: Part) -> Vec<Field> {
        match part {
            Part::Material(index) => self.material_fields(index),
            Part::Light(index) if self.is_sun_of_sky(index) => Vec::new(),
            Part::Light(index) => self.lights.get(index).map_or_else(Vec::new, Light::fields),
            Part::Sky => vec![Field::new(
                "sky",
                "sky",
                RADIANT,
                FieldValue::Color(self.sky),
            )],
            Part::Background => vec![Field::new(
                "background",
                "background",
                FieldKind::Background,
                FieldValue::Background(self.background),
            )],
            Part::Camera => self.camera.fields(),
        }
    }

    /// Returns a field of a part, by its name in a scene file; `None` if there is none.
    pub fn field(&self, part: Part, name: &str) -> Option<Field> {
        let mut fields = self.fields(part).into_iter();
        fields.find(|field| field.name == name)
    }

    /// Returns the scene with another value of a field, clamped to its range.
    ///
    /// # Errors
    /// If the part has no such field, or the value is of another kind or impossible.
    pub fn with_field(
        &self,
        part: Part,
        name: &str,
        value: FieldValue,
    ) -> Result<Scene, FieldError> {
        let field = self.field(part, name).ok_or(FieldError::Missing)?;
        if !field.kind.accepts(value) {
            return Err(FieldError::OtherKind);
        }
        let mut scene = self.clone();
        match part {
            Part::Material(index) => scene
                .set_material(index, name, value)
                .map_err(|error| FieldError::Impossible(error.to_string()))?,
            Part::Light(index) => scene
                .set_light(index, name, value)
                .map_err(FieldError::Impossible)?,
            Part::Sky => {
                if let FieldValue::Color(sky) = field.kind.clamped(value) {
                    scene.sky = sky;
                }
            }
            Part::Background => {
                if let FieldValue::Background(background) = field.kind.clamped(value) {
                    scene.background = background;
                }
            }
            Part::Camera => scene.camera = scene.camera.with_field(name, value),
        }
        Ok(scene)
    }

    /// Returns all values of a part, for [`Scene::with_part_state`]; `None` if there is no such part.
    pub fn part_state(&self, part: Part) -> Option<PartState> {
        Some(PartState(match part {
            Part::Material(index) => {
                let maps = self.maps_of(index).cloned();
                State::Material(*self.materials.get(index)?, maps)
            }
            Part::Light(index) => {
                let sun = self.lights.get(index + 1);
                let sun = sun.filter(|_| self.is_sun_of_sky(index + 1));
                let lights = [self.lights.get(index)?].into_iter().chain(sun);
                State::Lights(lights.cloned().collect())
            }
            Part::Sky => State::Sky(self.sky),
            Part::Background => State::Background(self.background),
            Part::Camera => State::Camera(self.camera),
        }))
    }

    /// Returns the scene with earlier values of a part. Returns it unchanged if the part is of another kind or missing.
    pub fn with_part_state(&self, part: Part, state: &PartState) -> Scene {
        let mut scene = self.clone();
        match (part, &state.0) {
            (Part::Material(index), State::Material(surface, maps)) => {
                if let Some(place) = scene.materials.get_mut(index) {
                    *place = *surface;
                    scene.set_maps(index, maps.clone().unwrap_or_default());
                }
            }
            (Part::Light(index), State::Lights(lights)) => {
                let places = scene.lights.iter_mut().skip(index);
                for (place, light) in places.zip(lights) {
                    place.clone_from(light);
                }
            }
            (Part::Sky, State::Sky(sky)) => scene.sky = *sky,
            (Part::Background, State::Background(background)) => scene.background = *background,
            (Part::Camera, State::Camera(camera)) => scene.camera = *camera,
            _ => {}
        }
        scene
    }

    /// Returns whether the light with this index is the sun that belongs to the sky before it.
    pub(crate) fn is_sun_of_sky(&self, index: usize) -> bool {
        let sky = index.checked_sub(1).and_then(|sky| self.lights.get(sky));
        matches!(
            sky,
            Some(Light::Environment(Environment { source: EnvironmentSource::SunSky(settings), .. }))
                if settings.has_sun
        )
    }

    /// Sets a field of a light, and the sun of a sky with it. Fails with the reason if the value is impossible.
    fn set_light(&mut self, index: usize, name: &str, value: FieldValue) -> Result<(), String> {
        let (light, sun) = self.lights[index].with_field(name, value)?;
        self.lights[index] = light;
        if let (Some(sun), Some(place)) = (sun, self.lights.get_mut(index + 1)) {
            *place = sun;
        }
        Ok(())
    }
}
