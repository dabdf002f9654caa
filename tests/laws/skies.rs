//! Point, spot, directional and environment lights, compared with closed-form solutions.

use std::{f64::consts::PI, fs};

use glam::{DVec3, Vec3};
use image::{Rgb, Rgb32FImage};
use raysieve::scene::Scene;

use crate::{
    common::{on_cpu, render},
    expect, mean, measure,
};

/// Albedo of the plane.
const ALBEDO: DVec3 = DVec3::new(0.2, 0.5, 0.8);

/// Returns a plane at y = 0, seen from above at `at` and lit by `lights`; `skies` are saved as image files next to it.
fn plane(at: DVec3, lights: &str, max_bounces: u32, skies: &[(&str, &Rgb32FImage)]) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    for (name, sky) in skies {
        sky.save(folder.path().join(name)).unwrap();
    }
    let text = format!(
        r#"(
            size: (4, 4), spp: 256, max_bounces: {max_bounces},
            camera: (origin: ({}, 0.5, {}), target: ({}, 0, {}), fov: 0.01),
            lights: [{lights}],
            materials: {{ "plane": Diffuse(albedo: (0.2, 0.5, 0.8)) }},
            objects: [
                Quad(corner: (-50, 0, 50), edge_u: (100, 0, 0), edge_v: (0, 0, -100), material: "plane"),
            ],
        )"#,
        at.x,
        at.z + 2.0,
        at.x,
        at.z
    );
    let path = folder.path().join("scene.ron");
    fs::write(&path, text).unwrap();
    Scene::load(&path).unwrap()
}

/// Asserts that every pixel is exact: light from a single direction has no noise.
fn expect_exactly(scene: &Scene, expected: DVec3, case: &str) {
    let found = mean(&render(scene, &on_cpu()).0);
    let difference = (found / expected - 1.0).abs().max_element();
    assert!(difference < 2e-4, "{case}: {found}, expected {expected}");
}

#[test]
fn a_point_light_obeys_the_inverse_square_law() {
    for at in [DVec3::ZERO, DVec3::new(1.5, 0.0, -2.0)] {
        let to_lamp = DVec3::new(0.5, 2.0, 0.25) - at;
        let cosine = to_lamp.y / to_lamp.length();
        let lamp = "Point(position: (0.5, 2, 0.25), intensity: (1, 2, 4))";
        let irradiance = DVec3::new(1.0, 2.0, 4.0) * cosine / to_lamp.length_squared();
        let case = format!("the point over {at}");
        expect_exactly(&plane(at, lamp, 1, &[]), ALBEDO * irradiance / PI, &case);
    }
}

#[test]
fn a_spot_light_falls_off_between_its_cones() {
    let lamp = "Spot(position: (0, 2, 0), direction: (0, -3, 0), intensity: (3, 3, 3), inner: 20, outer: 40)";
    for degrees in [0.0_f64, 19.0, 25.0, 35.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let at = DVec3::new(2.0 * sin / cos, 0.0, 0.0);
        let edges = [20.0_f64, 40.0].map(|edge| edge.to_radians().cos());
        let part = ((cos - edges[1]) / (edges[0] - edges[1])).min(1.0);
        let irradiance = 3.0 * part * part * cos * (cos / 2.0).powi(2);
        let case = format!("the spot at {degrees} degrees");
        expect_exactly(&plane(at, lamp, 1, &[]), ALBEDO * irradiance / PI, &case);
    }
    let outside = plane(DVec3::X * 2.0, lamp, 1, &[]);
    assert_eq!(mean(&render(&outside, &on_cpu()).0), DVec3::ZERO);
}

#[test]
fn a_directional_light_obeys_the_cosine_law() {
    let lamp = "Directional(direction: (3, -4, 0), irradiance: (1, 2, 4))";
    let expected = ALBEDO * DVec3::new(1.0, 2.0, 4.0) * 0.8 / PI;
    expect_exactly(&plane(DVec3::ZERO, lamp, 1, &[]), expected, "a directional");
    let below = "Directional(direction: (3, 4, 0), irradiance: (1, 2, 4))";
    let dark = mean(&render(&plane(DVec3::ZERO, below, 1, &[]), &on_cpu()).0);
    assert_eq!(dark, DVec3::ZERO);
}

/// Checks that a disk completely above the horizon lights like its center.
#[test]
fn a_sun_of_any_size_obeys_the_cosine_law() {
    for angle in [0.5, 20.0, 60.0] {
        let lamp =
            format!("Directional(direction: (3, -4, 0), irradiance: (1, 2, 4), angle: {angle})");
        let expected = ALBEDO * DVec3::new(1.0, 2.0, 4.0) * 0.8 / PI;
        let case = format!("a sun of {angle} degrees");
        expect(
            &measure(&plane(DVec3::ZERO, &lamp, 1, &[])),
            expected,
            &case,
        );
    }
}

