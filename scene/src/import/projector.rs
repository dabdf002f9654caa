//! Projectors: lights that throw an image from a point. They become spot lights of the same flux.

use glam::{DVec3, Vec3};

use super::Imported;
use crate::scene::{Light, SpotFalloff};

/// The pyramid of light of a projector.
pub(crate) struct Beam {
    /// Tangents of half the horizontal and half the vertical angle.
    pub(crate) tangents: [f64; 2],
    /// Position of the projector in metres.
    pub(crate) position: DVec3,
    /// Direction of the pyramid's axis, of any length.
    pub(crate) direction: DVec3,
}

impl Beam {
    /// Returns the solid angle of the pyramid in steradians.
    pub(crate) fn solid_angle(&self) -> f64 {
        let [x, y] = self.tangents;
        4.0 * libm::asin(x * y / ((1.0 + x * x) * (1.0 + y * y)).sqrt())
    }

    /// Returns the area of the pyramid's section at a distance of 1 from its top.
    pub(crate) fn section(&self) -> f64 {
        4.0 * self.tangents[0] * self.tangents[1]
    }
}

impl Imported {
    /// Adds a spot light with the solid angle of a projector, and a warning. `intensity` is the mean over the beam, W/sr.
    pub(crate) fn push_projector(&mut self, beam: &Beam, intensity: Vec3) {
        self.note("approximated: projectors by spot lights with the mean of their image");
        let cosine = 1.0 - beam.solid_angle() / (2.0 * std::f64::consts::PI);
        let degrees = libm::acos(cosine.clamp(0.0, 1.0)).to_degrees() as f32;
        let light = Light::Spot {
            position: beam.position.as_vec3(),
            direction: beam.direction.as_vec3(),
            intensity,
            inner_degrees: degrees,
            outer_degrees: degrees,
            falloff: SpotFalloff::Linear,
        };
        self.push_light(light, beam.position);
    }
}
