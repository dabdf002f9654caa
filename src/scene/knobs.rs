//! What of a material somebody may turn while it is looked at.

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::{Metal, Surface};
use crate::microfacet::MIN_ALPHA;

/// A number of a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Knob {
    /// As the material's kind has it: GGX alpha, or its root of what is `Principled`.
    Roughness,
    /// Of its colour, 0 to 1.
    Red,
    /// See [`Knob::Red`].
    Green,
    /// See [`Knob::Red`].
    Blue,
    /// The largest channel of what it gives off, W·sr⁻¹·m⁻².
    Strength,
}

/// More light than that no film takes.
const MOST_STRENGTH: f32 = 1e6;

impl Knob {
    /// All, in the order of the key.
    pub const ALL: [Knob; 5] = [
        Knob::Roughness,
        Knob::Red,
        Knob::Green,
        Knob::Blue,
        Knob::Strength,
    ];

    /// As it is told.
    pub fn name(self) -> &'static str {
        match self {
            Knob::Roughness => "roughness",
            Knob::Red => "red",
            Knob::Green => "green",
            Knob::Blue => "blue",
            Knob::Strength => "strength",
        }
    }

    /// Which of a colour's channels it is.
    fn channel(self) -> usize {
        match self {
            Knob::Green => 1,
            Knob::Blue => 2,
            Knob::Roughness | Knob::Red | Knob::Strength => 0,
        }
    }
}

impl Surface {
    /// The number, if such a surface has one.
    pub fn knob(&self, knob: Knob) -> Option<f32> {
        let mut own = *self;
        match knob {
            Knob::Roughness => own.roughness_mut().map(|(_, roughness, _)| *roughness),
            Knob::Strength => own.emission_mut().map(|(_, light)| light.max_element()),
            Knob::Red | Knob::Green | Knob::Blue => {
                own.color_mut().map(|(_, color)| color[knob.channel()])
            }
        }
    }

    /// The surface with another number, as near to it as may be; `None` if such a one has no such number.
    pub fn with_knob(&self, knob: Knob, value: f32) -> Option<Surface> {
        let mut turned = *self;
        let value = if value.is_nan() { 0.0 } else { value };
        match knob {
            Knob::Roughness => {
                let (_, roughness, least) = turned.roughness_mut()?;
                *roughness = value.clamp(least, 1.0);
            }
            Knob::Strength => {
                let (_, light) = turned.emission_mut()?;
                let (value, most) = (value.clamp(0.0, MOST_STRENGTH), light.max_element());
                *light = if most > 0.0 {
                    *light * (value / most)
                } else {
                    Vec3::splat(value)
                };
            }
            Knob::Red | Knob::Green | Knob::Blue => {
                let (_, color) = turned.color_mut()?;
                color[knob.channel()] = value.clamp(0.0, 1.0);
            }
        }
        Some(turned)
    }

    /// The field of a scene that has its colour, and that.
    pub(super) fn color_mut(&mut self) -> Option<(&'static str, &mut Vec3)> {
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

    /// The field that has its roughness, and that, and the least that it may be.
    pub(super) fn roughness_mut(&mut self) -> Option<(&'static str, &mut f32, f32)> {
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

    /// The field that has what it gives off, and that.
    pub(super) fn emission_mut(&mut self) -> Option<(&'static str, &mut Vec3)> {
        match self {
            Surface::Emissive { radiance, .. } => Some(("radiance", radiance)),
            Surface::Principled(principled) => Some(("emission", &mut principled.emission)),
            _ => None,
        }
    }
}
