//! A triangle in the image of its opacity texture, with bounds of the texels that its parts read.

use crate::shading::texture::{NEAREST, Texture};

/// Largest coordinate in images, 1 being their width or height, for which rounding errors are bounded.
const MAX_COORDINATE: f64 = 65536.0;
/// Largest rounding error in texels. With larger errors, cells would rarely be known.
const MAX_ERROR: f64 = 0.5;

/// A triangle in texels of an image that continues endlessly in both directions.
pub(super) struct ImageTriangle {
    /// The corners: column and row, 0 at the image's upper left corner.
    corners: [[f64; 2]; 3],
    /// Bound of the error of columns and rows, as the opacity test computes them.
    error: [f64; 2],
    /// Whether the nearest texel is read, and not the four nearest.
    reads_one: bool,
}

/// First and last column, then first and last row, of a rectangle of texels.
pub(super) type TexelRange = [[i64; 2]; 2];

impl ImageTriangle {
    /// Creates the triangle with these texture coordinates (u, v) of the corners. Returns `None` if the rounding errors
    /// of the opacity test are large or have no bound.
    pub(super) fn new(texture: &Texture, coordinates: [[f32; 2]; 3]) -> Option<ImageTriangle> {
        let coordinates = coordinates.map(|corner| corner.map(f64::from));
        let axes = [
            [texture.u_by_u, texture.u_by_v, texture.u_at_zero],
            [texture.v_by_u, texture.v_by_v, texture.v_at_zero],
        ];
        let sizes = [texture.width, texture.height].map(f64::from);
        let sum = |axis: usize| {
            coordinates
                .map(|corner| corner[axis].abs())
                .iter()
                .sum::<f64>()
        };
        let sums = [sum(0), sum(1)];
        let mut triangle = ImageTriangle {
            corners: [[0.0; 2]; 3],
            error: [0.0; 2],
            reads_one: texture.filter == NEAREST,
        };
        for (axis, (row, size)) in axes.into_iter().zip(sizes).enumerate() {
            let [by_u, by_v, at_zero] = row.map(f64::from);
            let reach = sums[0] * by_u.abs() + sums[1] * by_v.abs() + at_zero.abs();
            // An f32 rounds by up to 2⁻²⁴ of its value. Interpolated coordinates contain barycentric weights, which
            // exceed their cell by up to 2⁻²¹, and five roundings. The transform adds four and wrapping three, of
            // values up to 2. All bounds below are larger.
            let interpolated = (sums[0] * by_u.abs() + sums[1] * by_v.abs()) / 524_288.0;
            let error = interpolated + reach / 4_194_304.0 + 1.0 / 2_097_152.0;
            triangle.error[axis] = error * size;
            // A NaN fails the comparison.
            if !(reach <= MAX_COORDINATE && triangle.error[axis] <= MAX_ERROR) {
                return None;
            }
            for (corner, [u, v]) in triangle.corners.iter_mut().zip(coordinates) {
                corner[axis] = (u * by_u + v * by_v + at_zero) * size;
            }
        }
        Some(triangle)
    }

    /// Returns the binary logarithm of the smallest number of cells along an edge, a power of two, that makes cells
    /// small. The edges of a cell from its first corner are then at most `max_texels` wide and high.
    pub(super) fn level(&self, max_texels: f64) -> u32 {
        let [a, b, c] = self.corners;
        let edge = |end: [f64; 2]| (end[0] - a[0]).abs().max((end[1] - a[1]).abs());
        let count = (edge(b).max(edge(c)) / max_texels).ceil();
        (count as u32).max(1).next_power_of_two().ilog2()
    }

    /// Returns the texels that opacity tests of the whole triangle may read.
    pub(super) fn texels_of_all(&self) -> TexelRange {
        self.texels_of_cell(0, 0, 1)
    }

    /// Returns the texels that opacity tests in a cell may read. There are `count` columns and rows of cells.
    pub(super) fn texels_of_cell(&self, column: u32, row: u32, count: u32) -> TexelRange {
        let [a, b, c] = self.corners;
        let part = 1.0 / f64::from(count);
        // Corners of the cell beyond the triangle's third edge are not reached.
        let corners_inside = count - column - row;
        [0, 1].map(|axis| {
            let (right, down) = ((b[axis] - a[axis]) * part, (c[axis] - a[axis]) * part);
            let place = a[axis] + right * f64::from(column) + down * f64::from(row);
            let (low, high) = match corners_inside {
                0 => (0.0, 0.0),
                1 => (right.min(down).min(0.0), right.max(down).max(0.0)),
                _ => (
                    right.min(0.0) + down.min(0.0),
                    right.max(0.0) + down.max(0.0),
                ),
            };
            self.texels_between(axis, place + low, place + high)
        })
    }

    /// Returns the first and the last texel that are read between two places along an axis.
    fn texels_between(&self, axis: usize, low: f64, high: f64) -> [i64; 2] {
        // Four texels are read between their centers.
        let (to_center, more) = if self.reads_one { (0.0, 0) } else { (0.5, 1) };
        let first = (low - to_center - self.error[axis]).floor() as i64;
        let last = (high - to_center + self.error[axis]).floor() as i64;
        [first, last + more]
    }
}
