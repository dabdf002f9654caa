//! The part of an energy table that describes rough facets below a clear coat or below sheen.
//!
//! Light passes a coat twice, and a coat of strength c at full strength 1 reflects the fraction R(o) of the light from
//! direction o. Facets below it should keep the fraction T(o) = 1 − c R(o) of what they scatter towards o. The
//! reciprocal factor for two directions is φ(o) φ(i), where φ(o) times the mean of φ over the facets' lobe around o is
//! T(o). Scaling a matrix to given sums of its rows finds φ (R. Sinkhorn & P. Knopp, Concerning nonnegative matrices
//! and doubly stochastic matrices, 1967). The table contains 1 − φ̄², where φ̄ is that mean, because this depends
//! little on c.

use rayon::prelude::*;

use super::{
    COAT_COSINES, COAT_MEANS, COAT_ROUGHNESSES, COATED_ROUGHNESSES,
    albedo::{Cap, Point, fresnel, glass, mirrors, shadowing},
    mean,
    sheen_table::albedo,
};

/// Number of cosines for which the factors are computed; the table contains every second one.
const FINE: usize = 2 * COAT_COSINES as usize - 1;
/// Number of steps that scale a matrix. The error of a sum of a row is then below 10⁻⁴.
const STEPS: u32 = 24;
/// Sum of a row below which the light does not matter, and its factor is 1.
const NOTHING: f64 = 1e-3;

/// Functions of the cosine, for each roughness of the coat.
type OfCoats = Vec<Vec<f64>>;

/// Light that facets scatter between directions, by cosine.
struct Scattered {
    /// Fraction of the light towards each direction that comes from around each other one, by rows.
    parts: Vec<f64>,
}

impl Scattered {
    fn none() -> Scattered {
        Scattered {
            parts: vec![0.0; FINE * FINE],
        }
    }

    /// Adds light towards a direction by its number, from one by its cosine.
    fn add(&mut self, to: usize, from: f64, part: f64) {
        let (lower, weight) = place(from);
        self.parts[to * FINE + lower] += part * (1.0 - weight);
        self.parts[to * FINE + lower + 1] += part * weight;
    }

    /// Returns the sum over all directions from which light comes, weighted by a function of them.
    fn sum(&self, to: usize, weights: impl Fn(usize) -> f64) -> f64 {
        let row = &self.parts[to * FINE..(to + 1) * FINE];
        let terms = row.iter().enumerate();
        terms.map(|(from, part)| part * weights(from)).sum()
    }

    /// Returns factors of directions, so that the light between two directions times both their factors adds up to
    /// `wanted` for each direction.
    fn factors(&self, wanted: &[f64]) -> Vec<f64> {
        let whole: Vec<f64> = (0..FINE).map(|to| self.sum(to, |_| 1.0)).collect();
        let first = |to: usize| {
            if whole[to] > NOTHING {
                (wanted[to] / whole[to]).sqrt()
            } else {
                1.0
            }
        };
        let mut factors: Vec<f64> = (0..FINE).map(first).collect();
        for _ in 0..STEPS {
            let next = |to: usize| {
                let scaled = self.sum(to, |from| factors[from]);
                if whole[to] > NOTHING && scaled > 0.0 {
                    (factors[to] * wanted[to] / scaled).sqrt()
                } else {
                    factors[to]
                }
            };
            factors = (0..FINE).map(next).collect();
        }
        factors
    }
}

/// Returns the cosine of a fine grid, which is even in √cosine.
fn cosine_of(number: usize) -> f64 {
    let root = number as f64 / (FINE - 1) as f64;
    (root * root).max(1e-5)
}

/// Returns the place of a cosine in the fine grid: the lower number and the weight of the upper one.
fn place(cosine: f64) -> (usize, f64) {
    let place = cosine.clamp(0.0, 1.0).sqrt() * (FINE - 1) as f64;
    let lower = (place as usize).min(FINE - 2);
    (lower, place - lower as f64)
}

