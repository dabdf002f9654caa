//! The image metric FLIP for 8-bit sRGB: how different two images look when they alternate.
//!
//! Method: P. Andersson, J. Nilsson, T. Akenine-Möller, M. Oskarsson, K. Åström, M. D. Fairchild, "FLIP: A Difference
//! Evaluator for Alternating Images", High Performance Graphics 2020, with separable filters. The authors' program and
//! this one agree, as tests show.

use glam::Vec3;
use rayon::prelude::*;

/// Pixels per degree of the visual field: 0.7 m before a display that is 0.7 m wide and has 3840 pixels in a row.
const PIXELS_PER_DEGREE: f32 = 67.020_64;
/// Exponent that is applied to the distance HyAB of two colors. The result is their color difference.
const COLOR_EXPONENT: f32 = 0.7;
/// Share of the largest color difference that maps to [`COLOR_KNEE_ERROR`].
const COLOR_KNEE: f32 = 0.4;
/// Error for a color difference at the knee. Greater differences are compressed into the errors from here to 1.
const COLOR_KNEE_ERROR: f32 = 0.95;
/// Width of the edges and points that are detected, in degrees.
const FEATURE_WIDTH: f32 = 0.082;
/// Exponent of the feature difference.
const FEATURE_EXPONENT: f32 = 0.5;
/// Contrast sensitivity of the luminance channel: weight of a Gaussian, and its scale in square degrees. At a distance
/// of x degrees, a Gaussian of scale b is proportional to exp(−π²x²/b).
const LUMINANCE: (f32, f32) = (1.0, 0.0047);
/// Contrast sensitivity of the red-green channel: weight and scale of a Gaussian, as for [`LUMINANCE`].
const RED_GREEN: (f32, f32) = (1.0, 0.0053);
/// Contrast sensitivity of the blue-yellow channel: weights and scales of two Gaussians, which are added. They are
/// defined as for [`LUMINANCE`].
const BLUE_YELLOW: [(f32, f32); 2] = [(34.1, 0.04), (13.5, 0.025)];
/// The white point D65 as CIE XYZ.
const WHITE: Vec3 = Vec3::new(0.950_428_55, 1.0, 1.088_900_4);
/// The reciprocals of the components of [`WHITE`].
const INVERSE_WHITE: Vec3 = Vec3::new(1.052_156_9, 1.0, 0.918_357_7);

/// Returns the error of each pixel, 0 to 1, between two images of `width` pixels per row in RGBA, whose alpha is
/// ignored.
///
/// Both images must have the same number of pixels, a multiple of `width`.
pub fn errors(reference: &[u8], test: &[u8], width: usize) -> Vec<f32> {
    let [reference, test] = [reference, test].map(|rgba| Seen::new(rgba, width));
    let largest = largest_color_difference();
    let knee = COLOR_KNEE * largest;
    let pixels = reference.colors.par_iter().zip(&test.colors);
    let features = reference.features.par_iter().zip(&test.features);
    pixels
        .zip(features)
        .map(|((&one, &other), (own, others))| {
            let difference = libm::powf(hyab(one, other), COLOR_EXPONENT);
            let color = if difference < knee {
                difference * COLOR_KNEE_ERROR / knee
            } else {
                let above = (difference - knee) / (largest - knee);
                COLOR_KNEE_ERROR + above * (1.0 - COLOR_KNEE_ERROR)
            };
            let [edge, point] = [0, 1].map(|kind| (own[kind] - others[kind]).abs());
            let feature = libm::powf(
                edge.max(point) * std::f32::consts::FRAC_1_SQRT_2,
                FEATURE_EXPONENT,
            );
            libm::powf(color, 1.0 - feature).clamp(0.0, 1.0)
        })
        .collect()
}

/// Figures of the errors of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorSummary {
    /// Mean over the pixels, 0 to 1.
    pub mean: f64,
    /// Error that 95 % of the pixels do not exceed, 0 to 1.
    pub quantile_95: f32,
    /// Largest error, 0 to 1.
    pub max: f32,
}

