//! Sky and sun of a clear day.
//!
//! The sky is the model of L. Hosek and A. Wilkie (An Analytic Model for Full Spectral Sky-Dome Radiance, 2012), with
//! their published coefficients for linear sRGB in `assets/hosek_wilkie/`. The sun is a black body of 5772 K (IAU 2015,
//! resolution B3), dimmed by air, haze and ozone. Both are in W·sr⁻¹·m⁻² weighted by the eye, so that 1 is 683 cd/m².
//! All functions come from the crate `libm`, which gives the same bits on every machine.

use std::f64::consts::PI;

use glam::{DVec3, Vec3};

use crate::color::xyz_to_rgb;

/// Texels per row of the environment map. Each covers 0.35°, two thirds of the sun's disk.
const WIDTH: usize = 1024;
/// Rows of the environment map.
const HEIGHT: usize = WIDTH / 2;
/// Angular diameter of the sun's disk in degrees.
pub(crate) const SUN_DEGREES: f32 = 0.533;

/// Parameters of a clear day: the position of the sun, the haze and the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SunSky {
    /// Elevation of the sun above the horizon in degrees, 0..=90.
    pub(crate) elevation: f64,
    /// Azimuth of the sun in degrees: 0 is north (−z) and 90 is east (+x).
    pub(crate) azimuth: f64,
    /// Haze, from 1 (clean air) to 10 (thick).
    pub(crate) turbidity: f64,
    /// Albedo of the ground, linear sRGB, 0..=1 per channel.
    pub(crate) albedo: DVec3,
}

impl SunSky {
    /// Returns the unit direction from the ground to the sun.
    pub(crate) fn to_sun(self) -> DVec3 {
        let (sin, cos) = libm::sincos(self.elevation.to_radians());
        let (east, north) = libm::sincos(self.azimuth.to_radians());
        DVec3::new(east * cos, sin, -north * cos)
    }

    /// Returns the sun's irradiance on a surface that faces it, after it passed the atmosphere: linear sRGB, W/m²
    /// weighted by the eye, so that 1 is 683 lux.
    pub(crate) fn irradiance(&self) -> DVec3 {
        let zenith = 90.0 - self.elevation;
        // Relative optical air mass (Kasten & Young 1989).
        let mass = 1.0
            / (libm::cos(zenith.to_radians()) + 0.505_72 * libm::pow(96.079_95 - zenith, -1.6364));
        let haze = 0.046_08 * self.turbidity - 0.045_86;
        let radius = f64::from(SUN_DEGREES).to_radians() / 2.0;
        let seen = PI * libm::sin(radius) * libm::sin(radius);
        let step = 5.0;
        let mut sum = DVec3::ZERO;
        for index in 0..90 {
            let nanometres = 380.0 + step * (f64::from(index) + 0.5);
            let micrometres = nanometres * 1e-3;
            // Rayleigh scattering by Leckner and haze by Angstrom (both as in Preetham, Shirley and Smits 1999), and
            // 3.5 mm of ozone. Its Chappuis band is close to a Gaussian with a peak of 5.1e-21 cm² per molecule at 603
            // nm.
            let air = 0.008_735 * libm::pow(micrometres, -4.08);
            let aerosol = haze * libm::pow(micrometres, -1.3);
            let ozone = 0.35 * 0.137 * gaussian(nanometres, 603.0, 60.0, 60.0);
            let passed = libm::exp(-mass * (air + aerosol + ozone));
            sum += color_matching_functions(nanometres)
                * (black_body(nanometres, 5772.0) * seen * passed * step);
        }
        xyz_to_rgb(sum).max(DVec3::ZERO)
    }

