//! From a point on the film to a ray. Twin: `kernels/shared/camera.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{math::normalize, scene};

shared! {
    /// A pinhole camera.
    pub struct Camera {
        /// World space, metres.
        pub origin: Vec3,
        /// Film, pixels a row.
        pub width: f32,
        /// From the eye to the film's centre, of length 1.
        pub forward: Vec3,
        /// Film, rows.
        pub height: f32,
        /// From the film's centre to the middle of its right edge.
        pub right: Vec3,
        /// Unused.
        pub _pad0: u32,
        /// From the film's centre to the middle of its upper edge.
        pub up: Vec3,
        /// Unused.
        pub _pad1: u32,
    }
}

/// Direction, of length 1, through a point of the film in pixels from its upper left corner.
#[inline]
pub fn camera_direction(camera: &Camera, x: f32, y: f32) -> Vec3 {
    let right = camera.right * (2.0 * x / camera.width - 1.0);
    let up = camera.up * (1.0 - 2.0 * y / camera.height);
    normalize(camera.forward + right + up)
}

impl Camera {
    /// The scene's camera over a film of this size. The field of view is the horizontal one.
    pub fn new(camera: &scene::Camera, width: u32, height: u32) -> Camera {
        let origin = camera.origin.as_dvec3();
        let forward = (camera.target.as_dvec3() - origin).normalize();
        let right = forward.cross(camera.up.as_dvec3()).normalize();
        let up = right.cross(forward);
        // `libm` and not the platform's library: the same bits on every machine.
        let half_width = libm::tan(f64::from(camera.fov_degrees).to_radians() / 2.0);
        let half_height = half_width * f64::from(height) / f64::from(width);
        Camera {
            origin: camera.origin,
            width: width as f32,
            forward: forward.as_vec3(),
            height: height as f32,
            right: (right * half_width).as_vec3(),
            _pad0: 0,
            up: (up * half_height).as_vec3(),
            _pad1: 0,
        }
    }

    /// Pixels of the film.
    pub fn pixel_count(&self) -> u32 {
        self.width as u32 * self.height as u32
    }
}
