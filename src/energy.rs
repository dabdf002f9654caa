//! How much light a rough surface loses where it is taken to scatter once: directional albedos of GGX, tabulated. Twin:
//! `kernels/shared/energy.cuh`.
//!
//! What is lost was scattered more than once, and leaves spread over all directions: C. Kulla & A. Conty, Revisiting
//! Physically Based Shading at Imageworks, SIGGRAPH 2017 course. A table is of one form of masking, and of one refractive
//! index if it is of glass. Its rows are of evenly spaced √alpha from 0 to 1, their items of evenly spaced √cosine.

use glam::{DVec2, DVec3};
use rayon::prelude::*;

use crate::{
    material::{
        COMPENSATED, CORRELATED, LAYERED, Material, ROUGH_CONDUCTOR, ROUGH_DIELECTRIC, THIN,
    },
    math::{greater, lesser},
};

/// Cosines of a row.
pub const COSINES: u32 = 48;
/// Rows of a table.
pub const ROUGHNESSES: u32 = 48;
/// Means at the end of a row.
pub const MEANS: u32 = 4;
/// Numbers of a row: two functions of the cosine, then the means.
pub const ROW: u32 = 2 * COSINES + MEANS;

/// First function of a mirror's table: the part of the light that leaves by no single scattering.
pub const LOST: u32 = 0;
/// Second: the part that leaves by one, each facet weighted by Schlick's (1 − cos)⁵.
pub const GRAZING: u32 = 1;
/// Means of a table of glass, after those of what is lost in front and behind: the part that a smooth boundary lets
/// through of light from all sides in front.
pub const THROUGH_FRONT: u32 = 2;
/// The same of light from behind.
pub const THROUGH_BACK: u32 = 3;

/// A place between two items of which there are `count`: the lower one, and the weight of the upper.
#[inline]
pub fn table_place(root: f32, count: u32) -> (u32, f32) {
    let place = lesser(greater(root, 0.0), 1.0) * (count - 1) as f32;
    let lower = place as u32;
    let lower = if lower > count - 2 { count - 2 } else { lower };
    (lower, place - lower as f32)
}

/// A function of a table that begins at `table`, by roughness and cosine.
#[inline]
pub fn directional(tables: &[f32], table: u32, function: u32, alpha: f32, cosine: f32) -> f32 {
    let (row, down) = table_place(greater(alpha, 0.0).sqrt(), ROUGHNESSES);
    let (column, right) = table_place(greater(cosine, 0.0).sqrt(), COSINES);
    let at = (table + row * ROW + function * COSINES + column) as usize;
    let below = at + ROW as usize;
    let upper = tables[at] + (tables[at + 1] - tables[at]) * right;
    let lower = tables[below] + (tables[below + 1] - tables[below]) * right;
    upper + (lower - upper) * down
}

/// A mean of a table that begins at `table`, by roughness: of its functions, over light from all sides.
#[inline]
pub fn hemispherical(tables: &[f32], table: u32, mean: u32, alpha: f32) -> f32 {
    let (row, down) = table_place(greater(alpha, 0.0).sqrt(), ROUGHNESSES);
    let at = (table + row * ROW + 2 * COSINES + mean) as usize;
    tables[at] + (tables[at + ROW as usize] - tables[at]) * down
}

/// What a table is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Facets {
    /// Perfect mirrors.
    Mirrors { correlated: bool },
    /// A boundary to this refractive index.
    Glass { correlated: bool, ior: f32 },
}

/// More tables than this of glass are of rounded indices: their number is bounded, whatever a scene holds.
const MOST_EXACT: usize = 32;

/// The tables that the materials need, one behind another; each material is told where its own begins.
pub fn tables(materials: &mut [Material]) -> Vec<f32> {
    let mut indices: Vec<f32> = Vec::new();
    for material in materials.iter() {
        if let (_, Some(Facets::Glass { ior, .. })) = needed(material, false)
            && !indices.contains(&ior)
            && indices.len() <= MOST_EXACT
        {
            indices.push(ior);
        }
    }
    let rounds = indices.len() > MOST_EXACT;
    let mut kinds: Vec<Facets> = Vec::new();
    let mut place = |facets: Facets| {
        let known = kinds.iter().position(|&kind| kind == facets);
        let number = known.unwrap_or_else(|| {
            kinds.push(facets);
            kinds.len() - 1
        });
        number as u32 * ROUGHNESSES * ROW
    };
    for material in materials {
        let (mirrors, glass) = needed(material, rounds);
        if let Some(mirrors) = mirrors {
            material.mirrors = place(mirrors);
            material.table = material.mirrors;
        }
        if let Some(glass) = glass {
            material.table = place(glass);
        }
    }
    kinds.iter().flat_map(|&facets| table(facets)).collect()
}

