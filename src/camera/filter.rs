//! Pixel filters, tabulated for importance sampling: see [`crate::camera::filter_offset`].

use crate::scene::PixelFilter;

/// Number of table intervals from a filter's center to its radius; a power of two.
pub(crate) const FILTER_STEPS: u32 = 32;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![FILTER_STEPS];

/// One value for each boundary of the table intervals, center and radius included.
type Table = [f32; FILTER_STEPS as usize + 1];

/// Tabulates a filter: its values (not normalised), and the cumulative share of its positive half, 0 to 1. `None` for
/// the default box filter over the pixel's own square.
pub(crate) fn table(filter: &PixelFilter) -> Option<(Table, Table)> {
    if *filter == PixelFilter::default() {
        return None;
    }
    let values: [f64; FILTER_STEPS as usize + 1] =
        std::array::from_fn(|step| value(filter, step as f64 / f64::from(FILTER_STEPS)));
    let mut sums = [0.0; FILTER_STEPS as usize + 1];
    for step in 1..sums.len() {
        sums[step] = sums[step - 1] + (values[step - 1] + values[step]);
    }
    let all = sums[FILTER_STEPS as usize];
    Some((
        values.map(|value| value as f32),
        sums.map(|sum| (sum / all) as f32),
    ))
}

/// Returns the unnormalised value of a filter at a distance from its center, given as a fraction of its radius, 0..=1.
fn value(filter: &PixelFilter, part: f64) -> f64 {
    match *filter {
        PixelFilter::Box { .. } => 1.0,
        PixelFilter::Gaussian { radius, sigma } => {
            let width = f64::from(radius) / f64::from(sigma);
            let bell = |part: f64| libm::exp(-0.5 * (width * part) * (width * part));
            bell(part) - bell(1.0)
        }
        // F. J. Harris, On the use of windows for harmonic analysis with the discrete Fourier transform, 1978: four
        // terms, side lobes below -92 dB.
        PixelFilter::BlackmanHarris { .. } => {
            let angle = std::f64::consts::PI * (part + 1.0);
            let cosine = |multiple: f64| libm::cos(multiple * angle);
            let sum =
                0.35875 - 0.48829 * cosine(1.0) + 0.14128 * cosine(2.0) - 0.01168 * cosine(3.0);
            sum.max(0.0)
        }
    }
}
