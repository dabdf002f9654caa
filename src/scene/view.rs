//! Where a scene is seen from.

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// A pinhole camera, or one with a thin lens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Camera {
    /// The pinhole, or the lens's centre, metres.
    #[serde(with = "numbers")]
    pub origin: Vec3,
    /// Seen in the middle of the picture; not `origin`.
    #[serde(with = "numbers")]
    pub target: Vec3,
    /// Up in the picture, of any length, not along the view.
    #[serde(with = "numbers")]
    pub up: Vec3,
    /// How much it sees.
    pub projection: Projection,
    /// A pinhole has none.
    pub lens: Option<Lens>,
    /// How a pixel's samples are spread over the film.
    pub filter: PixelFilter,
}

/// How a camera's rays leave it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Projection {
    /// All from one point: what is farther away is seen smaller.
    Perspective {
        /// Horizontal angle of view, 0.001..=179.999.
        fov_degrees: f32,
    },
    /// All in one direction, from the plane through `origin` on: what is farther away is seen as large.
    Orthographic {
        /// What is seen from the left edge of the picture to the right one, metres, above 0.
        width: f32,
    },
}

/// A thin lens: what is off its plane of focus is blurred. An orthographic camera has one before every point of its film.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lens {
    /// Of the aperture, metres.
    pub radius: f32,
    /// What is sharp.
    pub focus: Focus,
    /// Corners of the aperture, on the circle of its radius: 3..=16, or 0 for a round one.
    pub blades: u32,
    /// Turns the aperture, whose first corner points up, counter-clockwise as the camera sees it.
    pub rotation_degrees: f32,
}

/// Where a lens's plane of focus is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Focus {
    /// So far from the lens, along the view, metres.
    Distance(f32),
    /// Through this point, wherever the camera is moved.
    Point(#[serde(with = "numbers")] Vec3),
}

/// How the light that falls around a pixel's middle counts for it: the same along x and along y. Radii are in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PixelFilter {
    /// Evenly.
    Box {
        /// 0.5 is the pixel's own square.
        radius: f32,
    },
    /// By a bell curve, less its value at the radius.
    Gaussian {
        /// Where it ends.
        radius: f32,
        /// Its standard deviation, if it did not end.
        sigma: f32,
    },
    /// By the Blackman-Harris window of four terms.
    BlackmanHarris {
        /// Where it ends.
        radius: f32,
    },
}

impl Default for PixelFilter {
    fn default() -> PixelFilter {
        PixelFilter::Box { radius: 0.5 }
    }
}

impl PixelFilter {
    /// Half of its width, pixels.
    pub fn radius(&self) -> f32 {
        match *self {
            PixelFilter::Box { radius }
            | PixelFilter::Gaussian { radius, .. }
            | PixelFilter::BlackmanHarris { radius } => radius,
        }
    }
}

/// A vector as three numbers.
pub(super) mod numbers {
    use glam::Vec3;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::scene) fn serialize<S: Serializer>(
        vector: &Vec3,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        vector.to_array().serialize(to)
    }

    pub(in crate::scene) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec3, D::Error> {
        <[f32; 3]>::deserialize(from).map(Vec3::from_array)
    }
}
