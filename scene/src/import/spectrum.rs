//! Conversion of spectra to linear sRGB, with the color matching functions of the CIE.
//!
//! A spectrum is a list of wavelengths in nanometres with values, in increasing order of wavelength. It is interpolated
//! linearly, and is 0 outside the list.

use std::io::Read;

use glam::{DVec3, Vec3};

use super::cie::{D65, FIRST, OBSERVER, STEP};
use crate::{
    error::excerpt,
    files::{open_regular_file, relative_paths::RelativePaths},
};

/// Maximum number of bytes of a file with a spectrum.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Integral of the color matching function y over the wavelength in nanometres.
const Y_INTEGRAL: f64 = 106.857;

/// Returns the linear sRGB color of a reflectance spectrum under the illuminant D65, so that 1 at all wavelengths is
/// white. Components below 0 become 0; those above 1 remain.
pub(crate) fn reflectance(samples: &[(f64, f64)]) -> Vec3 {
    let mut white = 0.0;
    let mut sum = DVec3::ZERO;
    for (wavelength, observer, light) in steps() {
        white += observer.y * light;
        sum += observer * (light * value(samples, wavelength));
    }
    xyz_to_rgb(sum / white).max(DVec3::ZERO).as_vec3()
}

/// Returns the linear sRGB color of an emission spectrum. A spectrum of 1 at all wavelengths has luminance 1.
/// Components below 0 become 0.
pub(crate) fn emission(samples: &[(f64, f64)]) -> Vec3 {
    integral(|wavelength| value(samples, wavelength))
}

/// Returns the linear sRGB color of an emission of 1 at all wavelengths. It is reddish, because white in sRGB is D65.
pub(crate) fn equal_energy() -> Vec3 {
    integral(|_| 1.0)
}

/// Returns the linear sRGB color of a black body at a temperature in kelvin, like [`emission`] of its radiance in
/// W·sr⁻¹·m⁻² per nanometre. Temperatures of 0 or less give black.
pub(crate) fn black_body(kelvin: f64) -> Vec3 {
    if kelvin <= 0.0 {
        return Vec3::ZERO;
    }
    let (planck, light, boltzmann) = (6.626_070_15e-34, 299_792_458.0, 1.380_649e-23);
    integral(|wavelength| {
        let metres = wavelength * 1e-9;
        let exponent = planck * light / (metres * boltzmann * kelvin);
        2.0 * planck * light * light / libm::pow(metres, 5.0) / (libm::exp(exponent) - 1.0) * 1e-9
    })
}

/// Reads the spectrum in a file with the extension `spd`, `txt` or `dat`. Fails with a message that names the file.
pub(crate) fn read(name: &str, files: &mut RelativePaths) -> Result<Vec<(f64, f64)>, String> {
    let path = files.find_by_last_component(name)?;
    let wrong = |problem: String| format!("spectrum `{}`: {problem}", excerpt(name));
    let file = open_regular_file(&path, &["spd", "txt", "dat"]).map_err(wrong)?;
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(wrong(format!("is larger than {MAX_FILE_BYTES} bytes")));
    }
    parse(&String::from_utf8_lossy(&text))
        .ok_or_else(|| wrong("is not a spectrum; expected lines `wavelength value`".to_owned()))
}

/// Parses a list of pairs `wavelength:value`, or of numbers that alternate between both, separated by white space or
/// commas. `#` starts a comment. Returns `None` if it is not such a list, if it is empty, or if the wavelengths do not
/// increase strictly.
pub(crate) fn parse(text: &str) -> Option<Vec<(f64, f64)>> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let numbers: Option<Vec<f64>> = lines
        .flat_map(|line| line.split([' ', '\t', ',', ':', '\r']))
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().ok().filter(|number: &f64| number.is_finite()))
        .collect();
    let numbers = numbers?;
    let (pairs, rest) = numbers.as_chunks::<2>();
    let increases = pairs.windows(2).all(|pair| pair[0][0] < pair[1][0]);
    (!pairs.is_empty() && rest.is_empty() && increases)
        .then(|| pairs.iter().map(|&[at, value]| (at, value)).collect())
}

/// Returns the mean of a spectrum from 400 to 700 nm.
pub(crate) fn mean(samples: &[(f64, f64)]) -> f32 {
    let sum: f64 = (0..=300)
        .map(|step| value(samples, 400.0 + f64::from(step)))
        .sum();
    (sum / 301.0) as f32
}

/// Returns the linear sRGB color of the emission that `power` gives for each wavelength in nanometres.
fn integral(power: impl Fn(f64) -> f64) -> Vec3 {
    let sum: DVec3 = steps()
        .map(|(wavelength, observer, _)| observer * power(wavelength))
        .sum();
    xyz_to_rgb(sum / Y_INTEGRAL).max(DVec3::ZERO).as_vec3()
}

/// Converts CIE XYZ to linear sRGB. The matrix has more digits than that of `color`, which scene files depend on.
fn xyz_to_rgb(xyz: DVec3) -> DVec3 {
    DVec3::new(
        DVec3::new(3.240_479, -1.537_150, -0.498_535).dot(xyz),
        DVec3::new(-0.969_256, 1.875_991, 0.041_556).dot(xyz),
        DVec3::new(0.055_648, -0.204_043, 1.057_311).dot(xyz),
    )
}

/// Returns the value of a spectrum at a wavelength in nanometres, interpolated linearly; 0 outside the spectrum.
fn value(samples: &[(f64, f64)], wavelength: f64) -> f64 {
    let above = samples.partition_point(|&(at, _)| at < wavelength);
    match (
        above.checked_sub(1).map(|below| samples[below]),
        samples.get(above),
    ) {
        (Some((low, from)), Some(&(high, to))) => {
            from + (to - from) * (wavelength - low) / (high - low)
        }
        (None, Some(&(at, value))) if at == wavelength => value,
        _ => 0.0,
    }
}

/// Returns wavelengths in steps of 1 nm, each with the values of the color matching functions and of D65.
fn steps() -> impl Iterator<Item = (f64, DVec3, f64)> {
    let count = (OBSERVER.len() - 1) * STEP as usize;
    (0..=count).map(|step| {
        let at = step as f64 / STEP;
        let low = (at as usize).min(OBSERVER.len() - 2);
        let part = at - low as f64;
        let [from, to] = [low, low + 1].map(|index| DVec3::from_array(OBSERVER[index]));
        (
            FIRST + step as f64,
            from + (to - from) * part,
            D65[low] + (D65[low + 1] - D65[low]) * part,
        )
    })
}
