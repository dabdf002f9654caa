//! Tests of environment maps: lookup, and importance sampling of directions.

use std::f64::consts::{PI, TAU};

use glam::{DVec3, Vec3};
use raysieve::{
    device::render_scene::RenderScene,
    lights::{
        environment::{
            Environment, EnvironmentTables, environment_at, environment_tables, sample_environment,
        },
        light::{Lamp, SUN, sample_lamp, sample_light, sky_light},
    },
    math::{INV_PI, luminance},
    scene::Scene,
    shading::material::{power_heuristic, sample_cosine},
};

use crate::common::{Random, file, scene};

/// Width of the image in texels.
const WIDTH: u32 = 16;
/// Height of the image in texels.
const HEIGHT: u32 = 8;

/// Returns an environment with texels of all brightnesses, some of them 0, rotated by a third of a turn.
fn picture() -> (Vec<Vec3>, EnvironmentTables, Environment) {
    let mut random = Random::new(31);
    let radiances: Vec<Vec3> = (0..WIDTH * HEIGHT)
        .map(|texel| match texel % 5 {
            0 => Vec3::ZERO,
            1 => Vec3::new(random.unit(), random.unit(), random.unit()) * 50.0,
            _ => Vec3::new(random.unit(), random.unit(), random.unit()),
        })
        .collect();
    let tables = environment_tables(WIDTH, &radiances);
    let environment = Environment {
        width: WIDTH,
        height: HEIGHT,
        turns: 1.0 / 3.0,
        chance: 1.0,
    };
    (radiances, tables, environment)
}

/// Returns 32 random bits.
fn bits(random: &mut Random) -> u32 {
    (random.word() >> 32) as u32
}

/// Returns the position of a direction in the image, in texels.
fn place(direction: DVec3, turns: f64) -> (f64, f64) {
    let around = direction.x.atan2(-direction.z) / TAU + turns;
    let x = around.rem_euclid(1.0) * f64::from(WIDTH);
    (
        x,
        direction.y.clamp(-1.0, 1.0).acos() / PI * f64::from(HEIGHT),
    )
}

#[test]
fn environment_directions_follow_their_density() {
    const COUNT: u32 = 1 << 20;
    let (_, tables, environment) = picture();
    let mut random = Random::new(5);
    let mut counts = vec![0_u32; (WIDTH * HEIGHT) as usize];
    for _ in 0..COUNT {
        let (u, v) = (bits(&mut random), bits(&mut random));
        let direction = sample_environment(
            &environment,
            &tables.rows,
            &tables.texels,
            &tables.guide,
            u,
            v,
        );
        assert!((direction.length() - 1.0).abs() < 1e-6, "{direction}");
        let (x, y) = place(direction.as_dvec3(), 1.0 / 3.0);
        counts[y as usize * WIDTH as usize + x as usize] += 1;
    }
    // The density is constant over a texel, so one direction determines it.
    let (mut chi2, mut whole) = (0.0, 0.0);
    for (texel, &count) in counts.iter().enumerate() {
        let (x, y) = (texel % WIDTH as usize, texel / WIDTH as usize);
        let turn = TAU * ((x as f64 + 0.5) / f64::from(WIDTH) - 1.0 / 3.0);
        let edges = [y, y + 1].map(|edge| (PI * edge as f64 / f64::from(HEIGHT)).cos());
        let upwards = (edges[0] + edges[1]) / 2.0;
        let across = (1.0 - upwards * upwards).sqrt();
        let direction = DVec3::new(turn.sin() * across, upwards, -turn.cos() * across);
        let seen = environment_at(
            &environment,
            &tables.rows,
            &tables.texels,
            direction.as_vec3(),
        );
        let chance = f64::from(seen.pdf) * (edges[0] - edges[1]) * TAU / f64::from(WIDTH);
        whole += chance;
        let expected = chance * f64::from(COUNT);
        chi2 += (f64::from(count) - expected).powi(2) / expected;
    }
    assert!(
        (whole - 1.0).abs() < 1e-5,
        "the probabilities sum to {whole}"
    );
    // With 127 degrees of freedom, χ² is 127 with a standard deviation of 16.
    assert!((60.0..230.0).contains(&chi2), "{chi2}");
}

