//! Tests of the `f32` functions of `math` against `f64`.

use std::{f32::consts::FRAC_PI_4, ops::Range};

use glam::Vec3;
use rayon::prelude::*;
use raysieve::math::{
    cos_small, dot, half_power, local_to_world, log_base_2, normalize, power_of_2, sin_cos_turns,
    sin_small, square_to_disk, truncated,
};

use crate::common::Random;

/// Largest error of sine and cosine that `math` documents, in units in the last place.
const UNITS: f64 = 1.13;

/// Returns sin(x)/x (`first` = 2) or cos(x) (`first` = 1) for |x| ≤ π/4, given x², by its series to 2⁻⁵².
#[inline]
fn series(square: f64, first: u32) -> f64 {
    let divisors = (0..8).rev().map(|term| first + 2 * term);
    divisors.fold(1.0, |sum, n| {
        1.0 - square * (1.0 / f64::from(n * (n + 1))) * sum
    })
}

/// Returns the error of `got` in units in the last place of an `f32` of the magnitude of `exact`.
#[inline]
fn units(got: f32, exact: f64) -> f64 {
    let exponent = (exact.to_bits() >> 52).max(1023 - 126);
    let units_of_one = f64::from_bits((2 * 1023 + 23 - exponent) << 52);
    (f64::from(got) - exact).abs() * units_of_one
}

/// Returns the largest errors of sine and cosine over every `stride`-th of the angles with these bits, none negative.
fn worst(bits: Range<u32>, stride: u32) -> [f64; 2] {
    // Several chains at once hide the latency of the operations.
    const LANES: usize = 16;
    let mut worst = [[0.0_f64; 2]; LANES];
    for first in bits.clone().step_by(LANES * stride as usize) {
        for (lane, worst) in (0..).zip(&mut worst) {
            let x = f32::from_bits((first + lane * stride).min(bits.end - 1));
            let (exact, square) = (f64::from(x), f64::from(x) * f64::from(x));
            let off = [
                units(sin_small(x), exact * series(square, 2)),
                units(cos_small(x), series(square, 1)),
            ];
            for (worst, off) in worst.iter_mut().zip(off) {
                // The comparison is written so that a NaN counts as an error.
                *worst = if off <= *worst { *worst } else { off };
            }
        }
    }
    let larger = |a: [f64; 2], b: [f64; 2]| [a[0].max(b[0]), a[1].max(b[1])];
    worst.into_iter().fold([0.0; 2], larger)
}

/// Covers each angle from 2⁻¹² on, 97,062,876 of them, and every 64th below. The sine of those is the angle itself, and
/// the cosine is 1, because all other terms are smaller than half a unit.
#[test]
fn sine_and_cosine_of_angles_are_within_the_stated_error() {
    const PART: u32 = 1 << 20;
    let (start, end) = ((2.0_f32).powi(-12).to_bits(), FRAC_PI_4.to_bits() + 1);
    let parts = (start..end).into_par_iter().step_by(PART as usize);
    let larger = |a: [f64; 2], b: [f64; 2]| [a[0].max(b[0]), a[1].max(b[1])];
    let [sine, cosine] = parts
        .map(|first| worst(first..end.min(first + PART), 1))
        .chain([worst(0..start, 64)])
        .reduce(|| [0.0; 2], larger);
    assert!(
        (1.0..UNITS).contains(&sine) && (1.0..UNITS).contains(&cosine),
        "sine {sine}, cosine {cosine} units off"
    );
}

/// Checks the reference series, and that negative angles mirror positive ones.
#[test]
fn sine_and_cosine_are_symmetric_and_the_series_are_accurate() {
    for step in 0..=200_000 {
        let x = FRAC_PI_4 * (step as f32 / 200_000.0);
        let (exact, square) = (f64::from(x), f64::from(x) * f64::from(x));
        assert!(
            (exact * series(square, 2) - exact.sin()).abs() <= 3e-16 * exact,
            "{x}"
        );
        assert!((series(square, 1) - exact.cos()).abs() <= 3e-16, "{x}");
        assert_eq!(sin_small(-x).to_bits(), (-sin_small(x)).to_bits());
        assert_eq!(cos_small(-x).to_bits(), cos_small(x).to_bits());
    }
    assert_eq!((sin_small(0.0), cos_small(0.0)), (0.0, 1.0));
}

