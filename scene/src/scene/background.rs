//! The background of a scene: what camera rays see that hit nothing.

use glam::Vec3;

/// The background of the image, which camera rays see if they hit nothing. It does not light the
/// scene, and mirrors and glass do not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Background {
    /// The sky, the environment and the disks of directional lights.
    #[default]
    Environment,
    /// A constant radiance, W·sr⁻¹·m⁻² in linear sRGB; 0 or more per channel.
    Color(Vec3),
    /// Nothing: the film is black there, and images have an alpha channel.
    ///
    /// Alpha is the share of the camera rays of a pixel that hit something. Glass counts as hit, as in Cycles, and
    /// shows the environment; partly opaque surfaces count by their opacity.
    Transparent,
}

impl Background {
    /// Returns the background whose displayed color does not depend on the exposure in stops: a radiance is divided by
    /// the gain of the exposure.
    pub(crate) fn at_exposure(self, stops: f32) -> Background {
        match self {
            Background::Color(color) => Background::Color(color * libm::exp2f(-stops)),
            other => other,
        }
    }

    /// Returns the radiance that replaces the light from infinity along camera rays; `None` if nothing replaces it.
    pub fn radiance(self) -> Option<Vec3> {
        match self {
            Background::Environment => None,
            Background::Color(radiance) => Some(radiance),
            Background::Transparent => Some(Vec3::ZERO),
        }
    }
}
