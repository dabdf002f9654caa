//! The camera: from a point on the film to a ray. Twin: `kernels/shared/camera.cuh`.
//!
//! A pixel filter is importance-sampled: it is the density of a sample's position, and each sample counts for its own
//! pixel with weight 1 (filter importance sampling: Ernst, Stamminger & Greiner 2006). So the samples of a pixel are
//! independent of all others, and the film stays a sum.

pub(crate) mod filter;

use compaction::shared;
use glam::{DVec3, Vec3};

use crate::{
    camera::filter::{FILTER_STEPS, table},
    math::{cross, normalize, square_to_disk},
    scene::{self, Projection},
};

shared! {
    /// A perspective or orthographic camera with a pinhole or a thin lens, ready to generate rays.
    pub struct Camera {
        /// Position of the camera, which is the lens's center in a perspective camera; world space, metres.
        pub origin: Vec3,
        /// Width of the film in pixels.
        pub width: f32,
        /// Vector from the camera to the film's center at distance 1, world space. Without a shift of the lens it is
        /// the viewing direction, of length 1.
        pub forward: Vec3,
        /// Height of the film in pixels.
        pub height: f32,
        /// Vector from the film's center to the middle of its right edge: at distance 1 in a perspective camera, in
        /// metres in an orthographic one.
        pub right: Vec3,
        /// Number of corners of the aperture, 3..=16; 0 for a round one.
        pub blades: u32,
        /// Vector from the film's center to the middle of its upper edge, in the units of `right`.
        pub up: Vec3,
        /// Distance along `forward` to the plane in focus, in metres; 0 for a pinhole.
        pub focus_distance: f32,
        /// Vector from the lens's center to its right rim, in metres.
        pub lens_right: Vec3,
        /// Radius of the pixel filter in pixels; 0 for the box filter over the pixel's own square.
        pub filter_radius: f32,
        /// Vector from the lens's center to its upper rim, in metres.
        pub lens_up: Vec3,
        /// 1 for an orthographic camera, 0 for a perspective one.
        pub parallel: u32,
        /// First corner of a polygonal aperture: right and up, in lens radii.
        pub corner: [f32; 2],
        /// Cosine and sine of the angle between adjacent corners of the aperture.
        pub turn: [f32; 2],
        /// Values of the pixel filter at equal steps from its center to its radius, not normalised.
        pub filter_values: [f32; 33],
        /// Cumulative share of the filter's positive half up to each step, from 0 to 1.
        pub filter_sums: [f32; 33],
        /// List of the bodies that the camera is inside, at the beginning of paths; 0 for none.
        pub bodies: u32,
    }
}

/// Samples the pixel filter along one axis: maps a uniform number in [0, 1) to an offset in filter radii, −1..=1.
///
/// The density is the filter, linear between its tabulated steps. The offset increases with `number`.
#[inline]
pub fn filter_offset(camera: &Camera, number: f32) -> f32 {
    let (_, sum) = sign_and_sum(number);
    let mut step = 0;
    let mut stride = FILTER_STEPS / 2;
    while stride > 0 {
        if camera.filter_sums[(step + stride) as usize] <= sum {
            step += stride;
        }
        stride /= 2;
    }
    offset_in_step(camera, number, step)
}

/// Returns [`filter_offset`] of each number, with the same bits.
///
/// For each entry of the table it compares all numbers, in loops that the compiler vectorises. A binary search would
/// read the table at a different place for each number.
#[inline(always)]
pub(crate) fn filter_offsets<const N: usize>(camera: &Camera, numbers: &[f32; N]) -> [f32; N] {
    let mut sums = [0.0; N];
    for at in 0..N {
        (_, sums[at]) = sign_and_sum(numbers[at]);
    }
    let mut steps = [0; N];
    for &start in &camera.filter_sums[1..FILTER_STEPS as usize] {
        for at in 0..N {
            steps[at] += u32::from(start <= sums[at]);
        }
    }
    let mut offsets = [0.0; N];
    for at in 0..N {
        offsets[at] = offset_in_step(camera, numbers[at], steps[at]);
    }
    offsets
}

/// Returns the side of the filter that a uniform number in [0, 1) chooses, −1 or 1, and the share of this half of the
/// filter, 0 to 1, that lies between the center and the sampled offset.
#[inline(always)]
fn sign_and_sum(number: f32) -> (f32, f32) {
    let place = 2.0 * number - 1.0;
    if place < 0.0 {
        (-1.0, -place)
    } else {
        (1.0, place)
    }
}

