//! Tests of scattering functions: sampling densities, Fresnel equations, refraction and the weights of strategies.

use glam::Vec3;
use raysieve::shading::material::{fresnel, power_heuristic, reflect, refract, sample_cosine};

use crate::common::Random;

/// Number of samples per test.
const COUNT: u32 = 1 << 18;

#[test]
fn cosine_samples_have_the_moments_of_their_density() {
    let normal = Vec3::new(0.36, -0.48, 0.8);
    let (mut first, mut second, mut sum) = (0.0, 0.0, glam::DVec3::ZERO);
    let mut random = Random::new(5);
    for _ in 0..COUNT {
        let (direction, cosine) = sample_cosine(normal, random.unit(), random.unit());
        assert!((direction.length() - 1.0).abs() < 1e-6 && cosine >= 0.0);
        assert!(
            (direction.dot(normal) - cosine).abs() < 1e-6,
            "{direction}: {cosine}"
        );
        first += f64::from(cosine);
        second += f64::from(cosine * cosine);
        sum += direction.as_dvec3();
    }
    let count = f64::from(COUNT);
    // The cosine has mean 2/3 and variance 1/18, its square 1/2 and 1/12; the tangential components have 0 and 1/4.
    assert!(
        (first / count - 2.0 / 3.0).abs() < 4.0 * (1.0 / 18.0 / count).sqrt(),
        "{}",
        first / count
    );
    assert!(
        (second / count - 0.5).abs() < 4.0 * (1.0 / 12.0 / count).sqrt(),
        "{}",
        second / count
    );
    let sideways = sum / count - normal.as_dvec3() * (first / count);
    assert!(sideways.length() < 4.0 * (0.5 / count).sqrt(), "{sideways}");
}

#[test]
fn fresnel_has_its_known_values() {
    // At normal incidence: ((n - 1) / (n + 1))², from both sides.
    for eta in [1.5_f32, 1.0 / 1.5] {
        let (reflected, cos_out) = fresnel(1.0, eta);
        assert!(
            (reflected - 0.04).abs() < 1e-6 && (cos_out - 1.0).abs() < 1e-6,
            "{reflected}"
        );
    }
    // At grazing incidence, and beyond the critical angle: everything.
    assert!((fresnel(1e-6, 1.0 / 1.5).0 - 1.0).abs() < 1e-4);
    let critical = (1.0_f32 - 1.0 / 2.25).sqrt();
    assert_eq!(fresnel(critical - 1e-3, 1.5), (1.0, 0.0));
    assert!(fresnel(critical + 1e-3, 1.5).0 < 1.0);
    // At Brewster's angle (tan = n): half of the perpendicular polarisation's ((n² - 1) / (n² + 1))².
    let brewster = 1.0 / (1.0_f32 + 2.25).sqrt();
    let across = (1.25_f32 / 3.25).powi(2) / 2.0;
    assert!((fresnel(brewster, 1.0 / 1.5).0 - across).abs() < 1e-6);
    // Without a boundary, nothing is reflected.
    assert!(fresnel(0.3, 1.0).0 < 1e-12);
}

#[test]
fn fresnel_reflectance_is_equal_in_both_directions() {
    for step in 20..=1000 {
        let cos_in = step as f32 / 1000.0;
        let (reflected, cos_out) = fresnel(cos_in, 1.0 / 1.5);
        let (back, cos_back) = fresnel(cos_out, 1.5);
        assert!(
            (reflected - back).abs() < 1e-4,
            "cosine {cos_in}: {reflected} and {back}"
        );
        assert!(
            (cos_back - cos_in).abs() < 1e-4,
            "cosine {cos_in}: {cos_back}"
        );
    }
}

#[test]
fn rays_reflect_and_refract_by_snells_law() {
    let mut random = Random::new(6);
    for _ in 0..10_000 {
        let normal = Vec3::new(random.signed(), random.signed(), random.signed()).normalize();
        let mut direction =
            Vec3::new(random.signed(), random.signed(), random.signed()).normalize();
        direction *= -direction.dot(normal).signum();
        let cos_in = -direction.dot(normal);
        let mirrored = reflect(direction, normal);
        assert!((mirrored.dot(normal) - cos_in).abs() < 1e-6);
        assert!((mirrored.cross(normal) - direction.cross(normal)).length() < 1e-6);
        for eta in [1.0 / 1.5, 1.5, 1.0] {
            let (reflected, cos_out) = fresnel(cos_in, eta);
            if reflected == 1.0 {
                continue;
            }
            let bent = refract(direction, normal, eta, cos_in, cos_out);
            assert!((bent.length() - 1.0).abs() < 1e-6);
            assert!(
                (bent.cross(normal) - direction.cross(normal) * eta).length() < 1e-5,
                "{direction} by {eta}"
            );
            assert!(bent.dot(normal) <= 0.0);
        }
    }
}

#[test]
fn weights_of_two_strategies_sum_to_one() {
    for (drawn, other) in [
        (1.0, 1.0),
        (0.2, 7.0),
        (1e-30, 1e30),
        (1e30, 1e-30),
        (3.0, 0.0),
    ] {
        let sum = power_heuristic(drawn, other)
            + if other > 0.0 {
                power_heuristic(other, drawn)
            } else {
                0.0
            };
        assert!((sum - 1.0_f32).abs() < 1e-6, "{drawn} and {other}: {sum}");
    }
}