#[test]
fn lookups_interpolate_bilinearly() {
    let (radiances, tables, environment) = picture();
    let at = |x: i64, y: i64| {
        let x = x.rem_euclid(i64::from(WIDTH)) as usize;
        let y = y.clamp(0, i64::from(HEIGHT) - 1) as usize;
        radiances[y * WIDTH as usize + x].as_dvec3()
    };
    let mut random = Random::new(6);
    // The poles are left out, because all longitudes meet there.
    let mut axes = [Vec3::NEG_Z, Vec3::Z, Vec3::X, Vec3::NEG_X].into_iter();
    for _ in 0..100_000 {
        let drawn = Vec3::new(random.signed(), random.signed(), random.signed());
        let direction = axes.next().unwrap_or(drawn).normalize();
        let seen = environment_at(&environment, &tables.rows, &tables.texels, direction);
        let (x, y) = place(direction.as_dvec3(), 1.0 / 3.0);
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, upper) = (x.floor(), y.floor());
        let (fx, fy) = (x - left, y - upper);
        let (left, upper) = (left as i64, upper as i64);
        let row = |y| at(left, y) * (1.0 - fx) + at(left + 1, y) * fx;
        let expected = row(upper) * (1.0 - fy) + row(upper + 1) * fy;
        let difference = (seen.radiance.as_dvec3() - expected).abs().max_element();
        assert!(
            difference < 1e-3,
            "{direction}: {seen:?}, expected {expected}"
        );
        assert!(
            seen.pdf > 0.0 || luminance(seen.radiance) < 1e-4,
            "{direction} has light but is never sampled: {seen:?}"
        );
    }
}

#[test]
fn a_black_environment_has_no_sampling_tables() {
    let tables = environment_tables(4, &[Vec3::ZERO; 8]);
    assert!(tables.rows.is_empty() && tables.texels.is_empty());
    assert_eq!(tables.brightness, 0.0);
}

/// Checks that adjacent texels of extreme brightness keep their sampling probabilities.
#[test]
fn the_dimmest_texel_beside_the_brightest_can_be_sampled() {
    let mut radiances = vec![Vec3::splat(1e-6); 64 * 32];
    radiances[700] = Vec3::splat(1e7);
    let tables = environment_tables(64, &radiances);
    let mut before = 0;
    for row in &tables.rows {
        assert!(row.cumulative > before && row.density > 0.0, "{row:?}");
        before = row.cumulative;
    }
    for row in tables.texels.chunks(64) {
        let mut before = 0;
        for texel in row {
            assert!(texel.cumulative > before, "{texel:?}");
            before = texel.cumulative;
        }
    }
}

#[test]
fn a_sun_is_sampled_uniformly_over_its_visible_disk() {
    const CELLS: usize = 8;
    const COUNT: u32 = 1 << 17;
    let sunny_scene = |angle: f32| -> (RenderScene, Scene) {
        let scene = scene(&format!(
            r#"(
                camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40),
                lights: [Directional(direction: (-1, -2, 0.5), irradiance: (1, 2, 3), angle: {angle})],
                materials: {{ "m": Diffuse(albedo: (0, 0, 0)) }},
                objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
            )"#
        ));
        (RenderScene::new(&scene).unwrap(), scene)
    };
    for angle in [0.01, 0.533, 10.0, 90.0] {
        let (render_scene, _) = sunny_scene(angle);
        let lamp: Lamp = render_scene.lamps[0];
        assert_eq!((lamp.kind, lamp.chance), (SUN, 1.0));
        let half = f64::from(angle).to_radians() / 2.0;
        let height = 2.0 * (half / 2.0).sin().powi(2);
        let axis = DVec3::new(1.0, 2.0, -0.5).normalize();
        let (tangent, bitangent) = axis.any_orthonormal_pair();
        let mut random = Random::new(8);
        let mut counts = [0_u32; CELLS * CELLS];
        for _ in 0..COUNT {
            let sample = sample_lamp(&lamp, lamp.chance, Vec3::ONE, random.unit(), random.unit());
            let pdf = f64::from(sample.pdf) * TAU * height;
            assert!((pdf - 1.0).abs() < 1e-3, "{sample:?}");
            let direction = sample.direction.as_dvec3();
            let drop = direction.cross(axis).length_squared() / (1.0 + direction.dot(axis));
            let turn = (direction.dot(bitangent).atan2(direction.dot(tangent)) / TAU + 1.0).fract();
            let cell = |part: f64| ((part * CELLS as f64) as usize).min(CELLS - 1);
            counts[cell(drop / height) * CELLS + cell(turn)] += 1;
        }
        if angle > 0.1 {
            let expected = f64::from(COUNT) / counts.len() as f64;
            let off = |&count: &u32| (f64::from(count) - expected).powi(2) / expected;
            let chi2: f64 = counts.iter().map(off).sum();
            assert!((20.0..130.0).contains(&chi2), "{angle}: {chi2}");
        }
        // Scattered rays see the sun within its disk, and its irradiance is the requested one.
        let seen = |off: f64| {
            let direction = axis * (half * off).cos() + tangent * (half * off).sin();
            sky_light(&render_scene.lights(), direction.as_vec3(), 0.0, true)
        };
        assert_eq!(seen(1.05), Vec3::ZERO, "{angle}");
        let irradiance = seen(0.95).as_dvec3() * PI * half.sin().powi(2);
        let expected = DVec3::new(1.0, 2.0, 3.0);
        assert!(
            (irradiance - expected).abs().max_element() < 1e-3,
            "{angle}: {irradiance}"
        );
    }
}

