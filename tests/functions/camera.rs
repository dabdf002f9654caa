//! Tests of lens and pixel filter sampling with uniformly distributed numbers.

use glam::Vec3;
use raysieve::{
    camera::{Camera, aperture_point, camera_ray, film_point, filter_offset},
    scene::{self, Focus, Lens, PixelFilter, Projection},
};

/// Returns a camera with this lens and pixel filter.
fn camera(lens: Option<Lens>, filter: PixelFilter) -> Camera {
    let projection = Projection::Perspective { fov_degrees: 50.0 };
    let camera = scene::Camera {
        origin: Vec3::new(1.0, 2.0, 3.0),
        target: Vec3::new(-2.0, 1.0, -4.0),
        up: Vec3::Y,
        projection,
        shift: [0.0; 2],
        pixel_aspect: 1.0,
        lens,
        filter,
    };
    Camera::new(&camera, 40, 30)
}

fn with_blades(blades: u32) -> Camera {
    let lens = Lens {
        radius: 0.25,
        focus: Focus::Distance(6.0),
        blades,
        rotation_degrees: 20.0,
    };
    camera(Some(lens), PixelFilter::default())
}

/// Returns the midpoints of a grid over the unit square.
fn grid(side: u32) -> impl Iterator<Item = (f32, f32)> {
    let middle = move |index: u32| (index as f32 + 0.5) / side as f32;
    (0..side * side).map(move |index| (middle(index % side), middle(index / side)))
}

/// Compares the moments of the sampled points with those of the figure, which are equal in all directions.
#[test]
fn an_aperture_is_sampled_uniformly() {
    for blades in [0, 3, 5, 6, 16] {
        let camera = with_blades(blades);
        let half_angle = std::f64::consts::PI / f64::from(blades.max(1));
        let expected = match blades {
            0 => 0.25,
            _ => (1.0 + 2.0 * half_angle.cos().powi(2)) / 12.0,
        };
        let side = 240;
        let mut sums = [0.0_f64; 5];
        for (u, v) in grid(side) {
            let (x, y) = aperture_point(&camera, u, v);
            let (x, y) = (f64::from(x), f64::from(y));
            assert!(x * x + y * y <= 1.000_001, "{blades} blades: ({x}, {y})");
            for (sum, value) in sums.iter_mut().zip([x, y, x * x, y * y, x * y]) {
                *sum += value / f64::from(side * side);
            }
        }
        let moments = [0.0, 0.0, expected, expected, 0.0];
        for (sum, moment) in sums.iter().zip(moments) {
            assert!(
                (sum - moment).abs() < 1e-4,
                "{blades} blades: {sums:?}, expected {moments:?}"
            );
        }
    }
}

/// Checks that the corners lie on the circle, beginning at the rotated top, and that edges between them are straight.
#[test]
fn an_aperture_has_its_corners() {
    let camera = with_blades(5);
    for corner in 0..5 {
        let angle = f64::from(90 + 20 + 72 * corner).to_radians();
        let (x, y) = aperture_point(&camera, corner as f32 / 5.0, 1.0);
        let offset = (f64::from(x) - angle.cos()).hypot(f64::from(y) - angle.sin());
        assert!(offset < 1e-6, "corner {corner}: ({x}, {y})");
        let (x, y) = aperture_point(&camera, (corner as f32 + 0.5) / 5.0, 1.0);
        let within = f64::from(x.hypot(y)) - 36_f64.to_radians().cos();
        assert!(within.abs() < 1e-6, "edge {corner}: ({x}, {y})");
    }
}

