//! Environment maps: radiance by direction, and importance sampling of directions. Twin:
//! `kernels/shared/environment.cuh`.
//!
//! The image is a latitude-longitude map: direction (sin 2πu sin πv, cos πv, −cos 2πu sin πv), v from the top, bilinear
//! between texel centers. Sampling chooses a row, then a texel, each by its share of luminance, then a point of the
//! texel uniformly by solid angle. A texel's share is the integral of the bilinear map over it, so every direction with
//! radiance has a positive pdf. Cumulative tables hold integers, summed by `compaction`'s scan.

use compaction::{
    scan::{Operator, cpu::inclusive_in_place},
    shared,
};
use glam::Vec3;

use crate::math::{
    INV_PI, arctan2, luminance, max_f32, min_f32, normalize, sin_cos_turns, truncated,
};

shared! {
    /// Size, orientation and selection probability of the environment map.
    pub struct Environment {
        /// Width in texels; 0 without an environment map.
        pub width: u32,
        /// Height of the environment map in texels.
        pub height: u32,
        /// Rotation about +y in full turns, 0 to below 1, counter-clockwise seen from above.
        pub turns: f32,
        /// Probability that a light sample chooses the environment map.
        pub chance: f32,
    }
}

shared! {
    /// A row of the environment map with its part of the sampling tables.
    #[repr(align(16))]
    pub struct EnvironmentRow {
        /// Cumulative luminance of this row and those above it, in units in which all rows sum to at most 2³² − 1.
        pub cumulative: u32,
        /// Probability density, per steradian, of directions in a texel of this row, divided by the texel's share.
        pub density: f32,
        /// Cosine of the angle between +y and the row's upper edge.
        pub top: f32,
        /// Cosine of the angle between +y and the row's lower edge.
        pub bottom: f32,
    }
}

shared! {
    /// A texel of the environment map with its part of the sampling tables.
    #[repr(align(16))]
    pub struct EnvironmentTexel {
        /// Radiance at the texel's center in linear sRGB.
        pub radiance: Vec3,
        /// Cumulative luminance of this texel and those before it in its row, in units in which the row sums to at most
        /// 2³² − 1.
        pub cumulative: u32,
    }
}

/// Value of the environment map in a direction.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentSample {
    /// Radiance in linear sRGB.
    pub radiance: Vec3,
    /// Pdf per steradian with which [`sample_environment`] samples the direction.
    pub pdf: f32,
}

/// Returns the index, among `count` texels, of the one that contains a coordinate in texels. Coordinates outside are
/// clamped.
#[inline(always)]
pub fn texel_of(coordinate: f32, count: u32) -> u32 {
    let last = (count - 1) as f32;
    truncated(min_f32(max_f32(coordinate, 0.0), last))
}

/// Returns the number of bits by which a random target is shifted to get its bucket in the search guide of a cumulative
/// table of `count` entries. There are as many buckets as entries, rounded down to a power of two, and at least two.
#[inline(always)]
pub fn guide_shift(count: u32) -> u32 {
    let shift = count.leading_zeros() + 1;
    if shift > 31 { 31 } else { shift }
}

/// Returns the number of words of the search guide of a cumulative table of `count` entries: one per bucket, and one
/// that ends the last bucket.
#[inline(always)]
pub fn guide_length(count: u32) -> u32 {
    (1 << (32 - guide_shift(count))) + 1
}

