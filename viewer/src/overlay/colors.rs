//! The colors of the overlay and of the window's widgets, as sRGB.

/// An sRGB color: red, green and blue with eight bits each.
pub(crate) type Color = [u8; 3];

/// Text color of the most important values.
pub(crate) const BRIGHT: Color = [240, 243, 247];
pub(crate) const PLAIN: Color = [205, 211, 219];
pub(crate) const DIM: Color = [152, 161, 174];
/// Color of highlighted text, progress bars and plots.
pub(crate) const ACCENT: Color = [255, 213, 110];
/// Text color of warnings and errors.
pub(crate) const WARNING: Color = [255, 140, 120];
pub(crate) const PANEL: Color = [14, 17, 23];

/// Parses a color of the form `#rrggbb`. Panics if it is malformed.
pub(crate) const fn parsed(hex: &str) -> Color {
    let digits = hex.as_bytes();
    assert!(digits.len() == 7 && digits[0] == b'#');
    [
        byte(digits[1], digits[2]),
        byte(digits[3], digits[4]),
        byte(digits[5], digits[6]),
    ]
}

/// Returns the value of two hexadecimal digits, given as ASCII characters. Panics on other characters.
const fn byte(high: u8, low: u8) -> u8 {
    match ((high as char).to_digit(16), (low as char).to_digit(16)) {
        (Some(high), Some(low)) => (16 * high + low) as u8,
        _ => panic!("a hexadecimal digit"),
    }
}
