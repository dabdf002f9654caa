//! Tests of pbrt's area lights with an alpha of 0, which light the scene and are not visible.

use glam::Vec3;
use raysieve_scene::{Light, Scene, SpotFalloff};

use super::{assert_noted, pbrt::world};

/// A square of 4 m² in the plane y = 3 whose front, which shines, faces down.
const SQUARE: &str = "Shape \"trianglemesh\" \"point3 P\" [ -1 3 -1  1 3 -1  1 3 1  -1 3 1 ] \"integer indices\" [ 0 1 2 0 2 3 ]";

/// Loads a scene with a ball and these directives.
fn with_ball(directives: &str) -> Scene {
    world(&format!(
        "Shape \"sphere\" AttributeBegin {directives} AttributeEnd"
    ))
    .unwrap()
}

/// The spot lights of a scene: position, direction and intensity, and the angles where they begin and end to fall off.
fn spots(scene: &Scene) -> Vec<(Vec3, Vec3, Vec3, [f32; 2])> {
    let spot = |light: &Light| match *light {
        Light::Spot {
            position,
            direction,
            intensity,
            inner_degrees,
            outer_degrees,
            falloff: SpotFalloff::Squared,
        } => (
            position,
            direction,
            intensity,
            [inner_degrees, outer_degrees],
        ),
        _ => panic!("{light:?}"),
    };
    scene.lights.iter().map(spot).collect()
}

#[test]
fn an_invisible_area_light_has_no_surface() {
    let lamp = "AreaLightSource \"diffuse\" \"rgb L\" [ 1 2 3 ]";
    let seen = with_ball(&format!("{lamp} {SQUARE}"));
    let hidden = with_ball(&format!("{lamp} {SQUARE} \"float alpha\" 0"));
    assert_eq!((seen.triangles.len(), seen.lights.len()), (2, 0));
    assert_eq!((hidden.triangles.len(), hidden.meshes.len()), (0, 0));
    assert_noted(&hidden, "area lights with an alpha of 0 by spot lights");
    let half = with_ball(&format!("{lamp} {SQUARE} \"float alpha\" 0.5"));
    assert_eq!((half.triangles.len(), half.lights.len()), (2, 0));
}

#[test]
fn an_invisible_area_light_shines_like_a_diffuse_surface() {
    let scene = with_ball(&format!(
        "AreaLightSource \"diffuse\" \"rgb L\" [ 1 2 3 ] {SQUARE} \"float alpha\" 0"
    ));
    let spots = spots(&scene);
    for (position, direction, ..) in &spots {
        assert!(position.y == 3.0 && position.abs().max_element() <= 3.0);
        assert!((*direction + Vec3::Y).length() < 1e-6, "{direction}");
    }
    // Half of each side of the light has half of its points.
    for side in [Vec3::X, Vec3::Z, Vec3::new(0.6, 0.0, 0.8)] {
        let count = spots.iter().filter(|spot| spot.0.dot(side) > 0.0).count();
        let share = count as f32 / spots.len() as f32;
        assert!((share - 0.5).abs() < 0.01, "{share}");
    }
    for cosine in [1.0, 0.8, 0.5, 0.2, 0.05_f32] {
        let sent: Vec3 = spots
            .iter()
            .map(|(_, _, intensity, [inner, outer])| {
                let (inner, outer) = (inner.to_radians().cos(), outer.to_radians().cos());
                let ramp = ((cosine - outer) / (inner - outer)).clamp(0.0, 1.0);
                *intensity * ramp * ramp
            })
            .sum();
        let expected = Vec3::new(1.0, 2.0, 3.0) * 4.0 * cosine;
        assert!(
            (sent / expected - Vec3::ONE).abs().max_element() < 0.01,
            "{cosine}: {sent} instead of {expected}"
        );
    }
}

#[test]
fn the_front_of_an_invisible_area_light_is_that_of_its_shape() {
    let lamp = "AreaLightSource \"diffuse\" \"rgb L\" [ 1 1 1 ]";
    let outwards = |directives: &str| {
        let scene = with_ball(&format!(
            "Translate 0 5 0 {directives} Shape \"sphere\" \"float radius\" 2 \"float alpha\" 0"
        ));
        let spots = spots(&scene);
        let count = |sign: f32| {
            let is = |spot: &&(Vec3, Vec3, Vec3, [f32; 2])| {
                let from_centre = (spot.0 - Vec3::new(0.0, 5.0, 0.0)) / 2.0;
                assert!((from_centre.length() - 1.0).abs() < 1e-3);
                (from_centre * sign).dot(spot.1) > 0.99
            };
            spots.iter().filter(is).count()
        };
        let total: f32 = spots.iter().map(|spot| spot.2.x).sum();
        // The polyhedron is scaled to the area of the sphere.
        let area = 16.0 * std::f32::consts::PI;
        let sides = total / area;
        assert!((sides.round() / sides - 1.0).abs() < 1e-4, "{sides}");
        (count(1.0), count(-1.0))
    };
    assert_eq!(outwards(lamp), (1024, 0));
    assert_eq!(outwards(&format!("ReverseOrientation {lamp}")), (0, 1024));
    assert_eq!(outwards(&format!("Scale -1 1 1 {lamp}")), (1024, 0));
    let both = format!("{lamp} \"bool twosided\" true");
    assert_eq!(outwards(&both), (1024, 1024));
}

#[test]
fn many_invisible_area_lights_share_a_number_of_spot_lights() {
    let lamp = format!("{SQUARE} \"float alpha\" 0 ");
    let scene = with_ball(&format!(
        "AreaLightSource \"diffuse\" \"rgb L\" [ 1 1 1 ] {}",
        lamp.repeat(2000)
    ));
    let count = scene.lights.len();
    assert!((200_000..264_144).contains(&count), "{count}");
    let total: f32 = spots(&scene).iter().map(|spot| spot.2.x).sum();
    assert!((total / 8000.0 - 1.0).abs() < 1e-3, "{total}");
}

#[test]
fn an_invisible_area_light_in_an_object_is_left_out_as_in_pbrt() {
    let lamp =
        format!("AreaLightSource \"diffuse\" \"rgb L\" [ 1 1 1 ] {SQUARE} \"float alpha\" 0");
    let scene = with_ball(&format!(
        "ObjectBegin \"lamp\" {lamp} ObjectEnd ObjectInstance \"lamp\""
    ));
    assert!(scene.lights.is_empty());
    assert_noted(&scene, "not used: area lights in objects, as in pbrt");
}

#[test]
fn an_invisible_area_light_without_a_finite_area_is_refused_or_dark() {
    let lamp = |directives: &str| {
        world(&format!(
            "Shape \"sphere\" {directives} AreaLightSource \"diffuse\" {SQUARE} \"float alpha\" 0"
        ))
    };
    assert!(lamp("Scale 0 0 0").unwrap().lights.is_empty());
    let error = lamp("Scale 1e200 1e200 1e200").unwrap_err();
    assert!(error.contains("not finite"), "{error}");
}
