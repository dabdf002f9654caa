//! A binary tree becomes one of eight children a node, at the least cost that its boxes allow (Ylitie, Karras & Laine 2017), by
//! all cores.
//!
//! The binary tree comes as branches, and the tree above them. They only say who computes: costs are those of the whole, and a
//! node of the wide tree may start anywhere in a branch.

use glam::Vec3;
use obvhs::bvh2::Bvh2;
use rayon::prelude::*;

use super::shares::Shares;
use crate::bvh::{Grown, Node};

/// The most primitives of a leaf: as many as a child's `meta` can say.
const LEAF_MOST: u32 = 3;
/// What a ray's test of a primitive costs, where that of a node costs 1. With 0.3 leaves hold more, and frames take up to a
/// seventh longer on a GPU.
const PRIMITIVE_COST: f32 = 1.0;

/// Collapses a tree whose primitives are the numbers of branches, with these.
pub(crate) fn collapse(above: Binary, branches: Vec<Binary>) -> Grown {
    let forest = Forest::of(above, branches);
    // Nodes that begin in the branches are found, grown side by side, and put where they were found.
    let mut roots = Vec::new();
    forest.grow(At::default(), |at| {
        roots.push(at);
        Grown::default()
    });
    let below = |&at: &At| forest.grow(at, |_| Grown::default());
    let grown: Vec<Grown> = roots.par_iter().map(below).collect();
    let mut grown = grown.into_iter();
    forest.grow(At::default(), |_| grown.next().unwrap_or_default())
}

/// A node of a binary tree.
#[derive(Clone, Copy)]
struct Fork {
    low: Vec3,
    /// Its right child, while the left one is next to it; 0 where the tree ends.
    right: u32,
    high: Vec3,
    /// Where the tree ends, the primitive; in the tree above, the branch.
    held: u32,
    /// Of two to eight boxes for it.
    shares: Shares<7>,
    /// Whether the primitives below are a leaf where it is one box.
    leaf: bool,
}

impl Fork {
    fn half_area(&self) -> f32 {
        let size = self.high - self.low;
        (size.x + size.y) * size.z + size.x * size.y
    }
}

/// What it costs to trace rays through a fork's primitives.
#[derive(Clone, Copy, Default)]
struct Costs {
    /// By one to seven boxes.
    by_boxes: [f32; 7],
    primitives: u32,
}

/// Branches of a binary tree, each in the order of a walk.
pub(crate) struct Binary {
    forks: Vec<Fork>,
    roots: Vec<u32>,
}

impl Binary {
    /// Copies what is below the roots, of a tree that has one primitive in each leaf; `number` is what a primitive is called.
    pub(crate) fn of(tree: &Bvh2, roots: &[u32], number: impl Fn(u32) -> u32) -> Binary {
        let mut forks: Vec<Fork> = Vec::with_capacity(tree.nodes.len());
        // Nodes, and of which fork each is the right child.
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
                let held = if node.is_leaf() {
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
                    held,
                    shares: Shares::NONE,
                    leaf: true,
                });
            }
            first
        };
        let roots = roots.iter().map(|&root| copy(root)).collect();
        Binary { forks, roots }
    }

    /// Decides what becomes a node. Returns each branch's costs.
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

/// What a primitive's own box costs.
fn of_primitive(end: &Fork) -> Costs {
    Costs {
        by_boxes: [end.half_area() * PRIMITIVE_COST; 7],
        primitives: 1,
    }
}

/// The paper's C(n, i): as a leaf, as a node, or as boxes that are shared out between the children.
fn decide(fork: &mut Fork, left: &Costs, right: &Costs) -> Costs {
    let area = fork.half_area();
    let primitives = left.primitives + right.primitives;
    let leaf = if primitives <= LEAF_MOST {
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

/// Where a fork stands.
#[derive(Clone, Copy, Default, PartialEq)]
struct At {
    tree: u32,
    fork: u32,
}

/// The tree above, then those that hold the branches.
struct Forest {
    trees: Vec<Binary>,
    /// By number.
    branches: Vec<At>,
}

impl Forest {
    fn of(mut above: Binary, mut trees: Vec<Binary>) -> Forest {
        let costs = trees
            .par_iter_mut()
            .flat_map_iter(|tree| tree.decide(of_primitive))
            .collect::<Vec<Costs>>();
        above.decide(|end| costs[end.held as usize]);
        trees.insert(0, above);
        let numbered = (0..).zip(&trees).skip(1);
        let branches = numbered
            .flat_map(|(tree, Binary { roots, .. })| {
                roots.iter().map(move |&fork| At { tree, fork })
            })
            .collect();
        Forest { trees, branches }
    }

    fn fork(&self, at: At) -> &Fork {
        &self.trees[at.tree as usize].forks[at.fork as usize]
    }

    /// The same place, in the branch if the tree above ends there.
    fn within(&self, at: At) -> At {
        let fork = self.fork(at);
        if at.tree == 0 && fork.right == 0 {
            self.branches[fork.held as usize]
        } else {
            at
        }
    }

    /// The two children, if there are any.
    fn children(&self, at: At) -> Option<(At, At)> {
        let right = self.fork(at).right;
        let child = |fork| self.within(At { fork, ..at });
        (right != 0).then(|| (child(at.fork + 1), child(right)))
    }

    /// Adds the boxes that stand for what is below a fork, at most so many.
    fn gather(&self, at: At, boxes: u8, gathered: &mut Vec<At>) {
        let shares = self.fork(at).shares.of(boxes);
        if let (Some((left, right)), Some(shares)) = (self.children(at), shares) {
            self.gather(left, shares.0, gathered);
            self.gather(right, shares.1, gathered);
        } else {
            gathered.push(at);
        }
    }

    /// Adds the primitives below a fork.
    fn primitives(&self, at: At, order: &mut Vec<u32>) {
        if let Some((left, right)) = self.children(at) {
            self.primitives(left, order);
            self.primitives(right, order);
        } else {
            order.push(self.fork(at).held);
        }
    }

    /// The children of a node by slot. A ray visits them by slot, so each is put where its middle lies as seen from the
    /// node's: the best fit first.
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

    /// The wide tree below a fork; `elsewhere` gives what is below those that lie in another tree, in the order of the walk.
    fn grow(&self, root: At, mut elsewhere: impl FnMut(At) -> Grown) -> Grown {
        let mut grown = Grown {
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

    /// A node of these children, the nodes among them to be added next.
    fn node(&self, at: At, slots: &[Option<At>; 8], grown: &mut Grown) -> Node {
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

/// The first plane that is not below a number, if there is one.
fn plane_above(number: f32) -> u8 {
    let plane = number as u8;
    plane.saturating_add(u8::from(f32::from(plane) < number))
}

/// The least power of two that is not below a number, and none so small that an `f32` would lose bits of it.
fn power_above(number: f32) -> f32 {
    let bits = number.max(1e-22).to_bits();
    f32::from_bits((bits + 0x007f_ffff) & 0x7f80_0000)
}
