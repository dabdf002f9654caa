//! The light around a model without a scene: a studio, a plain backdrop, or an environment map.

use glam::{DVec3, Vec3};

use crate::EnvironmentFile;

/// The light from infinity around a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Surroundings {
    /// The default lighting, see [`studio_radiances`](crate::studio::studio_radiances).
    Studio {
        /// Azimuth of the viewer in degrees, 0 at +z and 90 at +x.
        azimuth_degrees: f64,
        /// Factor of all radiances, 0 or more.
        scale: f32,
    },
    /// A constant radiance from all directions, W·sr⁻¹·m⁻².
    Backdrop(Vec3),
    /// An environment map, with the factor from its values to radiance.
    File(EnvironmentFile),
}

impl Surroundings {
    /// Returns the studio for a viewer in this direction from the model, of which only the horizontal part matters.
    pub(crate) fn studio(viewer: DVec3, scale: f32) -> Surroundings {
        let azimuth = libm::atan2(viewer.x, viewer.z).to_degrees();
        Surroundings::Studio {
            // Short in a scene file.
            azimuth_degrees: (azimuth * 100.0).round() / 100.0,
            scale,
        }
    }
}