/// Returns the row, from `first` to `last` inclusive, whose interval of cumulative luminance contains `target`, by
/// binary search.
#[inline]
pub fn row_at(rows: &[EnvironmentRow], first: u32, last: u32, target: u32) -> u32 {
    let (mut first, mut last) = (first, last);
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

/// Returns the column, from `first` to `last` inclusive, whose interval of cumulative luminance contains `target`, in
/// the row whose first texel is `start`.
#[inline]
pub fn texel_at(
    texels: &[EnvironmentTexel],
    start: u32,
    first: u32,
    last: u32,
    target: u32,
) -> u32 {
    let (mut first, mut last) = (first, last);
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

/// Returns the position of `place`, a fixed-point number with 32 fractional bits, between two integers, 0 to almost 1.
#[inline]
pub fn fraction_between(place: u64, before: u32, after: u32) -> f32 {
    IntervalPlace::new(place, before, after).fraction()
}

/// Samples a direction by the luminance of the environment map. `guide` is that of
/// [`EnvironmentTables`]. `u` and `v` are 32 random bits each. Returns a direction of length 1.
#[inline]
pub fn sample_environment(
    environment: &Environment,
    rows: &[EnvironmentRow],
    texels: &[EnvironmentTexel],
    guide: &[u32],
    u: u32,
    v: u32,
) -> Vec3 {
    let (y, down) = choose_row(environment, rows, guide, v);
    let target = column_target(environment, texels, y, u);
    let (x, along) = choose_column(environment, texels, guide, y, target);
    let row = rows[y as usize];
    direction_in(environment, (row.top, row.bottom), x, along, down)
}

/// A random position in an interval of a cumulative table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IntervalPlace {
    /// Whole units from the interval's start.
    pub whole: u32,
    /// Fraction of a unit, in units of 2⁻³².
    pub rest: u32,
    /// Length of the interval in whole units.
    pub length: u32,
}

impl IntervalPlace {
    /// Returns the place of `place`, a fixed-point number with 32 fractional bits, between two integers.
    #[inline(always)]
    fn new(place: u64, before: u32, after: u32) -> IntervalPlace {
        IntervalPlace {
            whole: (place >> 32) as u32 - before,
            rest: place as u32,
            length: after - before,
        }
    }

    /// Returns the place as a fraction of the interval, 0 to almost 1.
    #[inline(always)]
    pub(crate) fn fraction(self) -> f32 {
        let within = self.whole as f32 + self.rest as f32 * (1.0 / 4_294_967_296.0);
        min_f32(within / self.length as f32, 0.999_999_94)
    }
}

/// Chooses a row of the environment map by 32 random bits. Returns its index, and the place in its interval.
#[inline(always)]
pub(crate) fn choose_row(
    environment: &Environment,
    rows: &[EnvironmentRow],
    guide: &[u32],
    v: u32,
) -> (u32, IntervalPlace) {
    let height = environment.height;
    let down = u64::from(v) * u64::from(rows[(height - 1) as usize].cumulative);
    let target = (down >> 32) as u32;
    let bucket = (target >> guide_shift(height)) as usize;
    let y = row_at(rows, guide[bucket], guide[bucket + 1], target);
    let above = if y > 0 {
        rows[(y - 1) as usize].cumulative
    } else {
        0
    };
    (
        y,
        IntervalPlace::new(down, above, rows[y as usize].cumulative),
    )
}

/// Returns the target of 32 random bits in the cumulative table of row `y`, as a fixed-point number with 32 fractional
/// bits, and the index of its bucket in the search guide.
#[inline(always)]
pub(crate) fn column_target(
    environment: &Environment,
    texels: &[EnvironmentTexel],
    y: u32,
    u: u32,
) -> (u64, u32) {
    let (width, height) = (environment.width, environment.height);
    let along = u64::from(u) * u64::from(texels[(y * width + width - 1) as usize].cumulative);
    let of_row = guide_length(height) + y * guide_length(width);
    (along, of_row + ((along >> 32) as u32 >> guide_shift(width)))
}

/// Chooses a texel of row `y` by the values of [`column_target`]. Returns its column, and the place in its interval.
#[inline(always)]
pub(crate) fn choose_column(
    environment: &Environment,
    texels: &[EnvironmentTexel],
    guide: &[u32],
    y: u32,
    (along, bucket): (u64, u32),
) -> (u32, IntervalPlace) {
    let start = y * environment.width;
    let (first, last) = (guide[bucket as usize], guide[bucket as usize + 1]);
    let x = texel_at(texels, start, first, last, (along >> 32) as u32);
    let before = if x > 0 {
        texels[(start + x - 1) as usize].cumulative
    } else {
        0
    };
    let after = texels[(start + x) as usize].cumulative;
    (x, IntervalPlace::new(along, before, after))
}

/// Returns the direction, of length 1, to a place in column `x` of a row. `top` and `bottom` are those of the row.
#[inline(always)]
pub(crate) fn direction_in(
    environment: &Environment,
    (top, bottom): (f32, f32),
    x: u32,
    along: IntervalPlace,
    down: IntervalPlace,
) -> Vec3 {
    let upwards = top + (bottom - top) * down.fraction();
    let sideways = max_f32(0.0, (1.0 - upwards) * (1.0 + upwards)).sqrt();
    let turns = (x as f32 + along.fraction()) / environment.width as f32 - environment.turns;
    let (sine, cosine) = sin_cos_turns(if turns < 0.0 { turns + 1.0 } else { turns });
    normalize(Vec3::new(sine * sideways, upwards, -cosine * sideways))
}

/// Returns radiance and pdf of the environment map in a direction of length 1.
#[inline]
pub fn environment_at(
    environment: &Environment,
    rows: &[EnvironmentRow],
    texels: &[EnvironmentTexel],
    direction: Vec3,
) -> EnvironmentSample {
    let place = map_place(environment, direction);
    let read = read_texels(environment, rows, texels, &place);
    interpolated_radiance(&place, &read)
}

/// The place of a direction in the environment map: its texel, and the four texel centers around it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MapPlace {
    /// Column of the texel that contains the direction.
    pub column: u32,
    /// Row of the texel that contains the direction.
    pub line: u32,
    /// Column of the texel centers on the left.
    pub left: u32,
    /// Column of the texel centers on the right. Columns wrap around.
    pub right: u32,
    /// Row of the upper texel centers.
    pub upper: u32,
    /// Row of the lower texel centers. Rows end at the poles.
    pub lower: u32,
    /// Interpolation weight of the right texels, 0..=1.
    pub right_share: f32,
    /// Interpolation weight of the lower texels, 0..=1.
    pub lower_share: f32,
}

