//! Blends of two materials: the mean of both, exactly one of them at the ends, and one of them on each side.

use glam::{DVec3, Vec3};
use raysieve::scene::{Scene, Surface};

use crate::{
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

/// Returns a room of materials named "one", "other" and "m", with a sphere and a quad of "m".
fn room(materials: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (24, 16), spp: 16, max_bounces: 6, sky: (0.3, 0.4, 0.5),
            camera: (origin: (0, 1, 4), target: (0, 0.3, 0), fov: 50),
            materials: {{
                {materials}
                "lamp": Emissive(radiance: (6, 5, 4)),
                "floor": Diffuse(albedo: (0.5, 0.5, 0.5)),
            }},
            objects: [
                Quad(corner: (-2, -1, 2), edge_u: (4, 0, 0), edge_v: (0, 0, -4), material: "floor"),
                Quad(corner: (-1, 3, -1), edge_u: (2, 0, 0), edge_v: (0, 0, 2), material: "lamp"),
                Quad(corner: (-2, -1, -2), edge_u: (4, 0, 0), edge_v: (0, 3, 0), material: "m"),
                Sphere(center: (0, 0, 0), radius: 0.8, material: "m"),
            ],
        )"#
    ))
}

const ONE: &str = "RoughConductor(preset: \"gold\", alpha: 0.3, alpha_v: 0.1)";
const OTHER: &str = "Principled(base_color: (0.2, 0.5, 0.8), clearcoat: 0.6, anisotropy: 0.3)";

/// The choice has random numbers of its own, so that nothing else changes.
#[test]
fn a_blend_with_all_weight_on_one_material_has_the_film_of_that_material() {
    let film = |m: &str| {
        let materials = format!(r#""one": {ONE}, "other": {OTHER}, "blend": {m}, "m": {m},"#);
        render(&room(&materials), &on_cpu()).1.film_hash
    };
    let blend = |weight: u32| format!(r#"Blend(first: "one", second: "other", weight: {weight})"#);
    assert_eq!(film(&blend(0)), film(ONE));
    assert_eq!(film(&blend(1)), film(OTHER));
    // Through another blend, too.
    let nested = format!(
        r#""one": {ONE}, "other": {OTHER},
           "inner": Blend(first: "other", second: "one", weight: 1),
           "m": Blend(first: "inner", second: "other", weight: 0),"#
    );
    let nested = render(&room(&nested), &on_cpu()).1.film_hash;
    assert_eq!(nested, film(ONE));
}

/// The side that a path hits chooses, and no random number.
#[test]
fn a_blend_by_side_has_the_film_of_the_material_of_the_side_that_is_seen() {
    let film = |room: fn(&str) -> Scene, m: &str| {
        let materials = format!(r#""one": {ONE}, "other": {OTHER}, "m": {m},"#);
        render(&room(&materials), &on_cpu()).1.film_hash
    };
    let blend = |first: &str, second: &str| {
        format!(r#"Blend(first: "{first}", second: "{second}", by_side: true)"#)
    };
    // Only fronts are visible in the room, and only backs inside the sphere.
    let (front, back) = (blend("one", "other"), blend("other", "one"));
    for (room, only_one, only_other) in [
        (room as fn(&str) -> Scene, front.clone(), back.clone()),
        (inside, back, front),
    ] {
        assert_eq!(film(room, &only_one), film(room, ONE));
        assert_eq!(film(room, &only_other), film(room, OTHER));
        assert_ne!(film(room, ONE), film(room, OTHER));
    }
}

/// Returns the inside of a sphere of "m", with a lamp.
fn inside(materials: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (24, 16), spp: 16, max_bounces: 6,
            camera: (origin: (0, 0, 1.5), target: (0, 0, 0), fov: 50),
            materials: {{
                {materials}
                "lamp": Emissive(radiance: (6, 5, 4)),
            }},
            objects: [
                Sphere(center: (0, 0, 0), radius: 2, material: "m"),
                Sphere(center: (0, 1, 0), radius: 0.3, material: "lamp"),
            ],
        )"#
    ))
}

/// A blend by side that is part of another blend shows the sides of the surface. It also emits its own light.
#[test]
fn a_blend_by_side_is_part_of_other_blends() {
    let seen = |m: &str| {
        measure(&scene(&format!(
            r#"(
                size: (8, 8), spp: 64, max_bounces: 1, sky: (1, 1, 1),
                camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 10),
                materials: {{
                    "red": Diffuse(albedo: (0.9, 0.1, 0.2)),
                    "blue": Diffuse(albedo: (0.1, 0.3, 0.6)),
                    "black behind": Diffuse(albedo: (0.1, 0.3, 0.6), one_sided: true),
                    "red behind": Blend(first: "blue", second: "red", by_side: true),
                    "blue behind": Blend(first: "red", second: "blue", by_side: true),
                    "m": {m},
                }},
                objects: [
                    Quad(corner: (1, -1, 0), edge_u: (-2, 0, 0), edge_v: (0, 2, 0), material: "m"),
                ],
            )"#
        )))
    };
    let (red, blue) = (DVec3::new(0.9, 0.1, 0.2), DVec3::new(0.1, 0.3, 0.6));
    let emission = DVec3::new(0.25, 0.5, 1.0);
    let lamp = r#"Blend(first: "blue", second: "red", by_side: true, emission: (0.25, 0.5, 1)"#;
    for (m, expected) in [
        (
            r#"Blend(first: "red behind", second: "blue behind", weight: 0.25)"#,
            red.lerp(blue, 0.25),
        ),
        (
            r#"Blend(first: "red behind", second: "blue behind", by_side: true)"#,
            blue,
        ),
        (&format!("{lamp})"), red),
        (&format!("{lamp}, both_sides: true)"), red + emission),
    ] {
        expect(&seen(m), expected, m);
    }
    let black = seen(r#"Blend(first: "red", second: "black behind", by_side: true)"#);
    assert_eq!(black.mean, DVec3::ZERO);
}

