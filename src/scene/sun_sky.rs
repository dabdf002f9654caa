//! A clear day's sky and sun.
//!
//! The sky is L. Hosek & A. Wilkie's (An Analytic Model for Full Spectral Sky-Dome Radiance, 2012), by their published
//! coefficients for linear sRGB, in `assets/hosek_wilkie/`. The sun is a black body of 5772 K (IAU 2015, resolution B3) seen
//! through air, haze and ozone. Both are in W·sr⁻¹·m⁻² as the eye weighs them: 1 is 683 cd/m². All of it is computed by the
//! crate `libm`, with the same bits on every machine.

use std::f64::consts::PI;

use glam::{DVec3, Vec3};

/// Texels of a turn: two thirds of the sun's disk each.
const WIDTH: usize = 1024;
const HEIGHT: usize = WIDTH / 2;
/// Diameter of the sun's disk, degrees.
pub(super) const SUN_DEGREES: f32 = 0.533;

/// A day.
#[derive(Clone, Copy, Debug)]
pub(super) struct SunSky {
    /// Of the sun above the horizon, degrees, 0..=90.
    pub(super) elevation: f64,
    /// Of the sun, degrees from −z over +x.
    pub(super) azimuth: f64,
    /// Haze: 1 is clean air, 10 is thick.
    pub(super) turbidity: f64,
    /// Of the ground, linear sRGB, 0..=1.
    pub(super) albedo: DVec3,
}

impl SunSky {
    /// Towards the sun, of length 1.
    pub(super) fn to_sun(self) -> DVec3 {
        let (sin, cos) = libm::sincos(self.elevation.to_radians());
        let (east, north) = libm::sincos(self.azimuth.to_radians());
        DVec3::new(east * cos, sin, -north * cos)
    }

    /// What the sun brings to a surface that faces it, linear sRGB.
    pub(super) fn irradiance(&self) -> DVec3 {
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
            // Leckner's air, Angstrom's haze (as of Preetham, Shirley & Smits 1999), and 3.5 mm of ozone: its Chappuis band
            // is close to a bell of 5.1e-21 cm² a molecule at 603 nm.
            let air = 0.008_735 * libm::pow(micrometres, -4.08);
            let aerosol = haze * libm::pow(micrometres, -1.3);
            let ozone = 0.35 * 0.137 * bell(nanometres, 603.0, 60.0, 60.0);
            let passed = libm::exp(-mass * (air + aerosol + ozone));
            sum += eye(nanometres) * (black_body(nanometres, 5772.0) * seen * passed * step);
        }
        xyz_to_rgb(sum).max(DVec3::ZERO)
    }

    /// The sky without the sun, by longitude and latitude, and below it the ground that both light.
    pub(super) fn radiances(&self) -> (u32, Vec<Vec3>) {
        let model = [0, 1, 2].map(|channel| Channel::new(self, channel));
        let to_sun = self.to_sun();
        let mut radiances = vec![Vec3::ZERO; WIDTH * HEIGHT];
        let mut lit = self.irradiance() * to_sun.y;
        let solid_angle = (2.0 * PI / WIDTH as f64) * (PI / HEIGHT as f64);
        let (above, below) = radiances.split_at_mut(WIDTH * HEIGHT / 2);
        for (row, line) in above.chunks_exact_mut(WIDTH).enumerate() {
            let (sin, cos) = libm::sincos(PI * (row as f64 + 0.5) / HEIGHT as f64);
            for (column, texel) in line.iter_mut().enumerate() {
                let turn = 2.0 * PI * (column as f64 + 0.5) / WIDTH as f64;
                let (east, north) = libm::sincos(turn);
                let direction = DVec3::new(east * sin, cos, -north * sin);
                let apart = direction.dot(to_sun).clamp(-1.0, 1.0);
                let radiance = DVec3::from_array(
                    [0, 1, 2].map(|channel: usize| model[channel].radiance(cos, apart).max(0.0)),
                );
                lit += radiance * (cos * sin * solid_angle);
                *texel = radiance.as_vec3();
            }
        }
        below.fill((self.albedo * lit / PI).as_vec3());
        (WIDTH as u32, radiances)
    }
}

/// The sky's model for one channel.
struct Channel {
    shape: [f64; 9],
    radiance: f64,
}

