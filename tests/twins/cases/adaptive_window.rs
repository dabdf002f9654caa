//! Cases of denoising.

use glam::Vec3;
use raysieve::adaptive::adaptive_window::{
    Window, WindowMean, agree, estimate, mean_light, mean_noise, noise_known, noise_of, pixels_in,
    tabled_light, tabled_noise, window_around, window_towards,
};

use super::{Case, twin};
use crate::inputs::Inputs;

/// Returns a number that is at least 0.
fn measured(inputs: &mut Inputs) -> f32 {
    loop {
        let value: f32 = inputs.draw();
        if value >= 0.0 {
            return value;
        }
    }
}

/// Returns column and row of a pixel, and width and height of its image.
fn pixel(inputs: &mut Inputs) -> (u32, u32, u32, u32) {
    let mut length = || 1 + inputs.draw::<u32>() % (1 << 20);
    let (width, height) = (length(), length());
    (
        inputs.draw::<u32>() % width,
        inputs.draw::<u32>() % height,
        width,
        height,
    )
}

fn drawn(inputs: &mut Inputs) -> WindowMean {
    WindowMean {
        light: inputs.draw(),
        noise: inputs.draw(),
        deviation: inputs.draw(),
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("adaptive_window", "tabled_light", "tabled_light"),
            |inputs| (measured(inputs),),
            |light: f32| tabled_light(light)
        ),
        twin!(
            ("adaptive_window", "tabled_noise", "tabled_noise"),
            |inputs| (measured(inputs),),
            |noise: f32| tabled_noise(noise)
        ),
        twin!(
            ("adaptive_window", "noise_of", "noise_of"),
            |inputs| {
                let samples = inputs.draw::<u32>();
                // Random numbers would rarely give none or all of the samples.
                let first = match inputs.draw::<u32>() % 8 {
                    0 => 0,
                    1 => samples,
                    _ => inputs.draw::<u32>() % samples.max(1),
                };
                (inputs.draw(), inputs.draw(), first, samples)
            },
            |first: Vec3, rest: Vec3, first_samples: u32, samples: u32| {
                noise_of(first, rest, first_samples, samples)
            }
        ),
        twin!(
            "adaptive_window",
            "noise_known",
            |variance: f32, samples: u32| { noise_known(variance, samples) }
        ),
        twin!("adaptive_window", "mean_light", |sum: u64, pixels: u32| {
            mean_light(sum, pixels)
        }),
        twin!("adaptive_window", "mean_noise", |sum: u64, pixels: u32| {
            mean_noise(sum, pixels)
        }),
        twin!("adaptive_window", "estimate", |light: Vec3, noise: f32| {
            estimate(light, noise)
        }),
        twin!(
            ("adaptive_window", "agree", "agree"),
            |inputs| {
                let one = drawn(inputs);
                // Half of the pairs are close to the decision boundary.
                let other = match inputs.draw() {
                    true => drawn(inputs),
                    false => WindowMean {
                        light: one.light + Vec3::splat(one.deviation + one.deviation),
                        ..one
                    },
                };
                (one, other, inputs.draw())
            },
            |one: WindowMean, other: WindowMean, tolerance: f32| agree(&one, &other, tolerance)
        ),
        twin!(
            ("adaptive_window", "window_towards", "window_towards"),
            |inputs| {
                let (x, y, width, height) = pixel(inputs);
                let (quadrant, side) = (inputs.draw::<u32>() % 4, 1 << (inputs.draw::<u32>() % 20));
                (x, y, width, height, quadrant, side)
            },
            |x: u32, y: u32, width: u32, height: u32, quadrant: u32, side: u32| {
                window_towards(x, y, width, height, quadrant, side)
            }
        ),
        twin!(
            ("adaptive_window", "window_around", "window_around"),
            |inputs| {
                let (x, y, width, height) = pixel(inputs);
                (x, y, width, height, inputs.draw::<u32>() % 64)
            },
            |x: u32, y: u32, width: u32, height: u32, radius: u32| {
                window_around(x, y, width, height, radius)
            }
        ),
        twin!(
            ("adaptive_window", "pixels_in", "pixels_in"),
            |inputs| {
                let (x, y, width, height) = pixel(inputs);
                let window = Window {
                    left: x % 256,
                    top: y % 256,
                    right: 256 + width % 256,
                    bottom: 256 + height % 256,
                };
                (window,)
            },
            |window: Window| pixels_in(&window)
        ),
    ]
}
