//! Tests of the Owen-scrambled Sobol sampler.

use std::collections::HashSet;

use raysieve::sampler::{PAIR_BSDF, PAIR_CHOICE, PAIR_FILM, PAIR_LIGHT, pair, sampler};

use crate::common::Random;

#[test]
fn numbers_are_multiples_of_the_step_and_below_one() {
    let mut random = Random::new(1);
    for _ in 0..100_000 {
        let word = random.word();
        let at = sampler(word as u32, (word >> 32) as u32, random.word() as u32);
        let (x, y) = pair(at, random.word() as u32 % 1025, random.word() as u32 % 4);
        for value in [x, y] {
            assert!((0.0..1.0).contains(&value), "{value}");
            assert_eq!((value * 16_777_216.0).fract(), 0.0, "{value}");
        }
    }
}

/// Checks that the points form a (0, 2)-sequence in base 2.
///
/// Every aligned block of 2^k samples has one point in each box of area 2^-k whose sides are powers of two.
#[test]
fn every_block_of_samples_is_a_net() {
    for (pixel, bounce, number) in [
        (0, 0, PAIR_FILM),
        (77, 3, PAIR_LIGHT),
        (123_456, 1024, PAIR_CHOICE),
    ] {
        for log_count in 0..=10_u32 {
            let count = 1_u32 << log_count;
            // The first samples, some in the middle, and the last that exist.
            for first in [0, 5 << 20, 0_u32.wrapping_sub(count)] {
                let points: Vec<(f32, f32)> = (first..=first + (count - 1))
                    .map(|sample| pair(sampler(9, pixel, sample), bounce, number))
                    .collect();
                for columns in (0..=log_count).map(|log_columns| 1_u32 << log_columns) {
                    let rows = count / columns;
                    let boxes: HashSet<(u32, u32)> = points
                        .iter()
                        .map(|&(x, y)| ((x * columns as f32) as u32, (y * rows as f32) as u32))
                        .collect();
                    assert_eq!(
                        boxes.len(),
                        count as usize,
                        "{columns} by {rows} from sample {first} on"
                    );
                }
            }
        }
    }
}

#[test]
fn samples_differ_up_to_the_largest_sample_number() {
    let mut random = Random::new(2);
    let edges = [
        0,
        1,
        1 << 16,
        1 << 24,
        (1 << 24) + 1,
        1 << 31,
        u32::MAX - 1,
        u32::MAX,
    ];
    let samples: HashSet<u32> = edges
        .into_iter()
        .chain((0..50_000).map(|_| random.word() as u32))
        .collect();
    let points: HashSet<(u32, u32)> = samples
        .iter()
        .map(|&sample| pair(sampler(0, 0, sample), 0, PAIR_FILM))
        .map(|(x, y)| (x.to_bits(), y.to_bits()))
        .collect();
    assert_eq!(points.len(), samples.len());
}

/// Checks that numbers that differ in pixel, seed, bounce or dimension pair are as independent as random ones.
#[test]
fn numbers_that_differ_in_one_argument_are_independent() {
    const COUNT: u32 = 1 << 14;
    type Draw = fn(u32) -> (f32, f32);
    let draws: [(&str, Draw, Draw); 6] = [
        (
            "adjacent pixels",
            |i| at(0, i, 0, 0, PAIR_FILM),
            |i| at(0, i + 1, 0, 0, PAIR_FILM),
        ),
        (
            "adjacent rows",
            |i| at(0, i, 0, 0, PAIR_FILM),
            |i| at(0, i + 512, 0, 0, PAIR_FILM),
        ),
        (
            "seeds",
            |i| at(0, i, 0, 0, PAIR_FILM),
            |i| at(1, i, 0, 0, PAIR_FILM),
        ),
        (
            "bounces",
            |i| at(0, i, 0, 0, PAIR_BSDF),
            |i| at(0, i, 0, 1, PAIR_BSDF),
        ),
        (
            "pairs",
            |i| at(0, i, 0, 0, PAIR_LIGHT),
            |i| at(0, i, 0, 0, PAIR_BSDF),
        ),
        (
            "pairs of one pixel",
            |i| at(0, 5, i, 0, PAIR_LIGHT),
            |i| at(0, 5, i, 0, PAIR_BSDF),
        ),
    ];
    for (name, one, other) in draws {
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let coordinate =
                |(x, y): (f32, f32), which| f64::from(if which == 0 { x } else { y }) - 0.5;
            let sum: f64 = (0..COUNT)
                .map(|i| coordinate(one(i), first) * coordinate(other(i), second))
                .sum();
            let correlation = 12.0 * sum / f64::from(COUNT);
            assert!(
                correlation.abs() < 4.5 / f64::from(COUNT).sqrt(),
                "{name}: {correlation}"
            );
        }
    }
}

#[test]
fn the_first_samples_of_all_pixels_are_uniform() {
    const CELLS: usize = 16;
    const COUNT: u32 = 1 << 16;
    let mut counts = [0_u32; CELLS * CELLS];
    for pixel in 0..COUNT {
        let (x, y) = at(3, pixel, 0, 0, PAIR_FILM);
        counts[(x * CELLS as f32) as usize * CELLS + (y * CELLS as f32) as usize] += 1;
    }
    let expected = f64::from(COUNT) / counts.len() as f64;
    let chi2: f64 = counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2) / expected)
        .sum();
    // With 255 degrees of freedom, χ² is 255 with a standard deviation of 22.6.
    assert!((140.0..370.0).contains(&chi2), "{chi2}");
}

/// Returns the two numbers of a dimension pair.
fn at(seed: u32, pixel: u32, sample: u32, bounce: u32, number: u32) -> (f32, f32) {
    pair(sampler(seed, pixel, sample), bounce, number)
}
