//! A camera that the user orbits around a target, pans, dollies and flies.

use std::mem;

use glam::{DVec3, Quat, Vec3};

use raysieve_scene::{Camera, Focus, Projection};

/// The user-controlled camera.
pub(super) struct Orbit {
    /// Camera of the scene, as it was loaded or saved.
    pub(super) home: Camera,
    /// Current camera, whose field of view applies to the aspect ratio that the scene requests.
    pub(super) current: Camera,
    /// Width divided by height of the picture size that the scene requests.
    aspect: f32,
}

/// Maximum absolute elevation of the camera above the target in degrees. It is below 90 because left and right are
/// undefined at the poles.
const MAX_ELEVATION: f32 = 89.0;

/// Minimum distance of the camera to its target, as a multiple of that distance for the scene's camera. For an
/// orthographic camera, limits the width instead, as a multiple of the scene camera's width.
const NEAREST: f32 = 0.01;
/// Maximum distance of the camera to its target, as a multiple of that distance for the scene's camera; for an
/// orthographic camera, maximum width. Also limits how far the target moves from the scene's target, as a multiple of
/// the same distance.
const FARTHEST: f32 = 100.0;

/// Names of the camera's editable fields that movements change, too.
const MOVED_FIELDS: [&str; 2] = ["width", "focus_distance"];

/// Returns whether field of view and aperture of two cameras are the same. Movements of a camera change neither.
pub(super) fn have_same_lens(one: &Camera, other: &Camera) -> bool {
    let lens = |camera: &Camera| {
        let fields = camera.fields().into_iter();
        let fields = fields.filter(|field| !MOVED_FIELDS.contains(&field.name));
        fields.map(|field| field.value).collect::<Vec<_>>()
    };
    lens(one) == lens(other)
}

impl Orbit {
    /// Creates the camera of a scene that requests a picture of this width and height.
    pub(super) fn new(home: Camera, (width, height): (u32, u32)) -> Self {
        Self {
            home,
            current: home,
            aspect: width as f32 / height as f32,
        }
    }

    /// Sets the current camera to an exact copy of the scene's camera.
    pub(super) fn reset(&mut self) {
        self.current = self.home;
    }

    /// Returns whether the current camera is exactly the scene's.
    pub(super) fn is_home(&self) -> bool {
        self.current == self.home
    }

    /// Replaces the scene's camera and requested picture size after a reload. If the current camera equals the old
    /// scene camera, it becomes the new one. Otherwise it keeps its position, and takes over a changed projection or
    /// lens, and what users cannot change.
    pub(super) fn set_home(&mut self, home: Camera, (width, height): (u32, u32)) {
        let was = mem::replace(&mut self.home, home);
        self.aspect = width as f32 / height as f32;
        if self.current == was {
            return self.reset();
        }
        if home.projection != was.projection {
            self.current.projection = home.projection;
        }
        if home.lens != was.lens {
            self.current.lens = home.lens;
        }
        self.current.shift = home.shift;
        self.current.pixel_aspect = home.pixel_aspect;
        self.current.filter = home.filter;
    }

    /// Adapts both cameras to a scene with the origin `to` instead of `from`.
    pub(super) fn move_origin(&mut self, from: DVec3, to: DVec3) {
        self.home = self.home.around(from, to);
        self.current = self.current.around(from, to);
    }

    /// Orbits the camera around its target by two angles in radians, to the right and upwards. The elevation is clamped
    /// to -89 to 89 degrees, or to its present absolute value if that is larger.
    pub(super) fn turn(&mut self, right: f32, up: f32) {
        let pole = self.current.up.normalize_or(Vec3::Y);
        let from_target = self.current.origin - self.current.target;
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
        self.current.origin = self.current.target + turned.normalize_or(direction) * distance;
    }

    /// Moves camera and target by `right` and `up`, in units of the shorter side of a picture of this size, measured at
    /// the target. The target is clamped to a sphere around the scene's target, and the camera moves along. The
    /// sphere's radius is 100 times the distance between the scene's camera and its target.
    pub(super) fn pan(&mut self, right: f32, up: f32, (width, height): (u32, u32)) {
        let distance = (self.current.origin - self.current.target).length();
        let seen_width = match self.camera((width, height)).projection {
            Projection::Perspective { fov_degrees } => {
                2.0 * distance * libm::tanf(fov_degrees.to_radians() / 2.0)
            }
            Projection::Orthographic { width } => width,
        };
        let seen = seen_width * width.min(height) as f32 / width as f32;
        let [rightwards, upwards, _] = self.axes();
        self.shift((rightwards * right + upwards * up) * seen);
    }

