//! Editing of a scene's parts: which part is selected, and which properties it has.
//!
//! A property is what a user changes: a number or a color. It equals a field of the scene file, except that some
//! fields have several properties. The light of a source has a strength and a color, an index of refraction one number
//! per channel, the absorption of a body a color and a distance. Window and page display the same properties.

mod numbers;

use std::{collections::HashMap, sync::Arc};

use glam::Vec3;
use serde::Serialize;

use self::numbers::{DIGITS, STEP, range_refusal, stepped};
pub(crate) use self::numbers::{rounded, with_unit};

use super::light_groups::{LightGroup, NUMBER, listed_part, listed_parts};
use raysieve_scene::{
    Background, Camera, Field, FieldKind, FieldValue, MAX_LIGHT, NumberKind, Part, Scene,
};

/// The state of editing: the scene without edits, and the selection.
pub(super) struct Editing {
    /// Scene without the user's edits, as it was last loaded or saved.
    pub(super) read: Arc<Scene>,
    /// Part whose properties are displayed; `None` if none is selected.
    pub(super) selected: Option<Part>,
    /// Number of the component that keys change, among those of the selected part.
    component: usize,
    /// Colors of lights whose strength is 0, by part and field. The largest channel is 1.
    hues: HashMap<(Part, &'static str), Vec3>,
}

/// The scene and the camera that is moved by the user.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) scene: &'a Scene,
    pub(super) camera: Camera,
}

impl Seen<'_> {
    fn fields(self, part: Part) -> Vec<Field> {
        match part {
            Part::Camera => self.camera.fields(),
            part => self.scene.fields(part),
        }
    }
}

/// A value that users edit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Property {
    /// Identifier, unique within the part.
    pub(crate) id: &'static str,
    pub(crate) label: String,
    /// Number, or color in linear sRGB.
    pub(crate) value: FieldValue,
    /// Unit and range of a number; `None` for a color.
    pub(crate) number: Option<NumberKind>,
    #[serde(skip)]
    aspect: Aspect,
}

/// The part of a field that a property stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aspect {
    Whole,
    /// The largest channel of a light, in the unit of the field.
    Strength,
    /// The color of a light: the light divided by its strength.
    Hue,
    /// A number per color channel: 0 for red, 1 for green, 2 for blue.
    Channel(usize),
    /// The color of white light after some distance in an absorbing body.
    AbsorbedColor,
    /// The distance in metres after which white light in an absorbing body has the color of [`Aspect::AbsorbedColor`].
    AbsorptionDistance,
    BackgroundKind,
}

/// A number that keys change: a property, or a channel of a color.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Component {
    /// Number of the property among those of the part.
    pub(crate) property: usize,
    /// Channel of a color: 0 for red, 1 for green, 2 for blue. `None` for a number.
    channel: Option<usize>,
}

const STRENGTH: &str = "strength";

/// A number from 0 to 1, such as a channel of a color.
pub(crate) const FRACTION: NumberKind = NumberKind {
    unit: "",
    min: 0.0,
    max: 1.0,
    slider: (0.0, 1.0),
    is_logarithmic: false,
    is_whole: false,
    names: &[],
};

/// The unit and range of a light's strength, without the unit.
const STRENGTHS: NumberKind = NumberKind {
    max: MAX_LIGHT,
    slider: (0.01, 1000.0),
    is_logarithmic: true,
    ..FRACTION
};

/// Identifier of the distance after which light has the color of an absorbing body.
const ABSORPTION_DISTANCE: &str = "absorption_distance";

/// The unit and range of the distance after which light has the color of an absorbing body.
const DISTANCES: NumberKind = NumberKind {
    unit: "m",
    min: 1e-6,
    max: 1e8,
    slider: (0.001, 100.0),
    is_logarithmic: true,
    ..FRACTION
};

const BACKGROUND_KIND: &str = "background_kind";

/// Kinds of backgrounds, by the number of [`background_kind`].
pub(crate) const BACKGROUNDS: NumberKind = NumberKind {
    max: 2.0,
    slider: (0.0, 2.0),
    is_whole: true,
    names: &["environment", "color", "transparent"],
    ..FRACTION
};

/// Displayed brightness of a background that becomes a color, if the scene has none.
const BACKGROUND_GRAY: f32 = 0.5;

const RADIANCE: &str = "W/(sr·m²)";

/// Names of the channels of a color.
const CHANNELS: [&str; 3] = ["red", "green", "blue"];

impl Editing {
    /// Begins editing of a scene that has no edits, without a selected part.
    pub(super) fn new(read: Arc<Scene>) -> Self {
        Self {
            read,
            selected: None,
            component: 0,
            hues: HashMap::new(),
        }
    }

