//! The editable fields of lights.

use super::{COLOR, Entry, Field, FieldKind, FieldValue, Light, Slot, logarithmic, number};
use crate::scene::{Environment, EnvironmentSource, SunPosition, SunSkySettings};

/// The kind of a factor for the brightness of an environment.
const SCALE: FieldKind = logarithmic("", (0.0, 1000.0), (0.01, 100.0));

/// The kind of a rotation about the vertical axis.
const ROTATION: FieldKind = number("°", (-360.0, 360.0), (-180.0, 180.0));

/// The kind of an azimuth.
const AZIMUTH: FieldKind = number("°", (-360.0, 360.0), (0.0, 360.0));

/// Angular diameters in degrees below this one become 0.
const MIN_DIAMETER: f32 = 0.01;

impl Light {
    /// Returns a spot light whose edited angle does not exceed the other one. `inner_before` is the inner angle before
    /// the edit, which tells which angle was edited. Other lights are returned as they are.
    fn with_valid_cone(mut self, inner_before: f32) -> Light {
        if let Light::Spot {
            inner_degrees,
            outer_degrees,
            ..
        } = &mut self
        {
            match *inner_degrees == inner_before {
                true => *outer_degrees = outer_degrees.max(*inner_degrees),
                false => *inner_degrees = inner_degrees.min(*outer_degrees),
            }
        }
        self
    }

    /// Returns the name of the kind of light, for people.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Light::Point { .. } => "point light",
            Light::Spot { .. } => "spot light",
            Light::Directional { .. } => "directional light",
            Light::Environment(environment) => match environment.source {
                EnvironmentSource::Map { .. } => "environment",
                EnvironmentSource::Studio { .. } => "studio",
                EnvironmentSource::SunSky(_) => "sun and sky",
            },
        }
    }

    /// Returns the editable fields with their present values.
    pub(crate) fn fields(&self) -> Vec<Field> {
        let mut parameters = Parameters::of(self);
        parameters.entries().iter().map(Entry::field).collect()
    }

    /// Returns the light with another value of a field, clamped to its range. If the light is a sky with a sun, also
    /// returns the sun. Fails with the reason if the value is impossible.
    pub(super) fn with_field(
        &self,
        name: &str,
        value: FieldValue,
    ) -> Result<(Light, Option<Light>), String> {
        let mut parameters = Parameters::of(self);
        let mut entries = parameters.entries().into_iter();
        if let Some(entry) = entries.find(|entry| entry.name == name) {
            entry.store(value);
        }
        drop(entries);
        parameters.light(self)
    }
}

/// The editable parameters of a light, from which [`Parameters::light`] makes a light again.
enum Parameters {
    /// A point, spot or directional light, whose own fields are edited.
    Light(Light),
    /// The parameters of an environment, from which its rotation or its map is computed after an edit.
    Environment {
        scale: f32,
        source: EnvironmentSource,
    },
}

impl Parameters {
    fn of(light: &Light) -> Parameters {
        match light {
            Light::Environment(Environment { scale, source, .. }) => Parameters::Environment {
                scale: *scale,
                source: *source,
            },
            light => Parameters::Light(light.clone()),
        }
    }

    /// Returns the light with these parameters, and the sun of a sky. Everything else is that of `before`.
    fn light(self, before: &Light) -> Result<(Light, Option<Light>), String> {
        let (scale, source) = match (self, before) {
            (
                Parameters::Light(light @ Light::Spot { .. }),
                Light::Spot {
                    inner_degrees: before,
                    ..
                },
            ) => {
                return Ok((light.with_valid_cone(*before), None));
            }
            (
                Parameters::Light(Light::Directional {
                    direction,
                    irradiance,
                    angle_degrees,
                }),
                _,
            ) => {
                let light = Light::Directional {
                    direction,
                    irradiance,
                    angle_degrees: match angle_degrees {
                        ..MIN_DIAMETER => 0.0,
                        degrees => degrees,
                    },
                };
                return Ok((light, None));
            }
            (Parameters::Light(light), _) => return Ok((light, None)),
            (Parameters::Environment { scale, source }, _) => (scale, source),
        };
        let Light::Environment(before) = before else {
            return Ok((before.clone(), None));
        };
        let (environment, sun) = before.with_source(scale, source)?;
        Ok((Light::Environment(environment), sun))
    }

