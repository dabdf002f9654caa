//! Tests of Mitsuba's sun.

use glam::Vec3;
use raysieve_scene::{Light, Scene};

use super::{assert_noted, load};

/// Loads a scene with a ball and a sun with these parameters.
fn with_sun(parameters: &str) -> Result<Scene, String> {
    let text = format!(
        "<scene version=\"3.0.0\"><shape type=\"sphere\"/><emitter type=\"sunsky\">{parameters}</emitter></scene>"
    );
    load(&[("scene.xml", &text)])
}

/// Returns irradiance and angular diameter of the sun at this elevation in degrees.
fn sun(elevation: f32, parameters: &str) -> (Vec3, f32) {
    let (sin, cos) = elevation.to_radians().sin_cos();
    let scene = with_sun(&format!(
        "<vector name=\"sun_direction\" x=\"{cos}\" y=\"0\" z=\"{sin}\"/>{parameters}"
    ))
    .unwrap();
    match scene.lights[0] {
        Light::Directional {
            irradiance,
            angle_degrees,
            ..
        } => (irradiance, angle_degrees),
        ref light => panic!("{light:?}"),
    }
}

/// The values are integrals of Mitsuba 3.9.1's emitter over the disk of its sun.
#[test]
fn the_sun_is_as_bright_as_that_of_mitsuba() {
    for (elevation, turbidity, expected) in [
        (5.0, 1, [0.8473, 0.3875, 0.0516]),
        (30.0, 2, [1.4331, 1.1308, 0.7517]),
        (50.0, 3, [1.4790, 1.2249, 0.9192]),
        (80.0, 5, [1.4390, 1.2103, 0.9577]),
        (50.0, 8, [1.2027, 0.9743, 0.7397]),
    ] {
        let haze = format!("<float name=\"turbidity\" value=\"{turbidity}\"/>");
        let (irradiance, angle) = sun(elevation, &haze);
        assert_eq!(angle, 0.5358);
        let off = (irradiance - Vec3::from_array(expected))
            .abs()
            .max_element();
        assert!(off < 1e-4, "{elevation} {turbidity}: {irradiance}");
    }
}

#[test]
fn the_sun_keeps_its_flux_if_its_disk_grows() {
    let aperture = |degrees: f32| format!("<float name=\"sun_aperture\" value=\"{degrees}\"/>");
    let (narrow, _) = sun(50.0, "");
    let (wide, angle) = sun(50.0, &aperture(60.0));
    assert_eq!(angle, 60.0);
    // The mean of the cosine over a cap of half the angle.
    let facing = (1.0 + 30.0_f32.to_radians().cos()) / 2.0;
    assert!((wide / narrow - Vec3::splat(facing)).abs().max_element() < 1e-3);
    let scaled = sun(50.0, "<float name=\"sun_scale\" value=\"2\"/>").0;
    assert!((scaled / narrow - Vec3::splat(2.0)).abs().max_element() < 1e-4);
}

#[test]
fn the_sun_is_never_negative_and_its_gradient_is_reported() {
    for elevation in [0.01, 1.0, 2.0, 3.0, 90.0] {
        for turbidity in [0, 1, 10, 11] {
            let haze = format!("<float name=\"turbidity\" value=\"{turbidity}\"/>");
            let (irradiance, _) = sun(elevation, &haze);
            assert!(irradiance.is_finite() && irradiance.min_element() >= 0.0);
        }
    }
    let notes = |parameters: &str| with_sun(parameters).unwrap().notes;
    assert!(notes("").is_empty(), "{:?}", notes(""));
    let notes = notes("<boolean name=\"complex_sun\" value=\"true\"/>");
    assert!(notes[0].contains("the disk of the sun"), "{notes:?}");
}

/// Mitsuba renders a black sky then, and warns.
#[test]
fn sky_and_sun_are_black_if_the_sun_is_not_above_the_horizon() {
    for below in [
        "<vector name=\"sun_direction\" x=\"1\" y=\"0\" z=\"0\"/>",
        "<vector name=\"sun_direction\" x=\"1\" y=\"0\" z=\"-0.2\"/>",
        "<float name=\"hour\" value=\"1\"/>",
    ] {
        let scene = with_sun(below).unwrap();
        assert!(scene.lights.is_empty(), "{below}: {:?}", scene.lights);
        assert_noted(&scene, "the sun is not above the horizon");
    }
}
