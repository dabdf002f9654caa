//! A camera that a hand moves about its target.

use std::mem;

use glam::{Quat, Vec3};

use crate::scene::{Camera, Focus, Projection};

/// Where the scene's camera was, and where it has been moved to.
pub(super) struct Orbit {
    home: Camera,
    camera: Camera,
    /// Width over height of the picture that the scene asks for.
    aspect: f32,
}

/// Short of the poles, where left and right are lost.
const MAX_ELEVATION: f32 = 89.0;

/// Nearest and farthest, in distances of the scene's camera from its target, or in its widths.
const NEAREST: f32 = 0.01;
const FARTHEST: f32 = 100.0;

impl Orbit {
    pub(super) fn new(home: Camera, (width, height): (u32, u32)) -> Self {
        Self {
            home,
            camera: home,
            aspect: width as f32 / height as f32,
        }
    }

    /// Back to the scene's camera, to the bit.
    pub(super) fn reset(&mut self) {
        self.camera = self.home;
    }

    /// The scene has this camera as its own from now on.
    pub(super) fn settle(&mut self, home: Camera) {
        self.home = home;
    }

    /// The scene has another camera of its own. One that a hand has moved stays where it is, and is else as the scene's.
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

    /// Where it is, by the scene's own frame.
    pub(super) fn framed(&self) -> Camera {
        self.camera
    }

    /// Puts it where it once was.
    pub(super) fn put(&mut self, camera: Camera) {
        self.camera = camera;
    }

    /// Moves the camera around its target, radians to the right and upwards.
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

    /// Moves camera and target by parts of what the shorter side of a picture of this size sees of the target.
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

    /// Moves camera and target to the right, upwards and ahead, in distances of the scene's camera from its target.
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

    /// Turns the camera where it is, until what is seen has moved by parts of the picture to the right and down.
    pub(super) fn look(&mut self, right: f32, down: f32) {
        let seen = match self.camera.projection {
            Projection::Perspective { fov_degrees } => fov_degrees.to_radians(),
            Projection::Orthographic { .. } => std::f32::consts::FRAC_PI_2,
        };
        // The target turns about the camera as else the camera does about the target.
        self.turn_round();
        self.turn(right * seen, down * seen);
        self.turn_round();
    }

    /// To where the target is, looking back.
    fn turn_round(&mut self) {
        let Camera { origin, target, .. } = &mut self.camera;
        mem::swap(origin, target);
    }

    /// Makes a point sharp, if there is a lens: how far that is ahead, metres.
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

    /// Multiplies the distance to the target; of an orthographic camera, which would see the same from there, what it sees.
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

    /// The camera for a picture of this size: it sees at least what the scene's own frame shows, whatever the shape.
    pub(super) fn camera(&self, (width, height): (u32, u32)) -> Camera {
        let widening = width as f32 / height as f32 / self.aspect;
        if widening <= 1.0 {
            return self.camera;
        }
        self.camera.widened(widening.into())
    }
}
