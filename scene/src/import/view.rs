//! The camera of a scene of another renderer.

use glam::{DVec2, DVec3};

use crate::{
    limits::{MAX_LENGTH, MAX_PIXEL_ASPECT, MAX_SHIFT, MIN_LENGTH, MIN_PIXEL_ASPECT},
    load_options::UpAxis,
    model::{check_position, clipping::ClippedView},
    scene::{Camera, Focus, Lens, PixelFilter, Projection, camera::fov_degrees},
};

/// A camera. Its axes need not have length 1, and may be left-handed; then the image is mirrored.
#[derive(Clone)]
pub(crate) struct View {
    /// Position in world space, metres.
    pub(crate) origin: DVec3,
    /// Direction that points to the right in the image.
    pub(crate) right: DVec3,
    /// Direction that points up in the image.
    pub(crate) up: DVec3,
    /// Direction in which the camera looks.
    pub(crate) forward: DVec3,
    /// Projection, with the extent of the view.
    pub(crate) extent: ViewExtent,
    /// Width of a pixel divided by its height, above 0.
    pub(crate) pixel_aspect: f64,
    /// Shift of the image in image widths to the right and image heights up, see [`Camera::shift`].
    pub(crate) shift: [f64; 2],
    /// Radius of the lens and distance of its plane of focus, both in metres; `None` for a pinhole.
    pub(crate) lens: Option<(f64, f64)>,
    /// Pixel reconstruction filter.
    pub(crate) filter: PixelFilter,
    /// Distances of the near and the far clipping plane in lengths of `forward`; `None` if there are none.
    pub(crate) clip: Option<[f64; 2]>,
}

/// A part of an image that is rendered alone, in pixels from the upper left corner of the whole image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Crop {
    /// Column and row of its upper left corner.
    pub(crate) corner: [f64; 2],
    /// Width and height, 1 or more each.
    pub(crate) size: [f64; 2],
}

impl Crop {
    /// Returns the shift of the crop's view, in its own widths to the right and heights up. `whole` is the size of the
    /// whole image in pixels, and `shift` is its shift in its own widths and heights.
    pub(crate) fn shift(&self, whole: [f64; 2], shift: [f64; 2]) -> [f64; 2] {
        let center = |axis: usize| self.corner[axis] + (self.size[axis] - whole[axis]) / 2.0;
        [
            (shift[0] * whole[0] + center(0)) / self.size[0],
            (shift[1] * whole[1] - center(1)) / self.size[1],
        ]
    }
}

/// Extent of the view of a camera.
#[derive(Clone, Copy)]
pub(crate) enum ViewExtent {
    /// Perspective projection, with the tangent of half the horizontal angle of view.
    Perspective(f64),
    /// Orthographic projection, with half the width of the view in metres.
    Orthographic(f64),
}

impl ViewExtent {
    /// Returns an extent that is `part` times as wide.
    pub(crate) fn scaled(self, part: f64) -> ViewExtent {
        match self {
            ViewExtent::Perspective(half) => ViewExtent::Perspective(half * part),
            ViewExtent::Orthographic(half) => ViewExtent::Orthographic(half * part),
        }
    }
}

impl View {
    /// Returns the position and the axes of the camera.
    pub(super) fn vectors(&mut self) -> [&mut DVec3; 4] {
        [
            &mut self.origin,
            &mut self.right,
            &mut self.up,
            &mut self.forward,
        ]
    }

    /// Returns which of +y and +z the camera takes for up: the one that is closest to the top of the image. If the
    /// camera is not rolled about one of them alone, it is that one, however steeply the camera looks down.
    pub(super) fn up_axis(&self) -> UpAxis {
        let (right, up) = (
            self.right.normalize_or(DVec3::X),
            self.up.normalize_or(DVec3::Y),
        );
        let is_level = |side: f64, top: f64| side.abs() < 1e-3 && top > 1e-3;
        match (is_level(right.y, up.y), is_level(right.z, up.z)) {
            (true, false) => UpAxis::Y,
            (false, true) => UpAxis::Z,
            _ if up.z > up.y.max(0.0) => UpAxis::Z,
            _ => UpAxis::Y,
        }
    }

