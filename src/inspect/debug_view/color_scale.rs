//! Maps the values of debug views to colors, and creates the legends.
//!
//! Colors are viridis (S. van der Walt & N. Smith 2015): perceptually uniform, monotonic in lightness, and suitable
//! for color-blind readers and greyscale.

use rayon::prelude::*;
use serde::Serialize;

use super::DebugView;
use crate::film::picture::{Picture, tone};

/// The legend of a debug view: title, color bar with numbers, and a note.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Legend {
    /// Name of the quantity, with its unit.
    pub title: String,
    /// sRGB colors of the bar at equal steps; empty for views without a color scale.
    pub bar: Vec<[u8; 3]>,
    /// Positions on the bar in 0..=1, and the numbers to display there.
    pub ticks: Vec<(f32, String)>,
    /// Number of samples measured, and further remarks.
    pub note: String,
}

/// Number of colors into which values are quantised.
const STEPS: usize = 256;
/// Number of colors of a legend's bar.
const BAR_STEPS: usize = 33;

/// Color of pixels without a value.
const NO_VALUE: [u8; 4] = [24, 26, 30, 255];

/// Quantile of the values at the top of a scale, so that outliers do not darken the rest.
const BELOW_TOP: f64 = 0.995;

/// Relative error at the lower end of the noise scale, which is fixed so that colors stay comparable.
const MIN_NOISE: f32 = 1e-3;
/// Number of decades of the logarithmic noise scale.
const NOISE_DECADES: f32 = 3.0;

/// Minimum ratio of the lower to the upper end of the depth scale. Smaller depths have the color of the lower end.
const MIN_RELATIVE_DEPTH: f32 = 1e-4;

/// Maps the values of a scalar debug view to RGBA colors, with a legend. NaN means that a pixel has no value.
///
/// `samples` is the number of samples measured per pixel, or 0 if only a coarse grid of pixels has one. `film_samples`,
/// the film's number of samples per pixel, is named in the title of the noise view.
pub(super) fn map_scalars(
    debug_view: DebugView,
    values: &[f32],
    samples: u32,
    film_samples: u32,
) -> (Vec<u8>, Legend) {
    let of_samples = sample_note(samples);
    match debug_view {
        DebugView::Noise => {
            let place = |value: f32| (value / MIN_NOISE).log10() / NOISE_DECADES;
            let ticks = ["0.1 %", "1 %", "10 %", "100 %"];
            let ticks = (0_u8..).zip(ticks);
            let legend = Legend {
                title: format!(
                    "relative error at {film_samples} {} per pixel",
                    plural(film_samples)
                ),
                bar: bar(),
                ticks: ticks
                    .map(|(decade, text)| (f32::from(decade) / NOISE_DECADES, text.to_owned()))
                    .collect(),
                note: of_samples,
            };
            (apply_color_map(values, place), legend)
        }
        DebugView::Depth => {
            let high = quantile(values, BELOW_TOP).max(f32::MIN_POSITIVE);
            let low = quantile(values, 1.0 - BELOW_TOP).max(MIN_RELATIVE_DEPTH * high);
            let decades = (high / low).log10().max(f32::EPSILON);
            let place = |value: f32| (value / low).log10() / decades;
            let at = |place: f32| low * 10.0_f32.powf(place * decades);
            let legend = scale("depth in metres", at, of_samples);
            (apply_color_map(values, place), legend)
        }
        _ => {
            let title = match debug_view {
                DebugView::Bounces => "bounces per path",
                _ => "rays per path, including shadow rays",
            };
            let high = round_up(quantile(values, BELOW_TOP));
            let legend = scale(title, |place| place * high, of_samples);
            (apply_color_map(values, |value| value / high), legend)
        }
    }
}

/// Maps the sample counts of pixels to RGBA colors, with a legend from 0 to the maximum count.
pub(super) fn map_sample_counts(values: &[f32]) -> (Vec<u8>, Legend) {
    let high = values.iter().copied().fold(1.0, f32::max);
    let min = values.iter().copied().fold(high, f32::min);
    let note = format!("min {min}, max {high}");
    let mut legend = scale("samples on the film", |place| place * high, note);
    // Sample counts are whole numbers, so only ticks at whole positions remain.
    legend.ticks.retain(|(place, _)| place.fract() == 0.0);
    (apply_color_map(values, |value| value / high), legend)
}

/// Converts base colors to opaque sRGB, with a legend without a color bar.
pub(super) fn albedo(values: &[[f32; 3]], samples: u32) -> (Vec<u8>, Legend) {
    (
        to_opaque_srgb(values, |value| value.into()),
        unscaled("albedo", "of the first hit", samples),
    )
}

