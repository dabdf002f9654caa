//! Quantises the boxes of a node's children to the grid of the node.

use glam::Vec3;

use crate::accel::bvh::{Node, spacing};

impl Node {
    /// Returns a node without children whose grid covers the box from `corner` to `end`.
    #[inline(always)]
    pub(crate) fn around(corner: Vec3, end: Vec3) -> Node {
        let spacing = ((end - corner) * (1.0 / 255.0)).map(power_above);
        let [x, y, z] = spacing.to_array().map(|along| along.to_bits() >> 23);
        Node {
            corner,
            exponents: x | y << 8 | z << 16,
            ..Node::default()
        }
    }

    /// Returns the distances between adjacent planes of the node's grid in x, y and z.
    #[inline(always)]
    pub(crate) fn grid(&self) -> Vec3 {
        let [x, y, z] = [0, 1, 2].map(|axis| spacing(self.exponents, axis));
        Vec3::new(x, y, z)
    }

    /// Sets the box of the child in a slot to the smallest one on the grid around `low` to `high`, which lies inside
    /// the grid. Rounding may shift it a little, which the margins of
    /// [`hit_children`](crate::accel::bvh::hit_children) cover. `grid` is [`Node::grid`].
    #[inline(always)]
    pub(crate) fn set_box(&mut self, grid: Vec3, slot: usize, low: Vec3, high: Vec3) {
        let low = (low - self.corner) / grid;
        let high = (high - self.corner) / grid;
        (self.min_x[slot], self.max_x[slot]) = (low.x as u8, plane_above(high.x));
        (self.min_y[slot], self.max_y[slot]) = (low.y as u8, plane_above(high.y));
        (self.min_z[slot], self.max_z[slot]) = (low.z as u8, plane_above(high.z));
    }
}

/// Returns the first grid plane at or above a number, at most 255.
#[inline(always)]
fn plane_above(number: f32) -> u8 {
    let plane = number as u8;
    plane.saturating_add(u8::from(f32::from(plane) < number))
}

/// Returns the least power of two at or above a number. Numbers below 10⁻²² count as 10⁻²², so that no bits of an `f32`
/// are lost.
#[inline(always)]
fn power_above(number: f32) -> f32 {
    let bits = number.max(1e-22).to_bits();
    f32::from_bits((bits + 0x007f_ffff) & 0x7f80_0000)
}
