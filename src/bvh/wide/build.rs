//! The tree for vectors from the tree that the GPU reads, whose nodes are taken apart to pairs and put together again at the
//! least cost: to nodes of as many children as a vector has lanes, and packets of up to as many primitives.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;
use obvhs::Boundable;
use rayon::prelude::*;

use super::tree::{OTHERS, PACKET, Packet, Tree, WideNode};
use crate::{
    bvh::Node,
    primitive::{Primitive, TRIANGLE},
    trees::shares::Shares,
    vectors::{Lanes, MOST_LANES},
};

/// What a ray's test of a packet of triangles costs, where that of a node costs 1. Between 0.3 and 2 rays are as fast.
const PACKET_COST: f32 = 1.0;
/// The same of each primitive of another kind: they are tested one after the other.
const OTHER_COST: f32 = 1.0;

#[derive(Clone, Copy)]
struct Bounds {
    low: Vec3,
    high: Vec3,
}

impl Bounds {
    fn of(primitive: &Primitive) -> Bounds {
        let bounds = primitive.aabb();
        Bounds {
            low: bounds.min.into(),
            high: bounds.max.into(),
        }
    }

    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    fn area(self) -> f32 {
        let size = self.high - self.low;
        size.x * size.y + size.y * size.z + size.z * size.x
    }
}

/// What has a box.
#[derive(Clone, Copy)]
enum Part {
    /// The primitive at this position.
    Primitive(u32),
    /// Of this node the fork of this number.
    Fork { node: u32, number: u8 },
}

/// Two parts that are joined.
struct Fork {
    parts: [Part; 2],
    bounds: Bounds,
    shares: Shares<{ MOST_LANES - 1 }>,
    /// Whether it is a packet where it is one box.
    packet: bool,
}

/// What is below a box.
#[derive(Clone, Copy)]
struct Below {
    part: Part,
    bounds: Bounds,
    /// What it costs to trace rays through it, by one box and more.
    costs: [f32; MOST_LANES - 1],
    /// How many, but no more than one beyond a packet's most.
    triangles: u8,
    others: u8,
}

impl Below {
    fn primitive(position: u32, primitive: &Primitive) -> Below {
        let bounds = Bounds::of(primitive);
        let is_triangle = primitive.kind == TRIANGLE;
        let cost = if is_triangle { PACKET_COST } else { OTHER_COST };
        Below {
            part: Part::Primitive(position),
            bounds,
            costs: [cost * bounds.area(); MOST_LANES - 1],
            triangles: u8::from(is_triangle),
            others: u8::from(!is_triangle),
        }
    }

    /// What a packet of all that is below costs. `None` if there is none that holds so much, or holds both kinds.
    fn packet_cost(&self, most: u8) -> Option<f32> {
        let cost = match (self.triangles, self.others) {
            (count, 0) if count <= most => PACKET_COST,
            (0, count) if count <= most => OTHER_COST * f32::from(count),
            _ => return None,
        };
        Some(cost * self.bounds.area())
    }
}

/// A binary tree over primitives.
struct Binary<'a> {
    primitives: &'a [Primitive],
    /// Children of a node, and primitives of a packet, at most.
    lanes: u8,
    /// Of each node of the tree that it is made from.
    forks: Vec<Box<[Fork]>>,
    /// Of all. `None` where there is no primitive.
    root: Option<Part>,
}

impl Binary<'_> {
    /// Takes these nodes apart. `None` if one stands before its parent.
    fn of<'a>(nodes: &[Node], primitives: &'a [Primitive], lanes: u8) -> Option<Binary<'a>> {
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
        let mut binary = Binary {
            primitives,
            lanes,
            forks: nodes.iter().map(|_| Box::default()).collect(),
            root: None,
        };
        let mut below: Vec<Option<Below>> = vec![None; nodes.len()];
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

    /// A node's forks, of each leaf and then of all its children, and what is below it.
    fn forked(
        &self,
        index: u32,
        node: &Node,
        below: &[Option<Below>],
    ) -> (Box<[Fork]>, Option<Below>) {
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
                .map(|position| Below::primitive(position, &self.primitives[position as usize]));
            all.extend(self.joined(index, leaf.collect(), &mut forks));
        }
        let all = self.joined(index, all, &mut forks);
        (forks.into(), all)
    }

    /// All together, those two joined first whose common box is the smallest. `None` if there are none.
    fn joined(&self, node: u32, mut all: Vec<Below>, forks: &mut Vec<Fork>) -> Option<Below> {
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
            let (fork, below) = self.join([&all[first], &other], Part::Fork { node, number });
            forks.push(fork);
            all[first] = below;
        }
        all.pop()
    }

    /// Two together, which are `part` then.
    fn join(&self, [first, second]: [&Below; 2], part: Part) -> (Fork, Below) {
        let most = self.lanes + 1;
        let mut below = Below {
            part,
            bounds: first.bounds.union(second.bounds),
            costs: first.costs,
            triangles: most.min(first.triangles + second.triangles),
            others: most.min(first.others + second.others),
        };
        let mut packet = false;
        let one_box = |children: f32| {
            let as_node = children + below.bounds.area();
            // Points and lines cost nothing in either.
            let as_packet = below.packet_cost(self.lanes);
            let cheaper = as_packet.filter(|&cost| cost <= as_node);
            packet = cheaper.is_some();
            cheaper.unwrap_or(as_node)
        };
        let most = usize::from(self.lanes);
        let (shares, costs) = Shares::decide(&first.costs, &second.costs, most, one_box);
        below.costs = costs;
        let fork = Fork {
            parts: [first.part, second.part],
            bounds: below.bounds,
            shares,
            packet,
        };
        (fork, below)
    }

    fn fork(&self, node: u32, number: u8) -> &Fork {
        &self.forks[node as usize][usize::from(number)]
    }

    fn bounds(&self, part: Part) -> Bounds {
        match part {
            Part::Primitive(position) => Bounds::of(&self.primitives[position as usize]),
            Part::Fork { node, number } => self.fork(node, number).bounds,
        }
    }

    fn is_packet(&self, part: Part) -> bool {
        match part {
            Part::Primitive(_) => true,
            Part::Fork { node, number } => self.fork(node, number).packet,
        }
    }

    /// The children of a node for this part.
    fn children(&self, part: Part) -> Vec<Part> {
        let mut children = Vec::with_capacity(usize::from(self.lanes));
        self.share_out(part, self.lanes, &mut children);
        children
    }

    /// Adds the parts that get a box of their own, where there are so many for this one.
    fn share_out(&self, part: Part, boxes: u8, parts: &mut Vec<Part>) {
        if let Part::Fork { node, number } = part
            && let fork = self.fork(node, number)
            && let Some((of_first, of_second)) = fork.shares.of(boxes)
        {
            self.share_out(fork.parts[0], of_first, parts);
            self.share_out(fork.parts[1], of_second, parts);
        } else {
            parts.push(part);
        }
    }

    /// Adds the positions of the primitives of a part.
    fn positions(&self, part: Part, positions: &mut Vec<u32>) {
        match part {
            Part::Primitive(position) => positions.push(position),
            Part::Fork { node, number } => {
                for part in self.fork(node, number).parts {
                    self.positions(part, positions);
                }
            }
        }
    }
}

