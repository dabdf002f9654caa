//! Builds the tree for SIMD traversal from the CWBVH. Its nodes are split into a binary tree, which is collapsed at the
//! least cost to nodes of one child per lane and packets of up to one primitive per lane.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;
use obvhs::Boundable;
use rayon::prelude::*;

use super::tree::{INSTANCE_LEAF, OTHERS, PACKET, Packet, WideNode, WideTree};
use crate::accel::{
    bvh::Node,
    primitive::{INSTANCE, Primitive, TRIANGLE},
    trees::shares::Shares,
    vectors::{Lanes, MAX_LANES},
};

/// Cost of testing a packet of triangles or spheres, relative to a node. Between 0.3 and 2 the speed is the same.
const PACKET_COST: f32 = 1.0;
/// Cost of entering an instance, relative to a node. Each instance is a packet of its own, so that its box is tested.
const INSTANCE_COST: f32 = 8.0;

/// Number of kinds of primitives.
const KINDS: usize = INSTANCE as usize + 1;

/// An axis-aligned bounding box.
#[derive(Clone, Copy)]
struct Bounds {
    low: Vec3,
    high: Vec3,
}

impl Bounds {
    /// Returns the bounding box of a primitive.
    fn of(primitive: &Primitive) -> Bounds {
        let bounds = primitive.aabb();
        Bounds {
            low: bounds.min.into(),
            high: bounds.max.into(),
        }
    }

    /// Returns the box around both.
    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Returns half the surface area.
    fn area(self) -> f32 {
        let size = self.high - self.low;
        size.x * size.y + size.y * size.z + size.z * size.x
    }
}

/// A node of the binary tree.
#[derive(Clone, Copy)]
enum NodeRef {
    /// A leaf: the primitive at this index.
    Primitive(u32),
    /// An inner node: number `number` of the split nodes made from CWBVH node `node`.
    Inner { node: u32, number: u8 },
}

/// An inner node of the binary tree.
struct SplitNode {
    /// The two children in the binary tree.
    parts: [NodeRef; 2],
    /// The box around them.
    bounds: Bounds,
    /// The optimal distribution of the boxes of a wide node between the two children.
    shares: Shares<{ MAX_LANES - 1 }>,
    /// Whether the primitives below become a packet if the node gets a single box.
    packet: bool,
}

/// A subtree while the binary tree is built.
#[derive(Clone, Copy)]
struct Subtree {
    /// Root of the subtree.
    part: NodeRef,
    /// The box around it.
    bounds: Bounds,
    /// The least costs of tracing rays through the subtree as 1, 2, … boxes.
    costs: [f32; MAX_LANES - 1],
    /// Number of primitives by kind, counted only until one more than fits a packet.
    counts: [u8; KINDS],
}

impl Subtree {
    /// Returns the subtree of a single primitive.
    fn primitive(position: u32, primitive: &Primitive) -> Subtree {
        let bounds = Bounds::of(primitive);
        let mut counts = [0; KINDS];
        counts[primitive.kind as usize] = 1;
        let cost = if primitive.kind == INSTANCE {
            INSTANCE_COST
        } else {
            PACKET_COST
        };
        Subtree {
            part: NodeRef::Primitive(position),
            bounds,
            costs: [cost * bounds.area(); MAX_LANES - 1],
            counts,
        }
    }

    /// Returns the cost of one packet of all primitives. `None` if they are more than `max_count`, of different kinds, or
    /// instances.
    fn packet_cost(&self, max_count: u8) -> Option<f32> {
        let fits = match self.counts {
            [count, 0, 0] | [0, count, 0] => count <= max_count,
            _ => false,
        };
        fits.then(|| PACKET_COST * self.bounds.area())
    }
}