/// Maps directions to RGBA colors: red is x, green is y, blue is z, each from -1..=1. Zero vectors, which mean that
/// there is no value, get [`NO_VALUE`].
pub(super) fn normal(values: &[[f32; 3]], samples: u32) -> (Vec<u8>, Legend) {
    let rgba = values
        .par_iter()
        .flat_map_iter(|value| {
            let [red, green, blue] = value.map(|part| (127.5 + 127.5 * part).round() as u8);
            match value {
                [0.0, 0.0, 0.0] => NO_VALUE,
                _ => [red, green, blue, 255],
            }
        })
        .collect();
    let title = "normal: red to +x, green to +y, blue to +z";
    (rgba, unscaled(title, "of the first hit", samples))
}

/// Converts values to opaque sRGB bytes. `color` returns the linear sRGB color of a value.
fn to_opaque_srgb(values: &[[f32; 3]], color: impl Fn([f32; 3]) -> glam::Vec3 + Sync) -> Vec<u8> {
    let picture = Picture {
        width: values.len() as u32,
        height: 1,
        pixels: values.par_iter().map(|&value| color(value)).collect(),
    };
    tone::to_srgb8(&picture, 0.0, tone::Tone::Srgb)
}

/// Creates a legend without a color bar, for views that display colors or directions.
fn unscaled(title: &str, note: &str, samples: u32) -> Legend {
    Legend {
        title: title.to_owned(),
        bar: Vec::new(),
        ticks: Vec::new(),
        note: format!("{note}; {}", sample_note(samples)),
    }
}

/// Returns the noun for this number of samples.
fn plural(samples: u32) -> &'static str {
    if samples == 1 { "sample" } else { "samples" }
}

/// Returns a note on the number of samples measured per pixel; 0 means that only a coarse grid of pixels has one.
fn sample_note(samples: u32) -> String {
    match samples {
        0 => "measured with 1 sample for some of the pixels".to_owned(),
        samples => format!("measured with {samples} {} per pixel", plural(samples)),
    }
}

/// Creates a legend with numbers at the quarters of the bar. `at` returns the value at a position in 0..=1.
fn scale(title: &str, at: impl Fn(f32) -> f32, note: String) -> Legend {
    let ticks = (0_u8..=4).map(|quarter| {
        let place = f32::from(quarter) / 4.0;
        (place, short(at(place)))
    });
    Legend {
        title: title.to_owned(),
        bar: bar(),
        ticks: ticks.collect(),
        note,
    }
}

/// Formats a number with up to three significant digits, without trailing zeros.
fn short(value: f32) -> String {
    let digits = if value == 0.0 {
        0
    } else {
        2 - value.abs().log10().floor() as i32
    };
    let text = format!("{value:.*}", digits.clamp(0, 6) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Returns the viridis colors at equal steps.
fn colors<const STEPS: usize>() -> [[u8; 3]; STEPS] {
    std::array::from_fn(|step| {
        let color = colorous::VIRIDIS.eval_continuous(step as f64 / (STEPS - 1) as f64);
        [color.r, color.g, color.b]
    })
}

/// Returns the viridis colors of a legend's bar, from low to high values.
fn bar() -> Vec<[u8; 3]> {
    colors::<BAR_STEPS>().to_vec()
}

/// Maps values to RGBA colors. `place` returns the position of a value on the scale, clamped to 0..=1. NaN gets
/// [`NO_VALUE`].
fn apply_color_map(values: &[f32], place: impl Fn(f32) -> f32 + Sync) -> Vec<u8> {
    let colors = colors::<STEPS>();
    let mut rgba = vec![0; 4 * values.len()];
    rgba.par_chunks_exact_mut(4)
        .zip(values)
        .for_each(|(pixel, &value)| {
            let color = if value.is_nan() {
                NO_VALUE
            } else {
                let step = (place(value).clamp(0.0, 1.0) * (STEPS - 1) as f32).round();
                let [red, green, blue] = colors[step as usize];
                [red, green, blue, 255]
            };
            pixel.copy_from_slice(&color);
        });
    rgba
}

/// Returns the quantile `part` in 0..=1 of the values that are not NaN, or 0 if there are none.
fn quantile(values: &[f32], part: f64) -> f32 {
    let mut present: Vec<f32> = values
        .iter()
        .copied()
        .filter(|value| !value.is_nan())
        .collect();
    if present.is_empty() {
        return 0.0;
    }
    let place = (part * (present.len() - 1) as f64).round() as usize;
    *present.select_nth_unstable_by(place, f32::total_cmp).1
}

/// Rounds up to 1, 2, 4 or 8 times a power of ten, at least 1, so that quarters of the result have few digits. Values
/// above 8 · 10⁹ are returned unchanged.
fn round_up(value: f32) -> f32 {
    let mut decade = 1.0;
    loop {
        for step in [1.0, 2.0, 4.0, 8.0] {
            if value <= step * decade {
                return step * decade;
            }
        }
        decade *= 10.0;
        if decade > 1e9 {
            return value;
        }
    }
}
