//! Arithmetic against `f64`.

use std::f32::consts::FRAC_PI_4;

use glam::Vec3;
use raysieve::math::{
    cos_small, dot, normalize, offset_point, sin_small, square_to_disk, to_world,
};

use crate::common::Random;

#[test]
fn sine_and_cosine_are_right_to_the_last_bits() {
    let mut worst = (0.0_f64, 0.0_f64);
    for step in -200_000..=200_000 {
        let x = FRAC_PI_4 * (step as f32 / 200_000.0);
        let (sin, cos) = f64::from(x).sin_cos();
        worst.0 = worst
            .0
            .max((f64::from(sin_small(x)) - sin).abs() / sin.abs().max(1e-30));
        worst.1 = worst.1.max((f64::from(cos_small(x)) - cos).abs() / cos);
    }
    // A unit in the last place is 1.2e-7 at most.
    assert!(worst.0 < 1.5e-7 && worst.1 < 1.5e-7, "{worst:?}");
    assert_eq!((sin_small(0.0), cos_small(0.0)), (0.0, 1.0));
}

#[test]
fn the_square_covers_the_disk_evenly() {
    const SIDE: usize = 512;
    const RINGS: usize = 8;
    const SECTORS: usize = 16;
    let mut counts = [0_u32; RINGS * SECTORS];
    for index in 0..SIDE * SIDE {
        let (u, v) = ((index % SIDE) as f32 + 0.5, (index / SIDE) as f32 + 0.5);
        let (x, y) = square_to_disk(u / SIDE as f32, v / SIDE as f32);
        let radius2 = x * x + y * y;
        assert!(radius2 <= 1.0 + 1e-6, "{radius2}");
        let ring = ((radius2 * RINGS as f32) as usize).min(RINGS - 1);
        let turn = (y.atan2(x) / std::f32::consts::TAU + 1.0).fract();
        counts[ring * SECTORS + ((turn * SECTORS as f32) as usize).min(SECTORS - 1)] += 1;
    }
    let expected = (SIDE * SIDE) as f32 / counts.len() as f32;
    for count in counts {
        assert!(
            (count as f32 / expected - 1.0).abs() < 0.05,
            "{count} points, expected {expected}"
        );
    }
    assert_eq!(square_to_disk(0.5, 0.5), (0.0, 0.0));
}

#[test]
fn frames_are_orthonormal_about_any_normal() {
    let mut random = Random(3);
    let axes = [Vec3::X, Vec3::Y, Vec3::Z]
        .into_iter()
        .flat_map(|axis| [axis, -axis]);
    let drawn = (0..10_000).map(|_| Vec3::new(random.signed(), random.signed(), random.signed()));
    for normal in axes.chain(drawn) {
        let normal = normalize(normal);
        let [x, y, z] = [Vec3::X, Vec3::Y, Vec3::Z].map(|local| to_world(normal, local));
        assert!((z - normal).length() < 1e-6, "{normal}");
        let lengths = [dot(x, x), dot(y, y)].map(|length| (length - 1.0).abs() < 2e-6);
        assert!(lengths == [true; 2], "{normal}: {x} {y}");
        assert!(
            [dot(x, y), dot(x, z), dot(y, z)]
                .iter()
                .all(|cosine| cosine.abs() < 2e-6),
            "{normal}"
        );
        assert!((x.cross(y) - z).length() < 4e-6, "{normal}: left-handed");
    }
}

#[test]
fn an_offset_leads_to_the_normals_side_and_not_far() {
    let mut random = Random(4);
    for exponent in -6..=6 {
        let size = 10_f32.powi(exponent);
        for _ in 0..2000 {
            let normal = normalize(Vec3::new(random.signed(), random.signed(), random.signed()));
            let point = Vec3::new(random.signed(), random.signed(), random.signed()) * size;
            let moved =
                (offset_point(point, normal).as_dvec3() - point.as_dvec3()).dot(normal.as_dvec3());
            assert!(moved > 0.0, "{point} along {normal}: {moved}");
            assert!(
                moved < 2e-5 + 1e-4 * f64::from(size),
                "{point} along {normal}: {moved}"
            );
        }
    }
}
