//! Direct light on a plane, compared with closed-form solutions.

use std::f64::consts::PI;

use glam::DVec3;
use raysieve::device::render_scene::RenderScene;

use crate::{expect, lit_plane, measure};

/// Compares the irradiance from a polygonal lamp with Lambert's formula.
#[test]
fn a_quad_lamp_lights_a_plane_by_its_form_factor() {
    let corners = [
        (-0.5, 1.0, -0.3),
        (0.7, 1.0, -0.3),
        (0.7, 1.0, 0.9),
        (-0.5, 1.0, 0.9),
    ]
    .map(DVec3::from);
    let lamp = r#"Quad(corner: (-0.5, 1, -0.3), edge_u: (1.2, 0, 0), edge_v: (0, 0, 1.2), material: "lamp")"#;
    for point in [(0.1, 0.3), (0.0, 0.0), (1.5, 0.0), (-3.0, 4.0)] {
        let at = DVec3::new(point.0, 0.0, point.1);
        let irradiance = polygon_irradiance(&corners.map(|corner| corner - at));
        expect(
            &measure(&lit_plane(at, lamp)),
            radiance_of_plane(irradiance),
            &format!("the quad over {point:?}"),
        );
    }
}

/// Divides a lamp into many pieces, from which the light tree chooses.
#[test]
fn a_lamp_in_pieces_lights_like_the_whole() {
    let corners = [
        (-0.5, 1.0, -0.3),
        (0.7, 1.0, -0.3),
        (0.7, 1.0, 0.9),
        (-0.5, 1.0, 0.9),
    ]
    .map(DVec3::from);
    let pieces = 9;
    let side = 1.2 / f64::from(pieces);
    let lamp: String = (0..pieces * pieces)
        .map(|piece| {
            let (x, z) = (f64::from(piece % pieces), f64::from(piece / pieces));
            format!(
                r#"Quad(corner: ({}, 1, {}), edge_u: ({side}, 0, 0), edge_v: (0, 0, {side}), material: "lamp"),"#,
                -0.5 + x * side,
                -0.3 + z * side
            )
        })
        .collect();
    for point in [(0.1, 0.3), (1.5, 0.0), (-3.0, 4.0)] {
        let at = DVec3::new(point.0, 0.0, point.1);
        let irradiance = polygon_irradiance(&corners.map(|corner| corner - at));
        let scene = lit_plane(at, &lamp);
        let render_scene = RenderScene::new(&scene).unwrap();
        assert_eq!(render_scene.light_params.tree_lights, 162);
        expect(
            &measure(&scene),
            radiance_of_plane(irradiance),
            &format!("the pieces over {point:?}"),
        );
    }
}

/// Checks that a sphere above the horizon lights like a point at its center.
#[test]
fn a_sphere_lamp_lights_a_plane_by_its_form_factor() {
    let center = DVec3::new(0.2, 1.0, -0.1);
    for radius in [0.001, 0.3, 0.95] {
        for point in [(0.2, -0.1), (1.0, 0.5), (-2.0, 2.0)] {
            let at = DVec3::new(point.0, 0.0, point.1);
            let to_center = center - at;
            let distance = to_center.length();
            let irradiance = PI * (radius / distance).powi(2) * to_center.y / distance;
            let lamp =
                format!(r#"Sphere(center: (0.2, 1, -0.1), radius: {radius}, material: "lamp")"#);
            let case = format!("the sphere of {radius} over {point:?}");
            expect(
                &measure(&lit_plane(at, &lamp)),
                radiance_of_plane(irradiance),
                &case,
            );
        }
    }
}

/// Returns the radiance of the plane of `lit_plane` under this irradiance.
fn radiance_of_plane(irradiance: f64) -> DVec3 {
    DVec3::new(0.2, 0.5, 0.8) * irradiance / PI
}

/// Returns the irradiance on a surface at the origin that faces +y, from a polygon of radiance 1 above it.
///
/// Lambert's formula: half the sum, over the edges, of the angle that an edge subtends times the cosine between +y and
/// the normal of the plane through the edge and the origin.
fn polygon_irradiance(corners: &[DVec3]) -> f64 {
    let edges = corners.iter().zip(corners.iter().cycle().skip(1));
    let sum: f64 = edges
        .map(|(&a, &b)| a.angle_between(b) * a.cross(b).normalize().y)
        .sum();
    sum.abs() / 2.0
}
