//! Tests of Mitsuba's and pbrt's projectors and goniometric lights, which other lights replace, of spot lights without a
//! cone, of polarizers, and of Beckmann's facets.

use std::f32::consts::PI;

use glam::Vec3;
use image::RgbImage;
use raysieve_scene::{FacetDistribution, Light, Scene, Surface};

use super::{
    assert_not_noted, assert_noted, load_with_picture,
    mitsuba::{BALL, scene, surface},
    pbrt::world,
};

/// Returns the flux of the only light, a spot light with a hard edge, and the direction of its axis.
fn flux(scene: &Scene) -> (Vec3, Vec3) {
    let [
        Light::Spot {
            intensity,
            outer_degrees,
            inner_degrees,
            direction,
            ..
        },
    ] = scene.lights[..]
    else {
        panic!("{:?}", scene.lights);
    };
    assert_eq!(inner_degrees, outer_degrees);
    let solid_angle = 2.0 * PI * (1.0 - outer_degrees.to_radians().cos());
    (intensity * solid_angle, direction.normalize())
}

/// Mitsuba's projector with a field of view of 60° lights a square of (2 tan 30°)² at a distance of 1, π times as
/// brightly as its `irradiance` says.
#[test]
fn a_projector_of_mitsuba_becomes_a_spot_light_of_the_same_flux() {
    let projector = |inner: &str| {
        let turned = "<transform name=\"to_world\"><rotate y=\"1\" angle=\"90\"/></transform>";
        let text = format!(
            "{BALL}<emitter type=\"projector\">{turned}<float name=\"fov\" value=\"60\"/>{inner}</emitter>"
        );
        let scene = scene(&text).unwrap();
        assert_noted(&scene, "approximated: projectors by spot lights");
        flux(&scene)
    };
    let (plain, direction) = projector("");
    assert!(
        (plain - Vec3::splat(PI * 4.0 / 3.0)).length() < 1e-3,
        "{plain}"
    );
    assert!((direction - Vec3::X).length() < 1e-5, "{direction}");
    let (bright, _) = projector(
        "<float name=\"scale\" value=\"3\"/><rgb name=\"irradiance\" value=\"1, 2, 0\"/>",
    );
    let expected = plain * 3.0 * Vec3::new(1.0, 2.0, 0.0);
    assert!((bright - expected).length() < 1e-3, "{bright}");
}

/// Loads a scene of pbrt with this light. Its picture `picture.png` has twice as many columns as rows and the linear color
/// 1, 0, 1.
fn lit_by(light: &str) -> Scene {
    let picture = RgbImage::from_pixel(4, 2, image::Rgb([255, 0, 255]));
    let text = format!("WorldBegin\n{light}\nShape \"sphere\"");
    load_with_picture("scene.pbrt", &text, picture)
}

#[test]
fn a_projection_light_of_pbrt_becomes_a_spot_light() {
    let light = |rest: &str| {
        let scene = lit_by(&format!(
            "LightSource \"projection\" \"string filename\" \"picture.png\" \"float fov\" 90 {rest}"
        ));
        assert_noted(&scene, "approximated: projectors by spot lights");
        flux(&scene)
    };
    // The shorter side has the field of view: the tangents of half the angles are 2 and 1.
    let solid_angle = 4.0 * (2.0 / 10.0_f32.sqrt()).asin();
    let (flux, direction) = light("\"float scale\" 5");
    let expected = Vec3::new(1.0, 0.0, 1.0) * 5.0 * solid_angle;
    assert!((flux - expected).length() < 1e-2, "{flux}");
    assert_eq!(direction, Vec3::Z);
    // Luminance is what pbrt's power means.
    let (flux, _) = light("\"float power\" 7");
    let luminance = flux.dot(Vec3::new(0.2126, 0.7152, 0.0722));
    assert!((luminance - 7.0).abs() < 1e-2, "{luminance}");
}

#[test]
fn a_goniometric_light_becomes_a_point_light() {
    let intensity = |rest: &str| {
        let scene = lit_by(&format!(
            "Translate 1 2 3 LightSource \"goniometric\" \"string filename\" \"picture.png\" {rest}"
        ));
        assert_noted(
            &scene,
            "approximated: the directions of `goniometric` lights",
        );
        let [
            Light::Point {
                position,
                intensity,
            },
        ] = scene.lights[..]
        else {
            panic!("{:?}", scene.lights);
        };
        assert_eq!(position, Vec3::new(1.0, 2.0, 3.0));
        intensity
    };
    let plain = intensity("\"rgb I\" [ 2 2 2 ]");
    assert!(
        (plain - Vec3::new(2.0, 0.0, 2.0)).length() < 1e-4,
        "{plain}"
    );
    let power = intensity("\"rgb I\" [ 1 1 1 ] \"float power\" 8");
    assert!((power - Vec3::splat(2.0 / PI)).length() < 1e-4, "{power}");
}

#[test]
fn a_spot_light_without_a_cone_is_reported() {
    let note = "a spot light has an angle of 0, so that it gives no light";
    let spot = |angle: f32| {
        let text = format!(
            "<emitter type=\"spot\"><float name=\"cutoff_angle\" value=\"{angle}\"/></emitter>"
        );
        scene(&format!("{BALL}{text}")).unwrap()
    };
    assert_noted(&spot(0.0), note);
    assert_not_noted(&spot(20.0), note);
    let pbrt = "LightSource \"spot\" \"float coneangle\" 0\nShape \"sphere\"";
    assert_noted(&world(pbrt).unwrap(), note);
}

/// Mitsuba's variants without polarization let half of the light pass.
#[test]
fn a_polarizer_is_clear_glass_of_half_the_transmittance() {
    let transmission = |text: &str| match surface(text) {
        Surface::Dielectric {
            ior: 1.0,
            thin: true,
            tint,
            ..
        } => tint.transmission,
        other => panic!("{other:?}"),
    };
    let half = Vec3::splat(0.5);
    assert_eq!(transmission("<bsdf type=\"polarizer\"/>"), half);
    let tinted = "<bsdf type=\"circular\"><rgb name=\"transmittance\" value=\"1, 0.5, 0\"/></bsdf>";
    assert_eq!(transmission(tinted), half * Vec3::new(1.0, 0.5, 0.0));
    assert_eq!(transmission("<bsdf type=\"retarder\"/>"), Vec3::ONE);
}

#[test]
fn facets_have_the_distribution_of_the_scene() {
    let distribution = |plugin: &str, inner: &str| {
        let text = format!("<bsdf type=\"{plugin}\">{inner}</bsdf>");
        match surface(&text) {
            Surface::RoughConductor { roughness, .. }
            | Surface::RoughDielectric { roughness, .. } => roughness.distribution,
            other => panic!("{other:?}"),
        }
    };
    let ggx = "<string name=\"distribution\" value=\"ggx\"/>";
    for plugin in ["roughconductor", "roughdielectric"] {
        assert_eq!(distribution(plugin, ""), FacetDistribution::Beckmann);
        assert_eq!(distribution(plugin, ggx), FacetDistribution::Ggx);
    }
    let other = "<bsdf type=\"roughconductor\"><string name=\"distribution\" value=\"as\"/></bsdf>";
    let scene = scene(&format!("<shape type=\"sphere\">{other}</shape>")).unwrap();
    assert_noted(
        &scene,
        "the `as` distribution of rough surfaces by Beckmann's",
    );
}
