//! Cases of the film.

use glam::Vec3;
use raysieve::film::{
    SAMPLE_LIMIT, fixed_point, is_valid_sample, mean, rounded_sample, rounding_bits, samples_of,
};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("film", "is_valid_sample", |sample: Vec3| is_valid_sample(
            sample
        )),
        // Only for samples that the film accepts.
        twin!(
            ("film", "fixed_point", "fixed_point"),
            |inputs| loop {
                let value: f32 = inputs.draw();
                if (0.0..SAMPLE_LIMIT).contains(&value) {
                    break (value,);
                }
            },
            |value: f32| fixed_point(value)
        ),
        twin!("film", "rounding_bits", |pixel: u32, sample: u32| {
            rounding_bits(pixel, sample)
        }),
        // Only for samples that the film accepts; half of them have a fraction.
        twin!(
            ("film", "rounded_sample", "rounded_sample"),
            |inputs| loop {
                let value: f32 = inputs.draw();
                if (0.0..SAMPLE_LIMIT).contains(&value) {
                    let bits: u32 = inputs.draw();
                    let small = (bits >> 8) as f32 / 16_777_216.0 / 256.0;
                    break (if bits & 1 == 0 { value } else { small }, inputs.draw());
                }
            },
            |value: f32, rounding_bits: u32| rounded_sample(value, rounding_bits)
        ),
        twin!("film", "mean", |sum: u64, samples: u32| mean(sum, samples)),
        twin!(
            ("film", "samples_of", "samples_of"),
            |inputs| {
                let pixel_count = inputs.draw::<u32>().max(1);
                (
                    inputs.draw::<u32>() % pixel_count,
                    pixel_count,
                    inputs.draw(),
                )
            },
            |pixel: u32, pixel_count: u32, done: u64| samples_of(pixel, pixel_count, done)
        ),
    ]
}
