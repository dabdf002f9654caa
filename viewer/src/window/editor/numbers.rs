//! Numbers and colors as the editor displays and reads them.

use std::cell::RefCell;

use glam::Vec3;

use raysieve_scene::NumberKind;

/// Rounds a number to four significant digits, so that it is short in a scene file.
pub(super) fn rounded(value: f32) -> f32 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Returns the number that a slider at this value sets: it has four significant digits, or is whole if only whole numbers
/// are valid. It may be outside the range.
pub(super) fn edited(value: f64, kind: &NumberKind) -> f32 {
    let value = value as f32;
    // A typed number keeps its digits.
    if kind.is_whole { value.round() } else { value }
}

/// Formats a number with about four significant digits, without its unit. A named number is replaced by its name.
pub(super) fn number(value: f32, kind: &NumberKind) -> String {
    if let Some(name) = kind.name_of(value) {
        return name.to_owned();
    }
    if kind.is_whole {
        return format!("{value:.0}");
    }
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.001 | 1e6.. => format!("{value:.2e}"),
        ..1.0 => format!("{value:.4}"),
        ..10.0 => format!("{value:.3}"),
        ..100.0 => format!("{value:.2}"),
        ..1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Reads a typed number, with a point or a comma. A text that is still the displayed one of `old` stands for `old` with
/// all its digits. Stores a text that is no number in `refused`, and returns `None`.
pub(super) fn parsed(
    text: &str,
    old: f32,
    kind: &NumberKind,
    refused: &RefCell<Option<String>>,
) -> Option<f64> {
    let text = text.trim().trim_end_matches(kind.unit).trim_end();
    if text.is_empty() || text == number(old, kind) {
        return Some(f64::from(old));
    }
    match text.replace(',', ".").parse::<f32>() {
        Ok(value) if !value.is_nan() => Some(f64::from(value)),
        _ => {
            refused.replace(Some(text.to_owned()));
            None
        }
    }
}

/// Returns the color `new`, except that channels which differ from `old` only by rounding keep the value of `old`.
pub(super) fn kept(old: Vec3, new: Vec3) -> Vec3 {
    let channel = |place: usize| match (new[place] - old[place]).abs() <= 1e-3 * old[place].abs() {
        true => old[place],
        false => new[place],
    };
    Vec3::new(channel(0), channel(1), channel(2))
}
