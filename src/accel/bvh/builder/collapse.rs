//! Collapses a binary BVH to the CWBVH at the least cost (Ylitie, Karras & Laine 2017), in parallel.
//!
//! The binary tree consists of branches and the nodes above them. They only divide the work: costs are those of the
//! whole, and a node of the wide tree may start anywhere in a branch.

use bytemuck::Zeroable;
use glam::Vec3;
use obvhs::{aabb::Aabb, bvh2::Bvh2};
use rayon::prelude::*;

use super::{shares::Shares, source::Source};
use crate::accel::{
    bvh::{INSTANCE_NODE, Node},
    vectors::vectorized,
};

/// Maximum number of primitives of a leaf, as many as a child's `meta` can encode.
const MAX_LEAF_PRIMITIVES: u32 = 3;
/// Cost of testing a primitive relative to a node, measured on a GPU. With 1, leaves of two or three primitives are
/// more common and the scene `meadow` takes 2 % longer. With 0.3, rendering takes up to a seventh longer.
const PRIMITIVE_COST: f32 = 1.5;
/// Cost of testing both triangles of a quadrilateral relative to a node.
const PAIR_COST: f32 = 2.0;

/// Collapses the binary tree with this root over the primitives of a source. The inner nodes from index `above` on lie
/// above the branches.
pub(crate) fn collapse(
    source: &Source,
    inner_nodes: Vec<InnerNode>,
    above: usize,
    root: BinaryRef,
) -> CompressedTree {
    let forest = Forest {
        source,
        inner_nodes,
        above,
    };
    // Nodes that start in the branches are found first, then built in parallel and inserted.
    let mut roots = Vec::new();
    let mut size = (0, 0);
    let top = forest.grow(root, (0, 0), |at| {
        (!forest.is_above(at)).then(|| {
            roots.push(at);
            CompressedTree::default()
        })
    });
    let below = |&at: &BinaryRef| forest.grow(at, (0, 0), |_| None);
    let grown: Vec<CompressedTree> = roots.par_iter().map(below).collect();
    for tree in grown.iter().chain([&top]) {
        size.0 += tree.nodes.len();
        size.1 += tree.order.len();
    }
    let mut grown = grown.into_iter();
    forest.grow(root, size, |at| {
        (!forest.is_above(at)).then(|| grown.next().unwrap_or_default())
    })
}

/// A wide BVH with its primitives as indices.
#[derive(Default)]
pub(crate) struct CompressedTree {
    /// Nodes, the root first.
    pub(crate) nodes: Vec<Node>,
    /// Indices of the primitives, in the order of the leaves.
    pub(crate) order: Vec<u32>,
}

impl CompressedTree {
    /// Adds a subtree: its root replaces the node at index `place`, all other nodes and primitives are appended.
    fn append(&mut self, other: CompressedTree, place: usize) {
        let (rest, first) = (self.nodes.len() as u32, self.order.len() as u32);
        let mut moved = other.nodes.into_iter().map(|node| Node {
            // The root moves to `place`, so the others move up by one.
            child_base: node.child_base + rest - 1,
            primitive_base: node.primitive_base + first,
            ..node
        });
        self.nodes[place] = moved.next().unwrap_or_default();
        self.nodes.extend(moved);
        self.order.extend(other.order);
    }
}

/// A reference to a node of the binary tree: a primitive, which is a leaf, or an inner node.
#[derive(Clone, Copy, Default, PartialEq, Zeroable)]
#[repr(transparent)]
pub(crate) struct BinaryRef(u32);

impl BinaryRef {
    /// Bit that marks references to primitives. The other bits are the index.
    const PRIMITIVE: u32 = 1 << 31;

    /// Refers to the primitive at this index, below 2³¹.
    pub(crate) fn primitive(index: u32) -> BinaryRef {
        BinaryRef(index | BinaryRef::PRIMITIVE)
    }

