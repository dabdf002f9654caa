//! Splits the nodes of a compressed wide BVH (CWBVH, Ylitie, Karras & Laine 2017) into a binary tree. Decides which of
//! its nodes become the nodes and packets of the tree for SIMD traversal, so that the total cost is least.

use std::{array, mem, ops::Range};

use bytemuck::{Zeroable, zeroed_vec};
use glam::Vec3;
use obvhs::Boundable;
use rayon::prelude::*;

use super::tree::OTHERS;
use crate::{
    accel::{
        bvh::{INSTANCE_NODE, Node, builder::shares::Shares},
        primitive::{INSTANCE, PAIRED, Primitive},
        vectors::{MAX_LANES, vectorized},
    },
    math::{max_f32, min_f32},
};

/// Cost of testing a packet of triangles or spheres, relative to a node. Between 0.3 and 2 the speed is the same.
const PACKET_COST: f32 = 1.0;
/// Cost of entering an instance, relative to a node. An instance is never part of a packet, so that its box is tested.
const INSTANCE_COST: f32 = 8.0;

/// Number of kinds of primitives, of which [`INSTANCE`] is the last.
const KINDS: usize = INSTANCE as usize + 1;

/// Maximum number of primitives below a node whose subtree is split by one thread. Nodes above such subtrees are split
/// one after another.
const MAX_TASK_PRIMITIVES: u32 = 1 << 13;

/// An axis-aligned bounding box.
#[derive(Clone, Copy, Zeroable)]
pub(super) struct Bounds {
    /// Minimum corner.
    pub(super) low: Vec3,
    /// Maximum corner.
    pub(super) high: Vec3,
}

impl Bounds {
    /// Returns the bounding box of a primitive.
    #[inline(always)]
    fn of(primitive: &Primitive) -> Bounds {
        let bounds = primitive.aabb();
        Bounds {
            low: bounds.min.into(),
            high: bounds.max.into(),
        }
    }

    /// Returns the box around both boxes.
    #[inline(always)]
    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Returns half the surface area.
    #[inline(always)]
    fn half_area(self) -> f32 {
        let size = self.high - self.low;
        size.x * size.y + size.y * size.z + size.z * size.x
    }
}

/// A reference to a node of the binary tree: a primitive, which is a leaf, or a split node.
#[derive(Clone, Copy, Default, Zeroable)]
#[repr(transparent)]
pub(super) struct NodeRef(u32);

impl NodeRef {
    /// Bit that marks references to primitives. The other bits are the index.
    const PRIMITIVE: u32 = 1 << 31;

    /// Returns the index of a primitive as `Ok`, or that of a split node as `Err`.
    #[inline(always)]
    fn index(self) -> Result<u32, usize> {
        if self.0 & NodeRef::PRIMITIVE != 0 {
            Ok(self.0 & !NodeRef::PRIMITIVE)
        } else {
            Err(self.0 as usize)
        }
    }
}

/// An inner node of the binary tree.
#[derive(Clone, Copy, Zeroable)]
struct SplitNode {
    /// The two children in the binary tree.
    parts: [NodeRef; 2],
    /// The box around them.
    bounds: Bounds,
    /// The optimal distribution of the boxes of a wide node between the two children, and whether the primitives below
    /// become a packet if the node gets a single box.
    shares: Shares<MAX_LANES>,
}

/// A subtree while the binary tree is built.
#[derive(Clone, Copy)]
struct Subtree {
    /// Root of the subtree.
    part: NodeRef,
    /// The box around it.
    bounds: Bounds,
    /// Minimum costs of tracing rays through the subtree as 1, 2, … boxes. A node costs 1 times half its surface area.
    costs: [f32; MAX_LANES],
    /// Number of primitives by kind, counted only until one more than fits a packet.
    counts: [u8; KINDS],
}

