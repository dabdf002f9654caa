//! Numbers and colours as the sliders of the panel show them.

use glam::Vec3;

use raysieve_scene::NumberKind;

/// Returns the position of a value on its slider, clamped to 0..=1.
pub(super) fn slider_position(value: f32, kind: &NumberKind) -> f32 {
    unclamped_position(value, kind).clamp(0.0, 1.0)
}

/// Returns the position of a value on its slider: 0 at its low end and 1 at its high end. Values beyond the ends give
/// positions outside 0..=1, except that a logarithmic slider has all values up to 0 at position 0.
pub(super) fn unclamped_position(value: f32, kind: &NumberKind) -> f32 {
    let (low, high) = kind.slider;
    match kind.is_logarithmic {
        true if value <= 0.0 => 0.0,
        true => libm::logf(value / low) / libm::logf(high / low),
        false => (value - low) / (high - low),
    }
}

/// Returns the value at a position on a slider, clamped to the valid range. Rounds it to four significant digits, or
/// to a whole number if only those are valid.
///
/// Positions outside 0..=1 extend the slider. On a logarithmic slider whose valid range begins at 0, positions up to 0
/// have the value 0.
pub(super) fn value_at_position(position: f32, kind: &NumberKind) -> f32 {
    let (low, high) = kind.slider;
    let value = match kind.is_logarithmic {
        true if position <= 0.0 && kind.min == 0.0 => 0.0,
        true => low * libm::powf(high / low, position),
        false => low + position * (high - low),
    };
    kind.clamped(rounded(value))
}

/// Rounds a number to four significant digits, so that it is short in a scene file.
pub(super) fn rounded(value: f32) -> f32 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Formats a number, given in the unit of `kind`, with about four significant digits and this unit. A named number is
/// replaced by its name, and a whole number has no unit.
pub(super) fn number_text(value: f32, kind: &NumberKind) -> String {
    if let Some(name) = kind.name_of(value) {
        return name.to_owned();
    }
    if kind.is_whole {
        return format!("{value:.0}");
    }
    let size = value.abs();
    let number = match size {
        0.0 => "0".to_owned(),
        ..0.001 | 1e6.. => format!("{value:.2e}"),
        ..1.0 => format!("{value:.4}"),
        ..10.0 => format!("{value:.3}"),
        ..100.0 => format!("{value:.2}"),
        ..1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    match kind.unit {
        "" => number,
        "°" => number + "°",
        unit => format!("{number} {unit}"),
    }
}

/// Encodes a channel of a linear colour as sRGB, and clamps it to 0..=1.
fn encoded(value: f32) -> f32 {
    let value = value.clamp(0.0, 1.0);
    match value <= 0.003_130_8 {
        true => 12.92 * value,
        false => 1.055 * libm::powf(value, 1.0 / 2.4) - 0.055,
    }
}

/// Decodes a channel of an sRGB colour, 0..=1, to linear light.
fn decoded(value: f32) -> f32 {
    match value <= 0.040_45 {
        true => value / 12.92,
        false => libm::powf((value + 0.055) / 1.055, 2.4),
    }
}

/// Converts a linear colour to 8-bit sRGB, and clamps its channels to 0..=1.
pub(super) fn to_srgb8(color: Vec3) -> [u8; 3] {
    color
        .to_array()
        .map(|channel| (255.0 * encoded(channel)).round() as u8)
}

/// Returns the hue in degrees, 0..360, and the saturation and value, 0..=1, of a linear colour. They describe its sRGB
/// encoding, and channels outside 0..=1 are clamped.
pub(super) fn to_hsv(color: Vec3) -> [f32; 3] {
    let [red, green, blue] = color.to_array().map(encoded);
    let max = red.max(green).max(blue);
    let range = max - red.min(green).min(blue);
    if range <= 0.0 {
        return [0.0, 0.0, max];
    }
    let sixths = if max == red {
        ((green - blue) / range).rem_euclid(6.0)
    } else if max == green {
        (blue - red) / range + 2.0
    } else {
        (red - green) / range + 4.0
    };
    [60.0 * sixths, range / max, max]
}

/// Returns the linear colour of a hue in degrees, and a saturation and value, 0..=1. Inverts [`to_hsv`] for colours
/// whose channels are in 0..=1.
pub(super) fn from_hsv([hue, saturation, value]: [f32; 3]) -> Vec3 {
    let channel = |offset: f32| {
        let place = (offset + hue / 60.0).rem_euclid(6.0);
        let part = place.min(4.0 - place).clamp(0.0, 1.0);
        decoded(value - value * saturation * part)
    };
    Vec3::new(channel(5.0), channel(3.0), channel(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{BACKGROUNDS, range_refusal};

    #[test]
    fn all_positions_on_a_slider_of_whole_numbers_have_valid_values() {
        let (low, high) = BACKGROUNDS.slider;
        for hundredths in 0..=100 {
            let position = hundredths as f32 / 100.0;
            let value = value_at_position(position, &BACKGROUNDS);
            let exact = low + position * (high - low);
            assert!((value - exact).abs() <= 0.5, "{position}: {value}");
            let refusal = range_refusal("kind", value, &BACKGROUNDS);
            assert_eq!(refusal, None, "{position}: {value}");
        }
    }
}