    /// Computes an environment map of the sky without the sun, in latitude-longitude format. The lower half shows the
    /// ground, lit by sky and sun.
    ///
    /// Returns the texels per row, and the radiances row by row from the top: W·sr⁻¹·m⁻² weighted by the eye, linear
    /// sRGB.
    pub(crate) fn radiances(&self) -> (u32, Vec<Vec3>) {
        let model = [0, 1, 2].map(|channel| SkyChannel::new(self, channel));
        let to_sun = self.to_sun();
        let mut radiances = vec![Vec3::ZERO; WIDTH * HEIGHT];
        let mut lit = self.irradiance() * to_sun.y;
        let solid_angle = (2.0 * PI / WIDTH as f64) * (PI / HEIGHT as f64);
        let turns: Vec<(f64, f64)> = (0..WIDTH)
            .map(|column| libm::sincos(2.0 * PI * (column as f64 + 0.5) / WIDTH as f64))
            .collect();
        let (above, below) = radiances.split_at_mut(WIDTH * HEIGHT / 2);
        for (row, line) in above.chunks_exact_mut(WIDTH).enumerate() {
            let (sin, cos) = libm::sincos(PI * (row as f64 + 0.5) / HEIGHT as f64);
            for (&(east, north), texel) in turns.iter().zip(line) {
                let direction = DVec3::new(east * sin, cos, -north * sin);
                let apart = direction.dot(to_sun).clamp(-1.0, 1.0);
                let angle = libm::acos(apart);
                let radiance = DVec3::from_array(
                    [0, 1, 2]
                        .map(|channel: usize| model[channel].radiance(cos, apart, angle).max(0.0)),
                );
                lit += radiance * (cos * sin * solid_angle);
                *texel = radiance.as_vec3();
            }
        }
        below.fill((self.albedo * lit / PI).as_vec3());
        (WIDTH as u32, radiances)
    }
}

/// Coefficients of the sky's radiance in one color channel for a given day.
struct SkyChannel {
    /// Coefficients A to I of the sky model's distribution function.
    shape: [f64; 9],
    /// Mean radiance of the channel, by which the distribution function is multiplied.
    radiance: f64,
}

/// Coefficients of the distribution function by channel, as little-endian `f32`. For albedo 0 and 1, and for each
/// turbidity from 1 to 10, there are six Bézier control points of nine numbers.
const SHAPES: [&[u8]; 3] = [
    include_bytes!("../assets/hosek_wilkie/params-r.f32"),
    include_bytes!("../assets/hosek_wilkie/params-g.f32"),
    include_bytes!("../assets/hosek_wilkie/params-b.f32"),
];
/// Mean radiances by channel, as little-endian `f32`, in the order of `SHAPES` but with one number per control point.
const RADIANCES: [&[u8]; 3] = [
    include_bytes!("../assets/hosek_wilkie/radiances-r.f32"),
    include_bytes!("../assets/hosek_wilkie/radiances-g.f32"),
    include_bytes!("../assets/hosek_wilkie/radiances-b.f32"),
];

impl SkyChannel {
    /// Interpolates the coefficients of a channel (0 to 2) for a day: linearly by albedo and turbidity, by a Bézier
    /// curve for the elevation.
    fn new(day: &SunSky, channel: usize) -> SkyChannel {
        let number = |data: &[u8], index: usize| -> f64 {
            let bytes = data.as_chunks::<4>().0[index];
            f64::from(f32::from_le_bytes(bytes))
        };
        let lower = (day.turbidity as usize).clamp(1, 10);
        let part = day.turbidity - lower as f64;
        let upper = (lower + 1).min(10);
        let albedo = day.albedo.to_array()[channel];
        // The control points are Bernstein coefficients over the cube root of the elevation.
        let t = libm::cbrt(day.elevation / 90.0);
        let weights = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0];
        let basis: [f64; 6] = std::array::from_fn(|k| {
            let up = (0..k).fold(1.0, |power, _| power * t);
            (k..5).fold(weights[k] * up, |power, _| power * (1.0 - t))
        });
        let at = |data: &[u8], numbers: usize, number_of: usize| -> f64 {
            let curve = |white: usize, turbidity: usize| -> f64 {
                let start = (white * 10 + turbidity - 1) * 6 * numbers + number_of;
                (0..6)
                    .map(|k| basis[k] * number(data, start + k * numbers))
                    .sum()
            };
            let mix = |white| (1.0 - part) * curve(white, lower) + part * curve(white, upper);
            (1.0 - albedo) * mix(0) + albedo * mix(1)
        };
        SkyChannel {
            shape: std::array::from_fn(|index| at(SHAPES[channel], 9, index)),
            radiance: at(RADIANCES[channel], 1, 0),
        }
    }

    /// Returns the radiance of the channel in a direction above the horizon, W·sr⁻¹·m⁻² weighted by the eye; it may be
    /// below 0. `zenith` and `sun` are the cosines of its angles to the zenith and to the sun, and `gamma` is the latter
    /// angle in radians.
    fn radiance(&self, zenith: f64, sun: f64, gamma: f64) -> f64 {
        let [a, b, c, d, e, f, g, h, i] = self.shape;
        let mie = (1.0 + sun * sun) / libm::pow(1.0 + i * i - 2.0 * i * sun, 1.5);
        let gradient = 1.0 + a * libm::exp(b / (zenith + 0.01));
        let scattered =
            c + d * libm::exp(e * gamma) + f * sun * sun + g * mie + h * libm::sqrt(zenith);
        self.radiance * gradient * scattered
    }
}