impl Subtree {
    /// Returns the subtree of a single primitive, whose index is `position`.
    #[inline(always)]
    fn primitive(position: u32, primitive: &Primitive) -> Subtree {
        let bounds = Bounds::of(primitive);
        let mut counts = [0; KINDS];
        counts[(primitive.kind_bits & !PAIRED) as usize] = 1;
        let cost = if primitive.is_instance() {
            INSTANCE_COST
        } else {
            PACKET_COST
        };
        Subtree {
            part: NodeRef(position | NodeRef::PRIMITIVE),
            bounds,
            costs: [cost * bounds.half_area(); MAX_LANES],
            counts,
        }
    }

    /// Returns the cost of one packet of all primitives. Returns `None` if they are more than `max_count`, of different
    /// kinds, or instances.
    #[inline(always)]
    fn packet_cost(&self, max_count: u8) -> Option<f32> {
        let fits = match self.counts {
            [count, 0, 0] | [0, count, 0] => count <= max_count,
            _ => false,
        };
        fits.then(|| PACKET_COST * self.bounds.half_area())
    }
}

/// The nodes of a CWBVH.
#[derive(Clone, Copy)]
pub(super) struct Nodes<'a> {
    /// The nodes.
    pub(super) nodes: &'a [Node],
    /// Index of the first one in the scene's list of nodes, to which the indices of children refer.
    pub(super) root: u32,
    /// Index of each instance's primitive, by the index of the instance. Empty in the tree of a mesh.
    pub(super) instances: &'a [u32],
}

impl Nodes<'_> {
    /// Returns the index among the primitives of the instance that a node stands for, or `None` if it stands for none.
    fn instance(&self, node: usize) -> Option<u32> {
        let node = &self.nodes[node];
        let stands_for_one = node.child_base & INSTANCE_NODE != 0;
        stands_for_one.then(|| self.instances[node.primitive_base as usize])
    }

    /// Returns the indices in `nodes` of a node's child nodes. One that stands for an instance has none.
    fn children(&self, node: usize) -> Range<usize> {
        if self.instance(node).is_some() {
            return 0..0;
        }
        let node = &self.nodes[node];
        let base = node.child_base.wrapping_sub(self.root) as usize;
        base..base + (node.exponents >> 24).count_ones() as usize
    }

    /// Returns the number of primitives below each node. Returns `None` if a child comes before its parent or does not
    /// exist, or if a node stands for an unknown instance.
    fn counts(&self) -> Option<Vec<u32>> {
        let mut counts = vec![0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if node.child_base & INSTANCE_NODE != 0 {
                self.instances.get(node.primitive_base as usize)?;
                counts[index] = 1;
                continue;
            }
            let children = self.children(index);
            if !children.is_empty() && (children.start <= index || children.end > counts.len()) {
                return None;
            }
            let inner = node.exponents >> 24;
            let leaves = (0..8).filter(|slot| inner >> slot & 1 == 0);
            let in_leaves: u32 = leaves
                .map(|slot: usize| (node.meta[slot] >> 5).count_ones())
                .sum();
            let in_children: u32 = children.map(|child| counts[child]).sum();
            counts[index] = in_leaves + in_children;
        }
        Some(counts)
    }
}

/// A binary tree over primitives, made from a CWBVH.
pub(super) struct SplitTree<'a> {
    /// The scene's primitives.
    pub(super) primitives: &'a [Primitive],
    /// Maximum number of children of a node, and of primitives of a packet.
    pub(super) lanes: u8,
    /// The inner nodes.
    split_nodes: Vec<SplitNode>,
    /// The root; `None` without primitives.
    pub(super) root: Option<NodeRef>,
}

