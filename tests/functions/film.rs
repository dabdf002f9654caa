//! Tests of the film's fixed-point sums.

use std::thread;

use glam::Vec3;
use raysieve::film::{
    Film, SAMPLE_LIMIT, SCALE, film_hash, fixed_point, is_valid_sample, mean, rounded_sample,
    rounding_bits, samples_of,
};

use crate::common::Random;

#[test]
fn samples_in_any_order_give_the_same_film() {
    let mut random = Random::new(7);
    let mut samples: Vec<(u32, u32, Vec3)> = (0..5000)
        .map(|index| {
            (
                index % 6,
                index / 6,
                Vec3::new(random.unit(), 1e-9 * random.unit(), 1e6 * random.unit()),
            )
        })
        .collect();
    let sums = |samples: &[(u32, u32, Vec3)]| {
        let film = Film::new(6).unwrap();
        samples
            .iter()
            .for_each(|&(pixel, number, sample)| film.add_sample(pixel, number, sample));
        film.film_sums().unwrap().sums
    };
    let in_order = sums(&samples);
    samples.reverse();
    assert_eq!(sums(&samples), in_order);
    samples.sort_by(|a, b| a.2.x.total_cmp(&b.2.x));
    assert_eq!(sums(&samples), in_order);
}

#[test]
fn threads_add_the_same_sums_as_one() {
    // Neighbouring pixels on both sides of a boundary between two locks, and few of them, so that threads meet.
    let pixel_count = 2 * 16_384;
    let mut random = Random::new(8);
    let samples: Vec<(u32, u32, Vec3)> = (0..200_000)
        .map(|number| {
            let pixel = 16_384 - 4 + random.word() as u32 % 8;
            (
                pixel,
                number,
                Vec3::new(random.unit(), random.unit(), random.unit()),
            )
        })
        .collect();
    let alone = Film::new(pixel_count).unwrap();
    alone.add_samples(samples.iter().copied());
    let shared = Film::new(pixel_count).unwrap();
    thread::scope(|scope| {
        for part in samples.chunks(samples.len() / 8) {
            scope.spawn(|| shared.add_samples(part.iter().copied()));
        }
    });
    assert_eq!(shared.film_sums().unwrap(), alone.film_sums().unwrap());
}

#[test]
fn invalid_samples_are_counted_and_not_added() {
    let film = Film::new(2).unwrap();
    film.add_sample(1, 0, Vec3::new(0.5, 0.25, 0.0));
    let wrong = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -1e-30,
        SAMPLE_LIMIT,
    ];
    for value in wrong {
        for place in 0..3 {
            let mut sample = Vec3::ONE;
            sample[place] = value;
            assert!(!is_valid_sample(sample), "{sample}");
            film.add_sample(0, 0, sample);
        }
    }
    let film_sums = film.film_sums().unwrap();
    assert_eq!(film_sums.rejected, 3 * wrong.len() as u64);
    assert_eq!(film_sums.sums, [0, 0, 0, 1 << 31, 1 << 30, 0]);
}

#[test]
fn the_mean_of_equal_samples_is_the_sample() {
    let mut random = Random::new(8);
    for samples in [1, 2, 3, 7, 64, 1000] {
        for _ in 0..1000 {
            // A number with 24 significant bits above 2^-32, which the film stores exactly.
            let value = (0.01 + random.unit()) * 10_000.0;
            assert_eq!(
                mean(fixed_point(value) * u64::from(samples), samples),
                value
            );
        }
    }
    assert_eq!(mean(0, 0), 0.0);
    assert_eq!(fixed_point(1.0), 1 << 32);
    assert_eq!(fixed_point(1.9 / SCALE), 1);
    assert_eq!(fixed_point(0.9 / SCALE), 0);
}

#[test]
fn light_below_one_unit_is_not_lost() {
    const SAMPLES: u32 = 4096;
    for units in [0.001, 0.01, 0.1, 0.5, 0.999, 1.25, 42.9, 1e5 + 0.125] {
        for pixel in [0, 1, 77, 1 << 20] {
            let film = Film::new(pixel + 1).unwrap();
            for number in 0..SAMPLES {
                film.add_sample(pixel, number, Vec3::splat(units / SCALE));
            }
            let sum = film.film_sums().unwrap().sums[3 * pixel as usize] as f64;
            let expected = f64::from(units) * f64::from(SAMPLES);
            // Multiples of the golden ratio: the errors of all samples add up to a few units.
            assert!((sum - expected).abs() < 6.0, "{units} units: {sum}");
        }
    }
    // Whole units are never rounded, and values with 24 significant bits above 2^-32 have no fraction.
    for value in [0.0, 1.0 / SCALE, 0.5, 1.0, 12_345.678] {
        for number in 0..100 {
            let rounded = rounded_sample(value, rounding_bits(3, number));
            assert_eq!(rounded, fixed_point(value), "{value}");
        }
    }
}

#[test]
fn samples_are_assigned_pixel_by_pixel() {
    for pixel_count in [1, 2, 7, 100] {
        for done in [0, 1, 6, 7, 8, 99, 100, 1234, u64::from(u32::MAX) * 50] {
            let each: Vec<u64> = (0..pixel_count)
                .map(|pixel| u64::from(samples_of(pixel, pixel_count, done)))
                .collect();
            if done / u64::from(pixel_count) < u64::from(u32::MAX) {
                assert_eq!(each.iter().sum::<u64>(), done, "{pixel_count} pixels");
            }
            assert!(
                each.windows(2)
                    .all(|pair| pair[0] == pair[1] || pair[0] == pair[1] + 1),
                "{each:?}"
            );
        }
    }
}

#[test]
fn the_hash_depends_on_every_sum_and_on_the_size() {
    let sums: Vec<u64> = (0..36).collect();
    let mut hashes = vec![
        film_hash(4, 3, &sums),
        film_hash(3, 4, &sums),
        film_hash(12, 1, &sums),
    ];
    for place in [0, 17, 35] {
        let mut other = sums.clone();
        other[place] ^= 1 << 63;
        hashes.push(film_hash(4, 3, &other));
    }
    assert!(
        hashes
            .iter()
            .all(|hash| hash.len() == 32 && hash.chars().all(|digit| digit.is_ascii_hexdigit()))
    );
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 6);
}
