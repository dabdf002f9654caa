//! Collapses a binary BVH to the CWBVH at the least cost (Ylitie, Karras & Laine 2017), in parallel.
//!
//! The binary tree comes as branches and the tree above them. They only divide the work: costs are those of the whole,
//! and a node of the wide tree may start anywhere in a branch. Imports `bvh` and `shares`.

use glam::Vec3;
use obvhs::bvh2::Bvh2;
use rayon::prelude::*;

use super::shares::Shares;
use crate::accel::bvh::{CompressedTree, Node};

/// Maximum number of primitives of a leaf, as many as a child's `meta` can encode.
const MAX_LEAF_PRIMITIVES: u32 = 3;
/// Cost of testing a primitive relative to a node. With 0.3, leaves hold more and frames take up to a seventh longer on
/// a GPU.
const PRIMITIVE_COST: f32 = 1.0;

/// Collapses a binary tree. The leaves of `above` refer to the branches by index.
pub(crate) fn collapse(above: Binary, branches: Vec<Binary>) -> CompressedTree {
    let forest = Forest::of(above, branches);
    // Nodes that start in the branches are found first, then built in parallel and inserted.
    let mut roots = Vec::new();
    forest.grow(At::default(), |at| {
        roots.push(at);
        CompressedTree::default()
    });
    let below = |&at: &At| forest.grow(at, |_| CompressedTree::default());
    let grown: Vec<CompressedTree> = roots.par_iter().map(below).collect();
    let mut grown = grown.into_iter();
    forest.grow(At::default(), |_| grown.next().unwrap_or_default())
}

/// A node of the binary tree, inner node or leaf.
#[derive(Clone, Copy)]
struct Fork {
    /// Minimum corner of the box.
    low: Vec3,
    /// Index of the right child; the left one follows the node. 0 in a leaf.
    right: u32,
    /// Maximum corner of the box.
    high: Vec3,
    /// Index of a leaf's primitive or, in the tree above, of its branch.
    leaf_index: u32,
    /// The optimal split of two to eight boxes between the children.
    shares: Shares<7>,
    /// Whether the primitives below form a leaf if the node gets a single box.
    leaf: bool,
}

impl Fork {
    /// Returns half the surface area of the box.
    fn half_area(&self) -> f32 {
        let size = self.high - self.low;
        (size.x + size.y) * size.z + size.x * size.y
    }
}

/// Costs of tracing rays through a subtree.
#[derive(Clone, Copy, Default)]
struct Costs {
    /// Minimum cost if one to seven boxes of a wide node represent the subtree; entry `n - 1` is that of `n` boxes.
    by_boxes: [f32; 7],
    /// Number of primitives in the subtree.
    primitives: u32,
}

/// Subtrees of a binary BVH in depth-first order.
pub(crate) struct Binary {
    /// Nodes of all subtrees; a left child follows its parent.
    forks: Vec<Fork>,
    /// Indices of the subtrees' roots.
    roots: Vec<u32>,
}

impl Binary {
    /// Copies the subtrees at these roots of a tree with one primitive per leaf. `number` maps its primitive indices.
    pub(crate) fn of(tree: &Bvh2, roots: &[u32], number: impl Fn(u32) -> u32) -> Binary {
        let mut forks: Vec<Fork> = Vec::with_capacity(tree.nodes.len());
        // Nodes to copy, each with the parent whose right child it is, if any.
        let mut ways = Vec::new();
        let mut copy = |root: u32| {
            let first = forks.len() as u32;
            ways.push((root, None));
            while let Some((index, parent)) = ways.pop() {
                let here = forks.len() as u32;
                if let Some(parent) = parent {
                    let parent: &mut Fork = &mut forks[parent as usize];
                    parent.right = here;
                }
                let node = &tree.nodes[index as usize];
                let leaf_index = if node.is_leaf() {
                    number(tree.primitive_indices[node.first_index as usize])
                } else {
                    ways.push((node.first_index + 1, Some(here)));
                    ways.push((node.first_index, None));
                    0
                };
                forks.push(Fork {
                    low: node.aabb().min.into(),
                    right: 0,
                    high: node.aabb().max.into(),
                    leaf_index,
                    shares: Shares::NONE,
                    leaf: true,
                });
            }
            first
        };
        let roots = roots.iter().map(|&root| copy(root)).collect();
        Binary { forks, roots }
    }