/// Checks that the light of several lights is the sum of each.
#[test]
fn lights_add_up() {
    let lights = "Point(position: (0.5, 2, 0.25), intensity: (1000, 1000, 1000)),
        Directional(direction: (3, -4, 0), irradiance: (0.5, 0.5, 0.5)),
        Directional(direction: (0, -1, 0), irradiance: (1, 1, 1), angle: 5),
        Environment(file: \"white.exr\", scale: 0.25),";
    let to_lamp = DVec3::new(0.5, 2.0, 0.25);
    let point = 1000.0 * to_lamp.y / to_lamp.length().powi(3);
    let expected = ALBEDO * (point + 0.4 + 1.0 + 0.25 * PI) / PI;
    let white = Rgb32FImage::from_pixel(8, 4, Rgb([1.0; 3]));
    let scene = plane(DVec3::ZERO, lights, 1, &[("white.exr", &white)]);
    expect(&measure(&scene), expected, "all lights");
}

/// Compares the irradiance with a numerical integral over the upper half of the bilinear image.
#[test]
fn an_environment_map_lights_by_its_integral() {
    let (width, height) = (16_u32, 8_u32);
    let value = |x: u32, y: u32| {
        let base = ((x * 7 + y * 3) % 5) as f32 * 0.25;
        let bright = if (x, y) == (5, 2) { 300.0 } else { 0.0 };
        Rgb([base + bright, base * 0.5 + bright, 1.0 + 0.5 * bright])
    };
    let sky = Rgb32FImage::from_fn(width, height, value);
    let at = |x: i64, y: i64| {
        let x = x.rem_euclid(i64::from(width)) as u32;
        let y = y.clamp(0, i64::from(height) - 1) as u32;
        Vec3::from_array(value(x, y).0).as_dvec3()
    };
    let (mut irradiance, steps) = (DVec3::ZERO, 512);
    for down in 0..steps {
        // The upper half of the map is above the horizon.
        let v = (down as f64 + 0.5) / steps as f64 * 0.5;
        let (sin, cos) = (PI * v).sin_cos();
        for around in 0..steps {
            let u = (around as f64 + 0.5) / steps as f64;
            let (x, y) = (u * f64::from(width) - 0.5, v * f64::from(height) - 0.5);
            let (left, upper) = (x.floor() as i64, y.floor() as i64);
            let (fx, fy) = (x - x.floor(), y - y.floor());
            let row = |y| at(left, y) * (1.0 - fx) + at(left + 1, y) * fx;
            let radiance = row(upper) * (1.0 - fy) + row(upper + 1) * fy;
            irradiance += radiance * (sin * cos);
        }
    }
    irradiance *= (2.0 * PI / steps as f64) * (0.5 * PI / steps as f64);
    for degrees in [0, 75] {
        let light = format!("Environment(file: \"sky.exr\", rotate_y: {degrees})");
        let scene = plane(DVec3::ZERO, &light, 1, &[("sky.exr", &sky)]);
        let case = format!("a sky turned by {degrees}");
        expect(&measure(&scene), ALBEDO * irradiance / PI, &case);
    }
}

/// Checks that left, right, ahead and above in the image are left, right, ahead and above in the world.
#[test]
fn an_environment_map_is_oriented_as_documented() {
    let sky = Rgb32FImage::from_fn(64, 32, |x, y| {
        let side = [
            (1.0, 0.0, 0.0),
            (0.0, 1.0, 0.0),
            (0.0, 0.0, 1.0),
            (1.0, 1.0, 0.0),
        ];
        let (r, g, b) = side[((x + 8) / 16 % 4) as usize];
        Rgb(if y < 4 { [1.0; 3] } else { [r, g, b] })
    });
    let seen = |towards: &str, degrees: i32| {
        let folder = tempfile::tempdir().unwrap();
        sky.save(folder.path().join("sky.exr")).unwrap();
        let path = folder.path().join("scene.ron");
        let text = format!(
            r#"(
                size: (2, 2), spp: 1, max_bounces: 0,
                camera: (origin: (0, 0, 0), target: {towards}, up: (0.1, 1, 0.2), fov: 1),
                lights: [Environment(file: "sky.exr", rotate_y: {degrees})],
                materials: {{ "m": Diffuse(albedo: (0, 0, 0)) }},
                objects: [Sphere(center: (0, 0, 1000), radius: 1, material: "m")],
            )"#
        );
        fs::write(&path, text).unwrap();
        mean(&render(&Scene::load(&path).unwrap(), &on_cpu()).0)
    };
    let (red, green, blue) = (DVec3::X, DVec3::Y, DVec3::Z);
    assert_eq!(seen("(0, 0, -1)", 0), red);
    assert_eq!(seen("(1, 0, 0)", 0), green);
    assert_eq!(seen("(0.1, 0, 1)", 0), blue);
    assert_eq!(seen("(-1, 0, 0)", 0), red + green);
    assert_eq!(seen("(0, 1, 0)", 0), DVec3::ONE);
    // `rotate_y` turns about +y from −z to −x, as for a Box.
    assert_eq!(seen("(-1, 0, 0)", 90), red);
}