/// A binary tree over primitives, made from a CWBVH.
struct SplitTree<'a> {
    /// The scene's primitives.
    primitives: &'a [Primitive],
    /// Maximum number of children of a node, and of primitives of a packet.
    lanes: u8,
    /// The split nodes made from each node of the CWBVH.
    forks: Vec<Box<[SplitNode]>>,
    /// The root; `None` without primitives.
    root: Option<NodeRef>,
}

impl SplitTree<'_> {
    /// Splits the nodes of a CWBVH into a binary tree, in parallel. `None` if a node comes before its parent.
    fn of<'a>(nodes: &[Node], primitives: &'a [Primitive], lanes: u8) -> Option<SplitTree<'a>> {
        let mut depths = vec![0; nodes.len()];
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let depth = depths[index];
            if depth == levels.len() {
                levels.push(Vec::new());
            }
            levels.get_mut(depth)?.push(index);
            for child in children(node) {
                if child <= index {
                    return None;
                }
                *depths.get_mut(child)? = depth + 1;
            }
        }
        let mut binary = SplitTree {
            primitives,
            lanes,
            forks: nodes.iter().map(|_| Box::default()).collect(),
            root: None,
        };
        let mut below: Vec<Option<Subtree>> = vec![None; nodes.len()];
        for level in levels.iter().rev() {
            let forked = |&index: &usize| binary.forked(index as u32, &nodes[index], &below);
            let forked: Vec<_> = level.par_iter().map(forked).collect();
            for (&index, (forks, of_node)) in level.iter().zip(forked) {
                binary.forks[index] = forks;
                below[index] = of_node;
            }
        }
        binary.root = below.first()?.map(|below| below.part);
        Some(binary)
    }

    /// Returns the split nodes made from a CWBVH node, those of its leaves first, and the subtree that they form.
    fn forked(
        &self,
        index: u32,
        node: &Node,
        below: &[Option<Subtree>],
    ) -> (Box<[SplitNode]>, Option<Subtree>) {
        let imask = node.exponents >> 24;
        let mut nodes = children(node);
        let mut forks = Vec::new();
        let mut all = Vec::with_capacity(node.meta.len());
        for (slot, meta) in node.meta.into_iter().enumerate() {
            let meta = u32::from(meta);
            if imask >> slot & 1 == 1 {
                all.extend(nodes.next().and_then(|child| below[child]));
                continue;
            }
            let first = node.primitive_base + (meta & 31);
            let leaf = (first..first + (meta >> 5).count_ones())
                .map(|position| Subtree::primitive(position, &self.primitives[position as usize]));
            all.extend(self.joined(index, leaf.collect(), &mut forks));
        }
        let all = self.joined(index, all, &mut forks);
        (forks.into(), all)
    }

    /// Joins subtrees to one, always the two whose common box is smallest. `None` if there are none.
    fn joined(
        &self,
        node: u32,
        mut all: Vec<Subtree>,
        forks: &mut Vec<SplitNode>,
    ) -> Option<Subtree> {
        while all.len() > 1 {
            let mut best = (f32::INFINITY, 0, 1);
            for second in 1..all.len() {
                for first in 0..second {
                    let area = all[first].bounds.union(all[second].bounds).area();
                    if area < best.0 {
                        best = (area, first, second);
                    }
                }
            }
            let (_, first, second) = best;
            let other = all.swap_remove(second);
            let number = forks.len() as u8;
            let (fork, below) = self.join([&all[first], &other], NodeRef::Inner { node, number });
            forks.push(fork);
            all[first] = below;
        }
        all.pop()
    }

    /// Joins two subtrees under a split node, and returns it with the new subtree, whose root is `part`.
    fn join(&self, [first, second]: [&Subtree; 2], part: NodeRef) -> (SplitNode, Subtree) {
        let max_count = self.lanes + 1;
        let mut below = Subtree {
            part,
            bounds: first.bounds.union(second.bounds),
            costs: first.costs,
            counts: std::array::from_fn(|kind| {
                max_count.min(first.counts[kind] + second.counts[kind])
            }),
        };
        let mut packet = false;
        let one_box = |children: f32| {
            let as_node = children + below.bounds.area();
            // At equal cost the packet wins: points and lines have no area and cost nothing either way.
            let as_packet = below.packet_cost(self.lanes);
            let cheaper = as_packet.filter(|&cost| cost <= as_node);
            packet = cheaper.is_some();
            cheaper.unwrap_or(as_node)
        };
        let max_children = usize::from(self.lanes);
        let (shares, costs) = Shares::decide(&first.costs, &second.costs, max_children, one_box);
        below.costs = costs;
        let fork = SplitNode {
            parts: [first.part, second.part],
            bounds: below.bounds,
            shares,
            packet,
        };
        (fork, below)
    }

    /// Returns the split node `number` of those made from CWBVH node `node`.
    fn fork(&self, node: u32, number: u8) -> &SplitNode {
        &self.forks[node as usize][usize::from(number)]
    }

    /// Returns the box of a binary node.
    fn bounds(&self, part: NodeRef) -> Bounds {
        match part {
            NodeRef::Primitive(position) => Bounds::of(&self.primitives[position as usize]),
            NodeRef::Inner { node, number } => self.fork(node, number).bounds,
        }
    }

    /// Returns the index of the instance that a binary node is; `None` if it is not a single instance.
    fn instance(&self, part: NodeRef) -> Option<u32> {
        let NodeRef::Primitive(position) = part else {
            return None;
        };
        let primitive = &self.primitives[position as usize];
        (primitive.kind == INSTANCE).then_some(primitive.material)
    }

    /// Returns whether a binary node becomes a packet.
    fn is_packet(&self, part: NodeRef) -> bool {
        match part {
            NodeRef::Primitive(_) => true,
            NodeRef::Inner { node, number } => self.fork(node, number).packet,
        }
    }

    /// Returns the binary nodes that become the children of the wide node for `part`.
    fn children(&self, part: NodeRef) -> Vec<NodeRef> {
        let mut children = Vec::with_capacity(usize::from(self.lanes));
        self.share_out(part, self.lanes, &mut children);
        children
    }

    /// Appends the binary nodes that represent the subtree of `part` by up to `boxes` boxes.
    fn share_out(&self, part: NodeRef, boxes: u8, parts: &mut Vec<NodeRef>) {
        if let NodeRef::Inner { node, number } = part
            && let fork = self.fork(node, number)
            && let Some((of_first, of_second)) = fork.shares.of(boxes)
        {
            self.share_out(fork.parts[0], of_first, parts);
            self.share_out(fork.parts[1], of_second, parts);
        } else {
            parts.push(part);
        }
    }

    /// Appends the indices of the primitives below a binary node.
    fn positions(&self, part: NodeRef, positions: &mut Vec<u32>) {
        match part {
            NodeRef::Primitive(position) => positions.push(position),
            NodeRef::Inner { node, number } => {
                for part in self.fork(node, number).parts {
                    self.positions(part, positions);
                }
            }
        }
    }
}