impl SplitTree<'_> {
    /// Splits the nodes of a CWBVH into a binary tree, in parallel. Returns `None` under the same conditions as
    /// [`Nodes::counts`].
    pub(super) fn of<'a>(
        nodes: Nodes,
        primitives: &'a [Primitive],
        lanes: u8,
    ) -> Option<SplitTree<'a>> {
        let counts = nodes.counts()?;
        // All nodes with more than a limited number of primitives, and the largest subtrees with fewer, in depth-first
        // order. The subtrees are split in parallel.
        let mut visited = Vec::new();
        let mut to_visit: Vec<usize> = (0..counts.len().min(1)).collect();
        while let Some(node) = to_visit.pop() {
            visited.push(node);
            if counts[node] > MAX_TASK_PRIMITIVES {
                let children = nodes.children(node).rev();
                to_visit.extend(children.filter(|&child| counts[child] > 0));
            }
        }
        let inner_count = |node: usize| counts[node].saturating_sub(1) as usize;
        let mut split_nodes = zeroed_vec(counts.first().map_or(0, |_| inner_count(0)));
        let mut above = Splitter {
            nodes,
            counts: &counts,
            primitives,
            lanes,
            split_nodes: &mut split_nodes,
            first: 0,
            used: 0,
            waiting: Vec::new(),
            siblings: Vec::new(),
        };
        let is_small = |&node: &usize| counts[node] <= MAX_TASK_PRIMITIVES;
        let small: Vec<(usize, Splitter)> = visited
            .iter()
            .copied()
            .filter(is_small)
            .map(|node| (node, above.part(inner_count(node))))
            .collect();
        let split = |(root, mut splitter): (usize, Splitter)| splitter.split(root);
        let split: Vec<Option<Subtree>> = small.into_par_iter().map(split).collect();
        let mut split = split.into_iter().rev();
        for node in visited.iter().rev() {
            if is_small(node) {
                above.waiting.extend(split.next().flatten());
            } else {
                above.split_node(*node);
            }
        }
        let root = above.waiting.pop().map(|root| root.part);
        Some(SplitTree {
            primitives,
            lanes,
            split_nodes,
            root,
        })
    }

    /// Returns the box of a binary node.
    pub(super) fn bounds(&self, part: NodeRef) -> Bounds {
        match part.index() {
            Ok(primitive) => Bounds::of(&self.primitives[primitive as usize]),
            Err(index) => self.split_nodes[index].bounds,
        }
    }

    /// Returns the index of an instance if the binary node is a single instance, otherwise `None`.
    pub(super) fn instance(&self, part: NodeRef) -> Option<u32> {
        let primitive = &self.primitives[part.index().ok()? as usize];
        (primitive.is_instance()).then_some(primitive.material)
    }

    /// Returns whether a binary node becomes a packet, or is a single instance.
    pub(super) fn is_packet(&self, part: NodeRef) -> bool {
        match part.index() {
            Ok(_) => true,
            Err(index) => self.split_nodes[index].shares.is_leaf(),
        }
    }

    /// Returns [`OTHERS`] if the first primitive of a packet is not a triangle, else 0.
    pub(super) fn kind_bit(&self, mut part: NodeRef) -> u32 {
        loop {
            match part.index() {
                Ok(primitive) if self.primitives[primitive as usize].is_triangle() => return 0,
                Ok(_) => return OTHERS,
                Err(index) => part = self.split_nodes[index].parts[0],
            }
        }
    }

    /// Appends to `parts` the binary nodes that represent the subtree of `part` at the least cost by up to `boxes`
    /// boxes.
    ///
    /// With as many boxes as lanes, they are the children of the wide node for `part`.
    pub(super) fn share_out(&self, part: NodeRef, boxes: u8, parts: &mut Vec<NodeRef>) {
        if let Err(index) = part.index()
            && let node = &self.split_nodes[index]
            && let Some((of_first, of_second)) = node.shares.of(boxes)
        {
            self.share_out(node.parts[0], of_first, parts);
            self.share_out(node.parts[1], of_second, parts);
        } else {
            parts.push(part);
        }
    }

    /// Appends the indices of the primitives below a node that becomes a packet.
    pub(super) fn positions(&self, part: NodeRef, positions: &mut Vec<u32>) {
        match part.index() {
            Ok(primitive) => positions.push(primitive),
            Err(index) => {
                for part in self.split_nodes[index].parts {
                    self.positions(part, positions);
                }
            }
        }
    }
}

