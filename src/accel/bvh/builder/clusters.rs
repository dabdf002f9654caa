//! Binary BVHs by locally-ordered clustering and reinsertion (both Meister & Bittner 2018).
//!
//! Boxes are ordered along a Morton curve. In each pass a cluster chooses the neighbour, up to [`REACH`] places away,
//! with which its common box is smallest, and pairs that chose each other are merged. In degenerate rows of boxes
//! nearly all may choose one that chose another, and a pass would merge a single pair. Where too few choices are
//! mutual, all clusters are merged with their neighbours instead.

use obvhs::{
    aabb::Aabb,
    bvh2::{Bvh2, node::Bvh2Node, reinsertion::ReinsertionOptimizer},
};

use super::curve::along_the_curve;
use crate::{
    accel::vectors::vectorized,
    math::{max_f32, min_f32},
};

/// Maximum distance along the curve, in places, to a neighbour that a cluster may choose in either direction. Larger
/// values hardly improve trees.
const REACH: usize = 14;
/// Maximum number of clusters per pair that chose each other. Usually there are three or four. If there are more, all
/// clusters are merged with their neighbours.
const MAX_CLUSTERS_PER_PAIR: usize = 16;

/// Depth beyond which a tree is not improved any further, because its boxes are nested.
const DEEP: usize = 128;

/// Builds binary BVHs one after another, reusing its memory.
#[derive(Default)]
pub(crate) struct Builder {
    /// The current clusters.
    clusters: Clusters,
    /// The clusters of the next pass.
    joined: Clusters,
    /// Index of the cluster that each cluster chose, see [`Clusters::choose`].
    choices: Vec<u32>,
    /// Reinserts nodes.
    optimizer: ReinsertionOptimizer,
    /// The tree being built.
    tree: Bvh2,
}

/// Subtrees that are merged to larger ones, in the order of the Morton curve.
#[derive(Default)]
struct Clusters {
    /// Minimum coordinates of their boxes, by axis.
    low: [Vec<f32>; 3],
    /// Maximum coordinates of their boxes, by axis.
    high: [Vec<f32>; 3],
    /// Root nodes of the clusters.
    roots: Vec<Bvh2Node>,
}

impl Builder {
    /// Builds a binary BVH over at least one box, with one box per leaf, and improves it in `rounds` rounds.
    ///
    /// A round has 16 passes that remove nodes and insert them where they cost least. The first pass takes the fraction
    /// `reinserted` of the nodes, 0..=1. Later passes take a third, a fifth and so on of that fraction.
    pub(crate) fn build(&mut self, boxes: &[Aabb], reinserted: f32, rounds: u32) -> &Bvh2 {
        self.cluster(boxes);
        for _ in 0..rounds {
            self.optimizer.run(&mut self.tree, reinserted, None);
            // Nested boxes end in long chains, along which every further reinsertion searches.
            if depth(&self.tree) > DEEP {
                break;
            }
        }
        &self.tree
    }

