//! Numbers of properties: how keys change them, and messages about their ranges.

use std::fmt::Display;

use raysieve_scene::NumberKind;

/// Share of a slider by which one key press changes a number.
pub(super) const STEP: f32 = 0.05;

/// Factor by which one key press changes a number with a logarithmic slider.
const FACTOR: f32 = 1.25;

/// Returns a number changed by `steps` key presses, within its valid range.
pub(super) fn stepped(number: f32, kind: &NumberKind, steps: f32) -> f32 {
    let (low, high) = kind.slider;
    let changed = match kind.is_logarithmic {
        // A source of light that is off starts in the middle.
        true if number <= 0.0 => libm::sqrtf(low * high),
        true => number * libm::powf(FACTOR, steps),
        false if kind.is_whole => number + steps,
        false => number + STEP * (high - low) * steps,
    };
    kind.clamped(changed)
}

/// Returns a message such as "roughness: 0 to 1; set to 1" for a number that is outside its range, or not whole where
/// it must be. Returns `None` otherwise. `label` is its name for people. A number in the message that has a name is
/// followed by it, as in "2 (round)".
pub(crate) fn clamp_message(label: &str, number: f32, kind: &NumberKind) -> Option<String> {
    let set = kind.clamped(number);
    if set == number {
        return None;
    }
    let numbers = if kind.is_whole { "whole numbers, " } else { "" };
    let with_name = |number: f32, unit: &str| match kind.name_of(number) {
        Some(name) => format!("{number} ({name})"),
        None => with_unit(number, unit),
    };
    let [max, set] = [kind.max, set].map(|number| with_name(number, kind.unit));
    let min = with_name(kind.min, "");
    Some(format!("{label}: {numbers}{min} to {max}; set to {set}"))
}

/// Returns a number as text with its unit, which is separated by a space unless it is the degree sign.
pub(super) fn with_unit(number: impl Display, unit: &str) -> String {
    match unit {
        "" | "°" => format!("{number}{unit}"),
        unit => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::BACKGROUNDS, *};

    #[test]
    fn messages_about_invalid_numbers_name_their_range() {
        let message = |number| clamp_message("kind", number, &BACKGROUNDS);
        let range = "kind: whole numbers, 0 (environment) to 2 (transparent); set to";
        assert_eq!(message(5.0), Some(format!("{range} 2 (transparent)")));
        assert_eq!(message(0.7), Some(format!("{range} 1 (color)")));
        assert_eq!(message(1.0), None, "it is valid");
    }
}