/// Splits nodes of a CWBVH, children before their parents.
struct Splitter<'a> {
    /// The CWBVH.
    nodes: Nodes<'a>,
    /// Number of primitives below each of its nodes.
    counts: &'a [u32],
    /// The scene's primitives.
    primitives: &'a [Primitive],
    /// Maximum number of children of a node, and of primitives of a packet.
    lanes: u8,
    /// Free slots for the split nodes, one less than there are primitives.
    split_nodes: &'a mut [SplitNode],
    /// Index of the first slot in the whole binary tree.
    first: usize,
    /// Number of slots in use.
    used: usize,
    /// The subtrees of nodes that are split already and whose parents are not. The first child of a node comes last.
    waiting: Vec<Subtree>,
    /// The subtrees of the node that is being split.
    siblings: Vec<Subtree>,
}

impl<'a> Splitter<'a> {
    /// Returns a splitter of a subtree, which takes the first `count` of the free slots.
    fn part(&mut self, count: usize) -> Splitter<'a> {
        let (split_nodes, rest) = mem::take(&mut self.split_nodes).split_at_mut(count);
        let first = self.first;
        (self.split_nodes, self.first) = (rest, first + count);
        Splitter {
            split_nodes,
            first,
            waiting: Vec::new(),
            siblings: Vec::new(),
            ..*self
        }
    }

    /// Splits all nodes of a subtree of the CWBVH, and returns the resulting subtree. Returns `None` if it has no
    /// primitives.
    fn split(&mut self, root: usize) -> Option<Subtree> {
        let mut visited = Vec::new();
        let mut to_visit = vec![root];
        while let Some(node) = to_visit.pop() {
            if self.counts[node] > 0 {
                visited.push(node as u32);
                to_visit.extend(self.nodes.children(node).rev());
            }
        }
        vectorized(
            #[inline(always)]
            || {
                for &node in visited.iter().rev() {
                    self.split_node(node as usize);
                }
            },
        );
        self.waiting.pop()
    }

    /// Splits a node into binary nodes: each leaf becomes a subtree of its primitives, and leaves and children are
    /// joined in pairs. An instance becomes a subtree of one primitive. Takes the subtrees of the children from the end
    /// of `waiting`, and puts the new one there. A node without primitives adds none.
    #[inline(always)]
    fn split_node(&mut self, index: usize) {
        if let Some(position) = self.nodes.instance(index) {
            let instance = &self.primitives[position as usize];
            self.waiting.push(Subtree::primitive(position, instance));
            return;
        }
        let node = &self.nodes.nodes[index];
        let imask = node.exponents >> 24;
        let mut children = self.nodes.children(index);
        self.siblings.clear();
        for (slot, meta) in node.meta.into_iter().enumerate() {
            let meta = u32::from(meta);
            if imask >> slot & 1 == 1 {
                if children.next().is_some_and(|child| self.counts[child] > 0) {
                    self.siblings.extend(self.waiting.pop());
                }
                continue;
            }
            let leaf = self.siblings.len();
            let first = node.primitive_base + (meta & 31);
            for position in first..first + (meta >> 5).count_ones() {
                let primitive = &self.primitives[position as usize];
                self.siblings.push(Subtree::primitive(position, primitive));
            }
            self.join_siblings(leaf);
        }
        self.join_siblings(0);
        self.waiting.extend(self.siblings.pop());
    }

    /// Joins the siblings from index `start` on, at most eight, into one. Repeatedly joins the two whose common box has
    /// the smallest surface.
    #[inline(always)]
    fn join_siblings(&mut self, start: usize) {
        let mut count = self.siblings.len() - start;
        if count < 2 {
            return;
        }
        let mut boxes = Boxes::of(&self.siblings[start..]);
        // Areas of the boxes around each pair.
        let mut areas = [[0.0; 8]; 8];
        if count > 2 {
            areas = array::from_fn(
                #[inline(always)]
                |number| boxes.areas_with(number),
            );
        }
        while count > 1 {
            let mut best = (f32::INFINITY, 0, 1);
            for (second, areas) in areas.iter().enumerate().take(count).skip(1) {
                for (first, &area) in areas.iter().enumerate().take(second) {
                    if area < best.0 {
                        best = (area, first, second);
                    }
                }
            }
            let (_, first, second) = best;
            let other = self.siblings.swap_remove(start + second);
            let joined = self.join(self.siblings[start + first], other);
            self.siblings[start + first] = joined;
            count -= 1;
            if count > 1 {
                // The last one has moved to the place of the second, and the first is new.
                boxes.copy(count, second);
                boxes.set(first, joined.bounds);
                areas[second] = areas[count];
                let around = boxes.areas_with(first);
                areas[first] = around;
                for (areas, around) in areas.iter_mut().zip(around) {
                    areas[second] = areas[count];
                    areas[first] = around;
                }
            }
        }
    }

    /// Joins two subtrees under a new split node, and computes its costs.
    #[inline(always)]
    fn join(&mut self, first: Subtree, second: Subtree) -> Subtree {
        let max_count = self.lanes + 1;
        let mut below = Subtree {
            part: NodeRef((self.first + self.used) as u32),
            bounds: first.bounds.union(second.bounds),
            costs: first.costs,
            counts: array::from_fn(|kind| max_count.min(first.counts[kind] + second.counts[kind])),
        };
        let one_box = |children: f32| {
            let as_node = children + below.bounds.half_area();
            // At equal cost the packet wins: points and lines have no area and cost nothing either way.
            let as_packet = below.packet_cost(self.lanes);
            let cheaper = as_packet.filter(|&cost| cost <= as_node);
            (cheaper.unwrap_or(as_node), cheaper.is_some())
        };
        let max_children = usize::from(self.lanes);
        // Counted up to one more than there are lanes.
        let first_count = first.counts.iter().map(|&count| usize::from(count)).sum();
        let (shares, costs) = Shares::decide(
            &first.costs,
            &second.costs,
            first_count,
            max_children,
            one_box,
        );
        below.costs = costs;
        self.split_nodes[self.used] = SplitNode {
            parts: [first.part, second.part],
            bounds: below.bounds,
            shares,
        };
        self.used += 1;
        below
    }
}

