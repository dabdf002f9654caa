//! A sky from a picture: how bright it is in a direction, and directions by its brightness. Twin:
//! `kernels/shared/environment.cuh`.
//!
//! The picture is a map of longitude and latitude: (sin 2πu sin πv, cos πv, −cos 2πu sin πv), v from the top, with values at
//! the texels' centres and bilinear between them. Directions are drawn by a texel's share of the luminance: first a row,
//! then a texel of it, then a point of that, all evenly by solid angle. A texel's share is what the bilinear map holds over
//! it: so no direction that shines is without a chance. The tables are sums of integers, by `compaction`'s scan.

use compaction::{
    scan::{Operator, cpu::inclusive_in_place},
    shared,
};
use glam::Vec3;

use crate::math::{INV_PI, arctan2, greater, lesser, luminance, normalize, sin_cos_turns};

shared! {
    /// The sky's picture as a whole.
    pub struct Environment {
        /// Texels a row, 0 without a picture.
        pub width: u32,
        /// Rows.
        pub height: u32,
        /// By so many turns it is turned about +y, 0..1.
        pub turns: f32,
        /// Chance that a light sample asks it.
        pub chance: f32,
    }
}

shared! {
    /// A row of the picture, from the top.
    #[repr(align(16))]
    pub struct EnvironmentRow {
        /// Luminance of this row and those before it, all rows together at most 2³² − 1.
        pub cumulative: u32,
        /// Density per steradian for each unit of a texel's share of its row.
        pub density: f32,
        /// Cosine of the angle between +y and its upper edge.
        pub top: f32,
        /// Of its lower edge.
        pub bottom: f32,
    }
}

shared! {
    /// A texel of the picture.
    #[repr(align(16))]
    pub struct EnvironmentTexel {
        /// Linear sRGB, at its centre.
        pub radiance: Vec3,
        /// Luminance of it and those before it in its row, the row together at most 2³² − 1.
        pub cumulative: u32,
    }
}

/// What the sky's picture shows in a direction.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// Linear sRGB.
    pub radiance: Vec3,
    /// Density per steradian with which `sample_environment` draws the direction.
    pub pdf: f32,
}

/// The texel of a row of `count` that holds the coordinate: 0 is the first one's edge, `count` the last one's.
#[inline]
pub fn texel_of(coordinate: f32, count: u32) -> u32 {
    let last = (count - 1) as f32;
    lesser(greater(coordinate, 0.0), last) as u32
}

