//! Material parameters that can be edited interactively: roughness, colour and emission strength.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::{Metal, Surface};
use crate::limits::MIN_ALPHA;

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

    /// Returns the index of the colour channel; 0 for parameters that are not a colour channel.
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
    /// Returns the value of a parameter, or `None` if this kind of surface does not have it.
    pub fn parameter(&self, parameter: EditableParameter) -> Option<f32> {
        let mut surface = *self;
        match parameter {
            EditableParameter::Roughness => {
                surface.roughness_mut().map(|(_, roughness, _)| *roughness)
            }
            EditableParameter::Strength => {
                surface.emission_mut().map(|(_, light)| light.max_element())
            }
            EditableParameter::Red | EditableParameter::Green | EditableParameter::Blue => surface
                .color_mut()
                .map(|(_, color)| color[parameter.channel()]),
        }
    }

    /// Returns the surface with one parameter set to `value`, clamped to the parameter's range; NaN counts as 0.
    ///
    /// Returns `None` if this kind of surface does not have the parameter. A black emission becomes grey of that
    /// strength.
    pub fn with_parameter(&self, parameter: EditableParameter, value: f32) -> Option<Surface> {
        let mut changed = *self;
        let value = if value.is_nan() { 0.0 } else { value };
        match parameter {
            EditableParameter::Roughness => {
                let (_, roughness, min) = changed.roughness_mut()?;
                *roughness = value.clamp(min, 1.0);
            }
            EditableParameter::Strength => {
                let (_, light) = changed.emission_mut()?;
                let (value, max) = (value.clamp(0.0, MAX_STRENGTH), light.max_element());
                *light = if max > 0.0 {
                    *light * (value / max)
                } else {
                    Vec3::splat(value)
                };
            }
            EditableParameter::Red | EditableParameter::Green | EditableParameter::Blue => {
                let (_, color) = changed.color_mut()?;
                color[parameter.channel()] = value.clamp(0.0, 1.0);
            }
        }
        Some(changed)
    }

    /// Returns the surface's colour and the name of its field in a scene file, or `None` if it has no editable colour.
    pub(crate) fn color_mut(&mut self) -> Option<(&'static str, &mut Vec3)> {
        match self {
            Surface::Diffuse { albedo, .. } | Surface::CoatedDiffuse { albedo, .. } => {
                Some(("albedo", albedo))
            }
            Surface::Mirror { reflectance, .. } => Some(("reflectance", reflectance)),
            Surface::Conductor {
                metal: Metal::Color(color),
                ..
            }
            | Surface::RoughConductor {
                metal: Metal::Color(color),
                ..
            } => Some(("color", color)),
            Surface::Principled(principled) => Some(("base_color", &mut principled.base_color)),
            Surface::Conductor { .. }
            | Surface::RoughConductor { .. }
            | Surface::Dielectric { .. }
            | Surface::RoughDielectric { .. }
            | Surface::Emissive { .. } => None,
        }
    }

    /// Returns the name of the roughness field in a scene file, the roughness, and its smallest valid value.
    ///
    /// Returns `None` if the surface has no roughness.
    pub(crate) fn roughness_mut(&mut self) -> Option<(&'static str, &mut f32, f32)> {
        match self {
            Surface::RoughConductor { roughness, .. }
            | Surface::RoughDielectric { roughness, .. } => {
                Some(("alpha", &mut roughness.alpha, MIN_ALPHA))
            }
            Surface::CoatedDiffuse { alpha, .. } => Some(("alpha", alpha, 0.0)),
            Surface::Principled(principled) => Some(("roughness", &mut principled.roughness, 0.0)),
            Surface::Diffuse { .. }
            | Surface::Mirror { .. }
            | Surface::Dielectric { .. }
            | Surface::Conductor { .. }
            | Surface::Emissive { .. } => None,
        }
    }

    /// Returns the emitted radiance and the name of its field in a scene file, or `None` if the surface cannot emit.
    pub(crate) fn emission_mut(&mut self) -> Option<(&'static str, &mut Vec3)> {
        match self {
            Surface::Emissive { radiance, .. } => Some(("radiance", radiance)),
            Surface::Principled(principled) => Some(("emission", &mut principled.emission)),
            _ => None,
        }
    }
}