    /// Returns the clipping planes and the view of the camera, for an image of this size in pixels; `None` without
    /// clipping planes.
    pub(super) fn clipped(&self, (width, height): (u32, u32)) -> Option<ClippedView> {
        let planes = self.clip?.map(|distance| distance * self.forward.length());
        let (half_width, perspective) = match self.extent {
            ViewExtent::Perspective(tangent) => (tangent, true),
            ViewExtent::Orthographic(half_width) => (half_width, false),
        };
        let half_height = half_width * f64::from(height) / f64::from(width) / self.pixel_aspect;
        let shift = DVec2::from_array(self.shift).abs() * 2.0;
        Some(ClippedView {
            origin: self.origin,
            axes: [self.right, self.up, self.forward],
            planes,
            half: DVec2::new(half_width, half_height) * (1.0 + shift),
            perspective,
        })
    }

    /// Returns whether the axes of the camera are not perpendicular, which [`View::camera`] cannot express. Degenerate
    /// axes count as perpendicular.
    pub(super) fn is_sheared(&self) -> bool {
        let [right, up, forward] =
            [self.right, self.up, self.forward].map(DVec3::normalize_or_zero);
        let largest = [right.dot(up), right.dot(forward), up.dot(forward)]
            .into_iter()
            .fold(0.0, |largest: f64, cosine| largest.max(cosine.abs()));
        largest > 1e-3
    }

    /// Returns whether the camera shows a mirrored image: its directions right, up and backwards are left-handed.
    /// Degenerate axes count as not mirrored.
    pub(super) fn is_mirrored(&self) -> bool {
        self.right.cross(self.up).dot(self.forward) > 0.0
    }

    /// Returns the camera of a scene around `origin`. Its target, about which it orbits, is as far away as its lens focuses, or at `depth` without
    /// a lens, in metres. Fails if its axes are degenerate, or it is too far away.
    pub(super) fn camera(&self, depth: Option<f64>, origin: DVec3) -> Result<Camera, String> {
        let degenerate = || "its camera has a degenerate transform; correct it".to_owned();
        check_position(self.origin, "the camera")?;
        let forward = self.forward.try_normalize().ok_or_else(degenerate)?;
        let up = self.up.try_normalize().ok_or_else(degenerate)?;
        if forward.cross(up).length() < 1e-5 {
            return Err(degenerate());
        }
        let lens = self.lens.filter(|&(radius, _)| radius > MIN_LENGTH);
        let focus = lens.map_or(depth.unwrap_or(1.0), |(_, focus)| focus);
        let focus = focus.clamp(MIN_LENGTH, MAX_LENGTH);
        // A target that is close to a distant camera would lose its direction in `f32`.
        let position = self.origin - origin;
        let distance = focus.max(1e-2 * position.abs().max_element());
        Ok(Camera {
            origin: position.as_vec3(),
            target: (position + forward * distance).as_vec3(),
            up: up.as_vec3(),
            projection: match self.extent {
                ViewExtent::Perspective(tangent) => Projection::Perspective {
                    fov_degrees: fov_degrees(tangent),
                },
                ViewExtent::Orthographic(half_width) => Projection::Orthographic {
                    width: (2.0 * half_width).clamp(MIN_LENGTH, MAX_LENGTH) as f32,
                },
            },
            shift: self
                .shift
                .map(|part| part.clamp(-MAX_SHIFT, MAX_SHIFT) as f32),
            pixel_aspect: self.pixel_aspect.clamp(MIN_PIXEL_ASPECT, MAX_PIXEL_ASPECT) as f32,
            lens: lens.map(|(radius, _)| Lens {
                radius: radius.min(MAX_LENGTH) as f32,
                focus: Focus::Distance(focus as f32),
                blades: 0,
                rotation_degrees: 0.0,
            }),
            filter: self.filter,
        })
    }
}
