//! Partially opaque surfaces transmit the rest of the light.

use glam::DVec3;
use image::{Rgba, RgbaImage};
use raysieve::scene::{DirectLight, Scene};

use crate::{
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

/// Returns a scene of one 1 m square that fills the image in front of a sky of radiance 1.
fn wall(material: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (16, 16), spp: 256, max_bounces: 1, sky: (1, 1, 1),
            camera: (origin: (0, 0, 10), target: (0, 0, 0), fov: 5.724810452),
            materials: {{ "wall": {material} }},
            objects: [Quad(corner: (-0.5, -0.5, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "wall")],
        )"#
    ))
}

#[test]
fn a_half_opaque_surface_hides_half_of_the_light() {
    let sky_through = |material: &str| {
        let (picture, stats) = render(&wall(material), &on_cpu());
        for bounce in &stats.bounces {
            assert_eq!(bounce.rays, bounce.hits + bounce.misses);
        }
        mean(&picture).x
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("quarters.png");
    let alphas = [51, 102, 153, 255];
    RgbaImage::from_fn(2, 2, |x, y| {
        Rgba([255, 255, 255, alphas[(x + 2 * y) as usize]])
    })
    .save(&file)
    .unwrap();
    let texture =
        |factor: f32| format!("Texture(file: {file:?}, filter: Nearest, factor: {factor})");
    for (opacity, expected) in [
        ("0.5".to_owned(), 0.5),
        (texture(1.0), 1.0 - (0.2 + 0.4 + 0.6 + 1.0) / 4.0),
        (texture(0.5), 1.0 - (0.2 + 0.4 + 0.6 + 1.0) / 8.0),
        (texture(1.0) + ", cutoff: 0.5", 0.5),
        (texture(0.8) + ", cutoff: 0.5", 0.75),
        ("0.3, cutoff: 0.5".to_owned(), 1.0),
        ("0.5, cutoff: 0.5".to_owned(), 0.0),
        ("0".to_owned(), 1.0),
        ("1".to_owned(), 0.0),
    ] {
        for material in [
            "Diffuse(albedo: (0, 0, 0)",
            "Principled(base_color: (0, 0, 0), specular: 0",
        ] {
            let seen = sky_through(&format!("{material}, opacity: {opacity})"));
            // The standard error of 65,536 coin tosses is 0.002.
            let difference = (seen - expected).abs();
            assert!(difference < 0.01, "{opacity}: {seen}, expected {expected}");
        }
    }
}

/// Checks rays that cross two surfaces of one ball, or four of two balls, whose opacities are independent.
#[test]
fn surfaces_in_a_row_hide_independently() {
    for (balls, expected) in [
        (
            r#"Sphere(center: (0, 0, 0), radius: 2, material: "half")"#,
            0.25,
        ),
        (
            r#"Instances(of: DisplacedSphere(rings: 8, segments: 12, amplitudes: (0, 0), material: "half"), at: [(translate: (0, 0, 2)), (translate: (0, 0, -2))])"#,
            0.0625,
        ),
    ] {
        let scene = scene(&format!(
            r#"(
                size: (16, 16), spp: 256, max_bounces: 1, sky: (1, 1, 1),
                camera: (origin: (0, 0, 50), target: (0, 0, 0), fov: 0.5),
                materials: {{ "half": Diffuse(albedo: (0, 0, 0), opacity: 0.5) }},
                objects: [{balls}],
            )"#
        ));
        let seen = mean(&render(&scene, &on_cpu()).0).x;
        assert!(
            (seen - expected).abs() < 0.008,
            "{balls}: {seen}, expected {expected}"
        );
    }
}

