//! Material parameters that can be edited interactively: roughness, colour and emission strength.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::Surface;

/// A scalar parameter of a material that viewers can edit while rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EditableParameter {
    /// Roughness, from 0 or the material's minimum to 1: the GGX alpha, but for `Principled` its square root.
    Roughness,
    /// Red channel of the material's colour, 0..=1, linear sRGB.
    Red,
    /// Green channel of the material's colour, 0..=1, linear sRGB.
    Green,
    /// Blue channel of the material's colour, 0..=1, linear sRGB.
    Blue,
    /// Largest channel of the emitted radiance, 0..=1e6 W·sr⁻¹·m⁻². Changing it scales all channels.
    Strength,
}

/// Largest value of [`EditableParameter::Strength`], W·sr⁻¹·m⁻².
const MAX_STRENGTH: f32 = 1e6;

impl EditableParameter {
    /// All parameters, in the order in which a user interface steps through them.
    pub const ALL: [EditableParameter; 5] = [
        EditableParameter::Roughness,
        EditableParameter::Red,
        EditableParameter::Green,
        EditableParameter::Blue,
        EditableParameter::Strength,
    ];

    /// Returns the parameter's lower-case English name, as serde writes it.
    pub fn name(self) -> &'static str {
        match self {
            EditableParameter::Roughness => "roughness",
            EditableParameter::Red => "red",
            EditableParameter::Green => "green",
            EditableParameter::Blue => "blue",
            EditableParameter::Strength => "strength",
        }
    }

    /// Returns the index of the colour channel: 0 for red, 1 for green, 2 for blue, and 0 for other parameters.
    fn channel(self) -> usize {
        match self {
            EditableParameter::Green => 1,
            EditableParameter::Blue => 2,
            EditableParameter::Roughness | EditableParameter::Red | EditableParameter::Strength => {
                0
            }
        }
    }
}

impl Surface {
    /// Returns the value of a parameter in the unit that [`EditableParameter`] states, or `None` if this kind of
    /// surface does not have it.
    pub fn parameter(&self, parameter: EditableParameter) -> Option<f32> {
        let mut surface = *self;
        let fields = surface.editable();
        match parameter {
            EditableParameter::Roughness => fields.roughness.map(|(_, roughness, _)| *roughness),
            EditableParameter::Strength => fields.emission.map(|(_, light)| light.max_element()),
            EditableParameter::Red | EditableParameter::Green | EditableParameter::Blue => {
                fields.color.map(|(_, color)| color[parameter.channel()])
            }
        }
    }

    /// Returns a copy of the surface with one parameter set to `value`, clamped to the parameter's range; NaN counts as
    /// 0.
    ///
    /// Returns `None` if this kind of surface does not have the parameter. Setting the strength of a black emission
    /// makes it grey.
    pub fn with_parameter(&self, parameter: EditableParameter, value: f32) -> Option<Surface> {
        let mut changed = *self;
        let fields = changed.editable();
        let value = if value.is_nan() { 0.0 } else { value };
        match parameter {
            EditableParameter::Roughness => {
                let (_, roughness, min) = fields.roughness?;
                *roughness = value.clamp(min, 1.0);
            }
            EditableParameter::Strength => {
                let (_, light) = fields.emission?;
                let (value, max) = (value.clamp(0.0, MAX_STRENGTH), light.max_element());
                *light = if max > 0.0 {
                    *light * (value / max)
                } else {
                    Vec3::splat(value)
                };
            }
            EditableParameter::Red | EditableParameter::Green | EditableParameter::Blue => {
                let (_, color) = fields.color?;
                color[parameter.channel()] = value.clamp(0.0, 1.0);
            }
        }
        Some(changed)
    }
}
