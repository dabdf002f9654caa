//! Tests that points sampled on lights follow their claimed densities.

use std::f64::consts::TAU;

use glam::Vec3;
use raysieve::{
    accel::primitive::{Primitive, SPHERE, TRIANGLE},
    device::render_scene::RenderScene,
    lights::{
        area_light::{light_pdf, sample_emitter},
        lamp::{Lamp, spot_falloff},
        light::{EMITTER, Light, choose_light},
        light_power::{by_power, gather_lights},
    },
    scene::SpotFalloff,
    shading::material::Material,
};

use crate::common::{Random, emissive_garden};

/// Number of samples per test.
const COUNT: u32 = 1 << 17;
/// Number of cells per axis of the unit square over which samples are counted.
const CELLS: usize = 8;

/// Returns a material that emits light.
fn emissive() -> Material {
    Material {
        emission: Vec3::ONE,
        ..Material::default()
    }
}

fn sphere(center: Vec3, radius: f32) -> Primitive {
    Primitive {
        a: center,
        b: Vec3::new(radius, 0.0, 0.0),
        kind_bits: SPHERE,
        ..Primitive::default()
    }
}

/// Returns the sampling density per area of a light that is the only one in the scene.
fn alone(light: &Primitive) -> f32 {
    let mut lights = gather_lights(std::slice::from_ref(light), 0..0, &[], &[emissive()]);
    by_power(&mut lights);
    let &[(light, power)] = &lights[..] else {
        panic!("{lights:?}")
    };
    assert_eq!(light.cumulative, 1.0);
    (1.0 / power) as f32
}

/// Asserts by a χ² test that counts are uniform: with 63 degrees of freedom, χ² is 63 with a standard deviation of
/// 11.2.
fn assert_uniform(counts: &[u32; CELLS * CELLS], case: &str) {
    let expected = f64::from(COUNT) / counts.len() as f64;
    let chi2: f64 = counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2) / expected)
        .sum();
    assert!((20.0..130.0).contains(&chi2), "{case}: {chi2}");
}

fn cell(first: f64, second: f64) -> usize {
    let index = |value: f64| ((value * CELLS as f64) as usize).min(CELLS - 1);
    index(first) * CELLS + index(second)
}

#[test]
fn a_sphere_is_sampled_uniformly_over_its_solid_angle() {
    let mut random = Random::new(9);
    for (center, radius) in [
        (Vec3::new(0.0, 3.0, 4.0), 1.0),
        (Vec3::new(2.0, 1.0, -1.0), 2.4),
        (Vec3::Y * 50.0, 0.01),
    ] {
        let light = sphere(center, radius);
        let share = alone(&light);
        let axis = center.as_dvec3().normalize();
        let (tangent, bitangent) = axis.any_orthonormal_pair();
        let height = 1.0 - (1.0 - (f64::from(radius) / center.as_dvec3().length()).powi(2)).sqrt();
        let mut counts = [0; CELLS * CELLS];
        for _ in 0..COUNT {
            let sample = sample_emitter(
                &light,
                Vec3::ONE,
                share,
                Vec3::ZERO,
                random.unit(),
                random.unit(),
            );
            assert!(
                (f64::from(sample.pdf) * TAU * height - 1.0).abs() < 1e-3,
                "{sample:?}"
            );
            let pdf = light_pdf(&light, share, Vec3::ZERO, sample.distance, 0.5);
            assert_eq!(
                sample.pdf, pdf,
                "both strategies must compute the same density"
            );
            let off = (sample.direction * sample.distance - center).length();
            // The point is offset from the surface by about 2^-15 of its coordinates.
            let moved = 4e-5 * center.length();
            assert!(
                (off - radius).abs() < 1e-3 * radius + moved,
                "{sample:?} is not on the sphere"
            );
            let direction = sample.direction.as_dvec3();
            // Computed from the sine, because 1 - cos loses precision for a small light.
            let cos = direction.dot(axis);
            let drop = direction.cross(axis).length_squared() / (1.0 + cos);
            let turn = (direction.dot(bitangent).atan2(direction.dot(tangent)) / TAU + 1.0).fract();
            assert!(drop < height * 1.01, "{sample:?} misses the sphere");
            counts[cell(drop / height, turn)] += 1;
        }
        assert_uniform(&counts, &format!("the sphere at {center}"));
    }
}

