//! The rule that adapts the camera of a model to the image size.

use glam::{DVec3, Vec3};

use super::{Camera, PixelFilter, Projection, camera::fov_degrees};

/// Unit direction from the model to the camera: 35° to the right of +z and 20° above the horizon.
const TO_CAMERA: DVec3 = DVec3::new(0.539, 0.342, 0.7698);
/// Tangent of half the angle of view along the shorter side of the image; that half is 14°.
const TAN_HALF_FOV: f64 = 0.2493;
/// Width of the visible region divided by that of the model: above 1, so that a margin is left.
const MARGIN: f64 = 1.06;

/// Rule that gives a model's camera for any image size, so that the same part of the model stays visible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Framing {
    /// Shows the whole model from 35° to the right of +z and 20° above. The model lies in both a box and a sphere with
    /// the same centre.
    Around {
        /// Centre of the box and of the sphere in metres.
        center: Vec3,
        /// Half the lengths of the box's edges along x, y and z, in metres.
        half_size: Vec3,
        /// Radius of the sphere in metres. The camera shows the whole box or the whole sphere, whichever lets it stand
        /// closer to the model.
        radius: f32,
    },
    /// Shows the view of the model's own camera. The height of the view does not depend on the image size.
    Camera {
        /// The camera for a square image. Other aspect ratios change only the width of its view.
        camera: Camera,
    },
}

/// A camera of a model's file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCamera {
    /// Name of the camera in the file, or else that of its node; empty if both have none.
    pub name: String,
    /// Rule that gives the camera for any image size.
    pub framing: Framing,
}

impl Framing {
    /// Returns the camera for an image of this width and height in pixels.
    pub fn camera(&self, (width, height): (u32, u32)) -> Camera {
        let aspect_ratio = f64::from(width) / f64::from(height.max(1));
        match *self {
            Framing::Around {
                center,
                half_size,
                radius,
            } => {
                let tan_half_width = TAN_HALF_FOV * aspect_ratio.max(1.0);
                let tan_half_height = tan_half_width / aspect_ratio;
                let right = DVec3::Y.cross(TO_CAMERA).normalize();
                let up = TO_CAMERA.cross(right);
                // The distance at which all corners of the box are visible, or the whole sphere, whichever is smaller.
                let box_distance = (0..8).fold(0.0, |distance: f64, corner| {
                    let sign = |axis: u32| if corner >> axis & 1 == 0 { -1.0 } else { 1.0 };
                    let corner = half_size.as_dvec3() * DVec3::new(sign(0), sign(1), sign(2));
                    let aside = (corner.dot(right).abs() / tan_half_width)
                        .max(corner.dot(up).abs() / tan_half_height);
                    distance.max(corner.dot(TO_CAMERA) + MARGIN * aside)
                });
                let sine = TAN_HALF_FOV / (1.0 + TAN_HALF_FOV * TAN_HALF_FOV).sqrt();
                let distance = box_distance.min(f64::from(radius) * MARGIN / sine);
                Camera {
                    origin: (center.as_dvec3() + TO_CAMERA * distance).as_vec3(),
                    target: center,
                    up: Vec3::Y,
                    projection: Projection::Perspective {
                        fov_degrees: fov_degrees(tan_half_width),
                    },
                    lens: None,
                    filter: PixelFilter::default(),
                }
            }
            Framing::Camera { camera } => camera.with_width_scaled(aspect_ratio),
        }
    }
}
