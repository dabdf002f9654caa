//! Light that fog scatters and absorbs, compared with closed-form solutions.

use glam::{DVec3, Vec3};
use raysieve::{
    math::dot,
    shading::medium::{phase, sample_phase},
};

use crate::{
    common::{Random, scene},
    expect, measure,
};

/// Returns six squares of a box of 2 m that emit radiance 1 inwards, and scatter nothing.
fn shining_box() -> String {
    let mut squares = String::new();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let mut corner = [-1.0; 3];
            corner[axis] = side;
            let (mut first, mut second) = ([0.0; 3], [0.0; 3]);
            first[(axis + 1) % 3] = 2.0;
            second[(axis + 2) % 3] = 2.0;
            // The normal is the cross product of the edges.
            let (u, v) = match side < 0.0 {
                true => (first, second),
                false => (second, first),
            };
            let written = |v: [f64; 3]| format!("({}, {}, {})", v[0], v[1], v[2]);
            squares += &format!(
                "Quad(corner: {}, edge_u: {}, edge_v: {}, material: \"lamp\"),\n",
                written(corner),
                written(u),
                written(v)
            );
        }
    }
    squares
}

/// Checks that nothing is lost or gained in a hot, closed room: fog that absorbs nothing has no effect.
#[test]
fn fog_in_a_uniformly_bright_room_is_invisible() {
    let sphere = "Sphere(center: (0, 0, 0), radius: 1.2, material: \"lamp\"),".to_owned();
    for (room, objects) in [("box", shining_box()), ("sphere", sphere)] {
        for anisotropy in [-0.5, 0.0, 0.8] {
            let scene = scene(&format!(
                r#"(
                    size: (8, 8), spp: 64, max_bounces: 512,
                    fog: (scattering: (0.3, 1, 4), anisotropy: {anisotropy}),
                    camera: (origin: (0.3, 0.2, 0.6), target: (0, 0, 0), fov: 90),
                    materials: {{ "lamp": Emissive(radiance: (1, 1, 1), both_sides: true) }},
                    objects: [{objects}],
                )"#
            ));
            let case = format!("{room}, anisotropy {anisotropy}");
            expect(&measure(&scene), DVec3::ONE, &case);
        }
    }
}

/// Checks the light of a lamp behind fog that has not scattered.
#[test]
fn fog_dims_a_lamp_by_the_beer_lambert_law() {
    for (scattering, absorption) in [
        (DVec3::ZERO, DVec3::new(0.1, 0.5, 1.5)),
        (DVec3::new(0.4, 0.2, 0.1), DVec3::new(0.1, 0.0, 0.6)),
    ] {
        let scene = scene(&format!(
            r#"(
                size: (8, 8), spp: 256, max_bounces: 0,
                fog: (scattering: {scattering:?}, absorption: {absorption:?}),
                camera: (origin: (0, 0, 1.5), target: (0, 0, 0), fov: 0.01),
                materials: {{ "lamp": Emissive(radiance: (1, 1, 1)) }},
                objects: [
                    Quad(corner: (-1, -1, 0), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: "lamp"),
                ],
            )"#
        ).replace("DVec3", ""));
        let expected = (-(scattering + absorption) * 1.5).exp();
        expect(&measure(&scene), expected, "lamp");
    }
}

/// Checks light that fog scatters once on its way from a point light to the camera, against numerical integration.
#[test]
fn fog_scatters_the_light_of_a_point_light() {
    let scattering = DVec3::new(0.05, 0.1, 0.2);
    let absorption = DVec3::new(0.1, 0.02, 0.0);
    let (length, height) = (4.0, 0.7);
    for anisotropy in [0.0, 0.6, -0.4] {
        let scene = scene(&format!(
            r#"(
                size: (8, 8), spp: 1024, max_bounces: 1,
                fog: (scattering: {scattering:?}, absorption: {absorption:?}, anisotropy: {anisotropy}),
                camera: (origin: (0, 0, {length}), target: (0, 0, 0), fov: 0.01),
                lights: [Point(position: (0, {height}, 1.5), intensity: (1, 1, 1))],
                materials: {{ "black": Diffuse(albedo: (0, 0, 0)) }},
                objects: [
                    Quad(corner: (-9, -9, 0), edge_u: (18, 0, 0), edge_v: (0, 18, 0), material: "black"),
                ],
            )"#
        ).replace("DVec3", ""));
        let steps = 20_000;
        let mut sum = DVec3::ZERO;
        for step in 0..steps {
            let way = (f64::from(step) + 0.5) / f64::from(steps) * length;
            let behind = (length - way) - 1.5;
            let distance = behind.hypot(height);
            // The angle between the light's direction, downwards and along z, and that to the camera.
            let cosine = behind / distance;
            let base: f64 = 1.0 + anisotropy * anisotropy - 2.0 * anisotropy * cosine;
            let phase =
                (1.0 - anisotropy * anisotropy) / (4.0 * std::f64::consts::PI * base.powf(1.5));
            let passed = (-(scattering + absorption) * (way + distance)).exp();
            sum += scattering * passed * (phase / (distance * distance));
        }
        let expected = sum * (length / f64::from(steps));
        let case = format!("anisotropy {anisotropy}");
        expect(&measure(&scene), expected, &case);
    }
}

/// Checks that sampled directions have the mean cosine that the anisotropy states, and the density of the phase
/// function: the mean of 1 over the density is the whole solid angle.
#[test]
fn the_phase_function_has_its_mean_cosine_and_density() {
    let mut random = Random::new(5);
    let count = 200_000;
    for anisotropy in [-0.7, -0.2, 0.0, 0.0005, 0.3, 0.6] {
        let along = Vec3::new(0.6, -0.64, 0.48);
        let (mut cosines, mut angles) = (0.0, 0.0);
        for _ in 0..count {
            let direction = sample_phase(anisotropy, along, random.unit(), random.unit());
            let cosine = dot(along, direction);
            assert!((dot(direction, direction) - 1.0).abs() < 1e-5);
            cosines += f64::from(cosine);
            angles += 1.0 / f64::from(phase(anisotropy, cosine));
        }
        let mean = cosines / f64::from(count);
        assert!(
            (mean - f64::from(anisotropy)).abs() < 0.01,
            "{anisotropy}: {mean}"
        );
        let angle = angles / f64::from(count) / (4.0 * std::f64::consts::PI);
        assert!((angle - 1.0).abs() < 0.05, "{anisotropy}: {angle}");
    }
}