/// A structure of arrays of up to eight boxes.
struct Boxes {
    /// Minimum coordinates by axis.
    low: [[f32; 8]; 3],
    /// Maximum coordinates by axis.
    high: [[f32; 8]; 3],
}

impl Boxes {
    /// Returns the boxes of up to eight subtrees.
    #[inline(always)]
    fn of(subtrees: &[Subtree]) -> Boxes {
        let mut boxes = Boxes {
            low: [[0.0; 8]; 3],
            high: [[0.0; 8]; 3],
        };
        for (number, subtree) in subtrees.iter().enumerate().take(8) {
            boxes.set(number, subtree.bounds);
        }
        boxes
    }

    /// Sets one of the boxes.
    #[inline(always)]
    fn set(&mut self, number: usize, bounds: Bounds) {
        for axis in 0..3 {
            self.low[axis][number] = bounds.low[axis];
            self.high[axis][number] = bounds.high[axis];
        }
    }

    /// Sets one box to another.
    #[inline(always)]
    fn copy(&mut self, from: usize, to: usize) {
        for axis in 0..3 {
            self.low[axis][to] = self.low[axis][from];
            self.high[axis][to] = self.high[axis][from];
        }
    }

    /// Returns half the surface areas of the boxes around box `number` and each of the eight. Entries of missing boxes
    /// are meaningless.
    #[inline(always)]
    fn areas_with(&self, number: usize) -> [f32; 8] {
        let sizes = |axis: usize| -> [f32; 8] {
            let (low, high) = (self.low[axis][number], self.high[axis][number]);
            let (lows, highs) = (&self.low[axis], &self.high[axis]);
            array::from_fn(|other| max_f32(high, highs[other]) - min_f32(low, lows[other]))
        };
        let (x, y, z) = (sizes(0), sizes(1), sizes(2));
        array::from_fn(|other| x[other] * y[other] + y[other] * z[other] + z[other] * x[other])
    }
}
