//! Tests of the sun and sky model for a clear day.

use std::f64::consts::PI;

use glam::{DVec3, Vec3};
use raysieve::{
    math::luminance,
    scene::{Environment, Light},
};

use crate::common::scene;

/// Luminous efficacy in lm/W: cd/m² (or lux) per unit of radiance (or irradiance).
const LUMENS: f64 = 683.0;

/// Returns the direction to the sun, its irradiance, and the sky, for the fields of a `SunSky`.
fn day(fields: &str) -> (DVec3, DVec3, Environment) {
    let scene = scene(&format!(
        r#"(
            camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40),
            lights: [SunSky({fields}, scale: 1)],
            materials: {{ "m": Diffuse(albedo: (0.5, 0.5, 0.5)) }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
        )"#
    ));
    let [
        Light::Environment(sky),
        Light::Directional {
            direction,
            irradiance,
            angle_degrees,
        },
    ] = &scene.lights[..]
    else {
        panic!("{:?}", scene.lights.len())
    };
    assert_eq!(*angle_degrees, 0.533);
    (
        -direction.as_dvec3().normalize(),
        irradiance.as_dvec3(),
        sky.clone(),
    )
}

/// Returns the luminance of a color.
fn bright(color: DVec3) -> f64 {
    f64::from(luminance(color.as_vec3()))
}

/// Returns the sky's radiance in a direction.
fn seen(sky: &Environment, towards: DVec3) -> DVec3 {
    let (width, height) = (sky.width as usize, sky.radiances.len() / sky.width as usize);
    let u = (towards.x.atan2(-towards.z) / (2.0 * PI)).rem_euclid(1.0);
    let v = towards.y.acos() / PI;
    let (x, y) = ((u * width as f64) as usize, (v * height as f64) as usize);
    sky.radiances[y.min(height - 1) * width + x.min(width - 1)].as_dvec3()
}

/// Returns the sky's illuminance on a horizontal surface in lux.
fn diffuse_illuminance(sky: &Environment) -> f64 {
    let (width, height) = (sky.width as usize, sky.radiances.len() / sky.width as usize);
    let mut sum = 0.0;
    for (row, line) in sky.radiances.chunks(width).enumerate().take(height / 2) {
        let angle = PI * (row as f64 + 0.5) / height as f64;
        let of_line: f64 = line.iter().map(|&texel| f64::from(luminance(texel))).sum();
        sum += of_line * angle.cos() * angle.sin();
    }
    sum * (2.0 * PI / width as f64) * (PI / height as f64) * LUMENS
}

/// Returns elevation and azimuth of a direction in degrees.
fn angles(to_sun: DVec3) -> (f64, f64) {
    let azimuth = to_sun.x.atan2(-to_sun.z).to_degrees().rem_euclid(360.0);
    (to_sun.y.asin().to_degrees(), azimuth)
}

/// Compares positions at meridian passages with the equation of time and the declination in an almanac.
#[test]
fn the_suns_position_matches_almanacs() {
    for (date, time, latitude, longitude, elevation, azimuth) in [
        // At noon in Greenwich on the solstices, the elevation is 90 - 51.48 ± 23.44.
        ("(2024, 6, 21)", 12.03, 51.48, 0.0, 61.96, 180.0),
        ("(2024, 12, 21)", 11.97, 51.48, 0.0, 15.08, 180.0),
        // Noon is 16 minutes 25 seconds early, the yearly maximum; the declination is -15.1 degrees.
        ("(2023, 11, 3)", 11.726, 40.0, 0.0, 34.9, 180.0),
        // Noon is 14 minutes 13 seconds late; in Sydney, 151.2 degrees east, the sun is in the north.
        ("(2023, 2, 11)", 2.157, -33.87, 151.2, 70.2, 0.0),
        // On the equator at an equinox, the sun passes the zenith and rises in the east.
        ("(2024, 3, 20)", 6.2, 0.0, 0.0, 1.2, 90.0),
    ] {
        let (to_sun, ..) = day(&format!(
            "date: {date}, time: {time}, latitude: {latitude}, longitude: {longitude}"
        ));
        let found = angles(to_sun);
        let around = (found.1 - azimuth + 180.0).rem_euclid(360.0) - 180.0;
        assert!(
            (found.0 - elevation).abs() < 0.15 && around.abs() < 0.3,
            "{date}: {found:?}, expected {elevation}, {azimuth}"
        );
    }
}