/// Returns the indices of a CWBVH node's child nodes.
fn children(node: &Node) -> impl Iterator<Item = usize> {
    let base = node.child_base as usize;
    base..base + (node.exponents >> 24).count_ones() as usize
}

impl<S: Lanes> WideTree<S> {
    /// Builds the tree. `None` if a node of the CWBVH comes before its parent.
    pub(super) fn new(
        nodes: &[Node],
        primitives: &[Primitive],
        extent: f32,
    ) -> Option<WideTree<S>> {
        let mut tree = WideTree {
            nodes: Vec::new(),
            packets: Vec::new(),
            extent,
            stack_height: 0,
        };
        tree.lay_out(&SplitTree::of(nodes, primitives, S::F32_LANES as u8)?);
        Some(tree)
    }

    /// Creates the nodes and packets of a binary tree.
    fn lay_out(&mut self, binary: &SplitTree) {
        let mut packets = Vec::new();
        // The children of each new node, and their child words.
        let of_root = binary.root.map_or(Vec::new(), |root| binary.children(root));
        let mut made = vec![(of_root, [0; MAX_LANES])];
        // Nodes whose child words are still missing, with the number of stack entries on the way there.
        let mut ways = vec![(0, 0)];
        while let Some((node, waiting)) = ways.pop() {
            let waiting: usize = waiting + made[node].0.len();
            self.stack_height = self.stack_height.max(waiting);
            for slot in 0..made[node].0.len() {
                let part = made[node].0[slot];
                let instance = binary.instance(part);
                made[node].1[slot] = if let Some(index) = instance {
                    PACKET | OTHERS | INSTANCE_LEAF | index
                } else if binary.is_packet(part) {
                    let mut positions = Vec::with_capacity(S::F32_LANES);
                    binary.positions(part, &mut positions);
                    let first = &binary.primitives[positions[0] as usize];
                    let others = if first.kind == TRIANGLE { 0 } else { OTHERS };
                    packets.push(positions);
                    PACKET | others | (packets.len() - 1) as u32
                } else {
                    let child = made.len();
                    made.push((binary.children(part), [0; MAX_LANES]));
                    ways.push((child, waiting));
                    child as u32
                };
            }
        }
        let node = |(parts, words): &(Vec<NodeRef>, [u32; MAX_LANES])| {
            WideNode::new(parts.iter().map(|&part| binary.bounds(part)), words)
        };
        let packet = |positions: &Vec<u32>| Packet::new(positions, binary.primitives);
        self.nodes = made.par_iter().map(node).collect();
        self.packets = packets.par_iter().map(packet).collect();
    }
}

