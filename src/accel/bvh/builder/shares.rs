//! Distributes the boxes of a wide node among the nodes of a binary tree at the least cost (Ylitie, Karras & Laine
//! 2017).

use bytemuck::Zeroable;

/// Maximum number of children of a wide node.
const MAX_BOXES: usize = 16;

/// The optimal distribution of the boxes that represent a binary node between its two children. `N` is the maximum
/// number of boxes, up to 16.
#[derive(Clone, Copy, Zeroable)]
#[repr(transparent)]
pub(crate) struct Shares<const N: usize> {
    /// Entry `n - 1` is the number of boxes of the first child if there are `n`. For 1 < n < `max_boxes` of
    /// [`Shares::decide`], 0 means that n - 1 boxes are at least as good. Entry 0 is 1 if the primitives below form a
    /// leaf when the node gets a single box, else 0.
    first: [u8; N],
}

impl<const N: usize> Shares<N> {
    /// Computes the optimal distribution and costs of a binary node, for wide nodes with up to `max_boxes` children.
    ///
    /// `first` and `second` are the minimum costs of the children by 1 to `N` boxes, the paper's C(n, i); those of the
    /// node are returned. Costs by `max_boxes` and more boxes are not used. The first child has at least `first_count`
    /// primitives, and exactly so many if that is less than `max_boxes`.
    ///
    /// `one_box` returns the node's cost as a single box, and whether it is a leaf then. It is given the cost of the
    /// node's children in a wide node.
    ///
    /// Call this function from [`vectorized`](crate::accel::vectors::vectorized) code.
    #[inline(always)]
    pub(crate) fn decide(
        first: &[f32; N],
        second: &[f32; N],
        first_count: usize,
        max_boxes: usize,
        one_box: impl FnOnce(f32) -> (f32, bool),
    ) -> (Shares<N>, [f32; N]) {
        // All numbers of boxes are computed side by side. Entry `n - 1 - s` of `second` is the cost of the second child
        // if the first gets `s` of `n` boxes; entries before its start are infinite.
        let mut padded = [f32::INFINITY; 2 * MAX_BOXES];
        padded[MAX_BOXES..][..N].copy_from_slice(second);
        let mut least = [f32::INFINITY; N];
        let mut split = [1; N];
        // More boxes than primitives lower no cost.
        for share in 1..N.min(first_count + 1) {
            let of_first = first[share - 1];
            let of_second = &padded[MAX_BOXES - share..][..N];
            for boxes in 0..N {
                let cost = of_first + of_second[boxes];
                let better = cost < least[boxes];
                least[boxes] = if better { cost } else { least[boxes] };
                split[boxes] = if better { share as u32 } else { split[boxes] };
            }
        }
        let (cost, is_leaf) = one_box(least[max_boxes - 1]);
        let mut shares = Shares {
            first: split.map(|share| share as u8),
        };
        shares.first[0] = u8::from(is_leaf);
        let mut costs = least;
        costs[0] = cost;
        for boxes in 1..max_boxes - 1 {
            if costs[boxes - 1] <= least[boxes] {
                costs[boxes] = costs[boxes - 1];
                shares.first[boxes] = 0;
            }
        }
        (shares, costs)
    }

    /// Returns whether the primitives below form a leaf if the node gets a single box.
    #[inline]
    pub(crate) fn is_leaf(&self) -> bool {
        self.first[0] != 0
    }

    /// Returns how many of up to `boxes` boxes each child gets. `None` if a single box is best.
    #[inline]
    pub(crate) fn of(&self, boxes: u8) -> Option<(u8, u8)> {
        let shared = |boxes: u8| (self.first[usize::from(boxes) - 1], boxes);
        let (first, boxes) = (2..=boxes)
            .rev()
            .map(shared)
            .find(|&(first, _)| first != 0)?;
        Some((first, boxes - first))
    }
}
