//! The camera of a scene: viewpoint, projection, lens and pixel filter.

use glam::{DQuat, DVec3, Vec3};
use serde::{Deserialize, Serialize};

use crate::{
    limits::{MAX_LENGTH, MIN_LENGTH},
    origin::position_in_file,
};

/// A perspective or orthographic camera, with or without a thin lens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Camera {
    /// Position of the pinhole or of the lens's center in world space, metres. Like all positions of a scene it is
    /// relative to [`Scene::origin`](super::Scene::origin).
    #[serde(with = "numbers")]
    pub origin: Vec3,
    /// Point at which the camera looks in world space, metres; different from `origin`. Without a shift it appears at
    /// the center of the image.
    #[serde(with = "numbers")]
    pub target: Vec3,
    /// Direction that points up in the image, of any length above 0; not parallel to the view.
    #[serde(with = "numbers")]
    pub up: Vec3,
    /// Perspective or orthographic projection, with the extent of the view.
    pub projection: Projection,
    /// Shift of the lens: the part of the image plane that the image shows is moved by this many image widths to the
    /// right and image heights up, -1e6..=1e6. The direction of view and the perspective stay.
    #[serde(default)]
    pub shift: [f32; 2],
    /// Width of a pixel divided by its height, as the camera sees them, 0.001..=1000. It is 1 for square pixels, and
    /// changes the height of the view.
    #[serde(default = "square")]
    pub pixel_aspect: f32,
    /// Thin lens, which blurs what is out of focus; `None` for a pinhole camera, which shows everything sharp.
    pub lens: Option<Lens>,
    /// Reconstruction filter, which weights the light that falls around a pixel's center.
    pub filter: PixelFilter,
}

/// The projection of a camera onto its image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Projection {
    /// Perspective projection: all rays start at one point, and distant objects look smaller.
    Perspective {
        /// Horizontal angle of view in degrees, 0.001..=179.999.
        fov_degrees: f32,
    },
    /// Orthographic projection: rays are parallel and start in the plane through `origin`, so that size is independent
    /// of distance.
    Orthographic {
        /// Width of the visible region, from the left to the right edge of the image, metres, above 0.
        width: f32,
    },
}

/// A thin lens, which blurs everything outside its plane of focus.
///
/// An orthographic camera has such a lens in front of every point of its film.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lens {
    /// Radius of the aperture in metres, above 0.
    pub radius: f32,
    /// Position of the plane of focus.
    pub focus: Focus,
    /// Number of corners of the aperture, which lie on the circle of its radius: 3..=16, or 0 for a round aperture.
    pub blades: u32,
    /// Rotation of the aperture in degrees, -360..=360, counter-clockwise as the camera sees it. At 0 its first corner
    /// points up.
    pub rotation_degrees: f32,
}

/// Position of a lens's plane of focus, which is perpendicular to the view direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Focus {
    /// Distance of the plane from the lens along the view direction, metres, above 0.
    Distance(f32),
    /// Point in the plane, in world space, metres. It stays in focus when the camera moves. Everything is blurred while
    /// it is not in front of the camera.
    Point(#[serde(with = "numbers")] Vec3),
}

/// A reconstruction filter: the weight of light by the place in the image plane where it arrives.
///
/// Filters are separable. One function takes the distance from the pixel's center along x, then along y, in pixels, and
/// the weight is the product of both values. It is never negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PixelFilter {
    /// Box filter: constant weight within `radius` of the pixel's center along x and y.
    Box {
        /// Half the side of the square in pixels, 0.01..=16; 0.5 covers exactly the pixel.
        radius: f32,
    },
    /// Gaussian filter, minus its value at `radius` so that it falls to 0 there.
    Gaussian {
        /// Distance in pixels, 0.01..=16, at which the weight is 0.
        radius: f32,
        /// Standard deviation of the Gaussian before truncation, in pixels, `radius / 8` to `8 * radius`.
        sigma: f32,
    },
    /// Four-term Blackman-Harris window, a smooth bell that falls to 0.00006 of its peak at `radius` and is 0 beyond.
    BlackmanHarris {
        /// Distance in pixels, 0.01..=16, at which the window ends.
        radius: f32,
    },
}

impl Default for PixelFilter {
    fn default() -> PixelFilter {
        PixelFilter::Box { radius: 0.5 }
    }
}

impl PixelFilter {
    /// Returns half the filter's width in pixels. Samples whose distance from the pixel's center along x or y is larger
    /// have no weight.
    pub fn radius(&self) -> f32 {
        match *self {
            PixelFilter::Box { radius }
            | PixelFilter::Gaussian { radius, .. }
            | PixelFilter::BlackmanHarris { radius } => radius,
        }
    }
}

/// The reason why a camera has no view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoView {
    /// Origin and target are the same point.
    NoDirection,
    /// `up` has no length.
    NoUp,
    /// `up` is parallel to the view direction.
    ParallelUp,
}

impl Camera {
    /// Returns why the camera has no view; `None` if it has one.
    pub(crate) fn no_view(&self) -> Option<NoView> {
        let (view, up) = (self.target - self.origin, self.up);
        if !view.length_squared().is_normal() {
            return Some(NoView::NoDirection);
        }
        if !up.length_squared().is_normal() {
            return Some(NoView::NoUp);
        }
        let sideways = view.as_dvec3().normalize().cross(up.as_dvec3().normalize());
        (sideways.length() < 1e-5).then_some(NoView::ParallelUp)
    }