/// Values that [`environment_at`] reads at a [`MapPlace`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapTexels {
    /// The texel's share of its row.
    pub share: u32,
    /// Pdf per unit of the share.
    pub density: f32,
    /// Radiance at the texel centers: the upper left, upper right, lower left and lower right one.
    pub corners: [Vec3; 4],
}

/// Returns the place of a direction of length 1 in the environment map.
#[inline(always)]
pub(crate) fn map_place(environment: &Environment, direction: Vec3) -> MapPlace {
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
    let (left, upper) = (x + (width as f32 - 0.5), y - 0.5);
    let (x0, y0) = (texel_of(left, 2 * width), texel_of(upper, height));
    // Without the operator %, for which there are no vector instructions.
    let wrapped_left = if x0 >= width { x0 - width } else { x0 };
    let next = wrapped_left + 1;
    MapPlace {
        column: texel_of(x, width),
        line: texel_of(y, height),
        left: wrapped_left,
        right: if next == width { 0 } else { next },
        upper: y0,
        lower: if y0 + 1 < height { y0 + 1 } else { y0 },
        right_share: left - x0 as f32,
        lower_share: min_f32(max_f32(upper - y0 as f32, 0.0), 1.0),
    }
}

/// Reads the texels around a place in the environment map.
#[inline(always)]
pub(crate) fn read_texels(
    environment: &Environment,
    rows: &[EnvironmentRow],
    texels: &[EnvironmentTexel],
    place: &MapPlace,
) -> MapTexels {
    let width = environment.width;
    let start = place.line * width;
    let before = if place.column > 0 {
        texels[(start + place.column - 1) as usize].cumulative
    } else {
        0
    };
    let at = |x: u32, y: u32| texels[(y * width + x) as usize].radiance;
    MapTexels {
        share: texels[(start + place.column) as usize].cumulative - before,
        density: rows[place.line as usize].density,
        corners: [
            at(place.left, place.upper),
            at(place.right, place.upper),
            at(place.left, place.lower),
            at(place.right, place.lower),
        ],
    }
}

/// Returns radiance and pdf of the environment map at a place, from what was read there.
#[inline(always)]
pub(crate) fn interpolated_radiance(place: &MapPlace, read: &MapTexels) -> EnvironmentSample {
    let (fx, fy) = (place.right_share, place.lower_share);
    let above = read.corners[0] * (1.0 - fx) + read.corners[1] * fx;
    let below = read.corners[2] * (1.0 - fx) + read.corners[3] * fx;
    EnvironmentSample {
        radiance: above * (1.0 - fy) + below * fy,
        pdf: read.share as f32 * read.density,
    }
}

