//! From numbers to colours, and back for the eye: a bar of them with its numbers.
//!
//! Colours are viridis (S. van der Walt & N. Smith 2015): even to the eye, brighter the more there is, and the same to
//! colour-blind eyes and in grey.

use rayon::prelude::*;
use serde::Serialize;

use super::Sight;
use crate::{picture::Picture, tone};

/// What false colours mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Legend {
    /// What is shown, with its unit.
    pub title: String,
    /// Colours of the bar at equal steps, sRGB; none where colours are no scale.
    pub bar: Vec<[u8; 3]>,
    /// Numbers, and where on the bar they are, from 0 to 1.
    pub ticks: Vec<(f32, String)>,
    /// Of how many samples it is, and what else is to be said.
    pub note: String,
}

/// Of the colours in a picture, and of those in a bar, between which lie the others.
const STEPS: usize = 256;
const BAR_STEPS: usize = 33;

/// Where there is nothing to be said.
const NOTHING: [u8; 4] = [24, 26, 30, 255];

/// The part of the pixels that is below the top of a scale, at least: what few have does not make the rest dark.
const BELOW_TOP: f64 = 0.995;

/// Of noise: fixed, so that colours can be compared while it falls.
const LEAST_NOISE: f32 = 1e-3;
const NOISE_DECADES: f32 = 3.0;

/// What is nearer than this part of what is far is as near.
const LEAST_DEPTH: f32 = 1e-4;

/// A number a pixel by one scale of colours, as measured by so many samples, of a film with so many.
pub(super) fn even(
    sight: Sight,
    values: &[f32],
    samples: u32,
    film_samples: u32,
) -> (Vec<u8>, Legend) {
    let of_samples = told(samples);
    match sight {
        Sight::Noise => {
            let place = |value: f32| (value / LEAST_NOISE).log10() / NOISE_DECADES;
            let ticks = ["0.1 %", "1 %", "10 %", "100 %"];
            let ticks = (0_u8..).zip(ticks);
            let legend = Legend {
                title: format!("error of {film_samples} samples, of their light"),
                bar: bar(),
                ticks: ticks
                    .map(|(decade, text)| (f32::from(decade) / NOISE_DECADES, text.to_owned()))
                    .collect(),
                note: of_samples,
            };
            (painted(values, place), legend)
        }
        Sight::Depth => {
            let high = quantile(values, BELOW_TOP).max(f32::MIN_POSITIVE);
            let low = quantile(values, 1.0 - BELOW_TOP).max(LEAST_DEPTH * high);
            let decades = (high / low).log10().max(f32::EPSILON);
            let place = |value: f32| (value / low).log10() / decades;
            let at = |place: f32| low * 10.0_f32.powf(place * decades);
            let legend = scale("depth, metres", at, of_samples);
            (painted(values, place), legend)
        }
        _ => {
            let title = match sight {
                Sight::Bounces => "bounces until a path's end",
                _ => "rays of a path, to lights too",
            };
            let high = round_up(quantile(values, BELOW_TOP));
            let legend = scale(title, |place| place * high, of_samples);
            (painted(values, |value| value / high), legend)
        }
    }
}

/// How many samples pixels have.
pub(super) fn counts(values: &[f32]) -> (Vec<u8>, Legend) {
    let high = values.iter().copied().fold(1.0, f32::max);
    let least = values.iter().copied().fold(high, f32::min);
    let note = format!("{least} at the least, {high} at the most");
    let mut legend = scale("samples on the film", |place| place * high, note);
    // Halves are none.
    legend.ticks.retain(|(place, _)| place.fract() == 0.0);
    (painted(values, |value| value / high), legend)
}

/// Colours as they are.
pub(super) fn albedo(values: &[[f32; 3]], samples: u32) -> (Vec<u8>, Legend) {
    (
        shown(values, |value| value.into()),
        unscaled("albedo", "of what is seen first", samples),
    )
}

/// Directions as colours: red to +x, green to +y, blue to +z.
pub(super) fn normal(values: &[[f32; 3]], samples: u32) -> (Vec<u8>, Legend) {
    let rgba = values
        .par_iter()
        .flat_map_iter(|value| {
            let [red, green, blue] = value.map(|part| (127.5 + 127.5 * part).round() as u8);
            match value {
                [0.0, 0.0, 0.0] => NOTHING,
                _ => [red, green, blue, 255],
            }
        })
        .collect();
    let title = "normal: red to +x, green to +y, blue to +z";
    (rgba, unscaled(title, "of what is seen first", samples))
}

fn shown(values: &[[f32; 3]], colour: impl Fn([f32; 3]) -> glam::Vec3 + Sync) -> Vec<u8> {
    let picture = Picture {
        width: values.len() as u32,
        height: 1,
        pixels: values.par_iter().map(|&value| colour(value)).collect(),
    };
    tone::to_srgb8(&picture, 0.0, tone::Tone::Srgb)
}

fn unscaled(title: &str, note: &str, samples: u32) -> Legend {
    Legend {
        title: title.to_owned(),
        bar: Vec::new(),
        ticks: Vec::new(),
        note: format!("{note}; {}", told(samples)),
    }
}

fn told(samples: u32) -> String {
    match samples {
        0 => "measured by 1 sample of some pixels".to_owned(),
        1 => "measured by 1 sample a pixel".to_owned(),
        samples => format!("measured by {samples} samples a pixel"),
    }
}

/// A bar with numbers at its quarters.
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

/// Three digits, no more than there are.
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

fn colours<const STEPS: usize>() -> [[u8; 3]; STEPS] {
    std::array::from_fn(|step| {
        let colour = colorous::VIRIDIS.eval_continuous(step as f64 / (STEPS - 1) as f64);
        [colour.r, colour.g, colour.b]
    })
}

fn bar() -> Vec<[u8; 3]> {
    colours::<BAR_STEPS>().to_vec()
}

fn painted(values: &[f32], place: impl Fn(f32) -> f32 + Sync) -> Vec<u8> {
    let colours = colours::<STEPS>();
    let mut rgba = vec![0; 4 * values.len()];
    rgba.par_chunks_exact_mut(4)
        .zip(values)
        .for_each(|(pixel, &value)| {
            let colour = if value.is_nan() {
                NOTHING
            } else {
                let step = (place(value).clamp(0.0, 1.0) * (STEPS - 1) as f32).round();
                let [red, green, blue] = colours[step as usize];
                [red, green, blue, 255]
            };
            pixel.copy_from_slice(&colour);
        });
    rgba
}

/// Below which such a part of the numbers is, of those that are some; 0 of none.
fn quantile(values: &[f32], part: f64) -> f32 {
    let mut some: Vec<f32> = values
        .iter()
        .copied()
        .filter(|value| !value.is_nan())
        .collect();
    if some.is_empty() {
        return 0.0;
    }
    let place = (part * (some.len() - 1) as f64).round() as usize;
    *some.select_nth_unstable_by(place, f32::total_cmp).1
}

/// The next of 1, 2, 4, 8, 10, 20, 40 ..., at least 1: quarters of it are short numbers.
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
