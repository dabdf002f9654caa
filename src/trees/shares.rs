//! How the boxes of a binary tree are shared out to wide nodes at the least cost (Ylitie, Karras & Laine 2017).

/// How the boxes that stand for a fork, two to `N + 1` of them, are shared out between its two children.
#[derive(Clone, Copy)]
pub(crate) struct Shares<const N: usize> {
    /// Of so many boxes, two first, how many are the first child's; 0 if they are not worth more than one fewer.
    first: [u8; N],
}

impl<const N: usize> Shares<N> {
    pub(crate) const NONE: Shares<N> = Shares { first: [0; N] };

    /// Shares them out at the least cost, where a node has up to `most` of them, two to `N + 1`. `first` and `second` are what
    /// it costs to trace rays through either child by one to `N` boxes, the paper's C(n, i); the same of the fork is returned.
    /// By one box it costs what `one_box` makes of its cost by the boxes of a node.
    #[inline]
    pub(crate) fn decide(
        first: &[f32; N],
        second: &[f32; N],
        most: usize,
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
        let (of_node, share) = shared(most, (f32::INFINITY, 1));
        shares.first[most - 2] = share;
        let mut costs = [one_box(of_node); N];
        for boxes in 2..most {
            let (cost, share) = shared(boxes, (costs[boxes - 2], 0));
            costs[boxes - 1] = cost;
            shares.first[boxes - 2] = share;
        }
        (shares, costs)
    }

    /// How many of so many boxes are the first and the second child's. `None` if it is one box.
    pub(crate) fn of(&self, boxes: u8) -> Option<(u8, u8)> {
        let shared = |boxes: u8| (self.first[usize::from(boxes) - 2], boxes);
        let (first, boxes) = (2..=boxes)
            .rev()
            .map(shared)
            .find(|&(first, _)| first != 0)?;
        Some((first, boxes - first))
    }
}
