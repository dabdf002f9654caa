//! Whether a pixel is good enough.

use glam::Vec3;
use raysieve::history::{History, Round, error_units, is_done, judged, samples_to_go};

use super::{Case, twin};
use crate::inputs::Inputs;

/// One of those that there are: it adds some samples to some.
fn round(inputs: &mut Inputs) -> Round {
    let before = inputs.draw::<u32>() >> 1;
    Round {
        noise: inputs.draw(),
        dark: inputs.draw(),
        number: inputs.one_of(&[0, 1, 2, 9, 60]),
        before,
        after: before + 1 + (inputs.draw::<u32>() >> 2),
        limit: inputs.draw(),
    }
}

fn history(inputs: &mut Inputs) -> History {
    History {
        variance: inputs.draw(),
        error: inputs.draw(),
        good: inputs.draw::<u32>() % 4,
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("history", "judged", "judged"),
            |inputs| {
                let (history, round) = (history(inputs), round(inputs));
                (history, round, inputs.draw(), inputs.draw(), inputs.draw())
            },
            |history: History, round: Round, earlier: Vec3, added: Vec3, mean: Vec3| judged(
                history, &round, earlier, added, mean
            )
        ),
        twin!(
            ("history", "is_done", "is_done"),
            |inputs| (history(inputs),),
            |history: History| is_done(&history)
        ),
        // Errors are roots.
        twin!(
            ("history", "error_units", "error_units"),
            |inputs| (inputs.draw::<f32>().abs(),),
            |error: f32| error_units(error)
        ),
        twin!(
            ("history", "samples_to_go", "samples_to_go"),
            |inputs| (history(inputs), round(inputs)),
            |history: History, round: Round| samples_to_go(&history, &round)
        ),
    ]
}