    /// Continues with the same scene after it was loaded again. Keeps the selection if `is_alike`: if both have the
    /// same parts.
    pub(super) fn replace(&mut self, read: Arc<Scene>, is_alike: bool) {
        let selected = self.selected.filter(|_| is_alike);
        *self = Self {
            selected,
            component: self.component,
            ..Self::new(read)
        };
    }

    /// Selects a part of the scene. Does nothing if the part has no properties.
    pub(super) fn select(&mut self, seen: Seen<'_>, part: Part) {
        if self.selected != Some(part) && !seen.fields(part).is_empty() {
            self.selected = Some(part);
            self.component = 0;
        }
    }

    /// Selects another light of the same group by its number, which is clamped to the valid ones. Keys go on changing the
    /// same component.
    ///
    /// # Errors
    /// A message if the part is in no group, or `value` is no number.
    pub(super) fn select_number(
        &mut self,
        scene: &Scene,
        part: Part,
        value: FieldValue,
    ) -> Result<(), &'static str> {
        match (LightGroup::of(scene, part), value) {
            (Some(group), FieldValue::Number(number)) => {
                self.selected = Some(group.light(number));
                Ok(())
            }
            _ => Err("unknown number of a light"),
        }
    }

    /// Selects the next part (`forwards`) or the previous one, cyclically. Starts with the first part if none is
    /// selected.
    pub(super) fn choose(&mut self, scene: &Scene, forwards: bool) {
        let parts = listed_parts(scene);
        let listed = self.selected.map(|part| listed_part(scene, part));
        let place = parts.iter().position(|info| Some(info.part) == listed);
        let place = match (place, forwards) {
            (None, _) => 0,
            (Some(place), true) => (place + 1) % parts.len(),
            (Some(place), false) => (place + parts.len() - 1) % parts.len(),
        };
        self.selected = parts.get(place).map(|info| info.part);
        self.component = 0;
    }

    /// Selects the next component of the selected part, cyclically, or a part if none is selected.
    pub(super) fn choose_component(&mut self, seen: Seen<'_>) {
        let Some(part) = self.selected else {
            return self.choose(seen.scene, true);
        };
        let count = components(&self.properties(seen, part)).len();
        self.component = (self.component + 1) % count.max(1);
    }

    /// Returns the component that keys change; `None` if no part is selected.
    pub(super) fn component(&self, seen: Seen<'_>) -> Option<Component> {
        let properties = self.properties(seen, self.selected?);
        components(&properties).into_iter().nth(self.component)
    }

    /// Returns the selected part, and the identifier and the value of the property of which the selected component was
    /// changed by `steps` key presses. Returns `None` if nothing is selected.
    pub(super) fn stepped(
        &self,
        seen: Seen<'_>,
        steps: f32,
    ) -> Option<(Part, &'static str, FieldValue)> {
        let part = self.selected?;
        let properties = self.properties(seen, part);
        let component = components(&properties).into_iter().nth(self.component)?;
        let property = &properties[component.property];
        let value = match (property.value, property.number, component.channel) {
            (FieldValue::Number(number), Some(kind), _) => {
                FieldValue::Number(stepped(number, &kind, steps))
            }
            (FieldValue::Color(mut color), _, Some(channel)) => {
                color[channel] = rounded(color[channel] + STEP * steps, DIGITS);
                FieldValue::Color(color)
            }
            (value, ..) => value,
        };
        Some((part, property.id, value))
    }

    /// Returns a message with the selected part, component and value, or that nothing can be edited.
    pub(super) fn status(&self, seen: Seen<'_>) -> String {
        let (Some(part), Some(component)) = (self.selected, self.component(seen)) else {
            return "there is nothing to edit".to_owned();
        };
        let property = &self.properties(seen, part)[component.property];
        let (channel, value) = match (property.value, component.channel) {
            (FieldValue::Color(color), Some(channel)) => {
                (format!(" {}", CHANNELS[channel]), color[channel])
            }
            (FieldValue::Color(color), None) => (String::new(), color.max_element()),
            (FieldValue::Number(number), _) => (String::new(), number),
            // A property is a number or a color.
            (FieldValue::Absorption(_) | FieldValue::Background(_), _) => (String::new(), 0.0),
        };
        let of = described(seen.scene, part);
        if let Some(name) = property.number.and_then(|kind| kind.name_of(value)) {
            return format!("{of}: {} {name}", property.label);
        }
        let unit = property.number.map_or("", |kind| kind.unit);
        let value = with_unit((f64::from(value) * 1e4).round() / 1e4, unit);
        format!("{of}: {}{channel} {value}", property.label)
    }

    /// Returns a message about a number outside the valid range of the property `id` of a part, see [`range_refusal`].
    /// Returns `None` for another value, or if there is no such property.
    pub(super) fn range_refusal(
        &self,
        seen: Seen<'_>,
        part: Part,
        id: &str,
        value: FieldValue,
    ) -> Option<String> {
        let FieldValue::Number(number) = value else {
            return None;
        };
        let properties = self.properties(seen, part);
        let property = properties.iter().find(|property| property.id == id)?;
        range_refusal(&property.label, number, &property.number?)
    }

    pub(super) fn properties(&self, seen: Seen<'_>, part: Part) -> Vec<Property> {
        let fields = seen.fields(part).into_iter();
        let properties = fields.flat_map(|field| self.field_properties(part, &field));
        let number = LightGroup::of(seen.scene, part).map(|group| Property {
            id: NUMBER,
            label: group.label(),
            value: FieldValue::Number(group.number()),
            number: Some(group.numbers()),
            aspect: Aspect::Whole,
        });
        properties.chain(number).collect()
    }

    fn field_properties(&self, part: Part, field: &Field) -> Vec<Property> {
        let label = match field.is_textured {
            true => format!("{} × texture", field.label),
            false => field.label.to_owned(),
        };
        let whole = Property {
            id: field.name,
            label,
            value: field.value,
            number: None,
            aspect: Aspect::Whole,
        };
        match (field.kind, field.value) {
            (FieldKind::Light { unit }, FieldValue::Color(light)) => {
                self.light_properties(part, field, light, unit).into()
            }
            (FieldKind::Channels { number, ids }, FieldValue::Color(color)) => {
                let channels = [0, 1, 2].map(|channel| Property {
                    id: ids[channel],
                    label: format!("{} {}", field.label, CHANNELS[channel]),
                    value: FieldValue::Number(color[channel]),
                    number: Some(number),
                    aspect: Aspect::Channel(channel),
                });
                channels.into()
            }
            (_, FieldValue::Absorption(absorption)) => vec![
                Property {
                    label: format!("{} color", field.label),
                    value: FieldValue::Color(absorption.color()),
                    aspect: Aspect::AbsorbedColor,
                    ..whole
                },
                Property {
                    id: ABSORPTION_DISTANCE,
                    label: "reached after".to_owned(),
                    value: FieldValue::Number(absorption.distance() as f32),
                    number: Some(DISTANCES),
                    aspect: Aspect::AbsorptionDistance,
                },
            ],
            (_, FieldValue::Background(background)) => {
                let mut properties = vec![Property {
                    id: BACKGROUND_KIND,
                    value: FieldValue::Number(background_kind(background) as f32),
                    number: Some(BACKGROUNDS),
                    aspect: Aspect::BackgroundKind,
                    ..whole
                }];
                if let Background::Color(radiance) = background {
                    properties.extend(self.light_properties(part, field, radiance, RADIANCE));
                }
                properties
            }
            (FieldKind::Number(kind), _) => vec![Property {
                number: Some(kind),
                ..whole
            }],
            _ => vec![whole],
        }
    }

    /// Returns the properties of the light of a source, with its unit: its strength and its color.
    fn light_properties(
        &self,
        part: Part,
        field: &Field,
        light: Vec3,
        unit: &'static str,
    ) -> [Property; 2] {
        [
            Property {
                id: STRENGTH,
                label: strength_label(field),
                value: FieldValue::Number(light.max_element()),
                number: Some(NumberKind { unit, ..STRENGTHS }),
                aspect: Aspect::Strength,
            },
            Property {
                id: field.name,
                label: format!("{} color", field.label),
                value: FieldValue::Color(self.hue(part, field.name, light)),
                number: None,
                aspect: Aspect::Hue,
            },
        ]
    }

    /// Returns the color of a light, whose largest channel is 1.
    fn hue(&self, part: Part, field: &'static str, light: Vec3) -> Vec3 {
        match light.max_element() {
            0.0 => self.hues.get(&(part, field)).copied().unwrap_or(Vec3::ONE),
            strength => light / strength,
        }
    }

    /// Returns the name and the value of the field that changes if a property gets the value `value`. Returns `None` if
    /// there is no such property, or if the value is a number and not a color, or the other way round.
    pub(super) fn field_value(
        &mut self,
        seen: Seen<'_>,
        part: Part,
        id: &str,
        value: FieldValue,
    ) -> Option<(&'static str, FieldValue)> {
        let mut fields = seen.fields(part).into_iter();
        let (field, aspect) = fields.find_map(|field| {
            let properties = self.field_properties(part, &field);
            let property = properties.iter().find(|property| property.id == id);
            property.map(|property| (field, property.aspect))
        })?;
        let after = match (aspect, field.value, value) {
            (Aspect::Whole, _, value) if field.kind.accepts(value) => value,
            (Aspect::Strength | Aspect::Hue, FieldValue::Color(light), value) => {
                FieldValue::Color(self.light_after(part, field.name, light, value)?)
            }
            (
                Aspect::Strength | Aspect::Hue,
                FieldValue::Background(Background::Color(light)),
                value,
            ) => {
                let light = self.light_after(part, field.name, light, value)?;
                FieldValue::Background(Background::Color(light))
            }
            (Aspect::Channel(channel), FieldValue::Color(mut color), FieldValue::Number(value)) => {
                color[channel] = value;
                FieldValue::Color(color)
            }
            (
                Aspect::AbsorbedColor,
                FieldValue::Absorption(absorption),
                FieldValue::Color(color),
            ) => FieldValue::Absorption(absorption.with_color(color)),
            (
                Aspect::AbsorptionDistance,
                FieldValue::Absorption(absorption),
                FieldValue::Number(metres),
            ) => FieldValue::Absorption(absorption.with_distance(DISTANCES.clamped(metres))),
            (Aspect::BackgroundKind, FieldValue::Background(before), FieldValue::Number(kind)) => {
                FieldValue::Background(self.background_after(seen.scene, before, kind))
            }
            _ => return None,
        };
        Some((field.name, after))
    }

    /// Returns a light after its strength, the largest channel, became the number `value`, or its hue the color
    /// `value`. Returns `None` for another value.
    ///
    /// The brightness of the color does not matter. The hue is kept under `part` and `field`, so that it returns when
    /// a strength of 0 grows again.
    fn light_after(
        &mut self,
        part: Part,
        field: &'static str,
        light: Vec3,
        value: FieldValue,
    ) -> Option<Vec3> {
        match value {
            FieldValue::Number(strength) => {
                let strength = STRENGTHS.clamped(strength);
                let hue = self.hue(part, field, light);
                self.hues.insert((part, field), hue);
                Some(match light.max_element() {
                    0.0 => hue * strength,
                    // The largest channel is exactly the strength.
                    before => light.map(|channel| match channel == before {
                        true => strength,
                        false => channel * (strength / before),
                    }),
                })
            }
            FieldValue::Color(color) => {
                let color = color.max(Vec3::ZERO);
                let hue = match color.max_element() {
                    max if max > 0.0 && max.is_finite() => color / max,
                    _ => Vec3::ONE,
                };
                let hue_before = self.hue(part, field, light);
                self.hues.insert((part, field), hue);
                let strength = light.max_element();
                // A channel that the user has not changed keeps its bits.
                Some(Vec3::from_array(std::array::from_fn(|channel| {
                    match hue[channel] == hue_before[channel] {
                        true => light[channel],
                        false => hue[channel] * strength,
                    }
                })))
            }
            FieldValue::Absorption(_) | FieldValue::Background(_) => None,
        }
    }

    /// Returns the background of a scene after its kind became `kind`, instead of that of `before`. A new color is
    /// that of the scene without edits, or else one that is displayed as gray.
    fn background_after(&self, scene: &Scene, before: Background, kind: f32) -> Background {
        let kind = BACKGROUNDS.clamped(kind) as usize;
        if kind == background_kind(before) {
            return before;
        }
        let gray = Vec3::splat(BACKGROUND_GRAY * libm::exp2f(-scene.exposure_stops));
        let color = match self.read.background {
            color @ Background::Color(_) => color,
            _ => Background::Color(gray),
        };
        let kinds = [Background::Environment, color, Background::Transparent];
        kinds.get(kind).copied().unwrap_or(before)
    }
}