#[test]
fn a_triangle_is_sampled_uniformly_over_its_area() {
    let light = Primitive {
        a: Vec3::new(-1.0, 2.0, 0.0),
        b: Vec3::new(3.0, 2.0, 1.0),
        c: Vec3::new(0.0, 2.0, -2.0),
        kind_bits: TRIANGLE,
        ..Primitive::default()
    };
    let normal = (light.b - light.a).cross(light.c - light.a).normalize();
    let origin = Vec3::new(0.5, 2.0, 0.2) + normal * 3.0;
    let share = alone(&light);
    let area = f64::from((light.b - light.a).cross(light.c - light.a).length()) / 2.0;
    let mut random = Random::new(10);
    let mut counts = [0; CELLS * CELLS];
    for _ in 0..COUNT {
        let sample = sample_emitter(
            &light,
            Vec3::ONE,
            share,
            origin,
            random.unit(),
            random.unit(),
        );
        let cosine = -sample.direction.dot(normal);
        let pdf = f64::from(sample.distance * sample.distance / cosine) / area;
        assert!(
            (f64::from(sample.pdf) / pdf - 1.0).abs() < 1e-4,
            "{sample:?}: expected {pdf}"
        );
        let known = light_pdf(&light, share, origin, sample.distance, cosine);
        assert!(
            (known / sample.pdf - 1.0).abs() < 1e-5,
            "both strategies must compute the same density"
        );
        let point = (origin + sample.direction * sample.distance - light.a).as_dvec3();
        let (ab, ac) = (
            (light.b - light.a).as_dvec3(),
            (light.c - light.a).as_dvec3(),
        );
        let weight = |x: glam::DVec3, y: glam::DVec3| x.cross(y).length() / (2.0 * area);
        let (b, c) = (weight(point, ac), weight(ab, point));
        assert!(b + c < 1.0 + 1e-4, "{sample:?} misses the triangle");
        // The coordinates are the strip of equal area and the position along it.
        counts[cell((b + c).powi(2).min(1.0), c / (b + c))] += 1;
    }
    assert_uniform(&counts, "the triangle");
}

#[test]
fn points_behind_a_light_receive_none() {
    let light = sphere(Vec3::ZERO, 1.0);
    let share = alone(&light);
    let inside = sample_emitter(&light, Vec3::ONE, share, Vec3::X * 0.5, 0.3, 0.6);
    assert_eq!(
        (inside.distance, inside.radiance),
        (0.0, Vec3::ZERO),
        "spheres emit outwards only"
    );
    let triangle = Primitive {
        a: Vec3::ZERO,
        b: Vec3::X,
        c: Vec3::Y,
        kind_bits: TRIANGLE,
        ..Primitive::default()
    };
    let share = alone(&triangle);
    let behind = sample_emitter(&triangle, Vec3::ONE, share, Vec3::NEG_Z, 0.3, 0.6);
    assert_eq!(
        (behind.distance, behind.radiance),
        (0.0, Vec3::ZERO),
        "triangles emit to the front only"
    );
}

#[test]
fn lights_are_chosen_by_their_power() {
    let materials = [emissive(), Material::default()];
    let mut primitives = vec![
        sphere(Vec3::ZERO, 1.0),
        sphere(Vec3::X, 2.0),
        sphere(Vec3::Y, 3.0),
        sphere(Vec3::Z, 0.5),
    ];
    primitives[1].material = 1;
    for (number, primitive) in (0..).zip(&mut primitives) {
        primitive.number = number;
    }
    let mut lights = gather_lights(&primitives, 0..0, &[], &materials);
    by_power(&mut lights);
    let lights: Vec<Light> = lights.into_iter().map(|(light, _)| light).collect();
    assert_eq!(
        lights.iter().map(|light| light.index).collect::<Vec<_>>(),
        [0, 2, 3],
        "a surface without emission is no light"
    );
    let mut chosen = [0_u32; 3];
    for step in 0..COUNT {
        let u = step as f32 / COUNT as f32;
        chosen[choose_light(&lights, 3, u) as usize] += 1;
    }
    for (count, area) in chosen.into_iter().zip([1.0, 9.0, 0.25]) {
        let expected = f64::from(COUNT) * area / 10.25;
        assert!((f64::from(count) - expected).abs() <= 2.0, "{chosen:?}");
    }
    assert_eq!(choose_light(&lights, 3, 1.0 - f32::EPSILON), 2);
}

