//! From a point on the film to a ray. Twin: `kernels/shared/camera.cuh`.
//!
//! A pixel filter is not a weight but a density: a sample's place on the film is drawn by the filter of its own pixel, and
//! counts for that pixel alone (filter importance sampling: Ernst, Stamminger & Greiner 2006). So samples of one pixel
//! stay independent of all others, and the film stays a sum.

use compaction::shared;
use glam::{DVec3, Vec3};

use crate::{
    filter::{FILTER_STEPS, table},
    math::{normalize, square_to_disk},
    scene::{self, Projection},
};

shared! {
    /// A pinhole or a thin lens, or either before every point of the film.
    pub struct Camera {
        /// The lens's centre; world space, metres.
        pub origin: Vec3,
        /// Film, pixels a row.
        pub width: f32,
        /// From the eye to the film's centre, of length 1.
        pub forward: Vec3,
        /// Film, rows.
        pub height: f32,
        /// From the film's centre to the middle of its right edge; metres of an orthographic camera.
        pub right: Vec3,
        /// Corners of the aperture; 0 if it is round.
        pub blades: u32,
        /// From the film's centre to the middle of its upper edge, alike.
        pub up: Vec3,
        /// Along `forward` to the plane that is sharp, metres; 0 for a pinhole.
        pub focus_distance: f32,
        /// From the lens's centre to its rim on the right, metres.
        pub lens_right: Vec3,
        /// Half the width of the pixel filter, pixels; 0 for a box over the pixel's own square.
        pub filter_radius: f32,
        /// From the lens's centre to its upper rim, metres.
        pub lens_up: Vec3,
        /// 1 if all rays of the pinhole are parallel: an orthographic camera.
        pub parallel: u32,
        /// A corner of the aperture, in radii to the right and upwards.
        pub corner: [f32; 2],
        /// Cosine and sine of the angle from one corner to the next.
        pub turn: [f32; 2],
        /// The filter at equal steps from its middle to its radius.
        pub filter_values: [f32; 33],
        /// The part of the filter's half that lies before each step, from 0 to 1.
        pub filter_sums: [f32; 33],
    }
}

/// Where on the filter a number in [0, 1) falls: -1..=1 of its radius, with the filter's density, which is linear between
/// its steps. Grows with the number.
#[inline]
pub fn filter_offset(camera: &Camera, number: f32) -> f32 {
    let place = 2.0 * number - 1.0;
    let (sign, sum) = if place < 0.0 {
        (-1.0, -place)
    } else {
        (1.0, place)
    };
    let mut step = 0;
    let mut stride = FILTER_STEPS / 2;
    while stride > 0 {
        if camera.filter_sums[(step + stride) as usize] <= sum {
            step += stride;
        }
        stride /= 2;
    }
    let at = step as usize;
    let (before, after) = (camera.filter_sums[at], camera.filter_sums[at + 1]);
    let (low, high) = (camera.filter_values[at], camera.filter_values[at + 1]);
    let share = if after > before {
        (sum - before) / (after - before)
    } else {
        0.0
    };
    let root = (low * low + share * (high * high - low * low)).sqrt();
    let within = share * (low + high) / (low + root);
    sign * ((step as f32 + within) * (1.0 / FILTER_STEPS as f32))
}

/// A sample's place on the film, in pixels from its upper left corner.
#[inline]
pub fn film_point(camera: &Camera, column: u32, row: u32, u: f32, v: f32) -> (f32, f32) {
    if camera.filter_radius == 0.0 {
        return (column as f32 + u, row as f32 + v);
    }
    (
        column as f32 + 0.5 + camera.filter_radius * filter_offset(camera, u),
        row as f32 + 0.5 + camera.filter_radius * filter_offset(camera, v),
    )
}

/// A point of the aperture, uniform by area, in radii to the right and upwards.
#[inline]
pub fn aperture_point(camera: &Camera, u: f32, v: f32) -> (f32, f32) {
    if camera.blades == 0 {
        return square_to_disk(u, v);
    }
    let [cosine, sine] = camera.turn;
    let mut along = u * camera.blades as f32;
    let (mut ax, mut ay) = (camera.corner[0], camera.corner[1]);
    let (mut bx, mut by) = (cosine * ax - sine * ay, sine * ax + cosine * ay);
    for _ in 1..camera.blades {
        if along < 1.0 {
            break;
        }
        along -= 1.0;
        (ax, ay) = (bx, by);
        (bx, by) = (cosine * ax - sine * ay, sine * ax + cosine * ay);
    }
    let outwards = v.sqrt();
    (
        outwards * (ax + along * (bx - ax)),
        outwards * (ay + along * (by - ay)),
    )
}