/// Returns the roughness alpha of a row, of `count` rows.
fn alpha_of(row: u32, count: u32) -> f64 {
    let root = f64::from(row) / f64::from(count - 1);
    root * root
}

/// Returns the fraction of the light that coats of each roughness reflect, by cosine.
fn reflectances(correlated: bool, points: &[Point]) -> OfCoats {
    let of_coat = |row: u32| {
        let alpha = alpha_of(row, COAT_ROUGHNESSES);
        let reflectance = |number: usize| {
            let (lost, grazing) = mirrors(cosine_of(number), alpha, correlated, points);
            let lost = if alpha == 0.0 { 0.0 } else { lost };
            0.04 * (1.0 - lost - grazing) + grazing
        };
        (0..FINE).map(reflectance).collect()
    };
    (0..COAT_ROUGHNESSES).into_par_iter().map(of_coat).collect()
}

/// Appends the row of one coat to a table: every second value, then means.
fn push_row(row: &mut Vec<f32>, values: &[f64], means: [f64; COAT_MEANS as usize]) {
    let values = values.iter().step_by(2);
    row.extend(values.chain(&means).map(|&number| number as f32));
}

/// Computes the part of a table of perfect mirrors for coats.
pub(super) fn mirrors_below_coat(correlated: bool, points: &[Point]) -> Vec<f32> {
    mirrors_below(&reflectances(correlated, points), correlated, points)
}

/// Computes the part of the table of sheen: that of a table of perfect mirrors, with fibres in place of the coat.
pub(super) fn mirrors_below_sheen(points: &[Point]) -> Vec<f32> {
    let of_sheen = |row: u32| {
        let alpha = alpha_of(row, COAT_ROUGHNESSES);
        let reflectance = |number: usize| albedo(cosine_of(number), alpha).min(1.0);
        (0..FINE).map(reflectance).collect()
    };
    let fibres: OfCoats = (0..COAT_ROUGHNESSES)
        .into_par_iter()
        .map(of_sheen)
        .collect();
    mirrors_below(&fibres, true, points)
}

/// Computes 1 − φ̄² for perfect mirrors below layers. The means are those of the layer's reflectance times the weights
/// of F0 and of F90 in the albedo of the facets.
fn mirrors_below(coats: &OfCoats, correlated: bool, points: &[Point]) -> Vec<f32> {
    let rows = (0..COATED_ROUGHNESSES).into_par_iter().map(|row| {
        let alpha = alpha_of(row, COATED_ROUGHNESSES);
        let mut light = Scattered::none();
        let (mut lost, mut grazing) = (vec![0.0; FINE], vec![0.0; FINE]);
        for to in 0..FINE {
            let cosine = cosine_of(to);
            (lost[to], grazing[to]) = mirrors(cosine, alpha, correlated, points);
            let cap = Cap::new(cosine, alpha);
            for point in points {
                let facet = cap.facet(point);
                let from = facet.z * 2.0 * cap.eye.dot(facet) - cosine;
                light.add(
                    to,
                    from,
                    point.weight * shadowing(cosine, from, alpha, correlated),
                );
            }
        }
        if alpha == 0.0 {
            lost.fill(0.0);
        }
        add_lost(&mut light, &lost);
        let mut numbers = Vec::new();
        for coat in coats {
            let weighted = |weight: &dyn Fn(usize) -> f64| {
                let product: Vec<f64> = (0..FINE).map(|at| coat[at] * weight(at)).collect();
                mean(&product)
            };
            let means = [
                weighted(&|at| 1.0 - lost[at] - grazing[at]),
                weighted(&|at| grazing[at]),
            ];
            if alpha == 0.0 {
                push_row(&mut numbers, coat, means);
                continue;
            }
            let whole = |to: usize| light.sum(to, |_| 1.0);
            let wanted: Vec<f64> = (0..FINE).map(|to| (1.0 - coat[to]) * whole(to)).collect();
            let factors = light.factors(&wanted);
            let below = |to: usize| {
                let mean = light.sum(to, |from| factors[from]) / whole(to);
                1.0 - mean * mean
            };
            push_row(
                &mut numbers,
                &(0..FINE).map(below).collect::<Vec<_>>(),
                means,
            );
        }
        numbers
    });
    rows.collect::<Vec<_>>().concat()
}

