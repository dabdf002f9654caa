//! Binary trees over boxes, by locally-ordered clustering and by reinsertion (both Meister & Bittner 2018).
//!
//! The boxes stand along a Morton curve. In each pass a box chooses the neighbour, up to [`REACH`] places away, that it would
//! make the smallest box with, and two that have chosen each other are joined. Boxes in a row, at one place or around one another
//! may nearly all choose one that has chosen another. Then a pass would join a single pair, and a row of a million boxes would take
//! hours. So where few have chosen each other, all are joined with who stands beside them.

use obvhs::{
    aabb::Aabb,
    bvh2::{Bvh2, node::Bvh2Node, reinsertion::ReinsertionOptimizer},
};

use super::parts::along_the_curve;
use crate::{
    math::{greater, lesser},
    vectors::by_vectors,
};

/// How many places away a neighbour is at most: with more, trees are hardly better.
const REACH: usize = 14;
/// Rows of costs that are kept: a box's and those of the ones within reach, by a number that divides easily.
const ROWS: usize = (REACH + 1).next_power_of_two();
/// For so many boxes there is to be a pair at least that has chosen each other; usually there is one for three or four.
const FEW: usize = 16;

/// Builds trees one after the other, in the same memory.
#[derive(Default)]
pub(crate) struct Builder {
    clusters: Clusters,
    joined: Clusters,
    /// With which one each cluster would be joined.
    choices: Vec<u32>,
    optimizer: ReinsertionOptimizer,
    tree: Bvh2,
}

/// Subtrees that are joined to larger ones, in order.
#[derive(Default)]
struct Clusters {
    /// Their boxes' least coordinates, by axis.
    low: [Vec<f32>; 3],
    high: [Vec<f32>; 3],
    roots: Vec<Bvh2Node>,
}

impl Builder {
    /// Builds a binary tree over boxes, of which there is one or more, each in a leaf of its own. A share of its nodes is
    /// inserted again, where they cost less.
    pub(crate) fn build(&mut self, boxes: &[Aabb], reinserted: f32) -> &Bvh2 {
        self.cluster(boxes);
        if reinserted > 0.0 {
            self.optimizer.run(&mut self.tree, reinserted, None);
        }
        &self.tree
    }

    fn cluster(&mut self, boxes: &[Aabb]) {
        self.clusters.clear();
        for number in along_the_curve(boxes) {
            let leaf = Bvh2Node::new(boxes[number as usize], 1, number);
            self.clusters.push(leaf);
        }
        let tree = &mut self.tree;
        tree.reset_for_reuse(boxes.len(), Some((0..boxes.len() as u32).collect()));
        // Filled from behind: children come after their parents.
        let mut free = tree.nodes.len();
        let mut passes = 0;
        while self.clusters.roots.len() > 1 {
            by_vectors(
                #[inline(always)]
                || self.clusters.choose(&mut self.choices),
            );
            if pairs(&self.choices) * FEW < self.choices.len() {
                beside(&mut self.choices);
            }
            self.joined.clear();
            for (number, &choice) in (0..).zip(&self.choices) {
                let root = self.clusters.roots[number as usize];
                if choice == number || self.choices[choice as usize] != number {
                    self.joined.push(root);
                } else if choice < number {
                    let other = self.clusters.roots[choice as usize];
                    free -= 2;
                    tree.nodes[free..free + 2].copy_from_slice(&[root, other]);
                    let around = root.aabb().union(other.aabb());
                    self.joined.push(Bvh2Node::new(around, 0, free as u32));
                }
            }
            std::mem::swap(&mut self.clusters, &mut self.joined);
            passes += 1;
        }
        tree.nodes[0] = self.clusters.roots[0];
        tree.max_depth = tree.max_depth.max(passes + 1);
        tree.children_are_ordered_after_parents = true;
    }
}

/// How many pairs of clusters have chosen each other.
fn pairs(choices: &[u32]) -> usize {
    let mutual =
        |&(number, &choice): &(u32, &u32)| choice < number && choices[choice as usize] == number;
    (0..).zip(choices).filter(mutual).count()
}

/// Has each choose the one that it stands beside, in pairs; of an odd number the last one stays alone.
fn beside(choices: &mut [u32]) {
    let last = choices.len() as u32 - 1;
    for (number, choice) in (0..).zip(choices) {
        *choice = (number ^ 1).min(last);
    }
}

impl Clusters {
    fn clear(&mut self) {
        self.low
            .iter_mut()
            .chain(&mut self.high)
            .for_each(Vec::clear);
        self.roots.clear();
    }

    fn push(&mut self, root: Bvh2Node) {
        let (low, high) = (root.aabb().min.to_array(), root.aabb().max.to_array());
        for axis in 0..3 {
            self.low[axis].push(low[axis]);
            self.high[axis].push(high[axis]);
        }
        self.roots.push(root);
    }

    /// Tells with which one each would be the smallest box; of those that are as small, with the last one.
    #[inline(always)]
    fn choose(&mut self, choices: &mut Vec<u32>) {
        let count = self.roots.len();
        for axis in 0..3 {
            // What is within reach of the last ones, and is not asked for.
            self.low[axis].resize(count + REACH, 0.0);
            self.high[axis].resize(count + REACH, 0.0);
        }
        choices.clear();
        // Of each the costs with those that come next.
        let mut rows = [[f32::INFINITY; REACH]; ROWS];
        for number in 0..count {
            let row = self.costs(number);
            rows[number % ROWS] = row;
            let mut best = (f32::INFINITY, number);
            for away in (1..=REACH.min(number)).rev() {
                let cost = rows[(number - away) % ROWS][away - 1];
                if cost <= best.0 {
                    best = (cost, number - away);
                }
            }
            for (next, &cost) in (number + 1..count).zip(&row) {
                if cost <= best.0 {
                    best = (cost, next);
                }
            }
            choices.push(best.1 as u32);
        }
    }

    /// Half the areas of the boxes around one and each of those that come next.
    #[inline(always)]
    fn costs(&self, number: usize) -> [f32; REACH] {
        let sizes = |axis: usize| -> [f32; REACH] {
            let (low, high) = (self.low[axis][number], self.high[axis][number]);
            let lows = &self.low[axis][number + 1..][..REACH];
            let highs = &self.high[axis][number + 1..][..REACH];
            std::array::from_fn(|away| greater(high, highs[away]) - lesser(low, lows[away]))
        };
        let (x, y, z) = (sizes(0), sizes(1), sizes(2));
        std::array::from_fn(|away| (x[away] + y[away]) * z[away] + x[away] * y[away])
    }
}