/// Returns the offset of [`filter_offset`] in filter radii. `step` is the interval of the table, counted from the
/// center, that contains the offset.
#[inline(always)]
fn offset_in_step(camera: &Camera, number: f32, step: u32) -> f32 {
    let (sign, sum) = sign_and_sum(number);
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

/// Samples a position on the film for a pixel, in pixels from the film's upper left corner. `u` and `v` are uniform in
/// [0, 1).
#[inline(always)]
pub fn film_point(camera: &Camera, column: u32, row: u32, u: f32, v: f32) -> (f32, f32) {
    if camera.filter_radius == 0.0 {
        return (column as f32 + u, row as f32 + v);
    }
    let offsets = (filter_offset(camera, u), filter_offset(camera, v));
    filtered_point(camera, column, row, offsets)
}

/// Returns the position on the film of a sample with these offsets from the center of a pixel, in filter radii.
#[inline(always)]
pub(crate) fn filtered_point(
    camera: &Camera,
    column: u32,
    row: u32,
    offsets: (f32, f32),
) -> (f32, f32) {
    (
        column as f32 + 0.5 + camera.filter_radius * offsets.0,
        row as f32 + 0.5 + camera.filter_radius * offsets.1,
    )
}

/// Samples a point of the aperture uniformly by area. Returns its offsets to the right and upwards in lens radii.
#[inline(always)]
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

/// Returns origin and direction (of length 1), in world space, of the ray through film position (x, y), in pixels.
///
/// `u` and `v` are uniform in [0, 1) and choose the point on the lens; a pinhole ignores them. An orthographic camera
/// has its pinhole or lens center at the film position's own point in space, and looks along `forward` from there.
#[inline(always)]
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
    /// Builds the camera of a scene for a film of this size in pixels. The field of view, or the orthographic width, is
    /// the horizontal one that the film has without a shift.
    pub fn new(camera: &scene::Camera, width: u32, height: u32) -> Camera {
        let origin = camera.origin.as_dvec3();
        let forward = (camera.target.as_dvec3() - origin).normalize();
        let right = forward.cross(camera.up.as_dvec3()).normalize();
        let up = right.cross(forward);
        let half_width = match camera.projection {
            // `libm` instead of the platform's library gives the same bits on every machine.
            Projection::Perspective { fov_degrees } => {
                libm::tan(f64::from(fov_degrees).to_radians() / 2.0)
            }
            Projection::Orthographic { width } => f64::from(width) / 2.0,
        };
        let half_height =
            half_width * f64::from(height) / f64::from(width) / f64::from(camera.pixel_aspect);
        let [shift_right, shift_up] = camera.shift.map(|part| 2.0 * f64::from(part));
        let shift = right * (shift_right * half_width) + up * (shift_up * half_height);
        let is_parallel = matches!(camera.projection, Projection::Orthographic { .. });
        // Without a shift nothing is added, which would turn components of -0 into 0.
        let (film_origin, to_film) = match camera.shift == [0.0; 2] {
            true => (origin, forward),
            false if is_parallel => (origin + shift, forward),
            false => (origin, forward + shift),
        };
        let pinhole = Camera {
            origin: film_origin.as_vec3(),
            width: width as f32,
            forward: to_film.as_vec3(),
            height: height as f32,
            right: (right * half_width).as_vec3(),
            up: (up * half_height).as_vec3(),
            parallel: is_parallel.into(),
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

    /// Adds a thin lens. `origin` and the unit axes are those of the camera, in double precision.
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
            // A focus point behind the camera is clamped to the nearest distance, and everything is blurred.
            focus_distance: focus_distance.max(NEAREST_FOCUS),
            lens_right: (right * radius).as_vec3(),
            lens_up: (up * radius).as_vec3(),
            blades: lens.blades,
            // Without rotation the first corner is at the top.
            corner: [-libm::sin(angle) as f32, libm::cos(angle) as f32],
            turn: [libm::cos(turn) as f32, libm::sin(turn) as f32],
            ..self
        }
    }

    /// Returns the viewing direction, of length 1: perpendicular to the film, whatever the shift of the lens.
    pub fn viewing_direction(&self) -> Vec3 {
        normalize(cross(self.up, self.right))
    }

    /// Returns width and height of the film in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    /// Returns the number of pixels of the film.
    pub fn pixel_count(&self) -> u32 {
        self.width as u32 * self.height as u32
    }
}

/// Smallest focus distance of a lens in metres; above 0, which stands for a pinhole.
const NEAREST_FOCUS: f32 = 1e-15;