/// Checks that a ray through any point of the lens meets the plane of focus where the pinhole camera's ray does.
#[test]
fn a_lens_is_sharp_on_its_plane() {
    let (lens, pinhole) = (with_blades(5), camera(None, PixelFilter::default()));
    for (x, y) in [(0.0, 0.0), (20.0, 15.0), (33.3, 7.1)] {
        let (_, through) = camera_ray(&pinhole, x, y, 0.0, 0.0);
        let sharp = pinhole.origin + through * (6.0 / through.dot(pinhole.forward));
        for (u, v) in grid(7) {
            let (origin, direction) = camera_ray(&lens, x, y, u, v);
            let offset = origin - lens.origin;
            assert!(offset.dot(lens.forward).abs() < 1e-6 && offset.length() < 0.250_001);
            assert!((direction.length() - 1.0).abs() < 1e-6);
            let missed = (sharp - origin).cross(direction).length();
            assert!(missed < 1e-5, "({x}, {y}), ({u}, {v}): missed by {missed}");
        }
    }
}

/// A crop of an image is an image of its own, with a shift of the lens. Checks that both have the same rays.
#[test]
fn a_shifted_camera_has_the_rays_of_a_crop() {
    let lens = Lens {
        radius: 0.25,
        focus: Focus::Point(Vec3::new(0.5, 1.8, 0.0)),
        blades: 0,
        rotation_degrees: 0.0,
    };
    let perspective = Projection::Perspective { fov_degrees: 50.0 };
    let orthographic = Projection::Orthographic { width: 3.0 };
    for (projection, lens) in [
        (perspective, None),
        (perspective, Some(lens)),
        (orthographic, None),
        (orthographic, Some(lens)),
    ] {
        let whole = scene::Camera {
            origin: Vec3::new(1.0, 2.0, 3.0),
            target: Vec3::new(-2.0, 1.0, -4.0),
            up: Vec3::Y,
            projection,
            shift: [0.1, -0.2],
            pixel_aspect: 1.0,
            lens,
            filter: PixelFilter::default(),
        };
        // The part of 10 by 6 pixels whose upper left corner is in column 25 and row 3.
        let part = scene::Camera {
            shift: [
                (0.1 * 40.0 + 25.0 + 5.0 - 20.0) / 10.0,
                (-0.2 * 30.0 - 3.0 - 3.0 + 15.0) / 6.0,
            ],
            ..whole.with_width_scaled(10.0 / 40.0)
        };
        let (whole, part) = (Camera::new(&whole, 40, 30), Camera::new(&part, 10, 6));
        let direction = whole.viewing_direction();
        assert!((direction - part.viewing_direction()).length() < 1e-6);
        for (x, y) in [(0.0, 0.0), (10.0, 6.0), (2.5, 4.5)] {
            for (u, v) in grid(3) {
                let one = camera_ray(&whole, 25.0 + x, 3.0 + y, u, v);
                let other = camera_ray(&part, x, y, u, v);
                let off = (one.0 - other.0).length().max((one.1 - other.1).length());
                assert!(off < 2e-6, "{projection:?}, ({x}, {y}): {one:?}, {other:?}");
                assert!((one.1.length() - 1.0).abs() < 1e-6);
                if projection == orthographic && lens.is_none() {
                    assert!((one.1 - direction).length() < 1e-6);
                }
            }
        }
    }
}

/// A function that returns the value of a filter, up to a constant factor, at a distance in pixels from its center.
type Value = dyn Fn(f64) -> f64;