    /// Decides which nodes remain nodes of the wide tree. Returns each subtree's costs; `of_end` gives those of a leaf.
    fn decide(&mut self, of_end: impl Fn(&Fork) -> Costs) -> Vec<Costs> {
        let mut costs = vec![Costs::default(); self.forks.len()];
        // Children come after their parents.
        for (index, fork) in self.forks.iter_mut().enumerate().rev() {
            costs[index] = match fork.right {
                0 => of_end(fork),
                right => decide(fork, &costs[index + 1], &costs[right as usize]),
            };
        }
        let of_branch = |&root: &u32| costs[root as usize];
        self.roots.iter().map(of_branch).collect()
    }
}

/// Returns the costs of a single primitive.
fn of_primitive(end: &Fork) -> Costs {
    Costs {
        by_boxes: [end.half_area() * PRIMITIVE_COST; 7],
        primitives: 1,
    }
}

/// Computes the paper's C(n, i) of a node: the least cost as leaf, as node, or as boxes distributed to its children.
fn decide(fork: &mut Fork, left: &Costs, right: &Costs) -> Costs {
    let area = fork.half_area();
    let primitives = left.primitives + right.primitives;
    let leaf = if primitives <= MAX_LEAF_PRIMITIVES {
        primitives as f32 * area * PRIMITIVE_COST
    } else {
        f32::INFINITY
    };
    let (shares, by_boxes) = Shares::decide(&left.by_boxes, &right.by_boxes, 8, |children| {
        fork.leaf = leaf < children + area;
        leaf.min(children + area)
    });
    fork.shares = shares;
    Costs {
        by_boxes,
        primitives,
    }
}

/// Position of a binary node in a [`Forest`]: the tree above the branches, or one of them.
#[derive(Clone, Copy, Default, PartialEq)]
struct At {
    /// Index of the tree within the forest.
    tree: u32,
    /// Index of the node in its tree.
    fork: u32,
}

/// The whole binary tree: the tree above and those with the branches.
struct Forest {
    /// The tree above, then those that hold the branches.
    trees: Vec<Binary>,
    /// Root of each branch, by index.
    branches: Vec<At>,
}

impl Forest {
    /// Joins the trees and decides the costs of the whole.
    fn of(mut above: Binary, mut trees: Vec<Binary>) -> Forest {
        let costs = trees
            .par_iter_mut()
            .flat_map_iter(|tree| tree.decide(of_primitive))
            .collect::<Vec<Costs>>();
        above.decide(|end| costs[end.leaf_index as usize]);
        trees.insert(0, above);
        let numbered = (0..).zip(&trees).skip(1);
        let branches = numbered
            .flat_map(|(tree, Binary { roots, .. })| {
                roots.iter().map(move |&fork| At { tree, fork })
            })
            .collect();
        Forest { trees, branches }
    }

    /// Returns the binary node at a position.
    fn fork(&self, at: At) -> &Fork {
        &self.trees[at.tree as usize].forks[at.fork as usize]
    }

    /// Returns the position itself, or the root of the branch if it is a leaf of the tree above.
    fn within(&self, at: At) -> At {
        let fork = self.fork(at);
        if at.tree == 0 && fork.right == 0 {
            self.branches[fork.leaf_index as usize]
        } else {
            at
        }
    }

    /// Returns the positions of both children; `None` for a leaf.
    fn children(&self, at: At) -> Option<(At, At)> {
        let right = self.fork(at).right;
        let child = |fork| self.within(At { fork, ..at });
        (right != 0).then(|| (child(at.fork + 1), child(right)))
    }

    /// Appends the nodes that represent a subtree by up to `boxes` boxes.
    fn gather(&self, at: At, boxes: u8, gathered: &mut Vec<At>) {
        let shares = self.fork(at).shares.of(boxes);
        if let (Some((left, right)), Some(shares)) = (self.children(at), shares) {
            self.gather(left, shares.0, gathered);
            self.gather(right, shares.1, gathered);
        } else {
            gathered.push(at);
        }
    }

    /// Appends the indices of the primitives below a node.
    fn primitives(&self, at: At, order: &mut Vec<u32>) {
        if let Some((left, right)) = self.children(at) {
            self.primitives(left, order);
            self.primitives(right, order);
        } else {
            order.push(self.fork(at).leaf_index);
        }
    }