    /// Builds the tree by clustering.
    fn cluster(&mut self, boxes: &[Aabb]) {
        self.clusters.clear();
        // A part is sorted by one thread.
        let count = boxes.len();
        for number in along_the_curve(count, count, |number| boxes[number as usize]) {
            let leaf = Bvh2Node::new(boxes[number as usize], 1, number);
            self.clusters.push(leaf);
        }
        let tree = &mut self.tree;
        tree.reset_for_reuse(boxes.len(), Some((0..boxes.len() as u32).collect()));
        // Filled from the end, so that children come after their parents.
        let mut free = tree.nodes.len();
        let mut passes = 0;
        while self.clusters.roots.len() > 1 {
            vectorized(
                #[inline(always)]
                || self.clusters.choose(&mut self.choices),
            );
            if pairs(&self.choices) * MAX_CLUSTERS_PER_PAIR < self.choices.len() {
                pair_neighbours(&mut self.choices);
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

/// Returns the number of nodes on the longest way from the root of a tree to a leaf.
fn depth(tree: &Bvh2) -> usize {
    let mut deepest = 0;
    let mut to_visit = vec![(0, 1)];
    while let Some((number, depth)) = to_visit.pop() {
        let node = &tree.nodes[number as usize];
        if node.is_leaf() {
            deepest = deepest.max(depth);
        } else {
            to_visit.extend([
                (node.first_index, depth + 1),
                (node.first_index + 1, depth + 1),
            ]);
        }
    }
    deepest
}

/// Returns the number of pairs of clusters that chose each other.
fn pairs(choices: &[u32]) -> usize {
    let mutual =
        |&(number, &choice): &(u32, &u32)| choice < number && choices[choice as usize] == number;
    (0..).zip(choices).filter(mutual).count()
}

/// Makes each two successive clusters choose each other; an odd last one chooses itself.
fn pair_neighbours(choices: &mut [u32]) {
    let last = choices.len() as u32 - 1;
    for (number, choice) in (0..).zip(choices) {
        *choice = (number ^ 1).min(last);
    }
}

/// Returns the smallest of the costs.
#[inline(always)]
fn minimum(costs: &[f32; REACH]) -> f32 {
    // In halves, so that the compiler vectorises it.
    let at = |number: usize| costs.get(number).copied().unwrap_or(f32::INFINITY);
    let eight: [f32; 8] = std::array::from_fn(|number| min_f32(at(number), at(number + 8)));
    let four: [f32; 4] = std::array::from_fn(|number| min_f32(eight[number], eight[number + 4]));
    min_f32(min_f32(four[0], four[1]), min_f32(four[2], four[3]))
}

/// Returns the index of the last of the costs that is equal to `cost`, which must be among them.
#[inline(always)]
fn last(costs: &[f32; REACH], cost: f32) -> u32 {
    let equal = costs.iter().enumerate().fold(1, |equal, (number, &each)| {
        equal | u32::from(each == cost) << number
    });
    equal.ilog2()
}

impl Clusters {
    /// Removes all clusters.
    fn clear(&mut self) {
        self.low
            .iter_mut()
            .chain(&mut self.high)
            .for_each(Vec::clear);
        self.roots.clear();
    }

    /// Appends a cluster.
    fn push(&mut self, root: Bvh2Node) {
        let (low, high) = (root.aabb().min.to_array(), root.aabb().max.to_array());
        for axis in 0..3 {
            self.low[axis].push(low[axis]);
            self.high[axis].push(high[axis]);
        }
        self.roots.push(root);
    }

    /// Computes for each cluster the neighbour with which its common box has the smallest surface; of equal ones, the
    /// last. If none of these surfaces is finite, the cluster gets its own index.
    #[inline(always)]
    fn choose(&mut self, choices: &mut Vec<u32>) {
        let count = self.roots.len();
        for axis in 0..3 {
            // Padding within reach of the last clusters, which is read but not used.
            self.low[axis].resize(count + REACH, 0.0);
            self.high[axis].resize(count + REACH, 0.0);
        }
        choices.clear();
        // The least costs of the next clusters, from `number` on, with those before `number`, and the clusters with
        // which they have them.
        let mut costs_before = [f32::INFINITY; REACH + 1];
        let mut choices_before = [0; REACH + 1];
        for number in 0..count as u32 {
            let mut row = self.costs(number as usize);
            let following = count - 1 - number as usize;
            if following < REACH {
                row[following..].fill(f32::INFINITY);
            }
            let (before, mut choice) = (costs_before[0], choices_before[0]);
            let after = minimum(&row);
            if after <= before && after < f32::INFINITY {
                choice = number + 1 + last(&row, after);
            } else if before == f32::INFINITY {
                choice = number;
            }
            choices.push(choice);
            for away in 0..REACH {
                let (cost, before) = (row[away], costs_before[away + 1]);
                let better = cost <= before;
                costs_before[away] = if better { cost } else { before };
                choices_before[away] = if better {
                    number
                } else {
                    choices_before[away + 1]
                };
            }
        }
    }

    /// Returns half the surface areas of the boxes around a cluster and each of the [`REACH`] that follow it.
    #[inline(always)]
    fn costs(&self, number: usize) -> [f32; REACH] {
        let sizes = |axis: usize| -> [f32; REACH] {
            let (low, high) = (self.low[axis][number], self.high[axis][number]);
            let lows = &self.low[axis][number + 1..][..REACH];
            let highs = &self.high[axis][number + 1..][..REACH];
            std::array::from_fn(|away| max_f32(high, highs[away]) - min_f32(low, lows[away]))
        };
        let (x, y, z) = (sizes(0), sizes(1), sizes(2));
        std::array::from_fn(|away| (x[away] + y[away]) * z[away] + x[away] * y[away])
    }
}
