//! Color conversions on the host.

use glam::{DMat3, DVec2, DVec3, Vec3, Vec4};

/// Decodes a value of the sRGB transfer function (IEC 61966-2-1), from 0 to 1, to linear light from 0 to 1.
pub fn srgb_value(encoded: f64) -> f32 {
    let linear = if encoded <= 0.04045 {
        encoded / 12.92
    } else {
        libm::pow((encoded + 0.055) / 1.055, 2.4)
    };
    linear as f32
}

/// Returns the luminance of a linear sRGB color by the Rec. 709 weights, in the unit of its channels.
pub(crate) fn luminance(color: Vec3) -> f32 {
    0.2126 * color.x + 0.7152 * color.y + 0.0722 * color.z
}

/// Converts an sRGB-encoded vertex color, clamped to 0..=1, to linear RGB with alpha 1.
pub(crate) fn linear_color(color: Vec3) -> Vec4 {
    color
        .map(|part| srgb_value(part.clamp(0.0, 1.0).into()))
        .extend(1.0)
}

/// Encodes a linear value of 0 to 1 with the sRGB transfer function (IEC 61966-2-1).
pub(crate) fn srgb_encoded(linear: f32) -> f32 {
    let linear = f64::from(linear);
    match linear <= 0.003_130_8 {
        true => (linear * 12.92) as f32,
        false => (1.055 * libm::pow(linear, 1.0 / 2.4) - 0.055) as f32,
    }
}

/// Converts CIE XYZ to linear sRGB (IEC 61966-2-1). Colors outside the sRGB gamut get negative components.
pub(crate) fn xyz_to_rgb(xyz: DVec3) -> DVec3 {
    DVec3::new(
        DVec3::new(3.2406, -1.5372, -0.4986).dot(xyz),
        DVec3::new(-0.9689, 1.8758, 0.0415).dot(xyz),
        DVec3::new(0.0557, -0.2040, 1.0570).dot(xyz),
    )
}

/// Chromaticities of the red, green and blue primary and of the white point of sRGB.
pub(crate) const SRGB: [DVec2; 4] = [
    DVec2::new(0.64, 0.33),
    DVec2::new(0.3, 0.6),
    DVec2::new(0.15, 0.06),
    DVec2::new(0.3127, 0.329),
];

/// Returns the conversion to linear sRGB of colors with these chromaticities of the red, green and blue primary and of the
/// white point. White stays white, by the adaptation of Bradford (Lam 1985). The matrix is not finite if the primaries
/// span no colors.
pub(crate) fn rgb_to_srgb(primaries: [DVec2; 4]) -> DMat3 {
    // Responses of cones, after ICC.1:2022, annex E.
    let cones = DMat3::from_cols(
        DVec3::new(0.8951, -0.7502, 0.0389),
        DVec3::new(0.2664, 1.7135, -0.0685),
        DVec3::new(-0.1614, 0.0367, 1.0296),
    );
    let [from, to] = [primaries, SRGB].map(|[.., white]| cones * xyz_of(white));
    let adapted = cones.inverse() * DMat3::from_diagonal(to / from) * cones;
    rgb_to_xyz(SRGB).inverse() * adapted * rgb_to_xyz(primaries)
}

/// Returns the conversion to CIE XYZ of colors with these chromaticities.
pub(crate) fn rgb_to_xyz([red, green, blue, white]: [DVec2; 4]) -> DMat3 {
    let columns = DMat3::from_cols(xyz_of(red), xyz_of(green), xyz_of(blue));
    let brightness = columns.inverse() * xyz_of(white);
    columns * DMat3::from_diagonal(brightness)
}

/// Returns the color of this chromaticity in CIE XYZ, with a luminance of 1.
fn xyz_of(chromaticity: DVec2) -> DVec3 {
    let DVec2 { x, y } = chromaticity;
    DVec3::new(x / y, 1.0, (1.0 - x - y) / y)
}