#[test]
fn given_angles_place_the_sun() {
    for (elevation, azimuth) in [(30.0, 90.0), (5.0, 250.0), (80.0, 0.0)] {
        let (to_sun, _, sky) = day(&format!("elevation: {elevation}, azimuth: {azimuth}"));
        let found = angles(to_sun);
        assert!(
            (found.0 - elevation).abs() < 1e-4 && (found.1 - azimuth).abs() < 1e-4,
            "{found:?}"
        );
        // The sky is brightest around the sun.
        let across = to_sun.any_orthonormal_vector();
        let near = bright(seen(&sky, (to_sun + across * 0.02).normalize()));
        let far = bright(seen(&sky, DVec3::new(-to_sun.x, to_sun.y, -to_sun.z)));
        assert!(near > 1.5 * far || elevation > 70.0, "{near} {far}");
    }
}

/// Checks that illuminances lie in the range that is measured on clear days.
#[test]
fn a_clear_day_has_realistic_illuminance() {
    for (elevation, direct, diffuse) in [
        (60.0, 80_000.0..110_000.0, 8_000.0..25_000.0),
        (30.0, 60_000.0..95_000.0, 6_000.0..20_000.0),
        (10.0, 20_000.0..60_000.0, 3_000.0..12_000.0),
    ] {
        let (_, irradiance, sky) = day(&format!("elevation: {elevation}"));
        let found = (bright(irradiance) * LUMENS, diffuse_illuminance(&sky));
        println!("{elevation} degrees: {found:.0?} lx from the sun and from the sky");
        assert!(
            direct.contains(&found.0) && diffuse.contains(&found.1),
            "{elevation}: {found:?}"
        );
    }
}

#[test]
fn the_sky_is_blue_and_a_low_sun_is_red() {
    let (_, high, sky) = day("elevation: 45");
    let zenith = seen(&sky, DVec3::Y);
    assert!(zenith.z > 1.5 * zenith.x, "{zenith}");
    let (_, low, _) = day("elevation: 3");
    assert!(low.x / low.z > 3.0 * high.x / high.z, "{low} {high}");
    assert!(bright(low) < 0.5 * bright(high));
    let (_, hazy, _) = day("elevation: 45, turbidity: 8");
    assert!(bright(hazy) < 0.7 * bright(high));
}

/// Checks that the radiance below the horizon is the irradiance on the ground times its albedo, divided by π.
#[test]
fn the_ground_reflects_its_albedo() {
    let (to_sun, irradiance, sky) = day("elevation: 45, ground: (0.5, 0.5, 0.5)");
    let ground = seen(&sky, DVec3::NEG_Y);
    let irradiance_on_ground = diffuse_illuminance(&sky) / LUMENS + bright(irradiance) * to_sun.y;
    assert!(
        (bright(ground) * PI / irradiance_on_ground - 0.5).abs() < 0.01,
        "{ground}"
    );
    assert_eq!(ground, seen(&sky, DVec3::new(0.6, -0.1, 0.7).normalize()));
    let (_, _, black) = day("elevation: 45, ground: (0, 0, 0)");
    assert_eq!(seen(&black, DVec3::NEG_Y), DVec3::ZERO);
    assert!(
        black
            .radiances
            .iter()
            .all(|texel| texel.is_finite() && texel.cmpge(Vec3::ZERO).all())
    );
}