/// The row whose luminance the target falls into.
#[inline]
pub fn row_at(rows: &[EnvironmentRow], height: u32, target: u32) -> u32 {
    let mut first = 0;
    let mut last = height - 1;
    while first < last {
        let middle = (first + last) / 2;
        if target < rows[middle as usize].cumulative {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    first
}

/// The texel, of those of one row from `start` on, whose luminance the target falls into.
#[inline]
pub fn texel_at(texels: &[EnvironmentTexel], start: u32, width: u32, target: u32) -> u32 {
    let mut first = 0;
    let mut last = width - 1;
    while first < last {
        let middle = (first + last) / 2;
        if target < texels[(start + middle) as usize].cumulative {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    first
}

/// How far `place`, 32 bits before the point and 32 behind it, lies between two whole numbers, 0 to almost 1.
#[inline]
pub fn fraction_between(place: u64, before: u32, after: u32) -> f32 {
    let whole = (place >> 32) as u32 - before;
    let rest = place as u32;
    let within = whole as f32 + rest as f32 * (1.0 / 4_294_967_296.0);
    lesser(within / (after - before) as f32, 0.999_999_94)
}

/// A direction by the sky's brightness.
#[inline]
pub fn sample_environment(
    environment: &Environment,
    rows: &[EnvironmentRow],
    texels: &[EnvironmentTexel],
    u: u32,
    v: u32,
) -> Vec3 {
    let (width, height) = (environment.width, environment.height);
    let down = u64::from(v) * u64::from(rows[(height - 1) as usize].cumulative);
    let y = row_at(rows, height, (down >> 32) as u32);
    let row = rows[y as usize];
    let above = if y > 0 {
        rows[(y - 1) as usize].cumulative
    } else {
        0
    };
    let start = y * width;
    let along = u64::from(u) * u64::from(texels[(start + width - 1) as usize].cumulative);
    let x = texel_at(texels, start, width, (along >> 32) as u32);
    let before = if x > 0 {
        texels[(start + x - 1) as usize].cumulative
    } else {
        0
    };
    let after = texels[(start + x) as usize].cumulative;
    let upwards = row.top + (row.bottom - row.top) * fraction_between(down, above, row.cumulative);
    let sideways = greater(0.0, (1.0 - upwards) * (1.0 + upwards)).sqrt();
    let turns =
        (x as f32 + fraction_between(along, before, after)) / width as f32 - environment.turns;
    let (sine, cosine) = sin_cos_turns(if turns < 0.0 { turns + 1.0 } else { turns });
    normalize(Vec3::new(sine * sideways, upwards, -cosine * sideways))
}

/// What the sky's picture shows in a direction of length 1.
#[inline]
pub fn environment_at(
    environment: &Environment,
    rows: &[EnvironmentRow],
    texels: &[EnvironmentTexel],
    direction: Vec3,
) -> Sight {
    let (width, height) = (environment.width, environment.height);
    let sideways = (direction.x * direction.x + direction.z * direction.z).sqrt();
    let angle = arctan2(sideways, direction.y);
    let around = arctan2(direction.x, -direction.z) * (0.5 * INV_PI) + environment.turns;
    let turns = if around < 0.0 {
        around + 1.0
    } else if around >= 1.0 {
        around - 1.0
    } else {
        around
    };
    let (x, y) = (turns * width as f32, angle * INV_PI * height as f32);
    let (column, line) = (texel_of(x, width), texel_of(y, height));
    let start = line * width;
    let before = if column > 0 {
        texels[(start + column - 1) as usize].cumulative
    } else {
        0
    };
    let share = texels[(start + column) as usize].cumulative - before;
    // The four centres around the point: the last column's neighbour is the first, and no row lies beyond a pole.
    let (left, upper) = (x + (width as f32 - 0.5), y - 0.5);
    let (x0, y0) = (texel_of(left, 2 * width), texel_of(upper, height));
    let y1 = if y0 + 1 < height { y0 + 1 } else { y0 };
    let (fx, fy) = (
        left - x0 as f32,
        lesser(greater(upper - y0 as f32, 0.0), 1.0),
    );
    let (x0, x1) = (x0 % width, (x0 + 1) % width);
    let at = |x: u32, y: u32| texels[(y * width + x) as usize].radiance;
    let above = at(x0, y0) * (1.0 - fx) + at(x1, y0) * fx;
    let below = at(x0, y1) * (1.0 - fx) + at(x1, y1) * fx;
    Sight {
        radiance: above * (1.0 - fy) + below * fy,
        pdf: share as f32 * rows[line as usize].density,
    }
}

/// The tables of a picture.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentTables {
    /// From the top.
    pub rows: Vec<EnvironmentRow>,
    /// Row by row.
    pub texels: Vec<EnvironmentTexel>,
    /// The luminance's integral over all directions.
    pub brightness: f64,
}

/// Tables over a picture of `width` texels a row, of radiances that are finite and not negative. Without a row where it is
/// black.
pub fn environment_tables(width: u32, radiances: &[Vec3]) -> EnvironmentTables {
    let columns = width as usize;
    let height = radiances.len() / columns;
    let edge = |row: usize| libm::cos(std::f64::consts::PI * row as f64 / height as f64);
    let mut shares = vec![0.0_f64; columns];
    let mut texels = Vec::with_capacity(radiances.len());
    let mut row_weights = Vec::with_capacity(height);
    for row in 0..height {
        for (column, share) in shares.iter_mut().enumerate() {
            *share = held(radiances, columns, height, column, row);
        }
        let sum: f64 = shares.iter().sum();
        row_weights.push(sum * (edge(row) - edge(row + 1)));
        let mut cumulative = in_integers(&shares, sum);
        inclusive_in_place(Operator::Sum, &mut cumulative);
        let line = &radiances[row * columns..][..columns];
        texels.extend(line.iter().zip(cumulative).map(|(&radiance, cumulative)| {
            EnvironmentTexel {
                radiance,
                cumulative,
            }
        }));
    }
    let sum: f64 = row_weights.iter().sum();
    if sum == 0.0 {
        return EnvironmentTables::default();
    }
    let mut cumulative = in_integers(&row_weights, sum);
    let chances = cumulative.clone();
    inclusive_in_place(Operator::Sum, &mut cumulative);
    let total = f64::from(cumulative[height - 1]);
    let texel_turn = 2.0 * std::f64::consts::PI / f64::from(width);
    let rows = (0..height)
        .map(|row| {
            let in_row = f64::from(texels[(row + 1) * columns - 1].cumulative);
            let solid_angle = texel_turn * (edge(row) - edge(row + 1));
            let chance = f64::from(chances[row]) / total;
            EnvironmentRow {
                cumulative: cumulative[row],
                density: if chance > 0.0 {
                    (chance / (in_row * solid_angle)) as f32
                } else {
                    0.0
                },
                top: edge(row) as f32,
                bottom: edge(row + 1) as f32,
            }
        })
        .collect();
    EnvironmentTables {
        rows,
        texels,
        brightness: sum * texel_turn,
    }
}

/// Mean luminance of the bilinear map over a texel: of its own value three quarters a side, of each neighbour's an eighth.
fn held(radiances: &[Vec3], width: usize, height: usize, column: usize, row: usize) -> f64 {
    let neighbours = |at: usize, count: usize, wraps: bool| {
        let before = match at {
            0 if wraps => count - 1,
            0 => 0,
            _ => at - 1,
        };
        let after = match at + 1 {
            end if end < count => end,
            _ if wraps => 0,
            _ => at,
        };
        [(before, 0.125), (at, 0.75), (after, 0.125)]
    };
    neighbours(row, height, false)
        .into_iter()
        .flat_map(|(y, down)| {
            neighbours(column, width, true).map(|(x, along)| (x, y, along * down))
        })
        .map(|(x, y, weight)| weight * f64::from(luminance(radiances[y * width + x])))
        .sum()
}

/// Weights as integers, at least 1 each that is not 0, of at most 2³² − 1 in all.
fn in_integers(weights: &[f64], sum: f64) -> Vec<u32> {
    // Each is rounded up, by less than 1.
    let most = f64::from(u32::MAX) - weights.len() as f64 - 1.0;
    let scale = if sum > 0.0 { most / sum } else { 0.0 };
    weights
        .iter()
        .map(|weight| (weight * scale).ceil() as u32)
        .collect()
}
