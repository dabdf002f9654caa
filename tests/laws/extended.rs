//! Materials with sheen, anisotropy, a thin film, diffuse transmission or dispersion.

use std::f64::consts::PI;

use glam::{DVec3, Vec3};
use raysieve::scene::Scene;

use crate::{
    common::{on_cpu, render, scene},
    expect, mean, measure,
};

/// Returns a sphere of a white `Principled` material in a white furnace.
fn furnace(fields: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (32, 32), spp: 256, max_bounces: 128, sky: (1, 1, 1),
            camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 28),
            materials: {{ "m": Principled(base_color: (1, 1, 1), {fields}) }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
        )"#
    ))
}

/// Materials that absorb nothing are nearly invisible: layers take from those below what they reflect.
#[test]
fn white_extended_materials_in_a_white_furnace_are_invisible() {
    for (fields, tolerance) in [
        ("sheen_color: (1, 1, 1), sheen_roughness: 0.5", 0.006),
        (
            "sheen_color: (1, 1, 1), sheen_roughness: 1, clearcoat: 1",
            0.012,
        ),
        ("metallic: 1, anisotropy: 0.8, roughness: 0.4", 0.01),
        ("metallic: 1, anisotropy: 1, roughness: 0.7", 0.01),
        // The alphas of these are 0.5 and 0.1, and 1 and 0.05.
        ("metallic: 1, anisotropy: 0.66667, roughness: 0.31623", 0.01),
        ("metallic: 1, anisotropy: 1, roughness: 0.22361", 0.01),
        ("anisotropy: 0.6, roughness: 0.3", 0.01),
        ("diffuse_transmission: 0.5", 0.006),
        ("diffuse_transmission: 1, absorption: ((1, 1, 1), 1)", 0.006),
        ("metallic: 1, iridescence: 1, roughness: 0.3", 0.01),
        (
            "transmission: 1, thin: true, iridescence: 1, roughness: 0.2",
            0.006,
        ),
        ("transmission: 1, iridescence: 1, roughness: 0.1", 0.01),
        ("transmission: 1, iridescence: 1, roughness: 0.5", 0.01),
        ("transmission: 1, iridescence: 1, roughness: 1", 0.015),
        (
            "transmission: 1, iridescence: 1, iridescence_ior: 2.5, roughness: 0.7",
            0.01,
        ),
        (
            "transmission: 1, iridescence: 1, iridescence_ior: 2.5, roughness: 1",
            0.01,
        ),
        ("diffuse_transmission: 0.5, clearcoat: 1", 0.006),
        ("transmission: 1, dispersion: 5, roughness: 0.1", 0.01),
    ] {
        let mean = mean(&render(&furnace(fields), &on_cpu()).0);
        println!("{fields}: {mean}");
        assert!(
            (mean - DVec3::ONE).abs().max_element() < tolerance,
            "{fields}: the mean is {mean}"
        );
    }
}

/// No layer adds energy, also where its formula alone would.
#[test]
fn extended_materials_reflect_no_more_light_than_arrives() {
    for fields in [
        "sheen_color: (1, 1, 1), sheen_roughness: 0",
        "sheen_color: (1, 1, 1), sheen_roughness: 0.2, metallic: 1",
        "iridescence: 1, iridescence_ior: 2.5",
        "iridescence: 1, metallic: 1, anisotropy: 1, roughness: 1",
        "sheen_color: (1, 1, 1), transmission: 1, roughness: 0.2",
        "diffuse_transmission: 0.5, transmission: 0.5, clearcoat: 1",
    ] {
        let picture = render(&furnace(fields), &on_cpu()).0;
        let mean = mean(&picture);
        println!("{fields}: {mean}");
        assert!(
            mean.max_element() < 1.003 && mean.min_element() > 0.5,
            "{fields}: the mean is {mean}"
        );
    }
}

/// Anisotropic metals and glass lose the light that scatters several times.
/// `docs/experiments/083-light-that-materials-lose.md` says how much that is.
#[test]
fn anisotropic_metals_and_glass_lose_a_known_part_of_the_light() {
    for (alphas, metal, glass) in [
        ((0.1, 0.1), 0.028, 0.060),
        ((0.1, 0.3), 0.095, 0.182),
        ((0.1, 0.5), 0.194, 0.304),
        ((0.05, 1.0), 0.436, 0.521),
    ] {
        let roughness = format!("alpha: {}, alpha_v: {}", alphas.0, alphas.1);
        for (material, expected) in [
            (
                format!("RoughConductor(color: (1, 1, 1), {roughness})"),
                metal,
            ),
            (format!("RoughDielectric(ior: 1.5, {roughness})"), glass),
        ] {
            let sphere = scene(&format!(
                r#"(
                    size: (32, 32), spp: 64, max_bounces: 128, sky: (1, 1, 1),
                    camera: (origin: (0, 0, 4), target: (0, 0, 0), width: 2),
                    materials: {{ "m": {material} }},
                    objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
                )"#
            ));
            let covered = PI / 4.0;
            let lost = (1.0 - mean(&render(&sphere, &on_cpu()).0).x) / covered;
            println!("{material}: {lost:.3}");
            assert!((lost - expected).abs() < 0.01, "{material}: {lost}");
        }
    }
}

