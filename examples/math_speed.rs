//! Compares the speed of the renderer's `sin_small` and `cos_small` with the standard library: `cargo run --release
//! --example math_speed`.

use std::{f32::consts::FRAC_PI_4, hint::black_box, time::Instant};

use raysieve::math::{cos_small, sin_small};

/// Number of angles per run; they fit in the first-level cache.
const ANGLES: usize = 2048;
/// Number of runs per measurement.
const RUNS: usize = 500;
/// Number of pairs of measurements, alternating between the two functions.
const PAIRS: usize = 51;

fn main() {
    println!("nanoseconds per call, medians of {PAIRS}: raysieve, standard library, ratio");
    compare(
        "sine, serial",
        |angles| chain(angles, sin_small),
        |angles| chain(angles, f32::sin),
    );
    compare(
        "cosine, serial",
        |angles| chain(angles, cos_small),
        |angles| chain(angles, f32::cos),
    );
    compare(
        "sine, independent",
        |angles| sum(angles, sin_small),
        |angles| sum(angles, f32::sin),
    );
    compare(
        "cosine, independent",
        |angles| sum(angles, cos_small),
        |angles| sum(angles, f32::cos),
    );
}

/// Prints the medians of both functions and of their ratio.
fn compare(name: &str, ours: impl Fn(&[f32]) -> f32, theirs: impl Fn(&[f32]) -> f32) {
    let angle = |index: usize| FRAC_PI_4 * ((index * 977 % ANGLES) as f32 / 1024.0 - 1.0);
    let angles: Vec<f32> = (0..ANGLES).map(angle).collect();
    let pairs = (0..PAIRS).map(|_| [nanoseconds(&angles, &ours), nanoseconds(&angles, &theirs)]);
    let pairs: Vec<[f64; 2]> = pairs.collect();
    let median = |of: &dyn Fn(&[f64; 2]) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[PAIRS / 2]
    };
    println!(
        "{name:28} {:6.2} {:6.2} {:6.2}",
        median(&|pair| pair[0]),
        median(&|pair| pair[1]),
        median(&|pair| pair[0] / pair[1])
    );
}

/// Returns the time per angle in nanoseconds.
fn nanoseconds(angles: &[f32], work: &impl Fn(&[f32]) -> f32) -> f64 {
    let start = Instant::now();
    for _ in 0..RUNS {
        black_box(work(black_box(angles)));
    }
    start.elapsed().as_secs_f64() * 1e9 / (RUNS * ANGLES) as f64
}

/// Calls the function serially: each angle depends on the previous result, without being changed by it.
fn chain<F: Fn(f32) -> f32>(angles: &[f32], function: F) -> f32 {
    let step = |last: f32, &angle: &f32| function(angle + 0.0 * last);
    angles.iter().fold(0.0, step)
}

/// Calls the function on independent angles.
fn sum<F: Fn(f32) -> f32>(angles: &[f32], function: F) -> f32 {
    let mut sums = [0.0; 8];
    for angles in angles.chunks_exact(8) {
        for (sum, &angle) in sums.iter_mut().zip(angles) {
            *sum += function(angle);
        }
    }
    sums.iter().sum()
}
