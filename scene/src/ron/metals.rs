//! Refractive indices of metals, for the field `preset` of conductors.

use glam::Vec3;

/// Metals by name, each with the real and the imaginary part of its refractive index for red, green and blue in linear
/// sRGB.
///
/// The values are averages of measured spectra, from `ComplexIorData.hpp` of B. Bitterli's renderer Tungsten, rounded
/// to four decimal places.
pub(crate) const METALS: &[(&str, Vec3, Vec3)] = &[
    (
        "aluminium",
        Vec3::new(1.6575, 0.8804, 0.5212),
        Vec3::new(9.2239, 6.2695, 4.8370),
    ),
    (
        "chromium",
        Vec3::new(4.3697, 2.9167, 1.6547),
        Vec3::new(5.2064, 4.2314, 3.7549),
    ),
    (
        "copper",
        Vec3::new(0.2004, 0.9240, 1.1022),
        Vec3::new(3.9129, 2.4528, 2.1422),
    ),
    (
        "gold",
        Vec3::new(0.1431, 0.3750, 1.4425),
        Vec3::new(3.9832, 2.3857, 1.6032),
    ),
    (
        "iridium",
        Vec3::new(3.0864, 2.0822, 1.6179),
        Vec3::new(5.5922, 4.0672, 3.2673),
    ),
    (
        "mercury",
        Vec3::new(2.3989, 1.4400, 0.9096),
        Vec3::new(6.3276, 4.3719, 3.4218),
    ),
    (
        "nickel",
        Vec3::new(2.3673, 1.6634, 1.4671),
        Vec3::new(4.4988, 3.0502, 2.3454),
    ),
    (
        "silver",
        Vec3::new(0.1553, 0.1167, 0.1384),
        Vec3::new(4.8283, 3.1222, 2.1470),
    ),
    (
        "tungsten",
        Vec3::new(4.3707, 3.3003, 2.9983),
        Vec3::new(3.5007, 2.6049, 2.2732),
    ),
];