/// Returns the number of the kind of a background: 0 for the environment, 1 for a color, 2 for transparent. It is an
/// index of the names of [`BACKGROUNDS`].
fn background_kind(background: Background) -> usize {
    match background {
        Background::Environment => 0,
        Background::Color(_) => 1,
        Background::Transparent => 2,
    }
}

/// Returns a part as text: its name, in quotes after the word "material" if it is one.
pub(super) fn described(scene: &Scene, part: Part) -> String {
    let name = scene.part_name(part);
    match part {
        Part::Material(index) if scene.material_names.get(index) == Some(&name) => {
            format!("material {name:?}")
        }
        _ => name,
    }
}

/// Returns the name for people of a light's strength.
fn strength_label(field: &Field) -> String {
    // A source of light has no other strength.
    let what = if field.name == "emission" {
        "emission "
    } else {
        ""
    };
    let texture = if field.is_textured { " × texture" } else { "" };
    format!("{what}{STRENGTH}{texture}")
}

fn components(properties: &[Property]) -> Vec<Component> {
    let of = |(property, value): (usize, &Property)| {
        let channels = match value.number {
            Some(_) => vec![None],
            None => vec![Some(0), Some(1), Some(2)],
        };
        let component = move |channel| Component { property, channel };
        channels.into_iter().map(component)
    };
    properties.iter().enumerate().flat_map(of).collect()
}