/// Sampling tables of an environment map.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentTables {
    /// Rows from the top; empty for a black map.
    pub rows: Vec<EnvironmentRow>,
    /// Texels of the environment map in row-major order from the top.
    pub texels: Vec<EnvironmentTexel>,
    /// Search guide of the rows, then that of the texels of each row, see [`environment_guide`].
    pub guide: Vec<u32>,
    /// Integral of the luminance over all directions: luminance times steradians.
    pub brightness: f64,
}

/// Builds the sampling tables of an image of `width` texels per row. Radiances must be finite and not negative.
///
/// Returns empty tables for a black image.
pub fn environment_tables(width: u32, radiances: &[Vec3]) -> EnvironmentTables {
    let columns = width as usize;
    let height = radiances.len() / columns;
    let edge = |row: usize| libm::cos(std::f64::consts::PI * row as f64 / height as f64);
    let mut shares = vec![0.0_f64; columns];
    let mut texels = Vec::with_capacity(radiances.len());
    let mut row_weights = Vec::with_capacity(height);
    for row in 0..height {
        for (column, share) in shares.iter_mut().enumerate() {
            *share = mean_luminance(radiances, columns, height, column, row);
        }
        let sum: f64 = shares.iter().sum();
        row_weights.push(sum * (edge(row) - edge(row + 1)));
        let mut cumulative = to_integers(&shares, sum);
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
    let mut cumulative = to_integers(&row_weights, sum);
    let chances = cumulative.clone();
    inclusive_in_place(Operator::Sum, &mut cumulative);
    let total = f64::from(cumulative[height - 1]);
    let texel_turn = 2.0 * std::f64::consts::PI / f64::from(width);
    let rows: Vec<EnvironmentRow> = (0..height)
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
        guide: environment_guide(&rows, &texels),
        rows,
        texels,
        brightness: sum * texel_turn,
    }
}

/// Returns the search guides of the cumulative tables, concatenated: that of `rows`, which must not be empty, then that
/// of the texels of each row.
///
/// A guide divides the targets, all 32-bit numbers, into equal buckets, see [`guide_shift`]. Its entry for a bucket is
/// the first index in the table whose interval may contain a target of the bucket. The next entry bounds such indices
/// from above, inclusive. Indices of texels count from the start of the row.
///
/// Source: H. Chen & Y. Asau, On Generating Random Variates from an Empirical Distribution, 1974.
pub fn environment_guide(rows: &[EnvironmentRow], texels: &[EnvironmentTexel]) -> Vec<u32> {
    let mut guide = Vec::new();
    append_guide(&mut guide, rows.iter().map(|row| row.cumulative));
    for row in texels.chunks_exact(texels.len() / rows.len()) {
        append_guide(&mut guide, row.iter().map(|texel| texel.cumulative));
    }
    guide
}

/// Appends the search guide of one cumulative table, of [`guide_length`] words.
fn append_guide(guide: &mut Vec<u32>, table: impl ExactSizeIterator<Item = u32> + Clone) {
    let count = table.len() as u32;
    let mut first = 0;
    let mut rest = table.peekable();
    for bucket in 0..guide_length(count) {
        let least_target = u64::from(bucket) << guide_shift(count);
        while first + 1 < count
            && rest
                .next_if(|&sum| u64::from(sum) <= least_target)
                .is_some()
        {
            first += 1;
        }
        guide.push(first);
    }
}

/// Returns the mean luminance of the bilinear map over a texel: along each axis, weight ¾ for its own value and ⅛ for
/// each neighbour.
fn mean_luminance(
    radiances: &[Vec3],
    width: usize,
    height: usize,
    column: usize,
    row: usize,
) -> f64 {
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

/// Scales weights to integers that sum to at most 2³² − 1. Positive weights become at least 1. `sum` is the sum of
/// `weights`.
fn to_integers(weights: &[f64], sum: f64) -> Vec<u32> {
    // Each is rounded up, by less than 1.
    let max_sum = f64::from(u32::MAX) - weights.len() as f64 - 1.0;
    let scale = if sum > 0.0 { max_sum / sum } else { 0.0 };
    weights
        .iter()
        .map(|weight| (weight * scale).ceil() as u32)
        .collect()
}
