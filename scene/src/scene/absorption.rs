//! Absorption of light inside a transparent body.

use std::ops::RangeInclusive;

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::{camera::numbers, fields::as_written};

/// The absorption of a homogeneous body, given by the color that white light has after a distance inside it.
///
/// The coefficient determines the light. Color and distance are what users see and change; many pairs of them have the
/// same coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Absorption {
    /// Absorption coefficient, 1/m per channel, 0 or more.
    #[serde(with = "numbers")]
    coefficient: Vec3,
    /// Fraction of the light that is left after `distance`, 0..=1 per channel. Users edit it together with `distance`,
    /// and `coefficient` corresponds to both.
    #[serde(with = "numbers")]
    color: Vec3,
    /// Distance in metres to which `color` belongs, above 0.
    distance: f64,
}

/// Distances in metres that a scene file may contain.
pub(crate) const DISTANCES: RangeInclusive<f64> = 1e-6..=1e8;

impl Absorption {
    /// The absorption of a clear body, which lets all light pass.
    pub const NONE: Absorption = Absorption {
        coefficient: Vec3::ZERO,
        color: Vec3::ONE,
        distance: 1.0,
    };

    /// Returns the absorption with which the fraction `color` of the light is left after `distance` metres.
    ///
    /// `color` lies in 0..=1 per channel; below e⁻²⁰⁰ it counts as e⁻²⁰⁰. `distance` is above 0.
    pub fn new(color: Vec3, distance: f64) -> Absorption {
        // The bound keeps the coefficient of an opaque channel finite.
        let coefficient =
            |part: f32| (-libm::log(f64::from(part)) / distance).min(200.0 / distance);
        let coefficient = color.to_array().map(|part| coefficient(part) as f32);
        Absorption {
            coefficient: Vec3::from_array(coefficient),
            color,
            distance,
        }
    }

    /// Returns the absorption with this coefficient, 1/m per channel, 0 or more. Its distance is the one after which
    /// the fraction 1/e of the most absorbed channel is left, or 1 m for a clear body.
    pub fn of_coefficient(coefficient: Vec3) -> Absorption {
        let max = f64::from(coefficient.max_element());
        if max <= 0.0 {
            return Absorption::NONE;
        }
        let distance = 1.0 / max;
        let left = |part: f32| libm::exp(-f64::from(part) * distance) as f32;
        Absorption {
            coefficient,
            color: Vec3::from_array(coefficient.to_array().map(left)),
            distance,
        }
    }

    /// Returns the absorption coefficient, 1/m per channel, 0 or more.
    pub fn coefficient(&self) -> Vec3 {
        self.coefficient
    }

    /// Returns the fraction of the light that is left after [`Absorption::distance`], 0..=1 per channel.
    pub fn color(&self) -> Vec3 {
        self.color
    }

    /// Returns the distance in metres to which [`Absorption::color`] belongs.
    pub fn distance(&self) -> f64 {
        self.distance
    }

    /// Returns the absorption with another color, 0..=1 per channel, at the same distance.
    pub fn with_color(self, color: Vec3) -> Absorption {
        Absorption::new(color, self.distance)
    }

    /// Returns the absorption with the same color at another distance in metres, above 0. A greater distance makes the
    /// body clearer.
    pub fn with_distance(self, metres: f32) -> Absorption {
        Absorption::new(self.color, as_written(metres))
    }

    /// Returns the absorption with color and distance clamped to the ranges of a scene file. NaN becomes the smallest
    /// valid value.
    pub(crate) fn clamped(self) -> Absorption {
        let within = |value: f64, range: RangeInclusive<f64>| match value.is_nan() {
            true => *range.start(),
            false => value.clamp(*range.start(), *range.end()),
        };
        let color = self.color.to_array();
        let color = color.map(|part| within(part.into(), 0.0..=1.0) as f32);
        let color = Vec3::from_array(color);
        let distance = within(self.distance, DISTANCES);
        match (color, distance) == (self.color, self.distance) {
            true => self,
            false => Absorption::new(color, distance),
        }
    }
}

impl Default for Absorption {
    /// Returns [`Absorption::NONE`].
    fn default() -> Absorption {
        Absorption::NONE
    }
}