    /// Returns whether a scene file can express the camera: whether its values are within their limits, and `up` is not
    /// parallel to the view.
    pub fn is_expressible(&self) -> bool {
        let is_length = |length: f32| (MIN_LENGTH as f32..=MAX_LENGTH as f32).contains(&length);
        let is_point =
            |point: Vec3| point.is_finite() && f64::from(point.abs().max_element()) <= MAX_LENGTH;
        let has_valid_projection = match self.projection {
            Projection::Perspective { fov_degrees } => (0.001..=179.999).contains(&fov_degrees),
            Projection::Orthographic { width } => is_length(width),
        };
        let has_valid_lens = self.lens.is_none_or(|lens| {
            let has_valid_focus = match lens.focus {
                Focus::Distance(metres) => is_length(metres),
                Focus::Point(point) => is_point(point),
            };
            is_length(lens.radius) && has_valid_focus
        });
        let points = [self.origin, self.target, self.up];
        self.no_view().is_none()
            && points.into_iter().all(is_point)
            && has_valid_projection
            && has_valid_lens
    }

    /// Returns whether the lens focuses on a point that is not in front of the camera, so that everything is blurred.
    pub(crate) fn has_focus_behind(&self) -> bool {
        self.lens.is_some_and(|lens| match lens.focus {
            Focus::Distance(_) => false,
            Focus::Point(point) => {
                let view = (self.target - self.origin).as_dvec3();
                (point - self.origin).as_dvec3().dot(view) <= 0.0
            }
        })
    }

    /// Returns the camera with a view that is `times` as wide, measured at any fixed distance; `times` is above 0. The
    /// angle of view stays within 0.001° to 179.999°.
    pub fn with_width_scaled(self, times: f64) -> Camera {
        let projection = match self.projection {
            Projection::Perspective { fov_degrees: fov } => Projection::Perspective {
                fov_degrees: fov_degrees(libm::tan(f64::from(fov).to_radians() / 2.0) * times),
            },
            Projection::Orthographic { width } => Projection::Orthographic {
                width: (f64::from(width) * times) as f32,
            },
        };
        Camera { projection, ..self }
    }

    /// Returns the camera relative to the scene's origin `to`, given that it is relative to `from`.
    pub fn around(self, from: DVec3, to: DVec3) -> Camera {
        self.with_points(|point| (point.as_dvec3() + (from - to)).as_vec3())
    }

    /// Returns the camera with the nearest positions that a scene file can express: far from 0, its numbers are coarser
    /// than positions near `origin`, which is [`Scene::origin`](super::Scene::origin). With the origin 0, returns the
    /// camera as it is.
    pub fn as_written(self, origin: DVec3) -> Camera {
        if origin == DVec3::ZERO {
            return self;
        }
        self.with_points(|point| (position_in_file(point, origin) - origin).as_vec3())
    }

    /// Returns the camera with its position, target and point of focus replaced by what `moved` returns for them.
    fn with_points(self, moved: impl Fn(Vec3) -> Vec3) -> Camera {
        let lens = self.lens.map(|lens| Lens {
            focus: match lens.focus {
                Focus::Point(point) => Focus::Point(moved(point)),
                distance @ Focus::Distance(_) => distance,
            },
            ..lens
        });
        Camera {
            origin: moved(self.origin),
            target: moved(self.target),
            lens,
            ..self
        }
    }

    /// Returns the camera after it has circled its target about the vertical axis by this angle in degrees,
    /// counter-clockwise as seen from above. A point in focus moves along.
    pub fn turned(self, degrees: f64) -> Camera {
        let turn = turn_about_y(degrees);
        let target = self.target.as_dvec3();
        let moved = |point: Vec3| (target + turn * (point.as_dvec3() - target)).as_vec3();
        Camera {
            target: self.target,
            up: (turn * self.up.as_dvec3()).as_vec3(),
            ..self.with_points(moved)
        }
    }
}

/// Returns the pixel aspect of square pixels.
fn square() -> f32 {
    1.0
}

/// Returns the rotation about +y by this angle in degrees, which turns +z towards +x.
pub(crate) fn turn_about_y(degrees: f64) -> DQuat {
    let (sin, cos) = libm::sincos(degrees.to_radians() / 2.0);
    DQuat::from_xyzw(0.0, sin, 0.0, cos)
}

/// Returns the angle of view in degrees whose half has the tangent `tan_half`, clamped to 0.001..=179.999.
pub(crate) fn fov_degrees(tan_half: f64) -> f32 {
    (2.0 * libm::atan(tan_half).to_degrees()).clamp(0.001, 179.999) as f32
}

/// Serialises a [`Vec3`] as an array of three numbers, for `#[serde(with = "numbers")]`.
pub(crate) mod numbers {
    use glam::Vec3;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(vector: &Vec3, to: S) -> Result<S::Ok, S::Error> {
        vector.to_array().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec3, D::Error> {
        <[f32; 3]>::deserialize(from).map(Vec3::from_array)
    }
}