/// Checks that lights are numbered independently of the trees.
///
/// The scene's primitives come first, then each instance's triangles in mesh order.
#[test]
fn lights_keep_the_order_of_the_scene() {
    let scene = emissive_garden();
    let render_scene = RenderScene::new(&scene).unwrap();
    let shines = |material: u32| render_scene.materials[material as usize].emission != Vec3::ZERO;
    let flat = scene.triangles.iter().filter(|each| shines(each.material));
    let flat = flat.map(|triangle| triangle.vertices[0]);
    let spheres = scene.spheres.iter().filter(|each| shines(each.material));
    let mut expected: Vec<Vec3> = flat.chain(spheres.map(|sphere| sphere.center)).collect();
    let standing = expected.len();
    for instance in scene.instances.iter() {
        let mesh = &scene.meshes[instance.mesh as usize];
        for (number, triangle) in mesh.triangles.iter().enumerate() {
            let of_mesh = mesh.materials[number.min(mesh.materials.len() - 1)];
            if shines(instance.material.unwrap_or(of_mesh)) {
                let [x, y, z] = mesh.positions[triangle[0] as usize].to_array();
                let [across, up, along] = instance.axes;
                expected.push(instance.position + across * x + up * y + along * z);
            }
        }
    }
    assert!(expected.len() > standing + 100, "{}", expected.len());
    let found: Vec<Vec3> = render_scene
        .lights
        .iter()
        .filter(|light| light.kind == EMITTER)
        .map(|light| render_scene.primitives[light.index as usize].a)
        .collect();
    assert_eq!(found.len(), expected.len());
    for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let offset = found.distance(*expected);
        assert!(offset < 1e-4, "light {number}: {found} is not {expected}");
    }
}

/// Compares the polynomials with the formulas of glTF, pbrt-v4 and Mitsuba 3.
#[test]
fn spot_lights_fall_off_as_in_the_formats_that_define_them() {
    let between = |from: f64, to: f64, part: f64| from + (to - from) * part;
    for (inner_degrees, outer_degrees, tolerance) in [
        (15.0_f64, 20.0_f64, 5e-4),
        (30.0, 60.0, 3e-3),
        (10.0, 40.0, 0.02),
        (0.0, 90.0, 0.1),
    ] {
        let (inner, outer) = (inner_degrees.to_radians(), outer_degrees.to_radians());
        for number in 0..=100 {
            let angle = between(inner, outer, f64::from(number) / 100.0);
            let ramp = (angle.cos() - outer.cos()) / (inner.cos() - outer.cos());
            for (falloff, expected, tolerance) in [
                (SpotFalloff::Squared, ramp * ramp, 1e-4),
                (SpotFalloff::Smooth, ramp * ramp * (3.0 - 2.0 * ramp), 1e-4),
                (
                    SpotFalloff::Linear,
                    (outer - angle) / (outer - inner),
                    tolerance,
                ),
            ] {
                let [first, second, third] = falloff.polynomial(inner, outer);
                let lamp = Lamp {
                    cos_inner: inner.cos() as f32,
                    cos_outer: outer.cos() as f32,
                    falloff_1: first as f32,
                    falloff_2: second as f32,
                    falloff_3: third as f32,
                    ..Lamp::default()
                };
                let found = spot_falloff(&lamp, angle.cos() as f32);
                assert!(
                    (f64::from(found) - expected).abs() < tolerance,
                    "{falloff:?} from {inner_degrees} to {outer_degrees}: {found}, expected {expected}"
                );
            }
        }
    }
}