impl ErrorSummary {
    /// Summarises the errors of the pixels of an image; all figures are 0 without pixels.
    pub fn of(errors: &[f32]) -> ErrorSummary {
        let sum = errors.iter().map(|&error| f64::from(error)).sum::<f64>();
        let mut sorted = errors.to_vec();
        sorted.sort_unstable_by(f32::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = |place: usize| sorted.get(place.min(last)).copied().unwrap_or(0.0);
        ErrorSummary {
            mean: sum / errors.len().max(1) as f64,
            quantile_95: at(sorted.len() * 95 / 100),
            max: at(last),
        }
    }
}

/// Returns the color of an error from 0 to 1 in the color map magma, as 8-bit sRGB: from black over purple and orange
/// to pale yellow.
pub fn color(error: f32) -> [u8; 3] {
    let color = colorous::MAGMA.eval_continuous(error.clamp(0.0, 1.0).into());
    [color.r, color.g, color.b]
}

/// An image as the model of the eye sees it.
struct Seen {
    /// Filtered colors in CIELAB with the Hunt effect.
    colors: Vec<Vec3>,
    /// Strengths of the edge and of the point at each pixel.
    features: Vec<[f32; 2]>,
}

impl Seen {
    fn new(rgba: &[u8], width: usize) -> Seen {
        let (pixels, _) = rgba.as_chunks::<4>();
        let opponent: Vec<Vec3> = pixels
            .par_iter()
            .map(|&[red, green, blue, _]| {
                let linear = [red, green, blue].map(|code| linear(f32::from(code) / 255.0));
                xyz_to_opponent(rgb_to_xyz(linear.into()))
            })
            .collect();
        Seen {
            colors: colors(&opponent, width),
            features: features(&opponent, width),
        }
    }
}

/// Filters an image in the opponent color space by the contrast sensitivity, and converts it to CIELAB with the Hunt
/// effect.
fn colors(opponent: &[Vec3], width: usize) -> Vec<Vec3> {
    let widest = BLUE_YELLOW[0].1;
    let scale = (widest / (2.0 * std::f32::consts::PI.powi(2))).sqrt();
    let radius = (3.0 * scale * PIXELS_PER_DEGREE).ceil() as usize;
    let distances = (0..=2 * radius).map(|tap| (tap as f32 - radius as f32) / PIXELS_PER_DEGREE);
    let squares: Vec<f32> = distances.map(|distance| distance * distance).collect();
    let gaussian = |(weight, scale): (f32, f32), is_root: bool| -> Vec<f32> {
        let pi = std::f32::consts::PI;
        let height = weight * (pi / scale).sqrt();
        let height = if is_root { height.sqrt() } else { height };
        let value = |&square: &f32| height * libm::expf(-pi * pi * square / scale);
        squares.iter().map(value).collect()
    };
    let normalized = |mut taps: Vec<f32>, sum: f32| {
        taps.iter_mut().for_each(|tap| *tap /= sum);
        taps
    };
    let [luminance, red_green] = [LUMINANCE, RED_GREEN].map(|parameters| {
        let taps = gaussian(parameters, false);
        let sum = taps.iter().sum();
        normalized(taps, sum)
    });
    // The two-dimensional filter is the sum of the squares of both.
    let blue_yellow = BLUE_YELLOW.map(|parameters| gaussian(parameters, true));
    let sums = blue_yellow.each_ref().map(|taps| taps.iter().sum::<f32>());
    let sum = (sums[0] * sums[0] + sums[1] * sums[1]).sqrt();
    let [wide, narrow] = blue_yellow.map(|taps| normalized(taps, sum));
    let weights: Vec<[f32; 4]> = (0..=2 * radius)
        .map(|tap| [luminance[tap], red_green[tap], wide[tap], narrow[tap]])
        .collect();
    let weighted = |values: [f32; 4], tap: usize| -> [f32; 4] {
        std::array::from_fn(|channel| weights[tap][channel] * values[channel])
    };
    let rows = filtered(opponent.len(), width, radius, true, |pixel, tap| {
        let color = opponent[pixel];
        weighted([color.x, color.y, color.z, color.z], tap)
    });
    let all = filtered(opponent.len(), width, radius, false, |pixel, tap| {
        weighted(rows[pixel], tap)
    });
    all.par_iter()
        .map(|&[luminance, red_green, wide, narrow]| {
            let xyz = opponent_to_xyz(Vec3::new(luminance, red_green, wide + narrow));
            let displayable = xyz_to_rgb(xyz).clamp(Vec3::ZERO, Vec3::ONE);
            hunt(xyz_to_lab(rgb_to_xyz(displayable)))
        })
        .collect()
}

/// Returns the strengths of the edge and of the point at each pixel of an image in the opponent color space.
fn features(opponent: &[Vec3], width: usize) -> Vec<[f32; 2]> {
    let deviation = 0.5 * FEATURE_WIDTH * PIXELS_PER_DEGREE;
    let radius = (3.0 * deviation).ceil() as usize;
    let mut weights: Vec<[f32; 3]> = (0..=2 * radius)
        .map(|tap| {
            let x = tap as f32 - radius as f32;
            let gaussian = libm::expf(-x * x / (2.0 * deviation * deviation));
            let second = (x * x / (deviation * deviation) - 1.0) * gaussian;
            [gaussian, -x * gaussian, second]
        })
        .collect();
    // The positive weights of each filter sum to 1, and the negative ones to -1.
    for filter in 0..3 {
        let sum = |sign: f32| -> f32 {
            let signed = weights.iter().map(|weights| sign * weights[filter]);
            signed.filter(|weight| *weight > 0.0).sum()
        };
        let (positive, negative) = (sum(1.0), sum(-1.0));
        for weights in &mut weights {
            let weight = &mut weights[filter];
            *weight /= if *weight > 0.0 { positive } else { negative };
            if !weight.is_finite() {
                *weight = 0.0;
            }
        }
    }
    let rows = filtered(opponent.len(), width, radius, true, |pixel, tap| {
        let luminance = (opponent[pixel].x + 16.0) / 116.0;
        weights[tap].map(|weight| weight * luminance)
    });
    let all = filtered(opponent.len(), width, radius, false, |pixel, tap| {
        let ([smooth, first, second], [smooth_row, first_row, second_row]) =
            (weights[tap], rows[pixel]);
        [
            smooth * first_row,
            first * smooth_row,
            smooth * second_row,
            second * smooth_row,
        ]
    });
    let lengths = |&[edge_x, edge_y, point_x, point_y]: &[f32; 4]| {
        [(edge_x, edge_y), (point_x, point_y)].map(|(x, y)| (x * x + y * y).sqrt())
    };
    all.par_iter().map(lengths).collect()
}

/// Filters an image of `count` pixels along its rows or columns. `term` returns the weighted values of a pixel, given
/// by its index, for a tap of the filter, 0 to `2 * radius`. Pixels outside the image equal the nearest one inside.
fn filtered<const N: usize>(
    count: usize,
    width: usize,
    radius: usize,
    is_along_rows: bool,
    term: impl Fn(usize, usize) -> [f32; N] + Sync,
) -> Vec<[f32; N]> {
    let height = count / width;
    let pixels = (0..count).into_par_iter().map(|pixel| {
        let (row, column) = (pixel / width, pixel % width);
        let mut sum = [0.0; N];
        for tap in 0..=2 * radius {
            let moved =
                |place: usize, length: usize| (place + tap).saturating_sub(radius).min(length - 1);
            let source = if is_along_rows {
                row * width + moved(column, width)
            } else {
                moved(row, height) * width + column
            };
            for (sum, value) in sum.iter_mut().zip(term(source, tap)) {
                *sum += value;
            }
        }
        sum
    });
    pixels.collect()
}

/// Returns the linear value of an sRGB value, both 0 to 1.
fn linear(srgb: f32) -> f32 {
    if srgb <= 0.04045 {
        srgb / 12.92
    } else {
        libm::powf((srgb + 0.055) / 1.055, 2.4)
    }
}

fn rgb_to_xyz(rgb: Vec3) -> Vec3 {
    Vec3::new(
        rgb.dot(Vec3::new(0.412_386_56, 0.357_591_5, 0.180_450_49)),
        rgb.dot(Vec3::new(0.212_636_82, 0.715_183, 0.072_180_2)),
        rgb.dot(Vec3::new(0.019_330_62, 0.119_197_16, 0.950_372_6)),
    )
}

fn xyz_to_rgb(xyz: Vec3) -> Vec3 {
    Vec3::new(
        xyz.dot(Vec3::new(3.241_003_3, -1.537_399, -0.498_615_86)),
        xyz.dot(Vec3::new(-0.969_224_3, 1.875_93, 0.041_554_224)),
        xyz.dot(Vec3::new(0.055_639_423, -0.204_011_2, 1.057_149)),
    )
}

/// Converts CIE XYZ to a linear form of CIELAB: luminance, red-green and blue-yellow.
fn xyz_to_opponent(xyz: Vec3) -> Vec3 {
    opponent(xyz * INVERSE_WHITE)
}

fn opponent(relative: Vec3) -> Vec3 {
    Vec3::new(
        116.0 * relative.y - 16.0,
        500.0 * (relative.x - relative.y),
        200.0 * (relative.y - relative.z),
    )
}

fn opponent_to_xyz(opponent: Vec3) -> Vec3 {
    let y = (opponent.x + 16.0) / 116.0;
    Vec3::new(y + opponent.y / 500.0, y, y - opponent.z / 200.0) * WHITE
}

fn xyz_to_lab(xyz: Vec3) -> Vec3 {
    const DELTA: f32 = 6.0 / 29.0;
    let curve = |value: f32| {
        if value > DELTA * DELTA * DELTA {
            libm::powf(value, 1.0 / 3.0)
        } else {
            value / (3.0 * DELTA * DELTA) + 4.0 / 29.0
        }
    };
    opponent((xyz * INVERSE_WHITE).to_array().map(curve).into())
}

/// Applies the Hunt effect to a color in CIELAB: bright colors look more colorful.
fn hunt(lab: Vec3) -> Vec3 {
    Vec3::new(lab.x, 0.01 * lab.x * lab.y, 0.01 * lab.x * lab.z)
}

/// Returns the distance HyAB of two colors: the difference of lightness plus the distance of hue and chroma.
fn hyab(one: Vec3, other: Vec3) -> f32 {
    let difference = one - other;
    difference.x.abs() + libm::hypotf(difference.y, difference.z)
}

/// Returns the color difference of the two displayable colors that differ most, green and blue: their distance HyAB
/// to the power of [`COLOR_EXPONENT`].
fn largest_color_difference() -> f32 {
    let [green, blue] = [Vec3::Y, Vec3::Z].map(|rgb| hunt(xyz_to_lab(rgb_to_xyz(rgb))));
    libm::powf(hyab(green, blue), COLOR_EXPONENT)
}
