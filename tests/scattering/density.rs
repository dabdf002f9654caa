//! Sampled directions follow their claimed density: Pearson's χ² test over equal parts of the sphere.

use glam::Vec3;
use rayon::prelude::*;
use raysieve::scene::{Masking, Surface};

use crate::{Seen, Shelf, common::Random, glass, gold, metal, rough};

/// Numbers of bins of equal area on the sphere, along an axis and around it.
const BINS: (usize, usize) = (20, 24);
/// Numbers of quadrature steps per bin, along the axis and around it: a finer one is used while the integral differs
/// from that of the one before by more than [`MAX_QUADRATURE_ERROR`].
const STEPS: [usize; 3] = [8, 16, 32];
/// Largest accepted difference of a bin's integral between two numbers of quadrature steps, in samples.
const MAX_QUADRATURE_ERROR: f64 = 0.1;
/// Number of sampled directions per test.
const SAMPLES: u32 = 1 << 17;
/// Largest accepted error of the energy that a table says is lost. Coated glass from inside has 2e-3.
const MAX_TABLE_ERROR: f64 = 3e-3;
/// Smallest expected number of samples of a bin of its own; bins that expect fewer are merged.
const MIN_EXPECTED: f64 = 8.0;
/// Largest accepted deviation of a statistic in standard deviations. Of about 200 statistics here, correct ones exceed
/// it with a probability of 3 in a million each.
const MAX_DEVIATION: f64 = 4.5;

/// Cosines of the angles of incidence: near the normal, oblique, and grazing.
const COSINES: [f32; 3] = [0.999, 0.55, 0.12];

