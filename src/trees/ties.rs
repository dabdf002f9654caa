//! Binary trees, also over boxes that are as far from one neighbour as from another: in a row, or at one place.
//!
//! A box joins the neighbour that it would make the smallest box with, if that one would join it too (Meister & Bittner
//! 2018). Where all neighbours are as good as one another a single pair joins in each pass over all, and a row of a million
//! boxes takes hours. So where many boxes are of one size, neighbours are chosen by boxes that are moved by chance, along the
//! scene's longest side and by a hundredth of their size; the tree is then given the boxes as they are.

use std::borrow::Cow;

use obvhs::{
    aabb::Aabb,
    bvh2::{Bvh2, reinsertion::ReinsertionOptimizer},
    ploc::{PlocBuilder, PlocSearchDistance, SortPrecision},
};

/// Of a box's size.
const MOVED: f32 = 0.01;
/// Of a coordinate: a few of its roundings, which a small box far out is moved by at least.
const ROUNDED: f32 = 1.0 / 4_194_304.0;

/// With fewer boxes nothing takes long.
const MANY: usize = 4096;
/// One of so many is a part that is looked at.
const PARTS: usize = 8;

/// How much is done for a good tree.
#[derive(Clone, Copy)]
pub(crate) enum Effort {
    /// Where there are many boxes.
    Usual,
    /// Where there are few, and all rays meet them.
    Most,
}

/// Builds trees one after the other, in the same memory.
#[derive(Default)]
pub(crate) struct Builder {
    clusters: PlocBuilder,
    optimizer: ReinsertionOptimizer,
    tree: Bvh2,
}

impl Builder {
    /// Builds a binary tree over boxes, of which there is one or more, each in a leaf of its own.
    pub(crate) fn build(&mut self, boxes: &[Aabb], effort: Effort) -> &Bvh2 {
        let alike = boxes.len() >= MANY && many_alike(boxes);
        let apart = if alike {
            Cow::from(moved(boxes))
        } else {
            Cow::from(boxes)
        };
        let tree = &mut self.tree;
        self.clusters.build_with_bvh(
            tree,
            PlocSearchDistance::Medium,
            &apart,
            (0..boxes.len() as u32).collect(),
            SortPrecision::U64,
            0,
        );
        if alike {
            for node in &mut tree.nodes {
                if node.is_leaf() {
                    let index = tree.primitive_indices[node.first_index as usize];
                    node.set_aabb(boxes[index as usize]);
                }
            }
            tree.refit_all();
        }
        let reinserted = match effort {
            Effort::Usual => 0.1,
            Effort::Most => 1.0,
        };
        self.optimizer.run(tree, reinserted, None);
        tree
    }
}

/// Whether a part of all boxes is of one size, to some thousandth (Misra & Gries 1982).
fn many_alike(boxes: &[Aabb]) -> bool {
    let size = |one: &Aabb| {
        (one.max - one.min)
            .to_array()
            .map(|side| side.to_bits() >> 12)
    };
    let mut found: Vec<([u32; 3], usize)> = Vec::with_capacity(PARTS);
    for one in boxes {
        let size = size(one);
        if let Some((_, count)) = found.iter_mut().find(|(known, _)| *known == size) {
            *count += 1;
        } else if found.len() < PARTS {
            found.push((size, 1));
        } else {
            found.iter_mut().for_each(|(_, count)| *count -= 1);
            found.retain(|&(_, count)| count > 0);
        }
    }
    let share = |wanted| boxes.iter().filter(|one| size(one) == wanted).count();
    let part = boxes.len() / PARTS;
    found.iter().any(|&(size, _)| share(size) > part)
}

fn moved(boxes: &[Aabb]) -> Vec<Aabb> {
    let around = |all: Aabb, one: &Aabb| all.union(one);
    let all = boxes.iter().fold(Aabb::empty(), around);
    let (middle, size) = ((all.min + all.max) * 0.5, all.max - all.min);
    let longest = (0..3).fold(0, |longest, axis| {
        if size[axis] > size[longest] {
            axis
        } else {
            longest
        }
    });
    let moved = |(number, one): (u32, &Aabb)| {
        // About the middle little is rounded.
        let (mut low, mut high) = (one.min - middle, one.max - middle);
        let least = low.abs().max(high.abs()).max_element() * ROUNDED;
        let by = ((high - low).max_element() * MOVED).max(least) * chance(number);
        low[longest] += by;
        high[longest] += by;
        Aabb::new(low, high)
    };
    (0..).zip(boxes).map(moved).collect()
}

/// -1/2 to 1/2, by a hash (C. Wellons, "hash prospector", 2018).
fn chance(number: u32) -> f32 {
    let mut bits = number;
    for factor in [0x7feb_352d, 0x846c_a68b] {
        bits = (bits ^ bits >> 16).wrapping_mul(factor);
        bits ^= bits >> 15;
    }
    (bits >> 8) as f32 / 16_777_216.0 - 0.5
}
