//! Furnace tests: objects under a sky of constant radiance.

use glam::{DVec3, Vec3};
use raysieve::scene::Scene;

use crate::{
    common::{on_cpu, render, scene},
    lit_plane, mean,
};

#[test]
fn a_white_sphere_in_a_white_furnace_is_invisible() {
    for material in [
        "Diffuse(albedo: (1, 1, 1))",
        "Mirror(reflectance: (1, 1, 1))",
    ] {
        let (picture, _) = render(&furnace(material), &on_cpu());
        for (index, pixel) in picture.pixels.iter().enumerate() {
            assert!(
                (*pixel - Vec3::ONE).abs().max_element() < 1e-5,
                "{material}: pixel {index} is {pixel}"
            );
        }
    }
}

/// Total internal reflection keeps some paths inside for long, which must not end them.
#[test]
fn a_glass_sphere_in_a_white_furnace_is_invisible() {
    for ior in [1.5, 2.4] {
        let glass = format!("Dielectric(ior: {ior})");
        let (picture, _) = render(&furnace(&glass), &on_cpu());
        for (index, pixel) in picture.pixels.iter().enumerate() {
            assert!(
                (*pixel - Vec3::ONE).abs().max_element() < 1e-4,
                "{glass}: pixel {index} is {pixel}"
            );
        }
    }
}

/// A coat takes from its base what it reflects itself, and nothing more. The sphere covers two fifths of the picture.
#[test]
fn a_coated_white_sphere_in_a_white_furnace_is_invisible() {
    for base in [
        "roughness: 0.6",
        "roughness: 0.15, transmission: 1",
        "roughness: 0.7, transmission: 1",
        "roughness: 0.7, transmission: 1, thin: true",
        "roughness: 0.7, metallic: 1",
    ] {
        for coat in [
            "0.5, clearcoat_roughness: 0.03",
            "1, clearcoat_roughness: 0.1",
            "1, clearcoat_roughness: 0.4",
        ] {
            let material = format!("Principled(base_color: (1, 1, 1), {base}, clearcoat: {coat})");
            let (picture, _) = render(&furnace(&material), &on_cpu());
            let plain = format!("Principled(base_color: (1, 1, 1), {base})");
            let (without, _) = render(&furnace(&plain), &on_cpu());
            let (coated, plain) = (mean(&picture), mean(&without));
            assert!(
                (coated - plain).abs().max_element() < 0.005 && coated.max_element() < 1.002,
                "{material}: the mean is {coated} instead of {plain}"
            );
        }
    }
}

#[test]
fn an_absorbing_sphere_in_a_furnace_shows_its_albedo() {
    let (picture, _) = render(&furnace("Diffuse(albedo: (0.25, 0.5, 0.75))"), &on_cpu());
    let middle = picture.pixels[(picture.pixels.len() + picture.width as usize) / 2];
    assert!(
        (middle - Vec3::new(0.25, 0.5, 0.75)).abs().max_element() < 1e-5,
        "{middle}"
    );
}

#[test]
fn a_plane_under_the_sky_shows_albedo_times_sky() {
    let plane = Scene {
        sky: Vec3::new(0.5, 1.0, 4.0),
        ..lit_plane(DVec3::ZERO, "")
    };
    let (picture, _) = render(&plane, &on_cpu());
    let expected = Vec3::new(0.5, 1.0, 4.0) * Vec3::new(0.2, 0.5, 0.8);
    for pixel in &picture.pixels {
        assert!((*pixel - expected).abs().max_element() < 1e-5, "{pixel}");
    }
}

fn furnace(material: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (64, 64), spp: 64, max_bounces: 128, sky: (1, 1, 1),
            camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40),
            materials: {{ "m": {material} }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
        )"#
    ))
}