/// Checks lamps that are partially opaque or behind a partially opaque surface, in every sampling strategy.
#[test]
fn partly_opaque_surfaces_and_lamps_transmit_their_fraction() {
    // A sphere of radius r at a height d gives (r / d)² of the light of a sky of its radiance.
    let albedo = DVec3::new(0.2, 0.5, 0.8);
    let sheet = |height: f32, material: &str| {
        format!(
            r#"Quad(corner: (-9, {height}, 9), edge_u: (18, 0, 0), edge_v: (0, 0, -18), material: "{material}"),"#
        )
    };
    let lamp = |material: &str| {
        format!(r#"Sphere(center: (0, 4, 0), radius: 2, material: "{material}"),"#)
    };
    let ball = r#"Sphere(center: (0, 0.95, 0), radius: 0.85, material: "half"),"#;
    for (case, objects, part) in [
        ("a lamp", lamp("lamp"), 1.0),
        ("a sheet", lamp("lamp") + &sheet(1.0, "half"), 0.5),
        (
            "two sheets",
            lamp("lamp") + &sheet(1.0, "half") + &sheet(1.5, "third"),
            1.0 / 3.0,
        ),
        ("a ball", lamp("lamp") + ball, 0.25),
        ("an alpha-tested lamp", lamp("dim"), 0.5),
    ] {
        for direct_light in [DirectLight::Both, DirectLight::Lights, DirectLight::Bsdf] {
            let plane = scene(&format!(
                r#"(
                    camera: (origin: (0, 0.05, 0.1), target: (0, 0, 0), fov: 0.01),
                    size: (4, 4), spp: 256, max_bounces: 1,
                    materials: {{
                        "plane": Diffuse(albedo: (0.2, 0.5, 0.8)),
                        "lamp": Emissive(radiance: (1, 1, 1)),
                        "dim": Emissive(radiance: (1, 1, 1), opacity: 0.5),
                        "half": Diffuse(albedo: (0, 0, 0), opacity: 0.5),
                        "third": Diffuse(albedo: (0, 0, 0), opacity: 0.3333333),
                    }},
                    objects: [
                        Quad(corner: (-50, 0, 50), edge_u: (100, 0, 0), edge_v: (0, 0, -100), material: "plane"),
                        {objects}
                    ],
                )"#
            ));
            let lit_plane = Scene {
                direct_light,
                ..plane
            };
            let expected = albedo * 0.25 * part;
            expect(
                &measure(&lit_plane),
                expected,
                &format!("{case}, {direct_light:?}"),
            );
        }
    }
}

/// Compares a quad that is cut out by an image's alpha with separate quads of the same shape.
#[test]
fn an_alpha_cutout_renders_like_geometry_of_its_shape() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("checker.png");
    RgbaImage::from_fn(2, 2, |x, y| {
        Rgba([255, 255, 255, if x == y { 255 } else { 0 }])
    })
    .save(&file)
    .unwrap();
    let picture = |leaves: &str| {
        let scene = scene(&format!(
            r#"(
                size: (32, 32), spp: 8, max_bounces: 4, sky: (0.3, 0.4, 0.5),
                camera: (origin: (0.5, 1.5, 6), target: (0, 0.2, 0), fov: 40),
                materials: {{
                    "floor": Diffuse(albedo: (0.6, 0.5, 0.4)),
                    "lamp": Emissive(radiance: (20, 20, 20)),
                    "leaf": Diffuse(albedo: (0.2, 0.7, 0.1)),
                    "cut": Diffuse(albedo: (0.2, 0.7, 0.1), opacity: Texture(file: {file:?}, filter: Nearest), cutoff: 0.5),
                }},
                objects: [
                    Quad(corner: (-3, -1, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "floor"),
                    Sphere(center: (1, 3, 3), radius: 0.3, material: "lamp"),
                    {leaves}
                ],
            )"#
        ));
        render(&scene, &on_cpu()).0
    };
    let cut = picture(
        r#"Quad(corner: (-1, -1, 0), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "cut")"#,
    );
    let drawn = picture(
        r#"Quad(corner: (0, -1, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "leaf"),
           Quad(corner: (-1, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "leaf")"#,
    );
    let pixels = cut.pixels.iter().zip(&drawn.pixels);
    let alike = pixels.filter(|(cut, drawn)| (**cut - **drawn).abs().max_element() < 1e-3);
    let alike = alike.count();
    // All random numbers are equal, but rounding occasionally moves a path across an edge.
    assert!(alike >= 32 * 32 - 20, "{alike} of 1024 pixels");
    let bare = picture("");
    let pixels = cut.pixels.iter().zip(&bare.pixels);
    let changed = pixels.filter(|(cut, bare)| (**cut - **bare).abs().max_element() > 1e-3);
    assert!(changed.count() > 100, "the image cut nothing out");
}

#[test]
fn a_partly_opaque_white_object_in_a_white_furnace_is_invisible() {
    let furnace = scene(
        r#"(
            size: (24, 24), spp: 32, max_bounces: 128, sky: (1, 1, 1),
            camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40),
            materials: {
                "sheet": Diffuse(albedo: (1, 1, 1), opacity: 0.4),
                "mirror": Mirror(reflectance: (1, 1, 1), opacity: 0.7),
            },
            objects: [
                Sphere(center: (0, 0, 0), radius: 1, material: "sheet"),
                Sphere(center: (0.2, 0.3, 0.1), radius: 0.4, material: "mirror"),
            ],
        )"#,
    );
    // Light reflected back and forth inside is noisy because of Russian roulette.
    let mean = mean(&render(&furnace, &on_cpu()).0);
    assert!((mean - DVec3::ONE).abs().max_element() < 1e-3, "{mean}");
}