/// Returns a plane of a `Principled` material below a directional light of irradiance 1, whose direction is `from` in
/// degrees from the zenith. The camera looks from above at `to` degrees on the opposite side.
fn lit(fields: &str, from: f64, to: f64) -> Scene {
    let (light, eye) = (from.to_radians(), to.to_radians());
    scene(&format!(
        r#"(
            size: (4, 4), spp: 64, max_bounces: 1,
            camera: (origin: ({}, {}, 0), target: (0, 0, 0), up: (0, 0, 1), fov: 0.01),
            lights: [Directional(direction: ({}, {}, 0), irradiance: (1, 1, 1))],
            materials: {{ "m": Principled({fields}) }},
            objects: [Quad(corner: (-9, 0, 9), edge_u: (18, 0, 0), edge_v: (0, 0, -18), material: "m")],
        )"#,
        -3.0 * eye.sin(),
        3.0 * eye.cos(),
        -light.sin(),
        -light.cos(),
    ))
}

/// Compares sheen with the formula of `KHR_materials_sheen` in double precision.
#[test]
fn sheen_alone_follows_the_charlie_distribution() {
    let color = DVec3::new(1.0, 0.5, 0.25);
    for (roughness, from, to) in [(0.5, 50.0, 20.0), (1.0, 30.0, 70.0), (0.3, 70.0, -60.0_f64)] {
        let fields = format!(
            "base_color: (0, 0, 0), metallic: 1, roughness: 0.01, sheen_color: (1, 0.5, 0.25), sheen_roughness: {roughness}"
        );
        let alpha: f64 = roughness * roughness;
        let fit = |x: f64| {
            let smooth = (1.0 - alpha) * (1.0 - alpha);
            let between = |rough: f64, other: f64| rough + (other - rough) * smooth;
            let a = between(21.5473, 25.3245);
            let b = between(3.82987, 3.32435);
            let c = between(0.19823, 0.16801);
            let d = between(-1.97760, -1.27393);
            let e = between(-4.32054, -4.85967);
            a / (1.0 + b * x.powf(c)) + d * x + e
        };
        let lambda = |x: f64| {
            if x < 0.5 {
                fit(x).exp()
            } else {
                (2.0 * fit(0.5) - fit(1.0 - x)).exp()
            }
        };
        let direction = |degrees: f64| {
            let angle = degrees.to_radians();
            DVec3::new(angle.sin(), angle.cos(), 0.0)
        };
        // The light is to the right and the eye to the left.
        let (light, eye) = (direction(from), direction(-to));
        let half = (light + eye).normalize();
        let sine2 = 1.0 - half.y * half.y;
        let density = (2.0 + 1.0 / alpha) * sine2.powf(0.5 / alpha) / (2.0 * PI);
        let masked = 1.0 + lambda(light.y) + lambda(eye.y);
        let expected = color * (density / (4.0 * eye.y * masked));
        let seen = mean(&render(&lit(&fields, from, to), &on_cpu()).0);
        assert!(
            (seen / expected - 1.0).abs().max_element() < 2e-3,
            "{fields}: {seen}, expected {expected}"
        );
    }
}

/// A sheet without specular reflection splits the light of its diffuse part between its sides.
#[test]
fn diffuse_transmission_divides_the_light_between_both_sides() {
    let fields = "base_color: (0.5, 0.5, 0.5), specular: 0, diffuse_transmission: 0.25, \
                  diffuse_transmission_color: (0.2, 0.4, 0.8)";
    let irradiance = 40_f64.to_radians().cos();
    let above = mean(&render(&lit(fields, 40.0, 10.0), &on_cpu()).0);
    let below = mean(&render(&lit(fields, 140.0, 10.0), &on_cpu()).0);
    let expected_above = DVec3::splat(0.5 * 0.75 * irradiance / PI);
    let expected_below = DVec3::new(0.2, 0.4, 0.8) * (0.25 * irradiance / PI);
    for (seen, expected) in [(above, expected_above), (below, expected_below)] {
        assert!(
            (seen / expected - 1.0).abs().max_element() < 1e-4,
            "{seen}, expected {expected}"
        );
    }
}