    /// Assigns the children of a node to slots. Rays visit children by slot, so each child gets the slot that fits its
    /// direction from the node's centre, greedily by the best fit.
    fn slots(&self, at: At, gathered: &[At]) -> [Option<At>; 8] {
        let middle = |at: At| {
            let fork = self.fork(at);
            (fork.low + fork.high) * 0.5
        };
        let from = middle(at);
        let mut costs = [[0.0; 8]; 8];
        for (costs, &child) in costs.iter_mut().zip(gathered) {
            let away = middle(child) - from;
            *costs = std::array::from_fn(|slot| {
                let sign = |bit: usize| if slot & bit == 0 { 1.0 } else { -1.0 };
                Vec3::new(sign(4), sign(2), sign(1)).dot(away)
            });
        }
        let mut slots = [None; 8];
        let mut waiting: Vec<usize> = (0..gathered.len()).collect();
        while !waiting.is_empty() {
            let mut best = (f32::INFINITY, 0, 0);
            for (place, &child) in waiting.iter().enumerate() {
                for slot in 0..8 {
                    if slots[slot].is_none() && costs[child][slot] < best.0 {
                        best = (costs[child][slot], place, slot);
                    }
                }
            }
            let (_, place, slot) = best;
            slots[slot] = Some(gathered[waiting.remove(place)]);
        }
        slots
    }

    /// Builds the wide tree below a node. `elsewhere` returns the subtrees that lie in other trees, in depth-first
    /// order.
    fn grow(&self, root: At, mut elsewhere: impl FnMut(At) -> CompressedTree) -> CompressedTree {
        let mut grown = CompressedTree {
            nodes: vec![Node::default()],
            order: Vec::new(),
        };
        let mut gathered = Vec::with_capacity(8);
        let mut ways = vec![(self.within(root), 0)];
        while let Some((at, place)) = ways.pop() {
            if at.tree != root.tree {
                grown.append(elsewhere(at), place);
                continue;
            }
            gathered.clear();
            match (self.children(at), self.fork(at).shares.of(8)) {
                (Some((left, right)), Some(shares)) => {
                    self.gather(left, shares.0, &mut gathered);
                    self.gather(right, shares.1, &mut gathered);
                }
                _ => gathered.push(at),
            }
            let slots = self.slots(at, &gathered);
            let node = self.node(at, &slots, &mut grown);
            let inner = |at: &At| !self.fork(*at).leaf;
            let children: Vec<At> = slots.into_iter().flatten().filter(inner).collect();
            let places = grown.nodes.len()..grown.nodes.len() + children.len();
            grown.nodes[place] = node;
            grown.nodes.resize(places.end, Node::default());
            ways.extend(children.into_iter().zip(places).rev());
        }
        grown
    }

    /// Encodes a node with these children. Leaves append their primitives; child nodes will be appended next.
    fn node(&self, at: At, slots: &[Option<At>; 8], grown: &mut CompressedTree) -> Node {
        let fork = self.fork(at);
        let spacing = ((fork.high - fork.low) * (1.0 / 255.0)).map(power_above);
        let [x, y, z] = spacing.to_array().map(|along| along.to_bits() >> 23);
        let mut node = Node {
            corner: fork.low,
            exponents: x | y << 8 | z << 16,
            child_base: grown.nodes.len() as u32,
            primitive_base: grown.order.len() as u32,
            ..Node::default()
        };
        for (slot, child) in slots.iter().enumerate() {
            let Some(child) = *child else { continue };
            let fork = self.fork(child);
            let low = (fork.low - node.corner) / spacing;
            let high = (fork.high - node.corner) / spacing;
            (node.min_x[slot], node.max_x[slot]) = (low.x as u8, plane_above(high.x));
            (node.min_y[slot], node.max_y[slot]) = (low.y as u8, plane_above(high.y));
            (node.min_z[slot], node.max_z[slot]) = (low.z as u8, plane_above(high.z));
            node.meta[slot] = if fork.leaf {
                let first = grown.order.len();
                self.primitives(child, &mut grown.order);
                let unary = !(u32::MAX << (grown.order.len() - first));
                (unary << 5) as u8 | (first - node.primitive_base as usize) as u8
            } else {
                node.exponents |= 1 << (24 + slot);
                0b0010_0000 | (24 + slot as u8)
            };
        }
        node
    }
}

/// Returns the first grid plane at or above a number, at most 255.
fn plane_above(number: f32) -> u8 {
    let plane = number as u8;
    plane.saturating_add(u8::from(f32::from(plane) < number))
}

/// Returns the least power of two at or above a number, bounded below so that no bits of an `f32` are lost.
fn power_above(number: f32) -> f32 {
    let bits = number.max(1e-22).to_bits();
    f32::from_bits((bits + 0x007f_ffff) & 0x7f80_0000)
}
