//! Cases of the film.

use glam::Vec3;
use raysieve::film::{SAMPLE_LIMIT, fixed_point, is_valid_sample, mean, samples_of};

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