    /// Returns the index of a primitive, or that of an inner node as error.
    #[inline]
    fn index(self) -> Result<u32, usize> {
        if self.0 & BinaryRef::PRIMITIVE != 0 {
            Ok(self.0 & !BinaryRef::PRIMITIVE)
        } else {
            Err(self.0 as usize)
        }
    }
}

/// An inner node of the binary tree.
#[derive(Clone, Copy, Zeroable)]
pub(crate) struct InnerNode {
    /// Minimum corner of the box.
    low: Vec3,
    /// Maximum corner of the box.
    high: Vec3,
    /// The two children.
    children: [BinaryRef; 2],
    /// The optimal split of two to eight boxes between the children, and whether the primitives below form a leaf.
    shares: Shares<8>,
}

/// Returns half the surface area of a box.
#[inline(always)]
fn half_area(low: Vec3, high: Vec3) -> f32 {
    let size = high - low;
    (size.x + size.y) * size.z + size.x * size.y
}

/// Costs of tracing rays through a subtree.
#[derive(Clone, Copy)]
pub(crate) struct Costs {
    /// Minimum cost if one to seven boxes of a wide node represent the subtree; entry `n - 1` is that of `n` boxes. The
    /// last entry is not used.
    by_boxes: [f32; 8],
    /// Number of primitives in the subtree. An instance counts as more than fit into a leaf.
    primitives: u32,
}

impl Costs {
    /// Returns the costs of a single primitive with this box.
    #[inline(always)]
    pub(crate) fn of_primitive(bounds: &Aabb, is_instance: bool) -> Costs {
        let area = half_area(bounds.min.into(), bounds.max.into());
        Costs {
            by_boxes: [area * PRIMITIVE_COST; 8],
            primitives: if is_instance {
                MAX_LEAF_PRIMITIVES + 1
            } else {
                1
            },
        }
    }
}

/// A builder of the inner nodes of some subtrees, which are added one after another.
pub(crate) struct Binary<'a> {
    /// The primitives.
    source: &'a Source<'a>,
    /// Places for the inner nodes. An inner node comes before those below it.
    inner_nodes: &'a mut [InnerNode],
    /// Index of the first place in the whole binary tree.
    first: usize,
    /// Number of places in use.
    used: usize,
    /// Nodes to copy, each with the parent and the side of the reference to it, unless it is a root.
    to_visit: Vec<(u32, Option<(usize, usize)>)>,
    /// Costs of subtrees whose parents wait for them.
    costs: Vec<Costs>,
}

impl<'a> Binary<'a> {
    /// Starts with free places, of which the first has the index `first` in the whole binary tree.
    pub(crate) fn new(
        source: &'a Source<'a>,
        inner_nodes: &'a mut [InnerNode],
        first: usize,
    ) -> Binary<'a> {
        Binary {
            source,
            inner_nodes,
            first,
            used: 0,
            to_visit: Vec::new(),
            costs: Vec::new(),
        }
    }

    /// Copies the subtree at a root of a tree with one primitive per leaf, and decides which nodes remain nodes of the
    /// wide tree. `leaf` and `cost` map the indices in its leaves. Returns the copy's root and costs.
    pub(crate) fn add(
        &mut self,
        tree: &Bvh2,
        root: u32,
        leaf: impl Fn(u32) -> BinaryRef,
        cost: impl Fn(u32) -> Costs,
    ) -> (BinaryRef, Costs) {
        let start = self.used;
        let index = |node: u32| tree.primitive_indices[node as usize];
        let mut copy = BinaryRef::default();
        self.to_visit.push((root, None));
        while let Some((number, parent)) = self.to_visit.pop() {
            let node = &tree.nodes[number as usize];
            let here = if node.is_leaf() {
                // Replaced by the reference to the primitive when its costs are known.
                BinaryRef::primitive(index(node.first_index))
            } else {
                let place = self.used;
                self.to_visit.push((node.first_index + 1, Some((place, 1))));
                self.to_visit.push((node.first_index, Some((place, 0))));
                self.inner_nodes[place] = InnerNode {
                    low: node.aabb().min.into(),
                    high: node.aabb().max.into(),
                    ..InnerNode::zeroed()
                };
                self.used += 1;
                BinaryRef((self.first + place) as u32)
            };
            match parent {
                Some((inner_node, side)) => self.inner_nodes[inner_node].children[side] = here,
                None => copy = here,
            }
        }
        let (inner_nodes, waiting) = (&mut self.inner_nodes[start..self.used], &mut self.costs);
        let source = self.source;
        vectorized(
            #[inline(always)]
            || decide_all(source, inner_nodes, waiting, &leaf, &cost),
        );
        match copy.index() {
            Ok(index) => (leaf(index), cost(index)),
            Err(_) => (copy, self.costs.pop().unwrap_or_else(|| cost(0))),
        }
    }
}