/// A blend of diffuse materials has the mean albedo, and its own emission whatever is chosen.
#[test]
fn a_blend_reflects_the_mean_of_its_materials_and_emits_its_own_light() {
    let seen = |m: &str| {
        measure(&scene(&format!(
            r#"(
                size: (8, 8), spp: 64, max_bounces: 1, sky: (1, 1, 1),
                camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 10),
                materials: {{
                    "red": Diffuse(albedo: (0.9, 0.1, 0.2)),
                    "blue": Diffuse(albedo: (0.1, 0.3, 0.6)),
                    "grey": Diffuse(albedo: (0.5, 0.5, 0.5)),
                    "pair": Blend(first: "red", second: "blue", weight: 0.25),
                    "m": {m},
                }},
                objects: [
                    Quad(corner: (-1, -1, 0), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "m"),
                ],
            )"#
        )))
    };
    let pair = DVec3::new(0.9, 0.1, 0.2).lerp(DVec3::new(0.1, 0.3, 0.6), 0.25);
    let emission = DVec3::new(0.25, 0.5, 1.0);
    expect(
        &seen(r#"Blend(first: "red", second: "blue", weight: 0.25, emission: (0.25, 0.5, 1))"#),
        pair + emission,
        "a pair",
    );
    expect(
        &seen(r#"Blend(first: "pair", second: "grey", weight: 0.4)"#),
        pair.lerp(DVec3::splat(0.5), 0.4),
        "a blend in a blend",
    );
}

/// A black mirror takes away its part of the light, also of light that other surfaces reflect.
#[test]
fn a_blend_with_a_black_mirror_is_a_darker_material() {
    let seen = |m: &str| {
        let materials = format!(
            r#""black": Mirror(reflectance: (0, 0, 0)), "white": Diffuse(albedo: (1, 1, 1)), "m": {m},"#
        );
        measure(&Scene {
            spp: 64,
            ..room(&materials)
        })
    };
    let diffuse = seen("Diffuse(albedo: (0.4, 0.4, 0.4))");
    let blend = seen(r#"Blend(first: "black", second: "white", weight: 0.4)"#);
    expect(&blend, diffuse.mean, "a black mirror");
}

/// The window shows blends of materials whose emission was edited, and materials of a scene are public.
#[test]
fn an_invalid_blend_is_an_error_that_names_it() {
    let materials =
        format!(r#""one": {ONE}, "other": {OTHER}, "m": Blend(first: "one", second: "other"),"#);
    let room = room(&materials);
    assert_eq!(room.check_blends(), Ok(()));
    let blend = |first, second| Surface::Blend {
        first,
        second,
        weight: 0.5,
        by_side: false,
        emission: Vec3::ZERO,
        both_sides: false,
    };
    for (surface, problem) in [
        (blend(0, 9), "contains material 9, which does not exist"),
        (blend(0, 2), "contains itself"),
        (blend(3, 1), "contains \"lamp\", which emits light"),
    ] {
        let mut wrong = room.clone();
        wrong.materials[2] = surface;
        let error = wrong.check_blends().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("material \"m\" {problem}")),
            "{error}"
        );
    }
    assert!(mean(&render(&room, &on_cpu()).0).min_element() > 0.0);
}