/// Origin and direction, of length 1, of the ray through a point of the film and, unless the camera is a pinhole, a point
/// of the aperture. An orthographic camera has a pinhole or a lens for each point of the film, as far from its origin.
#[inline]
pub fn camera_ray(camera: &Camera, x: f32, y: f32, u: f32, v: f32) -> (Vec3, Vec3) {
    let right = camera.right * (2.0 * x / camera.width - 1.0);
    let up = camera.up * (1.0 - 2.0 * y / camera.height);
    let (center, through) = if camera.parallel == 1 {
        (camera.origin + right + up, camera.forward)
    } else {
        (camera.origin, camera.forward + right + up)
    };
    if camera.focus_distance == 0.0 {
        return (center, normalize(through));
    }
    let (across, upwards) = aperture_point(camera, u, v);
    let shift = camera.lens_right * across + camera.lens_up * upwards;
    (
        center + shift,
        normalize(through * camera.focus_distance - shift),
    )
}

impl Camera {
    /// The scene's camera over a film of this size. The angle of view, or the width, is the horizontal one.
    pub fn new(camera: &scene::Camera, width: u32, height: u32) -> Camera {
        let origin = camera.origin.as_dvec3();
        let forward = (camera.target.as_dvec3() - origin).normalize();
        let right = forward.cross(camera.up.as_dvec3()).normalize();
        let up = right.cross(forward);
        let half_width = match camera.projection {
            // `libm` and not the platform's library: the same bits on every machine.
            Projection::Perspective { fov_degrees } => {
                libm::tan(f64::from(fov_degrees).to_radians() / 2.0)
            }
            Projection::Orthographic { width } => f64::from(width) / 2.0,
        };
        let half_height = half_width * f64::from(height) / f64::from(width);
        let pinhole = Camera {
            origin: camera.origin,
            width: width as f32,
            forward: forward.as_vec3(),
            height: height as f32,
            right: (right * half_width).as_vec3(),
            up: (up * half_height).as_vec3(),
            parallel: matches!(camera.projection, Projection::Orthographic { .. }).into(),
            ..Camera::default()
        };
        let camera_with_lens = match &camera.lens {
            Some(lens) => pinhole.with_lens(lens, origin, [right, up, forward]),
            None => pinhole,
        };
        match table(&camera.filter) {
            Some((values, sums)) => Camera {
                filter_radius: camera.filter.radius(),
                filter_values: values,
                filter_sums: sums,
                ..camera_with_lens
            },
            None => camera_with_lens,
        }
    }

    fn with_lens(
        self,
        lens: &scene::Lens,
        origin: DVec3,
        [right, up, forward]: [DVec3; 3],
    ) -> Camera {
        let focus_distance = match lens.focus {
            scene::Focus::Distance(distance) => distance,
            scene::Focus::Point(point) => (point.as_dvec3() - origin).dot(forward) as f32,
        };
        let radius = f64::from(lens.radius);
        let angle = f64::from(lens.rotation_degrees).to_radians();
        let turn = std::f64::consts::TAU / f64::from(lens.blades.max(1));
        Camera {
            // A point behind a camera that has been moved is never sharp.
            focus_distance: focus_distance.max(NEAREST_FOCUS),
            lens_right: (right * radius).as_vec3(),
            lens_up: (up * radius).as_vec3(),
            blades: lens.blades,
            // The first corner is the uppermost.
            corner: [-libm::sin(angle) as f32, libm::cos(angle) as f32],
            turn: [libm::cos(turn) as f32, libm::sin(turn) as f32],
            ..self
        }
    }

    /// Pixels of the film.
    pub fn pixel_count(&self) -> u32 {
        self.width as u32 * self.height as u32
    }
}

/// Above 0, which is a pinhole's.
const NEAREST_FOCUS: f32 = 1e-15;