/// Compares the distribution function of the samples with the integral of the filter's definition.
#[test]
fn filter_samples_follow_the_filters_definition() {
    let gaussian = |x: f64, sigma: f64| (-x * x / (2.0 * sigma * sigma)).exp();
    let cosine = |x: f64, times: f64| (times * std::f64::consts::PI * (x / 2.0 + 1.0)).cos();
    let filters: [(PixelFilter, Box<Value>); 4] = [
        (PixelFilter::Box { radius: 0.5 }, Box::new(|_| 1.0)),
        (PixelFilter::Box { radius: 2.5 }, Box::new(|_| 1.0)),
        (
            PixelFilter::Gaussian {
                radius: 1.5,
                sigma: 0.5,
            },
            Box::new(move |x| gaussian(x, 0.5) - gaussian(1.5, 0.5)),
        ),
        (
            PixelFilter::BlackmanHarris { radius: 2.0 },
            Box::new(move |x| {
                0.35875 - 0.48829 * cosine(x, 1.0) + 0.14128 * cosine(x, 2.0)
                    - 0.01168 * cosine(x, 3.0)
            }),
        ),
    ];
    for (filter, value) in filters {
        let radius = f64::from(filter.radius());
        // The integral from the left end, by the midpoint rule.
        let steps = 4096;
        let width = 2.0 * radius / f64::from(steps);
        let mut sums = vec![0.0];
        for step in 0..steps {
            let place = -radius + (f64::from(step) + 0.5) * width;
            sums.push(sums.last().unwrap() + value(place));
        }
        let camera = camera(None, filter);
        let mut last = f32::MIN;
        for number in 0..10_000 {
            let number = number as f32 / 10_000.0;
            let (x, y) = film_point(&camera, 7, 9, number, number);
            assert!((x - 7.0 - (y - 9.0)).abs() < 1e-5);
            assert!(x >= last, "{filter:?}: {x} after {last}");
            last = x;
            let at = (f64::from(x) - 7.5 + radius) / width;
            let before = (at.floor() as usize).min(sums.len() - 2);
            let sum = sums[before] + (sums[before + 1] - sums[before]) * (at - before as f64);
            let offset = sum / sums.last().unwrap() - f64::from(number);
            assert!(
                offset.abs() < 1e-3,
                "{filter:?}: {number} at {x}, off by {offset}"
            );
        }
    }
}

/// Checks the variance of the narrowest and the widest Gaussian that a scene may contain.
#[test]
fn a_filter_keeps_its_spread() {
    for (radius, sigma) in [(1.6, 0.2), (1.5, 0.5), (1.0, 8.0)] {
        let camera = camera(None, PixelFilter::Gaussian { radius, sigma });
        let (sigma, radius) = (f64::from(sigma), f64::from(radius));
        let gaussian = |x: f64| (-x * x / (2.0 * sigma * sigma)).exp();
        let (mut light, mut spread, mut drawn) = (0.0, 0.0, 0.0);
        let steps = 20_000;
        for step in 0..steps {
            let number = (f64::from(step) + 0.5) / f64::from(steps);
            let x = number * radius;
            let value = gaussian(x) - gaussian(radius);
            light += value;
            spread += value * x * x;
            drawn += (f64::from(filter_offset(&camera, number as f32)) * radius).powi(2);
        }
        let (spread, drawn) = (spread / light, drawn / f64::from(steps));
        let ratio = (drawn / spread).sqrt();
        assert!(
            (ratio - 1.0).abs() < 0.01,
            "radius {radius}, sigma {sigma}: {ratio}"
        );
    }
}

#[test]
fn oblong_pixels_change_the_height_of_the_view() {
    for projection in [
        Projection::Perspective { fov_degrees: 50.0 },
        Projection::Orthographic { width: 3.0 },
    ] {
        let square = scene::Camera {
            origin: Vec3::ZERO,
            target: Vec3::NEG_Z,
            up: Vec3::Y,
            projection,
            shift: [0.0; 2],
            pixel_aspect: 1.0,
            lens: None,
            filter: PixelFilter::default(),
        };
        let wide = scene::Camera {
            pixel_aspect: 2.0,
            ..square
        };
        // Pixels that are half as high show what an image of half the height shows.
        let (wide, low) = (Camera::new(&wide, 40, 30), Camera::new(&square, 40, 15));
        for (x, y) in [(0.0, 0.0), (40.0, 30.0), (7.5, 22.0)] {
            let one = camera_ray(&wide, x, y, 0.0, 0.0);
            let other = camera_ray(&low, x, y / 2.0, 0.0, 0.0);
            let off = (one.0 - other.0).length().max((one.1 - other.1).length());
            assert!(off < 1e-6, "{projection:?}, ({x}, {y}): {one:?}, {other:?}");
        }
    }
}