/// The tables that a material reads, of mirrors and of glass, if it reads any.
fn needed(material: &Material, rounds: bool) -> (Option<Facets>, Option<Facets>) {
    let correlated = material.flags & CORRELATED != 0;
    let compensated = material.flags & COMPENSATED != 0;
    let metal = material.kind == ROUGH_CONDUCTOR && compensated;
    let layered = material.kind == LAYERED;
    let glass = material.kind == ROUGH_DIELECTRIC && compensated
        || layered && material.transmission > 0.0 && material.flags & THIN == 0;
    let ior = if rounds {
        libm::exp2((libm::log2(material.ior.into()) * 32.0).round() / 32.0) as f32
    } else {
        material.ior
    };
    (
        (metal || layered).then_some(Facets::Mirrors { correlated }),
        glass.then_some(Facets::Glass { correlated, ior }),
    )
}

fn table(facets: Facets) -> Vec<f32> {
    let points = points();
    let rows = (0..ROUGHNESSES).into_par_iter().flat_map_iter(|row| {
        let root = f64::from(row) / f64::from(ROUGHNESSES - 1);
        table_row(facets, root * root, &points)
    });
    rows.collect()
}

fn table_row(facets: Facets, alpha: f64, points: &[Point]) -> Vec<f32> {
    let cosines = (0..COSINES).map(|column| {
        let root = f64::from(column) / f64::from(COSINES - 1);
        // Exactly at the horizon nothing is visible.
        (root * root).max(1e-5)
    });
    let (mut first, mut second): (Vec<f64>, Vec<f64>) = cosines
        .map(|cosine| match facets {
            Facets::Mirrors { correlated } => mirrors(cosine, alpha, correlated, points),
            Facets::Glass { correlated, ior } => {
                glass(cosine, alpha, ior.into(), correlated, points)
            }
        })
        .unzip();
    if alpha == 0.0 {
        // Smooth: nothing is lost. Quadrature says so but for rounding.
        first.fill(0.0);
        if matches!(facets, Facets::Glass { .. }) {
            second.fill(0.0);
        }
    }
    let mut means = vec![mean(&first), mean(&second), 0.0, 0.0];
    if let Facets::Glass { ior, .. } = facets {
        means[2] = mean_transmitted(1.0 / f64::from(ior));
        means[3] = mean_transmitted(f64::from(ior));
    }
    let numbers = first.into_iter().chain(second).chain(means);
    numbers.map(|number| number as f32).collect()
}

/// Mean over the hemisphere, weighted by the cosine, of a function that is linear in √cosine between the items:
/// 4 ∫ f(x) x³ dx.
fn mean(items: &[f64]) -> f64 {
    let step = 1.0 / (items.len() - 1) as f64;
    let pieces = items.windows(2).enumerate().map(|(piece, ends)| {
        let (a, b) = (piece as f64 * step, (piece + 1) as f64 * step);
        let slope = (ends[1] - ends[0]) / step;
        let offset = ends[0] - slope * a;
        offset * (b.powi(4) - a.powi(4)) + 0.8 * slope * (b.powi(5) - a.powi(5))
    });
    pieces.sum()
}

/// Points of a quadrature.
const POINTS: u32 = 1024;

/// One of them, for any eye.
struct Point {
    /// Part of the cap's height that lies above it.
    drop: f64,
    /// Direction around the cap's axis, of length 1.
    round: DVec2,
    weight: f64,
}

/// Points of half a cap, whose other half is its mirror image. A lattice by the golden ratio: total reflection ends
/// somewhere among the facets, and a grid would meet that edge a row at a time.
fn points() -> Vec<Point> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let point = |index: u32| {
        // Denser towards the rim: there are the few facets of a smooth surface that lose light.
        let rest = 1.0 - (f64::from(index) + 0.5) / f64::from(POINTS);
        let angle = std::f64::consts::PI * (0.5 + GOLDEN * f64::from(index)).fract();
        Point {
            drop: 1.0 - rest * rest * rest,
            round: DVec2::new(libm::cos(angle), libm::sin(angle)),
            weight: 3.0 * rest * rest / f64::from(POINTS),
        }
    };
    (0..POINTS).map(point).collect()
}

