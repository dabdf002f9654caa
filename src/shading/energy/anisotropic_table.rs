//! Computation of the energy table of anisotropic facets. It needs no twin, because only the host builds tables.

use std::f64::consts::{FRAC_PI_2, PI};

use glam::DVec3;
use rayon::prelude::*;

use super::{ANISOTROPIC_COSINES, ANISOTROPIC_ROUGHNESSES, TURNS};

/// Number of points of the quadrature over the cap of visible normals.
const POINTS: u32 = 1024;
/// Number of azimuths over which means are taken.
const AZIMUTHS: u32 = 256;

/// Computes the table of perfectly reflecting facets, with height-correlated masking: the energy lost, the albedo at
/// grazing angles, then the hemispherical means of both.
pub(super) fn table() -> Vec<f32> {
    let points = points();
    let pairs = ANISOTROPIC_ROUGHNESSES * ANISOTROPIC_ROUGHNESSES;
    let cells: Vec<[Vec<f64>; 2]> = (0..pairs)
        .into_par_iter()
        .map(|pair| {
            let alpha = |number: u32| {
                let root = f64::from(number) / f64::from(ANISOTROPIC_ROUGHNESSES - 1);
                (root * root).max(1e-4)
            };
            cell(
                alpha(pair / ANISOTROPIC_ROUGHNESSES),
                alpha(pair % ANISOTROPIC_ROUGHNESSES),
                &points,
            )
        })
        .collect();
    let values = |function: usize| cells.iter().flat_map(move |cell| &cell[function]);
    let means = |function: usize| cells.iter().map(move |cell| mean(&cell[function]));
    let numbers = values(0).copied().chain(values(1).copied());
    let numbers = numbers.chain(means(0)).chain(means(1));
    numbers.map(|number| number as f32).collect()
}

/// Computes both functions for one pair of roughnesses, by squared cosine of the azimuth and then by cosine.
fn cell(alpha_x: f64, alpha_y: f64, points: &[DVec3]) -> [Vec<f64>; 2] {
    let (mut lost, mut grazing) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let along2 = f64::from(turn) / f64::from(TURNS - 1);
        for column in 0..ANISOTROPIC_COSINES {
            let root = f64::from(column) / f64::from(ANISOTROPIC_COSINES - 1);
            // Exactly at the horizon no facet is visible.
            let cosine = (root * root).max(1e-5);
            let sine = (1.0 - cosine * cosine).max(0.0).sqrt();
            let eye = DVec3::new(sine * along2.sqrt(), sine * (1.0 - along2).sqrt(), cosine);
            let [all, at_grazing] = albedos(eye, alpha_x, alpha_y, points);
            lost.push((1.0 - all).max(0.0));
            grazing.push(at_grazing);
        }
    }
    [lost, grazing]
}

/// Returns points of the quadrature: the cosine and sine of an azimuth, and the height below the top of the cap as a
/// fraction of the cap's height.
fn points() -> Vec<DVec3> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let point = |index: u32| {
        let drop = (f64::from(index) + 0.5) / f64::from(POINTS);
        let angle = 2.0 * PI * (0.5 + GOLDEN * f64::from(index)).fract();
        DVec3::new(libm::cos(angle), libm::sin(angle), drop)
    };
    (0..POINTS).map(point).collect()
}

/// Returns the single-scattering albedo for a direction to the eye, and that of facets weighted by Schlick's (1 −
/// cos)⁵.
fn albedos(eye: DVec3, alpha_x: f64, alpha_y: f64, points: &[DVec3]) -> [f64; 2] {
    let root = |v: DVec3| {
        let (x, y) = (v.x * alpha_x, v.y * alpha_y);
        (v.z * v.z + x * x + y * y).sqrt()
    };
    let stretched = DVec3::new(eye.x * alpha_x, eye.y * alpha_y, eye.z).normalize();
    let height = 1.0 + stretched.z;
    let root_eye = root(eye);
    let (mut all, mut grazing) = (0.0, 0.0);
    for point in points {
        let drop = point.z * height;
        let radius = (drop * (2.0 - drop)).max(0.0).sqrt();
        let half = DVec3::new(
            (radius * point.x + stretched.x) * alpha_x,
            (radius * point.y + stretched.y) * alpha_y,
            1.0 - drop + stretched.z,
        );
        let half = half.normalize();
        let cos_half = eye.dot(half);
        let light = half * (2.0 * cos_half) - eye;
        if light.z > 0.0 {
            let seen = light.z * (eye.z + root_eye) / (eye.z * root(light) + light.z * root_eye);
            all += seen;
            grazing += seen * (1.0 - cos_half).clamp(0.0, 1.0).powi(5);
        }
    }
    [all / f64::from(POINTS), grazing / f64::from(POINTS)]
}

/// Returns the cosine-weighted hemispherical mean of a function of [`cell`].
fn mean(values: &[f64]) -> f64 {
    let columns = ANISOTROPIC_COSINES as usize;
    let means: Vec<f64> = values.chunks(columns).map(super::mean).collect();
    let azimuths = (0..AZIMUTHS).map(|step| {
        let angle = FRAC_PI_2 * (f64::from(step) + 0.5) / f64::from(AZIMUTHS);
        let place = libm::cos(angle).powi(2) * f64::from(TURNS - 1);
        let lower = (place as usize).min(means.len() - 2);
        means[lower] + (means[lower + 1] - means[lower]) * (place - lower as f64)
    });
    azimuths.sum::<f64>() / f64::from(AZIMUTHS)
}