/// Covers every fraction of a turn that the sampler can produce, and numbers around the quarter turns.
#[test]
fn sine_and_cosine_of_turns_are_within_the_stated_error() {
    let drawn = (0..=1 << 22).map(|step| step as f32 / (1 << 22) as f32);
    let quarters = [0.0_f32, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0];
    let near = quarters.into_iter().flat_map(|quarter| {
        let bits = quarter.to_bits();
        (bits.saturating_sub(2000)..bits + 2000).map(f32::from_bits)
    });
    let (mut sine, mut cosine) = (0.0_f64, 0.0_f64);
    for turns in drawn.chain(near).filter(|&turns| turns <= 1.0) {
        // Subtracting quarter turns is exact here as well.
        let quarters = 4.0 * f64::from(turns);
        let rest = (quarters - quarters.round()) * std::f64::consts::FRAC_PI_2;
        let (sin, cos) = rest.sin_cos();
        let exact = match quarters.round() as u32 % 4 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        };
        let got = sin_cos_turns(turns);
        sine = sine.max(units(got.0.abs(), exact.0.abs()));
        cosine = cosine.max(units(got.1.abs(), exact.1.abs()));
        assert!(f64::from(got.0) * exact.0 >= 0.0 && f64::from(got.1) * exact.1 >= 0.0);
    }
    assert!(
        (2.0..2.5).contains(&sine) && (2.0..2.5).contains(&cosine),
        "sine {sine}, cosine {cosine} units off"
    );
    assert_eq!(sin_cos_turns(f32::NAN), (0.0, 1.0));
}

#[test]
fn the_square_maps_uniformly_to_the_disk() {
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
    let mut random = Random::new(3);
    let axes = [Vec3::X, Vec3::Y, Vec3::Z]
        .into_iter()
        .flat_map(|axis| [axis, -axis]);
    let drawn = (0..10_000).map(|_| Vec3::new(random.signed(), random.signed(), random.signed()));
    for normal in axes.chain(drawn) {
        let normal = normalize(normal);
        let [x, y, z] = [Vec3::X, Vec3::Y, Vec3::Z].map(|local| local_to_world(normal, local));
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
fn truncation_is_the_conversion_of_rust() {
    // All numbers up to 2²⁵ with 12 of the bits of their mantissas, those beside them, and what does not fit.
    let steps = (0..=(151 << 23)).step_by(1 << 11);
    let near = |bits: u32| [bits.wrapping_sub(1), bits, bits + 1];
    for value in steps.flat_map(near).map(f32::from_bits) {
        if value < 33_554_432.0 {
            assert_eq!(truncated(value), value as u32, "{value}");
            assert_eq!(truncated(-value), 0, "{value}");
        }
    }
    for value in [f32::NAN, 33_554_432.0, f32::INFINITY, -f32::INFINITY] {
        assert_eq!(truncated(value), 0, "{value}");
    }
}

#[test]
fn half_precision_conversion_is_within_the_stated_error() {
    let mut random = Random::new(4);
    let mut worst = 0.0_f64;
    for _ in 0..2_000_000 {
        let x = random.unit() * if random.unit() < 0.5 { 2.0 } else { 120.0 };
        let exact = (-f64::from(x)).exp2();
        worst = worst.max(units(half_power(x), exact));
    }
    println!("half_power: {worst} units in the last place");
    assert!(worst < 1.5, "{worst}");
    for power in 0..126 {
        let power = power as f32;
        assert_eq!(f64::from(half_power(power)), (-f64::from(power)).exp2());
    }
    for (x, expected) in [
        (-1.0, 1.0),
        (-f32::INFINITY, 1.0),
        (126.0, 0.0),
        (f32::INFINITY, 0.0),
        (f32::NAN, 0.0),
    ] {
        assert_eq!(half_power(x), expected, "{x}");
    }
}

#[test]
fn logarithms_and_powers_of_2_are_within_the_stated_error() {
    let mut random = Random::new(5);
    let (mut worst_power, mut worst_logarithm) = (0.0_f64, 0.0_f64);
    for _ in 0..1_000_000 {
        let x = random.signed() * 125.0;
        worst_power = worst_power.max(units(power_of_2(x), f64::from(x).exp2()));
        let x = random.unit().max(1e-7) * 2_f32.powf(random.signed() * 100.0);
        let exact = f64::from(x).log2();
        let error = (f64::from(log_base_2(x)) - exact).abs() - 2e-7;
        worst_logarithm = worst_logarithm.max(error / exact.abs() * f64::from(1 << 24));
    }
    println!("power_of_2: {worst_power}, log_base_2: {worst_logarithm} units in the last place");
    assert!(worst_power < 2.5, "{worst_power}");
    assert!(worst_logarithm < 1.5, "{worst_logarithm}");
    for exponent in -125..=125 {
        let power = 2_f32.powi(exponent);
        assert_eq!(log_base_2(power), exponent as f32);
        assert_eq!(power_of_2(exponent as f32), power);
    }
    assert_eq!(power_of_2(-126.0), 0.0);
    assert_eq!(power_of_2(126.0), f32::INFINITY);
    for x in [0.0, -1.0, f32::NAN] {
        assert_eq!(log_base_2(x), -126.0, "{x}");
    }
}