/// Returns mean and standard error of the irradiance on a surface. `strategy` is light sampling (0), BSDF sampling (1)
/// or both (2).
fn irradiance(
    render_scene: &RenderScene,
    normal: Vec3,
    strategy: usize,
    random: &mut Random,
) -> (f64, f64) {
    const COUNT: u32 = 1 << 18;
    let lights = render_scene.lights();
    let bright = |radiance: Vec3| f64::from(luminance(radiance));
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..COUNT {
        let mut value = 0.0;
        if strategy != 1 {
            let [choice, u, v] = [0; 3].map(|_| bits(random));
            let sample = sample_light(&lights, Vec3::ZERO, choice, u, v);
            let cosine = sample.direction.dot(normal);
            if sample.distance > 0.0 && cosine > 0.0 {
                let weight = if strategy == 0 || sample.is_delta == 1 {
                    1.0
                } else {
                    power_heuristic(sample.pdf, cosine * INV_PI)
                };
                value += bright(sample.radiance) * f64::from(cosine * weight / sample.pdf);
            }
        }
        if strategy != 0 {
            let (direction, cosine) = sample_cosine(normal, random.unit(), random.unit());
            // A density of 0 disables the weighting, so that all of the light is returned.
            let pdf = if strategy == 1 { 0.0 } else { cosine * INV_PI };
            value += bright(sky_light(&lights, direction, pdf, true)) * PI;
        }
        sum += value;
        squares += value * value;
    }
    let count = f64::from(COUNT);
    let mean = sum / count;
    (mean, ((squares / count - mean * mean) / count).sqrt())
}

#[test]
fn light_sampling_bsdf_sampling_and_both_give_one_irradiance() {
    let picture = file("tests/skies/window.hdr");
    let mut random = Random::new(12);
    for lights in [
        format!("Environment(file: {picture:?}, rotate_y: 100)"),
        "Directional(direction: (-1, -2, 0.5), irradiance: (1, 2, 3), angle: 40)".to_owned(),
        format!(
            "Environment(file: {picture:?}, scale: 0.1),
             Directional(direction: (1, -2, 0), irradiance: (1, 1, 1), angle: 20),
             Directional(direction: (-1, -2, 0), irradiance: (2, 1, 1), angle: 30)"
        ),
    ] {
        let scene = scene(&format!(
            r#"(
                camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40),
                lights: [{lights}],
                materials: {{ "m": Diffuse(albedo: (0, 0, 0)) }},
                objects: [Sphere(center: (0, 0, -50), radius: 1, material: "m")],
            )"#
        ));
        let render_scene = RenderScene::new(&scene).unwrap();
        for normal in [Vec3::Y, Vec3::new(0.6, 0.8, 0.0), Vec3::Z] {
            let estimates =
                [0, 1, 2].map(|strategy| irradiance(&render_scene, normal, strategy, &mut random));
            println!("{normal}: {estimates:.4?}");
            for (mean, error) in estimates {
                let z = (mean - estimates[2].0) / error.hypot(estimates[2].1).max(1e-9 * mean);
                assert!(z.abs() < 4.5, "{lights}, {normal}: {estimates:?}");
            }
            // The combination is at most slightly noisier than the better strategy.
            assert!(
                estimates[2].1 < 2.0 * estimates[0].1.min(estimates[1].1),
                "{normal}: {estimates:?}"
            );
        }
    }
}
