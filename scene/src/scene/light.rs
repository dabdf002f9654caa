//! Lights of a scene that are not objects.

use std::sync::Arc;

use glam::Vec3;

use crate::limits::MAX_VISIBLE_RADIANCE;

/// A light that is not an object of the scene. Its colours are linear sRGB, 0 or more per channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Light {
    /// A light that emits from a point, equally in all directions.
    Point {
        /// Position in world space, metres.
        position: Vec3,
        /// Radiant intensity, W/sr per channel, 0 to below 2²⁴.
        intensity: Vec3,
    },
    /// A light that emits from a point into a cone.
    Spot {
        /// Position in world space, metres.
        position: Vec3,
        /// Axis of the cone, from the light outwards, of any length except 0.
        direction: Vec3,
        /// Radiant intensity on the axis, W/sr per channel, 0 to below 2²⁴.
        intensity: Vec3,
        /// Angle from the axis in degrees, 0..=`outer_degrees`, up to which the intensity is full. From there it falls
        /// to 0 at `outer_degrees`.
        inner_degrees: f32,
        /// Angle from the axis in degrees, 0..=90, at which the light ends.
        outer_degrees: f32,
    },
    /// A light that emits from infinitely far away, in parallel rays or from a small disk.
    Directional {
        /// Direction in which the light travels, of any length except 0.
        direction: Vec3,
        /// Irradiance on a surface that faces the light, W/m² per channel, 0 to below 2²⁴.
        irradiance: Vec3,
        /// Angular diameter of the light's disk in degrees: 0.01..=90, or 0 for a light that is invisible and casts
        /// hard shadows.
        angle_degrees: f32,
    },
    /// Emits from infinitely far away in all directions, with the radiance that an environment map gives.
    Environment(Environment),
}

/// An environment map in latitude-longitude format.
///
/// The texel at u from the left and v from the top, both 0..=1, is in the direction
/// (sin 2πu sin πv, cos πv, −cos 2πu sin πv). Values belong to texel centres.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Texels per row, at least 1. The number of rows is the length of `radiances` divided by it.
    pub width: u32,
    /// Radiance of each texel, W·sr⁻¹·m⁻² in linear sRGB, row by row from the top; finite and not negative.
    pub radiances: Arc<[Vec3]>,
    /// Rotation of the map about +y, counter-clockwise seen from above, as a fraction of a full turn, 0 to below 1.
    pub turns: f32,
}

impl Light {
    /// Returns an upper bound, W·sr⁻¹·m⁻² per channel, of the radiance that a camera sees when it looks at the light.
    /// It is 0 for lights without a size, which are invisible. For others it is at most `MAX_VISIBLE_RADIANCE`, 16,384.
    pub(crate) fn max_visible_radiance(&self) -> Vec3 {
        match self {
            Light::Environment(picture) => {
                let brightest = picture.radiances.iter().copied();
                brightest
                    .fold(Vec3::ZERO, Vec3::max)
                    .min(Vec3::splat(MAX_VISIBLE_RADIANCE))
            }
            Light::Directional { angle_degrees, .. } if *angle_degrees > 0.0 => {
                Vec3::splat(MAX_VISIBLE_RADIANCE)
            }
            Light::Point { .. } | Light::Spot { .. } | Light::Directional { .. } => Vec3::ZERO,
        }
    }
}
