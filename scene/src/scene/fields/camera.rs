//! The editable fields of the camera: its angle of view, and the aperture and the focus of its lens.

use glam::Vec3;

use super::{Field, FieldKind, FieldValue, as_written, logarithmic, number, whole};
use crate::{
    limits::{MAX_LENGTH, MIN_LENGTH},
    scene::{Camera, Focus, Lens, Projection},
};

/// Width of the film in metres (36 mm, full frame), which relates the angle of view to the focal length.
const FILM_WIDTH: f64 = 0.036;

/// The kind of an angle of view.
const FOV: FieldKind = number("°", (0.001, 179.999), (5.0, 150.0));

/// The kind of a length that is not 0.
const LENGTH: FieldKind = logarithmic("m", (MIN_LENGTH as f32, MAX_LENGTH as f32), (0.01, 1000.0));

/// The kind of the radius of an aperture. A camera with radius 0 has no lens.
const RADIUS: FieldKind = logarithmic("m", (0.0, MAX_LENGTH as f32), (1e-4, 1.0));

/// The kind of an f-number.
const F_STOP: FieldKind = logarithmic("", (0.1, 1000.0), (0.5, 64.0));

/// The kind of the number of an aperture's blades. Two blades stand for a round aperture, which has none, so that the
/// numbers have no gap.
const BLADES: FieldKind = whole((ROUND, 16.0), &["round"]);

/// Number of blades that stands for a round aperture.
const ROUND: f32 = 2.0;

/// The kind of the rotation of an aperture.
const ROTATION: FieldKind = number("°", (-360.0, 360.0), (-180.0, 180.0));

impl Camera {
    /// Returns the editable fields with their present values: those of the projection and the lens.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = vec![match self.projection {
            Projection::Perspective { fov_degrees } => {
                Field::of_number("fov", "field of view", FOV, fov_degrees)
            }
            Projection::Orthographic { width } => {
                Field::of_number("width", "width of view", LENGTH, width)
            }
        }];
        let radius = self.lens.map_or(0.0, |lens| lens.radius);
        fields.push(Field::of_number(
            "radius",
            "aperture radius",
            RADIUS,
            radius,
        ));
        if let Some(lens) = &self.lens {
            let f_stop = self
                .focal_length()
                .map(|length| length / (2.0 * f64::from(radius)));
            fields.extend(
                f_stop.map(|stop| Field::of_number("f_stop", "f-number", F_STOP, stop as f32)),
            );
            fields.extend(self.focus_distance().map(|metres| {
                Field::of_number("focus_distance", "focus distance", LENGTH, metres)
            }));
            let blades = (lens.blades as f32).max(ROUND);
            fields.push(Field::of_number(
                "blades",
                "aperture blades",
                BLADES,
                blades,
            ));
            if lens.blades > 0 {
                let degrees = lens.rotation_degrees;
                fields.push(Field::of_number(
                    "rotation",
                    "aperture rotation",
                    ROTATION,
                    degrees,
                ));
            }
        }
        fields
    }

    /// Returns the camera with another value of a field, clamped to its range. A radius above 0 gives a pinhole camera
    /// a lens that focuses on the target, and a radius of 0 removes the lens. Returns the camera as it is if it has no
    /// such field.
    pub fn with_field(self, name: &str, value: FieldValue) -> Camera {
        let mut fields = self.fields().into_iter();
        let field = fields.find(|field| field.name == name);
        let Some(FieldValue::Number(value)) = field.map(|field| field.kind.clamped(value)) else {
            return self;
        };
        let mut camera = self;
        match name {
            "fov" => camera.projection = Projection::Perspective { fov_degrees: value },
            "width" => camera.projection = Projection::Orthographic { width: value },
            "radius" => camera.set_radius(value),
            "f_stop" => {
                if let Some(length) = self.focal_length() {
                    camera.set_radius((length / as_written(value) / 2.0) as f32);
                }
            }
            "focus_distance" => camera.set_focus_distance(value),
            _ => {
                if let Some(lens) = &mut camera.lens {
                    match name {
                        "blades" if value > ROUND => lens.blades = value as u32,
                        "blades" => lens.blades = 0,
                        _ => lens.rotation_degrees = value,
                    }
                }
            }
        }
        camera
    }

    /// Returns the focal length in metres at which a film 36 mm wide has the camera's horizontal angle of view; `None`
    /// for an orthographic camera.
    pub(crate) fn focal_length(&self) -> Option<f64> {
        match self.projection {
            Projection::Perspective { fov_degrees } => {
                let half = f64::from(fov_degrees).to_radians() / 2.0;
                Some(FILM_WIDTH / 2.0 / libm::tan(half))
            }
            Projection::Orthographic { .. } => None,
        }
    }

    /// Sets the radius of the aperture in metres; a radius below 1e-15 removes the lens.
    fn set_radius(&mut self, radius: f32) {
        if radius < MIN_LENGTH as f32 {
            self.lens = None;
            return;
        }
        let target = self.target;
        let lens = self.lens.get_or_insert(Lens {
            radius,
            focus: Focus::Point(target),
            blades: 0,
            rotation_degrees: 0.0,
        });
        lens.radius = radius;
    }

    /// Returns the distance in metres of the plane of focus along the view direction; `None` without a lens.
    fn focus_distance(&self) -> Option<f32> {
        Some(match self.lens?.focus {
            Focus::Distance(metres) => metres,
            Focus::Point(point) => (point - self.origin).dot(self.ahead()),
        })
    }

    /// Moves the plane of focus to this distance in metres. A point of focus moves to the middle of the picture.
    fn set_focus_distance(&mut self, metres: f32) {
        let point = self.origin + self.ahead() * metres;
        if let Some(lens) = &mut self.lens {
            lens.focus = match lens.focus {
                Focus::Distance(_) => Focus::Distance(metres),
                Focus::Point(_) => Focus::Point(point),
            };
        }
    }

    /// Returns the unit vector of the view direction.
    fn ahead(&self) -> Vec3 {
        (self.target - self.origin).normalize_or(Vec3::NEG_Z)
    }
}