    /// Returns the editable fields, with the names that they have in a scene file.
    fn entries(&mut self) -> Vec<Entry<'_>> {
        let light = |name, unit, slot| Entry {
            name,
            label: "light",
            kind: FieldKind::Light { unit },
            slot: Slot::Color(slot),
        };
        let angle = |name, label, slot| Entry {
            name,
            label,
            kind: number("°", (0.0, 90.0), (0.0, 90.0)),
            slot: Slot::Number(slot),
        };
        match self {
            Parameters::Light(Light::Point { intensity, .. }) => {
                vec![light("intensity", "W/sr", intensity)]
            }
            Parameters::Light(Light::Spot {
                intensity,
                inner_degrees,
                outer_degrees,
                ..
            }) => vec![
                light("intensity", "W/sr", intensity),
                angle("inner", "full up to", inner_degrees),
                angle("outer", "ends at", outer_degrees),
            ],
            Parameters::Light(Light::Directional {
                irradiance,
                angle_degrees,
                ..
            }) => vec![
                light("irradiance", "W/m²", irradiance),
                Entry {
                    name: "angle",
                    label: "diameter",
                    kind: logarithmic("°", (0.0, 90.0), (MIN_DIAMETER, 90.0)),
                    slot: Slot::Number(angle_degrees),
                },
            ],
            // An environment has parameters of its own.
            Parameters::Light(Light::Environment(_)) => Vec::new(),
            Parameters::Environment { scale, source } => match source {
                EnvironmentSource::Map { rotate_y, .. } => {
                    vec![
                        strength(Slot::Number(scale)),
                        wide("rotate_y", "rotation", ROTATION, rotate_y),
                    ]
                }
                EnvironmentSource::Studio { azimuth, .. } => {
                    vec![
                        strength(Slot::Number(scale)),
                        wide("azimuth", "rotation", ROTATION, azimuth),
                    ]
                }
                EnvironmentSource::SunSky(settings) => settings.entries(),
            },
        }
    }
}

impl SunSkySettings {
    /// Returns the editable fields, with the names that they have in a scene file.
    fn entries(&mut self) -> Vec<Entry<'_>> {
        let elevation = number("°", (0.0, 90.0), (0.0, 90.0));
        let mut entries = vec![strength(Slot::Wide(&mut self.scale))];
        match &mut self.position {
            SunPosition::Angles {
                elevation: up,
                azimuth,
            } => entries.extend([
                wide("elevation", "elevation", elevation, up),
                wide("azimuth", "azimuth", AZIMUTH, azimuth),
            ]),
            SunPosition::Moment { moment, north } => {
                let hours = number("h (universal time)", (0.0, 24.0), (0.0, 24.0));
                entries.extend([
                    wide("time", "time", hours, &mut moment.hours),
                    wide("north", "rotation", ROTATION, north),
                ]);
            }
        }
        let haze = number("", (1.0, 10.0), (1.0, 10.0));
        entries.push(wide("turbidity", "haze", haze, &mut self.turbidity));
        entries.push(Entry {
            name: "ground",
            label: "ground",
            kind: COLOR,
            slot: Slot::WideColor(&mut self.ground),
        });
        entries
    }
}

/// Returns the field `scale` of an environment.
fn strength(slot: Slot<'_>) -> Entry<'_> {
    Entry {
        name: "scale",
        label: "strength",
        kind: SCALE,
        slot,
    }
}

/// Returns the field of a number that is stored with double precision.
fn wide<'a>(
    name: &'static str,
    label: &'static str,
    kind: FieldKind,
    slot: &'a mut f64,
) -> Entry<'a> {
    Entry {
        name,
        label,
        kind,
        slot: Slot::Wide(slot),
    }
}