/// Numbers of the nodes below a node.
fn children(node: &Node) -> impl Iterator<Item = usize> {
    let base = node.child_base as usize;
    base..base + (node.exponents >> 24).count_ones() as usize
}

impl<S: Lanes> Tree<S> {
    /// The tree of these nodes.
    pub(super) fn new(nodes: &[Node], primitives: &[Primitive], extent: f32) -> Option<Tree<S>> {
        let mut tree = Tree {
            nodes: Vec::new(),
            packets: Vec::new(),
            extent,
            waiting: 0,
        };
        tree.lay_out(&Binary::of(nodes, primitives, S::F32_LANES as u8)?);
        Some(tree)
    }

    fn lay_out(&mut self, binary: &Binary) {
        let mut packets = Vec::new();
        // Each node's children, and their words.
        let of_root = binary.root.map_or(Vec::new(), |root| binary.children(root));
        let mut made = vec![(of_root, [0; MOST_LANES])];
        // Nodes whose children have no words yet, and how many children wait on the way there.
        let mut ways = vec![(0, 0)];
        while let Some((node, waiting)) = ways.pop() {
            let waiting: usize = waiting + made[node].0.len();
            self.waiting = self.waiting.max(waiting);
            for slot in 0..made[node].0.len() {
                let part = made[node].0[slot];
                made[node].1[slot] = if binary.is_packet(part) {
                    let mut positions = Vec::with_capacity(S::F32_LANES);
                    binary.positions(part, &mut positions);
                    let first = &binary.primitives[positions[0] as usize];
                    let others = if first.kind == TRIANGLE { 0 } else { OTHERS };
                    packets.push(positions);
                    PACKET | others | (packets.len() - 1) as u32
                } else {
                    let child = made.len();
                    made.push((binary.children(part), [0; MOST_LANES]));
                    ways.push((child, waiting));
                    child as u32
                };
            }
        }
        let node = |(parts, words): &(Vec<Part>, [u32; MOST_LANES])| {
            WideNode::new(parts.iter().map(|&part| binary.bounds(part)), words)
        };
        let packet = |positions: &Vec<u32>| Packet::new(positions, binary.primitives);
        self.nodes = made.par_iter().map(node).collect();
        self.packets = packets.par_iter().map(packet).collect();
    }
}

impl<S: Lanes> WideNode<S> {
    /// Of these children's boxes and words. No ray meets the boxes that there are beyond.
    fn new(boxes: impl Iterator<Item = Bounds>, words: &[u32; MOST_LANES]) -> WideNode<S> {
        let mut node = WideNode {
            planes: [[S::f32s::zeroed(); 3]; 2],
            children: S::u32s::zeroed(),
            held: 0,
        };
        let [least, largest] = &mut node.planes;
        for axis in 0..3 {
            lanes_mut(&mut least[axis]).fill(f32::INFINITY);
            lanes_mut(&mut largest[axis]).fill(f32::NEG_INFINITY);
        }
        lanes_mut(&mut node.children).copy_from_slice(&words[..S::F32_LANES]);
        for (slot, Bounds { low, high }) in boxes.enumerate() {
            node.held |= 1 << slot;
            for axis in 0..3 {
                lanes_mut(&mut least[axis])[slot] = low[axis];
                lanes_mut(&mut largest[axis])[slot] = high[axis];
            }
        }
        node
    }
}

impl<S: Lanes> Packet<S> {
    /// Of the primitives at these positions, at least one.
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

fn lanes_mut<V: Pod, T: Pod>(vector: &mut V) -> &mut [T] {
    bytemuck::cast_slice_mut(std::slice::from_mut(vector))
}