/// Decides which of a subtree's inner nodes remain nodes of the wide tree, and replaces the references to its leaves.
/// The costs of the root are then on top of `waiting`.
#[inline(always)]
fn decide_all(
    source: &Source,
    inner_nodes: &mut [InnerNode],
    waiting: &mut Vec<Costs>,
    leaf: &impl Fn(u32) -> BinaryRef,
    cost: &impl Fn(u32) -> Costs,
) {
    // An inner node's right subtree follows its left one, so that the costs of the left one come last.
    for inner_node in inner_nodes.iter_mut().rev() {
        let mut of_child = |side: usize| match inner_node.children[side].index() {
            Ok(index) => {
                inner_node.children[side] = leaf(index);
                cost(index)
            }
            Err(_) => waiting.pop().unwrap_or_else(|| cost(0)),
        };
        let (left, right) = (of_child(0), of_child(1));
        let is_pair = match inner_node.children.map(BinaryRef::index) {
            [Ok(one), Ok(other)] => source.is_pair(one.min(other), one.max(other)),
            _ => false,
        };
        waiting.push(decide(inner_node, &left, &right, is_pair));
    }
}

/// Computes the paper's C(n, i) of a node: the least cost as leaf, as node, or as boxes distributed to its children.
/// `is_pair` tells whether the children are the two triangles of a quadrilateral.
#[inline(always)]
fn decide(inner_node: &mut InnerNode, left: &Costs, right: &Costs, is_pair: bool) -> Costs {
    let area = half_area(inner_node.low, inner_node.high);
    let primitives = left.primitives.saturating_add(right.primitives);
    let leaf = if is_pair {
        area * PAIR_COST
    } else if primitives <= MAX_LEAF_PRIMITIVES {
        primitives as f32 * area * PRIMITIVE_COST
    } else {
        f32::INFINITY
    };
    let one_box = |children| {
        let node = children + area;
        (leaf.min(node), leaf < node)
    };
    let (of_left, of_right) = (&left.by_boxes, &right.by_boxes);
    let left_count = left.primitives as usize;
    let (shares, by_boxes) = Shares::decide(of_left, of_right, left_count, 8, one_box);
    inner_node.shares = shares;
    Costs {
        by_boxes,
        primitives,
    }
}

/// The whole binary tree.
struct Forest<'a> {
    /// The primitives.
    source: &'a Source<'a>,
    /// The inner nodes.
    inner_nodes: Vec<InnerNode>,
    /// Index of the first inner node above the branches.
    above: usize,
}

