//! Number formats of the overlay. Large counts and times of stages have three significant digits and a unit, in at most
//! six characters.

use crate::session::{Difference, State};

/// Text of a figure whose value is not known.
pub(super) const UNKNOWN: &str = "–";

/// Formats a count with a decimal prefix: `999`, `1.23k`, `16.8M`.
pub(super) fn count(count: u64) -> String {
    if count < 1000 {
        return count.to_string();
    }
    let prefixes = ["k", "M", "G", "T", "P", "E"].map(|prefix| (prefix, 1e3));
    let (divisor, prefix) = unit(count as f64, "", &prefixes);
    three_digits(count as f64 / divisor) + prefix
}

/// Larger units of a duration in microseconds, each with its ratio to the unit before.
const DURATIONS: [(&str, f64); 4] = [("ms", 1e3), ("s", 1e3), ("m", 60.0), ("h", 60.0)];

/// Returns the smallest unit in which a value has less than four digits before the point, and the divisor that converts
/// to it. Begins with the unit `first`; each of the `larger` ones has its ratio to the unit before.
fn unit(value: f64, first: &'static str, larger: &[(&'static str, f64)]) -> (f64, &'static str) {
    let (mut divisor, mut unit) = (1.0, first);
    for &(next, ratio) in larger {
        if value / divisor < ROUNDS_TO_1000 {
            break;
        }
        (divisor, unit) = (divisor * ratio, next);
    }
    (divisor, unit)
}

/// Formats a duration, given in microseconds, with the unit µs, ms, s, m (minutes) or h: `7.25µs`, `1.50ms`, `12.0s`.
pub(super) fn microseconds(microseconds: f64) -> String {
    let (divisor, unit) = unit(microseconds, "µs", &DURATIONS);
    three_digits(microseconds / divisor) + unit
}

/// Formats a duration that may be negative, as [`microseconds`].
pub(super) fn signed_microseconds(duration: f64) -> String {
    match duration < 0.0 {
        true => format!("−{}", microseconds(-duration)),
        false => microseconds(duration),
    }
}

/// Formats a count with its digits in groups of three: `1,204,332`.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of bytes with a binary prefix: `12.3 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"].map(|unit| (unit, 1024.0));
    let (divisor, unit) = unit(bytes as f64, "B", &units);
    format!("{} {unit}", three_digits(bytes as f64 / divisor))
}

/// Formats a fraction, of which 1 is the whole, as a percentage: `7.3 %`.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// Formats a difference in speed with its confidence interval in at most 24 characters: `+11.7 % (8.1 to 15.3)`, or
/// `no clear difference`.
pub(super) fn difference(difference: Difference) -> String {
    let Difference { by, low, high } = difference;
    if difference.is_unclear() {
        return "no clear difference".to_owned();
    }
    let [by, low, high] = [by, low, high].map(|part| 100.0 * part);
    let digits = if by.abs() < 99.95 { 1 } else { 0 };
    format!("{by:+.digits$} % ({low:.digits$} to {high:.digits$})").replace('-', "−")
}

/// Formats the half width of an interval around a time in the unit of that time: `±0.05`. Both are in microseconds.
pub(super) fn spread(time: f64, half: f64) -> String {
    let (divisor, _) = unit(time, "µs", &DURATIONS);
    format!("±{}", three_digits(half / divisor))
}

/// Formats a rate, given per second, in millions per second without the unit: `12.3`.
pub(crate) fn millions(per_second: f64) -> String {
    three_digits(per_second / 1e6)
}

/// Formats an elapsed time, given in seconds, as seconds, `m:ss` or `h:mm:ss`: `9.5 s`, `2:05`, `1:02:05`.
pub(super) fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours == 0 {
        format!("{minutes}:{seconds:02}")
    } else {
        format!("{hours}:{minutes:02}:{seconds:02}")
    }
}

/// Returns the word for this number of samples: `sample` or `samples`.
pub(crate) fn sample_word(count: u32) -> &'static str {
    match count {
        1 => "sample",
        _ => "samples",
    }
}

/// Returns the estimated time until a render is complete that has taken these seconds so far: `9 s`, `2:05`, `1:02:05`.
/// Returns `None` unless the render is running, and before there is an estimate.
pub(crate) fn time_left(seconds: f64, state: State) -> Option<String> {
    let State::Rendering { progress, .. } = state else {
        return None;
    };
    let left = seconds * (1.0 - progress) / progress;
    let is_known = seconds >= 0.5 && progress > 0.0 && left.is_finite();
    is_known.then(|| match left {
        ..59.5 => format!("{left:.0} s"),
        _ => duration(left.max(60.0)),
    })
}

/// Smallest value that rounds to at least 1000 with three significant digits, so that it needs the next larger unit.
const ROUNDS_TO_1000: f64 = 999.5;

/// Formats a number with three significant digits, at least 0 and at most two of them decimals.
pub(super) fn three_digits(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}
