//! A camera that orbits, pans, zooms and flies around a target under user control.

use std::mem;

use glam::{Quat, Vec3};

use raysieve_scene::{Camera, Focus, Projection};

/// The user-controlled camera: the scene's camera (`home`), as it was loaded or saved, and the current one.
pub(super) struct Orbit {
    home: Camera,
    camera: Camera,
    /// Width divided by height of the picture size that the scene requests.
    aspect: f32,
}

/// Maximum elevation in degrees, below 90 because left and right are undefined at the poles.
const MAX_ELEVATION: f32 = 89.0;

/// Minimum distance to the target, as a multiple of the scene camera's (or minimum width, if orthographic).
const NEAREST: f32 = 0.01;
/// Maximum distance to the target, as a multiple of the scene camera's (or maximum width, if orthographic). Also limits
/// the distance of the target from the scene camera's target, in the same unit of length.
const FARTHEST: f32 = 100.0;

impl Orbit {
    pub(super) fn new(home: Camera, (width, height): (u32, u32)) -> Self {
        Self {
            home,
            camera: home,
            aspect: width as f32 / height as f32,
        }
    }

    /// Sets the current camera to an exact copy of the scene's camera.
    pub(super) fn reset(&mut self) {
        self.camera = self.home;
    }

    /// Replaces the scene's camera, for example after it was saved, and leaves the current camera unchanged.
    pub(super) fn replace_home(&mut self, home: Camera) {
        self.home = home;
    }

    /// Replaces the scene's camera after a reload. If the user has not moved the current camera, it becomes the new
    /// one. Otherwise it keeps its position, but takes over a changed projection, lens or filter.
    pub(super) fn set_home(&mut self, home: Camera, (width, height): (u32, u32)) {
        let was = mem::replace(&mut self.home, home);
        self.aspect = width as f32 / height as f32;
        if self.camera == was {
            return self.reset();
        }
        if home.projection != was.projection {
            self.camera.projection = home.projection;
        }
        if home.lens != was.lens {
            self.camera.lens = home.lens;
        }
        self.camera.filter = home.filter;
    }

    /// Returns the current camera, whose field of view applies to the aspect ratio that the scene requests.
    pub(super) fn current(&self) -> Camera {
        self.camera
    }

    /// Sets the current camera, for example to undo a move.
    pub(super) fn set_current(&mut self, camera: Camera) {
        self.camera = camera;
    }

    /// Orbits the camera around its target by two angles in radians, to the right and upwards. The absolute elevation
    /// is limited to 89 degrees, unless it exceeds that already.
    pub(super) fn turn(&mut self, right: f32, up: f32) {
        let pole = self.camera.up.normalize_or(Vec3::Y);
        let from_target = self.camera.origin - self.camera.target;
        let distance = from_target.length();
        let direction = from_target.normalize_or(Vec3::Z);
        let elevation = direction.dot(pole).clamp(-1.0, 1.0).asin();
        let highest = MAX_ELEVATION.to_radians().max(elevation.abs());
        let rise = (elevation + up).clamp(-highest, highest) - elevation;
        let sideways = pole
            .cross(direction)
            .normalize_or(pole.any_orthonormal_vector());
        // Turning about `sideways` by a positive angle lowers the camera.
        let turned =
            Quat::from_axis_angle(pole, right) * Quat::from_axis_angle(sideways, -rise) * direction;
        self.camera.origin = self.camera.target + turned.normalize_or(direction) * distance;
    }

    /// Moves camera and target. `right` and `up` are fractions of the shorter side of a picture of this size, at the
    /// target. The distance between target and scene's target is at most 100 times that of the scene's camera from it.
    pub(super) fn pan(&mut self, right: f32, up: f32, (width, height): (u32, u32)) {
        let Camera {
            origin,
            target,
            up: pole,
            projection,
            ..
        } = self.camera((width, height));
        let from_target = origin - target;
        let seen_width = match projection {
            Projection::Perspective { fov_degrees } => {
                2.0 * from_target.length() * libm::tanf(fov_degrees.to_radians() / 2.0)
            }
            Projection::Orthographic { width } => width,
        };
        let seen = seen_width * width.min(height) as f32 / width as f32;
        let direction = from_target.normalize_or(Vec3::Z);
        let rightwards = pole
            .cross(direction)
            .normalize_or(direction.any_orthonormal_vector());
        let upwards = direction.cross(rightwards);
        self.shift((rightwards * right + upwards * up) * seen);
    }