/// Returns the spectral radiance of a black body (Planck's law), W·sr⁻¹·m⁻²·nm⁻¹.
fn black_body(nanometres: f64, kelvin: f64) -> f64 {
    let (planck, light, boltzmann) = (6.626_070_15e-34, 299_792_458.0, 1.380_649e-23);
    let metres = nanometres * 1e-9;
    let fifth = metres * metres * metres * metres * metres;
    let exponent = planck * light / (metres * boltzmann * kelvin);
    2.0 * planck * light * light / fifth / (libm::exp(exponent) - 1.0) * 1e-9
}

/// Returns the value at `at` of a Gaussian that is 1 at `middle`. `before` and `behind` are its standard deviations
/// below and above `middle`.
fn gaussian(at: f64, middle: f64, before: f64, behind: f64) -> f64 {
    let width = if at < middle { before } else { behind };
    let off = (at - middle) / width;
    libm::exp(-0.5 * off * off)
}

/// Returns the CIE 1931 color matching functions x, y and z at a wavelength in nanometres, by the multi-lobe fit of C.
/// Wyman, P.-P. Sloan and P. Shirley (2013).
fn color_matching_functions(nanometres: f64) -> DVec3 {
    let lobe = |middle, before, behind| gaussian(nanometres, middle, before, behind);
    DVec3::new(
        1.056 * lobe(599.8, 37.9, 31.0) + 0.362 * lobe(442.0, 16.0, 26.7)
            - 0.065 * lobe(501.1, 20.4, 26.2),
        0.821 * lobe(568.8, 46.9, 40.5) + 0.286 * lobe(530.9, 16.3, 31.1),
        1.217 * lobe(437.0, 11.8, 36.0) + 0.681 * lobe(459.0, 26.0, 13.8),
    )
}

/// A time and a place on Earth, which together determine the position of the sun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Year, month (1 to 12) and day of the Gregorian calendar, in universal time.
    pub(crate) date: (i32, u32, u32),
    /// Hours since midnight in universal time, 0..=24.
    pub(crate) hours: f64,
    /// Latitude in degrees north, -90..=90.
    pub(crate) latitude: f64,
    /// Longitude in degrees east, -180..=180.
    pub(crate) longitude: f64,
}

/// Returns elevation and azimuth of the sun's center in degrees. The elevation is below 0 at night, and the azimuth is
/// 0 in the north and 90 in the east.
///
/// From 1950 to 2050 they are accurate to 0.01°, without refraction (The Astronomical Almanac, low precision formulas
/// for the sun).
pub(crate) fn sun_at(moment: &Moment) -> (f64, f64) {
    let (year, month, day) = moment.date;
    // Days since noon of 1 January 2000. Counting years from March puts the leap day last.
    let (year, month) = if month > 2 {
        (i64::from(year), i64::from(month) - 3)
    } else {
        (i64::from(year) - 1, i64::from(month) + 9)
    };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = 365 * year + leaps + (153 * month + 2) / 5 + i64::from(day) - 1;
    let days = (days - 730_425) as f64 - 0.5 + moment.hours / 24.0;
    let degrees = |angle: f64| libm::sincos(angle.to_radians());
    let mean_longitude = 280.460 + 0.985_647_4 * days;
    let anomaly = 357.528 + 0.985_600_3 * days;
    let longitude = mean_longitude + 1.915 * degrees(anomaly).0 + 0.020 * degrees(2.0 * anomaly).0;
    let (sin_tilt, cos_tilt) = degrees(23.439 - 0.000_000_4 * days);
    let (sin, cos) = degrees(longitude);
    let ascension = libm::atan2(cos_tilt * sin, cos).to_degrees();
    let sin_declination = sin_tilt * sin;
    let cos_declination = libm::sqrt(1.0 - sin_declination * sin_declination);
    let sidereal = 15.0 * (18.697_375 + 24.065_709_824_279 * days);
    let (sin_hour, cos_hour) = degrees(sidereal + moment.longitude - ascension);
    let (sin_latitude, cos_latitude) = degrees(moment.latitude);
    let up = sin_latitude * sin_declination + cos_latitude * cos_declination * cos_hour;
    let north = cos_latitude * sin_declination - sin_latitude * cos_declination * cos_hour;
    let east = -cos_declination * sin_hour;
    (
        libm::asin(up.clamp(-1.0, 1.0)).to_degrees(),
        libm::atan2(east, north).to_degrees(),
    )
}
