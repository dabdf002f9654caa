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
        true if number <= 0.0 => rounded(libm::sqrtf(low * high), DIGITS),
        true => rounded(number * libm::powf(FACTOR, steps), DIGITS),
        false if kind.is_whole => number + steps,
        false => rounded(number + STEP * (high - low) * steps, DIGITS),
    };
    kind.clamped(changed)
}

/// Rounds a number to this number of significant digits, so that it is short in a scene file.
pub(crate) fn rounded(number: f32, digits: usize) -> f32 {
    let decimals = digits - 1;
    format!("{number:.decimals$e}").parse().unwrap_or(number)
}

/// Number of significant digits of sums and products of short numbers.
pub(super) const DIGITS: usize = 6;

/// Returns a message such as "roughness 5 not set; must be 0 to 1" for a number that is outside its range, or not whole
/// where it must be. Returns `None` otherwise. `label` is its name for people. A number of the range that has a name is
/// followed by it, as in "2 (round)".
pub(super) fn range_refusal(label: &str, number: f32, kind: &NumberKind) -> Option<String> {
    if kind.clamped(number) == number {
        return None;
    }
    let whole = if kind.is_whole {
        "a whole number, "
    } else {
        ""
    };
    let with_name = |number: f32, unit: &str| match kind.name_of(number) {
        Some(name) => format!("{number} ({name})"),
        None => with_unit(number, unit),
    };
    let (min, max) = (with_name(kind.min, ""), with_name(kind.max, kind.unit));
    Some(format!(
        "{label} {number} not set; must be {whole}{min} to {max}"
    ))
}

/// Returns a number as text with its unit, which is separated by a space unless it is the degree sign.
pub(crate) fn with_unit(number: impl Display, unit: &str) -> String {
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
        let message = |number| range_refusal("kind", number, &BACKGROUNDS);
        let range = "must be a whole number, 0 (environment) to 2 (transparent)";
        assert_eq!(message(5.0), Some(format!("kind 5 not set; {range}")));
        assert_eq!(message(0.7), Some(format!("kind 0.7 not set; {range}")));
        assert_eq!(message(1.0), None, "it is valid");
    }
}