    /// Moves camera and target by `by` (right, up, forward), in units of the distance between the scene's camera and
    /// its target. The current target stays within 100 of these units around the scene's target.
    pub(super) fn fly(&mut self, by: Vec3) {
        let direction = (self.camera.origin - self.camera.target).normalize_or(Vec3::Z);
        let rightwards = self
            .camera
            .up
            .cross(direction)
            .normalize_or(direction.any_orthonormal_vector());
        let upwards = direction.cross(rightwards);
        let home_distance = self.home.origin.distance(self.home.target);
        self.shift((rightwards * by.x + upwards * by.y - direction * by.z) * home_distance);
    }

    fn shift(&mut self, by: Vec3) {
        let wanted = self.camera.target + by;
        let home_distance = self.home.origin.distance(self.home.target);
        let from_home = (wanted - self.home.target).clamp_length_max(FARTHEST * home_distance);
        let moved = self.home.target + from_home - self.camera.target;
        self.camera.origin += moved;
        self.camera.target += moved;
    }

    /// Turns the camera in place, so that the picture's content moves to the right and down. The angles are multiples
    /// of the horizontal angle of view, or of 90 degrees if orthographic; the elevation is limited as in
    /// [`Self::turn`].
    pub(super) fn look_around(&mut self, right: f32, down: f32) {
        let seen = match self.camera.projection {
            Projection::Perspective { fov_degrees } => fov_degrees.to_radians(),
            Projection::Orthographic { .. } => std::f32::consts::FRAC_PI_2,
        };
        // Swapping camera and target reuses `turn`, which turns the camera about the target.
        self.swap_position_and_target();
        self.turn(right * seen, down * seen);
        self.swap_position_and_target();
    }

    /// Swaps camera position and target.
    fn swap_position_and_target(&mut self) {
        let Camera { origin, target, .. } = &mut self.camera;
        mem::swap(origin, target);
    }

    /// Focuses on a point, and returns its distance along the view direction in metres; `None` if there is no lens.
    pub(super) fn focus_on(&mut self, point: Vec3) -> Option<f32> {
        let Camera { origin, target, .. } = self.camera;
        let ahead = (target - origin).normalize_or(Vec3::NEG_Z);
        let metres = (point - origin).dot(ahead);
        let lens = self.camera.lens.as_mut()?;
        lens.focus = match lens.focus {
            Focus::Distance(_) => Focus::Distance(metres),
            Focus::Point(_) => Focus::Point(point),
        };
        Some(metres)
    }

    /// Multiplies the distance to the target by `factor`, within 0.01 to 100 times the distance of the scene's camera.
    /// An orthographic camera scales its width instead.
    pub(super) fn dolly(&mut self, factor: f32) {
        if let (
            Projection::Orthographic { width },
            Projection::Orthographic { width: home_width },
        ) = (&mut self.camera.projection, self.home.projection)
        {
            *width = (*width * factor).clamp(NEAREST * home_width, FARTHEST * home_width);
            return;
        }
        let from_target = self.camera.origin - self.camera.target;
        let home_distance = self.home.origin.distance(self.home.target);
        let distance = (from_target.length() * factor)
            .clamp(NEAREST * home_distance, FARTHEST * home_distance);
        self.camera.origin = self.camera.target + from_target.normalize_or(Vec3::Z) * distance;
    }

    /// Returns the camera for a picture of this size, widened if needed to contain the scene's own framing.
    pub(super) fn camera(&self, (width, height): (u32, u32)) -> Camera {
        let widening = width as f32 / height as f32 / self.aspect;
        if widening <= 1.0 {
            return self.camera;
        }
        self.camera.with_width_scaled(widening.into())
    }
}