/// Adds the light that scatters more than once, as the compensating lobe does.
fn add_lost(light: &mut Scattered, lost: &[f64]) {
    let whole = mean(lost);
    if whole <= 0.0 {
        return;
    }
    // The light of a direction in the mean over all directions: that of a function which is 1 there.
    for from in 0..FINE {
        let mut only = vec![0.0; FINE];
        only[from] = lost[from];
        let part = mean(&only) / whole;
        for (to, lost) in lost.iter().enumerate() {
            light.parts[to * FINE + from] += lost * part;
        }
    }
}

/// Computes the part of a table of glass: factors of directions inside for the light that a facet transmits and a coat
/// reflects back.
///
/// A coat over one facet reflects what it reflects at the angle at which light leaves this facet. Times the factors of two
/// directions, this is what the coat reflects of the light that facets transmit. The first mean is that of the coat's
/// reflectance over the lobe that restores the energy lost in front.
pub(super) fn glass_below_coat(ior: f64, correlated: bool, points: &[Point]) -> Vec<f32> {
    let coats = reflectances(correlated, points);
    let rows = (0..COATED_ROUGHNESSES).into_par_iter().map(|row| {
        let alpha = alpha_of(row, COATED_ROUGHNESSES);
        let mut light: Vec<Scattered> = coats.iter().map(|_| Scattered::none()).collect();
        // Light that leaves, by the number of the direction inside and by the cosine outside.
        let mut leaving = Scattered::none();
        for to in 0..FINE {
            let cosine = cosine_of(to);
            let cap = Cap::new(cosine, alpha);
            for point in points {
                let facet = cap.facet(point);
                let cos_in = cap.eye.dot(facet);
                let (reflected, cos_out) = fresnel(cos_in, ior);
                let up = facet.z * 2.0 * cos_in - cosine;
                let down = cosine * ior - facet.z * (ior * cos_in - cos_out);
                let through = point.weight * (1.0 - reflected);
                if through <= 0.0 {
                    continue;
                }
                leaving.add(
                    to,
                    down,
                    through * shadowing(cosine, down, alpha, correlated),
                );
                let back = through * shadowing(cosine, up, alpha, correlated);
                let (lower, weight) = place(cos_out);
                for (coat, light) in coats.iter().zip(&mut light) {
                    let reflected = coat[lower] + (coat[lower + 1] - coat[lower]) * weight;
                    light.add(to, up, back * reflected);
                }
            }
        }
        let lost: Vec<f64> = (0..FINE)
            .map(|at| glass(cosine_of(at), alpha, ior, correlated, points).0)
            .collect();
        // Smooth glass loses nothing, and all weights are the same.
        let lost = if alpha == 0.0 { vec![1.0; FINE] } else { lost };
        let mut numbers = Vec::new();
        for (coat, light) in coats.iter().zip(&light) {
            let wanted = |to: usize| leaving.sum(to, |from| coat[from]);
            let wanted: Vec<f64> = (0..FINE).map(wanted).collect();
            let product: Vec<f64> = (0..FINE).map(|at| coat[at] * lost[at]).collect();
            let means = [mean(&product) / mean(&lost), 0.0];
            let factors = if alpha == 0.0 {
                vec![1.0; FINE]
            } else {
                light.factors(&wanted)
            };
            push_row(&mut numbers, &factors, means);
        }
        numbers
    });
    rows.collect::<Vec<_>>().concat()
}