impl<S: Lanes> WideNode<S> {
    /// Builds a node from its children's boxes and words. Unused lanes get empty boxes.
    fn new(boxes: impl Iterator<Item = Bounds>, words: &[u32; MAX_LANES]) -> WideNode<S> {
        let mut node = WideNode {
            planes: [[S::f32s::zeroed(); 3]; 2],
            children: S::u32s::zeroed(),
            child_mask: 0,
        };
        let [smallest, largest] = &mut node.planes;
        for axis in 0..3 {
            lanes_mut(&mut smallest[axis]).fill(f32::INFINITY);
            lanes_mut(&mut largest[axis]).fill(f32::NEG_INFINITY);
        }
        lanes_mut(&mut node.children).copy_from_slice(&words[..S::F32_LANES]);
        for (slot, Bounds { low, high }) in boxes.enumerate() {
            node.child_mask |= 1 << slot;
            for axis in 0..3 {
                lanes_mut(&mut smallest[axis])[slot] = low[axis];
                lanes_mut(&mut largest[axis])[slot] = high[axis];
            }
        }
        node
    }
}

impl<S: Lanes> Packet<S> {
    /// Builds a packet of the primitives at these indices, at least one.
    fn new(positions: &[u32], primitives: &[Primitive]) -> Packet<S> {
        let mut packet = Packet {
            corners: [[S::f32s::zeroed(); 3]; 3],
            positions: S::u32s::zeroed(),
        };
        let all = lanes_mut(&mut packet.positions);
        all.fill(positions[0]);
        all[..positions.len()].copy_from_slice(positions);
        for lane in 0..S::F32_LANES {
            let position = packet.position(lane);
            let Primitive { a, b, c, .. } = primitives[position as usize];
            for (corner, vertex) in packet.corners.iter_mut().zip([a, b, c]) {
                for (axis, along) in corner.iter_mut().enumerate() {
                    lanes_mut(along)[lane] = vertex[axis];
                }
            }
        }
        packet
    }
}

/// Returns the lanes of a vector as a mutable slice.
fn lanes_mut<V: Pod, T: Pod>(vector: &mut V) -> &mut [T] {
    bytemuck::cast_slice_mut(std::slice::from_mut(vector))
}