/// Returns a brushed metal plane that faces the camera, with a lamp beyond its edge at `x` and `y`.
fn brushed(rotation: f64, x: f64, y: f64) -> Scene {
    scene(&format!(
        r#"(
            size: (4, 4), spp: 64, max_bounces: 1,
            camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 1),
            materials: {{
                "metal": Principled(metallic: 1, roughness: 0.3, anisotropy: 0.9, anisotropy_rotation: {rotation}),
                "lamp": Emissive(radiance: (1, 1, 1)),
            }},
            objects: [
                Quad(corner: (-1, -1, 0), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "metal"),
                Sphere(center: ({x}, {y}, 2), radius: 0.5, material: "lamp"),
            ],
        )"#
    ))
}

#[test]
fn highlights_stretch_along_the_anisotropy_direction() {
    let along = measure(&brushed(0.0, 2.0, 0.0));
    let across = measure(&brushed(0.0, 0.0, 2.0));
    assert!(
        along.mean.x > 3.0 * across.mean.x,
        "{along:?} along, {across:?} across"
    );
    let turned = measure(&brushed(90.0, 0.0, 2.0));
    expect(&turned, along.mean, "turned by 90 degrees");
    // Counter-clockwise as seen from the front.
    let oblique = measure(&brushed(30.0, 3_f64.sqrt(), 1.0));
    expect(&oblique, along.mean, "turned by 30 degrees");
}

/// Returns a scene that views a lamp through the edge of a ball of glass.
fn ball(ior: f64, dispersion: f64) -> Scene {
    scene(&format!(
        r#"(
            size: (8, 8), spp: 64, max_bounces: 16,
            camera: (origin: (0, 0, 5), target: (0.6, 0, 0), fov: 4),
            materials: {{
                "glass": Principled(transmission: 1, roughness: 0.02, ior: {ior}, dispersion: {dispersion}),
                "lamp": Emissive(radiance: (1, 1, 1), both_sides: true),
            }},
            objects: [
                Sphere(center: (0, 0, 0), radius: 1, material: "glass"),
                Quad(corner: (-2.6, -9, -3), edge_u: (2.3, 0, 0), edge_v: (0, 18, 0), material: "lamp"),
            ],
        )"#
    ))
}

/// Each channel of a dispersive body is that of a body without dispersion, with the refractive index of the channel.
#[test]
fn dispersion_refracts_each_channel_by_its_own_index() {
    let dispersive = measure(&ball(1.5, 4.0));
    let half_spread = 0.5 * 0.025 * 4.0;
    let alone = [1.5 - half_spread, 1.5, 1.5 + half_spread].map(|ior| measure(&ball(ior, 0.0)));
    let expected = DVec3::from_array([0, 1, 2].map(|channel| alone[channel].mean[channel]));
    assert!(
        (expected.x / expected.z - 1.0).abs() > 0.05,
        "the channels hardly differ: {expected}"
    );
    expect(&dispersive, expected, "a dispersive ball");
}

/// A film of no thickness has no effect.
#[test]
fn the_thinnest_film_reflects_as_the_surface_without_it() {
    use raysieve::shading::{microfacet::schlick, thin_film::film_reflectance};
    for base in [Vec3::splat(0.04), Vec3::new(0.9, 0.5, 0.1)] {
        for cosine in [1.0, 0.7, 0.3, 0.1] {
            let filmed = film_reflectance(cosine, 1.8, 0.0, base);
            let plain = base + (Vec3::ONE - base) * schlick(cosine);
            assert!(
                (filmed - plain).abs().max_element() < 0.01,
                "{base}, {cosine}: {filmed} and {plain}"
            );
        }
    }
}

/// A film between air and a denser body, of a quarter of a wavelength and the geometric mean of both indices, removes
/// the reflection of that wavelength (anti-reflective coating). One of half a wavelength has no effect there.
#[test]
fn a_quarter_wave_film_is_anti_reflective() {
    use raysieve::shading::thin_film::film_reflectance;
    let base_ior: f32 = 2.25;
    let at_normal = ((base_ior - 1.0) / (base_ior + 1.0)).powi(2);
    let green = |thickness: f32| film_reflectance(1.0, 1.5, thickness, Vec3::splat(at_normal)).y;
    let (quarter, half) = (green(545.0 / 6.0), green(545.0 / 3.0));
    assert!(quarter < 0.2 * at_normal, "{quarter} of {at_normal}");
    assert!(half > 0.6 * at_normal, "{half} of {at_normal}");
}
