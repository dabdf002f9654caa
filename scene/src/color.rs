//! Color conversions on the host.

use glam::{DVec3, Vec3, Vec4};

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

/// Converts CIE XYZ to linear sRGB (IEC 61966-2-1). Colors outside the sRGB gamut get negative components.
pub(crate) fn xyz_to_rgb(xyz: DVec3) -> DVec3 {
    DVec3::new(
        DVec3::new(3.2406, -1.5372, -0.4986).dot(xyz),
        DVec3::new(-0.9689, 1.8758, 0.0415).dot(xyz),
        DVec3::new(0.0557, -0.2040, 1.0570).dot(xyz),
    )
}