    /// Moves camera and target by `by` (right, up, forward) relative to the camera. The unit is the distance between
    /// the scene's camera and its target. The target is clamped to a sphere of 100 units around the scene's target, and
    /// the camera moves along.
    pub(super) fn fly(&mut self, by: Vec3) {
        let [rightwards, upwards, direction] = self.axes();
        let home_distance = self.home.origin.distance(self.home.target);
        self.shift((rightwards * by.x + upwards * by.y - direction * by.z) * home_distance);
    }

    /// Returns the unit vectors to the right, up and backwards of the camera.
    fn axes(&self) -> [Vec3; 3] {
        let direction = (self.current.origin - self.current.target).normalize_or(Vec3::Z);
        let sideways = self.current.up.cross(direction);
        let rightwards = sideways.normalize_or(direction.any_orthonormal_vector());
        [rightwards, direction.cross(rightwards), direction]
    }

    /// Moves camera and target by a vector in world space. The target is clamped to a sphere around the scene's target,
    /// as in [`Self::pan`], and the camera moves along.
    fn shift(&mut self, by: Vec3) {
        let wanted = self.current.target + by;
        let home_distance = self.home.origin.distance(self.home.target);
        let from_home = (wanted - self.home.target).clamp_length_max(FARTHEST * home_distance);
        let moved = self.home.target + from_home - self.current.target;
        self.current.origin += moved;
        self.current.target += moved;
    }

    /// Turns the camera in place, so that the content of a picture of this size moves by `right` and `down`. Both are
    /// multiples of the angle of view along the picture's shorter side, or of 90 degrees for an orthographic camera.
    /// The elevation is clamped as in [`Self::turn`].
    pub(super) fn look_around(&mut self, right: f32, down: f32, (width, height): (u32, u32)) {
        let seen = match self.camera((width, height)).projection {
            Projection::Perspective { fov_degrees } => {
                let half_width = libm::tanf(fov_degrees.to_radians() / 2.0);
                2.0 * libm::atanf(half_width * width.min(height) as f32 / width as f32)
            }
            Projection::Orthographic { .. } => std::f32::consts::FRAC_PI_2,
        };
        // Swapping camera and target reuses `turn`, which turns the camera about the target.
        let swap = |camera: &mut Camera| mem::swap(&mut camera.origin, &mut camera.target);
        swap(&mut self.current);
        self.turn(right * seen, down * seen);
        swap(&mut self.current);
    }

    /// Focuses the current camera on a point in world space, and returns the point's distance along the view direction
    /// in metres. Does nothing and returns `None` if the camera has no lens, or if a scene cannot express the focus.
    pub(super) fn focus_on(&mut self, point: Vec3) -> Option<f32> {
        let before = self.current;
        let Camera { origin, target, .. } = before;
        let ahead = (target - origin).normalize_or(Vec3::NEG_Z);
        let metres = (point - origin).dot(ahead);
        let lens = self.current.lens.as_mut()?;
        lens.focus = match lens.focus {
            Focus::Distance(_) => Focus::Distance(metres),
            Focus::Point(_) => Focus::Point(point),
        };
        if before.is_expressible() && !self.current.is_expressible() {
            self.current = before;
            return None;
        }
        Some(metres)
    }

    /// Multiplies the distance between camera and target by `factor`, and clamps it to 0.01 to 100 times that of the
    /// scene's camera. For an orthographic camera, scales and clamps the width instead.
    pub(super) fn dolly(&mut self, factor: f32) {
        if let (
            Projection::Orthographic { width },
            Projection::Orthographic { width: home_width },
        ) = (&mut self.current.projection, self.home.projection)
        {
            *width = (*width * factor).clamp(NEAREST * home_width, FARTHEST * home_width);
            return;
        }
        let from_target = self.current.origin - self.current.target;
        let home_distance = self.home.origin.distance(self.home.target);
        let distance = (from_target.length() * factor)
            .clamp(NEAREST * home_distance, FARTHEST * home_distance);
        self.current.origin = self.current.target + from_target.normalize_or(Vec3::Z) * distance;
    }

    /// Returns the current camera for a picture of this width and height. If the picture is relatively wider than the
    /// scene requests, the view is widened so that its vertical extent stays. Otherwise the horizontal extent stays.
    pub(super) fn camera(&self, (width, height): (u32, u32)) -> Camera {
        let widening = width as f32 / height as f32 / self.aspect;
        if widening <= 1.0 {
            return self.current;
        }
        self.current.with_width_scaled(widening.into())
    }
}