/// Means of two functions over the facets that an eye sees; they get the facet and the direction to the eye.
fn over_facets(
    cosine: f64,
    alpha: f64,
    points: &[Point],
    values: impl Fn(DVec3, DVec3) -> (f64, f64),
) -> (f64, f64) {
    let eye = DVec3::new((1.0 - cosine * cosine).max(0.0).sqrt(), 0.0, cosine);
    let stretched = DVec3::new(eye.x * alpha, 0.0, eye.z).normalize();
    let height = 1.0 + stretched.z;
    let (mut first, mut second, mut whole) = (0.0, 0.0, 0.0);
    for point in points {
        let drop = point.drop * height;
        let round = point.round * (drop * (2.0 - drop)).max(0.0).sqrt();
        let facet = DVec3::new(
            (round.x + stretched.x) * alpha,
            round.y * alpha,
            1.0 - drop + stretched.z,
        );
        let values = values(facet.normalize(), eye);
        first += point.weight * values.0;
        second += point.weight * values.1;
        whole += point.weight;
    }
    (first / whole, second / whole)
}

fn root(cosine: f64, alpha: f64) -> f64 {
    (cosine * cosine + alpha * alpha * (1.0 - cosine * cosine)).sqrt()
}

/// `microfacet::shadowing`, and 0 beyond the horizon.
fn shadowing(cos_eye: f64, cos_light: f64, alpha: f64, correlated: bool) -> f64 {
    if cos_light <= 0.0 {
        return 0.0;
    }
    let root_light = root(cos_light, alpha);
    if correlated {
        let root_eye = root(cos_eye, alpha);
        cos_light * (cos_eye + root_eye) / (cos_eye * root_light + cos_light * root_eye)
    } else {
        2.0 * cos_light / (cos_light + root_light)
    }
}

/// What is lost, and what leaves weighted by Schlick.
fn mirrors(cosine: f64, alpha: f64, correlated: bool, points: &[Point]) -> (f64, f64) {
    let (all, grazing) = over_facets(cosine, alpha, points, |facet, eye| {
        let cos_facet = eye.dot(facet);
        let light = facet.z * 2.0 * cos_facet - eye.z;
        let seen = shadowing(cosine, light, alpha, correlated);
        (seen, seen * (1.0 - cos_facet).clamp(0.0, 1.0).powi(5))
    });
    ((1.0 - all).max(0.0), grazing)
}

/// What is lost in front, and behind.
fn glass(cosine: f64, alpha: f64, ior: f64, correlated: bool, points: &[Point]) -> (f64, f64) {
    let leaves = |facet: DVec3, eye: DVec3, eta: f64| {
        let cos_in = eye.dot(facet);
        let (reflected, cos_out) = fresnel(cos_in, eta);
        let up = facet.z * 2.0 * cos_in - eye.z;
        let down = eye.z * eta - facet.z * (eta * cos_in - cos_out);
        reflected * shadowing(cosine, up, alpha, correlated)
            + (1.0 - reflected) * shadowing(cosine, down, alpha, correlated)
    };
    let (front, back) = over_facets(cosine, alpha, points, |facet, eye| {
        (leaves(facet, eye, 1.0 / ior), leaves(facet, eye, ior))
    });
    ((1.0 - front).max(0.0), (1.0 - back).max(0.0))
}

/// `material::fresnel` in double precision: `eta` is the index on the eye's side over the other.
fn fresnel(cos_in: f64, eta: f64) -> (f64, f64) {
    let sin2_out = eta * eta * (1.0 - cos_in * cos_in).max(0.0);
    if sin2_out >= 1.0 {
        return (1.0, 0.0);
    }
    let cos_out = (1.0 - sin2_out).sqrt();
    let parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    let perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    (
        0.5 * (parallel * parallel + perpendicular * perpendicular),
        cos_out,
    )
}

/// Part of light from all sides that a smooth boundary lets through.
fn mean_transmitted(eta: f64) -> f64 {
    const STEPS: u32 = 1024;
    let steps = (0..STEPS).map(|step| {
        let cosine = (f64::from(step) + 0.5) / f64::from(STEPS);
        (1.0 - fresnel(cosine, eta).0) * 2.0 * cosine
    });
    steps.sum::<f64>() / f64::from(STEPS)
}