/// By channel: for an albedo of 0 and of 1, for each turbidity from 1 to 10, six control points of nine numbers.
const SHAPES: [&[u8]; 3] = [
    include_bytes!("../../assets/hosek_wilkie/params-r.f32"),
    include_bytes!("../../assets/hosek_wilkie/params-g.f32"),
    include_bytes!("../../assets/hosek_wilkie/params-b.f32"),
];
/// In the same order, six control points of one.
const RADIANCES: [&[u8]; 3] = [
    include_bytes!("../../assets/hosek_wilkie/radiances-r.f32"),
    include_bytes!("../../assets/hosek_wilkie/radiances-g.f32"),
    include_bytes!("../../assets/hosek_wilkie/radiances-b.f32"),
];

impl Channel {
    fn new(day: &SunSky, channel: usize) -> Channel {
        let number = |data: &[u8], index: usize| -> f64 {
            let bytes = data.as_chunks::<4>().0[index];
            f64::from(f32::from_le_bytes(bytes))
        };
        let lower = (day.turbidity as usize).clamp(1, 10);
        let part = day.turbidity - lower as f64;
        let upper = (lower + 1).min(10);
        let albedo = day.albedo.to_array()[channel];
        // Bernstein polynomials of the elevation's cube root.
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
        Channel {
            shape: std::array::from_fn(|index| at(SHAPES[channel], 9, index)),
            radiance: at(RADIANCES[channel], 1, 0),
        }
    }

    /// In a direction above the horizon, by the cosines of its angles to the zenith and to the sun.
    fn radiance(&self, zenith: f64, sun: f64) -> f64 {
        let [a, b, c, d, e, f, g, h, i] = self.shape;
        let gamma = libm::acos(sun);
        let mie = (1.0 + sun * sun) / libm::pow(1.0 + i * i - 2.0 * i * sun, 1.5);
        let gradient = 1.0 + a * libm::exp(b / (zenith + 0.01));
        let scattered =
            c + d * libm::exp(e * gamma) + f * sun * sun + g * mie + h * libm::sqrt(zenith);
        self.radiance * gradient * scattered
    }
}

/// Spectral radiance, W·sr⁻¹·m⁻²·nm⁻¹.
fn black_body(nanometres: f64, kelvin: f64) -> f64 {
    let (planck, light, boltzmann) = (6.626_070_15e-34, 299_792_458.0, 1.380_649e-23);
    let metres = nanometres * 1e-9;
    let fifth = metres * metres * metres * metres * metres;
    let exponent = planck * light / (metres * boltzmann * kelvin);
    2.0 * planck * light * light / fifth / (libm::exp(exponent) - 1.0) * 1e-9
}

fn bell(at: f64, middle: f64, before: f64, behind: f64) -> f64 {
    let width = if at < middle { before } else { behind };
    let off = (at - middle) / width;
    libm::exp(-0.5 * off * off)
}

/// The CIE 1931 colour matching functions (C. Wyman, P.-P. Sloan & P. Shirley 2013, their fit by several lobes).
fn eye(nanometres: f64) -> DVec3 {
    let lobe = |middle, before, behind| bell(nanometres, middle, before, behind);
    DVec3::new(
        1.056 * lobe(599.8, 37.9, 31.0) + 0.362 * lobe(442.0, 16.0, 26.7)
            - 0.065 * lobe(501.1, 20.4, 26.2),
        0.821 * lobe(568.8, 46.9, 40.5) + 0.286 * lobe(530.9, 16.3, 31.1),
        1.217 * lobe(437.0, 11.8, 36.0) + 0.681 * lobe(459.0, 26.0, 13.8),
    )
}

/// CIE XYZ as linear sRGB (IEC 61966-2-1).
pub(super) fn xyz_to_rgb(xyz: DVec3) -> DVec3 {
    DVec3::new(
        DVec3::new(3.2406, -1.5372, -0.4986).dot(xyz),
        DVec3::new(-0.9689, 1.8758, 0.0415).dot(xyz),
        DVec3::new(0.0557, -0.2040, 1.0570).dot(xyz),
    )
}

/// A moment and a place on Earth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Year, month and day of the Gregorian calendar.
    pub(super) date: (i32, u32, u32),
    /// Hours of universal time since midnight.
    pub(super) hours: f64,
    /// Degrees north.
    pub(super) latitude: f64,
    /// Degrees east.
    pub(super) longitude: f64,
}

/// Elevation and azimuth of the sun's middle, degrees, the azimuth from north over east: to a hundredth of a degree from 1950
/// to 2050, refraction aside (The Astronomical Almanac, low precision formulas for the sun).
pub(super) fn sun_at(moment: &Moment) -> (f64, f64) {
    let (year, month, day) = moment.date;
    // Days since noon of 1 January 2000, by the civil calendar's days since March.
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