#[test]
fn sampled_directions_follow_their_density() {
    let shelf = Shelf::get();
    let wrong: Vec<String> = shelf
        .items
        .par_iter()
        .flat_map_iter(|item| {
            let sides = sides(&item.surface).iter();
            let views = sides.flat_map(|&front| COSINES.map(|cosine| (cosine, front)));
            views.filter_map(|(cosine, front)| {
                let seen = shelf.under(item, cosine, front);
                let off = deviation(&seen, &seen);
                let case = format!("{}, cosine {cosine}, front {front}: {off}", item.name);
                (off.is_nan() || off > MAX_DEVIATION).then_some(case)
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The statistic is sensitive: it detects the density of a slightly rougher material.
#[test]
fn the_density_of_a_slightly_rougher_material_is_rejected() {
    let surfaces = [0.3, 0.32]
        .map(|alpha| rough(alpha, Masking::HeightCorrelated, true))
        .into_iter()
        .flat_map(|roughness| [metal(gold(), roughness), glass(1.5, roughness)])
        .map(|surface| (String::new(), surface));
    let shelf = Shelf::new(surfaces.collect());
    let [metal, glass, other_metal, other_glass] =
        [0, 1, 2, 3].map(|item: usize| &shelf.items[item]);
    for (right, wrong) in [(metal, other_metal), (glass, other_glass)] {
        for cosine in COSINES {
            let [right, wrong] = [right, wrong].map(|item| shelf.under(item, cosine, true));
            let off = deviation(&right, &wrong);
            assert!(off > MAX_DEVIATION, "cosine {cosine}: {off}");
        }
    }
}

/// A sample's weight is the BSDF value times the cosine, divided by the density.
#[test]
fn weights_are_values_over_densities() {
    let shelf = Shelf::get();
    for item in &shelf.items {
        let name = &item.name;
        let mut random = Random::new(8);
        for cosine in COSINES {
            for &front in sides(&item.surface) {
                let seen = shelf.under(item, cosine, front);
                for _ in 0..2000 {
                    let sample = seen.sample(random.unit(), random.unit(), random.unit());
                    let value = seen.value(sample.direction);
                    if sample.weight == Vec3::ZERO {
                        continue;
                    }
                    let case = format!("{name}, {cosine}: {sample:?} {value:?}");
                    assert!((sample.direction.length() - 1.0).abs() < 1e-5, "{case}");
                    assert!(
                        seen.normal.dot(sample.direction) * sample.side > 0.0,
                        "{case}"
                    );
                    let (pdf, other) = (f64::from(sample.pdf), f64::from(value.pdf));
                    assert!((pdf - other).abs() <= 1e-5 * pdf, "{case}");
                    let expected = value.color * (value.scale / value.pdf);
                    assert!(
                        (sample.weight - expected).length() <= 1e-5 * expected.length(),
                        "{case}"
                    );
                }
            }
        }
    }
}

/// Returns the sides to test; `true` is the front. Materials whose back scatters like their front are tested from there
/// only.
fn sides(surface: &Surface) -> &'static [bool] {
    match surface {
        Surface::Diffuse { .. }
        | Surface::RoughConductor { .. }
        | Surface::CoatedDiffuse { .. }
        | Surface::Emissive { .. } => &[true],
        _ => &[true, false],
    }
}

/// Returns the deviation of samples of `drawn` from the density of `said`, in standard deviations.
///
/// The χ² statistic is transformed to an approximately normal one (Wilson & Hilferty, The Distribution of Chi-Square,
/// 1931).
fn deviation(drawn: &Seen, said: &Seen) -> f64 {
    let mut counts = vec![0.0_f64; BINS.0 * BINS.1 + 1];
    let mut random = Random::new(77);
    for _ in 0..SAMPLES {
        let sample = drawn.sample(random.unit(), random.unit(), random.unit());
        let bin = if sample.weight == Vec3::ZERO {
            BINS.0 * BINS.1
        } else {
            bin(drawn, sample.direction)
        };
        counts[bin] += 1.0;
    }
    let mut expected: Vec<f64> = (0..BINS.0 * BINS.1)
        .map(|bin| f64::from(SAMPLES) * mass(said, bin))
        .collect();
    // The remaining samples are absorbed at the surface. Energy tables do not know their number exactly.
    let rest = f64::from(SAMPLES) - expected.iter().sum::<f64>();
    let absorbed = counts.last().copied().unwrap_or(0.0);
    let unknown = f64::from(SAMPLES) * MAX_TABLE_ERROR;
    expected.push(absorbed.clamp(rest - unknown, rest + unknown).max(0.0));
    let (mut statistic, mut terms) = (0.0, 0.0);
    let (mut few, mut few_expected) = (0.0, 0.0);
    for (count, expected) in counts.into_iter().zip(expected) {
        if expected < MIN_EXPECTED {
            few += count;
            few_expected += expected;
        } else {
            statistic += (count - expected) * (count - expected) / expected;
            terms += 1.0;
        }
    }
    // Quadrature may leave a small remainder in bins without density.
    let few_expected: f64 = few_expected.max(1.0);
    statistic += (few - few_expected).max(0.0).powi(2) / few_expected;
    let spread = 2.0 / (9.0 * terms);
    ((statistic / terms).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Returns the axes of the bins: the poles lie across the normal, away from narrow lobes around it.
fn frame(seen: &Seen) -> [Vec3; 3] {
    let across = seen.normal.cross(Vec3::X).normalize();
    [across, seen.normal.cross(across), seen.normal]
}

fn bin(seen: &Seen, direction: Vec3) -> usize {
    let [axis, x, y] = frame(seen);
    let height = f64::from(axis.dot(direction)).clamp(-1.0, 1.0);
    let angle = f64::from(y.dot(direction)).atan2(f64::from(x.dot(direction)));
    let along = ((height + 1.0) / 2.0 * BINS.0 as f64) as usize;
    let around = ((angle / std::f64::consts::TAU + 0.5) * BINS.1 as f64) as usize;
    along.min(BINS.0 - 1) * BINS.1 + around.min(BINS.1 - 1)
}

/// Returns the integral of the density over a bin.
fn mass(seen: &Seen, bin: usize) -> f64 {
    let mut mass = f64::INFINITY;
    for steps in STEPS {
        let finer = mass_of_steps(seen, bin, steps);
        let difference = f64::from(SAMPLES) * (finer - mass).abs();
        mass = finer;
        if difference <= MAX_QUADRATURE_ERROR {
            break;
        }
    }
    mass
}

/// Returns the integral of the density over a bin by a midpoint rule with this number of steps per dimension.
fn mass_of_steps(seen: &Seen, bin: usize, steps: usize) -> f64 {
    let frame = frame(seen).map(Vec3::as_dvec3);
    let (along, around) = ((bin / BINS.1) as f64, (bin % BINS.1) as f64);
    let mut sum = 0.0;
    for i in 0..steps {
        for j in 0..steps {
            let inside = |step: usize| (step as f64 + 0.5) / steps as f64;
            let height = (along + inside(i)) / BINS.0 as f64 * 2.0 - 1.0;
            let angle = ((around + inside(j)) / BINS.1 as f64 - 0.5) * std::f64::consts::TAU;
            let radius = (1.0 - height * height).sqrt();
            let direction =
                frame[0] * height + (frame[1] * angle.cos() + frame[2] * angle.sin()) * radius;
            sum += f64::from(seen.value(direction.as_vec3().normalize()).pdf);
        }
    }
    let area = 4.0 * std::f64::consts::PI / (BINS.0 * BINS.1) as f64;
    sum / (steps * steps) as f64 * area
}
