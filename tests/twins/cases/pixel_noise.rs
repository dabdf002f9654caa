//! Cases of adaptive sampling.

use glam::Vec3;
use raysieve::adaptive::pixel_noise::{
    ConvergenceTest, PixelNoise, after_round, converged_rounds, error_units, has_converged,
    samples_to_go,
};

use super::{Case, twin};
use crate::inputs::Inputs;

/// Returns a possible round, which adds at least one sample.
fn round(inputs: &mut Inputs) -> ConvergenceTest {
    let before = inputs.draw::<u32>() >> 1;
    ConvergenceTest {
        noise: inputs.draw(),
        brightness_offset: inputs.draw(),
        number: inputs.one_of(&[0, 1, 2, 9, 60]),
        before,
        after: before + 1 + (inputs.draw::<u32>() >> 2),
        limit: inputs.draw(),
        width: inputs.draw(),
        height: inputs.draw(),
    }
}

fn noise(inputs: &mut Inputs) -> PixelNoise {
    PixelNoise {
        variance: inputs.draw(),
        error: inputs.draw(),
        converged_rounds: inputs.draw::<u32>() % 4,
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("pixel_noise", "after_round", "after_round"),
            |inputs| {
                let (noise, round) = (noise(inputs), round(inputs));
                (noise, round, inputs.draw(), inputs.draw(), inputs.draw())
            },
            |noise: PixelNoise, round: ConvergenceTest, earlier: Vec3, added: Vec3, mean: Vec3| {
                after_round(noise, &round, earlier, added, mean)
            }
        ),
        twin!(
            ("pixel_noise", "converged_rounds", "converged_rounds"),
            |inputs| (noise(inputs), round(inputs), inputs.draw()),
            |noise: PixelNoise, round: ConvergenceTest, tile_error: f32| {
                converged_rounds(&noise, &round, tile_error)
            }
        ),
        twin!(
            ("pixel_noise", "has_converged", "has_converged"),
            |inputs| (noise(inputs),),
            |noise: PixelNoise| has_converged(&noise)
        ),
        // Errors are square roots, so they are not negative.
        twin!(
            ("pixel_noise", "error_units", "error_units"),
            |inputs| (inputs.draw::<f32>().abs(),),
            |error: f32| error_units(error)
        ),
        twin!(
            ("pixel_noise", "samples_to_go", "samples_to_go"),
            |inputs| (noise(inputs), round(inputs), inputs.draw()),
            |noise: PixelNoise, round: ConvergenceTest, tile_error: f32| {
                samples_to_go(&noise, &round, tile_error)
            }
        ),
    ]
}