impl Forest<'_> {
    /// Returns the inner node at a reference, or `None` for a primitive.
    #[inline]
    fn inner_node(&self, at: BinaryRef) -> Option<&InnerNode> {
        at.index().err().map(|index| &self.inner_nodes[index])
    }

    /// Returns whether a node lies above the branches.
    fn is_above(&self, at: BinaryRef) -> bool {
        at.index().is_err_and(|index| index >= self.above)
    }

    /// Returns the index of an instance among the primitives, or `None` for other nodes.
    fn instance(&self, at: BinaryRef) -> Option<u32> {
        let primitive = at.index().ok()?;
        self.source.is_instance(primitive).then_some(primitive)
    }

    /// Returns whether a node becomes a leaf of the wide tree. An instance becomes a node.
    fn is_leaf(&self, at: BinaryRef) -> bool {
        match at.index() {
            Ok(primitive) => !self.source.is_instance(primitive),
            Err(inner_node) => self.inner_nodes[inner_node].shares.is_leaf(),
        }
    }

    /// Returns the minimum and maximum corner of a node's box.
    fn bounds(&self, at: BinaryRef) -> (Vec3, Vec3) {
        match at.index() {
            Ok(primitive) => {
                let bounds = self.source.bounds(primitive);
                (bounds.min.into(), bounds.max.into())
            }
            Err(inner_node) => (
                self.inner_nodes[inner_node].low,
                self.inner_nodes[inner_node].high,
            ),
        }
    }

    /// Appends the nodes that represent a subtree by up to `boxes` boxes.
    fn gather(&self, at: BinaryRef, boxes: u8, gathered: &mut Vec<BinaryRef>) {
        if let Some(inner_node) = self.inner_node(at)
            && let Some(shares) = inner_node.shares.of(boxes)
        {
            self.gather(inner_node.children[0], shares.0, gathered);
            self.gather(inner_node.children[1], shares.1, gathered);
        } else {
            gathered.push(at);
        }
    }

    /// Appends the indices of the primitives below a node that becomes a leaf.
    fn primitives(&self, at: BinaryRef, order: &mut Vec<u32>) {
        match at.index() {
            Ok(primitive) => order.push(primitive),
            Err(inner_node) => {
                let [left, right] = self.inner_nodes[inner_node].children;
                self.primitives(left, order);
                self.primitives(right, order);
            }
        }
    }

    /// Builds the wide tree below a node, with memory for `size` nodes and primitives. `elsewhere` returns the subtrees
    /// that are built separately, and is called in depth-first order.
    ///
    /// A node that stands for an instance has no children yet, and refers to the instance as a primitive.
    fn grow(
        &self,
        root: BinaryRef,
        size: (usize, usize),
        elsewhere: impl FnMut(BinaryRef) -> Option<CompressedTree>,
    ) -> CompressedTree {
        vectorized(
            #[inline(always)]
            || self.grow_vectorized(root, size, elsewhere),
        )
    }

    /// Does the work of [`Forest::grow`].
    #[inline(always)]
    fn grow_vectorized(
        &self,
        root: BinaryRef,
        size: (usize, usize),
        mut elsewhere: impl FnMut(BinaryRef) -> Option<CompressedTree>,
    ) -> CompressedTree {
        let mut grown = CompressedTree {
            nodes: Vec::with_capacity(size.0.max(1)),
            order: Vec::with_capacity(size.1),
        };
        grown.nodes.push(Node::default());
        let (mut gathered, mut children) = (Vec::with_capacity(8), Vec::with_capacity(8));
        let mut to_visit = vec![(root, 0)];
        while let Some((at, place)) = to_visit.pop() {
            // The root is a node of the tree even if it holds a single instance.
            if place > 0
                && let Some(instance) = self.instance(at)
            {
                grown.nodes[place] = Node {
                    child_base: INSTANCE_NODE,
                    primitive_base: grown.order.len() as u32,
                    ..Node::default()
                };
                grown.order.push(instance);
                continue;
            }
            if let Some(tree) = elsewhere(at) {
                grown.append(tree, place);
                continue;
            }
            gathered.clear();
            self.gather(at, 8, &mut gathered);
            children.clear();
            children.extend(gathered.iter().map(|&at| {
                let (low, high) = self.bounds(at);
                Child { at, low, high }
            }));
            let bounds = self.bounds(at);
            let slots = slots((bounds.0 + bounds.1) * 0.5, &children);
            let node = self.node(bounds, &children, &slots, &mut grown);
            let first = grown.nodes.len();
            let inner = slots.into_iter().flatten().map(|child| children[child].at);
            let waiting = to_visit.len();
            to_visit.extend(inner.filter(|&at| !self.is_leaf(at)).zip(first..));
            let end = first + to_visit.len() - waiting;
            to_visit[waiting..].reverse();
            grown.nodes[place] = node;
            grown.nodes.resize(end, Node::default());
        }
        grown
    }

    /// Encodes a node with this box and children in these slots. Leaves append their primitives; child nodes will be
    /// appended next.
    #[inline(always)]
    fn node(
        &self,
        (corner, end): (Vec3, Vec3),
        children: &[Child],
        slots: &[Option<usize>; 8],
        grown: &mut CompressedTree,
    ) -> Node {
        let mut node = Node {
            child_base: grown.nodes.len() as u32,
            primitive_base: grown.order.len() as u32,
            ..Node::around(corner, end)
        };
        let grid = node.grid();
        for (slot, child) in slots.iter().enumerate() {
            let Some(child) = *child else { continue };
            let child = &children[child];
            node.set_box(grid, slot, child.low, child.high);
            node.meta[slot] = if self.is_leaf(child.at) {
                let first = grown.order.len();
                self.primitives(child.at, &mut grown.order);
                // `PAIRED` needs the two triangles of a quadrilateral in order.
                grown.order[first..].sort_unstable();
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

/// A child of a wide node that is being built: its node in the binary tree, and its box.
struct Child {
    /// The child's node in the binary tree.
    at: BinaryRef,
    /// Minimum corner of its box.
    low: Vec3,
    /// Maximum corner of its box.
    high: Vec3,
}

/// Signs of the coordinates x, y and z of the direction from a node's center to which each slot belongs, negated.
const SIGNS: [[f32; 8]; 3] = [
    [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0],
    [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0],
];

/// Assigns the children of a node with this center, at most eight, to slots. Rays visit children by slot, so each child
/// gets the slot that fits its direction from the center, greedily by the best fit; of equal ones, the first child and
/// slot.
#[inline(always)]
fn slots(from: Vec3, children: &[Child]) -> [Option<usize>; 8] {
    let least = |costs: &[f32; 8]| {
        let mut best = (costs[0], 0);
        for (slot, &cost) in costs.iter().enumerate().skip(1) {
            if cost < best.0 {
                best = (cost, slot);
            }
        }
        best
    };
    let mut costs = [[f32::INFINITY; 8]; 8];
    // The best free slot of each child, and its cost. Children that have a slot cost nothing less than infinity.
    let mut fits = [(f32::INFINITY, 0); 8];
    for ((costs, fit), child) in costs.iter_mut().zip(&mut fits).zip(children) {
        let away = (child.low + child.high) * 0.5 - from;
        for (slot, cost) in costs.iter_mut().enumerate() {
            let [x, y, z] = SIGNS.map(|signs| signs[slot]);
            *cost = x * away.x + y * away.y + z * away.z;
        }
        *fit = least(costs);
    }
    let mut slots = [None; 8];
    for _ in children {
        let mut best = (f32::INFINITY, 0, 0);
        for (child, &(cost, slot)) in fits.iter().enumerate() {
            if cost < best.0 {
                best = (cost, child, slot);
            }
        }
        let (_, next, taken) = best;
        slots[taken] = Some(next);
        costs[next] = [f32::INFINITY; 8];
        fits[next].0 = f32::INFINITY;
        for (costs, fit) in costs.iter_mut().zip(&mut fits) {
            costs[taken] = f32::INFINITY;
            if fit.1 == taken {
                *fit = least(costs);
            }
        }
    }
    slots
}
