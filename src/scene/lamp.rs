//! What shines and is no object.

use std::sync::Arc;

use glam::Vec3;

use crate::light::SEEN_AT_MOST;

/// A light that is no object; colours are linear sRGB.
#[derive(Clone, Debug, PartialEq)]
pub enum Light {
    /// Shines from a point to all sides alike.
    Point {
        /// Metres.
        position: Vec3,
        /// W/sr per channel.
        intensity: Vec3,
    },
    /// Shines from a point into a cone.
    Spot {
        /// Metres.
        position: Vec3,
        /// The cone's axis, of any length.
        direction: Vec3,
        /// W/sr per channel, on the axis.
        intensity: Vec3,
        /// Angle from the axis within which it is that bright, 0..=`outer_degrees`.
        inner_degrees: f32,
        /// Angle from the axis at which it ends, up to 90.
        outer_degrees: f32,
    },
    /// Shines from infinitely far.
    Directional {
        /// The way that its light goes, of any length.
        direction: Vec3,
        /// On a surface that faces it, W/m² per channel.
        irradiance: Vec3,
        /// Diameter of the disk that it is, 0 or 0.01..=90: 0 throws hard shadows and is not seen.
        angle_degrees: f32,
    },
    /// Shines from all around.
    Environment(Environment),
}

/// A picture of all that is infinitely far, by longitude and latitude: what is in the direction
/// (sin 2πu sin πv, cos πv, −cos 2πu sin πv) stands u from the left and v from the top, values at the texels' centres.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Texels a row.
    pub width: u32,
    /// Row by row from the top; finite and not negative.
    pub radiances: Arc<[Vec3]>,
    /// By so many turns it is turned about +y, 0..1.
    pub turns: f32,
}

impl Light {
    /// The most that a camera sees of it.
    pub(super) fn seen(&self) -> Vec3 {
        match self {
            Light::Environment(picture) => {
                let brightest = picture.radiances.iter().copied();
                brightest
                    .fold(Vec3::ZERO, Vec3::max)
                    .min(Vec3::splat(SEEN_AT_MOST))
            }
            Light::Directional { angle_degrees, .. } if *angle_degrees > 0.0 => {
                Vec3::splat(SEEN_AT_MOST)
            }
            Light::Point { .. } | Light::Spot { .. } | Light::Directional { .. } => Vec3::ZERO,
        }
    }
}
