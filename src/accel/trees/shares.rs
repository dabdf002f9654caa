//! Distributes the boxes of a wide node among the nodes of a binary tree at the least cost (Ylitie, Karras & Laine
//! 2017).

/// The optimal distribution of the boxes that represent a binary node between its two children, for 2 to `N + 1` boxes.
#[derive(Clone, Copy)]
pub(crate) struct Shares<const N: usize> {
    /// Number of boxes of the first child, for 2, 3, … boxes; 0 if one box fewer is as good.
    first: [u8; N],
}

impl<const N: usize> Shares<N> {
    /// The distribution of a leaf.
    pub(crate) const NONE: Shares<N> = Shares { first: [0; N] };

    /// Computes the optimal distribution and costs of a binary node, for wide nodes with up to `max_boxes` children.
    ///
    /// `first` and `second` are the minimum costs of the children by 1 to `N` boxes, the paper's C(n, i); those of the
    /// node are returned. `one_box` returns its cost as a single box, given the cost of its children in a wide node.
    #[inline]
    pub(crate) fn decide(
        first: &[f32; N],
        second: &[f32; N],
        max_boxes: usize,
        one_box: impl FnOnce(f32) -> f32,
    ) -> (Shares<N>, [f32; N]) {
        let shared = |boxes: usize, other: (f32, u8)| {
            (1..boxes).fold(other, |best, share| {
                let cost = first[share - 1] + second[boxes - share - 1];
                if cost < best.0 {
                    (cost, share as u8)
                } else {
                    best
                }
            })
        };
        let mut shares = Shares::NONE;
        let (of_node, share) = shared(max_boxes, (f32::INFINITY, 1));
        shares.first[max_boxes - 2] = share;
        let mut costs = [one_box(of_node); N];
        for boxes in 2..max_boxes {
            let (cost, share) = shared(boxes, (costs[boxes - 2], 0));
            costs[boxes - 1] = cost;
            shares.first[boxes - 2] = share;
        }
        (shares, costs)
    }

    /// Returns how many of up to `boxes` boxes each child gets. `None` if a single box is best.
    pub(crate) fn of(&self, boxes: u8) -> Option<(u8, u8)> {
        let shared = |boxes: u8| (self.first[usize::from(boxes) - 2], boxes);
        let (first, boxes) = (2..=boxes)
            .rev()
            .map(shared)
            .find(|&(first, _)| first != 0)?;
        Some((first, boxes - first))
    }
}
